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

/// Estimate the reciprocal condition number 1 / (||A|| ||A^-1||) of a factored matrix, of any routine that factors and any number type.
///
/// The norm is the 1-norm if `norm` is '1' or 'O', and the infinity norm if it is 'I'. A batch counts as one matrix with the systems on its
/// diagonal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bandsolve_factor_rcond(
    norm: c_char,
    factor: bandsolve_factor_t,
    rcond: *mut f64,
) -> bandsolve_status_t {
    guard(|| unsafe { lapack::condition_of_any(norm, factor, rcond) })
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
