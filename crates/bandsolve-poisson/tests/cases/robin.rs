//! Robin sides, α·u + β·∂u/∂n = g: compared with banded LU and with exact solutions, singular problems, invalid coefficients.

use crate::common::{Axis, check, check_single, kinds, problem, right_hand_side, stretched, write_out};
use bandsolve::Error;
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, Side};

/// Axes with a Robin side and each kind of the other side. `sign` is the sign of α/β.
fn robin_kinds(n: usize, h: f64, sign: f64) -> Vec<Axis> {
    let robin = Boundary::robin(0.4 * sign, 1.6, 0.9);
    let other = [Boundary::dirichlet(0.3), Boundary::neumann(-0.7), Boundary::robin(1.2, 0.5, -0.4)];
    let mut all = Vec::new();
    for grid in [Grid::Node, Grid::Cell] {
        for other in other {
            all.push(Axis { n, grid, sides: [robin, other], h, points: None });
            all.push(Axis { n, grid, sides: [other, robin], h, points: None });
        }
    }
    all
}

const METHODS: [PoissonMethod; 4] = [PoissonMethod::Auto, PoissonMethod::Fft, PoissonMethod::Gemm, PoissonMethod::Pscr];

#[test]
fn one_axis() {
    for n in [1, 2, 3, 4, 5, 8, 13, 33, 128] {
        for axis in robin_kinds(n, 0.5, 1.0) {
            for method in METHODS {
                check(core::slice::from_ref(&axis), 0.0, method);
                check(core::slice::from_ref(&axis), 0.31, method);
            }
            check(&[stretched(axis)], 0.0, PoissonMethod::Auto);
        }
    }
}

#[test]
fn with_all_kinds_of_other_axes() {
    let sizes = [1, 2, 3, 4, 5, 8, 13, 20];
    for a in 0..12 {
        for b in 0..9 {
            let (n, m) = (sizes[(a + 2 * b) % 8], sizes[(3 * a + b + 4) % 8]);
            let (one, two) = (robin_kinds(n, 0.5, 1.0)[a].clone(), kinds(m, 0.8)[b].clone());
            for method in METHODS {
                check(&[one.clone(), two.clone()], 0.0, method);
                check(&[two.clone(), one.clone()], 0.2, method);
            }
            check(&[stretched(two.clone()), one.clone()], 0.0, PoissonMethod::Auto);
            let three = kinds(4, 1.2)[(a + 2 * b) % 9].clone();
            check(&[three.clone(), one.clone(), two.clone()], 0.0, PoissonMethod::Auto);
            check(&[three.clone(), two.clone(), one.clone()], 0.1, PoissonMethod::Gemm);
            check(&[two, three, stretched(one)], 0.0, PoissonMethod::Auto);
        }
        let one = robin_kinds(7, 0.5, 1.0)[a].clone();
        for b in 0..12 {
            let (two, three) = (robin_kinds(6, 0.7, 1.0)[b].clone(), robin_kinds(5, 0.9, 1.0)[(a + b) % 12].clone());
            check(&[one.clone(), two.clone()], 0.0, PoissonMethod::Auto);
            check(&[one.clone(), two.clone()], 0.0, PoissonMethod::Pscr);
            check(&[one.clone(), two, three], 0.0, PoissonMethod::Auto);
        }
    }
}

/// A negative α/β with one negative eigenvalue at most, with and without shifts of both signs.
#[test]
fn negative_coefficients() {
    for n in [1, 2, 3, 9, 34] {
        for axis in robin_kinds(n, 0.5, -1.0) {
            for shift in [0.0, 0.43, -0.31] {
                check(core::slice::from_ref(&axis), shift, PoissonMethod::Auto);
                for (b, other) in kinds(6, 0.7).into_iter().enumerate() {
                    check(&[axis.clone(), other.clone()], shift, PoissonMethod::Auto);
                    check(&[other.clone(), axis.clone()], shift, PoissonMethod::Auto);
                    if n <= 9 {
                        let third = kinds(5, 1.1)[(b + n) % 9].clone();
                        check(&[other, third, axis.clone()], shift, PoissonMethod::Auto);
                    }
                }
            }
        }
    }
}

