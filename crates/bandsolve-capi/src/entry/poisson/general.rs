//! The C functions for Poisson problems that belong to no type.

use super::*;

/// Writes a problem of two dimensions with nothing but usual values. Set `problem->size` to `sizeof(bandsolve_poisson_problem_t)` first,
/// and `problem->axes[k].n` afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonDefaults(problem: *mut bandsolve_poisson_problem_t) -> bandsolve_status_t {
    guard(|| unsafe { poisson::defaults(problem) })
}

/// Writes a problem of two dimensions whose matrices are not set. Set `problem->size` to `sizeof(bandsolve_pencils_problem_t)` first, and the
/// sizes and the matrices of `problem->axes` afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonPencilsDefaults(
    problem: *mut bandsolve_pencils_problem_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::pencils_defaults(problem) })
}

/// The name of the method that a solver works by, of "auto" what was chosen. Empty for NULL. Valid until the solver is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonMethod(solver: bandsolve_poisson_solver_t) -> *const c_char {
    unsafe { poisson::method(solver) }
}

/// Why a solver works by this method, in words; empty for NULL. Valid until the solver is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonReason(solver: bandsolve_poisson_solver_t) -> *const c_char {
    unsafe { poisson::reason(solver) }
}

/// Frees a solver; nothing if NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonDestroy(solver: bandsolve_poisson_solver_t) -> bandsolve_status_t {
    guard(|| unsafe { poisson::destroy_solver(solver) })
}
