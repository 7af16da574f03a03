//! Second looks: the search finds all equal eigenvalues, or reports that it has not converged.

use bandsolve::{Banded, RealScalar, Scalar, Tridiagonal};
use bandsolve_eigen::{
    EigenEnding, EigenProblem, EigenReport, EigenSolver, EigenvaluesBelow, MatrixOperator, Which, eigenvalues_below,
};
use bandsolve_gallery::Random;
use core::f64::consts::PI;

/// The matrix I − (S + Sᵀ)/2 with the cyclic shift S, and its eigenvalues 1 − cos(2π·j/n) in ascending order. All but one or two are double.
fn ring<T: Scalar>(n: usize) -> (Tridiagonal<'static, T>, Vec<f64>) {
    let number = |x: f64| T::from_real(T::Real::from_f64(x));
    let beside = vec![number(-0.5); n];
    let mut exact: Vec<f64> = (0..n).map(|j| 2.0 * (PI * j as f64 / n as f64).sin().powi(2)).collect();
    exact.sort_by(f64::total_cmp);
    (Tridiagonal::from_vecs(beside.clone(), vec![number(1.0); n], beside, true).unwrap(), exact)
}

/// A block diagonal matrix with six copies of a symmetric band of 12 rows, and its eigenvalues in ascending order.
fn six_blocks(seed: u64) -> (Banded<'static, f64>, Vec<f64>) {
    let (rows, width) = (12, 2);
    let (n, leading) = (6 * rows, 2 * width + 1);
    let entries = Random::new(seed).uniform_vec(rows * (width + 1), -1.0, 1.0);
    let band = |blocks: usize| {
        let mut bands = vec![0.0; blocks * rows * leading];
        for (j, i) in (0..blocks * rows).flat_map(|j| (0..=width).map(move |below| (j, j + below))) {
            if j / rows == i / rows {
                let entry = entries[j % rows * (width + 1) + i - j];
                bands[width + i - j + j * leading] = entry;
                if i > j {
                    bands[width + j - i + i * leading] = entry;
                }
            }
        }
        Banded::from_vec(blocks * rows, width, width, bands).unwrap()
    };
    // Compute the eigenvalues of one copy by bisection with counts.
    let (one, mut exact) = (band(1), Vec::new());
    for k in 0..rows {
        let (mut low, mut high) = (-6.0, 6.0);
        while high - low > 1e-13 {
            let middle = 0.5 * (low + high);
            if eigenvalues_below(&one, None, middle).unwrap() > k { high = middle } else { low = middle }
        }
        exact.extend([0.5 * (low + high); 6]);
    }
    assert_eq!(exact.len(), n);
    (band(6), exact)
}

/// Check that the sorted values agree with the expected ones up to a tolerance.
fn check(values: impl IntoIterator<Item = f64>, expected: &[f64], (report, tol): (&EigenReport, f64), what: &str) {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    assert_eq!(report.ending, EigenEnding::Converged, "{what} {report:?} {values:?}");
    let same = values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() <= tol);
    assert!(values.len() == expected.len() && same, "{what}: {values:?}, expected {expected:?}");
}

/// Find eigenvalues at both ends of the spectrum of a ring for k = 1 to 9, by both searches.
fn check_ring<T: Scalar>(n: usize, tol: f64) {
    let (a, exact) = ring::<T>(n);
    let operator = MatrixOperator(&a);
    let problem = EigenProblem::new(&operator);
    for k in 1..10 {
        for (which, expected) in [(Which::SmallestReal, &exact[..k]), (Which::LargestReal, &exact[n - k..])] {
            let (what, solver) = (format!("{n} {k} {which}"), EigenSolver::new(k).which(which).ncv(40).tol(tol));
            let eigen = solver.hermitian(&problem).unwrap();
            // A residual of tol·|λ| bounds the error. For λ = 0, the bound is n·ε, the rounding errors of a few products.
            let allowed = 2.0 * tol + 4.0 * n as f64 * T::Real::EPSILON.to_f64();
            check(eigen.values.iter().copied(), expected, (&eigen.report, allowed), &what);
            let eigen = solver.general(&problem).unwrap();
            check(
                eigen.values.iter().map(|value| value.re),
                expected,
                (&eigen.report, allowed),
                &format!("general {what}"),
            );
        }
    }
}

