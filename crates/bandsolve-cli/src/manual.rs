//! `bandsolve completions` and `bandsolve man`: from the same flags as `--help`.

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::exit::Failure;
use crate::report;
use clap::CommandFactory;

/// Prints the completions of a shell.
///
/// # Errors
/// [`Failure::Other`] if they cannot be written.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "bandsolve", &mut text);
    report::print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page, or writes those of all commands.
///
/// # Errors
/// [`Failure::Other`] if they cannot be written.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Other(format!("the manual: {error}"));
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).map_err(failed)?;
        return clap_mangen::generate_to(Args::command(), folder).map_err(failed);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut text).map_err(failed)?;
    report::print(&String::from_utf8_lossy(&text))
}
