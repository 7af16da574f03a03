//! BCYCLIC on a device: block cyclic reduction of a chain or a ring of block rows, by batches of products and factorizations.
//!
//! The equations are those of the CPU (`bandsolve::methods::bcyclic`). Rows 1, 3, 5, … of a level are eliminated:
//!
//! ```text
//! Âₑ = Dₑ⁻¹ Aₑ,   Ĉₑ = Dₑ⁻¹ Cₑ
//! Aₖ′ = −Aₖ Âₖ₋₁,   Dₖ′ = Dₖ − Aₖ Ĉₖ₋₁ − Cₖ Âₖ₊₁,   Cₖ′ = −Cₖ Ĉₖ₊₁
//! ```
//!
//! Each step of a level is one batch for all its rows, and operations on a block have the order of the CPU. Each level has three arrays of
//! blocks. The factors of Dₑ, and Âₑ and Ĉₑ, replace the blocks of the eliminated rows. The blocks Aₖ and Cₖ of the other rows stay. Dₖ
//! moves to the next level, and its place takes the inverse of Dₖ₊₁. Right-hand sides are in the order of the rows: row i of level l is
//! block row i·2ˡ.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), equations (7a)–(7c), Algorithms 1 and 2.

use crate::block_batches::{BlockBatches, DenseColumns};
use crate::dense::{BlockFactors, ListedBlocks, ProductResult, SpacedBlocks};
use crate::device::{DeviceScalar, DeviceVec};
use crate::elimination::{DIAG, DeviceElimination, LEFT, RIGHT};
use bandsolve::Result;
use core::mem::size_of;
use std::sync::Arc;

/// The blocks of a level.
struct ChainLevel<T> {
    /// Number of rows.
    rows: usize,
    /// The eliminated rows of all levels before.
    before: usize,
    arrays: [DeviceVec<T>; 3],
}

/// Rows whose blocks have lists of addresses.
#[derive(Debug, Clone, Copy)]
enum BlockList {
    /// The pivots of eliminated rows.
    Pivots,
    /// Their couplings to the left and to the right.
    Left,
    Right,
    /// The places of their inverses.
    Inverses,
    /// Their rows of the solution.
    Solution,
}

impl BlockList {
    const ALL: [Self; 5] = [Self::Pivots, Self::Left, Self::Right, Self::Inverses, Self::Solution];
}

/// Factors of a chain or a ring of block rows.
///
/// # Cost
/// Per block row of b rows: memory for 6·b² numbers, and 12⅔·b³ operations to factor (14⅔·b³ with inverses). A solve takes 10·b²
/// operations per right-hand side.
pub(crate) struct DeviceBcyclic<T: DeviceScalar> {
    batches: Arc<BlockBatches<T>>,
    /// Whether the first and the last row are neighbors.
    ring: bool,
    levels: Vec<ChainLevel<T>>,
    exchanges: DeviceVec<i32>,
    status: DeviceVec<i32>,
    /// The addresses of blocks: for each level, the lists of [`BlockList::ALL`].
    lists: DeviceVec<u64>,
    /// Right-hand sides.
    z: DenseColumns,
    /// Solutions.
    w: DenseColumns,
}

impl<T> ChainLevel<T> {
    /// Number of eliminated rows, the first one, and the distance to the next one.
    fn eliminated(&self) -> (usize, usize, usize) {
        if self.rows == 1 { (1, 0, 1) } else { (self.rows / 2, 1, 2) }
    }
}

impl<T: DeviceScalar> DeviceBcyclic<T> {
    /// Allocate memory for `n` block rows, with right-hand sides and solutions in `columns`.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`].
    pub fn new(batches: &Arc<BlockBatches<T>>, n: usize, ring: bool, columns: [DenseColumns; 2]) -> Result<Self> {
        let (device, block) = (batches.device(), batches.block());
        let (mut levels, mut rows, mut before) = (Vec::new(), n, 0);
        loop {
            let array = || device.zeros(rows * block * block);
            let level = ChainLevel { rows, before, arrays: [array()?, array()?, array()?] };
            before += level.eliminated().0;
            levels.push(level);
            if rows == 1 {
                break;
            }
            rows = rows.div_ceil(2);
        }
        let [z, w] = columns;
        let mut bcyclic = Self {
            batches: batches.clone(),
            ring,
            levels,
            exchanges: device.zeros(n * block)?,
            status: device.zeros(n)?,
            lists: device.zeros(0)?,
            z,
            w,
        };
        bcyclic.lists = device.upload(&bcyclic.addresses())?;
        Ok(bcyclic)
    }

