//! Factors that are kept.

use crate::arrays::{DtypeKind, Number, array, columns, slice, with_number};
use crate::diagonals::{SLICES, check_off_diagonals};
use crate::errors::exception;
use crate::memory::copied;
use crate::options::{CallOptions, ThreadCount, op};
use crate::solve::{SolveCall, arguments, check_bands, check_blocks, check_vector, solve_by};
use bandsolve::{Banded, BlockTridiagonal, Factorize, Inspect, Norm, Op, Plan, RealScalar, Shape, Tridiagonal};
use bandsolve_gpu::{Device, HostMatrix, OnDevice};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex};
use std::sync::{Arc, OnceLock};

/// Factors of a matrix that is kept with them.
struct HeldFactors<T: Number, M> {
    plan: Plan,
    /// Of a matrix on a device: made when what the device does not tell is first asked for.
    on_host: OnceLock<Box<dyn Inspect<T>>>,
    on_device: Option<OnDevice<'static, T>>,
    /// For factors that are still to be made.
    matrix: Option<Arc<M>>,
}

impl<T: Number, M> HeldFactors<T, M>
where
    M: Factorize<Scalar = T, OwningFactor: 'static> + HostMatrix<T> + 'static,
{
    fn new(matrix: M, plan: &Plan, device: Option<&Device>) -> bandsolve::Result<Self> {
        let (plan, matrix) = (plan.clone(), Arc::new(matrix));
        let Some(device) = device else {
            let factor: Box<dyn Inspect<T>> = Box::new(plan.factor_shared(matrix)?);
            return Ok(Self { plan, on_host: factor.into(), on_device: None, matrix: None });
        };
        let on_device = Some(device.factor_shared(&plan, matrix.clone())?);
        Ok(Self { plan, on_host: OnceLock::new(), on_device, matrix: Some(matrix) })
    }

    fn inspect(&self) -> bandsolve::Result<&dyn Inspect<T>> {
        if let (None, Some(matrix)) = (self.on_host.get(), &self.matrix) {
            let factor = self.plan.factor_shared(matrix.clone())?;
            // Another thread may have been faster.
            let _ = self.on_host.set(Box::new(factor));
        }
        Ok(&**self.on_host.get().expect("made"))
    }
}

/// Factors of any type.
trait DynFactor: Send + Sync {
    fn shape(&self) -> Shape;
    fn kind(&self) -> DtypeKind;
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr>;
    fn solve<'py>(&self, task: &SolveCall<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
    fn rcond(&self, norm: Norm) -> bandsolve::Result<f64>;
    fn norm(&self, norm: Norm) -> bandsolve::Result<f64>;
    fn slogdet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}

impl<T: Number, M> DynFactor for HeldFactors<T, M>
where
    M: Factorize<Scalar = T, OwningFactor: 'static> + HostMatrix<T> + 'static,
{
    fn shape(&self) -> Shape {
        self.plan.shape()
    }
    fn kind(&self) -> DtypeKind {
        DtypeKind { complex: T::COMPLEX, double: size_of::<T::Real>() == 8 }
    }
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        numpy::dtype::<T>(py)
    }
    fn solve<'py>(&self, task: &SolveCall<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let op = task.op;
        task.solve_by::<T>(self.plan.shape().n(), |rhs, x| match &self.on_device {
            Some(factor) => solve_by(factor, op, rhs, x),
            None => solve_by(self.inspect()?, op, rhs, x),
        })
    }
    fn rcond(&self, norm: Norm) -> bandsolve::Result<f64> {
        self.inspect()?.rcond(norm)
    }
    fn norm(&self, norm: Norm) -> bandsolve::Result<f64> {
        Ok(self.inspect()?.norm(norm))
    }
    fn slogdet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = py.detach(|| self.inspect()?.determinant()).map_err(|error| exception(py, &error))?;
        let (re, im) = (found.phase.re().to_f64(), found.phase.im().to_f64());
        match T::COMPLEX {
            true => (PyComplex::from_doubles(py, re, im), found.log_abs).into_bound_py_any(py),
            false => (re, found.log_abs).into_bound_py_any(py),
        }
    }
}

