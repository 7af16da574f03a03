//! Eigenvalues: matrices and inverses as arrays by rows or as functions.

use crate::arrays::{Number, array, columns, filled, slice, with_number};
use crate::errors::exception;
use crate::sparse::{Arrays, PyOperator, owned};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, LinearOperator};
use bandsolve_eigen::{EigenEnding, EigenProblem, EigenReport, EigenSolver, Which};
use bandsolve_sparse::Csr;
use numpy::{PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A matrix by rows or a function.
enum PyMatrix<T: Number> {
    Rows(Csr<'static, T, u32>),
    Function(PyOperator),
}

impl<T: Number> PyMatrix<T> {
    fn of(n: usize, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        match value.extract::<Arrays<'_>>() {
            Ok(arrays) => Ok(Self::Rows(owned(n, &arrays)?)),
            Err(_) => Ok(Self::Function(PyOperator::new(n, value))),
        }
    }

    fn operator(&self) -> &dyn LinearOperator<T> {
        match self {
            Self::Rows(matrix) => matrix,
            Self::Function(function) => function,
        }
    }

    fn take(&self) -> Option<PyErr> {
        match self {
            Self::Rows(_) => None,
            Self::Function(function) => function.take(),
        }
    }
}

impl<T: Number> LinearOperator<T> for PyMatrix<T> {
    fn rows(&self) -> usize {
        self.operator().rows()
    }

    fn columns(&self) -> usize {
        self.operator().columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.operator().apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.operator().apply(x, y, stack)
    }
}

/// What a search is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct EigenOptions {
    k: usize,
    which: String,
    ncv: Option<usize>,
    max_restarts: usize,
    tol: f64,
    seed: u64,
    hermitian: bool,
    sigma: Option<(f64, f64)>,
}

/// A, B and the inverse of A − σB or B.
type Matrices<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Values, vectors and a report.
type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Eigenvalues, see `bandsolve.eigen`. `start` has the type of the numbers, and no entries where there is no start.
#[pyfunction]
pub fn eigenvalues<'py>(
    n: usize,
    matrices: Matrices<'py>,
    start: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Found<'py>> {
    let dtype = array(start)?.1;
    let options: EigenOptions = options.extract()?;
    with_number!(dtype, eigenvalues_of(n, &matrices, start, &options))
}

fn eigenvalues_of<'py, T: Number>(
    n: usize,
    (a, b, inverse): &Matrices<'py>,
    start: &Bound<'py, PyAny>,
    options: &EigenOptions,
) -> PyResult<Found<'py>> {
    let py = start.py();
    let begun = columns::<T>(&array(start)?.0)?;
    let a = PyMatrix::<T>::of(n, a)?;
    let b = b.as_ref().map(|b| PyMatrix::<T>::of(n, b)).transpose()?;
    let inverse = inverse.as_ref().map(|inverse| PyMatrix::<T>::of(n, inverse)).transpose()?;
    let mut problem = EigenProblem::new(&a);
    if let Some(b) = &b {
        problem = problem.mass(b);
    }
    problem = match (&inverse, options.sigma) {
        (Some(inverse), Some((re, im))) => problem.shifted(narrow(Complex64::new(re, im)), inverse),
        (Some(inverse), None) => problem.mass_inverse(inverse),
        (None, _) => problem,
    };
    let which: Which = options.which.parse().map_err(PyValueError::new_err)?;
    let mut solver = EigenSolver::new(options.k).which(which).tol(options.tol).seed(options.seed);
    solver = solver.max_restarts(options.max_restarts);
    if let Some(ncv) = options.ncv {
        solver = solver.ncv(ncv);
    }
    let start = slice(&begun);
    if begun.len() > 0 {
        solver = solver.start(start);
    }
    let found = if options.hermitian {
        let found = py.detach(|| solver.hermitian(&problem));
        found.map(|found| {
            let values = PyArray1::from_vec(py, found.values).into_any();
            (values, vectors(py, n, &found.vectors), found.report)
        })
    } else {
        let found = py.detach(|| solver.general(&problem));
        found.map(|found| {
            let values = PyArray1::from_vec(py, found.values).into_any();
            (values, vectors(py, n, &found.vectors), found.report)
        })
    };
    let raised = [a.take(), b.and_then(|b| b.take()), inverse.and_then(|inverse| inverse.take())];
    if let Some(error) = raised.into_iter().flatten().next() {
        return Err(error);
    }
    let (values, vectors, report) = found.map_err(|error| exception(py, &error))?;
    Ok((values, vectors?, dictionary_of(py, report)?))
}

/// Vectors as the columns of an array.
fn vectors<'py, T: Number>(py: Python<'py>, n: usize, vectors: &[T]) -> PyResult<Bound<'py, PyAny>> {
    let count = vectors.len().checked_div(n).unwrap_or(0);
    let (array, ()) = filled(py, &[n, count], true, |to| to.copy_from_slice(vectors))?;
    Ok(array.into_any())
}

fn dictionary_of(py: Python<'_>, report: EigenReport) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("converged", report.ending == EigenEnding::Converged)?;
    dictionary.set_item("ending", report.ending.to_string())?;
    dictionary.set_item("residuals", PyArray1::from_vec(py, report.residuals))?;
    dictionary.set_item("norms", report.norms)?;
    dictionary.set_item("orthogonality", report.orthogonality)?;
    dictionary.set_item("restarts", report.restarts)?;
    dictionary.set_item("solves", report.solves)?;
    Ok(dictionary)
}
