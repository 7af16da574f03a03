//! Errors, which name the place of the problem.

use core::fmt;
use std::borrow::Cow;

/// The reason why a call failed.
///
/// Variants name the array, row or index of the problem, and the expected and the passed length. After `Singular` and `NotConverged`, the
/// array of the caller holds the best x that the solver found.
///
/// # Examples
/// ```
/// use bandsolve::{Error, Tridiagonal};
/// let solved = Tridiagonal::new(&[1.0], &[1.0, 1.0], &[1.0])?.solve(&[1.0, f64::NAN]);
/// assert_eq!(solved.unwrap_err(), Error::NotFinite { array: "rhs", index: 1 });
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Error {
    /// An array has the wrong length.
    Shape {
        /// Name of the array or size.
        what: &'static str,
        /// The length that fits the rest of the system.
        expected: usize,
        /// The length that was passed.
        got: usize,
    },
    /// An array cannot be borrowed, because its entries have another order in memory.
    Layout {
        /// Name of the array.
        array: &'static str,
        /// The required order in memory.
        expected: &'static str,
    },
    /// An argument has a value that the call does not accept.
    InvalidArgument {
        /// Name of the argument.
        argument: Cow<'static, str>,
        /// What is wrong with it, as the end of a sentence: `is negative`.
        problem: Cow<'static, str>,
        /// What the call accepts: `a number of at least 0`.
        expected: Cow<'static, str>,
    },
    /// An input array holds a NaN or an infinity.
    NotFinite {
        /// Name of the array: `sub`, `diag`, `sup`, `bands`, `rhs` or `values`.
        array: &'static str,
        /// Index into that array as the caller passed it.
        index: usize,
    },
    /// An index array of a sparse matrix is invalid.
    Structure {
        /// Name of the array: `column_pointers` or `row_indices`. `x.column_pointers` are the column pointers of results on a GPU.
        array: &'static str,
        /// The first invalid position.
        index: usize,
    },
    /// The matrix is singular: elimination found no pivot in this row.
    Singular {
        /// First row (counted from 0) in which elimination found only zeros.
        row: usize,
    },
    /// The matrix is not Hermitian positive definite, but the method requires it.
    NotDefinite {
        /// First row (counted from 0) in which the matrix is not Hermitian. If it is Hermitian, the row of the first leading minor that
        /// is not positive.
        row: usize,
    },
    /// x is not accurate enough, even after refinement and the sequential pivoted solve. An iteration did not reach its tolerance.
    NotConverged {
        /// Row-wise backward error of the x in the caller's array, NaN if x is not finite. After an iteration, the relative residual.
        backward_error: f64,
        /// Total number of refinement or iteration steps.
        refinement_steps: usize,
    },
    /// The problem is singular, and the right-hand side is too far from one for which a solution exists.
    Incompatible {
        /// The number that must be subtracted from each entry of the right-hand side for a solution to exist.
        removed: f64,
        /// The largest modulus of this number that the caller accepts.
        allowed: f64,
    },
    /// The solver failed for some right-hand sides, and solved for all others.
    Columns {
        /// The error of the first failed right-hand side.
        first: Box<Error>,
        /// Every failed right-hand side, counted from 0.
        columns: Vec<usize>,
    },
    /// The method cannot be used for this kind of system.
    Unsupported {
        /// The requested method.
        method: &'static str,
        /// The kind of system, or the option, that the method does not support.
        what: &'static str,
    },
    /// The scratch memory is too small.
    Scratch {
        /// Bytes that the `…_scratch` function returns.
        expected: usize,
        /// Bytes in the stack that the caller passed.
        got: usize,
    },
    /// No usable GPU was found.
    NoDevice {
        /// The reason.
        reason: String,
    },
    /// A call of a GPU's driver failed.
    Device {
        /// The call that failed.
        call: &'static str,
        /// The message of the driver.
        message: String,
    },
    /// The operating system could not provide the memory that the call needs.
    OutOfMemory {
        /// Size of the failed allocation.
        bytes: usize,
    },
    /// The caller stopped the call, see [`interrupt`](crate::interrupt).
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { what, expected, got } => write!(f, "{what} has length {got}, expected {expected}"),
            Self::Layout { array, expected } => {
                write!(
                    f,
                    "{array} cannot be used without a copy: expected {expected}. Copy the entries to such an array first"
                )
            }
            Self::InvalidArgument { argument, problem, expected } => {
                write!(f, "{argument} {problem}, expected {expected}")
            }
            Self::NotFinite { array, index } => write!(f, "{array}[{index}] is not finite"),
            Self::Structure { array, index } => write!(
                f,
                "{array}[{index}] is no valid index: pointers must start with 0, never decrease and end with the number of \
                 entries; row indices must be at least 0 and less than the number of rows"
            ),
            Self::Singular { row } => write!(f, "the matrix is singular: no pivot in row {row}"),
            Self::NotDefinite { row } => {
                write!(f, "the matrix is not Hermitian positive definite: first seen in row {row}")
            }
            Self::NotConverged { backward_error, refinement_steps } if backward_error.is_nan() => write!(
                f,
                "no accurate answer: no backward error after {refinement_steps} steps of refinement or iteration, because x or its \
                 residual is not finite. The solution may exceed the largest number of the type: scale the right-hand side, or use \
                 double precision. Otherwise the matrix may be singular to working precision: check its condition"
            ),
            Self::NotConverged { backward_error, refinement_steps } => write!(
                f,
                "no accurate answer: backward error {backward_error:.1e} after {refinement_steps} steps of refinement or iteration. \
                 The matrix may be singular to working precision: check its condition. Or its entries may leave the range of the \
                 type: scale them"
            ),
            Self::Incompatible { removed, allowed } => write!(
                f,
                "the problem is singular and has no solution unless {removed:.3e} is subtracted from the right-hand side, \
                 more than {allowed:.3e}: boundary values and right-hand side do not balance"
            ),
            Self::Columns { first, columns } => {
                write!(f, "{first} (right-hand side {}{})", columns[0], others(columns))
            }
            Self::Unsupported { method, what } => write!(f, "method {method} does not solve {what}"),
            Self::Scratch { expected, got } => {
                write!(f, "the scratch memory has {got} bytes, expected {expected} or more")
            }
            Self::NoDevice { reason } => write!(f, "no GPU: {reason}"),
            Self::Device { call, message } => write!(f, "{call} failed on the GPU: {message}"),
            Self::OutOfMemory { bytes } => {
                write!(f, "out of memory: the operating system could not provide {bytes} bytes")
            }
            Self::Interrupted => {
                f.write_str("interrupted: the caller stopped the call before it ended; its results are not valid")
            }
        }
    }
}

