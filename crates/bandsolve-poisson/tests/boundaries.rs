//! Every pair of kinds of axes beside banded LU.

mod common;

use bandsolve_poisson::PoissonMethod;
use common::{Axis, distance, is_singular, kinds, problem, right_hand_side, write_out};

/// Solves by `method` and compares with LU, or of singular problems with their equations.
fn check(axes: &[Axis], shift: f64, method: PoissonMethod) {
    let what = format!("{axes:?} shift {shift} {}", method.name());
    let written = write_out(axes, shift);
    let f = right_hand_side(written.n, 1);
    let plan = problem(axes, shift).method(method).removable(f64::INFINITY).plan::<f64>().expect(&what);
    let solution = plan.solve(&f).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (u, report) = (&solution.values, &solution.report);
    // The residual is rounded, too: by a few ε of Σ|a| ‖u‖.
    let error = written.backward_error(&f, u, report.removed);
    assert!(report.backward_error <= 2e-15 && error <= 4e-15, "{what}: {:e} {error:e}", report.backward_error);
    if is_singular(axes, shift) {
        assert_eq!(report.mean, Some(0.0), "{what}");
        return;
    }
    // The bound is the distance that two answers with such backward errors may have: the condition number times ε.
    let expected = written.solve(&f);
    let apart = distance(u, &expected);
    let size: f64 = axes.iter().map(|axis| axis.n as f64).fold(1.0, f64::max);
    assert!(apart <= 1e-14 + 4e-16 * size * size, "{what}: {apart:e}");
    assert!(report.removed == 0.0 && report.mean.is_none(), "{what}");
}

#[test]
fn all_pairs_of_kinds() {
    let sizes = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17];
    let mut count = 0;
    for a in 0..9 {
        for b in 0..9 {
            for k in 0..3 {
                let (n, m) = (sizes[(a + 2 * b + 5 * k) % 12], sizes[(3 * a + b + 7 * k + 4) % 12]);
                let axes = [kinds(n, 1.0)[a].clone(), kinds(m, 0.5)[b].clone()];
                for shift in [0.0, 0.37] {
                    check(&axes, shift, PoissonMethod::Auto);
                    check(&axes, shift, PoissonMethod::Gemm);
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 81 * 6);
}

#[test]
fn all_sizes() {
    for n in (1..=40).chain([41, 43, 47, 53, 59, 61, 67, 127]) {
        for a in 0..9 {
            let b = (a + n) % 9;
            check(&[kinds(n, 1.0)[a].clone(), kinds(5 + n % 4, 0.8)[b].clone()], 0.0, PoissonMethod::Auto);
            check(&[kinds(4 + n % 5, 1.3)[b].clone(), kinds(n, 1.0)[a].clone()], 0.0, PoissonMethod::Auto);
            check(&[kinds(n, 0.1)[a].clone()], 0.0, PoissonMethod::Auto);
        }
    }
}

#[test]
fn three_dimensions() {
    for k in 0..27 {
        let (a, b, c) = (k % 9, (2 * k + k / 9) % 9, (5 * k + 3) % 9);
        let sizes = [[3, 4, 5], [6, 1, 7], [5, 8, 2], [4, 5, 9], [7, 6, 1]][k % 5];
        let axes = [kinds(sizes[0], 1.0)[a].clone(), kinds(sizes[1], 0.7)[b].clone(), kinds(sizes[2], 1.5)[c].clone()];
        check(&axes, 0.0, PoissonMethod::Auto);
        check(&axes, 0.2, PoissonMethod::Auto);
        check(&axes, 0.0, PoissonMethod::Gemm);
    }
}

/// The same axis with points that are not equally far apart.
fn stretched(mut axis: Axis) -> Axis {
    let dirichlet = axis.sides.iter().filter(|side| side.kind.name() == "dirichlet").count();
    let node = axis.grid == bandsolve_poisson::Grid::Node && axis.sides[0].kind.name() != "periodic";
    let count = if node { axis.n + dirichlet } else { axis.n + 1 };
    axis.points = Some((0..count).map(|i| i as f64 + 0.4 * (i as f64 * 0.9).sin()).collect());
    axis
}

#[test]
fn varying_spacings() {
    for a in 0..9 {
        for b in 0..9 {
            let (n, m) = (4 + a, 3 + (a + b) % 7);
            let (one, two) = (kinds(n, 1.0)[a].clone(), kinds(m, 0.5)[b].clone());
            for shift in [0.0, 0.11] {
                check(&[stretched(one.clone()), two.clone()], shift, PoissonMethod::Auto);
                check(&[two.clone(), stretched(one.clone())], shift, PoissonMethod::Auto);
                check(&[stretched(two.clone()), stretched(one.clone())], shift, PoissonMethod::Auto);
            }
            let three = kinds(4, 1.2)[(a + 2 * b) % 9].clone();
            check(&[three.clone(), two.clone(), stretched(one.clone())], 0.0, PoissonMethod::Auto);
            check(&[three.clone(), stretched(two.clone()), stretched(one.clone())], 0.0, PoissonMethod::Auto);
            if a < 8 {
                check(&[stretched(three), stretched(two), stretched(one)], 0.0, PoissonMethod::Auto);
            }
        }
    }
    for a in 0..9 {
        for n in [1, 2, 3, 10, 33] {
            if n > 1 || a < 8 {
                check(&[stretched(kinds(n, 1.0)[a].clone())], 0.0, PoissonMethod::Auto);
            }
        }
    }
}
