//! The C functions for Poisson problems in `double`.

use super::*;

/// Create a solver of (-Laplace + shift) u = f on a box, with second differences along each axis.
///
/// The solver copies all it needs from `problem`. The function writes the solver to `solver`; free it with
/// `bandsolvePoissonDestroy`. The solver uses the number of threads that `bandsolveSetThreads` set on the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_create(
    problem: *const bandsolve_poisson_problem_t,
    solver: *mut bandsolve_poisson_solver_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::create::<f64>(problem, solver) })
}

/// Create a solver of a separable problem with two tridiagonal matrices for each axis, such as finite elements on a grid of
/// boxes.
///
/// The solver copies all it needs from `problem`. Use and free it as a solver of `bandsolveDpoisson_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_create_pencils(
    problem: *const bandsolve_pencils_problem_t,
    solver: *mut bandsolve_poisson_solver_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::create_pencils::<f64>(problem, solver) })
}

/// Get the size in bytes of the buffer of `bandsolveDpoisson_solve`, for any number of right-hand sides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_solve_bufferSizeExt(
    solver: bandsolve_poisson_solver_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::solve_size::<f64>(solver, size) })
}

/// Solve a Poisson problem for `n_rhs` right-hand sides.
///
/// `f` contains the right-hand sides one after the other. Each has one value for each unknown, and the last axis is contiguous.
/// The function writes the solutions to `u`, which may be the same pointer as `f`. `report` may be NULL. If `buffer` is NULL,
/// the function allocates the memory.
///
/// The status of a singular problem is `BANDSOLVE_SINGULAR` if a solution exists only after more is subtracted from `f` than
/// `problem->removable` allows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_solve(
    solver: bandsolve_poisson_solver_t,
    n_rhs: i64,
    u: *mut f64,
    f: *const f64,
    report: *mut bandsolve_poisson_report_t,
    buffer: *mut c_void,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::solve(solver, n_rhs, (u, f), report, buffer) })
}
