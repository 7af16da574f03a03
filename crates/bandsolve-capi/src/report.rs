//! How the last solve went.

use crate::memory::{room_from, write_part};
use crate::status::CallResult;
use bandsolve::{Error, Method, Report, Result};
use core::ffi::c_char;
use core::mem::offset_of;
use std::cell::Cell;

/// How the last solve went: accuracy, repairs and method.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct bandsolve_report_t {
    /// Set it to `sizeof(bandsolve_report_t)` before the call. Later versions of the library add fields at the end, and write
    /// at most `size` bytes.
    pub size: usize,
    /// Largest row-wise backward error of the right-hand sides: the maximum over rows i of
    /// `|rhs[i] - (A x)[i]| / ((sum over j of |A[i][j]|) max|x| + |rhs[i]|)`. NaN if verification is off, or if nothing was solved.
    pub backward_error: f64,
    /// Largest number of refinement steps of any right-hand side.
    pub refinement_steps: i32,
    /// 1 if a right-hand side needed the fallback to the pivoted solver, else 0.
    pub fallback: i32,
    /// Name of the method that solved the system. Empty if nothing was solved.
    pub method: [c_char; 32],
    /// A warning in words if x may have no correct digit, because x is so large that the matrix must be singular to working
    /// precision. Empty otherwise.
    pub attention: [c_char; 160],
}

const NOTHING: bandsolve_report_t = bandsolve_report_t {
    size: size_of::<bandsolve_report_t>(),
    backward_error: f64::NAN,
    refinement_steps: 0,
    fallback: 0,
    method: [0; 32],
    attention: [0; 160],
};

thread_local! {
    static LAST: Cell<bandsolve_report_t> = const { Cell::new(NOTHING) };
}

/// Clear the report at the start of a call.
pub(crate) fn clear() {
    _ = LAST.try_with(|last| last.set(NOTHING));
}

/// Store the report of a solve by `method`.
pub(crate) fn keep(solved: &Result<Report>, method: Method) {
    let mut report = NOTHING;
    let steps = |steps: usize| steps.try_into().unwrap_or(i32::MAX);
    let method = match solved.as_ref().map_err(Error::cause) {
        Ok(solved) => {
            report.backward_error = solved.backward_error;
            report.refinement_steps = steps(solved.refinement_steps);
            report.fallback = i32::from(solved.fallback);
            report.attention = characters(solved.attention.as_deref().unwrap_or_default());
            solved.method
        }
        Err(Error::NotConverged { backward_error, refinement_steps }) => {
            report.backward_error = *backward_error;
            report.refinement_steps = steps(*refinement_steps);
            report.fallback = i32::from(method != Method::Pivoted);
            method
        }
        Err(Error::Singular { .. }) => method,
        Err(_) => return,
    };
    report.method = characters(method.name());
    _ = LAST.try_with(|last| last.set(report));
}

/// Store the report of several solves, the last of which used `method`.
#[cfg(feature = "cuda")]
pub(crate) fn keep_several(backward_error: f64, attention: &str, method: &str) {
    let (attention, method) = (characters(attention), characters(method));
    _ = LAST.try_with(|last| last.set(bandsolve_report_t { backward_error, attention, method, ..NOTHING }));
}

/// Convert a text to bytes with a zero at the end. The function cuts a longer text.
pub(crate) fn characters<const N: usize>(text: &str) -> [c_char; N] {
    let mut characters = [0; N];
    characters[..N - 1].iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from as c_char);
    characters
}

/// # Safety
/// `report` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn last(report: *mut bandsolve_report_t) -> CallResult {
    // SAFETY: the caller's promise.
    let size = unsafe { room_from("report", report, offset_of!(bandsolve_report_t, attention))? };
    let last = LAST.try_with(Cell::get).unwrap_or(NOTHING);
    // SAFETY: the caller's promise, for `size` bytes.
    unsafe { write_part(report, &bandsolve_report_t { size, ..last }, size) };
    Ok(())
}
