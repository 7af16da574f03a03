//! The number types that a Poisson problem can have.

use crate::method::{PoissonMethod, SeparableSolver};
use crate::operator::SystemCheck;
use crate::pencil::{AxisPencil, products};
use crate::plan::factor;
use crate::separable::{ResidualMeasure, SeparableProblem};
use crate::verify::Question;
use bandsolve::{RealScalar, Result};

/// What is hot, compiled in this crate for each number type, and not in every crate that makes a plan.
pub trait Instances: Sized {
    /// Factors of a problem by a method.
    fn factor(
        problem: &SeparableProblem,
        method: PoissonMethod,
        threads: usize,
    ) -> Result<Box<dyn SeparableSolver<Self>>>
    where
        Self: PoissonScalar;
    /// Generalised eigenvectors of a problem with two matrices an axis.
    fn products(axes: &[AxisPencil; 3], shift: f64, threads: usize) -> Result<Box<dyn SeparableSolver<Self>>>
    where
        Self: PoissonScalar;
    /// What the residuals of an answer show.
    fn measure(check: &SystemCheck<'_, Self>, question: Question, scratch: &mut [Self]) -> ResidualMeasure
    where
        Self: PoissonScalar;
    /// The residuals.
    fn residuals(check: &SystemCheck<'_, Self>, out: &mut [Self], scratch: &mut [Self])
    where
        Self: PoissonScalar;
}

macro_rules! instances {
    ($($t:ty)*) => {$(
        impl Instances for $t {
            fn factor(
                problem: &SeparableProblem,
                method: PoissonMethod,
                threads: usize,
            ) -> Result<Box<dyn SeparableSolver<Self>>> {
                factor(problem, method, threads)
            }
            fn products(axes: &[AxisPencil; 3], shift: f64, threads: usize) -> Result<Box<dyn SeparableSolver<Self>>> {
                products(axes, shift, threads)
            }
            fn measure(check: &SystemCheck<'_, Self>, question: Question, scratch: &mut [Self]) -> ResidualMeasure {
                check.measure(question, scratch)
            }
            fn residuals(check: &SystemCheck<'_, Self>, out: &mut [Self], scratch: &mut [Self]) {
                check.residuals(out, scratch);
            }
        }
    )*};
}
instances!(f32 f64);

/// `f32` or `f64`.
pub trait PoissonScalar: Instances + RealScalar {}
impl PoissonScalar for f32 {}
impl PoissonScalar for f64 {}

/// x rounded.
#[inline(always)]
pub(crate) fn real<T: PoissonScalar>(x: f64) -> T {
    <T as RealScalar>::from_f64(x)
}
