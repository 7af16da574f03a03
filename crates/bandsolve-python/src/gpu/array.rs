//! Arrays of bandsolve in the memory of a GPU.

use super::dlpack::{ExportedArray, TensorDevice, TensorType};
use super::given::dense_strides;
use crate::arrays::{DtypeKind, Number, array, rows, slice, with_number};
use crate::device::{CUDA, Device};
use crate::errors::exception;
use crate::options::open;
use bandsolve_gpu::DeviceVec;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyByteArray, PyDict, PyTuple};
use std::sync::Arc;

/// An array in the memory of a GPU.
///
/// Solves with arrays on a GPU return a `DeviceArray`. Other packages use it without a copy: ``cupy.asarray(x)``, ``torch.from_dlpack(x)``,
/// ``jax.dlpack.from_dlpack(x)``. It has `__cuda_array_interface__` (version 3) and `__dlpack__` (versions 0 and 1).
///
/// Notes
/// -----
/// The result of a solve with ``verify="deferred"`` may not be computed yet. Its `__cuda_array_interface__` names the stream of the solve, and
/// `__dlpack__` lets the stream of the other package wait for the solve. The stream must exist as long as the array.
///
/// See Also
/// --------
/// - `bandsolve.gpu.asarray`: copy an array of NumPy to a GPU.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve.gpu
/// >>> x = bandsolve.gpu.asarray(np.array([1.0, 2.0, 4.0]), device="cuda")
/// >>> x.shape, str(x.dtype)
/// ((3,), 'float64')
/// >>> print(x.numpy())
/// [1. 2. 4.]
#[pyclass(frozen, module = "bandsolve.gpu", name = "DeviceArray")]
pub struct PyDeviceArray {
    memory: Arc<DeviceVec<u8>>,
    /// The device, with the stream on which the array is written.
    device: Device,
    /// Whether work on the stream may still write the array.
    pending: bool,
    kind: DtypeKind,
    shape: Vec<usize>,
    /// Distances in numbers.
    strides: Vec<isize>,
}

impl PyDeviceArray {
    /// An array without gaps, with zeros. `order` has the axes, the fastest first.
    pub fn zeros(
        device: &Device,
        kind: DtypeKind,
        shape: &[usize],
        order: &[usize],
        pending: bool,
    ) -> bandsolve::Result<Self> {
        let bytes = kind.bytes() * shape.iter().product::<usize>();
        let (memory, strides) = (Arc::new(device.zeros(bytes)?), dense_strides(shape, order));
        Ok(Self { memory, device: device.clone(), pending, kind, shape: shape.into(), strides })
    }

    pub fn address(&self) -> u64 {
        self.memory.slice(..).address()
    }

    fn byte_strides(&self) -> Vec<isize> {
        self.strides.iter().map(|stride| stride * self.kind.bytes() as isize).collect()
    }

    /// A copy on the stream of the array.
    fn copied(&self) -> bandsolve::Result<Self> {
        let mut memory = self.device.zeros(self.memory.len())?;
        memory.slice_mut(..).copy_from(self.memory.slice(..))?;
        let (shape, strides) = (self.shape.clone(), self.strides.clone());
        Ok(Self {
            memory: Arc::new(memory),
            device: self.device.clone(),
            pending: true,
            kind: self.kind,
            shape,
            strides,
        })
    }
}

