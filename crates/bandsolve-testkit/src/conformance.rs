//! One test suite that every method and number type instantiates.
//!
//! ```text
//! use bandsolve::{Complex64, Method};
//! bandsolve_testkit::conformance!(rpts_f64, f64, |plan| plan.method(Method::Rpts));
//! bandsolve_testkit::conformance!(rpts_c64, Complex64, |plan| plan.method(Method::Rpts));
//! bandsolve_testkit::conformance_banded!(banded_rpts_f64, f64, |plan| plan.method(Method::Rpts));
//! bandsolve_testkit::conformance_batch!(batch_f64, f64, |plan| plan);
//! ```
//!
//! # Tolerances
//! All tolerances follow from the accuracy contract: η ≤ 8ε, or 64ε if the report says that the fallback ran.
//!
//! - The *reported* η must satisfy the contract.
//! - The *true* η is computed in double-double. It may exceed the reported one by the rounding error of the residual in working precision. A residual with k
//!   products and k sums has an error of at most (k + 2)·u·(Σ|a||x| + |d|), where u = ε/2. The error of a complex product is √5·u instead of u: see
//!   [`rounding`].
//! - *Forward* errors are bounded with the condition number of the row-scaled matrix, [`bandsolve_gallery::oracle::condition_rows`].

use bandsolve::dyn_stack::PodStack;
use bandsolve::{
    Banded, Error, Factor, Layout, Method, Op, Pivoting, Plan, RealScalar, Report, Result, Scalar, Simd, Tridiagonal,
    TridiagonalBatch,
};
use bandsolve_gallery::families::{dominant, scale_rows};
use bandsolve_gallery::oracle::{
    MatrixRows, backward_error, condition_rows, forward_error_max, product, round, solve_reference, transpose,
    transpose_banded,
};
use bandsolve_gallery::tables::{Case, PUBLISHED_N, Paper, chang, klein};
use bandsolve_gallery::wide::{DoubleComplex, Wide};
use bandsolve_gallery::{Random, random_vec};
use std::sync::LazyLock;

/// The change that a suite makes to the default plan before it factors.
pub type Configure = fn(Plan) -> Plan;

/// The implementation under test: the library itself, or another one with the same contract.
pub trait Suite<T: Scalar> {
    /// Numbers of threads that must give the same bits as one thread.
    const THREADS: &'static [usize] = &[1, 2, 3, 7];
    /// Whether the method solves only Hermitian positive definite matrices, and returns an error for all others.
    const DEFINITE: bool = false;
    /// Factor a tridiagonal matrix.
    fn tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Factor<T> + 'm>>;
    /// Factor a banded matrix.
    fn banded<'m>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Factor<T> + 'm>>;
    /// Factor a batch of tridiagonal matrices.
    fn batch<'m>(plan: &Plan, a: &'m TridiagonalBatch<'_, T>) -> Result<Box<dyn Factor<T> + 'm>>;
}

/// The library itself: [`Plan::factor`].
pub enum Library {}

impl<T: Scalar> Suite<T> for Library {
    fn tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(plan.factor(a)?))
    }
    fn banded<'m>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(plan.factor(a)?))
    }
    fn batch<'m>(plan: &Plan, a: &'m TridiagonalBatch<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(plan.factor(a)?))
    }
}

/// The library, with a method for Hermitian positive definite matrices only.
pub enum DefiniteMatrices {}

impl<T: Scalar> Suite<T> for DefiniteMatrices {
    const DEFINITE: bool = true;
    fn tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Library::tridiagonal(plan, a)
    }
    fn banded<'m>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Library::banded(plan, a)
    }
    fn batch<'m>(plan: &Plan, a: &'m TridiagonalBatch<'_, T>) -> Result<Box<dyn Factor<T> + 'm>> {
        Library::batch(plan, a)
    }
}

/// A matrix of any kind that a suite can factor.
trait Subject<T: Scalar> {
    fn factor<S: Suite<T>>(&self, plan: &Plan) -> Result<Box<dyn Factor<T> + '_>>;
}

macro_rules! subject {
    ($($matrix:ident $by:ident;)*) => {$(
        impl<T: Scalar> Subject<T> for $matrix<'_, T> {
            fn factor<S: Suite<T>>(&self, plan: &Plan) -> Result<Box<dyn Factor<T> + '_>> {
                S::$by(plan, self)
            }
        }
    )*};
}
subject! {
    Tridiagonal tridiagonal;
    Banded banded;
    TridiagonalBatch batch;
}

/// Maximum backward error of a verified answer, in ε.
const GOOD: f64 = 8.0;
/// Maximum backward error after the fallback, in ε.
const TOLERABLE: f64 = 64.0;
const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

// ---------------------------------------------------------------------------------------------------------------------
// Matrices and right-hand sides

/// Distance from 1 to the next larger number of the scalar type.
pub fn epsilon<T: Scalar>() -> f64 {
    T::Real::EPSILON.to_f64()
}

/// The maximum difference between the true and the reported η for rows of k entries: (k + 2)·u, and (√5 − 1)·u more for complex products, where u = ε/2.
pub fn rounding<T: Scalar>(k: usize) -> f64 {
    let complex = if T::COMPLEX { 1.25 } else { 0.0 };
    ((k + 2) as f64 + complex) * 0.5 * epsilon::<T>()
}

/// The matrix in another scalar type; `None` if an entry overflows or underflows there.
///
/// Complex: entry (i, j) is multiplied by a phase of row i and a phase of column j, a unitary change that keeps
/// singular values, zeros and singular partitions as they are.
pub fn convert<T: Scalar>(a: &Tridiagonal<'_, f64>) -> Option<Tridiagonal<'static, T>> {
    let n = a.n();
    let mut random = Random::new(n as u64);
    let (rows, columns) = (random.uniform_vec(n, -3.0, 3.0), random.uniform_vec(n, -3.0, 3.0));
    let fits = |v: f64| {
        let size = T::Real::from_f64(v.abs()).to_f64();
        v == 0.0 || (size >= T::Real::MIN_POSITIVE.to_f64() && size <= T::Real::MAX.to_f64())
    };
    let entry = |v: f64, i: usize, j: usize| {
        let angle = if T::COMPLEX { rows[i] + columns[j] } else { 0.0 };
        fits(v).then(|| round::<T>(v * libm::cos(angle), v * libm::sin(angle)))
    };
    let sub = (0..n).map(|i| entry(a.row(i).0, i, (i + n - 1) % n)).collect::<Option<_>>()?;
    let diag = (0..n).map(|i| entry(a.row(i).1, i, i)).collect::<Option<_>>()?;
    let sup = (0..n).map(|i| entry(a.row(i).2, i, (i + 1) % n)).collect::<Option<_>>()?;
    Some(tridiagonal(sub, diag, sup, a.is_periodic()))
}

fn tridiagonal<T: Scalar>(sub: Vec<T>, diag: Vec<T>, sup: Vec<T>, periodic: bool) -> Tridiagonal<'static, T> {
    Tridiagonal::from_vecs(sub, diag, sup, periodic).expect("three arrays of length n are a tridiagonal matrix")
}

/// Three arrays of length n, corners included.
fn arrays<T: Scalar>(a: &Tridiagonal<'_, T>) -> [Vec<T>; 3] {
    let part = |f: fn((T, T, T)) -> T| (0..a.n()).map(|i| f(a.row(i))).collect();
    [part(|r| r.0), part(|r| r.1), part(|r| r.2)]
}

