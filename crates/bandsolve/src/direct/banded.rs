//! Factors of one banded system: whichever method the plan chose.

use super::banded_spike::BandedSpike;
use super::block_rpts::BlockRpts;
use super::pivoted::PivotedBanded;
use super::{AnyFactor, Factor, Probe, Solution};
use crate::error::Result;
use crate::matrix::Banded;
use crate::plan::{Factorize, Method, Plan};
use crate::scalar::Scalar;

impl<T: Scalar> Factorize for Banded<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        Ok(AnyFactor::new(plan, T::factor_banded(plan, self)?))
    }
}

/// The factors that the plan asks for.
pub(super) fn factor<'m, T: Scalar>(plan: &Plan, a: &'m Banded<'_, T>) -> Result<Box<dyn Probe<T> + 'm>> {
    match plan.chosen_method() {
        Method::Auto | Method::Pivoted => Ok(Box::new(PivotedBanded::new(plan, a.view())?)),
        Method::Rpts if plan.chosen_method().solves(a.shape()) && a.n() > 2 * a.lower().max(a.upper()).max(1) => {
            Ok(Box::new(BlockRpts::new(plan, a.view())))
        }
        Method::Rpts if plan.chosen_method().solves(a.shape()) => Ok(Box::new(PivotedBanded::new(plan, a.view())?)),
        Method::Spike => Ok(Box::new(BandedSpike::new(plan, a.view())?)),
        _ => Err(plan.unsupported("banded systems")),
    }
}

impl<T: Scalar> Banded<'_, T> {
    /// Solves A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
