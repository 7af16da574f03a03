//! Factors of one tridiagonal system: whichever method the plan chose.

use super::pivoted::PivotedTridiagonal;
use super::rpts::Rpts;
use super::{Factor, Op, Report, Solution};
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use crate::plan::{Factorize, Method, Plan};
use crate::scalar::Scalar;
use dyn_stack::{PodStack, StackReq};

/// Factors of a [`Tridiagonal`] matrix.
#[derive(Debug)]
pub struct TridiagonalFactor<'m, T: Scalar> {
    method: Inner<'m, T>,
}

#[derive(Debug)]
enum Inner<'m, T: Scalar> {
    Pivoted(PivotedTridiagonal<'m, T>),
    Rpts(Rpts<'m, T>),
}

impl<T: Scalar> Factor<T> for TridiagonalFactor<'_, T> {
    fn shape(&self) -> Shape {
        match &self.method {
            Inner::Pivoted(f) => f.shape(),
            Inner::Rpts(f) => f.shape(),
        }
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        match &self.method {
            Inner::Pivoted(f) => f.solve_scratch(n_rhs),
            Inner::Rpts(f) => f.solve_scratch(n_rhs),
        }
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        match &self.method {
            Inner::Pivoted(f) => f.solve_into_with(op, rhs, x, stack),
            Inner::Rpts(f) => f.solve_into_with(op, rhs, x, stack),
        }
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
        let method = match plan.chosen_method() {
            Method::Rpts => Inner::Rpts(Rpts::new(plan, self.view())),
            _ => Inner::Pivoted(PivotedTridiagonal::new(plan, self.view())?),
        };
        Ok(TridiagonalFactor { method })
    }
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