/// A random matrix, dominant or not. Periodic matrices with one or two unknowns are always dominant: their corners and off-diagonals add up, and cancellation
/// would make these sums inexact.
fn random_matrix<T: Scalar>(n: usize, periodic: bool, easy: bool) -> Tridiagonal<'static, T> {
    let seed = n as u64 + 1;
    if easy || (periodic && n < 3) {
        return convert(&dominant(n, seed, periodic)).expect("numbers near 1 fit every type");
    }
    let mut random = Random::new(seed);
    let mut draw = || random_vec(n, &mut random);
    let (sub, diag, sup) = (draw(), draw(), draw());
    tridiagonal(sub, diag, sup, periodic)
}

/// Hermitian, and dominant: by 1 if easy, else barely.
fn definite_matrix<T: Scalar>(n: usize, periodic: bool, easy: bool) -> Tridiagonal<'static, T> {
    let sup: Vec<T> = random_vec(n, &mut Random::new(n as u64 + 1));
    let sub: Vec<T> = (0..n).map(|i| Scalar::conj(sup[(i + n - 1) % n])).collect();
    let more = T::Real::from_f64(if easy { 1.0 } else { 1.0 / 64.0 });
    let diag = (0..n).map(|i| T::from_real(Scalar::abs(sub[i]) + Scalar::abs(sup[i]) + more)).collect();
    tridiagonal(sub, diag, sup, periodic)
}

/// A random matrix that the method of the suite can solve.
fn matrix<T: Scalar, S: Suite<T>>(n: usize, periodic: bool, easy: bool) -> Tridiagonal<'static, T> {
    if S::DEFINITE { definite_matrix(n, periodic, easy) } else { random_matrix(n, periodic, easy) }
}

/// Right-hand sides of different kinds: A·x for a known x, random, a unit vector, zero, large.
fn right_hand_sides<T: Scalar>(a: &impl MatrixRows<T>, n_rhs: usize) -> Vec<T> {
    let n = a.n();
    let mut random = Random::new(77);
    let mut rhs = Vec::with_capacity(n * n_rhs);
    for k in 0..n_rhs {
        rhs.extend(match k {
            0 => product(a, &random_vec(n, &mut random)),
            2 => (0..n).map(|i| if i == n / 2 { T::ONE } else { T::ZERO }).collect(),
            3 => vec![T::ZERO; n],
            4 => random_vec::<T>(n, &mut random).iter().map(|v| v.scale(T::Real::from_f64(1e9))).collect(),
            _ => random_vec(n, &mut random),
        });
    }
    rhs
}

/// The matrix op(A).
fn applied<T: Scalar>(op: Op, a: &Tridiagonal<'_, T>) -> Tridiagonal<'static, T> {
    match op {
        Op::Plain => a.clone().into_owned(),
        Op::Transpose => transpose(a, false),
        Op::ConjTranspose => transpose(a, true),
    }
}

/// Sizes: 0 to 3, near the SIMD widths 2 to 16, near partitions of 32 rows and their multiples, primes, and round numbers.
fn sizes() -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..=9).chain([13, 15, 16, 17, 23]).collect();
    for partition in [32, 64, 96, 128, 256, 512, 1024] {
        sizes.extend([partition - 1, partition, partition + 1]);
    }
    sizes.extend([47, 101, 509, 521, 997, 1000, 1009, 2047, 4099]);
    sizes
}

/// The matrices of both tables, generated once per process.
fn tables() -> &'static [(Case, Tridiagonal<'static, f64>)] {
    static TABLES: LazyLock<Vec<(Case, Tridiagonal<'static, f64>)>> =
        LazyLock::new(|| chang().into_iter().chain(klein()).map(|case| (case, case.matrix(PUBLISHED_N, 1))).collect());
    &TABLES
}

// ---------------------------------------------------------------------------------------------------------------------
// Solving and checking

fn bits<T: Scalar>(x: &[T]) -> Vec<[u64; 2]> {
    x.iter().map(|v| [v.re().to_f64().to_bits(), v.im().to_f64().to_bits()]).collect()
}

#[track_caller]
fn assert_same_bits<T: Scalar>(x: &[T], y: &[T], what: &str) {
    let different = bits(x).iter().zip(&bits(y)).position(|(a, b)| a != b);
    assert!(x.len() == y.len() && different.is_none(), "{what}: x differs first at {different:?}");
}

/// Factor and solve in place.
fn solve<T: Scalar, S: Suite<T>>(plan: &Plan, a: &impl Subject<T>, op: Op, rhs: &[T]) -> Result<(Vec<T>, Report)> {
    let factor = a.factor::<S>(plan)?;
    let mut x = rhs.to_vec();
    let report = match op {
        Op::Plain => factor.solve_in_place(&mut x),
        Op::Transpose => factor.solve_transpose_in_place(&mut x),
        Op::ConjTranspose => factor.solve_conj_transpose_in_place(&mut x),
    }?;
    Ok((x, report))
}

/// Check an answer against the accuracy contract. Returns the largest true η.
#[track_caller]
fn judge<T: Scalar>(a: &impl MatrixRows<T>, rhs: &[T], x: &[T], report: &Report, what: &str) -> f64 {
    let n = a.n();
    let n_rhs = rhs.len().checked_div(n).unwrap_or(0);
    assert_eq!(report.backward_errors.len(), n_rhs, "{what}: one backward error a right-hand side");
    assert_ne!(report.method, Method::Auto, "{what}");
    assert!(!report.reason.is_empty(), "{what}: no reason given");
    let limit = epsilon::<T>() * if report.fallback { TOLERABLE } else { GOOD };
    let (lower, upper) = a.bandwidths();
    let mut worst = 0.0;
    for k in 0..n_rhs {
        let eta = backward_error(a, &rhs[k * n..(k + 1) * n], &x[k * n..(k + 1) * n]);
        let reported = report.backward_errors[k];
        assert!(reported <= limit, "{what}: right-hand side {k}: reported {reported:e} > {limit:e}, true {eta:e}");
        let bound = reported + rounding::<T>(lower + upper + 1);
        assert!(eta <= bound, "{what}: right-hand side {k}: true {eta:e} > {bound:e}, reported {reported:e}");
        assert!(reported <= report.backward_error, "{what}: the report's largest error is not the largest");
        worst = f64::max(worst, eta);
    }
    worst
}

/// Solve, and check the answer.
#[track_caller]
fn solve_and_judge<T: Scalar, S: Suite<T>>(
    plan: &Plan,
    a: &Tridiagonal<'_, T>,
    op: Op,
    rhs: &[T],
    what: &str,
) -> Vec<T> {
    let (x, report) = solve::<T, S>(plan, a, op, rhs).unwrap_or_else(|e| panic!("{what}: {e}"));
    judge(&applied(op, a), rhs, &x, &report, what);
    x
}

/// Check ‖x − x_ref‖∞ ≤ η·κ·(‖x‖∞ + ‖x_ref‖∞), the bound of [`condition_rows`], if ηκ < 1/4. For larger ηκ the bound says nothing.
#[track_caller]
fn judge_forward<T: Scalar>(a: &impl MatrixRows<T>, x: &[T], reference: &[T], eta: f64, what: &str) {
    let spread = eta * condition_rows(a);
    if spread.is_nan() || spread >= 0.25 {
        return;
    }
    // ‖x‖ ≤ ‖x_ref‖·(1 + spread)/(1 − spread); x_ref itself is rounded by ε at most.
    let bound = spread * (1.0 + (1.0 + spread) / (1.0 - spread)) + epsilon::<T>();
    let error = forward_error_max(x, reference);
    assert!(error <= bound, "{what}: forward error {error:e} > {bound:e}");
}

// ---------------------------------------------------------------------------------------------------------------------
// The checks of one tridiagonal system

/// Every size, open and periodic, random and dominant, one and three right-hand sides (five for some), against the
/// double-double solution where n is small.
pub fn check_sizes<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in sizes() {
        for (periodic, easy) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = matrix::<T, S>(n, periodic, easy);
            let plan = configure(Plan::new(a.shape()));
            let counts: &[usize] = if n < 20 { &[1, 3, 5] } else { &[1, 3] };
            for n_rhs in counts {
                let what = format!("n = {n}, periodic {periodic}, dominant {easy}, {n_rhs} right-hand sides");
                let rhs = right_hand_sides(&a, *n_rhs);
                let (x, report) = solve::<T, S>(&plan, &a, Op::Plain, &rhs).unwrap_or_else(|e| panic!("{what}: {e}"));
                let eta = judge(&a, &rhs, &x, &report, &what);
                if n > 0 && n <= 130 && *n_rhs == 1 {
                    let reference = solve_reference(&a, &rhs).expect("random matrices are not singular");
                    judge_forward(&a, &x, &reference, eta, &what);
                }
            }
        }
    }
}

