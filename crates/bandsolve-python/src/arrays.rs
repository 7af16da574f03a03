//! NumPy arrays as slices, without copies where their type and order allow it.

use bandsolve::{Complex32, Complex64, Scalar};
use core::ffi::c_int;
use core::ptr::null_mut;
use numpy::npyffi::{NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyFloat, PyInt, PyList, PyTuple, PyType};

/// A type of numbers that systems are solved in.
pub trait Number: Scalar + Element + bandsolve_gpu::DeviceScalar {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for Complex32 {}
impl Number for Complex64 {}

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DtypeKind {
    pub complex: bool,
    pub double: bool,
}

impl DtypeKind {
    /// That of a NumPy array, whose numbers may have to be converted: integers to double precision, as SciPy does.
    fn of(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        // Numbers of types, as in `NPY_TYPES`: half and single precision, single complex, and all larger ones.
        let (complex, double) = match array.dtype().num() {
            11 | 23 => (false, false),
            0..=10 | 12 | 13 => (false, true),
            14 => (true, false),
            15 | 16 => (true, true),
            _ => {
                let found = array.dtype();
                return Err(PyTypeError::new_err(format!("arrays of type {found} are not numbers")));
            }
        };
        Ok(Self { complex, double })
    }

    /// The smaller of those that hold numbers of both.
    pub fn join(self, other: Self) -> Self {
        Self { complex: self.complex || other.complex, double: self.double || other.double }
    }
}

/// Calls something generic with the type that a [`DtypeKind`] stands for.
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

/// `numpy.asarray`.
fn asarray<'py>(value: &Bound<'py, PyAny>, options: &[(&str, Bound<'py, PyAny>)]) -> PyResult<Bound<'py, PyAny>> {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    FUNCTION.import(py, "numpy", "asarray")?.call((value,), Some(&options.into_py_dict(py)?))
}

/// `numpy.asarray` for all arrays that users pass: masked ones, whose masks it would drop, are a `ValueError`.
#[pyfunction]
pub fn as_array<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = value.cast_exact::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let listed = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if is_masked(value)? || listed && any_masked(value)? {
        let message = "an array is masked, expected one without a mask: every number counts. Fill the masked entries, as by a.filled(0.0), \
                       or leave them out";
        return Err(PyValueError::new_err(message));
    }
    match value.cast::<PyUntypedArray>() {
        Ok(array) => Ok(array.clone()),
        Err(_) => Ok(asarray(value, &[])?.cast_into::<PyUntypedArray>()?),
    }
}

/// Whether an entry of a list is masked.
fn any_masked(list: &Bound<'_, PyAny>) -> PyResult<bool> {
    for item in list.try_iter()? {
        if is_masked(&item?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether it is a `numpy.ma.MaskedArray`.
fn is_masked(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    // Most entries of lists are numbers.
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    value.is_instance(CLASS.import(value.py(), "numpy.ma", "MaskedArray")?)
}

/// An argument as an array of whatever it holds, and what that is.
pub fn array<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyUntypedArray>, DtypeKind)> {
    let array = as_array(value)?;
    let kind = DtypeKind::of(&array)?;
    Ok((array, kind))
}

/// The array with numbers of this type, one after the other, the first index running fastest: itself, if it is so already.
pub fn columns<'py, T: Number>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    in_order(array, "F", check_real::<T>, |array| array.is_fortran_contiguous())
}

/// The same with the last index running fastest.
pub fn rows<'py, T: Number>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    in_order(array, "C", check_real::<T>, |array| array.is_c_contiguous())
}

/// Refuses complex numbers where real ones are computed with: NumPy would drop their imaginary parts.
fn check_real<T: Number>(array: &Bound<'_, PyUntypedArray>) -> PyResult<()> {
    match !T::COMPLEX && DtypeKind::of(array)?.complex {
        true => {
            Err(PyTypeError::new_err("an array or a result is complex, expected real numbers: the problem is real"))
        }
        false => Ok(()),
    }
}

/// Whole numbers of this type, one after the other.
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
    // Not aligned.
    Ok(converted.call_method1("copy", (order,))?.cast_into::<PyArrayDyn<T>>()?)
}

/// The numbers of an array that [`columns`], [`rows`] or [`integers`] has made.
pub fn slice<'a, T: Element>(array: &'a Bound<'_, PyArrayDyn<T>>) -> &'a [T] {
    // SAFETY: contiguous in one order or the other, aligned, and kept by the reference. As for NumPy's own functions, other
    // threads must not write to it meanwhile.
    unsafe { std::slice::from_raw_parts(array.data(), array.len()) }
}

/// A new array of these dimensions, one or two, the first or the last index running fastest, filled by `fill`, which does not read
/// it. `MemoryError` if there is no memory for it.
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
    // Not by `PyArray::new`, which panics where there is no memory.
    // SAFETY: a type object, a type of numbers, which the call takes over, and as many lengths as are said; an error is looked for.
    // Numbers in memory that NumPy has allocated are some numbers, whatever bits they have; all are written.
    let array = unsafe {
        let class = get_type_object(py, NpyTypes::PyArray_Type);
        let (lengths, none) = (lengths.as_mut_ptr(), null_mut());
        let made =
            PY_ARRAY_API.PyArray_NewFromDescr(py, class, dtype, count, lengths, null_mut(), null_mut(), flags, none);
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyArrayDyn<T>>()
    };
    // SAFETY: contiguous, and nobody else has it yet.
    let result = fill(unsafe { std::slice::from_raw_parts_mut(array.data(), array.len()) });
    Ok((array, result))
}

/// The dimensions of right-hand sides, n or n × k.
pub fn check_rhs(rhs: &Bound<'_, PyUntypedArray>, n: usize) -> PyResult<()> {
    let dims = rhs.shape();
    if dims.len() != 1 && dims.len() != 2 {
        let message =
            format!("rhs has {} dimensions, expected 1 or 2: (n,) or (n, number of right-hand sides)", dims.len());
        return Err(PyValueError::new_err(message));
    }
    if dims[0] != n {
        return Err(PyValueError::new_err(format!("rhs has {} rows, expected {n} as the matrix has", dims[0])));
    }
    Ok(())
}
