//! Errors of the library as NumPy and SciPy raise them.

use bandsolve::Error;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// `numpy.linalg.LinAlgError`.
pub fn lin_alg_error(py: Python<'_>, message: String) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match CLASS.import(py, "numpy.linalg", "LinAlgError") {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(error) => error,
    }
}

/// The exception for an error: wrong arguments are `ValueError`, matrices that cannot be solved `LinAlgError`.
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
