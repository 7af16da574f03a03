//! A rectangle of rows and columns of a band, read from either end.

use crate::number::{Lanes, Scalar};
use core::ops::Range;

/// Rows and columns of a band, from either end.
///
/// Element (i, j) is at `first` + i + j·`step` or, if `reversed`, at the same distance before `first`. It is zero
/// unless j − upper ≤ i ≤ j + lower.
#[derive(Debug, Clone, Copy)]
pub struct Rectangle<'a, T> {
    pub bands: &'a [T],
    pub first: usize,
    pub step: usize,
    pub reversed: bool,
    pub rows: usize,
    pub columns: usize,
    pub lower: usize,
    pub upper: usize,
}

impl<'a, T: Scalar> Rectangle<'a, T> {
    /// Rows and columns of a matrix with `lower` and `upper` off-diagonals. The first row and column must be inside the
    /// band.
    ///
    /// `bands` contains the columns, with the distance `leading` between them.
    pub fn of(
        (bands, leading): (&'a [T], usize),
        (lower, upper): (usize, usize),
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> Self {
        let (i, j) = (rows.start, columns.start);
        let (lower, upper) = (lower + j - i, upper + i - j);
        let first = upper + j * leading;
        let (rows, columns) = (rows.len(), columns.len());
        Rectangle { bands, first, step: leading - 1, reversed: false, rows, columns, lower, upper }
    }

    /// The first non-zero row of column `j`, and the entries from this row on. If reversed, they are read backwards.
    #[inline(always)]
    pub(super) fn column(&self, j: usize) -> (usize, &'a [T]) {
        let (first, places) = self.places(j);
        (first, &self.bands[places])
    }

    /// The first row, and the range of the entries in `bands`.
    #[inline(always)]
    fn places(&self, j: usize) -> (usize, Range<usize>) {
        let (first, end) = (j.saturating_sub(self.upper), (j + self.lower + 1).min(self.rows));
        if first >= end {
            return (0, 0..0);
        }
        let start =
            if self.reversed { self.first - j * self.step - (end - 1) } else { self.first + j * self.step + first };
        (first, start..start + (end - first))
    }

    /// The memory that contains the given columns, as far as they exist.
    pub fn memory(&self, columns: Range<usize>) -> &'a [T] {
        let end = columns.end.min(self.columns);
        if columns.start >= end {
            return &[];
        }
        let [a, b] = [columns.start, end - 1].map(|j| self.places(j).1);
        &self.bands[a.start.min(b.start)..a.end.max(b.end)]
    }
}

/// W numbers from index k on out of `count` numbers, or of the same numbers in reverse order. Unless `FULL`, zeros
/// follow the last number.
///
/// # Safety
/// `count` numbers are readable. If `FULL`, W of them begin at index k; otherwise fewer do.
#[inline(always)]
pub(super) unsafe fn load_part<V: Lanes, const FULL: bool>(
    p: *const V::Real,
    count: usize,
    k: usize,
    reversed: bool,
) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        match (reversed, FULL) {
            (false, true) => V::load(p.add(k)),
            (false, false) => V::load_first(p.add(k), count - k),
            // In reverse order, the vector ends k numbers before the end.
            (true, true) => reverse_lanes(V::load(p.add(count - k - V::W))),
            (true, false) => reverse_lanes(V::load_last(p.add(count - k), count - k)),
        }
    }
}

/// Reverse the order of the lanes.
#[inline(always)]
pub(super) fn reverse_lanes<V: Lanes>(v: V) -> V {
    const DOWN: [u32; 31] =
        [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let index = DOWN[16 - V::W..32 - V::W].try_into().expect("sixteen numbers");
    v.permute(v, V::index(index))
}
