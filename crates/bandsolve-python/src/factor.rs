//! The class `Factor`.

use crate::arrays::{DtypeKind, Number, OutputArray, array, columns, slice, with_number};
use crate::device::{Device, HostMatrix, factor_on};
use crate::diagonals::{SLICES, check_off_diagonals, without_numbers};
use crate::errors::{exception, exception_for};
use crate::memory::copied;
use crate::options::{CallOptions, ThreadCount, get_num_threads, op};
use crate::solve::{
    SolveCall, arguments, check_bands, check_blocks, check_periodic_device, check_vector, folded, on_gpu, solve_by,
    with_labels,
};
use bandsolve::{
    Banded, BlockTridiagonal, Complex32, Complex64, Factor, Factorize, Inspect, Norm, Op, PeriodicBanded, Plan,
    RealScalar, Shape, Tridiagonal,
};
use numpy::npyffi::NPY_ORDER;
use numpy::{PyArray1, PyArrayDescr, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyComplex, PyDict, PyTuple};
use std::sync::{Arc, OnceLock};

/// Factors of a matrix, with the matrix.
struct HeldFactors<T: Number, M> {
    plan: Plan,
    /// Factors on the CPU. For a device, they are computed at the first call of a function that the device does not have, such as `rcond`.
    on_host: OnceLock<Box<dyn Inspect<T>>>,
    on_device: Option<Box<dyn Factor<T>>>,
    /// The matrix, which the factors share.
    matrix: Arc<M>,
}

impl<T: Number, M: Factorize<Scalar = T, OwningFactor: 'static> + 'static> HeldFactors<T, M> {
    fn on_host(matrix: M, plan: &Plan) -> bandsolve::Result<Self> {
        let (plan, matrix) = (plan.clone(), Arc::new(matrix));
        let factor: Box<dyn Inspect<T>> = Box::new(plan.factor_shared(matrix.clone())?);
        Ok(Self { plan, on_host: factor.into(), on_device: None, matrix })
    }

    fn on_device(matrix: M, plan: &Plan, device: &Device) -> bandsolve::Result<Self>
    where
        M: HostMatrix<T>,
    {
        let (plan, matrix) = (device.plan(plan)?, Arc::new(matrix));
        let on_device = Some(factor_on(device, &plan, matrix.clone())?);
        Ok(Self { plan, on_host: OnceLock::new(), on_device, matrix })
    }

    fn inspect(&self) -> bandsolve::Result<&dyn Inspect<T>> {
        if self.on_host.get().is_none() {
            let factor = self.plan.factor_shared(self.matrix.clone())?;
            // Another thread may have set the factors in the meantime. They are equal.
            let _ = self.on_host.set(Box::new(factor));
        }
        Ok(&**self.on_host.get().expect("made"))
    }
}

/// A matrix that Python functions factor.
pub trait PickledMatrix {
    /// The name of the function that factors such a matrix, its arrays, and the options of the matrix.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>>;
}

/// The name of a function, its positional arguments, and its keyword arguments.
pub type FactorArguments<'py> = (&'static str, Bound<'py, PyTuple>, Bound<'py, PyDict>);

impl<T: Number> PickledMatrix for Tridiagonal<'static, T> {
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>> {
        let [sub, diag, sup] = self.arrays().map(|array| PyArray1::from_slice(py, array));
        let padded = !self.is_periodic() && sub.len() == diag.len();
        let options = [("periodic", self.is_periodic()), ("padded", padded)].into_py_dict(py)?;
        Ok(("factor_tridiagonal", (sub, diag, sup).into_pyobject(py)?, options))
    }
}

impl<T: Number> PickledMatrix for Banded<'static, T> {
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>> {
        let (bands, leading) = self.storage();
        let bands =
            PyArray1::from_slice(py, bands).reshape_with_order([leading, self.n()], NPY_ORDER::NPY_FORTRANORDER)?;
        Ok(("factor_banded", (self.lower(), self.upper(), bands).into_pyobject(py)?, PyDict::new(py)))
    }
}

