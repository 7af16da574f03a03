//! Block SPIKE on a device: partitions of a chain or a ring of block rows are eliminated together, by batches of products and
//! factorizations.
//!
//! The equations and the partitions are those of the CPU (`bandsolve::methods::block_spike`). D, A and C are the blocks of row k on the
//! diagonal, to the previous row and to the next row of its partition. W and V are the spikes, the couplings with the separator s at which
//! the partition starts:
//!
//! ```text
//! Ĉ_k = D_k⁻¹ C_k,   Ŵ_k = D_k⁻¹ W_k
//! D_(k+1) ← D_(k+1) − A_(k+1) Ĉ_k,   W_(k+1) = −A_(k+1) Ŵ_k
//! V_(k+1) = −V_k Ĉ_k,   D_s ← D_s − V_k Ŵ_k
//! ```
//!
//! Step k eliminates row k of all partitions of a group by one batch for each operation. Partitions of a group have equal lengths and equal
//! distances. There are at most three groups: the longer partitions, the shorter ones, and the last partition of a chain, which is
//! eliminated upwards. Operations on a block have the order of the CPU.
//!
//! The row after the last one of a partition is a separator. BCYCLIC solves the coarse system of the separators.
//!
//! Source: A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), section 3.2 and Algorithms 4 and 5.

use crate::bcyclic::DeviceBcyclic;
use crate::block_batches::{BlockBatches, DenseColumns};
use crate::dense::{BlockFactors, ListedBlocks, ProductResult, SpacedBlocks};
use crate::device::{DeviceScalar, DeviceVec};
use crate::elimination::{DIAG, DeviceElimination, LEFT, RIGHT};
use bandsolve::Result;
use bandsolve::distributed::ChainCut;
use core::mem::size_of;
use std::sync::Arc;

/// Divide block rows into partitions of `rows` rows, or into √n partitions if `rows` is none.
///
/// The number of steps is the length of a partition, and a batch has as many blocks as there are partitions. With √n partitions, both are
/// equal: batches become large enough for a card when there are many steps. The coarse system then takes only ½·log₂ n levels of √n rows or
/// fewer. The number depends on the system alone, so that all devices compute the same x.
pub(crate) fn divide(n: usize, ring: bool, rows: Option<usize>) -> ChainCut {
    ChainCut::new(n, ring, rows, n.isqrt())
}

/// The spike W, or the contribution of a partition to the separator at which it ends.
const TO_END: usize = 0;
/// The spike V, or the contribution of a partition to the separator at which it starts.
const TO_START: usize = 1;

/// Partitions of equal length whose steps are eliminated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartitionGroup {
    /// The first partition, and the number of partitions.
    first: usize,
    count: usize,
    /// The row that is eliminated first in the first partition. The row of the next partition is `len + 1` rows after it.
    row: usize,
    /// Number of rows of a partition.
    len: usize,
    /// Whether the next row of a step is above the row.
    upward: bool,
    /// Whether a partition starts at a separator.
    spikes: bool,
    /// Number of eliminated rows in the groups before.
    before: usize,
    /// Number of blocks of a spike in the groups before.
    spikes_before: usize,
    /// Number of addresses in the lists of the groups before.
    listed_before: usize,
}

/// Blocks of a step that have a list of addresses.
#[derive(Debug, Clone, Copy)]
enum StepList {
    /// The diagonal blocks.
    Pivots,
    /// The couplings to the next row.
    Ahead,
    /// The rows of the solution.
    Solution,
    /// W, in groups with spikes.
    Spike,
}

impl StepList {
    const ALL: [Self; 4] = [Self::Pivots, Self::Ahead, Self::Solution, Self::Spike];
}

