//! Eigenvalues of symmetric tridiagonal matrices.

use crate::arrays::{array, rows, slice};
use crate::errors::exception;
use bandsolve::Result;
use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// Eigenvalues and eigenvectors, one after the other.
type Pairs<'py> = (Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyArray1<f64>>>);

/// See `bandsolve.eigen.eigh_tridiagonal`. `indices` are first and end, `interval` is half-open; all eigenvalues without them.
#[pyfunction]
#[pyo3(signature = (d, e, vectors, indices=None, interval=None, tolerance=0.0))]
pub fn eigh_tridiagonal<'py>(
    d: &Bound<'py, PyAny>,
    e: &Bound<'py, PyAny>,
    vectors: bool,
    indices: Option<(usize, usize)>,
    interval: Option<(f64, f64)>,
    tolerance: f64,
) -> PyResult<Pairs<'py>> {
    let py = d.py();
    let (d, e) = (rows::<f64>(&array(d)?.0)?, rows::<f64>(&array(e)?.0)?);
    let (d, e) = (slice(&d), slice(&e));
    let range = match (indices, interval) {
        (Some((first, end)), _) => EigenvalueRange::Indices(first..end),
        (_, Some((from, to))) => EigenvalueRange::Interval(from, to),
        _ => EigenvalueRange::All,
    };
    let found = py.detach(|| -> Result<_> {
        let matrix = SymmetricTridiagonal::new(d, e)?.tolerance(tolerance);
        if vectors {
            matrix.eigenpairs(range).map(|pairs| (pairs.values, Some(pairs.vectors)))
        } else {
            matrix.eigenvalues(range).map(|values| (values, None))
        }
    });
    let (values, vectors) = found.map_err(|error| exception(py, &error))?;
    Ok((values.into_pyarray(py), vectors.map(|vectors| vectors.into_pyarray(py))))
}