impl<T: Number> PickledMatrix for PeriodicBanded<T> {
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>> {
        let open = self.unfolded().map_err(|error| exception(py, &error))?;
        let (name, arguments, options) = open.arguments(py)?;
        options.set_item("periodic", true)?;
        Ok((name, arguments, options))
    }
}

impl<T: Number> PickledMatrix for BlockTridiagonal<'static, T> {
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>> {
        let (block, block_rows) = (self.block(), self.block_rows());
        let [sub, diag, sup] = self.arrays().map(|array| {
            PyArray1::from_slice(py, array).reshape_with_order([block, block, block_rows], NPY_ORDER::NPY_FORTRANORDER)
        });
        let options = [("periodic", self.is_periodic())].into_py_dict(py)?;
        Ok(("factor_block_tridiagonal", (sub?, diag?, sup?).into_pyobject(py)?, options))
    }
}

/// Factors of any number type and any kind of matrix.
trait DynFactor: Send + Sync {
    fn plan(&self) -> &Plan;
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>>;
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
    M: Factorize<Scalar = T, OwningFactor: 'static> + PickledMatrix + Send + Sync + 'static,
{
    fn plan(&self) -> &Plan {
        &self.plan
    }
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<FactorArguments<'py>> {
        self.matrix.arguments(py)
    }
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
        task.solve_by::<T>(self.plan.shape(), |rhs, x| match &self.on_device {
            Some(factor) => solve_by(&**factor, op, rhs, x),
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
        let determinant =
            py.detach(|| self.inspect()?.determinant()).map_err(|error| exception_for(py, self.shape(), &error))?;
        let (re, im) = (determinant.phase.re().to_f64(), determinant.phase.im().to_f64());
        match T::COMPLEX {
            true => (PyComplex::from_doubles(py, re, im), determinant.log_abs).into_bound_py_any(py),
            false => (re, determinant.log_abs).into_bound_py_any(py),
        }
    }
}

/// Factors of a matrix, to solve many systems with it.
///
/// `bandsolve.factor`, `bandsolve.factor_tridiagonal`, `bandsolve.factor_banded` and `bandsolve.factor_block_tridiagonal` return a `Factor`.
///
/// Notes
/// -----
/// A `Factor` keeps a copy of the matrix, so that it can verify every x. Several threads may use one `Factor` at the same time. `pickle` stores the
/// matrix and the options, and factors again when it loads them. `copy.copy` and `copy.deepcopy` return the same object, because it never changes.
///
/// See Also
/// --------
/// - `bandsolve.Report`: ``solve(rhs, full_output=True)`` returns a report with x.
///
/// Examples
/// --------
/// Solve two systems with one matrix:
///
/// >>> import numpy as np, bandsolve
/// >>> lu = bandsolve.factor_tridiagonal(np.ones(3), np.full(4, 4.0), np.ones(3))
/// >>> print(np.round(lu.solve(np.array([5.0, 6, 6, 5])), 9))
/// [1. 1. 1. 1.]
/// >>> print(np.round(lu.solve(np.array([10.0, 12, 12, 10])), 9))
/// [2. 2. 2. 2.]
///
/// Condition and determinant:
///
/// >>> print(round(lu.rcond(), 4), round(lu.norm(), 9))
/// 0.3667 6.0
/// >>> sign, log_abs = lu.slogdet()
/// >>> print(round(sign * np.exp(log_abs), 6))
/// 209.0
#[pyclass(frozen, module = "bandsolve", name = "Factor", subclass)]
pub struct PyFactor {
    factor: Box<dyn DynFactor>,
    method: &'static str,
    reason: String,
    /// The name of the device.
    device: String,
}

fn solved_on(device: &Device) -> String {
    format!("solved on {}", device.name())
}

/// Parse the norm: 1 or infinity.
fn norm_of(norm: &Bound<'_, PyAny>) -> PyResult<Norm> {
    match norm.extract::<f64>() {
        Ok(1.0) => Ok(Norm::One),
        Ok(f64::INFINITY) => Ok(Norm::Infinity),
        _ => Err(PyValueError::new_err(format!("norm is {norm}, expected 1 or numpy.inf"))),
    }
}

#[pymethods]
impl PyFactor {
    /// Solve for one right-hand side, or for many.
    ///
    /// Parameters
    /// ----------
    /// rhs : (n,) or (n, k) array_like
    ///     One right-hand side, or k right-hand sides as columns. A complex `rhs` is allowed with a real matrix. The solver rounds `rhs` to the
    ///     precision of the factors.
    /// transpose : bool or "conj", default False
    ///     True: solve with the transpose of the matrix. "conj": solve with its conjugate transpose.
    /// out : ndarray, optional
    ///     Array for x: the shape of `rhs`, the number type of x, and contiguous in order F, as all arrays with one dimension that are no slices
    ///     with a step. It may be `rhs` itself.
    /// overwrite_rhs : bool, default False
    ///     Write x to `rhs` if its type and order allow it. Else x is a new array.
    /// full_output : bool, default False
    ///     Return a `Report` too.
    ///
    /// Returns
    /// -------
    /// x : ndarray, shape of rhs
    ///     The solution, in the precision of the factors; `out` if you pass it. It has the labels of `rhs` if `rhs` is a Series or DataFrame of
    ///     pandas, or a DataArray of xarray.
    /// report : Report
    ///     Only with ``full_output=True``. For a complex `rhs` and a real matrix, the report is that of the part of `rhs`, real or imaginary, with the
    ///     larger backward error.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     `rhs` or `out` has the wrong shape, or an entry of `rhs` or of the matrix is NaN, infinite, or too large for the precision of the factors.
    /// numpy.linalg.LinAlgError
    ///     The matrix is singular, or no method reached a backward error of 64 ε.
    #[pyo3(signature = (rhs, *, transpose=None, out=None, overwrite_rhs=false, full_output=false),
        text_signature = "($self, rhs, *, transpose=False, out=None, overwrite_rhs=False, full_output=False)")]
    fn solve<'py>(
        &self,
        rhs: &Bound<'py, PyAny>,
        transpose: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        overwrite_rhs: bool,
        full_output: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if on_gpu([rhs])? {
            let message = "rhs is on a GPU, but the factors were made from arrays on the host. Make the factors from arrays on the GPU, see \
                           bandsolve.gpu, or pass rhs as an array of NumPy";
            return Err(PyTypeError::new_err(message));
        }
        let (given, (rhs, kind)) = (rhs, array(rhs)?);
        let op = transpose.map_or(Ok(Op::Plain), op)?;
        let call = SolveCall { rhs: &rhs, op, target: OutputArray::new(out, overwrite_rhs), full_output };
        let answer = match kind.complex && !self.factor.kind().complex {
            true => self.solve_complex(&call)?,
            false => self.factor.solve(&call)?,
        };
        if out.is_some() { Ok(answer) } else { with_labels(given, answer) }
    }

    /// Solve with the transpose of the matrix: the same as ``solve(rhs, transpose=True)``.
    #[pyo3(signature = (rhs, *, out=None, overwrite_rhs=false, full_output=false))]
    fn solve_transpose<'py>(
        &self,
        rhs: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        overwrite_rhs: bool,
        full_output: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.solve(rhs, Some(PyBool::new(rhs.py(), true).as_any()), out, overwrite_rhs, full_output)
    }

    /// A `Factor` never changes, so a copy is the object itself.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// The matrix and the options, from which `pickle` makes the same factors again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (name, matrix, options) = self.factor.arguments(py)?;
        let plan = self.factor.plan();
        options.set_item("method", plan.asked_method().name())?;
        options.set_item("pivoting", plan.options().pivoting.name())?;
        options.set_item("verify", plan.options().verify)?;
        options.set_item("device", &self.device)?;
        let threads = plan.options().threads;
        options.set_item("threads", (threads != get_num_threads()).then_some(threads))?;
        let function = py.import("bandsolve._bandsolve")?.getattr(name)?;
        let call = py.import("functools")?.getattr("partial")?.call((function,), Some(&options))?;
        Ok((call, matrix))
    }

    /// Return the inverse as a `scipy.sparse.linalg.LinearOperator`, for example as a preconditioner of SciPy's iterative methods.
    fn aslinearoperator<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("bandsolve._operator")?.call_method1("of", (slf,))
    }

    /// Shape of the matrix, (n, n).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let n = self.factor.shape().n();
        (n, n)
    }

    /// Number type of the factors and of x.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDescr> {
        self.factor.dtype(py)
    }

    /// Name of the method.
    #[getter]
    fn method(&self) -> &'static str {
        self.method
    }

    /// Why the plan chose this method, in words.
    #[getter]
    fn reason(&self) -> &str {
        &self.reason
    }

    /// Estimate the reciprocal condition number, 1 / (norm(A) · norm(inv(A))).
    ///
    /// Parameters
    /// ----------
    /// norm : float, default 1
    ///     1 or `numpy.inf`: the norm.
    ///
    /// Returns
    /// -------
    /// float
    ///     A number from 0 to 1; 0 for a singular matrix. With 1e-10, x can lose ten digits.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     `norm` is not 1 or `numpy.inf`, or an entry of the matrix is NaN or infinite.
    #[pyo3(signature = (norm=None), text_signature = "($self, norm=1)")]
    fn rcond(&self, py: Python<'_>, norm: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let norm = norm.map_or(Ok(Norm::One), norm_of)?;
        py.detach(|| self.factor.rcond(norm)).map_err(|error| exception_for(py, self.factor.shape(), &error))
    }

    /// Return the norm of the matrix.
    ///
    /// Parameters
    /// ----------
    /// norm : float, default 1
    ///     1: the largest sum of moduli of a column. `numpy.inf`: the largest sum of moduli of a row.
    ///
    /// Returns
    /// -------
    /// float
    ///     The norm.
    #[pyo3(signature = (norm=None), text_signature = "($self, norm=1)")]
    fn norm(&self, py: Python<'_>, norm: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
        let norm = norm.map_or(Ok(Norm::One), norm_of)?;
        py.detach(|| self.factor.norm(norm)).map_err(|error| exception_for(py, self.factor.shape(), &error))
    }

    /// Return the sign and the logarithm of the modulus of the determinant, as `numpy.linalg.slogdet` does.
    ///
    /// Returns
    /// -------
    /// sign : float or complex
    ///     1, -1, or 0 for a singular matrix. For a complex matrix: a number of modulus 1, or 0.
    /// logabsdet : float
    ///     Natural logarithm of the modulus of the determinant; -inf for a singular matrix.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An entry of the matrix is NaN or infinite.
    fn slogdet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.factor.slogdet(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let n = self.factor.shape().n();
        format!("Factor({n} x {n}, {}, method='{}')", self.dtype(py), self.method)
    }
}

