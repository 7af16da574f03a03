//! GPUs through `bandsolve-gpu`.

use bandsolve::Plan;
use bandsolve_gpu::{DeviceTuning, OnDevice};
use bandsolve_program::exit::Failure;
use std::path::PathBuf;

pub use bandsolve_gpu::{Device, DeviceScalar, HostMatrix};

/// Number of rows of the systems that measure a GPU, if its memory is large enough.
const ROWS: usize = 1 << 24;

/// Open the GPU with this name.
///
/// # Errors
/// The errors of [`Device::open`].
pub fn open(name: &str) -> Result<Device, Failure> {
    Ok(Device::open(name)?)
}

/// The name of a GPU.
pub fn name(device: &Device) -> String {
    device.name()
}

/// The plan that a GPU follows.
///
/// # Errors
/// The errors of [`Device::plan`].
pub fn plan(device: &Device, plan: &Plan) -> bandsolve::Result<Plan> {
    device.plan(plan)
}

/// Copy a matrix to a GPU, for solves.
///
/// # Errors
/// The errors of [`Device::factor`].
pub fn factor<'m, T: DeviceScalar>(
    device: &Device,
    a: &'m dyn HostMatrix<T>,
    plan: &Plan,
) -> bandsolve::Result<OnDevice<'m, T>> {
    device.factor(plan, a)
}

/// Name and memory of the first GPU.
///
/// # Errors
/// The errors of [`Device::cuda`].
pub fn first() -> Result<String, Failure> {
    let device = Device::cuda(0)?;
    Ok(format!("{}, {} GiB", device.name(), device.limits().memory >> 30))
}

/// The path of the tuning file, if a directory for it is known.
pub fn tuning_path() -> Option<PathBuf> {
    DeviceTuning::path()
}

/// The error in the tuning file, if it has one.
pub fn tuning_error() -> Option<std::io::Error> {
    DeviceTuning::load().err()
}

/// Read the tuning file, and unless `show`, measure a GPU and write the file. Return its path and content; `None` if no directory for the
/// file is known.
///
/// # Errors
/// [`Failure::Input`] if the file is malformed, [`Failure::Other`] if it cannot be written, or without the GPU.
pub fn tune(name: &str, show: bool) -> Result<Option<String>, Failure> {
    let Some(path) = DeviceTuning::path() else { return Ok(None) };
    let mut tuning = DeviceTuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
    if !show {
        let device = open(name)?;
        // The emulated device is slow, so its systems must be small.
        let rows = if name == "emulated" { 2000 } else { ROWS.min(device.limits().memory / 512) };
        tuning.measure(&device, rows)?;
        tuning.save().map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
    }
    Ok(Some(format!("{}\n{tuning}", path.display())))
}
