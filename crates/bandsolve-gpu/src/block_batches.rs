//! Batches of operations on dense blocks of one size: copies, sums, products, factorizations and divisions.

use crate::cut::{LANES, THREADS};
use crate::dense::{BlockFactors, BlockProduct, DenseBatch, ListedBlocks, ProductResult, SpacedBlocks};
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::Arguments;
use bandsolve::{RealScalar, Result};
use core::mem::size_of;
use std::sync::Arc;

/// Maximum numbers of a block that one thread looks at alone (`dense.cuh`).
const FEW_NUMBERS: usize = 64;

/// Operations on batches of blocks, in the order of the stream of a device.
///
/// The blocks belong to the callers, which pass addresses of their own arrays only.
pub(crate) struct BlockBatches<T: DeviceScalar> {
    device: Device,
    dense: Arc<dyn DenseBatch>,
    block: usize,
    /// The identity, if diagonal blocks are inverted.
    identity: Option<DeviceVec<T>>,
}

/// Block rows of right-hand sides or solutions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseColumns {
    /// Address of the first row.
    pub first: u64,
    /// Numbers from one block row to the next.
    pub row: u64,
    /// Numbers from one column to the next.
    pub leading: u64,
}

impl DenseColumns {
    /// Block rows `first`, `first + step`, …
    pub fn rows<T>(self, first: usize, step: usize) -> SpacedBlocks {
        let [first, step] = [first, step].map(|rows| rows as u64 * self.row);
        SpacedBlocks { first: self.first + first * size_of::<T>() as u64, step, leading: self.leading }
    }
}

impl<T: DeviceScalar> BlockBatches<T> {
    /// Prepare for blocks of `block` rows. Diagonal blocks are inverted if they have at most `inverse_max` rows; larger ones are solved
    /// with their triangles.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`], also if the library for dense blocks is not installed.
    pub fn new(device: &Device, block: usize, inverse_max: usize) -> Result<Self> {
        let dense = device.machine().dense()?;
        let unit = || (0..block * block).map(|k| if k % (block + 1) == 0 { T::ONE } else { T::ZERO });
        let identity = (block <= inverse_max).then(|| device.upload(&unit().collect::<Vec<T>>())).transpose()?;
        Ok(Self { device: device.clone(), dense, block, identity })
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Number of rows of a block.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Whether diagonal blocks are inverted.
    pub fn inverts(&self) -> bool {
        self.identity.is_some()
    }

    /// The bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.identity.as_ref().map_or(0, DeviceVec::len) * size_of::<T>()
    }

    /// Blocks `first`, `first + step`, … of an array at an address.
    pub fn blocks(&self, address: u64, first: usize, step: usize) -> SpacedBlocks {
        let (block, square) = (self.block as u64, self.block.pow(2) as u64);
        let first = address + first as u64 * square * size_of::<T>() as u64;
        SpacedBlocks { first, step: step as u64 * square, leading: block }
    }

    /// The addresses of `count` blocks.
    pub fn addresses(blocks: SpacedBlocks, count: usize) -> impl Iterator<Item = u64> {
        (0..count).map(move |k| blocks.first + k as u64 * blocks.step * size_of::<T>() as u64)
    }

    /// Launch a kernel with one thread for each of `threads` numbers.
    ///
    /// # Safety
    /// As [`Arguments::launch`].
    pub unsafe fn launch(&self, kernel: &str, threads: usize, arguments: Arguments) -> Result<()> {
        let blocks = threads.div_ceil(THREADS as usize);
        if blocks == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { arguments.launch(&self.device, &format!("{kernel}_{}", T::NAME), blocks, 0) }
    }

    /// Copy `count` blocks of `columns` columns.
    pub fn copy(&self, to: SpacedBlocks, from: SpacedBlocks, columns: usize, count: usize) -> Result<()> {
        let block = self.block;
        let arguments = Arguments::default().with(block as u32).with(columns as u32).with(count as u32);
        // SAFETY: these are the kernel's arguments, and the blocks belong to arrays of the caller.
        unsafe { self.launch("copyblocks", block * columns * count, arguments.with(to).with(from)) }
    }

    /// to ← to + from, from ← 0 for `numbers` numbers at two addresses.
    pub fn fold(&self, to: u64, from: u64, numbers: usize) -> Result<()> {
        // The kernel counts numbers with 32 bits.
        const MOST: usize = 1 << 30;
        for first in (0..numbers).step_by(MOST) {
            let count = MOST.min(numbers - first);
            let [to, from] = [to, from].map(|address| address + (first * size_of::<T>()) as u64);
            let arguments = Arguments::default().with(count as u32).with(to).with(from);
            // SAFETY: these are the kernel's arguments, and the numbers belong to arrays of the caller.
            unsafe { self.launch("foldblocks", count, arguments) }?;
        }
        Ok(())
    }

