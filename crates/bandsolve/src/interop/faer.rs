//! Columns and matrices of `faer`, owned and as views.
//!
//! `faer::Mat` leaves gaps between its columns, unless their length fits its alignment: as right-hand sides they are copied. A view
//! over a slice (`MatRef::from_column_major_slice`, `MatMut::from_column_major_slice_mut`) has none.
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
//! // Again with the middle column alone, in place.
//! lu.solve_array_in_place(Op::Plain, &mut x.col_mut(1))?;
//! # Ok::<(), Error>(())
//! ```

use super::{AsColumns, AsColumnsMut, is_gapless};
use bandsolve_kernel::Scalar;
use faer::{Col, ColMut, ColRef, Mat, MatMut, MatRef};

/// The entries column after column, if they lie so without gaps.
fn columns<T>(array: MatRef<'_, T>) -> Option<&[T]> {
    let gapless = is_gapless(array.shape(), (array.row_stride(), array.col_stride()));
    // SAFETY: without gaps, so that all entries follow the first.
    gapless.then(|| unsafe { core::slice::from_raw_parts(array.as_ptr(), array.nrows() * array.ncols()) })
}

/// The same, to be written to.
fn columns_mut<T>(array: MatMut<'_, T>) -> Option<&mut [T]> {
    let gapless = is_gapless(array.shape(), (array.row_stride(), array.col_stride()));
    let len = array.nrows() * array.ncols();
    // SAFETY: without gaps, so that all entries follow the first; borrowed mutably.
    gapless.then(|| unsafe { core::slice::from_raw_parts_mut(array.as_ptr_mut(), len) })
}

macro_rules! matrices {
    ($($array:ty),*) => {$(
        impl<T: Scalar> AsColumns<T> for $array {
            type Owned = Mat<T>;

            fn dimensions(&self) -> (usize, usize) {
                self.shape()
            }

            fn entry(&self, row: usize, column: usize) -> T {
                self[(row, column)]
            }

            fn as_columns(&self) -> Option<&[T]> {
                columns(self.as_dyn_stride())
            }

            fn with_columns(&self, columns: Vec<T>) -> Mat<T> {
                let (rows, n_columns) = self.shape();
                Mat::from_fn(rows, n_columns, |i, j| columns[j * rows + i])
            }
        }
    )*};
}

macro_rules! matrices_mut {
    ($($array:ty),*) => {$(
        impl<T: Scalar> AsColumnsMut<T> for $array {
            fn entry_mut(&mut self, row: usize, column: usize) -> &mut T {
                &mut self[(row, column)]
            }

            fn as_columns_mut(&mut self) -> Option<&mut [T]> {
                columns_mut(self.as_dyn_stride_mut())
            }
        }
    )*};
}

macro_rules! vectors {
    ($($array:ty),*) => {$(
        impl<T: Scalar> AsColumns<T> for $array {
            type Owned = Col<T>;

            fn dimensions(&self) -> (usize, usize) {
                (self.nrows(), 1)
            }

            fn entry(&self, row: usize, _: usize) -> T {
                self[row]
            }

            fn as_columns(&self) -> Option<&[T]> {
                columns(self.as_dyn_stride().as_mat())
            }

            fn with_columns(&self, columns: Vec<T>) -> Col<T> {
                Col::from_fn(columns.len(), |i| columns[i])
            }
        }
    )*};
}

macro_rules! vectors_mut {
    ($($array:ty),*) => {$(
        impl<T: Scalar> AsColumnsMut<T> for $array {
            fn entry_mut(&mut self, row: usize, _: usize) -> &mut T {
                &mut self[row]
            }

            fn as_columns_mut(&mut self) -> Option<&mut [T]> {
                columns_mut(self.as_dyn_stride_mut().as_mat_mut())
            }
        }
    )*};
}

matrices!(Mat<T>, MatRef<'_, T>, MatMut<'_, T>);
matrices_mut!(Mat<T>, MatMut<'_, T>);
vectors!(Col<T>, ColRef<'_, T>, ColMut<'_, T>);
vectors_mut!(Col<T>, ColMut<'_, T>);
