//! Special cases: multiple eigenvalues, shifts at eigenvalues, small and degenerate problems, general matrices.

use bandsolve::dyn_stack::PodStack;
use bandsolve::{Banded, BlockTridiagonal, Complex64, Error, LinearOperator, Result, Scalar, Tridiagonal};
use bandsolve_eigen::{
    EigenEnding, EigenProblem, EigenSolver, MatrixOperator, ShiftableMatrix, Which, eigenvalues_below,
};
use bandsolve_gallery::{Random, random_vec};
use core::f64::consts::PI;

fn second_difference(n: usize) -> Tridiagonal<'static, f64> {
    Tridiagonal::from_vecs(vec![-1.0; n], vec![2.0; n], vec![-1.0; n], false).unwrap()
}

fn exact(k: usize, n: usize) -> f64 {
    4.0 * (PI * k as f64 / (2 * (n + 1)) as f64).sin().powi(2)
}

fn diagonal<T: Scalar>(values: &[T]) -> Tridiagonal<'static, T> {
    let zeros = vec![T::ZERO; values.len()];
    Tridiagonal::from_vecs(zeros.clone(), values.to_vec(), zeros, false).unwrap()
}

#[test]
fn ends_of_a_spectrum_without_a_shift() {
    let a = second_difference(60);
    let problem = MatrixOperator(&a);
    for (which, expected) in [
        (Which::LargestReal, [60, 59, 58, 57]),
        (Which::LargestMagnitude, [60, 59, 58, 57]),
        (Which::SmallestReal, [1, 2, 3, 4]),
        (Which::SmallestMagnitude, [1, 2, 3, 4]),
        (Which::BothEnds, [60, 1, 59, 2]),
    ] {
        let solver = EigenSolver::new(4).which(which).tol(1e-10);
        let eigen = solver.hermitian(&EigenProblem::new(&problem)).unwrap();
        assert!(eigen.converged(), "{which} {:?}", eigen.report);
        let general = solver.general(&EigenProblem::new(&problem)).unwrap();
        assert!(general.converged(), "{which} {:?}", general.report);
        for (k, expected) in expected.iter().enumerate() {
            let expected = exact(*expected, 60);
            assert!((eigen.values[k] - expected).abs() < 1e-12, "{which} {k} {} {expected}", eigen.values[k]);
            assert!((general.values[k] - expected).norm() < 1e-9, "{which} {k} {} {expected}", general.values[k]);
        }
        assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-9) && eigen.report.orthogonality < 1e-13);
    }
}

#[test]
fn a_shift_on_an_eigenvalue() {
    // For a diagonal matrix, the shift is an exact eigenvalue. For the second difference, it is an eigenvalue up to rounding errors.
    let a = diagonal(&(0..50).map(f64::from).collect::<Vec<_>>());
    let eigen = EigenSolver::new(3).hermitian_nearest(&a, None, 20.0).unwrap();
    assert!(eigen.converged() && eigen.offsets[0].abs() < 1e-12, "{eigen:?}");
    assert!((eigen.offsets[1].abs() - 1.0).abs() < 1e-10 && (eigen.offsets[2].abs() - 1.0).abs() < 1e-10, "{eigen:?}");
    let a = second_difference(80);
    let eigen = EigenSolver::new(3).hermitian_nearest(&a, None, exact(30, 80)).unwrap();
    assert!((eigen.values[0] - exact(30, 80)).abs() < 1e-12 && eigen.report.residuals.iter().all(|r| *r < 1e-8));
}

