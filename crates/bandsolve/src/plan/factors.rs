//! From the table of methods to factors: the functions that it names, and their instances for every number type.

use crate::contract::factors::Factors;
use crate::contract::inspect::Probe;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Tridiagonal};
use crate::method::Method;
use crate::methods::adaptive_cr::AdaptiveCr;
use crate::methods::bcyclic::Bcyclic;
use crate::methods::block_spike::BlockSpike;
use crate::methods::cf_lu::CfLu;
use crate::methods::cr::Cr;
use crate::methods::diagonal_pivoting::DiagonalPivoting;
use crate::methods::parallel_diagonal_pivoting::ParallelDiagonalPivoting;
use crate::methods::pcr::ParallelCyclicReduction;
use crate::methods::spike_cr::SpikeCr;
use crate::methods::thomas::Thomas;
use crate::methods::tricr::Tricr;
use crate::methods::{
    block_stored, cholesky, rpts, spike, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated, stored,
};
use crate::partition::{block_rpts, partitioned};
use crate::pivoted;
use crate::pivoted::block_band;
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

macro_rules! factor {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal by $make:expr, needing $scratch:expr;)* }
    )*) => {
        fn tridiagonal<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<Tridiagonal<'m, T>>,
        ) -> Made<T, Tridiagonal<'m, T>> {
            $($(if_asked!(Tridiagonal, $kind $variant decision $make, a);)*)*
            Err(decision.unsupported("tridiagonal systems"))
        }

        fn banded<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<Banded<'m, T>>,
        ) -> Made<T, Banded<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Band, $kind $variant decision $make, a);)*)*
            }
            Err(decision.unsupported("banded systems"))
        }

        fn block_tridiagonal<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<BlockTridiagonal<'m, T>>,
        ) -> Made<T, BlockTridiagonal<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Blocks, $kind $variant decision $make, a);)*)*
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

/// By partitions, unless there is one block row.
fn block_rpts_of_band<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Made<T, Banded<'m, T>> {
    if a.n() <= 2 * a.lower().max(a.upper()) {
        return pivoted::banded::factor(decision, a);
    }
    block_rpts::factor(decision, a, pivoted::banded::factor)
}

/// By partitions, unless there is one block row.
fn block_rpts_of_blocks<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<BlockTridiagonal<'m, T>>,
) -> Made<T, BlockTridiagonal<'m, T>> {
    if a.block_rows() <= 1 {
        return block_band::factor(decision, a);
    }
    block_rpts::factor(decision, a, block_band::factor)
}
