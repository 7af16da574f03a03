//! Methods that are recurrences, as they are without repair: beside the published residuals and beside sequential siblings.

use bandsolve::prelude::*;
use bandsolve_testkit::Random;
use bandsolve_testkit::oracle::{backward_error, product};
use bandsolve_testkit::tables::{PUBLISHED_N, chang, x_true};

fn raw(method: Method, a: &Tridiagonal<f64>, rhs: &[f64]) -> Vec<f64> {
    let plan = Plan::new(a.shape()).method(method).verify(false);
    plan.factor(a).unwrap().solve(rhs).unwrap().values
}

/// Types 14 to 16 are beyond double precision. The random matrices are drawn anew: hence orders of magnitude.
#[test]
fn residuals_are_those_published() {
    for case in chang().iter().filter(|case| !(14..=16).contains(&case.id)) {
        let (a, x_true) = (case.matrix(PUBLISHED_N, 1), x_true(PUBLISHED_N, 1));
        let rhs = product(&a, &x_true);
        let error = |method| case.error(&a, &rhs, &raw(method, &a, &rhs), &x_true);
        let (_, published) = case.columns().find(|(solver, _)| *solver == "Parallel Diagonal Pivoting").unwrap();
        let [parallel, sequential, cf_lu] =
            [Method::ParallelDiagonalPivoting, Method::DiagonalPivoting, Method::CfLu].map(error);
        println!(
            "{:8} {parallel:.2e} published {published:.2e}, one by one {sequential:.2e}, CF-LU {cf_lu:.2e}",
            case.name
        );
        assert!(parallel <= 100.0 * published, "{}: {parallel:.2e}, published {published:.2e}", case.name);
    }
}

/// Rows multiplied by powers of ten from 1e−150 to 1e150: their determinants leave every range.
#[test]
fn minors_of_long_scaled_matrices_stay_in_range() {
    let n = 1 << 18;
    let mut random = Random::new(5);
    let mut draw = || random.uniform_vec(n, -1.0, 1.0);
    let (mut sub, mut diag, mut sup, x_true) = (draw(), draw(), draw(), draw());
    for i in 0..n {
        let scale = 10f64.powf(random.uniform(-150.0, 150.0));
        for array in [&mut sub, &mut diag, &mut sup] {
            array[i] *= scale;
        }
    }
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let rhs = product(&a, &x_true);
    let error = |method| backward_error(&a, &rhs, &raw(method, &a, &rhs));
    let [parallel, sequential] = [Method::ParallelDiagonalPivoting, Method::DiagonalPivoting].map(error);
    let [cf_lu, thomas] = [Method::CfLu, Method::Thomas].map(error);
    println!("n = {n}: {parallel:.2e}, one by one {sequential:.2e}; CF-LU {cf_lu:.2e}, Thomas {thomas:.2e}");
    // Of the same order: they differ in rounding only.
    assert!(parallel <= 10.0 * sequential, "{parallel:.2e}, one by one {sequential:.2e}");
    for method in [Method::ParallelDiagonalPivoting, Method::CfLu] {
        let solution = Plan::new(a.shape()).method(method).factor(&a).unwrap().solve(&rhs).unwrap();
        assert!(backward_error(&a, &rhs, &solution.values) <= 8.0 * f64::EPSILON, "{method:?}: {:?}", solution.report);
    }
}

/// The matrix that breaks methods without pivoting (`docs/math/thomas.md`, `cf-lu.md`): every other leading minor vanishes.
#[test]
fn vanishing_minors_need_pivots_of_two_rows() {
    let case = chang()[16];
    let (a, x_true) = (case.matrix(PUBLISHED_N, 1), x_true(PUBLISHED_N, 1));
    let rhs = product(&a, &x_true);
    for method in [Method::Thomas, Method::CfLu] {
        let error = case.error(&a, &rhs, &raw(method, &a, &rhs), &x_true);
        assert!(!(error <= 0.1), "{method:?}: {error:.2e}");
        let solution = Plan::new(a.shape()).method(method).factor(&a).unwrap().solve(&rhs).unwrap();
        assert!(solution.report.fallback && solution.report.backward_error <= 8.0 * f64::EPSILON);
    }
}

/// Threads change no bit of what is not repaired either, nor does the number of right-hand sides.
#[test]
fn threads_change_no_bit() {
    let n = 100_003;
    let mut random = Random::new(6);
    let mut draw = || random.uniform_vec(n, -1.0, 1.0);
    let (sub, diag, sup, rhs) = (draw(), draw(), draw(), draw());
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    for method in [Method::ParallelDiagonalPivoting, Method::CfLu] {
        let plan = Plan::new(a.shape()).method(method).verify(false);
        let run =
            |threads: usize, rhs: &[f64]| plan.clone().threads(threads).factor(&a).unwrap().solve(rhs).unwrap().values;
        let expected = run(1, &rhs);
        for threads in [2, 3, 7] {
            assert!(run(threads, &rhs) == expected, "{method:?}, {threads} threads");
        }
        assert!(run(2, &[&rhs[..], &rhs[..]].concat()).chunks(n).all(|x| x == expected));
    }
}
