//! What can go wrong, with the place where it did.

use core::fmt;

/// Why a system was not solved.
///
/// Every variant says where (array, row, index) and what (expected, got). After `Singular` and `NotConverged` the
/// best x found stands in the caller's array.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Error {
    /// An array has the wrong length.
    Shape {
        /// Which array or size.
        what: &'static str,
        /// The length that fits the rest of the system.
        expected: usize,
        /// The length that was given.
        got: usize,
    },
    /// The entries of an array do not lie in memory as they would have to, to be borrowed.
    Layout {
        /// Which array.
        array: &'static str,
        /// How they would have to lie.
        expected: &'static str,
    },
    /// An input array holds a NaN or an infinity.
    NotFinite {
        /// Name of the array: `sub`, `diag`, `sup`, `bands`, `rhs` or `values`.
        array: &'static str,
        /// Index into that array as the caller passed it.
        index: usize,
    },
    /// An index array of a sparse matrix makes no sense.
    Structure {
        /// Name of the array: `column_pointers` or `row_indices`; `x.column_pointers` those of results on a device.
        array: &'static str,
        /// The first place that is wrong.
        index: usize,
    },
    /// No pivot was left in this row: the matrix is singular.
    Singular {
        /// First row (counted from 0) in which elimination found only zeros.
        row: usize,
    },
    /// The matrix was to be Hermitian positive definite, and is not.
    NotDefinite {
        /// First row (counted from 0) in which the matrix is not Hermitian, or else that of the first leading minor that is not
        /// positive.
        row: usize,
    },
    /// Neither refinement nor the sequential pivoted solve reached the accuracy contract; of a solve by iteration, its tolerance.
    NotConverged {
        /// Row-wise backward error of the x that stands in the caller's array (NaN where x is not finite); of a solve by iteration, the
        /// relative residual.
        backward_error: f64,
        /// Steps of refinement or iteration taken in all.
        refinement_steps: usize,
    },
    /// The problem is singular, and the right-hand side is too far from those that have a solution.
    Incompatible {
        /// What would have to be subtracted from every entry of the right-hand side.
        removed: f64,
        /// What may be, in size.
        allowed: f64,
    },
    /// Some of several right-hand sides were not solved; all others were.
    Columns {
        /// What went wrong with the first of them.
        first: Box<Error>,
        /// All of them, counted from 0.
        columns: Vec<usize>,
    },
    /// The method cannot be used for this kind of system.
    Unsupported {
        /// The method asked for.
        method: &'static str,
        /// The kind of system or option that it cannot take.
        what: &'static str,
    },
    /// The scratch memory handed in is too small.
    Scratch {
        /// Bytes asked for by the `…_scratch` function.
        expected: usize,
        /// Bytes in the stack that was handed in.
        got: usize,
    },
    /// There is no GPU that could be used.
    NoDevice {
        /// Why not.
        reason: String,
    },
    /// A call of a GPU's driver failed.
    Device {
        /// What was being done.
        call: &'static str,
        /// What the driver says.
        message: String,
    },
    /// Memory for the factors could not be had.
    OutOfMemory {
        /// Size of the failed allocation.
        bytes: usize,
    },
    /// The caller wanted the call to stop, see [`interrupt`](crate::interrupt).
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { what, expected, got } => write!(f, "{what} has length {got}, expected {expected}"),
            Self::Layout { array, expected } => {
                write!(f, "{array} cannot be borrowed as it lies in memory, expected {expected}")
            }
            Self::NotFinite { array, index } => write!(f, "{array}[{index}] is not finite"),
            Self::Structure { array, index } => write!(
                f,
                "{array}[{index}] is no valid index: pointers begin with 0, never decrease and end with the number of entries, \
                 rows lie inside the matrix"
            ),
            Self::Singular { row } => write!(f, "the matrix is singular: no pivot in row {row}"),
            Self::NotDefinite { row } => {
                write!(f, "the matrix is not Hermitian positive definite: first seen in row {row}")
            }
            Self::NotConverged { backward_error, refinement_steps } => write!(
                f,
                "no accurate answer: backward error {backward_error:.1e} after {refinement_steps} steps of refinement or iteration; \
                 the matrix may be singular to working precision, or its entries may leave the range of the type"
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
            Self::Scratch { expected, got } => write!(f, "scratch of {got} bytes is too small, {expected} are needed"),
            Self::NoDevice { reason } => write!(f, "no GPU: {reason}"),
            Self::Device { call, message } => write!(f, "{call} failed on the GPU: {message}"),
            Self::OutOfMemory { bytes } => write!(f, "out of memory: {bytes} bytes could not be allocated"),
            Self::Interrupted => {
                f.write_str("interrupted: the caller stopped the call before it ended; its results are not valid")
            }
        }
    }
}

impl core::error::Error for Error {}

/// The columns after the first, in words.
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
    /// What went wrong, whichever right-hand side it was: the first error of [`Columns`](Self::Columns), else the error itself.
    pub fn cause(&self) -> &Error {
        match self {
            Error::Columns { first, .. } => first.cause(),
            _ => self,
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// `Err(Shape)` unless `got == expected`.
pub(crate) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if got == expected { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// What went wrong with some of several right-hand sides, while the others are solved.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    first: Option<Error>,
    columns: Vec<usize>,
}

impl Failures {
    /// Notes that a column was not solved.
    pub fn note(&mut self, column: usize, error: Error) {
        self.first.get_or_insert(error);
        self.columns.push(column);
    }

    /// Whether the first error says which of `n_rhs` right-hand sides are bad.
    fn are_named_by(&self, first: &Error, n_rhs: usize) -> bool {
        match first {
            Error::NotConverged { .. } => n_rhs == 1,
            Error::NotFinite { array: "rhs", .. } => self.columns.len() == 1,
            _ => true,
        }
    }

    /// `value` if nothing was noted. What is wrong with the matrix is said as it is, as is an error that names the only bad one of
    /// `n_rhs` right-hand sides by itself.
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