impl PartitionGroup {
    /// Divide partitions into groups.
    fn of(cut: ChainCut) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for p in 0..cut.partitions() {
            let (len, upward, spikes) = (cut.len(p), cut.is_upward(p), cut.ends(p).0.is_some());
            match groups.last_mut() {
                // The first partition of a chain then has spikes that are zero.
                Some(group) if group.len == len && !upward => (group.count, group.spikes) = (group.count + 1, true),
                last => {
                    let [before, spikes_before, listed_before] = last.map_or([0; 3], |last| last.totals());
                    let (row, count) = (cut.row(p, 0), 1);
                    groups.push(Self {
                        first: p,
                        count,
                        row,
                        len,
                        upward,
                        spikes,
                        before,
                        spikes_before,
                        listed_before,
                    });
                }
            }
        }
        groups
    }

    /// Number of eliminated rows, of blocks of a spike and of addresses up to this group.
    fn totals(&self) -> [usize; 3] {
        let rows = self.count * self.len;
        let spikes = if self.spikes { self.count * (self.len + 1) } else { 0 };
        [self.before + rows, self.spikes_before + spikes, self.listed_before + rows * self.lists()]
    }

    /// Number of lists of a step.
    fn lists(&self) -> usize {
        StepList::ALL.len() - usize::from(!self.spikes)
    }

    /// Block rows from one partition to the next.
    fn stride(&self) -> usize {
        self.len + 1
    }

    /// The row of step k of the first partition. Step `len` is the separator at which the partition ends.
    fn at(&self, k: usize) -> usize {
        if self.upward { self.row - k } else { self.row + k }
    }

    /// The couplings to the previous row and to the next row.
    fn sides(&self) -> [usize; 2] {
        if self.upward { [RIGHT, LEFT] } else { [LEFT, RIGHT] }
    }

    /// The separators at which partitions start: for each piece the first partition in this group, its separator, and the number of
    /// partitions.
    fn starts(&self, separators: usize) -> [(usize, usize, usize); 2] {
        // Partition 0 of a ring starts at the last separator. In a chain, its spikes are zero.
        let wrapped = usize::from(self.first == 0);
        [(0, separators - 1, wrapped), (wrapped, self.first + wrapped - 1, self.count - wrapped)]
    }
}

/// Contributions of `count` partitions that are added to separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fold {
    /// [`TO_END`] or [`TO_START`].
    kind: usize,
    partition: usize,
    separator: usize,
    count: usize,
}

/// All contributions. Each separator receives them in the order of the partitions, as on the CPU.
fn folds(cut: &ChainCut, ring: bool) -> [Fold; 3] {
    let separators = cut.separators();
    let fold = |kind, partition, separator, count| Fold { kind, partition, separator, count };
    let (ends, starts) = (fold(TO_END, 0, 0, separators), fold(TO_START, 1, 0, separators - 1));
    match ring {
        true => [fold(TO_START, 0, separators - 1, 1), ends, starts],
        false => [ends, starts, fold(TO_END, separators, separators - 1, 1)],
    }
}

/// Factors of a chain or a ring of block rows.
///
/// # Cost
/// Per block row of b rows: memory for 5·b² numbers, 12⅔·b³ operations to factor (14⅔·b³ with inverses), and 10·b² operations per
/// right-hand side to solve. Per separator, memory for 8·b² more numbers.
pub(crate) struct DeviceBlockSpike<T: DeviceScalar> {
    batches: Arc<BlockBatches<T>>,
    /// Number of block rows.
    n: usize,
    cut: ChainCut,
    ring: bool,
    groups: Vec<PartitionGroup>,
    /// The blocks of A in the order of the rows. The factors or the inverse replace D, and Ĉ replaces C.
    arrays: [DeviceVec<T>; 3],
    /// Ŵ and V, step by step.
    spikes: [DeviceVec<T>; 2],
    /// Memory for one block per partition of a group.
    spare: DeviceVec<T>,
    /// Contributions of partitions to diagonal blocks of separators.
    blocks: [DeviceVec<T>; 2],
    /// Contributions of partitions to right-hand sides of separators.
    columns: [DeviceVec<T>; 2],
    exchanges: DeviceVec<i32>,
    status: DeviceVec<i32>,
    /// The addresses of blocks: `spare`, then the lists of each step.
    lists: DeviceVec<u64>,
    /// Right-hand sides and solutions.
    z: DenseColumns,
    w: DenseColumns,
    coarse: DeviceBcyclic<T>,
    /// Right-hand sides and solutions of the coarse system.
    coarse_columns: [DeviceVec<T>; 2],
    /// Maximum number of right-hand sides.
    most_columns: usize,
}

