//! The matrix of a plan, for verification: second differences, or two matrices per axis.

use crate::method::{SeparableSolver, SolveRequest};
use crate::pencil::{PencilOperator, PencilResidual};
use crate::scalar::{PoissonScalar, by_real_type};
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide};
use crate::verify::{Question, Verification};
use bandsolve::Simd;
use bandsolve::dyn_stack::PodStack;

/// The matrix of a plan.
pub enum SystemOperator<T: PoissonScalar> {
    Differences(ResidualOperator<T>),
    Pencils(PencilOperator),
}

/// A solution to verify.
#[derive(Clone, Copy)]
pub struct SystemCheck<'a, T: PoissonScalar> {
    pub operator: &'a SystemOperator<T>,
    pub rhs: RightHandSide<'a, T>,
    pub u: &'a [T],
    pub threads: usize,
    pub simd: Simd,
}

by_real_type! {
    /// [`SystemCheck::measure`] for each number type.
    pub struct MeasureResiduals<'a>: (SystemCheck<'a, T>, Question, &'a mut [T]) => ResidualMeasure =
        |(check, question, scratch)| check.measure(question, scratch);
    /// [`SystemCheck::residuals`] for each number type.
    pub struct WriteResiduals<'a>: (SystemCheck<'a, T>, &'a mut [T], &'a mut [T]) => () =
        |(check, out, scratch)| check.residuals(out, scratch);
}

impl<T: PoissonScalar> SystemOperator<T> {
    /// The number of unknowns along each axis.
    pub fn shape(&self) -> [usize; 3] {
        match self {
            Self::Differences(operator) => operator.shape,
            Self::Pencils(operator) => operator.shape(),
        }
    }

    /// Solves with the factors of this matrix. Returns the removed constant, and the measure of the residuals if the solver computed it.
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

    /// Length of the scratch memory of a check, in numbers.
    pub fn words(&self) -> usize {
        match self {
            Self::Differences(operator) => Verification::<T>::words(operator.shape),
            Self::Pencils(operator) => PencilResidual::<T>::words(operator.shape()),
        }
    }
}

impl<T: PoissonScalar> SystemCheck<'_, T> {
    /// The measure of the residuals.
    fn measure(self, question: Question, scratch: &mut [T]) -> ResidualMeasure {
        let SystemCheck { operator, rhs, u, threads, simd, .. } = self;
        match operator {
            SystemOperator::Differences(operator) => {
                Verification { operator, rhs, u, threads, simd }.measure(question, scratch)
            }
            SystemOperator::Pencils(operator) => {
                PencilResidual { operator, rhs, u, threads, simd }.measure(question, scratch)
            }
        }
    }

    /// Writes all residuals to `out`.
    fn residuals(self, out: &mut [T], scratch: &mut [T]) {
        let SystemCheck { operator, rhs, u, threads, simd, .. } = self;
        match operator {
            SystemOperator::Differences(operator) => Verification { operator, rhs, u, threads, simd }.residual(out),
            SystemOperator::Pencils(operator) => {
                PencilResidual { operator, rhs, u, threads, simd }.residuals(out, scratch)
            }
        }
    }
}
