//! Sparse matrices in the memory of a GPU: products, preconditioners, Krylov methods.

use super::array::PyDeviceArray;
use super::given::GivenArray;
use super::held::device_of;
use crate::arrays::{DtypeKind, Number, array, with_number};
use crate::device::Device;
use crate::errors::exception;
use crate::interrupt::detached;
use crate::options::open;
use crate::sparse::{Arrays, InverseOptions, KrylovOptions, dictionary_of, owned};
use bandsolve::{Complex32, Complex64, Error};
use bandsolve_gpu::{
    DeviceCsr, DeviceOperator, DevicePreconditioner, DeviceSingleInverse, DeviceSingleMatrix, DeviceSlice,
    DeviceSliceMut, solve_krylov,
};
use bandsolve_sparse::{DoubleScalar, IterationReport, KrylovSolver};
use core::any::Any;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A sparse matrix in the memory of a GPU. `bandsolve.gpu.ascsr` makes it.
///
/// ``a @ x`` and `matvec` multiply. The Krylov methods of `bandsolve.sparse` and `bandsolve.sparse.Preconditioner` take it in place of a matrix of SciPy.
///
/// See Also
/// --------
/// - `bandsolve.gpu.ascsr`: copy a matrix of SciPy or CuPy to a GPU.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve.gpu, scipy.sparse as sp
/// >>> a = bandsolve.gpu.ascsr(sp.csr_array([[4.0, -1, 0], [-1, 4, -1], [0, 0, 2]]), device="cuda")
/// >>> a.shape, a.nnz, str(a.dtype)
/// ((3, 3), 6, 'float64')
/// >>> print((a @ bandsolve.gpu.asarray(np.array([1.0, 2.0, 3.0]), device="cuda")).numpy())
/// [2. 4. 6.]
#[pyclass(frozen, module = "bandsolve.gpu", name = "DeviceCsr")]
pub struct PyDeviceCsr {
    /// A [`DeviceCsr`] of the number type.
    matrix: Box<dyn Any + Send + Sync>,
    kind: DtypeKind,
    shape: (usize, usize),
    entries: usize,
    device: String,
    /// The device with its default stream, for arrays that are complete.
    plain: Device,
}

impl PyDeviceCsr {
    /// The number type.
    pub fn kind(&self) -> DtypeKind {
        self.kind
    }

    /// The matrix. `T` is the number type of [`kind`](Self::kind).
    pub fn typed<T: Number>(&self) -> &DeviceCsr<T> {
        self.matrix.downcast_ref().expect("the number type of a matrix is that of its kind")
    }

    /// Check the number type, the length and the memory of a vector.
    fn check(&self, vector: &GivenArray, len: usize) -> PyResult<()> {
        vector.check_kind(self.kind, "the matrix")?;
        if vector.shape != [len] {
            let message = format!("{} has the shape {:?}, expected ({len},)", vector.name, vector.shape);
            return Err(PyValueError::new_err(message));
        }
        vector.check_dense(&[0], "Pass an array without a step.")?;
        vector.check_device(&self.plain, &self.device)
    }

    /// The device with the stream of the matrix.
    fn on(&self) -> &Device {
        match self.kind {
            DtypeKind { complex: false, double: false } => self.typed::<f32>().device(),
            DtypeKind { complex: false, double: true } => self.typed::<f64>().device(),
            DtypeKind { complex: true, double: false } => self.typed::<Complex32>().device(),
            DtypeKind { complex: true, double: true } => self.typed::<Complex64>().device(),
        }
    }

