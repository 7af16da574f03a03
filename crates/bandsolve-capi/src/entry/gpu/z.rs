//! The C functions in `double _Complex` for the memory of devices.

use super::*;
use SystemKind::{Banded, Blocks, Tridiagonal};

/// Bytes of buffer for `bandsolveGpuZgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveZgtsv`, with arrays in the memory of `device`, in the order of `stream`, a `cudaStream_t`. What was
/// put on the stream before is waited for; the answer is there, and verified, when the function returns. `buffer` is not
/// used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Tridiagonal { n, periodic: false }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuZcgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZcgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solves as `bandsolveZcgtsv`, otherwise as `bandsolveGpuZgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZcgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Tridiagonal { n, periodic: true }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuZbgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveZbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuZgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Blocks { n, block, periodic: false }, [sub, diag, sup], sides) })
}

/// Bytes of buffer for `bandsolveGpuZcbgtsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZcbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solves as `bandsolveZcbgtsv`, with blocks of up to 4 rows, otherwise as `bandsolveGpuZgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZcbgtsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(at, p, Blocks { n, block, periodic: true }, [sub, diag, sup], sides) })
}

/// Bytes of factorization buffer for `bandsolveGpuZbgtf`: enough to have an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtf_factorizationBufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::storage_size::<Complex64>(device, p, (n, block), size) })
}

/// Factors a block tridiagonal matrix, stored as for `bandsolveGpuZbgtsv`, which is kept: it must not be changed or freed
/// before `bandsolveGpuZbgtf_destroy`. The device keeps the factors, about 7 numbers for each of a diagonal block; the
/// address of `factorization_buffer`, whose bytes are neither read nor written, says which are meant. Factors that it
/// stood for before are freed. The settings of the thread count here, for the solves as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtf(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::factor(At { device, stream }, p, (n, block), [sub, diag, sup], factorization_buffer) })
}

/// Frees the factors that `bandsolveGpuZbgtf` has made; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtf_destroy(
    device: bandsolve_gpu_device_t,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::destroy(device, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveGpuZbgtrfs`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtrfs_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveGpuZbgtsv` with the factors of `bandsolveGpuZbgtf`, which was called with the same p, n, block, sub,
/// diag and sup. Factors are made anew, once, for more right-hand sides than in any call before, and on another stream.
/// Threads that solve with the same factors take turns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZbgtrfs(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    factorization_buffer: *const c_void,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::solve_factored(at, p, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveGpuZgbsv`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgbsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Banded { n, lower, upper }, n_rhs, size) })
}

/// Solves as `bandsolveZgbsv`, with up to 4 diagonals on either side, otherwise as `bandsolveGpuZgtsv`. The matrix is read where
/// it lies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgbsv(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    bands: *const Complex64,
    x: *mut Complex64,
    rhs: *const Complex64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (at, sides) = (At { device, stream }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::banded(at, p, Banded { n, lower, upper }, bands, sides) })
}

/// Bytes of buffer for `bandsolveGpuZgtsv_csc2dense`: 0, the device keeps what is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgtsv_csc2dense_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<Complex64>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves as `bandsolveZgtsv_csc2dense`, otherwise as `bandsolveGpuZgtsv`. Rows of a column ascend, and no row comes twice.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgtsv_csc2dense(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    x: *mut Complex64,
    rhs_values: *const Complex64,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    rhs_nnz: i64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    _ = buffer;
    let rhs = SparseColumns { values: rhs_values, row_indices: rhs_row_indices, pointers: rhs_col_ptrs, nnz: rhs_nnz };
    guard(|| unsafe { gpu::to_dense(At { device, stream }, p, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solves as `bandsolveZgtsv_csc2csc`, with arrays in the memory of `device`, on its default stream. Rows of a column of the
/// right-hand sides ascend, and no row comes twice. Up to 256 MiB of X are there at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuZgtsv_csc2csc(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    rhs_values: *const Complex64,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    n_rhs: i64,
    rhs_nnz: i64,
    result_values: *mut Complex64,
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
