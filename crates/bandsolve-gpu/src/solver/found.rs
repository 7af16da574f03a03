//! What is found out about solutions, in the memory of a device.

use crate::device::{Device, DeviceSlice, DeviceVec, Element};
use crate::launch::Peaks;
use bandsolve::Result;
use bandsolve::direct::contract::{ACCEPTED_AT_ONCE, good};

/// Bytes before the peaks: how many rows are bad, and whether the largest |x| was changed.
const HEAD: usize = 8;
/// Bytes of a bad row: its column, and its number.
const ENTRY: usize = 8;

/// Memory for the peaks of every level, and for the bad rows of the first.
#[derive(Debug)]
pub(crate) struct Found {
    memory: DeviceVec<u8>,
    /// Bytes of the peaks.
    peaks: usize,
    /// How many bad rows can be listed: more are not mended.
    room: usize,
}

/// What is found out about a solution.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Backward errors of every column, but for the bad rows.
    pub errors: Vec<f64>,
    /// Rows whose error is not accepted.
    pub bad: usize,
    /// The largest |x|, to which errors are relative, was changed since they were measured.
    pub changed: bool,
}

impl Verdict {
    pub fn is_good<T: Element>(&self) -> bool {
        self.bad == 0 && !self.changed && self.errors_are_good::<T>()
    }

    /// Whether all is good but for what is to be mended yet.
    pub fn errors_are_good<T: Element>(&self) -> bool {
        self.errors.iter().all(|error| *error <= ACCEPTED_AT_ONCE * good::<T>())
    }
}

impl Found {
    /// Memory for so many levels, and columns of so many rows.
    pub fn new<T: Element>(device: &Device, levels: usize, columns: usize, rows: usize) -> Result<Self> {
        let peaks = Peaks::KINDS * levels * columns * T::REAL_BYTES;
        let room = 32 + columns * rows / 512;
        Ok(Self { memory: device.zeros(HEAD + peaks + room * ENTRY)?, peaks, room })
    }

    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<()> {
        self.memory.slice_mut(..HEAD + self.peaks).clear()
    }

    /// Forgets the bad rows.
    pub fn clear_bad(&mut self) -> Result<()> {
        self.memory.slice_mut(..HEAD).clear()
    }

    /// The peaks of a level; of the first also the bad rows, if they are wanted.
    pub fn peaks<T: Element>(&self, level: usize, columns: usize, list: bool) -> Peaks {
        let before = HEAD + level * Peaks::KINDS * columns * T::REAL_BYTES;
        let peaks = Peaks::at(self.memory.slice(before..).address(), columns, T::REAL_BYTES);
        if level > 0 || !list {
            return peaks;
        }
        let limit = ACCEPTED_AT_ONCE * good::<T>();
        let at = |byte: usize| self.memory.slice(byte..).address();
        Peaks { bad: at(0), rows: at(HEAD + self.peaks), limit, room: self.room as u32, ..peaks }
    }

    /// The peaks of the first level, as bytes.
    pub fn first<T: Element>(&self, columns: usize) -> DeviceSlice<'_, u8> {
        self.memory.slice(HEAD..HEAD + Peaks::KINDS * columns * T::REAL_BYTES)
    }

    /// What was found out about the first level.
    pub fn verdict<T: Element>(&self, columns: usize) -> Result<Verdict> {
        let bytes = self.memory.slice(..HEAD + Peaks::KINDS * columns * T::REAL_BYTES).download()?;
        let [bad, changed] = pair(&bytes);
        Ok(Verdict { errors: errors::<T>(&bytes[HEAD..]), bad: bad as usize, changed: changed != 0 })
    }

    /// Columns and numbers of so many bad rows, in order; none if there are more than were listed.
    pub fn bad_rows(&self, count: usize) -> Result<Option<Vec<[u32; 2]>>> {
        if count > self.room {
            return Ok(None);
        }
        let first = HEAD + self.peaks;
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

/// Backward errors of every column, from their peaks; infinite where x is so much larger than the right-hand side that a pivot that
/// was zero is the likely cause.
pub(crate) fn errors<T: Element>(peaks: &[u8]) -> Vec<f64> {
    let [mut errors, sizes, rhs] = [0, 1, 2].map(|kind| read::<T>(peaks, kind));
    for ((error, size), rhs) in errors.iter_mut().zip(sizes).zip(rhs) {
        if !(size <= rhs * T::IMPLAUSIBLE) {
            *error = f64::INFINITY;
        }
    }
    errors
}

/// The peaks of one kind.
pub(crate) fn read<T: Element>(peaks: &[u8], kind: usize) -> Vec<f64> {
    let bytes = peaks.len() / Peaks::KINDS;
    let real = |bytes: &[u8]| {
        let mut word = [0_u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        T::real_of_bits(u64::from_le_bytes(word))
    };
    peaks[kind * bytes..(kind + 1) * bytes].chunks_exact(T::REAL_BYTES).map(real).collect()
}
