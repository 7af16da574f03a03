//! Scratch memory of applications and solves, and the check of a length.

use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Error, Result};
use bandsolve_kernel::memory::zeros;

/// Return an error if a length is not the expected one.
pub(crate) fn check(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// Scratch memory on large pages. Random reads from small pages take several times as long.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn buffer(needed: StackReq) -> Result<Vec<f64>> {
    let bytes = needed.unaligned_bytes_required();
    zeros(bytes.div_ceil(size_of::<f64>())).ok_or(Error::OutOfMemory { bytes })
}

/// A stack in this memory.
pub(crate) fn stack(memory: &mut [f64]) -> &mut PodStack {
    PodStack::new(bytemuck::cast_slice_mut(memory))
}