#[test]
fn small_and_degenerate_problems() {
    for n in 0..6 {
        let identity = diagonal(&vec![1.0; n]);
        for target in [0.5, 1.0] {
            let solver = EigenSolver::new(n.min(3));
            let eigen = solver.hermitian_nearest(&identity, None, target).unwrap();
            assert_eq!((eigen.values.len(), eigen.converged()), (n.min(3), true), "{n} {target}");
            assert!(eigen.values.iter().all(|value| (value - 1.0).abs() < 1e-14), "{:?}", eigen.values);
            let eigen = solver.general_nearest(&identity, None, target).unwrap();
            assert!(eigen.values.len() == n.min(3) && eigen.values.iter().all(|value| (value - 1.0).norm() < 1e-14));
        }
        let zero = diagonal(&vec![0.0; n]);
        let eigen = EigenSolver::new(n).hermitian(&EigenProblem::new(&MatrixOperator(&zero))).unwrap();
        assert!(eigen.values.len() == n && eigen.values.iter().all(|value| *value == 0.0));
        let eigen = EigenSolver::new(0).hermitian(&EigenProblem::new(&MatrixOperator(&zero))).unwrap();
        assert!(eigen.values.is_empty() && eigen.converged());
    }
    // k exceeds the number of eigenvalues.
    let identity = diagonal(&vec![1.0; 100]);
    for k in [101, 1 << 40, usize::MAX] {
        let solver = EigenSolver::new(k);
        let refused =
            |error| error == Error::invalid("k", format!("is {k}"), "at most one eigenvalue for each of the 100 rows");
        let operator = MatrixOperator(&identity);
        assert!(refused(solver.hermitian(&EigenProblem::new(&operator)).unwrap_err()));
        assert!(refused(solver.general(&EigenProblem::new(&operator)).unwrap_err()));
        assert!(refused(solver.hermitian_nearest(&identity, None, 1.0).unwrap_err()));
        assert!(refused(solver.general_nearest(&identity, None, 0.5).unwrap_err()));
    }
    let eigen = EigenSolver::new(5).hermitian(&EigenProblem::new(&MatrixOperator(&identity))).unwrap();
    assert!(eigen.converged() && eigen.values.iter().all(|value| (value - 1.0).abs() < 1e-14));
    assert!(eigen.report.orthogonality < 1e-13, "{:?}", eigen.report);
}

#[test]
fn starts_that_are_zero_invariant_or_not_finite() {
    let a = second_difference(40);
    let one = [&[1.0][..], &[0.0; 39]].concat();
    let mode: Vec<f64> = (1..=40).map(|i| (PI * f64::from(7 * i) / 41.0).sin()).collect();
    for start in [vec![0.0; 40], one, mode] {
        let eigen = EigenSolver::new(4).start(&start).hermitian_nearest(&a, None, -0.1).unwrap();
        for (k, value) in eigen.values.iter().enumerate() {
            assert!((value - exact(k + 1, 40)).abs() < 1e-12, "{:?}", eigen.values);
        }
    }
    let bad = EigenSolver::new(4).start(&[f64::NAN; 40]).hermitian_nearest(&a, None, -0.1);
    assert_eq!(bad.unwrap_err(), Error::NotFinite { array: "start", index: 0 });
    let short = EigenSolver::new(4).start(&[1.0]).hermitian_nearest(&a, None, -0.1);
    assert!(matches!(short.unwrap_err(), Error::Shape { .. }));
    assert!(EigenSolver::new(4).hermitian_nearest(&a, None, f64::NAN).is_err());
    let nan = diagonal(&[1.0, f64::NAN, 1.0]);
    assert!(matches!(EigenSolver::new(1).hermitian_nearest(&nan, None, 0.5), Err(Error::NotFinite { .. })));
    assert!(EigenSolver::new(1).hermitian(&EigenProblem::new(&MatrixOperator(&nan))).is_err());
    assert!(EigenSolver::new(1).general(&EigenProblem::new(&MatrixOperator(&nan))).is_err());
}

/// Make eigenvalues with these multiplicities, in the order of their distance from 0.
fn clustered() -> Vec<f64> {
    let mut values: Vec<f64> = (0..100).map(|i| 10.0 + f64::from(i)).collect();
    values.extend([1.0, 1.0, 1.0, -1.5, 2.0, 2.0 + 1e-9, 2.0 + 2e-9, 3.0]);
    values
}

#[test]
fn counts_find_what_is_missing() {
    let values = clustered();
    let a = diagonal(&values);
    let below = |shift: f64| Ok(values.iter().filter(|value| **value < shift).count());
    let mut nearest = values.clone();
    nearest.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    for seed in 0..100 {
        let solver = EigenSolver::new(8).seed(seed).count(&below);
        let eigen = solver.hermitian_nearest(&a, None, 0.0).unwrap();
        assert_eq!(eigen.report.complete, Some(true), "{seed} {:?}", eigen.values);
        for (got, expected) in eigen.values.iter().zip(&nearest) {
            assert!((got - expected).abs() < 1e-8, "{seed} {:?}", eigen.values);
        }
        assert!(eigen.report.orthogonality < 1e-12, "{:?}", eigen.report);
    }
    let uncounted = EigenSolver::new(8).hermitian_nearest(&a, None, 0.0).unwrap();
    assert_eq!(uncounted.report.complete, None);
    for which in [Which::LargestReal, Which::SmallestReal, Which::LargestMagnitude, Which::SmallestMagnitude] {
        let solver = EigenSolver::new(3).which(which).ncv(20).count(&below);
        let eigen = solver.hermitian(&EigenProblem::new(&MatrixOperator(&a))).unwrap();
        assert_eq!((eigen.converged(), eigen.report.complete), (true, Some(true)), "{which} {eigen:?}");
    }
    // With wrong counts, the search ends.
    let wrong = |shift: f64| Ok(if shift > 0.0 { 50 } else { 0 });
    let eigen = EigenSolver::new(3).count(&wrong).hermitian_nearest(&a, None, 0.0).unwrap();
    assert_eq!(eigen.report.complete, Some(false));
}

