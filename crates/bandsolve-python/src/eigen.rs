//! Eigenvalues of matrices that are sparse arrays or Python functions. For matrices with a narrow band, also factors and counts of eigenvalues.

use crate::arrays::{Number, array, columns, filled, slice, with_number};
use crate::errors::{exception, lin_alg_error};
use crate::interrupt::detached;
use crate::sparse::{Arrays, PyOperator, PyPreconditioner, owned};
use crate::structure::DirectStorage;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::narrow;
use bandsolve::{Complex64, Error, LinearOperator, RealScalar, Scalar};
use bandsolve_eigen::{
    EigenEnding, EigenProblem, EigenReport, EigenSolver, GeneralEigen, HermitianEigen, ShiftableMatrix,
    SparseHermitian, Which, check_definite,
};
use bandsolve_sparse::{Csr, EntryList, KrylovInverse, KrylovMethod, KrylovSolver, PreparedProduct, Structure};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A sparse matrix, or a Python function.
enum PyMatrix<T: Number> {
    Rows(Csr<'static, T, u32>),
    /// A matrix for many products.
    Prepared(Box<PreparedProduct<'static, T, u32>>),
    Function(PyOperator),
}

impl<T: Number> PyMatrix<T> {
    fn of(n: usize, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        match value.extract::<Arrays<'_>>() {
            Ok(arrays) => Ok(Self::Rows(owned(n, &arrays)?)),
            Err(_) => Ok(Self::Function(PyOperator::new(n, value))),
        }
    }

    /// Prepare the matrix for many products.
    fn prepared(n: usize, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Self::Rows(rows) = Self::of(n, value)? else { return Ok(Self::Function(PyOperator::new(n, value))) };
        let prepared = detached(value.py(), || PreparedProduct::from_csr(rows))?;
        prepared.map(|a| Self::Prepared(a.into())).map_err(|error| exception(value.py(), &error))
    }

    fn operator(&self) -> &dyn LinearOperator<T> {
        match self {
            Self::Rows(matrix) => matrix,
            Self::Prepared(matrix) => &**matrix,
            Self::Function(function) => function,
        }
    }

    fn take(&self) -> Option<PyErr> {
        match self {
            Self::Rows(_) | Self::Prepared(_) => None,
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

/// The options of a search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EigenOptions {
    k: usize,
    which: String,
    ncv: Option<usize>,
    max_restarts: usize,
    tol: f64,
    seed: u64,
    pub hermitian: bool,
    sigma: Option<(f64, f64)>,
    /// Find all eigenvalues of a Hermitian problem between these ends.
    interval: Option<(f64, f64)>,
    complete: bool,
    cayley: bool,
    second_look: bool,
}

impl EigenOptions {
    /// Create the solver. An empty `start` means a random start vector.
    pub fn solver<'a, T: Number>(&self, start: &'a [T]) -> PyResult<EigenSolver<'a, T>> {
        let which: Which = self.which.parse().map_err(PyValueError::new_err)?;
        let solver =
            EigenSolver::new(self.k).which(which).tol(self.tol).seed(self.seed).max_restarts(self.max_restarts);
        let solver = solver.second_look(self.second_look);
        let solver = if let Some(ncv) = self.ncv { solver.ncv(ncv) } else { solver };
        Ok(if start.is_empty() { solver } else { solver.start(start) })
    }
}

/// An inverse by iteration.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct IterativeOptions<'py> {
    /// A sparse matrix, or a Python function.
    a: Bound<'py, PyAny>,
    m: Option<Bound<'py, PyPreconditioner>>,
    rtol: f64,
    /// Use conjugate gradients while they converge.
    hermitian: bool,
    /// The inverse is multiplied by this number.
    factor: f64,
}

/// Maximum number of iterations of conjugate gradients. GMRES continues after them.
const CG_ITERATIONS: usize = 200;