/// 100 000 unknowns.
pub fn check_long<T: Scalar, S: Suite<T>>(configure: Configure) {
    for periodic in [false, true] {
        let a = matrix::<T, S>(100_000, periodic, false);
        let rhs = right_hand_sides(&a, 3);
        let plan = configure(Plan::new(a.shape()));
        solve_and_judge::<T, S>(&plan, &a, Op::Plain, &rhs[..100_000], "long");
        solve_and_judge::<T, S>(&plan, &a, Op::Transpose, &rhs, "long");
    }
}

/// A, Aᵀ and Aᴴ from the same factors, in place and out of place with the same bits.
pub fn check_operations<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 3, 8, 17, 33, 64, 100, 257, 1000] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, false);
            let plan = configure(Plan::new(a.shape()));
            let factor = a.factor::<S>(&plan).unwrap();
            for op in OPS {
                let b = applied(op, &a);
                for n_rhs in [1, 3, 5] {
                    let what = format!("{op:?}, n = {n}, periodic {periodic}, {n_rhs} right-hand sides");
                    let rhs = right_hand_sides(&b, n_rhs);
                    let inside = solve_and_judge::<T, S>(&plan, &a, op, &rhs, &what);
                    let mut x = vec![T::from_real(T::Real::NAN); rhs.len()];
                    let mut scratch = vec![0u8; factor.solve_scratch(n_rhs).unaligned_bytes_required()];
                    let report = factor.solve_into_with(op, &rhs, &mut x, PodStack::new(&mut scratch));
                    judge(&b, &rhs, &x, &report.unwrap_or_else(|e| panic!("{what}: {e}")), &what);
                    assert_same_bits(&x, &inside, &what);
                }
            }
        }
    }
}

/// Scratch memory of exactly the required size that is filled with NaN changes nothing. Less memory is an error.
pub fn check_scratch<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 3, 33, 100, 1000] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, false);
            let factor = a.factor::<S>(&configure(Plan::new(a.shape()))).unwrap();
            for op in OPS {
                let rhs = right_hand_sides(&a, 3);
                let needed = factor.solve_in_place_scratch(3).unaligned_bytes_required();
                let run = |fill: u8, size: usize| {
                    let (mut x, mut scratch) = (rhs.clone(), vec![fill; size]);
                    factor.solve_in_place_with(op, &mut x, PodStack::new(&mut scratch)).map(|_| x)
                };
                // Eight bytes of 0xFF are a NaN, of either precision.
                let (clean, dirty) = (run(0, needed).unwrap(), run(0xFF, needed).unwrap());
                assert_same_bits(&clean, &dirty, &format!("{op:?}, n = {n}, periodic {periodic}"));
                if needed > 0 {
                    assert!(matches!(run(0, 0), Err(Error::Scratch { .. })), "no scratch was enough for n = {n}");
                }
            }
        }
    }
}

/// All numbers of threads give the same bits, and so does a second run.
pub fn check_threads<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 33, 1000, 4099, 100_003] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, false);
            let rhs = right_hand_sides(&a, if n > 5000 { 1 } else { 3 });
            for op in [Op::Plain, Op::ConjTranspose] {
                let run = |threads: usize| {
                    let plan = configure(Plan::new(a.shape())).threads(threads);
                    solve::<T, S>(&plan, &a, op, &rhs).unwrap_or_else(|e| panic!("{threads} threads, n = {n}: {e}"))
                };
                let (expected, expected_report) = run(1);
                for threads in S::THREADS {
                    let (x, report) = run(*threads);
                    assert_same_bits(&x, &expected, &format!("{op:?}, n = {n}, {threads} threads"));
                    assert_eq!(report.backward_errors, expected_report.backward_errors);
                    assert_eq!(report.fallback, expected_report.fallback);
                }
            }
        }
    }
}

/// Off-diagonals with n and with n − 1 entries give the same result. Ignored ends may be NaN.
pub fn check_storage<T: Scalar, S: Suite<T>>(configure: Configure) {
    let nan = T::from_parts(T::Real::NAN, T::Real::NAN);
    for n in [1, 2, 3, 32, 33, 100, 1000] {
        let a = matrix::<T, S>(n, false, false);
        let plan = configure(Plan::new(a.shape()));
        let [mut sub, diag, mut sup] = arrays(&a);
        for op in OPS {
            let rhs = right_hand_sides(&a, 3);
            let expected = solve_and_judge::<T, S>(&plan, &a, op, &rhs, "storage");
            (sub[0], sup[n - 1]) = (nan, nan);
            let variants = [
                (&sub[1..], &sup[..n - 1], "n-1 entries"),
                (&sub[..], &sup[..n - 1], "n and n-1 entries"),
                (&sub[1..], &sup[..], "n-1 and n entries"),
                (&sub[..], &sup[..], "NaN at the ignored ends"),
            ];
            for (sub, sup, what) in variants {
                let b = Tridiagonal::new(sub, &diag, sup).unwrap();
                let x = solve_and_judge::<T, S>(&plan, &b, op, &rhs, what);
                assert_same_bits(&x, &expected, &format!("{op:?}, n = {n}, {what}"));
            }
        }
    }
}

/// NaN and infinity in any array are errors that name the right place.
pub fn check_not_finite<T: Scalar, S: Suite<T>>(configure: Configure) {
    let mut bad = vec![T::from_real(T::Real::NAN), T::from_real(T::Real::INFINITY), T::from_real(-T::Real::INFINITY)];
    if T::COMPLEX {
        bad.push(T::from_parts(<T::Real as Scalar>::ZERO, T::Real::NAN));
    }
    for n in [1, 2, 5, 33, 300] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, true);
            let rhs = right_hand_sides(&a, 3);
            let plan = configure(Plan::new(a.shape()));
            for (array, len) in [("sub", n), ("diag", n), ("sup", n), ("rhs", 3 * n)] {
                for index in [0, 1, len / 2, len - 1] {
                    let ignored = !periodic && ((array == "sub" && index == 0) || (array == "sup" && index + 1 == n));
                    if index >= len || ignored {
                        continue;
                    }
                    for value in &bad {
                        let ([mut sub, mut diag, mut sup], mut rhs) = (arrays(&a), rhs.clone());
                        let target = match array {
                            "sub" => &mut sub,
                            "diag" => &mut diag,
                            "sup" => &mut sup,
                            _ => &mut rhs,
                        };
                        target[index] = *value;
                        let got =
                            solve::<T, S>(&plan, &tridiagonal(sub, diag, sup, periodic), Op::Plain, &rhs).map(|_| ());
                        let expected = Err(Error::NotFinite { array, index });
                        assert_eq!(got, expected, "n = {n}, periodic {periodic}, {value} in {array}[{index}]");
                    }
                }
            }
        }
    }
    // With n − 1 entries, the index belongs to the caller's array.
    let diag = vec![T::from_real(T::Real::from_f64(4.0)); 9];
    let (mut sub, sup) = (vec![T::ONE; 8], vec![T::ONE; 8]);
    sub[3] = bad[0];
    let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
    let got = solve::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &diag).map(|_| ());
    assert_eq!(got, Err(Error::NotFinite { array: "sub", index: 3 }));
}

