//! Options of solvers: methods, pivoting, threads, devices.

use crate::device::Device;
use crate::errors::exception;
use bandsolve::{Method, Op, Pivoting, Plan};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Default number of threads. 0 means all threads of the machine.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Set the default number of threads for all solvers of the process.
///
/// Parameters
/// ----------
/// threads : int or None
///     A positive number. None: all threads that the machine offers.
///
/// Raises
/// ------
/// ValueError
///     `threads` is not positive.
/// TypeError
///     `threads` is not an integer.
///
/// See Also
/// --------
/// - `bandsolve.get_num_threads`: return the number.
///
/// Notes
/// -----
/// The argument `threads` of a solver overrides the number for one call. Results are the same, bit for bit, for any number of threads.
///
/// Examples
/// --------
/// >>> import bandsolve
/// >>> bandsolve.set_num_threads(1)
/// >>> bandsolve.get_num_threads()
/// 1
/// >>> bandsolve.set_num_threads(None)
#[pyfunction]
#[pyo3(signature = (threads))]
pub fn set_num_threads(threads: Option<ThreadCount>) {
    THREADS.store(threads.map_or(0, |threads| threads.0), Ordering::Relaxed);
}

/// The number of threads for a call, at least 1.
#[derive(Debug, Clone, Copy)]
pub struct ThreadCount(usize);

impl<'a, 'py> FromPyObject<'a, 'py> for ThreadCount {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        // A number above the range of `isize` is a `ValueError`, as other invalid numbers.
        match value.extract::<isize>() {
            Ok(threads) if threads > 0 => Ok(Self(threads.unsigned_abs())),
            Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(error),
            _ => Err(PyValueError::new_err(format!(
                "threads is {}, expected a positive number up to {}, or None",
                shown(&value),
                isize::MAX
            ))),
        }
    }
}

/// A number for an error message. Python does not convert integers with thousands of digits to text.
fn shown(value: &Bound<'_, PyAny>) -> String {
    value.str().map_or_else(|_| "a number of thousands of digits".into(), |text| text.to_string())
}

/// Return the number of threads that solvers use by default.
///
/// Returns
/// -------
/// int
///     The number that `bandsolve.set_num_threads` set, else the number of threads that the machine offers.
///
/// See Also
/// --------
/// - `bandsolve.set_num_threads`: set the number.
///
/// Examples
/// --------
/// >>> import bandsolve
/// >>> bandsolve.get_num_threads() >= 1
/// True
#[pyfunction]
pub fn get_num_threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => bandsolve_kernel::threads::count(),
        threads => threads,
    }
}

/// Return the names of all methods for tridiagonal, block tridiagonal and banded systems.
///
/// Returns
/// -------
/// list of str
///     Names that the argument `method` of the solvers takes.
///
/// Notes
/// -----
/// Not every method solves every kind of system. For example, "thomas" solves only tridiagonal systems, and raises a `ValueError` for other systems.
/// "auto" chooses a method by the kind and the size of the system.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve
/// >>> bandsolve.methods()[:3]
/// ['auto', 'pivoted', 'thomas']
/// >>> off, diag = np.full(2, -1.0), np.full(3, 2.0)
/// >>> x = bandsolve.solve_tridiagonal(off, diag, off, np.ones(3), method="thomas")
/// >>> print(np.round(x, 9))
/// [1.5 2.  1.5]
#[pyfunction]
pub fn methods() -> Vec<&'static str> {
    Method::ALL.iter().map(|method| method.name()).collect()
}

/// Return the name of the instruction set that the kernels use, for `python -m bandsolve`.
#[pyfunction]
pub fn instruction_set() -> &'static str {
    bandsolve::Simd::detect().name()
}

/// The options of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallOptions<'a> {
    pub method: &'a str,
    pub pivoting: &'a str,
    pub verify: bool,
    pub threads: Option<ThreadCount>,
    pub device: &'a str,
}