impl IterativeOptions<'_> {
    fn inverse<'a, T: Number>(&'a self, py: Python<'_>, a: &'a PyMatrix<T>) -> PyResult<ScaledInverse<'a, T>> {
        let m = self.m.as_ref().map(|m| m.get().typed::<T>()).transpose()?;
        let restart = if m.is_none() { 150 } else { 60 };
        let gmres = KrylovSolver::new(KrylovMethod::Gmres { restart }).rtol(self.rtol);
        let cg = KrylovSolver::new(KrylovMethod::Cg).rtol(self.rtol).max_iterations(CG_ITERATIONS);
        let inverse = match self.hermitian && m.is_some() {
            // GMRES, if the matrix is not definite, or the preconditioner is not Hermitian.
            true => detached(py, || KrylovInverse::new(cg, a, m).map(|inverse| inverse.fallback(gmres))),
            false => detached(py, || KrylovInverse::new(gmres, a, m)),
        };
        let inverse = inverse?.map_err(|error| exception(py, &error))?;
        Ok(ScaledInverse { inverse, factor: T::Real::from_f64(self.factor) })
    }

    fn explain(&self, py: Python<'_>, error: &Error) -> PyErr {
        let Error::NotConverged { backward_error, refinement_steps } = error.cause() else {
            return exception(py, error);
        };
        lin_alg_error(
            py,
            format!(
                "GMRES did not reach the tolerance {:.0e} with the shifted matrix: the relative residual is {backward_error:.0e} after \
                 {refinement_steps} iterations. Name another preconditioner, or pass the inverse as OPinv",
                self.rtol
            ),
        )
    }
}

/// An inverse, multiplied by a number.
struct ScaledInverse<'a, T: Number> {
    inverse: KrylovInverse<'a, T>,
    factor: T::Real,
}

impl<T: Number> LinearOperator<T> for ScaledInverse<'_, T> {
    fn rows(&self) -> usize {
        self.inverse.rows()
    }

    fn columns(&self) -> usize {
        self.inverse.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.inverse.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> bandsolve::Result<()> {
        self.inverse.apply(x, y, stack)?;
        y.iter_mut().for_each(|y| *y = Scalar::scale(*y, self.factor));
        Ok(())
    }
}

/// A, B, and the inverse of A − σB or of B.
type Matrices<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Eigenvalues, eigenvectors and a report.
pub type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Find eigenvalues, see `bandsolve.eigen`. `start` determines the number type. It is empty if there is no start vector.
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
    let iterative = inverse.as_ref().filter(|inverse| inverse.is_instance_of::<PyDict>());
    let iterative = iterative.map(|options| options.extract::<IterativeOptions<'_>>()).transpose()?;
    // The inverse, or the matrix of an inverse by iteration.
    let given = match (&iterative, inverse) {
        (Some(options), _) => Some(PyMatrix::<T>::prepared(n, &options.a)?),
        (None, inverse) => inverse.as_ref().map(|inverse| PyMatrix::<T>::of(n, inverse)).transpose()?,
    };
    let iterated = iterative.as_ref().zip(given.as_ref()).map(|(options, a)| options.inverse(py, a)).transpose()?;
    let inverse = iterated.as_ref().map(|inverse| inverse as &dyn LinearOperator<T>);
    let inverse = inverse.or(given.as_ref().map(|given| given as &dyn LinearOperator<T>));
    let mut problem = EigenProblem::new(&a);
    if let Some(b) = &b {
        problem = problem.mass(b);
    }
    problem = match (inverse, options.sigma) {
        (Some(inverse), Some((re, im))) if options.cayley => problem.cayley(narrow(Complex64::new(re, im)), inverse),
        (Some(inverse), Some((re, im))) => problem.shifted(narrow(Complex64::new(re, im)), inverse),
        (Some(inverse), None) => problem.mass_inverse(inverse),
        (None, _) => problem,
    };
    let solver = options.solver(slice(&begun))?;
    let solved = if options.hermitian {
        detached(py, || solver.hermitian(&problem)).map(|solved| solved.map(|solved| hermitian(py, n, solved)))
    } else {
        detached(py, || solver.general(&problem)).map(|solved| solved.map(|solved| general(py, n, solved)))
    };
    let raised = [a.take(), b.as_ref().and_then(PyMatrix::take), given.as_ref().and_then(PyMatrix::take)];
    if let Some(error) = raised.into_iter().flatten().next() {
        return Err(error);
    }
    solved?.map_err(|error| match &iterative {
        Some(options) => options.explain(py, &error),
        None => exception(py, &error),
    })?
}

