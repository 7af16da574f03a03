//! Poisson and Helmholtz problems on boxes, and others of the same form.

mod pencils;

pub use pencils::{bandsolve_pencil_t, bandsolve_pencils_problem_t};
pub(crate) use pencils::{create_pencils, pencils_defaults};

use crate::csr::{destroy, opened};
use crate::memory::{
    RawArray, elements, in_scratch, room, room_from, scratch_bytes, size, tell_size, text, write_part,
};
use crate::report;
use crate::settings::threads_set;
use crate::status::{CallFailure, CallResult};
use bandsolve::dyn_stack::StackReq;
use bandsolve_poisson::{
    Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, PoissonPlan, PoissonReport, PoissonScalar, Side,
};
use core::ffi::{CStr, c_char, c_void};
use core::mem::offset_of;
use std::any::Any;
use std::ffi::CString;

/// The boundary condition on one side of a box.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_boundary_t {
    /// Dirichlet: the value of u is given.
    BANDSOLVE_DIRICHLET = 0,
    /// Neumann: the derivative of u along the outward normal is given.
    BANDSOLVE_NEUMANN = 1,
    /// Periodic: u continues at the opposite side. Set both sides of an axis to periodic, or neither.
    BANDSOLVE_PERIODIC = 2,
    /// Robin: the sum alpha u + beta du/dn is given, where du/dn is the derivative along the outward normal.
    BANDSOLVE_ROBIN = 3,
}

/// A boundary condition from C. It may be any number, so it is not the Rust enum.
pub type BoundaryArgument = i32;

/// The positions of the unknowns along an axis.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_grid_t {
    /// At nodes. A Dirichlet side is one spacing beyond the last unknown. A Neumann or Robin side is at the last unknown.
    BANDSOLVE_NODES = 0,
    /// At cell centers. Each side is half a spacing beyond the last unknown.
    BANDSOLVE_CELLS = 1,
}

/// A grid from C. It may be any number, so it is not the Rust enum.
pub type GridArgument = i32;

/// The boundary condition and its values on one side of a box.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_poisson_side_t {
    /// The kind of the boundary condition. Default `BANDSOLVE_DIRICHLET`.
    pub kind: BoundaryArgument,
    /// The boundary value, the same on the whole side. Default 0.
    pub value: f64,
    /// One boundary value for each point of the side, instead of `value`. The last axis is contiguous. The values are copied.
    /// Default NULL.
    pub values: *const f64,
    /// The factor of u, if the kind is `BANDSOLVE_ROBIN`. With 0, the side is a Neumann side. If alpha / beta is negative,
    /// -Laplace can have negative eigenvalues, or be singular. Default 0.
    pub alpha: f64,
    /// The factor of the derivative of u along the outward normal, if the kind is `BANDSOLVE_ROBIN`. It must not be 0.
    /// Default 1.
    pub beta: f64,
}

/// One axis of a box: its unknowns and its two sides.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_poisson_axis_t {
    /// Number of unknowns along the axis. Default 1.
    pub n: i64,
    /// The positions of the unknowns. Default `BANDSOLVE_NODES`.
    pub grid: GridArgument,
    /// Distance between neighboring unknowns. Default 1.
    pub spacing: f64,
    /// Increasing coordinates, instead of `spacing`. They are copied. For nodes: the coordinates of the unknowns and of the
    /// Dirichlet sides, which are n to n + 2 values, or n + 1 values if the axis is periodic. For cells: the n + 1 faces.
    /// Default NULL.
    pub coordinates: *const f64,
    /// The side at index 0, and the side at index n - 1.
    pub sides: [bandsolve_poisson_side_t; 2],
}

/// The problem (-Laplace + shift) u = f on a box.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct bandsolve_poisson_problem_t {
    /// Set it to `sizeof(bandsolve_poisson_problem_t)` first, also before `bandsolvePoissonDefaults`.
    pub size: usize,
    /// Number of axes of the box, 1 to 3. Default 2.
    pub dimensions: i64,
    /// The axes. The first `dimensions` of them are used, and the last of these is contiguous in memory.
    pub axes: [bandsolve_poisson_axis_t; 3],
    /// The number that is added to the diagonal. Default 0.
    pub shift: f64,
    /// The mean of u, weighted by volumes, if the problem is singular. Default 0.
    pub mean: f64,
    /// The maximum that may be subtracted from f so that a singular problem has a solution, as a fraction of the largest entry
    /// of f. Default 0.1.
    pub removable: f64,
    /// Name of the method: "auto", "fft", "gemm", "bcr2", "bcr4" or "pscr". Default NULL, which means "auto".
    pub method: *const c_char,
}

