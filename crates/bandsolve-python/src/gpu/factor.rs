//! The class `DeviceFactor`: arguments, errors and results of solves with a matrix in the memory of a GPU.

use super::array::PyDeviceArray;
use super::given::GivenArray;
use super::held::{DynOnGpu, HeldOptions, SolveOnGpu, build, device_of};
use super::layout::{MatrixLayout, MatrixOptions, RhsLayout, indices};
use crate::arrays::with_number;
use crate::device::Device;
use crate::errors::{exception, exception_for, lin_alg_error};
use crate::options::{CallOptions, device_holding, op, open};
use crate::solve::answer;
use bandsolve::{Error, Op, Plan, Shape};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// How a solve is verified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VerifyMode {
    /// As the factors say; the host waits.
    Now,
    /// By `check`, later.
    Deferred,
}

impl<'a, 'py> FromPyObject<'a, 'py> for VerifyMode {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match (value.extract::<bool>(), value.extract::<String>().as_deref()) {
            (Ok(true), _) => Ok(Self::Now),
            (_, Ok("deferred")) => Ok(Self::Deferred),
            _ => Err(PyValueError::new_err(format!("verify is {}, expected True or \"deferred\"", value.repr()?))),
        }
    }
}

/// A matrix in the memory of a GPU, to solve many systems with it. `factor_tridiagonal` and others return a `DeviceFactor` for arrays on a GPU.
///
/// Notes
/// -----
/// **The matrix.** The object keeps references to the arrays of the matrix, and reads them in each solve, to measure the backward error. Do not change
/// their entries, unless you pass ``store_factors=False``. Only `sub` and `sup` with n - 1 entries are copied, once: with ``padded=True``, they are not.
///
/// **Factors.** By default, the object stores the factors of tridiagonal matrices (open and periodic), of block tridiagonal matrices, and of batches whose
/// systems follow each other in memory. They take about twice the memory of the matrix. The function that makes the object puts the factorization on the
/// stream, and does not wait. For blocks of more than 4 rows, the same factors solve with the transposes. For other matrices, the first solve with the
/// transpose factors it too, and allocates memory for its factors; so does the conjugate transpose. A solve for more right-hand sides than before
/// allocates memory and factors again.
///
/// Each solve eliminates again for bands, for interleaved batches, for systems that fit in one thread block (about 2000 tridiagonal rows in float64), and by the methods ``"cf-lu"``,
/// ``"spike-cr"``, ``"cr"``, ``"pcr"`` and ``"parallel-diagonal-pivoting"``. So do solves of a tridiagonal system for 3 right-hand sides or more: they read the
/// matrix once for several right-hand sides. x is the same, bit for bit, with and without stored factors.
///
/// **Streams.** All solves run on one stream: the argument `stream` of the function that made the object, else the stream that one of its arrays
/// names, else the legacy default stream. The solves wait for the streams that `rhs` and `out` name in `__cuda_array_interface__`, and later work on
/// those streams waits for the solves. With DLPack, the other package makes the stream of the object wait for its work. The argument `stream` of `solve`
/// names another stream whose work comes before the solve, and whose later work comes after it.
///
/// **Threads.** Several threads may use one object. Their solves wait for each other.
///
/// See Also
/// --------
/// - `bandsolve.gpu.DeviceArray`: the class of x.
///
/// Examples
/// --------
/// Fifty implicit steps of diffusion. The host waits only in the last line:
///
/// >>> import numpy as np, bandsolve
/// >>> from bandsolve.gpu import asarray
/// >>> off, diag = asarray(np.full(100, -1.0), device="cuda"), asarray(np.full(100, 3.0), device="cuda")
/// >>> u, new = asarray(np.ones(100), device="cuda"), asarray(np.zeros(100), device="cuda")
/// >>> lu = bandsolve.factor_tridiagonal(off, diag, off, padded=True)
/// >>> for step in range(50):
/// ...     x = lu.solve(u, out=new, verify="deferred")
/// ...     u, new = new, u
/// >>> lu.check() < 1e-15
/// True
/// >>> print(np.round(u.numpy()[:4], 4))
/// [0.0803 0.1598 0.2376 0.3131]
#[pyclass(frozen, module = "bandsolve.gpu", name = "DeviceFactor")]
pub struct PyDeviceFactor {
    held: Box<dyn DynOnGpu>,
    rhs: RhsLayout,
    /// The name of the device.
    device: String,
    /// The device with its default stream, for arrays that are complete.
    plain: Device,
}

