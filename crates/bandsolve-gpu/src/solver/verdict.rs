//! Measurements of solutions, in the memory of a device.

use crate::cut::THREADS;
use crate::device::{Device, DeviceScalar, DeviceSlice, DeviceVec};
use crate::launch::{Arguments, Peaks};
use bandsolve::{RealScalar, Result, accepted_at_once};
use core::f64::consts::SQRT_2;

/// Bytes at the start: the number of inaccurate rows, whether the largest |x| changed, and the summary of many systems
/// (the largest error, and whether a system needs attention).
const COUNTS: usize = 24;
/// Bytes before the largest error, and before the word that is set if a system needs attention.
const SUMMARY: [usize; 2] = [8, 16];
/// Maximum number of thread blocks that summarize the measurements.
const SUMMARY_BLOCKS: usize = 256;
/// Bytes of an inaccurate row in the list: its column, and its number.
const ENTRY: usize = 8;

/// Memory for flags of systems that may be singular, for the peaks of every level, and for the inaccurate rows of the
/// first level.
#[derive(Debug)]
pub(crate) struct SingularSystems {
    memory: DeviceVec<u8>,
    /// Bytes before the peaks: the counts, and one bit for each system that may be singular.
    head: usize,
    /// These bits as the elimination set them, if factors are stored.
    stored: Option<DeviceVec<u8>>,
    /// Bytes of the peaks.
    peaks: usize,
    /// Maximum number of inaccurate rows in the list. More rows are not repaired locally.
    room: usize,
}

/// The measurements of a solution.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Backward errors of every column, without the inaccurate rows in the list.
    pub errors: Vec<f64>,
    /// Upper bounds of the reciprocal condition number, from every column ([`rconds`]).
    pub rconds: Vec<f64>,
    /// Systems that may be singular. Their errors do not matter.
    pub suspects: Vec<usize>,
    /// Number of rows whose error is not accepted.
    pub bad: usize,
    /// Whether the largest |x| changed since the errors, which are relative to it, were measured.
    pub changed: bool,
}

impl Verdict {
    pub fn is_good<T: DeviceScalar>(&self) -> bool {
        self.suspects.is_empty() && self.bad == 0 && !self.changed && self.errors_are_good::<T>()
    }

    /// Whether all columns are accurate, except for the rows that local repair will change.
    pub fn errors_are_good<T: DeviceScalar>(&self) -> bool {
        self.errors.iter().all(|error| *error <= accepted_at_once::<T>())
    }
}

impl SingularSystems {
    /// Memory for `levels` levels with the given columns, rows and systems.
    pub fn new<T: DeviceScalar>(
        device: &Device,
        levels: usize,
        (columns, systems): (usize, usize),
        rows: usize,
    ) -> Result<Self> {
        let head = COUNTS + 8 * systems.div_ceil(64);
        let peaks = Peaks::KINDS * levels * columns * systems * T::REAL_BYTES;
        let room = 32 + columns * systems * rows / 512;
        Ok(Self { memory: device.zeros(head + peaks + room * ENTRY)?, head, stored: None, peaks, room })
    }

    pub fn bytes(&self) -> usize {
        self.memory.len() + self.stored.as_ref().map_or(0, DeviceVec::len)
    }

    /// Reset the measurements, except for those of stored factors. Without verification, the peaks need no reset.
    pub fn clear(&mut self, verify: bool) -> Result<()> {
        let end = self.head + if verify { self.peaks } else { 0 };
        self.memory.slice_mut(..end).clear()?;
        match &self.stored {
            Some(stored) => self.memory.slice_mut(COUNTS..self.head).copy_from(stored.slice(..)),
            None => Ok(()),
        }
    }

    /// Empty the list of inaccurate rows.
    pub fn clear_bad(&mut self) -> Result<()> {
        self.memory.slice_mut(..COUNTS).clear()
    }

    /// Reset the measurements before a matrix is factored, also those of stored factors.
    pub fn clear_before_factors(&mut self) -> Result<()> {
        self.memory.slice_mut(..self.head).clear()
    }

    /// Store the flags of the elimination together with the factors.
    pub fn store_suspects(&mut self, device: &Device) -> Result<()> {
        let mut stored = self.stored.take().map_or_else(|| device.zeros(self.head - COUNTS), Ok)?;
        stored.slice_mut(..).copy_from(self.memory.slice(COUNTS..self.head))?;
        self.stored = Some(stored);
        Ok(())
    }

    /// Address of the flags of systems that may be singular, one bit each.
    pub fn suspects_at(&self) -> u64 {
        self.memory.slice(COUNTS..).address()
    }

    /// The systems that may be singular.
    pub fn suspects(&self) -> Result<Vec<usize>> {
        Ok(ones(&self.memory.slice(COUNTS..self.head).download()?))
    }

    /// The peaks of a level. With `list`, those of the first level include the list of inaccurate rows.
    pub fn peaks<T: DeviceScalar>(&self, level: usize, columns: usize, list: bool) -> Peaks {
        let before = self.head + level * Peaks::KINDS * columns * T::REAL_BYTES;
        let peaks = Peaks::at(self.memory.slice(before..).address(), columns, T::REAL_BYTES);
        if level > 0 || !list {
            return peaks;
        }
        let limit = accepted_at_once::<T>();
        let at = |byte: usize| self.memory.slice(byte..).address();
        Peaks { bad: at(0), rows: at(self.head + self.peaks), limit, room: self.room as u32, ..peaks }
    }

