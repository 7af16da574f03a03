//! How much scratch solves will take, known from the plan alone.

use crate::contract::verify::refinement_scratch;
use crate::decision::Decision;
use crate::matrix::Shape;
use crate::method::Method;
use crate::methods::{
    bcyclic, block_spike, cholesky, rpts, spike, spike_diagonal_pivoting, spike_qr, spike_thomas, spike_truncated,
};
use crate::partition::block_rpts::Size;
use crate::partition::partitioned::Scheme;
use crate::partition::{block_rpts, partitioned};
use crate::pivoted::band_lu;
use crate::plan::Plan;
use crate::plan::factors::if_asked;
use crate::tuning;
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;

impl Plan {
    /// Scratch that is enough for [`Factor::solve_in_place_with`](crate::Factor::solve_in_place_with), and so for
    /// [`Factor::solve_into_with`](crate::Factor::solve_into_with), with any factors made under this plan: for those who want
    /// the memory before they have the numbers. At least what the factors themselves ask for.
    ///
    /// `None` where only the factors can tell: methods `cr`, `tricr`, `pcr`, `adaptive-cr`, `spike-cr`, batches, a number of
    /// [`partitions`](Self::partitions) that was asked for; and where the method does not solve the shape. Bands are taken
    /// to have leading dimension `lower + upper + 1`.
    ///
    /// # Example
    /// ```
    /// use bandsolve::{Factor, Plan, Shape, Tridiagonal};
    /// let plan = Plan::new(Shape::Tridiagonal { n: 1000, periodic: false });
    /// let scratch = plan.solve_in_place_scratch::<f64>(1).expect("rpts says it beforehand");
    /// let a = Tridiagonal::from_vecs(vec![1.0; 1000], vec![4.0; 1000], vec![1.0; 1000], false)?;
    /// assert!(scratch.size_bytes() >= plan.factor(&a)?.solve_in_place_scratch(1).size_bytes());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_in_place_scratch<T: Scalar>(&self, n_rhs: usize) -> Option<StackReq> {
        if !self.chosen_method().solves(self.shape()) {
            return None;
        }
        let decision = &self.decision;
        let own = match self.chosen_method().takes_for(self.shape()) {
            Shape::Tridiagonal { n, .. } => of_tridiagonal::<T>(decision, n, n_rhs),
            Shape::Banded { n, lower, upper } => of_band::<T>(decision, (n, lower, upper), n_rhs),
            Shape::BlockTridiagonal { block_rows, block, periodic } => {
                of_blocks::<T>(decision, (block_rows, block, periodic), n_rhs)
            }
            Shape::Batch { .. } => None,
        };
        own.map(|own| StackReq::new::<T>(self.shape().n().saturating_mul(n_rhs)).and(own))
    }
}

/// Unknowns, lower and upper diagonals.
type Band = (usize, usize, usize);
/// Block rows, rows of a block, periodic.
type Blocks = (usize, usize, bool);

macro_rules! scratch {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal { $($kind:ident $page:literal by $make:expr, needing $scratch:expr;)* }
    )*) => {
        fn of_tridiagonal<T: Scalar>(decision: &Decision, n: usize, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Tridiagonal, $kind $variant decision $scratch, n, n_rhs);)*)*
            None
        }

        fn of_band<T: Scalar>(decision: &Decision, size: Band, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Band, $kind $variant decision $scratch, size, n_rhs);)*)*
            None
        }

        fn of_blocks<T: Scalar>(decision: &Decision, size: Blocks, n_rhs: usize) -> Option<StackReq> {
            $($(if_asked!(Blocks, $kind $variant decision $scratch, size, n_rhs);)*)*
            None
        }
    };
}
crate::methods!(scratch);

/// Nothing is known before the factors.
fn factors_tell(_: &Decision, _: usize, _: usize) -> Option<StackReq> {
    None
}

/// Of a method that needs nothing of its own.
fn refinement<T: Scalar>(decision: &Decision, n: usize, _: usize) -> Option<StackReq> {
    Some(refinement_scratch::<T>(decision.options.verify, n))
}

fn of_scheme<T: Scalar>(scheme: Scheme, decision: &Decision, n: usize, n_rhs: usize) -> Option<StackReq> {
    Some(partitioned::scratch::<T>(&decision.options, scheme, n, n_rhs))
}

fn rpts_of_band<T: Scalar>(decision: &Decision, (n, lower, upper): Band, n_rhs: usize) -> Option<StackReq> {
    let block = lower.max(upper).max(1);
    if n <= block.saturating_mul(2) {
        return whole_band::<T>(decision, (n, lower, upper), n_rhs);
    }
    let size = Size { n, block_rows: n.div_ceil(block), storage: (block, lower + upper + 1) };
    Some(block_rpts::scratch::<T>(&decision.options, size, n_rhs))
}

