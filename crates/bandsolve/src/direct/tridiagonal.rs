//! Factors of one tridiagonal system: whichever method the plan chose.

use super::adaptive_cr::AdaptiveCr;
use super::cf_lu::CfLu;
use super::cyclic_reduction::CyclicReduction;
use super::diagonal_pivoting::DiagonalPivoting;
use super::parallel_diagonal_pivoting::ParallelDiagonalPivoting;
use super::partitioned::Partitioned;
use super::pcr::ParallelCyclicReduction;
use super::pivoted::PivotedTridiagonal;
use super::spike::Spike;
use super::stored::{Elimination, Stored};
use super::thomas::Thomas;
use super::{
    Factor, Inspect, Op, Probe, Report, Solution, rpts, spike_diagonal_pivoting, spike_qr, spike_thomas,
    spike_truncated,
};
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use crate::plan::{Factorize, Method, Plan};
use crate::scalar::{Complex32, Complex64, Scalar};
use core::fmt::{self, Debug, Formatter};
use dyn_stack::{PodStack, StackReq};

/// Factors of a [`Tridiagonal`] matrix.
pub struct TridiagonalFactor<'m, T: Scalar> {
    method: Box<dyn Probe<T> + 'm>,
}

impl<T: Scalar> Debug for TridiagonalFactor<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TridiagonalFactor").field("shape", &self.shape()).finish_non_exhaustive()
    }
}

impl<T: Scalar> Factor<T> for TridiagonalFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.method.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        self.method.solve_scratch(n_rhs)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        self.method.solve_into_with(op, rhs, x, stack)
    }
}

impl<T: Scalar> Inspect<T> for TridiagonalFactor<'_, T> {
    fn probe(&self) -> &dyn Probe<T> {
        &*self.method
    }
}

impl<'m, T: Scalar> TridiagonalFactor<'m, T> {
    /// By the sequential pivoted method, whatever `plan` chose.
    pub(super) fn pivoted(plan: &Plan, a: Tridiagonal<'m, T>) -> Result<Self> {
        Ok(Self { method: Box::new(PivotedTridiagonal::new(plan, a)?) })
    }
}

impl<T: Scalar> Factorize for Tridiagonal<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = TridiagonalFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        Ok(TridiagonalFactor { method: T::factor_tridiagonal(plan, self)? })
    }
}

/// The methods of one number type. Implemented for each by itself, not generically, so that they are compiled in this crate
/// and once.
pub trait Methods: Sized {
    /// Factors by the method that the plan chose.
    fn factor_tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, Self>) -> Result<Box<dyn Probe<Self> + 'm>>
    where
        Self: Scalar;
}

macro_rules! methods {
    ($($t:ty),*) => {$(impl Methods for $t {
        fn factor_tridiagonal<'m>(plan: &Plan, a: &'m Tridiagonal<'_, Self>) -> Result<Box<dyn Probe<Self> + 'm>> {
            factor(plan, a)
        }
    })*};
}
methods!(f32, f64, Complex32, Complex64);

fn factor<'m, T: Scalar>(plan: &Plan, a: &'m Tridiagonal<'_, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    let partitioned = |scheme| Ok(Box::new(Partitioned::new(plan, scheme, a.view())) as Box<dyn Probe<T> + 'm>);
    match plan.chosen_method() {
        Method::Auto | Method::Pivoted => Ok(Box::new(PivotedTridiagonal::new(plan, a.view())?)),
        Method::Rpts => partitioned(rpts::scheme(plan)),
        Method::SpikeDiagonalPivoting => partitioned(spike_diagonal_pivoting::SCHEME),
        Method::SpikeThomas => partitioned(spike_thomas::SCHEME),
        Method::SpikeTruncated => partitioned(spike_truncated::SCHEME),
        Method::SpikeQr => partitioned(spike_qr::SCHEME),
        Method::Thomas => stored::<T, Thomas<T>>(plan, a),
        Method::DiagonalPivoting => stored::<T, DiagonalPivoting<T>>(plan, a),
        Method::CfLu => stored::<T, CfLu<T>>(plan, a),
        Method::ParallelDiagonalPivoting => stored::<T, ParallelDiagonalPivoting<T>>(plan, a),
        Method::Cr => stored::<T, CyclicReduction<T, 1>>(plan, a),
        Method::Tricr => stored::<T, CyclicReduction<T, 2>>(plan, a),
        Method::Pcr => stored::<T, ParallelCyclicReduction>(plan, a),
        Method::AdaptiveCr => stored::<T, AdaptiveCr<T>>(plan, a),
        Method::SpikeCr => stored::<T, Spike<T, CyclicReduction<T, 1>>>(plan, a),
    }
}

/// Factors of a method that keeps them.
fn stored<'m, T: Scalar, E: Elimination<T> + 'm>(
    plan: &Plan,
    a: &'m Tridiagonal<'_, T>,
) -> Result<Box<dyn Probe<T> + 'm>> {
    Ok(Box::new(Stored::<T, E>::new(plan, a.view())?))
}

impl<T: Scalar> Tridiagonal<'_, T> {
    /// Solves A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
