//! Sparse matrices: products, preconditioners, Krylov methods, linear forests.

use crate::arrays::{Number, array, as_array, columns, filled, integers, slice, with_number};
use crate::errors::exception;
use crate::interrupt::detached;
use crate::memory::copied;
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::buffer;
use bandsolve::{Complex64, Error, LinearOperator, Op};
use bandsolve_sparse::{
    Csr, DoubleScalar, Forest, Graph, GraphFactor, GraphFactorOptions, IterationProgress, IterationReport,
    KrylovMethod, KrylovSolver, Preconditioner, PreconditionerKind, PreconditionerOptions, PreconditionerSide,
    PreparedProduct, SingleInverse,
};
use core::ops::ControlFlow;
use numpy::{PyArray1, PyArrayDescrMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Mutex;

/// The arrays of a CSR matrix of SciPy: indptr, indices, data.
pub type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Copy a matrix of n columns, with 32-bit indices.
pub fn owned<T: Number>(n: usize, arrays: &Arrays<'_>) -> PyResult<Csr<'static, T, u32>> {
    let matrix = viewed(n, arrays, |a| match a {
        MatrixView::Narrow(a) => a.to_owned_narrow(),
        MatrixView::Wide(a) => a.to_owned_narrow(),
    })?;
    matrix.map_err(|error| exception(arrays.2.py(), &error))
}

/// A matrix that borrows the values of SciPy's arrays.
pub enum MatrixView<'a, T: Number> {
    Narrow(Csr<'a, T, i32>),
    Wide(Csr<'a, T, i64>),
}

/// A copy of the indices of a matrix.
enum CopiedIndices {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

impl CopiedIndices {
    /// Copy a one-dimensional array with any strides.
    fn copied(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let array = as_array(value)?;
        let py = array.py();
        if array.ndim() != 1 {
            return Err(PyValueError::new_err(format!("{name} has {} dimensions, expected 1", array.ndim())));
        }
        let (kind, size) = (array.dtype().kind(), array.dtype().itemsize());
        let copy = match (kind, size) {
            (b'i', ..=4) | (b'u', ..=2) => copied(slice(&integers::<i32>(&array)?)).map(Self::Narrow),
            (b'i' | b'u', _) => copied(slice(&integers::<i64>(&array)?)).map(Self::Wide),
            _ => {
                let message = format!("{name} has the dtype {}, expected integers", array.dtype());
                return Err(PyTypeError::new_err(message));
            }
        };
        copy.map_err(|error| exception(py, &error))
    }
}

/// Call `work` with a matrix that borrows the values of SciPy's arrays and has checked copies of the indices.
///
/// The copies are necessary for memory safety: Python code in another thread can change SciPy's indices after the check. The copy takes about half
/// the time of a product.
///
/// # Errors
/// `ValueError` if the arrays are no matrix of n columns. `MemoryError`.
pub fn viewed<T: Number, R>(
    n: usize,
    (pointers, indices, data): &Arrays<'_>,
    work: impl FnOnce(MatrixView<'_, T>) -> R,
) -> PyResult<R> {
    let py = data.py();
    let values = columns::<T>(&array(data)?.0)?;
    let values = slice(&values);
    let (pointers, indices) = (CopiedIndices::copied(pointers, "indptr")?, CopiedIndices::copied(indices, "indices")?);
    let matrix = match (pointers, indices) {
        (CopiedIndices::Narrow(pointers), CopiedIndices::Narrow(indices)) => {
            Csr::new(n, pointers, indices, values).map(MatrixView::Narrow)
        }
        (CopiedIndices::Wide(pointers), CopiedIndices::Narrow(indices)) => {
            Csr::with_pointers(n, &pointers, indices, values).map(MatrixView::Narrow)
        }
        (CopiedIndices::Narrow(pointers), CopiedIndices::Wide(indices)) => {
            Csr::with_pointers(n, &pointers, indices, values).map(MatrixView::Wide)
        }
        (CopiedIndices::Wide(pointers), CopiedIndices::Wide(indices)) => {
            Csr::new(n, pointers, indices, values).map(MatrixView::Wide)
        }
    };
    Ok(work(matrix.map_err(|error| exception(py, &error))?))
}

/// Call `work` as [`viewed`] does, with the matrix as an operator.
fn borrowed<T: Number, R>(
    n: usize,
    arrays: &Arrays<'_>,
    work: impl FnOnce(&dyn LinearOperator<T>) -> PyResult<R>,
) -> PyResult<R> {
    viewed(n, arrays, |a| match a {
        MatrixView::Narrow(a) => work(&a),
        MatrixView::Wide(a) => work(&a),
    })?
}

/// A preconditioner of any number type.
trait DynPreconditioner: Send + Sync {
    fn apply<'py>(&self, op: Op, rhs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    fn rows(&self) -> usize;
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny>;
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A preconditioner for vectors of one number type. Its internal precision can be lower.
struct InverseOf<T: Number>(Box<dyn LinearOperator<T> + Send>);

impl<T: Number> DynPreconditioner for InverseOf<T> {
    fn apply<'py>(&self, op: Op, rhs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = rhs.py();
        let rhs = columns::<T>(&array(rhs)?.0)?;
        let n = self.0.rows();
        if rhs.shape() != [n] {
            return Err(PyValueError::new_err(format!("the vector has the shape {:?}, expected ({n},)", rhs.shape())));
        }
        let rhs = slice(&rhs);
        let (z, applied) = filled(py, &[n], true, |z| {
            detached(py, || {
                let mut memory = buffer(self.0.apply_scratch())?;
                self.0.apply_op(op, rhs, z, PodStack::new(&mut memory))
            })
        })?;
        applied?.map_err(|error| exception(py, &error))?;
        Ok(z.into_any())
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        numpy::dtype::<T>(py).into_any()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The compiled part of `bandsolve.sparse.Preconditioner`.
#[pyclass(frozen, module = "bandsolve._bandsolve", name = "SparsePreconditioner")]
pub struct PyPreconditioner {
    operator: Box<dyn DynPreconditioner>,
    kind: String,
    has_adjoint: bool,
    reason: String,
    method: Option<String>,
}

/// A prepared product with a matrix of any number type.
trait DynProduct: Send + Sync {
    fn product<'py>(&self, op: Op, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    /// Number of rows and number of columns.
    fn shape(&self) -> (usize, usize);
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny>;
    /// Number of bytes of the prepared form, in addition to the matrix. 0 means that products use the matrix itself.
    fn bytes(&self) -> usize;
    fn as_any(&self) -> &dyn std::any::Any;
}

impl<T: Number> DynProduct for PreparedProduct<'static, T, u32> {
    fn product<'py>(&self, op: Op, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let x = columns::<T>(&array(x)?.0)?;
        let (rows, columns) = self.shape();
        let (from, to) = if op == Op::Plain { (columns, rows) } else { (rows, columns) };
        let dims: Vec<usize> = match *x.shape() {
            [n] if n == from => vec![to],
            [n, count] if n == from => vec![to, count],
            _ => {
                let message = format!("the vector has the shape {:?}, expected ({from},) or ({from}, k)", x.shape());
                return Err(PyValueError::new_err(message));
            }
        };
        let x = slice(&x);
        let (y, done) =
            filled(py, &dims, true, |y| py.detach(|| PreparedProduct::product(self, op, T::ONE, x, T::ZERO, y)))?;
        done.map_err(|error| exception(py, &error))?;
        Ok(y.into_any())
    }

    fn shape(&self) -> (usize, usize) {
        (self.rows(), self.columns())
    }

    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        numpy::dtype::<T>(py).into_any()
    }

    fn bytes(&self) -> usize {
        PreparedProduct::bytes(self)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// The compiled part of `bandsolve.sparse.PreparedProduct`.
#[pyclass(frozen, module = "bandsolve._bandsolve", name = "SparseProduct")]
pub struct PyProduct {
    operator: Box<dyn DynProduct>,
}

#[pymethods]
impl PyProduct {
    #[new]
    fn new(columns: usize, arrays: Arrays<'_>) -> PyResult<Self> {
        let dtype = array(&arrays.2)?.1;
        with_number!(dtype, make_product(columns, &arrays))
    }

    /// Compute A·x for one vector, or for the columns of an array.
    fn product<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator.product(Op::Plain, x)
    }

    /// Compute Aᴴ·x.
    fn adjoint_product<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator.product(Op::ConjTranspose, x)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.operator.shape()
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.operator.dtype(py)
    }

    #[getter]
    fn bytes(&self) -> usize {
        self.operator.bytes()
    }
}

fn make_product<T: Number>(columns: usize, arrays: &Arrays<'_>) -> PyResult<PyProduct> {
    let py = arrays.2.py();
    let a = owned::<T>(columns, arrays)?;
    let product = detached(py, || PreparedProduct::from_csr(a))?.map_err(|error| exception(py, &error))?;
    Ok(PyProduct { operator: Box::new(product) })
}

/// The options of a preconditioner.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct InverseOptions {
    kind: String,
    omega: f64,
    seed: u64,
    /// Whether the preconditioner computes in single precision for a matrix in double precision.
    pub single: bool,
    /// Name of an inner Krylov method in single precision.
    inner: Option<String>,
}

/// Relative tolerance of the inner Krylov method. It is well above the rounding errors of single precision.
const REFINED: f64 = 1e-4;

#[pymethods]
impl PyPreconditioner {
    #[new]
    fn new(n: usize, arrays: Arrays<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let dtype = array(&arrays.2)?.1;
        let options: InverseOptions = options.extract()?;
        match (options.single, dtype.complex) {
            (false, _) => with_number!(dtype, make_preconditioner(n, &arrays, &options)),
            (true, false) => make_single::<f64>(n, &arrays, &options),
            (true, true) => make_single::<Complex64>(n, &arrays, &options),
        }
    }

    /// Compute z = M⁻¹·r.
    fn apply<'py>(&self, rhs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator.apply(Op::Plain, rhs)
    }

    /// Compute z = M⁻ᴴ·r.
    fn apply_adjoint<'py>(&self, rhs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.operator.apply(Op::ConjTranspose, rhs)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.operator.rows(), self.operator.rows())
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.operator.dtype(py)
    }

    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    #[getter]
    fn has_adjoint(&self) -> bool {
        self.has_adjoint
    }

    #[getter]
    fn reason(&self) -> &str {
        &self.reason
    }

    #[getter]
    fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }
}

