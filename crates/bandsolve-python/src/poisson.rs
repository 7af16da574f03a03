//! Poisson and Helmholtz problems on boxes.

use crate::arrays::{Number, array, filled, rows, slice};
use crate::errors::exception;
use crate::interrupt::detached;
use crate::options::{ThreadCount, threads_of};
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::buffer;
use bandsolve_kernel::memory::Array;
use bandsolve_poisson::{
    AxisPencil, Boundary, BoundaryKind, Grid, Poisson, PoissonMethod, PoissonPlan, PoissonReport, PoissonScalar,
    SeparablePencils, Side,
};
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Mutex, PoisonError};

/// An axis of the box. `values` has one number for a side, or one number for each point of the side. `coefficients` are alpha and beta of
/// Robin sides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AxisArguments<'py> {
    kinds: [String; 2],
    coefficients: [[f64; 2]; 2],
    values: [PyReadonlyArray1<'py, f64>; 2],
    grid: String,
    spacing: f64,
    coordinates: Option<PyReadonlyArray1<'py, f64>>,
}

/// The options for the whole box.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BoxArguments {
    shift: f64,
    method: String,
    mean: f64,
    removable: f64,
    threads: Option<ThreadCount>,
}

/// Get a boundary kind by its name. `alpha` and `beta` are the coefficients of a Robin side.
fn boundary_kind(name: &str, [alpha, beta]: [f64; 2]) -> PyResult<BoundaryKind> {
    if name == (BoundaryKind::Robin { alpha, beta }).name() {
        return Ok(BoundaryKind::Robin { alpha, beta });
    }
    BoundaryKind::from_name(name).ok_or_else(|| {
        let names = BoundaryKind::ALL.map(BoundaryKind::name).join(", ");
        PyValueError::new_err(format!("boundary is {name:?}, expected one of {names}, or (\"robin\", alpha, beta)"))
    })
}

impl AxisArguments<'_> {
    /// Add this axis to a problem.
    fn add_to(&self, problem: Poisson, axis: usize) -> PyResult<Poisson> {
        let mut boundaries = [Boundary::periodic(); 2];
        for (side, boundary) in boundaries.iter_mut().enumerate() {
            let constant = *self.values[side].as_slice()?.first().unwrap_or(&0.0);
            *boundary = Boundary { kind: boundary_kind(&self.kinds[side], self.coefficients[side])?, value: constant };
            if boundary.kind == BoundaryKind::Periodic && constant != 0.0 {
                return Err(PyValueError::new_err(
                    "boundary has a value on a periodic side; pass 'periodic' without a value",
                ));
            }
        }
        let grid = match self.grid.as_str() {
            "node" => Grid::Node,
            "cell" => Grid::Cell,
            other => return Err(PyValueError::new_err(format!("grid is {other:?}, expected one of node, cell"))),
        };
        let [low, high] = boundaries;
        let mut problem = problem.axis_boundary(axis, low, high).axis_grid(axis, grid).axis_spacing(axis, self.spacing);
        if let Some(coordinates) = &self.coordinates {
            problem = problem.coordinates(axis, coordinates.as_slice()?);
        }
        for (side, values) in [Side::Low, Side::High].into_iter().zip(&self.values) {
            let values = values.as_slice()?;
            if values.len() != 1 {
                problem = problem.boundary_values(axis, side, values);
            }
        }
        Ok(problem)
    }
}

/// Get a method by its name.
fn method_of(name: &str) -> PyResult<PoissonMethod> {
    PoissonMethod::from_name(name).ok_or_else(|| {
        let names: Vec<_> = PoissonMethod::ALL.iter().map(|method| method.name()).collect();
        PyValueError::new_err(format!("method is {name:?}, expected one of {}", names.join(", ")))
    })
}

/// Create the problem from the arguments.
pub fn problem(shape: &[usize], axes: &[AxisArguments<'_>], options: &BoxArguments) -> PyResult<Poisson> {
    let method = method_of(&options.method)?;
    let problem = Poisson::new(shape).shift(options.shift).method(method).mean(options.mean);
    let mut problem = problem.removable(options.removable);
    if let Some(threads) = threads_of(options.threads) {
        problem = problem.threads(threads);
    }
    for (axis, arguments) in axes.iter().enumerate() {
        problem = arguments.add_to(problem, axis)?;
    }
    Ok(problem)
}

/// A and M of an axis, as six arrays: sub, diag and sup of A, then of M.
type PencilArguments<'py> = [PyReadonlyArray1<'py, f64>; 6];

