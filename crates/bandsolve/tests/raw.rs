//! Unverified solves: how good they are beside what the papers published, and which matrices break which method.

use bandsolve::{Factor, Method, Plan, Tridiagonal};
use bandsolve_testkit::Random;
use bandsolve_testkit::oracle::product;
use bandsolve_testkit::tables::{PUBLISHED_N, chang, x_true};

/// Methods, the solvers of Chang's Table 6.2 that they are, and the types that can be compared: 14 to 16 are beyond double
/// precision.
const PUBLISHED: [(Method, &str, &[usize]); 1] =
    [(Method::AdaptiveCr, "A-R-CR", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18])];

/// How far a residual may lie above the published one: both are random, and mostly a condition number times ε, which varies
/// as much between matrices of one type.
const SPREAD: f64 = 100.0;

#[test]
fn residuals_are_the_published_ones() {
    for case in chang() {
        let (a, x_true) = (case.matrix(PUBLISHED_N, 1), x_true(PUBLISHED_N, 1));
        // Published residuals grow with the condition number, as they do for right-hand sides that are random themselves.
        let random = Random::new(1).uniform_vec(PUBLISHED_N, -1.0, 1.0);
        for (method, solver, _) in PUBLISHED.iter().filter(|(_, _, types)| types.contains(&case.id)) {
            let published = case.columns().find(|(name, _)| name == solver).expect("a solver of the table").1;
            let factors = Plan::new(a.shape()).method(*method).verify(false).factor(&a).unwrap();
            let residual = |rhs: &[f64]| case.error(&a, rhs, &factors.solve(rhs).unwrap().values, &x_true);
            let (given, of_product) = (residual(&random), residual(&product(&a, &x_true)));
            println!("{:9} {solver}: published {published:.2e}, here {given:.2e}, A·x {of_product:.2e}", case.name);
            assert!(given <= SPREAD * published, "{} {solver}: {given:e} beside {published:e}", case.name);
            assert!(of_product <= 1e-14, "{} {solver}: {of_product:e} for A·x", case.name);
        }
    }
}

/// Regular matrices of n rows (sub, diag, sup).
fn solve_verified(method: Method, rows: &[[f64; 3]]) -> bandsolve::Report {
    let column = |j: usize| rows.iter().map(|row| row[j]).collect();
    let a = Tridiagonal::from_vecs(column(0), column(1), column(2), false).unwrap();
    let rhs: Vec<f64> = (0..rows.len()).map(|i| 1.0 + i as f64).collect();
    Plan::new(a.shape()).method(method).partition_rows(3).factor(&a).unwrap().solve(&rhs).unwrap().report
}

#[test]
fn each_method_is_broken_by_its_matrix_and_saved_by_the_fallback() {
    // Thomas' pivots are 1, −1, 2, ½; row 1 alone is singular.
    let zero_diagonal = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]];
    // Rows 1 and 2 together are singular.
    let pair = [[0.0, 3.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 3.0, 0.0]];
    // 1 − a₁c₀ − c₁a₂ = 1 − ½ − ½, and the first three rows and columns are singular.
    let thirds = [[1.0, 2.0, 2.0]; 6];
    let cases: [(Method, &[[f64; 3]]); 4] =
        [(Method::Cr, &zero_diagonal), (Method::Tricr, &pair), (Method::Pcr, &thirds), (Method::SpikeCr, &thirds)];
    for (method, rows) in cases {
        let report = solve_verified(method, rows);
        assert!(report.fallback && report.backward_error <= 8.0 * f64::EPSILON, "{method:?}: {report:?}");
        assert!(!solve_verified(Method::AdaptiveCr, rows).fallback, "{method:?}");
    }
    assert!(!solve_verified(Method::Thomas, &zero_diagonal).fallback);
}
