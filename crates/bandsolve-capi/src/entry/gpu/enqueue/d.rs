//! The C functions in `double` that enqueue solves on a device and do not wait.

use super::*;
use SystemKind::{Banded, Batch, Blocks, Tridiagonal};

/// Create a status for the functions of this number type that enqueue solves.
///
/// `stream` is the `cudaStream_t` on which the status is written and read. Pass the stream of the solves. The function writes `status`. Free it
/// with `bandsolveGpuStatusDestroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDstatus_create(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    status: *mut bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::create_status::<f64>(device, stream, status) })
}

/// Enqueue a solve of A X = RHS for a tridiagonal matrix A, and return without waiting for the GPU.
///
/// The arguments are those of `bandsolveGpuDgtsv`, with a status in place of the buffer. The GPU measures the backward error and raises
/// `status`. The library does not repair x: read the status with `bandsolveGpuStatusRead`. Do not free the arrays before the GPU has
/// solved.
///
/// The first call of a kind allocates memory, compiles kernels, and can wait. A kind is a function, sizes, number of right-hand sides, pivoting,
/// settings, stream, status, and whether `x` is the same pointer as `rhs`. Later calls only launch kernels, set memory to zero and copy on the
/// GPU, all on `stream`, if `status` was created with the same stream. They can be captured in a CUDA graph. The status keeps the memory of
/// the solves until you destroy it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: false }, [sub, diag, sup], sides) })
}

/// Enqueue a solve of A X = RHS for a periodic (cyclic) tridiagonal matrix A, and return without waiting for the GPU.
///
/// The matrix is stored as for `bandsolveDcgtsv`. The other arguments are those of `bandsolveGpuDgtsv_enqueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcgtsv_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: true }, [sub, diag, sup], sides) })
}

/// Enqueue solves of `count` tridiagonal systems of n unknowns each, and return without waiting for the GPU.
///
/// The systems are stored as for `bandsolveGpuDgtsv_batch`. The other arguments are those of `bandsolveGpuDgtsv_enqueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_batch_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    count: i64,
    row_stride: i64,
    system_stride: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs: 1, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::three(call, Batch { n, count, row_stride, system_stride }, [sub, diag, sup], sides) })
}

/// Enqueue a solve of A X = RHS for a block tridiagonal matrix A, and return without waiting for the GPU.
///
/// The matrix is stored as for `bandsolveDbgtsv`. The other arguments are those of `bandsolveGpuDgtsv_enqueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtsv_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: false }, [sub, diag, sup], sides) })
}

/// Enqueue a solve of A X = RHS for a periodic (cyclic) block tridiagonal matrix A, and return without waiting for the GPU.
///
/// The matrix is stored as for `bandsolveDcbgtsv`. The other arguments are those of `bandsolveGpuDgtsv_enqueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcbgtsv_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: true }, [sub, diag, sup], sides) })
}

/// Enqueue a solve of A X = RHS with the factors of `bandsolveGpuDbgtf`, and return without waiting for the GPU.
///
/// Pass the same p, n, block, sub, diag and sup as to `bandsolveGpuDbgtf`, on the same stream. The other arguments are those of
/// `bandsolveGpuDgtsv_enqueue`. The function factors again, and waits, if there are more right-hand sides than in any call before, or if the stream is
/// another one. A captured graph is valid until the factors are freed or computed again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtrfs_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs: *const f64,
    factorization_buffer: *const c_void,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::solve_factored(call, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Enqueue a solve of A X = RHS for a banded matrix A with at most 4 diagonals on each side, and return without waiting for the GPU.
///
/// The matrix is stored as for `bandsolveDgbsv`, and is not copied. The other arguments are those of `bandsolveGpuDgtsv_enqueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgbsv_enqueue(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    bands: *const f64,
    x: *mut f64,
    rhs: *const f64,
    status: bandsolve_gpu_status_t,
) -> bandsolve_status_t {
    let call = CallSettings::enqueuing(device, stream, p, status);
    let sides = Sides { n_rhs, x, rhs, buffer: null_mut() };
    guard(|| unsafe { gpu::banded(call, Banded { n, lower, upper }, bands, sides) })
}
