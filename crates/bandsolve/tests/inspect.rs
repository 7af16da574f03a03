//! Condition, determinant and expert solves of all methods, compared with oracles in double-double.

mod drawn;

use bandsolve::prelude::*;
use bandsolve::{Inspect, RealScalar};
use bandsolve_gallery::matrices::{clement, toeplitz};
use bandsolve_gallery::oracle::{self, MatrixRows, condition_1, condition_rows};
use bandsolve_gallery::random_vec;
use bandsolve_gallery::{Random, tables};
use bandsolve_testkit::conformance::epsilon;
use bandsolve_testkit::dense;
use drawn::{Truth, check_error, count, drawn, run};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

fn tridiagonal<T: Scalar>(n: usize, periodic: bool, random: &mut Random) -> Tridiagonal<'static, T> {
    let mut draw = || random_vec::<T>(n, random);
    Tridiagonal::from_vecs(draw(), draw(), draw(), periodic).unwrap()
}

fn banded<T: Scalar>(n: usize, lower: usize, upper: usize, random: &mut Random) -> Banded<'static, T> {
    Banded::from_vec(n, lower, upper, random_vec(n * (lower + upper + 1), random)).unwrap()
}

/// Check that the estimate is a lower bound of the condition, up to the errors of the solves, and at most ten times too small.
fn check_condition<T: Scalar>(lu: &dyn Inspect<T>, exact: [f64; 2], n: usize, what: &str) {
    for (norm, exact) in [Norm::One, Norm::Infinity].into_iter().zip(exact) {
        let rcond = lu.rcond(norm).unwrap();
        // Solves with a backward error of at most 64ε change ‖A⁻¹‖ by a relative error of about 64ε·condition.
        let error = 64.0 * epsilon::<T>() * exact + 4.0 * (n + 1) as f64 * epsilon::<T>();
        if error < 0.1 {
            assert!(rcond * exact >= 1.0 - error, "{what}, {norm:?}: {rcond:e} · {exact:e}");
            assert!(rcond * exact <= 10.0 * (1.0 + error), "{what}, {norm:?}: {rcond:e} · {exact:e}");
        } else {
            assert!((0.0..=1e3 * epsilon::<T>()).contains(&rcond), "{what}, {norm:?}: {rcond:e}, {exact:e}");
        }
    }
}

fn conditions<T: Scalar>() {
    let mut random = Random::new(1);
    for n in [1, 2, 3, 5, 8, 20, 33, 70] {
        for periodic in [false, true] {
            let a = tridiagonal::<T>(n, periodic, &mut random);
            let exact = [condition_1(&a), condition_1(&oracle::transpose(&a, false))];
            let lu = Plan::new(a.shape()).method(Method::Pivoted).factor(&a).unwrap();
            check_condition(&lu, exact, n, &format!("n = {n}, periodic: {periodic}"));
        }
        for (lower, upper) in [(0, 0), (1, 2), (3, 0), (5, 4), (20, 17)] {
            let a = banded::<T>(n, lower, upper, &mut random);
            let exact = [condition_1(&a), condition_1(&oracle::transpose_banded(&a, false))];
            let lu = Plan::new(a.shape()).factor(&a).unwrap();
            check_condition(&lu, exact, n, &format!("n = {n}, {lower} below, {upper} above"));
        }
    }
}

#[test]
fn conditions_of_random_matrices() {
    conditions::<f64>();
    conditions::<f32>();
    conditions::<Complex64>();
    conditions::<Complex32>();
}

/// All methods for tridiagonal systems.
fn methods() -> impl Iterator<Item = Method> {
    let shape = Shape::Tridiagonal { n: 1, periodic: false };
    Method::ALL.into_iter().filter(move |method| method.solves(shape) && !method.needs_definite())
}

#[test]
fn every_method_knows_the_condition_and_the_determinant() {
    let mut random = Random::new(2);
    for method in methods() {
        for (n, periodic) in [(1, true), (2, false), (3, true), (40, false), (150, true)] {
            let a = tridiagonal::<f64>(n, periodic, &mut random);
            let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
            let exact = [condition_1(&a), condition_1(&oracle::transpose(&a, false))];
            check_condition(&lu, exact, n, &format!("{}, n = {n}", method.name()));
            check_determinant(&a, &lu, method.name());
        }
    }
}