#[pymethods]
impl PyDeviceFactor {
    #[new]
    #[pyo3(signature = (kind, arrays, *, widths=(0, 0), axis=-1, periodic=false, padded=false, method="auto", pivoting="scaled-partial", verify=true,
        device="cpu", stream=None, store_factors=true),
        text_signature = "(kind, arrays, *, widths=(0, 0), axis=-1, periodic=False, padded=False, method=\"auto\", \
        pivoting=\"scaled-partial\", verify=True, device=\"cpu\", stream=None, store_factors=True)")]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        kind: &str,
        arrays: &Bound<'_, PyList>,
        widths: (usize, usize),
        axis: isize,
        periodic: bool,
        padded: bool,
        method: &str,
        pivoting: &str,
        verify: bool,
        device: &str,
        stream: Option<u64>,
        store_factors: bool,
    ) -> PyResult<Self> {
        let names: &[&str] = if kind == "banded" { &["ab"] } else { &["sub", "diag", "sup"] };
        let values: Vec<_> = arrays.iter().collect();
        let named: Vec<_> = names.iter().copied().zip(&values).collect();
        let (arrays, stream) = GivenArray::read_all(&named, stream)?;
        let options = MatrixOptions { kind: kind.into(), widths, axis, periodic, padded };
        let number = arrays[arrays.len() / 2].kind;
        for array in &arrays {
            array.check_kind(number, names[names.len() / 2])?;
        }
        let MatrixLayout { shape, rhs, full } = MatrixLayout::new(&options, &arrays)?;
        let (name, plain) = place(py, device, &arrays)?;
        for array in &arrays {
            array.check_device(&plain, &name)?;
        }
        let plan = CallOptions { method, pivoting, verify, threads: None, device }.plan(Plan::new(shape))?;
        // SAFETY: the caller passes a stream of the device, and keeps it as long as the object, as the documentation says.
        let solves = unsafe { plain.with_stream(stream) };
        let (on, options) = ((&solves, &plan), HeldOptions { full, stores_factors: store_factors });
        let held = with_number!(number, build(on, arrays, options)).map_err(|error| exception(py, &error))?;
        Ok(Self { held, rhs, device: name, plain })
    }

    /// Solve for one right-hand side, or for many, in the memory of the GPU.
    ///
    /// Parameters
    /// ----------
    /// rhs : array on the GPU
    ///     Right-hand sides: an object with `__cuda_array_interface__` or `__dlpack__`, such as a `DeviceArray` or an array of CuPy, PyTorch or JAX.
    ///     It has the number type of the matrix, and lies in memory without gaps. Several right-hand sides of a single matrix lie one after the other: order F.
    /// transpose : bool or "conj", default False
    ///     True: solve with the transpose of the matrix. "conj": solve with its conjugate transpose.
    /// out : array on the GPU, optional
    ///     Array for x, with the shape and the memory order of `rhs`. It may be `rhs` itself, which is then copied first.
    /// verify : True or "deferred", default True
    ///     True: wait for the GPU, measure the backward error, and repair x if the error is too large. "deferred": put the solve on the stream, and
    ///     return. `check` tells later whether all solves were accurate.
    /// full_output : bool, default False
    ///     Return a `bandsolve.Report` too. A deferred solve has no report.
    /// stream : int, optional
    ///     The stream on which you use `rhs`, `out` and x, a `cudaStream_t` as a number. The solve waits for the work on this stream, and later work on
    ///     it waits for the solve. Default: the streams that the arrays name.
    ///
    /// Returns
    /// -------
    /// x : DeviceArray, shape of rhs
    ///     The solution; `out` if you pass it.
    /// report : Report
    ///     Only with ``full_output=True``.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     An array has the wrong shape or memory order, is on another GPU, may not be written, or overlaps another one. Nothing is then launched. Also,
    ///     if an entry is NaN or infinite.
    /// TypeError
    ///     An array is in the memory of the host, or has another number type.
    /// numpy.linalg.LinAlgError
    ///     The matrix is singular, or no method reached a backward error of 64 ε. With ``verify="deferred"``, the error is about an earlier solve.
    /// RuntimeError
    ///     The GPU reports an error.
    ///
    /// Notes
    /// -----
    /// **Deferred solves.** The GPU sends each verdict to the host, which looks at it at the beginning of later deferred solves, without waiting. An error of one
    /// solve is therefore raised by a later one, which then is not started, or by `check` at the latest. Keep `rhs` and `out` until the solve is complete. Free or reuse their memory only on the stream of this object, or after
    /// `check`. The library does not repair x. After an error, repeat the solves since the last check with ``verify=True``.
    ///
    /// **CUDA graphs.** A deferred solve can be captured in a graph if it runs on the stream that is captured: pass this stream to the function that makes the
    /// object, and arrays that name this stream or none. Pass `out`. Call `solve` once before the capture with the same shapes and the same `transpose`:
    /// this call allocates memory and loads the kernels. Call `check` outside the capture.
    #[pyo3(signature = (rhs, *, transpose=None, out=None, verify=VerifyMode::Now, full_output=false, stream=None),
        text_signature = "($self, rhs, *, transpose=False, out=None, verify=True, full_output=False, stream=None)")]
    fn solve<'py>(
        &self,
        rhs: &Bound<'py, PyAny>,
        transpose: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        verify: VerifyMode,
        full_output: bool,
        stream: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, op, deferred) = (rhs.py(), transpose.map_or(Ok(Op::Plain), op)?, verify == VerifyMode::Deferred);
        if deferred && full_output {
            return Err(PyValueError::new_err(
                "a deferred solve has no report. Omit full_output, and call check() later",
            ));
        }
        let mut named = vec![("rhs", rhs)];
        named.extend(out.map(|out| ("out", out)));
        // SAFETY: the caller passes a stream of the device, as the documentation says.
        let stream = stream.map(|stream| unsafe { self.plain.with_stream(stream) });
        let on = stream.as_ref().unwrap_or(self.held.device());
        let (arrays, _) = GivenArray::read_all(&named, Some(on.stream_handle()))?;
        let (given, target) = (&arrays[0], arrays.get(1));
        given.check_kind(self.held.kind(), "the matrix")?;
        let order = self.rhs.order_of(given)?;
        given.check_device(&self.plain, &self.device)?;
        if let Some(target) = target {
            self.check_out(target, given, &order)?;
        }
        if deferred && py.detach(|| self.held.failed_before()) {
            self.check(py)?;
        }
        // A complete array must not need the stream of this object, which may no longer exist when the array is used.
        let writer = if deferred { on } else { &self.plain };
        let (kind, shape) = (self.held.kind(), &given.shape);
        let made = target.is_none().then(|| PyDeviceArray::zeros(writer, kind, shape, &order, deferred)).transpose();
        let made = made.map_err(|error| exception(py, &error))?;
        let device_of_x = target.map_or_else(|| writer.clone(), |target| device_of(self.held.device(), target));
        let address = made.as_ref().map_or_else(|| target.map_or(0, |target| target.address), PyDeviceArray::address);
        let task = SolveOnGpu { rhs: given, x: (address, &device_of_x), op, deferred, stream: stream.as_ref() };
        let report =
            py.detach(|| self.held.solve(&task)).map_err(|error| self.exception(py, &error, &given.shape, &order))?;
        let x = match (made, out) {
            (Some(made), _) => made.into_bound_py_any(py)?,
            (None, Some(out)) => out.clone(),
            (None, None) => unreachable!("x is new if there is no out"),
        };
        match report {
            Some(report) => answer(x, report, full_output),
            None => Ok(x),
        }
    }

    /// Wait for the deferred solves since the last check, and check that all were accurate.
    ///
    /// Returns
    /// -------
    /// float
    ///     The largest backward error of these solves; 0 if there were none.
    ///
    /// Raises
    /// ------
    /// numpy.linalg.LinAlgError
    ///     A measured backward error is above 4 ε, or x may have no correct digit. The error is about an earlier solve, not about this call.
    /// RuntimeError
    ///     The GPU reports an error.
    fn check(&self, py: Python<'_>) -> PyResult<f64> {
        let (error, limit, any) = py.detach(|| self.held.check()).map_err(|error| exception(py, &error))?;
        let problem = match error {
            _ if !any => return Ok(0.0),
            Some(error) if error <= limit => return Ok(error),
            Some(error) => format!("has the backward error {error:.1e}, expected at most {limit:.1e}"),
            None => "may have no correct digit, because the matrix is singular or nearly singular".into(),
        };
        let message = format!(
            "an earlier solve with verify=\"deferred\", after the last check, {problem}. Repeat the solves since that check with verify=True, which \
             repairs x or names the problem"
        );
        Err(lin_alg_error(py, message))
    }

    /// Shape of the matrix, (n, n); n counts the rows of all systems of a batch.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let n = self.held.plan().shape().rows();
        (n, n)
    }

    /// Number type of the matrix and of x, as a type of NumPy.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (self.held.kind().name(),))
    }

    /// Name of the method.
    #[getter]
    fn method(&self) -> &'static str {
        self.held.plan().asked_method().name()
    }

    /// Name of the device, such as "cuda:0".
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// The stream of all solves, as a number. 0 is the legacy default stream.
    #[getter]
    fn stream(&self) -> u64 {
        self.held.device().stream_handle()
    }

    fn __repr__(&self) -> String {
        let (n, kind) = (self.held.plan().shape().rows(), self.held.kind().name());
        format!("DeviceFactor({n} x {n}, {kind}, device='{}')", self.device)
    }
}

