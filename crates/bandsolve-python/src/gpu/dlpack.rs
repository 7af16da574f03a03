//! DLPack: the tensors of other packages without a copy, and arrays of ours as tensors.
//!
//! Source: the header `dlpack.h` of DLPack 1.0, and the Python specification of the protocol.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule};
use std::any::Any;

/// The major version whose structures this file declares.
const MAJOR: u32 = 1;
/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

const PLAIN: &CStr = c"dltensor";
const PLAIN_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// `DLDevice`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TensorDevice {
    pub kind: i32,
    pub number: i32,
}

/// `DLDataType`: the code is 2 for real and 5 for complex numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct TensorType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

/// `DLTensor`.
#[derive(Debug)]
#[repr(C)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: TensorDevice,
    pub dimensions: i32,
    pub number_type: TensorType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct PlainTensor {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct VersionedTensor {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: Tensor,
}

/// A tensor of another package. The deleter runs when the value is dropped.
pub enum ImportedTensor {
    Plain(NonNull<c_void>),
    Versioned(NonNull<c_void>),
}

// SAFETY: the structure does not change, and any thread may call the deleter.
unsafe impl Send for ImportedTensor {}
// SAFETY: as above.
unsafe impl Sync for ImportedTensor {}

impl ImportedTensor {
    /// Call `__dlpack__` of an object and take over the tensor. Later work on `stream` waits for the work on the tensor.
    pub fn new(object: &Bound<'_, PyAny>, stream: u64) -> PyResult<Self> {
        let py = object.py();
        // 0 is not allowed, because it is ambiguous. 1 is the legacy default stream.
        let stream = stream.max(1).into_pyobject(py)?.into_any();
        let version = (MAJOR, 0).into_pyobject(py)?.into_any();
        let copy = false.into_pyobject(py)?.to_owned().into_any();
        let options = [("stream", stream.clone()), ("max_version", version), ("copy", copy)].into_py_dict(py)?;
        let capsule = match object.call_method("__dlpack__", (), Some(&options)) {
            // Packages that do not know DLPack 1.0 take `stream` alone.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                object.call_method("__dlpack__", (), Some(&[("stream", stream)].into_py_dict(py)?))?
            }
            other => other?,
        };
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let names = [(VERSIONED, VERSIONED_USED), (PLAIN, PLAIN_USED)];
        for (k, (name, used)) in names.into_iter().enumerate() {
            // SAFETY: the capsule is a live object, and the names are static. A capsule with this name holds such a tensor, which belongs to whom
            // renames the capsule.
            let taken = unsafe {
                if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                    continue;
                }
                let tensor = NonNull::new(ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()));
                ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr());
                tensor.expect("a valid capsule has a pointer")
            };
            let taken = if k == 0 { Self::Versioned(taken) } else { Self::Plain(taken) };
            return taken.checked();
        }
        Err(PyBufferError::new_err("__dlpack__ returned a capsule that is no unused tensor of DLPack"))
    }

    /// The tensor, if this file declares its structure.
    fn checked(self) -> PyResult<Self> {
        if let Self::Versioned(tensor) = &self {
            // SAFETY: the version is the first field in all versions.
            let [major, minor] = unsafe { *tensor.cast::<[u32; 2]>().as_ptr() };
            if major != MAJOR {
                let message = format!("__dlpack__ returned a tensor of DLPack {major}.{minor}, expected version 1");
                return Err(PyBufferError::new_err(message));
            }
        }
        Ok(self)
    }

    pub fn tensor(&self) -> &Tensor {
        // SAFETY: the tensor lives until the deleter is called.
        unsafe {
            match self {
                Self::Plain(tensor) => &tensor.cast::<PlainTensor>().as_ref().tensor,
                Self::Versioned(tensor) => &tensor.cast::<VersionedTensor>().as_ref().tensor,
            }
        }
    }

    /// Whether nobody may write to the tensor. Tensors of older versions do not say.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            // SAFETY: as in `tensor`.
            Self::Versioned(tensor) => unsafe { tensor.cast::<VersionedTensor>().as_ref().flags & READ_ONLY != 0 },
        }
    }
}

impl Drop for ImportedTensor {
    fn drop(&mut self) {
        // SAFETY: this value owns the tensor, and calls its deleter once.
        unsafe {
            match self {
                Self::Plain(tensor) => {
                    let tensor = tensor.cast::<PlainTensor>().as_ptr();
                    if let Some(delete) = (*tensor).deleter {
                        delete(tensor);
                    }
                }
                Self::Versioned(tensor) => {
                    // The deleter has another place in other major versions.
                    let tensor = tensor.cast::<VersionedTensor>().as_ptr();
                    if let (MAJOR, Some(delete)) = ((*tensor).version[0], (*tensor).deleter) {
                        delete(tensor);
                    }
                }
            }
        }
    }
}

/// An array of ours as a tensor.
pub struct ExportedArray {
    pub address: u64,
    pub device: TensorDevice,
    pub number_type: TensorType,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    /// What keeps the memory.
    #[expect(dead_code, reason = "keeps the memory")]
    pub memory: Box<dyn Any + Send + Sync>,
}

impl ExportedArray {
    /// The capsule for `__dlpack__`, of DLPack 1.0 if `versioned`.
    pub fn into_capsule(self, py: Python<'_>, versioned: bool) -> PyResult<Bound<'_, PyAny>> {
        let mut array = Box::new(self);
        let tensor = Tensor {
            data: core::ptr::with_exposed_provenance_mut(array.address as usize),
            device: array.device,
            dimensions: array.shape.len() as i32,
            number_type: array.number_type,
            shape: array.shape.as_mut_ptr(),
            strides: array.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let context = Box::into_raw(array).cast();
        // SAFETY: the names are static, and the pointers are those of boxes that the deleters free.
        unsafe {
            let capsule = if versioned {
                let deleter = Some(delete_versioned as unsafe extern "C" fn(_));
                let tensor = VersionedTensor { version: [MAJOR, 0], context, deleter, flags: 0, tensor };
                ffi::PyCapsule_New(Box::into_raw(Box::new(tensor)).cast(), VERSIONED.as_ptr(), Some(drop_versioned))
            } else {
                let tensor = PlainTensor { tensor, context, deleter: Some(delete_plain) };
                ffi::PyCapsule_New(Box::into_raw(Box::new(tensor)).cast(), PLAIN.as_ptr(), Some(drop_plain))
            };
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }
}

/// # Safety
/// The tensor comes from `into_capsule`, and this is the only call.
unsafe extern "C" fn delete_plain(tensor: *mut PlainTensor) {
    // SAFETY: the caller's promise.
    unsafe { drop(Box::from_raw(Box::from_raw(tensor).context.cast::<ExportedArray>())) }
}

/// # Safety
/// As [`delete_plain`].
unsafe extern "C" fn delete_versioned(tensor: *mut VersionedTensor) {
    // SAFETY: the caller's promise.
    unsafe { drop(Box::from_raw(Box::from_raw(tensor).context.cast::<ExportedArray>())) }
}

/// The destructor of a capsule: delete a tensor that nobody took over.
///
/// # Safety
/// Python calls it, with the capsule.
unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule that still has this name owns its tensor.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// # Safety
/// As [`drop_plain`].
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `drop_plain`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}
