//! Use vectors and matrices of `nalgebra`, owned or views, of dynamic or static size.
//!
//! All of them are column-major. Views of some rows of a matrix have gaps between columns and are copied.
//!
//! ```
//! use bandsolve::prelude::*;
//! use nalgebra::{DMatrix, DVector};
//! let n = 1000;
//! let (sub, diag, sup) = (DVector::repeat(n, -1.0), DVector::repeat(n, 4.0), DVector::repeat(n, -1.0));
//! let a = Tridiagonal::from_arrays(&sub, &diag, &sup)?;
//! let lu = Plan::new(a.shape()).factor(&a)?;
//!
//! let rhs = DMatrix::<f64>::repeat(n, 3, 1.0);
//! let (mut x, report) = lu.solve_array(&rhs)?;
//! assert!(x.shape() == (n, 3) && report.backward_error <= 8.0 * f64::EPSILON);
//! // Solve in place for the middle column alone.
//! lu.solve_array_in_place(Op::Plain, &mut x.column_mut(1))?;
//! # Ok::<(), Error>(())
//! ```

use super::{AsColumns, AsColumnsMut, is_gapless};
use bandsolve_kernel::Scalar;
use nalgebra::allocator::Allocator;
use nalgebra::{DefaultAllocator, Dim, Matrix, OMatrix, RawStorage, RawStorageMut};

/// Whether the entries are column by column in memory, without gaps.
fn has_columns<T, R: Dim, C: Dim, S: RawStorage<T, R, C>>(array: &Matrix<T, R, C, S>) -> bool {
    let (row_stride, column_stride) = array.strides();
    is_gapless(array.shape(), (row_stride as isize, column_stride as isize))
}

impl<T: Scalar, R: Dim, C: Dim, S: RawStorage<T, R, C>> AsColumns<T> for Matrix<T, R, C, S>
where
    DefaultAllocator: Allocator<R, C>,
{
    type Owned = OMatrix<T, R, C>;

    fn dimensions(&self) -> (usize, usize) {
        self.shape()
    }

    fn entry(&self, row: usize, column: usize) -> T {
        self[(row, column)]
    }

    fn as_columns(&self) -> Option<&[T]> {
        // SAFETY: without gaps, all entries follow the first one.
        has_columns(self).then(|| unsafe { core::slice::from_raw_parts(self.as_ptr(), self.len()) })
    }

    fn with_columns(&self, columns: Vec<T>) -> Self::Owned {
        let (rows, n_columns) = self.shape_generic();
        OMatrix::from_vec_generic(rows, n_columns, columns)
    }
}

impl<T: Scalar, R: Dim, C: Dim, S: RawStorageMut<T, R, C>> AsColumnsMut<T> for Matrix<T, R, C, S>
where
    DefaultAllocator: Allocator<R, C>,
{
    fn entry_mut(&mut self, row: usize, column: usize) -> &mut T {
        &mut self[(row, column)]
    }

    fn as_columns_mut(&mut self) -> Option<&mut [T]> {
        let len = self.len();
        // SAFETY: without gaps, all entries follow the first one, and they are borrowed mutably.
        has_columns(self).then(|| unsafe { core::slice::from_raw_parts_mut(self.as_mut_ptr(), len) })
    }
}
