//! The factors of a problem for one method.

use crate::cyclic::CyclicSolver;
use crate::fft::TransformSolver;
use crate::long_line::LongLine;
use crate::method::{PoissonMethod, SeparableSolver};
use crate::scalar::{PoissonScalar, by_real_type};
use crate::separable::SeparableProblem;
use bandsolve::Result;

by_real_type! {
    /// [`factor`] for each number type, with the problem, the method and the number of threads.
    pub struct FactorProblem<'a>: (&'a SeparableProblem, PoissonMethod, usize) => Result<Box<dyn SeparableSolver<T>>> =
        factor;
}

/// The factors of `problem` for one method.
fn factor<T: PoissonScalar>(
    (problem, method, threads): (&SeparableProblem, PoissonMethod, usize),
) -> Result<Box<dyn SeparableSolver<T>>> {
    match method {
        PoissonMethod::Auto | PoissonMethod::Fft | PoissonMethod::Gemm if LongLine::<T>::takes(problem) => {
            Ok(Box::new(LongLine::new(problem, threads)?))
        }
        PoissonMethod::Auto | PoissonMethod::Fft => Ok(Box::new(TransformSolver::new(problem, false, threads)?)),
        PoissonMethod::Gemm => Ok(Box::new(TransformSolver::new(problem, true, threads)?)),
        PoissonMethod::Bcr2 | PoissonMethod::Bcr4 | PoissonMethod::Pscr => {
            Ok(Box::new(CyclicSolver::new(problem, method, threads)?))
        }
    }
}
