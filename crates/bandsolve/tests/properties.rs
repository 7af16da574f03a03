//! Random small systems, also with special values, compared with the oracle. Regular systems are solved. Errors have the reason and the
//! place that the oracle finds.

mod drawn;

use bandsolve::Factorize;
use bandsolve::prelude::*;
use bandsolve_gallery::Random;
use bandsolve_gallery::oracle::{self, MatrixRows};
use drawn::{ARRAYS, Tally, Truth, check_error, count, counts, drawn, run, truth};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

const EPSILON: f64 = f64::EPSILON;

/// Check that a solution is accurate, or that the oracle expects the error.
fn check<A: MatrixRows<f64> + Factorize<Scalar = f64>>(
    (tally, truth): (&Tally, &Truth),
    plan: &Plan,
    a: &A,
    rhs: &[f64],
) -> TestCaseResult {
    count(&tally.all);
    let solution = match plan.factor(a).unwrap().solve(rhs) {
        Ok(solution) => solution,
        Err(error) => {
            tally.refused([truth]);
            return check_error(&error, truth, a);
        }
    };
    let eta = oracle::backward_error(a, rhs, &solution.values);
    // The reported error is right, up to the rounding of the measured residual, and within the contract: 8ε, or 64ε if the sequential
    // method reaches no less.
    let (lower, upper) = a.bandwidths();
    let rounding = bandsolve_testkit::conformance::rounding::<f64>(lower + upper + 1);
    let reported = solution.report.backward_error;
    let sequential = solution.report.fallback || solution.report.method == Method::Pivoted;
    let limit = if sequential { 64.0 } else { 8.0 } * EPSILON;
    prop_assert!(reported <= limit && eta <= reported + rounding, "true {eta:.2e}: {:?}, {truth:?}", solution.report);
    prop_assert!(!matches!(truth, Truth::NotFinite(_)), "an answer where {truth:?}");
    count(&tally.answered);
    Ok(())
}

// ---------------------------------------------------------------------------------------------------------------------
// The properties

#[test]
fn tridiagonal() {
    let systems = (drawn(3), any::<bool>(), 3usize..40);
    run(systems, |tally, (drawn, periodic, rows)| {
        let (a, rhs, truth) = drawn.tridiagonal(periodic);
        for method in [Method::Rpts, Method::Pivoted] {
            for pivoting in Pivoting::ALL {
                let plan = Plan::new(a.shape()).method(method).partition_rows(rows).pivoting(pivoting);
                check((tally, &truth), &plan, &a, &rhs)?;
            }
        }
        Ok(())
    });
}

#[test]
fn banded() {
    let systems =
        (0usize..5, 0usize..5).prop_flat_map(|(lower, upper)| (Just((lower, upper)), drawn(lower + upper + 1)));
    run(systems, |tally, ((lower, upper), drawn)| {
        let (n, leading) = (drawn.rows.len(), lower + upper + 1);
        // Entry k of row i belongs to column i + k − lower. Entries outside of the matrix are NaN.
        let place = |i: usize, k: usize| {
            let column = (i + k).checked_sub(lower).filter(|j| *j < n);
            column.map(|j| lower + upper - k + j * leading)
        };
        let mut bands = vec![f64::NAN; n * leading];
        for (i, row) in drawn.rows.iter().enumerate() {
            for (k, v) in row[..leading].iter().enumerate() {
                place(i, k).into_iter().for_each(|at| bands[at] = *v);
            }
        }
        let a = Banded::from_vec(n, lower, upper, bands).unwrap();
        let rhs = drawn.column(leading);
        let bad = drawn.spoiled.iter().filter_map(|(i, k)| match *k {
            k if k == leading => Some(("rhs", *i)),
            k => place(*i, k).map(|at| ("bands", at)),
        });
        let truth = truth(&a, &rhs, bad.collect());
        for method in [Method::Pivoted, Method::Rpts, Method::Spike] {
            check((tally, &truth), &Plan::new(a.shape()).method(method), &a, &rhs)?;
        }
        Ok(())
    });
}

