//! `bcr2`, `bcr4` and `pscr` through the public interface.

use crate::common::{Axis, check, kinds, problem, stretched};
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, PoissonPlan};

const CYCLIC: [PoissonMethod; 3] = [PoissonMethod::Bcr2, PoissonMethod::Bcr4, PoissonMethod::Pscr];

fn numbers(n: usize) -> Vec<f64> {
    let mut x = 1u64;
    let next = |_| {
        x = (1_103_515_245 * x + 12345) % (1 << 31);
        x as f64 / f64::from(1 << 30) - 1.0
    };
    (0..n).map(next).collect()
}

fn largest(u: &[f64]) -> f64 {
    u.iter().fold(0.0, |most, u| if u.abs() > most || u.is_nan() { u.abs() } else { most })
}

fn apart(u: &[f64], other: &[f64]) -> f64 {
    largest(&u.iter().zip(other).map(|(u, v)| u - v).collect::<Vec<f64>>()) / largest(other)
}

#[test]
fn numbers_of_systems() {
    for (shape, counts) in [(&[1023, 1023][..], [9217, 6657]), (&[127, 31], [769, 577]), (&[31, 7, 15], [2193, 1261])] {
        for (method, count) in CYCLIC.into_iter().zip(counts) {
            let plan: PoissonPlan<f64> = Poisson::new(shape).method(method).plan().unwrap();
            assert_eq!(plan.subproblems(), count, "{shape:?} {}", method.name());
        }
    }
}

/// All combinations of Dirichlet and Neumann sides on both grids, singular problems included, compared with `gemm`.
#[test]
fn partial_solutions_with_all_sides() {
    let kinds = [BoundaryKind::Dirichlet, BoundaryKind::Neumann];
    let pairs: Vec<[BoundaryKind; 2]> = kinds.iter().flat_map(|a| kinds.map(|b| [*a, b])).collect();
    for (first, second) in pairs.iter().flat_map(|a| pairs.iter().map(move |b| (*a, *b))) {
        for (grid, n, m) in [(Grid::Node, 21, 17), (Grid::Cell, 16, 37), (Grid::Node, 2, 5), (Grid::Cell, 1, 6)] {
            let side = |kind: BoundaryKind, value: f64| Boundary { kind, value };
            let problem = Poisson::new(&[n, m])
                .grid(grid)
                .axis_spacing(0, 0.7)
                .axis_boundary(0, side(first[0], 0.5), side(first[1], -0.25))
                .axis_boundary(1, side(second[0], 1.0), side(second[1], 0.125))
                .removable(f64::INFINITY)
                .mean(2.0);
            let f = numbers(n * m);
            let expected = problem.clone().method(PoissonMethod::Gemm).plan::<f64>().unwrap().solve(&f).unwrap();
            let got = problem.method(PoissonMethod::Pscr).plan::<f64>().unwrap().solve(&f).unwrap();
            let error = apart(&got.values, &expected.values);
            let what = format!("{first:?} {second:?} {grid:?} {n} × {m}");
            assert!(error < 1e-12, "{what}: {error:e}");
            assert!(got.report.backward_error < 2e-15, "{what}: {:e}", got.report.backward_error);
            assert!((got.report.removed - expected.report.removed).abs() < 1e-13, "{what}");
        }
    }
}

/// If block cyclic reduction cannot reduce the first axis, it reduces another one. `pscr` reduces the remaining axes.
#[test]
fn block_cyclic_reduction_of_some_axes() {
    for shape in [[9, 12, 10], [12, 5, 7]] {
        let problem = Poisson::new(&shape)
            .axis_boundary(0, BoundaryKind::Neumann, BoundaryKind::Dirichlet)
            .axis_grid(0, Grid::Cell)
            .axis_boundary(2, BoundaryKind::Neumann, BoundaryKind::Neumann)
            .shift(0.01);
        let f = numbers(shape.iter().product());
        let expected = problem.clone().method(PoissonMethod::Fft).plan::<f64>().unwrap().solve(&f).unwrap();
        for method in CYCLIC {
            let got = problem.clone().method(method).plan::<f64>().unwrap().solve(&f).unwrap();
            let error = apart(&got.values, &expected.values);
            assert!(error < 1e-12, "{shape:?} {}: {error:e}", method.name());
            assert!(got.report.refinement_steps == 0 && got.report.method == method);
        }
    }
}

#[test]
fn stretched_axes() {
    let points = |n: usize| (0..n).map(|k| k as f64 + 0.3 * (k as f64 * 1.7).sin()).collect::<Vec<f64>>();
    let shape = [33, 20, 18];
    let problem = Poisson::new(&shape).coordinates(0, &points(35)).coordinates(2, &points(20));
    let f = numbers(shape.iter().product());
    let expected = problem.clone().plan::<f64>().unwrap().solve(&f).unwrap();
    for method in CYCLIC {
        let got = problem.clone().method(method).plan::<f64>().unwrap().solve(&f).unwrap();
        let error = apart(&got.values, &expected.values);
        assert!(error < 1e-12, "{}: {error:e}", method.name());
        assert!(got.report.backward_error < 2e-15);
    }
}

/// Whether block cyclic reduction can reduce one of the axes.
fn can_be_reduced(axes: &[Axis]) -> bool {
    let coupled: Vec<&Axis> = axes.iter().filter(|axis| axis.n > 1).collect();
    let reduced = |axis: &Axis| match axis.sides.map(|side| side.kind) {
        [BoundaryKind::Periodic, _] => axis.points.is_none(),
        [BoundaryKind::Dirichlet, BoundaryKind::Dirichlet] => axis.points.is_none() && axis.grid == Grid::Node,
        _ => false,
    };
    coupled.len() < 2 || coupled.into_iter().any(reduced)
}

