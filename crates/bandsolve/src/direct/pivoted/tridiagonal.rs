//! Tridiagonal LU with partial pivoting, open and periodic.

use crate::direct::{Factor, Op, Report};
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use crate::plan::Plan;
use crate::scalar::Scalar;
use dyn_stack::{PodStack, StackReq};

/// Factors of a tridiagonal matrix, row by row.
#[derive(Debug)]
pub struct PivotedTridiagonal<'m, T: Scalar> {
    a: Tridiagonal<'m, T>,
}

impl<'m, T: Scalar> PivotedTridiagonal<'m, T> {
    /// Factors `a`.
    pub fn new(_plan: &Plan, _a: Tridiagonal<'m, T>) -> Result<Self> {
        todo!()
    }
}

impl<T: Scalar> Factor<T> for PivotedTridiagonal<'_, T> {
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
