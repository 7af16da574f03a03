//! `bandsolve tune`: what is measured once on a machine.

use crate::args::TuneArgs;
use crate::exit::Failure;
use crate::report;
use bandsolve::Tuning;

/// Measures and writes the file, or shows it.
///
/// # Errors
/// [`Failure::Input`] if the file is not understood, [`Failure::Other`] if it cannot be written.
pub fn run(args: &TuneArgs) -> Result<(), Failure> {
    if !args.show {
        let tuning = Tuning::measure().map_err(|e| Failure::Other(e.to_string()))?;
        let path = tuning.save().map_err(|e| Failure::Other(format!("the tuning file: {e}")))?;
        return report::print(&format!("{}\n{tuning}", path.display()));
    }
    let path = Tuning::path().ok_or_else(|| Failure::Input("no directory for caches is known".into()))?;
    match Tuning::load().map_err(|e| Failure::Input(format!("{}: {e}", path.display())))? {
        Some(tuning) => report::print(&format!("{}\n{tuning}", path.display())),
        None => report::print(&format!("{} does not exist; built-in numbers hold\n", path.display())),
    }
}
