//! Reading of matrix files, by the same reader as the program `bandsolve`.

use bandsolve::Complex64;
use bandsolve_io::{DenseArray, FileArray, FileContents, FileError, FileErrorKind, Numbers, Triplets};
use numpy::IntoPyArray;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Read a file: `("sparse", shape, rows, columns, values, type, format)`, or `("dense", array, type)` with the array in Fortran order.
///
/// A sparse result includes the entries that a symmetry implies. `type` is NumPy's name of the number type. `format` is SciPy's name of the matrix
/// format, or None for Matrix Market files.
#[pyfunction]
pub fn read_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let FileContents { array, number, format } = py.detach(|| bandsolve_io::read(&path)).map_err(exception)?;
    match array {
        FileArray::DenseArray(DenseArray { n_rows, n_cols, values }) => {
            // The values are in column-major order, so reshape to the transposed shape and transpose.
            let array = numbers(py, values)?.call_method1("reshape", ((n_cols, n_rows),))?.getattr("T")?;
            ("dense", array, number.name()).into_bound_py_any(py)
        }
        FileArray::Sparse(a) => {
            let shape = (a.n_rows, a.n_cols);
            let (rows, cols, values) = py.detach(|| written_out(a)).map_err(PyMemoryError::new_err)?;
            let (rows, cols) = (rows.into_pyarray(py), cols.into_pyarray(py));
            let format = format.map(|format| format.name());
            ("sparse", shape, rows, cols, numbers(py, values)?, number.name(), format).into_bound_py_any(py)
        }
    }
}

fn exception(error: FileError) -> PyErr {
    match error.kind() {
        // Converts to the matching built-in exception, such as FileNotFoundError.
        FileErrorKind::Io(kind) => std::io::Error::new(kind, error.to_string()).into(),
        FileErrorKind::Memory => PyMemoryError::new_err(error.to_string()),
        FileErrorKind::Malformed => PyValueError::new_err(error.to_string()),
    }
}

/// List rows, columns and values of all entries, with those that a symmetry implies.
fn written_out(a: Triplets) -> Result<(Vec<i64>, Vec<i64>, Numbers), String> {
    let mut count = 0;
    a.for_each(|_, _, _| count += 1);
    let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Numbers::new(a.values.is_complex()));
    for list in [&mut rows, &mut cols] {
        bandsolve_io::memory::grow(list, count, count)?;
    }
    values.grow(count, count)?;
    a.for_each(|i, j, Complex64 { re, im }| {
        rows.push(i as i64);
        cols.push(j as i64);
        values.push(re, im);
    });
    Ok((rows, cols, values))
}

fn numbers(py: Python<'_>, Numbers { re, im }: Numbers) -> PyResult<Bound<'_, PyAny>> {
    let re = re.into_pyarray(py);
    let Some(im) = im else { return Ok(re.into_any()) };
    let all = numpy::PyArray1::<Complex64>::zeros(py, re.len()?, false);
    all.setattr("real", re)?;
    all.setattr("imag", im.into_pyarray(py))?;
    Ok(all.into_any())
}
