//! Factors of one block tridiagonal system: whichever method the plan chose.

use super::any::{OfBlockTridiagonal, OfTridiagonal};
use super::bcyclic::Bcyclic;
use super::block_band::BlockBand;
use super::block_rpts::BlockRpts;
use super::block_spike::BlockSpike;
use super::block_stored::StoredBlocks;
use super::{AnyFactor, Factor, Probe, Solution};
use crate::error::Result;
use crate::matrix::BlockTridiagonal;
use crate::plan::{Factorize, Method, Plan};
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
            T::by_type::<OfTridiagonal<'_, 'm>>((plan, self.as_tridiagonal()?))
        } else {
            T::by_type::<OfBlockTridiagonal<'_, 'm>>((plan, self.view()))
        };
        Ok(AnyFactor::new(plan, factor?))
    }
}

/// The factors that the plan asks for.
pub(super) fn factor<'m, T: Scalar>(plan: &Plan, a: BlockTridiagonal<'m, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    match plan.chosen_method() {
        Method::Auto | Method::Pivoted => Ok(Box::new(BlockBand::pivoted(plan, a)?)),
        Method::Rpts if plan.chosen_method().solves(a.shape()) && a.block_rows() > 1 => {
            Ok(Box::new(BlockRpts::new(plan, a)))
        }
        Method::Rpts if plan.chosen_method().solves(a.shape()) => Ok(Box::new(BlockBand::pivoted(plan, a)?)),
        Method::Spike => Ok(Box::new(BlockBand::by_parts(plan, a)?)),
        Method::Bcyclic => Ok(Box::new(StoredBlocks::<T, Bcyclic<T>>::new(plan, a)?)),
        Method::BlockSpike => Ok(Box::new(StoredBlocks::<T, BlockSpike<T>>::new(plan, a)?)),
        _ => Err(plan.unsupported("block tridiagonal systems")),
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