    /// Set all couplings to zero.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`].
    pub fn clear_couplings(&mut self) -> Result<()> {
        [LEFT, RIGHT].into_iter().try_for_each(|side| self.levels[0].arrays[side].slice_mut(..).clear())
    }

    /// The lists of all levels.
    fn addresses(&self) -> Vec<u64> {
        let lists = |k: usize| BlockList::ALL.into_iter().map(move |list| (k, list));
        let all = (0..self.levels.len()).flat_map(lists);
        all.flat_map(|(k, list)| {
            BlockBatches::<T>::addresses(self.listed(k, list).blocks, self.levels[k].eliminated().0)
        })
        .collect()
    }

    /// Blocks of a level that have a list of addresses.
    fn listed(&self, k: usize, list: BlockList) -> ListedBlocks {
        let level = &self.levels[k];
        let (count, first, step) = level.eliminated();
        let blocks = match list {
            BlockList::Pivots => self.blocks(k, DIAG, first, step),
            BlockList::Left => self.blocks(k, LEFT, first, step),
            BlockList::Right => self.blocks(k, RIGHT, first, step),
            // The last row has no couplings.
            BlockList::Inverses if level.rows == 1 => self.blocks(k, LEFT, 0, 1),
            BlockList::Inverses => self.blocks(k, DIAG, 0, 2),
            BlockList::Solution => self.rows(self.w, k, first, step),
        };
        let place = BlockList::ALL.len() * level.before + list as usize * count;
        // The lists do not exist while their addresses are computed.
        ListedBlocks { blocks, list: self.lists.slice(..).address() + (place * size_of::<u64>()) as u64 }
    }

    /// Blocks `first`, `first + step`, … of an array of a level.
    fn blocks(&self, k: usize, array: usize, first: usize, step: usize) -> SpacedBlocks {
        self.batches.blocks(self.levels[k].arrays[array].slice(..).address(), first, step)
    }

    /// Rows `first`, `first + step`, … of a level.
    fn rows(&self, columns: DenseColumns, k: usize, first: usize, step: usize) -> SpacedBlocks {
        columns.rows::<T>(first << k, step << k)
    }

    fn factors(&self, k: usize) -> BlockFactors {
        let (level, block) = (&self.levels[k], self.batches.block());
        BlockFactors {
            block,
            count: level.eliminated().0,
            blocks: self.listed(k, BlockList::Pivots),
            exchanges: self.exchanges.slice(level.before * block..).address(),
            status: self.status.slice(level.before..).address(),
        }
    }

    /// A ring of two rows becomes a chain whose couplings are added, and a ring of one row has no couplings. Returns whether a ring is left.
    fn close_small_ring(&self, k: usize, ring: bool) -> Result<bool> {
        let rows = self.levels[k].rows;
        if !ring || rows > 2 {
            return Ok(ring);
        }
        let folds = match rows {
            2 => [[(RIGHT, 0), (LEFT, 0)], [(LEFT, 1), (RIGHT, 1)]],
            _ => [[(DIAG, 0), (LEFT, 0)], [(DIAG, 0), (RIGHT, 0)]],
        };
        let numbers = self.batches.block().pow(2);
        for fold in folds {
            let [to, from] = fold.map(|(array, row)| self.blocks(k, array, row, 1).first);
            self.batches.fold(to, from, numbers)?;
        }
        Ok(false)
    }

