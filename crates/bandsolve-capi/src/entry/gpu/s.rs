//! The C functions in `float` for the memory of devices.

use super::*;
use SystemKind::{Banded, Blocks, Tridiagonal};

/// Bytes of buffer for `bandsolveGpuSgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveSgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
/// put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
/// used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs: *const f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Tridiagonal { n, periodic: false }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuScgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuScgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solves as `bandsolveScgtsv`, otherwise as `bandsolveGpuSgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuScgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs: *const f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Tridiagonal { n, periodic: true }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuSbgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveSbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuSgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs: *const f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Blocks { n, block, periodic: false }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuScbgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuScbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solves as `bandsolveScbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuSgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuScbgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs: *const f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Blocks { n, block, periodic: true }, [sub, diag, sup], sides) })
}

/// Bytes of factorization buffer for `bandsolveGpuSbgtf`: enough to have an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtf_factorizationBufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::storage_size::<f32>(device, p, (n, block), size) })
}

/// Factors a block tridiagonal matrix, stored as for `bandsolveGpuSbgtsv`, which is kept: it must not be changed or freed
/// before `bandsolveGpuSbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
/// address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
/// stood for before are freed. The settings of the thread count here, for the solves as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtf(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::factor(At { device, stream }, p, (n, block), [sub, diag, sup], factorization_buffer) })
}

/// Frees the factors that `bandsolveGpuSbgtf` has made; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtf_destroy(
    device: bandsolve_gpu_device_t,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::destroy(device, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveGpuSbgtrfs`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtrfs_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveGpuSbgtsv` with the factors of `bandsolveGpuSbgtf`, which was called with the same p, n, block, sub,
/// diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
/// Threads that solve with the same factors take turns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtrfs(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs: *const f32,
    factorization_buffer: *const c_void,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::solve_factored(at, p, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveGpuSgbsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgbsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Banded { n, lower, upper }, n_rhs, size) })
}

/// Solves as `bandsolveSgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuSgtsv`. The matrix is read where
/// it lies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgbsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    bands: *const f32,
    x: *mut f32,
    rhs: *const f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::banded(at, p, Banded { n, lower, upper }, bands, sides) })
}

/// Bytes of buffer for `bandsolveGpuSgtsv_csc2dense`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgtsv_csc2dense_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f32>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveSgtsv_csc2dense`, otherwise as `bandsolveGpuSgtsv`. Rows of a column ascend, and no row comes twice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgtsv_csc2dense(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    x: *mut f32,
    rhs_values: *const f32,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    rhs_nnz: i64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    _ = buffer;
    let rhs = SparseColumns { values: rhs_values, row_indices: rhs_row_indices, pointers: rhs_col_ptrs, nnz: rhs_nnz };
    guard(|| unsafe { gpu::to_dense(At { device, stream }, p, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solves as `bandsolveSgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
/// right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSgtsv_csc2csc(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    rhs_values: *const f32,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    n_rhs: i64,
    rhs_nnz: i64,
    result_values: *mut f32,
    result_row_indices: *mut i32,
    result_col_ptrs: *const i32,
    result_nnz: i64,
) -> bandsolve_status_t {
    let rhs = SparseColumns { values: rhs_values, row_indices: rhs_row_indices, pointers: rhs_col_ptrs, nnz: rhs_nnz };
    let result = SparseColumnsMut {
        values: result_values,
        row_indices: result_row_indices,
        pointers: result_col_ptrs,
        nnz: result_nnz,
    };
    let at = At { device, stream: null_mut() };
    guard(|| unsafe { gpu::to_sparse(at, p, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