impl<T: DeviceScalar> DeviceBlockSpike<T> {
    /// Allocate memory for the partitions of `cut`, with at most `n_rhs` right-hand sides and solutions in `columns`.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`].
    pub fn new(
        batches: &Arc<BlockBatches<T>>,
        cut: ChainCut,
        columns: [DenseColumns; 2],
        n_rhs: usize,
    ) -> Result<Self> {
        let (device, block) = (batches.device(), batches.block());
        let groups = PartitionGroup::of(cut);
        let (partitions, separators) = (cut.partitions(), cut.separators());
        let [inside, of_spike, _] = groups.last().map_or([0; 3], PartitionGroup::totals);
        let array = |blocks: usize| device.zeros(blocks * block * block);
        let rows = |rows: usize| device.zeros(rows * block * n_rhs);
        let n = inside + separators;
        let most = groups.iter().map(|group| group.count).max().unwrap_or(0);
        let coarse_columns = [rows(separators)?, rows(separators)?];
        let ring = separators == partitions;
        let layout = coarse_columns.each_ref().map(|array| contiguous(array, block, n_rhs));
        let [z, w] = columns;
        let mut spike = Self {
            batches: batches.clone(),
            n,
            cut,
            ring,
            groups,
            arrays: [array(n)?, array(n)?, array(n)?],
            spikes: [array(of_spike)?, array(of_spike)?],
            spare: array(most)?,
            blocks: [array(partitions)?, array(partitions)?],
            columns: [rows(partitions)?, rows(partitions)?],
            exchanges: device.zeros(inside * block)?,
            status: device.zeros(inside)?,
            lists: device.zeros(0)?,
            z,
            w,
            coarse: DeviceBcyclic::new(batches, separators, ring, layout)?,
            coarse_columns,
            most_columns: n_rhs,
        };
        spike.lists = device.upload(&spike.addresses())?;
        Ok(spike)
    }

    /// Number of blocks of `spare`.
    fn spares(&self) -> usize {
        self.spare.len() / self.batches.block().pow(2)
    }

    /// The lists of all steps.
    fn addresses(&self) -> Vec<u64> {
        let addresses = BlockBatches::<T>::addresses;
        let spare = addresses(self.spare().blocks, self.spares());
        let steps = self.groups.iter().flat_map(|group| (0..group.len).map(move |k| (group, k)));
        let lists = steps.flat_map(|(group, k)| {
            let lists = StepList::ALL.into_iter().take(group.lists());
            lists.flat_map(move |list| addresses(self.listed(group, k, list).blocks, group.count))
        });
        spare.chain(lists).collect()
    }

    fn spare(&self) -> ListedBlocks {
        let blocks = self.batches.blocks(self.spare.slice(..).address(), 0, 1);
        // The lists do not exist while their addresses are computed.
        ListedBlocks { blocks, list: self.lists.slice(..).address() }
    }

    /// Blocks of a step that have a list of addresses.
    fn listed(&self, group: &PartitionGroup, k: usize, list: StepList) -> ListedBlocks {
        let blocks = match list {
            StepList::Pivots => self.step(DIAG, group, k),
            StepList::Ahead => self.step(group.sides()[1], group, k),
            StepList::Solution => rows::<T>(self.w, group, k, 0),
            StepList::Spike => self.spike(TO_END, group, k, 0),
        };
        let place = self.spares() + group.listed_before + (k * group.lists() + list as usize) * group.count;
        ListedBlocks { blocks, list: self.spare().list + (place * size_of::<u64>()) as u64 }
    }

    /// The blocks of step k in an array.
    fn step(&self, array: usize, group: &PartitionGroup, k: usize) -> SpacedBlocks {
        self.batches.blocks(self.arrays[array].slice(..).address(), group.at(k), group.stride())
    }

    /// The blocks of step k in a spike, from a partition of the group on.
    fn spike(&self, which: usize, group: &PartitionGroup, k: usize, partition: usize) -> SpacedBlocks {
        let place = group.spikes_before + k * group.count + partition;
        self.batches.blocks(self.spikes[which].slice(..).address(), place, 1)
    }

    /// The contributions of a group to diagonal blocks.
    fn to_blocks(&self, kind: usize, group: &PartitionGroup) -> SpacedBlocks {
        self.batches.blocks(self.blocks[kind].slice(..).address(), group.first, 1)
    }