    /// Factor the diagonal blocks of the eliminated rows of a level, and divide their couplings by them. Diagonal blocks that stay move to
    /// the next level.
    fn eliminate(&self, k: usize, suspects: u64) -> Result<()> {
        let (batches, factors, inverses) = (&self.batches, self.factors(k), self.listed(k, BlockList::Inverses));
        batches.factor(&factors, suspects)?;
        if k + 1 < self.levels.len() {
            let remaining = self.levels[k + 1].rows;
            batches.copy(self.blocks(k + 1, DIAG, 0, 1), self.blocks(k, DIAG, 0, 2), batches.block(), remaining)?;
        }
        batches.invert(inverses, &factors)?;
        if k + 1 == self.levels.len() {
            return Ok(());
        }
        for list in [BlockList::Left, BlockList::Right] {
            // The next level does not have its couplings yet.
            let spare = self.blocks(k + 1, LEFT, 0, 1);
            batches.divide((&factors, inverses.blocks), self.listed(k, list), spare)?;
        }
        Ok(())
    }

    /// Compute the couplings and the diagonal blocks of the next level.
    fn absorb(&self, k: usize, ring: bool) -> Result<()> {
        let (rows, block, remaining) = (self.levels[k].rows, self.batches.block(), self.levels[k + 1].rows);
        for side in [LEFT, RIGHT] {
            let other = RIGHT - side;
            for join in joins(rows, ring, side) {
                let Join { stays, gone, count } = join;
                let link = self.blocks(k, side, 2 * stays, 2);
                let [same, across] = [side, other].map(|array| self.blocks(k, array, 2 * gone + 1, 2));
                let (diag, fill) = (self.blocks(k + 1, DIAG, stays, 1), self.blocks(k + 1, side, stays, 1));
                self.batches.product((ProductResult::Subtract, false), diag, [link, across], (block, count))?;
                self.batches.fill_in(fill, [link, same], count)?;
            }
            // The first or last row that stays has no eliminated neighbor on this side.
            let alone = match side {
                LEFT if !(ring && rows.is_multiple_of(2)) => Some(0),
                RIGHT if !rows.is_multiple_of(2) => Some(remaining - 1),
                _ => None,
            };
            if let Some(row) = alone {
                self.batches.copy(self.blocks(k + 1, side, row, 1), self.blocks(k, side, 2 * row, 1), block, 1)?;
            }
        }
        Ok(())
    }

    /// w ← D⁻¹·z or D⁻ᵀ·z for the eliminated rows of a level.
    fn divide(&self, k: usize, transposed: bool, n_rhs: usize) -> Result<()> {
        let (_, first, step) = self.levels[k].eliminated();
        let (z, w) = (self.rows(self.z, k, first, step), self.listed(k, BlockList::Solution));
        let inverses = self.listed(k, BlockList::Inverses).blocks;
        self.batches.divide_columns((&self.factors(k), inverses), transposed, (w, z), n_rhs)
    }

    /// Subtract the eliminated rows of a level, in `gone`, from the right-hand sides `z` of the rows that stay.
    fn substitute(&self, k: usize, transposed: bool, [z, gone]: [DenseColumns; 2], n_rhs: usize) -> Result<()> {
        for side in [LEFT, RIGHT] {
            for join in joins(self.levels[k].rows, self.has_ring(k), side) {
                let Join { stays, gone: first, count } = join;
                let a = match transposed {
                    false => self.blocks(k, side, 2 * stays, 2),
                    // Seen from the eliminated row, this row is on the opposite side.
                    true => self.blocks(k, RIGHT - side, 2 * first + 1, 2),
                };
                let (c, b) = (self.rows(z, k, 2 * stays, 2), self.rows(gone, k, 2 * first + 1, 2));
                self.batches.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
            }
        }
        Ok(())
    }

    /// Subtract the rows that stay, with their solutions in `w`, from the eliminated rows of a level, in `gone`.
    fn substitute_back(&self, k: usize, transposed: bool, [gone, w]: [DenseColumns; 2], n_rhs: usize) -> Result<()> {
        // The right neighbors of rows that stay first: those are rows with this neighbor on their left.
        for side in [RIGHT, LEFT] {
            for join in joins(self.levels[k].rows, self.has_ring(k), side) {
                let Join { stays, gone: first, count } = join;
                let a = match transposed {
                    false => self.blocks(k, RIGHT - side, 2 * first + 1, 2),
                    true => self.blocks(k, side, 2 * stays, 2),
                };
                let (c, b) = (self.rows(gone, k, 2 * first + 1, 2), self.rows(w, k, 2 * stays, 2));
                self.batches.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
            }
        }
        Ok(())
    }