    /// Compute C ← C − A·B, or another result, for blocks of `columns` columns.
    pub fn product(
        &self,
        (result, transposed): (ProductResult, bool),
        c: SpacedBlocks,
        [a, b]: [SpacedBlocks; 2],
        (columns, count): (usize, usize),
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let product = BlockProduct { block: self.block, columns, count, result, transposed, a, b, c };
        // SAFETY: the blocks belong to arrays of the caller, or to the matrix that the caller borrows.
        unsafe { self.dense.product(self.device.stream_handle(), T::NAME, &product) }
    }

    /// C ← −A·B for `count` contiguous blocks C. Those of them become zero whose entries are negligible.
    pub fn fill_in(&self, c: SpacedBlocks, of: [SpacedBlocks; 2], count: usize) -> Result<()> {
        self.product((ProductResult::Negate, false), c, of, (self.block, count))?;
        self.drop_negligible(c.first, count)
    }

    /// Set those of `count` blocks to zero whose entries are at most ε / (16·block). Rows have a largest entry in [1, 2).
    fn drop_negligible(&self, first: u64, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let numbers = self.block.pow(2);
        let limit = T::Real::EPSILON.to_f64() / (16 * self.block) as f64;
        let arguments = Arguments::default().with(numbers as u32).with(count as u32).with(limit).with(first);
        let blocks = if numbers <= FEW_NUMBERS { count.div_ceil(THREADS as usize) } else { count };
        let (name, shared) = (format!("dropblocks_{}", T::NAME), THREADS as usize / LANES * size_of::<u32>());
        // SAFETY: these are the kernel's arguments, with one word of shared memory per warp, and the blocks belong to the caller.
        unsafe { arguments.launch(&self.device, &name, blocks, shared) }
    }

    /// Factor diagonal blocks. If one of them is singular, the flag at `suspects` is set.
    pub fn factor(&self, factors: &BlockFactors, suspects: u64) -> Result<()> {
        // SAFETY: these blocks belong to the caller.
        unsafe { self.dense.factor(self.device.stream_handle(), T::NAME, factors) }?;
        let (block, count) = (factors.block, factors.count);
        let arguments = Arguments::default().with(block as u32).with(count as u32).with(factors.blocks.blocks);
        let arguments = arguments.with(factors.status).with(suspects);
        // SAFETY: these are the kernel's arguments, and the blocks belong to the caller.
        unsafe { self.launch("checkpivots", block * count, arguments) }
    }

    /// Write the inverses of factored diagonal blocks, unless they are not inverted.
    pub fn invert(&self, inverses: ListedBlocks, factors: &BlockFactors) -> Result<()> {
        let Some(identity) = &self.identity else { return Ok(()) };
        let identity = self.blocks(identity.slice(..).address(), 0, 0);
        self.copy(inverses.blocks, identity, self.block, factors.count)?;
        self.solve(factors, false, (inverses, self.block))
    }

    /// Replace couplings C by D⁻¹·C, with the inverses or else the factors of D. `spare` are as many blocks of memory.
    pub fn divide(
        &self,
        (factors, inverses): (&BlockFactors, SpacedBlocks),
        couplings: ListedBlocks,
        spare: SpacedBlocks,
    ) -> Result<()> {
        let size = (self.block, factors.count);
        if !self.inverts() {
            return self.solve(factors, false, (couplings, self.block));
        }
        self.product((ProductResult::Replace, false), spare, [inverses, couplings.blocks], size)?;
        self.copy(couplings.blocks, spare, size.0, size.1)
    }

    /// w ← D⁻¹·z or D⁻ᵀ·z for block rows with `n_rhs` columns.
    pub fn divide_columns(
        &self,
        (factors, inverses): (&BlockFactors, SpacedBlocks),
        transposed: bool,
        (w, z): (ListedBlocks, SpacedBlocks),
        n_rhs: usize,
    ) -> Result<()> {
        if self.inverts() {
            let size = (n_rhs, factors.count);
            return self.product((ProductResult::Replace, transposed), w.blocks, [inverses, z], size);
        }
        self.copy(w.blocks, z, n_rhs, factors.count)?;
        self.solve(factors, transposed, (w, n_rhs))
    }

    fn solve(&self, factors: &BlockFactors, transposed: bool, rhs: (ListedBlocks, usize)) -> Result<()> {
        // SAFETY: the factors and the right-hand sides belong to the caller.
        unsafe { self.dense.solve(self.device.stream_handle(), T::NAME, factors, transposed, rhs) }
    }
}
