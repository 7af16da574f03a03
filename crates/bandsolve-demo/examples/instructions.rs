//! Solves of one problem on one thread, whose instructions `benches/instructions/run.sh` counts.
//!
//! `instructions rpts|factored|batch SOLVES`: random tridiagonal systems with 65536 unknowns in total, solved SOLVES times and verified: one system by
//! RPTS, with or without stored factors, or an interleaved batch of 256 systems.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{Factor, Factorize, Layout, Method, Op, Plan, Simd, Tridiagonal, TridiagonalBatch};
use std::error::Error;

/// Number of unknowns of a system, or of all systems of a batch.
const UNKNOWNS: usize = 1 << 16;
/// Number of systems of the batch.
const SYSTEMS: usize = 1 << 8;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [problem, solves] = &arguments[..] else { return Err("usage: instructions rpts|factored|batch SOLVES".into()) };
    let solves = solves.parse()?;
    let [sub, mut diag, sup, rhs] = [1, 2, 3, 4].map(random);
    // No answer needs a repair. Pivots are selected without branches, so the entries have no other effect.
    diag.iter_mut().for_each(|d| *d += 3.0);
    match problem.as_str() {
        "rpts" | "factored" => {
            let a = Tridiagonal::new(&sub[1..], &diag, &sup[1..])?;
            let plan = if problem == "rpts" { Plan::once(a.shape()) } else { Plan::new(a.shape()) };
            solve(&a, &plan.method(Method::Rpts).threads(1), (&rhs, solves))?;
        }
        "batch" => {
            let a = TridiagonalBatch::new(SYSTEMS, UNKNOWNS / SYSTEMS, Layout::Interleaved, &sub, &diag, &sup)?;
            solve(&a, &Plan::new(a.shape()).threads(1), (&rhs, solves))?;
        }
        _ => return Err(format!("{problem}: the problem is rpts, factored or batch").into()),
    }
    println!("{UNKNOWNS} unknowns with {}", Simd::detect().name());
    Ok(())
}

/// Numbers between −1 and 1.
fn random(seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..UNKNOWNS).map(next).collect()
}

/// Solve as often as asked, in memory that is allocated once.
fn solve<M: Factorize<Scalar = f64>>(a: &M, plan: &Plan, (rhs, solves): (&[f64], usize)) -> Result<(), Box<dyn Error>> {
    let factor = plan.factor(a)?;
    let (mut x, mut memory) = (vec![0.0; rhs.len()], PodBuffer::new(factor.solve_scratch(1)));
    for _ in 0..solves {
        let report = factor.solve_into_with(Op::Plain, rhs, &mut x, PodStack::new(&mut memory))?;
        if report.refinement_steps > 0 || report.fallback {
            return Err(format!("the instructions of repairs would be counted too: {report:?}").into());
        }
    }
    Ok(())
}
