//! Errors and options on which all processes agree.

use crate::error::{Error, Result};
use crate::operator::Communicator;

/// Stands for the method in errors of systems that several processes share.
const DISTRIBUTED: &str = "distributed";

/// Total number of rows over all processes, or an error on all processes if one process has an error.
///
/// All processes must call this function, each with its own number of rows and its own result. No process can then wait for one that
/// has failed.
///
/// # Errors
/// The error in `result`. If only other processes have an error, an error of the same kind that names another process.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, Error, vectors::agree};
/// assert_eq!(agree(&Alone, 5, Ok(())), Ok(5));
/// assert_eq!(agree(&Alone, 5, Err(Error::Interrupted)), Err(Error::Interrupted));
/// ```
pub fn agree(communicator: &dyn Communicator, rows: usize, result: Result<()>) -> Result<usize> {
    let (kind, numbers) = match &result {
        Ok(()) => (None, [0; 2]),
        Err(Error::Shape { expected, got, .. }) => (Some(0), [*expected, *got]),
        Err(Error::NotFinite { index, .. }) => (Some(1), [*index, 0]),
        Err(Error::OutOfMemory { bytes }) => (Some(2), [*bytes, 0]),
        Err(Error::Interrupted) => (Some(3), [0; 2]),
        Err(_) => (Some(4), [0; 2]),
    };
    let is = |of| if kind == Some(of) { 1.0 } else { 0.0 };
    let numbers = numbers.map(|number| number as f64);
    let mut sums = [rows as f64, is(0), is(1), is(2), is(3), is(4), numbers[0], numbers[1]];
    communicator.sum(&mut sums);
    result?;
    let [rows, shape, not_finite, memory, interrupted, other, first, second] = sums;
    // If several processes have an error, only the mean of their numbers is known.
    let failed = shape + not_finite + memory + interrupted + other;
    let [first, second] = [first, second].map(|number| (number / failed.max(1.0)) as usize);
    let what = "a vector of another process";
    match () {
        () if interrupted > 0.0 => Err(Error::Interrupted),
        () if memory > 0.0 => Err(Error::OutOfMemory { bytes: first }),
        () if not_finite > 0.0 => Err(Error::NotFinite { array: what, index: first }),
        () if shape > 0.0 => Err(Error::Shape { what, expected: first, got: second }),
        () if other > 0.0 => {
            Err(Error::Unsupported { method: DISTRIBUTED, what: "this system: see the error of another process" })
        }
        () => Ok(rows as usize),
    }
}

/// The value of this process if no process has an error, otherwise an error on all processes. All processes must call this function.
///
/// # Errors
/// Those of [`agree`].
///
/// # Examples
/// ```
/// use bandsolve::{Alone, vectors::agree_on};
/// assert_eq!(agree_on(&Alone, Ok("made")), Ok("made"));
/// ```
pub fn agree_on<V>(communicator: &dyn Communicator, result: Result<V>) -> Result<V> {
    let (result, error) = match result {
        Ok(result) => (Some(result), Ok(())),
        Err(error) => (None, Err(error)),
    };
    agree(communicator, 0, error)?;
    Ok(result.expect("no process has an error"))
}

/// Check that all processes pass the same number, such as a [`digest`] of their options. All processes must call this function.
///
/// # Errors
/// [`Error::Unsupported`] on all processes if the numbers differ.
///
/// # Examples
/// ```
/// use bandsolve::{Alone, vectors::{agree_alike, digest}};
/// assert_eq!(agree_alike(&Alone, digest(&("gmres", 50))), Ok(()));
/// ```
pub fn agree_alike(communicator: &dyn Communicator, options: u64) -> Result<()> {
    // Sums of 16-bit parts and of their squares are exact. By the Cauchy–Schwarz inequality, p·Σv² = (Σv)² only if all v are equal.
    let parts = [0, 16, 32, 48].map(|shift| ((options >> shift) & 0xffff) as f64);
    let mut sums = [0.0; 9];
    sums[0] = 1.0;
    sums[1..5].copy_from_slice(&parts);
    sums[5..].copy_from_slice(&parts.map(|part| part * part));
    communicator.sum(&mut sums);
    let sums = sums.map(|sum| sum as u128);
    let same = (1..5).all(|k| sums[0] * sums[k + 4] == sums[k] * sums[k]);
    let different = || Error::invalid("options", "differ between the processes", "the same options on each process");
    if same { Ok(()) } else { Err(different()) }
}

/// Hash of the debug text of `options` (FNV-1a), for [`agree_alike`].
///
/// # Examples
/// ```
/// use bandsolve::vectors::digest;
/// assert_eq!(digest(&("gmres", 50)), digest(&("gmres", 50)));
/// assert_ne!(digest(&("gmres", 50)), digest(&("gmres", 51)));
/// ```
pub fn digest(options: &dyn core::fmt::Debug) -> u64 {
    struct Fnv(u64);
    impl core::fmt::Write for Fnv {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            text.bytes().for_each(|byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            Ok(())
        }
    }
    let mut state = Fnv(0xcbf2_9ce4_8422_2325);
    // `write_str` never fails. An error of the type's own `Debug` is the same on all processes.
    _ = core::fmt::Write::write_fmt(&mut state, format_args!("{options:?}"));
    state.0
}