/// Large problems, so that the plan stores factors, uses the partition method for a long line, or solves without stored factors.
#[test]
fn large_problems_and_threads() {
    let sides = [Boundary::robin(2.0, 0.7, 0.3), Boundary::neumann(0.2)];
    let axis = |n, grid, sides| Axis { n, grid, sides, h: 0.02, points: None };
    let shapes: [&[usize]; 4] = [&[5000], &[200, 301], &[128, 150], &[30, 33, 40]];
    for (k, shape) in shapes.into_iter().enumerate() {
        for negative in [false, true] {
            let low = if negative { Boundary::robin(-1.0, 1.0, 0.1) } else { sides[0] };
            for robin in 0..shape.len() {
                let of = |at: usize| if at == robin { [low, sides[1]] } else { [sides[1]; 2] };
                let grid = if k % 2 == 0 { Grid::Node } else { Grid::Cell };
                let axes: Vec<Axis> = shape.iter().enumerate().map(|(at, n)| axis(*n, grid, of(at))).collect();
                let written = write_out(&axes, 0.3);
                let f = right_hand_side(written.n, 1);
                let solve = |threads| problem(&axes, 0.3).threads(threads).plan::<f64>().unwrap().solve(&f).unwrap();
                let one = solve(1);
                let error = written.backward_error(&f, &one.values, 0.0);
                assert!(error <= 4e-15 && one.report.refinement_steps == 0, "{shape:?} {robin} {:?}", one.report);
                for threads in [2, 3, 7] {
                    let other = solve(threads);
                    assert!(one.values.iter().zip(&other.values).all(|(a, b)| a.to_bits() == b.to_bits()));
                    assert_eq!(one.report, other.report);
                }
            }
        }
    }
}

#[test]
fn single_precision() {
    for axis in robin_kinds(40, 1.0, 1.0) {
        check_single(axis);
    }
}

/// The kinds of a side in the tests of convergence.
const SIDES: [BoundaryKind; 4] = [
    BoundaryKind::Dirichlet,
    BoundaryKind::Neumann,
    BoundaryKind::Robin { alpha: 2.0, beta: 0.5 },
    BoundaryKind::Robin { alpha: -0.6, beta: 1.5 },
];

/// The coordinates of the unknowns if [0, 1] is divided into `parts` intervals.
fn places(kinds: [BoundaryKind; 2], grid: Grid, parts: usize) -> Vec<f64> {
    let h = 1.0 / parts as f64;
    let [low, high] = kinds.map(|kind| usize::from(kind == BoundaryKind::Dirichlet));
    match (grid, kinds[0]) {
        (Grid::Cell, _) => (0..parts).map(|i| (i as f64 + 0.5) * h).collect(),
        (_, BoundaryKind::Periodic) => (0..parts).map(|i| i as f64 * h).collect(),
        _ => (low..=parts - high).map(|i| i as f64 * h).collect(),
    }
}

/// s, s′ and s″ of a factor of the exact solution.
type Factor = fn(f64) -> [f64; 3];

fn exponential(x: f64) -> [f64; 3] {
    let y = (0.5 * x).exp();
    [y, 0.5 * y, 0.25 * y]
}

fn wave(x: f64) -> [f64; 3] {
    let k = 2.0 * std::f64::consts::PI;
    [2.0 + (k * x).sin(), k * (k * x).cos(), -k * k * (k * x).sin()]
}

/// The maximum error for the product of factors along the axes, with the values at all sides from the exact solution.
fn error(axes: &[(Factor, [BoundaryKind; 2])], grid: Grid, parts: usize) -> f64 {
    let points: Vec<Vec<f64>> = axes.iter().map(|(_, kinds)| places(*kinds, grid, parts)).collect();
    let shape: Vec<usize> = points.iter().map(Vec::len).collect();
    let n: usize = shape.iter().product();
    // Index e in a box without the axis `without`.
    let at = |mut e: usize, without: Option<usize>| {
        let mut place = vec![0; shape.len()];
        for k in (0..shape.len()).rev().filter(|k| Some(*k) != without) {
            (place[k], e) = (e % shape[k], e / shape[k]);
        }
        place
    };
    let product = |place: &[usize], of: &dyn Fn(usize, [f64; 3]) -> f64| -> f64 {
        (0..shape.len()).map(|k| of(k, axes[k].0(points[k][place[k]]))).product()
    };
    let (c, u) = (0.5, |e: usize| product(&at(e, None), &|_, s| s[0]));
    let laplacian = |e: usize| -> f64 {
        (0..shape.len()).map(|axis| product(&at(e, None), &|k, s| s[if k == axis { 2 } else { 0 }])).sum()
    };
    let f: Vec<f64> = (0..n).map(|e| c * u(e) - laplacian(e)).collect();
    let mut problem = Poisson::new(&shape).grid(grid).spacing(1.0 / parts as f64).shift(c);
    for (axis, (factor, kinds)) in axes.iter().enumerate() {
        problem = problem.axis_boundary(axis, kinds[0], kinds[1]);
        for (side, kind, x, out) in [(Side::Low, kinds[0], 0.0, -1.0), (Side::High, kinds[1], 1.0, 1.0)] {
            let [s, derivative, _] = factor(x);
            let along = match kind {
                BoundaryKind::Dirichlet => s,
                BoundaryKind::Neumann => out * derivative,
                BoundaryKind::Robin { alpha, beta } => alpha * s + beta * out * derivative,
                _ => continue,
            };
            let others = |e: usize| product(&at(e, Some(axis)), &|k, s| if k == axis { along } else { s[0] });
            let values: Vec<f64> = (0..n / shape[axis]).map(others).collect();
            problem = problem.boundary_values(axis, side, &values);
        }
    }
    let solved = problem.plan::<f64>().unwrap().solve(&f).unwrap();
    solved.values.iter().enumerate().map(|(e, x)| (x - u(e)).abs()).fold(0.0, f64::max)
}

