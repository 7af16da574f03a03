//! `bcr2`, `bcr4` and `pscr` by the public door.

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

/// Every pair of sides that is not periodic, along both axes, on both grids, singular ones too, beside products by eigenvectors.
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

/// Where the first axis is not one that can be reduced another is, and what is left goes to `pscr`.
#[test]
fn block_cyclic_reduction_takes_the_axes_that_it_can() {
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

#[test]
fn what_is_not_solved_is_named() {
    let periodic = Poisson::new(&[8, 8]).axis_boundary(1, BoundaryKind::Periodic, BoundaryKind::Periodic);
    let neumann = Poisson::new(&[8, 8]).boundary(BoundaryKind::Neumann).shift(1.0);
    for (problem, method) in
        [(&periodic, PoissonMethod::Pscr), (&periodic, PoissonMethod::Bcr4), (&neumann, PoissonMethod::Bcr2)]
    {
        let error = problem.clone().method(method).plan::<f64>().unwrap_err();
        assert!(error.to_string().contains(method.name()), "{error}");
    }
}

/// By the door, that is with what is copied, removed and measured.
#[test]
fn same_bits_for_any_number_of_threads() {
    let f = numbers(260 * 300);
    for method in CYCLIC {
        let of = |threads: usize| {
            let problem = Poisson::new(&[260, 300]).method(method).threads(threads);
            problem.plan::<f64>().unwrap().solve(&f).unwrap().values
        };
        let one = of(1);
        for threads in [2, 3, 7] {
            let many = of(threads);
            assert!(one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits()), "{} {threads}", method.name());
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
