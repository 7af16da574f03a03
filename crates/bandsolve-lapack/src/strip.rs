//! Columns of a band in memory of their own, for blocked elimination: a strip that moves on along the matrix.
//!
//! Between two columns of LAPACK's arrays there is no room. In the strip there are places above and below the band, so that the
//! blocks at its edges are rectangles like all others.

use bandsolve::Scalar;
use bandsolve_kernel::memory::Array;
use core::ops::Range;

/// Columns of the matrix: element (i, j) at `above + i + j·stride`, counted from the first column and its diagonal.
pub struct Strip<T> {
    /// From column to column.
    pub stride: usize,
    /// Elements, and as many more as whole vectors may reach beyond the last.
    pub elements: Array<T>,
    above: usize,
    capacity: usize,
    /// The columns that are here.
    pub columns: Range<usize>,
}

impl<T: Scalar> Strip<T> {
    /// Room for so many columns with at least so many places above and below the diagonal; `None` without memory.
    pub fn new(above: usize, below: usize, capacity: usize) -> Option<Self> {
        let line = 64 / size_of::<T>();
        // Blocks begin with a line of the cache, and columns an odd number of lines apart do not collide there.
        let (lines, above) = (above > 0, above.next_multiple_of(line));
        let stride = if lines { ((above + below).div_ceil(line) | 1) * line } else { below };
        let elements = Array::new(capacity.checked_mul(stride + 1)?.checked_add(stride)?, None)?;
        Some(Self { stride, elements, above, capacity, columns: 0..0 })
    }

    /// Where column j has its diagonal.
    pub fn diagonal(&self, j: usize) -> usize {
        self.above + (j - self.columns.start) * (self.stride + 1)
    }

    /// Where the rows `rows` of column `j` stand.
    pub fn part(&self, rows: Range<usize>, j: usize) -> Range<usize> {
        let first = self.diagonal(j) + rows.start - j;
        first..first + rows.len()
    }

    /// Moves on to the columns from `start` on, of n: those that are here move up, the others are zero. Returns these.
    pub fn move_on(&mut self, start: usize, n: usize) -> Range<usize> {
        let height = self.stride + 1;
        let kept = self.columns.end.saturating_sub(start);
        if kept > 0 {
            let first = (start - self.columns.start) * height;
            self.elements.copy_within(first..first + kept * height, 0);
        }
        self.elements[kept * height..].fill(T::ZERO);
        self.columns = start..(start + self.capacity).min(n);
        start + kept..self.columns.end
    }
}
