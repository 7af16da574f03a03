//! Statuses, error messages, and the guard around each function.

use bandsolve::Error;
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::threads::stoppable;
use core::ffi::{CStr, c_char};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The status that a function returns. The numbers are permanent: later versions may add a status, but never change the meaning
/// of one.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_status_t {
    /// The call succeeded. If it solved a system, x meets the accuracy contract.
    BANDSOLVE_SUCCESS = 0,
    /// An argument is NULL, negative, too large, unknown or not aligned, or two arrays overlap. Nothing was written.
    BANDSOLVE_INVALID_ARGUMENT = 1,
    /// The matrix or the right-hand side contains NaN or infinity.
    BANDSOLVE_NOT_FINITE = 2,
    /// The matrix is singular. `x` contains the best solution that was found. For a Poisson problem: the problem is singular
    /// and has no solution for this right-hand side.
    BANDSOLVE_SINGULAR = 3,
    /// No x met the accuracy contract, because the matrix is singular to working precision. `x` contains the best solution that
    /// was found. From `bandsolveGpuStatusRead`: the x of an enqueued solve does not meet the contract, and was not repaired.
    BANDSOLVE_NOT_CONVERGED = 4,
    /// The method that you set by name, or the GPU, does not solve systems of this kind.
    BANDSOLVE_UNSUPPORTED = 5,
    /// Memory could not be allocated.
    BANDSOLVE_OUT_OF_MEMORY = 6,
    /// The buffer overlaps another array, or contains no factors of this number type.
    BANDSOLVE_INVALID_BUFFER = 7,
    /// A defect of the library, caught before it reached your program. Please report it with the message of
    /// `bandsolveLastError`.
    BANDSOLVE_INTERNAL_ERROR = 8,
    /// There is no such GPU, or its driver or compiler is missing. The message names the missing part.
    BANDSOLVE_NO_DEVICE = 9,
    /// A call of the GPU driver failed. The message names the call and the reason.
    BANDSOLVE_DEVICE_ERROR = 10,
    /// The method that you set by name requires a Hermitian positive definite matrix, and the matrix is not.
    BANDSOLVE_NOT_DEFINITE = 11,
    /// An iteration ended before the residual was within the tolerance. `x` contains the best solution that was found.
    BANDSOLVE_TOLERANCE_NOT_REACHED = 12,
    /// The program stopped the call before it ended. Do not use the arrays that the call writes.
    BANDSOLVE_INTERRUPTED = 13,
}

use bandsolve_status_t::*;

impl bandsolve_status_t {
    /// Every status, with its name.
    pub const ALL: [(Self, &CStr); 14] = [
        (BANDSOLVE_SUCCESS, c"BANDSOLVE_SUCCESS"),
        (BANDSOLVE_INVALID_ARGUMENT, c"BANDSOLVE_INVALID_ARGUMENT"),
        (BANDSOLVE_NOT_FINITE, c"BANDSOLVE_NOT_FINITE"),
        (BANDSOLVE_SINGULAR, c"BANDSOLVE_SINGULAR"),
        (BANDSOLVE_NOT_CONVERGED, c"BANDSOLVE_NOT_CONVERGED"),
        (BANDSOLVE_UNSUPPORTED, c"BANDSOLVE_UNSUPPORTED"),
        (BANDSOLVE_OUT_OF_MEMORY, c"BANDSOLVE_OUT_OF_MEMORY"),
        (BANDSOLVE_INVALID_BUFFER, c"BANDSOLVE_INVALID_BUFFER"),
        (BANDSOLVE_INTERNAL_ERROR, c"BANDSOLVE_INTERNAL_ERROR"),
        (BANDSOLVE_NO_DEVICE, c"BANDSOLVE_NO_DEVICE"),
        (BANDSOLVE_DEVICE_ERROR, c"BANDSOLVE_DEVICE_ERROR"),
        (BANDSOLVE_NOT_DEFINITE, c"BANDSOLVE_NOT_DEFINITE"),
        (BANDSOLVE_TOLERANCE_NOT_REACHED, c"BANDSOLVE_TOLERANCE_NOT_REACHED"),
        (BANDSOLVE_INTERRUPTED, c"BANDSOLVE_INTERRUPTED"),
    ];
}

/// A status from C. It may be any number, so it is not the Rust enum.
pub type StatusArgument = i32;

/// Get the name of a status, or `"unknown status"`.
pub(crate) fn name(status: StatusArgument) -> &'static CStr {
    let status_and_name = bandsolve_status_t::ALL.iter().find(|(known, _)| *known as StatusArgument == status);
    status_and_name.map_or(c"unknown status", |(_, name)| name)
}

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub status: bandsolve_status_t,
    pub message: String,
}

/// The result of the functions behind the guard.
pub(crate) type CallResult<T = ()> = Result<T, CallFailure>;

impl CallFailure {
    pub fn argument(message: String) -> Self {
        Self { status: BANDSOLVE_INVALID_ARGUMENT, message }
    }

    pub fn buffer(message: String) -> Self {
        Self { status: BANDSOLVE_INVALID_BUFFER, message }
    }

    pub fn tolerance(message: String) -> Self {
        Self { status: BANDSOLVE_TOLERANCE_NOT_REACHED, message }
    }