fn check_all(axes: &[Axis], shift: f64) {
    for method in CYCLIC {
        if method == PoissonMethod::Pscr || can_be_reduced(axes) {
            check(axes, shift, method);
        } else {
            let error = problem(axes, shift).method(method).plan::<f64>().unwrap_err().to_string();
            assert!(error.contains(method.name()) && error.contains("without an axis of this kind"), "{error}");
        }
    }
}

/// A periodic axis and an axis of any kind, in both orders, compared with banded LU.
#[test]
fn periodic_axes_with_all_kinds_of_axes() {
    for (k, n) in [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31].into_iter().enumerate() {
        for other in 0..9 {
            let m = [1, 2, 3, 5, 6, 7, 9][(k + other) % 7];
            let (ring, axis) = (kinds(n, 0.8)[8].clone(), kinds(m, 1.1)[other].clone());
            for shift in [0.0, 0.37] {
                check_all(&[ring.clone(), axis.clone()], shift);
                check_all(&[axis.clone(), ring.clone()], shift);
            }
        }
        check_all(&[kinds(n, 0.9)[8].clone()], 0.0);
    }
    for n in [43, 64, 67] {
        let axes = [kinds(n, 1.0)[8].clone(), kinds(3, 1.0)[0].clone()];
        check_all(&axes, 0.0);
        check_all(&[axes[1].clone(), axes[0].clone()], 0.1);
    }
}

/// The same with variable spacing along one axis, or along both.
#[test]
fn periodic_axes_with_variable_spacing() {
    for (k, n) in [1, 2, 3, 4, 6, 7, 11, 16, 19].into_iter().enumerate() {
        for other in [0, 1, 6, 8] {
            let m = [4, 2, 3, 5, 8][(k + other) % 5];
            let (ring, axis) = (kinds(n, 0.8)[8].clone(), kinds(m, 1.1)[other].clone());
            for (ring, axis) in [
                (stretched(ring.clone()), axis.clone()),
                (ring.clone(), stretched(axis.clone())),
                (stretched(ring), stretched(axis)),
            ] {
                check_all(&[ring.clone(), axis.clone()], 0.0);
                check_all(&[axis, ring], 0.21);
            }
        }
        check_all(&[stretched(kinds(n, 0.9)[8].clone())], 0.0);
    }
}

/// All choices of periodic axes and of axes with variable spacing.
#[test]
fn periodic_axes_in_three_dimensions() {
    for sizes in [[4, 5, 6], [1, 3, 2], [3, 3, 3], [7, 2, 5], [2, 9, 4]] {
        for choice in 1..64 {
            let axis = |k: usize| {
                let axis =
                    kinds(sizes[k], 1.0 + 0.2 * k as f64)[if (choice >> k) & 1 == 1 { 8 } else { 5 * k % 8 }].clone();
                if (choice >> (k + 3)) & 1 == 1 { stretched(axis) } else { axis }
            };
            if choice % 8 > 0 {
                check_all(&[axis(0), axis(1), axis(2)], if choice % 3 == 0 { 0.0 } else { 0.17 });
            }
        }
    }
}

#[test]
fn errors_name_the_method() {
    let neumann = Poisson::new(&[8, 8]).boundary(BoundaryKind::Neumann).shift(1.0);
    for method in [PoissonMethod::Bcr2, PoissonMethod::Bcr4] {
        let error = neumann.clone().method(method).plan::<f64>().unwrap_err();
        assert!(error.to_string().contains(method.name()), "{error}");
    }
}

/// Whole solves, including copies, the removed part of f and the residuals, give the same bits for any number of threads.
#[test]
fn same_bits_for_any_number_of_threads() {
    let f = numbers(260 * 300);
    for method in CYCLIC {
        for side in [BoundaryKind::Dirichlet, BoundaryKind::Periodic] {
            let of = |threads: usize| {
                let problem = Poisson::new(&[260, 300]).boundary(side).shift(0.1).method(method).threads(threads);
                problem.plan::<f64>().unwrap().solve(&f).unwrap().values
            };
            let one = of(1);
            for threads in [2, 3, 7] {
                let many = of(threads);
                assert!(one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits()), "{} {threads}", method.name());
            }
        }
    }
}

#[test]
fn small_boxes_and_single_precision() {
    for method in CYCLIC {
        for shape in [&[0][..], &[1], &[2], &[5], &[0, 3], &[1, 1], &[1, 2], &[2, 1], &[2, 2], &[1, 1, 1], &[2, 1, 3]] {
            let f = numbers(shape.iter().product());
            let expected = Poisson::new(shape).method(PoissonMethod::Fft).plan::<f64>().unwrap().solve(&f).unwrap();
            let got = Poisson::new(shape).method(method).plan::<f64>().unwrap().solve(&f).unwrap();
            assert!(f.is_empty() || apart(&got.values, &expected.values) < 1e-14, "{shape:?} {}", method.name());
        }
        let f: Vec<f32> = numbers(70 * 45).iter().map(|f| *f as f32).collect();
        let solution = Poisson::new(&[70, 45]).method(method).plan::<f32>().unwrap().solve(&f).unwrap();
        assert!(solution.report.backward_error < 8.0 * f64::from(f32::EPSILON), "{}", method.name());
    }
}