    /// Read vectors of the caller. Work on the stream of the matrix comes after their work.
    fn read(&self, vectors: &[(&str, &Bound<'_, PyAny>)]) -> PyResult<Vec<GivenArray>> {
        GivenArray::read_all(vectors, Some(self.on().stream_handle())).map(|(arrays, _)| arrays)
    }

    /// A new vector, with zeros on the stream of `plain`.
    fn vector(&self, py: Python<'_>, len: usize) -> PyResult<PyDeviceArray> {
        PyDeviceArray::zeros(&self.plain, self.kind, &[len], &[0], false).map_err(|error| exception(py, &error))
    }
}

#[pymethods]
impl PyDeviceCsr {
    /// Copy a matrix to a GPU. `arrays` are those of a csr matrix.
    #[new]
    #[pyo3(signature = (columns, arrays, device, stream=None))]
    fn new(columns: usize, arrays: Arrays<'_>, device: &str, stream: Option<u64>) -> PyResult<Self> {
        let (plain, kind) = (open(arrays.2.py(), device)?, array(&arrays.2)?.1);
        if stream == Some(PER_THREAD_STREAM) {
            let message = "stream is 2, the default stream of a thread, expected one that all threads share: 1, or the handle of a stream";
            return Err(PyValueError::new_err(message));
        }
        // SAFETY: the caller passes a stream of the device, and keeps it as long as the object, as the documentation says.
        let on = unsafe { plain.with_stream(stream.unwrap_or(0)) };
        let (matrix, rows, entries) = with_number!(kind, upload(columns, &arrays, &on))?;
        Ok(Self { matrix, kind, shape: (rows, columns), entries, device: device.into(), plain })
    }

    /// Multiply the matrix with a vector. The function waits for the GPU.
    ///
    /// Parameters
    /// ----------
    /// x : (k,) array on the GPU
    ///     The vector, one entry for each column of the matrix, with the number type of the matrix.
    ///
    /// Returns
    /// -------
    /// DeviceArray
    ///     The product.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     `x` has the wrong shape, or is on another GPU.
    /// TypeError
    ///     `x` is in the memory of the host, or has another number type.
    fn matvec(&self, x: &Bound<'_, PyAny>) -> PyResult<PyDeviceArray> {
        let (py, arrays) = (x.py(), self.read(&[("x", x)])?);
        self.check(&arrays[0], self.shape.1)?;
        let y = self.vector(py, self.shape.0)?;
        with_number!(self.kind, multiply(py, self, &arrays[0], &y))?;
        Ok(y)
    }

    /// With this, `array @ self` is an error of Python, not a product of NumPy with an unknown object.
    #[classattr]
    fn __array_ufunc__() -> Option<usize> {
        None
    }

    fn __matmul__(&self, x: &Bound<'_, PyAny>) -> PyResult<PyDeviceArray> {
        self.matvec(x)
    }

    /// Numbers of rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Number of stored entries.
    #[getter]
    fn nnz(&self) -> usize {
        self.entries
    }

    /// Number type, as a type of NumPy.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (self.kind.name(),))
    }

    /// Name of the device, such as "cuda:0".
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    fn __repr__(&self) -> String {
        let ((rows, columns), kind, entries) = (self.shape, self.kind.name(), self.entries);
        format!("DeviceCsr(shape=({rows}, {columns}), dtype={kind}, nnz={entries}, device='{}')", self.device)
    }
}

/// `CU_STREAM_PER_THREAD`.
const PER_THREAD_STREAM: u64 = 2;

type Uploaded = (Box<dyn Any + Send + Sync>, usize, usize);

fn upload<T: Number>(columns: usize, arrays: &Arrays<'_>, device: &Device) -> PyResult<Uploaded> {
    let py = arrays.2.py();
    let a = owned::<T>(columns, arrays)?;
    let on_device = detached(py, || DeviceCsr::new(device, &a))?.map_err(|error| exception(py, &error))?;
    let (rows, entries) = (on_device.rows(), on_device.entries());
    Ok((Box::new(on_device), rows, entries))
}

fn multiply<T: Number>(py: Python<'_>, a: &PyDeviceCsr, x: &GivenArray, y: &PyDeviceArray) -> PyResult<()> {
    let matrix: &DeviceCsr<T> = a.typed();
    apply_operator::<T>(py, a, (x, y), |x, y| matrix.multiply(x, y))
}

/// Call `work` with a vector of the caller and a new vector, and wait.
fn apply_operator<T: Number>(
    py: Python<'_>,
    a: &PyDeviceCsr,
    (x, y): (&GivenArray, &PyDeviceArray),
    work: impl Send + FnOnce(DeviceSlice<'_, T>, DeviceSliceMut<'_, T>) -> bandsolve::Result<()>,
) -> PyResult<()> {
    let (device, rows) = (a.on(), a.shape.0);
    let (theirs, given, columns, address) = (device_of(device, x), x.address, x.len(), y.address());
    let done = detached(py, || {
        // SAFETY: the caller has checked the lengths. Nobody writes x during the call, and nobody else has y.
        let (x, y) = unsafe {
            (DeviceSlice::from_raw(&theirs, given, columns), DeviceSliceMut::from_raw(&a.plain, address, rows))
        };
        let done = work(x, y);
        // The caller may free x after the call, also after an error.
        let waited = device.synchronize();
        done.and(waited)
    })?;
    done.map_err(|error| exception(py, &error))
}

/// The compiled part of a `bandsolve.sparse.Preconditioner` on a GPU.
#[pyclass(frozen, module = "bandsolve._bandsolve", name = "DevicePreconditioner")]
pub struct PyDevicePreconditioner {
    /// A [`BoxedOperator`] of the number type.
    operator: Box<dyn Any + Send + Sync>,
    matrix: Py<PyDeviceCsr>,
    kind: String,
    reason: String,
    method: Option<String>,
}

type BoxedOperator<T> = Box<dyn DeviceOperator<T>>;

#[pymethods]
impl PyDevicePreconditioner {
    #[new]
    fn new(matrix: &Bound<'_, PyDeviceCsr>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (kind, options) = (matrix.get().kind, options.extract::<InverseOptions>()?);
        match (options.single, kind.complex) {
            (false, _) => with_number!(kind, make_preconditioner(matrix, &options)),
            (true, false) => make_single::<f64>(matrix, &options),
            (true, true) => make_single::<Complex64>(matrix, &options),
        }
    }