impl PyDeviceFactor {
    /// Check that x can be written to `out`.
    fn check_out(&self, out: &GivenArray, rhs: &GivenArray, order: &[usize]) -> PyResult<()> {
        out.check_out(rhs, (self.held.kind(), "the matrix"), order, (&self.plain, &self.device))?;
        match self.held.given().into_iter().find(|array| out.overlaps(array)) {
            Some(array) => {
                let message = format!("out overlaps {} in memory. Pass a separate array", array.name);
                Err(PyValueError::new_err(message))
            }
            None => Ok(()),
        }
    }

    /// The exception for an error of a solve. Entries of `rhs` are named by their indices.
    fn exception(&self, py: Python<'_>, error: &Error, shape: &[usize], order: &[usize]) -> PyErr {
        match (error, self.held.plan().shape()) {
            (Error::NotFinite { array: "rhs", index }, _) => {
                PyValueError::new_err(format!("rhs[{}] is not finite", indices(*index, shape, order)))
            }
            (Error::Singular { row }, Shape::Batch { n, .. }) => {
                lin_alg_error(py, format!("system {} is singular: no pivot in row {}", row / n, row % n))
            }
            (error, of_plan) => exception_for(py, of_plan, error),
        }
    }
}

/// The device of the solve: the one that the caller names, else that of the first array with numbers.
fn place(py: Python<'_>, device: &str, arrays: &[GivenArray]) -> PyResult<(String, Device)> {
    if device != "cpu" {
        return Ok((device.into(), open(py, device)?));
    }
    let Some(array) = arrays.iter().find(|array| array.len() > 0) else {
        return Err(PyRuntimeError::new_err(
            "all arrays are empty, so that they do not tell their GPU. Pass device, for example \"cuda\"",
        ));
    };
    device_holding(py, array.address)
}