#[test]
fn order_two() {
    let ring = [BoundaryKind::Periodic; 2];
    let mut seen = 0;
    for grid in [Grid::Node, Grid::Cell] {
        for (low, high) in
            (0..4).flat_map(|low| (0..4).map(move |high| (low, high))).filter(|pair| pair.0.max(pair.1) > 1)
        {
            let robin = (exponential as Factor, [SIDES[low], SIDES[high]]);
            let other = (exponential as Factor, [SIDES[(low + high) % 4], SIDES[low]]);
            let wave = |kinds| (wave as Factor, kinds);
            let boxes = [
                (vec![robin], [40, 80]),
                (vec![robin, wave(ring)], [40, 80]),
                (vec![wave([SIDES[high], SIDES[low % 2]]), robin], [40, 80]),
                (vec![robin, other], [40, 80]),
                (vec![wave(ring), other, robin], [20, 40]),
                (vec![robin, wave([SIDES[low % 2], SIDES[1]]), other], [20, 40]),
            ];
            for (axes, parts) in boxes {
                let errors = parts.map(|parts| error(&axes, grid, parts));
                let order = (errors[0] / errors[1]).log2();
                let kinds: Vec<_> = axes.iter().map(|axis| axis.1).collect();
                assert!((order - 2.0).abs() < 0.15 && errors[0] < 0.1, "{grid:?} {kinds:?}: {errors:?}");
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 2 * 12 * 6);
}

/// A Robin side with α = 0 is a Neumann side: same choice of method, same bits, and the same null space.
#[test]
fn without_alpha_a_side_is_a_neumann_side() {
    for (grid, beta) in [(Grid::Node, 1.0), (Grid::Cell, -2.0)] {
        let solve = |boundary: Boundary| {
            let plan = Poisson::new(&[20, 31]).grid(grid).boundary(boundary).plan::<f64>().unwrap();
            let mut f = right_hand_side(620, 3);
            f[0] += 0.01;
            (plan.method().1.to_owned(), plan.solve(&f).unwrap())
        };
        let (neumann, robin) = (solve(Boundary::neumann(0.25)), solve(Boundary::robin(0.0, beta, 0.25 * beta)));
        assert_eq!(neumann.1.report.mean, Some(0.0));
        assert_eq!(neumann, robin);
    }
}

/// −u″ = 0 with ∂u/∂n + u = 0 at x = 0 and ∂u/∂n = u/2 at x = 1 has the solution 1 + x, also on each grid.
#[test]
fn singular_problems_are_an_error() {
    for grid in [Grid::Node, Grid::Cell] {
        for parts in [2usize, 3, 16, 100, 3000] {
            let n = if grid == Grid::Cell { parts } else { parts + 1 };
            let axis = |problem: Poisson, axis, high: f64| {
                let sides = [Boundary::robin(1.0, 1.0, 0.0), Boundary::robin(-1.0, high, 0.0)];
                problem
                    .axis_grid(axis, grid)
                    .axis_spacing(axis, 1.0 / parts as f64)
                    .axis_boundary(axis, sides[0], sides[1])
            };
            let ring = |axis, problem: Poisson| problem.axis_boundary(axis, Boundary::periodic(), Boundary::periodic());
            let line = |high| axis(Poisson::new(&[n]), 0, high);
            let mut problems = vec![line(2.0)];
            if parts <= 100 {
                problems.push(ring(1, axis(Poisson::new(&[n, 12]), 0, 2.0)));
                problems.push(ring(0, axis(Poisson::new(&[9, n]), 1, 2.0)));
            }
            for (k, problem) in problems.into_iter().enumerate() {
                let plan = problem.plan::<f64>();
                let size = plan.as_ref().map_or(0, |plan| plan.len());
                let solved = plan.and_then(|plan| plan.solve(&right_hand_side(size, 1)));
                let refused = matches!(solved, Err(Error::NotConverged { .. } | Error::Singular { .. }));
                assert!(refused, "{grid:?} {parts} {k}: {:?}", solved.map(|s| s.report));
            }
            // With another coefficient, and with a shift, the problems have a unique solution.
            for problem in [line(4.0), line(2.0).shift(0.5), line(1.0), line(0.7)] {
                let report = problem.plan::<f64>().unwrap().solve(&right_hand_side(n, 1)).unwrap().report;
                assert!(report.rcond > 1e-10 && report.attention.is_none(), "{grid:?} {parts}: {report:?}");
            }
        }
    }
}

/// A single node between two Robin sides has the equation (α₀ + α₁) u = f + g₀ + g₁ if β is 1. Constants solve it if the sum is 0.
#[test]
fn one_unknown() {
    let plan = |low: f64, high: f64| {
        let problem =
            Poisson::new(&[1]).axis_boundary(0, Boundary::robin(low, 1.0, 2.0), Boundary::robin(high, 1.0, 3.0));
        problem.removable(f64::INFINITY).mean(7.0).plan::<f64>().unwrap()
    };
    assert_eq!(plan(0.5, 1.5).solve(&[1.0]).unwrap().values, [3.0]);
    assert_eq!(plan(0.5, -1.5).solve(&[1.0]).unwrap().values, [-6.0]);
    let singular = plan(0.5, -0.5).solve(&[1.0]).unwrap();
    assert_eq!((singular.values[0], singular.report.removed, singular.report.mean), (7.0, 6.0, Some(7.0)));
}

#[test]
fn invalid_coefficients() {
    let message = |grid, low, high| {
        let problem = Poisson::new(&[4, 5]).grid(grid).axis_boundary(1, low, high).axis_spacing(1, 0.5);
        problem.plan::<f64>().unwrap_err().to_string()
    };
    let fine = Boundary::robin(1.0, 2.0, 0.0);
    let has = |message: &str, parts: &[&str]| parts.iter().all(|part| message.contains(part));
    let zero = message(Grid::Node, fine, Boundary::robin(3.0, 0.0, 1.0));
    assert!(has(&zero, &["boundary[1]", "high", "beta = 0", "Dirichlet"]), "{zero}");
    let infinite = message(Grid::Node, Boundary::robin(f64::NAN, 1.0, 0.0), fine);
    assert!(has(&infinite, &["boundary[1]", "low", "NaN"]), "{infinite}");
    let wide = message(Grid::Cell, Boundary::robin(-4.0, 1.0, 0.0), fine);
    assert!(has(&wide, &["boundary[1]", "low", "0.5"]), "{wide}");
    let huge = message(Grid::Node, fine, Boundary::robin(1e200, 1e-200, 0.0));
    assert!(has(&huge, &["boundary[1]", "ratio"]), "{huge}");
    let value = Poisson::new(&[4]).boundary(Boundary::robin(1.0, 1.0, f64::NAN)).plan::<f64>();
    assert!(matches!(value, Err(Error::NotFinite { array: "boundary", index: 0 })));
}

/// The tridiagonal systems lie along the axis with Robin sides, so the plan needs no matrix of eigenvectors.
#[test]
fn systems_lie_along_the_axis_with_robin_sides() {
    for robin in 0..3 {
        let mut problem = Poisson::new(&[40, 40, 40]);
        problem = problem.axis_boundary(robin, Boundary::robin(1.0, 1.0, 0.0), Boundary::dirichlet(0.0));
        let plan = problem.plan::<f64>().unwrap();
        assert_eq!(plan.subproblems(), 1600);
        let (method, reason) = plan.method();
        assert!(method == PoissonMethod::Fft && reason.contains("Robin"), "{reason}");
        assert!(plan.factor_bytes() < 8 * 64000, "{}", plan.factor_bytes());
    }
}