#[test]
fn clusters_of_two_to_twenty_are_complete() {
    for size in [2_usize, 3, 5, 8, 13, 20] {
        for spread in [0.0, 1e-13, 1e-9] {
            let mut values: Vec<f64> = (0..60).map(|i| 3.0 + f64::from(i)).collect();
            values.extend((0..size).map(|i| spread * i as f64));
            let a = diagonal(&values);
            for seed in 0..100 {
                let below = |shift: f64| eigenvalues_below(&a, None, shift);
                let solver = EigenSolver::new(size + 1).seed(seed).count(&below);
                let eigen = solver.hermitian_nearest(&a, None, 0.5).unwrap();
                let inside = eigen.values.iter().filter(|value| value.abs() < 1e-6).count();
                assert_eq!((inside, eigen.report.complete), (size, Some(true)), "{size} {spread} {seed}: {eigen:?}");
            }
        }
    }
    // 12 glued Wilkinson matrices, whose largest eigenvalue occurs 24 times.
    let (mut diag, mut off) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        diag.extend((0..21).map(|k| f64::from(k - 10).abs()));
        off.extend((0..21).map(|k| if k < 20 { 1.0 } else { 1e-14 }));
    }
    let n = diag.len();
    off[n - 1] = 0.0;
    let sub = (0..n).map(|i| if i > 0 { off[i - 1] } else { 0.0 }).collect();
    let a = Tridiagonal::from_vecs(sub, diag, off, false).unwrap();
    for seed in 0..100 {
        let below = |shift: f64| eigenvalues_below(&a, None, shift);
        let eigen = EigenSolver::new(24).seed(seed).count(&below).hermitian_nearest(&a, None, 10.8).unwrap();
        assert!(eigen.values.iter().all(|value| (value - 10.746_194_182_903_35).abs() < 1e-12), "{seed}: {eigen:?}");
        assert_eq!(eigen.report.complete, Some(true), "{seed}");
    }
}

/// Compute all eigenvalues by the general search, with a Krylov space as large as the matrix.
fn all(a: &Banded<'_, f64>) -> Vec<Complex64> {
    let n = a.n();
    EigenSolver::new(n).ncv(n).general(&EigenProblem::new(&MatrixOperator(a))).unwrap().values
}

#[test]
fn general_matrices_real_and_complex() {
    let (n, lower, upper) = (120, 3, 2);
    let mut random = Random::new(5);
    let bands: Vec<f64> = random_vec(n * (lower + upper + 1), &mut random);
    let a = Banded::from_vec(n, lower, upper, bands.clone()).unwrap();
    let full = all(&a);
    assert_eq!(full.len(), n);
    for which in [Which::LargestMagnitude, Which::LargestReal, Which::SmallestReal, Which::LargestImaginary] {
        let eigen = EigenSolver::new(6).ncv(30).which(which).general(&EigenProblem::new(&MatrixOperator(&a))).unwrap();
        assert!(eigen.converged() && eigen.values.len() == 6, "{which} {:?}", eigen.report);
        assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-7), "{which} {:?}", eigen.report);
        let worst = |key: &dyn Fn(&Complex64) -> f64| {
            let mut keys: Vec<f64> = full.iter().map(key).collect();
            keys.sort_by(|a, b| b.total_cmp(a));
            eigen.values.iter().map(key).zip(keys).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let error = match which {
            Which::LargestMagnitude => worst(&|value| value.norm()),
            Which::LargestReal => worst(&|value| value.re),
            Which::SmallestReal => worst(&|value| -value.re),
            _ => worst(&|value| value.im.abs()),
        };
        assert!(error < 1e-6, "{which} {error}");
    }
    // A complex target needs complex matrices. The eigenvalues of the pencil (A, 2·I) are half as large.
    let complex: Vec<Complex64> = bands.iter().map(|a| Complex64::from(*a)).collect();
    let target = Complex64::new(0.3, 0.4);
    let c = Banded::from_vec(n, lower, upper, complex).unwrap();
    let eigen = EigenSolver::new(4).tol(1e-12).general_nearest(&c, None, target).unwrap();
    let mut nearest = full.clone();
    nearest.sort_by(|a, b| (a - target).norm().total_cmp(&(b - target).norm()));
    let mut twice = vec![0.0; bands.len()];
    (0..n).for_each(|j| twice[upper + j * (lower + upper + 1)] = 2.0);
    let b = Banded::from_vec(n, lower, upper, twice).unwrap();
    let halves = EigenSolver::new(4).tol(1e-12).general_nearest(&a, Some(&b), 0.15).unwrap();
    assert!(eigen.converged() && halves.converged());
    for k in 0..4 {
        assert!((eigen.values[k] - nearest[k]).norm() < 1e-8, "{:?} {:?}", eigen.values, &nearest[..4]);
        assert!((target + eigen.offsets[k] - eigen.values[k]).norm() < 1e-14);
    }
    nearest.sort_by(|a, b| (a - 0.3).norm().total_cmp(&(b - 0.3).norm()));
    let last = (nearest[3] - 0.3).norm() / 2.0;
    assert!(halves.offsets.iter().all(|offset| offset.norm() < last + 1e-8), "{:?}", halves.offsets);
}

