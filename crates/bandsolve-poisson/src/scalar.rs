//! The number types of Poisson problems.

use crate::method::{PoissonMethod, SeparableSolver};
use crate::operator::SystemCheck;
use crate::pencil::{AxisPencil, products};
use crate::plan::factor;
use crate::separable::{ResidualMeasure, SeparableProblem};
use crate::verify::Question;
use bandsolve::{RealScalar, Result};

/// The time-critical functions. This crate compiles them once per number type, so crates that make plans need not compile them again.
pub trait Instances: Sized {
    /// Factors of a problem for one method.
    fn factor(
        problem: &SeparableProblem,
        method: PoissonMethod,
        threads: usize,
    ) -> Result<Box<dyn SeparableSolver<Self>>>
    where
        Self: PoissonScalar;
    /// Factors of a problem with two matrices per axis: its generalized eigenvectors.
    fn products(axes: &[AxisPencil; 3], shift: f64, threads: usize) -> Result<Box<dyn SeparableSolver<Self>>>
    where
        Self: PoissonScalar;
    /// The measure of the residuals of a solution.
    fn measure(check: &SystemCheck<'_, Self>, question: Question, scratch: &mut [Self]) -> ResidualMeasure
    where
        Self: PoissonScalar;
    /// Writes the residuals of a solution to `out`.
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

/// A number type of Poisson problems: `f32` or `f64`.
///
/// # Examples
/// ```
/// use bandsolve::RealScalar;
/// use bandsolve_poisson::{Poisson, PoissonScalar};
/// /// u in the middle of three nodes, where −u″ = 1.
/// fn middle<T: PoissonScalar>() -> bandsolve::Result<f64> {
///     let u = Poisson::new(&[3]).plan::<T>()?.solve(&[T::from_f64(1.0); 3])?.values;
///     Ok(RealScalar::to_f64(u[1]))
/// }
/// assert!((middle::<f32>()? - 2.0).abs() < 1e-5 && (middle::<f64>()? - 2.0).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait PoissonScalar: Instances + RealScalar {}
impl PoissonScalar for f32 {}
impl PoissonScalar for f64 {}

/// x, rounded to the number type `T`.
#[inline(always)]
pub(crate) fn real<T: PoissonScalar>(x: f64) -> T {
    <T as RealScalar>::from_f64(x)
}
