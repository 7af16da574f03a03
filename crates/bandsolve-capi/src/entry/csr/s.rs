//! The C functions for sparse matrices in `float`.

use super::*;

/// Makes a sparse matrix over the caller's arrays: row i has the entries `row_ptrs[i]` to `row_ptrs[i+1] - 1` of `values`, in the
/// columns that `col_indices` says, counted from 0, in any order; entries of one column add up. `row_ptrs` has length rows + 1, the
/// other two have length nnz; what is behind the last entry that `row_ptrs` names is ignored. The arrays are not copied: they must be
/// neither changed nor freed before the matrix, and all that is made of it, is destroyed. The matrix is written to `matrix`, and freed by
/// `bandsolveCsrDestroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_create(
    rows: i64,
    columns: i64,
    values: *const f32,
    col_indices: *const i32,
    row_ptrs: *const i32,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// The same with indices of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_create_64(
    rows: i64,
    columns: i64,
    values: *const f32,
    col_indices: *const i64,
    row_ptrs: *const i64,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// The same with columns of 32 bits and pointers of 64 bits, which are copied. There are at most 2^31 - 1 entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_create_mixed(
    rows: i64,
    columns: i64,
    values: *const f32,
    col_indices: *const i32,
    row_ptrs: *const i64,
    nnz: i64,
    matrix: *mut bandsolve_csr_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::create_mixed((rows, columns), SparseRows { values, col_indices, row_ptrs, nnz }, matrix) })
}

/// Prepares a matrix for many products A x: `bandsolveScsrmv` and `bandsolveScsr_krylov` are faster from then on, where neighboring entries
/// are far from each other in an x that is larger than caches, or most rows have their entries at the same distances from the diagonal as the
/// rows beside them. Such a matrix is kept once more, in another order; in the first case the entries of a row are then added in that order.
/// Nothing is kept of other matrices. Other threads may use the matrix meanwhile. Freed with the matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_prepare(matrix: bandsolve_csr_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::prepare::<f32>(matrix) })
}

/// Computes y = alpha op(A) x + beta y. `x` has a number for each column of op(A), `y` one for each row; they do not overlap. If
/// `*beta` is 0, y need not be initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsrmv(
    op: OperationArgument,
    alpha: *const f32,
    matrix: bandsolve_csr_t,
    x: *const f32,
    beta: *const f32,
    y: *mut f32,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::product(op, matrix, (alpha, beta), x, y) })
}

/// Finds edges of the graph of a square matrix, whose weights are |a_ij| + |a_ji|, that have much weight together, at most
/// `options->degree` at each vertex. Those of vertex v are written to `partners[v*degree]` and following, -1 behind the last.
/// `options` and `info` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_factor(
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    partners: *mut i64,
    info: *mut bandsolve_forest_info_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::factor::<f32>(matrix, options, partners, info) })
}

/// Finds the linear forest of a square matrix: paths through all vertices of its graph that have much weight. `options` may be NULL.
/// The forest is written to `forest`, and freed by `bandsolveForestDestroy`; it needs the matrix no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_forest(
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    forest: *mut bandsolve_forest_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::forest::<f32>(matrix, options, forest) })
}

/// Writes the tridiagonal system of a forest, in its order: the entries of the matrix on the diagonal, and between vertices that
/// follow each other on a path. `sub`, `diag`, `sup` have length n, as `bandsolveSgtsv` takes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_tridiagonal(
    matrix: bandsolve_csr_t,
    forest: bandsolve_forest_t,
    sub: *mut f32,
    diag: *mut f32,
    sup: *mut f32,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::tridiagonal(matrix, forest, [sub, diag, sup]) })
}

/// Makes a preconditioner of a square matrix, by name: "auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest",
/// "forest-block", "alt-i:M", "alt-o:M", "mos-d:M", "mos-a:M", "mos-a:M:scaled", "ilu0", "ilu-isai:S", "adi:NXxNY", "amg-lines:M".
/// `options` may be NULL. It is written to `precond`, and freed by `bandsolvePrecondDestroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_precond(
    name: *const c_char,
    matrix: bandsolve_csr_t,
    options: *const bandsolve_forest_options_t,
    precond: *mut bandsolve_precond_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::precond::<f32>(name, matrix, options, precond) })
}

/// Bytes of buffer for `bandsolveSprecond_apply`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSprecond_apply_bufferSizeExt(
    precond: bandsolve_precond_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::apply_size::<f32>(precond, size) })
}

/// Computes z = op(M^-1) r with a preconditioner, of two vectors of length n that do not overlap. Any number of threads may do so at
/// once, each with a buffer of its own. `buffer` has the size that `bandsolveSprecond_apply_bufferSizeExt` says, in any alignment, or
/// is NULL: then memory is allocated inside. Not every preconditioner can be transposed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSprecond_apply(
    op: OperationArgument,
    precond: bandsolve_precond_t,
    r: *const f32,
    z: *mut f32,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::apply(op, precond, (r, z), buffer) })
}

/// Bytes of buffer for `bandsolveScsr_krylov` with the same method, matrix and preconditioner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_krylov_bufferSizeExt(
    method: *const c_char,
    matrix: bandsolve_csr_t,
    precond: bandsolve_precond_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { IterationCall { method, matrix, precond }.buffer_size::<f32>(size) })
}

/// Solves A x = rhs iteratively, from the x that it is given, by "gmres:M" (or "fgmres:M", the same), "bicgstab", "cg", "idr:S" or "richardson:OMEGA". Success
/// means that the 2-norm of rhs - A x, computed from x, is within the tolerance; otherwise the status is
/// `BANDSOLVE_TOLERANCE_NOT_REACHED`, and x is the best that was found. `x` and `rhs` have length n and overlap nothing. `precond`,
/// `options` and `report` may be NULL. `buffer` has the size that `bandsolveScsr_krylov_bufferSizeExt` says, in any alignment, or is
/// NULL: then memory is allocated inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveScsr_krylov(
    method: *const c_char,
    matrix: bandsolve_csr_t,
    precond: bandsolve_precond_t,
    options: *const bandsolve_iteration_options_t,
    x: *mut f32,
    rhs: *const f32,
    report: *mut bandsolve_iteration_report_t,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { IterationCall { method, matrix, precond }.solve(options, (x, rhs), report, buffer) })
}
