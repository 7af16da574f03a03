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

use crate::cut::{DeviceCut, LANES, THREADS};
use crate::dense::{BlockFactors, BlockProduct, DenseBatch, ListedBlocks, ProductResult, SpacedBlocks};
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::{Arguments, DeviceColumns, Peaks};
use crate::matrix::Blocks;
use bandsolve::{RealScalar, Result};
use core::fmt::{self, Debug, Formatter};
use core::mem::size_of;
use std::sync::Arc;

/// Largest diagonal block that is inverted, as on the CPU. Larger blocks are solved with their triangles.
const INVERSE_MAX: usize = 64;

/// Maximum numbers of a block that one thread looks at alone (`dense.cuh`).
const FEW_NUMBERS: usize = 64;

/// A block tridiagonal matrix with dense blocks in the form that the kernels use (`dense.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct DenseBlocks {
    given: Blocks,
    block: u32,
    n: u32,
    periodic: u32,
}

/// Right-hand sides and solutions of a solve, and the measurements of the solutions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockColumns {
    pub rhs: DeviceColumns,
    pub x: DeviceColumns,
    pub peaks: Peaks,
}

/// The number of block rows, their size, and whether the first and the last one are neighbors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainSize {
    pub n: usize,
    pub block: usize,
    pub periodic: bool,
}

/// Couplings to the left neighbor, diagonal blocks, couplings to the right neighbor.
const LEFT: usize = 0;
const DIAG: usize = 1;
const RIGHT: usize = 2;

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

/// Power-of-two scales of rows, and the sums of the moduli of scaled rows.
struct RowSizes<R> {
    by: DeviceVec<R>,
    sums: DeviceVec<R>,
}

/// Factors of a block tridiagonal matrix, and memory for solves.
///
/// # Cost
/// Per block row of b rows: memory for 6·b² numbers, and 12⅔·b³ operations to factor (14·b³ with inverses). A solve takes 10·b²
/// operations per right-hand side, and its measurement 6·b².
pub(crate) struct DeviceBcyclic<T: DeviceScalar> {
    device: Device,
    batch: Arc<dyn DenseBatch>,
    size: ChainSize,
    levels: Vec<ChainLevel<T>>,
    exchanges: DeviceVec<i32>,
    status: DeviceVec<i32>,
    /// The addresses of blocks: for each level, the lists of [`BlockList::ALL`].
    lists: DeviceVec<u64>,
    /// The identity, if diagonal blocks are inverted.
    identity: Option<DeviceVec<T>>,
    /// Of A and of Aᵀ.
    sizes: [RowSizes<T::Real>; 2],
    /// Right-hand sides, later residuals.
    z: DeviceVec<T>,
    /// Solutions.
    w: DeviceVec<T>,
}

impl<T: DeviceScalar> Debug for DeviceBcyclic<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBcyclic of {:?}", self.size)
    }
}

impl<T> ChainLevel<T> {
    /// Number of eliminated rows, the first one, and the distance to the next one.
    fn eliminated(&self) -> (usize, usize, usize) {
        if self.rows == 1 { (1, 0, 1) } else { (self.rows / 2, 1, 2) }
    }
}

impl<T: DeviceScalar> DeviceBcyclic<T> {
    /// Allocate memory for matrices of this size with at most `n_rhs` right-hand sides.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`], also if the library for dense blocks is not installed.
    pub fn new(device: &Device, size: ChainSize, n_rhs: usize) -> Result<Self> {
        let ChainSize { n, block, .. } = size;
        let batch = device.machine().dense()?;
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
        let unit = || (0..block * block).map(|k| if k % (block + 1) == 0 { T::ONE } else { T::ZERO });
        let identity = (block <= INVERSE_MAX).then(|| device.upload(&unit().collect::<Vec<T>>())).transpose()?;
        let sizes = || Ok(RowSizes { by: device.zeros(n * block)?, sums: device.zeros(n * block)? });
        let mut bcyclic = Self {
            device: device.clone(),
            batch,
            size,
            levels,
            exchanges: device.zeros(n * block)?,
            status: device.zeros(n)?,
            lists: device.zeros(0)?,
            identity,
            sizes: [sizes()?, sizes()?],
            z: device.zeros(n * block * n_rhs)?,
            w: device.zeros(n * block * n_rhs)?,
        };
        bcyclic.lists = device.upload(&bcyclic.addresses())?;
        Ok(bcyclic)
    }