    pub fn out_of_memory(bytes: usize) -> Self {
        Error::OutOfMemory { bytes }.into()
    }

    fn panic(payload: Box<dyn Any + Send>) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let message = format!("internal error: {}", text.unwrap_or("a panic without a message"));
        // Do not drop the payload, because the drop could panic.
        core::mem::forget(payload);
        Self { status: BANDSOLVE_INTERNAL_ERROR, message }
    }
}

impl From<Error> for CallFailure {
    fn from(error: Error) -> Self {
        let status = match error.cause() {
            Error::Shape { .. } | Error::Structure { .. } | Error::InvalidArgument { .. } => BANDSOLVE_INVALID_ARGUMENT,
            Error::NotFinite { .. } => BANDSOLVE_NOT_FINITE,
            Error::Singular { .. } | Error::Incompatible { .. } => BANDSOLVE_SINGULAR,
            Error::NotDefinite { .. } => BANDSOLVE_NOT_DEFINITE,
            Error::NotConverged { .. } => BANDSOLVE_NOT_CONVERGED,
            Error::Unsupported { .. } => BANDSOLVE_UNSUPPORTED,
            Error::OutOfMemory { .. } => BANDSOLVE_OUT_OF_MEMORY,
            Error::Scratch { .. } => BANDSOLVE_INVALID_BUFFER,
            Error::NoDevice { .. } => BANDSOLVE_NO_DEVICE,
            Error::Device { .. } => BANDSOLVE_DEVICE_ERROR,
            Error::Interrupted => BANDSOLVE_INTERRUPTED,
            _ => BANDSOLVE_INTERNAL_ERROR,
        };
        Self { status, message: error.to_string() }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Run the body of a C function in standard arithmetic, catch panics, and store the message for [`last_error`].
pub(crate) fn guard(body: impl FnOnce() -> CallResult) -> bandsolve_status_t {
    let outcome = caught(body);
    if outcome.is_ok() {
        keep(String::new());
    }
    status_of(outcome)
}

/// Do the same as [`guard`], for query functions. If they succeed, they keep the message of the call before.
pub(crate) fn guard_query(body: impl FnOnce() -> CallResult) -> bandsolve_status_t {
    status_of(caught(body))
}

fn caught(body: impl FnOnce() -> CallResult) -> CallResult {
    let body = || {
        let _mode = Standard::enter();
        // No program can use the threads of this library, so that `bandsolve_shutdown` may end them.
        stoppable();
        if planted() { panic!("planted by a test") } else { body() }
    };
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(CallFailure::panic(payload)))
}

fn status_of(outcome: CallResult) -> bandsolve_status_t {
    outcome.map_or_else(
        |failure| {
            keep(failure.message);
            failure.status
        },
        |()| BANDSOLVE_SUCCESS,
    )
}

fn keep(message: String) {
    let message = CString::new(message).unwrap_or_default();
    // A thread that ends can no longer store messages.
    _ = MESSAGE.try_with(|last| last.replace(message));
}

/// Get the message of the last call on this thread. It is empty if the call succeeded.
pub(crate) fn last_error() -> *const c_char {
    // The address is valid until the next call on this thread.
    MESSAGE.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

fn planted() -> bool {
    PLANTED.try_with(Cell::take).unwrap_or(false)
}

/// Make the next guarded function of this thread panic, for tests.
#[doc(hidden)]
pub fn plant_panic() {
    PLANTED.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_status() {
        for (error, status) in [
            (Error::Shape { what: "x", expected: 1, got: 2 }, BANDSOLVE_INVALID_ARGUMENT),
            (Error::Structure { array: "row_indices", index: 0 }, BANDSOLVE_INVALID_ARGUMENT),
            (Error::invalid("tol", "is negative", "a positive number"), BANDSOLVE_INVALID_ARGUMENT),
            (Error::NotFinite { array: "sub", index: 3 }, BANDSOLVE_NOT_FINITE),
            (Error::Singular { row: 3 }, BANDSOLVE_SINGULAR),
            (Error::Incompatible { removed: 1.0, allowed: 0.1 }, BANDSOLVE_SINGULAR),
            (Error::NotDefinite { row: 3 }, BANDSOLVE_NOT_DEFINITE),
            (Error::NotConverged { backward_error: 1.0, refinement_steps: 3 }, BANDSOLVE_NOT_CONVERGED),
            (Error::Unsupported { method: "rpts", what: "such" }, BANDSOLVE_UNSUPPORTED),
            (Error::OutOfMemory { bytes: 8 }, BANDSOLVE_OUT_OF_MEMORY),
            (Error::Scratch { expected: 2, got: 1 }, BANDSOLVE_INVALID_BUFFER),
            (Error::NoDevice { reason: "such".into() }, BANDSOLVE_NO_DEVICE),
            (Error::Device { call: "cuMemAlloc", message: "such".into() }, BANDSOLVE_DEVICE_ERROR),
            (Error::Interrupted, BANDSOLVE_INTERRUPTED),
        ] {
            let failure = CallFailure::from(error.clone());
            assert_eq!((failure.status, failure.message), (status, error.to_string()));
        }
    }
}
