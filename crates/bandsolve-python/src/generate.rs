//! Test matrices.

use bandsolve_gallery::families as gallery;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Get the name and the description of every family of matrices.
#[pyfunction]
pub fn families() -> Vec<(&'static str, &'static str)> {
    gallery::families().iter().map(|family| (family.name, family.description)).collect()
}

/// Generate a matrix: `("tridiagonal", sub, diag, sup, periodic)`, or `("banded", lower, upper, bands)`.
#[pyfunction]
pub fn generate<'py>(py: Python<'py>, name: &str, n: usize, seed: u64) -> PyResult<Bound<'py, PyAny>> {
    let family = gallery::family(name).ok_or_else(|| {
        let names: Vec<_> = gallery::families().iter().map(|family| family.name).collect();
        PyValueError::new_err(format!("name is {name:?}, expected one of {}", names.join(", ")))
    })?;
    match family.generate(n, seed) {
        gallery::System::Tridiagonal(a) => {
            let [sub, diag, sup] = a.arrays().map(|array| PyArray1::from_slice(py, array));
            ("tridiagonal", sub, diag, sup, a.is_periodic()).into_bound_py_any(py)
        }
        gallery::System::Banded(a) => {
            let (bands, leading) = a.storage();
            let bands = PyArray1::from_slice(py, bands).reshape([a.n(), leading])?;
            ("banded", a.lower(), a.upper(), bands).into_bound_py_any(py)
        }
    }
}
