//! The C functions in `double`.

use super::*;

/// Bytes of buffer for `bandsolveDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a tridiagonal matrix:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
/// be the same pointer as `rhs`. `buffer` has the size that `bandsolveDgtsv_bufferSizeExt` says, in any alignment, or is
/// NULL: then memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveDcgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDcgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveDgtsv`, but `sub[0]` multiplies `x[n-1]` in the
/// first row and `sup[n-1]` multiplies `x[0]` in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDcgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveDbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a block tridiagonal matrix of n block rows:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
/// n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
/// column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveDcbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDcbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveDbgtsv`, but the first block of `sub`
/// multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDcbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of factorization buffer for `bandsolveDbgtf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtf_factorizationBufferSizeExt(
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::storage_size::<f64>(p, n, block, size) })
}

/// Factors a block tridiagonal matrix, stored as for `bandsolveDbgtsv`, which is kept: it must not be changed or freed before
/// `bandsolveDbgtf_destroy`. `factorization_buffer` has the size that `bandsolveDbgtf_factorizationBufferSizeExt` says, in any
/// alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
/// Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
/// settings of the thread count here, for the solves as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtf(
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const f64,
    diag: *const f64,
    sup: *const f64,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::factor(p, (n, block), [sub, diag, sup], factorization_buffer) })
}

/// Frees the factors that `bandsolveDbgtf` has made; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtf_destroy(factorization_buffer: *mut c_void) -> bandsolve_status_t {
    guard(|| unsafe { factored::destroy(factorization_buffer) })
}

/// Bytes of buffer for `bandsolveDbgtrfs`, under the settings with which `bandsolveDbgtf` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtrfs_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Factors { n, block }, n_rhs, size) })
}

/// Solves as `bandsolveDbgtsv` with the factors of `bandsolveDbgtf`, which was called with the same p, n, block, sub, diag and
/// sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtrfs(
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
    let sides = Sides { n_rhs, x, rhs, buffer };
    guard(|| unsafe { factored::solve(p, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveDgbsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgbsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Banded { n, lower, upper }, n_rhs, size) })
}

/// Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
/// lowest first, indexed by row:
///
///     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
///
/// Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
/// `buffer` as in `bandsolveDgtsv`; the matrix is rearranged there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgbsv(
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
    guard(|| unsafe { banded(p, (n, lower, upper), bands, Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveDgtsv_csc2dense`: 0, memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_csc2dense_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { fixed_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, 0, size) })
}

/// Solves A X = D with a tridiagonal matrix, as `bandsolveDgtsv`, and sparse right-hand sides: column j of D has the entries
/// `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
/// any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
/// n_rhs, column-major, and overlaps nothing. `buffer` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_csc2dense(
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
    guard(|| unsafe { to_dense(p, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solves A X = D as `bandsolveDgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
/// `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
/// `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_csc2csc(
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
    guard(|| unsafe { to_sparse(p, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
