//! Blocked banded LU with partial pivoting.

use crate::direct::{Factor, Op, Report, Solution};
use crate::error::Result;
use crate::matrix::{Banded, Shape};
use crate::plan::{Factorize, Plan};
use crate::scalar::Scalar;
use dyn_stack::{PodStack, StackReq};

/// Factors of a [`Banded`] matrix.
#[derive(Debug)]
pub struct BandedFactor<'m, T: Scalar> {
    a: Banded<'m, T>,
}

impl<T: Scalar> Factor<T> for BandedFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, _n_rhs: usize) -> StackReq {
        todo!()
    }

    fn solve_into_with(&self, _op: Op, _rhs: &[T], _x: &mut [T], _stack: &mut PodStack) -> Result<Report> {
        todo!()
    }
}

impl<T: Scalar> Factorize for Banded<'_, T> {
    type Scalar = T;
    type Factor<'m>
        = BandedFactor<'m, T>
    where
        Self: 'm;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<Self::Factor<'m>> {
        plan.check_shape(self.shape())?;
        todo!()
    }
}

impl<T: Scalar> Banded<'_, T> {
    /// Solves A·x = rhs.
    ///
    /// # Errors
    /// As every solve; see [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