/// Wrong lengths are errors that name both lengths.
pub fn check_shapes<T: Scalar, S: Suite<T>>(configure: Configure) {
    let ones = [T::ONE; 12];
    for (sub, diag, sup) in [(8, 10, 10), (10, 10, 11), (0, 10, 9), (1, 0, 0)] {
        let got = Tridiagonal::new(&ones[..sub], &ones[..diag], &ones[..sup]);
        assert!(matches!(got, Err(Error::Shape { expected, .. }) if expected == diag), "{got:?}");
    }
    assert!(matches!(Tridiagonal::periodic(&ones[..9], &ones[..10], &ones[..10]), Err(Error::Shape { .. })));
    let a = matrix::<T, S>(10, false, true);
    let plan = configure(Plan::new(a.shape()));
    let factor = a.factor::<S>(&plan).unwrap();
    for len in [1, 9, 11] {
        let mut rhs = vec![T::ONE; len];
        assert!(matches!(factor.solve_in_place(&mut rhs), Err(Error::Shape { got, .. }) if got == len));
        assert!(matches!(factor.solve_transpose_in_place(&mut rhs), Err(Error::Shape { got, .. }) if got == len));
        assert!(matches!(factor.solve(&rhs), Err(Error::Shape { got, .. }) if got == len));
        let mut x = vec![T::ZERO; len];
        assert!(matches!(factor.solve_into(&ones[..10], &mut x), Err(Error::Shape { got, .. }) if got == len));
    }
    for (n, periodic) in [(9, false), (11, false), (10, true)] {
        let other = matrix::<T, S>(n, periodic, true);
        assert!(
            matches!(other.factor::<S>(&plan).map(|_| ()), Err(Error::Shape { .. })),
            "n = {n}, periodic {periodic}"
        );
    }
}

/// A zero row or column is an error. Other singular matrices are errors, or have an answer that passes the check.
pub fn check_singular<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 3, 5, 32, 33, 100, 257, 1000] {
        for periodic in [false, true] {
            for at in [0, n / 2, n - 1] {
                for zero_row in [true, false] {
                    let [mut sub, mut diag, mut sup] = arrays(&matrix::<T, S>(n, periodic, false));
                    diag[at] = T::ZERO;
                    if zero_row {
                        (sub[at], sup[at]) = (T::ZERO, T::ZERO);
                    } else {
                        (sub[(at + 1) % n], sup[(at + n - 1) % n]) = (T::ZERO, T::ZERO);
                    }
                    let a = tridiagonal(sub, diag, sup, periodic);
                    let what = format!("n = {n}, periodic {periodic}, zero row {zero_row} at {at}");
                    let rhs = random_vec(n, &mut Random::new(3));
                    let got =
                        solve::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &rhs).map(|(_, report)| report);
                    assert!(is_singular::<T, S>(&got, n), "{what}: {got:?}");
                }
            }
        }
    }
    // [1 1; 1 1], the periodic second difference, and a zero diagonal of odd size. Rounding may turn each into a
    // regular matrix next to it, whose solution is then a legitimate answer with a small backward error.
    let same = |n: usize, v: f64| vec![T::from_real(T::Real::from_f64(v)); n];
    let singular = [
        tridiagonal(same(2, 1.0), same(2, 1.0), same(2, 1.0), false),
        tridiagonal(same(100, -1.0), same(100, 2.0), same(100, -1.0), true),
        tridiagonal(same(101, 1.0), same(101, 0.0), same(101, 1.0), false),
        tridiagonal(same(4, 0.0), same(4, 0.0), same(4, 0.0), false),
    ];
    for a in &singular {
        let rhs = random_vec(a.n(), &mut Random::new(3));
        match solve::<T, S>(&configure(Plan::new(a.shape())), a, Op::Plain, &rhs) {
            Ok((x, report)) => _ = judge(a, &rhs, &x, &report, "singular"),
            other => assert!(is_singular::<T, S>(&other.map(|(_, r)| r), a.n())),
        }
    }
}

fn is_singular<T: Scalar, S: Suite<T>>(got: &Result<Report>, n: usize) -> bool {
    match got.as_ref().map_err(Error::cause) {
        Err(Error::Singular { row }) => *row < n,
        Err(Error::NotDefinite { row }) => S::DEFINITE && *row < n,
        Err(Error::NotConverged { .. }) => true,
        _ => false,
    }
}

/// Every matrix of both papers, and its transpose.
pub fn check_tables<T: Scalar, S: Suite<T>>(configure: Configure) {
    for (case, a) in tables() {
        let Some(a) = convert::<T>(a) else { continue };
        let plan = configure(Plan::new(a.shape()));
        let x_true: Vec<T> = random_true(a.n());
        for op in [Op::Plain, Op::Transpose] {
            let b = applied(op, &a);
            let rhs = product(&b, &x_true);
            let what = format!("{} ({}), {op:?}", case.name, case.description);
            match solve::<T, S>(&plan, &a, op, &rhs) {
                Ok((x, report)) => {
                    let eta = judge(&b, &rhs, &x, &report, &what);
                    if op == Op::Plain {
                        assert!(report.backward_error <= GOOD * epsilon::<T>(), "{what}: {report:?}");
                    }
                    if case.condition < 1e12 {
                        // rhs is the product rounded by ε/2, one more backward error of that size.
                        judge_forward(&b, &x, &x_true, eta + epsilon::<T>(), &what);
                    }
                }
                // The solution has entries of κ·ε·‖rhs‖, and elimination passes through κ·‖rhs‖, which may overflow.
                Err(e) => {
                    let condition = condition_rows(&b);
                    let overflows = condition >= epsilon::<T>() * T::Real::MAX.to_f64();
                    assert!(
                        overflows && is_singular::<T, S>(&Err(e.clone()), a.n()),
                        "{what}: {e}, condition {condition:e}"
                    );
                }
            }
        }
    }
}

/// Klein's true solution: normal, mean 3, deviation 1; the imaginary part likewise.
fn random_true<T: Scalar>(n: usize) -> Vec<T> {
    let mut random = Random::new(8);
    (0..n).map(|_| round(random.normal(3.0, 1.0), random.normal(3.0, 1.0))).collect()
}

/// Partitions of many sizes on the matrices with singular partitions: Chang 17, 18 and Klein 15, 16.
pub fn check_partition_rows<T: Scalar, S: Suite<T>>(configure: Configure) {
    let special = |c: &Case| matches!((c.paper, c.id), (Paper::Chang, 17 | 18) | (Paper::Klein, 15 | 16));
    for (case, _) in tables().iter().filter(|(c, _)| special(c)) {
        for n in [64, 100, 512] {
            let Some(a) = convert::<T>(&case.matrix(n, 1)) else { continue };
            let rhs = product(&a, &random_true(n));
            for rows in [3, 4, 5, 7, 8, 16, 31, 32, 33, 64] {
                let plan = configure(Plan::new(a.shape())).partition_rows(rows);
                let what = format!("{}, n = {n}, partitions of {rows} rows", case.name);
                solve_and_judge::<T, S>(&plan, &a, Op::Plain, &rhs, &what);
                solve_and_judge::<T, S>(&plan, &a, Op::Transpose, &rhs, &what);
            }
        }
    }
}

/// Largest power of ten by which rows are scaled up and down: far from the limits of the type, also when two are
/// multiplied.
fn decades<T: Scalar>() -> f64 {
    if T::Real::MAX.to_f64() > 1e100 { 60.0 } else { 12.0 }
}

