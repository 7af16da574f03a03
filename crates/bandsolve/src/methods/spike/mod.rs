//! Banded systems of any width on threads: partitions, of which the first is eliminated downwards, the last upwards and
//! those between from the left, and a banded system of their interfaces, solved in the same way.

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

/// Factors a [`Banded`] matrix by partitions.
///
/// $$ P\,S\,A\,Q = L\,U $$
///
/// with Q the order in which the unknowns are eliminated: those of the partitions first, those between them last. Rows are
/// exchanged only within a partition, whose rows are all that have entries in its columns: the factors are those of Gaussian
/// elimination with partial pivoting, and no partition can be singular unless A is. Without pivoting
/// ([`Pivoting::None`](crate::Pivoting::None)) the first and the last partition exchange no rows; pivots that are too small
/// are made larger, which the report's reason counts and refinement makes good.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. `lower` and `upper` may exceed n.
///
/// # Cost
/// Two partitions: as many operations as one elimination, half of them on each of two threads, and 2·lower + upper + 1 words
/// a row (without pivoting lower + upper + 1), rounded up to lines of the cache. Inner partitions: about four times the
/// operations of the others a row to factor and 3/2 to solve.
///
/// # Errors
/// Factoring: [`OutOfMemory`](crate::Error::OutOfMemory).
///
/// # Source
/// B. S. Spring, *Enhanced capabilities of the Spike algorithm and a new Spike-OpenMP solver* (2014), chapters 1–3; here the
/// interfaces are columns rather than spikes, so that rows can be exchanged.
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Result<Factors<T, Banded<'m, T>>> {
    let partitions = Partitions::new(decision, &a)?;
    let facts = partitions.facts(Facts::new(decision));
    Ok(Factors::new(a, facts, OfBand(partitions)).or_else(decision, banded::factor))
}

/// Scratch of verified solves, from the plan alone: at least what factors ask for.
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
