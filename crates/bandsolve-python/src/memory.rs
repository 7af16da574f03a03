//! Memory that is free, and memory that may not be there.

use bandsolve::Error;
use pyo3::prelude::*;

/// Bytes that this process can still have, as far as the operating system tells.
#[pyfunction]
pub fn free_memory() -> u64 {
    bandsolve::host::free_memory()
}

/// A copy of `values`, or `Err(OutOfMemory)`.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = room(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// An empty list with room for `count` items, or `Err(OutOfMemory)`.
pub fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(list)
}