/// Rows scaled by powers of ten up to 1e±60 (single precision: 1e±12).
pub fn check_row_scaling<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [3, 17, 50, 300, 1000] {
        for periodic in [false, true] {
            for (easy, probability) in [(true, 1.0), (false, 0.1), (false, 1.0)] {
                let plain = random_matrix::<f64>(n, periodic, easy);
                let scaled = scale_rows(&plain, n as u64, probability, decades::<T>());
                // An entry may happen to be so small that, scaled down, it is not normal any more.
                let Some(a) = convert::<T>(&scaled) else { continue };
                let rhs = product(&a, &random_true(n));
                let what = format!("n = {n}, periodic {periodic}, dominant {easy}, {probability} of the rows scaled");
                solve_and_judge::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &rhs, &what);
            }
        }
    }
}

/// With scaled partial pivoting, rows scaled by powers of two give the same x, bit for bit.
pub fn check_scaling_invariance<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 3, 33, 100, 1000] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, false);
            let rhs = right_hand_sides(&a, 1);
            let mut random = Random::new(6);
            let power: Vec<T::Real> =
                (0..n).map(|_| T::Real::from_f64(libm::scalbn(1.0, random.below(41) as i32 - 20))).collect();
            let scale = |v: &[T]| -> Vec<T> { v.iter().zip(&power).map(|(v, p)| v.scale(*p)).collect() };
            let [sub, diag, sup] = arrays(&a);
            let b = tridiagonal(scale(&sub), scale(&diag), scale(&sup), periodic);
            let plan = configure(Plan::new(a.shape())).pivoting(Pivoting::ScaledPartial);
            let x = solve_and_judge::<T, S>(&plan, &a, Op::Plain, &rhs, "as it is");
            let y = solve_and_judge::<T, S>(&plan, &b, Op::Plain, &scale(&rhs), "scaled");
            assert_same_bits(&x, &y, &format!("n = {n}, periodic {periodic}"));
        }
    }
}

/// Entries near the limits of the type, 1e±300 (single precision: 1e±30), in all rows or in alternate rows.
pub fn check_extremes<T: Scalar, S: Suite<T>>(configure: Configure) {
    let limit = if T::Real::MAX.to_f64() > 1e100 { 1e300 } else { 1e30 };
    for n in [1, 3, 33, 200] {
        for periodic in [false, true] {
            for (even, odd) in [(limit, limit), (1.0 / limit, 1.0 / limit), (limit, 1.0 / limit), (1.0, limit)] {
                for easy in [true, false] {
                    let [mut sub, mut diag, mut sup] = arrays(&matrix::<T, S>(n, periodic, easy));
                    for i in 0..n {
                        let by = T::Real::from_f64(if i % 2 == 0 { even } else { odd });
                        (sub[i], diag[i], sup[i]) = (sub[i].scale(by), diag[i].scale(by), sup[i].scale(by));
                    }
                    let a = tridiagonal(sub, diag, sup, periodic);
                    let rhs = product(&a, &random_true(n));
                    let what =
                        format!("n = {n}, periodic {periodic}, dominant {easy}, rows times {even:e} and {odd:e}");
                    solve_and_judge::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &rhs, &what);
                }
            }
            // Answers around the smallest normal number and far below, as of a field that decays.
            for (easy, below) in [true, false].into_iter().flat_map(|easy| [0, 6, 12, 18].map(|below| (easy, below))) {
                let a = matrix::<T, S>(n, periodic, easy);
                let by = T::Real::MIN_POSITIVE * T::Real::from_f64(libm::scalbn(1.0, -below));
                let rhs: Vec<T> = right_hand_sides(&a, 1).into_iter().map(|v| v.scale(by)).collect();
                let what =
                    format!("n = {n}, periodic {periodic}, dominant {easy}, 2^-{below} of the smallest normal number");
                solve_and_judge::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &rhs, &what);
            }
        }
    }
}

/// ⟨A⁻¹b, c⟩ = ⟨b, A⁻ᴴc⟩.
///
/// With residuals r of x and s of y, ⟨x, c⟩ − ⟨b, y⟩ = ⟨x, s⟩ − ⟨r, y⟩ exactly, and the contract bounds r and s: no
/// condition number is needed.
pub fn check_adjoint<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 3, 33, 100, 1000] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, false);
            let plan = configure(Plan::new(a.shape()));
            let mut random = Random::new(12);
            let (b, c) = (random_vec::<T>(n, &mut random), random_vec::<T>(n, &mut random));
            let x = solve_and_judge::<T, S>(&plan, &a, Op::Plain, &b, "A");
            let y = solve_and_judge::<T, S>(&plan, &a, Op::ConjTranspose, &c, "adjoint");
            let gap = (inner(&x, &c) - inner(&b, &y)).abs();
            let bound = residual_product(&a, &x, &b, &y) + residual_product(&transpose(&a, true), &y, &c, &x);
            assert!(gap <= bound, "n = {n}, periodic {periodic}: {gap:e} > {bound:e}");
        }
    }
}

/// Σ conj(xᵢ)·yᵢ in double-double.
fn inner<T: Scalar>(x: &[T], y: &[T]) -> DoubleComplex {
    let wide = |v: T| DoubleComplex::from_parts(v.re().to_f64(), v.im().to_f64());
    x.iter().zip(y).fold(DoubleComplex::ZERO, |sum, (x, y)| sum + wide(Scalar::conj(*x)) * wide(*y))
}

/// Σ |rᵢ||yᵢ| for the largest residual r of A·x = b that the contract allows.
fn residual_product<T: Scalar>(a: &Tridiagonal<'_, T>, x: &[T], b: &[T], y: &[T]) -> f64 {
    let size = |v: T| Scalar::abs(v).to_f64();
    let x_norm = x.iter().fold(0.0, |m: f64, v| m.max(size(*v)));
    let row = |i: usize| {
        let (l, d, u) = a.row(i);
        (size(l) + size(d) + size(u)) * x_norm + size(b[i])
    };
    let sum: f64 = (0..x.len()).map(|i| row(i) * size(y[i])).sum();
    sum * (TOLERABLE * epsilon::<T>() + rounding::<T>(3))
}

/// The solution of A·x = A·xₜ is xₜ, up to the error that the condition number allows.
pub fn check_recovery<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [1, 2, 5, 33, 64, 200] {
        for (periodic, easy) in [(false, false), (false, true), (true, false), (true, true)] {
            let a = matrix::<T, S>(n, periodic, easy);
            let x_true = random_true::<T>(n);
            let rhs = product(&a, &x_true);
            let what = format!("n = {n}, periodic {periodic}, dominant {easy}");
            let (x, report) = solve::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &rhs).unwrap();
            let eta = judge(&a, &rhs, &x, &report, &what);
            // rhs is rounded by ε/2 (√2 times that for complex numbers): one more backward error of that size.
            judge_forward(&a, &x, &x_true, eta + epsilon::<T>(), &what);
        }
    }
}

/// Without verification, the report has no backward error, and dominant systems are still solved accurately.
pub fn check_unverified<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [0, 1, 2, 3, 33, 100, 1000] {
        for periodic in [false, true] {
            let a = matrix::<T, S>(n, periodic, true);
            let rhs = right_hand_sides(&a, 1);
            let plan = configure(Plan::new(a.shape())).verify(false);
            let (x, report) = solve::<T, S>(&plan, &a, Op::Plain, &rhs).unwrap();
            assert!(report.backward_error.is_nan() && report.backward_errors.is_empty());
            assert!(report.refinement_steps == 0 && !report.fallback);
            if report.method == Method::SpikeTruncated {
                continue; // Leaves out couplings, whatever their size.
            }
            // |L||U| ≤ 3|A| for dominant tridiagonal matrices and about 4ε of rounding a row (Higham, Accuracy and
            // Stability, theorems 9.12 and 9.14), a few times over for nested eliminations: well within 64ε.
            let eta = backward_error(&a, &rhs, &x);
            assert!(eta <= TOLERABLE * epsilon::<T>(), "n = {n}, periodic {periodic}: {eta:e}");
        }
    }
}

