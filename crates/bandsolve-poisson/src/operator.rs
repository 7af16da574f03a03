//! The matrix of a plan, as its answers are verified: second differences, or two matrices an axis.

use crate::method::{SeparableSolver, SolveRequest};
use crate::pencil::{PencilOperator, PencilResidual};
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide};
use crate::verify::{Question, Verification};
use bandsolve::Simd;
use bandsolve::dyn_stack::PodStack;

/// The matrix of a plan.
pub enum SystemOperator<T: PoissonScalar> {
    Differences(ResidualOperator<T>),
    Pencils(PencilOperator),
}

/// An answer to be verified.
pub struct SystemCheck<'a, T: PoissonScalar> {
    pub operator: &'a SystemOperator<T>,
    pub rhs: RightHandSide<'a, T>,
    pub u: &'a [T],
    pub threads: usize,
    pub simd: Simd,
}

impl<T: PoissonScalar> SystemOperator<T> {
    /// Unknowns along each axis.
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::Differences(operator) => operator.shape,
            Self::Pencils(operator) => operator.shape(),
        }
    }

    /// Solves by factors of this matrix; what was removed, and what residuals show that were measured on the way.
    pub fn solve_measured(
        &self,
        solver: &dyn SeparableSolver<T>,
        request: &SolveRequest<'_, T>,
        x: &mut [T],
        stack: &mut PodStack,
    ) -> (f64, Option<ResidualMeasure>) {
        match self {
            Self::Differences(operator) => solver.solve_measured(request, operator, x, stack),
            Self::Pencils(_) => (solver.solve(request, x, stack), None),
        }
    }

    /// Numbers of scratch of a check.
    pub fn words(&self) -> usize {
        match self {
            Self::Differences(operator) => Verification::<T>::words(operator.shape),
            Self::Pencils(operator) => PencilResidual::<T>::words(operator.shape()),
        }
    }
}

impl<T: PoissonScalar> SystemCheck<'_, T> {
    /// What the residuals show.
    pub fn measure(&self, question: Question, scratch: &mut [T]) -> ResidualMeasure {
        let SystemCheck { rhs, u, threads, simd, .. } = *self;
        match self.operator {
            SystemOperator::Differences(operator) => {
                Verification { operator, rhs, u, threads, simd }.measure(question, scratch)
            }
            SystemOperator::Pencils(operator) => {
                PencilResidual { operator, rhs, u, threads, simd }.measure(question, scratch)
            }
        }
    }

    /// All residuals, to `out`.
    pub fn residuals(&self, out: &mut [T], scratch: &mut [T]) {
        let SystemCheck { rhs, u, threads, simd, .. } = *self;
        match self.operator {
            SystemOperator::Differences(operator) => Verification { operator, rhs, u, threads, simd }.residual(out),
            SystemOperator::Pencils(operator) => {
                PencilResidual { operator, rhs, u, threads, simd }.residuals(out, scratch)
            }
        }
    }
}
