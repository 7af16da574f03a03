//! Diagonals and blocks of sparse matrices, for the direct solvers.

use crate::arrays::{Number, array, filled, with_number};
use crate::errors::exception;
use crate::factor::PyFactor;
use crate::options::CallOptions;
use crate::sparse::{Arrays, owned};
use bandsolve::{Plan, Scalar, Shape};
use bandsolve_sparse::{Csr, EntryList, Structure};
use pyo3::prelude::*;

/// The storage that needs the least work to factor a matrix, or both matrices of a pencil.
#[derive(Clone, Copy)]
pub enum DirectStorage {
    /// Block tridiagonal with this number of rows per block.
    Blocks(usize),
    /// Banded with these numbers of diagonals below and above the main one.
    Band(usize, usize),
}

impl DirectStorage {
    /// Choose the storage. `None` if that of one matrix needs more than `most` numbers.
    pub fn of<T: Scalar>(matrices: &[&Csr<'_, T, u32>], most: usize) -> bandsolve::Result<Option<Self>> {
        let structure = Structure::of_all(matrices)?;
        let Structure { n, lower, upper, .. } = structure;
        let fits = |width: usize| n.saturating_mul(width) <= most;
        let block = structure.compact_block(matrices).filter(|block| fits(3 * block));
        let band = fits(lower + upper + 1).then_some(Self::Band(lower, upper));
        Ok(block.map(Self::Blocks).or(band))
    }
}

/// Factor a sparse matrix in the storage that needs the least work. Return `None` if the storage needs more than `most` numbers.
#[pyfunction]
pub fn factor_compact(n: usize, most: usize, arrays: Arrays<'_>) -> PyResult<Option<PyFactor>> {
    let dtype = array(&arrays.2)?.1;
    with_number!(dtype, factor_compact_of(n, most, &arrays))
}

fn factor_compact_of<T: Number>(n: usize, most: usize, arrays: &Arrays<'_>) -> PyResult<Option<PyFactor>> {
    let py = arrays.2.py();
    let a = owned::<T>(n, arrays)?;
    let storage = py.detach(|| DirectStorage::of(&[&a], most)).map_err(|error| exception(py, &error))?;
    let options =
        CallOptions { method: "auto", pivoting: "scaled-partial", verify: true, threads: None, device: "cpu" };
    let plan = |shape: Shape| options.plan(Plan::new(shape));
    let factor = match storage {
        Some(DirectStorage::Blocks(block)) => {
            let shape = Shape::BlockTridiagonal { block_rows: n / block, block, periodic: false };
            PyFactor::new(py, (&plan(shape)?, None), || a.to_block_tridiagonal(block, false))
        }
        Some(DirectStorage::Band(0 | 1, 0 | 1)) => {
            PyFactor::new(py, (&plan(Shape::Tridiagonal { n, periodic: false })?, None), || a.to_tridiagonal(false))
        }
        Some(DirectStorage::Band(lower, upper)) => {
            PyFactor::new(py, (&plan(Shape::Banded { n, lower, upper })?, None), || a.to_banded(lower, upper))
        }
        None => return Ok(None),
    };
    factor.map(Some)
}

/// Numbers of diagonals, and the diagonals.
type DiagonalArrays<'py> = (usize, usize, Vec<Bound<'py, PyAny>>);

/// Return the numbers of diagonals below and above the main one of a sparse matrix, and the diagonals.
///
/// With at most one diagonal on each side, these are the arrays `sub`, `diag` and `sup` of n numbers. Otherwise the one array `ab` of SciPy's band
/// storage.
#[pyfunction]
pub fn diagonals<'py>(n: usize, arrays: Arrays<'py>) -> PyResult<DiagonalArrays<'py>> {
    let dtype = array(&arrays.2)?.1;
    with_number!(dtype, diagonals_of(n, &arrays))
}

fn diagonals_of<'py, T: Number>(n: usize, arrays: &Arrays<'py>) -> PyResult<DiagonalArrays<'py>> {
    let py = arrays.2.py();
    let a = owned::<T>(n, arrays)?;
    let failed = |error| exception(py, &error);
    let structure = py.detach(|| Structure::of(&a)).map_err(failed)?;
    let Structure { lower, upper, .. } = structure;
    let copied = |dims: &[usize], values: &[T]| {
        filled::<T, _>(py, dims, true, |to| to.copy_from_slice(values)).map(|(array, ())| array.into_any())
    };
    let diagonals = if structure.width() <= 1 {
        let a = py.detach(|| a.to_tridiagonal(false)).map_err(failed)?;
        a.arrays().iter().map(|diagonal| copied(&[n], diagonal)).collect::<PyResult<_>>()?
    } else {
        let a = py.detach(|| a.to_banded(lower, upper)).map_err(failed)?;
        vec![copied(&[lower + upper + 1, n], a.storage().0)?]
    };
    Ok((lower, upper, diagonals))
}
