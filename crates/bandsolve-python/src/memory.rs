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
    let mut copy = Vec::new();
    copy.try_reserve_exact(values.len()).map_err(|_| Error::OutOfMemory { bytes: size_of_val(values) })?;
    copy.extend_from_slice(values);
    Ok(copy)
}
