//! Problems that are singular or nearly singular: errors, `rcond` and `attention`, the mean of u, and the limit of the part of f that a solve
//! removes.

use crate::common::right_hand_side;
use bandsolve::Error;
use bandsolve_poisson::{AxisPencil, Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, SeparablePencils};

const METHODS: [PoissonMethod; 5] =
    [PoissonMethod::Fft, PoissonMethod::Gemm, PoissonMethod::Bcr2, PoissonMethod::Bcr4, PoissonMethod::Pscr];

/// The eigenvalue 4 sin²(jπ/2(n + 1)) for n nodes between Dirichlet sides.
fn eigenvalue(j: usize, n: usize) -> f64 {
    4.0 * (j as f64 * std::f64::consts::FRAC_PI_2 / (n + 1) as f64).sin().powi(2)
}

/// For 31 × 31 nodes, the shift −4 makes the matrix singular, since λⱼ + λ₃₂₋ⱼ = 4. So does −(λⱼ + λₖ) for all j and k, up to rounding.
#[test]
fn a_shift_on_an_eigenvalue_is_an_error() {
    let f = right_hand_side(31 * 31, 1);
    for method in METHODS {
        for shift in [-4.0, -(eigenvalue(3, 31) + eigenvalue(8, 31))] {
            let plan = Poisson::new(&[31, 31]).shift(shift).method(method).plan::<f64>();
            let solved = plan.and_then(|plan| plan.solve(&f));
            assert!(matches!(solved, Err(Error::NotConverged { .. } | Error::Singular { .. })), "{method:?} {shift}");
        }
        // Halfway to the next eigenvalue, the problem is well-conditioned.
        let solved = Poisson::new(&[31, 31]).shift(-4.01).method(method).plan::<f64>().unwrap().solve(&f).unwrap();
        assert!(solved.report.rcond > 1e-5 && solved.report.attention.is_none(), "{:?}", solved.report);
    }
    let single: Vec<f32> = f.iter().map(|f| *f as f32).collect();
    let solved = Poisson::new(&[31, 31]).shift(-4.0).plan::<f32>().and_then(|plan| plan.solve(&single));
    assert!(matches!(solved, Err(Error::NotConverged { .. } | Error::Singular { .. })));
}

/// Near an eigenvalue, the solve succeeds. `rcond` measures the distance, and `attention` is set if rounding of the coefficients can change all
/// digits of u. The solve fails at distances below 3ε · 12 = 8e-15. `attention` is set at distances below at least 18ε · 12 = 5e-14.
#[test]
fn a_shift_near_an_eigenvalue_is_reported() {
    for (off, warned) in [(3e-14, true), (1e-3, false)] {
        let plan = Poisson::new(&[31, 31]).shift(-4.0 + off).plan::<f64>().unwrap();
        // Σ_j |a_ij|: 4 per dimension (3 at the ends), averaged over the rows, and the shift. The rounding error of an eigenvalue is 5ε · 4.
        let size = 2.0 * (29.0 * 4.0 + 2.0 * 3.0) / 31.0 + (4.0 - off);
        assert!((plan.rcond() * size - off).abs() <= 20.0 * f64::EPSILON + 1e-9 * off, "{off}: {:e}", plan.rcond());
        let report = plan.solve(&right_hand_side(961, 1)).unwrap().report;
        assert_eq!(report.rcond, plan.rcond());
        assert_eq!(report.attention.is_some(), warned, "{report:?}");
    }
}

/// The widths of the cells are between 1e-9 and 87. Definite problems are solved for every condition number.
#[test]
fn definite_problems_are_solved_whatever_their_condition() {
    let points: Vec<f64> = (0..13).map(|k| (1.0 - 0.5f64.powi(3 * k)) * 100.0).collect();
    for kind in [BoundaryKind::Dirichlet, BoundaryKind::Neumann] {
        let graded =
            Poisson::new(&[12, 7]).grid(Grid::Cell).boundary(kind).coordinates(0, &points).removable(f64::INFINITY);
        for shift in [0.0, 1e-20, 1.0] {
            let solved = graded.clone().shift(shift).plan::<f64>().unwrap().solve(&right_hand_side(84, 3)).unwrap();
            let report = solved.report;
            assert!(report.rcond > 0.0 && report.rcond <= 1.0, "{kind:?} {shift} {report:?}");
            let tiny = shift == 1e-20 && kind == BoundaryKind::Neumann;
            assert_eq!(report.attention.is_some(), tiny, "{kind:?} {shift} {report:?}");
        }
    }
}

/// Linear finite elements on [0, 1] without flux through the ends. If `lumped`, M is diagonal.
fn elements(n: usize, lumped: bool) -> AxisPencil {
    let h = 1.0 / (n - 1) as f64;
    let end = |i: usize| if i == 0 || i + 1 == n { 0.5 } else { 1.0 };
    let (beside, k) = (vec![-1.0 / h; n], (0..n).map(|i| 2.0 * end(i) / h).collect::<Vec<_>>());
    let (m, mass_beside) = if lumped { (1.0, 0.0) } else { (2.0 / 3.0, h / 6.0) };
    let mass: Vec<f64> = (0..n).map(|i| m * end(i) * h).collect();
    AxisPencil::new([&beside, &k, &beside], [&vec![mass_beside; n], &mass, &vec![mass_beside; n]])
}

