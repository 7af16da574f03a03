//! Eigenvalues of sparse matrices on a GPU.

use super::sparse::PyDeviceCsr;
use crate::arrays::{Number, columns, slice, with_number};
use crate::eigen::{EigenOptions, Found, general, hermitian};
use crate::errors::exception;
use crate::interrupt::detached;
use bandsolve_gpu::DeviceEigenProblem;
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Find eigenvalues of a matrix on a GPU, see `bandsolve.eigen`. `start` has the number type of the matrix. It is empty if there is no start vector. The
/// vectors are copied to the host.
#[pyfunction]
pub fn eigenvalues_on_gpu<'py>(
    a: &Bound<'py, PyDeviceCsr>,
    start: &Bound<'py, PyUntypedArray>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Found<'py>> {
    let options: EigenOptions = options.extract()?;
    with_number!(a.get().kind(), eigenvalues_of(a, start, &options))
}

fn eigenvalues_of<'py, T: Number>(
    a: &Bound<'py, PyDeviceCsr>,
    start: &Bound<'py, PyUntypedArray>,
    options: &EigenOptions,
) -> PyResult<Found<'py>> {
    let (py, a, start) = (a.py(), a.get().typed::<T>(), columns::<T>(start)?);
    let (solver, problem) = (options.solver(slice(&start))?, DeviceEigenProblem::new(a.device(), a));
    if options.hermitian {
        let found = detached(py, || problem.hermitian(&solver))?.map_err(|error| exception(py, &error))?;
        return hermitian(py, a.rows(), found);
    }
    let found = detached(py, || problem.general(&solver))?.map_err(|error| exception(py, &error))?;
    general(py, a.rows(), found)
}
