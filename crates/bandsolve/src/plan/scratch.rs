//! The scratch size of solves, from the plan alone.

use crate::decision::Decision;
use crate::matrix::{BandSize, BlockSize, Shape};
use crate::method::Method;
use crate::pivoted::many_rhs;
use crate::plan::Plan;
use crate::plan::factors::if_asked;
use crate::{methods, partition, pivoted};
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;

impl Plan {
    /// Scratch for solves with any factors of this plan, known before the matrix is. The factors of a
    /// [`PeriodicBanded`](crate::PeriodicBanded) need room for one more copy of the right-hand sides.
    ///
    /// The scratch suffices for [`Factor::solve_in_place_with`](crate::Factor::solve_in_place_with) and
    /// [`Factor::solve_into_with`](crate::Factor::solve_into_with). It can be larger than the scratch that the factors themselves need.
    /// For bands, the leading dimension is assumed to be `lower + upper + 1`.
    ///
    /// Returns `None` if the size depends on the factors, or the method does not solve the shape. The size depends on the factors for
    /// methods `cr`, `tricr`, `pcr`, `adaptive-cr` and `spike-cr`, for batches, and for plans with a number of
    /// [`partitions`](Self::partitions).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::{Factor, Plan, Shape, Tridiagonal};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 1000, periodic: false });
    /// let scratch = plan.solve_in_place_scratch::<f64>(1).expect("rpts knows its scratch size");
    /// let a = Tridiagonal::from_vecs(vec![1.0; 1000], vec![4.0; 1000], vec![1.0; 1000], false)?;
    /// assert!(scratch.size_bytes() >= plan.factor(&a)?.solve_in_place_scratch(1).size_bytes());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_in_place_scratch<T: Scalar>(&self, n_rhs: usize) -> Option<StackReq> {
        if !self.chosen_method().solves(self.shape()) {
            return None;
        }
        let decision = &self.decision;
        let by_method = |n_rhs| match self.chosen_method().takes_for(self.shape()) {
            Shape::Tridiagonal { n, .. } => of_tridiagonal::<T>(decision, n, n_rhs),
            Shape::Banded { n, lower, upper } => of_band::<T>(decision, (n, lower, upper), n_rhs),
            Shape::BlockTridiagonal { block_rows, block, periodic } => {
                of_blocks::<T>(decision, (block_rows, block, periodic), n_rhs)
            }
            Shape::Batch { .. } | Shape::BandedBatch { .. } => None,
        };
        let scratch = match many_rhs::scratch::<T>(decision, n_rhs) {
            Some(on_lanes) => by_method(n_rhs).zip(by_method(1)).map(|(all, one)| all.or(on_lanes.and(one))),
            None => by_method(n_rhs),
        };
        scratch.map(|scratch| StackReq::new::<T>(self.shape().n().saturating_mul(n_rhs)).and(scratch))
    }
}

/// The function that returns the scratch size, from the brackets of the table.
macro_rules! needed_by {
    (module $($module:ident)::+) => { $($module)::+::scratch::<T> };
    (scheme $method:ident) => {
        |d, n, n_rhs| partition::partitioned::scratch_of_plan::<T>(methods::$method::scheme(d), d, n, n_rhs)
    };
    ($stored:ident $method:ident :: $($factors:tt)+) => { methods::$stored::scratch::<T, methods::$method::$($factors)+> };
}

macro_rules! scratch {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal [$($how:tt)+];)* }
    )*) => {
        fn of_tridiagonal<T: Scalar>(decision: &Decision, n: usize, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Tridiagonal, $kind $variant decision (needed_by!($($how)+)), n, n_rhs);)*)*
            None
        }

        fn of_band<T: Scalar>(decision: &Decision, size: BandSize, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Band, $kind $variant decision (needed_by!($($how)+)), size, n_rhs);)*)*
            None
        }

        fn of_blocks<T: Scalar>(decision: &Decision, size: BlockSize, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Blocks, $kind $variant decision (needed_by!($($how)+)), size, n_rhs);)*)*
            None
        }
    };
}
crate::methods!(scratch);
