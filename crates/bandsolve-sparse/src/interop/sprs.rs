//! Sparse matrices of `sprs`.
//!
//! Rows (CSR) are borrowed: [`Csr::from_sprs`], [`Csr::as_sprs`]. Columns (CSC) are copied into rows; `Csr::from_sprs(a.transpose_view())`
//! borrows them as the rows of the transpose, which is a itself where a is symmetric.
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
    /// A matrix of sprs: borrows the arrays of one by rows, copies one by columns into rows.
    ///
    /// # Cost
    /// One look at all indices; of a slice of rows a copy of the pointers, of columns a copy of the three arrays.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`from_columns`](Csr::from_columns).
    ///
    /// # Example
    /// ```
    /// use bandsolve_sparse::Csr;
    /// use sprs::CsMat;
    /// let columns = CsMat::new_csc((2, 3), vec![0, 1, 1, 2], vec![0, 1], vec![4.0, 5.0]);
    /// assert_eq!(Csr::from_sprs(columns.view())?.row(1).collect::<Vec<_>>(), [(2, 5.0)]);
    /// // Nothing is copied of the transpose, whose rows these columns are.
    /// assert_eq!(Csr::from_sprs(columns.transpose_view())?.row(2).collect::<Vec<_>>(), [(1, 5.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_sprs(a: CsMatViewI<'a, T, I>) -> Result<Self> {
        let (rows, columns, by_rows) = (a.rows(), a.cols(), a.is_csr());
        let (pointers, indices, values) = a.into_raw_storage();
        let pointers = match pointers.first() {
            Some(first) if *first == I::zero() => Cow::Borrowed(pointers),
            // Of a slice; of nothing.
            Some(first) => pointers.iter().map(|pointer| *pointer - *first).collect(),
            None => Cow::Owned(vec![I::zero()]),
        };
        match by_rows {
            true => Self::new(columns, pointers, indices, values),
            false => Csr::from_columns(&Csc::new(rows, &pointers, indices, values)?),
        }
    }

    /// The same matrix for sprs, by rows; borrows the arrays.
    ///
    /// # Cost
    /// Two looks at all indices.
    ///
    /// # Errors
    /// [`Error::Layout`] unless columns rise in every row, each once; [`Error::Shape`] if there are more rows or columns than
    /// `I` can count.
    ///
    /// # Example
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
