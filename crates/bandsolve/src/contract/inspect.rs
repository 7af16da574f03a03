//! Condition, determinant and error bounds of a factored matrix.

use crate::contract::condition::Norm;
use crate::contract::determinant::Determinant;
use crate::contract::expert::ExpertReport;
use crate::contract::op::Op;
use crate::contract::probe::Probe;
use crate::contract::{Factor, condition, expert};
use crate::error::Result;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;

/// Condition, determinant and expert solves, for the factors of all methods.
///
/// A plain solve computes none of these. Each function allocates memory and does its own work in each call.
///
/// # Examples
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
    /// The factors without the types of matrix and method.
    #[doc(hidden)]
    fn probe(&self) -> &dyn Probe<T>;

    /// Return ‖A‖ in the norm `norm`; NaN if an entry is NaN, infinity if the norm exceeds the range of `f64`.
    ///
    /// # Cost
    /// One pass over the matrix.
    fn norm(&self, norm: Norm) -> f64 {
        let _mode = Standard::enter();
        condition::norm(self.probe(), norm)
    }

    /// Estimate the reciprocal condition rcond = 1 / (‖A‖ ‖A⁻¹‖) in the norm `norm`.
    ///
    /// The estimate is between 0 and 1. It is 0 for a singular matrix, and 1 for n = 0. It is never smaller than the true rcond, up to
    /// the rounding of the solves, and rarely more than three times larger. If the estimate is below ε, the matrix is singular to
    /// working precision, and the digits of the estimate mean nothing.
    ///
    /// A batch counts as one matrix with the systems on its diagonal.
    ///
    /// # Cost
    /// Four or five solves with the same factors, at most eleven, and two passes over the matrix. The solves are not verified if the
    /// factors come from pivoted elimination.
    ///
    /// # Errors
    /// [`Error::NotFinite`](crate::Error::NotFinite) or [`Error::OutOfMemory`](crate::Error::OutOfMemory). An inaccurate solve is no
    /// error here, because it still shows the size of the inverse.
    ///
    /// # Source
    /// Higham, ACM TOMS 14 (1988) 381, algorithm 4.1; `docs/math/condition.md`.
    fn rcond(&self, norm: Norm) -> Result<f64> {
        let _mode = Standard::enter();
        condition::rcond(self.probe(), norm)
    }

    /// Return det A as phase and logarithm, which neither overflow nor underflow.
    ///
    /// The determinant comes from the factors of the method if its elimination is stable, otherwise from a pivoted factorisation that
    /// is computed once and kept. Scaling rows by powers of two adds no rounding error. For a batch, the result is the product over its
    /// systems.
    ///
    /// # Cost
    /// A pass over the matrix and one over its pivots, and at most one sequential factorisation.
    ///
    /// # Errors
    /// - [`Error::NotFinite`](crate::Error::NotFinite) or [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    /// - [`Error::Singular`](crate::Error::Singular) if a pivot is zero but the plan allows no row exchanges or has a noise threshold.
    ///   A zero pivot then does not prove that det A = 0.
    /// - [`Error::NotConverged`](crate::Error::NotConverged) if pivots leave the range of the type. This happens only if entries of one
    ///   row differ by that much.
    ///
    /// # Source
    /// `docs/math/condition.md`.
    fn determinant(&self) -> Result<Determinant<T>> {
        let _mode = Standard::enter();
        self.probe().known_determinant()
    }

    /// Whether pivoted elimination meets a pivot that is exactly zero.
    ///
    /// A nearly singular matrix has a small [`rcond`](Self::rcond).
    ///
    /// # Errors
    /// Those of [`determinant`](Self::determinant).
    fn is_singular(&self) -> Result<bool> {
        Ok(self.determinant()?.is_zero())
    }

    /// Solve op(A)·x = rhs, refine each component of x, and bound the errors, like the `…svx` drivers of LAPACK.
    ///
    /// # Shapes
    /// `rhs`, `x`: n × n_rhs, column-major.
    ///
    /// # Cost
    /// - One solve and one [`rcond`](Self::rcond) in total.
    /// - For each right-hand side and refinement step, one solve and two passes over the matrix.
    /// - For each right-hand side, about five solves for the error bound.
    ///
    /// Refinement and error bounds use the sequential pivoted method, whose factors are computed once and kept.
    ///
    /// # Errors
    /// Those of [`Factor`].
    ///
    /// # Source
    /// `docs/math/condition.md`.
    fn solve_expert(&self, op: Op, rhs: &[T], x: &mut [T]) -> Result<ExpertReport> {
        let _mode = Standard::enter();
        expert::solve(self.probe(), op, rhs, x)
    }
}
