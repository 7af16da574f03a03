//! The structures of `xla/ffi/api/c_api.h`, by which XLA calls functions of other libraries: those that a solver needs.

use crate::arrays::{DtypeKind, Number};
use core::ffi::{c_char, c_int, c_void};
use core::mem::offset_of;
use core::ptr::null_mut;
use core::slice;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The versions 0.1 to 0.3 have the same layout of all structures of this file.
const MAJOR_VERSION: c_int = 0;
const MINOR_VERSIONS: [c_int; 2] = [1, 3];
/// The first version whose metadata certainly end with the type of a state.
const VERSION_WITH_STATES: c_int = 3;

const METADATA_EXTENSION: c_int = 1;
const EXECUTE_STAGE: c_int = 3;
const BUFFER: c_int = 1;
const SCALAR: c_int = 3;
const PREDICATE: c_int = 1;

const INVALID_ARGUMENT: c_int = 3;
const RESOURCE_EXHAUSTED: c_int = 8;
const INTERNAL: c_int = 13;

/// A function that XLA calls. It returns null, or an error that XLA destroys.
pub type Handler = unsafe extern "C" fn(*mut CallFrame) -> *mut XlaError;

/// An error, known to XLA alone.
#[repr(C)]
pub struct XlaError {
    _opaque: [u8; 0],
}

#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
struct ApiVersion {
    struct_size: usize,
    extension: *mut Extension,
    major: c_int,
    minor: c_int,
}