impl PyFactor {
    /// Factor a matrix on the CPU, or on a device.
    pub fn new<T: Number, M: Factorize<Scalar = T, OwningFactor: 'static> + HostMatrix<T> + PickledMatrix + 'static>(
        py: Python<'_>,
        (plan, device): (&Plan, Option<&Device>),
        matrix: impl FnOnce() -> bandsolve::Result<M> + Send,
    ) -> PyResult<Self> {
        let held = || match device {
            Some(device) => HeldFactors::on_device(matrix()?, plan, device),
            None => HeldFactors::on_host(matrix()?, plan),
        };
        Ok(Self::of(py.detach(held).map_err(|error| exception(py, &error))?, device))
    }

    /// The object for factors that were computed on the CPU or on `device`.
    fn of<T: Number, M>(held: HeldFactors<T, M>, device: Option<&Device>) -> Self
    where
        HeldFactors<T, M>: DynFactor + 'static,
    {
        // `method` and `reason` must equal those in the reports of the solves.
        let (method, reason) = match device {
            Some(device) => (held.plan.asked_method(), solved_on(device)),
            None => (held.plan.chosen_method(), held.plan.reason().into()),
        };
        let device = device.map_or("cpu".into(), Device::name);
        Self { factor: Box::new(held), method: method.name(), reason, device }
    }