/// How a Poisson problem was solved.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct bandsolve_poisson_report_t {
    /// Set it to `sizeof(bandsolve_poisson_report_t)` before the call. Later versions of the library add fields at the end, and
    /// write at most `size` bytes.
    pub size: usize,
    /// Largest backward error of the right-hand sides.
    pub backward_error: f64,
    /// The constant that was subtracted from f at each unknown, so that a singular problem has a solution. If there are several
    /// right-hand sides, the largest.
    pub removed: f64,
    /// The mean of the returned u, weighted by volumes, if the problem is singular. Otherwise NaN.
    pub mean: f64,
    /// Largest number of refinement steps of any right-hand side.
    pub refinement_steps: i64,
    /// Number of tridiagonal systems that were solved for each right-hand side.
    pub subproblems: i64,
    /// Estimate of the reciprocal condition number. The error of u, relative to its largest entry, can be 2 backward_error /
    /// rcond. NaN if unknown.
    pub rcond: f64,
    /// A warning in words if u may have no correct digit. Empty otherwise.
    pub attention: [c_char; 160],
}

/// A solver of a Poisson problem, in one of two number types.
pub struct bandsolve_poisson_solver {
    /// A `PoissonPlan`.
    plan: Box<dyn Any + Send + Sync>,
    method: CString,
    reason: CString,
}

/// A solver that `bandsolve<t>poisson_create` or `bandsolve<t>poisson_create_pencils` made.
pub type bandsolve_poisson_solver_t = *mut bandsolve_poisson_solver;

const NO_SIDE: bandsolve_poisson_side_t = bandsolve_poisson_side_t {
    kind: bandsolve_boundary_t::BANDSOLVE_DIRICHLET as BoundaryArgument,
    value: 0.0,
    values: core::ptr::null(),
    alpha: 0.0,
    beta: 1.0,
};

const NO_AXIS: bandsolve_poisson_axis_t = bandsolve_poisson_axis_t {
    n: 1,
    grid: bandsolve_grid_t::BANDSOLVE_NODES as GridArgument,
    spacing: 1.0,
    coordinates: core::ptr::null(),
    sides: [NO_SIDE; 2],
};

/// Write the default problem.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn defaults(out: *mut bandsolve_poisson_problem_t) -> CallResult {
    // SAFETY: the caller's promise.
    let size = unsafe { room("problem", out)? };
    let (axes, method) = ([NO_AXIS; 3], core::ptr::null());
    let usual =
        bandsolve_poisson_problem_t { size, dimensions: 2, axes, shift: 0.0, mean: 0.0, removable: 0.1, method };
    // SAFETY: the size was checked above.
    unsafe { out.write(usual) };
    Ok(())
}

fn boundary_kind(side: &bandsolve_poisson_side_t) -> CallResult<BoundaryKind> {
    const DIRICHLET: i32 = bandsolve_boundary_t::BANDSOLVE_DIRICHLET as i32;
    const NEUMANN: i32 = bandsolve_boundary_t::BANDSOLVE_NEUMANN as i32;
    const PERIODIC: i32 = bandsolve_boundary_t::BANDSOLVE_PERIODIC as i32;
    const ROBIN: i32 = bandsolve_boundary_t::BANDSOLVE_ROBIN as i32;
    match side.kind {
        DIRICHLET => Ok(BoundaryKind::Dirichlet),
        NEUMANN => Ok(BoundaryKind::Neumann),
        PERIODIC => Ok(BoundaryKind::Periodic),
        ROBIN => Ok(BoundaryKind::Robin { alpha: side.alpha, beta: side.beta }),
        kind => {
            Err(CallFailure::argument(format!("kind of a side is {kind}, expected a bandsolve_boundary_t, 0 to 3")))
        }
    }
}

impl bandsolve_poisson_axis_t {
    fn kinds(&self) -> CallResult<[BoundaryKind; 2]> {
        Ok([boundary_kind(&self.sides[0])?, boundary_kind(&self.sides[1])?])
    }

    fn known_grid(&self) -> CallResult<Grid> {
        const NODES: i32 = bandsolve_grid_t::BANDSOLVE_NODES as i32;
        const CELLS: i32 = bandsolve_grid_t::BANDSOLVE_CELLS as i32;
        match self.grid {
            NODES => Ok(Grid::Node),
            CELLS => Ok(Grid::Cell),
            grid => Err(CallFailure::argument(format!("grid is {grid}, expected a bandsolve_grid_t, 0 or 1"))),
        }
    }

