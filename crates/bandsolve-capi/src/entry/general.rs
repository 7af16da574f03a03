//! The C functions that belong to no type: statuses, messages, reports, settings.

use crate::report::{self, bandsolve_report_t};
use crate::settings::{self, BoolArgument};
use crate::status::{self, StatusArgument, bandsolve_status_t, guard, guard_query};
use core::ffi::c_char;

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status, such as "BANDSOLVE_SINGULAR".
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveStatusName(status: StatusArgument) -> *const c_char {
    status::name(status).as_ptr()
}

/// What was wrong in the last call on this thread, in words: which argument, and what was expected. Empty if it succeeded;
/// `bandsolveLastReport` does not count. Valid until this thread calls the next function that returns a status. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveLastError() -> *const c_char {
    status::last_error()
}

/// Writes how the last solve on this thread went. Set `report->size` to `sizeof(bandsolve_report_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveLastReport(report: *mut bandsolve_report_t) -> bandsolve_status_t {
    guard_query(|| unsafe { report::last(report) })
}

/// Number of threads for solves that this thread asks for; 0: all there are, as at the beginning. The answer is the same,
/// bit for bit, for any number. Buffer sizes do not change with it.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveSetThreads(threads: i64) -> bandsolve_status_t {
    guard(|| settings::set_threads(threads))
}

/// Turns verification, and with it refinement and the fallback, off or on (as at the beginning) for this thread. Buffer sizes
/// do not change with it.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveSetVerify(verify: BoolArgument) -> bandsolve_status_t {
    guard(|| settings::set_verify(verify != 0))
}

/// The method for solves that this thread asks for, by name, such as "rpts" or "pivoted"; NULL or "auto": the library
/// chooses, as at the beginning. Buffer sizes do not change with it: a method that needs more allocates it inside.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSetMethod(name: *const c_char) -> bandsolve_status_t {
    guard(|| unsafe { settings::set_method(name) })
}
