//! Factors of one tridiagonal system: whichever method the plan chose.

use crate::contract::Factor;
use crate::contract::inspect::Probe;
use crate::contract::verify::Solution;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::method::Method;
use crate::methods::adaptive_cr::AdaptiveCr;
use crate::methods::cf_lu::CfLu;
use crate::methods::cyclic_reduction::CyclicReduction;
use crate::methods::diagonal_pivoting::DiagonalPivoting;
use crate::methods::parallel_diagonal_pivoting::ParallelDiagonalPivoting;
use crate::methods::pcr::ParallelCyclicReduction;
use crate::methods::spike::Spike;
use crate::methods::stored::{Elimination, Stored};
use crate::methods::thomas::Thomas;
use crate::methods::{rpts, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated};
use crate::partition::partitioned::Partitioned;
use crate::pivoted::PivotedTridiagonal;
use crate::plan::any::{AnyFactor, OfTridiagonal};
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::Scalar;

impl<T: Scalar> Factorize for Tridiagonal<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        Ok(AnyFactor::new(&plan.decision, T::by_type::<OfTridiagonal<'_, 'm>>((&plan.decision, self.view()))?))
    }
}

/// The factors that the plan asks for.
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Tridiagonal<'m, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    let partitioned = |scheme, a| Ok(Box::new(Partitioned::new(decision, scheme, a)) as Box<dyn Probe<T> + 'm>);
    match decision.method {
        Method::Auto | Method::Pivoted => Ok(Box::new(PivotedTridiagonal::new(decision, a)?)),
        Method::Rpts => partitioned(rpts::scheme(decision), a),
        Method::SpikeDiagonalPivoting => partitioned(spike_diagonal_pivoting::SCHEME, a),
        Method::SpikeThomas => partitioned(spike_thomas::SCHEME, a),
        Method::SpikeTruncated => partitioned(spike_truncated::SCHEME, a),
        Method::SpikeQr => partitioned(spike_qr::SCHEME, a),
        Method::Thomas => stored::<T, Thomas<T>>(decision, a),
        Method::DiagonalPivoting => stored::<T, DiagonalPivoting<T>>(decision, a),
        Method::CfLu => stored::<T, CfLu<T>>(decision, a),
        Method::ParallelDiagonalPivoting => stored::<T, ParallelDiagonalPivoting<T>>(decision, a),
        Method::Cr => stored::<T, CyclicReduction<T, 1>>(decision, a),
        Method::Tricr => stored::<T, CyclicReduction<T, 2>>(decision, a),
        Method::Pcr => stored::<T, ParallelCyclicReduction>(decision, a),
        Method::AdaptiveCr => stored::<T, AdaptiveCr<T>>(decision, a),
        Method::SpikeCr => stored::<T, Spike<T, CyclicReduction<T, 1>>>(decision, a),
        Method::Spike | Method::Bcyclic | Method::BlockSpike => Err(decision.unsupported("tridiagonal systems")),
    }
}

/// Factors of a method that keeps them.
fn stored<'m, T: Scalar, E: Elimination<T> + 'm>(
    decision: &Decision,
    a: Tridiagonal<'m, T>,
) -> Result<Box<dyn Probe<T> + 'm>> {
    Ok(Box::new(Stored::<T, E>::new(decision, a)?))
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