#[test]
fn known_conditions() {
    // tridiag(−1, 2, −1) has ‖A‖ = 4 and ‖A⁻¹‖ = (n+1)²/8 for odd n. The size of the entries does not matter.
    for size in [1.0, 1e-300, 1e300, 4e307] {
        let a = toeplitz(99, -size, 2.0 * size, -size);
        for method in [Method::Pivoted, Method::Rpts, Method::Thomas] {
            let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
            for norm in [Norm::One, Norm::Infinity] {
                let rcond = lu.rcond(norm).unwrap();
                assert!((rcond * 4.0 * 1e4 / 8.0 - 1.0).abs() < 1e-11, "{}, {size:e}: {rcond:e}", method.name());
            }
        }
    }
    let lu = |diag: &[f64]| -> [f64; 2] {
        let a = Banded::new(diag.len(), 0, 0, diag).unwrap();
        let lu = Plan::new(a.shape()).factor(&a).unwrap();
        [Norm::One, Norm::Infinity].map(|norm| lu.rcond(norm).unwrap())
    };
    assert_eq!(lu(&[]), [1.0; 2]);
    assert_eq!(lu(&[-3.0]), [1.0; 2]);
    assert_eq!(lu(&[0.0]), [0.0; 2]);
    assert_eq!(lu(&[1.0, 4.0, 2.0]), [0.25; 2]);
    assert_eq!(lu(&[1.0, 0.0, 2.0]), [0.0; 2]);
    // A nearly singular matrix has a nonzero rcond.
    assert!(lu(&[1.0, 2f64.powi(-70), 2.0]).iter().all(|rcond| *rcond == 2f64.powi(-71)));
    assert!(lu(&[1e300, 1e-300, 1.0]).iter().all(|rcond| *rcond == 0.0));
    // [1 2 0 0; 3 4 7 0; 0 −2 −1 ½; 0 0 5 2], in rational arithmetic: conditions 1703/74 and 924/37, determinant 37.
    let a = Tridiagonal::new(&[3.0, -2.0, 5.0], &[1.0, 4.0, -1.0, 2.0], &[2.0, 7.0, 0.5]).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let (one, infinity) = (lu.rcond(Norm::One).unwrap(), lu.rcond(Norm::Infinity).unwrap());
    assert!((1.0..=3.0).contains(&(one * 1703.0 / 74.0)), "{}", 1.0 / one);
    assert!((infinity * 924.0 / 37.0 - 1.0).abs() < 1e-13, "{}", 1.0 / infinity);
    let det = lu.determinant().unwrap();
    assert!((det.value() - 37.0).abs() < 1e-12, "{det:?}");
}

#[test]
fn singular_matrices() {
    for (n, method) in [3, 9, 41].into_iter().flat_map(|n| methods().map(move |method| (n, method))) {
        let a = clement(n);
        let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
        assert!(lu.is_singular().unwrap(), "{}, n = {n}", method.name());
        let det = lu.determinant().unwrap();
        assert!(det.phase == 0.0 && det.log_abs == f64::NEG_INFINITY && det.value() == 0.0);
        assert_eq!(lu.rcond(Norm::One), Ok(0.0), "{}, n = {n}", method.name());
        let failed = lu.solve_expert(Op::Plain, &vec![1.0; n], &mut vec![0.0; n]);
        assert!(matches!(failed, Err(Error::Singular { .. })), "{failed:?}");
    }
    // Without row exchanges, a zero pivot proves nothing. A factorisation with exchanges decides.
    let a = Tridiagonal::new(&[1.0], &[0.0, 0.0], &[1.0]).unwrap();
    let lu = Plan::new(a.shape()).method(Method::Pivoted).pivoting(Pivoting::None).factor(&a).unwrap();
    assert_eq!(lu.is_singular(), Ok(false));
    assert_eq!(lu.determinant().unwrap().value(), -1.0);
    // Nor without row scaling, because 5e-93 / 5e231 underflows to 0.
    let a = Tridiagonal::new(&[5e231], &[-5e-93, -4e231], &[0.0]).unwrap();
    let lu = Plan::new(a.shape()).method(Method::Pivoted).pivoting(Pivoting::Partial).factor(&a).unwrap();
    let x = lu.solve(&[-5e-93, 1e231]).unwrap().values;
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-14), "{x:?}");
    assert_eq!(lu.is_singular(), Ok(false));
}

