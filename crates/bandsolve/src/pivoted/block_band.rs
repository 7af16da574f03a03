//! Block tridiagonal systems as banded ones: LU with partial pivoting over whole block rows, of the whole or by partitions.
//!
//! An open system of N block rows of b rows has 2b − 1 diagonals on either side. A periodic one is folded: its block rows
//! are taken in the order 0, N−1, 1, N−2, …, in which neighbours on the ring are at most two places apart, and so has 3b − 1.

use crate::contract::determinant::Product;
use crate::contract::inspect::Probe;
use crate::contract::verify::{
    BestPivots, Equations, Factored, Facts, KeepsFactors, Matrix, Report, solve_verified, verified_scratch,
};
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, BlockTridiagonal, Shape};
use crate::pivoted::around_transpose;
use crate::pivoted::band_lu::array;
use crate::pivoted::banded_spike::Partitions;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::{Wide, each_chunk};
use dyn_stack::{PodStack, StackReq};

/// Factors of a block tridiagonal matrix.
///
/// # Cost
/// Those of the banded matrix, which stands in memory as a whole while it is factored: 4·b − 1 words a row, folded 6·b − 1.
#[derive(Debug)]
pub struct BlockBand<'m, T: Scalar> {
    a: BlockTridiagonal<'m, T>,
    partitions: Partitions<T>,
    facts: Facts,
    /// Of more than one partition, or with other than the best pivots.
    fallback: Option<BestPivots<BlockBand<'m, T>>>,
}

impl<'m, T: Scalar> BlockBand<'m, T> {
    /// Factors `a` as a whole.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn pivoted(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Result<Self> {
        let partitions = with_band(decision, &a, |band| Partitions::whole(decision, band))?;
        let facts = partitions.facts(Facts::pivoted(decision));
        Ok(Self { a, partitions, facts, fallback: BestPivots::unless_chosen(decision) })
    }

    /// Factors `a` by partitions.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn by_parts(decision: &Decision, a: BlockTridiagonal<'m, T>) -> Result<Self> {
        let partitions = with_band(decision, &a, |band| Partitions::new(decision, band))?;
        let facts = partitions.facts(Facts::new(decision));
        Ok(Self { a, partitions, facts, fallback: Some(BestPivots::new(decision)) })
    }

    /// Places of the unknowns of block row `row` in the order of elimination.
    fn place(&self, row: usize) -> core::ops::Range<usize> {
        let b = self.a.block();
        let place = folded(row, self.a.block_rows());
        place * b..(place + 1) * b
    }
}

/// The place of block row `row` of `n` in the order 0, n−1, 1, n−2, …
fn folded(row: usize, n: usize) -> usize {
    if row < n.div_ceil(2) { 2 * row } else { 2 * (n - 1 - row) + 1 }
}

/// The inverse of [`folded`].
fn unfolded(place: usize, n: usize) -> usize {
    if place.is_multiple_of(2) { place / 2 } else { n - 1 - place / 2 }
}

/// Calls `factor` with the matrix in band storage, folded if it is periodic.
fn with_band<T: Scalar, R>(
    decision: &Decision,
    a: &BlockTridiagonal<'_, T>,
    factor: impl FnOnce(&Banded<'_, T>) -> Result<R>,
) -> Result<R> {
    let (b, count, periodic) = (a.block(), a.block_rows(), a.is_periodic());
    let half = if periodic { 3 * b } else { 2 * b } - 1;
    let leading = 2 * half + 1;
    let mut bands = array((count * b).saturating_mul(leading), Some(&decision.pool))?;
    // Blocks of one block column are those of a block row of the transpose.
    let columns = a.rows().transposed(false);
    let place = |row: usize| b * if periodic { folded(row, count) } else { row };
    let fill = |p: usize, Wide(to, _): Wide<'_, T>| {
        to.fill(T::ZERO);
        let [above, on, below] = columns.blocks(if periodic { unfolded(p, count) } else { p });
        // Corners first where they fall on other blocks, as the equations add them.
        for (row, block) in [above, below, on].into_iter().flatten() {
            for (c, entries) in block.chunks_exact(b).enumerate() {
                let to = &mut to[half + place(row) - (p * b + c) + c * leading..][..b];
                to.iter_mut().zip(entries).for_each(|(to, a)| *to += *a);
            }
        }
    };
    let least = if decision.options.threads > 1 { COLUMNS_TASK } else { 0 };
    each_chunk((count, least), Wide(&mut bands, b * leading), &fill);
    factor(&Banded::new(count * b, half, half, &bands)?)
}

