//! The C functions for Poisson problems in `double`.

use super::*;

/// Makes a solver of (-Laplace + shift) u = f on a box, with second differences along each axis. Nothing of the problem is needed
/// afterwards. The solver is written to `solver`, and freed by `bandsolvePoissonDestroy`. It works on as many threads as
/// `bandsolveSetThreads` has said on this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_create(
    problem: *const bandsolve_poisson_problem_t,
    solver: *mut bandsolve_poisson_solver_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::create::<f64>(problem, solver) })
}

/// Makes a solver of a problem with two tridiagonal matrices for each axis, as finite elements on a grid of boxes have it. Nothing of the
/// problem is needed afterwards. The solver is used, and freed, as one of `bandsolveDpoisson_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_create_pencils(
    problem: *const bandsolve_pencils_problem_t,
    solver: *mut bandsolve_poisson_solver_t,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::create_pencils::<f64>(problem, solver) })
}

/// Writes the size of the buffer of `bandsolveDpoisson_solve` in bytes, for any number of right-hand sides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveDpoisson_solve_bufferSizeExt(
    solver: bandsolve_poisson_solver_t,
    size: *mut usize,
) -> bandsolve_status_t {
    guard(|| unsafe { poisson::solve_size::<f64>(solver, size) })
}

/// Solves for `n_rhs` right-hand sides, one after the other in `f`, each with a number for every unknown, the last axis running fastest.
/// The solutions are written to `u`, which may be the same pointer as `f`. `report` may be NULL, and so may `buffer`: memory is then
/// allocated inside. Of a singular problem the status is BANDSOLVE_SINGULAR where more would have to be subtracted from `f` than
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