#[test]
fn pencils_with_a_null_space_are_an_error() {
    for shape in [&[17usize][..], &[17, 17], &[33, 20], &[9, 9, 9], &[50, 60]] {
        for lumped in [false, true] {
            let pencils: Vec<_> = shape.iter().map(|n| elements(*n, lumped)).collect();
            let f: Vec<f64> = right_hand_side(shape.iter().product(), 1).iter().map(|f| f + 1.0).collect();
            for method in [PoissonMethod::Gemm, PoissonMethod::Pscr] {
                if method == PoissonMethod::Pscr && !lumped {
                    continue;
                }
                let solve = |shift: f64| {
                    let plan = SeparablePencils::new(&pencils).method(method).shift(shift).plan::<f64>();
                    plan.and_then(|plan| plan.solve(&f))
                };
                let singular = solve(0.0);
                let refused = matches!(singular, Err(Error::NotConverged { .. } | Error::Singular { .. }));
                assert!(refused, "{shape:?} {lumped} {method:?} {:?}", singular.map(|s| s.report));
                let report = solve(1.0).unwrap().report;
                assert!(report.rcond > 1e-6 && report.attention.is_none(), "{shape:?} {lumped} {report:?}");
            }
        }
    }
}

/// With spacings from 1e-2 to 1e2, the mean of u is the requested mean and the reported mean.
#[test]
fn the_reported_mean_is_the_mean_of_u_on_graded_grids() {
    let mut seed = 1u64;
    let mut next = || {
        seed = (1_103_515_245 * seed + 12345) % (1 << 31);
        seed as f64 / f64::from(1 << 30) - 1.0
    };
    let mut faces = |n: usize| {
        let mut points = vec![0.0];
        (0..n).for_each(|k| points.push(points[k] + 10f64.powf(2.0 * next())));
        points
    };
    for shape in [[60usize, 50], [40, 45]] {
        let points = shape.map(&mut faces);
        let volume = |axis: usize, i: usize| points[axis][i + 1] - points[axis][i];
        let total: f64 = points.iter().map(|p| p[p.len() - 1]).product();
        let f = right_hand_side(shape[0] * shape[1], 7);
        for kind in [BoundaryKind::Neumann, BoundaryKind::Periodic] {
            for method in [PoissonMethod::Auto, PoissonMethod::Gemm, PoissonMethod::Pscr] {
                let problem = Poisson::new(&shape).grid(Grid::Cell).boundary(kind).mean(3.0).removable(f64::INFINITY);
                let problem = problem.coordinates(0, &points[0]).coordinates(1, &points[1]).method(method);
                let u = problem.plan::<f64>().unwrap().solve(&f).unwrap();
                let part = |e: usize, u: f64| u * volume(0, e / shape[1]) * volume(1, e % shape[1]) / total;
                let mean: f64 = u.values.iter().enumerate().map(|(e, u)| part(e, *u)).sum();
                let size: f64 = u.values.iter().enumerate().map(|(e, u)| part(e, u.abs())).sum();
                // This sum has a rounding error of at most ε/2 per term. The bound of the solver is 13ε.
                let bound = (13.0 + u.values.len() as f64 / 2.0) * f64::EPSILON * (size + 3.0);
                let reported = u.report.mean.unwrap();
                assert!(
                    (mean - reported).abs() <= bound && (reported - 3.0).abs() <= bound,
                    "{kind:?} {method:?}: {mean} {reported}"
                );
            }
        }
    }
}

/// One unknown, whose f and fluxes balance except for rounding.
#[test]
fn rounding_is_never_too_much_to_remove() {
    for dimensions in 1..=3 {
        for (low, high) in [(0.1, 0.2), (1.0 / 3.0, 1e-3), (7.7, -7.0)] {
            let problem = Poisson::new(&vec![1; dimensions]).grid(Grid::Cell).boundary(BoundaryKind::Neumann);
            let problem =
                problem.axis_boundary(0, Boundary::neumann(low), Boundary::neumann(high)).spacing(0.3).mean(2.0);
            // f + (low + high)/h = 0 up to rounding
            for f in [-(low + high) / 0.3, -(low / 0.3 + high / 0.3), -(low + high) * (1.0 / 0.3)] {
                let u = problem.plan::<f64>().unwrap().solve(&[f]).unwrap();
                assert_eq!((u.values[0], u.report.mean), (2.0, Some(2.0)), "{low} {high} {f}");
            }
            let wrong = problem.plan::<f64>().unwrap().solve(&[1.0 - (low + high) / 0.3]);
            assert!(matches!(wrong, Err(Error::Incompatible { .. })));
        }
    }
}