#[test]
fn rings_at_both_ends() {
    for n in [50, 100, 200, 400] {
        check_ring::<f64>(n, 1e-8);
    }
}

#[test]
fn rings_in_single_precision() {
    for n in [50, 100] {
        check_ring::<f32>(n, 1e-5);
    }
}

/// The eigenvalues nearest to a number, in ascending order.
fn nearest(exact: &[f64], k: usize, sigma: f64) -> Vec<f64> {
    let mut values = exact.to_vec();
    values.sort_by(|a, b| (a - sigma).abs().total_cmp(&(b - sigma).abs()));
    values.truncate(k);
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn six_equal_blocks_at_the_ends_and_near_targets() {
    for seed in 0..10 {
        let (a, exact) = six_blocks(seed);
        let (n, operator) = (exact.len(), MatrixOperator(&a));
        let problem = EigenProblem::new(&operator);
        let below = |shift: f64| eigenvalues_below(&a, None, shift);
        for k in [1, 4, 6, 7, 13] {
            let what = format!("seed {seed}, k {k}");
            // The error is due to residuals of 1e-10·|λ| with |λ| ≤ 5, and to bisection.
            let tol = 1e-9;
            let solver = EigenSolver::new(k).tol(1e-10).seed(seed);
            let eigen = solver.which(Which::LargestReal).hermitian(&problem).unwrap();
            check(eigen.values.iter().copied(), &exact[n - k..], (&eigen.report, tol), &format!("{} {what}", line!()));
            let eigen = solver.which(Which::SmallestReal).general(&problem).unwrap();
            check(
                eigen.values.iter().map(|value| value.re),
                &exact[..k],
                (&eigen.report, tol),
                &format!("{} {what}", line!()),
            );
            let near = nearest(&exact, k, 0.3);
            let eigen = solver.hermitian_nearest(&a, None, 0.3).unwrap();
            check(eigen.values.iter().copied(), &near, (&eigen.report, tol), &format!("{} {what}", line!()));
            let counted = solver.count(&below).second_look(false).hermitian_nearest(&a, None, 0.3).unwrap();
            check(counted.values.iter().copied(), &near, (&counted.report, tol), &what);
            assert_eq!(counted.report.complete, Some(true), "{what}");
            let eigen = solver.general_nearest(&a, None, 0.3).unwrap();
            check(
                eigen.values.iter().map(|value| value.re),
                &near,
                (&eigen.report, tol),
                &format!("{} {what}", line!()),
            );
        }
    }
}

fn diagonal<T: Scalar>(values: &[f64]) -> Tridiagonal<'static, T> {
    let zeros = vec![T::ZERO; values.len()];
    let diagonal = values.iter().map(|value| T::from_real(T::Real::from_f64(*value))).collect();
    Tridiagonal::from_vecs(zeros.clone(), diagonal, zeros, false).unwrap()
}

