//! Block tridiagonal systems as banded ones, with partial pivoting over whole block rows.
//!
//! An open system of blocks of b rows is a band with 2b − 1 diagonals on each side. A periodic system is folded ([`RingOrder`]): coupled block
//! rows are then at most two places apart, and the band has 3b − 1 diagonals on each side.

use crate::contract::determinant::ScaledProduct;
use crate::contract::factors::{Factors, Solver};
use crate::contract::verify::{Facts, with_refinement};
use crate::decision::{Decision, Pivoting};
use crate::error::Result;
use crate::matrix::{Banded, BlockSize, BlockTridiagonal, RingOrder, block_reach};
use crate::memory::array;
use crate::pivoted::band_lu::{self, BandLu};
use crate::pivoted::banded::{BandFactors, within};
use crate::pivoted::many_rhs::{BandOnLanes, NarrowBand};
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// Factors of a block tridiagonal matrix as a band.
///
/// # Cost
/// The cost of the banded matrix. During the factorisation, the band needs 4·b − 1 words per row, or 6·b − 1 if it is folded.
#[derive(Debug)]
pub(crate) struct BlockBand<B>(pub B);

/// Factor `a` as a whole by the sequential pivoted method, whichever method was decided on.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<BlockTridiagonal<'m, T>>,
) -> Result<Factors<T, BlockTridiagonal<'m, T>>> {
    let mut facts = Facts::pivoted(decision);
    let lu = Arc::new(with_band(decision, &a, |band| BandLu::under_plan(decision, band, &mut facts))?);
    let factors = Factors::new(a, facts, BlockBand(lu.clone())).for_many_rhs(|| BandOnLanes::new(decision, Some(&lu)));
    Ok(if decision.options.pivoting == Pivoting::ScaledPartial { factors } else { factors.or_else(decision, factor) })
}

/// Scratch of solves, from the plan alone: at least as much as the factors need.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, size: BlockSize, n_rhs: usize) -> Option<StackReq> {
    Some(scratch_by::<T>(decision, size, n_rhs, |_, reach, n_rhs| band_lu::words_at_most(reach, reach, n_rhs)))
}

/// Scratch of solves. `words(n, reach, n_rhs)` is the scratch of sweeps through a band of n rows with `reach` diagonals on each side.
pub(crate) fn scratch_by<T: Scalar>(
    decision: &Decision,
    size: BlockSize,
    n_rhs: usize,
    words: impl Fn(usize, usize, usize) -> usize,
) -> StackReq {
    let n = decision.shape.n();
    let (reach, folded) = (within(n, block_reach(size)), if size.2 { n } else { 0 });
    with_refinement::<T>(decision, n, n_rhs, |n_rhs| {
        let group_size = n_rhs.min(tuning::BAND_RHS);
        folded.saturating_mul(group_size).saturating_add(words(n, reach, group_size))
    })
}

/// The order of the block rows, if it is not their own.
fn order<T: Scalar>(a: &BlockTridiagonal<'_, T>) -> Option<RingOrder> {
    a.is_periodic().then(|| RingOrder::new(a.block_rows(), a.block()))
}

/// Call `factor` with the matrix in band storage, folded if it is periodic.
pub(crate) fn with_band<T: Scalar, R>(
    decision: &Decision,
    a: &BlockTridiagonal<'_, T>,
    factor: impl FnOnce(&Banded<'_, T>) -> Result<R>,
) -> Result<R> {
    let (b, count, order) = (a.block(), a.block_rows(), order(a));
    let half = block_reach((count, b, order.is_some()));
    let leading = 2 * half + 1;
    let mut bands = array((count * b).saturating_mul(leading), Some(&decision.pool))?;
    // The blocks of a block column are those of a block row of the transpose.
    let columns = a.rows().transposed(false);
    let position = |row: usize| order.map_or(row, |order| order.position(row));
    let fill = |p: usize, RowsOf(to, _): RowsOf<'_, T>| {
        to.fill(T::ZERO);
        let [above, on, below] = columns.blocks(order.map_or(p, |order| order.place(p)));
        // If corner blocks share a column with other blocks, they come first, in the same order of additions as in the equations.
        for (row, block) in [above, below, on].into_iter().flatten() {
            for (c, entries) in block.chunks_exact(b).enumerate() {
                let to = &mut to[half + position(row) * b - (p * b + c) + c * leading..][..b];
                to.iter_mut().zip(entries).for_each(|(to, a)| *to += *a);
            }
        }
    };
    let least = if decision.options.threads > 1 { tuning::COLUMNS_TASK } else { 0 };
    each_chunk((count, least), RowsOf(&mut bands, b * leading), &fill);
    factor(&Banded::new(count * b, half, half, &bands)?)
}

