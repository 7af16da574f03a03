//! Random small systems, special values included, against the oracle.

use bandsolve::prelude::*;
use bandsolve_testkit::oracle;
use proptest::prelude::*;

/// Ordinary numbers mostly; now and then a zero, an extreme one, or one that is none.
fn entry() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => -1.0..1.0f64,
        3 => Just(0.0),
        2 => (-300i32..300).prop_map(|e| 10f64.powi(e)),
        1 => (-300i32..300).prop_map(|e| -(10f64.powi(e))),
    ]
}

fn special() -> impl Strategy<Value = f64> {
    prop_oneof![
        30 => entry(),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::MIN_POSITIVE / 8.0), Just(f64::MAX)],
    ]
}

fn arrays(values: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = [Vec<f64>; 4]> {
    (1usize..70).prop_flat_map(move |n| {
        let array = || proptest::collection::vec(values.clone(), n);
        [array(), array(), array(), array()]
    })
}

/// An answer is good, or it is an error: never a panic, never a bad number.
fn check(plan: &Plan, a: &Tridiagonal<f64>, rhs: &[f64]) -> Result<(), TestCaseError> {
    let Ok(solution) = plan.factor(a).unwrap().solve(rhs) else { return Ok(()) };
    let eta = oracle::backward_error(a, rhs, &solution.values);
    // What is reported is true, up to the rounding of the measured residual (3ε), and within the contract: 8ε, or 64ε
    // where the sequential method could do no better.
    let reported = solution.report.backward_error;
    let sequential = solution.report.fallback || solution.report.method == Method::Pivoted;
    let limit = if sequential { 64.0 } else { 8.0 } * f64::EPSILON;
    prop_assert!(reported <= limit && eta <= reported + 3.0 * f64::EPSILON, "true {eta:.2e}: {:?}", solution.report);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tridiagonal([sub, diag, sup, rhs] in arrays(special().boxed()), periodic: bool, rows in 3usize..40, none: bool) {
        // With one or two unknowns corners add up with other entries: the sum is rounded before anything is solved.
        let periodic = periodic && sub.len() > 2;
        let a = Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap();
        for method in [Method::Rpts, Method::Pivoted] {
            let plan = Plan::new(a.shape()).method(method).partition_rows(rows);
            check(&plan, &a, &rhs)?;
            check(&plan.clone().pivoting(if none { Pivoting::None } else { Pivoting::Partial }), &a, &rhs)?;
        }
    }

    #[test]
    fn ordinary_systems_are_solved([sub, mut diag, sup, rhs] in arrays((-1.0..1.0f64).boxed()), rows in 3usize..40) {
        diag.iter_mut().for_each(|d| *d += 2.5f64.copysign(*d));
        let periodic = sub.len() > 2;
        let a = Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap();
        let solution = Plan::new(a.shape()).method(Method::Rpts).partition_rows(rows).factor(&a).unwrap().solve(&rhs);
        let solution = solution.expect("diagonally dominant");
        prop_assert!(!solution.report.fallback);
        prop_assert!(oracle::backward_error(&a, &rhs, &solution.values) <= 11.0 * f64::EPSILON);
    }

    #[test]
    fn batches([sub, diag, sup, rhs] in arrays(special().boxed()), interleaved: bool, split in 1usize..6) {
        let n = (sub.len() / split).max(1);
        let count = sub.len() / n;
        let used = n * count;
        let layout = if interleaved { Layout::Interleaved } else { Layout::Contiguous };
        let a = TridiagonalBatch::new(count, n, layout, &sub[..used], &diag[..used], &sup[..used]).unwrap();
        if let Ok(solution) = a.solve(&rhs[..used]) {
            for s in 0..count {
                let pick = |all: &[f64]| (0..n).map(|i| all[a.index(s, i)]).collect::<Vec<_>>();
                let eta = oracle::backward_error(&a.system(s), &pick(&rhs), &pick(&solution.values));
                prop_assert!(eta <= 67.0 * f64::EPSILON, "system {s} of {count}: {eta:.2e}");
            }
        }
    }
}
