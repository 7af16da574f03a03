//! The accuracy of unverified solves compared with the papers, and the matrices for which methods fail.

use bandsolve::{Banded, BlockTridiagonal, Factor, Factorize, Method, Plan, Shape, Tridiagonal};
use bandsolve_gallery::Random;
use bandsolve_gallery::oracle::{backward_error, product};
use bandsolve_gallery::tables::{Case, PUBLISHED_N, Paper, chang, klein, x_true};

/// Methods, each with the name of its solver in Chang's Table 6.2 or Klein's Table 5.
const PUBLISHED: [(Method, Paper, &str); 9] = [
    (Method::SpikeDiagonalPivoting, Paper::Chang, "SPIKE-Diagonal Pivoting"),
    (Method::ParallelDiagonalPivoting, Paper::Chang, "Parallel Diagonal Pivoting"),
    (Method::AdaptiveCr, Paper::Chang, "A-R-CR"),
    (Method::Cr, Paper::Chang, "CUSPARSE"),
    (Method::Pivoted, Paper::Chang, "MKL"),
    (Method::Rpts, Paper::Klein, "RPTS"),
    (Method::SpikeQr, Paper::Klein, "g-spike"),
    (Method::Pivoted, Paper::Klein, "LAPACK"),
    (Method::DiagonalPivoting, Paper::Klein, "cuSPARSE"),
];

/// The factor by which an error may exceed the published one.
///
/// The published errors are from one random matrix. These errors and ours are sums of some hundred rounding errors, amplified by the same
/// inverse. With other rounding, each can be ten times as large.
const SPREAD: f64 = 100.0;
/// The seed of all matrices. Right-hand sides use this seed and the next ones.
const SEED: u64 = 1;
const RIGHT_HAND_SIDES: u64 = 5;

fn raw(method: Method, a: &Tridiagonal<'_, f64>, rhs: &[f64]) -> Vec<f64> {
    Plan::new(a.shape()).method(method).verify(false).factor(a).unwrap().solve(rhs).unwrap().values
}

