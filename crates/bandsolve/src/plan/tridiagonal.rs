//! Factor and solve a tridiagonal system.

use crate::contract::Factor;
use crate::contract::verify::Solution;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::plan::any::AnyFactor;
use crate::plan::factors::OfTridiagonal;
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::Scalar;
use std::sync::Arc;

impl<'a, T: Scalar> Factorize for Tridiagonal<'a, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;
    type OwningFactor = AnyFactor<'a, T>;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<AnyFactor<'m, T>> {
        Tridiagonal::factor_shared_with(Arc::new(self.view()), plan)
    }

    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<AnyFactor<'a, T>> {
        plan.check_shape(a.shape())?;
        let factor = T::by_type::<OfTridiagonal<'_, 'a>>((&plan.decision, a));
        Ok(AnyFactor::new(&plan.decision, factor?))
    }
}

impl<T: Scalar> Tridiagonal<'_, T> {
    /// Solve A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// Those of [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}
