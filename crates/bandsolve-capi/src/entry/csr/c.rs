//! The C functions for sparse matrices in `float _Complex`.

use super::*;

/// Create a sparse matrix from arrays in CSR format (sparse rows).
///
/// Row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the columns that `col_indices` contains. Columns
/// are counted from 0 and may come in any order. Entries of the same column are added. `row_ptrs` has length rows + 1; `values`
/// and `col_indices` have length nnz. The function ignores entries after the last one that `row_ptrs` names.
///
/// The matrix refers to the arrays. Do not change or free them before you destroy the matrix and everything that you made from
/// it. The function writes the matrix to `matrix`; free it with `bandsolveCsrDestroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_create(
    rows: i64,
    columns: i64,
    values: *const Complex32,
    col_indices: *const i32,
    row_ptrs: *const i32,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// Create a sparse matrix from CSR arrays with 64-bit indices. Otherwise as `bandsolveCcsr_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_create_64(
    rows: i64,
    columns: i64,
    values: *const Complex32,
    col_indices: *const i64,
    row_ptrs: *const i64,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// Create a sparse matrix from CSR arrays with 32-bit columns and 64-bit row pointers. Otherwise as `bandsolveCcsr_create`.
///
/// The function copies the row pointers. The matrix has at most 2^31 - 1 entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_create_mixed(
    rows: i64,
    columns: i64,
    values: *const Complex32,
    col_indices: *const i32,
    row_ptrs: *const i64,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create_mixed((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// Prepare a matrix for many products A x, in `bandsolveCcsrmv` and `bandsolveCcsr_krylov`.
///
/// The products become faster in two cases. In the first case, x is larger than the cache and the columns of neighboring
/// entries are far from each other. In the second case, most rows have their entries at the same distances from the diagonal as
/// the neighboring rows. In both cases the matrix is stored a second time, in another order; in the first case the entries of a
/// row are then added in that order. For other matrices the function stores nothing.
///
/// Other threads may use the matrix at the same time. `bandsolveCsrDestroy` also frees the second copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_prepare(matrix: bandsolve_csr_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::prepare::<Complex32>(matrix) })
}

/// Compute y = alpha op(A) x + beta y.
///
/// `x` has one entry for each column of op(A), and `y` one for each row. The two must not overlap. If `*beta` is 0, `y` need
/// not be initialized.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsrmv(
    op: OperationArgument,
    alpha: *const Complex32,
    matrix: bandsolve_csr_t,
    x: *const Complex32,
    beta: *const Complex32,
    y: *mut Complex32,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::product(op, matrix, (alpha, beta), x, y) })
}

/// Find edges of large total weight in the graph of a square matrix, at most `options->degree` at each vertex.
///
/// The weight of the edge between vertices i and j is |a_ij| + |a_ji|. The function writes the neighbors of vertex v to
/// `partners[v*degree]` and following, then -1 in the rest of the `degree` places. `options` and `info` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_factor(
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    partners: *mut i64,
    info: *mut bandsolve_forest_info_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::factor::<Complex32>(matrix, options, partners, info) })
}

/// Find the linear forest of a square matrix: paths of large total weight that together visit all vertices of its graph.
///
/// `options` may be NULL. The function writes the forest to `forest`; free it with `bandsolveForestDestroy`. The forest does
/// not refer to the matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_forest(
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    forest: *mut bandsolve_forest_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::forest::<Complex32>(matrix, options, forest) })
}

/// Extract the tridiagonal system of a linear forest from a matrix, in the order of the forest.
///
/// `diag` receives the diagonal entries of the matrix. `sub` and `sup` receive the entries between vertices that follow each
/// other on a path. All three have length n, as `bandsolveCgtsv` needs them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_tridiagonal(
    matrix: bandsolve_csr_t,
    forest: bandsolve_forest_t,
    sub: *mut Complex32,
    diag: *mut Complex32,
    sup: *mut Complex32,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::tridiagonal(matrix, forest, [sub, diag, sup]) })
}

/// Create a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "ilu0", "amg-lines:1" and others.
///
/// If no preconditioner has the name, `bandsolveLastError` lists all names.
///
/// `options` may be NULL. The function writes the preconditioner to `precond`; free it with `bandsolvePrecondDestroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_precond(
    name: *const c_char,
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    precond: *mut bandsolve_precond_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::precond::<Complex32>(name, matrix, options, precond) })
}

/// Get the size in bytes of the buffer of `bandsolveCprecond_apply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCprecond_apply_bufferSizeExt(
    precond: bandsolve_precond_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::apply_size::<Complex32>(precond, size) })
}

/// Compute z = op(M^-1) r with a preconditioner M.
///
/// `r` and `z` have length n and must not overlap. Any number of threads may apply one preconditioner at the same time, each
/// with its own buffer. Some preconditioners cannot be transposed.
///
/// `buffer` is scratch memory of the size that `bandsolveCprecond_apply_bufferSizeExt` returns, with any alignment. If `buffer`
/// is NULL, the function allocates the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCprecond_apply(
    op: OperationArgument,
    precond: bandsolve_precond_t,
    r: *const Complex32,
    z: *mut Complex32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::apply(op, precond, (r, z), buffer) })
}

/// Get the size in bytes of the buffer of `bandsolveCcsr_krylov` for the same method, matrix and preconditioner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_krylov_bufferSizeExt(
    method: *const c_char,
    matrix: bandsolve_csr_t,
    precond: bandsolve_precond_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { IterationCall { method, matrix, precond }.buffer_size::<Complex32>(size) })
}

/// Solve A x = rhs iteratively, starting from the given x.
///
/// `method` is "gmres:M", "fgmres:M" (the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". `x` and `rhs` have length n
/// and must not overlap another array. `precond`, `options` and `report` may be NULL.
///
/// Returns `BANDSOLVE_SUCCESS` if the 2-norm of rhs - A x, computed from x, is within the tolerance. Otherwise the status is
/// `BANDSOLVE_TOLERANCE_NOT_REACHED`, and `x` contains the best solution that was found.
///
/// `buffer` is scratch memory of the size that `bandsolveCcsr_krylov_bufferSizeExt` returns, with any alignment. If `buffer` is
/// NULL, the function allocates the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCcsr_krylov(
    method: *const c_char,
    matrix: bandsolve_csr_t,
    precond: bandsolve_precond_t,
    options: *const bandsolve_iteration_options_t,
    x: *mut Complex32,
    rhs: *const Complex32,
    report: *mut bandsolve_iteration_report_t,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { IterationCall { method, matrix, precond }.solve(options, (x, rhs), report, buffer) })
}