#[pymethods]
impl PyDeviceArray {
    /// Lengths of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// Distances between neighbours along each axis, in bytes.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.byte_strides())
    }

    /// Number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of entries.
    #[getter]
    fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Number type, as a type of NumPy.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (self.kind.name(),))
    }

    /// Copy the array to the host, as an array of NumPy. The function waits for the solve that writes the array.
    ///
    /// Returns
    /// -------
    /// ndarray
    ///     A new array, with the memory order of this array.
    ///
    /// Raises
    /// ------
    /// RuntimeError
    ///     The GPU reports an error.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = py.detach(|| self.memory.slice(..).download()).map_err(|error| exception(py, &error))?;
        let options = [
            ("shape", self.shape(py)?.into_any()),
            ("dtype", self.dtype(py)?),
            ("buffer", PyByteArray::new(py, &bytes).into_any()),
            ("strides", self.strides(py)?.into_any()),
        ];
        py.import("numpy")?.call_method("ndarray", (), Some(&options.into_py_dict(py)?))
    }

    /// Permute the axes, without a copy.
    ///
    /// Parameters
    /// ----------
    /// *axes : int
    ///     The number of each axis of this array, in the new order. Default: reverse all axes.
    ///
    /// Returns
    /// -------
    /// DeviceArray
    ///     An array that shares the memory.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     `axes` is no permutation.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, axes: Vec<usize>) -> PyResult<Self> {
        let all = 0..self.shape.len();
        let axes = if axes.is_empty() { all.clone().rev().collect() } else { axes };
        if axes.len() != all.len() || all.clone().any(|axis| !axes.contains(&axis)) {
            return Err(PyValueError::new_err(format!("axes is {axes:?}, expected a permutation of {all:?}")));
        }
        let (memory, device) = (self.memory.clone(), self.device.clone());
        let shape = axes.iter().map(|axis| self.shape[*axis]).collect();
        let strides = axes.iter().map(|axis| self.strides[*axis]).collect();
        Ok(Self { memory, device, pending: self.pending, kind: self.kind, shape, strides })
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "an array on a GPU cannot become an array of NumPy without a copy; omit copy=False",
            ));
        }
        let array = self.numpy(py)?;
        dtype.map_or(Ok(array.clone()), |dtype| array.call_method1("astype", (dtype,)))
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        interface.set_item("data", (self.address(), false))?;
        interface.set_item("strides", self.strides(py)?)?;
        interface.set_item("version", 3)?;
        // 0 is not allowed in the interface. 1 is the same stream.
        interface.set_item("stream", self.pending.then(|| self.device.stream_handle().max(1)))?;
        Ok(interface)
    }

    /// Return the kind of the device, 2 for CUDA, and its number.
    fn __dlpack_device__(&self) -> (i32, usize) {
        (CUDA, self.device.number())
    }

    /// Return the array as a capsule of DLPack.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            let message = format!("the array is on the device {:?}; copy it with numpy()", self.__dlpack_device__());
            return Err(PyBufferError::new_err(message));
        }
        let user = match stream {
            // Without a number, it is the legacy default stream. −1: the other package orders the work itself.
            None => Some(0),
            Some(-1) => None,
            Some(0) | Some(..-1) => {
                let message = "stream is not valid, expected -1, 1, 2, or the handle of a stream";
                return Err(PyValueError::new_err(message));
            }
            Some(stream) => Some(stream as u64),
        };
        let failed = |error| exception(py, &error);
        let copied = (copy == Some(true)).then(|| self.copied()).transpose().map_err(failed)?;
        let array = copied.as_ref().unwrap_or(self);
        if let (true, Some(user)) = (array.pending, user) {
            // SAFETY: the stream is one of the other package, for this call.
            unsafe { array.device.with_stream(user) }.wait_for(&array.device).map_err(failed)?;
        }
        let exported = ExportedArray {
            address: array.address(),
            device: TensorDevice { kind: CUDA, number: self.device.number() as i32 },
            number_type: TensorType {
                code: if self.kind.complex { 5 } else { 2 },
                bits: 8 * self.kind.bytes() as u8,
                lanes: 1,
            },
            shape: self.shape.iter().map(|length| *length as i64).collect(),
            strides: self.strides.iter().map(|stride| *stride as i64).collect(),
            memory: Box::new(array.memory.clone()),
        };
        exported.into_capsule(py, max_version.is_some_and(|(major, _)| major >= 1))
    }

    fn __len__(&self) -> PyResult<usize> {
        self.shape.first().copied().ok_or_else(|| PyTypeError::new_err("the array has no axes"))
    }

    fn __repr__(&self) -> String {
        format!("DeviceArray(shape={:?}, dtype={})", self.shape, self.kind.name())
    }
}

/// Copy an array of NumPy to a GPU, without gaps and with the axes in this order, the fastest first.
#[pyfunction]
pub fn gpu_array(value: &Bound<'_, PyAny>, order: Vec<usize>, device: &str) -> PyResult<PyDeviceArray> {
    let device = open(value.py(), device)?;
    let (given, kind) = array(value)?;
    with_number!(kind, upload(&given, &order, &device))
}

fn upload<T: Number>(given: &Bound<'_, PyUntypedArray>, order: &[usize], device: &Device) -> PyResult<PyDeviceArray> {
    let (py, mut axes) = (given.py(), order.to_vec());
    let shape = given.shape().to_vec();
    axes.reverse();
    // The numbers in the order of the memory.
    let ordered = given.call_method1("transpose", (axes,))?.cast_into::<PyUntypedArray>()?;
    let numbers = rows::<T>(&ordered)?;
    let memory =
        device.upload(bytemuck::cast_slice::<T, u8>(slice(&numbers))).map_err(|error| exception(py, &error))?;
    let kind = DtypeKind { complex: T::COMPLEX, double: size_of::<T::Real>() == 8 };
    let strides = dense_strides(&shape, order);
    Ok(PyDeviceArray { memory: Arc::new(memory), device: device.clone(), pending: false, kind, shape, strides })
}
