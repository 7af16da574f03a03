//! Random small systems, special values included; what the oracle knows of them, and which errors it expects.

#![allow(dead_code)]

use bandsolve::prelude::*;
use bandsolve_gallery::oracle::{self, MatrixRows};
use bandsolve_testkit::dense;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::cell::Cell;
use std::fmt::Debug;

/// Below this row-wise condition number a matrix has to be solved. Elimination with scaled partial pivoting is exact for a
/// matrix that differs by some ten ε of each row from the given one, so that no pivot vanishes below 1/(10ε) = 4e14.
const REGULAR: f64 = 1e12;
/// Elimination may pass through the condition number times x, which has to stay below this.
const IN_RANGE: f64 = 1e300;
/// What double-double arithmetic may leave of a pivot that is zero: 1e-32 times the size and the growth.
const ZERO: f64 = 1e-27;
/// What double precision may take for zero: some ten ε, times the size and the growth.
const NOISE: f64 = 1e-10;

// ---------------------------------------------------------------------------------------------------------------------
// What is drawn

/// Ordinary numbers mostly, and some zeros.
fn ordinary() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![24 => -1.0..1.0f64, 1 => Just(0.0)]
}

/// Now and then an extreme one, or one below the normal range.
fn extreme() -> impl Strategy<Value = f64> + Clone {
    prop_oneof![
        80 => ordinary(),
        2 => (-300i32..300).prop_map(|e| 10f64.powi(e)),
        1 => (-300i32..300).prop_map(|e| -(10f64.powi(e))),
        1 => prop_oneof![Just(f64::MIN_POSITIVE / 8.0), Just(f64::MAX)],
    ]
}

/// `width` entries of a row and its right-hand side: ordinary, all of one extreme size, or some of them extreme.
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

/// A system with `width` diagonals, of which the last is the right-hand side.
#[derive(Debug, Clone)]
pub struct Drawn {
    pub rows: Vec<Vec<f64>>,
    /// Places (row, column of `rows`) that hold a NaN or an infinity; mostly none.
    pub spoiled: Vec<(usize, usize)>,
}

/// One of twelve is spoiled, one of ten may have extreme entries.
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

/// Places that count: not the ends of the off-diagonals of open systems.
pub fn counts(n: usize, periodic: bool, (i, k): (usize, usize)) -> bool {
    periodic || !((k == 0 && i == 0) || (k == 2 && i + 1 == n))
}

impl Drawn {
    /// The matrix of three columns, the right-hand side, and what is true of them. Open where n < 3: there, corners add up
    /// with other entries, and the sum is rounded before anything is solved.
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
// What is true

/// What the oracle knows of a system.
#[derive(Debug)]
pub enum Truth {
    /// Entries that are no numbers: array and index.
    NotFinite(Vec<(&'static str, usize)>),
    /// To be solved.
    Regular,
    /// No pivot is left.
    Singular,
    /// x, or what comes before it, leaves the range of numbers.
    OutOfRange,
    /// Nearly singular: it depends on rounding whether there is an answer.
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

/// How many solves there were, how many gave an answer, and of how many errors the oracle does not know whether they are right:
/// the matrix is nearly singular, or numbers come near the limits.
#[derive(Default)]
pub struct Tally {
    pub all: Cell<u32>,
    pub answered: Cell<u32>,
    vacuous: Cell<u32>,
}

impl Tally {
    /// An error of one of these systems.
    pub fn refused<'a>(&self, truths: impl IntoIterator<Item = &'a Truth>) {
        if !truths.into_iter().any(|truth| matches!(truth, Truth::NotFinite(_) | Truth::Singular)) {
            count(&self.vacuous);
        }
    }
}

pub fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

/// Whether `error` may come of a system, in whose matrix `a` the error's row counts.
pub fn check_error(error: &Error, truth: &Truth, a: &impl MatrixRows<f64>) -> TestCaseResult {
    let refused = !matches!(truth, Truth::Regular | Truth::NotFinite(_));
    match error {
        Error::NotFinite { array, index } => {
            let named = matches!(truth, Truth::NotFinite(bad) if bad.contains(&(array, *index)));
            prop_assert!(named, "{error} where {truth:?}");
        }
        Error::Singular { row } => {
            // Columns 0 … row depend on each other.
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

/// Runs a check over what is drawn. Most solves give an answer, and at most one of twenty says nothing.
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
