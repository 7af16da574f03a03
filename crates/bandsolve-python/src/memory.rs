//! Free memory, and fallible allocation.

use bandsolve::Error;
use pyo3::prelude::*;

/// Get the number of bytes that this process can still allocate, as reported by the operating system.
#[pyfunction]
pub fn free_memory() -> u64 {
    bandsolve::host::free_memory()
}

/// Copy `values`, or return `OutOfMemory`.
pub fn copied<T: Copy>(values: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = room(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// Create an empty list with capacity for `count` items, or return `OutOfMemory`.
pub fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    list.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(list)
}
