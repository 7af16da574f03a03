//! Factors of one block tridiagonal system: whichever method the plan chose.

use crate::contract::Factor;
use crate::contract::inspect::Probe;
use crate::contract::verify::Solution;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::BlockTridiagonal;
use crate::method::Method;
use crate::methods::bcyclic::Bcyclic;
use crate::methods::block_spike::BlockSpike;
use crate::methods::block_stored::StoredBlocks;
use crate::partition::block_rpts::BlockRpts;
use crate::pivoted::block_band::BlockBand;
use crate::plan::any::{AnyFactor, OfBlockTridiagonal, OfTridiagonal};
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::Scalar;

impl<T: Scalar> Factorize for BlockTridiagonal<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        let factor = if plan.is_tridiagonal() {
            T::by_type::<OfTridiagonal<'_, 'm>>((&plan.decision, self.as_tridiagonal()?))
        } else {
            T::by_type::<OfBlockTridiagonal<'_, 'm>>((&plan.decision, self.view()))
        };
        Ok(AnyFactor::new(&plan.decision, factor?))
    }
}

/// The factors that the plan asks for.
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    match decision.method {
        Method::Auto | Method::Pivoted => Ok(Box::new(BlockBand::pivoted(decision, a)?)),
        Method::Rpts if decision.method.solves(a.shape()) && a.block_rows() > 1 => {
            Ok(Box::new(BlockRpts::new(decision, a)))
        }
        Method::Rpts if decision.method.solves(a.shape()) => Ok(Box::new(BlockBand::pivoted(decision, a)?)),
        Method::Spike => Ok(Box::new(BlockBand::by_parts(decision, a)?)),
        Method::Bcyclic => Ok(Box::new(StoredBlocks::<T, Bcyclic<T>>::new(decision, a)?)),
        Method::BlockSpike => Ok(Box::new(StoredBlocks::<T, BlockSpike<T>>::new(decision, a)?)),
        _ => Err(decision.unsupported("block tridiagonal systems")),
    }
}

impl<T: Scalar> BlockTridiagonal<'_, T> {
    /// Solves A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}