impl PyPreconditioner {
    /// Get the preconditioner for vectors of type `T`.
    ///
    /// # Errors
    /// `TypeError` if it is one for another type.
    pub fn typed<T: Number>(&self) -> PyResult<&dyn LinearOperator<T>> {
        let typed = self.operator.as_any().downcast_ref::<InverseOf<T>>().map(|m| &*m.0 as &dyn LinearOperator<T>);
        typed.ok_or_else(|| {
            PyTypeError::new_err(
                "the preconditioner and the right-hand side have different dtypes, expected the same dtype",
            )
        })
    }
}

impl InverseOptions {
    pub fn parsed(&self) -> PyResult<(PreconditionerKind, PreconditionerOptions)> {
        let mut options = PreconditionerOptions::default();
        (options.omega, options.factors.seed) = (self.omega, self.seed);
        Ok((self.kind.parse().map_err(PyValueError::new_err)?, options))
    }

    /// The inner Krylov method in single precision, if there is one.
    pub fn inner_solver(&self) -> PyResult<Option<KrylovSolver<'static>>> {
        let inner = self.inner.as_deref().map(str::parse::<KrylovMethod>).transpose().map_err(PyValueError::new_err)?;
        Ok(inner.map(|method| KrylovSolver::new(method).rtol(REFINED)))
    }
}