/// Block columns that are worth a task.
const COLUMNS_TASK: usize = 1 << 10;

impl<T: Scalar> Matrix<T> for BlockTridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op) -> impl Equations<T> {
        op.block_rows(self)
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

impl<T: Scalar> KeepsFactors for BlockBand<'_, T> {}

impl<'m, T: Scalar> Factored<T> for BlockBand<'m, T> {
    type Matrix = BlockTridiagonal<'m, T>;

    fn matrix(&self) -> &BlockTridiagonal<'m, T> {
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
        let group = n * tuning::BAND_RHS;
        let (scratch, stack) = stack.make_raw::<T>(self.partitions.scratch(group.min(x.len()) / n));
        around_transpose(op, x, |x| {
            if !self.a.is_periodic() {
                return x.chunks_mut(group).for_each(|x| self.partitions.solve(op, x, scratch));
            }
            let (b, (spare, _)) = (self.a.block(), stack.make_raw::<T>(group.min(x.len())));
            for x in x.chunks_mut(group) {
                let spare = &mut spare[..x.len()];
                for (x, spare) in x.chunks_exact(n).zip(spare.chunks_exact_mut(n)) {
                    x.chunks_exact(b).enumerate().for_each(|(row, x)| spare[self.place(row)].copy_from_slice(x));
                }
                self.partitions.solve(op, spare, scratch);
                for (x, spare) in x.chunks_exact_mut(n).zip(spare.chunks_exact(n)) {
                    x.chunks_exact_mut(b).enumerate().for_each(|(row, x)| x.copy_from_slice(&spare[self.place(row)]));
                }
            }
        });
    }

    fn fallback(&self) -> Option<Result<&dyn Probe<T>>> {
        let made = self.fallback.as_ref()?.get(|decision| Self::pivoted(decision, self.a.clone()));
        Some(made.map(|factor| factor as &dyn Probe<T>))
    }

    fn product(&self) -> Option<Product> {
        // A periodic system is folded by a symmetric permutation, which keeps the determinant.
        if self.facts.singular.is_some() { Some(Product::ZERO) } else { self.partitions.product() }
    }
}

impl<T: Scalar> Factor<T> for BlockBand<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let folded = if self.a.is_periodic() { self.a.n() } else { 0 };
        let own = |n_rhs: usize| {
            let together = n_rhs.min(tuning::BAND_RHS);
            StackReq::new::<T>(self.partitions.scratch(together)).and(StackReq::new::<T>(folded * together))
        };
        own(n_rhs).or(verified_scratch(self).and(own(1)))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        solve_verified(self, op, rhs, x, stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex64;
    use crate::Plan;
    use crate::contract::verify::good;

    #[test]
    fn neighbours_on_the_ring_stay_near() {
        for n in 1..20 {
            let mut places: Vec<usize> = (0..n).map(|row| folded(row, n)).collect();
            assert!((0..n).all(|row| places[row].abs_diff(places[(row + 1) % n]) <= 2), "{n}");
            assert!((0..n).all(|row| unfolded(places[row], n) == row), "{n}");
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n));
        }
    }

    #[test]
    fn open_and_periodic_systems_are_solved_with_all_three_operators() {
        for (rows, block) in [(1, 1), (1, 3), (2, 2), (3, 2), (7, 3), (40, 1), (30, 8)] {
            for periodic in [false, true] {
                let wave = |k: usize| {
                    let value = |i: usize| Complex64::new((i as f64 * 1.7 + k as f64).sin(), (i as f64 * 0.9).cos());
                    (0..rows * block * block).map(value).collect::<Vec<_>>()
                };
                let a = BlockTridiagonal::from_vecs(block, [wave(1), wave(2), wave(3)], periodic).unwrap();
                let factor = BlockBand::pivoted(&Plan::new(a.shape()).decision, a.view()).unwrap();
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
