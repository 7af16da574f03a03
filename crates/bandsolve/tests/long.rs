//! Tridiagonal systems that are so long that they are solved in one pass over memory.

use bandsolve::prelude::*;
use bandsolve_gallery::oracle::backward_error;
use bandsolve_gallery::{Random, random_vec};

/// Number of unknowns: above the limit, and the last partition is shorter than the others.
const N: usize = (1 << 22) + 77;

/// Every answer is within the contract, with the same bits for any number of threads: also if entries of the inverse do not decay, near the places
/// that the solver tests or far from them, and if the right-hand side has one element that is not zero.
#[test]
fn long_systems_are_solved_within_the_contract() {
    let mut random = Random::new(1);
    let [sub, diag, sup, rhs] = [N - 1, N, N - 1, N].map(|n| random_vec::<f64>(n, &mut random));
    let dominant: Vec<f64> = diag.iter().map(|b| b + 3.0).collect();
    let mut one = vec![0.0; N];
    one[N / 3] = 1.0;
    let in_rows = |rows: std::ops::Range<usize>| {
        let [mut sub, mut diag, mut sup] = [&sub, &diag, &sup].map(|array| array.clone());
        sub[rows.clone()].fill(-1.0);
        diag[rows.clone()].fill(2.0);
        sup[rows].fill(-1.0);
        [sub, diag, sup]
    };
    let ([a0, b0, c0], [a1, b1, c1]) = (in_rows(0..N - 1), in_rows(N / 4..N / 4 + 200_000));
    for (name, [sub, diag, sup, rhs]) in [
        ("random", [&sub, &diag, &sup, &rhs]),
        ("dominant", [&sub, &dominant, &sup, &rhs]),
        ("one source", [&sub, &dominant, &sup, &one]),
        ("second differences", [&a0, &b0, &c0, &rhs]),
        ("second differences in a part", [&a1, &b1, &c1, &rhs]),
    ] {
        let a = Tridiagonal::new(sub, diag, sup).unwrap();
        let solve = |threads| Plan::once(a.shape()).threads(threads).factor(&a).unwrap().solve(rhs).unwrap();
        let solution = solve(1);
        let (eta, report) = (backward_error(&a, rhs, &solution.values), &solution.report);
        assert!(
            report.backward_error <= 8.0 * f64::EPSILON && eta <= report.backward_error + f64::EPSILON,
            "{name}: {eta:e}, {report:?}"
        );
        assert!(!report.fallback, "{name}: {report:?}");
        for threads in [2, 3] {
            assert!(solve(threads).values == solution.values, "{name}, {threads} threads");
        }
    }
}

/// Columns alone and together have the same bits.
#[test]
fn columns_of_long_systems_are_the_same_alone() {
    let mut random = Random::new(2);
    let [sub, diag, sup] = [N - 1, N, N - 1].map(|n| random_vec::<f32>(2 * n, &mut random));
    let n = 2 * N - 2;
    let diag: Vec<f32> = diag[..n].iter().map(|b| b + 3.0).collect();
    let a = Tridiagonal::new(&sub[..n - 1], &diag, &sup[..n - 1]).unwrap();
    let rhs = random_vec::<f32>(5 * n, &mut random);
    let factors = Plan::once(a.shape()).factor(&a).unwrap();
    let together = factors.solve(&rhs).unwrap();
    assert!(!together.report.fallback && together.report.refinement_steps == 0, "{:?}", together.report);
    for (k, rhs) in rhs.chunks(n).enumerate() {
        assert!(factors.solve(rhs).unwrap().values == together.values[k * n..][..n], "column {k}");
    }
}