#[test]
fn hermitian_pencils_of_complex_and_single_numbers() {
    let n = 90;
    let mut random = Random::new(2);
    let upper: Vec<Complex64> = random_vec(n, &mut random);
    let sub: Vec<Complex64> = (0..n).map(|i| if i > 0 { upper[i - 1].conj() } else { Complex64::ZERO }).collect();
    let diag: Vec<Complex64> = (0..n).map(|i| Complex64::from(i as f64 * 0.1)).collect();
    let a = Tridiagonal::from_vecs(sub, diag, upper, false).unwrap();
    let b = diagonal(&(0..n).map(|i| Complex64::from(1.0 + i as f64 / n as f64)).collect::<Vec<_>>());
    let eigen = EigenSolver::new(5).hermitian_nearest(&a, Some(&b), 2.0).unwrap();
    assert!(eigen.converged() && eigen.report.orthogonality < 1e-12, "{:?}", eigen.report);
    let general = EigenSolver::new(5).general_nearest(&a, Some(&b), Complex64::from(2.0)).unwrap();
    for (one, other) in eigen.values.iter().zip(&general.values) {
        assert!((one - other).norm() < 1e-9, "{:?} {:?}", eigen.values, general.values);
    }
    let single = Tridiagonal::from_vecs(vec![-1.0_f32; n], vec![2.0; n], vec![-1.0; n], false).unwrap();
    let eigen = EigenSolver::new(3).tol(1e-5).hermitian_nearest(&single, None, 1.0).unwrap();
    assert!(eigen.converged() && (eigen.values[0] - exact(30, n)).abs() < 0.03, "{:?}", eigen.values);
    let indefinite = diagonal(&(0..n).map(|i| Complex64::from(i as f64 - 40.5)).collect::<Vec<_>>());
    assert!(matches!(
        EigenSolver::new(3).hermitian_nearest(&a, Some(&indefinite), 2.0),
        Err(Error::NotDefinite { row: 0..=40 })
    ));
}

#[test]
fn one_negative_eigenvalue_of_b_is_refused() {
    let n = 1000;
    let mut values = vec![1.0; n];
    values[n - 1] = -1.0;
    let wrong = Err(Error::NotDefinite { row: n - 1 });
    let solver = EigenSolver::new(3);
    let nearest = |eigen: Result<bandsolve_eigen::HermitianEigen<f64>>| eigen.map(|_| ());
    assert_eq!(nearest(solver.hermitian_nearest(&second_difference(n), Some(&diagonal(&values)), 1.0)), wrong);
    let band = |diag: &[f64]| Banded::from_vec(n, 0, 0, diag.to_vec()).unwrap();
    assert_eq!(nearest(solver.hermitian_nearest(&band(&vec![2.0; n]), Some(&band(&values)), 1.0)), wrong);
    let blocks =
        |diag: &[f64]| BlockTridiagonal::from_vecs(1, [vec![0.0; n], diag.to_vec(), vec![0.0; n]], false).unwrap();
    assert_eq!(nearest(solver.hermitian_nearest(&blocks(&vec![2.0; n]), Some(&blocks(&values)), 1.0)), wrong);
}

