//! Banded systems of any width on threads: partitions, of which the first is eliminated downwards, the last upwards and
//! those between from the left, and a banded system of their interfaces, solved in the same way.

mod partitions;
mod solve;

use crate::contract::inspect::Probe;
use crate::contract::verify::{Factored, Facts, KeepsFactors, Lazy, solve_verified, verified_scratch};
use crate::contract::{Factor, Op, Report};
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, Shape};
use crate::pivoted::{PivotedBanded, around_transpose};
use bandsolve_kernel::Scalar;
use dyn_stack::{PodStack, StackReq};
pub(crate) use partitions::Partitions;
pub(crate) use solve::words_at_most;

/// Factors of a [`Banded`] matrix by partitions.
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
#[derive(Debug)]
pub struct BandedSpike<'m, T: Scalar> {
    a: Banded<'m, T>,
    decision: Decision,
    partitions: Partitions<T>,
    facts: Facts,
    fallback: Lazy<PivotedBanded<'m, T>>,
}

impl<'m, T: Scalar> BandedSpike<'m, T> {
    /// Factors `a`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(decision: &Decision, a: Banded<'m, T>) -> Result<Self> {
        let partitions = Partitions::new(decision, &a)?;
        let facts = partitions.facts(Facts::new(decision));
        Ok(Self { a, decision: decision.clone(), partitions, facts, fallback: Lazy::new() })
    }
}

impl<T: Scalar> KeepsFactors for BandedSpike<'_, T> {}

impl<'m, T: Scalar> Factored<T> for BandedSpike<'m, T> {
    type Matrix = Banded<'m, T>;

    fn matrix(&self) -> &Banded<'m, T> {
        &self.a
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        let n = self.a.n();
        if n == 0 {
            return;
        }
        let (scratch, _) = stack.make_raw::<T>(self.partitions.scratch(x.len() / n));
        around_transpose(op, x, |x| self.partitions.solve(op, x, scratch));
    }

    fn fallback(&self) -> Option<Result<&dyn Probe<T>>> {
        let make = || PivotedBanded::new(&self.decision.with_best_pivots(), self.a.clone());
        Some(self.fallback.get(make).map(|factor| factor as &dyn Probe<T>))
    }
}

impl<T: Scalar> Factor<T> for BandedSpike<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let own = |n_rhs| StackReq::new::<T>(self.partitions.scratch(n_rhs));
        own(n_rhs).or(verified_scratch(self).and(own(1)))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        solve_verified(self, op, rhs, x, stack)
    }
}