#[test]
fn nan_and_infinity() {
    for method in methods() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut diag = vec![4.0; 50];
            diag[17] = bad;
            let a = Tridiagonal::from_vecs(vec![1.0; 50], diag, vec![1.0; 50], false).unwrap();
            let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
            let expected = Error::NotFinite { array: "diag", index: 17 };
            assert_eq!(lu.rcond(Norm::Infinity), Err(expected.clone()), "{}", method.name());
            assert_eq!(lu.determinant(), Err(expected), "{}", method.name());
        }
    }
}

/// Check |det/det′ − 1| ≤ Σᵢⱼ |A⁻¹|ᵢⱼ |E|ⱼᵢ, which holds for a small change E of A.
///
/// With |E| ≤ 8ε times the row sums (growth 2, four roundings per pivot), the bound is at most n·8ε·condition_rows. Returns whether the
/// bound is small enough to be meaningful.
fn check_determinant<T: Scalar>(a: &impl MatrixRows<T>, lu: &dyn Inspect<T>, what: &str) -> bool {
    let (phase, log) = dense::determinant(a);
    let bound = 8.0 * (a.n() + 1) as f64 * epsilon::<T>() * condition_rows(a).max(1.0);
    if bound > 0.1 {
        return false;
    }
    let found = lu.determinant().unwrap();
    let (re, im) = (found.phase.re().to_f64(), found.phase.im().to_f64());
    let turned = (re - phase.re).hypot(im - phase.im);
    assert!(turned <= bound && (T::COMPLEX || turned == 0.0), "{what}: {found:?}, not {phase}");
    // The logarithm is rounded, too.
    let bound = bound + 4.0 * f64::EPSILON * log.abs();
    assert!((found.log_abs - log).abs() <= bound, "{what}: {found:?}, not {log} ± {bound:e}");
    assert!(!lu.is_singular().unwrap());
    true
}

fn determinants<T: Scalar>(count: usize) {
    let mut random = Random::new(3);
    let (mut all, mut checked) = (0, 0);
    let mut check = |found: bool| (all, checked) = (all + 1, checked + usize::from(found));
    for k in 0..count {
        let n = k % 23;
        let (open, periodic) = (tridiagonal::<T>(n, false, &mut random), tridiagonal::<T>(n, true, &mut random));
        for (a, method) in [&open, &periodic]
            .into_iter()
            .flat_map(|a| [Method::Pivoted, Method::Thomas, Method::DiagonalPivoting].map(|m| (a, m)))
        {
            let lu = Plan::new(a.shape()).method(method).factor(a).unwrap();
            check(check_determinant(a, &lu, &format!("{} {}, n = {n}", T::NAME, method.name())));
        }
        let a = banded::<T>(n, k % 4, k % 7, &mut random);
        let lu = Plan::new(a.shape()).factor(&a).unwrap();
        check(check_determinant(&a, &lu, &format!("{} banded, n = {n}", T::NAME)));
    }
    assert!(4 * checked > 3 * all, "{}: {checked} of {all}", T::NAME);
}

#[test]
fn determinants_of_random_matrices() {
    determinants::<f64>(200);
    determinants::<f32>(200);
    determinants::<Complex64>(200);
    determinants::<Complex32>(200);
}

#[test]
fn determinants_of_wide_bands() {
    let mut random = Random::new(4);
    for (lower, upper) in [(16, 16), (20, 40), (70, 3)] {
        let a = banded::<f64>(120, lower, upper, &mut random);
        assert!(check_determinant(&a, &Plan::new(a.shape()).factor(&a).unwrap(), "wide"));
    }
}

