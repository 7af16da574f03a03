//! Performance-critical functions, compiled in this crate for each number type, so that other crates do not compile them again.

use crate::accurate::{AccurateCall, accurate_residual};
use crate::csr::{Csr, CsrWords};
use crate::graph::{Graph, graph};
use crate::krylov::{IterationReport, KrylovCall};
use crate::precond::{Preconditioner, PreconditionerKind, PreconditionerOptions, make};
use crate::prepared::{PanelsCall, PreparedForm, SlicesCall, by_panels, by_slices, prepared};
use crate::product::{ProductCall, product};
use bandsolve::{Complex32, Complex64, Result, Scalar};
use bandsolve_kernel::ByType;
use core::marker::PhantomData;

/// A function with one argument for every number type.
macro_rules! instances {
    ($($name:ident $argument:ty => $output:ty, $function:path;)*) => {$(
        #[doc = concat!("[`", stringify!($function), "`]")]
        pub(crate) struct $name<'a>(PhantomData<&'a ()>);

        impl<'a> ByType for $name<'a> {
            type Argument<T: Scalar> = $argument;
            type Output<T: Scalar> = $output;

            fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32> {
                $function(argument)
            }
            fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64> {
                $function(argument)
            }
            fn of_c32(argument: Self::Argument<Complex32>) -> Self::Output<Complex32> {
                $function(argument)
            }
            fn of_c64(argument: Self::Argument<Complex64>) -> Self::Output<Complex64> {
                $function(argument)
            }
        }
    )*};
}
instances! {
    MultiplyRows ProductCall<'a, T> => Result<()>, product;
    AccurateResidual AccurateCall<'a, T> => f64, accurate_residual;
    PrepareMatrix (CsrWords<'a, T>, bool) => Result<PreparedForm<T>>, prepared;
    MultiplyPanels PanelsCall<'a, T> => (), by_panels;
    MultiplySlices SlicesCall<'a, T> => (), by_slices;
    SolveSystem KrylovCall<'a, T> => Result<IterationReport>, KrylovCall::run;
    MakePreconditioner (Csr<'a, T, u32>, PreconditionerKind, PreconditionerOptions) => Result<Preconditioner<'a, T>>, make;
    MakeGraph (Csr<'a, T, u32>, Option<&'a [f64]>) => Result<Graph>, graph;
}