/// A matrix, a right-hand side and the true solution.
type Draw = (Tridiagonal<'static, f64>, Vec<f64>, Vec<f64>);

fn raw_error(case: &Case, method: Method, (a, rhs, x_true): &Draw) -> f64 {
    case.error(a, rhs, &raw(method, a, rhs), x_true)
}

fn published(case: &Case, solver: &str) -> f64 {
    case.columns().find(|(name, _)| *name == solver).expect("a solver of the table").1
}

/// Draw a right-hand side of a matrix and the true solution.
fn draw(case: &Case, a: &Tridiagonal<'static, f64>, seed: u64) -> Draw {
    (a.clone(), case.rhs(a, seed), x_true(PUBLISHED_N, seed))
}

/// Compared with sequential pivoting, unverified solutions are as accurate as in the papers.
///
/// Residuals and forward errors are a backward error times an amplification, mostly the condition number. The amplification varies by
/// orders of magnitude between matrices of one type, so the published errors of another random matrix cannot be compared directly. For
/// one matrix, the amplification is the same for all methods. It is measured by sequential pivoting, as the worst of a few right-hand
/// sides. A method may be worse than this by the published ratio times [`SPREAD`]. Sequential pivoting is compared with its own bound.
///
/// Chang's types 14 to 16 are too ill-conditioned for double precision. For other types, the published solver failed if its error is NaN
/// or infinite.
#[test]
fn errors_are_the_published_ones() {
    let beyond = |case: &Case| case.paper == Paper::Chang && (14..=16).contains(&case.id);
    for case in chang().iter().chain(&klein()).filter(|case| !beyond(case)) {
        let a = case.matrix(PUBLISHED_N, SEED);
        let draws = (SEED..SEED + RIGHT_HAND_SIDES).map(|seed| draw(case, &a, seed)).collect::<Vec<_>>();
        let sequential = draws.iter().map(|draw| sequential_error(case, draw)).fold(f64::EPSILON, f64::max);
        let base = published(case, if case.paper == Paper::Chang { "MKL" } else { "LAPACK" });
        assert!(base.is_finite(), "{}: the published sequential solver", case.name);
        for (method, _, solver) in PUBLISHED.iter().filter(|(_, paper, _)| *paper == case.paper) {
            let expected = sequential * (published(case, solver) / base);
            let own = raw_error(case, *method, &draws[0]);
            let exact = (a.clone(), product(&a, &draws[0].2), draws[0].2.clone());
            let (name, of_product) = (method.name(), raw_error(case, *method, &exact));
            println!(
                "{:9} {name:26} {solver}: expected {expected:.2e}, here {own:.2e}, d = A·x {of_product:.2e}",
                case.name
            );
            assert!(expected.is_nan() || own <= SPREAD * expected, "{} {solver}: {own:e} for {expected:e}", case.name);
        }
    }
}

/// The error of sequential pivoting.
///
/// Each row of L has one multiplier of at most 1, and each row of U has three entries that grow at most by a factor of 2. Per row, some ten
/// products and quotients are rounded by ε/2.
fn sequential_error(case: &Case, draw: &Draw) -> f64 {
    let x = raw(Method::Pivoted, &draw.0, &draw.1);
    let eta = backward_error(&draw.0, &draw.1, &x);
    assert!(eta <= 10.0 * f64::EPSILON, "{}: η = {eta:e}", case.name);
    let error = case.error(&draw.0, &draw.1, &x, &draw.2);
    assert!(error.is_finite(), "{}: {error:e}", case.name);
    error
}

/// The backward errors of adaptive cyclic reduction are those of sequential pivoting, times a small number (`docs/math/adaptive-cr.md`).
#[test]
fn blocks_by_price_are_accurate() {
    let (n, mut worst) = (20_000, [0.0f64; 2]);
    for case in chang().iter().filter(|case| !(8..=11).contains(&case.id) && case.id != 15) {
        for seed in [SEED, SEED + 1] {
            let a = case.matrix(n, seed);
            let rhs = Random::new(seed + 2).uniform_vec(n, -1.0, 1.0);
            let error = |method| {
                let factors = Plan::new(a.shape()).method(method).verify(false).factor(&a).unwrap();
                factors.solve(&rhs).ok().map(|x| backward_error(&a, &rhs, &x.values) / f64::EPSILON)
            };
            let errors = [Method::AdaptiveCr, Method::Pivoted].map(error);
            println!(
                "{:9} backward errors in ε: adaptive-cr {:.2?}, sequential {:.2?}",
                case.name, errors[0], errors[1]
            );
            if let [Some(adaptive), Some(sequential)] = errors {
                worst = [worst[0].max(adaptive), worst[1].max(sequential)];
            } else {
                assert!([13, 14, 16].contains(&case.id), "{}: {errors:?}", case.name);
            }
        }
    }
    assert!(worst[0] <= 10.0 * worst[1].max(1.0), "{worst:?}");
}

/// Solve a system with a regular matrix of rows (sub, diag, sup).
fn solve_verified(method: Method, rows: &[[f64; 3]]) -> bandsolve::Report {
    let column = |j: usize| rows.iter().map(|row| row[j]).collect();
    let a = Tridiagonal::from_vecs(column(0), column(1), column(2), false).unwrap();
    let rhs: Vec<f64> = (0..rows.len()).map(|i| 1.0 + i as f64).collect();
    Plan::new(a.shape()).method(method).partition_rows(3).factor(&a).unwrap().solve(&rhs).unwrap().report
}

#[test]
fn each_method_is_broken_by_its_matrix_and_saved_by_the_fallback() {
    // The Thomas algorithm has the pivots 1, −1, 2, ½. Row 1 alone is singular.
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

/// Rows multiplied by powers of ten from 1e−150 to 1e150, so that determinants overflow and underflow.
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
    // Both errors have the same order, because the methods differ in rounding only.
    assert!(parallel <= 10.0 * sequential, "{parallel:.2e}, one by one {sequential:.2e}");
    for method in [Method::ParallelDiagonalPivoting, Method::CfLu] {
        let solution = Plan::new(a.shape()).method(method).factor(&a).unwrap().solve(&rhs).unwrap();
        assert!(backward_error(&a, &rhs, &solution.values) <= 8.0 * f64::EPSILON, "{method:?}: {:?}", solution.report);
    }
}

/// A matrix for which methods without pivoting fail, because every other leading minor is zero (`docs/math/thomas.md`, `cf-lu.md`).
#[test]
fn vanishing_minors_need_pivots_of_two_rows() {
    let case = chang()[16];
    let (a, x_true) = (case.matrix(PUBLISHED_N, 1), x_true(PUBLISHED_N, 1));
    let rhs = product(&a, &x_true);
    for method in [Method::Thomas, Method::CfLu] {
        // Solvers detect a pivot that is exactly zero also without verification.
        let unverified = Plan::new(a.shape()).method(method).verify(false).factor(&a).unwrap().solve(&rhs).unwrap();
        let error = case.error(&a, &rhs, &unverified.values, &x_true);
        assert!(unverified.report.fallback || !(error <= 0.1), "{method:?}: {error:.2e}");
        let solution = Plan::new(a.shape()).method(method).factor(&a).unwrap().solve(&rhs).unwrap();
        assert!(solution.report.fallback && solution.report.backward_error <= 8.0 * f64::EPSILON);
    }
}

/// Without repair, the number of threads or of right-hand sides changes no bit either.
#[test]
fn threads_change_no_bit() {
    let n = 100_003;
    let mut random = Random::new(6);
    let mut draw = || random.uniform_vec(n, -1.0, 1.0);
    let (sub, diag, sup, rhs) = (draw(), draw(), draw(), draw());
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    for method in [Method::AdaptiveCr, Method::ParallelDiagonalPivoting, Method::CfLu] {
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

/// The column has nonzero pivot candidates, but all of them are below the noise threshold.
#[test]
fn candidates_that_are_noise_are_zero() {
    fn solves(plan: Plan, a: &impl Factorize<Scalar = f64>) -> bool {
        let rhs = vec![1.0; plan.shape().n()];
        plan.factor(a).unwrap().solve(&rhs).is_ok()
    }
    let check = |shape: Shape, solves: &dyn Fn(Plan) -> bool| {
        for method in [Method::Rpts, Method::Pivoted, Method::Spike].into_iter().filter(|m| m.solves(shape)) {
            let plan = Plan::new(shape).method(method);
            assert!(solves(plan.clone()), "{method:?}, {shape:?}");
            assert!(solves(plan.clone().noise_threshold(1e-14)), "{method:?}, {shape:?}, below what there is");
            assert!(!solves(plan.noise_threshold(1e-10)), "{method:?}, {shape:?}, noise");
        }
    };
    let mut random = Random::new(9);
    let mut draw = |n: usize| random.uniform_vec(n, 0.5, 1.0);
    let (rows, noisy) = (600, 301);
    let [mut sub, mut diag, mut sup] = [(); 3].map(|()| draw(rows));
    (diag[noisy], sub[noisy + 1], sup[noisy - 1]) = (3e-13, 2e-13, 1e-13);
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    check(a.shape(), &|plan| solves(plan, &a));
    for block in [1, 2, 3, 4, 7] {
        let square = block * block;
        let [mut sub, mut diag, mut sup] = [(); 3].map(|()| draw(rows * square));
        for (array, row) in [(&mut diag, noisy), (&mut sub, noisy + 1), (&mut sup, noisy - 1)] {
            array[row * square..][..block].iter_mut().for_each(|v| *v *= 1e-12);
        }
        let a = BlockTridiagonal::new(block, &sub, &diag, &sup).unwrap();
        check(a.shape(), &|plan| solves(plan, &a));
    }
    for half in [1, 2, 4, 9] {
        let leading = 2 * half + 1;
        let mut bands = draw(rows * leading);
        bands[noisy * leading..][..leading].iter_mut().for_each(|v| *v *= 1e-12);
        let a = Banded::new(rows, half, half, &bands).unwrap();
        check(a.shape(), &|plan| solves(plan, &a));
    }
}
