//! Second-order convergence to exact solutions.

use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson};
use std::f64::consts::PI;

/// A factor s(x) of the exact solution, with the conditions that s satisfies at both ends.
struct Wave {
    low: Boundary,
    high: Boundary,
    value: fn(f64) -> f64,
    /// s″/s
    square: f64,
}

fn waves() -> Vec<Wave> {
    let (d, q) = (BoundaryKind::Dirichlet, BoundaryKind::Neumann);
    let from = Boundary::from;
    let root = |k: f64| -(k * PI) * (k * PI);
    vec![
        Wave { low: from(d), high: from(d), value: |x| (PI * x).sin(), square: root(1.0) },
        Wave { low: from(q), high: from(q), value: |x| (PI * x).cos(), square: root(1.0) },
        Wave { low: from(d), high: from(q), value: |x| (0.5 * PI * x).sin(), square: root(0.5) },
        Wave { low: from(q), high: from(d), value: |x| (0.5 * PI * x).cos(), square: root(0.5) },
        Wave {
            low: Boundary::periodic(),
            high: Boundary::periodic(),
            value: |x| (2.0 * PI * x).sin(),
            square: root(2.0),
        },
        // e^x satisfies non-zero conditions.
        Wave { low: Boundary::dirichlet(1.0), high: Boundary::neumann(1f64.exp()), value: f64::exp, square: 1.0 },
        Wave { low: Boundary::neumann(-1.0), high: Boundary::dirichlet(1f64.exp()), value: f64::exp, square: 1.0 },
    ]
}

/// The coordinates of the unknowns if [0, 1] is divided into `parts` intervals.
fn places(wave: &Wave, grid: Grid, parts: usize) -> Vec<f64> {
    let h = 1.0 / parts as f64;
    if grid == Grid::Cell {
        return (0..parts).map(|i| (i as f64 + 0.5) * h).collect();
    }
    let first = usize::from(wave.low.kind == BoundaryKind::Dirichlet);
    let last = if wave.high.kind == BoundaryKind::Neumann { parts } else { parts - 1 };
    (first..=last).map(|i| i as f64 * h).collect()
}

/// The maximum error for u = one(x) two(y), or for u = e^x if `one` is e^x.
fn error(one: &Wave, two: &Wave, grid: Grid, parts: usize) -> f64 {
    let exponential = one.square > 0.0;
    let (x, y) = (places(one, grid, parts), places(two, grid, parts));
    let exact = |x: f64, y: f64| (one.value)(x) * if exponential { 1.0 } else { (two.value)(y) };
    let square = one.square + if exponential { 0.0 } else { two.square };
    let at = |e: usize| (x[e / y.len()], y[e % y.len()]);
    let f: Vec<f64> = (0..x.len() * y.len()).map(|e| (0.5 - square) * exact(at(e).0, at(e).1)).collect();
    let problem = Poisson::new(&[x.len(), y.len()]).grid(grid).spacing(1.0 / parts as f64).shift(0.5);
    let problem = problem.axis_boundary(0, one.low, one.high).axis_boundary(1, two.low, two.high);
    let u = problem.plan::<f64>().unwrap().solve(&f).unwrap().values;
    u.iter().enumerate().map(|(e, u)| (u - exact(at(e).0, at(e).1)).abs()).fold(0.0, f64::max)
}

#[test]
fn order_two_for_every_kind() {
    for grid in [Grid::Node, Grid::Cell] {
        for one in &waves() {
            for two in &waves() {
                // e^x does not depend on y, so the sides along y are Neumann sides.
                if one.square > 0.0 && two.low.kind != BoundaryKind::Neumann || two.square > 0.0 {
                    continue;
                }
                if one.square > 0.0 && two.high.kind != BoundaryKind::Neumann {
                    continue;
                }
                let errors = [error(one, two, grid, 32), error(one, two, grid, 64)];
                let order = (errors[0] / errors[1]).log2();
                assert!(
                    (order - 2.0).abs() < 0.1 && errors[0] < 1e-2,
                    "{grid:?} {:?} {:?}: {errors:?}",
                    one.low,
                    two.low
                );
            }
        }
    }
}

#[test]
fn order_two_with_variable_spacing() {
    // −u″ = π² sin πx, with smaller spacings near 0
    let errors = [40, 80].map(|n: usize| {
        let points: Vec<f64> = (0..n + 2).map(|i| (i as f64 / (n + 1) as f64).powf(1.5)).collect();
        let f: Vec<f64> = points[1..=n].iter().map(|x| PI * PI * (PI * x).sin()).collect();
        let u = Poisson::new(&[n]).coordinates(0, &points).plan::<f64>().unwrap().solve(&f).unwrap().values;
        u.iter().zip(&points[1..]).map(|(u, x)| (u - (PI * x).sin()).abs()).fold(0.0, f64::max)
    });
    assert!(((errors[0] / errors[1]).log2() - 2.0).abs() < 0.2, "{errors:?}");
}