#[test]
fn determinants_beyond_the_range_and_scaled_rows() {
    let mut random = Random::new(5);
    for (n, periodic, e) in [(40, false, 1000), (41, true, 1000), (40, true, -1000), (200, false, -1000)] {
        let a = tridiagonal::<f64>(n, periodic, &mut random);
        let lu = Plan::new(a.shape()).method(Method::Pivoted).factor(&a).unwrap();
        let plain = lu.determinant().unwrap();
        assert!(check_determinant(&a, &lu, "plain"));
        // Scaling rows by powers of two does not change the phase, and changes the logarithm only by its rounding.
        let exponents: Vec<i32> = (0..n).map(|i| if i % 3 == 0 { -e / 3 } else { e }).collect();
        let part = |f: fn((f64, f64, f64)) -> f64| -> Vec<f64> {
            (0..n).map(|i| f(a.row(i)) * 2f64.powi(exponents[i])).collect()
        };
        let scaled = Tridiagonal::from_vecs(part(|r| r.0), part(|r| r.1), part(|r| r.2), periodic).unwrap();
        let lu = Plan::new(scaled.shape()).method(Method::Pivoted).factor(&scaled).unwrap();
        let found = lu.determinant().unwrap();
        let shift = f64::from(exponents.iter().sum::<i32>()) * core::f64::consts::LN_2;
        assert_eq!(found.phase, plain.phase);
        let expected = plain.log_abs + shift;
        assert!((found.log_abs - expected).abs() <= 4.0 * f64::EPSILON * (plain.log_abs.abs() + shift.abs()));
        assert!(found.value() == 0.0 || found.value().is_infinite());
        assert!(check_determinant(&scaled, &lu, "scaled"));
        for method in [Method::DiagonalPivoting, Method::ParallelDiagonalPivoting, Method::Thomas, Method::Rpts] {
            let lu = Plan::new(scaled.shape()).method(method).factor(&scaled).unwrap();
            assert!(check_determinant(&scaled, &lu, method.name()));
        }
    }
    let empty = Tridiagonal::<f64>::new(&[], &[], &[]).unwrap();
    let det = Plan::new(empty.shape()).factor(&empty).unwrap().determinant().unwrap();
    assert_eq!((det.phase, det.log_abs), (1.0, 0.0));
}

/// Check that berr agrees with the oracle, and that ferr is at least the true forward error.
fn check_expert<T: Scalar>(a: &impl MatrixRows<T>, lu: &dyn Inspect<T>, rhs: &[T], what: &str) -> Option<f64> {
    let mut x = vec![T::ZERO; rhs.len()];
    let condition = condition_rows(a);
    let converges = condition * epsilon::<T>() < 0.1;
    let report = match lu.solve_expert(Op::Plain, rhs, &mut x) {
        Ok(report) => report,
        Err(error) => {
            let expected = !converges && matches!(error, Error::Singular { .. } | Error::NotConverged { .. });
            assert!(expected, "{what}: {error}, condition {condition:e}");
            return None;
        }
    };
    let (berr, ferr) = (report.componentwise_errors[0], report.forward_errors[0]);
    let exact = dense::componentwise_error(a, rhs, &x);
    // The residual has an error of ε² times its terms, and a rounding error.
    assert!((berr - exact).abs() <= 1e-6 * exact + 1e-30, "{what}: {berr:e}, not {exact:e}");
    // Refinement converges if the factors have one correct digit.
    let steps = report.refinement_steps;
    assert!(
        !converges || berr <= 2.0 * epsilon::<T>(),
        "{what}: {berr:e} after {steps} steps, condition {condition:e}"
    );
    if let Some(x_true) = oracle::solve_reference(a, rhs)
        && condition < 1e26
    {
        // ‖x − x_t‖∞ is relative to x, not to x_t.
        let error = oracle::forward_error_max(&x_true, &x);
        assert!(error <= ferr, "{what}: {error:e} above {ferr:e}");
    }
    Some(ferr)
}

