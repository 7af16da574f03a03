//! `bandsolve tune`: measure the tuning parameters of a machine.

use crate::args::TuneArgs;
use crate::exit::Failure;
use crate::report;
use bandsolve::Tuning;
use bandsolve_gpu::{Device, DeviceTuning};

/// Measure and write the tuning file, or show it.
///
/// # Errors
/// [`Failure::Input`] if the file is malformed, [`Failure::Other`] if it cannot be written.
pub fn run(args: &TuneArgs) -> Result<(), Failure> {
    if let Some(name) = &args.device {
        return device(name, args.show);
    }
    if !args.show {
        let tuning = Tuning::measure().map_err(|e| Failure::Other(e.to_string()))?;
        let path = tuning.save().map_err(|e| Failure::Other(format!("cannot write the tuning file: {e}")))?;
        return report::print(&format!("{}\n{tuning}", path.display()));
    }
    let path = Tuning::path().ok_or_else(nowhere)?;
    match Tuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))? {
        Some(tuning) => report::print(&format!("{}\n{tuning}", path.display())),
        None => report::print(&format!(
            "{} does not exist, so bandsolve uses the built-in values. Run `bandsolve tune` to measure this machine\n",
            path.display()
        )),
    }
}

fn nowhere() -> Failure {
    Failure::Input(
        "there is no cache directory for the tuning file. Set HOME, or set BANDSOLVE_TUNING to the path of a file"
            .into(),
    )
}

/// Number of rows of the systems that measure a GPU, if its memory is large enough.
const ROWS: usize = 1 << 24;

/// Measure and write the tuning file of a GPU, or show it.
fn device(name: &str, show: bool) -> Result<(), Failure> {
    let path = DeviceTuning::path().ok_or_else(nowhere)?;
    let mut tuning = DeviceTuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
    if !show {
        let device = Device::open(name)?;
        // The emulated device is slow, so its systems must be small.
        let rows = if name == "emulated" { 2000 } else { ROWS.min(device.limits().memory / 512) };
        tuning.measure(&device, rows)?;
        tuning.save().map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
    }
    report::print(&format!("{}\n{tuning}", path.display()))
}
