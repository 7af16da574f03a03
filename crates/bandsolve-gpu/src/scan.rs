//! Recurrences over all rows of a system, in one pass each: pivots and forward elimination, then back substitution.

use crate::cut::{DeviceCut, THREADS};
use crate::device::{Device, DeviceScalar, DeviceVec};
use crate::launch::{Arguments, Peaks};
use crate::matrix::Blocks;
use bandsolve::Result;

/// Tiles per group (`scan.cuh`).
const GROUP: usize = 32;
/// Numbers of a transfer and of a state: for minors, for y and x, for 2×2 pivots.
const MINORS: [usize; 2] = [4, 2];
const AFFINE: [usize; 2] = [2, 1];
const PAIRS: [usize; 2] = [1, 1];

/// Messages between tiles about a recurrence, in the form that the kernels use: flags and numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Messages([u64; 2]);

/// The arguments of the downward and of the upward pass, in the form that the kernels use.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Down {
    rhs: u64,
    y: u64,
    factors: u64,
    seconds: u64,
    ticket: u64,
    minors: Messages,
    forward: Messages,
    last: Messages,
    pairs: Messages,
    suspects: u64,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Up {
    factors: u64,
    x: u64,
    seconds: u64,
    ticket: u64,
    backward: Messages,
}

/// A right-hand side and its matrix, as addresses and in the forms that the kernels use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanColumn {
    pub source: Blocks,
    pub rhs: u64,
    pub x: u64,
    /// Receives the largest |x|.
    pub peaks: Peaks,
    /// The number of the right-hand side.
    pub column: u32,
    /// Receives a flag if the system may be singular.
    pub suspects: u64,
}

/// Memory for the recurrences of a system: the data of the upward pass except y, and the messages of tiles.
#[derive(Debug)]
pub(crate) struct DeviceScan<T: DeviceScalar> {
    tiles: usize,
    /// Whether pivots can be 2×2. Otherwise all pivots are 1×1.
    pairs: bool,
    /// For each row, the factor of the x below it.
    factors: DeviceVec<T>,
    /// Whether a row is the second one of a 2×2 pivot: one byte for the rows of a thread.
    seconds: DeviceVec<u8>,
    /// Tickets, and one flag per message.
    flags: DeviceVec<u32>,
    numbers: DeviceVec<T>,
    bits: DeviceVec<u32>,
}

impl<T: DeviceScalar> DeviceScan<T> {
    /// Rows per thread, and per tile (`scan.cuh`).
    const ROWS: usize = if size_of::<T>() > 8 { 64 / size_of::<T>() } else { 8 };
    const TILE: usize = Self::ROWS * THREADS as usize;

    pub fn new(device: &Device, n: usize, pairs: bool) -> Result<Self> {
        let tiles = n.div_ceil(Self::TILE);
        let (flags, numbers) = (Self::flags(tiles), |of| Self::numbers(tiles, of));
        // Downwards: minors and y; upwards: x. 2×2 pivots also need messages about pivots, and the last minors of each
        // tile.
        let (more_flags, last) = if pairs { (flags + tiles, 2 * tiles) } else { (0, 0) };
        Ok(Self {
            tiles,
            pairs,
            factors: device.zeros(n)?,
            seconds: device.zeros(if pairs { tiles * THREADS as usize } else { 0 })?,
            flags: device.zeros(2 + 3 * flags + more_flags)?,
            numbers: device.zeros(numbers(MINORS) + numbers(AFFINE) + last)?,
            bits: device.zeros(if pairs { numbers(PAIRS) } else { 0 })?,
        })
    }

    /// Number of flags of a recurrence: two per tile, for transfers and for outgoing states, and one per group for
    /// incoming states.
    fn flags(tiles: usize) -> usize {
        2 * tiles + tiles / GROUP + 1
    }

    /// Number of values in the messages of a recurrence.
    fn numbers(tiles: usize, [transfer, state]: [usize; 2]) -> usize {
        tiles * (transfer + state) + (tiles / GROUP + 1) * state
    }

    pub fn bytes(&self) -> usize {
        let words = self.flags.len() + self.bits.len();
        (self.factors.len() + self.numbers.len()) * size_of::<T>() + words * size_of::<u32>() + self.seconds.len()
    }

    /// Solve for one right-hand side.
    pub fn solve(&mut self, device: &Device, cut: &DeviceCut, one: ScanColumn) -> Result<()> {
        let ScanColumn { source, rhs, x, peaks, column, suspects } = one;
        self.flags.slice_mut(..).clear()?;
        let flags = Self::flags(self.tiles);
        let flag = |k: usize| self.flags.slice(k..).address();
        let number = |k: usize| self.numbers.slice(k..).address();
        let affine = Self::numbers(self.tiles, MINORS);
        let (factors, mut seconds) = (self.factors.slice(..).address(), 0);
        let [mut last, mut pairs] = [Messages([0; 2]); 2];
        if self.pairs {
            seconds = self.seconds.slice(..).address();
            pairs = Messages([flag(2 + 3 * flags), self.bits.slice(..).address()]);
            last = Messages([flag(2 + 4 * flags), number(affine + Self::numbers(self.tiles, AFFINE))]);
        }
        let minors = Messages([flag(2), number(0)]);
        let [forward, backward] = [1, 2].map(|k| Messages([flag(2 + k * flags), number(affine)]));
        let down = Down { rhs, y: x, factors, seconds, ticket: flag(0), minors, forward, last, pairs, suspects };
        let up = Up { factors, x, seconds, ticket: flag(1), backward };
        let name = if self.pairs { "pairsdown" } else { "ludown" };
        self.run(device, name, Arguments::new(cut).with(source).with(down), 4)?;
        self.run(device, "up", Arguments::new(cut).with(up).with(peaks).with(column), 2)
    }

    /// Run a kernel with `staged` numbers per row in shared memory.
    fn run(&self, device: &Device, kernel: &str, arguments: Arguments, staged: usize) -> Result<()> {
        // A tile has two rows after it and one before it. One place is free after each group of as many places as there
        // are banks.
        let places = Self::TILE + 3;
        let rows = places + (places - 1) / (128 / T::REAL_BYTES);
        // The transfers of warps, the states of all threads and one more, the minors of all threads, and the number of
        // the tile.
        let desk = THREADS as usize / 32 * MINORS[0] + (2 * THREADS as usize + 1) * MINORS[1];
        let shared = (staged * rows + desk) * size_of::<T>() + 16;
        // SAFETY: these are the kernel's arguments; the arrays have the length of the system, and `new` counted the
        // messages.
        unsafe { arguments.launch(device, &format!("{kernel}_{}", T::NAME), self.tiles, shared) }
    }
}