    /// Solve for complex right-hand sides with a real matrix: first the real part, then the imaginary part.
    fn solve_complex<'py>(&self, call: &SolveCall<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        let SolveCall { rhs, op, target, full_output } = *call;
        let (py, double) = (rhs.py(), self.factor.kind().double);
        let out = match double {
            true => target.array::<Complex64>(rhs, true)?.map(Bound::into_any),
            false => target.array::<Complex32>(rhs, true)?.map(Bound::into_any),
        };
        let solve =
            |part: &str| {
                let (part, _) = array(&rhs.getattr(part)?)?;
                self.factor
                    .solve(&SolveCall { rhs: &part, op, target: OutputArray::New, full_output: true })?
                    .extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()
            };
        let ((re, report), (im, other)) = (solve("real")?, solve("imag")?);
        let unit = PyComplex::from_doubles(py, 0.0, 1.0);
        let mut x = re.add(im.mul(unit)?)?;
        if let Some(out) = out {
            py.import("numpy")?.call_method1("copyto", (&out, x))?;
            x = out;
        }
        if !full_output {
            return Ok(x);
        }
        let error = |report: &Bound<'py, PyAny>| report.getattr("backward_error")?.extract::<f64>();
        let worse = if error(&report)? >= error(&other)? { report } else { other };
        (x, worse).into_bound_py_any(py)
    }
}