fn make_preconditioner<T: Number>(
    n: usize,
    arrays: &Arrays<'_>,
    options: &InverseOptions,
) -> PyResult<PyPreconditioner> {
    let py = arrays.2.py();
    let (kind, options) = options.parsed()?;
    let a = owned::<T>(n, arrays)?;
    let inverse = detached(py, || Preconditioner::from_csr(a, kind, &options))?;
    let inverse = inverse.map_err(|error| exception(py, &error))?;
    let (kind, has_adjoint, reason) =
        (inverse.kind().to_string(), inverse.kind().has_adjoint(), inverse.reason().to_string());
    let method = inverse.method().map(|method| method.to_string());
    Ok(PyPreconditioner { operator: Box::new(InverseOf(Box::new(inverse))), kind, has_adjoint, reason, method })
}

fn make_single<T: Number + DoubleScalar>(
    n: usize,
    arrays: &Arrays<'_>,
    options: &InverseOptions,
) -> PyResult<PyPreconditioner> {
    let py = arrays.2.py();
    let inner = options.inner_solver()?;
    let (kind, options) = options.parsed()?;
    let a = owned::<T>(n, arrays)?;
    let inverse = detached(py, || SingleInverse::new(&a, kind, &options))?.map_err(|error| exception(py, &error))?;
    let (kind, reason) = (inverse.preconditioner().kind(), inverse.preconditioner().reason().to_string());
    let (kind, has_adjoint) = (kind.to_string(), kind.has_adjoint());
    let inverse = match inner {
        Some(solver) => inverse.with_solver(solver),
        None => inverse,
    };
    // The preconditioner suggests no Krylov method, because rounding to single precision makes it change from step to step.
    Ok(PyPreconditioner { operator: Box::new(InverseOf(Box::new(inverse))), kind, has_adjoint, reason, method: None })
}

