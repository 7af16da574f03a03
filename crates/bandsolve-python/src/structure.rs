//! Diagonals and blocks of sparse matrices, for the direct solvers.

use crate::arrays::{Number, array, filled, with_number};
use crate::errors::exception;
use crate::factor::PyFactor;
use crate::interrupt::detached;
use crate::options::CallOptions;
use crate::sparse::{Arrays, MatrixView, owned, viewed};
use bandsolve::matrix::Index;
use bandsolve::{Plan, Scalar, Shape};
use bandsolve_sparse::{Csr, EntryList, Graph, Structure};
use numpy::PyArray1;
use pyo3::prelude::*;
use std::borrow::Cow;

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

/// The storage of a matrix for a direct solver: its name, the numbers of diagonals below and above the main one, and the rows of a block.
type NamedStorage<'a> = (Cow<'a, str>, usize, usize, usize);

/// Find the storage with which a direct solver needs the least work for a sparse matrix.
///
/// The names are "diagonal", "tridiagonal", "periodic tridiagonal", "block tridiagonal" (only if `blocks`) and "banded". For periodic matrices, the
/// numbers of diagonals count from both sides: they are 1. The number of rows of a block is 1 without blocks.
#[pyfunction]
pub fn storage(n: usize, arrays: Arrays<'_>, blocks: bool) -> PyResult<NamedStorage<'static>> {
    let dtype = array(&arrays.2)?.1;
    with_number!(dtype, storage_of(n, &arrays, blocks))
}

fn storage_of<T: Number>(n: usize, arrays: &Arrays<'_>, blocks: bool) -> PyResult<NamedStorage<'static>> {
    let py = arrays.2.py();
    let named = viewed::<T, _>(n, arrays, |a| {
        py.detach(|| match a {
            MatrixView::Narrow(a) => named_storage(&a, blocks),
            MatrixView::Wide(a) => named_storage(&a, blocks),
        })
    })?;
    named.map_err(|error| exception(py, &error))
}

/// Fewest block rows with which a block solver is as fast as the banded one.
const FEWEST_BLOCKS: usize = 8;

fn named_storage<T: Scalar, I: Index>(a: &Csr<'_, T, I>, blocks: bool) -> bandsolve::Result<NamedStorage<'static>> {
    let structure = Structure::of(a)?;
    let (shape, width) = (structure.shape(), structure.width());
    let (lower, upper) = structure.diagonals_in(shape);
    let block = if blocks { structure.compact_block(&[a]) } else { None };
    // With few block rows, the matrix is almost full.
    let block = block.filter(|block| FEWEST_BLOCKS * block <= structure.n);
    let name = match (shape, block) {
        _ if width == 0 => "diagonal",
        (Shape::Tridiagonal { periodic: true, .. }, _) => "periodic tridiagonal",
        (Shape::Tridiagonal { .. }, _) => "tridiagonal",
        (_, Some(_)) => "block tridiagonal",
        _ => "banded",
    };
    let block = block.filter(|_| name == "block tridiagonal").unwrap_or(1);
    Ok((Cow::Borrowed(name), lower, upper, block))
}

/// Return the arrays of a storage that [`storage`] returned: `sub`, `diag` and `sup` of n numbers each, or of n · b numbers each for blocks, which are
/// stored by columns. Otherwise the one array `ab` of SciPy's band storage.
#[pyfunction]
pub fn stored<'py>(n: usize, arrays: Arrays<'py>, storage: NamedStorage<'_>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let dtype = array(&arrays.2)?.1;
    with_number!(dtype, stored_of(n, &arrays, &storage))
}

fn stored_of<'py, T: Number>(
    n: usize,
    arrays: &Arrays<'py>,
    storage: &NamedStorage<'_>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    viewed::<T, _>(n, arrays, |a| match a {
        MatrixView::Narrow(a) => copies_of(arrays.2.py(), &a, storage),
        MatrixView::Wide(a) => copies_of(arrays.2.py(), &a, storage),
    })?
}

fn copies_of<'py, T: Number, I: Index>(
    py: Python<'py>,
    a: &Csr<'_, T, I>,
    (name, lower, upper, block): &NamedStorage<'_>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let failed = |error| exception(py, &error);
    let copied = |dims: &[usize], values: &[T]| {
        filled::<T, _>(py, dims, true, |to| to.copy_from_slice(values)).map(|(array, ())| array.into_any())
    };
    let all = |arrays: [&[T]; 3]| arrays.iter().map(|values| copied(&[values.len()], values)).collect();
    match &**name {
        "banded" => {
            let band = py.detach(|| a.to_banded(*lower, *upper)).map_err(failed)?;
            Ok(vec![copied(&[lower + upper + 1, a.rows()], band.storage().0)?])
        }
        "block tridiagonal" => all(py.detach(|| a.to_block_tridiagonal(*block, false)).map_err(failed)?.arrays()),
        name => {
            let periodic = name == "periodic tridiagonal";
            all(py.detach(|| a.to_tridiagonal(periodic)).map_err(failed)?.arrays())
        }
    }
}

/// Return the reverse Cuthill–McKee order of the unknowns, in which the band is narrow. Element k is the unknown at place k.
#[pyfunction]
pub fn reverse_cuthill_mckee<'py>(n: usize, arrays: Arrays<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let dtype = array(&arrays.2)?.1;
    let order = with_number!(dtype, order_of(n, &arrays))?;
    Ok(PyArray1::from_vec(arrays.2.py(), order))
}

fn order_of<T: Number>(n: usize, arrays: &Arrays<'_>) -> PyResult<Vec<u32>> {
    let py = arrays.2.py();
    let a = owned::<T>(n, arrays)?;
    detached(py, || Graph::of(&a)?.reverse_cuthill_mckee())?.map_err(|error| exception(py, &error))
}