impl<T: Scalar> NarrowBand<T> for BlockTridiagonal<'_, T> {
    fn as_band<R>(&self, decision: &Decision, factor: impl FnOnce(&Banded<'_, T>) -> Result<R>) -> Result<R> {
        with_band(decision, self, factor)
    }
}

impl<'m, T: Scalar, B: BandFactors<T>> Solver<T, BlockTridiagonal<'m, T>> for BlockBand<B> {
    fn scratch(&self, a: &BlockTridiagonal<'m, T>, n_rhs: usize) -> StackReq {
        let folded = if a.is_periodic() { a.n() } else { 0 };
        let group_size = n_rhs.min(tuning::BAND_RHS);
        StackReq::new::<T>(self.0.words(group_size)).and(StackReq::new::<T>(folded * group_size))
    }

    fn solve(&self, a: &BlockTridiagonal<'m, T>, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        let n = a.n();
        if n == 0 {
            return;
        }
        let group = n * tuning::BAND_RHS;
        let (scratch, stack) = stack.make_raw::<T>(self.0.words(group.min(x.len()) / n));
        let Some(order) = order(a) else {
            return x.chunks_mut(group).for_each(|x| self.0.solve(transposed, x, scratch));
        };
        let (folded, _) = stack.make_raw::<T>(group.min(x.len()));
        for x in x.chunks_mut(group) {
            let folded = &mut folded[..x.len()];
            order.fold(x, folded);
            self.0.solve(transposed, folded, scratch);
            order.unfold(folded, x);
        }
    }

    /// Folding is a symmetric permutation, which does not change the determinant.
    fn product(&self, _a: &BlockTridiagonal<'m, T>) -> Option<ScaledProduct> {
        self.0.product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::refine::good;
    use crate::{Complex64, Factor, Op, Plan};

    #[test]
    fn open_and_periodic_systems_are_solved_with_all_three_operators() {
        for (rows, block) in [(1, 1), (1, 3), (2, 2), (3, 2), (7, 3), (40, 1), (30, 8)] {
            for periodic in [false, true] {
                let wave = |k: usize| {
                    let value = |i: usize| Complex64::new((i as f64 * 1.7 + k as f64).sin(), (i as f64 * 0.9).cos());
                    (0..rows * block * block).map(value).collect::<Vec<_>>()
                };
                let a = BlockTridiagonal::from_vecs(block, [wave(1), wave(2), wave(3)], periodic).unwrap();
                let factor = factor(&Plan::new(a.shape()).decision, Arc::new(a.view())).unwrap();
                let rhs: Vec<_> = (0..2 * a.n()).map(|i| Complex64::new((i as f64).cos(), 0.3)).collect();
                for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
                    let mut x = rhs.clone();
                    let mut memory = dyn_stack::PodBuffer::new(factor.solve_in_place_scratch(2));
                    let report = factor.solve_in_place_with(op, &mut x, PodStack::new(&mut memory)).unwrap();
                    assert!(report.backward_error <= good::<f64>(), "{rows} × {block}, {op:?}");
                    let dense = |i: usize, j: usize| match op {
                        Op::Plain => a.get(i, j),
                        Op::Transpose => a.get(j, i),
                        Op::ConjTranspose => a.get(j, i).conj(),
                    };
                    for i in 0..a.n() {
                        let dot: Complex64 = (0..a.n()).map(|j| dense(i, j) * x[j]).sum();
                        let size: f64 = (0..a.n()).map(|j| dense(i, j).norm() * x[j].norm()).sum();
                        assert!((dot - rhs[i]).norm() <= 1e-13 * (size + 1.0), "row {i}, {op:?}");
                    }
                }
            }
        }
    }
}
