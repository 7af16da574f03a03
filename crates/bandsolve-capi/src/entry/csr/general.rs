//! The C functions for sparse matrices that belong to no type.

use super::*;

/// Frees a matrix; nothing if NULL. Its arrays stay the caller's; what was made of the matrix goes on to need them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveCsrDestroy(matrix: bandsolve_csr_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_csr(matrix) })
}

/// Writes the options that are taken where there are none. Set `options->size` to `sizeof(bandsolve_forest_options_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestDefaults(options: *mut bandsolve_forest_options_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::forest_defaults(options) })
}

/// Writes sizes and coverage of a forest. Set `info->size` to `sizeof(bandsolve_forest_info_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestInfo(
    forest: bandsolve_forest_t,
    info: *mut bandsolve_forest_info_t,
) -> bandsolve_status_t {
    guard(|| unsafe { csr::info(forest, info) })
}

/// Writes the paths of a forest. A path is named by the smaller of its two ends, from which its vertices are counted:
///
///     paths[v]      the name of the path of vertex v
///     positions[v]  its place on the path, from 0 on
///     order[k]      the vertices path by path, in ascending order of names: the permutation
///     lengths[k]    the vertices of each path, in the same order
///
/// `lengths` has as many numbers as there are paths, the others have n. Those that are NULL are not written.
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

/// Frees a forest; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveForestDestroy(forest: bandsolve_forest_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_forest(forest) })
}

/// What a preconditioner is: its name, of "auto" what was chosen, and with the number of forests. Empty for NULL. Valid until the
/// preconditioner is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondKind(precond: bandsolve_precond_t) -> *const c_char {
    unsafe { csr::kind(precond) }
}

/// Why a preconditioner is what it is, in words; empty where it was asked for as it is, and for NULL. Valid until the preconditioner
/// is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondReason(precond: bandsolve_precond_t) -> *const c_char {
    unsafe { csr::reason(precond) }
}

/// Frees a preconditioner; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePrecondDestroy(precond: bandsolve_precond_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::destroy_precond(precond) })
}

/// Writes the options that are taken where there are none. Set `options->size` to `sizeof(bandsolve_iteration_options_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveIterationDefaults(options: *mut bandsolve_iteration_options_t) -> bandsolve_status_t {
    guard(|| unsafe { csr::iteration_defaults(options) })
}