#[test]
fn batches() {
    let systems = (drawn(3), any::<bool>(), 1usize..6);
    run(systems, |tally, (drawn, interleaved, split)| {
        let n = (drawn.rows.len() / split).max(1);
        let systems = drawn.rows.len() / n;
        let layout = if interleaved { Layout::Interleaved } else { Layout::Contiguous };
        let [sub, diag, sup, rhs] = [0, 1, 2, 3].map(|k| drawn.column(k)[..n * systems].to_vec());
        let a = TridiagonalBatch::new(systems, n, layout, &sub, &diag, &sup).unwrap();
        let pick = |all: &[f64], s: usize| (0..n).map(|i| all[a.index(s, i)]).collect::<Vec<_>>();
        let truth_of = |s: usize| {
            let own = (0..n).flat_map(|i| (0..4).map(move |k| (i, k)));
            let bad = own.filter(|(i, k)| counts(n, false, (*i, *k)));
            let bad = bad.map(|(i, k)| (ARRAYS[k], a.index(s, i))).filter(|(array, at)| {
                let values = [&sub, &diag, &sup, &rhs][ARRAYS.iter().position(|name| name == array).unwrap()];
                !values[*at].is_finite()
            });
            truth(&a.system(s), &pick(&rhs, s), bad.collect())
        };
        let truths: Vec<Truth> = (0..systems).map(truth_of).collect();
        count(&tally.all);
        let solution = match a.solve(&rhs) {
            Ok(solution) => solution,
            Err(error) => {
                tally.refused(&truths);
                return check_batch_error(error, &a, &truths);
            }
        };
        for s in 0..systems {
            let eta = oracle::backward_error(&a.system(s), &pick(&rhs, s), &pick(&solution.values, s));
            let finite = !matches!(truths[s], Truth::NotFinite(_));
            prop_assert!(finite && eta <= 67.0 * EPSILON, "system {s} of {systems}: {eta:.2e}, {:?}", truths[s]);
        }
        count(&tally.answered);
        Ok(())
    });
}

/// Check that one system of the batch alone has this error.
fn check_batch_error(error: Error, a: &TridiagonalBatch<'_, f64>, truths: &[Truth]) -> TestCaseResult {
    let n = a.n();
    let (mut own, mut error) = (0..truths.len(), error);
    if let Error::Singular { row } = error {
        own = row / n..row / n + 1;
        error = Error::Singular { row: row % n };
    }
    let found: Vec<_> = own.map(|s| check_error(&error, &truths[s], &a.system(s))).collect();
    prop_assert!(found.iter().any(|found| found.is_ok()), "{error}: {truths:?}");
    Ok(())
}

#[test]
fn ordinary_systems_are_solved() {
    let systems = (proptest::collection::vec([(); 4].map(|()| -1.0..1.0f64), 1..70), 3usize..40);
    run(systems, |tally, (rows, partition)| {
        count(&tally.all);
        let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
        let diag = column(1).into_iter().map(|d| d + 2.5f64.copysign(d)).collect();
        let a = Tridiagonal::from_vecs(column(0), diag, column(2), rows.len() > 2).unwrap();
        let rhs = column(3);
        let plan = Plan::new(a.shape()).method(Method::Rpts).partition_rows(partition);
        let solution = plan.factor(&a).unwrap().solve(&rhs).expect("diagonally dominant");
        prop_assert!(!solution.report.fallback);
        prop_assert!(oracle::backward_error(&a, &rhs, &solution.values) <= 11.0 * EPSILON);
        count(&tally.answered);
        Ok(())
    });
}

/// Bands with entries from 1e-300 to 1e300 among ordinary ones. The factors of A can be useless for Aᵀ, also if Aᵀ is well-conditioned by rows.
#[test]
fn transposed_bands_with_entries_of_every_size() {
    let (mut rng, mut solved) = (Random::new(5), 0);
    for k in 0..2000 {
        let (n, lower, upper) = (4 + k % 9, k % 4, k / 4 % 4);
        let mut entry = || {
            let (v, size) = (rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0));
            if size.abs() > 0.2 { v } else { v.signum() * 10f64.powf(1500.0 * size) }
        };
        let a = Banded::from_vec(n, lower, upper, (0..n * (lower + upper + 1)).map(|_| entry()).collect()).unwrap();
        let transposed = oracle::transpose_banded(&a, false);
        let rhs = oracle::product(&transposed, &rng.uniform_vec(n, -1.0, 1.0));
        if !(oracle::condition_rows(&transposed) < 1e10) || rhs.iter().any(|v| v.abs() > 1e290) {
            continue;
        }
        solved += 1;
        let mut x = rhs.clone();
        let factor = Plan::new(a.shape()).method(Method::Pivoted).factor(&a).unwrap();
        factor.solve_transpose_in_place(&mut x).unwrap_or_else(|error| panic!("system {k}: {error}"));
        assert!(oracle::backward_error(&transposed, &rhs, &x) <= 67.0 * EPSILON, "system {k}");
    }
    assert!(solved > 500, "only {solved} systems are well-conditioned");
}
