//! The C functions that the Python module `bandsolve.mpi` calls. There is no header: both are of one version, which the module checks.
//!
//! This file declares the functions, each behind the guard of `status`; `held` and `poisson` know the number types. Functions that take ranks, matrices
//! or factors are collective, but those that free them. A panic ends all ranks: the others would wait for this one for ever.

#![allow(non_camel_case_types)]

mod held;
mod poisson;
mod status;

use bandsolve::{Layout, Method, Op};
use bandsolve_mpi::Ranks;
use core::ffi::{CStr, c_char, c_void};
use held::{RankHeldFactors, RankHeldMatrix};
use mpi::ffi::MPI_Comm;
use poisson::{RankHeldPoisson, bandsolve_mpi_axis_t, bandsolve_mpi_box_t, bandsolve_mpi_poisson_report_t};
use status::{RankFailure, RankResult, bandsolve_mpi_status_t, guard};
use std::ffi::CString;
use std::sync::LazyLock;

/// Ranks, which Python keeps beside a communicator.
pub struct bandsolve_mpi_ranks_t(Ranks);

/// A matrix of which this rank has rows.
pub struct bandsolve_mpi_matrix_t {
    ranks: Ranks,
    held: Box<dyn RankHeldMatrix>,
}

/// Factors of such a matrix.
pub struct bandsolve_mpi_factors_t {
    ranks: Ranks,
    held: Box<dyn RankHeldFactors>,
}

/// A Poisson problem of which this rank has planes.
pub struct bandsolve_mpi_poisson_t {
    ranks: Ranks,
    held: Box<dyn RankHeldPoisson>,
}

/// How a solve went; the same on all ranks.
#[repr(C)]
pub struct bandsolve_mpi_report_t {
    /// Most refinement steps of a right-hand side.
    pub refinement_steps: i32,
    /// Whether the pivoted method on rank 0 had to solve.
    pub fallback: i32,
    /// Name of the method.
    pub method: [c_char; 32],
    /// Why this method.
    pub reason: [c_char; 160],
}

/// What is asked of the eigenvalue solver, and what came of it.
#[repr(C)]
pub struct bandsolve_mpi_eigen_t {
    /// The eigenvalues nearest to this number are wanted.
    pub target: f64,
    /// Tolerance; 0: the accuracy of the number type.
    pub tol: f64,
    /// How many.
    pub k: usize,
    /// Most vectors of the Krylov space; 0: as many as the solver takes.
    pub ncv: usize,
    /// Most restarts; 0: as many as the solver takes.
    pub max_restarts: usize,
    /// Of the random start vector, the same on all ranks.
    pub seed: u64,
    /// How many were found.
    pub found: usize,
    /// Restarts that were made.
    pub restarts: usize,
    /// Solves that were made.
    pub solves: usize,
    /// Whether counts prove that none is missing.
    pub complete: i32,
    /// Whether as many were found as were asked for.
    pub converged: i32,
    /// How the search ended, in words.
    pub ending: [c_char; 64],
}

/// The version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What the MPI library with which this one is linked says of itself.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_library() -> *const c_char {
    static LIBRARY: LazyLock<CString> = LazyLock::new(|| {
        let named = mpi::environment::library_version().unwrap_or_default();
        CString::new(named.trim_end_matches('\0')).unwrap_or_default()
    });
    LIBRARY.as_ptr()
}

/// The message of the last call of this thread that failed.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_last_error() -> *const c_char {
    status::last_error()
}

/// The ranks of a communicator, of which the handle stands at an address; it is duplicated.
///
/// # Safety
/// `handle` points to the handle of an intracommunicator, of `size` bytes; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_ranks(
    handle: *const c_void,
    size: usize,
    out: *mut *mut bandsolve_mpi_ranks_t,
) -> bandsolve_mpi_status_t {
    guard(None, || {
        // A handle of another MPI library means nothing here.
        if size != size_of::<MPI_Comm>() || !mpi::environment::is_initialized() {
            return Err(RankFailure::argument(
                "mpi4py calls another MPI library than libbandsolve_mpi_capi does".into(),
            ));
        }
        // SAFETY: a handle stands there, says the caller, and it is as long as ours.
        let ranks = unsafe { Ranks::from_raw(handle.cast::<MPI_Comm>().read_unaligned()) };
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(bandsolve_mpi_ranks_t(ranks)))) };
        Ok(())
    })
}

