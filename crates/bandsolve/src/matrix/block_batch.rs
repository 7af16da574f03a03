//! Batches of block tridiagonal systems, which are batches of bands.

use super::banded_batch::BandedBatch;
use super::periodic::{FoldedSize, PeriodicBands, RingOrder};
use super::shape::Layout;
use crate::error::{Error, Result, check_len};
use crate::tuning::SMALL_BLOCK_MAX;
use bandsolve_kernel::Scalar;
use core::ops::Range;
use std::borrow::Cow;

/// Distances in memory between the entries of the blocks of a batch, counted in numbers.
///
/// # Examples
/// ```
/// use bandsolve::BlockStrides;
/// // Systems of 10 block rows one after the other, with blocks of 3 rows in row-major order, as NumPy stores an array (systems, 10, 3, 3):
/// let numpy = BlockStrides { system: 90, block: 9, row: 3, column: 1 };
/// // The same with column-major blocks, as `BlockTridiagonal` stores them:
/// let columns = BlockStrides { row: 1, column: 3, ..numpy };
/// assert_ne!(numpy, columns);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockStrides {
    /// From one system to the next; 0 for one matrix for all systems.
    pub system: usize,
    /// From a block to the next one of its array.
    pub block: usize,
    /// From one row of a block to the next.
    pub row: usize,
    /// From one column of a block to the next.
    pub column: usize,
}

/// Block tridiagonal matrices of one size, in arrays with the same distances.
struct BlockBatch<'a, T> {
    count: usize,
    block_rows: usize,
    block: usize,
    layout: Layout,
    strides: BlockStrides,
    arrays: [&'a [T]; 3],
    /// The order of the block rows, if the matrices are periodic.
    order: Option<RingOrder>,
}

/// The names of the arrays, in the order in which they are looked at for numbers that are not finite.
const ARRAYS: [&str; 3] = ["sub", "diag", "sup"];

impl<T: Scalar> BlockBatch<'_, T> {
    /// Number of diagonals on each side of the bands. Blocks that are neighbors on a ring are at most two positions apart.
    fn width(&self) -> usize {
        let apart = if self.order.is_some() { 2 } else { 1 };
        (apart + 1) * self.block - 1
    }

    /// The position of a block row, and the block row at a position.
    fn position(&self, i: usize) -> usize {
        self.order.map_or(i, |order| order.position(i))
    }

    fn place(&self, position: usize) -> usize {
        self.order.map_or(position, |order| order.place(position))
    }

    /// Add the blocks of a block column to the columns of the bands: the entry on diagonal d in column c of system k of `systems` is
    /// `to[k + (c·height + d)·beside]`. Returns the least number of an entry that is not finite: its index, plus a multiple of the length of an
    /// array.
    fn fill(&self, systems: Range<usize>, position: usize, to: &mut [T], beside: usize) -> usize {
        let (n, b, width) = (self.block_rows, self.block, self.width());
        let (height, j) = (2 * width + 1, self.place(position));
        let (before, after) = match self.order {
            Some(_) => (Some(if j == 0 { n - 1 } else { j - 1 }), Some(if j + 1 == n { 0 } else { j + 1 })),
            None => (j.checked_sub(1), Some(j + 1).filter(|i| *i < n)),
        };
        let mut bad = usize::MAX;
        // Block column j has the blocks sub[j + 1], diag[j] and sup[j − 1].
        for (which, i) in [after, Some(j), before].into_iter().enumerate() {
            let Some(i) = i else { continue };
            let (array, first) = (self.arrays[which], self.position(i) * b);
            let BlockStrides { system, block, row, column } = self.strides;
            for (c, r) in (0..b).flat_map(|c| (0..b).map(move |r| (c, r))) {
                let of_entry = i * block + r * row + c * column;
                let at = (c * height + width + first + r - (position * b + c)) * beside;
                for (k, entry) in to[at..at + systems.len()].iter_mut().enumerate() {
                    let index = (systems.start + k) * system + of_entry;
                    *entry += array[index];
                    // On a ring of one or two blocks, blocks meet in one place, and their sum may overflow.
                    if !Scalar::is_finite(*entry) {
                        bad = bad.min(which * array.len() + index);
                    }
                }
            }
        }
        bad
    }

    /// The bands.
    fn bands(&self) -> Result<BandedBatch<'static, T>> {
        let Self { count, block_rows, block, layout, strides, arrays, .. } = *self;
        let most = BandedBatch::<T>::most_rows(self.order.is_some());
        if block == 0 || block > most {
            let what = "the number of rows of a block of a batch";
            return Err(Error::Shape { what, expected: block.clamp(1, most), got: block });
        }
        let lengths =
            [(count, strides.system), (block_rows, strides.block), (block, strides.row), (block, strides.column)];
        let last = lengths
            .iter()
            .try_fold(0usize, |sum, (length, stride)| sum.checked_add(length.saturating_sub(1).checked_mul(*stride)?));
        let needed = last.and_then(|last| last.checked_add(1)).unwrap_or(usize::MAX);
        for (array, what) in arrays.iter().zip(ARRAYS) {
            check_len(what, arrays[0].len(), array.len())?;
            if count > 0 && block_rows > 0 && array.len() < needed {
                return Err(Error::Shape { what, expected: needed, got: array.len() });
            }
        }
        let matrices = if strides.system == 0 { count.min(1) } else { count };
        let height = 2 * self.width() + 1;
        let blocks = FoldedSize { columns: block_rows, column: block * height, matrices, layout };
        let (bands, bad) =
            blocks.filled(&|systems, position, to: &mut [T], beside| self.fill(systems, position, to, beside))?;
        if bad < usize::MAX {
            let len = arrays[0].len();
            return Err(Error::NotFinite { array: ARRAYS[bad / len], index: bad % len });
        }
        let n = block_rows.saturating_mul(block);
        let strides = FoldedSize { columns: n, column: height, ..blocks }.strides_of(count);
        BandedBatch::build(count, n, (self.width(), self.width()), layout, strides, Cow::Owned(bands))
    }
}

