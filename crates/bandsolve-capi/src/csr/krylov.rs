//! Iterative solves.

use super::precond::{HeldPreconditioner, bandsolve_precond_t, buffer, parsed, preconditioner};
use super::{HeldCsr, bandsolve_csr_t, csr_of};
use crate::memory::{RawArray, elements, in_scratch, room, room_from, size, tell_size, write_part};
use crate::report;
use crate::status::{CallFailure, CallResult};
use bandsolve::Scalar;
use bandsolve::dyn_stack::StackReq;
use bandsolve_sparse::{Ending, IterationProgress, IterationReport, KrylovMethod, KrylovSolver, PreconditionerSide};
use core::ffi::{c_char, c_void};
use core::mem::offset_of;
use core::ops::ControlFlow;
use std::sync::Arc;

/// The side of the matrix on which a preconditioner is applied.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_side_t {
    /// On the right: the iteration reduces the residual of the system itself.
    BANDSOLVE_RIGHT = 0,
    /// On the left: the iteration reduces the preconditioned residual.
    BANDSOLVE_LEFT = 1,
}

/// A side from C. It may be any number, so it is not the Rust enum.
pub type SideArgument = i32;

/// Why an iteration ended. The numbers are permanent: later versions may add one, but never change the meaning of one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_ending_t {
    /// The residual, computed from x, is within the tolerance.
    BANDSOLVE_CONVERGED = 0,
    /// The iteration reached the maximum number of iterations.
    BANDSOLVE_ITERATION_LIMIT = 1,
    /// The residual no longer decreases, even after a restart.
    BANDSOLVE_STAGNATED = 2,
    /// A division by zero, or a product that shows that the matrix is not definite. A restart did not help.
    BANDSOLVE_BREAKDOWN = 3,
    /// The iteration produced NaN or infinity.
    BANDSOLVE_ITERATION_NOT_FINITE = 4,
    /// The function `watch` ended the iteration.
    BANDSOLVE_CANCELLED = 5,
}

use bandsolve_ending_t::*;

impl From<Ending> for bandsolve_ending_t {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Converged => BANDSOLVE_CONVERGED,
            Ending::IterationLimit => BANDSOLVE_ITERATION_LIMIT,
            Ending::Stagnated => BANDSOLVE_STAGNATED,
            Ending::NotFinite => BANDSOLVE_ITERATION_NOT_FINITE,
            Ending::Cancelled => BANDSOLVE_CANCELLED,
            _ => BANDSOLVE_BREAKDOWN,
        }
    }
}

/// A function that the solver calls after each iteration.
///
/// Its arguments are the number of the iteration from 1, the norm of the residual as the method knows it, the tolerance, and
/// `watch_data`. Return 0 to continue, and any other value to end the iteration. The function must return: it must not throw an
/// exception or call `longjmp`.
pub type bandsolve_watch_t = Option<unsafe extern "C" fn(i64, f64, f64, *mut c_void) -> i32>;

/// Options of an iterative solve.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_iteration_options_t {
    /// Set it to `sizeof(bandsolve_iteration_options_t)` first, also before `bandsolveIterationDefaults`.
    pub size: usize,
    /// Relative tolerance: the iteration ends if the norm of the residual is at most `rtol` times the norm of rhs. Default
    /// 1e-5.
    pub rtol: f64,
    /// Absolute tolerance: the iteration also ends if the norm of the residual is at most `atol`. Default 0.
    pub atol: f64,
    /// Maximum number of iterations. Default 0, which means ten for each unknown, but at most 10,000.
    pub max_iterations: i64,
    /// The side on which the preconditioner is applied. Default `BANDSOLVE_RIGHT`.
    pub side: SideArgument,
    /// A function that is called after each iteration, on the calling thread. Default NULL.
    pub watch: bandsolve_watch_t,
    /// A pointer that is passed to `watch`.
    pub watch_data: *mut c_void,
}

