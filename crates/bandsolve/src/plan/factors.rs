//! From the table of methods to factors: the functions that it names, and their instances for every number type.

use crate::contract::factors::Factors;
use crate::contract::inspect::Probe;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Tridiagonal};
use crate::method::Method;
use crate::{methods, partition, pivoted};
use bandsolve_kernel::{ByType, Complex32, Complex64, Scalar};
use core::marker::PhantomData;
use std::sync::Arc;

/// Factors by whichever method, or why there are none.
type Made<T, A> = Result<Factors<T, A>>;

/// Returns what a function of the table makes of the arguments, if the entry is of one of the kinds, and of the method decided for.
macro_rules! if_asked {
    (Tridiagonal, Tridiagonal $($rest:tt)*) => { $crate::plan::factors::if_asked!(@call $($rest)*) };
    (Band, Band $($rest:tt)*) => { $crate::plan::factors::if_asked!(@call $($rest)*) };
    (Band, NarrowBand $($rest:tt)*) => { $crate::plan::factors::if_asked!(@call $($rest)*) };
    (Blocks, Blocks $($rest:tt)*) => { $crate::plan::factors::if_asked!(@call $($rest)*) };
    (Blocks, SmallBlocks $($rest:tt)*) => { $crate::plan::factors::if_asked!(@call $($rest)*) };
    (@call $method:ident $decision:ident $call:expr, $($argument:expr),*) => {
        if $decision.method == Method::$method {
            return ($call)($decision, $($argument),*);
        }
    };
    ($($other:tt)*) => {};
}
pub(super) use if_asked;

/// The function that makes factors, from what the table says in brackets.
macro_rules! made_by {
    (own $($module:ident)::+) => { $($module)::+::factor };
    (scheme $method:ident) => { |d, a| partition::partitioned::factor(methods::$method::scheme(d), d, a) };
    ($stored:ident $method:ident :: $($factors:tt)+) => { methods::$stored::factor::<T, methods::$method::$($factors)+> };
}

macro_rules! factor {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal [$($how:tt)+];)* }
    )*) => {
        fn tridiagonal<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<Tridiagonal<'m, T>>,
        ) -> Made<T, Tridiagonal<'m, T>> {
            $($(if_asked!(Tridiagonal, $kind $variant decision (made_by!($($how)+)), a);)*)*
            Err(decision.unsupported("tridiagonal systems"))
        }

        fn banded<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<Banded<'m, T>>,
        ) -> Made<T, Banded<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Band, $kind $variant decision (made_by!($($how)+)), a);)*)*
            }
            Err(decision.unsupported("banded systems"))
        }

        fn block_tridiagonal<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<BlockTridiagonal<'m, T>>,
        ) -> Made<T, BlockTridiagonal<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Blocks, $kind $variant decision (made_by!($($how)+)), a);)*)*
            }
            Err(decision.unsupported("block tridiagonal systems"))
        }
    };
}
crate::methods!(factor);

/// Instances of the functions above for every number type, compiled here and nowhere else.
macro_rules! instances {
    ($($name:ident: $matrix:ident by $factor:ident;)*) => {$(
        #[doc = concat!("[`", stringify!($factor), "`]")]
        pub(super) struct $name<'p, 'm>(PhantomData<(&'p Decision, &'m ())>);

        impl<'p, 'm> ByType for $name<'p, 'm> {
            type Argument<T: Scalar> = (&'p Decision, Arc<$matrix<'m, T>>);
            type Output<T: Scalar> = Result<Box<dyn Probe<T> + 'm>>;

            fn of_f32((decision, a): Self::Argument<f32>) -> Self::Output<f32> {
                Ok(Box::new($factor(decision, a)?))
            }
            fn of_f64((decision, a): Self::Argument<f64>) -> Self::Output<f64> {
                Ok(Box::new($factor(decision, a)?))
            }
            fn of_c32((decision, a): Self::Argument<Complex32>) -> Self::Output<Complex32> {
                Ok(Box::new($factor(decision, a)?))
            }
            fn of_c64((decision, a): Self::Argument<Complex64>) -> Self::Output<Complex64> {
                Ok(Box::new($factor(decision, a)?))
            }
        }
    )*};
}
instances! {
    OfTridiagonal: Tridiagonal by tridiagonal;
    OfBanded: Banded by banded;
    OfBlockTridiagonal: BlockTridiagonal by block_tridiagonal;
}