#[test]
fn a_periodic_b_is_refused_without_wide_minors() {
    // The leading minors would need 10¹² numbers.
    let n = 1_000_000;
    let ring = |diag: f64| Tridiagonal::from_vecs(vec![-1.0; n], vec![diag; n], vec![-1.0; n], true).unwrap();
    assert_eq!(bandsolve_eigen::check_definite(&ring(1.0)), Err(Error::NotDefinite { row: n - 1 }));
    assert_eq!(bandsolve_eigen::check_definite(&ring(-1.0)), Err(Error::NotDefinite { row: 0 }));
}

#[test]
fn both_ends_beside_a_target_that_is_an_eigenvalue() {
    let values: Vec<f64> = [0.0, 0.0, -1.0, -2.0, 1.0, 2.0, 3.0].into_iter().chain((50..=100).map(f64::from)).collect();
    let solver = EigenSolver::new(4).which(Which::BothEnds);
    let mut eigen = solver.hermitian_nearest(&diagonal(&values), None, 0.0).unwrap();
    assert!(eigen.converged(), "{:?}", eigen.report);
    eigen.values.sort_by(f64::total_cmp);
    for (value, expected) in eigen.values.iter().zip([-2.0, -1.0, 0.0, 0.0]) {
        assert!((value - expected).abs() < 1e-6, "{:?}", eigen.values);
    }
}

#[test]
fn intervals_do_not_take_eigenvalues_outside_for_copies_inside() {
    let far = (0..40).map(|i| 1.0 + if i % 2 == 0 { 1.0 } else { -1.0 } * (1.5 + 17.5 * f64::from(i) / 39.0));
    let values: Vec<f64> = [0.5, 0.5, -1.7e-11].into_iter().chain(far).collect();
    let eigen = EigenSolver::new(0).hermitian_between(&diagonal(&values), None, (0.0, 2.0)).unwrap();
    let right = eigen.values.len() == 2 && eigen.values.iter().all(|value| (value - 0.5).abs() < 1e-9);
    assert!(right || eigen.report.complete != Some(true), "{:?}", eigen.values);
}

/// An operator that is not the inverse of the matrix.
struct Wrong(usize);

impl LinearOperator<f64> for Wrong {
    fn rows(&self) -> usize {
        self.0
    }
    fn columns(&self) -> usize {
        self.0
    }
    fn apply(&self, x: &[f64], y: &mut [f64], _: &mut PodStack) -> Result<()> {
        y.iter_mut().zip(x).enumerate().for_each(|(i, (y, x))| *y = x * (i + 1) as f64);
        Ok(())
    }
}

#[test]
fn wrong_inverses_and_limits_are_said() {
    let a = second_difference(50);
    let operator = MatrixOperator(&a);
    let eigen = EigenSolver::new(2).hermitian(&EigenProblem::new(&operator).shifted(0.1, &Wrong(50))).unwrap();
    assert_eq!(eigen.report.ending, EigenEnding::LargeResiduals);
    let eigen = EigenSolver::new(2).which(Which::SmallestMagnitude).max_restarts(1);
    let eigen = eigen.hermitian(&EigenProblem::new(&operator)).unwrap();
    assert_eq!((eigen.report.ending, eigen.report.restarts), (EigenEnding::RestartLimit, 1));
    assert!(EigenSolver::new(2).hermitian(&EigenProblem::new(&operator).shifted(0.1, &Wrong(49))).is_err());
    assert!(EigenSolver::new(2).hermitian(&EigenProblem::new(&operator).mass(&Wrong(50))).is_err());
    assert!(EigenSolver::new(2).tol(f64::NAN).hermitian(&EigenProblem::new(&operator)).is_err());
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let a = second_difference(20_000);
    let run = || EigenSolver::new(4).hermitian_nearest(&a, None, 0.5).unwrap();
    let (one, other) = (run(), run());
    assert_eq!((one.values, one.vectors), (other.values, other.vectors));
}

