//! Solves in scratch memory of the caller allocate no memory.

use bandsolve::dyn_stack::{PodBuffer, PodStack};
use bandsolve_poisson::{BoundaryKind, Grid, Poisson, PoissonMethod};
use bandsolve_testkit::allocations::{WatchedMemory, allocations};

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

#[test]
fn solves_allocate_nothing() {
    let mut checked = 0;
    for shape in [&[300][..], &[40, 65], &[140, 150], &[9, 16, 31]] {
        for kind in BoundaryKind::ALL {
            for grid in [Grid::Node, Grid::Cell] {
                for method in PoissonMethod::ALL {
                    let problem = Poisson::new(shape).boundary(kind).grid(grid).method(*method).threads(1);
                    // Not every method solves every problem.
                    let Ok(plan) = problem.removable(1e300).plan::<f64>() else { continue };
                    check(&plan, &format!("{shape:?} {kind:?} {grid:?} {}", method.name()));
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 60, "{checked}");
}

/// Count the allocations of solves with 1, 4 and 5 right-hand sides.
fn check(plan: &bandsolve_poisson::PoissonPlan<f64>, what: &str) {
    for n_rhs in [1, 4, 5] {
        let f: Vec<f64> = (0..n_rhs * plan.len()).map(|k| ((k * 37) % 101) as f64 - 50.0).collect();
        let (mut u, mut memory) = (f.clone(), PodBuffer::new(plan.solve_scratch()));
        for _ in 0..2 {
            let before = allocations();
            let report = plan.solve_into_with(&f, &mut u, PodStack::new(&mut memory)).unwrap();
            let made = allocations() - before;
            // The list of backward errors.
            let most = usize::from(n_rhs > 4);
            assert!(made <= most, "{what}, {n_rhs} right-hand sides: {made} allocations, {report:?}");
        }
    }
}
