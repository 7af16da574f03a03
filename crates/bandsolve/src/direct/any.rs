//! Factors by whichever method the plan chose, and the methods of each number type.

use super::pivoted::PivotedTridiagonal;
use super::{Factor, Inspect, Op, Probe, Report, banded, block_tridiagonal, tridiagonal};
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Shape, Tridiagonal};
use crate::plan::Plan;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::{ByType, Complex32, Complex64, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
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

/// Functions that factor a matrix by the method that its plan chose, with their instances of all number types.
macro_rules! factors {
    ($($name:ident: $matrix:ident by $factor:path;)*) => {$(
        pub(super) struct $name<'p, 'm>(PhantomData<(&'p Plan, &'m ())>);

        impl<'p, 'm> ByType for $name<'p, 'm> {
            type Argument<T: Scalar> = (&'p Plan, $matrix<'m, T>);
            type Output<T: Scalar> = Result<Box<dyn Probe<T> + 'm>>;

            fn of_f32((plan, a): Self::Argument<f32>) -> Self::Output<f32> {
                $factor(plan, a)
            }
            fn of_f64((plan, a): Self::Argument<f64>) -> Self::Output<f64> {
                $factor(plan, a)
            }
            fn of_c32((plan, a): Self::Argument<Complex32>) -> Self::Output<Complex32> {
                $factor(plan, a)
            }
            fn of_c64((plan, a): Self::Argument<Complex64>) -> Self::Output<Complex64> {
                $factor(plan, a)
            }
        }
    )*};
}
factors! {
    OfTridiagonal: Tridiagonal by tridiagonal::factor;
    OfBanded: Banded by banded::factor;
    OfBlockTridiagonal: BlockTridiagonal by block_tridiagonal::factor;
}
