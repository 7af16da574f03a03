//! One tridiagonal system: factored under a plan, solved at once.

use crate::contract::Factor;
use crate::contract::verify::Solution;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::plan::any::AnyFactor;
use crate::plan::factors::OfTridiagonal;
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

impl<T: Scalar> Tridiagonal<'_, T> {
    /// Solves A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}