/// Every instruction set that this machine has, and every choice of pivoting where it is permitted.
pub fn check_options<T: Scalar, S: Suite<T>>(configure: Configure) {
    for n in [3, 33, 100, 1000] {
        for periodic in [false, true] {
            for easy in [true, false] {
                let a = matrix::<T, S>(n, periodic, easy);
                let rhs = right_hand_sides(&a, 3);
                for simd in Simd::ALL.iter().copied().filter(|s| s.is_available()) {
                    let plan = configure(Plan::new(a.shape())).simd(simd);
                    solve_and_judge::<T, S>(&plan, &a, Op::Plain, &rhs, simd.name());
                }
                for pivoting in Pivoting::ALL {
                    // Without pivoting a random matrix still has to be repaired by the fallback.
                    let plan = configure(Plan::new(a.shape())).pivoting(pivoting);
                    solve_and_judge::<T, S>(&plan, &a, Op::Plain, &rhs, pivoting.name());
                }
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Banded systems

const BANDS: [(usize, usize); 10] = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (3, 0), (1, 6), (5, 2), (8, 8), (40, 33)];

fn random_banded<T: Scalar>(n: usize, lower: usize, upper: usize) -> Banded<'static, T> {
    let mut random = Random::new((n * 100 + lower * 10 + upper) as u64);
    Banded::from_vec(n, lower, upper, random_vec(n * (lower + upper + 1), &mut random))
        .expect("n columns of lower + upper + 1 entries are a banded matrix")
}

/// Hermitian and dominant, as many diagonals below and above as there is room for on both sides.
fn definite_banded<T: Scalar>(n: usize, lower: usize, upper: usize) -> Banded<'static, T> {
    let (mut random, leading, width) =
        (Random::new((n * 100 + lower * 10 + upper) as u64), lower + upper + 1, lower.min(upper));
    let mut bands = vec![T::ZERO; n * leading];
    for j in 0..n {
        bands[upper + j * leading] = T::from_real(T::Real::from_f64(2.9 * width as f64 + 0.5));
        for (k, v) in random_vec::<T>(width.min(n - 1 - j), &mut random).into_iter().enumerate() {
            bands[upper + k + 1 + j * leading] = v;
            bands[upper - (k + 1) + (j + k + 1) * leading] = Scalar::conj(v);
        }
    }
    Banded::from_vec(n, lower, upper, bands).expect("n columns of lower + upper + 1 entries are a banded matrix")
}

/// A random banded matrix that the method of the suite can solve.
fn band<T: Scalar, S: Suite<T>>(n: usize, lower: usize, upper: usize) -> Banded<'static, T> {
    if S::DEFINITE { definite_banded(n, lower, upper) } else { random_banded(n, lower, upper) }
}

/// The plan of a suite for a banded matrix; `None` if its method does not solve such bands.
fn plan_banded<T: Scalar>(configure: Configure, a: &Banded<'_, T>) -> Option<Plan> {
    let plan = configure(Plan::new(a.shape()));
    plan.asked_method().solves(a.shape()).then_some(plan)
}

#[track_caller]
fn solve_and_judge_banded<T: Scalar, S: Suite<T>>(
    plan: &Plan,
    a: &Banded<'_, T>,
    op: Op,
    rhs: &[T],
    what: &str,
) -> Vec<T> {
    let (x, report) = solve::<T, S>(plan, a, op, rhs).unwrap_or_else(|e| panic!("{what}: {e}"));
    // The sequential method solves systems with fewer rows than two blocks.
    let (asked, tiny) = (plan.asked_method(), a.n() <= 2 * a.lower().max(a.upper()).max(1));
    assert!(tiny || asked == Method::Auto || report.method == asked, "{what}: {:?} for {asked:?}", report.method);
    match op {
        Op::Plain => judge(a, rhs, &x, &report, what),
        _ => judge(&transpose_banded(a, op == Op::ConjTranspose), rhs, &x, &report, what),
    };
    x
}

/// Matrices that are not Hermitian positive definite result in an error with a row of the matrix.
pub fn check_refused<T: Scalar, S: Suite<T>>(configure: Configure) {
    let refused = |got: Result<Report>, n: usize, what: &str| {
        assert!(matches!(got, Err(Error::NotDefinite { row }) if row < n), "{what}: {got:?}");
    };
    for n in [2, 3, 33, 1000, 5000] {
        for periodic in [false, true] {
            let a = random_matrix::<T>(n, periodic, false);
            let got = solve::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &right_hand_sides(&a, 1));
            refused(got.map(|(_, report)| report), n, &format!("n = {n}, periodic {periodic}"));
        }
    }
    for (n, (lower, upper)) in [(5, (1, 2)), (64, (2, 2)), (101, (5, 2)), (3000, (8, 8))] {
        let a = random_banded::<T>(n, lower, upper);
        let got = solve::<T, S>(&configure(Plan::new(a.shape())), &a, Op::Plain, &right_hand_sides(&a, 1));
        refused(got.map(|(_, report)| report), n, &format!("n = {n}, bands {lower} and {upper}"));
    }
}

/// Every size and bandwidth, including triangular bands and bands wider than the matrix, with all three operations.
pub fn check_banded_sizes<T: Scalar, S: Suite<T>>(configure: Configure) {
    let mut solved = 0;
    for n in [0, 1, 2, 3, 7, 16, 33, 64, 65, 101, 300] {
        for (lower, upper) in BANDS {
            // Random triangular matrices have condition numbers that grow like 2ⁿ: x overflows single precision.
            if (lower == 0 || upper == 0) && n > 33 {
                continue;
            }
            let a = band::<T, S>(n, lower, upper);
            let Some(plan) = plan_banded(configure, &a) else { continue };
            for op in OPS {
                for n_rhs in [1, 3] {
                    let what = format!("{op:?}, n = {n}, bands {lower} and {upper}, {n_rhs} right-hand sides");
                    solve_and_judge_banded::<T, S>(&plan, &a, op, &right_hand_sides(&a, n_rhs), &what);
                    solved += 1;
                }
            }
        }
    }
    assert!(solved > 400, "{solved} systems");
}

/// Sizes at which a plan that may choose divides the band, or works on lanes: with 1 and 2 threads the same bits. As many
/// diagonals above as below, since condition numbers grow exponentially with n otherwise.
pub fn check_banded_long<T: Scalar, S: Suite<T>>(configure: Configure) {
    let mut solved = 0;
    for (n, (lower, upper)) in [(700, (1, 1)), (4500, (2, 2)), (2003, (8, 8)), (3500, (20, 20))] {
        let a = band::<T, S>(n, lower, upper);
        let Some(plan) = plan_banded(configure, &a) else { continue };
        let rhs = right_hand_sides(&a, 3);
        for op in [Op::Plain, Op::ConjTranspose] {
            let what = format!("{op:?}, n = {n}, bands {lower} and {upper}");
            let [x, y] = [1, 2]
                .map(|threads| solve_and_judge_banded::<T, S>(&plan.clone().threads(threads), &a, op, &rhs, &what));
            assert_same_bits(&x, &y, &what);
            solved += 1;
        }
    }
    assert!(solved >= 6, "{solved} systems");
}