#[test]
fn error_bounds_hold_for_the_tables_of_the_papers() {
    let mut solved = 0;
    for case in tables::chang().into_iter().chain(tables::klein()) {
        for n in [64, 255] {
            let a = case.matrix(n, 7);
            let rhs = case.rhs(&a, 7);
            for method in [Method::Pivoted, Method::Rpts, Method::DiagonalPivoting] {
                let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
                let what = format!("{} {}, n = {n}", case.name, method.name());
                solved += usize::from(check_expert(&a, &lu, &rhs, &what).is_some());
            }
        }
    }
    assert!(solved > 180, "{solved} of 228");
}

fn experts<T: Scalar>() {
    let mut random = Random::new(6);
    for k in 0..60 {
        // With one or two unknowns, corner entries are added to other entries, and the sum is rounded.
        let n = 3 + k % 30;
        let a = tridiagonal::<T>(n, k % 2 == 1, &mut random);
        let rhs = random_vec::<T>(n, &mut random);
        check_expert(&a, &Plan::new(a.shape()).factor(&a).unwrap(), &rhs, &format!("{} tridiagonal {k}", T::NAME));
        let a = banded::<T>(n, k % 5, k % 3, &mut random);
        check_expert(&a, &Plan::new(a.shape()).factor(&a).unwrap(), &rhs, &format!("{} banded {k}", T::NAME));
    }
}

#[test]
fn error_bounds_hold_for_random_matrices() {
    experts::<f64>();
    experts::<f32>();
    experts::<Complex64>();
    experts::<Complex32>();
}

#[test]
fn transposed_and_many_right_hand_sides() {
    let mut random = Random::new(8);
    let a = tridiagonal::<Complex64>(50, true, &mut random);
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let rhs = random_vec::<Complex64>(150, &mut random);
    for (op, other) in [
        (Op::Plain, a.clone()),
        (Op::Transpose, oracle::transpose(&a, false)),
        (Op::ConjTranspose, oracle::transpose(&a, true)),
    ] {
        let mut x = vec![Complex64::default(); 150];
        let report = lu.solve_expert(op, &rhs, &mut x).unwrap();
        assert_eq!((report.componentwise_errors.len(), report.forward_errors.len()), (3, 3));
        assert!(report.rows_scaled && report.row_ratio > 0.0 && report.row_ratio <= 1.0);
        let exact = condition_1(&other);
        assert!(report.rcond * exact >= 0.999 && report.rcond * exact <= 10.0);
        for (k, (d, x)) in rhs.chunks(50).zip(x.chunks(50)).enumerate() {
            let exact = dense::componentwise_error(&other, d, x);
            assert!((report.componentwise_errors[k] - exact).abs() <= 1e-6 * exact + 1e-30 && exact <= 1e-15);
            let error = oracle::forward_error_max(&oracle::solve_reference(&other, d).unwrap(), x);
            assert!(error <= report.forward_errors[k] && report.forward_errors[k] <= 1e-13 * condition_rows(&other));
        }
    }
}

#[test]
fn bounds_at_the_ends_of_the_range() {
    let mut random = Random::new(9);
    for (of_a, of_x) in [(1000, 0), (-1000, 0), (500, 500), (-500, -500), (1000, -1000), (-1000, 1000), (0, 0)] {
        let mut part = || random_vec::<f64>(30, &mut random).iter().map(|v| v * 2f64.powi(of_a)).collect::<Vec<f64>>();
        let a = Tridiagonal::from_vecs(part(), part(), part(), true).unwrap();
        let rhs: Vec<f64> = part().iter().map(|v| v * 2f64.powi(of_x)).collect();
        let ferr = check_expert(&a, &Plan::new(a.shape()).factor(&a).unwrap(), &rhs, &format!("{of_a}, {of_x}"));
        assert!(ferr.is_some_and(|ferr| ferr <= 1e-10), "{ferr:?}");
    }
    // No right-hand sides.
    let a = toeplitz(20, 1.0, 4.0, 1.0);
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let mut x = vec![1.0; 20];
    let report = lu.solve_expert(Op::Plain, &[0.0; 20], &mut x).unwrap();
    assert_eq!((report.componentwise_errors[0], report.forward_errors[0]), (0.0, 0.0));
    // Unknowns below the normal range have a large relative error. LAPACK guards against tiny denominators, too.
    let diag = vec![1.0; 20];
    let a = Tridiagonal::new(&[0.0; 19], &diag, &[0.0; 19]).unwrap();
    let rhs: Vec<f64> = (0..20).map(|i| if i == 3 { f64::MIN_POSITIVE / 3.0 } else { 1.0 }).collect();
    let report = Plan::new(a.shape()).factor(&a).unwrap().solve_expert(Op::Plain, &rhs, &mut x).unwrap();
    assert!(report.componentwise_errors[0] <= f64::EPSILON && report.row_ratio == 1.0, "{report:?}");
    assert!((report.rcond - 1.0).abs() < 1e-14, "{report:?}");
}