    /// The contributions of a group to right-hand sides.
    fn to_columns(&self, kind: usize, group: &PartitionGroup) -> SpacedBlocks {
        contiguous(&self.columns[kind], self.batches.block(), self.most_columns).rows::<T>(group.first, 1)
    }

    /// Right-hand sides (0) or solutions (1) of the coarse system.
    fn coarse_columns(&self, which: usize) -> DenseColumns {
        contiguous(&self.coarse_columns[which], self.batches.block(), self.most_columns)
    }

    fn factors(&self, group: &PartitionGroup, k: usize) -> BlockFactors {
        let (block, place) = (self.batches.block(), group.before + k * group.count);
        BlockFactors {
            block,
            count: group.count,
            blocks: self.listed(group, k, StepList::Pivots),
            exchanges: self.exchanges.slice(place * block..).address(),
            status: self.status.slice(place..).address(),
        }
    }

    /// The groups whose partitions end at the separator with their number.
    fn downward(&self) -> impl Iterator<Item = &PartitionGroup> {
        self.groups.iter().filter(|group| !group.upward)
    }

    /// Copy the couplings with the separators at which partitions start.
    fn start_spikes(&self, group: &PartitionGroup) -> Result<()> {
        let (batches, block) = (&self.batches, self.batches.block());
        batches.copy(self.spike(TO_END, group, 0, 0), self.step(LEFT, group, 0), block, group.count)?;
        let right = self.arrays[RIGHT].slice(..).address();
        for (partition, _, count) in group.starts(self.cut.separators()) {
            // In a chain, the coupling of row n − 1 to the right is zero.
            let before = (group.row + partition * group.stride() + self.n - 1) % self.n;
            let from = batches.blocks(right, before, group.stride());
            batches.copy(self.spike(TO_START, group, 0, partition), from, block, count)?;
        }
        Ok(())
    }

    /// Eliminate row k of the partitions of a group.
    fn eliminate(&self, group: &PartitionGroup, k: usize, suspects: u64) -> Result<()> {
        let (batches, factors, spare) = (&self.batches, self.factors(group, k), self.spare());
        let size = (batches.block(), group.count);
        let pivots = factors.blocks.blocks;
        batches.factor(&factors, suspects)?;
        batches.invert(spare, &factors)?;
        if batches.inverts() {
            batches.copy(pivots, spare.blocks, size.0, size.1)?;
        }
        let ahead = self.listed(group, k, StepList::Ahead);
        batches.divide((&factors, pivots), ahead, spare.blocks)?;
        let back = self.step(group.sides()[0], group, k + 1);
        let next = if k + 1 < group.len { self.step(DIAG, group, k + 1) } else { self.to_blocks(TO_END, group) };
        batches.product((ProductResult::Subtract, false), next, [back, ahead.blocks], size)?;
        if !group.spikes {
            return Ok(());
        }
        let (spike, from_start) = (self.listed(group, k, StepList::Spike), self.spike(TO_START, group, k, 0));
        batches.divide((&factors, pivots), spike, spare.blocks)?;
        let start = self.to_blocks(TO_START, group);
        batches.product((ProductResult::Subtract, false), start, [from_start, spike.blocks], size)?;
        batches.fill_in(self.spike(TO_END, group, k + 1, 0), [back, spike.blocks], group.count)?;
        batches.fill_in(self.spike(TO_START, group, k + 1, 0), [from_start, ahead.blocks], group.count)
    }

    /// Build the coarse system from the separators and the contributions of the partitions.
    fn fill_coarse(&mut self) -> Result<()> {
        // Partitions without spikes leave no couplings.
        self.coarse.clear_couplings()?;
        let (batches, block, arrays) = (&self.batches, self.batches.block(), self.coarse.arrays());
        let coarse = |array: usize, separator: usize| batches.blocks(arrays[array], separator, 1);
        for group in self.downward() {
            batches.copy(coarse(DIAG, group.first), self.step(DIAG, group, group.len), block, group.count)?;
            if !group.spikes {
                continue;
            }
            let to_end = self.spike(TO_END, group, group.len, 0);
            batches.copy(coarse(LEFT, group.first), to_end, block, group.count)?;
            for (partition, separator, count) in group.starts(self.cut.separators()) {
                let to_start = self.spike(TO_START, group, group.len, partition);
                batches.copy(coarse(RIGHT, separator), to_start, block, count)?;
            }
        }
        self.fold(arrays[DIAG], &self.blocks, block * block)
    }

