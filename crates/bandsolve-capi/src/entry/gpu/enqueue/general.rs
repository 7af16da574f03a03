//! The C functions for statuses of enqueued solves that belong to no type.

use super::*;

/// Wait for the enqueued solves of a status, and check them.
///
/// The function returns `BANDSOLVE_SUCCESS` if the GPU measured a backward error of at most 4 eps for all solves since the creation or the
/// last reset of the status. eps is that of the number type, and the backward errors are then below 8 eps. It returns
/// `BANDSOLVE_NOT_CONVERGED` if a measured error is larger, or if a solution needs attention: the matrix may be singular, or x may have no
/// correct digit. Then solve again with a function that waits, which repairs x.
///
/// `bandsolveLastReport` then has the largest backward error, `attention`, and the method of the last solve. `backward_error` is NaN if a
/// solution needs attention. If nothing was enqueued, the report says that nothing was solved.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuStatusRead(status: bandsolve_gpu_status_t) -> bandsolve_status_t {
    guard(|| unsafe { gpu::read_status(status) })
}

/// Forget the solves of a status. The function does not wait: it takes effect on the stream of the status, after the solves that were enqueued
/// before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuStatusReset(status: bandsolve_gpu_status_t) -> bandsolve_status_t {
    guard(|| unsafe { gpu::reset_status(status) })
}

/// Destroy a status, and free the memory of its solves. Does nothing if `status` is NULL.
///
/// Wait for the solves first, for example with `bandsolveGpuStatusRead`. No captured graph that contains one of the solves may be launched any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuStatusDestroy(status: bandsolve_gpu_status_t) -> bandsolve_status_t {
    guard(|| unsafe { gpu::destroy_status(status) })
}
