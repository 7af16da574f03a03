//! `bandsolve spy`: draw the positions and the sizes of the entries of a matrix.

mod grid;
mod picture;
mod text;

use crate::args::SpyArgs;
use crate::exit::Failure;
use crate::info::SortedEntries;
use crate::io;
use crate::report;
use crate::structure::{SolvableKind, Structure};
use std::path::Path;

/// Draw one matrix to a file or in the terminal.
///
/// # Errors
/// [`Failure::Input`] if it cannot be read, [`Failure::Other`] if the picture cannot be written.
pub fn run(args: &SpyArgs) -> Result<(), Failure> {
    let taken = report::check_outputs(&[("--plot", &args.plot)], &[&args.matrix])?;
    let view = SpyView::read(&args.matrix)?;
    let Some(path) = &args.plot else { return report::print(&text::draw(&view, text::width())) };
    picture::draw(&view).write(path)?;
    report::print_beside(&format!("{}\n", view.facts()), taken)
}

/// A matrix and the facts that its drawing shows.
struct SpyView {
    name: String,
    n: usize,
    kind: SolvableKind,
    /// Numbers of diagonals below and above the main one, without the corner entries of periodic matrices.
    bands: (usize, usize),
    entries: SortedEntries,
}

impl SpyView {
    fn read(path: &Path) -> Result<SpyView, Failure> {
        let matrix = io::read_positions(path)?;
        let structure = Structure::of(&matrix);
        let kind = structure.kind(false)?;
        let (n, bands) = (structure.n, structure.bands(kind));
        Ok(SpyView { name: io::short_name(path), n, kind, bands, entries: SortedEntries::of(&matrix, false)? })
    }

    fn is_periodic(&self) -> bool {
        self.kind == SolvableKind::Tridiagonal { periodic: true }
    }

    /// The name and the facts in one line.
    fn facts(&self) -> String {
        format!("{}: {}", self.name, self.measures())
    }

    fn measures(&self) -> String {
        let (lower, upper) = self.bands;
        let corners = if self.is_periodic() { ", and corner entries" } else { "" };
        let entries = report::counted(self.entries.len(), "non-zero");
        let kind = self.kind.name();
        format!("n = {}, {entries}, {kind}, {}{corners}", self.n, report::bands(lower, upper))
    }

    /// Numbers of diagonals below and above the main one, at least 1 each if there are corner entries.
    fn diagonals(&self) -> (usize, usize) {
        let (lower, upper) = self.bands;
        if self.is_periodic() && self.n > 2 { (lower.max(1), upper.max(1)) } else { (lower, upper) }
    }

    /// The number of the diagonal of an entry. The corner entries of periodic matrices continue the diagonals ±1.
    fn offset(&self, i: usize, j: usize) -> i64 {
        let (offset, n) = (j as i64 - i as i64, self.n as i64);
        match offset {
            _ if !self.is_periodic() || n < 3 => offset,
            far if far == n - 1 => -1,
            far if far == 1 - n => 1,
            near => near,
        }
    }
}
