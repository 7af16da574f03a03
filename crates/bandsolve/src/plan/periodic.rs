//! Factor and solve periodic bands, by the factors of folded ones.

use crate::contract::Factor;
use crate::contract::verify::{Report, Solution, check_scratch};
use crate::error::{Result, check_len};
use crate::matrix::{Banded, PeriodicBanded, RingOrder};
use crate::plan::any::AnyFactor;
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::Scalar;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

impl RingOrder {
    /// Scratch of [`solve`](Self::solve) besides that of the folded system.
    pub(super) fn scratch<T: Scalar>(rows: usize, n_rhs: usize) -> StackReq {
        StackReq::new::<T>(rows.saturating_mul(n_rhs))
    }

    /// Call `solve` with the folded right-hand sides, in memory of the stack, which must hold `needed`, and unfold x.
    ///
    /// # Errors
    /// `Shape`, `Scratch`, and those of `solve`.
    pub(super) fn solve<T: Scalar>(
        self,
        (needed, stack): (StackReq, &mut PodStack),
        (rhs, x): (&[T], &mut [T]),
        solve: impl FnOnce(&[T], &mut [T], &mut PodStack) -> Result<Report>,
    ) -> Result<Report> {
        check_len("x", rhs.len(), x.len())?;
        check_scratch(needed, stack)?;
        let (folded, stack) = stack.make_raw::<T>(rhs.len());
        self.around(rhs, x, folded, |rhs, x| solve(rhs, x, stack))
    }

    /// Call `solve` with the folded right-hand sides, which are written to `folded`, and unfold x. Also the x of a failed solve is unfolded.
    pub(super) fn around<T: Scalar, R>(
        self,
        rhs: &[T],
        x: &mut [T],
        folded: &mut [T],
        solve: impl FnOnce(&[T], &mut [T]) -> Result<R>,
    ) -> Result<R> {
        self.fold(rhs, folded);
        let solved = solve(folded, x);
        folded.copy_from_slice(x);
        self.unfold(folded, x);
        solved.map_err(|error| self.unfolded(error))
    }
}

impl<T: Scalar> Factorize for PeriodicBanded<T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;
    type OwningFactor = AnyFactor<'static, T>;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<AnyFactor<'m, T>> {
        let factor = self.folded.factor_with(plan).map_err(|error| self.order.unfolded(error))?;
        Ok(factor.in_order(self.order))
    }

    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<AnyFactor<'static, T>> {
        let PeriodicBanded { folded, order } = Arc::unwrap_or_clone(a);
        let factor = Banded::factor_shared_with(Arc::new(folded), plan).map_err(|error| order.unfolded(error))?;
        Ok(factor.in_order(order))
    }
}

impl<T: Scalar> PeriodicBanded<T> {
    /// Solve A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// Those of [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}
