//! Banded systems of any width by partitions on threads.
//!
//! The first partition is eliminated downwards, the last one upwards, and inner ones from the left. Their interfaces form a banded coarse
//! system, which is solved in the same way.

pub(crate) mod of_blocks;
mod partitions;
mod solve;

use crate::contract::determinant::ScaledProduct;
use crate::contract::factors::Factors;
use crate::contract::verify::{Facts, with_refinement};
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{BandSize, Banded};
use crate::pivoted::banded::{self, BandFactors, OfBand, within};
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;
pub(crate) use partitions::Partitions;
use solve::words_at_most;
use std::sync::Arc;

/// Factor a [`Banded`] matrix as P·S·A·Q = L·U by partitions.
///
/// Q is the order of elimination: first the unknowns of the partitions, then those between them. Only rows of the same partition are
/// exchanged. No other row has entries in the columns of the partition. The factors are therefore those of Gaussian elimination with partial
/// pivoting, and a partition is singular only if A is.
///
/// With [`Pivoting::None`](crate::Pivoting::None), the first and the last partition exchange no rows. Pivots that are too small are
/// enlarged. The reason in the report counts them, and refinement corrects x.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. `lower` and `upper` may exceed n.
///
/// # Cost
/// Two partitions need as many operations as one elimination, half of them on each of two threads. They need 2·lower + upper + 1 words
/// per row (lower + upper + 1 without pivoting), rounded up to cache lines. Per row, inner partitions need about four times as many
/// operations to factor and 3/2 times as many to solve.
///
/// # Errors
/// [`OutOfMemory`](crate::Error::OutOfMemory).
///
/// # Source
/// B. S. Spring, *Enhanced capabilities of the Spike algorithm and a new Spike-OpenMP solver* (2014), chapters 1–3. Here the interfaces are
/// columns, not spikes, so that rows can be exchanged.
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Result<Factors<T, Banded<'m, T>>> {
    let partitions = Partitions::new(decision, &a)?;
    let facts = partitions.facts(Facts::new(decision));
    Ok(Factors::new(a, facts, OfBand(partitions)).or_else(decision, banded::factor))
}

/// Scratch of solves, from the plan alone: at least as much as the factors need.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, (n, lower, upper): BandSize, n_rhs: usize) -> Option<StackReq> {
    let widths = (within(n, lower), within(n, upper));
    let words = |n_rhs| words_at_most(n, widths, n_rhs);
    decision.options.partitions.is_none().then(|| with_refinement::<T>(decision, n, n_rhs, words))
}

impl<T: Scalar> BandFactors<T> for Partitions<T> {
    fn words(&self, n_rhs: usize) -> usize {
        Partitions::scratch(self, n_rhs)
    }

    fn solve(&self, transposed: bool, x: &mut [T], scratch: &mut [T]) {
        Partitions::solve(self, transposed, x, scratch);
    }

    fn product(&self) -> Option<ScaledProduct> {
        Partitions::product(self)
    }
}