#[test]
fn intervals_are_complete() {
    let n = 150;
    let a = second_difference(n);
    for (low, high) in [(0.5, 1.5), (-1.0, 5.0), (3.9, 10.0), (5.0, 6.0), (2.0, 1.0)] {
        let eigen = EigenSolver::new(0).hermitian_between(&a, None, (low, high)).unwrap();
        let expected: Vec<f64> = (1..=n).map(|k| exact(k, n)).filter(|value| low <= *value && *value < high).collect();
        assert_eq!((eigen.values.len(), eigen.report.complete, eigen.converged()), (expected.len(), Some(true), true));
        assert!(eigen.values.iter().zip(&expected).all(|(eigen, expected)| (eigen - expected).abs() < 1e-12));
        let middle = 0.5 * (low + high);
        assert!(
            eigen.offsets.iter().zip(&eigen.values).all(|(offset, value)| (offset - (value - middle)).abs() < 1e-12)
        );
        assert!(eigen.report.orthogonality < 1e-10, "{low} {high} {:?}", eigen.report.orthogonality);
    }
    assert!(EigenSolver::new(0).hermitian_between(&a, None, (f64::NAN, 1.0)).is_err());
    // Triple eigenvalues of a pencil with B = 2·I. Cuts of the interval do not separate equal eigenvalues.
    let values: Vec<f64> = (0..120).map(|i| f64::from(i / 3)).collect();
    let (a, b) = (diagonal(&values), diagonal(&[2.0; 120]));
    let eigen = EigenSolver::new(0).hermitian_between(&a, Some(&b), (-0.25, 16.25)).unwrap();
    assert_eq!((eigen.values.len(), eigen.report.complete), (99, Some(true)));
    assert!(eigen.values.iter().enumerate().all(|(i, value)| (value - 0.5 * f64::from(i as u32 / 3)).abs() < 1e-12));
    assert!(eigen.report.orthogonality < 1e-10);
}

/// Check yᴴ·A = λ·yᴴ for each entry, by products with columns of A.
fn check_left<M: ShiftableMatrix<Scalar = T>, T: Scalar<Real = f64>>(a: &M, target: T) {
    let (n, operator) = (a.rows(), MatrixOperator(a));
    let inverse = a.shifted_inverse(target, None).unwrap();
    let (problem, solver) = (EigenProblem::new(&operator).shifted(target, &inverse), EigenSolver::new(4).tol(1e-12));
    let eigen = solver.general(&problem).unwrap();
    let left = solver.left(&problem, &eigen).unwrap();
    assert_eq!((left.values.len(), &left.values, left.converged()), (4, &eigen.values, true), "{:?}", left.report);
    assert!(left.report.residuals.iter().all(|residual| *residual < 1e-10), "{:?}", left.report.residuals);
    for (value, y) in left.values.iter().zip(left.vectors.chunks_exact(n)) {
        for j in 0..n {
            let (mut unit, mut column) = (vec![T::ZERO; n], vec![T::ZERO; n]);
            unit[j] = T::ONE;
            a.multiply(&unit, &mut column).unwrap();
            let product: Complex64 =
                y.iter().zip(&column).map(|(y, a)| y.conj() * Complex64::new(a.re(), a.im())).sum();
            assert!((product - value * y[j].conj()).norm() < 1e-9, "{value} {j}");
        }
    }
}

#[test]
fn left_vectors_of_all_matrices() {
    let n = 60;
    let mut random = Random::new(11);
    let mut numbers = |count: usize| random.uniform_vec(count, -1.0, 1.0);
    for periodic in [false, true] {
        let a = Tridiagonal::from_vecs(numbers(n), numbers(n), numbers(n), periodic).unwrap();
        check_left(&a, 0.3);
        let blocks =
            BlockTridiagonal::from_vecs(3, [numbers(3 * n), numbers(3 * n), numbers(3 * n)], periodic).unwrap();
        check_left(&blocks, 0.3);
    }
    check_left(&Banded::from_vec(n, 2, 1, numbers(4 * n)).unwrap(), 0.3);
    let complex: Vec<Complex64> = numbers(8 * n).chunks_exact(2).map(|p| Complex64::new(p[0], p[1])).collect();
    check_left(&Banded::from_vec(n, 2, 1, complex).unwrap(), Complex64::new(0.2, 0.1));
}

/// Make a diagonal matrix for which the eigenvalues nearest to 0 differ from those nearest to 10⁻⁶ times its norm.
fn asymmetric(near: [f64; 3]) -> (Tridiagonal<'static, f64>, Vec<f64>) {
    let values: Vec<f64> = near.into_iter().chain((0..40).map(|i| 50.0 + 50.0 * f64::from(i) / 39.0)).collect();
    (diagonal(&values), values)
}

