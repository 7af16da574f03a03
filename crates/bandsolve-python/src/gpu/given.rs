//! Arrays of the caller in the memory of a GPU, where they lie: `__cuda_array_interface__` and DLPack.

use super::dlpack::{ImportedTensor, TensorType};
use crate::arrays::DtypeKind;
use crate::device::{CUDA, CUDA_MANAGED, Device, INTERFACE, is_on_gpu};
use core::ops::Range;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The stream that an array names in its `__cuda_array_interface__`; None if it names none.
#[pyfunction]
pub fn stream_of_array(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    Ok(match ReadArgument::new(name, value)? {
        ReadArgument::Read(array) => array.stream,
        ReadArgument::Dlpack => None,
    })
}

/// An array in the memory of a GPU. The caller's object, or its tensor, lives as long as this value.
pub struct GivenArray {
    pub name: String,
    pub address: u64,
    pub kind: DtypeKind,
    pub shape: Vec<usize>,
    /// Distances in numbers.
    pub strides: Vec<isize>,
    pub read_only: bool,
    /// The stream on which the caller works with the array.
    pub stream: Option<u64>,
    #[expect(dead_code, reason = "keeps the memory")]
    memory: (Py<PyAny>, Option<ImportedTensor>),
}

/// An argument that may still have to be read by DLPack, when the stream of the solve is known.
enum ReadArgument {
    Read(GivenArray),
    Dlpack,
}

impl ReadArgument {
    fn new(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !is_on_gpu(value)? {
            let kind = value.get_type().name()?;
            let message = format!(
                "{name} is a {kind} in the memory of the host, but another array is on a GPU. Copy {name} to the GPU, for example with \
                 bandsolve.gpu.asarray or cupy.asarray, or pass all arrays as arrays of NumPy"
            );
            return Err(PyTypeError::new_err(message));
        }
        let Some(interface) = value.getattr_opt(INTERFACE)? else { return Ok(Self::Dlpack) };
        // Streams exist from version 3 on. DLPack orders the work of older packages.
        let old = interface.get_item("version")?.extract::<u32>()? < 3;
        if old && value.hasattr("__dlpack__")? {
            return Ok(Self::Dlpack);
        }
        GivenArray::from_interface(name, value, &interface).map(Self::Read)
    }
}