#[repr(C)]
struct Metadata {
    struct_size: usize,
    version: ApiVersion,
    traits: u32,
    /// Since version 0.3. `struct_size` does not count it.
    state_type: i64,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

#[repr(C)]
struct ErrorArguments {
    struct_size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

#[repr(C)]
struct Api {
    struct_size: usize,
    extension: *mut Extension,
    version: ApiVersion,
    internal: *const c_void,
    create_error: unsafe extern "C" fn(*mut ErrorArguments) -> *mut XlaError,
}

#[repr(C)]
struct Buffer {
    struct_size: usize,
    extension: *mut Extension,
    dtype: c_int,
    data: *mut c_void,
    rank: i64,
    dims: *const i64,
}

/// The arguments or the results of a call.
#[repr(C)]
struct XlaBuffers {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    kinds: *const c_int,
    buffers: *const *const Buffer,
}

#[repr(C)]
struct ByteSpan {
    first: *const u8,
    len: usize,
}

#[repr(C)]
struct XlaScalar {
    dtype: c_int,
    value: *const c_void,
}

#[repr(C)]
struct Attributes {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    kinds: *const c_int,
    names: *const *const ByteSpan,
    values: *const *const c_void,
}

/// All that XLA passes to a [`Handler`].
#[repr(C)]
pub struct CallFrame {
    struct_size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: XlaBuffers,
    results: XlaBuffers,
    attributes: Attributes,
}

/// Answer a call: a question of XLA for the version, or a computation.
///
/// # Safety
/// `frame` comes from XLA.
pub unsafe fn answer(frame: *mut CallFrame, compute: impl FnOnce(Call<'_>) -> PyResult<()>) -> *mut XlaError {
    // SAFETY: XLA passes a frame, which is alive until the function returns. Its first field is the size of the frame that XLA knows.
    unsafe {
        if (*frame).struct_size < size_of::<CallFrame>() {
            let message = "XLA called the solver with a smaller structure than expected. Report this, with the versions of JAX and bandsolve";
            return create_error((*frame).api, INTERNAL, message.into());
        }
        let frame = &*frame;
        if let Some(extension) = frame.extension.as_ref()
            && extension.kind == METADATA_EXTENSION
        {
            write_version(frame, frame.extension.cast());
            return null_mut();
        }
        // No panic may reach XLA.
        let outcome = catch_unwind(AssertUnwindSafe(|| compute(Call { frame }).map_err(described)));
        match outcome {
            Ok(Ok(())) => null_mut(),
            Ok(Err((code, message))) => create_error(frame.api, code, message),
            Err(_) => create_error(
                frame.api,
                INTERNAL,
                "the solver stopped because of an error in bandsolve. Report this, with the call".into(),
            ),
        }
    }
}

/// The code and the message for an exception.
fn described(error: PyErr) -> (c_int, String) {
    Python::attach(|py| {
        let code = match () {
            () if error.is_instance_of::<PyValueError>(py) => INVALID_ARGUMENT,
            () if error.is_instance_of::<PyMemoryError>(py) => RESOURCE_EXHAUSTED,
            () => INTERNAL,
        };
        (code, error.to_string())
    })
}

/// Write the version of the interface: that of XLA if this file knows it, otherwise the nearest one. XLA refuses versions that it does not support.
///
/// # Safety
/// Both are of a call from XLA.
unsafe fn write_version(frame: &CallFrame, extension: *mut MetadataExtension) {
    // SAFETY: XLA passes structures of the sizes that they state.
    unsafe {
        let enough = offset_of!(Metadata, traits) + size_of::<u32>();
        if (*extension).base.struct_size < size_of::<MetadataExtension>()
            || (*(*extension).metadata).struct_size < enough
        {
            // The version stays as it is, and XLA does not register the function.
            return;
        }
        let metadata = (*extension).metadata;
        let [first, last] = MINOR_VERSIONS;
        let minor = frame.api.as_ref().map_or(first, |api| api.version.minor.clamp(first, last));
        (*metadata).version.major = MAJOR_VERSION;
        (*metadata).version.minor = minor;
        (*metadata).traits = 0;
        if minor >= VERSION_WITH_STATES {
            (*metadata).state_type = 0;
        }
    }
}

/// # Safety
/// `api` is null or of a call from XLA.
unsafe fn create_error(api: *const Api, code: c_int, message: String) -> *mut XlaError {
    let message = CString::new(message.replace('\0', "")).unwrap_or_default();
    let mut arguments = ErrorArguments {
        struct_size: offset_of!(ErrorArguments, code) + size_of::<c_int>(),
        extension: null_mut(),
        message: message.as_ptr(),
        code,
    };
    // SAFETY: the function copies the message.
    unsafe { api.as_ref().map_or(null_mut(), |api| (api.create_error)(&raw mut arguments)) }
}

/// A computation that XLA asks for.
pub struct Call<'a> {
    frame: &'a CallFrame,
}

/// An array in row-major order.
pub struct XlaArray<'a, T> {
    pub dims: Vec<usize>,
    pub numbers: &'a [T],
}

/// The array for a result.
pub struct XlaResult<'a, T> {
    pub dims: Vec<usize>,
    pub numbers: &'a mut [T],
}

/// The numbers of XLA's enumeration of types for the types of solvers.
const DTYPES: [(c_int, DtypeKind); 4] = [
    (11, DtypeKind { complex: false, double: false }),
    (12, DtypeKind { complex: false, double: true }),
    (15, DtypeKind { complex: true, double: false }),
    (18, DtypeKind { complex: true, double: true }),
];

/// The exception for a call that the Python module does not make.
pub fn unexpected(what: &str) -> PyErr {
    let message = format!(
        "XLA called the solver with {what}, expected a call by bandsolve.jax. Report this, with the versions of JAX and bandsolve"
    );
    PyRuntimeError::new_err(message)
}

impl<'a> Call<'a> {
    /// Check that the call is the execution of a computation.
    pub fn check_stage(&self) -> PyResult<()> {
        if self.frame.stage == EXECUTE_STAGE { Ok(()) } else { Err(unexpected("another stage than execution")) }
    }

    /// The number type of the first result.
    pub fn kind(&self) -> PyResult<DtypeKind> {
        let dtype = buffer(&self.frame.results, 0)?.dtype;
        let known = DTYPES.iter().find(|(number, _)| *number == dtype);
        Ok(known.ok_or_else(|| unexpected("a result of an unknown type"))?.1)
    }

