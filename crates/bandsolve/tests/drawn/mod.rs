//! Random small systems, also with special values, and the errors that the oracle expects.

#![allow(dead_code)]

use bandsolve::prelude::*;
use bandsolve_gallery::oracle::{self, MatrixRows};
use bandsolve_testkit::dense;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::cell::Cell;
use std::fmt::Debug;

/// Systems with a row-wise condition number below this limit must be solved.
///
/// Elimination with scaled partial pivoting is exact for a matrix that differs from the given one by some ten ε relative to each row.
/// Therefore no pivot is zero if the condition is below 1/(10ε) = 4e14.
const REGULAR: f64 = 1e12;
/// Largest size of intermediate results, which can be the condition number times x.
const IN_RANGE: f64 = 1e300;
/// Largest value of a zero pivot in double-double arithmetic: 1e-32 times the size and the growth.
const ZERO: f64 = 1e-27;
/// Largest pivot that can be zero in double precision: some ten ε times the size and the growth.
const NOISE: f64 = 1e-10;

// ---------------------------------------------------------------------------------------------------------------------
// Random systems

/// Ordinary numbers and a few zeros.
fn ordinary() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![24 => -1.0..1.0f64, 1 => Just(0.0)]
}

/// Extreme and subnormal numbers among ordinary ones.
fn extreme() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![
        80 => ordinary(),
        2 => (-300i32..300).prop_map(|e| 10f64.powi(e)),
        1 => (-300i32..300).prop_map(|e| -(10f64.powi(e))),
        1 => prop_oneof![Just(f64::MIN_POSITIVE / 8.0), Just(f64::MAX)],
    ]
}

/// `width` entries of a row and its right-hand side. They are ordinary, or all of one extreme size, or some of them are extreme.
fn row(kind: usize, width: usize) -> BoxedStrategy<Vec<f64>> {
    let plain = proptest::collection::vec(ordinary(), width + 1);
    match kind {
        0..12 => plain.boxed(),
        12..18 => {
            (plain, -290i32..290).prop_map(|(row, e)| row.into_iter().map(|v| v * 10f64.powi(e)).collect()).boxed()
        }
        _ => proptest::collection::vec(extreme(), width + 1).boxed(),
    }
}

/// A random system. The last entry of each row is the right-hand side.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub rows: Vec<Vec<f64>>,
    /// Positions (row, column of `rows`) of NaN and infinity, mostly none.
    pub spoiled: Vec<(usize, usize)>,
}

/// Random systems. One of twelve has a NaN or an infinity, and one of ten may have extreme entries.
pub fn drawn(width: usize) -> impl Strategy<Value = Drawn> {
    let bad = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)];
    let place = (0usize..70, 0..width + 1, bad);
    let spoil = prop_oneof![11 => Just(Vec::new()), 1 => proptest::collection::vec(place, 1..3)];
    let rows = (1usize..70, 0usize..20).prop_flat_map(move |(n, kind)| proptest::collection::vec(row(kind, width), n));
    (rows, spoil).prop_map(|(mut rows, spoil)| {
        let n = rows.len();
        let spoiled = spoil.into_iter().map(|(i, k, bad)| {
            rows[i % n][k] = bad;
            (i % n, k)
        });
        let spoiled = spoiled.collect();
        Drawn { rows, spoiled }
    })
}

/// The columns of a tridiagonal system.
pub const ARRAYS: [&str; 4] = ["sub", "diag", "sup", "rhs"];

/// Whether a position belongs to the matrix, unlike the ends of the off-diagonals of open systems.
pub fn counts(n: usize, periodic: bool, (i, k): (usize, usize)) -> bool {
    periodic || !((k == 0 && i == 0) || (k == 2 && i + 1 == n))
}

impl Drawn {
    /// The tridiagonal matrix, the right-hand side, and the truth about them.
    ///
    /// The matrix is open if n < 3, because corner entries would be added to other entries, with rounding.
    pub fn tridiagonal(&self, periodic: bool) -> (Tridiagonal<'static, f64>, Vec<f64>, Truth) {
        let n = self.rows.len();
        let periodic = periodic && n > 2;
        let a = Tridiagonal::from_vecs(self.column(0), self.column(1), self.column(2), periodic).unwrap();
        let rhs = self.column(3);
        let bad = self.spoiled.iter().filter(|place| counts(n, periodic, **place));
        let truth = truth(&a, &rhs, bad.map(|(i, k)| (ARRAYS[*k], *i)).collect());
        (a, rhs, truth)
    }

