//! Parts of arrays for threads: pairs of rows, and blocks of columns.

use bandsolve_kernel::Scalar;
use bandsolve_kernel::spread::Split;
use bandsolve_kernel::view::ViewMut;
use core::ops::Range;

/// Pairs of rows from both ends of an array: pair p is rows p and n − 1 − p. The last pair can be one row. Splits into pieces.
pub(crate) struct Mirrored<'a, T> {
    top: &'a mut [T],
    bottom: &'a mut [T],
    /// Length of a row.
    row: usize,
    /// The index of the first row of `top`, and the index after the last row of `bottom`.
    ends: [usize; 2],
    /// The number of pieces of these pairs.
    pieces: usize,
    pairs: usize,
}

impl<'a, T> Mirrored<'a, T> {
    /// All rows of `x`, in `pieces` pieces. Row 0 of `x` has the index `first`.
    pub fn new(x: &'a mut [T], (row, first): (usize, usize), pieces: usize) -> Self {
        let rows = x.len() / row;
        let pairs = rows.div_ceil(2);
        let (top, bottom) = x.split_at_mut(pairs * row);
        Self { top, bottom, row, ends: [first, first + rows], pieces, pairs }
    }

    /// One row, with index 0.
    pub fn single(x: &'a mut [T], row: usize) -> Self {
        Self { top: x, bottom: &mut [], row, ends: [0, 1], pieces: 1, pairs: 1 }
    }

    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// The indices of the rows of a pair.
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

    /// The rows of a pair, for writing.
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

/// Pairs of neighboring rows: pair p is rows 2p and 2p + 1, counted from the end if `reversed`. With an odd number of rows, the last row is in no
/// pair. Splits into pieces.
pub(crate) struct AdjacentRows<'a, T> {
    x: &'a mut [T],
    row: usize,
    /// The index of the first row of `x`.
    first: usize,
    reversed: bool,
    pieces: usize,
}

impl<'a, T> AdjacentRows<'a, T> {
    /// All rows of `x`. Row 0 of `x` has the index `first`.
    pub fn new(x: &'a mut [T], (row, first): (usize, usize), reversed: bool) -> Self {
        Self { x, row, first, reversed, pieces: 1 }
    }

    /// The same rows, in `pieces` pieces.
    pub fn in_pieces(self, pieces: usize) -> Self {
        Self { pieces, ..self }
    }

    pub fn pairs(&self) -> usize {
        self.x.len() / self.row / 2
    }

    /// The same rows, paired from both ends; `None` if there are none.
    pub fn mirrored(self, pieces: usize) -> Option<RowPairs<'a, T>> {
        let Self { x, row, first, .. } = self;
        (!x.is_empty()).then(|| RowPairs::Mirrored(Mirrored::new(x, (row, first), pieces)))
    }

    /// The pairs, borrowed for a transform.
    pub fn pairwise(&mut self) -> RowPairs<'_, T> {
        let Self { x, row, first, reversed, pieces } = self;
        RowPairs::Adjacent(AdjacentRows { x, row: *row, first: *first, reversed: *reversed, pieces: *pieces })
    }

    /// The place of row `step` in `x`.
    fn at(&self, step: usize) -> usize {
        if self.reversed { self.x.len() / self.row - 1 - step } else { step }
    }

    /// All rows in memory order, and the index of the first row.
    pub fn rows(&self) -> (&[T], usize) {
        (self.x, self.first)
    }

    /// The index of row `step`.
    pub fn index(&self, step: usize) -> usize {
        self.first + self.at(step)
    }

    /// The previous row, if there is one, and row `step`.
    pub fn behind(&mut self, step: usize) -> (Option<&[T]>, &mut [T]) {
        let (current, row) = (self.at(step), self.row);
        if step == 0 {
            return (None, &mut self.x[current * row..][..row]);
        }
        let behind = self.at(step - 1);
        let (behind, current) = two_rows(self.x, row, (behind, current));
        (Some(behind), current)
    }

    /// The next row, and row `step`.
    pub fn ahead(&mut self, step: usize) -> (&[T], &mut [T]) {
        let places = (self.at(step + 1), self.at(step));
        two_rows(self.x, self.row, places)
    }
}

