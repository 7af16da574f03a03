//! Conversions from and to the sparse matrices of other libraries.
//!
//! Each library has a feature of this crate, which is off by default:
//!
//! | feature | matrices | borrowed without a copy |
//! | --- | --- | --- |
//! | `faer` | `SparseRowMatRef`, `SparseColMatRef` | CSR without gaps between rows; CSC as the CSR of the transpose |
//! | `sprs` | `CsMatViewI`, CSR or CSC | CSR (for a slice of rows, only the row pointers are copied); CSC as the CSR of the transpose |
//!
//! All other matrices are copied once: CSC to CSR, and rows with gaps to rows without. The indices may have any type that both libraries support.
//! The feature `faer` also has `faer::FaerOperator`, which passes an operator or preconditioner of bandsolve to the iterative methods of `faer`.

#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "sprs")]
pub mod sprs;

#[cfg(any(feature = "faer", feature = "sprs"))]
use crate::csr::Csr;
#[cfg(any(feature = "faer", feature = "sprs"))]
use bandsolve::{Error, Result, matrix::Index};

/// Check that the columns strictly ascend in every row, as other libraries require.
///
/// # Errors
/// [`Error::Layout`] if they do not.
#[cfg(any(feature = "faer", feature = "sprs"))]
fn check_rising<T: Copy, I: Index>(a: &Csr<'_, T, I>) -> Result<()> {
    match (0..a.rows()).all(|i| a.row(i).is_sorted_by(|left, right| left.0 < right.0)) {
        true => Ok(()),
        false => Err(Error::Layout { array: "column_indices", expected: "strictly ascending columns in every row" }),
    }
}

#[cfg(all(test, feature = "faer", feature = "sprs"))]
mod tests;
