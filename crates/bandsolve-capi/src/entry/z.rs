//! The C functions in `double _Complex`.

use super::*;

/// Bytes of buffer for `bandsolveZgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a tridiagonal matrix:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// `sub`, `diag`, `sup` have length n; `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may
/// be the same pointer as `rhs`. `buffer` has the size that `bandsolveZgtsv_bufferSizeExt` says, in any alignment, or is
/// NULL: then memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveZcgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZcgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) tridiagonal matrix: as `bandsolveZgtsv`, but `sub[0]` multiplies `x[n-1]` in the
/// first row and `sup[n-1]` multiplies `x[0]` in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZcgtsv(
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
    guard(|| unsafe { tridiagonal(p, (n, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveZbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Blocks { n, block, periodic: false }, n_rhs, size) })
}

/// Solves A x = rhs with a block tridiagonal matrix of n block rows:
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i]
///
/// with blocks of `block` by `block` entries, each column-major, one after the other: `sub`, `diag`, `sup` have length
/// n * block * block; the first block of `sub` and the last of `sup` are ignored. `rhs` and `x` are (n * block) by n_rhs,
/// column-major; `x` may be the same pointer as `rhs`. `buffer` as in `bandsolveZgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, false), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveZcbgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZcbgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Blocks { n, block, periodic: true }, n_rhs, size) })
}

/// Solves A x = rhs with a cyclic (periodic) block tridiagonal matrix: as `bandsolveZbgtsv`, but the first block of `sub`
/// multiplies the last block of x in the first block row, and the last block of `sup` the first one in the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZcbgtsv(
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
    guard(|| unsafe { blocks(p, (n, block, true), [sub, diag, sup], Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of factorization buffer for `bandsolveZbgtf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtf_factorizationBufferSizeExt(
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::storage_size::<Complex64>(p, n, block, size) })
}

/// Factors a block tridiagonal matrix, stored as for `bandsolveZbgtsv`, which is kept: it must not be changed or freed before
/// `bandsolveZbgtf_destroy`. `factorization_buffer` has the size that `bandsolveZbgtf_factorizationBufferSizeExt` says, in any
/// alignment; it comes to hold a reference to the factors, which are allocated inside. Factors that it holds already are freed first.
/// Where the method is `rpts` there are none: blocks are eliminated anew in cache, which reads less memory than factors would. The
/// settings of the thread count here, for the solves as well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtf(
    p: PivotingArgument,
    n: i64,
    block: i64,
    sub: *const Complex64,
    diag: *const Complex64,
    sup: *const Complex64,
    factorization_buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::factor(p, (n, block), [sub, diag, sup], factorization_buffer) })
}

/// Frees the factors that `bandsolveZbgtf` has made; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtf_destroy(factorization_buffer: *mut c_void) -> bandsolve_status_t {
    guard(|| unsafe { factored::destroy(factorization_buffer) })
}

/// Bytes of buffer for `bandsolveZbgtrfs`, under the settings with which `bandsolveZbgtf` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtrfs_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Factors { n, block }, n_rhs, size) })
}

/// Solves as `bandsolveZbgtsv` with the factors of `bandsolveZbgtf`, which was called with the same p, n, block, sub, diag and
/// sup. Any number of threads may solve with the same factors at once, each with a buffer of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZbgtrfs(
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
    let sides = Sides { n_rhs, x, rhs, buffer };
    guard(|| unsafe { factored::solve(p, (n, block), [sub, diag, sup], sides, factorization_buffer) })
}

/// Bytes of buffer for `bandsolveZgbsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgbsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    lower: i64,
    upper: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<Complex64>(p, SystemKind::Banded { n, lower, upper }, n_rhs, size) })
}

/// Solves A x = rhs with a banded matrix of `lower` diagonals below and `upper` above the main one, each of length n, the
/// lowest first, indexed by row:
///
///     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
///
/// Entries outside of A are ignored. `rhs` and `x` are n by n_rhs, column-major; `x` may be the same pointer as `rhs`.
/// `buffer` as in `bandsolveZgtsv`; the matrix is rearranged there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgbsv(
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
    guard(|| unsafe { banded(p, (n, lower, upper), bands, Sides { n_rhs, x, rhs, buffer }) })
}

/// Bytes of buffer for `bandsolveZgtsv_csc2dense`: 0, memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgtsv_csc2dense_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { fixed_size::<Complex64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, 0, size) })
}

/// Solves A X = D with a tridiagonal matrix, as `bandsolveZgtsv`, and sparse right-hand sides: column j of D has the entries
/// `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` says, counted from 0, in
/// any order; entries of one row add up. `rhs_col_ptrs` has length n_rhs + 1, the other two have length rhs_nnz. `x` is n by
/// n_rhs, column-major, and overlaps nothing. `buffer` is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgtsv_csc2dense(
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
    guard(|| unsafe { to_dense(p, (n, n_rhs), [sub, diag, sup], rhs, x) })
}

/// Solves A X = D as `bandsolveZgtsv_csc2dense`, and keeps of every column of X the entries of largest modulus: as many as
/// `result_col_ptrs`, of length n_rhs + 1, says, in ascending rows. They are written to `result_values` and
/// `result_row_indices`, of length result_nnz. X is never stored as a whole; memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveZgtsv_csc2csc(
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
    guard(|| unsafe { to_sparse(p, (n, n_rhs), [sub, diag, sup], rhs, result) })
}