    /// Whether the first and the last row of a level are neighbors when its rows are eliminated.
    fn has_ring(&self, k: usize) -> bool {
        self.ring && self.levels[k].rows > 2
    }
}

impl<T: DeviceScalar> DeviceElimination<T> for DeviceBcyclic<T> {
    fn arrays(&self) -> [u64; 3] {
        self.levels[0].arrays.each_ref().map(|array| array.slice(..).address())
    }

    fn bytes(&self) -> usize {
        let blocks = self.levels.iter().flat_map(|level| &level.arrays).map(DeviceVec::len);
        blocks.sum::<usize>() * size_of::<T>()
            + (self.exchanges.len() + self.status.len()) * size_of::<i32>()
            + self.lists.len() * size_of::<u64>()
    }

    fn factor(&mut self, suspects: u64) -> Result<()> {
        let mut ring = self.ring;
        for k in 0..self.levels.len() {
            ring = self.close_small_ring(k, ring)?;
            self.eliminate(k, suspects)?;
            if k + 1 < self.levels.len() {
                self.absorb(k, ring)?;
            }
        }
        Ok(())
    }

    fn solve(&mut self, transposed: bool, n_rhs: usize) -> Result<()> {
        let last = self.levels.len() - 1;
        let gone = if transposed { self.z } else { self.w };
        for k in 0..last {
            if !transposed {
                self.divide(k, transposed, n_rhs)?;
            }
            self.substitute(k, transposed, [self.z, gone], n_rhs)?;
        }
        self.divide(last, transposed, n_rhs)?;
        for k in (0..last).rev() {
            self.substitute_back(k, transposed, [gone, self.w], n_rhs)?;
            if transposed {
                self.divide(k, transposed, n_rhs)?;
            }
        }
        Ok(())
    }
}

/// Rows that stay and their eliminated neighbors on one side: `count` pairs from these two on, counted among rows of their kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Join {
    stays: usize,
    gone: usize,
    count: usize,
}

/// The pairs of rows that stay and their eliminated neighbors on a side, in a level of `rows` rows.
fn joins(rows: usize, ring: bool, side: usize) -> impl Iterator<Item = Join> {
    let (gone, stay) = (rows / 2, rows.div_ceil(2));
    let corner = side == LEFT && ring && rows.is_multiple_of(2);
    let inner = match side {
        LEFT => Join { stays: 1, gone: 0, count: stay - 1 },
        _ => Join { stays: 0, gone: 0, count: gone },
    };
    [inner].into_iter().chain(corner.then(|| Join { stays: 0, gone: gone - 1, count: 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_of_chains_and_rings() {
        for rows in 2..9 {
            for ring in [false, true] {
                for (side, step) in [(LEFT, rows - 1), (RIGHT, 1)] {
                    let all = joins(rows, ring, side);
                    let pairs = all.flat_map(|join| (0..join.count).map(move |k| (join.stays + k, join.gone + k)));
                    let mut pairs: Vec<_> = pairs.map(|(stays, gone)| (2 * stays, 2 * gone + 1)).collect();
                    pairs.sort_unstable();
                    let neighbor = |row: usize| (row, (row + step) % rows);
                    let inside = |(row, other): &(usize, usize)| ring || row.abs_diff(*other) == 1;
                    let expected =
                        (0..rows).step_by(2).map(neighbor).filter(inside).filter(|(_, other)| other % 2 == 1);
                    // In a chain of two rows, the last row is no left neighbor of the first.
                    let expected: Vec<_> =
                        expected.filter(|(row, other)| ring || (side == LEFT) == (other < row)).collect();
                    assert_eq!(pairs, expected, "{rows} rows, ring {ring}, side {side}");
                }
            }
        }
    }
}
