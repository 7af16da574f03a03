//! Preconditioners by name.

use super::forest::{bandsolve_forest_options_t, options};
use super::{HeldCsr, OperationArgument, bandsolve_csr_t, csr_of, destroy, named, opened, operation, with_rows};
use crate::memory::{ArgumentPlace, RawArray, elements, in_scratch, scratch_bytes, tell_size, text};
use crate::status::{CallFailure, CallResult};
use bandsolve::dyn_stack::StackReq;
use bandsolve::{LinearOperator, Scalar};
use bandsolve_sparse::{Preconditioner, PreconditionerKind};
use core::ffi::{CStr, c_char, c_void};
use std::any::Any;
use std::ffi::CString;
use std::sync::Arc;

/// A preconditioner of any number type.
pub struct bandsolve_precond {
    /// A `HeldPreconditioner`.
    operator: Arc<dyn Any + Send + Sync>,
    kind: CString,
    reason: CString,
}

/// A preconditioner that `bandsolve<t>csr_precond` made.
pub type bandsolve_precond_t = *mut bandsolve_precond;

/// A preconditioner and its matrix.
pub(super) struct HeldPreconditioner<T: Scalar> {
    /// Borrows `matrix`, so it must be dropped before `matrix`.
    operator: Preconditioner<'static, T>,
    matrix: Arc<HeldCsr<T>>,
}

impl<T: Scalar> HeldPreconditioner<T> {
    pub fn operator(&self) -> &dyn LinearOperator<T> {
        &self.operator
    }
}

/// Get the preconditioner of a handle.
///
/// # Safety
/// The handle is null, or not destroyed during the call.
pub(super) unsafe fn preconditioner<T: Scalar>(precond: bandsolve_precond_t) -> CallResult<Arc<HeldPreconditioner<T>>> {
    // SAFETY: the caller's promise.
    let handle = unsafe { opened(precond, "precond", "csr_precond")? };
    Arc::downcast(handle.operator.clone()).map_err(|_| {
        CallFailure::argument(
            "precond has another number type than the function; use the function of the type that created it".into(),
        )
    })
}

/// Parse a name of the caller.
///
/// # Safety
/// `name` is null, or a string with a zero at the end.
pub(super) unsafe fn parsed<K: core::str::FromStr<Err = String>>(argument: &str, name: *const c_char) -> CallResult<K> {
    // SAFETY: the caller's promise.
    let name =
        unsafe { text(name) }.ok_or_else(|| CallFailure::argument(format!("{argument} is null, expected a string")))?;
    name.to_string_lossy().parse().map_err(|error| CallFailure::argument(format!("{argument}: {error}")))
}

/// Create a preconditioner of a matrix (`csr_precond`).
///
/// # Safety
/// `matrix` is null, or is not destroyed during the call. `name` is null, or a string with a zero at the end. `asked` is null, or points to a
/// structure whose first field is its size. `out` is null, or may be written.
pub(crate) unsafe fn precond<T: Scalar>(
    name: *const c_char,
    matrix: bandsolve_csr_t,
    asked: *const bandsolve_forest_options_t,
    out: *mut bandsolve_precond_t,
) -> CallResult {
    let out = RawArray::new("precond", out, 1)?;
    // SAFETY: the caller's promise.
    let (kind, matrix, options) =
        unsafe { (parsed::<PreconditionerKind>("name", name)?, csr_of::<T>(matrix)?, options(asked)?) };
    // SAFETY: the object keeps its address until everything that borrows it is dropped.
    let lent: &'static HeldCsr<T> = unsafe { &*Arc::as_ptr(&matrix) };
    let operator = with_rows!(lent, rows => Preconditioner::new(&rows.a, kind, &options)).map_err(named)?;
    let words = |text: String| CString::new(text).unwrap_or_default();
    let (kind, reason) = (words(operator.kind().to_string()), words(operator.reason().to_string()));
    let object = bandsolve_precond { operator: Arc::new(HeldPreconditioner { operator, matrix }), kind, reason };
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(object)) };
    Ok(())
}

/// Check that the caller's buffer does not overlap `others`, and return it. A null pointer gives `None`.
pub(super) fn buffer(
    start: *mut c_void,
    needed: StackReq,
    matrix: &HeldCsr<impl Scalar>,
    others: &[ArgumentPlace],
) -> CallResult<Option<RawArray<u8>>> {
    if start.is_null() {
        return Ok(None);
    }
    let buffer = RawArray::<u8>::new("buffer", start.cast(), scratch_bytes(needed)?)?;
    matrix.apart(&[buffer.place()], others).map_err(|failure| CallFailure::buffer(failure.message))?;
    Ok(Some(buffer))
}

/// Get the buffer size of a preconditioner application (`precond_apply_bufferSizeExt`).
///
/// # Safety
/// `precond` is null, or is not destroyed during the call; `out` is null, or may be written.
pub(crate) unsafe fn apply_size<T: Scalar>(precond: bandsolve_precond_t, out: *mut usize) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { tell_size(preconditioner::<T>(precond)?.operator.apply_scratch(), out) }
}

/// Compute z = op(M⁻¹)·r (`precond_apply`).
///
/// # Safety
/// As [`apply_size`]; pointers that are not null point to arrays of the given sizes. Written arrays belong to this call alone.
pub(crate) unsafe fn apply<T: Scalar>(
    op: OperationArgument,
    precond: bandsolve_precond_t,
    (r, z): (*const T, *mut T),
    scratch: *mut c_void,
) -> CallResult {
    let op = operation(op)?;
    // SAFETY: the caller's promise.
    let precond = unsafe { preconditioner::<T>(precond)? };
    let n = elements::<T>("r", &[LinearOperator::rows(&precond.operator)])?;
    let (r, z) = (RawArray::new("r", r, n)?, RawArray::new("z", z, n)?);
    precond.matrix.apart(&[z.place()], &[r.place()])?;
    let needed = precond.operator.apply_scratch();
    let buffer = buffer(scratch, needed, &precond.matrix, &[r.place(), z.place()])?;
    // SAFETY: the caller's promise; the written arrays overlap no other array.
    unsafe {
        let (r, z) = (r.read(), z.write());
        in_scratch(buffer, needed, |stack| precond.operator.apply_op(op, r, z, stack))??;
    }
    Ok(())
}

/// Get a text of a handle. It is empty if the handle is null.
///
/// # Safety
/// The handle is null, or not destroyed for as long as the text is read.
unsafe fn text_of(precond: bandsolve_precond_t, text: impl FnOnce(&bandsolve_precond) -> &CStr) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { precond.as_ref() }.map_or(c"", text).as_ptr()
}

/// Get the name of the preconditioner, after the choice of `auto` (`bandsolvePrecondKind`).
///
/// # Safety
/// As [`text_of`].
pub(crate) unsafe fn kind(precond: bandsolve_precond_t) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { text_of(precond, |precond| &precond.kind) }
}

/// Get the reason for the choice (`bandsolvePrecondReason`).
///
/// # Safety
/// As [`text_of`].
pub(crate) unsafe fn reason(precond: bandsolve_precond_t) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { text_of(precond, |precond| &precond.reason) }
}

/// Free a preconditioner (`bandsolvePrecondDestroy`).
///
/// # Safety
/// As [`destroy`].
pub(crate) unsafe fn destroy_precond(precond: bandsolve_precond_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { destroy(precond) }
}
