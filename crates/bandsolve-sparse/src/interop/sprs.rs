//! Sparse matrices of `sprs`.
//!
//! [`Csr::from_sprs`] and [`Csr::as_sprs`] borrow matrices in CSR format. A matrix `a` in CSC format is copied. `Csr::from_sprs(a.transpose_view())`
//! borrows the transpose of `a` instead, which is `a` itself if `a` is symmetric.
//!
//! ```
//! use bandsolve::Error;
//! use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerKind};
//! use sprs::TriMatI;
//! // −1 4 −1 along the diagonal.
//! let mut entries = TriMatI::<f64, u32>::new((100, 100));
//! (0..100).for_each(|i| entries.add_triplet(i, i, 4.0));
//! (0..99).for_each(|i| entries.add_triplet(i, i + 1, -1.0));
//! (0..99).for_each(|i| entries.add_triplet(i + 1, i, -1.0));
//! let matrix = entries.to_csr::<u32>();
//!
//! let a = Csr::from_sprs(matrix.view())?;
//! let m = Preconditioner::new(&a, PreconditionerKind::Auto, &Default::default())?;
//! let mut x = [0.0; 100];
//! KrylovSolver::new(KrylovMethod::Cg).solve(&a, Some(&m), &[1.0; 100], &mut x)?;
//! assert!((x[50] - 0.5).abs() < 1e-6);
//! assert_eq!(a.as_sprs()?, matrix.view());
//! # Ok::<(), Error>(())
//! ```

use super::check_rising;
use crate::csr::Csr;
use bandsolve::matrix::Index;
use bandsolve::{Csc, Error, Result};
use sprs::{CsMatViewI, SpIndex};
use std::borrow::Cow;

impl<'a, T: Copy, I: Index + SpIndex> Csr<'a, T, I> {
    /// Convert a matrix of `sprs`. Borrows the arrays of a CSR matrix, and copies a CSC matrix.
    ///
    /// # Cost
    /// One pass over the indices. A slice of rows costs a copy of the row pointers, a CSC matrix a copy of the three arrays.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`from_columns`](Csr::from_columns).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// use sprs::CsMat;
    /// let columns = CsMat::new_csc((2, 3), vec![0, 1, 1, 2], vec![0, 1], vec![4.0, 5.0]);
    /// assert_eq!(Csr::from_sprs(columns.view())?.row(1).collect::<Vec<_>>(), [(2, 5.0)]);
    /// // The transpose is borrowed: its rows are these columns.
    /// assert_eq!(Csr::from_sprs(columns.transpose_view())?.row(2).collect::<Vec<_>>(), [(1, 5.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_sprs(a: CsMatViewI<'a, T, I>) -> Result<Self> {
        let (rows, columns, by_rows) = (a.rows(), a.cols(), a.is_csr());
        let (pointers, indices, values) = a.into_raw_storage();
        let pointers = match pointers.first() {
            Some(first) if *first == I::zero() => Cow::Borrowed(pointers),
            // A slice of rows begins at another number; a matrix without rows may have no pointers.
            Some(first) => pointers.iter().map(|pointer| *pointer - *first).collect(),
            None => Cow::Owned(vec![I::zero()]),
        };
        match by_rows {
            true => Self::new(columns, pointers, indices, values),
            false => Csr::from_columns(&Csc::new(rows, &pointers, indices, values)?),
        }
    }

    /// Borrow the matrix as a CSR matrix of `sprs`.
    ///
    /// # Cost
    /// Two passes over the indices.
    ///
    /// # Errors
    /// [`Error::Layout`] if the columns do not strictly ascend in every row. [`Error::Shape`] if the number of rows or columns does not fit type `I`.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 3, &[(0, 0, 4.0), (1, 2, 5.0)])?;
    /// assert_eq!(a.as_sprs()?.get(1, 2), Some(&5.0));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn as_sprs(&self) -> Result<CsMatViewI<'_, T, I>> {
        check_rising(self)?;
        let (most, limit) = (self.columns().max(self.rows() + 1), SpIndex::index(I::max_value()));
        let (pointers, columns, values) = self.parts();
        CsMatViewI::try_new((self.rows(), self.columns()), pointers, columns, values).map_err(|_| Error::Shape {
            what: "rows or columns of a matrix of sprs",
            expected: limit,
            got: most,
        })
    }
}