    /// Compute z = M⁻¹·r.
    fn apply(&self, rhs: &Bound<'_, PyAny>) -> PyResult<PyDeviceArray> {
        let (py, a) = (rhs.py(), self.matrix.get());
        let arrays = a.read(&[("rhs", rhs)])?;
        a.check(&arrays[0], a.shape.0)?;
        let z = a.vector(py, a.shape.0)?;
        with_number!(a.kind, apply(py, self, &arrays[0], &z))?;
        Ok(z)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.matrix.get().shape
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.matrix.get().dtype(py)
    }

    #[getter]
    fn kind(&self) -> &str {
        &self.kind
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

impl PyDevicePreconditioner {
    fn typed<T: Number>(&self) -> &dyn DeviceOperator<T> {
        let operator: Option<&BoxedOperator<T>> = self.operator.downcast_ref();
        &**operator.expect("the number type of a preconditioner is that of its matrix")
    }
}

fn apply<T: Number>(py: Python<'_>, m: &PyDevicePreconditioner, x: &GivenArray, z: &PyDeviceArray) -> PyResult<()> {
    let (a, m) = (m.matrix.get(), m.typed::<T>());
    apply_operator(py, a, (x, z), |x, z| m.apply(x, z))
}

/// Set up the preconditioner of a matrix on a GPU.
fn set_up<T: Number>(py: Python<'_>, a: &DeviceCsr<T>, options: &InverseOptions) -> PyResult<DevicePreconditioner<T>> {
    let (kind, options) = options.parsed()?;
    detached(py, || DevicePreconditioner::new(a, kind, &options))?.map_err(|error| exception(py, &error))
}

fn make_preconditioner<T: Number>(
    matrix: &Bound<'_, PyDeviceCsr>,
    options: &InverseOptions,
) -> PyResult<PyDevicePreconditioner> {
    let m = set_up::<T>(matrix.py(), matrix.get().typed(), options)?;
    Ok(PyDevicePreconditioner {
        matrix: matrix.clone().unbind(),
        kind: m.kind().to_string(),
        reason: m.reason().into(),
        method: m.method().map(|method| method.to_string()),
        operator: Box::new(Box::new(m) as BoxedOperator<T>),
    })
}

fn make_single<T: Number + DoubleScalar<Single: Number>>(
    matrix: &Bound<'_, PyDeviceCsr>,
    options: &InverseOptions,
) -> PyResult<PyDevicePreconditioner> {
    let (py, a) = (matrix.py(), matrix.get().typed::<T>());
    let inner = options.inner_solver()?;
    let single = detached(py, || DeviceSingleMatrix::<T>::new(a.device(), &a.download()?))?;
    let single = single.map_err(|error| exception(py, &error))?;
    let m = set_up(py, single.matrix(), options)?;
    let (kind, reason) = (m.kind().to_string(), m.reason().into());
    let inverse = DeviceSingleInverse::new(&single, Some(Box::new(m))).map_err(|error| exception(py, &error))?;
    let inverse = match inner {
        Some(solver) => inverse.with_solver(solver),
        None => inverse,
    };
    let operator: BoxedOperator<T> = Box::new(inverse);
    Ok(PyDevicePreconditioner {
        matrix: matrix.clone().unbind(),
        kind,
        reason,
        // As on the CPU, a preconditioner that rounds suggests no method.
        method: None,
        operator: Box::new(operator),
    })
}

/// Solve by a Krylov method with vectors on a GPU. Returns x and a report as a dictionary.
#[pyfunction]
pub fn krylov_on_gpu<'py>(
    a: &Bound<'py, PyDeviceCsr>,
    m: Option<&Bound<'py, PyDevicePreconditioner>>,
    b: &Bound<'py, PyAny>,
    x0: Option<&Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(PyDeviceArray, Bound<'py, PyDict>)> {
    let (py, held, options) = (b.py(), a.get(), options.extract::<KrylovOptions<'py>>()?);
    let mut named = vec![("b", b)];
    named.extend(x0.map(|x0| ("x0", x0)));
    let arrays = held.read(&named)?;
    arrays.iter().try_for_each(|array| held.check(array, held.shape.0))?;
    if let Some(m) = m
        && (m.get().matrix.get().kind != held.kind || !m.get().matrix.get().plain.same_as(&held.plain))
    {
        let of_m = &m.get().matrix.get();
        return Err(PyTypeError::new_err(format!(
            "M is a preconditioner for {} on {}, expected {} on {}, as A",
            of_m.kind.name(),
            of_m.device,
            held.kind.name(),
            held.device
        )));
    }
    let x = held.vector(py, held.shape.0)?;
    let task = KrylovOnGpu { a: held, m: m.map(Bound::get), b: &arrays[0], x0: arrays.get(1), x: &x };
    let report = with_number!(held.kind, krylov_of(py, &task, &options))?;
    Ok((x, dictionary_of(py, report)?))
}

/// The arrays and operators of a Krylov method.
struct KrylovOnGpu<'a> {
    a: &'a PyDeviceCsr,
    m: Option<&'a PyDevicePreconditioner>,
    b: &'a GivenArray,
    x0: Option<&'a GivenArray>,
    x: &'a PyDeviceArray,
}

fn krylov_of<T: Number>(
    py: Python<'_>,
    task: &KrylovOnGpu<'_>,
    options: &KrylovOptions<'_>,
) -> PyResult<IterationReport> {
    let (a, m): (&DeviceCsr<T>, _) = (task.a.typed(), task.m.map(|m| m.typed::<T>()));
    let (solver, n, chosen) = (options.solver()?, a.rows(), options.chosen);
    let (device, of_b) = (a.device(), device_of(a.device(), task.b));
    let start = task.x0.map(|x0| (device_of(device, x0), x0.address));
    let (b, x, of_x) = (task.b.address, task.x.address(), &task.a.plain);
    let work = || {
        // All vectors of the method are on the stream of the matrix.
        device.wait_for(&of_b)?;
        // SAFETY: here and below, the vectors have this length. Nobody writes those of the caller during the call, and nobody else has x.
        let b = unsafe { DeviceSlice::<T>::from_raw(device, b, n) };
        let x = || unsafe { DeviceSliceMut::<T>::from_raw(of_x, x, n) };
        if let Some((of_x0, x0)) = &start
            && b.download()?.iter().any(|b| *b != T::ZERO)
        {
            // If the right-hand side is 0, the start is 0, as in SciPy. SAFETY: see above.
            x().copy_from(unsafe { DeviceSlice::from_raw(of_x0, *x0, n) })?;
        }
        let run = |solver: &KrylovSolver<'_>| solve_krylov(solver, a, m, b, x());
        let report = run(&solver)?;
        match solver.successor(&report).filter(|_| chosen) {
            Some(successor) => run(&successor),
            None => Ok(report),
        }
    };
    let solved = detached(py, || {
        let solved = work();
        let waited = device.synchronize();
        solved.and_then(|report| waited.map(|()| report))
    })?;
    solved.map_err(|error| match error {
        // The names of the arguments in Python.
        Error::NotFinite { array: "rhs", index } => PyValueError::new_err(format!("b[{index}] is not finite")),
        Error::NotFinite { array: "x", index } => PyValueError::new_err(format!("x0[{index}] is not finite")),
        error => exception(py, &error),
    })
}
