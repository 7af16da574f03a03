//! The matrices of LAPACK's routines, and errors with the arrays and indices of the caller.

use crate::memory::elements;
use crate::status::{CallFailure, CallResult};
use bandsolve::{ColumnStrides, Error};

/// The matrices of the routines, with the storage in the memory of the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LapackRoutine {
    Gt,
    Cgt,
    Bgt,
    Gb(BandStorage),
    Pt,
    Pb(BandStorage),
    Batch { strides: ColumnStrides, shared: bool },
    BandBatch { strides: ColumnStrides, definite: bool },
    BlockBatch { strides: ColumnStrides },
}

use LapackRoutine::*;

/// LAPACK's band storage: A(i, j) is at `diagonal + i − j + j·leading`, of a whole band or of one triangle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BandStorage {
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    pub diagonal: usize,
    pub leading: usize,
}

impl BandStorage {
    /// The index of A(i, j), which is inside the band.
    pub fn index(&self, i: usize, j: usize) -> usize {
        self.diagonal + i + j * self.leading - j
    }

    /// The number of entries that the array of the caller must have.
    pub fn len<T>(&self, rows: usize) -> CallResult<usize> {
        match self.n {
            0 => Ok(0),
            n => elements::<T>("ab", &[n - 1, self.leading])?
                .checked_add(rows)
                .ok_or_else(|| CallFailure::argument("ab would exceed the address space".into())),
        }
    }
}

impl LapackRoutine {
    /// The routine that factors, without the letter of the number type.
    pub fn name(&self) -> &'static str {
        match self {
            Gt => "gttrf",
            Cgt => "cgttrf",
            Bgt => "bgttrf",
            Gb(_) => "gbtrf",
            Pt => "pttrf",
            Pb(_) => "pbtrf",
            Batch { .. } => "gttrf_batch",
            BandBatch { definite: false, .. } => "gbtrf_batch",
            BandBatch { definite: true, .. } => "pbtrf_batch",
            BlockBatch { .. } => "bgttrf_batch",
        }
    }

    /// The place in the caller's array of an entry of `bands`, which has `lower + upper + 1` rows.
    fn band_index(storage: &BandStorage, (lower, upper): (usize, usize), index: usize) -> usize {
        let rows = lower + upper + 1;
        let (j, i) = (index / rows, (index / rows + index % rows).saturating_sub(upper));
        // The other triangle is stored for a Hermitian matrix.
        let inside = i <= j + storage.lower && j <= i + storage.upper;
        if inside { storage.index(i, j) } else { storage.index(j, i) }
    }

    /// Convert an error of the library to a failure with the arrays and indices of C.
    pub fn failure(&self, error: Error, strides: &ColumnStrides) -> CallFailure {
        let Error::NotFinite { array, index } = error else { return error.into() };
        let placed = |at: &ColumnStrides| index % at.rows * at.row + index / at.rows * at.column;
        let (array, index) = match (self, array) {
            (Batch { strides, .. } | BandBatch { strides, .. } | BlockBatch { strides }, "rhs")
            | (Batch { strides, shared: false }, "sub" | "diag" | "sup")
                if !strides.is_empty() =>
            {
                (array, placed(strides))
            }
            (BandBatch { .. }, "bands") => ("ab", index),
            (_, "rhs") if !strides.is_empty() => (array, placed(strides)),
            (Pt, "sub" | "sup") => ("off", index),
            (Gb(storage), "bands") => ("ab", Self::band_index(storage, (storage.lower, storage.upper), index)),
            (Pb(storage), "bands") => {
                let width = storage.lower.max(storage.upper);
                ("ab", Self::band_index(storage, (width, width), index))
            }
            _ => (array, index),
        };
        Error::NotFinite { array, index }.into()
    }

    /// Do the same for an error of a call without right-hand sides.
    pub fn matrix_failure(&self, error: Error) -> CallFailure {
        self.failure(error, &ColumnStrides::column_major(0, 0, 0))
    }
}