    /// Add contributions, which have `numbers` numbers per partition, to the separators, and set the contributions to zero.
    fn fold(&self, to: u64, from: &[DeviceVec<T>; 2], numbers: usize) -> Result<()> {
        let at = |address: u64, place: usize| address + (place * numbers * size_of::<T>()) as u64;
        folds(&self.cut, self.ring).into_iter().try_for_each(|fold| {
            let from = at(from[fold.kind].slice(..).address(), fold.partition);
            self.batches.fold(at(to, fold.separator), from, numbers * fold.count)
        })
    }

    /// Eliminate row k of the partitions of a group from right-hand sides.
    fn down(&self, group: &PartitionGroup, k: usize, transposed: bool, n_rhs: usize) -> Result<()> {
        let (batches, size) = (&self.batches, (n_rhs, group.count));
        let z = rows::<T>(self.z, group, k, 0);
        let [back, ahead] = group.sides();
        let (gone, blocks) = if transposed {
            (z, [self.step(ahead, group, k), self.spike(TO_END, group, k, 0)])
        } else {
            let (factors, w) = (self.factors(group, k), self.listed(group, k, StepList::Solution));
            batches.divide_columns((&factors, factors.blocks.blocks), transposed, (w, z), n_rhs)?;
            (w.blocks, [self.step(back, group, k + 1), self.spike(TO_START, group, k, 0)])
        };
        let next = if k + 1 < group.len { rows::<T>(self.z, group, k + 1, 0) } else { self.to_columns(TO_END, group) };
        batches.product((ProductResult::Subtract, transposed), next, [blocks[0], gone], size)?;
        if group.spikes {
            let start = self.to_columns(TO_START, group);
            batches.product((ProductResult::Subtract, transposed), start, [blocks[1], gone], size)?;
        }
        Ok(())
    }

    /// Solve for row k of the partitions of a group.
    fn up(&self, group: &PartitionGroup, k: usize, transposed: bool, n_rhs: usize) -> Result<()> {
        let batches = &self.batches;
        let [back, ahead] = group.sides();
        // The coupling to the next row, the spike, and the rows that are not yet solved for.
        let (block, spike, columns) = match transposed {
            true => (self.step(back, group, k + 1), TO_START, self.z),
            false => (self.step(ahead, group, k), TO_END, self.w),
        };
        let (to, next) = (rows::<T>(columns, group, k, 0), rows::<T>(self.w, group, k + 1, 0));
        batches.product((ProductResult::Subtract, transposed), to, [block, next], (n_rhs, group.count))?;
        if group.spikes {
            for (partition, separator, count) in group.starts(self.cut.separators()) {
                let (to, spike) = (rows::<T>(columns, group, k, partition), self.spike(spike, group, k, partition));
                let start = self.coarse_columns(1).rows::<T>(separator, 1);
                batches.product((ProductResult::Subtract, transposed), to, [spike, start], (n_rhs, count))?;
            }
        }
        if transposed {
            let (factors, w) = (self.factors(group, k), self.listed(group, k, StepList::Solution));
            batches.divide_columns((&factors, factors.blocks.blocks), transposed, (w, to), n_rhs)?;
        }
        Ok(())
    }
}

impl<T: DeviceScalar> DeviceElimination<T> for DeviceBlockSpike<T> {
    fn arrays(&self) -> [u64; 3] {
        self.arrays.each_ref().map(|array| array.slice(..).address())
    }

    fn bytes(&self) -> usize {
        let pairs = [&self.spikes, &self.blocks, &self.columns, &self.coarse_columns];
        let numbers = self.arrays.iter().chain(pairs.into_iter().flatten()).chain([&self.spare]).map(DeviceVec::len);
        numbers.sum::<usize>() * size_of::<T>()
            + (self.exchanges.len() + self.status.len()) * size_of::<i32>()
            + self.lists.len() * size_of::<u64>()
            + self.coarse.bytes()
    }

