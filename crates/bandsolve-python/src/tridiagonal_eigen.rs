//! Eigenvalues of symmetric tridiagonal matrices.

use crate::arrays::{array, rows, slice};
use crate::errors::exception;
use crate::interrupt::detached;
use bandsolve::Result;
use bandsolve_eigen::{EigenvalueRange, SymmetricTridiagonal};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// Eigenvalues and eigenvectors, one after the other.
type FoundPairs<'py> = (Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyArray1<f64>>>);

/// Compute eigenvalues, see `bandsolve.eigen.eigh_tridiagonal`.
///
/// `part` selects eigenvalues: `("i", first, end)` by index, with `end` excluded, or `("v", from, to)` by interval. Without `part`, the function
/// computes all eigenvalues.
#[pyfunction]
#[pyo3(signature = (d, e, vectors, part=None, tolerance=0.0))]
pub fn eigh_tridiagonal<'py>(
    d: &Bound<'py, PyAny>,
    e: &Bound<'py, PyAny>,
    vectors: bool,
    part: Option<(&str, f64, f64)>,
    tolerance: f64,
) -> PyResult<FoundPairs<'py>> {
    let py = d.py();
    let (d, e) = (rows::<f64>(&array(d)?.0)?, rows::<f64>(&array(e)?.0)?);
    let (d, e) = (slice(&d), slice(&e));
    let range = match part {
        Some(("i", first, end)) => EigenvalueRange::Indices(first as usize..end as usize),
        Some((_, from, to)) => EigenvalueRange::Interval(from, to),
        None => EigenvalueRange::All,
    };
    let solved = detached(py, || -> Result<_> {
        let matrix = SymmetricTridiagonal::new(d, e)?.tolerance(tolerance);
        if vectors {
            matrix.eigenpairs(range).map(|pairs| (pairs.values, Some(pairs.vectors)))
        } else {
            matrix.eigenvalues(range).map(|values| (values, None))
        }
    })?;
    let (values, vectors) = solved.map_err(|error| exception(py, &error))?;
    Ok((values.into_pyarray(py), vectors.map(|vectors| vectors.into_pyarray(py))))
}
