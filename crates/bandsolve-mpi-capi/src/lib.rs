//! The C functions that the Python module `bandsolve.mpi` calls.
//!
//! There is no header. The Python module checks that both have the same version. This file declares the functions, each behind the
//! guard of `status`; `any_type` and `poisson` select the number type. Functions that take ranks, matrices or factors are collective,
//! except functions that free them. A panic ends all ranks, because the other ranks would wait for this rank forever.

#![allow(non_camel_case_types)]

mod any_type;
mod poisson;
mod status;

use any_type::{AnyRankFactors, AnyRankMatrix, RankArrays, bandsolve_mpi_eigen_t};
use bandsolve::{Layout, Method, Op};
use bandsolve_mpi::{METHODS, Ranks};
use core::ffi::{CStr, c_char, c_void};
use mpi::ffi::MPI_Comm;
use poisson::{AnyRankPoisson, bandsolve_mpi_axis_t, bandsolve_mpi_box_t, bandsolve_mpi_poisson_report_t};
use status::{RankFailure, RankResult, bandsolve_mpi_status_t, guard, text};
use std::ffi::CString;
use std::sync::LazyLock;

/// The ranks of a communicator. Python stores them with the communicator.
pub struct bandsolve_mpi_ranks_t(Ranks);

/// A matrix, distributed over ranks.
pub struct bandsolve_mpi_matrix_t {
    ranks: Ranks,
    inner: Box<dyn AnyRankMatrix>,
}

/// Factors of a matrix, distributed over ranks.
pub struct bandsolve_mpi_factors_t {
    ranks: Ranks,
    inner: Box<dyn AnyRankFactors>,
}

/// A Poisson problem, distributed over ranks by planes.
pub struct bandsolve_mpi_poisson_t {
    ranks: Ranks,
    inner: Box<dyn AnyRankPoisson>,
}

/// How a solve went; the same on all ranks.
#[repr(C)]
pub struct bandsolve_mpi_report_t {
    /// Largest number of refinement steps of any right-hand side.
    pub refinement_steps: i32,
    /// 1 if rank 0 solved the system with the pivoted method, else 0.
    pub fallback: i32,
    /// Name of the method.
    pub method: [c_char; 32],
    /// The reason for the method.
    pub reason: [c_char; 160],
}

/// Get the version of this library.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Get the version text of the MPI library with which this library is linked.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_library() -> *const c_char {
    static LIBRARY: LazyLock<CString> = LazyLock::new(|| {
        let named = mpi::environment::library_version().unwrap_or_default();
        CString::new(named.trim_end_matches('\0')).unwrap_or_default()
    });
    LIBRARY.as_ptr()
}

/// Get the message of the last call on this thread that failed.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolve_mpi_last_error() -> *const c_char {
    status::last_error()
}

/// Create ranks from a duplicate of the communicator with its handle at an address.
///
/// # Safety
/// `handle` points to the handle of an intracommunicator, which has `size` bytes. `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_ranks(
    handle: *const c_void,
    size: usize,
    out: *mut *mut bandsolve_mpi_ranks_t,
) -> bandsolve_mpi_status_t {
    guard(None, || {
        // The handle of another MPI library is invalid here.
        if size != size_of::<MPI_Comm>() || !mpi::environment::is_initialized() {
            return Err(RankFailure::argument(
                "mpi4py and libbandsolve_mpi_capi use different MPI libraries; build both with the same MPI".into(),
            ));
        }
        // SAFETY: the caller's promise; the size of the handle was checked.
        let ranks = unsafe { Ranks::from_raw(handle.cast::<MPI_Comm>().read_unaligned()) };
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(Box::new(bandsolve_mpi_ranks_t(ranks)))) };
        Ok(())
    })
}

/// Create a block tridiagonal matrix from the block rows of this rank. `kind`: 0 to 3 for f32, f64, Complex32 and Complex64.
///
/// # Safety
/// `ranks` comes from [`bandsolve_mpi_ranks`]. `sub`, `diag` and `sup` have `len` numbers of that kind, with column-major blocks. `out` may be
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
            let arrays = RankArrays { kind, periodic: periodic != 0, len, arrays: [sub, diag, sup] };
            let inner = any_type::blocks(ranks, block, arrays)?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), inner })
        })
    }
}

/// Create a banded matrix from the rows of this rank.
///
/// # Safety
/// `ranks` comes from [`bandsolve_mpi_ranks`]. `rows` has `len` numbers of that kind, lower + upper + 1 per row. `out` may be written.
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
            let inner = any_type::banded(ranks, kind, (lower, upper), (rows, len))?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), inner })
        })
    }
}

/// Create many tridiagonal matrices of the same size from the rows of this rank. If `interleaved`, row i of system s is at i·count + s;
/// otherwise the systems follow each other.
///
/// # Safety
/// `ranks` comes from [`bandsolve_mpi_ranks`]. `sub`, `diag` and `sup` have `len` numbers of that kind. `out` may be written.
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
            let arrays = RankArrays { kind, periodic: periodic != 0, len, arrays: [sub, diag, sup] };
            let inner = any_type::batch(ranks, (count, layout), arrays)?;
            Ok(bandsolve_mpi_matrix_t { ranks: ranks.clone(), inner })
        })
    }
}

/// Create a Poisson problem on a box. This rank owns `planes` planes along the first axis. `kind`: 0 or 1 for f32 and f64.
///
/// # Safety
/// `ranks` comes from [`bandsolve_mpi_ranks`]. `axes` points to as many axes as `whole` says, and the arrays of the axes have the lengths that the
/// axes say. `out` may be written.
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
            let inner = poisson::poisson(ranks, kind, (axes, whole), planes)?;
            Ok(bandsolve_mpi_poisson_t { ranks: ranks.clone(), inner })
        })
    }
}

