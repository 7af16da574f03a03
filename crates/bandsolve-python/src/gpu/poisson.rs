//! Poisson problems whose right-hand sides are on a GPU.

use super::array::PyDeviceArray;
use super::given::GivenArray;
use super::held::device_of;
use super::layout::indices;
use crate::arrays::{DtypeKind, Number};
use crate::device::Device;
use crate::errors::exception;
use crate::interrupt::detached;
use crate::options::{device_holding, open};
use crate::poisson::{AxisArguments, BoxArguments, dictionary_of, problem};
use bandsolve::Error;
use bandsolve_gpu::{DevicePoisson, DeviceSlice, DeviceSliceMut};
use bandsolve_poisson::{PoissonReport, PoissonScalar};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// A solver in single or double precision.
enum HeldSolver {
    Single(Mutex<DevicePoisson<f32>>),
    Double(Mutex<DevicePoisson<f64>>),
}

/// The plan of a `bandsolve.poisson.Solver` on a GPU. Solves of several threads wait for each other.
#[pyclass(frozen, module = "bandsolve._bandsolve", name = "DevicePoissonPlan")]
pub struct PyDevicePoisson {
    solver: HeldSolver,
    device: Device,
    name: String,
    method: &'static str,
    reason: &'static str,
}

/// Whether the axes of an array have the order F and not C: then the first axis is the fastest.
fn is_by_columns(array: &GivenArray) -> bool {
    let c_order: Vec<usize> = (0..array.shape.len()).rev().collect();
    let f_order: Vec<usize> = (0..array.shape.len()).collect();
    array.is_dense(&f_order) && !array.is_dense(&c_order)
}

/// What a solver for a right-hand side on a GPU needs to know: the shape, whether the numbers have double precision, whether the order is F, and the name
/// of the GPU; None for an empty array, which is on none.
#[pyfunction]
pub fn box_on_gpu(f: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, bool, bool, Option<String>)> {
    let (arrays, _) = GivenArray::read_all(&[("f", f)], None)?;
    let array = &arrays[0];
    if array.kind.complex {
        return Err(PyTypeError::new_err(format!("f has the type {}, expected real numbers", array.kind.name())));
    }
    let name = if array.len() > 0 { Some(device_holding(f.py(), array.address)?.0) } else { None };
    Ok((array.shape.clone(), array.kind.double, is_by_columns(array), name))
}

#[pymethods]
impl PyDevicePoisson {
    #[new]
    fn new(
        py: Python<'_>,
        shape: Vec<usize>,
        axes: Vec<AxisArguments<'_>>,
        options: BoxArguments,
        double: bool,
        name: &str,
    ) -> PyResult<Self> {
        let (problem, device) = (problem(&shape, &axes, &options)?, open(py, name)?);
        let made = detached(py, || match double {
            true => DevicePoisson::new(&device, &problem).map(|solver| HeldSolver::Double(Mutex::new(solver))),
            false => DevicePoisson::new(&device, &problem).map(|solver| HeldSolver::Single(Mutex::new(solver))),
        })?;
        let solver = made.map_err(|error| exception(py, &error))?;
        let (method, reason) = match &solver {
            HeldSolver::Single(solver) => locked(solver).method(),
            HeldSolver::Double(solver) => locked(solver).method(),
        };
        Ok(Self { solver, device, name: name.into(), method: method.name(), reason })
    }

    /// Solve for arrays on the GPU. Returns the solutions and a report. With `by_columns`, the axes of the arrays are those of the plan in the opposite order.
    #[pyo3(signature = (f, out=None, by_columns=false))]
    fn solve<'py>(
        &self,
        f: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        by_columns: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
        let py = f.py();
        let mut named = vec![("f", f)];
        named.extend(out.map(|out| ("out", out)));
        let (arrays, _) = GivenArray::read_all(&named, None)?;
        let (given, target) = (&arrays[0], arrays.get(1));
        let kind = DtypeKind { complex: false, double: matches!(self.solver, HeldSolver::Double(_)) };
        let axes = 0..given.shape.len();
        let order: Vec<usize> = if by_columns { axes.collect() } else { axes.rev().collect() };
        given.check_kind(kind, "the solver")?;
        given.check_dense(&order, "Pass an array in order C, for example cupy.ascontiguousarray(f).")?;
        given.check_device(&self.device, &self.name)?;
        if let Some(target) = target {
            target.check_out(given, (kind, "the solver"), &order, (&self.device, &self.name))?;
        }
        let made = target.is_none().then(|| PyDeviceArray::zeros(&self.device, kind, &given.shape, &order, false));
        let made = made.transpose().map_err(|error| exception(py, &error))?;
        let of_u = target.map_or_else(|| self.device.clone(), |target| device_of(&self.device, target));
        let u = made.as_ref().map_or_else(|| target.map_or(0, |target| target.address), PyDeviceArray::address);
        let (of_f, task) = (device_of(&self.device, given), (given.address, u, given.len()));
        let solved = match &self.solver {
            HeldSolver::Single(solver) => solve(py, solver, (&of_f, &of_u), task)?,
            HeldSolver::Double(solver) => solve(py, solver, (&of_f, &of_u), task)?,
        };
        let report = solved.map_err(|error| match error {
            Error::NotFinite { array: "f", index } => {
                PyValueError::new_err(format!("f[{}] is not finite", indices(index, &given.shape, &order)))
            }
            error => exception(py, &error),
        })?;
        let u = match (made, out) {
            (Some(made), _) => made.into_bound_py_any(py)?,
            (None, Some(out)) => out.clone(),
            (None, None) => unreachable!("u is new if there is no out"),
        };
        Ok((u, dictionary_of(py, &report)?))
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.method
    }

    #[getter]
    fn reason(&self) -> &'static str {
        self.reason
    }
}

fn locked<T: Number + PoissonScalar>(solver: &Mutex<DevicePoisson<T>>) -> std::sync::MutexGuard<'_, DevicePoisson<T>> {
    solver.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Solve with f and u at addresses, for the devices with their streams.
fn solve<T: Number + PoissonScalar>(
    py: Python<'_>,
    solver: &Mutex<DevicePoisson<T>>,
    (of_f, of_u): (&Device, &Device),
    (f, u, len): (u64, u64, usize),
) -> PyResult<bandsolve::Result<PoissonReport>> {
    let in_place = f == u && len > 0;
    detached(py, || {
        // SAFETY: the caller has checked that both arrays have this length and are on this device. Nobody else uses u during the solve, and f is
        // not used after u is written if both are the same array.
        let (f, u) = unsafe { (DeviceSlice::<T>::from_raw(of_f, f, len), DeviceSliceMut::from_raw(of_u, u, len)) };
        if !in_place {
            return locked(solver).solve(f, u);
        }
        let mut copy = of_f.zeros(len)?;
        copy.slice_mut(..).copy_from(f)?;
        locked(solver).solve(&copy, u)
    })
}