/// Leading dimension, ignored entries, scratch memory and threads do not change the bits. Rows scaled by 1e±60 do not change the accuracy.
pub fn check_banded_memory<T: Scalar, S: Suite<T>>(configure: Configure) {
    let nan = T::from_real(T::Real::NAN);
    for (n, (lower, upper)) in [(5, (1, 2)), (64, (2, 2)), (101, (5, 2)), (200, (8, 8))] {
        let a = band::<T, S>(n, lower, upper);
        let rhs = right_hand_sides(&a, 3);
        let plan = plan_banded(configure, &a).expect("these widths are solved by every method for bands");
        let expected = solve_and_judge_banded::<T, S>(&plan, &a, Op::Plain, &rhs, "banded");
        let leading = lower + upper + 4;
        let mut bands = vec![nan; n * leading];
        for j in 0..n {
            let (first, column) = a.column(j);
            let start = j * leading + upper + first - j;
            bands[start..start + column.len()].copy_from_slice(column);
        }
        let b = Banded::with_leading(n, lower, upper, leading, &bands).unwrap();
        let x = solve_and_judge_banded::<T, S>(&plan, &b, Op::Plain, &rhs, "leading dimension");
        assert_same_bits(&x, &expected, "leading dimension");
        for threads in [1, 2, 3, 7] {
            let x = solve_and_judge_banded::<T, S>(&plan.clone().threads(threads), &a, Op::Plain, &rhs, "threads");
            assert_same_bits(&x, &expected, &format!("{threads} threads"));
        }
        let factor = a.factor::<S>(&plan).unwrap();
        let mut scratch = vec![0xFFu8; factor.solve_in_place_scratch(3).unaligned_bytes_required()];
        let mut x = rhs.clone();
        factor.solve_in_place_with(Op::Plain, &mut x, PodStack::new(&mut scratch)).unwrap();
        assert_same_bits(&x, &expected, "scratch full of NaN");
        let mut random = Random::new(4);
        let scales = random.uniform_vec(n, -decades::<T>(), decades::<T>());
        // Half as far where columns are scaled, too.
        let power = |i: usize, j: usize| if S::DEFINITE { (scales[i] + scales[j]) / 2.0 } else { scales[i] };
        let scaled = |i: usize, j: usize| a.get(i, j).scale(T::Real::from_f64(libm::pow(10.0, power(i, j))));
        for j in 0..n {
            let (first, column) = a.column(j);
            for i in first..first + column.len() {
                bands[j * leading + upper + i - j] = scaled(i, j);
            }
        }
        let b = Banded::with_leading(n, lower, upper, leading, &bands).unwrap();
        let rhs = product(&b, &random_true(n));
        solve_and_judge_banded::<T, S>(&plan, &b, Op::Plain, &rhs, "rows scaled");
    }
}

