//! What can be asked of factors beside solving: condition, determinant, error bounds.

use crate::contract::condition::Norm;
use crate::contract::determinant::Determinant;
use crate::contract::expert::ExpertReport;
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::Report;
use crate::contract::{Factor, Op, condition, expert};
use crate::error::{Error, Result};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use dyn_stack::PodStack;

/// Condition, determinant and expert solves, for the factors of every method.
///
/// Nothing here is part of a plain solve: each function does its own work when it is called, and allocates.
///
/// # Example
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[-1.0; 4], &[2.0; 5], &[-1.0; 4])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// // ‖A‖₁ = 4, ‖A⁻¹‖₁ = 9/2, det A = 6
/// assert!((lu.rcond(Norm::One)? - 1.0 / 18.0).abs() < 1e-15);
/// assert!((lu.determinant()?.value() - 6.0).abs() < 1e-14 && !lu.is_singular()?);
/// let (rhs, mut x) = ([1.0; 5], [0.0; 5]);
/// let expert = lu.solve_expert(Op::Plain, &rhs, &mut x)?;
/// assert!(expert.componentwise_errors[0] <= f64::EPSILON && expert.forward_errors[0] <= 1e-13);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait Inspect<T: Scalar>: Factor<T> {
    /// The factors as all below sees them.
    #[doc(hidden)]
    fn probe(&self) -> &dyn Probe<T>;

    /// ‖A‖ in this norm; NaN if an entry is, infinite where the sum exceeds `f64`.
    ///
    /// # Cost
    /// One pass over the matrix.
    fn norm(&self, norm: Norm) -> f64 {
        let _mode = Standard::enter();
        condition::norm(self.probe(), norm)
    }

    /// The reciprocal condition, estimated:
    ///
    /// $$ \mathrm{rcond} = \frac{1}{\|A\|\,\|A^{-1}\|} $$
    ///
    /// Between 0 and 1: 0 for a singular matrix, 1 for n = 0; below ε the matrix is singular to working precision, and the
    /// number says no more than that. Never smaller than the truth (up to the rounding of the solves) and rarely more than
    /// three times larger. A batch counts as one matrix with the systems on its diagonal.
    ///
    /// # Cost
    /// Four or five solves with the same factors, at most eleven; two passes over the matrix. The solves are not verified
    /// where the factors come from pivoted elimination.
    ///
    /// # Errors
    /// [`Error::NotFinite`](crate::Error::NotFinite), [`Error::OutOfMemory`](crate::Error::OutOfMemory). An answer that
    /// misses the accuracy contract is no error here: it tells the size of the inverse.
    ///
    /// # Source
    /// Higham, ACM TOMS 14 (1988) 381, algorithm 4.1; `docs/math/condition.md`.
    fn rcond(&self, norm: Norm) -> Result<f64> {
        let _mode = Standard::enter();
        condition::rcond(self.probe(), norm)
    }

    /// det A as phase and logarithm, which neither over- nor underflow.
    ///
    /// From the factors of the method if they are those of a stable elimination, else from a pivoted factorisation made
    /// for it and kept. Exact under row scaling by powers of two. Of a batch: the product over its systems.
    ///
    /// # Cost
    /// Two passes, over the matrix and its pivots; at most one sequential factorisation.
    ///
    /// # Errors
    /// `NotFinite`, `OutOfMemory`; [`Error::Singular`](crate::Error::Singular) only where rows were not to be exchanged, or
    /// pivots were taken for noise: then a zero pivot proves nothing; [`Error::NotConverged`](crate::Error::NotConverged)
    /// where pivots leave the range of the type, which takes entries of one row that are that far apart.
    ///
    /// # Source
    /// `docs/math/condition.md`.
    fn determinant(&self) -> Result<Determinant<T>> {
        let _mode = Standard::enter();
        self.probe().known_determinant()
    }

    /// Whether pivoted elimination met an exactly zero pivot. That a matrix is nearly singular, [`rcond`](Self::rcond)
    /// says.
    ///
    /// # Errors
    /// As [`determinant`](Self::determinant), from which it is read.
    fn is_singular(&self) -> Result<bool> {
        Ok(self.determinant()?.is_zero())
    }

    /// Solves op(A)·x = rhs, refines until every component of the residual is as small as it can be, and bounds the errors.
    ///
    /// # Shapes
    /// `rhs`, `x`: n × n_rhs, column-major.
    ///
    /// # Cost
    /// A solve; for each right-hand side one solve and two passes over the matrix a refinement step, then about five solves,
    /// all by the sequential pivoted method, whose factors are made for it and kept; for all of them
    /// [`rcond`](Self::rcond).
    ///
    /// # Errors
    /// Those of every solve.
    ///
    /// # Source
    /// What LAPACK's `…svx` drivers report; `docs/math/condition.md`.
    fn solve_expert(&self, op: Op, rhs: &[T], x: &mut [T]) -> Result<ExpertReport> {
        let _mode = Standard::enter();
        expert::solve(self.probe(), op, rhs, x)
    }
}

/// A factored matrix as [`Inspect`] needs it, without the types of matrix and method.
pub trait Probe<T: Scalar>: Factor<T> {
    /// Calls `visit(j, a_ij)` for the entries of row `i` of op(A), each column once.
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T));

    /// First entry of the matrix that is not finite, as an error.
    fn check_finite(&self) -> Result<()>;

    /// Replaces x by op(A)⁻¹·x, as well as may be: verified only if the method needs it, and whatever comes of that. The
    /// stack holds [`solve_in_place_scratch`](Factor::solve_in_place_scratch) of one column.
    ///
    /// # Errors
    /// `Singular`, `OutOfMemory`, `NotFinite`.
    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()>;

    /// det A from pivoted factors.
    fn known_determinant(&self) -> Result<Determinant<T>>;

    /// Whether rows are multiplied by powers of two before they are eliminated.
    fn scales_rows(&self) -> bool;

    /// The sequential pivoted method; `None` if this is it, or if there is none for the whole matrix.
    fn sequential(&self) -> Option<Result<&dyn Probe<T>>> {
        None
    }

    /// A solver that skips zeros of sparse right-hand sides, if the method has one.
    fn sparse_solver(&self, _op: Op) -> Result<Option<Box<dyn SparseSolver<T> + '_>>> {
        Ok(None)
    }
}

/// An answer that missed the accuracy contract still tells the size of the inverse.
pub(crate) fn solved_roughly(solved: Result<Report>) -> Result<()> {
    match solved {
        Ok(_) | Err(Error::NotConverged { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
