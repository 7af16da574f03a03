//! The C functions in `float` for the memory of devices.

use super::*;
use SystemKind::{Banded, Blocks, Tridiagonal};

/// Get the size in bytes of the buffer of `bandsolveGpuSgtsv`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS for a tridiagonal matrix A in the memory of a GPU.
///
/// All arrays are stored as for `bandsolveSgtsv`, in the memory of `device`. `stream` is a `cudaStream_t`. The function first
/// waits for the work that you enqueued on the stream. When it returns, `x` is complete and verified. `buffer` is not used.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: false }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuScgtsv`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS for a periodic (cyclic) tridiagonal matrix A in the memory of a GPU.
///
/// The matrix is stored as for `bandsolveScgtsv`. The other arguments are those of `bandsolveGpuSgtsv`.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Tridiagonal { n, periodic: true }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuSbgtsv`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS for a block tridiagonal matrix A in the memory of a GPU, with blocks of at most 4 rows.
///
/// The matrix is stored as for `bandsolveSbgtsv`. The other arguments are those of `bandsolveGpuSgtsv`.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: false }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuScbgtsv`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS for a periodic (cyclic) block tridiagonal matrix A in the memory of a GPU, with blocks of at most 4 rows.
///
/// The matrix is stored as for `bandsolveScbgtsv`. The other arguments are those of `bandsolveGpuSgtsv`.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::three(call, Blocks { n, block, periodic: true }, [sub, diag, sup], sides) })
}

/// Get the size in bytes of the factorization buffer of `bandsolveGpuSbgtf`: just enough to have an address.
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

/// Factor a block tridiagonal matrix in the memory of a GPU for many solves with `bandsolveGpuSbgtrfs`.
///
/// The matrix is stored as for `bandsolveGpuSbgtsv`. The factors refer to it: do not change or free `sub`, `diag` and `sup`
/// before `bandsolveGpuSbgtf_destroy`.
///
/// The device stores the factors, approximately 7 values for each entry of a diagonal block. The address of
/// `factorization_buffer` identifies the factors; its bytes are neither read nor written. If this address already identifies
/// factors, the function frees these factors.
///
/// The settings of the calling thread at this call also apply to the solves.
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
    guard(|| unsafe {
        gpu::factor(CallSettings { device, stream, p }, (n, block), [sub, diag, sup], factorization_buffer)
    })
}

/// Free the factors that `bandsolveGpuSbgtf` made. Does nothing if `factorization_buffer` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveGpuSbgtf_destroy(
    device: bandsolve_gpu_device_t,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { gpu::destroy(device, factorization_buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuSbgtrfs`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS with the factors of `bandsolveGpuSbgtf`.
///
/// Pass the same p, n, block, sub, diag and sup as to `bandsolveGpuSbgtf`. The other arguments are those of
/// `bandsolveGpuSgtsv`. The function factors again, once, if there are more right-hand sides than in any call before, or if the
/// stream is another one. Threads that solve with the same factors take turns.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::solve_factored(call, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuSgbsv`. The size is 0: the device allocates and keeps its memory.
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

/// Solve A X = RHS for a banded matrix A in the memory of a GPU, with at most 4 diagonals on each side.
///
/// The matrix is stored as for `bandsolveSgbsv`, and is not copied. The other arguments are those of `bandsolveGpuSgtsv`.
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
    let (call, sides) = (CallSettings { device, stream, p }, Sides { n_rhs, x, rhs, buffer });
    guard(|| unsafe { gpu::banded(call, Banded { n, lower, upper }, bands, sides) })
}

/// Get the size in bytes of the buffer of `bandsolveGpuSgtsv_csc2dense`. The size is 0: the device allocates and keeps its
/// memory.
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

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D in the memory of a GPU.
///
/// The arrays are stored as for `bandsolveSgtsv_csc2dense`, but the rows of each column must ascend, without repetition. The
/// other arguments are those of `bandsolveGpuSgtsv`.
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
    guard(|| unsafe { gpu::to_dense(CallSettings { device, stream, p }, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D in the memory of a GPU, and return the largest
/// entries of each solution.
///
/// The arrays are stored as for `bandsolveSgtsv_csc2csc`, but the rows of each column of D must ascend, without repetition. The
/// function runs on the default stream of `device`. It stores at most 256 MiB of X at a time.
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
    let call = CallSettings { device, stream: null_mut(), p };
    guard(|| unsafe { gpu::to_sparse(call, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
