//! The C functions that belong to no type: statuses, messages, reports, settings.

use crate::report::{self, bandsolve_report_t};
use crate::settings::{self, BoolArgument};
use crate::status::{self, StatusArgument, bandsolve_status_t, guard, guard_query};
use core::ffi::c_char;

/// Get the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveVersion() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Get the name of a status, such as "BANDSOLVE_SINGULAR". For a number that is no status, the name is "unknown status".
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveStatusName(status: StatusArgument) -> *const c_char {
    status::name(status).as_ptr()
}

/// Get the message of the last call on this thread. It names the wrong argument and the expected value.
///
/// The message is empty if the last call succeeded; `bandsolveLastReport` keeps the message of the call before. The text is
/// valid until this thread calls the next function that returns a status. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveLastError() -> *const c_char {
    status::last_error()
}

/// Get the report of the last solve on this thread.
///
/// Set `report->size` to `sizeof(bandsolve_report_t)` first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveLastReport(report: *mut bandsolve_report_t) -> bandsolve_status_t {
    guard_query(|| unsafe { report::last(report) })
}

/// Set the number of threads for the solves of the calling thread.
///
/// 0, the default, uses all threads. The solution is the same, bit for bit, for any number of threads. Buffer sizes do not
/// depend on this setting.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveSetThreads(threads: i64) -> bandsolve_status_t {
    guard(|| settings::set_threads(threads))
}

/// Switch the verification of solutions on or off for the calling thread.
///
/// Verification is on by default. Without verification there is no refinement and no fallback to the pivoted solver. Buffer
/// sizes do not depend on this setting.
#[unsafe(no_mangle)]
pub extern "C" fn bandsolveSetVerify(verify: BoolArgument) -> bandsolve_status_t {
    guard(|| settings::set_verify(verify != 0))
}

/// Set the method for the solves of the calling thread, by name, such as "rpts" or "pivoted".
///
/// NULL or "auto", the default, lets the library choose. Buffer sizes do not depend on this setting: a method that needs more
/// memory allocates it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolveSetMethod(name: *const c_char) -> bandsolve_status_t {
    guard(|| unsafe { settings::set_method(name) })
}
