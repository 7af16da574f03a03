//! Statuses, error messages, and the guard around each function.

use bandsolve::Error;
use bandsolve_mpi::{RankError, Ranks};
use core::ffi::c_char;
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The status that a function returns. It determines the Python exception.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum bandsolve_mpi_status_t {
    /// Success.
    BANDSOLVE_MPI_SUCCESS = 0,
    /// `ValueError`.
    BANDSOLVE_MPI_WRONG_ARGUMENT = 1,
    /// `numpy.linalg.LinAlgError`.
    BANDSOLVE_MPI_UNSOLVED = 2,
    /// `MemoryError`.
    BANDSOLVE_MPI_OUT_OF_MEMORY = 3,
}

use bandsolve_mpi_status_t::*;

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct RankFailure {
    status: bandsolve_mpi_status_t,
    message: String,
}

/// The result of the functions behind the guard.
pub(crate) type RankResult<V = ()> = Result<V, RankFailure>;

impl RankFailure {
    pub fn argument(message: String) -> Self {
        Self { status: BANDSOLVE_MPI_WRONG_ARGUMENT, message }
    }

    fn of(error: &Error, message: String) -> Self {
        let status = match error.cause() {
            Error::Singular { .. }
            | Error::NotDefinite { .. }
            | Error::NotConverged { .. }
            | Error::Incompatible { .. } => BANDSOLVE_MPI_UNSOLVED,
            Error::OutOfMemory { .. } => BANDSOLVE_MPI_OUT_OF_MEMORY,
            _ => BANDSOLVE_MPI_WRONG_ARGUMENT,
        };
        Self { status, message }
    }
}

impl From<RankError> for RankFailure {
    fn from(error: RankError) -> Self {
        Self::of(&error.error, error.to_string())
    }
}

impl From<Error> for RankFailure {
    fn from(error: Error) -> Self {
        Self::of(&error, error.to_string())
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Run the body of a C function and store its message for [`last_error`]. A panic ends all ranks, or this process if there are
/// no ranks.
pub(crate) fn guard(ranks: Option<&Ranks>, body: impl FnOnce() -> RankResult) -> bandsolve_mpi_status_t {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => BANDSOLVE_MPI_SUCCESS,
        Ok(Err(failure)) => {
            MESSAGE.set(CString::new(failure.message).unwrap_or_default());
            failure.status
        }
        Err(payload) => {
            core::mem::forget(payload);
            match ranks {
                Some(ranks) => ranks.abort("bandsolve.mpi: a rank panicked; all ranks end"),
                None => std::process::abort(),
            }
        }
    }
}

/// Get the message of the last call of this thread that failed.
pub(crate) fn last_error() -> *const c_char {
    // The address is valid until the next message of this thread.
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Convert a text to N bytes with a zero at the end. The function cuts a longer text.
pub(crate) fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut to = [0; N];
    let end = (0..N).rev().find(|end| text.is_char_boundary((*end).min(text.len()))).unwrap_or(0);
    to.iter_mut().zip(text.bytes().take(end)).for_each(|(to, byte)| *to = byte as c_char);
    to
}