/// Solve a Poisson problem; u replaces f. Writes the backward error of each right-hand side.
///
/// # Safety
/// `problem` comes from this library. `x` has `len` numbers of its kind: the planes of this rank of one right-hand side after the other. `errors` has
/// memory for `columns` numbers. `report` may be written.
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
        let (solved, errors) = unsafe { (problem.inner.solve(x, len)?, any_type::numbers_mut(errors, columns)) };
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

/// Multiply: y = A·x.
///
/// # Safety
/// `matrix` comes from this library. x and y have `len` numbers of its kind: columns with the rows of this rank. They do not overlap.
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
    guard(Some(&matrix.ranks), || unsafe { matrix.inner.apply(x, y, len) })
}

/// Factor a matrix by the method with this name.
///
/// # Safety
/// `matrix` comes from this library. `method` ends with a zero. `out` may be written.
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
        let method = Method::from_name(name).ok_or_else(|| {
            let names = METHODS.map(Method::name).join(", ");
            RankFailure::argument(format!("there is no method {name:?}; use one of {names}"))
        })?;
        Ok(bandsolve_mpi_factors_t { ranks: matrix.ranks.clone(), inner: matrix.inner.factor(method)? })
    };
    // SAFETY: the caller's promise.
    unsafe { hand_out(&matrix.ranks, out, make) }
}

/// Solve op(A)·x = rhs; x replaces rhs. `op`: 0 for A, 1 for Aᵀ, 2 for Aᴴ. Writes the backward error of each column.
///
/// # Safety
/// `factors` come from this library. `x` has `len` numbers of their kind: columns with the rows of this rank. `errors` has memory for `columns`
/// numbers. `report` may be written.
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
        let (solved, errors) = unsafe { (factors.inner.solve(op, x, len)?, any_type::numbers_mut(errors, columns)) };
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

/// The condition of a factored matrix, and a warning if x of a solve may have no correct digit.
#[repr(C)]
pub struct bandsolve_mpi_condition_t {
    /// Backward error of the solve.
    pub backward_error: f64,
    /// Estimate of the reciprocal condition number.
    pub rcond: f64,
    /// The warning in words; empty if there is none.
    pub attention: [c_char; 256],
}

/// Estimate the condition, and warn if x may have no correct digit.
///
/// # Safety
/// `factors` come from this library. `condition` may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_condition(
    factors: *const bandsolve_mpi_factors_t,
    condition: *mut bandsolve_mpi_condition_t,
) -> bandsolve_mpi_status_t {
    // SAFETY: the caller's promise.
    let (factors, condition) = unsafe { (&*factors, &mut *condition) };
    guard(Some(&factors.ranks), || {
        let (rcond, attention) = factors.inner.condition(condition.backward_error)?;
        (condition.rcond, condition.attention) = (rcond, text(&attention.unwrap_or_default()));
        Ok(())
    })
}

/// Find the eigenvalues of a Hermitian matrix or pencil nearest to a target. The matrices must be block tridiagonal and not periodic.
///
/// The function also writes the distances from the target, the rows of the eigenvectors on this rank, and the residuals.
///
/// # Safety
/// `a` comes from this library, and `b`, too, unless it is null. `values`, `offsets` and `residuals` have memory for k numbers. `vectors` has memory
/// for `len` numbers of the kind of `a`: k columns with the rows of this rank. `eigen` may be read and written.
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
        let b = b.map(|b| &*b.inner);
        // SAFETY: the caller's promise.
        let numbers = unsafe { [values, offsets, residuals].map(|array| any_type::numbers_mut(array, eigen.k)) };
        // SAFETY: the caller's promise.
        unsafe { a.inner.nearest(&a.ranks, b, eigen, numbers, (vectors, len)) }
    })
}

/// Free ranks.
///
/// # Safety
/// The pointer must be null or come from this library, and must not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_ranks(ranks: *mut bandsolve_mpi_ranks_t) {
    // SAFETY: the caller's promise.
    unsafe { free(ranks) }
}

/// Free a matrix.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_matrix(matrix: *mut bandsolve_mpi_matrix_t) {
    // SAFETY: the caller's promise.
    unsafe { free(matrix) }
}

/// Free factors.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_factors(factors: *mut bandsolve_mpi_factors_t) {
    // SAFETY: the caller's promise.
    unsafe { free(factors) }
}

/// Free a Poisson problem.
///
/// # Safety
/// As [`bandsolve_mpi_free_ranks`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_mpi_free_poisson(problem: *mut bandsolve_mpi_poisson_t) {
    // SAFETY: the caller's promise.
    unsafe { free(problem) }
}

/// Create an object and pass its ownership to the caller.
///
/// # Safety
/// `out` may be written.
unsafe fn hand_out<V>(
    ranks: &Ranks,
    out: *mut *mut V,
    create: impl FnOnce() -> RankResult<V>,
) -> bandsolve_mpi_status_t {
    guard(Some(ranks), || {
        let object = Box::new(create()?);
        // SAFETY: the caller's promise.
        unsafe { out.write(Box::into_raw(object)) };
        Ok(())
    })
}

/// Free an object.
///
/// # Safety
/// `object` is null, or comes from this library and is not used any more.
unsafe fn free<V>(object: *mut V) {
    if !object.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(object) });
    }
}
