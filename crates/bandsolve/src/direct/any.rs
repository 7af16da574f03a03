//! Factors by whichever method the plan chose, and the methods of each number type.

use super::pivoted::PivotedTridiagonal;
use super::{Factor, Inspect, Op, Probe, Report, banded, block_tridiagonal, tridiagonal};
use crate::error::Result;
use crate::kernel::arithmetic::Standard;
use crate::matrix::{Banded, BlockTridiagonal, Shape, Tridiagonal};
use crate::plan::Plan;
use crate::scalar::{Complex32, Complex64, Scalar};
use core::fmt::{self, Debug, Formatter};
use dyn_stack::{PodStack, StackReq};

/// Factors of one matrix, by whichever method its [`Plan`] chose.
pub struct AnyFactor<'m, T: Scalar> {
    method: Box<dyn Probe<T> + 'm>,
    plan: Plan,
}

impl<'m, T: Scalar> AnyFactor<'m, T> {
    pub(super) fn new(plan: &Plan, method: Box<dyn Probe<T> + 'm>) -> Self {
        Self { method, plan: plan.clone() }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// By the sequential pivoted method, whatever `plan` chose.
    pub(super) fn pivoted(plan: &Plan, a: Tridiagonal<'m, T>) -> Result<Self> {
        Ok(Self::new(plan, Box::new(PivotedTridiagonal::new(plan, a)?)))
    }
}

impl<T: Scalar> Inspect<T> for AnyFactor<'_, T> {
    fn probe(&self) -> &dyn Probe<T> {
        &*self.method
    }
}

impl<T: Scalar> Debug for AnyFactor<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyFactor").field("shape", &self.shape()).finish_non_exhaustive()
    }
}

impl<T: Scalar> Factor<T> for AnyFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.plan.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        self.method.solve_scratch(n_rhs)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let _mode = Standard::enter();
        self.method.solve_into_with(op, rhs, x, stack)
    }
}

/// The methods of one number type. Implemented for each by itself, not generically, so that they are compiled in this crate
/// and once.
pub trait Methods: Sized {
    /// Factors by the method that the plan chose.
    fn factor_tridiagonal<'m>(plan: &Plan, a: Tridiagonal<'m, Self>) -> Result<Box<dyn Probe<Self> + 'm>>
    where
        Self: Scalar;
    /// Factors by the method that the plan chose.
    fn factor_banded<'m>(plan: &Plan, a: &'m Banded<'_, Self>) -> Result<Box<dyn Probe<Self> + 'm>>
    where
        Self: Scalar;
    /// Factors by the method that the plan chose.
    fn factor_block_tridiagonal<'m>(
        plan: &Plan,
        a: &'m BlockTridiagonal<'_, Self>,
    ) -> Result<Box<dyn Probe<Self> + 'm>>
    where
        Self: Scalar;
}

macro_rules! methods {
    ($($t:ty),*) => {$(impl Methods for $t {
        fn factor_tridiagonal<'m>(plan: &Plan, a: Tridiagonal<'m, Self>) -> Result<Box<dyn Probe<Self> + 'm>> {
            tridiagonal::factor(plan, a)
        }
        fn factor_banded<'m>(plan: &Plan, a: &'m Banded<'_, Self>) -> Result<Box<dyn Probe<Self> + 'm>> {
            banded::factor(plan, a)
        }
        fn factor_block_tridiagonal<'m>(
            plan: &Plan,
            a: &'m BlockTridiagonal<'_, Self>,
        ) -> Result<Box<dyn Probe<Self> + 'm>> {
            block_tridiagonal::factor(plan, a)
        }
    })*};
}
methods!(f32, f64, Complex32, Complex64);