impl CallOptions<'_> {
    /// The options of a call that sets none.
    pub const DEFAULT: Self =
        Self { method: "auto", pivoting: "scaled-partial", verify: true, threads: None, device: "cpu" };

    /// Set the options of the call in a plan.
    pub fn plan(&self, plan: Plan) -> PyResult<Plan> {
        let mut plan = plan.verify(self.verify);
        if self.method != "auto" {
            plan = plan.method(self.chosen_method()?);
        }
        if self.pivoting != "scaled-partial" {
            plan = plan.pivoting(self.chosen_pivoting()?);
        }
        Ok(match threads_of(self.threads) {
            None => plan,
            Some(threads) => plan.threads(threads),
        })
    }

    /// Get the number of threads that the call may use.
    pub fn thread_count(&self) -> usize {
        threads_of(self.threads).unwrap_or_else(bandsolve_kernel::threads::count)
    }

    /// Get the GPU for the solve, or `None` for the CPU.
    pub fn gpu(&self, py: Python<'_>) -> PyResult<Option<Device>> {
        if self.device == "cpu" { Ok(None) } else { open(py, self.device).map(Some) }
    }

    fn chosen_method(&self) -> PyResult<Method> {
        Method::ALL.into_iter().find(|method| method.name() == self.method).ok_or_else(|| {
            let names = methods().join(", ");
            PyValueError::new_err(format!("method is {:?}, expected one of {names}", self.method))
        })
    }

    fn chosen_pivoting(&self) -> PyResult<Pivoting> {
        Pivoting::from_name(self.pivoting).ok_or_else(|| {
            let names = Pivoting::ALL.map(Pivoting::name).join(", ");
            PyValueError::new_err(format!("pivoting is {:?}, expected one of {names}", self.pivoting))
        })
    }
}

/// Get the number of threads that `set_num_threads` has set, if any.
pub fn threads_set() -> Option<usize> {
    Some(THREADS.load(Ordering::Relaxed)).filter(|threads| *threads > 0)
}

/// Get the number of threads of a call, else that of `set_num_threads`. `None` means all threads of the machine.
pub fn threads_of(threads: Option<ThreadCount>) -> Option<usize> {
    threads.map(|threads| threads.0).or_else(threads_set)
}

/// Parse `transpose`: `False` means A, `True` its transpose, `"conj"` its conjugate transpose.
pub fn op(transpose: &Bound<'_, PyAny>) -> PyResult<Op> {
    if let Ok(transpose) = transpose.extract::<bool>() {
        return Ok(if transpose { Op::Transpose } else { Op::Plain });
    }
    match transpose.extract::<&str>() {
        Ok("conj") => Ok(Op::ConjTranspose),
        Ok(other) => Err(PyValueError::new_err(format!("transpose is {other:?}, expected False, True or \"conj\""))),
        Err(_) => Err(PyTypeError::new_err(format!("transpose is {transpose}, expected False, True or \"conj\""))),
    }
}

/// The GPUs that are open, by name.
fn opened() -> MutexGuard<'static, Vec<(String, Device)>> {
    static OPENED: Mutex<Vec<(String, Device)>> = Mutex::new(Vec::new());
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Get the GPU whose memory has an address, and its name.
#[cfg(feature = "cuda")]
pub fn device_holding(py: Python<'_>, address: u64) -> PyResult<(String, Device)> {
    let known = opened().iter().find(|(_, device)| device.holds(address)).cloned();
    known.map_or_else(
        || {
            let device = Device::holding(address).map_err(|error| exception(py, &error))?;
            let name = format!("cuda:{}", device.number());
            Ok((name.clone(), open(py, &name)?))
        },
        Ok,
    )
}

/// Get the GPU with this name. The first call opens it. The names that begin with `emulated` are for tests.
pub fn open(py: Python<'_>, name: &str) -> PyResult<Device> {
    let known =
        name == "cuda" || name.starts_with("cuda:") || cfg!(feature = "emulator") && name.starts_with("emulated");
    if name == "cpu" {
        let message = "device is \"cpu\", expected a GPU: \"cuda\", \"cuda:0\", \"cuda:1\", …";
        return Err(PyValueError::new_err(message));
    }
    if !known {
        let message = format!("device is {name:?}, expected \"cpu\", or \"cuda\", \"cuda:0\", \"cuda:1\", … for GPUs");
        return Err(PyValueError::new_err(message));
    }
    let mut opened = opened();
    if let Some((_, device)) = opened.iter().find(|(other, _)| other == name) {
        return Ok(device.clone());
    }
    let device = Device::open(name).map_err(|error| exception(py, &error))?;
    opened.push((name.into(), device.clone()));
    Ok(device)
}