/// Factors of a matrix, to solve with it again and again.
///
/// Made by `factor`, `factor_tridiagonal`, `factor_banded` and `factor_block_tridiagonal`. It keeps a copy of the matrix, and may
/// be used by several threads.
///
/// Attributes
/// ----------
/// shape : (int, int)
///     Rows of the matrix, twice.
/// dtype : numpy.dtype
///     The type in which is solved.
/// method, reason : str
///     The method, and why it was chosen.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve
/// >>> lu = bandsolve.factor_tridiagonal(np.ones(3), np.full(4, 4.0), np.ones(3))
/// >>> lu.solve(np.array([5.0, 6, 6, 5]))
/// array([1., 1., 1., 1.])
/// >>> sign, log_abs = lu.slogdet()
/// >>> print(round(sign * np.exp(log_abs), 9))
/// 209.0
#[pyclass(frozen, module = "bandsolve", name = "Factor", subclass)]
pub struct PyFactor {
    factor: Box<dyn DynFactor>,
    method: &'static str,
    reason: String,
}

fn solved_on(device: &Device) -> String {
    format!("solved on {}", device.name())
}

/// The norm of this name: `1` or `inf`.
fn norm_of(norm: &Bound<'_, PyAny>) -> PyResult<Norm> {
    match norm.extract::<f64>() {
        Ok(1.0) => Ok(Norm::One),
        Ok(f64::INFINITY) => Ok(Norm::Infinity),
        _ => Err(PyValueError::new_err(format!("norm is {norm}, expected 1 or numpy.inf"))),
    }
}

#[pymethods]
impl PyFactor {
    /// Solve for right-hand sides.
    ///
    /// Parameters
    /// ----------
    /// rhs : (n,) or (n, k) array_like
    ///     Right-hand sides; complex ones also with a real matrix. They are rounded to the precision of the factors: those of a
    ///     matrix in single precision solve in single precision.
    /// transpose : bool or "conj"
    ///     Solve with the transpose, or with the conjugate transpose.
    /// full_output : bool
    ///     Return a `Report`, too.
    ///
    /// Returns
    /// -------
    /// x : ndarray
    ///     The solution, of the shape of `rhs` and in the precision of the factors; with `full_output` a tuple of it and a
    ///     `Report`.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Shapes do not fit; a number of `rhs` or of the matrix is not finite, or one of `rhs` is beyond the range of the type.
    /// numpy.linalg.LinAlgError
    ///     The matrix is singular.
    #[pyo3(signature = (rhs, *, transpose=None, full_output=false), text_signature = "($self, rhs, *, transpose=False, full_output=False)")]
    fn solve<'py>(
        &self,
        rhs: &Bound<'py, PyAny>,
        transpose: Option<&Bound<'py, PyAny>>,
        full_output: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (rhs, kind) = array(rhs)?;
        let op = transpose.map_or(Ok(Op::Plain), op)?;
        if kind.complex && !self.factor.kind().complex {
            return self.solve_complex(&rhs, op, full_output);
        }
        self.factor.solve(&SolveCall { rhs: &rhs, op, full_output })
    }

    /// Solve for right-hand sides with the transpose: ``solve(rhs, transpose=True)``.
    #[pyo3(signature = (rhs, *, full_output=false))]
    fn solve_transpose<'py>(&self, rhs: &Bound<'py, PyAny>, full_output: bool) -> PyResult<Bound<'py, PyAny>> {
        self.solve(rhs, Some(PyBool::new(rhs.py(), true).as_any()), full_output)
    }

    /// The inverse as an operator of `scipy.sparse.linalg`: a preconditioner for its iterative methods.
    fn aslinearoperator<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("bandsolve._operator")?.call_method1("of", (slf,))
    }

    /// Rows of the matrix, twice.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let n = self.factor.shape().n();
        (n, n)
    }

    /// The type in which is solved.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        self.factor.dtype(py)
    }

    /// Name of the method.
    #[getter]
    fn method(&self) -> &'static str {
        self.method
    }

    /// Why this method was chosen.
    #[getter]
    fn reason(&self) -> &str {
        &self.reason
    }

    /// An estimate of 1 / (norm(A) * norm(inv(A))), in the norm 1 or `numpy.inf`; 0 if the matrix is singular. `ValueError` if a
    /// number of the matrix is not finite.
    #[pyo3(signature = (norm=None), text_signature = "($self, norm=1)")]
    fn rcond(&self, py: Python<'_>, norm: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let norm = norm.map_or(Ok(Norm::One), norm_of)?;
        py.detach(|| self.factor.rcond(norm)).map_err(|error| exception(py, &error))
    }

    /// The norm of the matrix: 1 or `numpy.inf`.
    #[pyo3(signature = (norm=None), text_signature = "($self, norm=1)")]
    fn norm(&self, py: Python<'_>, norm: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let norm = norm.map_or(Ok(Norm::One), norm_of)?;
        py.detach(|| self.factor.norm(norm)).map_err(|error| exception(py, &error))
    }

    /// Sign (of complex matrices the phase) and logarithm of the modulus of the determinant, as `numpy.linalg.slogdet`.
    /// `ValueError` if a number of the matrix is not finite.
    fn slogdet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.factor.slogdet(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let n = self.factor.shape().n();
        format!("Factor({n} x {n}, {}, method='{}')", self.dtype(py), self.method)
    }
}