    pub fn column(&self, k: usize) -> Vec<f64> {
        self.rows.iter().map(|row| row[k]).collect()
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// The truth

/// The knowledge of the oracle about a system.
#[derive(Debug)]
pub enum Truth {
    /// Entries (array, index) that are not finite.
    NotFinite(Vec<(&'static str, usize)>),
    /// The system must be solved.
    Regular,
    /// A pivot is zero.
    Singular,
    /// x or an intermediate result leaves the range of numbers.
    OutOfRange,
    /// The matrix is nearly singular, so rounding determines whether there is a solution.
    Close,
}

pub fn truth(a: &impl MatrixRows<f64>, rhs: &[f64], bad: Vec<(&'static str, usize)>) -> Truth {
    if !bad.is_empty() {
        return Truth::NotFinite(bad);
    }
    let condition = oracle::condition_rows(a);
    let size = oracle::solve_reference(a, rhs).map(|x| x.iter().fold(0.0, |m: f64, v| m.max(v.abs())));
    let in_range = size.is_some_and(|size| condition * size <= IN_RANGE);
    if in_range && condition < REGULAR {
        Truth::Regular
    } else if dense::pivots(a).iter().any(|pivot| *pivot <= ZERO) {
        Truth::Singular
    } else if in_range {
        Truth::Close
    } else {
        Truth::OutOfRange
    }
}

/// The numbers of solves, of solutions, and of errors that the oracle cannot judge, because the matrix is nearly singular or numbers are
/// near the limits.
#[derive(Default)]
pub struct Tally {
    pub all: Cell<u32>,
    pub answered: Cell<u32>,
    vacuous: Cell<u32>,
}

impl Tally {
    /// Count an error of one of these systems.
    pub fn refused<'a>(&self, truths: impl IntoIterator<Item = &'a Truth>) {
        if !truths.into_iter().any(|truth| matches!(truth, Truth::NotFinite(_) | Truth::Singular)) {
            count(&self.vacuous);
        }
    }
}

pub fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

/// Check that a system can have this error. The row of the error refers to the matrix `a`.
pub fn check_error(error: &Error, truth: &Truth, a: &impl MatrixRows<f64>) -> TestCaseResult {
    let refused = !matches!(truth, Truth::Regular | Truth::NotFinite(_));
    match error {
        Error::NotFinite { array, index } => {
            let named = matches!(truth, Truth::NotFinite(bad) if bad.contains(&(array, *index)));
            prop_assert!(named, "{error} where {truth:?}");
        }
        Error::Singular { row } => {
            // Columns 0 … row are linearly dependent.
            let pivots = dense::pivots(a);
            let found = *row < a.n() && pivots.iter().take(row + 1).any(|pivot| *pivot <= NOISE);
            prop_assert!(refused && found, "{error} where {truth:?}, pivots {pivots:?}");
        }
        Error::NotConverged { backward_error, .. } => {
            prop_assert!(refused && !(*backward_error <= 64.0 * f64::EPSILON), "{error} where {truth:?}");
        }
        _ => prop_assert!(false, "{error} where {truth:?}"),
    }
    Ok(())
}

/// Run a check for random systems. Most solves must give a solution, and the oracle must judge at least 19 of 20.
pub fn run<S: Strategy<Value: Debug>>(drawn: S, check: impl Fn(&Tally, S::Value) -> TestCaseResult) {
    let usual = ProptestConfig::default();
    let config = ProptestConfig { failure_persistence: None, cases: usual.cases.max(1000), ..usual };
    let tally = Tally::default();
    let done = TestRunner::new(config).run(&drawn, |value| check(&tally, value));
    done.unwrap_or_else(|failure| panic!("{failure}"));
    let (all, answered, vacuous) = (tally.all.get(), tally.answered.get(), tally.vacuous.get());
    let found = format!("of {all} solves {answered} gave an answer, {vacuous} say nothing");
    println!("{found}");
    assert!(2 * answered > all && 20 * vacuous <= all, "{found}");
}
