//! Use arrays of `ndarray` with one or two dimensions.
//!
//! Arrays in Fortran order (`ShapeBuilder::f`) and arrays with one column are used without a copy.
//!
//! ```
//! use bandsolve::prelude::*;
//! use ndarray::{Array1, Array2, ShapeBuilder};
//! let n = 1000;
//! let (sub, diag, sup) = (Array1::from_elem(n, -1.0), Array1::from_elem(n, 4.0), Array1::from_elem(n, -1.0));
//! let a = Tridiagonal::from_arrays(&sub, &diag, &sup)?;
//! let lu = Plan::new(a.shape()).factor(&a)?;
//!
//! let rhs = Array2::<f64>::ones((n, 3).f());
//! let (mut x, report) = lu.solve_array(&rhs)?;
//! assert!(x.dim() == (n, 3) && report.backward_error <= 8.0 * f64::EPSILON);
//! // Solve in place for the middle column alone.
//! lu.solve_array_in_place(Op::Plain, &mut x.column_mut(1))?;
//! # Ok::<(), Error>(())
//! ```

use super::{AsColumns, AsColumnsMut};
use bandsolve_kernel::Scalar;
use ndarray::{Array1, Array2, ArrayBase, Data, DataMut, Ix1, Ix2, ShapeBuilder};

impl<T: Scalar, S: Data<Elem = T>> AsColumns<T> for ArrayBase<S, Ix1> {
    type Owned = Array1<T>;

    fn dimensions(&self) -> (usize, usize) {
        (self.len(), 1)
    }

    fn entry(&self, row: usize, _: usize) -> T {
        self[row]
    }

    fn as_columns(&self) -> Option<&[T]> {
        self.as_slice()
    }

    fn with_columns(&self, columns: Vec<T>) -> Array1<T> {
        columns.into()
    }
}

impl<T: Scalar, S: DataMut<Elem = T>> AsColumnsMut<T> for ArrayBase<S, Ix1> {
    fn entry_mut(&mut self, row: usize, _: usize) -> &mut T {
        &mut self[row]
    }

    fn as_columns_mut(&mut self) -> Option<&mut [T]> {
        self.as_slice_mut()
    }
}

impl<T: Scalar, S: Data<Elem = T>> AsColumns<T> for ArrayBase<S, Ix2> {
    type Owned = Array2<T>;

    fn dimensions(&self) -> (usize, usize) {
        self.dim()
    }

    fn entry(&self, row: usize, column: usize) -> T {
        self[(row, column)]
    }

    fn as_columns(&self) -> Option<&[T]> {
        self.view().reversed_axes().to_slice()
    }

    fn with_columns(&self, columns: Vec<T>) -> Array2<T> {
        Array2::from_shape_vec(self.dim().f(), columns).expect("as many entries as the array has")
    }
}

impl<T: Scalar, S: DataMut<Elem = T>> AsColumnsMut<T> for ArrayBase<S, Ix2> {
    fn entry_mut(&mut self, row: usize, column: usize) -> &mut T {
        &mut self[(row, column)]
    }

    fn as_columns_mut(&mut self) -> Option<&mut [T]> {
        self.view_mut().reversed_axes().into_slice()
    }
}
