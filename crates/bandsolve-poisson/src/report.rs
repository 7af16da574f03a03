//! What a solve reports.

use crate::condition::Condition;
use crate::method::PoissonMethod;
use crate::scalar::PoissonScalar;
use bandsolve::{RealScalar, attention};
use smallvec::SmallVec;
use std::sync::Arc;

/// What a solve did and how good its answer is.
///
/// The backward error of a right-hand side is
///
/// $$ \eta = \max_i \frac{|f_i - (Au)_i|}{(\sum_j |a_{ij}|)\,\|u\|_\infty + |f_i|} $$
///
/// with boundary values, and what had to be removed, taken into f. The number reported is η, or an upper bound of it that is at most
/// twice as large where that is below 8ε.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PoissonReport {
    /// The method that produced u.
    pub method: PoissonMethod,
    /// Why this method.
    pub reason: Arc<str>,
    /// Unknowns along each axis.
    pub shape: SmallVec<[usize; 3]>,
    /// Largest of [`backward_errors`](Self::backward_errors).
    pub backward_error: f64,
    /// Backward error of each right-hand side.
    pub backward_errors: SmallVec<[f64; 4]>,
    /// Most refinement steps that a right-hand side took.
    pub refinement_steps: usize,
    /// Tridiagonal systems that were solved for each right-hand side.
    pub subproblems: usize,
    /// What was subtracted from f in every place, so that a singular problem has a solution; of several right-hand sides the largest.
    pub removed: f64,
    /// The mean of u, weighted by the volumes of the unknowns, where it was free to choose: of singular problems. It is measured on the u that
    /// is returned; if that agrees with the mean that was asked for up to rounding, it is the one asked for. Of several right-hand sides the
    /// one that is furthest from it.
    pub mean: Option<f64>,
    /// An estimate of the reciprocal condition: the least |λ| of all eigenvalues over the mean of Σ_j |a_ij|. (Of two matrices an axis that
    /// of the tridiagonal system nearest to a singular one.) The error of u, relative to its largest entry, can be 2η/rcond. Where a constant
    /// is left free, its eigenvalue 0 does not count. NaN where it is not known.
    pub rcond: f64,
    /// Says in words where u may have no correct digit, see [`attention`](bandsolve::attention).
    pub attention: Option<String>,
}

/// A solved problem.
#[derive(Debug, Clone, PartialEq)]
pub struct PoissonSolution<T> {
    /// u, in the shape of the right-hand side.
    pub values: Vec<T>,
    /// How it was found and how good it is.
    pub report: PoissonReport,
}

/// What is known of a right-hand side that was solved.
#[derive(Debug, Clone, Copy)]
pub struct Solved {
    /// The backward error.
    pub error: f64,
    /// What was subtracted from f in every place.
    pub removed: f64,
    /// Refinement steps.
    pub refinement_steps: usize,
    /// The mean of u that was asked for, and that of u, where it is free to choose.
    pub mean: Option<[f64; 2]>,
}

impl PoissonReport {
    pub(crate) fn take(&mut self, solved: Solved) {
        self.backward_errors.push(solved.error);
        self.backward_error = self.backward_error.max(solved.error);
        self.refinement_steps = self.refinement_steps.max(solved.refinement_steps);
        if solved.removed.abs() > self.removed.abs() {
            self.removed = solved.removed;
        }
        if let Some([asked, mean]) = solved.mean {
            let further = self.mean.is_none_or(|other| (mean - asked).abs() > (other - asked).abs());
            self.mean = if further { Some(mean) } else { self.mean };
        }
    }

    /// The report of all right-hand sides, solved in numbers of type `T`.
    pub(crate) fn finished<T: PoissonScalar>(mut self, condition: &Condition) -> Self {
        let error = self.backward_error + condition.rounding::<T>();
        self.attention = attention(RealScalar::to_f64(T::EPSILON), Some(self.rcond), error, None);
        self
    }
}
