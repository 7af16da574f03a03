//! Factors of one tridiagonal system: whichever method the plan chose.

use super::adaptive_cr::AdaptiveCr;
use super::any::OfTridiagonal;
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
    AnyFactor, Factor, Probe, Solution, rpts, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated,
};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::plan::{Factorize, Method, Plan};
use bandsolve_kernel::Scalar;

impl<T: Scalar> Factorize for Tridiagonal<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        Ok(AnyFactor::new(plan, T::by_type::<OfTridiagonal<'_, 'm>>((plan, self.view()))?))
    }
}

/// The factors that the plan asks for.
pub(super) fn factor<'m, T: Scalar>(plan: &Plan, a: Tridiagonal<'m, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    let partitioned = |scheme, a| Ok(Box::new(Partitioned::new(plan, scheme, a)) as Box<dyn Probe<T> + 'm>);
    match plan.chosen_method() {
        Method::Auto | Method::Pivoted => Ok(Box::new(PivotedTridiagonal::new(plan, a)?)),
        Method::Rpts => partitioned(rpts::scheme(plan), a),
        Method::SpikeDiagonalPivoting => partitioned(spike_diagonal_pivoting::SCHEME, a),
        Method::SpikeThomas => partitioned(spike_thomas::SCHEME, a),
        Method::SpikeTruncated => partitioned(spike_truncated::SCHEME, a),
        Method::SpikeQr => partitioned(spike_qr::SCHEME, a),
        Method::Thomas => stored::<T, Thomas<T>>(plan, a),
        Method::DiagonalPivoting => stored::<T, DiagonalPivoting<T>>(plan, a),
        Method::CfLu => stored::<T, CfLu<T>>(plan, a),
        Method::ParallelDiagonalPivoting => stored::<T, ParallelDiagonalPivoting<T>>(plan, a),
        Method::Cr => stored::<T, CyclicReduction<T, 1>>(plan, a),
        Method::Tricr => stored::<T, CyclicReduction<T, 2>>(plan, a),
        Method::Pcr => stored::<T, ParallelCyclicReduction>(plan, a),
        Method::AdaptiveCr => stored::<T, AdaptiveCr<T>>(plan, a),
        Method::SpikeCr => stored::<T, Spike<T, CyclicReduction<T, 1>>>(plan, a),
        Method::Spike | Method::Bcyclic | Method::BlockSpike => Err(plan.unsupported("tridiagonal systems")),
    }
}

/// Factors of a method that keeps them.
fn stored<'m, T: Scalar, E: Elimination<T> + 'm>(plan: &Plan, a: Tridiagonal<'m, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    Ok(Box::new(Stored::<T, E>::new(plan, a)?))
}

impl<T: Scalar> Tridiagonal<'_, T> {
    /// Solves A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}