impl PyFactor {
    fn new<T: Number, M: Factorize<Scalar = T, OwningFactor: 'static> + HostMatrix<T> + 'static>(
        py: Python<'_>,
        (plan, device): (&Plan, Option<&Device>),
        matrix: impl FnOnce() -> bandsolve::Result<M> + Send,
    ) -> PyResult<Self> {
        let held = || {
            let plan = device.map_or_else(|| Ok(plan.clone()), |device| device.plan(plan))?;
            HeldFactors::new(matrix()?, &plan, device)
        };
        let held = py.detach(held).map_err(|error| exception(py, &error))?;
        // As the reports of its solves say.
        let (method, reason) = match device {
            Some(device) => (held.plan.asked_method(), solved_on(device)),
            None => (held.plan.chosen_method(), held.plan.reason().into()),
        };
        Ok(Self { factor: Box::new(held), method: method.name(), reason })
    }

    /// Solves for complex right-hand sides with a real matrix: both parts as columns beside one another.
    fn solve_complex<'py>(
        &self,
        rhs: &Bound<'py, PyUntypedArray>,
        op: Op,
        full_output: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = rhs.py();
        let solve = |part: &str| {
            let (part, _) = array(&rhs.getattr(part)?)?;
            self.factor
                .solve(&SolveCall { rhs: &part, op, full_output: true })?
                .extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()
        };
        let ((re, report), (im, other)) = (solve("real")?, solve("imag")?);
        let unit = PyComplex::from_doubles(py, 0.0, 1.0);
        let x = re.add(im.mul(unit)?)?;
        if !full_output {
            return Ok(x);
        }
        let error = |report: &Bound<'py, PyAny>| report.getattr("backward_error")?.extract::<f64>();
        let worse = if error(&report)? >= error(&other)? { report } else { other };
        (x, worse).into_bound_py_any(py)
    }
}