/// How an iterative solve went. All norms are 2-norms.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct bandsolve_iteration_report_t {
    /// Set it to `sizeof(bandsolve_iteration_report_t)` before the call. Later versions of the library add fields at the end,
    /// and write at most `size` bytes.
    pub size: usize,
    /// Number of iterations.
    pub iterations: i64,
    /// Number of restarts from the residual of the current x.
    pub restarts: i64,
    /// 1 if the residual is within the tolerance, else 0.
    pub converged: i32,
    /// Why the iteration ended.
    pub ending: bandsolve_ending_t,
    /// The norm of rhs - A x, computed from x.
    pub residual_norm: f64,
    /// The norm of rhs.
    pub rhs_norm: f64,
    /// The larger of `rtol` times `rhs_norm` and `atol`. The iteration converged if `residual_norm` is at most this.
    pub tolerance: f64,
    /// A warning in words if x may have no correct digit, because x is so large compared with rhs that the matrix must be
    /// singular to working precision. Empty otherwise.
    pub attention: [c_char; 160],
}

/// Write the default options.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn iteration_defaults(out: *mut bandsolve_iteration_options_t) -> CallResult {
    // SAFETY: the caller's promise.
    let size = unsafe { room("options", out)? };
    // SAFETY: the size was checked above.
    unsafe { out.write(bandsolve_iteration_options_t { size, ..DEFAULT_ITERATION_OPTIONS }) };
    Ok(())
}

const DEFAULT_ITERATION_OPTIONS: bandsolve_iteration_options_t = bandsolve_iteration_options_t {
    size: size_of::<bandsolve_iteration_options_t>(),
    rtol: KrylovSolver::DEFAULT_RTOL,
    atol: 0.0,
    max_iterations: 0,
    side: bandsolve_side_t::BANDSOLVE_RIGHT as SideArgument,
    watch: None,
    watch_data: core::ptr::null_mut(),
};

impl bandsolve_iteration_options_t {
    /// Get the options of the caller, or the defaults if the pointer is null.
    ///
    /// # Safety
    /// `options` is null, or points to a structure whose first field is its size.
    unsafe fn read(options: *const Self) -> CallResult<Self> {
        if options.is_null() {
            return Ok(DEFAULT_ITERATION_OPTIONS);
        }
        // SAFETY: the caller's promise, also that `watch` is null or a function.
        unsafe {
            room("options", options)?;
            Ok(*options)
        }
    }

