//! The limits of a search: the dimension of the Krylov space, the tolerances, the vectors that a restart keeps.

use super::look::STRICTER;
use crate::problem::EigenProblem;
use crate::report::EigenEnding;
use crate::solver::EigenSolver;
use bandsolve::{RealScalar, Scalar};

/// The settings of a search, and its problem.
pub(super) type Search<'a, T> = (EigenSolver<'a, T>, EigenProblem<'a, T>);

/// The maximum dimension of the Krylov space: `ncv` or its default, but at least k + 2 and at most n.
pub(super) fn capacity<T: Scalar>(solver: &EigenSolver<'_, T>, total: usize) -> usize {
    let wished = solver.ncv.unwrap_or_else(|| solver.k.saturating_mul(2).saturating_add(6).max(16));
    wished.max(solver.k.saturating_add(2)).min(total)
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// The largest ‖OP·x − θ·x‖ at which a pair has converged: tol·|θ|, or the rounding errors of the largest |θ|.
    pub(super) fn allowed(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 4.0 * T::Real::EPSILON.to_f64();
        (self.inner_tolerance().max(rounding) * theta).max(rounding * largest)
    }

    /// The relative tolerance for the residuals of the operator.
    pub(super) fn inner_tolerance(&self) -> f64 {
        self.inner.unwrap_or(self.tol)
    }

    /// The smallest distance between the keys of two different eigenvalues: twice the tolerance, or the rounding errors of a few products.
    pub(super) fn distinct(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 32.0 * T::Real::EPSILON.to_f64();
        ((2.0 * self.inner_tolerance()).max(rounding) * theta).max(rounding * largest)
    }

    /// The same settings with a smaller tolerance, for second looks.
    pub(super) fn stricter(&self) -> Self {
        Self { inner: Some(self.inner_tolerance() / STRICTER), ..*self }
    }
}

/// The number of leading pairs (|θ|, residual) that have converged.
pub(super) fn converged<T: Scalar>(
    solver: &EigenSolver<'_, T>,
    pairs: impl Iterator<Item = (f64, f64)>,
    largest: f64,
) -> usize {
    pairs.take_while(|(theta, residual)| *residual <= solver.allowed(*theta, largest)).count()
}

impl EigenEnding {
    /// Change `Converged` to `Incomplete` if a wanted eigenvalue may be missing.
    pub(super) fn if_none_missing(self, none_missing: bool) -> Self {
        if self == Self::Converged && !none_missing { Self::Incomplete } else { self }
    }
}

/// The number of vectors that a restart keeps, of `active` vectors of which the first `count` have converged.
pub(super) fn restart_size(active: usize, count: usize) -> usize {
    (count + ((active - count) / 2).max(1)).min(active - 1)
}