impl GivenArray {
    /// Read the arguments, and decide on which stream a solve with them runs: `stream`, or the first stream that an array names, or the legacy
    /// default stream. That stream then waits for the work of the arrays that are read by DLPack.
    pub fn read_all<'py>(arguments: &[(&str, &Bound<'py, PyAny>)], stream: Option<u64>) -> PyResult<(Vec<Self>, u64)> {
        let found: Vec<ReadArgument> =
            arguments.iter().map(|(name, value)| ReadArgument::new(name, value)).collect::<PyResult<_>>()?;
        let named = |found: &ReadArgument| match found {
            ReadArgument::Read(array) => array.stream,
            ReadArgument::Dlpack => None,
        };
        let stream = stream.or_else(|| found.iter().find_map(named)).unwrap_or(0);
        let read = |(found, (name, value)): (ReadArgument, &(&str, &Bound<'py, PyAny>))| match found {
            ReadArgument::Read(array) => Ok(array),
            ReadArgument::Dlpack => Self::from_tensor(name, value, stream),
        };
        Ok((found.into_iter().zip(arguments).map(read).collect::<PyResult<_>>()?, stream))
    }

    fn from_interface(name: &str, value: &Bound<'_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |problem: String| PyValueError::new_err(format!("{name}.{INTERFACE} {problem}"));
        let optional = |key: &str| {
            let found = interface.call_method1("get", (key,))?;
            Ok::<_, PyErr>((!found.is_none()).then_some(found))
        };
        if optional("mask")?.is_some() {
            return Err(wrong("has a mask, expected an array without one. Replace the masked entries".into()));
        }
        let typestr: String = interface.get_item("typestr")?.extract()?;
        let kind = match typestr.as_str() {
            "<f4" => DtypeKind { complex: false, double: false },
            "<f8" => DtypeKind { complex: false, double: true },
            "<c8" => DtypeKind { complex: true, double: false },
            "<c16" => DtypeKind { complex: true, double: true },
            _ => return Err(other_type(name, &typestr)),
        };
        let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
        let (address, read_only): (Option<u64>, bool) = interface.get_item("data")?.extract()?;
        let bytes = kind.bytes() as isize;
        let strides = match optional("strides")? {
            None => dense_strides(&shape, &(0..shape.len()).rev().collect::<Vec<_>>()),
            Some(strides) => {
                let strides: Vec<isize> = strides.extract()?;
                if strides.len() != shape.len() || strides.iter().any(|stride| stride % bytes != 0) {
                    let expected = format!("expected {} multiples of {bytes} bytes", shape.len());
                    return Err(wrong(format!("has the strides {strides:?}, {expected}")));
                }
                strides.iter().map(|stride| stride / bytes).collect()
            }
        };
        let stream: Option<u64> = optional("stream")?.map(|stream| stream.extract()).transpose()?;
        if stream == Some(0) {
            let expected =
                "1 for the legacy default stream, 2 for the default stream of the thread, or the handle of a stream";
            return Err(wrong(format!("has the stream 0, expected {expected}")));
        }
        let memory = (value.clone().unbind(), None);
        let name = name.into();
        Ok(Self { name, address: address.unwrap_or(0), kind, shape, strides, read_only, stream, memory })
    }

    fn from_tensor(name: &str, value: &Bound<'_, PyAny>, stream: u64) -> PyResult<Self> {
        let imported = ImportedTensor::new(value, stream)?;
        let tensor = imported.tensor();
        let kind = match tensor.number_type {
            TensorType { code: 2, bits: 32, lanes: 1 } => DtypeKind { complex: false, double: false },
            TensorType { code: 2, bits: 64, lanes: 1 } => DtypeKind { complex: false, double: true },
            TensorType { code: 5, bits: 64, lanes: 1 } => DtypeKind { complex: true, double: false },
            TensorType { code: 5, bits: 128, lanes: 1 } => DtypeKind { complex: true, double: true },
            TensorType { code, bits, .. } => return Err(other_type(name, &format!("code {code}, {bits} bits"))),
        };
        if ![CUDA, CUDA_MANAGED].contains(&tensor.device.kind) {
            let message = format!("{name} is in memory of the kind {}, expected that of a GPU (2)", tensor.device.kind);
            return Err(PyValueError::new_err(message));
        }
        let dimensions = tensor.dimensions.unsigned_abs() as usize;
        let list = |first: *const i64| {
            // SAFETY: shape and strides have a number for each dimension. Without dimensions, they may be null.
            if dimensions == 0 { &[] } else { unsafe { core::slice::from_raw_parts(first, dimensions) } }
        };
        let shape: Vec<usize> = list(tensor.shape).iter().map(|length| *length as usize).collect();
        let strides = match tensor.strides.is_null() {
            true => dense_strides(&shape, &(0..dimensions).rev().collect::<Vec<_>>()),
            false => list(tensor.strides).iter().map(|stride| *stride as isize).collect(),
        };
        let (address, read_only) = (tensor.data.addr() as u64 + tensor.byte_offset, imported.is_read_only());
        let memory = (value.clone().unbind(), Some(imported));
        Ok(Self { name: name.into(), address, kind, shape, strides, read_only, stream: None, memory })
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the numbers follow each other without gaps, if the axes are counted in this order, the fastest first.
    pub fn is_dense(&self, order: &[usize]) -> bool {
        let dense = dense_strides(&self.shape, order);
        self.len() == 0 || (0..order.len()).all(|axis| self.shape[axis] == 1 || self.strides[axis] == dense[axis])
    }

    /// Check that the memory order is as expected; `advice` says what to do.
    pub fn check_dense(&self, order: &[usize], advice: &str) -> PyResult<()> {
        if self.is_dense(order) {
            return Ok(());
        }
        let (name, shape, strides) = (&self.name, &self.shape, &self.strides);
        let message = format!(
            "{name} has the shape {shape:?} and the strides {strides:?} (in numbers), which cannot be used without a copy. {advice}"
        );
        Err(PyValueError::new_err(message))
    }

    /// Check the number type.
    pub fn check_kind(&self, expected: DtypeKind, like: &str) -> PyResult<()> {
        if self.kind == expected {
            return Ok(());
        }
        let (name, own, expected) = (&self.name, self.kind.name(), expected.name());
        let message = format!(
            "{name} has the dtype {own}, expected {expected}, the dtype of {like}. Convert {name} on the GPU, for example with {name}.astype"
        );
        Err(PyTypeError::new_err(message))
    }

    /// Check that the array is in the memory of a device, and that its address fits its number type.
    pub fn check_device(&self, device: &Device, name: &str) -> PyResult<()> {
        if self.len() == 0 {
            return Ok(());
        }
        if !device.holds(self.address) {
            let message = format!(
                "{} is not in the memory of {name}, on which the solve runs. Copy it to that GPU, or pass only arrays of one GPU",
                self.name
            );
            return Err(PyValueError::new_err(message));
        }
        if !self.address.is_multiple_of(self.kind.bytes() as u64) {
            let message = format!(
                "{} begins at an address that is no multiple of {} bytes. Copy it",
                self.name,
                self.kind.bytes()
            );
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }

    /// Check that a solution with the shape and the order of `rhs` can be written to this array.
    pub fn check_out(
        &self,
        rhs: &Self,
        (kind, like): (DtypeKind, &str),
        order: &[usize],
        (device, device_name): (&Device, &str),
    ) -> PyResult<()> {
        let (wrong, of_rhs) = (|message: String| Err(PyValueError::new_err(message)), &rhs.name);
        self.check_kind(kind, like)?;
        if self.shape != rhs.shape {
            let (own, expected) = (&self.shape, &rhs.shape);
            return wrong(format!("out has the shape {own:?}, expected {expected:?}, the shape of {of_rhs}"));
        }
        self.check_dense(order, &format!("Pass out in the memory order of {of_rhs}."))?;
        self.check_device(device, device_name)?;
        if self.read_only {
            return wrong("out is read-only. Pass an array that may be written, or omit out".into());
        }
        if self.places() != rhs.places() && self.overlaps(rhs) {
            return wrong(format!(
                "out overlaps {of_rhs} in memory, but is not {of_rhs}. Pass {of_rhs} itself, or a separate array"
            ));
        }
        Ok(())
    }

    /// The addresses of an array without gaps.
    fn places(&self) -> Range<u64> {
        self.address..self.address + (self.len() * self.kind.bytes()) as u64
    }

    /// Whether two arrays without gaps share memory.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (own, other) = (self.places(), other.places());
        own.start < other.end && other.start < own.end
    }
}

fn other_type(name: &str, found: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{name} has the number type {found}, expected float32, float64, complex64 or complex128. Convert {name} on the GPU, for example with \
         {name}.astype"
    ))
}

/// The strides, in numbers, of an array without gaps whose axes have this order, the fastest first.
pub fn dense_strides(shape: &[usize], order: &[usize]) -> Vec<isize> {
    let (mut strides, mut step) = (vec![0; shape.len()], 1);
    for axis in order {
        strides[*axis] = step;
        step *= shape[*axis] as isize;
    }
    strides
}
