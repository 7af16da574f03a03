//! Conversion of errors to Python exceptions.

use bandsolve::{Error, Shape};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Create a `numpy.linalg.LinAlgError`.
pub fn lin_alg_error(py: Python<'_>, message: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match CLASS.import(py, "numpy.linalg", "LinAlgError") {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    }
}

/// Convert an error to an exception: `ValueError` for a wrong argument, `LinAlgError` for a system without an accurate solution.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    match error.cause() {
        Error::Singular { .. }
        | Error::NotDefinite { .. }
        | Error::NotConverged { .. }
        | Error::Incompatible { .. } => lin_alg_error(py, message),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        Error::NoDevice { .. } | Error::Device { .. } => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// The exception for an error of a batch of systems with n rows. `place` converts the number of a system to its position in the arrays of the caller.
pub fn of_system(py: Python<'_>, error: &Error, n: usize, place: impl Fn(usize) -> PyResult<String>) -> PyErr {
    // The solver counts the rows system by system, for any order in memory.
    let (row, what) = match error {
        Error::Singular { row } => (*row, "singular: no pivot"),
        Error::NotDefinite { row } => (*row, "not Hermitian positive definite: first seen"),
        error => return exception(py, error),
    };
    match place(row / n) {
        Ok(system) => lin_alg_error(py, format!("system {system} is {what} in row {}", row % n)),
        Err(error) => error,
    }
}

/// The exception for an error in a matrix of this shape: it names an entry by its indices in the caller's array.
pub fn exception_for(py: Python<'_>, shape: Shape, error: &Error) -> PyErr {
    let at = match (error, shape) {
        (Error::NotFinite { array: "bands", index }, Shape::Banded { lower, upper, .. }) => {
            let diagonals = lower + upper + 1;
            format!("ab[{}, {}]", index % diagonals, index / diagonals)
        }
        (Error::NotFinite { array, index }, Shape::BlockTridiagonal { block, .. }) => {
            format!("{array}[{}, {}, {}]", index / (block * block), index % block, index / block % block)
        }
        _ => return exception(py, error),
    };
    PyValueError::new_err(format!("{at} is not finite"))
}
