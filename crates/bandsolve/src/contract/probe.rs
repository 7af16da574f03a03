//! A factored matrix without the types of matrix and method.

use crate::contract::Factor;
use crate::contract::determinant::Determinant;
use crate::contract::op::Op;
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::Report;
use crate::error::{Error, Result};
use bandsolve_kernel::Scalar;
use dyn_stack::PodStack;

/// A factored matrix for [`Inspect`](crate::Inspect), without the types of matrix and method.
pub trait Probe<T: Scalar>: Factor<T> {
    /// Call `visit(j, a_ij)` for the entries of row `i` of op(A), once for each column.
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T));

    /// Return `Err(NotFinite)` for the first entry of the matrix that is not finite.
    fn check_finite(&self) -> Result<()>;

    /// Replace x by op(A)⁻¹·x, verified only if the method needs it. An inaccurate x is no error.
    ///
    /// The stack must hold [`solve_in_place_scratch`](Factor::solve_in_place_scratch) of one column.
    ///
    /// # Errors
    /// `Singular`, `OutOfMemory` or `NotFinite`.
    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()>;

    /// Return det A from pivoted factors.
    fn known_determinant(&self) -> Result<Determinant<T>>;

    /// Whether elimination first multiplies the rows by powers of two.
    fn scales_rows(&self) -> bool;

    /// The sequential pivoted method; `None` if `self` is this method, or if there is none for the whole matrix.
    fn sequential(&self) -> Option<Result<&dyn Probe<T>>> {
        None
    }

    /// A solver that skips zeros of sparse right-hand sides, if the method has one.
    fn sparse_solver(&self, _op: Op) -> Result<Option<Box<dyn SparseSolver<T> + '_>>> {
        Ok(None)
    }
}

/// Accept an inaccurate x: it still shows the size of the inverse.
pub(crate) fn solved_roughly(solved: Result<Report>) -> Result<()> {
    match solved {
        Ok(_) | Err(Error::NotConverged { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