/// Diagonals that are within the matrix.
fn within(n: usize, width: usize) -> usize {
    width.min(n.saturating_sub(1))
}

fn whole_band<T: Scalar>(decision: &Decision, (n, lower, upper): Band, n_rhs: usize) -> Option<StackReq> {
    let [lower, upper] = [lower, upper].map(|width| within(n, width));
    Some(with_refinement::<T>(decision, n, n_rhs, |n_rhs| band_lu::words_at_most(lower, upper, n_rhs)))
}

fn partitioned_band<T: Scalar>(decision: &Decision, (n, lower, upper): Band, n_rhs: usize) -> Option<StackReq> {
    let widths = (within(n, lower), within(n, upper));
    let words = |n_rhs| spike::words_at_most(n, widths, n_rhs);
    decision.options.partitions.is_none().then(|| with_refinement::<T>(decision, n, n_rhs, words))
}

fn definite_band<T: Scalar>(decision: &Decision, (n, lower, upper): Band, n_rhs: usize) -> Option<StackReq> {
    let words = |n_rhs| cholesky::words(n, (lower, upper), n_rhs);
    Some(with_refinement::<T>(decision, n, n_rhs, words))
}

fn rpts_of_blocks<T: Scalar>(decision: &Decision, size: Blocks, n_rhs: usize) -> Option<StackReq> {
    let (block_rows, block, _) = size;
    if block_rows <= 1 {
        return blocks_as_whole_band::<T>(decision, size, n_rhs);
    }
    let size = Size { n: decision.shape.n(), block_rows, storage: (block, 0) };
    Some(block_rpts::scratch::<T>(&decision.options, size, n_rhs))
}

fn blocks_as_whole_band<T: Scalar>(decision: &Decision, size: Blocks, n_rhs: usize) -> Option<StackReq> {
    Some(blocks_as_band::<T>(decision, size, n_rhs, |_, reach, n_rhs| band_lu::words_at_most(reach, reach, n_rhs)))
}

fn blocks_as_partitioned_band<T: Scalar>(decision: &Decision, size: Blocks, n_rhs: usize) -> Option<StackReq> {
    let words = |n, reach, n_rhs| spike::words_at_most(n, (reach, reach), n_rhs);
    decision.options.partitions.is_none().then(|| blocks_as_band::<T>(decision, size, n_rhs, words))
}

/// `words`: what sweeps through a band of so many rows and diagonals on either side need for a number of right-hand sides.
fn blocks_as_band<T: Scalar>(
    decision: &Decision,
    (_, block, periodic): Blocks,
    n_rhs: usize,
    words: impl Fn(usize, usize, usize) -> usize,
) -> StackReq {
    let n = decision.shape.n();
    // Periodic systems are folded.
    let (blocks, folded) = if periodic { (3, n) } else { (2, 0) };
    let reach = within(n, block.saturating_mul(blocks).saturating_sub(1));
    with_refinement::<T>(decision, n, n_rhs, |n_rhs| {
        let together = n_rhs.min(tuning::BAND_RHS);
        folded.saturating_mul(together).saturating_add(words(n, reach, together))
    })
}

fn of_bcyclic<T: Scalar>(decision: &Decision, (block_rows, block, _): Blocks, n_rhs: usize) -> Option<StackReq> {
    Some(with_spare_blocks::<T>(decision, block, bcyclic::spare_rows(block_rows), n_rhs))
}

fn of_block_spike<T: Scalar>(
    decision: &Decision,
    (block_rows, block, periodic): Blocks,
    n_rhs: usize,
) -> Option<StackReq> {
    let spare = block_spike::spare_rows(block_rows, periodic, &decision.options);
    Some(with_spare_blocks::<T>(decision, block, spare, n_rhs))
}

/// A copy of the right-hand sides with some block rows more.
fn with_spare_blocks<T: Scalar>(decision: &Decision, block: usize, spare: usize, n_rhs: usize) -> StackReq {
    let n = decision.shape.n();
    let rows = n.saturating_add(spare.saturating_mul(block));
    with_refinement::<T>(decision, n, n_rhs, |n_rhs| rows.saturating_mul(n_rhs))
}

/// Scratch of a verified solve whose own is `words` for a number of right-hand sides.
fn with_refinement<T: Scalar>(decision: &Decision, n: usize, n_rhs: usize, words: impl Fn(usize) -> usize) -> StackReq {
    let own = |n_rhs| StackReq::new::<T>(words(n_rhs));
    own(n_rhs).or(refinement_scratch::<T>(decision.options.verify, n).and(own(1)))
}