/// One row to read, and another row to write.
pub(crate) fn two_rows<T>(x: &mut [T], row: usize, (read, written): (usize, usize)) -> (&[T], &mut [T]) {
    let (left, right) = x.split_at_mut(read.max(written) * row);
    if read > written {
        (&right[..row], &mut left[written * row..][..row])
    } else {
        (&left[read * row..][..row], &mut right[..row])
    }
}

impl<T: Send> Split for AdjacentRows<'_, T> {
    fn split(self, pieces: usize) -> (Self, Self) {
        let Self { row, first, reversed, .. } = self;
        let rows = 2 * (self.pairs() * pieces / self.pieces.max(1));
        let rest = self.pieces - pieces;
        if reversed {
            let rest_rows = self.x.len() / row - rows;
            let (x, piece) = self.x.split_at_mut(rest_rows * row);
            let piece = Self { x: piece, row, first: first + rest_rows, reversed, pieces };
            return (piece, Self { x, row, first, reversed, pieces: rest });
        }
        let (piece, x) = self.x.split_at_mut(rows * row);
        (Self { x: piece, row, first, reversed, pieces }, Self { x, row, first: first + rows, reversed, pieces: rest })
    }
}

/// Pairs of rows. The two rows of a pair are the real and the imaginary part of one complex row.
pub(crate) enum RowPairs<'a, T> {
    Mirrored(Mirrored<'a, T>),
    Adjacent(AdjacentRows<'a, T>),
}

impl<T> RowPairs<'_, T> {
    pub fn pairs(&self) -> usize {
        match self {
            RowPairs::Mirrored(rows) => rows.pairs(),
            RowPairs::Adjacent(rows) => rows.pairs(),
        }
    }

    /// For neighboring rows: all rows, the index of the first row, and the places where the first rows and the second rows of `pairs` begin.
    ///
    /// The first rows are two apart, in memory order, and so are the second rows.
    pub fn spaced(&mut self, pairs: Range<usize>) -> Option<(&mut [T], usize, [usize; 2])> {
        let RowPairs::Adjacent(rows) = self else { return None };
        let least = if rows.reversed { pairs.end - 1 } else { pairs.start };
        let places = [rows.at(2 * least), rows.at(2 * least + 1)];
        Some((&mut *rows.x, rows.first, places))
    }

    /// The pair at place `place` of `pairs` in memory order.
    pub fn in_memory(&self, pairs: &Range<usize>, place: usize) -> usize {
        let reversed = matches!(self, RowPairs::Adjacent(rows) if rows.reversed);
        if reversed { pairs.end - 1 - place } else { pairs.start + place }
    }

    /// The indices of the rows of a pair.
    pub fn indices(&self, p: usize) -> (usize, Option<usize>) {
        match self {
            RowPairs::Mirrored(rows) => rows.indices(p),
            RowPairs::Adjacent(rows) => (rows.first + rows.at(2 * p), Some(rows.first + rows.at(2 * p + 1))),
        }
    }

    /// The rows of a pair.
    pub fn rows(&self, p: usize) -> (&[T], Option<&[T]>) {
        match self {
            RowPairs::Mirrored(rows) => rows.rows(p),
            RowPairs::Adjacent(rows) => {
                let one = |step: usize| &rows.x[rows.at(step) * rows.row..][..rows.row];
                (one(2 * p), Some(one(2 * p + 1)))
            }
        }
    }

    /// The rows of a pair, for writing.
    pub fn rows_mut(&mut self, p: usize) -> (&mut [T], Option<&mut [T]>) {
        match self {
            RowPairs::Mirrored(rows) => rows.rows_mut(p),
            RowPairs::Adjacent(rows) => {
                let least = rows.at(2 * p).min(rows.at(2 * p + 1));
                let (low, high) = rows.x[least * rows.row..][..2 * rows.row].split_at_mut(rows.row);
                if rows.reversed { (high, Some(low)) } else { (low, Some(high)) }
            }
        }
    }
}

impl<T: Send> Split for RowPairs<'_, T> {
    fn split(self, pieces: usize) -> (Self, Self) {
        match self {
            RowPairs::Mirrored(rows) => {
                let (a, b) = rows.split(pieces);
                (RowPairs::Mirrored(a), RowPairs::Mirrored(b))
            }
            RowPairs::Adjacent(rows) => {
                let (a, b) = rows.split(pieces);
                (RowPairs::Adjacent(a), RowPairs::Adjacent(b))
            }
        }
    }
}

/// Blocks of `width` columns of an array that is stored by rows. The rows of the view are these columns.
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
