//! No GPUs, because the program was built without the feature `cuda`.

use bandsolve::{Factor, Plan};
use bandsolve_program::exit::Failure;
use std::path::PathBuf;

pub use self::AnyMatrix as HostMatrix;
pub use bandsolve::Scalar as DeviceScalar;
pub use std::convert::Infallible as Device;

/// All matrices, because no GPU restricts them.
pub trait AnyMatrix<T> {}

impl<T, M> AnyMatrix<T> for M {}

/// Return [`Failure::without_cuda`].
///
/// # Errors
/// Always.
pub fn open(_name: &str) -> Result<Device, Failure> {
    Err(Failure::without_cuda())
}

/// Never called, because no GPU can be opened.
pub fn name(device: &Device) -> String {
    match *device {}
}

/// Never called, because no GPU can be opened.
///
/// # Errors
/// None.
pub fn plan(device: &Device, _plan: &Plan) -> bandsolve::Result<Plan> {
    match *device {}
}

/// Never called, because no GPU can be opened.
///
/// # Errors
/// None.
pub fn factor<'m, T: DeviceScalar>(
    device: &Device,
    _a: &'m dyn HostMatrix<T>,
    _plan: &Plan,
) -> bandsolve::Result<Box<dyn Factor<T> + 'm>> {
    match *device {}
}

/// Return [`Failure::without_cuda`].
///
/// # Errors
/// Always.
pub fn first() -> Result<String, Failure> {
    Err(Failure::without_cuda())
}

/// No path, because nothing reads such a file.
pub fn tuning_path() -> Option<PathBuf> {
    None
}

/// No error, because nothing reads such a file.
pub fn tuning_error() -> Option<std::io::Error> {
    None
}

/// Return [`Failure::without_cuda`].
///
/// # Errors
/// Always.
pub fn tune(_name: &str, _show: bool) -> Result<Option<String>, Failure> {
    Err(Failure::without_cuda())
}