    /// The peaks of the first level as bytes.
    pub fn first<T: DeviceScalar>(&self, columns: usize) -> DeviceSlice<'_, u8> {
        self.memory.slice(self.head..self.head + Peaks::KINDS * columns * T::REAL_BYTES)
    }

    /// The measurements of the first level.
    pub fn verdict<T: DeviceScalar>(&self, columns: usize) -> Result<Verdict> {
        let bytes = self.memory.slice(..self.head + Peaks::KINDS * columns * T::REAL_BYTES).download()?;
        let ([bad, changed], suspects) = (pair(&bytes), ones(&bytes[COUNTS..self.head]));
        let (errors, rconds) = (errors::<T>(&bytes[self.head..]), rconds::<T>(&bytes[self.head..]));
        Ok(Verdict { errors, rconds, suspects, bad: bad as usize, changed: changed != 0 })
    }

    /// The largest error of many systems with one column each, computed on the device. `None` if a system needs
    /// attention: it may be singular, x is implausibly large, or x may have no correct digit.
    pub fn summary<T: DeviceScalar>(&self, device: &Device, systems: u32, scaled: bool) -> Result<Option<f64>> {
        let at = SUMMARY.map(|byte| self.memory.slice(byte..).address());
        self.summarize::<T>(device, (systems as usize, 1), scaled, at)?;
        let bytes = self.memory.slice(..COUNTS).download()?;
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let accepted = word(0) == 0 && word(SUMMARY[1]) == 0;
        Ok(accepted.then(|| f64::from_bits(word(SUMMARY[0]))))
    }

    /// Let the device raise a summary of all columns, with `per_system` columns of each system. The addresses are those of the bits of the largest error,
    /// and of a word that is set if a system needs attention. Only `scaled` rows show that x may have no correct digit ([`rconds`]).
    pub fn summarize<T: DeviceScalar>(
        &self,
        device: &Device,
        (columns, per_system): (usize, u32),
        scaled: bool,
        [most, attention]: [u64; 2],
    ) -> Result<()> {
        let peaks = self.peaks::<T>(0, columns, false);
        let arguments = Arguments::default().with(columns as u32).with(per_system).with(peaks).with(self.suspects_at());
        // The bounds of `errors` and of the report, with a factor of two for the roundings of the kernel.
        let least = if scaled { 2.0 * T::Real::EPSILON.to_f64() } else { 0.0 };
        let bounds = [T::IMPLAUSIBLE / 2.0, least];
        let arguments = bounds.into_iter().fold(arguments, Arguments::with).with(most).with(attention);
        let blocks = columns.div_ceil(THREADS as usize).min(SUMMARY_BLOCKS);
        // SAFETY: these are the kernel's arguments, and the memory has room for the peaks of all columns.
        unsafe { arguments.launch(device, &format!("summarize_{}", T::NAME), blocks, 0) }
    }

    /// The columns and numbers of `count` inaccurate rows, in order. `None` if the list is too short for them.
    pub fn bad_rows(&self, count: usize) -> Result<Option<Vec<[u32; 2]>>> {
        if count > self.room {
            return Ok(None);
        }
        let first = self.head + self.peaks;
        let bytes = self.memory.slice(first..first + count * ENTRY).download()?;
        let mut rows: Vec<_> = bytes.chunks_exact(ENTRY).map(pair).collect();
        rows.sort_unstable();
        Ok(Some(rows))
    }
}

/// The first two words.
fn pair(bytes: &[u8]) -> [u32; 2] {
    [0, 4].map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}

/// The indices of the bits that are set.
fn ones(bytes: &[u8]) -> Vec<usize> {
    let set = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
    set.flat_map(|(k, byte)| (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| 8 * k + bit)).collect()
}

/// The backward errors of every column, from the peaks. The error is infinite if x is so much larger than the
/// right-hand side that a zero pivot is the likely cause.
pub(crate) fn errors<T: DeviceScalar>(peaks: &[u8]) -> Vec<f64> {
    let [mut errors, sizes, rhs] = [0, 1, 2].map(|kind| read::<T>(peaks, kind));
    for ((error, size), rhs) in errors.iter_mut().zip(sizes).zip(rhs) {
        if !(size <= rhs * T::IMPLAUSIBLE) {
            *error = f64::INFINITY;
        }
    }
    errors
}

/// Upper bounds of the reciprocal condition number, from every column. They require scaled rows.
///
/// With Σⱼ|aᵢⱼ| = sᵢ, ‖A⁻¹·diag(s)‖∞ ≥ ‖x‖∞ / maxᵢ(|dᵢ|/sᵢ). For scaled rows, sᵢ is at least 1, or 1/√2 if
/// complex.
pub(crate) fn rconds<T: DeviceScalar>(peaks: &[u8]) -> Vec<f64> {
    let [sizes, rhs] = [1, 2].map(|kind| read::<T>(peaks, kind));
    rhs.iter().zip(sizes).map(|(rhs, size)| rcond::<T>(*rhs, size)).collect()
}

/// The bound from the largest right-hand side and the largest |x|.
pub(crate) fn rcond<T: DeviceScalar>(rhs: f64, size: f64) -> f64 {
    rhs * if T::COMPLEX { SQRT_2 } else { 1.0 } / size
}

/// The peaks of one kind.
pub(crate) fn read<T: DeviceScalar>(peaks: &[u8], kind: usize) -> Vec<f64> {
    let bytes = peaks.len() / Peaks::KINDS;
    let real = |bytes: &[u8]| {
        let mut word = [0_u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        T::real_of_bits(u64::from_le_bytes(word))
    };
    peaks[kind * bytes..(kind + 1) * bytes].chunks_exact(T::REAL_BYTES).map(real).collect()
}
