//! The C functions for factors that belong to no type, and the end of the library's threads.

use super::*;

/// Create an empty handle for factors of any kind and number type.
///
/// A routine that factors, such as `bandsolve_dgttrf`, fills the handle. You may use a handle again for another matrix, of any kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_factor_create(factor: *mut bandsolve_factor_t) -> bandsolve_status_t {
    guard(|| unsafe { lapack::create(factor) })
}

/// Free a handle and its factors. Does nothing if `factor` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_factor_destroy(factor: bandsolve_factor_t) -> bandsolve_status_t {
    guard(|| unsafe { lapack::destroy_factor(factor) })
}

/// End the threads of the library, and wait until they have ended.
///
/// Call it before you unload the library, before `fork`, or at the end of a program that a leak checker examines. No other thread may
/// call a function of the library during the call. You may call other functions afterwards, which start the threads again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_shutdown() -> bandsolve_status_t {
    guard(|| {
        unsafe { bandsolve_kernel::threads::stop() };
        Ok(())
    })
}
