//! A strip: columns of a band in separate memory, for blocked elimination. The strip moves along the matrix.
//!
//! LAPACK's arrays have no room between two columns. The strip has room above and below the band, so that the blocks at
//! its edges are rectangles like all others.

use bandsolve::Scalar;
use bandsolve_kernel::memory::Array;
use core::ops::Range;

/// Columns of the matrix. Element (i, j) is at `above + i + j·stride`, counted from the first column and its diagonal.
pub struct Strip<T> {
    /// Distance between neighboring columns.
    pub stride: usize,
    /// The elements, followed by room for whole vectors that reach beyond the last one.
    pub elements: Array<T>,
    above: usize,
    capacity: usize,
    /// The columns in the strip.
    pub columns: Range<usize>,
}

impl<T: Scalar> Strip<T> {
    /// A strip with room for `capacity` columns. Each column has at least `above` places above the diagonal and `below`
    /// places below it. `None` if there is not enough memory.
    pub fn new(above: usize, below: usize, capacity: usize) -> Option<Self> {
        let line = 64 / size_of::<T>();
        // Blocks begin at a cache line. Distances of an odd number of cache lines avoid collisions of columns in the
        // cache.
        let (lines, above) = (above > 0, above.next_multiple_of(line));
        let stride = if lines { ((above + below).div_ceil(line) | 1) * line } else { below };
        let elements = Array::new(capacity.checked_mul(stride + 1)?.checked_add(stride)?, None)?;
        Some(Self { stride, elements, above, capacity, columns: 0..0 })
    }

    /// The index of the diagonal of column j.
    pub fn diagonal(&self, j: usize) -> usize {
        self.above + (j - self.columns.start) * (self.stride + 1)
    }

    /// The index range of the rows `rows` of column `j`.
    pub fn part(&self, rows: Range<usize>, j: usize) -> Range<usize> {
        let first = self.diagonal(j) + rows.start - j;
        first..first + rows.len()
    }

    /// Move the strip to the columns from `start` on, of n columns. Columns that remain move to the front, and new ones
    /// are zero. Returns the new columns.
    pub fn move_on(&mut self, start: usize, n: usize) -> Range<usize> {
        let height = self.stride + 1;
        let remaining = self.columns.end.saturating_sub(start);
        if remaining > 0 {
            let first = (start - self.columns.start) * height;
            self.elements.copy_within(first..first + remaining * height, 0);
        }
        self.elements[remaining * height..].fill(T::ZERO);
        self.columns = start..(start + self.capacity).min(n);
        start + remaining..self.columns.end
    }
}
