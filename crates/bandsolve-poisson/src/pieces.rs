//! Arrays cut for threads: pairs of rows from both ends, and blocks of columns.

use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::Split;
use bandsolve_kernel::view::ViewMut;

/// Rows from both ends of an array: pair p is row p and row n − 1 − p; the last pair may be one row. Split by pieces.
pub(crate) struct Mirrored<'a, T> {
    top: &'a mut [T],
    bottom: &'a mut [T],
    /// Numbers of a row.
    row: usize,
    /// Index of the first row of `top`, and of the one after the last of `bottom`.
    ends: [usize; 2],
    /// Pieces that are left, of so many pairs.
    pieces: usize,
    pairs: usize,
}

impl<'a, T> Mirrored<'a, T> {
    /// All rows of `x`, the first of which is row `first`.
    pub fn new(x: &'a mut [T], (row, first): (usize, usize), pieces: usize) -> Self {
        let rows = x.len() / row;
        let pairs = rows.div_ceil(2);
        let (top, bottom) = x.split_at_mut(pairs * row);
        Self { top, bottom, row, ends: [first, first + rows], pieces, pairs }
    }

    /// Row 0 alone.
    pub fn single(x: &'a mut [T], row: usize) -> Self {
        Self { top: x, bottom: &mut [], row, ends: [0, 1], pieces: 1, pairs: 1 }
    }

    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// The numbers of the rows of a pair.
    pub fn indices(&self, p: usize) -> (usize, Option<usize>) {
        let mirror = self.bottom.len() / self.row > p;
        (self.ends[0] + p, mirror.then(|| self.ends[1] - 1 - p))
    }

    /// The rows of a pair.
    pub fn rows(&self, p: usize) -> (&[T], Option<&[T]>) {
        let (row, end) = (self.row, self.bottom.len());
        let mirror = (end > p * row).then(|| &self.bottom[end - (p + 1) * row..end - p * row]);
        (&self.top[p * row..][..row], mirror)
    }

    /// The same to be written.
    pub fn rows_mut(&mut self, p: usize) -> (&mut [T], Option<&mut [T]>) {
        let (row, end) = (self.row, self.bottom.len());
        let mirror = (end > p * row).then(|| &mut self.bottom[end - (p + 1) * row..end - p * row]);
        (&mut self.top[p * row..][..row], mirror)
    }
}

impl<T: Send> Split for Mirrored<'_, T> {
    fn split(self, pieces: usize) -> (Self, Self) {
        let Self { top, bottom, row, ends: [start, end], .. } = self;
        let pairs = self.pairs * pieces / self.pieces.max(1);
        let below = pairs.min(bottom.len() / row);
        let (top, inner_top) = top.split_at_mut(pairs * row);
        let (inner_bottom, bottom) = bottom.split_at_mut(bottom.len() - below * row);
        let outer = Self { top, bottom, row, ends: [start, end], pieces, pairs };
        let ends = [start + pairs, end - below];
        let inner = Self {
            top: inner_top,
            bottom: inner_bottom,
            row,
            ends,
            pieces: self.pieces - pieces,
            pairs: self.pairs - pairs,
        };
        (outer, inner)
    }
}

/// Blocks of so many columns of an array by rows; the view has them as rows.
pub(crate) struct ColumnBlocks<'a, T: Scalar> {
    pub view: ViewMut<'a, T>,
    width: usize,
}

impl<'a, T: Scalar> ColumnBlocks<'a, T> {
    pub fn new(view: ViewMut<'a, T>, width: usize) -> Self {
        Self { view, width }
    }
}

impl<T: Scalar> Split for ColumnBlocks<'_, T> {
    fn split(self, blocks: usize) -> (Self, Self) {
        let (left, right) = self.view.split_at_row(blocks * self.width);
        (Self { view: left, width: self.width }, Self { view: right, width: self.width })
    }
}
