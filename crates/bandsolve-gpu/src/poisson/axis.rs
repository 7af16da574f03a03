//! The transform along one axis on a device: its arrays, and the lines of a thread block.

use super::arguments::{LineArguments, MOST_FACTORS};
use super::lines::{LineKind, LineShape};
use crate::device::{Device, DeviceScalar, DeviceVec, Limits};
use bandsolve::{RealScalar, Result};

/// The tables of a transform on a device.
pub struct AxisOnDevice<T> {
    arguments: LineArguments,
    _tables: Tables<T>,
}

/// The arrays that the arguments of the kernel contain.
enum Tables<T> {
    Fourier { _roots: DeviceVec<[T; 2]>, _factors: Vec<DeviceVec<[T; 4]>>, _places: Vec<DeviceVec<[u32; 2]>> },
    Matrices { _each: [DeviceVec<T>; 2] },
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
/// The numbers of threads of a thread block. The kernel is compiled for at most as many (`TRANSFORM_THREADS` in `transform.cuh`).
const THREADS: [usize; 2] = [64, 512];
/// Shared memory that a device reserves for itself in each block.
const RESERVED: usize = 1 << 10;

/// Bytes of shared memory of a thread block with 2^`lines` lines: two halves.
fn shared_bytes(shape: LineShape, lines: u32, bytes: usize) -> usize {
    let complex = if shape.extended { lines } else { lines - 1 };
    2 * (shape.points << complex) * 2 * bytes
}

/// The minimum number of lines, as log2: a complex line can hold two lines.
fn fewest(shape: LineShape) -> u32 {
    u32::from(!shape.extended)
}

/// The largest number of complex points that fit in the shared memory of a thread block, for numbers of `bytes` bytes.
pub fn most_points(bytes: usize, limits: &Limits) -> usize {
    limits.shared_per_block / (4 * bytes)
}

impl LineTile {
    /// The lines of a thread block for `lines` lines whose unknowns have the distance `stride`. One line must fit.
    pub fn new(shape: LineShape, (lines, stride): (usize, usize), bytes: usize, limits: &Limits) -> Self {
        // Two thread blocks of a multiprocessor hide each other's latency.
        let most = (limits.shared_per_multiprocessor / 2).saturating_sub(RESERVED).min(limits.shared_per_block);
        let elements = |tile: u32| shared_bytes(shape, tile, bytes) / (4 * bytes);
        let is_enough = |tile: u32| match stride {
            1 => elements(tile) >= ELEMENTS,
            _ => bytes << tile >= SEGMENT,
        };
        let mut tile = fewest(shape);
        while !is_enough(tile) && 1 << tile < lines && tile < 5 && shared_bytes(shape, tile + 1, bytes) <= most {
            tile += 1;
        }
        let threads = (elements(tile) / 4).next_power_of_two().clamp(THREADS[0], THREADS[1]) as u32;
        Self { lines: tile, threads, shared: shared_bytes(shape, tile, bytes) }
    }
}

impl<T: DeviceScalar + RealScalar> AxisOnDevice<T> {
    /// Sums and a complex Fourier transform.
    pub fn fourier(device: &Device, kind: LineKind) -> Result<Self> {
        let mut radix = [0; MOST_FACTORS];
        // One point needs no step.
        let factors = kind.radices();
        radix.iter_mut().zip(&factors).for_each(|(to, factor)| *to = *factor as u32);
        let steps = factors.len() as u32;
        let roots = device.upload(&kind.roots()?)?;
        let (mut factors, mut places) = (Vec::new(), Vec::new());
        for sums in kind.sums::<T>()? {
            factors.push(device.upload(&sums.factors)?);
            places.push(device.upload(&sums.places)?);
        }
        let arguments = LineArguments {
            n: kind.n as u32,
            points: kind.points() as u32,
            steps,
            extended: kind.is_extended().into(),
            radix,
            roots: roots.slice(..).address(),
            sums: core::array::from_fn(|k| [factors[k].slice(..).address(), places[k].slice(..).address()]),
            matrices: [0; 2],
        };
        Ok(Self { arguments, _tables: Tables::Fourier { _roots: roots, _factors: factors, _places: places } })
    }

    /// Products with the matrices of the transform and of its inverse, n × n by rows.
    pub fn products(device: &Device, n: usize, matrices: [&[T]; 2]) -> Result<Self> {
        let matrices = [device.upload(matrices[0])?, device.upload(matrices[1])?];
        let arguments = LineArguments {
            n: n as u32,
            points: n as u32,
            steps: 0,
            extended: 0,
            radix: [0; MOST_FACTORS],
            roots: 0,
            sums: [[0; 2]; 4],
            matrices: matrices.each_ref().map(|matrix| matrix.slice(..).address()),
        };
        Ok(Self { arguments, _tables: Tables::Matrices { _each: matrices } })
    }

    pub fn arguments(&self) -> LineArguments {
        self.arguments
    }
}