#[test]
fn ill_conditioned_and_badly_scaled() {
    // With condition 1e18, no digit is certain, and the report says so.
    let a = Tridiagonal::new(&[1.0], &[1.0, 1.0 + f64::EPSILON], &[1.0]).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let mut x = [0.0; 2];
    let report = lu.solve_expert(Op::Plain, &[1.0, 2.0], &mut x).unwrap();
    assert!(report.singular_to_working_precision && report.forward_errors[0] > 0.5, "{report:?}");
    // With rows of very different sizes, the condition is large, but x is accurate, and so is the error bound.
    let a = toeplitz(40, -1.0, 3.0, -1.0);
    let scale = |i: usize| if i.is_multiple_of(2) { 1e100 } else { 1e-100 };
    let part = |f: fn((f64, f64, f64)) -> f64| (0..40).map(|i| f(a.row(i)) * scale(i)).collect::<Vec<f64>>();
    let a = Tridiagonal::from_vecs(part(|r| r.0), part(|r| r.1), part(|r| r.2), false).unwrap();
    let lu = Plan::new(a.shape()).factor(&a).unwrap();
    let rhs: Vec<f64> = (0..40).map(|i| scale(i) * (1.0 + i as f64)).collect();
    let mut x = [0.0; 40];
    let report = lu.solve_expert(Op::Plain, &rhs, &mut x).unwrap();
    assert!(report.rcond < 1e-190 && report.forward_errors[0] < 1e-13, "{report:?}");
    assert!((report.row_ratio / 1e-200 - 1.0).abs() < 1e-10);
}

