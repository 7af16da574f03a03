//! The C functions for devices that belong to no type.

use super::*;
use core::ffi::c_char;

/// Open a GPU by name.
///
/// "cuda" and "cuda:0" are the first GPU, "cuda:1" is the second. "emulated" is an emulator in CPU memory, if the library was
/// built with it. The function writes `device` if it succeeds. It returns `BANDSOLVE_NO_DEVICE` if there is no such GPU, no
/// driver, or no NVRTC, which compiles the kernels. Any number of threads may use one device at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuOpen(
    name: *const c_char,
    device: *mut bandsolve_gpu_device_t,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::open(name, device) })
}

/// Close a device. Does nothing if `device` is NULL.
///
/// The function frees the memory and the factors that the library keeps on the device. No thread may use the device any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuClose(device: bandsolve_gpu_device_t) -> bandsolve_status_t {
    guard(|| unsafe { gpu::close(device) })
}