/// Convert the result of a Hermitian problem to NumPy arrays.
pub fn hermitian<T: Number>(py: Python<'_>, n: usize, eigen: HermitianEigen<T>) -> PyResult<Found<'_>> {
    let report = dictionary_of(py, eigen.report)?;
    report.set_item("offsets", PyArray1::from_vec(py, eigen.offsets))?;
    Ok((PyArray1::from_vec(py, eigen.values).into_any(), vectors(py, n, &eigen.vectors)?, report))
}

/// Convert the result of a general problem to NumPy arrays.
pub fn general(py: Python<'_>, n: usize, eigen: GeneralEigen) -> PyResult<Found<'_>> {
    let report = dictionary_of(py, eigen.report)?;
    report.set_item("offsets", PyArray1::from_vec(py, eigen.offsets))?;
    Ok((PyArray1::from_vec(py, eigen.values).into_any(), vectors(py, n, &eigen.vectors)?, report))
}

/// Find the eigenvalues nearest to sigma, or those in an interval, of sparse matrices A and B, with factors and counts of banded, block tridiagonal
/// or sparse Hermitian matrices.
///
/// Return `None` if this storage of one matrix needs more than `most` numbers.
#[pyfunction]
pub fn eigenvalues_nearest<'py>(
    n: usize,
    most: usize,
    matrices: (Arrays<'py>, Option<Arrays<'py>>),
    start: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Option<Found<'py>>> {
    let dtype = array(start)?.1;
    let options: EigenOptions = options.extract()?;
    with_number!(dtype, nearest_of(n, most, &matrices, start, &options))
}

fn nearest_of<'py, T: Number>(
    n: usize,
    most: usize,
    (a, b): &(Arrays<'py>, Option<Arrays<'py>>),
    start: &Bound<'py, PyAny>,
    options: &EigenOptions,
) -> PyResult<Option<Found<'py>>> {
    let py = start.py();
    let begun = columns::<T>(&array(start)?.0)?;
    let solver = options.solver(slice(&begun))?;
    let a = owned::<T>(n, a)?;
    let b = b.as_ref().map(|b| owned::<T>(n, b)).transpose()?;
    let both: Vec<_> = [Some(&a), b.as_ref()].into_iter().flatten().collect();
    let failed = |error: Error| exception(py, &error);
    if options.hermitian {
        let sparse = detached(py, || {
            let width = Structure::of_all(&both)?.width();
            SparseHermitian::instead_of_band((&a, b.as_ref()), width, most)
        });
        if let Some((a, b)) = sparse?.map_err(failed)? {
            return nearest(py, (&a, b.as_ref()), &solver, options).map(Some);
        }
    }
    match DirectStorage::of(&both, most).map_err(failed)? {
        Some(DirectStorage::Blocks(block)) => {
            let of = |a: &Csr<'_, T, u32>| a.to_block_tridiagonal(block, false).map_err(failed);
            let (a, b) = (of(&a)?, b.as_ref().map(of).transpose()?);
            nearest(py, (&a, b.as_ref()), &solver, options).map(Some)
        }
        Some(DirectStorage::Band(lower, upper)) => {
            let of = |a: &Csr<'_, T, u32>| a.to_banded(lower, upper).map_err(failed);
            let (a, b) = (of(&a)?, b.as_ref().map(of).transpose()?);
            nearest(py, (&a, b.as_ref()), &solver, options).map(Some)
        }
        None => Ok(None),
    }
}

/// Return an error if a test shows that the matrix B of a pencil is not positive definite.
///
/// If banded storage needs at most `most` numbers, count the negative eigenvalues. For other sparse matrices, test the principal minors of order 1
/// and 2, and [a few products](few_products). For functions, test only the products.
#[pyfunction]
pub fn check_mass(n: usize, most: usize, mass: &Bound<'_, PyAny>, start: &Bound<'_, PyAny>) -> PyResult<()> {
    let dtype = array(start)?.1;
    with_number!(dtype, check_mass_of(start.py(), (n, most), mass))
}

fn check_mass_of<T: Number>(py: Python<'_>, (n, most): (usize, usize), mass: &Bound<'_, PyAny>) -> PyResult<()> {
    let mass = PyMatrix::<T>::of(n, mass)?;
    let failed = |error: Error| exception(py, &error);
    if let PyMatrix::Rows(rows) = &mass {
        let Structure { lower, upper, .. } = Structure::of(rows).map_err(failed)?;
        if n.saturating_mul(lower + upper + 1) <= most {
            let band = rows.to_banded(lower, upper).map_err(failed)?;
            return detached(py, || check_definite(&band))?.map_err(failed);
        }
        detached(py, || check_minors(rows))?.map_err(failed)?;
    }
    let checked = detached(py, || few_products(&mass));
    match mass.take() {
        Some(raised) => Err(raised),
        None => checked?.map_err(failed),
    }
}