/// A Python function as an operator. The call takes the GIL. If the function raises an exception, the operator stores it.
pub struct PyOperator {
    n: usize,
    function: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl PyOperator {
    /// Create an operator from a function of one vector.
    pub fn new(n: usize, function: &Bound<'_, PyAny>) -> Self {
        Self { n, function: function.clone().unbind(), raised: Mutex::new(None) }
    }

    /// Take the exception that the function raised.
    pub fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    }
}

impl<T: Number> LinearOperator<T> for PyOperator {
    fn rows(&self) -> usize {
        self.n
    }

    fn columns(&self) -> usize {
        self.n
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> bandsolve::Result<()> {
        let call = |py: Python<'_>| -> PyResult<()> {
            let result = self.function.bind(py).call1((PyArray1::from_slice(py, x),))?;
            let (result, kind) = array(&result)?;
            if kind.complex && !T::COMPLEX {
                // A conversion would drop the imaginary parts.
                let real = numpy::dtype::<T>(py);
                return Err(PyTypeError::new_err(format!(
                    "the operator returned complex numbers for a vector of {real}, expected real numbers as its dtype says. Return real \
                     numbers, or declare the operator with dtype=complex."
                )));
            }
            let result = columns::<T>(&result)?;
            let values = slice(&result);
            if values.len() != y.len() {
                let (got, expected) = (values.len(), y.len());
                return Err(PyValueError::new_err(format!("the operator returned {got} numbers, expected {expected}")));
            }
            y.copy_from_slice(values);
            Ok(())
        };
        Python::attach(call).map_err(|error| {
            *self.raised.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error);
            Error::Unsupported { method: "the operator", what: "this vector: it raised an exception" }
        })
    }
}

/// The options of a Krylov method.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct KrylovOptions<'py> {
    method: String,
    rtol: f64,
    atol: f64,
    max_iterations: Option<usize>,
    left: bool,
    callback: Option<Bound<'py, PyAny>>,
    /// Whether the callback gets x, if the method has it, or else the norm of the residual.
    tells_x: bool,
    /// Whether `auto` has chosen the method.
    pub chosen: bool,
}