    fn factor(&mut self, suspects: u64) -> Result<()> {
        for group in &self.groups {
            if group.spikes {
                self.start_spikes(group)?;
            }
            (0..group.len).try_for_each(|k| self.eliminate(group, k, suspects))?;
        }
        self.fill_coarse()?;
        self.coarse.factor(suspects)
    }

    fn solve(&mut self, transposed: bool, n_rhs: usize) -> Result<()> {
        for group in &self.groups {
            (0..group.len).try_for_each(|k| self.down(group, k, transposed, n_rhs))?;
        }
        let [z, w] = [0, 1].map(|which| self.coarse_columns(which));
        for group in self.downward() {
            let from = rows::<T>(self.z, group, group.len, 0);
            self.batches.copy(z.rows::<T>(group.first, 1), from, n_rhs, group.count)?;
        }
        self.fold(z.first, &self.columns, self.batches.block() * self.most_columns)?;
        self.coarse.solve(transposed, n_rhs)?;
        for group in self.downward() {
            let to = rows::<T>(self.w, group, group.len, 0);
            self.batches.copy(to, w.rows::<T>(group.first, 1), n_rhs, group.count)?;
        }
        for group in &self.groups {
            (0..group.len).rev().try_for_each(|k| self.up(group, k, transposed, n_rhs))?;
        }
        Ok(())
    }
}

/// Rows of step k, from a partition of the group on.
fn rows<T>(columns: DenseColumns, group: &PartitionGroup, k: usize, partition: usize) -> SpacedBlocks {
    columns.rows::<T>(group.at(k) + partition * group.stride(), group.stride())
}

/// Block rows whose columns are stored together.
fn contiguous<T: DeviceScalar>(array: &DeviceVec<T>, block: usize, n_rhs: usize) -> DenseColumns {
    DenseColumns { first: array.slice(..).address(), row: (block * n_rhs) as u64, leading: block as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_eliminated_once_or_a_separator() {
        for n in 4..60 {
            for (ring, rows) in [false, true].into_iter().flat_map(|ring| (0..9).map(move |rows| (ring, rows))) {
                let cut = divide(n, ring, (rows > 0).then_some(rows));
                let groups = PartitionGroup::of(cut);
                assert!(groups.len() <= 3);
                let mut seen = vec![0; n];
                (0..cut.separators()).for_each(|s| seen[cut.separator(s)] += 1);
                for group in &groups {
                    for j in 0..group.count {
                        let (p, offset) = (group.first + j, j * group.stride());
                        let (start, end) = cut.ends(p);
                        assert_eq!((cut.len(p), cut.is_upward(p)), (group.len, group.upward));
                        assert!(group.spikes || start.is_none());
                        assert_eq!(group.at(group.len) + offset, cut.separator(end));
                        for k in 0..group.len {
                            assert_eq!(group.at(k) + offset, cut.row(p, k));
                            seen[cut.row(p, k)] += 1;
                        }
                        let pieces = group.starts(cut.separators());
                        let of = |piece: &(usize, usize, usize)| (piece.0..piece.0 + piece.2).contains(&j);
                        let piece = pieces.iter().find(|piece| of(piece)).unwrap();
                        if let Some(start) = start {
                            assert_eq!(piece.1 + j - piece.0, start);
                        }
                    }
                }
                assert!(seen.iter().all(|count| *count == 1), "{n} {ring} {rows}");
            }
        }
    }

    #[test]
    fn separators_receive_contributions_in_the_order_of_partitions() {
        for n in 4..40 {
            for ring in [false, true] {
                let cut = divide(n, ring, Some(2));
                let mut received = vec![Vec::new(); cut.separators()];
                for fold in folds(&cut, ring) {
                    (0..fold.count).for_each(|k| received[fold.separator + k].push((fold.partition + k, fold.kind)));
                }
                let mut expected = vec![Vec::new(); cut.separators()];
                for p in 0..cut.partitions() {
                    let (start, end) = cut.ends(p);
                    expected[end].push((p, TO_END));
                    start.into_iter().for_each(|start| expected[start].push((p, TO_START)));
                }
                assert_eq!(received, expected, "{n} rows, ring {ring}");
            }
        }
    }
}