/// Factor a tridiagonal matrix, to solve with it again and again.
///
/// Parameters
/// ----------
/// sub, diag, sup, periodic, padded, method, pivoting, verify, threads, device
///     As for `solve_tridiagonal`. With a GPU, `rcond`, `norm` and `slogdet` use factors that the CPU makes when they are first
///     asked for.
///
/// Returns
/// -------
/// Factor
///
/// Raises
/// ------
/// ValueError
///     Shapes do not fit, or an option is unknown. Numbers that are not finite are found by what is done with the factors.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve
/// >>> lu = bandsolve.factor_tridiagonal(np.ones(3), np.full(3, 4.0), np.ones(3), periodic=True)
/// >>> lu.solve(np.full((3, 2), 6.0))[0]
/// array([1., 1.])
#[pyfunction]
#[pyo3(signature = (sub, diag, sup, *, periodic=false, padded=false, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    device="cpu"))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn factor_tridiagonal<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    periodic: bool,
    padded: bool,
    method: &str,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
) -> PyResult<PyFactor> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(sub.py())?;
    let (arrays, kind) = arguments([sub, diag, sup])?;
    for (array, name) in arrays.iter().zip(["sub", "diag", "sup"]) {
        check_vector(array, name)?;
    }
    check_off_diagonals((arrays[0].len(), arrays[2].len()), arrays[1].len(), Some(periodic), padded, SLICES)?;
    let plan = options.plan(Plan::new(Shape::Tridiagonal { n: arrays[1].len(), periodic }))?;
    with_number!(kind, hold_tridiagonal(arrays.each_ref(), (&plan, device.as_ref()), periodic))
}

/// The numbers of an array in memory of our own.
fn own<T: Number>(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<T>> {
    copied(slice(&columns::<T>(array)?)).map_err(|error| exception(array.py(), &error))
}

fn hold_tridiagonal<T: Number>(
    arrays: [&Bound<'_, PyUntypedArray>; 3],
    on: (&Plan, Option<&Device>),
    periodic: bool,
) -> PyResult<PyFactor> {
    let py = arrays[0].py();
    let (sub, diag, sup) = (own::<T>(arrays[0])?, own::<T>(arrays[1])?, own::<T>(arrays[2])?);
    PyFactor::new(py, on, || Tridiagonal::from_vecs(sub, diag, sup, periodic))
}

#[pyfunction]
#[pyo3(signature = (lower, upper, bands, *, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    device="cpu"))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn factor_banded<'py>(
    lower: usize,
    upper: usize,
    bands: &Bound<'py, PyAny>,
    method: &str,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
) -> PyResult<PyFactor> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(bands.py())?;
    let (bands, kind) = array(bands)?;
    let n = check_bands(&bands, lower, upper)?;
    let plan = options.plan(Plan::new(Shape::Banded { n, lower, upper }))?;
    with_number!(kind, hold_banded([lower, upper], &bands, (&plan, device.as_ref())))
}

fn hold_banded<T: Number>(
    [lower, upper]: [usize; 2],
    bands: &Bound<'_, PyUntypedArray>,
    on: (&Plan, Option<&Device>),
) -> PyResult<PyFactor> {
    let py = bands.py();
    let own = own::<T>(bands)?;
    let n = on.0.shape().n();
    PyFactor::new(py, on, || Banded::from_vec(n, lower, upper, own))
}

#[pyfunction]
#[pyo3(signature = (sub, diag, sup, *, periodic=false, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    device="cpu"))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn factor_block_tridiagonal<'py>(
    sub: &Bound<'py, PyAny>,
    diag: &Bound<'py, PyAny>,
    sup: &Bound<'py, PyAny>,
    periodic: bool,
    method: &str,
    pivoting: &str,
    verify: bool,
    threads: Option<ThreadCount>,
    device: &str,
) -> PyResult<PyFactor> {
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(sub.py())?;
    let (arrays, kind) = arguments([sub, diag, sup])?;
    let (block_rows, block) = check_blocks(&arrays[1])?;
    let shape = Shape::BlockTridiagonal { block_rows, block, periodic };
    let plan = options.plan(Plan::new(shape))?;
    with_number!(kind, hold_blocks(arrays.each_ref(), (&plan, device.as_ref()), (block, periodic)))
}

fn hold_blocks<T: Number>(
    arrays: [&Bound<'_, PyUntypedArray>; 3],
    on: (&Plan, Option<&Device>),
    (block, periodic): (usize, bool),
) -> PyResult<PyFactor> {
    let py = arrays[0].py();
    let blocks = [own::<T>(arrays[0])?, own::<T>(arrays[1])?, own::<T>(arrays[2])?];
    PyFactor::new(py, on, || BlockTridiagonal::from_vecs(block, blocks, periodic))
}
