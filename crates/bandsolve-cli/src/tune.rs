//! `bandsolve tune`: measure the tuning parameters of a machine.

use crate::args::TuneArgs;
use crate::gpu;
use bandsolve::Tuning;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;

/// Measure and write the tuning file, or show it.
///
/// # Errors
/// [`Failure::Input`] if the file is malformed, [`Failure::Other`] if it cannot be written.
pub fn run(args: &TuneArgs) -> Result<(), Failure> {
    if let Some(name) = &args.device {
        return report::print(&gpu::tune(name, args.show)?.ok_or_else(nowhere)?);
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