    /// An argument, whose numbers must have the type of [`Self::kind`], which is `T`.
    pub fn argument<T: Number>(&self, index: usize) -> PyResult<XlaArray<'a, T>> {
        let (data, dims) = self.parts::<T>(&self.frame.arguments, index)?;
        // SAFETY: XLA keeps the array alive and does not write to it during the call. The pointer was checked.
        let numbers = unsafe { slice::from_raw_parts(data, dims.iter().product()) };
        Ok(XlaArray { dims, numbers })
    }

    /// The only result, of the type `T` of [`Self::kind`]. Its numbers must not be read before they are written.
    pub fn result<T: Number>(&mut self) -> PyResult<XlaResult<'a, T>> {
        let (data, dims) = self.parts::<T>(&self.frame.results, 0)?;
        // SAFETY: the array overlaps no other, because the call declares no aliases. `self` is borrowed exclusively. The pointer was checked.
        let numbers = unsafe { slice::from_raw_parts_mut(data, dims.iter().product()) };
        Ok(XlaResult { dims, numbers })
    }

    /// The numbers and the lengths of the axes of an array. The pointer is aligned, and not null.
    fn parts<T>(&self, of: &'a XlaBuffers, index: usize) -> PyResult<(*mut T, Vec<usize>)> {
        let (buffer, first) = (buffer(of, index)?, buffer(&self.frame.results, 0)?);
        if buffer.dtype != first.dtype {
            return Err(unexpected("arrays of different types"));
        }
        let rank = usize::try_from(buffer.rank).map_err(|_| unexpected("a negative number of axes"))?;
        // SAFETY: XLA passes as many lengths.
        let dims = unsafe { numbers_of(buffer.dims, rank) };
        let dims: Result<Vec<usize>, _> = dims.iter().map(|length| usize::try_from(*length)).collect();
        let dims = dims.map_err(|_| unexpected("an axis of negative length"))?;
        // An array without entries may have no address.
        let data = if dims.contains(&0) { core::ptr::dangling_mut() } else { buffer.data.cast::<T>() };
        if data.is_null() || !data.is_aligned() {
            return Err(unexpected("an array that is not aligned"));
        }
        Ok((data, dims))
    }

    /// An attribute that is true or false.
    pub fn flag(&self, name: &str) -> PyResult<bool> {
        let attributes = &self.frame.attributes;
        let size = usize::try_from(attributes.size).unwrap_or(0);
        // SAFETY: XLA passes as many names, types and values. A scalar of type `PREDICATE` is one byte.
        unsafe {
            let names = numbers_of(attributes.names, size);
            let place = names.iter().position(|span| numbers_of((**span).first, (**span).len) == name.as_bytes());
            let place = place.filter(|place| *attributes.kinds.add(*place) == SCALAR);
            let scalar = place.map(|place| &*(*attributes.values.add(place)).cast::<XlaScalar>());
            let scalar = scalar.filter(|scalar| scalar.dtype == PREDICATE);
            scalar.map(|scalar| *scalar.value.cast::<u8>() != 0).ok_or_else(|| unexpected("an attribute missing"))
        }
    }
}

/// An argument or a result.
fn buffer(of: &XlaBuffers, index: usize) -> PyResult<&Buffer> {
    if usize::try_from(of.size).is_ok_and(|size| index < size) {
        // SAFETY: XLA passes as many types and values. A value of type `BUFFER` is a buffer.
        unsafe {
            let buffer = &**of.buffers.add(index);
            if *of.kinds.add(index) == BUFFER && buffer.struct_size >= size_of::<Buffer>() {
                return Ok(buffer);
            }
        }
    }
    Err(unexpected("arguments that are not arrays, or too few"))
}

/// A slice, also where a list without entries is a null pointer.
///
/// # Safety
/// If `len` is not 0, `first` points to as many entries.
unsafe fn numbers_of<'a, T>(first: *const T, len: usize) -> &'a [T] {
    // SAFETY: as the caller says.
    if len == 0 { &[] } else { unsafe { slice::from_raw_parts(first, len) } }
}