    /// Check the options and create a solver.
    fn solver(&self, method: KrylovMethod) -> CallResult<KrylovSolver<'static>> {
        for (name, tolerance) in [("rtol", self.rtol), ("atol", self.atol)] {
            if !(tolerance >= 0.0) {
                let message = format!("options->{name} is {tolerance}, expected 0 or more");
                return Err(CallFailure::argument(message));
            }
        }
        let limit = size("options->max_iterations", self.max_iterations)?;
        const RIGHT: i32 = bandsolve_side_t::BANDSOLVE_RIGHT as i32;
        const LEFT: i32 = bandsolve_side_t::BANDSOLVE_LEFT as i32;
        let side = match self.side {
            RIGHT => PreconditionerSide::Right,
            LEFT => PreconditionerSide::Left,
            side => {
                let message = format!("options->side is {side}, expected a bandsolve_side_t, 0 or 1");
                return Err(CallFailure::argument(message));
            }
        };
        let solver = KrylovSolver::new(method).rtol(self.rtol).atol(self.atol).side(side);
        Ok(if limit > 0 { solver.max_iterations(limit) } else { solver })
    }

    /// Call the function of the caller after an iteration.
    fn tell<T>(&self, at: IterationProgress<T>) -> ControlFlow<()> {
        let Some(watch) = self.watch else { return ControlFlow::Continue(()) };
        // SAFETY: the caller's promise.
        match unsafe { watch(at.iteration as i64, at.residual_norm, at.tolerance, self.watch_data) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Method, matrix and preconditioner of an iteration, from C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IterationCall {
    pub method: *const c_char,
    pub matrix: bandsolve_csr_t,
    /// The preconditioner, or null.
    pub precond: bandsolve_precond_t,
}

/// Method, matrix and preconditioner, after the checks.
struct Iteration<T: Scalar> {
    method: KrylovMethod,
    matrix: Arc<HeldCsr<T>>,
    preconditioner: Option<Arc<HeldPreconditioner<T>>>,
}

impl<T: Scalar> Iteration<T> {
    fn scratch(&self, solver: &KrylovSolver<'_>) -> StackReq {
        let m = self.preconditioner.as_ref().map(|m| m.operator());
        solver.scratch(self.matrix.operator(), m)
    }
}

impl IterationCall {
    /// Check the arguments.
    ///
    /// # Safety
    /// `method` is null, or a string with a zero at the end; handles are null or not destroyed during the call.
    unsafe fn check<T: Scalar>(self) -> CallResult<Iteration<T>> {
        // SAFETY: the caller's promise.
        unsafe {
            let (method, matrix) = (parsed("method", self.method)?, csr_of::<T>(self.matrix)?);
            let (rows, columns) = matrix.sizes();
            if rows != columns {
                let message = format!("matrix has {rows} rows and {columns} columns, expected a square one");
                return Err(CallFailure::argument(message));
            }
            let preconditioner = if self.precond.is_null() { None } else { Some(preconditioner::<T>(self.precond)?) };
            Ok(Iteration { method, matrix, preconditioner })
        }
    }

    /// Get the buffer size of an iteration (`csr_krylov_bufferSizeExt`).
    ///
    /// # Safety
    /// As [`check`](Self::check); `out` is null, or may be written.
    pub unsafe fn buffer_size<T: Scalar>(self, out: *mut usize) -> CallResult {
        // SAFETY: the caller's promise.
        unsafe {
            let iteration = self.check::<T>()?;
            tell_size(iteration.scratch(&KrylovSolver::new(iteration.method)), out)
        }
    }

    /// Solve A·x = rhs, starting from the given x (`csr_krylov`).
    ///
    /// # Safety
    /// As [`check`](Self::check); pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
    pub unsafe fn solve<T: Scalar>(
        self,
        options: *const bandsolve_iteration_options_t,
        (x, rhs): (*mut T, *const T),
        out: *mut bandsolve_iteration_report_t,
        scratch: *mut c_void,
    ) -> CallResult {
        report::clear();
        // SAFETY: the caller's promise.
        let (iteration, options) = unsafe { (self.check::<T>()?, bandsolve_iteration_options_t::read(options)?) };
        let solver = options.solver(iteration.method)?;
        if !out.is_null() {
            // SAFETY: the caller's promise.
            unsafe { room_from("report", out, offset_of!(bandsolve_iteration_report_t, attention))? };
        }
        let Iteration { matrix, preconditioner, .. } = &iteration;
        let n = elements::<T>("x", &[matrix.sizes().0])?;
        let (x, rhs) = (RawArray::new("x", x, n)?, RawArray::new("rhs", rhs, n)?);
        matrix.apart(&[x.place()], &[rhs.place()])?;
        let needed = iteration.scratch(&solver);
        let buffer = buffer(scratch, needed, matrix, &[x.place(), rhs.place()])?;
        let m = preconditioner.as_ref().map(|m| m.operator());
        let watch = &mut |at: IterationProgress<T>| options.tell(at);
        // SAFETY: the caller's promise; the written arrays overlap no other array.
        let report = unsafe {
            let (x, rhs) = (x.write(), rhs.read());
            in_scratch(buffer, needed, |stack| solver.solve_with(matrix.operator(), m, rhs, x, watch, stack))??
        };
        // SAFETY: the size was checked above.
        unsafe { tell(&report, out) };
        judge(&report)
    }
}

/// Write a report, unless `out` is null.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
unsafe fn tell(report: &IterationReport, out: *mut bandsolve_iteration_report_t) {
    if out.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let size = (*out).size;
        let filled = bandsolve_iteration_report_t {
            size,
            iterations: report.iterations as i64,
            restarts: report.restarts as i64,
            converged: i32::from(report.converged()),
            ending: report.ending.into(),
            residual_norm: report.residual_norm,
            rhs_norm: report.rhs_norm,
            tolerance: report.tolerance,
            attention: report::characters(report.attention.as_deref().unwrap_or_default()),
        };
        write_part(out, &filled, size);
    }
}

/// Return a failure unless the residual is within the tolerance.
fn judge(report: &IterationReport) -> CallResult {
    if report.converged() {
        return Ok(());
    }
    let IterationReport { method, iterations, ending, residual_norm, tolerance, .. } = report;
    Err(CallFailure::tolerance(format!(
        "{method} ended after {iterations} iterations ({ending}): the residual is {residual_norm:.3e}, the tolerance {tolerance:.3e}"
    )))
}
