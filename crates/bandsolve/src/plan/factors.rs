//! The functions that factor a matrix, generated from the table of methods, and their instances for each number type.

use crate::contract::factors::Factors;
use crate::contract::probe::Probe;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Tridiagonal};
use crate::method::Method;
use crate::pivoted::many_rhs::BandOnLanes;
use crate::{methods, partition, pivoted};
use bandsolve_kernel::{Scalar, by_type};
use std::sync::Arc;

/// Factors by any method, or an error.
type Made<T, A> = Result<Factors<T, A>>;

/// Calls a function of the table and returns its result, if the entry has the right kind and the method that was decided on.
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

/// The function that factors a matrix, from the brackets of the table.
macro_rules! made_by {
    (module $($module:ident)::+) => { $($module)::+::factor };
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
            Err(decision.unsupported("tridiagonal systems: use `auto` or `pivoted`"))
        }

        fn banded<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<Banded<'m, T>>,
        ) -> Made<T, Banded<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Band, $kind $variant decision (made_by!($($how)+)), a);)*)*
            }
            Err(decision.unsupported(match decision.method {
                Method::Rpts => "bands with more than 8 diagonals on one side: use `auto` or `pivoted`",
                _ => "banded systems: use `auto` or `pivoted`",
            }))
        }

        fn block_tridiagonal<'m, T: Scalar>(
            decision: &Decision,
            a: Arc<BlockTridiagonal<'m, T>>,
        ) -> Made<T, BlockTridiagonal<'m, T>> {
            if decision.method.solves(a.shape()) {
                $($(if_asked!(Blocks, $kind $variant decision (made_by!($($how)+)), a);)*)*
            }
            Err(decision.unsupported(match decision.method {
                Method::Rpts => "blocks of more than 8 rows: use `auto` or `pivoted`",
                _ => "block tridiagonal systems: use `auto` or `pivoted`",
            }))
        }
    };
}
crate::methods!(factor);

/// Factors as the caller holds them.
type Boxed<'m, T> = Result<Box<dyn Probe<T> + 'm>>;

by_type! {
    /// [`tridiagonal`] for each number type, so that no other place compiles it.
    pub(super) struct OfTridiagonal<'p, 'm>: (&'p Decision, Arc<Tridiagonal<'m, T>>) => Boxed<'m, T> =
        |(decision, a)| Ok(Box::new(tridiagonal(decision, a)?));
    /// [`banded`]
    pub(super) struct OfBanded<'p, 'm>: (&'p Decision, Arc<Banded<'m, T>>) => Boxed<'m, T> =
        |(decision, a)| Ok(Box::new(banded(decision, a)?.for_many_rhs(|| BandOnLanes::new(decision, None))));
    /// [`block_tridiagonal`]
    pub(super) struct OfBlockTridiagonal<'p, 'm>: (&'p Decision, Arc<BlockTridiagonal<'m, T>>) => Boxed<'m, T> =
        |(decision, a)| Ok(Box::new(block_tridiagonal(decision, a)?.for_many_rhs(|| BandOnLanes::new(decision, None))));
}
