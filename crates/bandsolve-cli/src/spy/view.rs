//! The matrix that `bandsolve spy` draws, and the facts that stand beside the drawing.

use crate::info::SortedEntries;
use bandsolve::Shape;
use bandsolve_program::exit::Failure;
use bandsolve_program::{io, report, structure};
use std::path::Path;

/// A matrix and the facts that its drawing shows.
pub struct SpyView {
    pub name: String,
    pub n: usize,
    pub shape: Shape,
    /// Numbers of diagonals below and above the main one, without the corner entries of periodic matrices.
    pub bands: (usize, usize),
    pub entries: SortedEntries,
}

impl SpyView {
    /// Read a matrix.
    ///
    /// # Errors
    /// [`Failure::Input`].
    pub fn read(path: &Path) -> Result<SpyView, Failure> {
        let matrix = io::read_positions(path)?;
        let structure = structure::structure(&matrix)?;
        let (n, shape) = (structure.n, structure.shape());
        let bands = structure.diagonals_in(shape);
        Ok(SpyView { name: io::short_name(path), n, shape, bands, entries: SortedEntries::of(&matrix, false)? })
    }

    /// Whether the matrix has corner entries.
    pub fn is_periodic(&self) -> bool {
        structure::is_periodic(self.shape)
    }

    /// The name and the facts in one line.
    pub fn facts(&self) -> String {
        format!("{}: {}", self.name, self.measures())
    }

    /// The size, the number of entries, the kind and the bandwidths.
    pub fn measures(&self) -> String {
        let (lower, upper) = self.bands;
        let corners = if self.is_periodic() { ", and corner entries" } else { "" };
        let entries = report::counted(self.entries.len(), "non-zero");
        let kind = structure::kind(self.shape);
        format!("n = {}, {entries}, {kind}, {}{corners}", self.n, report::bands(lower, upper))
    }

    /// Numbers of diagonals below and above the main one, at least 1 each if there are corner entries.
    pub fn diagonals(&self) -> (usize, usize) {
        let (lower, upper) = self.bands;
        if self.is_periodic() && self.n > 2 { (lower.max(1), upper.max(1)) } else { (lower, upper) }
    }

    /// The number of the diagonal of an entry. The corner entries of periodic matrices continue the diagonals ±1.
    pub fn offset(&self, i: usize, j: usize) -> i64 {
        let (offset, n) = (j as i64 - i as i64, self.n as i64);
        match offset {
            _ if !self.is_periodic() || n < 3 => offset,
            far if far == n - 1 => -1,
            far if far == 1 - n => 1,
            near => near,
        }
    }
}
