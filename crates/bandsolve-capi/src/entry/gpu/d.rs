//! The C functions in `double` for the memory of devices.

use super::*;
use SystemKind::{Banded, Batch, Blocks, Tridiagonal};

/// Get the size in bytes of the buffer of `bandsolveGpuDgtsv`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solve A X = RHS for a tridiagonal matrix A in the memory of a GPU.
///
/// All arrays are stored as for `bandsolveDgtsv`, in the memory of `device`. `stream` is a `cudaStream_t`. The function first
/// waits for the work that you enqueued on the stream. When it returns, `x` is complete and verified. `buffer` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: false }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDcgtsv`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solve A X = RHS for a periodic (cyclic) tridiagonal matrix A in the memory of a GPU.
///
/// The matrix is stored as for `bandsolveDcgtsv`. The other arguments are those of `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcgtsv(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: true }, [sub, diag, sup], sides) })
}

/// Solve `count` tridiagonal systems of n unknowns each in the memory of a GPU.
///
/// Entry i of system s is at index i * row_stride + s * system_stride of each array. The strides are 1 and n, or `count` and 1. The
/// function ignores `sub` of the first row and `sup` of the last row of each system. The other arguments are those of
/// `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_batch(
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
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs: 1, x, rhs, buffer: null_mut() });
    guard(|| unsafe { gpu::three(call, Batch { n, count, row_stride, system_stride }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDbgtsv`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solve A X = RHS for a block tridiagonal matrix A in the memory of a GPU. Blocks of more than 4 rows need cuBLAS.
///
/// The matrix is stored as for `bandsolveDbgtsv`. The other arguments are those of `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtsv(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: false }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDcbgtsv`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcbgtsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solve A X = RHS for a periodic (cyclic) block tridiagonal matrix A in the memory of a GPU. Blocks of more than 4 rows need cuBLAS.
///
/// The matrix is stored as for `bandsolveDcbgtsv`. The other arguments are those of `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDcbgtsv(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: true }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the factorization buffer of `bandsolveGpuDbgtf`: just enough to have an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtf_factorizationBufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::storage_size::<f64>(device, p, (n, block), size) })
}

/// Factor a block tridiagonal matrix in the memory of a GPU for many solves with `bandsolveGpuDbgtrfs`.
///
/// The matrix is stored as for `bandsolveGpuDbgtsv`. The factors refer to it: do not change or free `sub`, `diag` and `sup`
/// before `bandsolveGpuDbgtf_destroy`.
///
/// The device stores the factors, approximately 7 values for each entry of a diagonal block. The address of
/// `factorization_buffer` identifies the factors; its bytes are neither read nor written. If this address already identifies
/// factors, the function frees these factors.
///
/// The settings of the calling thread at this call also apply to the solves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtf(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe {
        gpu::factor(CallSettings::waiting(device, stream, p), (n, block), [sub, diag, sup], factorization_buffer)
    })
}

/// Free the factors that `bandsolveGpuDbgtf` made. Does nothing if `factorization_buffer` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtf_destroy(
    device: bandsolve_gpu_device_t,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::destroy(device, factorization_buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDbgtrfs`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtrfs_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solve A X = RHS with the factors of `bandsolveGpuDbgtf`.
///
/// Pass the same p, n, block, sub, diag and sup as to `bandsolveGpuDbgtf`. The other arguments are those of
/// `bandsolveGpuDgtsv`. The function factors again, once, if there are more right-hand sides than in any call before, or if the
/// stream is another one. Threads that solve with the same factors take turns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDbgtrfs(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::solve_factored(call, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDgbsv`. The size is 0: the device allocates and keeps its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgbsv_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Banded { n, lower, upper }, n_rhs, size) })
}

/// Solve A X = RHS for a banded matrix A in the memory of a GPU, with at most 4 diagonals on each side.
///
/// The matrix is stored as for `bandsolveDgbsv`, and is not copied. The other arguments are those of `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgbsv(
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
    buffer: *mut c_void,
) -> bandsolve_status_t {
    let (call, sides) = (CallSettings::waiting(device, stream, p), Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::banded(call, Banded { n, lower, upper }, bands, sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuDgtsv_csc2dense`. The size is 0: the device allocates and keeps its
/// memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_csc2dense_bufferSizeExt(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::no_buffer::<f64>(device, p, Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D in the memory of a GPU.
///
/// The arrays are stored as for `bandsolveDgtsv_csc2dense`, but the rows of each column must ascend, without repetition. The
/// other arguments are those of `bandsolveGpuDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_csc2dense(
    device: bandsolve_gpu_device_t,
    stream: *mut c_void,
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    x: *mut f64,
    rhs_values: *const f64,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    rhs_nnz: i64,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    _ = buffer;
    let rhs = SparseColumns { values: rhs_values, row_indices: rhs_row_indices, pointers: rhs_col_ptrs, nnz: rhs_nnz };
    guard(|| unsafe { gpu::to_dense(CallSettings::waiting(device, stream, p), (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D in the memory of a GPU, and return the largest
/// entries of each solution.
///
/// The arrays are stored as for `bandsolveDgtsv_csc2csc`, but the rows of each column of D must ascend, without repetition. The
/// function runs on the default stream of `device`. It stores at most 256 MiB of X at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuDgtsv_csc2csc(
    device: bandsolve_gpu_device_t,
    p: PivotingArgument,
    n: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    rhs_values: *const f64,
    rhs_row_indices: *const i32,
    rhs_col_ptrs: *const i32,
    n_rhs: i64,
    rhs_nnz: i64,
    result_values: *mut f64,
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
    let call = CallSettings::waiting(device, null_mut(), p);
    guard(|| unsafe { gpu::to_sparse(call, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