/// Factor a tridiagonal matrix, to solve many systems with it.
///
/// Parameters
/// ----------
/// sub : (n - 1,) array_like, or number
///     Entries below the diagonal: ``sub[i]`` is in row i + 1 and column i. With `periodic` or `padded`, `sub` has n entries, and ``sub[i]`` is
///     in row i. A number is the entry of every row.
/// diag : (n,) array_like
///     Entries on the diagonal.
/// sup : (n - 1,) array_like, or number
///     Entries above the diagonal: ``sup[i]`` is in row i and column i + 1. With `periodic` or `padded`, `sup` has n entries.
/// periodic : bool, default False
///     Factor a periodic matrix: ``sub[0]`` is in row 0 and column n - 1, ``sup[n-1]`` in row n - 1 and column 0.
/// padded : bool, default False
///     Pass `sub` and `sup` with n entries, indexed by row. The function ignores ``sub[0]`` and ``sup[n-1]``.
/// method : str, default "auto"
///     A name from `bandsolve.methods`. "auto" chooses by the number of unknowns.
/// pivoting : str, default "scaled-partial"
///     How the solver chooses pivot rows, see `bandsolve.solve_tridiagonal`.
/// verify : bool, default True
///     Compute the backward error of each x, and repair x if the error is too large.
/// threads : int, optional
///     Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
/// device : str, default "cpu"
///     "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. `rcond`, `norm` and `slogdet` use factors that the CPU makes at the first
///     call.
///
/// Returns
/// -------
/// Factor
///     An object with the method `solve`; a `bandsolve.gpu.DeviceFactor` for arrays on a GPU.
///
/// Raises
/// ------
/// ValueError
///     An array has the wrong length, or an option is unknown.
/// TypeError
///     An array does not hold numbers.
/// MemoryError
///     The memory is not sufficient.
/// RuntimeError
///     The GPU that `device` names does not exist, or it reports an error.
///
/// See Also
/// --------
/// - `bandsolve.solve_tridiagonal`: solve once. Its notes draw SciPy's band storage, and the slices to pass.
/// - `bandsolve.factor`: factor a matrix of `scipy.sparse`.
///
/// Notes
/// -----
/// **Errors in the matrix.** The function accepts a singular matrix, NaN and infinities. `Factor.solve` raises the error.
///
/// **Cost.** A solve takes a tenth to a half of the time of `bandsolve.solve_tridiagonal` for n ≤ 131 072, and the same time for larger n. There the
/// method `rpts` stores no factors, because a new elimination takes no longer than reading factors from memory.
///
/// **Accuracy and threads.** The same as for `bandsolve.solve_tridiagonal`.
///
/// Examples
/// --------
/// Ten implicit time steps of the heat equation on a ring:
///
/// >>> import numpy as np, bandsolve
/// >>> n, r = 200, 10.0
/// >>> off, diag = np.full(n, -r), np.full(n, 1 + 2 * r)
/// >>> lu = bandsolve.factor_tridiagonal(off, diag, off, periodic=True)
/// >>> u = np.zeros(n)
/// >>> u[n // 2] = 1.0
/// >>> for step in range(10):
/// ...     u = lu.solve(u)
/// >>> print(round(u.max(), 4), round(u.sum(), 9))
/// 0.0293 1.0
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
) -> PyResult<Bound<'py, PyAny>> {
    let py = sub.py();
    if on_gpu([sub, diag, sup])? {
        let keywords = [("periodic", periodic), ("padded", padded), ("verify", verify)].into_py_dict(py)?;
        keywords.set_item("method", method)?;
        keywords.set_item("pivoting", pivoting)?;
        keywords.set_item("device", device)?;
        return py.import("bandsolve.gpu")?.call_method("factor_tridiagonal", (sub, diag, sup), Some(&keywords));
    }
    let options = CallOptions { method, pivoting, verify, threads, device };
    let device = options.gpu(py)?;
    let [sub, diag, sup] = without_numbers([sub, diag, sup], None, periodic || padded)?;
    let (arrays, kind) = arguments([&sub, &diag, &sup])?;
    for (array, name) in arrays.iter().zip(["sub", "diag", "sup"]) {
        check_vector(array, name)?;
    }
    check_off_diagonals((arrays[0].len(), arrays[2].len()), arrays[1].len(), Some(periodic), padded, SLICES)?;
    let plan = options.plan(Plan::new(Shape::Tridiagonal { n: arrays[1].len(), periodic }))?;
    with_number!(kind, hold_tridiagonal(arrays.each_ref(), (&plan, device.as_ref()), periodic))?.into_bound_py_any(py)
}