#[test]
fn a_moved_shift_answers_for_the_target() {
    for near in [[0.0, -1.0, 1.0 + 1e-5], [0.0, -1.0, 1.0 + 3e-4], [0.0, 1.0, -1.0 - 1e-5], [0.0, -1e-5, 1.00001e-5]] {
        let (a, values) = asymmetric(near);
        let below = |shift: f64| Ok(values.iter().filter(|value| **value < shift).count());
        for counted in [false, true] {
            let solver = EigenSolver::new(2);
            let solver = if counted { solver.count(&below) } else { solver };
            let eigen = solver.hermitian_nearest(&a, None, 0.0).unwrap();
            assert!(eigen.converged() && eigen.report.complete.unwrap_or(counted) == counted, "{:?}", eigen.report);
            assert_eq!((eigen.values.len(), eigen.report.wanted, eigen.report.residuals.len()), (2, 2, 2));
            for (k, expected) in near[..2].iter().enumerate() {
                assert!((eigen.values[k] - expected).abs() < 1e-12, "{near:?}: {:?}", eigen.values);
                assert!((eigen.offsets[k] - expected).abs() < 1e-12, "{near:?}: {:?}", eigen.offsets);
            }
        }
        let eigen = EigenSolver::new(2).general_nearest(&a, None, 0.0).unwrap();
        for (k, expected) in near[..2].iter().enumerate() {
            assert!((eigen.values[k] - expected).norm() < 1e-12, "{near:?}: {:?}", eigen.values);
        }
        // An eigenvalue at the target belongs to both sides.
        for (which, side) in [(Which::LargestReal, 1.0), (Which::SmallestReal, -1.0)] {
            let eigen = EigenSolver::new(1).which(which).hermitian_nearest(&a, None, 0.0).unwrap();
            assert!(eigen.values[0].abs() < 1e-12, "{which}: {:?}", eigen.values);
            let eigen = EigenSolver::new(2).which(which).hermitian_nearest(&a, None, 0.0).unwrap();
            let next =
                near.into_iter().filter(|value| side * value > 0.0).fold(f64::INFINITY, |least, x| least.min(x.abs()));
            assert!((side * eigen.values[1] - next).abs() < 1e-12, "{which} {near:?}: {:?}", eigen.values);
        }
    }
    // In single precision, the shift moves farther.
    let values: Vec<f32> = [0.0, -1.0, 1.01].into_iter().chain((0..40).map(|i| 50.0 + i as f32)).collect();
    let eigen = EigenSolver::new(2).hermitian_nearest(&diagonal(&values), None, 0.0).unwrap();
    assert!(eigen.converged() && eigen.values[0].abs() < 1e-4 && (eigen.values[1] + 1.0).abs() < 1e-4, "{eigen:?}");
}

#[test]
fn intervals_around_an_eigenvalue_hold_no_other() {
    let values: Vec<f64> = [1.0, 1.00015].into_iter().chain((81..=100).rev().map(f64::from)).collect();
    let a = diagonal(&values);
    for (ends, expected) in [
        ((0.99999, 1.00001), &[1.0][..]),
        ((1.0, 1.00015), &[1.0]),
        ((0.5, 1.0), &[]),
        ((1.00001, 1.0002), &[1.00015]),
        ((81.0, 84.0), &[81.0, 82.0, 83.0]),
    ] {
        let eigen = EigenSolver::new(0).hermitian_between(&a, None, ends).unwrap();
        assert_eq!((eigen.values.len(), eigen.report.complete), (expected.len(), Some(true)), "{ends:?}: {eigen:?}");
        assert!(eigen.values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-12));
        assert!(eigen.values.iter().all(|value| ends.0 <= *value && *value < ends.1));
    }
}

#[test]
fn single_precision_is_verified() {
    for seed in 0..40 {
        let (n, mut random) = (60, Random::new(seed));
        let numbers: Vec<f32> = random.uniform_vec(n * (2 * n - 1), -1.0, 1.0).iter().map(|x| *x as f32).collect();
        // The matrix is not Hermitian.
        let a = Banded::from_vec(n, n - 1, n - 1, numbers).unwrap();
        for which in [Which::LargestMagnitude, Which::LargestReal] {
            let solver = EigenSolver::new(4).which(which).tol(0.0).max_restarts(200);
            let eigen = solver.hermitian(&EigenProblem::new(&MatrixOperator(&a))).unwrap();
            let largest = eigen.report.residuals.iter().fold(0.0_f64, |largest, r| largest.max(*r));
            assert!(!eigen.converged() || largest < 1e-3, "{seed} {which}: {:?}", eigen.report);
        }
    }
    // For a Hermitian matrix, rounding errors explain the residuals.
    let n = 400;
    let single = Tridiagonal::from_vecs(vec![-1.0_f32; n], vec![2.0; n], vec![-1.0; n], false).unwrap();
    for target in [0.0, 1.0, 3.99] {
        let eigen = EigenSolver::new(4).tol(0.0).hermitian_nearest(&single, None, target).unwrap();
        assert!(eigen.converged() && eigen.report.residuals.iter().all(|r| *r < 1e-4), "{:?}", eigen.report);
        let eigen = EigenSolver::new(4).tol(0.0).general_nearest(&single, None, target as f32).unwrap();
        assert!(eigen.converged() && eigen.report.residuals.iter().all(|r| *r < 1e-4), "{:?}", eigen.report);
    }
    // This operator is not the inverse.
    let operator = MatrixOperator(&single);
    let zero = single.shifted_inverse(-3.0, None).unwrap();
    let eigen = EigenSolver::new(2).hermitian(&EigenProblem::new(&operator).shifted(0.1, &zero)).unwrap();
    assert_eq!(eigen.report.ending, EigenEnding::LargeResiduals);
}

