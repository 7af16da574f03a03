//! Kernels and their arguments.

use crate::cut::{DeviceCut, THREADS};
use crate::device::{Device, Launch};
use bandsolve::Result;

/// Right-hand sides or solutions in the form that the kernels use (`system.cuh`): columns with the distance `step`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct DeviceColumns {
    pub first: u64,
    pub step: u64,
}

/// A coarse system in the form that the kernels use (`rpts.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Coarse {
    pub arrays: [u64; 3],
    pub d: DeviceColumns,
}

/// The measurements of solutions (`rpts.cuh`): three words per column, and the list of inaccurate rows.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Peaks {
    pub gap: u64,
    pub size: u64,
    pub rhs: u64,
    /// Address of two 32-bit words: the number of inaccurate rows, and whether the repair changed the largest |x|. 0
    /// means no list.
    pub bad: u64,
    /// Address of the list: column and number of each inaccurate row.
    pub rows: u64,
    /// The largest error of an accurate row.
    pub limit: f64,
    /// Maximum number of rows in the list.
    pub room: u32,
}

impl Peaks {
    /// Kinds of peaks.
    pub const KINDS: usize = 3;

    /// No measurements.
    pub const NONE: Self = Self { gap: 0, size: 0, rhs: 0, bad: 0, rows: 0, limit: 0.0, room: 0 };

    /// The peaks of `columns` columns at an address, with `bytes` bytes per number.
    pub fn at(address: u64, columns: usize, bytes: usize) -> Self {
        let kind = |k: usize| address + (k * columns * bytes) as u64;
        Self { gap: kind(0), size: kind(1), rhs: kind(2), ..Self::NONE }
    }
}

/// The pivoting rule (`panel.cuh`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PivotOptions {
    pub exchange: i32,
    pub scale_rows: i32,
    pub noise: f64,
    /// Address of the flags of systems that may be singular, one bit each; 0 means no flags.
    pub suspects: u64,
}

impl PivotOptions {
    /// The ending of the names of kernels for scalars that are compiled for this rule: `_larger` for the rule of most
    /// solves (`Larger` in `panel.cuh`), otherwise none.
    pub fn ending(&self) -> &'static str {
        let larger = self.exchange == 1 && self.scale_rows == 1 && self.noise == 0.0;
        if larger { "_larger" } else { "" }
    }
}

/// The arguments of a kernel, each in its own memory.
#[derive(Debug, Default)]
pub struct Arguments(Vec<Box<[u64]>>);

impl Arguments {
    pub fn new(cut: &DeviceCut) -> Self {
        Self::default().with(*cut)
    }

    /// Add an argument.
    pub fn with<A: Copy>(mut self, argument: A) -> Self {
        const { assert!(align_of::<A>() <= align_of::<u64>()) };
        let mut memory = vec![0_u64; size_of::<A>().div_ceil(8)].into_boxed_slice();
        // SAFETY: the memory has this number of bytes, and at least the alignment of the argument.
        unsafe { memory.as_mut_ptr().cast::<A>().write(argument) };
        self.0.push(memory);
        self
    }

    /// Run a kernel with blocks of [`THREADS`] threads.
    ///
    /// # Safety
    /// See [`launch_blocks`](Self::launch_blocks).
    pub unsafe fn launch(self, device: &Device, kernel: &str, blocks: usize, shared: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_blocks(device, kernel, (blocks, THREADS), shared) }
    }

    /// Run a kernel whose blocks wait for each other.
    ///
    /// # Safety
    /// See [`launch_blocks`](Self::launch_blocks).
    pub unsafe fn launch_cooperative(self, device: &Device, kernel: &str, blocks: usize, shared: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.run(device, kernel, (blocks, THREADS), shared, true) }
    }

    /// Run a kernel with a given number of blocks and threads.
    ///
    /// # Safety
    /// The arguments must be those of this kernel. The memory behind them must have the size that the kernel expects,
    /// and must not be in use elsewhere.
    pub unsafe fn launch_blocks(self, device: &Device, kernel: &str, size: (usize, u32), shared: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.run(device, kernel, size, shared, false) }
    }

    unsafe fn run(
        self,
        device: &Device,
        kernel: &str,
        (blocks, threads): (usize, u32),
        shared: usize,
        cooperative: bool,
    ) -> Result<()> {
        let stream = device.stream_handle();
        let launch = Launch { kernel, blocks: blocks as u32, threads, shared, cooperative, stream };
        // SAFETY: the caller's promise.
        unsafe { device.machine().launch(&launch, self.0) }
    }
}
