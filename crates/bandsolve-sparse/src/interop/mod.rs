//! Sparse matrices of other libraries as ours and back, and our operators in their methods.
//!
//! What a feature of this crate brings, each off by default:
//!
//! | feature | matrices | fit as they are |
//! | --- | --- | --- |
//! | `faer` | `SparseRowMatRef`, `SparseColMatRef` | rows without gaps; columns as rows of the transpose |
//! | `sprs` | `CsMatViewI` by rows or columns | rows; columns as rows of the transpose; of a slice of rows the pointers are copied |
//!
//! What fits is borrowed; what does not is copied once: columns into rows, rows with gaps into rows without. Indices may be of any type
//! that both libraries have. The feature `faer` also brings `faer::FaerOperator`: what we can apply as an operator or
//! preconditioner of faer's iterative methods.

#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "sprs")]
pub mod sprs;

#[cfg(any(feature = "faer", feature = "sprs"))]
use crate::csr::Csr;
#[cfg(any(feature = "faer", feature = "sprs"))]
use bandsolve::{Error, Result, matrix::Index};

/// `Err(Layout)` unless columns rise in every row, each once, as other libraries expect it.
#[cfg(any(feature = "faer", feature = "sprs"))]
fn check_rising<T: Copy, I: Index>(a: &Csr<'_, T, I>) -> Result<()> {
    match (0..a.rows()).all(|i| a.row(i).is_sorted_by(|left, right| left.0 < right.0)) {
        true => Ok(()),
        false => Err(Error::Layout { array: "column_indices", expected: "rising columns in every row, each once" }),
    }
}

#[cfg(all(test, feature = "faer", feature = "sprs"))]
mod tests;
