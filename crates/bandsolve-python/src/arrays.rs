//! NumPy arrays as slices, without copies where their type and order allow it.

use crate::device::DeviceScalar;
use bandsolve::{Complex32, Complex64, Scalar};
use core::ffi::c_int;
use core::ops::Range;
use core::ptr::null_mut;
use numpy::npyffi::flags::NPY_ARRAY_WRITEABLE;
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyFloat, PyInt, PyList, PyTuple, PyType};

/// A number type of the solvers.
pub trait Number: Scalar + Element + DeviceScalar {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for Complex32 {}
impl Number for Complex64 {}

/// A [`Number`] type, selected at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DtypeKind {
    pub complex: bool,
    pub double: bool,
}

impl DtypeKind {
    /// Get the number type for a NumPy array. As in SciPy, integers become double precision numbers.
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        // The numbers are those of the enumeration `NPY_TYPES` of NumPy. 11: float, 23: half, 14: complex float.
        let (complex, double) = match array.dtype().num() {
            11 | 23 => (false, false),
            0..=10 | 12 | 13 => (false, true),
            14 => (true, false),
            15 | 16 => (true, true),
            _ => {
                let dtype = array.dtype();
                return Err(PyTypeError::new_err(format!("an array has the dtype {dtype}, expected numbers")));
            }
        };
        Ok(Self { complex, double })
    }

    /// The number of bytes of a number.
    #[cfg(feature = "cuda")]
    pub fn bytes(self) -> usize {
        let real = if self.double { 8 } else { 4 };
        if self.complex { 2 * real } else { real }
    }

    /// NumPy's name of the type.
    #[cfg(feature = "cuda")]
    pub fn name(self) -> &'static str {
        match (self.complex, self.double) {
            (false, false) => "float32",
            (false, true) => "float64",
            (true, false) => "complex64",
            (true, true) => "complex128",
        }
    }

    /// Get the smallest type that represents numbers of both types.
    pub fn join(self, other: Self) -> Self {
        Self { complex: self.complex || other.complex, double: self.double || other.double }
    }
}

/// Call a generic function with the type that a [`DtypeKind`] selects.
macro_rules! with_number {
    ($kind:expr, $call:ident($($argument:expr),* $(,)?)) => {
        match $kind {
            $crate::arrays::DtypeKind { complex: false, double: false } => $call::<f32>($($argument),*),
            $crate::arrays::DtypeKind { complex: false, double: true } => $call::<f64>($($argument),*),
            $crate::arrays::DtypeKind { complex: true, double: false } => $call::<bandsolve::Complex32>($($argument),*),
            $crate::arrays::DtypeKind { complex: true, double: true } => $call::<bandsolve::Complex64>($($argument),*),
        }
    };
}
pub(crate) use with_number;

/// Call `numpy.asarray`.
fn asarray<'py>(value: &Bound<'py, PyAny>, options: &[(&str, Bound<'py, PyAny>)]) -> PyResult<Bound<'py, PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    FUNCTION.import(py, "numpy", "asarray")?.call((value,), Some(&options.into_py_dict(py)?))
}

/// Convert an argument to an array. A masked array is a `ValueError`, because `numpy.asarray` drops the mask.
#[pyfunction]
pub fn as_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = value.cast_exact::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let listed = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if is_masked(value)? || listed && any_masked(value)? {
        let message = "an array is masked, expected one without a mask. Replace the masked entries, for example with a.filled(0.0), or remove \
                       them.";
        return Err(PyValueError::new_err(message));
    }
    match value.cast::<PyUntypedArray>() {
        Ok(array) => Ok(array.clone()),
        Err(_) => Ok(asarray(value, &[])?.cast_into::<PyUntypedArray>()?),
    }
}

/// Whether an item of a list is a masked array.
fn any_masked(list: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in list.try_iter()? {
        if is_masked(&item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an object is a `numpy.ma.MaskedArray`.
fn is_masked(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    // Most items of lists are numbers, for which this test is faster.
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    value.is_instance(CLASS.import(value.py(), "numpy.ma", "MaskedArray")?)
}

/// Convert an argument to an array without a change of its type, and get the number type for it.
pub fn array<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyUntypedArray>, DtypeKind)> {
    let array = as_array(value)?;
    let kind = DtypeKind::of(&array)?;
    Ok((array, kind))
}

/// Convert an array to type `T` in Fortran order. The function copies only if the type, the order or the alignment differs.
pub fn columns<'py, T: Number>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    if let Ok(typed) = array.cast::<PyArrayDyn<T>>()
        && let [height, width] = *typed.shape()
        && height.min(width) > 1
        && typed.is_c_contiguous()
        && typed.data().is_aligned()
    {
        let (py, from) = (array.py(), slice(typed));
        return Ok(filled(py, &[height, width], true, |to| py.detach(|| transpose(from, width, to)))?.0);
    }
    in_order(array, "F", check_real::<T>, |array| array.is_fortran_contiguous())
}

/// Bytes of each column that [`transpose`] writes together. Of 32 to 512 bytes, 256 were fastest on an EPYC (Zen 3) with 64 columns of 10⁵ and 2¹⁷
/// `f64` numbers.
const COLUMN_BYTES: usize = 256;

/// Copy an array of rows with `width` entries to columns, in pieces. NumPy copies number by number.
pub fn transpose<T: Copy>(from: &[T], width: usize, to: &mut [T]) {
    let (height, together) = (from.len() / width, (COLUMN_BYTES / size_of::<T>()).max(1));
    for first in (0..height).step_by(together) {
        let block = &from[first * width..height.min(first + together) * width];
        for (j, column) in to.chunks_exact_mut(height).enumerate() {
            let entries = block[j..].iter().step_by(width);
            column[first..].iter_mut().zip(entries).for_each(|(to, entry)| *to = *entry);
        }
    }
}

/// Convert an array to type `T` in C order, as [`columns`] does in Fortran order.
pub fn rows<'py, T: Number>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    in_order(array, "C", check_real::<T>, |array| array.is_c_contiguous())
}

