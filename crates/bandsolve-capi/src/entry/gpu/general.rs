//! The C functions for devices that belong to no type.

use super::*;
use core::ffi::c_char;

/// Opens a GPU: "cuda" or "cuda:0" the first, "cuda:1" the second; "emulated", if the library was built with the emulator,
/// whose memory is that of the CPU. `device` is written if it succeeds; `BANDSOLVE_NO_DEVICE` tells that there is no such
/// GPU, no driver, or no NVRTC, which compiles the kernels. Any number of threads may use one device at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuOpen(
    name: *const c_char,
    device: *mut bandsolve_gpu_device_t,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::open(name, device) })
}

/// Closes a device, and frees the memory and the factors that functions have kept on it; nothing if NULL. Nobody may use it any
/// more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuClose(device: bandsolve_gpu_device_t) -> bandsolve_status_t {
    guard(|| unsafe { gpu::close(device) })
}