    /// Add this axis to a problem. Each side of the axis has `points` points.
    ///
    /// # Safety
    /// Arrays that are not null have as many numbers as the header says.
    unsafe fn add_to(&self, problem: Poisson, axis: usize, points: usize) -> CallResult<Poisson> {
        let (kinds, grid, n) = (self.kinds()?, self.known_grid()?, size("n of an axis", self.n)?);
        let [low, high] = [0, 1].map(|side| Boundary { kind: kinds[side], value: self.sides[side].value });
        let mut problem = problem.axis_boundary(axis, low, high).axis_grid(axis, grid).axis_spacing(axis, self.spacing);
        if !self.coordinates.is_null() {
            let beyond = match grid {
                Grid::Node if kinds[0] != BoundaryKind::Periodic => {
                    kinds.iter().filter(|kind| **kind == BoundaryKind::Dirichlet).count()
                }
                _ => 1,
            };
            let count = elements::<f64>("coordinates", &[n.saturating_add(beyond)])?;
            // SAFETY: the caller's promise.
            problem =
                problem.coordinates(axis, unsafe { RawArray::new("coordinates", self.coordinates, count)?.read() });
        }
        for (side, given) in [Side::Low, Side::High].into_iter().zip(&self.sides) {
            if !given.values.is_null() {
                // SAFETY: the caller's promise.
                problem = problem
                    .boundary_values(axis, side, unsafe { RawArray::new("values", given.values, points)?.read() });
            }
        }
        Ok(problem)
    }
}

/// Get the first `dimensions` axes.
fn counted<A>(axes: &[A], dimensions: i64) -> CallResult<&[A]> {
    let counted = usize::try_from(dimensions).ok().and_then(|count| axes.get(..count));
    let message = || format!("problem->dimensions is {dimensions}, expected 1 to 3");
    counted.filter(|axes| !axes.is_empty()).ok_or_else(|| CallFailure::argument(message()))
}

/// Get the method with this name, or `auto` if the pointer is null.
///
/// # Safety
/// As [`text`].
unsafe fn method_called(name: *const c_char) -> CallResult<PoissonMethod> {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }.unwrap_or(c"auto");
    name.to_str().ok().and_then(PoissonMethod::from_name).ok_or_else(|| {
        let names: Vec<_> = PoissonMethod::ALL.iter().map(|method| method.name()).collect();
        CallFailure::argument(format!("there is no method {name:?}; use one of {}", names.join(", ")))
    })
}

/// Read the problem of the caller.
///
/// # Safety
/// `given` is null, or points to a structure whose first field is its size; pointers in it that are not null point to what the header says.
unsafe fn problem(given: *const bandsolve_poisson_problem_t) -> CallResult<Poisson> {
    // SAFETY: the caller's promise; all bytes are valid numbers and pointers.
    let given = unsafe {
        room("problem", given)?;
        *given
    };
    let axes = counted(&given.axes, given.dimensions)?;
    let shape = axes.iter().map(|axis| size("n of an axis", axis.n)).collect::<CallResult<Vec<_>>>()?;
    elements::<f64>("u", &shape)?;
    // SAFETY: the caller's promise.
    let method = unsafe { method_called(given.method)? };
    let mut problem =
        Poisson::new(&shape).shift(given.shift).mean(given.mean).removable(given.removable).method(method);
    if let Some(threads) = threads_set() {
        problem = problem.threads(threads);
    }
    for (k, axis) in axes.iter().enumerate() {
        let others = [&shape[..k], &shape[k + 1..]].concat();
        // SAFETY: the caller's promise.
        problem = unsafe { axis.add_to(problem, k, elements::<f64>("values", &others)?)? };
    }
    Ok(problem)
}

/// Create a solver of a problem (`poisson_create`).
///
/// # Safety
/// As [`problem`]; `out` is null, or may be written.
pub(crate) unsafe fn create<T: PoissonScalar>(
    given: *const bandsolve_poisson_problem_t,
    out: *mut bandsolve_poisson_solver_t,
) -> CallResult {
    let out = RawArray::new("solver", out, 1)?;
    // SAFETY: the caller's promise.
    let plan = unsafe { problem(given)? }.plan::<T>()?;
    // SAFETY: the caller's promise.
    unsafe { hand_over(plan, &out) };
    Ok(())
}

/// Write the handle of a plan to `out`.
///
/// # Safety
/// Nobody else reads or writes `out`.
unsafe fn hand_over<T: PoissonScalar>(plan: PoissonPlan<T>, out: &RawArray<bandsolve_poisson_solver_t>) {
    let words = |text: &str| CString::new(text).unwrap_or_default();
    let (method, reason) = (words(plan.method().0.name()), words(plan.method().1));
    let object = bandsolve_poisson_solver { plan: Box::new(plan), method, reason };
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(object)) };
}

/// Get the plan of a handle.
///
/// # Safety
/// The handle is null, or not destroyed for `'a`.
unsafe fn plan_of<'a, T: PoissonScalar>(solver: bandsolve_poisson_solver_t) -> CallResult<&'a PoissonPlan<T>> {
    // SAFETY: the caller's promise.
    let handle = unsafe { opened(solver, "solver", "poisson_create")? };
    let plan = handle.plan.downcast_ref();
    plan.ok_or_else(|| {
        CallFailure::argument(
            "solver has another number type than the function; use the function of the type that created it".into(),
        )
    })
}