/// A block tridiagonal matrix, of which this rank has block rows. `kind`: 0 to 3 for f32, f64 and complex numbers of these.
///
/// # Safety
/// `ranks` is of [`bandsolve_mpi_ranks`]; `sub`, `diag` and `sup` have `len` numbers of that kind, blocks column-major; `out` may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_blocks(
    ranks: *const bandsolve_mpi_ranks_t,
    kind: i32,
    periodic: i32,
    block: usize,
    len: usize,
    sub: *const c_void,
    diag: *const c_void,
    sup: *const c_void,
    out: *mut *mut bandsolve_mpi_matrix_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let ranks = unsafe { &(*ranks).0 };
    // SAFETY: the caller's promise, of arrays and of `out`.
    unsafe {
        hand_out(ranks, out, || {
            let held = held::blocks(ranks, (kind, periodic != 0), (block, len), [sub, diag, sup])?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), held })
        })
    }
}

/// A banded matrix, of which this rank has rows.
///
/// # Safety
/// `ranks` is of [`bandsolve_mpi_ranks`]; `rows` has `len` numbers of that kind, lower + upper + 1 a row; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_banded(
    ranks: *const bandsolve_mpi_ranks_t,
    kind: i32,
    lower: usize,
    upper: usize,
    len: usize,
    rows: *const c_void,
    out: *mut *mut bandsolve_mpi_matrix_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let ranks = unsafe { &(*ranks).0 };
    // SAFETY: the caller's promise, of the array and of `out`.
    unsafe {
        hand_out(ranks, out, || {
            let held = held::banded(ranks, kind, (lower, upper), (rows, len))?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), held })
        })
    }
}

/// Many tridiagonal matrices of one size, of which this rank has rows of all. `interleaved`: row i of system s at i·count + s, else one
/// system after the other.
///
/// # Safety
/// `ranks` is of [`bandsolve_mpi_ranks`]; `sub`, `diag` and `sup` have `len` numbers of that kind; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_batch(
    ranks: *const bandsolve_mpi_ranks_t,
    kind: i32,
    periodic: i32,
    interleaved: i32,
    count: usize,
    len: usize,
    sub: *const c_void,
    diag: *const c_void,
    sup: *const c_void,
    out: *mut *mut bandsolve_mpi_matrix_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let ranks = unsafe { &(*ranks).0 };
    let layout = if interleaved != 0 { Layout::Interleaved } else { Layout::Contiguous };
    // SAFETY: the caller's promise, of arrays and of `out`.
    unsafe {
        hand_out(ranks, out, || {
            let held = held::batch(ranks, (kind, periodic != 0), ((count, layout), len), [sub, diag, sup])?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), held })
        })
    }
}

/// A Poisson problem on a box, of which this rank has so many planes along the first axis. `kind`: 0 or 1 for f32 and f64.
///
/// # Safety
/// `ranks` is of [`bandsolve_mpi_ranks`]; there are as many axes as `whole` says, with as many numbers as they say; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_poisson(
    ranks: *const bandsolve_mpi_ranks_t,
    kind: i32,
    axes: *const bandsolve_mpi_axis_t,
    whole: *const bandsolve_mpi_box_t,
    planes: usize,
    out: *mut *mut bandsolve_mpi_poisson_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let (ranks, whole) = unsafe { (&(*ranks).0, &*whole) };
    // SAFETY: the caller's promise, of axes and of `out`.
    unsafe {
        hand_out(ranks, out, || {
            let held = poisson::poisson(ranks, kind, (axes, whole), planes)?;
            Ok(bandsolve_mpi_poisson_t { ranks: ranks.clone(), held })
        })
    }
}

