//! `bandsolve tune`: what is measured once on a machine.

use crate::args::TuneArgs;
use crate::exit::Failure;
use crate::report;
use bandsolve::Tuning;
use bandsolve_gpu::{Device, DeviceTuning};

/// Measures and writes the file, or shows it.
///
/// # Errors
/// [`Failure::Input`] if the file is not understood, [`Failure::Other`] if it cannot be written.
pub fn run(args: &TuneArgs) -> Result<(), Failure> {
    if let Some(name) = &args.device {
        return device(name, args.show);
    }
    if !args.show {
        let tuning = Tuning::measure().map_err(|e| Failure::Other(e.to_string()))?;
        let path = tuning.save().map_err(|e| Failure::Other(format!("the tuning file: {e}")))?;
        return report::print(&format!("{}\n{tuning}", path.display()));
    }
    let path = Tuning::path().ok_or_else(nowhere)?;
    match Tuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))? {
        Some(tuning) => report::print(&format!("{}\n{tuning}", path.display())),
        None => report::print(&format!("{} does not exist; built-in numbers hold\n", path.display())),
    }
}

fn nowhere() -> Failure {
    Failure::Input("no directory for caches is known: set HOME, or name a file by BANDSOLVE_TUNING".into())
}

/// Rows of the systems by which a GPU is measured, if its memory allows.
const ROWS: usize = 1 << 24;

/// The same for a GPU.
fn device(name: &str, show: bool) -> Result<(), Failure> {
    let path = DeviceTuning::path().ok_or_else(nowhere)?;
    let mut tuning = DeviceTuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
    if !show {
        let device = Device::open(name)?;
        // An emulated device is as slow as it is small.
        let rows = if name == "emulated" { 2000 } else { ROWS.min(device.limits().memory / 512) };
        tuning.measure(&device, rows)?;
        tuning.save().map_err(|e| Failure::Other(format!("{}: {e}", path.display())))?;
    }
    report::print(&format!("{}\n{tuning}", path.display()))
}
