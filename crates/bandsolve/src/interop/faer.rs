//! Use columns and matrices of `faer`, owned or views.
//!
//! `faer::Mat` has gaps between its columns unless their length fits its alignment. Right-hand sides with gaps are copied. A view of a
//! slice (`MatRef::from_column_major_slice`, `MatMut::from_column_major_slice_mut`) has no gaps.
//!
//! ```
//! use bandsolve::prelude::*;
//! use faer::{Col, Mat};
//! let n = 1000;
//! let (sub, diag, sup) = (Col::full(n, -1.0), Col::full(n, 4.0), Col::full(n, -1.0));
//! let a = Tridiagonal::from_arrays(&sub, &diag, &sup)?;
//! let lu = Plan::new(a.shape()).factor(&a)?;
//!
//! let rhs = Mat::<f64>::full(n, 3, 1.0);
//! let (mut x, report) = lu.solve_array(&rhs)?;
//! assert!(x.shape() == (n, 3) && report.backward_error <= 8.0 * f64::EPSILON);
//! // Solve in place for the middle column alone.
//! lu.solve_array_in_place(Op::Plain, &mut x.col_mut(1))?;
//! # Ok::<(), Error>(())
//! ```

use super::{AsColumns, AsColumnsMut, is_gapless};
use bandsolve_kernel::Scalar;
use faer::mat::{AsMatMut, AsMatRef};
use faer::{Col, Mat, MatMut, MatRef, col, mat};

/// All entries, column by column, if they have no gaps.
fn columns<T>(array: MatRef<'_, T>) -> Option<&[T]> {
    let gapless = is_gapless(array.shape(), (array.row_stride(), array.col_stride()));
    // SAFETY: without gaps, all entries follow the first one.
    gapless.then(|| unsafe { core::slice::from_raw_parts(array.as_ptr(), array.nrows() * array.ncols()) })
}

/// All entries, column by column, to be written to, if they have no gaps.
fn columns_mut<T>(array: MatMut<'_, T>) -> Option<&mut [T]> {
    let gapless = is_gapless(array.shape(), (array.row_stride(), array.col_stride()));
    let len = array.nrows() * array.ncols();
    // SAFETY: without gaps, all entries follow the first one, and they are borrowed mutably.
    gapless.then(|| unsafe { core::slice::from_raw_parts_mut(array.as_ptr_mut(), len) })
}

/// Implements the traits for a family of arrays. The expression `$make` creates an owned array of type `$owned` from `$columns`.
macro_rules! arrays {
    ($generic:ty, $owned:ty, $array:ident, $columns:ident, $make:expr) => {
        impl<T: Scalar, S> AsColumns<T> for $generic
        where
            Self: AsMatRef<T = T, Rows = usize, Owned = $owned>,
        {
            type Owned = $owned;

            fn dimensions(&self) -> (usize, usize) {
                self.as_mat_ref().as_dyn_cols().shape()
            }

            fn entry(&self, row: usize, column: usize) -> T {
                self.as_mat_ref().as_dyn_cols()[(row, column)]
            }

            fn as_columns(&self) -> Option<&[T]> {
                columns(self.as_mat_ref().as_dyn_cols())
            }

            fn with_columns(&self, $columns: Vec<T>) -> $owned {
                let $array = self;
                $make
            }
        }

        impl<T: Scalar, S> AsColumnsMut<T> for $generic
        where
            Self: AsMatMut<T = T, Rows = usize, Owned = $owned>,
        {
            fn entry_mut(&mut self, row: usize, column: usize) -> &mut T {
                self.as_mat_mut().as_dyn_cols_mut().get_mut(row, column)
            }

            fn as_columns_mut(&mut self) -> Option<&mut [T]> {
                columns_mut(self.as_mat_mut().as_dyn_cols_mut())
            }
        }
    };
}

arrays!(mat::generic::Mat<S>, Mat<T>, array, columns, {
    let (rows, n_columns) = array.dimensions();
    Mat::from_fn(rows, n_columns, |i, j| columns[j * rows + i])
});
arrays!(col::generic::Col<S>, Col<T>, _array, columns, Col::from_fn(columns.len(), |i| columns[i]));