    /// The bytes of device memory.
    pub fn bytes(&self) -> usize {
        let blocks = self.levels.iter().flat_map(|level| &level.arrays).chain(&self.identity).map(DeviceVec::len);
        let numbers = blocks.sum::<usize>() + self.z.len() + self.w.len();
        let reals = self.sizes.iter().map(|sizes| sizes.by.len() + sizes.sums.len()).sum::<usize>();
        numbers * size_of::<T>()
            + reals * T::REAL_BYTES
            + (self.exchanges.len() + self.status.len()) * size_of::<i32>()
            + self.lists.len() * size_of::<u64>()
    }

    /// op(A) for the kernels.
    pub fn matrix(&self, given: Blocks) -> DenseBlocks {
        let ChainSize { n, block, periodic } = self.size;
        DenseBlocks { given, block: block as u32, n: n as u32, periodic: periodic.into() }
    }

    /// The lists of all levels.
    fn addresses(&self) -> Vec<u64> {
        let of = |blocks: SpacedBlocks, count: usize| {
            (0..count).map(move |k| blocks.first + k as u64 * blocks.step * size_of::<T>() as u64)
        };
        let lists = |k: usize| BlockList::ALL.into_iter().map(move |list| (k, list));
        let all = (0..self.levels.len()).flat_map(lists);
        all.flat_map(|(k, list)| of(self.listed(k, list).blocks, self.levels[k].eliminated().0)).collect()
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
            BlockList::Solution => self.rows(&self.w, k, first, step),
        };
        let place = BlockList::ALL.len() * level.before + list as usize * count;
        // The lists do not exist while their addresses are computed.
        ListedBlocks { blocks, list: self.lists.slice(..).address() + (place * size_of::<u64>()) as u64 }
    }

    /// Blocks `first`, `first + step`, … of an array of a level.
    fn blocks(&self, k: usize, array: usize, first: usize, step: usize) -> SpacedBlocks {
        self.given_blocks(self.levels[k].arrays[array].slice(..).address(), first, step)
    }

    /// Blocks `first`, `first + step`, … of an array at an address.
    fn given_blocks(&self, address: u64, first: usize, step: usize) -> SpacedBlocks {
        let (block, square) = (self.size.block as u64, self.size.block.pow(2) as u64);
        let first = address + first as u64 * square * size_of::<T>() as u64;
        SpacedBlocks { first, step: step as u64 * square, leading: block }
    }

    /// Rows `first`, `first + step`, … of a level in an array of columns.
    fn rows(&self, columns: &DeviceVec<T>, k: usize, first: usize, step: usize) -> SpacedBlocks {
        let ChainSize { n, block, .. } = self.size;
        let [first, step] = [first, step].map(|rows| ((rows << k) * block) as u64);
        let address = columns.slice(..).address() + first * size_of::<T>() as u64;
        SpacedBlocks { first: address, step, leading: (n * block) as u64 }
    }

    fn factors(&self, k: usize) -> BlockFactors {
        let (level, block) = (&self.levels[k], self.size.block);
        BlockFactors {
            block,
            count: level.eliminated().0,
            blocks: self.listed(k, BlockList::Pivots),
            exchanges: self.exchanges.slice(level.before * block..).address(),
            status: self.status.slice(level.before..).address(),
        }
    }

    /// Launch a kernel with one thread for each of `threads` numbers.
    ///
    /// # Safety
    /// As [`Arguments::launch`].
    unsafe fn launch(&self, kernel: &str, threads: usize, arguments: Arguments) -> Result<()> {
        let blocks = threads.div_ceil(THREADS as usize);
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { arguments.launch(&self.device, &format!("{kernel}_{}", T::NAME), blocks, 0) }
    }

    /// Copy `count` blocks of `columns` columns.
    fn copy(&self, to: SpacedBlocks, from: SpacedBlocks, columns: usize, count: usize) -> Result<()> {
        let block = self.size.block;
        let arguments = Arguments::default().with(block as u32).with(columns as u32).with(count as u32);
        // SAFETY: these are the kernel's arguments, and the blocks belong to arrays of `self`.
        unsafe { self.launch("copyblocks", block * columns * count, arguments.with(to).with(from)) }
    }

    /// Compute C ← C − A·B, or another result, for blocks of `columns` columns.
    fn product(
        &self,
        (result, transposed): (ProductResult, bool),
        c: SpacedBlocks,
        [a, b]: [SpacedBlocks; 2],
        (columns, count): (usize, usize),
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let product = BlockProduct { block: self.size.block, columns, count, result, transposed, a, b, c };
        // SAFETY: the blocks belong to arrays of `self`, or to the matrix that the caller borrows.
        unsafe { self.batch.product(self.device.stream_handle(), T::NAME, &product) }
    }

    /// Factor the matrix in `given`. If a block is singular, the flag at `suspects` is set. `transposes`: also prepare measurements of
    /// solutions with Aᵀ.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`].
    pub fn factor(&mut self, given: Blocks, suspects: u64, transposes: bool) -> Result<()> {
        let rows = self.size.n * self.size.block;
        for (sizes, given) in
            self.sizes.iter().zip([given.plain(), given.transpose()]).take(1 + usize::from(transposes))
        {
            let [by, sums] = [&sizes.by, &sizes.sums].map(|array| array.slice(..).address());
            let arguments = Arguments::default().with(self.matrix(given)).with(by).with(sums);
            // SAFETY: here and below, these are the kernel's arguments, and the arrays have the size of the matrix.
            unsafe { self.launch("rowsizes", rows, arguments) }?;
        }
        let by = self.sizes[0].by.slice(..).address();
        let arrays = self.levels[0].arrays.each_ref().map(|array| array.slice(..).address());
        let arguments = Arguments::default().with(self.matrix(given.plain())).with(by);
        // SAFETY: see above.
        unsafe { self.launch("scaledblocks", rows, arrays.into_iter().fold(arguments, Arguments::with)) }?;
        let mut ring = self.size.periodic;
        for k in 0..self.levels.len() {
            ring = self.close_small_ring(k, ring)?;
            self.eliminate(k, suspects)?;
            if k + 1 < self.levels.len() {
                self.absorb(k, ring)?;
            }
        }
        Ok(())
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
        let numbers = self.size.block.pow(2);
        for fold in folds {
            let [to, from] = fold.map(|(array, row)| self.blocks(k, array, row, 1).first);
            let arguments = Arguments::default().with(numbers as u32).with(to).with(from);
            // SAFETY: these are the kernel's arguments, and both are blocks of this level.
            unsafe { self.launch("foldblocks", numbers, arguments) }?;
        }
        Ok(false)
    }

    /// Factor the diagonal blocks of the eliminated rows of a level, and divide their couplings by them. Diagonal blocks that stay move to
    /// the next level.
    fn eliminate(&self, k: usize, suspects: u64) -> Result<()> {
        let (stream, block, factors) = (self.device.stream_handle(), self.size.block, self.factors(k));
        let (count, first, step) = self.levels[k].eliminated();
        // SAFETY: these blocks belong to `self`.
        unsafe { self.batch.factor(stream, T::NAME, &factors) }?;
        let arguments = Arguments::default().with(block as u32).with(count as u32).with(factors.blocks.blocks);
        let arguments = arguments.with(factors.status).with(suspects);
        // SAFETY: these are the kernel's arguments, and the blocks belong to `self`.
        unsafe { self.launch("checkpivots", block * count, arguments) }?;
        if k + 1 < self.levels.len() {
            let remaining = self.levels[k + 1].rows;
            self.copy(self.blocks(k + 1, DIAG, 0, 1), self.blocks(k, DIAG, 0, 2), block, remaining)?;
        }
        let solve = |list: BlockList| {
            // SAFETY: these blocks and factors belong to `self`.
            unsafe { self.batch.solve(stream, T::NAME, &factors, false, (self.listed(k, list), block)) }
        };
        let inverses = self.listed(k, BlockList::Inverses);
        if let Some(identity) = &self.identity {
            self.copy(inverses.blocks, self.given_blocks(identity.slice(..).address(), 0, 0), block, count)?;
            solve(BlockList::Inverses)?;
        }
        if k + 1 == self.levels.len() {
            return Ok(());
        }
        for (array, list) in [(LEFT, BlockList::Left), (RIGHT, BlockList::Right)] {
            if self.identity.is_none() {
                solve(list)?;
                continue;
            }
            // The next level does not have its couplings yet.
            let (own, spare) = (self.blocks(k, array, first, step), self.blocks(k + 1, LEFT, 0, 1));
            self.product((ProductResult::Replace, false), spare, [inverses.blocks, own], (block, count))?;
            self.copy(own, spare, block, count)?;
        }
        Ok(())
    }

    /// Compute the couplings and the diagonal blocks of the next level.
    fn absorb(&self, k: usize, ring: bool) -> Result<()> {
        let (rows, block, remaining) = (self.levels[k].rows, self.size.block, self.levels[k + 1].rows);
        for side in [LEFT, RIGHT] {
            let other = RIGHT - side;
            for join in joins(rows, ring, side) {
                let Join { stays, gone, count } = join;
                let link = self.blocks(k, side, 2 * stays, 2);
                let [same, across] = [side, other].map(|array| self.blocks(k, array, 2 * gone + 1, 2));
                let (diag, fill) = (self.blocks(k + 1, DIAG, stays, 1), self.blocks(k + 1, side, stays, 1));
                self.product((ProductResult::Subtract, false), diag, [link, across], (block, count))?;
                self.product((ProductResult::Negate, false), fill, [link, same], (block, count))?;
                self.drop_negligible(fill.first, count)?;
            }
            // The first or last row that stays has no eliminated neighbor on this side.
            let alone = match side {
                LEFT if !(ring && rows.is_multiple_of(2)) => Some(0),
                RIGHT if !rows.is_multiple_of(2) => Some(remaining - 1),
                _ => None,
            };
            if let Some(row) = alone {
                self.copy(self.blocks(k + 1, side, row, 1), self.blocks(k, side, 2 * row, 1), block, 1)?;
            }
        }
        Ok(())
    }

    /// Set those of `count` blocks to zero whose entries are at most ε / (16·block). Rows have a largest entry in [1, 2).
    fn drop_negligible(&self, first: u64, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let numbers = self.size.block.pow(2);
        let limit = T::Real::EPSILON.to_f64() / (16 * self.size.block) as f64;
        let arguments = Arguments::default().with(numbers as u32).with(count as u32).with(limit).with(first);
        let blocks = if numbers <= FEW_NUMBERS { count.div_ceil(THREADS as usize) } else { count };
        let (name, shared) = (format!("dropblocks_{}", T::NAME), THREADS as usize / LANES * size_of::<u32>());
        // SAFETY: these are the kernel's arguments, with one word of shared memory per warp, and the blocks belong to a level.
        unsafe { arguments.launch(&self.device, &name, blocks, shared) }
    }

    /// Solve op(A)·x = rhs with the factors, and measure x unless `columns.peaks` is none.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`].
    pub fn solve(&mut self, cut: &DeviceCut, given: Blocks, columns: BlockColumns) -> Result<()> {
        let (transposed, conjugated, n_rhs) = (given.is_transposed(), given.is_conjugated(), cut.columns as usize);
        let BlockColumns { rhs, x, peaks } = columns;
        let by = self.sizes[0].by.slice(..).address();
        let [z, w] = [&self.z, &self.w].map(|array| DeviceColumns { first: array.slice(..).address(), step: rhs.step });
        // (S·A)·x = S·d; (S·A)ᵀ·y = d, x = S·y.
        self.scale(cut, (if transposed { 0 } else { by }, conjugated), [rhs, z], Peaks::NONE)?;
        let last = self.levels.len() - 1;
        for k in 0..last {
            if !transposed {
                self.divide(k, transposed, n_rhs)?;
            }
            let gone = if transposed { &self.z } else { &self.w };
            self.substitute(k, transposed, [&self.z, gone], n_rhs)?;
        }
        self.divide(last, transposed, n_rhs)?;
        for k in (0..last).rev() {
            let gone = if transposed { &self.z } else { &self.w };
            self.substitute_back(k, transposed, [gone, &self.w], n_rhs)?;
            if transposed {
                self.divide(k, transposed, n_rhs)?;
            }
        }
        if transposed {
            self.scale(cut, (by, false), [w, w], Peaks::NONE)?;
        }
        self.scale(cut, (0, conjugated), [w, x], peaks)?;
        if peaks.gap == 0 {
            return Ok(());
        }
        self.scale(cut, (0, conjugated), [rhs, z], Peaks::NONE)?;
        self.subtract_products(given, n_rhs)?;
        let RowSizes { by, sums } = &self.sizes[usize::from(transposed)];
        let [by, sums] = [by, sums].map(|array| array.slice(..).address());
        let arguments = Arguments::new(cut).with(by).with(sums).with(rhs).with(z).with(peaks);
        // SAFETY: these are the kernel's arguments, and all arrays have the length of x.
        unsafe { self.launch_by_rows("blockerrors", cut, arguments) }
    }

    /// Launch a kernel with one thread per entry of x.
    ///
    /// # Safety
    /// As [`Arguments::launch`].
    unsafe fn launch_by_rows(&self, kernel: &str, cut: &DeviceCut, arguments: Arguments) -> Result<()> {
        let blocks = cut.rows.div_ceil(THREADS) as usize * cut.all_columns();
        // SAFETY: the caller's promise.
        unsafe { arguments.launch(&self.device, &format!("{kernel}_{}", T::NAME), blocks, 0) }
    }

    /// Copy columns with scaled rows, unless the address `by` of the scales is 0, and conjugate them if wanted.
    fn scale(
        &self,
        cut: &DeviceCut,
        (by, conjugated): (u64, bool),
        [from, to]: [DeviceColumns; 2],
        peaks: Peaks,
    ) -> Result<()> {
        let arguments = Arguments::new(cut).with(by).with(i32::from(conjugated)).with(from).with(to).with(peaks);
        // SAFETY: these are the kernel's arguments, and all arrays have the length of x.
        unsafe { self.launch_by_rows("scalecolumns", cut, arguments) }
    }

    /// w ← D⁻¹·z or D⁻ᵀ·z for the eliminated rows of a level.
    fn divide(&self, k: usize, transposed: bool, n_rhs: usize) -> Result<()> {
        let (count, first, step) = self.levels[k].eliminated();
        let (z, w) = (self.rows(&self.z, k, first, step), self.listed(k, BlockList::Solution));
        if self.identity.is_some() {
            let inverses = self.listed(k, BlockList::Inverses).blocks;
            return self.product((ProductResult::Replace, transposed), w.blocks, [inverses, z], (n_rhs, count));
        }
        self.copy(w.blocks, z, n_rhs, count)?;
        // SAFETY: the factors and the solution belong to `self`.
        unsafe { self.batch.solve(self.device.stream_handle(), T::NAME, &self.factors(k), transposed, (w, n_rhs)) }
    }

    /// Subtract the eliminated rows of a level, in `gone`, from the right-hand sides `z` of the rows that stay.
    fn substitute(&self, k: usize, transposed: bool, [z, gone]: [&DeviceVec<T>; 2], n_rhs: usize) -> Result<()> {
        for side in [LEFT, RIGHT] {
            for join in joins(self.levels[k].rows, self.has_ring(k), side) {
                let Join { stays, gone: first, count } = join;
                let a = match transposed {
                    false => self.blocks(k, side, 2 * stays, 2),
                    // Seen from the eliminated row, this row is on the opposite side.
                    true => self.blocks(k, RIGHT - side, 2 * first + 1, 2),
                };
                let (c, b) = (self.rows(z, k, 2 * stays, 2), self.rows(gone, k, 2 * first + 1, 2));
                self.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
            }
        }
        Ok(())
    }

    /// Subtract the rows that stay, with their solutions in `w`, from the eliminated rows of a level, in `gone`.
    fn substitute_back(&self, k: usize, transposed: bool, [gone, w]: [&DeviceVec<T>; 2], n_rhs: usize) -> Result<()> {
        // The right neighbors of rows that stay first: those are rows with this neighbor on their left.
        for side in [RIGHT, LEFT] {
            for join in joins(self.levels[k].rows, self.has_ring(k), side) {
                let Join { stays, gone: first, count } = join;
                let a = match transposed {
                    false => self.blocks(k, RIGHT - side, 2 * first + 1, 2),
                    true => self.blocks(k, side, 2 * stays, 2),
                };
                let (c, b) = (self.rows(gone, k, 2 * first + 1, 2), self.rows(w, k, 2 * stays, 2));
                self.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
            }
        }
        Ok(())
    }

    /// Whether the first and the last row of a level are neighbors when its rows are eliminated.
    fn has_ring(&self, k: usize) -> bool {
        self.size.periodic && self.levels[k].rows > 2
    }

    /// z ← z − op(A)·w with the caller's matrix, without conjugation.
    fn subtract_products(&self, given: Blocks, n_rhs: usize) -> Result<()> {
        let (n, transposed) = (self.size.n, given.is_transposed());
        let [sub, diag, sup] = given.arrays;
        // The blocks below and above the diagonal of op(A): each array, and its first block inside an open matrix.
        let [(below, first_below), (above, first_above)] =
            if transposed { [(sup, 0), (sub, 1)] } else { [(sub, 1), (sup, 0)] };
        let [top, bottom] = if transposed { [n - 1, 0] } else { [0, n - 1] };
        let corners = usize::from(self.size.periodic);
        for (array, block, [to, from], count) in [
            (diag, 0, [0, 0], n),
            (below, first_below, [1, 0], n - 1),
            (above, first_above, [0, 1], n - 1),
            (below, top, [0, n - 1], corners),
            (above, bottom, [n - 1, 0], corners),
        ] {
            let (a, b) = (self.given_blocks(array, block, 1), self.rows(&self.w, 0, from, 1));
            let c = self.rows(&self.z, 0, to, 1);
            self.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
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
