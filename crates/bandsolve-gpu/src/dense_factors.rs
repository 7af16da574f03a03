//! A block tridiagonal matrix with dense blocks on a device: its rows are scaled, one of two methods factors it, and its solutions are
//! measured.

use crate::bcyclic::DeviceBcyclic;
use crate::block_batches::{BlockBatches, DenseColumns};
use crate::block_spike::{DeviceBlockSpike, divide};
use crate::cut::{DeviceCut, THREADS};
use crate::dense::ProductResult;
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::elimination::DeviceElimination;
use crate::launch::{Arguments, DeviceColumns, Peaks};
use crate::matrix::Blocks;
use bandsolve::Result;
use bandsolve::distributed::{BCYCLIC_INVERSE_MAX, BLOCK_SPIKE_INVERSE_MAX};
use core::fmt::{self, Debug, Formatter};
use core::mem::size_of;
use std::sync::Arc;

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

/// The method that factors block rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DenseMethod {
    Bcyclic,
    /// With partitions of this number of block rows, or of the default.
    BlockSpike(Option<usize>),
}

/// Power-of-two scales of rows, and the sums of the moduli of scaled rows.
struct RowSizes<R> {
    by: DeviceVec<R>,
    sums: DeviceVec<R>,
}

/// Factors of a block tridiagonal matrix, and memory for solves.
///
/// # Cost
/// In addition to the method: memory for 2·b numbers per block row and right-hand side, and 6·b² operations to measure a solution.
pub(crate) struct DenseFactors<T: DeviceScalar> {
    batches: Arc<BlockBatches<T>>,
    size: ChainSize,
    elimination: Box<dyn DeviceElimination<T>>,
    /// Of A and of Aᵀ.
    sizes: [RowSizes<T::Real>; 2],
    /// Right-hand sides, later residuals.
    z: DeviceVec<T>,
    /// Solutions.
    w: DeviceVec<T>,
}

impl<T: DeviceScalar> Debug for DenseFactors<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DenseFactors of {:?}", self.size)
    }
}

impl<T: DeviceScalar> DenseFactors<T> {
    /// Allocate memory for matrices of this size with at most `n_rhs` right-hand sides.
    ///
    /// # Errors
    /// [`bandsolve::Error::Device`], also if the library for dense blocks is not installed.
    pub fn new(device: &Device, size: ChainSize, n_rhs: usize, method: DenseMethod) -> Result<Self> {
        let ChainSize { n, block, periodic } = size;
        let cut = match method {
            DenseMethod::Bcyclic => None,
            DenseMethod::BlockSpike(rows) => Some(divide(n, periodic, rows)),
        };
        // As on the CPU, so that x has its bits on the emulator.
        let inverse_max = if cut.is_some() { BLOCK_SPIKE_INVERSE_MAX } else { BCYCLIC_INVERSE_MAX };
        let batches = Arc::new(BlockBatches::new(device, block, inverse_max)?);
        let [z, w] = [device.zeros(n * block * n_rhs)?, device.zeros(n * block * n_rhs)?];
        let columns = [columns_of(size, &z), columns_of(size, &w)];
        let elimination: Box<dyn DeviceElimination<T>> = match cut.filter(|cut| cut.partitions() > 0) {
            Some(cut) => Box::new(DeviceBlockSpike::new(&batches, cut, columns, n_rhs)?),
            None => Box::new(DeviceBcyclic::new(&batches, n, periodic, columns)?),
        };
        let sizes = || Ok(RowSizes { by: device.zeros(n * block)?, sums: device.zeros(n * block)? });
        Ok(Self { batches, size, elimination, sizes: [sizes()?, sizes()?], z, w })
    }

    /// The bytes of device memory.
    pub fn bytes(&self) -> usize {
        let reals = self.sizes.iter().map(|sizes| sizes.by.len() + sizes.sums.len()).sum::<usize>();
        (self.z.len() + self.w.len()) * size_of::<T>()
            + reals * T::REAL_BYTES
            + self.batches.bytes()
            + self.elimination.bytes()
    }

    /// op(A) for the kernels.
    pub fn matrix(&self, given: Blocks) -> DenseBlocks {
        let ChainSize { n, block, periodic } = self.size;
        DenseBlocks { given, block: block as u32, n: n as u32, periodic: periodic.into() }
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
            unsafe { self.batches.launch("rowsizes", rows, arguments) }?;
        }
        let by = self.sizes[0].by.slice(..).address();
        let arguments = Arguments::default().with(self.matrix(given.plain())).with(by);
        let arguments = self.elimination.arrays().into_iter().fold(arguments, Arguments::with);
        // SAFETY: see above.
        unsafe { self.batches.launch("scaledblocks", rows, arguments) }?;
        self.elimination.factor(suspects)
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
        self.elimination.solve(transposed, n_rhs)?;
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
        unsafe { arguments.launch(self.batches.device(), &format!("{kernel}_{}", T::NAME), blocks, 0) }
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

    /// z ← z − op(A)·w with the caller's matrix, without conjugation.
    fn subtract_products(&self, given: Blocks, n_rhs: usize) -> Result<()> {
        let (n, transposed) = (self.size.n, given.is_transposed());
        let [z, w] = [&self.z, &self.w].map(|array| columns_of(self.size, array));
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
            let (a, b) = (self.batches.blocks(array, block, 1), w.rows::<T>(from, 1));
            let c = z.rows::<T>(to, 1);
            self.batches.product((ProductResult::Subtract, transposed), c, [a, b], (n_rhs, count))?;
        }
        Ok(())
    }
}

/// Columns in the order of the rows of the matrix.
fn columns_of<T: DeviceScalar>(size: ChainSize, columns: &DeviceVec<T>) -> DenseColumns {
    let ChainSize { n, block, .. } = size;
    DenseColumns { first: columns.slice(..).address(), row: block as u64, leading: (n * block) as u64 }
}
