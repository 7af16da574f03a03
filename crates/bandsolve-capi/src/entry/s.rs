//! The C functions in `float`.

use super::*;

/// Bytes of buffer for `bandsolveSgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a tridiagonal matrix:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
/// be the same pointer as `rhs`. `buffer` has the size that `bandsolveSgtsv_bufferSizeExt` says, in any alignment, or is
/// NULL: then memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveScgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveSgtsv`, but `sub[0]` multiplies `x[n-1]` in the
/// first row and `sup[n-1]` multiplies `x[0]` in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveSbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a block tridiagonal matrix of n block rows:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
/// n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
/// column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveSgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveScbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveSbgtsv`, but the first block of `sub`
/// multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of factorization buffer for `bandsolveSbgtf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtf_factorizationBufferSizeExt(
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::storage_size::<f32>(p, n, block, size) })
}

/// Factors a block tridiagonal matrix, stored as for `bandsolveSbgtsv`, which is kept: it must not be changed or freed before
/// `bandsolveSbgtf_destroy`. `factorization_buffer` has the size that `bandsolveSbgtf_factorizationBufferSizeExt` says, in any
/// alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
/// Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
/// settings of the thread count here, for the solves as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtf(
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const f32,
    diag: *const f32,
    sup: *const f32,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::factor(p, (n, block), [sub, diag, sup], factorization_buffer) })
}

/// Frees the factors that `bandsolveSbgtf` has made; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtf_destroy(factorization_buffer: *mut c_void) -> bandsolve_status_t {
    guard(|| unsafe { factored::destroy(factorization_buffer) })
}

/// Bytes of buffer for `bandsolveSbgtrfs`, under the settings with which `bandsolveSbgtf` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtrfs_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Factors { n, block }, n_rhs, size) })
}

/// Solves as `bandsolveSbgtsv` with the factors of `bandsolveSbgtf`, which was called with the same p, n, block, sub, diag and
/// sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSbgtrfs(
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
    let sides = Sides { n_rhs, x, rhs, buffer };
    guard(|| unsafe { factored::solve(p, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveSgbsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgbsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f32>(p, SystemKind::Banded { n, lower, upper }, n_rhs, size) })
}

/// Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
/// lowest first, indexed by row:
///
///     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
///
/// Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
/// `buffer` as in `bandsolveSgtsv`; the matrix is rearranged there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgbsv(
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
    guard(|| unsafe { banded(p, (n, lower, upper), bands, Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveSgtsv_csc2dense`: 0, memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgtsv_csc2dense_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { fixed_size::<f32>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, 0, size) })
}

/// Solves A X = D with a tridiagonal matrix, as `bandsolveSgtsv`, and sparse right-hand sides: column j of D has the entries
/// `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
/// any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
/// n_rhs, column-major, and overlaps nothing. `buffer` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgtsv_csc2dense(
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
    guard(|| unsafe { to_dense(p, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solves A X = D as `bandsolveSgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
/// `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
/// `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSgtsv_csc2csc(
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
    guard(|| unsafe { to_sparse(p, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