/// Get the scratch size that is sufficient for solves in place and out of place.
fn needed<T: PoissonScalar>(plan: &PoissonPlan<T>) -> StackReq {
    plan.solve_scratch().or(plan.solve_in_place_scratch())
}

/// Get the buffer size of a solve (`poisson_solve_bufferSizeExt`).
///
/// # Safety
/// `solver` is null, or is not destroyed during the call; `out` is null, or may be written.
pub(crate) unsafe fn solve_size<T: PoissonScalar>(solver: bandsolve_poisson_solver_t, out: *mut usize) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { tell_size(needed(plan_of::<T>(solver)?), out) }
}

/// Solve a Poisson problem (`poisson_solve`).
///
/// # Safety
/// As [`solve_size`]; pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
pub(crate) unsafe fn solve<T: PoissonScalar>(
    solver: bandsolve_poisson_solver_t,
    n_rhs: i64,
    (u, f): (*mut T, *const T),
    out: *mut bandsolve_poisson_report_t,
    scratch: *mut c_void,
) -> CallResult {
    report::clear();
    // SAFETY: the caller's promise.
    let plan = unsafe { plan_of::<T>(solver)? };
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { room_from("report", out, offset_of!(bandsolve_poisson_report_t, rcond))? };
    }
    let count = elements::<T>("f", &[plan.len(), size("n_rhs", n_rhs)?])?;
    let (u, f) = (RawArray::new("u", u, count)?, RawArray::new("f", f, count)?);
    let in_place = u.begins_with(&f);
    if !in_place && u.place().overlapped(&[f.place()]).is_some() {
        return Err(CallFailure::argument("u overlaps f; pass the same pointer, or arrays that do not overlap".into()));
    }
    let needed = needed(plan);
    let buffer = match scratch.is_null() {
        true => None,
        false => Some(RawArray::<u8>::new("buffer", scratch.cast(), scratch_bytes(needed)?)?),
    };
    if let Some(other) = buffer.as_ref().and_then(|buffer| buffer.place().overlapped(&[u.place(), f.place()]).cloned())
    {
        return Err(CallFailure::buffer(format!(
            "buffer overlaps {}; pass a buffer that does not overlap",
            other.name
        )));
    }
    // SAFETY: the caller's promise; the written arrays overlap no other array. If f is u, f is not read.
    let report = unsafe {
        let u = u.write();
        in_scratch(buffer, needed, |stack| match in_place {
            true => plan.solve_in_place_with(u, stack),
            false => plan.solve_into_with(f.read(), u, stack),
        })??
    };
    // SAFETY: the size was checked above.
    unsafe { tell(&report, out) };
    Ok(())
}

/// Write a report, unless `out` is null.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
unsafe fn tell(solved: &PoissonReport, out: *mut bandsolve_poisson_report_t) {
    if out.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    let size = unsafe { out.cast::<usize>().read() };
    let report = bandsolve_poisson_report_t {
        size,
        backward_error: solved.backward_error,
        removed: solved.removed,
        mean: solved.mean.unwrap_or(f64::NAN),
        refinement_steps: solved.refinement_steps as i64,
        subproblems: solved.subproblems as i64,
        rcond: solved.rcond,
        attention: report::characters(solved.attention.as_deref().unwrap_or_default()),
    };
    // SAFETY: the caller's promise.
    unsafe { write_part(out, &report, size) };
}

/// Get a text of a handle. It is empty if the handle is null.
///
/// # Safety
/// The handle is null, or not destroyed for as long as the text is read.
unsafe fn text_of(
    solver: bandsolve_poisson_solver_t,
    text: impl FnOnce(&bandsolve_poisson_solver) -> &CStr,
) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { solver.as_ref() }.map_or(c"", text).as_ptr()
}

/// Get the name of the method, after the choice of `auto` (`bandsolvePoissonMethod`).
///
/// # Safety
/// As [`text_of`].
pub(crate) unsafe fn method(solver: bandsolve_poisson_solver_t) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { text_of(solver, |solver| &solver.method) }
}

/// Get the reason for the method (`bandsolvePoissonReason`).
///
/// # Safety
/// As [`text_of`].
pub(crate) unsafe fn reason(solver: bandsolve_poisson_solver_t) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { text_of(solver, |solver| &solver.reason) }
}

/// Free a solver (`bandsolvePoissonDestroy`).
///
/// # Safety
/// As [`destroy`].
pub(crate) unsafe fn destroy_solver(solver: bandsolve_poisson_solver_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { destroy(solver) }
}
