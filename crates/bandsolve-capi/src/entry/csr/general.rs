//! The C functions for sparse matrices that belong to no type.

use super::*;

/// Free a matrix. Does nothing if `matrix` is NULL.
///
/// The arrays of the matrix remain yours. Preconditioners of the matrix still need these arrays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCsrDestroy(matrix: bandsolve_csr_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_csr(matrix) })
}

/// Set forest options to their defaults.
///
/// Set `options->size` to `sizeof(bandsolve_forest_options_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestDefaults(options: *mut bandsolve_forest_options_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::forest_defaults(options) })
}

/// Get the sizes and the coverage of a forest.
///
/// Set `info->size` to `sizeof(bandsolve_forest_info_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestInfo(
    forest: bandsolve_forest_t,
    info: *mut bandsolve_forest_info_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::info(forest, info) })
}

/// Get the paths of a forest.
///
///     paths[v]      the name of the path of vertex v
///     positions[v]  the position of vertex v on its path, from 0
///     order[k]      the vertices path by path, in ascending order of names: the permutation
///     lengths[k]    the number of vertices of each path, in the same order
///
/// The name of a path is the smaller of its two end vertices. Positions are counted from this vertex. `lengths` has one entry
/// for each path; the other arrays have length n. The function skips arrays that are NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestArrays(
    forest: bandsolve_forest_t,
    paths: *mut i64,
    positions: *mut i64,
    order: *mut i64,
    lengths: *mut i64,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::arrays(forest, [paths, positions, order, lengths]) })
}

/// Free a forest. Does nothing if `forest` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestDestroy(forest: bandsolve_forest_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_forest(forest) })
}

/// Get the name of a preconditioner.
///
/// For "auto", it is the name of the preconditioner that the library chose. The name contains the number of forests. It is
/// empty if `precond` is NULL, and valid until the preconditioner is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondKind(precond: bandsolve_precond_t) -> *const c_char {
    unsafe { csr::kind(precond) }
}

/// Get the reason for the choice of a preconditioner, in words.
///
/// The text is empty if you chose this preconditioner by name, and if `precond` is NULL. It is valid until the
/// preconditioner is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondReason(precond: bandsolve_precond_t) -> *const c_char {
    unsafe { csr::reason(precond) }
}

/// Free a preconditioner. Does nothing if `precond` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondDestroy(precond: bandsolve_precond_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_precond(precond) })
}

/// Set iteration options to their defaults.
///
/// Set `options->size` to `sizeof(bandsolve_iteration_options_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveIterationDefaults(options: *mut bandsolve_iteration_options_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::iteration_defaults(options) })
}
