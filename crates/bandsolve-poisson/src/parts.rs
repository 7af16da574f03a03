//! The description of a problem for solvers outside of this crate: those of MPI ranks and of devices.

use crate::condition::Condition;
use crate::method::PoissonMethod;
use crate::rcond::condition_of;
use crate::report::{PoissonReport, Solved};
use crate::scalar::PoissonScalar;
use crate::separable::{SeparableProblem, SideTerms};
use bandsolve::{Error, Report, Result};
use smallvec::SmallVec;

/// A discretized problem with its boundary terms, its condition and the rules of singular problems.
pub struct BoxParts<T> {
    /// The operators of the axes in the caller's order. With two axes, the middle one is missing.
    pub problem: SeparableProblem,
    /// The boundary terms of the right-hand side.
    pub sides: SideTerms<T>,
    /// The method that the caller chose.
    pub method: PoissonMethod,
    /// The mean of u, if the problem is singular.
    pub mean: f64,
    /// The largest constant that a solve may remove from f if the problem is singular, relative to the largest entry of f with boundary values.
    pub removable: f64,
    given: SmallVec<[usize; 3]>,
    condition: Condition,
}

impl<T: PoissonScalar> core::fmt::Debug for BoxParts<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a box of {:?} unknowns", self.given)
    }
}

impl<T: PoissonScalar> BoxParts<T> {
    /// `given` is the caller's shape. `Err` if rounding decides the sign of the smallest eigenvalue.
    pub(crate) fn new(
        (problem, sides): (SeparableProblem, SideTerms<T>),
        given: &[usize],
        method: PoissonMethod,
        (mean, removable): (f64, f64),
    ) -> Result<Self> {
        let condition = condition_of(&problem)?;
        if condition.is_hopeless::<T>() {
            return Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 });
        }
        Ok(Self { problem, sides, method, mean, removable, given: given.into(), condition })
    }

    /// The caller's shape.
    pub fn given(&self) -> &[usize] {
        &self.given
    }

    /// The report of the solved right-hand sides. `systems` is the number of tridiagonal systems per right-hand side.
    pub fn report(&self, reason: &'static str, systems: usize, solved: &[Solved]) -> PoissonReport {
        let mut report = PoissonReport {
            solve: Report::empty(PoissonMethod::Fft, reason.into()),
            shape: self.given.clone(),
            subproblems: systems,
            removed: 0.0,
            mean: self.problem.is_singular().then_some(self.mean),
            rcond: self.condition.rcond,
        };
        solved.iter().for_each(|solved| report.take(*solved));
        report.finished::<T>(&self.condition)
    }
}
