//! Iterations allocate no memory.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve::{LinearOperator, Simd};
use bandsolve_sparse::{
    IterationProgress, KrylovMethod, KrylovSolver, PRECONDITIONERS, Preconditioner, PreconditionerOptions,
    PreparedProduct, SingleInverse, nine_point,
};
use bandsolve_testkit::allocations::{WatchedMemory, allocations};
use std::ops::ControlFlow;
use std::process::Command;

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// Counts of [`count_allocations`], each in a separate process, so that each process also makes the allocations that happen only once.
#[test]
fn the_first_iterations_allocate_nothing_on_any_instruction_set() {
    for &simd in Simd::ALL {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child.env("BANDSOLVE_SIMD", simd.name()).args(["--exact", "first_iterations"]).output().unwrap();
        assert!(output.status.success(), "{}: {}", simd.name(), String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn first_iterations() {
    count_allocations("none");
}

#[test]
fn iterations_allocate_nothing() {
    let kinds = PRECONDITIONERS.replace(":M", ":2").replace(":S", ":2").replace("NXxNY", "60x60");
    count_allocations(kinds.strip_prefix("auto, ").expect("the first name"));
}

/// Count the allocations of solves with these preconditioners, separated by commas, by every method.
fn count_allocations(kinds: &str) {
    // Use only this thread, so that the count includes all allocations.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().unwrap();
    pool.install(|| {
        let a = nine_point([[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]], (60, 60));
        let (options, rhs) = (PreconditionerOptions::default(), vec![1.0; a.rows()]);
        let product = PreparedProduct::new(&a).unwrap();
        let methods = ["gmres:5", "bicgstab", "cg", "idr:4", "richardson"];
        for kind in kinds.split(", ") {
            let double = Preconditioner::new(&a, kind.parse().unwrap(), &options).unwrap();
            let single = SingleInverse::new(&a, kind.parse().unwrap(), &options).unwrap();
            let refining = SingleInverse::new(&a, kind.parse().unwrap(), &options).unwrap();
            let refining = refining.with_solver(KrylovSolver::new(methods[0].parse().unwrap()).max_iterations(3));
            for method in methods.map(|name| name.parse::<KrylovMethod>().unwrap()) {
                // In refinement, each inner solve has its own history. BiCGStab has two inner solves per iteration, and every method one at the end.
                let inverses = [(&double as &dyn LinearOperator<f64>, 0), (&single, 0), (&refining, 2)];
                for (m, inner) in inverses {
                    let solver = KrylovSolver::new(method).rtol(1e-300);
                    let mut memory = PodBuffer::new(solver.scratch(&product, Some(m)));
                    for limit in [3, 40, 41] {
                        let (solver, mut x) = (solver.max_iterations(limit), vec![0.0; rhs.len()]);
                        let watch = &mut |_: IterationProgress<'_, f64>| ControlFlow::Continue(());
                        let before = allocations();
                        let stack = PodStack::new(&mut memory);
                        let operator = if limit == 40 { &a as &dyn LinearOperator<f64> } else { &product };
                        let report = solver.solve_with(operator, Some(m), &rhs, &mut x, watch, stack).unwrap();
                        let (count, steps) = (allocations() - before, report.iterations + report.restarts + 1);
                        assert!(count <= 1 + inner * steps, "{kind} {method}, {steps} steps: {count}");
                    }
                }
            }
        }
    });
}