/// u in the place of f. Writes the backward error of every right-hand side.
///
/// # Safety
/// `problem` is of this library; `x` has `len` numbers of its kind, own planes of right-hand sides one after the other; `errors` has
/// room for `columns` numbers, and `report` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_poisson_solve(
    problem: *const bandsolve_mpi_poisson_t,
    len: usize,
    x: *mut c_void,
    columns: usize,
    errors: *mut f64,
    report: *mut bandsolve_mpi_poisson_report_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let problem = unsafe { &*problem };
    guard(Some(&problem.ranks), || {
        // SAFETY: the caller's promise.
        let (solved, errors) = unsafe { (problem.held.solve(x, len)?, held::numbers_mut(errors, columns)) };
        errors.iter_mut().zip(&solved.backward_errors).for_each(|(to, error)| *to = *error);
        let report_of = bandsolve_mpi_poisson_report_t {
            removed: solved.removed,
            mean: solved.mean.unwrap_or(f64::NAN),
            refinement_steps: solved.refinement_steps,
            subproblems: solved.subproblems,
            rcond: solved.rcond,
            attention: text(solved.attention.as_deref().unwrap_or_default()),
            method: text(solved.method.name()),
            reason: text(&solved.reason),
        };
        // SAFETY: the caller's promise.
        unsafe { report.write(report_of) };
        Ok(())
    })
}

/// y = A·x.
///
/// # Safety
/// `matrix` is of this library; x and y have `len` numbers of its kind, columns of own rows, and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_apply(
    matrix: *const bandsolve_mpi_matrix_t,
    len: usize,
    x: *const c_void,
    y: *mut c_void,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let matrix = unsafe { &*matrix };
    // SAFETY: the caller's promise.
    guard(Some(&matrix.ranks), || unsafe { matrix.held.apply(x, y, len) })
}

/// Factors by the method of this name.
///
/// # Safety
/// `matrix` is of this library; `method` ends with a zero; `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_factor(
    matrix: *const bandsolve_mpi_matrix_t,
    method: *const c_char,
    out: *mut *mut bandsolve_mpi_factors_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let (matrix, name) = unsafe { (&*matrix, CStr::from_ptr(method)) };
    let make = || {
        let name = name.to_str().unwrap_or("");
        let method =
            Method::from_name(name).ok_or_else(|| RankFailure::argument(format!("there is no method {name:?}")))?;
        Ok(bandsolve_mpi_factors_t { ranks: matrix.ranks.clone(), held: matrix.held.factor(method)? })
    };
    // SAFETY: the caller's promise.
    unsafe { hand_out(&matrix.ranks, out, make) }
}

/// Solves op(A)·x = rhs; x replaces rhs. `op`: 0 for A, 1 for Aᵀ, 2 for Aᴴ. Writes the backward error of every column.
///
/// # Safety
/// `factors` are of this library; `x` has `len` numbers of its kind, columns of own rows; `errors` has room for `columns` numbers, and
/// `report` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_solve(
    factors: *const bandsolve_mpi_factors_t,
    op: i32,
    len: usize,
    x: *mut c_void,
    columns: usize,
    errors: *mut f64,
    report: *mut bandsolve_mpi_report_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let factors = unsafe { &*factors };
    guard(Some(&factors.ranks), || {
        let op = [Op::Plain, Op::Transpose, Op::ConjTranspose][op.clamp(0, 2) as usize];
        // SAFETY: the caller's promise.
        let (solved, errors) = unsafe { (factors.held.solve(op, x, len)?, held::numbers_mut(errors, columns)) };
        errors.iter_mut().zip(&solved.backward_errors).for_each(|(to, error)| *to = *error);
        let report_of = bandsolve_mpi_report_t {
            refinement_steps: solved.refinement_steps as i32,
            fallback: i32::from(solved.fallback),
            method: text(solved.method.name()),
            reason: text(&solved.reason),
        };
        // SAFETY: the caller's promise.
        unsafe { report.write(report_of) };
        Ok(())
    })
}