impl<T: Scalar> BandedBatch<'_, T> {
    /// The most rows of a block in [`from_blocks`](Self::from_blocks), or in
    /// [`from_periodic_blocks`](PeriodicBands::from_periodic_blocks) if `periodic`.
    pub const fn most_rows(periodic: bool) -> usize {
        // 3·block − 1 diagonals on each side, or 2·block − 1.
        let rows = if periodic { (Self::MAX_DIAGONALS + 1) / 3 } else { (Self::MAX_DIAGONALS + 1) / 2 };
        if rows < SMALL_BLOCK_MAX { rows } else { SMALL_BLOCK_MAX }
    }

    /// `count` block tridiagonal matrices of `block_rows` block rows, with blocks of at most 8 rows, as bands with 2·`block` − 1 diagonals on
    /// each side.
    ///
    /// # Shapes
    /// `sub`, `diag`, `sup`: arrays with the distances `strides`, indexed by block row. The first block of `sub` and the last one of `sup` of each
    /// system are ignored. The right-hand sides are those of bands with `block_rows`·`block` rows.
    ///
    /// # Cost
    /// A copy of the matrices, then that of the bands.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays that are too short or have different lengths, or too many rows in a block; [`Error::NotFinite`] with an index in
    /// `sub`, `diag` or `sup`; [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::{BandedBatch, BlockStrides, Layout};
    /// // Three systems with two block rows of two rows each, all with the same matrix.
    /// let (diag, off) = ([4.0, 1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 4.0], [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    /// let strides = BlockStrides { system: 0, block: 4, row: 1, column: 2 };
    /// let a = BandedBatch::from_blocks(3, (2, 2), Layout::Contiguous, strides, [&off, &diag, &off])?;
    /// let x = a.solve(&[6.0; 12])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_blocks(
        count: usize,
        (block_rows, block): (usize, usize),
        layout: Layout,
        strides: BlockStrides,
        arrays: [&[T]; 3],
    ) -> Result<BandedBatch<'static, T>> {
        BlockBatch { count, block_rows, block, layout, strides, arrays, order: None }.bands()
    }
}

impl<T: Scalar> PeriodicBands<BandedBatch<'_, T>> {
    /// `count` periodic block tridiagonal matrices, with blocks of at most 5 rows, as [`from_blocks`](BandedBatch::from_blocks) takes them. The first
    /// block of `sub` multiplies the last block of x, and the last one of `sup` the first.
    ///
    /// The order 0, N − 1, 1, N − 2, … of the N block rows makes them bands with 3·`block` − 1 diagonals on each side. For N ≤ 2, blocks of the same
    /// columns are added.
    ///
    /// # Errors
    /// Those of [`from_blocks`](BandedBatch::from_blocks).
    pub fn from_periodic_blocks(
        count: usize,
        (block_rows, block): (usize, usize),
        layout: Layout,
        strides: BlockStrides,
        arrays: [&[T]; 3],
    ) -> Result<PeriodicBands<BandedBatch<'static, T>>> {
        let order = RingOrder::new(block_rows, block, if layout == Layout::Interleaved { count } else { 1 });
        let batch = BlockBatch { count, block_rows, block, layout, strides, arrays, order: Some(order) };
        Ok(PeriodicBands { folded: batch.bands()?, order })
    }
}
