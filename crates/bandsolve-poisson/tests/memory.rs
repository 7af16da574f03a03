//! Each allocation whose size grows with the problem fails once. Every failure must return an error.

use bandsolve::Error;
use bandsolve_poisson::{AxisPencil, BoundaryKind, Grid, Poisson, PoissonMethod, SeparablePencils, Side};
use bandsolve_testkit::allocations::{WatchedMemory, fail_each};

#[global_allocator]
static MEMORY: WatchedMemory = WatchedMemory;

/// Size above which an allocation fails, in bytes. Arrays that grow with the problem are larger, with at least 130 unknowns per axis.
const BYTES: usize = 1024;

fn graded(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64 + 0.4 * (i as f64 * 0.9).sin()).collect()
}

/// Plan the problem and solve for one right-hand side, repeatedly. Each allocation fails once.
fn check(what: &str, problem: &Poisson, f: &[f64]) {
    let refused = fail_each(what, BYTES, || problem.plan::<f64>()?.solve(f));
    assert!(refused > 1, "{what}");
}

/// A single test, so that no other test allocates at the same time.
#[test]
fn every_allocation_can_fail() {
    differences();
    variable_spacing_and_values_along_sides();
    two_matrices_per_axis();
    slabs();
    too_large_boxes();
}

fn differences() {
    use PoissonMethod::{Bcr2, Bcr4, Fft, Gemm, Pscr};
    let methods = [Fft, Gemm, Bcr2, Bcr4, Pscr];
    for shape in [&[1300usize][..], &[131, 137], &[4, 5, 160]] {
        let f: Vec<f64> = (0..shape.iter().product()).map(|k: usize| ((k * 37) % 101) as f64 - 50.0).collect();
        for kind in BoundaryKind::ALL {
            for grid in [Grid::Node, Grid::Cell] {
                for method in methods {
                    let problem =
                        Poisson::new(shape).boundary(kind).grid(grid).method(method).threads(1).removable(1e300);
                    if problem.plan::<f64>().is_err() {
                        continue;
                    }
                    let what = format!("{shape:?} {kind:?} {grid:?} {method:?}");
                    check(&what, &problem, &f);
                    check(&format!("{what}, shifted"), &problem.shift(-0.37), &f);
                }
            }
        }
    }
}

fn variable_spacing_and_values_along_sides() {
    let shape = [131, 140];
    let f: Vec<f64> = (0..131 * 140).map(|k: usize| ((k * 37) % 101) as f64 - 50.0).collect();
    for kind in BoundaryKind::ALL {
        for method in [PoissonMethod::Auto, PoissonMethod::Gemm] {
            let points = shape.map(|n| graded(n + 1));
            let problem =
                Poisson::new(&shape).boundary(kind).grid(Grid::Cell).method(method).threads(1).removable(1e300);
            let what = format!("{kind:?} {method:?}");
            let (one, values) = (problem.coordinates(1, &points[1]), vec![0.25; 140]);
            check(&format!("{what}, one axis"), &one, &f);
            let two = one.clone().coordinates(0, &points[0]);
            check(&format!("{what}, two axes"), &two, &f);
            check(&format!("{what}, shifted"), &two.shift(-0.2), &f);
            if kind != BoundaryKind::Periodic {
                check(&format!("{what}, values"), &one.boundary_values(0, Side::Low, &values), &f);
            }
        }
    }
    let line = Poisson::new(&[2000]).grid(Grid::Cell).coordinates(0, &graded(2001)).threads(1);
    check("a line", &line, &vec![1.0; 2000]);
    let points = graded(142);
    let values = fail_each("copies of the caller's arrays", BYTES, || {
        Poisson::new(&shape).coordinates(1, &points).boundary_values(0, Side::Low, &[1.0; 140]).plan::<f64>()
    });
    assert!(values > 2);
}

fn two_matrices_per_axis() {
    for lumped in [false, true] {
        for shape in [&[200usize][..], &[131, 135], &[4, 5, 140]] {
            let pencil = |n: &usize| {
                let (beside, mass) = (vec![-1.0; *n], vec![if lumped { 0.0 } else { 1.0 }; *n]);
                AxisPencil::new([&beside, &vec![2.0; *n], &beside], [&mass, &vec![4.0; *n], &mass])
            };
            let axes: Vec<_> = shape.iter().map(pencil).collect();
            let f = vec![1.0; shape.iter().product()];
            for shift in [0.0, -0.07] {
                let problem = SeparablePencils::new(&axes).shift(shift).threads(1);
                let what = format!("pencils {shape:?} {lumped} {shift}");
                assert!(fail_each(&what, BYTES, || problem.plan::<f64>()?.solve(&f)) > 1, "{what}");
            }
        }
    }
}

fn slabs() {
    for kind in BoundaryKind::ALL {
        let problem = Poisson::new(&[130, 140]).boundary(kind).threads(1);
        let refused = fail_each(&format!("slabs {kind:?}"), BYTES, || {
            let parts = problem.slabs::<f64>()?;
            parts.systems(3..40)?;
            parts.residual(3..40).map(|_| ())
        });
        assert!(refused > 1);
    }
}

/// Sizes that exceed the address space, and sizes that overflow `usize`.
fn too_large_boxes() {
    let shapes = [
        &[1usize << 45][..],
        &[1 << 60],
        &[1 << 45, 1],
        &[1, 1 << 45],
        &[1 << 40, 1 << 40],
        &[usize::MAX, 2],
        &[1 << 21; 3],
    ];
    for shape in shapes {
        for kind in BoundaryKind::ALL {
            let plan = Poisson::new(shape).boundary(kind).plan::<f64>();
            assert!(matches!(plan, Err(Error::OutOfMemory { .. })), "{shape:?} {kind:?}");
        }
    }
}
