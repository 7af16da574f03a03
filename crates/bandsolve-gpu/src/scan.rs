//! Recurrences over all rows of a system, in one pass.

use crate::cut::THREADS;
use crate::device::{Device, DeviceVec, Element};
use crate::launch::{Arguments, Peaks};
use bandsolve::Result;

/// Rows of a thread, and tiles of a group (`scan.cuh`).
const ROWS: usize = 8;
const GROUP: usize = 32;
/// Most numbers of a transfer, and of a state.
const TRANSFER: usize = 4;
const STATE: usize = 2;

/// What tiles tell one another, as the kernels see it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Messages {
    ticket: u64,
    told: u64,
    left: u64,
    entered: u64,
    transfers: u64,
    leaving: u64,
    entering: u64,
}

/// Memory for the recurrences of a system: what pivots follow from, and messages of tiles.
#[derive(Debug)]
pub(crate) struct Scan<T: Element> {
    tiles: usize,
    /// Pivots of one or two rows; else of one.
    pairs: bool,
    /// Reciprocals of pivots; of pairs the leading minors, two a row.
    pivots: DeviceVec<T>,
    /// What every row is: a pivot, or the first or second row of one.
    kinds: DeviceVec<u32>,
    /// A ticket, and a flag for each message: transfers and states that leave, a tile each; states that enter, a group each.
    flags: DeviceVec<u32>,
    numbers: DeviceVec<T>,
}

impl<T: Element> Scan<T> {
    pub fn new(device: &Device, n: usize, pairs: bool) -> Result<Self> {
        let tiles = n.div_ceil(THREADS as usize * ROWS);
        let groups = tiles / GROUP + 1;
        Ok(Self {
            tiles,
            pairs,
            pivots: device.zeros(if pairs { 2 * n } else { n })?,
            kinds: device.zeros(if pairs { n } else { 0 })?,
            flags: device.zeros(1 + 2 * tiles + groups)?,
            numbers: device.zeros(tiles * (TRANSFER + STATE) + groups * STATE)?,
        })
    }

    pub fn bytes(&self) -> usize {
        let words = self.flags.len() + self.kinds.len();
        (self.pivots.len() + self.numbers.len()) * size_of::<T>() + words * size_of::<u32>()
    }

    /// Finds the pivots of a matrix; `head`: what every kernel takes first.
    pub fn factor(&mut self, device: &Device, head: &dyn Fn() -> Arguments) -> Result<()> {
        let pivots = self.pivots.slice(..).address();
        let [reciprocals, minors] = if self.pairs { [0, pivots] } else { [pivots, 0] };
        self.run(device, "minors", head().with(reciprocals).with(minors), |a| a)?;
        if self.pairs {
            let kinds = self.kinds.slice(..).address();
            self.run(device, "pairs", head().with(pivots).with(kinds), |a| a)?;
        }
        Ok(())
    }

    /// Solves for one right-hand side; its largest |x| goes to `peaks`.
    pub fn solve(
        &mut self,
        device: &Device,
        head: &dyn Fn() -> Arguments,
        [rhs, x]: [u64; 2],
        (peaks, column): (Peaks, u32),
    ) -> Result<()> {
        let pivots = self.pivots.slice(..).address();
        let head = || {
            let head = head().with(pivots);
            if self.pairs { head.with(self.kinds.slice(..).address()) } else { head }
        };
        let names = if self.pairs { ["pairsforward", "pairsbackward"] } else { ["forward", "backward"] };
        let [down, up] = [head().with(rhs).with(x), head().with(x)];
        self.run(device, names[0], down, |a| a)?;
        self.run(device, names[1], up, |a| a.with(peaks).with(column))
    }

    /// Runs a kernel; its arguments are a head, messages, and a tail.
    fn run(
        &mut self,
        device: &Device,
        kernel: &str,
        head: Arguments,
        tail: impl FnOnce(Arguments) -> Arguments,
    ) -> Result<()> {
        self.flags.slice_mut(..).clear()?;
        let flag = |k: usize| self.flags.slice(k..).address();
        let number = |k: usize| self.numbers.slice(k..).address();
        let messages = Messages {
            ticket: flag(0),
            told: flag(1),
            left: flag(1 + self.tiles),
            entered: flag(1 + 2 * self.tiles),
            transfers: number(0),
            leaving: number(self.tiles * TRANSFER),
            entering: number(self.tiles * (TRANSFER + STATE)),
        };
        // States of all threads and one more, transfers of warps, and the number of the tile.
        let words = (THREADS as usize + 1) * STATE + THREADS as usize / 32 * TRANSFER;
        let shared = words * size_of::<T>() + 16;
        // SAFETY: what the kernels take; the arrays are as long as the system has rows.
        unsafe { tail(head.with(messages)).launch(device, &format!("{kernel}_{}", T::NAME), self.tiles, shared) }
    }
}
