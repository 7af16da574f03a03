//! The C functions in `double`.

use super::*;

/// Get the size in bytes of the buffer of `bandsolveDgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, size) })
}

/// Solve A X = RHS for a tridiagonal matrix A.
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i],   i = 0 ... n-1
///
/// `sub`, `diag` and `sup` have length n. `sub[0]` and `sup[n-1]` are ignored. `rhs` and `x` are n by n_rhs, column-major. `x`
/// may be the same pointer as `rhs`.
///
/// `buffer` is scratch memory of the size that `bandsolveDgtsv_bufferSizeExt` returns, with any alignment. If `buffer` is NULL,
/// the function allocates the memory.
///
/// Returns `BANDSOLVE_SUCCESS` if every solution meets the accuracy contract. If the status is `BANDSOLVE_SINGULAR` or
/// `BANDSOLVE_NOT_CONVERGED`, `x` contains the best solution that was found.
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

/// Get the size in bytes of the buffer of `bandsolveDcgtsv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDcgtsv_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { buffer_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: true }, n_rhs, size) })
}

/// Solve A X = RHS for a periodic (cyclic) tridiagonal matrix A.
///
/// The arguments are those of `bandsolveDgtsv`. In the first row, `sub[0]` multiplies `x[n-1]`. In the last row, `sup[n-1]`
/// multiplies `x[0]`.
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

/// Get the size in bytes of the buffer of `bandsolveDbgtsv`.
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

/// Solve A X = RHS for a block tridiagonal matrix A of n block rows.
///
///     sub[i] x[i-1] + diag[i] x[i] + sup[i] x[i+1] = rhs[i],   i = 0 ... n-1
///
/// Each block has `block` by `block` entries, column-major, and the blocks of an array follow each other. `sub`, `diag` and
/// `sup` have length n * block * block. The first block of `sub` and the last block of `sup` are ignored. `rhs` and `x` are (n
/// * block) by n_rhs, column-major. `x` may be the same pointer as `rhs`.
///
/// `buffer` is scratch memory of the size that `bandsolveDbgtsv_bufferSizeExt` returns, with any alignment. If `buffer` is
/// NULL, the function allocates the memory.
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

/// Get the size in bytes of the buffer of `bandsolveDcbgtsv`.
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

/// Solve A X = RHS for a periodic (cyclic) block tridiagonal matrix A.
///
/// The arguments are those of `bandsolveDbgtsv`. In the first block row, the first block of `sub` multiplies the last block of
/// x. In the last block row, the last block of `sup` multiplies the first block of x.
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

/// Get the size in bytes of the factorization buffer of `bandsolveDbgtf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtf_factorizationBufferSizeExt(
    p: PivotingArgument,
    n: i64,
    block: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { factored::storage_size::<f64>(p, n, block, size) })
}

/// Factor a block tridiagonal matrix for many solves with `bandsolveDbgtrfs`.
///
/// The matrix is stored as for `bandsolveDbgtsv`. The factors refer to it: do not change or free `sub`, `diag` and `sup` before
/// `bandsolveDbgtf_destroy`.
///
/// `factorization_buffer` has the size that `bandsolveDbgtf_factorizationBufferSizeExt` returns, with any alignment. After the
/// call it contains a reference to the factors, which the function allocates. If the buffer already contains factors, the
/// function frees these factors first.
///
/// The method `rpts` stores factors of blocks of one row, up to 131 072 rows. Otherwise it eliminates the blocks again at each
/// solve, which reads less memory than factors would.
///
/// The settings of the calling thread at this call also apply to the solves.
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

/// Free the factors that `bandsolveDbgtf` made. Does nothing if `factorization_buffer` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDbgtf_destroy(factorization_buffer: *mut c_void) -> bandsolve_status_t {
    guard(|| unsafe { factored::destroy(factorization_buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveDbgtrfs`. The size is for the settings with which `bandsolveDbgtf` was
/// called.
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

/// Solve A X = RHS with the factors of `bandsolveDbgtf`.
///
/// Pass the same p, n, block, sub, diag and sup as to `bandsolveDbgtf`. The other arguments are those of `bandsolveDbgtsv`. Any
/// number of threads may solve with the same factors at the same time, each with its own buffer.
///
/// `buffer` is scratch memory of the size that `bandsolveDbgtrfs_bufferSizeExt` returns, with any alignment. If `buffer` is
/// NULL, the function allocates the memory.
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

/// Get the size in bytes of the buffer of `bandsolveDgbsv`.
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

/// Solve A X = RHS for a banded matrix A with `lower` diagonals below and `upper` diagonals above the main diagonal.
///
///     bands[k * n + i] = A(i, i + k - lower),   k = 0 ... lower + upper
///
/// `bands` contains the diagonals, the lowest first, each of length n and indexed by row. Entries outside of A are ignored.
/// `rhs` and `x` are n by n_rhs, column-major. `x` may be the same pointer as `rhs`.
///
/// `buffer` is scratch memory of the size that `bandsolveDgbsv_bufferSizeExt` returns, with any alignment. If `buffer` is NULL,
/// the function allocates the memory. The function rearranges the matrix in this memory.
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

/// Get the size in bytes of the buffer of `bandsolveDgtsv_csc2dense`. The size is 0: the function allocates its memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDgtsv_csc2dense_bufferSizeExt(
    p: PivotingArgument,
    n: i64,
    n_rhs: i64,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { fixed_size::<f64>(p, SystemKind::Tridiagonal { n, periodic: false }, n_rhs, 0, size) })
}

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D.
///
/// `sub`, `diag` and `sup` are stored as for `bandsolveDgtsv`. D is stored by columns (CSC). Column j has the entries
/// `rhs_col_ptrs[j]` to `rhs_col_ptrs[j+1] - 1` of `rhs_values`, in the rows that `rhs_row_indices` contains. Rows are counted
/// from 0 and may come in any order. Entries of the same row are added. `rhs_col_ptrs` has length n_rhs + 1; `rhs_values` and
/// `rhs_row_indices` have length rhs_nnz.
///
/// `x` is n by n_rhs, column-major, and must not overlap another array. `buffer` is not used.
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

/// Solve A X = D for a tridiagonal matrix A and sparse right-hand sides D, and return the largest entries of each solution.
///
/// The arguments of the matrix and of D are those of `bandsolveDgtsv_csc2dense`. For each column of X, the function keeps the
/// entries of largest modulus. You choose the number of entries of column j as `result_col_ptrs[j+1] - result_col_ptrs[j]`.
/// `result_col_ptrs` has length n_rhs + 1.
///
/// The function writes the entries to `result_values` and `result_row_indices`, of length result_nnz, in ascending order of
/// rows. It allocates its memory and never stores X as a whole.
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