/// The condition of the matrix of factors, and whether x of a solve with this backward error may have no correct digit.
#[repr(C)]
pub struct bandsolve_mpi_condition_t {
    /// Of the solve.
    pub backward_error: f64,
    /// An estimate of the reciprocal condition.
    pub rcond: f64,
    /// In words; empty if nothing suggests that.
    pub attention: [c_char; 256],
}

/// Estimates the condition, and says whether x may have no correct digit.
///
/// # Safety
/// `factors` are of this library; `condition` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_condition(
    factors: *const bandsolve_mpi_factors_t,
    condition: *mut bandsolve_mpi_condition_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let (factors, condition) = unsafe { (&*factors, &mut *condition) };
    guard(Some(&factors.ranks), || {
        let (rcond, attention) = factors.held.condition(condition.backward_error)?;
        (condition.rcond, condition.attention) = (rcond, text(&attention.unwrap_or_default()));
        Ok(())
    })
}

/// The eigenvalues of a Hermitian matrix or pencil that are nearest to a target, their distances from it, own rows of their vectors, and
/// residuals. Of block tridiagonal matrices that are not periodic.
///
/// # Safety
/// `a`, and `b` unless it is null, are of this library; `values`, `offsets` and `residuals` have room for k numbers, `vectors` for `len`
/// numbers of the kind of `a`, k columns of own rows; `eigen` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_eigsh(
    a: *const bandsolve_mpi_matrix_t,
    b: *const bandsolve_mpi_matrix_t,
    eigen: *mut bandsolve_mpi_eigen_t,
    values: *mut f64,
    offsets: *mut f64,
    residuals: *mut f64,
    len: usize,
    vectors: *mut c_void,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let (a, b, eigen) = unsafe { (&*a, b.as_ref(), &mut *eigen) };
    guard(Some(&a.ranks), || {
        let b = b.map(|b| &*b.held);
        // SAFETY: the caller's promise.
        let numbers = unsafe { [values, offsets, residuals].map(|array| held::numbers_mut(array, eigen.k)) };
        // SAFETY: the caller's promise.
        unsafe { a.held.nearest(&a.ranks, b, eigen, numbers, (vectors, len)) }
    })
}

/// Frees ranks.
///
/// # Safety
/// They are of this library, or null, and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_ranks(ranks: *mut bandsolve_mpi_ranks_t) {
    // SAFETY: the caller's promise.
    unsafe { free(ranks) }
}

/// Frees a matrix.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_matrix(matrix: *mut bandsolve_mpi_matrix_t) {
    // SAFETY: the caller's promise.
    unsafe { free(matrix) }
}

/// Frees factors.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_factors(factors: *mut bandsolve_mpi_factors_t) {
    // SAFETY: the caller's promise.
    unsafe { free(factors) }
}

/// Frees a Poisson problem.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_poisson(problem: *mut bandsolve_mpi_poisson_t) {
    // SAFETY: the caller's promise.
    unsafe { free(problem) }
}

/// Gives the caller what is made.
///
/// # Safety
/// `out` may be written.
unsafe fn hand_out<V>(ranks: &Ranks, out: *mut *mut V, make: impl FnOnce() -> RankResult<V>) -> bandsolve_mpi_status_t {
    guard(Some(ranks), || {
        let made = Box::new(make()?);
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// # Safety
/// A box of this library, or null.
unsafe fn free<V>(held: *mut V) {
    if !held.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(held) });
    }
}

/// A text of at most so many bytes, ended by a zero; the last character is cut where it does not fit.
pub(crate) fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut to = [0; N];
    let most = (0..N).rev().find(|most| text.is_char_boundary((*most).min(text.len()))).unwrap_or(0);
    to.iter_mut().zip(text.bytes().take(most)).for_each(|(to, byte)| *to = byte as c_char);
    to
}