#[test]
fn clusters_and_many_copies() {
    // Forty copies of 2, and a cluster that a Krylov space cannot resolve in a few steps.
    let mut values: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
    values.extend([2.0; 40]);
    values.extend([3.0, 3.0 - 1e-6, 3.0 - 1e-6, 3.0 - 2e-6]);
    values.sort_by(f64::total_cmp);
    let (n, a) = (values.len(), diagonal::<f64>(&values));
    let operator = MatrixOperator(&a);
    for (k, seed) in [3, 4, 5, 30, 44].into_iter().flat_map(|k| (0..5).map(move |seed| (k, seed))) {
        let solver = EigenSolver::new(k).tol(1e-10).seed(seed);
        let eigen = solver.hermitian(&EigenProblem::new(&operator)).unwrap();
        check(eigen.values.iter().copied(), &values[n - k..], (&eigen.report, 1e-9), &format!("{k} {seed}"));
        let eigen = solver.general(&EigenProblem::new(&operator)).unwrap();
        let real = eigen.values.iter().map(|value| value.re);
        check(real, &values[n - k..], (&eigen.report, 1e-9), &format!("general {k} {seed}"));
    }
}

/// Counts in single precision, with the error margins of the type.
#[test]
fn counts_in_single_precision() {
    let mut values: Vec<f64> = (0..60).map(|i| 3.0 + f64::from(i)).collect();
    values.extend([1.0, 1.0, 1.0, -1.5, 2.0, 2.0]);
    let a = diagonal::<f32>(&values);
    let below = |shift: f64| eigenvalues_below(&a, None, shift);
    for (k, target) in (1..8).flat_map(|k| [0.1, 0.9, 1.3].map(|target| (k, target))) {
        for seed in 0..10 {
            let solver = EigenSolver::new(k).tol(1e-5).seed(seed).count(&below as EigenvaluesBelow<'_>);
            let eigen = solver.hermitian_nearest(&a, None, target).unwrap();
            let near = nearest(&values, k, target);
            // A residual of 1e-5·|θ| causes an error of at most 1e-5 times the distance from the target, which is less than 3.
            check(eigen.values.iter().copied(), &near, (&eigen.report, 1e-4), &format!("{k} {target} {seed}"));
            assert_eq!(eigen.report.complete, Some(true), "{k} {target} {seed}");
        }
    }
}

#[test]
fn looks_that_reach_a_limit_are_said() {
    // The search ends immediately, because it starts with the eigenvector. A look must prove that all others are smaller, by tiny differences.
    let mut values: Vec<f64> = (0..2000).map(|i| 1.0 - 1e-7 * f64::from(i)).collect();
    values[0] = 1.0 + 1e-6;
    let a = diagonal::<f64>(&values);
    let mut start = vec![0.0; 2000];
    start[0] = 1.0;
    let operator = MatrixOperator(&a);
    let solver = EigenSolver::new(1).start(&start).max_restarts(1).tol(1e-12).which(Which::LargestReal);
    let eigen = solver.hermitian(&EigenProblem::new(&operator)).unwrap();
    assert_eq!((eigen.report.ending, eigen.values.len()), (EigenEnding::Incomplete, 1));
    assert!(!eigen.converged() && eigen.report.ending.to_string() == "may be incomplete");
    let eigen = solver.general(&EigenProblem::new(&operator)).unwrap();
    assert_eq!(eigen.report.ending, EigenEnding::Incomplete);
    // Without second looks, the ending is `Converged`, although eigenvalues can be missing.
    assert!(solver.second_look(false).hermitian(&EigenProblem::new(&operator)).unwrap().converged());
    // Counts prove the result without a look.
    let below = |shift: f64| eigenvalues_below(&a, None, shift);
    let eigen = solver.count(&below).hermitian(&EigenProblem::new(&operator)).unwrap();
    assert_eq!((eigen.converged(), eigen.report.complete), (true, Some(true)));
    // If counts show a missing eigenvalue, the ending is `Incomplete`, even if looks find nothing.
    let wrong = |shift: f64| Ok(if shift > 0.0 { 50 } else { 0 });
    let few = diagonal::<f64>(&(1..60).map(f64::from).collect::<Vec<_>>());
    let eigen = EigenSolver::new(3).count(&wrong).hermitian_nearest(&few, None, 0.0).unwrap();
    assert_eq!((eigen.report.ending, eigen.report.complete), (EigenEnding::Incomplete, Some(false)));
}