impl core::error::Error for Error {}

/// The failed columns after the first, in words.
fn others(columns: &[usize]) -> String {
    const NAMED: usize = 8;
    let named: Vec<String> = columns.iter().skip(1).take(NAMED).map(usize::to_string).collect();
    match columns.len() {
        0 | 1 => String::new(),
        n if n <= NAMED + 1 => format!("; also {}", named.join(", ")),
        n => format!("; also {} and {} more", named.join(", "), n - 1 - NAMED),
    }
}

impl Error {
    /// The error for an argument that `problem`, where the call accepts `expected`.
    ///
    /// # Examples
    /// ```
    /// let error = bandsolve::Error::invalid("tol", format!("is {}", -1.0), "a number of at least 0");
    /// assert_eq!(error.to_string(), "tol is -1, expected a number of at least 0");
    /// ```
    pub fn invalid(
        argument: impl Into<Cow<'static, str>>,
        problem: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into(), expected: expected.into() }
    }

    /// The error of the first failed right-hand side for [`Columns`](Self::Columns), otherwise the error itself.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Columns { first, .. } => first.cause(),
            _ => self,
        }
    }

    /// The same error, with `of` applied to the row that it names.
    #[doc(hidden)]
    pub fn with_row(self, of: impl FnOnce(usize) -> usize) -> Self {
        match self {
            Error::Singular { row } => Error::Singular { row: of(row) },
            Error::NotDefinite { row } => Error::NotDefinite { row: of(row) },
            other => other,
        }
    }
}

/// Shorthand for results of this crate.
///
/// # Examples
/// ```
/// fn first(values: &[f64]) -> bandsolve::Result<f64> {
///     values.first().copied().ok_or(bandsolve::Error::Shape { what: "values", expected: 1, got: 0 })
/// }
/// assert_eq!(first(&[2.0]), Ok(2.0));
/// ```
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// `Err(Shape)` unless `got == expected`.
pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// The first error and all failed right-hand sides of a solve.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    first: Option<Error>,
    columns: Vec<usize>,
}

impl Failures {
    /// Record that a column failed.
    pub fn note(&mut self, column: usize, error: Error) {
        self.first.get_or_insert(error);
        self.columns.push(column);
    }

    /// Whether the first error alone identifies the failed ones of `n_rhs` right-hand sides.
    fn are_named_by(&self, first: &Error, n_rhs: usize) -> bool {
        match first {
            Error::NotConverged { .. } => n_rhs == 1,
            Error::NotFinite { array: "rhs", .. } => self.columns.len() == 1,
            _ => true,
        }
    }

    /// Return `value` if no column failed. Errors of the matrix, and errors that identify the failed right-hand side, are returned as they
    /// are; others as [`Error::Columns`].
    pub fn unless<V>(mut self, value: V, n_rhs: usize) -> Result<V> {
        match self.first.take() {
            None => Ok(value),
            Some(first) => Err(if self.are_named_by(&first, n_rhs) {
                first
            } else {
                Error::Columns { first: Box::new(first), columns: self.columns }
            }),
        }
    }
}
