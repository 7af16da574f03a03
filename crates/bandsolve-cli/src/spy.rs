//! `bandsolve spy`: draw the positions and the sizes of the entries of a matrix.

mod grid;
mod picture;
mod text;
mod view;

use crate::args::SpyArgs;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use view::SpyView;

/// Draw one matrix to a file or in the terminal.
///
/// # Errors
/// [`Failure::Input`] if it cannot be read, [`Failure::Other`] if the picture cannot be written.
pub fn run(args: &SpyArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&[("--plot", &args.plot)], &[&args.matrix])?;
    let view = SpyView::read(&args.matrix)?;
    let Some(path) = &args.plot else { return report::print(&text::draw(&view, text::width())) };
    picture::draw(&view).write(path)?;
    report::print_beside(&format!("{}\n", view.facts()), stdout_used)
}