#[test]
fn batches() {
    let mut random = Random::new(10);
    let (count, n) = (21, 17);
    for layout in [Layout::Contiguous, Layout::Interleaved] {
        let mut part = || random_vec::<Complex64>(count * n, &mut random);
        let (sub, diag, sup, rhs) = (part(), part(), part(), part());
        let a = TridiagonalBatch::new(count, n, layout, &sub, &diag, &sup).unwrap();
        let lu = Plan::new(a.shape()).factor(&a).unwrap();
        let conditions = lu.of_systems(|system| system.rcond(Norm::One)).unwrap();
        let (mut phase, mut log) = (Complex64::new(1.0, 0.0), 0.0);
        let mut worst = [0.0f64; 2];
        for s in 0..count {
            let one = a.system(s);
            let exact = condition_1(&one);
            assert!(conditions[s] * exact >= 0.999 && conditions[s] * exact <= 10.0);
            assert!(check_determinant(&one, &lu.system(s).unwrap(), "system"));
            let det = dense::determinant(&one);
            (phase, log) = (phase * det.0, log + det.1);
            for (worst, norm) in worst.iter_mut().zip([Norm::One, Norm::Infinity]) {
                *worst = worst.max(lu.system(s).unwrap().norm(norm));
            }
        }
        let det = lu.determinant().unwrap();
        assert!((det.phase - phase).norm() < 1e-8 && (det.log_abs - log).abs() < 1e-8);
        assert_eq!([lu.norm(Norm::One), lu.norm(Norm::Infinity)], worst);
        let mut x = vec![Complex64::default(); count * n];
        let report = lu.solve_expert(Op::ConjTranspose, &rhs, &mut x).unwrap();
        assert!(report.componentwise_errors[0] <= 2.0 * f64::EPSILON && report.rcond > 0.0);
        let pick = |all: &[Complex64], s: usize| (0..n).map(|i| all[a.index(s, i)]).collect::<Vec<_>>();
        let largest = x.iter().map(|v| v.norm()).fold(0.0, f64::max);
        for s in 0..count {
            let one = oracle::transpose(&a.system(s), true);
            let (d, x) = (pick(&rhs, s), pick(&x, s));
            assert!(dense::componentwise_error(&one, &d, &x) <= 1.001 * report.componentwise_errors[0]);
            let x_true = oracle::solve_reference(&one, &d).unwrap();
            let error = x.iter().zip(&x_true).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            assert!(error <= report.forward_errors[0] * largest);
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let mut random = Random::new(11);
    let a = tridiagonal::<f64>(30_000, false, &mut random);
    let found: Vec<_> = [1, 2, 3, 7]
        .iter()
        .map(|threads| {
            let lu = Plan::new(a.shape()).method(Method::Rpts).threads(*threads).factor(&a).unwrap();
            (lu.rcond(Norm::One).unwrap().to_bits(), lu.determinant().unwrap().log_abs.to_bits())
        })
        .collect();
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
}

/// Without verification, the condition is estimated from unverified solves.
#[test]
fn condition_without_verification() {
    let a = toeplitz(199, -1.0, 2.5, -1.0);
    let exact = condition_1(&a);
    for method in methods() {
        let lu = Plan::new(a.shape()).method(method).verify(false).factor(&a).unwrap();
        let rcond = lu.rcond(Norm::One).unwrap();
        // Truncated SPIKE has an error of 1e-3 for this matrix.
        assert!(rcond * exact >= 0.99 && rcond * exact <= 3.0, "{}: {rcond:e}, {exact:e}", method.name());
    }
}

/// Systems with a moderate row-wise condition and columns whose sizes differ by up to 1e268.
///
/// Solves by partitions lose unknowns that are small compared with the largest one. A bound from such solves was 1e-75 for an error of 1e-16.
#[test]
fn error_bounds_hold_for_columns_of_any_size() {
    let systems = [
        (true, [1e210, -0.93, 1e268], [1e151, 0.27, 0.0], [0.0; 3], [0.0, -0.24, 0.0]),
        (true, [1e142, 1e-25, 0.0], [-0.998, 0.0, -0.945], [1e133, 0.0, -0.65], [0.0, 0.0, -0.534]),
        (true, [1e111, 1e28, -0.328], [0.0, -0.356, -0.926], [1e171, 0.329, 0.0], [0.0, 0.0, -0.628]),
        (false, [0.0, 1e-253, 0.0], [1e-24, 0.0, 1e-62], [0.1, 0.0, 0.0], [0.0, -0.599, 0.0]),
    ];
    for (periodic, sub, diag, sup, rhs) in systems {
        let a = Tridiagonal::from_vecs(sub.into(), diag.into(), sup.into(), periodic).unwrap();
        let condition = condition_rows(&a);
        assert!((1.0..1e12).contains(&condition), "{condition:e}");
        let x_true = oracle::solve_reference(&a, &rhs).unwrap();
        for method in methods() {
            let mut x = [0.0; 3];
            let lu = Plan::new(a.shape()).method(method).factor(&a).unwrap();
            let report = lu.solve_expert(Op::Plain, &rhs, &mut x).unwrap();
            // |A⁻¹||A||x| is at least |x| in each row, so no bound can be below n_z·ε.
            let (error, bound) = (oracle::forward_error_max(&x_true, &x), report.forward_errors[0]);
            assert!(error <= bound && bound > f64::EPSILON, "{}: {error:e}, {bound:e}: {x:?}", method.name());
            assert!(report.componentwise_errors[0] <= 2.0 * f64::EPSILON, "{}: {report:?}", method.name());
        }
    }
}

/// All inputs give a number or the expected error.
#[test]
fn random_systems_with_special_values() {
    let methods = [Method::Pivoted, Method::Rpts, Method::Thomas, Method::ParallelDiagonalPivoting];
    run((drawn(3), any::<bool>(), 0..4usize), |tally, (drawn, periodic, which)| {
        let (a, rhs, truth) = drawn.tridiagonal(periodic);
        let lu = Plan::new(a.shape()).method(methods[which]).factor(&a).unwrap();
        check_estimates(&a, &lu)?;
        let mut x = vec![0.0; a.n()];
        count(&tally.all);
        match lu.solve_expert(Op::Plain, &rhs, &mut x) {
            Err(error) => {
                tally.refused([&truth]);
                check_error(&error, &truth, &a)
            }
            Ok(report) => {
                count(&tally.answered);
                prop_assert!(!matches!(truth, Truth::NotFinite(_)), "an answer where {truth:?}");
                check_bounds(&a, &rhs, &x, (report.componentwise_errors[0], report.forward_errors[0]))
            }
        }
    });
}

/// Condition and determinant of any matrix, also with entries that are not finite.
fn check_estimates(a: &Tridiagonal<'_, f64>, lu: &dyn Inspect<f64>) -> TestCaseResult {
    let finite = a.check_finite();
    for norm in [Norm::One, Norm::Infinity] {
        match lu.rcond(norm) {
            Ok(rcond) => prop_assert!(finite.is_ok() && (0.0..=1.0).contains(&rcond), "{rcond}"),
            Err(error) => prop_assert_eq!(Err(error), finite.clone()),
        }
    }
    match (lu.determinant(), finite) {
        (Ok(det), Ok(())) if det.is_zero() => prop_assert_eq!(det.log_abs, f64::NEG_INFINITY),
        (Ok(det), Ok(())) => prop_assert!(det.phase.abs() == 1.0 && det.log_abs.is_finite(), "{det:?}"),
        // A pivot may be subnormal if entries of one row differ by a factor of 1e308.
        (Err(Error::NotConverged { .. }), Ok(())) => {}
        (det, finite) => prop_assert_eq!(det.map(|_| ()), finite),
    }
    Ok(())
}

/// Check that the componentwise error is right, and that the forward error is below its bound.
fn check_bounds(a: &Tridiagonal<'_, f64>, rhs: &[f64], x: &[f64], (berr, ferr): (f64, f64)) -> TestCaseResult {
    let exact = dense::componentwise_error(a, rhs, x);
    // If the terms of a row are near the smallest normal number, its denominator is larger, as in LAPACK.
    let n = a.n();
    let tiny = (0..n).any(|i| {
        let (sub, diag, sup) = a.row(i);
        let terms = [(sub, (i + n - 1) % n), (diag, i), (sup, (i + 1) % n)];
        let size = terms.iter().fold(rhs[i].abs(), |sum, (entry, j)| sum + (entry * x[*j]).abs());
        let largest = terms.iter().fold(0.0f64, |m, (entry, _)| m.max(entry.abs()));
        let there = rhs[i] != 0.0 || terms.iter().any(|(entry, j)| *entry != 0.0 && x[*j] != 0.0);
        there && size < 1e-280 * largest
    });
    let measured = berr <= (1.0 + 1e-6) * exact + 1e-30 && (tiny || berr >= (1.0 - 1e-6) * exact - 1e-30);
    prop_assert!(measured && ferr >= 0.0, "{berr:e}, not {exact:e}; {ferr:e}: {x:?}");
    // If the entries of one row differ by nearly the whole range, the oracle underflows. If the solves of the estimator have no correct
    // digit, neither has the bound.
    let apart = (0..a.n()).map(|i| a.row(i)).any(|(a, b, c)| {
        let sizes = || [a, b, c].into_iter().filter(|v| *v != 0.0).map(f64::abs);
        sizes().fold(0.0, f64::max) * 1e-140 > sizes().fold(f64::MAX, f64::min) * 1e140
    });
    if let Some(x_true) = oracle::solve_reference(a, rhs).filter(|_| !apart && condition_rows(a) < 1e12) {
        let size = x.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let error = oracle::forward_error_max(&x_true, x);
        // Subnormal numbers have larger relative rounding errors, a bound above 1 is meaningless, and the estimator is rarely wrong by more
        // than a factor of 3.
        prop_assert!(size < 1e-290 || ferr >= 1.0 || error <= 3.0 * ferr, "{error:e} above {ferr:e}");
    }
    Ok(())
}
