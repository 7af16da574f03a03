//! Factors by whichever method the plan chose, and the methods of each number type.

use crate::contract::inspect::{Inspect, Probe};
use crate::contract::verify::Report;
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Shape, Tridiagonal};
use crate::pivoted::PivotedTridiagonal;
use crate::plan::{banded, block_tridiagonal, tridiagonal};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::{ByType, Complex32, Complex64, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use dyn_stack::{PodStack, StackReq};

/// Factors of one matrix, by whichever method its [`Plan`](crate::Plan) chose.
pub struct AnyFactor<'m, T: Scalar> {
    method: Box<dyn Probe<T> + 'm>,
    decision: Decision,
}

impl<'m, T: Scalar> AnyFactor<'m, T> {
    pub(crate) fn new(decision: &Decision, method: Box<dyn Probe<T> + 'm>) -> Self {
        Self { method, decision: decision.clone() }
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// By the sequential pivoted method, whatever was decided.
    pub(crate) fn pivoted(decision: &Decision, a: Tridiagonal<'m, T>) -> Result<Self> {
        Ok(Self::new(decision, Box::new(PivotedTridiagonal::new(decision, a)?)))
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
        self.decision.shape
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
        pub(crate) struct $name<'p, 'm>(PhantomData<(&'p Decision, &'m ())>);

        impl<'p, 'm> ByType for $name<'p, 'm> {
            type Argument<T: Scalar> = (&'p Decision, $matrix<'m, T>);
            type Output<T: Scalar> = Result<Box<dyn Probe<T> + 'm>>;

            fn of_f32((decision, a): Self::Argument<f32>) -> Self::Output<f32> {
                $factor(decision, a)
            }
            fn of_f64((decision, a): Self::Argument<f64>) -> Self::Output<f64> {
                $factor(decision, a)
            }
            fn of_c32((decision, a): Self::Argument<Complex32>) -> Self::Output<Complex32> {
                $factor(decision, a)
            }
            fn of_c64((decision, a): Self::Argument<Complex64>) -> Self::Output<Complex64> {
                $factor(decision, a)
            }
        }
    )*};
}
factors! {
    OfTridiagonal: Tridiagonal by tridiagonal::factor;
    OfBanded: Banded by banded::factor;
    OfBlockTridiagonal: BlockTridiagonal by block_tridiagonal::factor;
}