/// Return an error for a complex array if `T` is real, because NumPy would drop the imaginary parts.
fn check_real<T: Number>(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    match !T::COMPLEX && DtypeKind::of(array)?.complex {
        true => Err(PyTypeError::new_err("an array or the result of a function is complex, expected real numbers")),
        false => Ok(()),
    }
}

/// Convert an array to type `T` with any strides that are not negative. The function copies only if the type, the alignment or the sign of a stride
/// differs. A copy has the same order in memory.
pub fn strided<'py, T: Number>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    in_order(array, "K", check_real::<T>, |array| {
        let size = size_of::<T>() as isize;
        array.strides().iter().zip(array.shape()).all(|(stride, n)| *n <= 1 || *stride >= 0 && stride % size == 0)
    })
}

/// Convert an array to the integer type `I` in C order.
pub fn integers<'py, I: Element>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<I>>> {
    in_order(array, "C", |_| Ok(()), |array| array.is_c_contiguous())
}

fn in_order<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
    order: &str,
    check: impl Fn(&Bound<'py, PyUntypedArray>) -> PyResult<()>,
    is_so: impl Fn(&Bound<'py, PyArrayDyn<T>>) -> bool,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let fits = |array: &Bound<'py, PyArrayDyn<T>>| is_so(array) && array.data().is_aligned();
    if let Ok(array) = array.cast::<PyArrayDyn<T>>()
        && fits(array)
    {
        return Ok(array.clone());
    }
    check(array)?;
    let py = array.py();
    let dtype = numpy::dtype::<T>(py).into_any();
    let order = pyo3::types::PyString::new(py, order).into_any();
    let converted = asarray(array.as_any(), &[("dtype", dtype), ("order", order.clone())])?;
    let converted = converted.cast_into::<PyArrayDyn<T>>()?;
    if fits(&converted) {
        return Ok(converted);
    }
    // `numpy.asarray` returns the array itself if only its alignment is wrong.
    Ok(converted.call_method1("copy", (order,))?.cast_into::<PyArrayDyn<T>>()?)
}

/// Get the numbers of an array that [`columns`], [`rows`] or [`integers`] returned.
pub fn slice<'a, T: Element>(array: &'a Bound<'_, PyArrayDyn<T>>) -> &'a [T] {
    // SAFETY: the array is contiguous in one order or the other, aligned, and kept alive by the reference. As for NumPy's own functions,
    // other threads must not write to it in the meantime.
    unsafe { std::slice::from_raw_parts(array.data(), array.len()) }
}

/// Get the numbers of an array that [`strided`] returned, from its first entry to its last with all that lies in between.
pub fn strided_slice<'a, T: Element>(array: &'a Bound<'_, PyArrayDyn<T>>) -> &'a [T] {
    let count = memory_of(array.as_untyped()).len() / size_of::<T>();
    // SAFETY: as in `slice`. No stride is negative, so that the first entry has the lowest address. The entries lie in one piece of memory, in which
    // every bit pattern is a number.
    unsafe { std::slice::from_raw_parts(array.data(), count) }
}

/// Create an array with one or two dimensions, in Fortran or C order, and fill it with `fill`, which must not read it.
///
/// # Errors
/// `MemoryError`.
pub fn filled<'py, T: Number, R>(
    py: Python<'py>,
    dims: &[usize],
    fortran: bool,
    fill: impl FnOnce(&mut [T]) -> R,
) -> PyResult<(Bound<'py, PyArrayDyn<T>>, R)> {
    let mut lengths = [0; 2];
    let lengths = &mut lengths[..dims.len()];
    lengths.iter_mut().zip(dims).for_each(|(to, from)| *to = *from as npy_intp);
    let (count, flags) = (lengths.len() as c_int, c_int::from(fortran));
    let dtype = numpy::dtype::<T>(py).into_dtype_ptr();
    // `PyArray::new` panics if the allocation fails, so call NumPy directly.
    // SAFETY: the call gets a type object, a number type, whose reference it takes over, and `count` lengths. A null result becomes an error.
    // Every bit pattern in the new memory is a valid number.
    let array = unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let (lengths, none) = (lengths.as_mut_ptr(), null_mut());
        let object =
            PY_ARRAY_API.PyArray_NewFromDescr(py, class, dtype, count, lengths, null_mut(), null_mut(), flags, none);
        Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked::<PyArrayDyn<T>>()
    };
    // SAFETY: the array is contiguous, and there is no other reference to it yet.
    let result = fill(unsafe { std::slice::from_raw_parts_mut(array.data(), array.len()) });
    Ok((array, result))
}