/// Create the problem with two matrices per axis from the arguments.
fn separable(axes: &[PencilArguments<'_>], options: &BoxArguments) -> PyResult<SeparablePencils> {
    let mut pencils = Vec::new();
    for [a, b, c, d, e, f] in axes {
        let a = [a.as_slice()?, b.as_slice()?, c.as_slice()?];
        pencils.push(AxisPencil::new(a, [d.as_slice()?, e.as_slice()?, f.as_slice()?]));
    }
    let problem = SeparablePencils::new(&pencils).shift(options.shift).method(method_of(&options.method)?);
    Ok(match threads_of(options.threads) {
        Some(threads) => problem.threads(threads),
        None => problem,
    })
}

/// A plan in single or double precision.
enum HeldPlan {
    Single(PoissonPlan<f32>),
    Double(PoissonPlan<f64>),
}

/// A plan for `bandsolve.poisson.Solver`. It keeps the scratch memory of the last solve for the next one. If several threads solve at the same time, each
/// thread has its own scratch memory.
#[pyclass(frozen, module = "bandsolve._bandsolve", name = "PoissonPlan")]
pub struct PyPoissonPlan {
    plan: HeldPlan,
    scratch: Mutex<Option<Array<u8>>>,
}

/// Create the Python object for a problem of either kind.
macro_rules! planned {
    ($py:ident, $problem:ident, $double:ident) => {{
        let plan = detached($py, || match $double {
            true => $problem.plan::<f64>().map(HeldPlan::Double),
            false => $problem.plan::<f32>().map(HeldPlan::Single),
        })?;
        plan.map(|plan| Self { plan, scratch: Mutex::default() }).map_err(|error| exception($py, &error))
    }};
}

#[pymethods]
impl PyPoissonPlan {
    #[new]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        axes: Vec<AxisArguments<'_>>,
        options: BoxArguments,
        double: bool,
    ) -> PyResult<Self> {
        let problem = problem(&shape, &axes, &options)?;
        planned!(py, problem, double)
    }

    /// Create a plan for a problem with two matrices per axis.
    #[staticmethod]
    fn of_pencils(
        py: Python<'_>,
        axes: Vec<PencilArguments<'_>>,
        options: BoxArguments,
        double: bool,
    ) -> PyResult<Self> {
        let problem = separable(&axes, &options)?;
        planned!(py, problem, double)
    }

    /// Return the solutions, one after the other, and a report. If `out` is given, write the solutions to it. `out` is C-contiguous with the
    /// number type of the plan and the size of `f`. It has the same memory as `f`, or does not overlap it.
    #[pyo3(signature = (f, out=None))]
    fn solve<'py>(
        &self,
        f: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        match &self.plan {
            HeldPlan::Single(plan) => solve(plan, &self.scratch, f, out),
            HeldPlan::Double(plan) => solve(plan, &self.scratch, f, out),
        }
    }

    #[getter]
    fn method(&self) -> &'static str {
        match &self.plan {
            HeldPlan::Single(plan) => plan.method().0.name(),
            HeldPlan::Double(plan) => plan.method().0.name(),
        }
    }

    #[getter]
    fn reason(&self) -> &str {
        match &self.plan {
            HeldPlan::Single(plan) => plan.method().1,
            HeldPlan::Double(plan) => plan.method().1,
        }
    }

    #[getter]
    fn subproblems(&self) -> usize {
        match &self.plan {
            HeldPlan::Single(plan) => plan.subproblems(),
            HeldPlan::Double(plan) => plan.subproblems(),
        }
    }
}

fn solve<'py, T: Number + PoissonScalar>(
    plan: &PoissonPlan<T>,
    scratch: &Mutex<Option<Array<u8>>>,
    f: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let py = f.py();
    let f = rows::<T>(&array(f)?.0)?;
    let needed = plan.solve_in_place_scratch();
    let locked = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
    let memory = locked().take().map_or_else(|| buffer(needed), Ok);
    let mut memory = memory.map_err(|error| exception(py, &error))?;
    let stack = PodStack::new(&mut memory);
    let (u, solved) = match out {
        None => {
            let f = slice(&f);
            filled(py, &[f.len()], false, |u| detached(py, || plan.solve_into_with(f, u, stack)))?
        }
        Some(out) => {
            let out = out.cast::<PyArrayDyn<T>>()?.clone();
            // SAFETY: the caller has checked that `out` is writable, aligned and contiguous. It does not overlap f, or is f itself, which is not read then.
            let u = unsafe { std::slice::from_raw_parts_mut(out.data(), out.len()) };
            let solved = if f.data() == out.data() {
                detached(py, || plan.solve_in_place_with(u, stack))
            } else {
                let f = slice(&f);
                detached(py, || plan.solve_into_with(f, u, stack))
            };
            (out, solved)
        }
    };
    *locked() = Some(memory);
    let report = solved?.map_err(|error| exception(py, &error))?;
    Ok((u.into_any(), dictionary_of(py, &report)?))
}

/// A report as a dictionary.
pub fn dictionary_of<'py>(py: Python<'py>, report: &PoissonReport) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("method", report.method.name())?;
    dictionary.set_item("reason", &*report.reason)?;
    dictionary.set_item("shape", PyTuple::new(py, report.shape.iter())?)?;
    dictionary.set_item("backward_error", report.backward_error)?;
    dictionary.set_item("backward_errors", report.backward_errors.to_vec())?;
    dictionary.set_item("refinement_steps", report.refinement_steps)?;
    dictionary.set_item("subproblems", report.subproblems)?;
    dictionary.set_item("removed", report.removed)?;
    dictionary.set_item("mean", report.mean)?;
    dictionary.set_item("rcond", report.rcond)?;
    dictionary.set_item("attention", report.attention.as_deref())?;
    Ok(dictionary)
}