/// Non-finite entries, wrong lengths, zero rows and columns.
pub fn check_banded_errors<T: Scalar, S: Suite<T>>(configure: Configure) {
    let nan = T::from_real(T::Real::NAN);
    for (n, (lower, upper)) in [(4, (1, 2)), (50, (2, 2)), (100, (8, 5))] {
        let leading = lower + upper + 1;
        let a = band::<T, S>(n, lower, upper);
        let plan = plan_banded(configure, &a).expect("these widths are solved by every method for bands");
        let build = |zero: &dyn Fn(usize, usize) -> bool| {
            let mut bands = vec![T::ZERO; n * leading];
            for j in 0..n {
                let (first, column) = a.column(j);
                for (k, v) in column.iter().enumerate() {
                    bands[upper + first + k - j + j * leading] = if zero(first + k, j) { T::ZERO } else { *v };
                }
            }
            bands
        };
        let rhs = random_vec::<T>(n, &mut Random::new(1));
        for (i, j) in [(0, 0), (n / 2, n / 2), (n / 2 + 1, n / 2), (n - 1, n - 1), (0, upper)] {
            let mut bands = build(&|_, _| false);
            let index = upper + i - j + j * leading;
            bands[index] = nan;
            let b = Banded::new(n, lower, upper, &bands).unwrap();
            let got = solve::<T, S>(&plan, &b, Op::Plain, &rhs).map(|_| ());
            assert_eq!(got, Err(Error::NotFinite { array: "bands", index }));
        }
        let mut bad = rhs.clone();
        bad[n - 1] = nan;
        let got = solve::<T, S>(&plan, &a, Op::Plain, &bad).map(|_| ());
        assert_eq!(got, Err(Error::NotFinite { array: "rhs", index: n - 1 }));
        assert!(matches!(solve::<T, S>(&plan, &a, Op::Plain, &rhs[1..]), Err(Error::Shape { .. })));
        assert!(matches!(Banded::new(n, lower, upper, &rhs), Err(Error::Shape { .. })));
        for at in [0, n / 2, n - 1] {
            for bands in [build(&|i, _| i == at), build(&|_, j| j == at)] {
                let b = Banded::new(n, lower, upper, &bands).unwrap();
                let got = solve::<T, S>(&plan, &b, Op::Plain, &rhs).map(|(_, report)| report);
                assert!(is_singular::<T, S>(&got, n), "n = {n}, zero row or column {at}: {got:?}");
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Batches

/// Batches of every size, both layouts and all numbers of threads. Each system is checked separately.
pub fn check_batch<T: Scalar, S: Suite<T>>(configure: Configure) {
    check_batches::<T, S>(configure, false);
}

/// The same for batches of periodic systems.
pub fn check_periodic_batch<T: Scalar, S: Suite<T>>(configure: Configure) {
    check_batches::<T, S>(configure, true);
}

fn check_batches<T: Scalar, S: Suite<T>>(configure: Configure, periodic: bool) {
    for n in [0, 1, 2, 3, 8, 33, 100] {
        for count in [0, 1, 2, 3, 7, 8, 17, 65] {
            let systems: Vec<_> = (0..count).map(|s| uniform_system::<T>(n, (s + 1) as u64, periodic)).collect();
            for layout in [Layout::Contiguous, Layout::Interleaved] {
                for op in OPS {
                    check_batch_of::<T, S>(configure, &systems, n, layout, op);
                }
            }
        }
    }
}

fn uniform_system<T: Scalar>(n: usize, seed: u64, periodic: bool) -> Tridiagonal<'static, T> {
    let mut random = Random::new(seed);
    let mut draw = || random_vec(n, &mut random);
    let (sub, diag, sup) = (draw(), draw(), draw());
    tridiagonal(sub, diag, sup, periodic)
}

fn check_batch_of<T: Scalar, S: Suite<T>>(
    configure: Configure,
    systems: &[Tridiagonal<'static, T>],
    n: usize,
    layout: Layout,
    op: Op,
) {
    let count = systems.len();
    let index = |s: usize, i: usize| if layout == Layout::Contiguous { s * n + i } else { i * count + s };
    let periodic = systems.iter().any(Tridiagonal::is_periodic);
    // The ignored ends are NaN.
    let nan = T::from_real(T::Real::NAN);
    let mut bands = [vec![nan; n * count], vec![nan; n * count], vec![nan; n * count]];
    for (s, system) in systems.iter().enumerate() {
        for i in 0..n {
            let (l, d, u) = system.row(i);
            bands[1][index(s, i)] = d;
            if i > 0 || periodic {
                bands[0][index(s, i)] = l;
            }
            if i + 1 < n || periodic {
                bands[2][index(s, i)] = u;
            }
        }
    }
    let [sub, diag, sup] = &bands;
    let batch = TridiagonalBatch::new(count, n, layout, sub, diag, sup).unwrap();
    let batch = if periodic { batch.periodic() } else { batch };
    let rhs = random_vec::<T>(n * count * 2, &mut Random::new(5));
    let what = format!("{op:?}, {count} systems of {n}, {layout:?}, periodic: {periodic}");
    let plan = configure(Plan::new(batch.shape()));
    let (x, report) = solve::<T, S>(&plan, &batch, op, &rhs).unwrap_or_else(|e| panic!("{what}: {e}"));
    let limit = epsilon::<T>() * if report.fallback { TOLERABLE } else { GOOD };
    assert!(n * count == 0 || report.backward_error <= limit, "{what}: {report:?}");
    for (s, system) in systems.iter().enumerate() {
        for k in 0..2 {
            let pick = |v: &[T]| (0..n).map(|i| v[k * n * count + index(s, i)]).collect::<Vec<T>>();
            let eta = backward_error(&applied(op, system), &pick(&rhs), &pick(&x));
            let bound = report.backward_error + rounding::<T>(3);
            assert!(n == 0 || eta <= bound, "{what}, system {s}: true {eta:e}, reported {bound:e}");
        }
    }
    let (y, _) = solve::<T, S>(&plan.threads(3), &batch, op, &rhs).unwrap();
    assert_same_bits(&x, &y, &what);
}

/// Define the checks of one suite as tests. [`conformance!`](crate::conformance) and the similar macros expand to it.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($name:ident, $scalar:ty, $suite:ty, $configure:expr, $($test:ident = $check:ident),* $(,)?) => {
        mod $name {
            // Not every suite names the scalar type itself.
            #[allow(unused_imports)]
            use super::*;
            const CONFIGURE: $crate::conformance::Configure = $configure;
            $(
                #[test]
                fn $test() {
                    $crate::conformance::$check::<$scalar, $suite>(CONFIGURE);
                }
            )*
        }
    };
}

/// Define a module of tests that check one method, in one number type, against the whole contract for tridiagonal systems.
///
/// The last argument turns the default plan into the plan under test: `|plan| plan.method(Method::Rpts)`. An optional argument before it is the
/// implementation, a [`Suite`](crate::conformance::Suite).
#[macro_export]
macro_rules! conformance {
    ($name:ident, $scalar:ty, $configure:expr $(,)?) => {
        $crate::conformance!($name, $scalar, $crate::conformance::Library, $configure);
    };
    ($name:ident, $scalar:ty, $suite:ty, $configure:expr $(,)?) => {
        $crate::conformance_tests! {
            $name, $scalar, $suite, $configure,
            sizes = check_sizes,
            long = check_long,
            operations = check_operations,
            scratch = check_scratch,
            threads = check_threads,
            storage = check_storage,
            not_finite = check_not_finite,
            shapes = check_shapes,
            singular = check_singular,
            tables = check_tables,
            partition_rows = check_partition_rows,
            row_scaling = check_row_scaling,
            scaling_invariance = check_scaling_invariance,
            extremes = check_extremes,
            adjoint = check_adjoint,
            recovery = check_recovery,
            unverified = check_unverified,
            options = check_options,
        }
    };
}

/// The same for a method for Hermitian positive definite matrices only. All test matrices are of this kind.
#[macro_export]
macro_rules! conformance_definite {
    ($name:ident, $scalar:ty, $configure:expr $(,)?) => {
        $crate::conformance_tests! {
            $name, $scalar, $crate::conformance::DefiniteMatrices, $configure,
            refused = check_refused,
            sizes = check_sizes,
            long = check_long,
            operations = check_operations,
            scratch = check_scratch,
            threads = check_threads,
            storage = check_storage,
            not_finite = check_not_finite,
            shapes = check_shapes,
            singular = check_singular,
            adjoint = check_adjoint,
            recovery = check_recovery,
            unverified = check_unverified,
            options = check_options,
        }
    };
}

/// The same for banded systems.
#[macro_export]
macro_rules! conformance_banded {
    ($name:ident, $scalar:ty, $configure:expr $(,)?) => {
        $crate::conformance_banded!($name, $scalar, $crate::conformance::Library, $configure);
    };
    ($name:ident, $scalar:ty, $suite:ty, $configure:expr $(,)?) => {
        $crate::conformance_tests! {
            $name, $scalar, $suite, $configure,
            sizes = check_banded_sizes,
            long = check_banded_long,
            memory = check_banded_memory,
            errors = check_banded_errors,
        }
    };
}

/// The same for batches of tridiagonal systems.
#[macro_export]
macro_rules! conformance_batch {
    ($name:ident, $scalar:ty, $configure:expr $(,)?) => {
        $crate::conformance_batch!($name, $scalar, $crate::conformance::Library, $configure);
    };
    ($name:ident, $scalar:ty, $suite:ty, $configure:expr $(,)?) => {
        $crate::conformance_tests! { $name, $scalar, $suite, $configure, batch = check_batch }
    };
}

/// The same for batches of periodic tridiagonal systems.
#[macro_export]
macro_rules! conformance_periodic_batch {
    ($name:ident, $scalar:ty, $configure:expr $(,)?) => {
        $crate::conformance_tests! {
            $name, $scalar, $crate::conformance::Library, $configure, batch = check_periodic_batch
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandsolve::{Complex32, Complex64};

    // The suites compile for every scalar type; the tests themselves belong to the crate that implements the methods.
    #[allow(dead_code)]
    const COMPILED: [[Check; 2]; 4] = [
        [check_sizes::<f64, Library>, check_tables::<f64, Library>],
        [check_sizes::<f32, Library>, check_tables::<f32, Library>],
        [check_sizes::<Complex64, Library>, check_tables::<Complex64, Library>],
        [check_sizes::<Complex32, Library>, check_tables::<Complex32, Library>],
    ];
    type Check = fn(Configure);

    #[test]
    fn conversion_keeps_moduli_and_zeros() {
        let a = klein()[3].matrix(64, 1);
        let b = convert::<Complex64>(&a).unwrap();
        for i in 0..64 {
            let ((l, d, u), (cl, cd, cu)) = (a.row(i), b.row(i));
            for (v, c) in [(l, cl), (d, cd), (u, cu)] {
                assert!((c.norm() - v.abs()).abs() <= 4.0 * f64::EPSILON * v.abs());
            }
        }
        // 1e-50 is no f32, and no single complex number either.
        assert!(convert::<f32>(&a).is_none() && convert::<Complex32>(&a).is_none());
        assert_eq!(convert::<f64>(&a).unwrap().row(32), a.row(32));
    }

    #[test]
    fn conversion_keeps_the_condition() {
        let a = klein()[0].matrix(64, 1);
        let (real, complex) = (condition_rows(&a), condition_rows(&convert::<Complex64>(&a).unwrap()));
        assert!((complex / real - 1.0).abs() < 1e-10);
    }

    #[test]
    fn right_hand_sides_are_of_every_kind() {
        let a = random_matrix::<f64>(10, true, false);
        let rhs = right_hand_sides(&a, 5);
        assert_eq!(rhs.len(), 50);
        assert_eq!(rhs[20..30].iter().sum::<f64>(), 1.0);
        assert!(rhs[30..40].iter().all(|v| *v == 0.0));
    }

    #[test]
    fn sizes_hold_the_awkward_ones() {
        for n in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 1000, 1009] {
            assert!(sizes().contains(&n), "{n}");
        }
    }

    #[test]
    fn the_reference_passes_its_own_bounds() {
        // Every bound of the suite, met by a solution that is right to the last bit.
        for periodic in [false, true] {
            let a = random_matrix::<Complex32>(60, periodic, false);
            let rhs = right_hand_sides(&a, 1);
            let x = solve_reference(&a, &rhs).unwrap();
            let eta = backward_error(&a, &rhs, &x);
            assert!(eta <= epsilon::<Complex32>());
            judge_forward(&a, &x, &x, eta, "itself");
        }
    }
}