/// Where a solution is written.
#[derive(Clone, Copy)]
pub enum OutputArray<'a, 'py> {
    /// To a new array.
    New,
    /// To the caller's array.
    Out(&'a Bound<'py, PyAny>),
    /// To the array of the right-hand sides, if its type and order allow it.
    Rhs,
}

impl<'a, 'py> OutputArray<'a, 'py> {
    /// The target that the arguments `out` and `overwrite_rhs` select.
    pub fn new(out: Option<&'a Bound<'py, PyAny>>, overwrite_rhs: bool) -> Self {
        match out {
            Some(out) => Self::Out(out),
            None if overwrite_rhs => Self::Rhs,
            None => Self::New,
        }
    }

    /// The array to write to, or `None` for a new one. It has the shape of `rhs` and is contiguous in order F (`fortran`) or C. It either is
    /// `rhs` or does not overlap it.
    ///
    /// # Errors
    /// `ValueError` for an array `out` that does not fit.
    pub fn array<T: Number>(
        self,
        rhs: &Bound<'py, PyUntypedArray>,
        fortran: bool,
    ) -> PyResult<Option<Bound<'py, PyArrayDyn<T>>>> {
        let fits = |array: &Bound<'py, PyArrayDyn<T>>| {
            let ordered = if fortran { array.is_fortran_contiguous() } else { array.is_c_contiguous() };
            ordered && array.data().is_aligned() && is_writable(array)
        };
        let out = match self {
            OutputArray::New => return Ok(None),
            OutputArray::Rhs => return Ok(rhs.cast::<PyArrayDyn<T>>().ok().filter(|array| fits(array)).cloned()),
            OutputArray::Out(out) => out,
        };
        let typed = out.cast::<PyArrayDyn<T>>().ok().filter(|array| array.shape() == rhs.shape());
        let Some(typed) = typed else {
            let found = match out.cast::<PyUntypedArray>() {
                Ok(array) => format!("{} of the shape {}", array.dtype(), array.getattr("shape")?.str()?),
                Err(_) => out.get_type().name()?.to_string(),
            };
            let (dtype, shape) = (numpy::dtype::<T>(rhs.py()), rhs.getattr("shape")?.str()?);
            let message = format!("out is {found}, expected an array of {dtype} of the shape {shape}");
            return Err(PyValueError::new_err(message));
        };
        if !fits(typed) {
            let order = if fortran { "F" } else { "C" };
            let message = format!("out must be writable, aligned, and contiguous in order {order}");
            return Err(PyValueError::new_err(message));
        }
        let same = rhs.cast::<PyArrayDyn<T>>().is_ok_and(|rhs| rhs.data() == typed.data() && fits(rhs));
        let [of_rhs, of_out] = [memory_of(rhs), memory_of(typed.as_untyped())];
        if !same && of_rhs.start < of_out.end && of_out.start < of_rhs.end {
            let message = "out overlaps rhs in memory, but is not rhs. Pass rhs itself, or a separate array";
            return Err(PyValueError::new_err(message));
        }
        Ok(Some(typed.clone()))
    }
}

/// The addresses from the first byte of an array to its last, with what lies between its entries.
fn memory_of(array: &Bound<'_, PyUntypedArray>) -> Range<usize> {
    if array.is_empty() {
        return 0..0;
    }
    // SAFETY: the pointer is that of a live array object.
    let first = unsafe { (*array.as_array_ptr()).fields.data }.addr();
    let (mut start, mut end) = (first, first + array.dtype().itemsize());
    for (length, stride) in array.shape().iter().zip(array.strides()) {
        let reach = stride.unsigned_abs() * (length - 1);
        if *stride < 0 { start -= reach } else { end += reach }
    }
    start..end
}

/// Whether NumPy allows writing to an array.
fn is_writable<T: Element>(array: &Bound<'_, PyArrayDyn<T>>) -> bool {
    // SAFETY: the pointer is that of a live array object.
    unsafe { (*array.as_array_ptr()).fields.flags & NPY_ARRAY_WRITEABLE != 0 }
}

/// Check that right-hand sides have the shape (n,) or (n, k).
pub fn check_rhs(rhs: &Bound<'_, PyUntypedArray>, n: usize) -> PyResult<()> {
    let dims = rhs.shape();
    if dims.len() != 1 && dims.len() != 2 {
        let message = format!("rhs has {} dimensions, expected 1 or 2: the shape ({n},) or ({n}, k)", dims.len());
        return Err(PyValueError::new_err(message));
    }
    if dims[0] != n {
        return Err(PyValueError::new_err(format!(
            "rhs has {} rows, expected {n}, the number of rows of the matrix",
            dims[0]
        )));
    }
    Ok(())
}
