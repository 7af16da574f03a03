//! The transform along one axis on a device: its arrays, and the lines of a thread block.

use super::arguments::{LineArguments, MOST_FACTORS};
use super::lines::LineKind;
use crate::device::{Device, DeviceScalar, DeviceVec, Limits};
use bandsolve::{RealScalar, Result};

/// The arrays of a transform on a device.
pub struct AxisOnDevice<T> {
    kind: LineKind,
    radix: [u32; MOST_FACTORS],
    steps: u32,
    roots: DeviceVec<[T; 2]>,
    factors: [DeviceVec<[T; 4]>; 4],
    places: [DeviceVec<[u32; 2]>; 4],
}

/// The size of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineTile {
    /// log2 of the number of lines of a thread block.
    pub lines: u32,
    pub threads: u32,
    /// Shared memory, in bytes.
    pub shared: usize,
}

/// Number of complex elements of a thread block, if there are enough lines and enough shared memory.
const ELEMENTS: usize = 1024;
/// Number of consecutive bytes to read at a time.
const SEGMENT: usize = 128;
/// Shared memory that a device reserves for itself in each block.
const RESERVED: usize = 1 << 10;

/// Bytes of shared memory of a thread block with 2^`lines` lines: two halves.
fn shared_bytes(kind: LineKind, lines: u32, bytes: usize) -> usize {
    let complex = if kind.is_extended() { lines } else { lines - 1 };
    2 * (kind.points() << complex) * 2 * bytes
}

/// The minimum number of lines, as log2: a complex line can hold two lines.
fn fewest(kind: LineKind) -> u32 {
    u32::from(!kind.is_extended())
}

/// The largest n of lines of this kind that fit in the shared memory of a thread block, for numbers of `bytes` bytes.
pub fn longest(kind: LineKind, bytes: usize, limits: &Limits) -> usize {
    kind.most(limits.shared_per_block / (4 * bytes))
}

impl LineTile {
    /// The lines of a thread block for `lines` lines whose unknowns have the distance `stride`. `longest` must be at least n.
    pub fn new(kind: LineKind, (lines, stride): (usize, usize), bytes: usize, limits: &Limits) -> Self {
        // Two thread blocks of a multiprocessor hide each other's latency.
        let most = (limits.shared_per_multiprocessor / 2).saturating_sub(RESERVED).min(limits.shared_per_block);
        let elements = |tile: u32| shared_bytes(kind, tile, bytes) / (4 * bytes);
        let is_enough = |tile: u32| match stride {
            1 => elements(tile) >= ELEMENTS,
            _ => bytes << tile >= SEGMENT,
        };
        let mut tile = fewest(kind);
        while !is_enough(tile) && 1 << tile < lines && tile < 5 && shared_bytes(kind, tile + 1, bytes) <= most {
            tile += 1;
        }
        let threads = (elements(tile) / 4).next_power_of_two().clamp(64, 512) as u32;
        Self { lines: tile, threads, shared: shared_bytes(kind, tile, bytes) }
    }
}

impl<T: DeviceScalar + RealScalar> AxisOnDevice<T> {
    pub fn new(device: &Device, kind: LineKind) -> Result<Self> {
        let mut radix = [0; MOST_FACTORS];
        // One point needs no step.
        let factors = kind.radices();
        radix.iter_mut().zip(&factors).for_each(|(to, factor)| *to = *factor as u32);
        let [a, b, c, d] = kind.sums::<T>()?;
        let sums = [&a, &b, &c, &d];
        let [fa, fb, fc, fd] = sums.map(|sums| device.upload(&sums.factors));
        let [pa, pb, pc, pd] = sums.map(|sums| device.upload(&sums.places));
        Ok(Self {
            kind,
            radix,
            steps: factors.len() as u32,
            roots: device.upload(&kind.roots()?)?,
            factors: [fa?, fb?, fc?, fd?],
            places: [pa?, pb?, pc?, pd?],
        })
    }

    pub fn kind(&self) -> LineKind {
        self.kind
    }

    pub fn arguments(&self) -> LineArguments {
        let sums = core::array::from_fn(|k| [self.factors[k].slice(..).address(), self.places[k].slice(..).address()]);
        LineArguments {
            n: self.kind.n as u32,
            points: self.kind.points() as u32,
            steps: self.steps,
            extended: self.kind.is_extended().into(),
            radix: self.radix,
            roots: self.roots.slice(..).address(),
            sums,
        }
    }
}