/// Copy the numbers of an array in Fortran order.
fn copy_of<T: Number>(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<T>> {
    copied(slice(&columns::<T>(array)?)).map_err(|error| exception(array.py(), &error))
}

fn hold_tridiagonal<T: Number>(
    arrays: [&Bound<'_, PyUntypedArray>; 3],
    on: (&Plan, Option<&Device>),
    periodic: bool,
) -> PyResult<PyFactor> {
    let py = arrays[0].py();
    let (sub, diag, sup) = (copy_of::<T>(arrays[0])?, copy_of::<T>(arrays[1])?, copy_of::<T>(arrays[2])?);
    PyFactor::new(py, on, || Tridiagonal::from_vecs(sub, diag, sup, periodic))
}

#[pyfunction]
#[pyo3(signature = (lower, upper, bands, *, periodic=false, method="auto", pivoting="scaled-partial", verify=true, threads=None,
    device="cpu"))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn factor_banded<'py>(
    lower: usize,
    upper: usize,
    bands: &Bound<'py, PyAny>,
    periodic: bool,
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
    if periodic {
        check_periodic_device(device.as_ref())?;
        return with_number!(kind, hold_periodic((n, lower, upper), &bands, &options));
    }
    let plan = options.plan(Plan::new(Shape::Banded { n, lower, upper }))?;
    with_number!(kind, hold_banded([lower, upper], &bands, (&plan, device.as_ref())))
}

fn hold_periodic<T: Number>(
    size: (usize, usize, usize),
    bands: &Bound<'_, PyUntypedArray>,
    options: &CallOptions<'_>,
) -> PyResult<PyFactor> {
    let a = folded::<T>(size, bands)?;
    let plan = options.plan(Plan::new(a.shape()))?;
    let py = bands.py();
    let held = py.detach(|| HeldFactors::on_host(a, &plan)).map_err(|error| exception(py, &error))?;
    Ok(PyFactor::of(held, None))
}

fn hold_banded<T: Number>(
    [lower, upper]: [usize; 2],
    bands: &Bound<'_, PyUntypedArray>,
    on: (&Plan, Option<&Device>),
) -> PyResult<PyFactor> {
    let py = bands.py();
    let entries = copy_of::<T>(bands)?;
    let n = on.0.shape().n();
    PyFactor::new(py, on, || Banded::from_vec(n, lower, upper, entries))
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
    let blocks = [copy_of::<T>(arrays[0])?, copy_of::<T>(arrays[1])?, copy_of::<T>(arrays[2])?];
    PyFactor::new(py, on, || BlockTridiagonal::from_vecs(block, blocks, periodic))
}
