//! The C functions for Poisson problems that belong to no type.

use super::*;

/// Set a Poisson problem to its defaults: two dimensions, Dirichlet boundaries, spacing 1.
///
/// Set `problem->size` to `sizeof(bandsolve_poisson_problem_t)` before the call, and `problem->axes[k].n` after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonDefaults(problem: *mut bandsolve_poisson_problem_t) -> bandsolve_status_t {
    guard(|| unsafe { poisson::defaults(problem) })
}

/// Set a problem with two matrices for each axis to its defaults: two dimensions, no matrices.
///
/// Set `problem->size` to `sizeof(bandsolve_pencils_problem_t)` before the call, and the sizes and matrices in `problem->axes`
/// after it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonPencilsDefaults(
    problem: *mut bandsolve_pencils_problem_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::pencils_defaults(problem) })
}

/// Get the name of the method of a solver.
///
/// For "auto", it is the name of the method that the library chose. It is empty if `solver` is NULL, and valid until the solver
/// is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonMethod(solver: bandsolve_poisson_solver_t) -> *const c_char {
    unsafe { poisson::method(solver) }
}

/// Get the reason for the method of a solver, in words.
///
/// The text is empty if `solver` is NULL, and valid until the solver is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonReason(solver: bandsolve_poisson_solver_t) -> *const c_char {
    unsafe { poisson::reason(solver) }
}

/// Free a solver. Does nothing if `solver` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolvePoissonDestroy(solver: bandsolve_poisson_solver_t) -> bandsolve_status_t {
    guard(|| unsafe { poisson::destroy_solver(solver) })
}