impl KrylovOptions<'_> {
    /// The method with its options.
    pub fn solver(&self) -> PyResult<KrylovSolver<'static>> {
        let method: KrylovMethod = self.method.parse().map_err(PyValueError::new_err)?;
        let side = if self.left { PreconditionerSide::Left } else { PreconditionerSide::Right };
        let solver = KrylovSolver::new(method).rtol(self.rtol).atol(self.atol).side(side);
        Ok(match self.max_iterations {
            Some(limit) => solver.max_iterations(limit),
            None => solver,
        })
    }
}

/// The callback of an iteration, and the exception that it raised.
struct PyWatch {
    callback: Option<Py<PyAny>>,
    tells_x: bool,
    raised: Option<PyErr>,
}

impl PyWatch {
    fn new(options: &KrylovOptions<'_>) -> Self {
        let callback = options.callback.as_ref().map(|callback| callback.clone().unbind());
        Self { callback, tells_x: options.tells_x, raised: None }
    }

    /// Call the callback. An exception ends the iteration, and the solver raises it afterwards. `StopIteration` only ends the iteration.
    fn tell<T: Number>(&mut self, at: &IterationProgress<'_, T>) -> ControlFlow<()> {
        let Some(callback) = &self.callback else { return ControlFlow::Continue(()) };
        let outcome = Python::attach(|py| match self.call(callback.bind(py), at) {
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => Ok(ControlFlow::Break(())),
            outcome => outcome.map(ControlFlow::Continue),
        });
        outcome.unwrap_or_else(|error| {
            self.raised = Some(error);
            ControlFlow::Break(())
        })
    }

    fn call<T: Number>(&self, callback: &Bound<'_, PyAny>, at: &IterationProgress<'_, T>) -> PyResult<()> {
        match at.x {
            Some(x) if self.tells_x => callback.call1((PyArray1::from_slice(callback.py(), x),)).map(|_| ()),
            None if !self.tells_x => callback.call1((at.preconditioned_norm,)).map(|_| ()),
            _ => Ok(()),
        }
    }
}

/// Solve by a Krylov method, and return x and a report as a dictionary.
///
/// `a` is the arrays of a matrix, a prepared product, or a function. `m` is a preconditioner or a function.
#[pyfunction]
pub fn krylov<'py>(
    a: &Bound<'py, PyAny>,
    m: Option<&Bound<'py, PyAny>>,
    rhs: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let dtype = array(rhs)?.1;
    let options: KrylovOptions<'py> = options.extract()?;
    with_number!(dtype, krylov_of(a, m, rhs, x, &options))
}

fn krylov_of<'py, T: Number>(
    a: &Bound<'py, PyAny>,
    m: Option<&Bound<'py, PyAny>>,
    rhs: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    options: &KrylovOptions<'py>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let py = rhs.py();
    let (rhs, start) = (columns::<T>(&array(rhs)?.0)?, columns::<T>(&array(x)?.0)?);
    let n = rhs.len();
    let preconditioner = m.and_then(|m| m.cast::<PyPreconditioner>().ok()).map(Bound::get);
    let fast = preconditioner.map(PyPreconditioner::typed::<T>).transpose()?;
    let function = m.filter(|_| fast.is_none()).map(|m| PyOperator::new(n, m));
    let m = fast.or(function.as_ref().map(|m| m as &dyn LinearOperator<T>));
    let (solver, mut watch, chosen) = (options.solver()?, PyWatch::new(options), options.chosen);
    // Copy the right-hand side, because a Python function can change the array of the caller during the solve.
    let rhs = copied(slice(&rhs)).map_err(|error| exception(py, &error))?;
    let (rhs, initial) = (&rhs[..], slice(&start));
    let mut solve = |a: &dyn LinearOperator<T>| {
        filled(py, &[n], true, |x| {
            x.copy_from_slice(initial);
            let callback = &mut |at: IterationProgress<'_, T>| watch.tell(&at);
            detached(py, || match chosen {
                true => solver.solve_chosen(a, m, rhs, x, callback),
                false => solver.solve_watched(a, m, rhs, x, callback),
            })
        })
    };
    let matrix = PyOperator::new(n, a);
    let prepared = a.cast::<PyProduct>().ok().map(Bound::get);
    let product = prepared.and_then(|a| a.operator.as_any().downcast_ref::<PreparedProduct<'static, T, u32>>());
    if prepared.is_some() && product.is_none() {
        return Err(PyTypeError::new_err(
            "the matrix and the right-hand side have different dtypes, expected the same dtype",
        ));
    }
    let (x, solved) = match (product, a.extract::<Arrays<'py>>()) {
        (Some(product), _) => solve(product)?,
        (None, Ok(arrays)) => borrowed::<T, _>(n, &arrays, solve)?,
        (None, Err(_)) => solve(&matrix)?,
    };
    let exceptions = [matrix.take(), function.and_then(|m| m.take()), watch.raised];
    if let Some(error) = exceptions.into_iter().flatten().next() {
        return Err(error);
    }
    let report = solved?.map_err(|error| exception(py, &error))?;
    Ok((x.into_any(), dictionary_of(py, report)?))
}

