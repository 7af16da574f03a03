//! Multigrid with lines: iterations that hardly grow, whatever the direction of the strong couplings.

use bandsolve::dyn_stack::PodStack;
use bandsolve::LinearOperator;
use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, LineMultigrid, MultigridOptions, MODEL_PROBLEMS, nine_point};

type Matrix = Csr<'static, f64, u32>;

/// −(u_ξξ + ε·u_ηη), turned by an angle, by central differences on nine points.
fn rotated(n: usize, degrees: f64) -> Matrix {
    let (s, c) = degrees.to_radians().sin_cos();
    let epsilon = 1e-3;
    let (a, b, m) = (c * c + epsilon * s * s, s * s + epsilon * c * c, (1.0 - epsilon) * c * s);
    let clean = |v: f64| if v.abs() < 1e-15 { 0.0 } else { v };
    let stencil = [[-m / 2.0, -b, m / 2.0], [-a, 2.0 * a + 2.0 * b, -a], [m / 2.0, -b, -m / 2.0]];
    nine_point(stencil.map(|row| row.map(clean)), (n, n))
}

fn iterations(a: &Matrix, options: &MultigridOptions) -> usize {
    let n = a.rows();
    let x: Vec<f64> = (0..n).map(|i| (std::f64::consts::TAU * 8.0 * i as f64 / n as f64).sin()).collect();
    let mut rhs = vec![0.0; n];
    a.apply(&x, &mut rhs, PodStack::new(&mut [])).unwrap();
    let start = std::time::Instant::now();
    let m = LineMultigrid::new(a, options).unwrap();
    let setup = start.elapsed().as_secs_f64();
    let sizes = m.sizes();
    let complexity = sizes.iter().map(|(_, entries)| entries).sum::<usize>() as f64 / a.entries() as f64;
    let start = std::time::Instant::now();
    let mut got = vec![0.0; n];
    let report = KrylovSolver::new(KrylovMethod::Cg).max_iterations(200).solve(a, Some(&m), &rhs, &mut got).unwrap();
    println!(
        "    {} iterations, {} levels, complexity {complexity:.2}, {setup:.2} + {:.2} s",
        report.iterations,
        sizes.len(),
        start.elapsed().as_secs_f64()
    );
    report.iterations
}

#[test]
#[ignore = "minutes"]
fn explore() {
    for theta in [1.0, 2.0] {
        for n in [100, 200, 400] {
            let mut options = MultigridOptions::default();
            options.visits = theta as usize;
            for problem in ["aniso1", "aniso2", "model8"] {
                println!("{theta} {n} {problem}");
                let make = MODEL_PROBLEMS.iter().find(|p| p.name == problem).unwrap().make;
                iterations(&make(n), &options);
            }
            for degrees in [45.0, 30.0, 0.0] {
                println!("{theta} {n} rotated {degrees}");
                iterations(&rotated(n, degrees), &options);
            }
        }
    }
}