#[test]
fn residuals_are_what_was_asked_for_beside_a_large_entry() {
    // ‖A‖₂ = 10⁶ is much larger than the estimate from a random vector.
    let n = 4000;
    let mut diag: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
    diag[7] = 1e6;
    let off = vec![0.3; n];
    let a = Tridiagonal::from_vecs(off.clone(), diag, off, false).unwrap();
    for tol in [1e-4, 1e-6, 1e-8] {
        let eigen = EigenSolver::new(5).tol(tol).hermitian_nearest(&a, None, 0.5).unwrap();
        assert!(eigen.converged() && eigen.report.residuals.iter().all(|r| *r <= tol), "{tol}: {:?}", eigen.report);
    }
}

#[test]
fn problems_of_any_size_are_scaled() {
    let n = 50;
    let matrix = |by: f64| Tridiagonal::from_vecs(vec![-by; n], vec![2.5 * by; n], vec![-by; n], false).unwrap();
    let value = |k: usize| 2.5 - 2.0 * (PI * k as f64 / (n + 1) as f64).cos();
    let close = |eigen: f64, k: usize, by: f64| (eigen / by - value(k)).abs() < 1e-12;
    for exponent in [-1000, -530, -464, 464, 530, 1000] {
        let by = f64::exp2(f64::from(exponent));
        let (a, b) = (matrix(by), diagonal(&vec![4.0 * by; n]));
        let operator = MatrixOperator(&a);
        let solver = EigenSolver::new(3).which(Which::LargestReal);
        let eigen = solver.hermitian(&EigenProblem::new(&operator)).unwrap();
        assert!(
            eigen.converged() && (0..3).all(|k| close(eigen.values[k], n - k, by)),
            "{exponent}: {:?}",
            eigen.report
        );
        assert!(eigen.report.norms[0] > by && eigen.report.norms[0] < 5.0 * by, "{exponent}: {:?}", eigen.report);
        let eigen = solver.general(&EigenProblem::new(&operator)).unwrap();
        assert!(
            eigen.converged() && (0..3).all(|k| close(eigen.values[k].re, n - k, by)),
            "{exponent}: {:?}",
            eigen.report
        );
        let below = |shift: f64| eigenvalues_below(&a, None, shift);
        let eigen = EigenSolver::new(3).count(&below).hermitian_nearest(&a, None, 5.0 * by).unwrap();
        assert!(
            eigen.converged() && (0..3).all(|k| close(eigen.values[k], n - k, by)),
            "{exponent}: {:?}",
            eigen.report
        );
        assert_eq!(eigen.report.complete, Some(true));
        assert!(eigen.report.orthogonality < 1e-13);
        // If A and B are both very small or very large, the eigenvalues have ordinary size.
        let eigen = EigenSolver::new(3).hermitian_nearest(&a, Some(&b), 5.0 / 4.0).unwrap();
        assert!(
            eigen.converged() && (0..3).all(|k| close(4.0 * eigen.values[k], n - k, 1.0)),
            "{exponent}: {:?}",
            eigen.report
        );
        let norm: f64 = eigen.vectors[..n].iter().map(|x| 4.0 * (x * by.sqrt()).powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12, "{exponent}: {norm}");
        let eigen = EigenSolver::new(0).hermitian_between(&a, None, (value(7) * by * 0.9999, value(9) * by)).unwrap();
        assert!(eigen.report.complete == Some(true) && close(eigen.values[0], 7, by), "{exponent}: {:?}", eigen.values);
    }
}
