//! From the table of methods to factors: the functions that it names, and their instances for every number type.

use crate::contract::inspect::Probe;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Tridiagonal};
use crate::method::Method;
use crate::methods::adaptive_cr::AdaptiveCr;
use crate::methods::bcyclic::Bcyclic;
use crate::methods::block_spike::BlockSpike;
use crate::methods::block_stored::{BlockElimination, StoredBlocks};
use crate::methods::cf_lu::CfLu;
use crate::methods::cholesky::{Cholesky, check_definite};
use crate::methods::cyclic_reduction::CyclicReduction;
use crate::methods::diagonal_pivoting::DiagonalPivoting;
use crate::methods::parallel_diagonal_pivoting::ParallelDiagonalPivoting;
use crate::methods::pcr::ParallelCyclicReduction;
use crate::methods::spike::Spike;
use crate::methods::stored::{Elimination, Stored};
use crate::methods::thomas::Thomas;
use crate::methods::{rpts, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated};
use crate::partition::block_rpts::BlockRpts;
use crate::partition::partitioned::{Partitioned, Scheme};
use crate::pivoted::banded_spike::BandedSpike;
use crate::pivoted::block_band::BlockBand;
use crate::pivoted::{PivotedBanded, PivotedTridiagonal};
use bandsolve_kernel::{ByType, Complex32, Complex64, Scalar};
use core::marker::PhantomData;

/// Factors by whichever method, or why there are none.
type Made<'m, T> = Result<Box<dyn Probe<T> + 'm>>;

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
        fn tridiagonal<'m, T: Scalar>(decision: &Decision, a: Tridiagonal<'m, T>) -> Made<'m, T> {
            $($(if_asked!(Tridiagonal, $kind $variant decision $make, a);)*)*
            Err(decision.unsupported("tridiagonal systems"))
        }

        fn banded<'m, T: Scalar>(decision: &Decision, a: Banded<'m, T>) -> Made<'m, T> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Band, $kind $variant decision $make, a);)*)*
            }
            Err(decision.unsupported("banded systems"))
        }

        fn block_tridiagonal<'m, T: Scalar>(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Made<'m, T> {
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
            type Argument<T: Scalar> = (&'p Decision, $matrix<'m, T>);
            type Output<T: Scalar> = Made<'m, T>;

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
instances! {
    OfTridiagonal: Tridiagonal by tridiagonal;
    OfBanded: Banded by banded;
    OfBlockTridiagonal: BlockTridiagonal by block_tridiagonal;
}

fn pivoted<'m, T: Scalar>(decision: &Decision, a: Tridiagonal<'m, T>) -> Made<'m, T> {
    Ok(Box::new(PivotedTridiagonal::new(decision, a)?))
}

fn pivoted_band<'m, T: Scalar>(decision: &Decision, a: Banded<'m, T>) -> Made<'m, T> {
    Ok(Box::new(PivotedBanded::new(decision, a)?))
}

fn pivoted_blocks<'m, T: Scalar>(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Made<'m, T> {
    Ok(Box::new(BlockBand::pivoted(decision, a)?))
}

fn band_by_parts<'m, T: Scalar>(decision: &Decision, a: Banded<'m, T>) -> Made<'m, T> {
    Ok(Box::new(BandedSpike::new(decision, a)?))
}

fn cholesky_of_band<'m, T: Scalar>(decision: &Decision, a: Banded<'m, T>) -> Made<'m, T> {
    Ok(Box::new(Cholesky::new(decision, a)?))
}

fn cholesky_of_tridiagonal<'m, T: Scalar>(decision: &Decision, a: Tridiagonal<'m, T>) -> Made<'m, T> {
    check_definite(&a, decision.options.threads > 1)?;
    partitioned(spike_thomas::SCHEME, decision, a)
}

fn blocks_by_parts<'m, T: Scalar>(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Made<'m, T> {
    Ok(Box::new(BlockBand::by_parts(decision, a)?))
}

/// By a scheme of the driver of partitions.
fn partitioned<'m, T: Scalar>(scheme: Scheme, decision: &Decision, a: Tridiagonal<'m, T>) -> Made<'m, T> {
    Ok(Box::new(Partitioned::new(decision, scheme, a)))
}

/// By partitions, unless there is one block row.
fn block_rpts_of_band<'m, T: Scalar>(decision: &Decision, a: Banded<'m, T>) -> Made<'m, T> {
    if a.n() <= 2 * a.lower().max(a.upper()) {
        return pivoted_band(decision, a);
    }
    Ok(Box::new(BlockRpts::new(decision, a)))
}

/// By partitions, unless there is one block row.
fn block_rpts_of_blocks<'m, T: Scalar>(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Made<'m, T> {
    if a.block_rows() <= 1 {
        return pivoted_blocks(decision, a);
    }
    Ok(Box::new(BlockRpts::new(decision, a)))
}

/// By a method that keeps factors of an open tridiagonal system.
fn stored<'m, T: Scalar, E: Elimination<T> + 'm>(decision: &Decision, a: Tridiagonal<'m, T>) -> Made<'m, T> {
    Ok(Box::new(Stored::<T, E>::new(decision, a)?))
}

/// By a method that keeps factors of dense blocks.
fn stored_blocks<'m, T: Scalar, E: BlockElimination<T> + 'm>(
    decision: &Decision,
    a: BlockTridiagonal<'m, T>,
) -> Made<'m, T> {
    Ok(Box::new(StoredBlocks::<T, E>::new(decision, a)?))
}