/// A report as a dictionary.
pub fn dictionary_of(py: Python<'_>, report: IterationReport) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("converged", report.converged())?;
    dictionary.set_item("ending", report.ending.to_string())?;
    dictionary.set_item("method", report.method.to_string())?;
    dictionary.set_item("iterations", report.iterations)?;
    dictionary.set_item("restarts", report.restarts)?;
    dictionary.set_item("residual_norm", report.residual_norm)?;
    dictionary.set_item("rhs_norm", report.rhs_norm)?;
    dictionary.set_item("tolerance", report.tolerance)?;
    dictionary.set_item("history", report.history)?;
    dictionary.set_item("attention", report.attention)?;
    Ok(dictionary)
}

/// Compute the linear forest or the graph factor of a matrix, see `bandsolve.sparse.forest` and `bandsolve.sparse.factor_graph`.
#[pyfunction]
pub fn graph_factor<'py>(
    n: usize,
    arrays: Arrays<'py>,
    degree: usize,
    rounds: usize,
    seed: u64,
    paths: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dtype = array(&arrays.2)?.1;
    with_number!(dtype, graph_factor_of(n, &arrays, (degree, rounds, seed), paths))
}

fn graph_factor_of<'py, T: Number>(
    n: usize,
    arrays: &Arrays<'py>,
    (degree, rounds, seed): (usize, usize, u64),
    paths: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let py = arrays.2.py();
    let a = owned::<T>(n, arrays)?;
    let mut options = GraphFactorOptions::default();
    (options.degree, options.rounds, options.seed) = (degree, rounds, seed);
    let computed = detached(py, || {
        let graph = Graph::of(&a)?;
        let factor = GraphFactor::of(&graph, &options)?;
        let forest = if paths { Some(Forest::heaviest(&graph, &factor)?) } else { None };
        let coverage = forest.as_ref().map_or_else(|| factor.coverage(&graph), |forest| forest.coverage(&graph));
        Ok((factor, forest, coverage))
    })?;
    let (factor, forest, coverage) = computed.map_err(|error| exception(py, &error))?;
    let dictionary = PyDict::new(py);
    dictionary.set_item("coverage", coverage)?;
    dictionary
        .set_item("maximal", factor.is_maximal() && forest.as_ref().is_none_or(|forest| forest.is_of(&factor)))?;
    if let Some(forest) = forest {
        dictionary.set_item("order", PyArray1::from_iter(py, forest.order().map(|v| v as i64)))?;
        dictionary.set_item("lengths", PyArray1::from_iter(py, forest.lengths().map(|length| length as i64)))?;
        dictionary.set_item("cycles", forest.cycles())?;
    } else {
        let partner = |v: usize, k: usize| factor.partners(v).nth(k).map_or(-1, |u| u as i64);
        let all = (0..n).flat_map(|v| (0..degree).map(move |k| (v, k)));
        dictionary.set_item("partners", PyArray1::from_iter(py, all.map(|(v, k)| partner(v, k))))?;
    }
    Ok(dictionary)
}
