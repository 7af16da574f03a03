//! Memory that is free.

use pyo3::prelude::*;

/// Bytes that this process can still have, as far as the operating system tells.
#[pyfunction]
pub fn free_memory() -> u64 {
    bandsolve::host::free_memory()
}