/// Return an error if a principal minor of order 1 or 2 of a Hermitian matrix is negative: mᵢᵢ < 0, or |mᵢⱼ|² > mᵢᵢ·mⱼⱼ.
fn check_minors<T: Scalar>(m: &Csr<'_, T, u32>) -> bandsolve::Result<()> {
    let n = m.rows();
    let (mut diag, mut row) = (zeroed(n)?, zeroed::<T>(n)?);
    for (i, diag) in diag.iter_mut().enumerate() {
        let entries = m.row(i).filter(|(j, _)| *j == i);
        *diag = entries.map(|(_, value)| value.re().to_f64()).sum::<f64>();
        if *diag < 0.0 {
            return Err(Error::NotDefinite { row: i });
        }
    }
    // Rounding of the entries can make a minor of a singular matrix negative.
    let rounding = 1.0 + 16.0 * T::Real::EPSILON.to_f64();
    for i in 0..n {
        // Duplicate entries add up.
        m.row(i).for_each(|(j, value)| row[j] += value);
        for (j, _) in m.row(i) {
            let entry = Scalar::abs(core::mem::replace(&mut row[j], T::ZERO)).to_f64();
            if i != j && entry > rounding * diag[i].sqrt() * diag[j].sqrt() {
                return Err(Error::NotDefinite { row: i.max(j) });
            }
        }
    }
    Ok(())
}

/// Return an error if xᴴ·M·x is negative for a vector x in the Krylov space of 16 products of M with a random vector.
///
/// The test can miss a negative eigenvalue near 0. It finds one that is well separated, relative to ‖M‖, from the other eigenvalues.
fn few_products<T: Number>(mass: &PyMatrix<T>) -> bandsolve::Result<()> {
    // With this tolerance, the residual of the smallest Ritz value is at most half its modulus, so an eigenvalue with the same sign exists.
    let solver = EigenSolver::new(1).which(Which::SmallestReal).tol(0.5).ncv(16).max_restarts(0).second_look(false);
    let eigen = solver.hermitian(&EigenProblem::new(mass))?;
    let rounding = 1e3 * T::Real::EPSILON.to_f64() * eigen.report.norms[0];
    match eigen.values.first() {
        Some(value) if *value < -rounding => {
            let largest = eigen.vectors.iter().map(|x| Scalar::abs(*x).to_f64()).enumerate();
            let row = largest.max_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(row, _)| row);
            Err(Error::NotDefinite { row })
        }
        _ => Ok(()),
    }
}

fn nearest<'py, T: Number, M: ShiftableMatrix<Scalar = T>>(
    py: Python<'py>,
    (a, b): (&M, Option<&M>),
    solver: &EigenSolver<'_, T>,
    options: &EigenOptions,
) -> PyResult<Found<'py>> {
    if let Some(ends) = options.interval {
        let eigen = detached(py, || solver.hermitian_between(a, b, ends))?;
        return hermitian(py, a.rows(), eigen.map_err(|error| exception(py, &error))?);
    }
    let (re, im) = options.sigma.unwrap_or_default();
    let failed = |error: Error| match error.cause() {
        Error::Singular { .. } | Error::NotConverged { .. } => {
            let sigma = if im == 0.0 { format!("{re}") } else { format!("{}", Complex64::new(re, im)) };
            let text = "A - sigma M is singular to working precision, there and at shifts nearby; pass another sigma";
            lin_alg_error(py, format!("sigma = {sigma}: {text} ({error})"))
        }
        _ => exception(py, &error),
    };
    if !options.hermitian {
        let eigen = detached(py, || solver.general_nearest(a, b, narrow(Complex64::new(re, im))))?;
        return general(py, a.rows(), eigen.map_err(failed)?);
    }
    detached(py, || b.map_or(Ok(()), M::check_definite))?.map_err(failed)?;
    let below = |shift: f64| a.eigenvalues_below(b, shift);
    let solver = if options.complete { solver.count(&below) } else { *solver };
    let eigen = detached(py, || solver.hermitian_nearest(a, b, re))?;
    hermitian(py, a.rows(), eigen.map_err(failed)?)
}

/// Copy vectors to the columns of an array.
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
    dictionary.set_item("complete", report.complete)?;
    Ok(dictionary)
}
