//! The CUDA context of a thread.

use bandsolve::{Error, Result};
use cudarc::driver::{CudaContext, DriverError, sys};

/// The error of a failed call of the driver.
pub(crate) fn failed(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Device { call, message: error.to_string() }
}

/// While this value lives, a context is current on this thread. Afterwards, the caller's context is current again.
pub(crate) struct Entered;

impl Entered {
    pub fn new(context: &CudaContext) -> Result<Self> {
        // SAFETY: the context exists.
        let pushed = unsafe { sys::cuCtxPushCurrent_v2(context.cu_ctx()) };
        pushed.result().map_err(failed("cuCtxPushCurrent"))?;
        Ok(Self)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut context = core::ptr::null_mut();
        // SAFETY: `new` pushed a context. Errors can no longer be reported.
        _ = unsafe { sys::cuCtxPopCurrent_v2(&raw mut context) };
    }
}
