//! Banded LU of wide bands: strips of columns are copied, eliminated in blocks by dense kernels, and copied back.
//!
//! In the strip the band has `block − 1` diagonals of zeros on either side, so that the blocks at its edges are rectangles
//! like all others and exchanges reach through a whole block. LAPACK's storage has no such room, and its L_j are as they
//! were in step j: the exchanges of later steps in the block are taken back on the way out.

use super::factor::{divide_by, largest};
use super::{Band, LuMut, subtract_multiple};
use crate::number::Number;
use crate::settings::{self, Partition};
use crate::wide::{self, Job};
use bandsolve_kernel::spread::{Wide, each_chunk};
use core::ops::Range;
use faer::{MatMut, MatRef};

/// Columns of a block that are eliminated without dense kernels.
const INNER: usize = 8;

/// Sizes of a blocked elimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns that are eliminated together.
    pub block: usize,
    /// Columns of a strip that are eliminated, a multiple of `block`; `lower + upper` more stand to the right of them.
    pub columns: usize,
    /// Columns that one task of an update takes; fixes the order of operations, so never dependent on threads.
    pub task: usize,
    /// Elements of an update from which it is spread over threads.
    pub parallel_from: usize,
}

impl Layout {
    /// For a band; `None` where it is too narrow.
    pub fn of(band: &Band) -> Option<Self> {
        let narrow = band.lower.min(band.upper).min(band.rows).min(band.columns);
        let block = match settings::partition() {
            Partition::Rows(rows) if narrow > 0 => {
                let block = rows.clamp(2, 8);
                let columns = rows.max(block).next_multiple_of(block);
                // Threads for the largest of small tests only: handing work to them takes longer than doing it.
                return Some(Self { block, columns, task: 32, parallel_from: 1 << 12 });
            }
            _ if narrow < 16 => return None,
            _ if narrow < 64 => 16,
            _ => 32,
        };
        let columns = (2 * band.upper).next_multiple_of(block).max(256);
        Some(Self { block, columns, task: 128, parallel_from: 1 << 16 })
    }
}

/// Factors in place as [`factor`](super::factor()) does, or returns `None`, with nothing changed, if there is no memory.
pub(super) fn factor<T: Number>(f: &mut LuMut<'_, T>, layout: Layout) -> Option<Option<usize>> {
    let mut strip = Strip::new(f.band, layout)?;
    let steps = f.band.rows.min(f.band.columns);
    let mut singular = None;
    for start in (0..steps).step_by(layout.columns) {
        let count = layout.columns.min(steps - start);
        strip.load(start, f.elements);
        for j in (0..count).step_by(layout.block) {
            let width = layout.block.min(count - j);
            let found = strip.eliminate_block(j, width);
            singular = singular.or(found.map(|k| start + j + k));
        }
        for j in 0..count {
            f.pivot[start + j] = (start + j + strip.exchange[j] + 1) as crate::Int;
        }
        strip.store(count, f.elements);
    }
    (steps..strip.loaded.end).for_each(|j| strip.store_column(j, f.elements));
    Some(singular)
}

/// Columns of the matrix, element (i, j) at `origin + i + j·stride`, counted from the first column and its diagonal.
struct Strip<T> {
    band: Band,
    layout: Layout,
    /// Superdiagonals of U.
    fill: usize,
    lower: usize,
    stride: usize,
    elements: Vec<T>,
    exchange: Vec<usize>,
    /// The columns that are here.
    loaded: Range<usize>,
}

impl<T: Number> Strip<T> {
    fn new(band: Band, layout: Layout) -> Option<Self> {
        let (lower, fill) = (band.lower.min(band.rows - 1), band.upper.min(band.columns - 1));
        let stride = 2 * (layout.block - 1) + fill + lower;
        let columns = (layout.columns + fill).min(band.columns);
        let mut elements = Vec::new();
        elements.try_reserve_exact(columns.checked_mul(stride + 1)?).ok()?;
        elements.resize(columns * (stride + 1), T::ZERO);
        let mut exchange = Vec::new();
        exchange.try_reserve_exact(layout.columns).ok()?;
        exchange.resize(layout.columns, 0);
        Some(Self { band, layout, fill, lower, stride, elements, exchange, loaded: 0..0 })
    }

    /// The column of the array at which column `j` of the matrix begins, and the row that stands there plus `above`.
    fn place(&self, j: usize) -> (usize, usize) {
        ((j - self.loaded.start) * (self.stride + 1), self.fill + self.layout.block - 1)
    }

    /// Where the rows `rows` of column `j` stand.
    fn part(&self, rows: Range<usize>, j: usize) -> Range<usize> {
        let (start, above) = self.place(j);
        let first = start + above + rows.start - j;
        first..first + rows.len()
    }

    /// Moves the strip on to the columns from `start` on: those that are here move up, the others are read.
    fn load(&mut self, start: usize, from: &[T]) {
        let height = self.stride + 1;
        let end = (start + self.elements.len() / height).min(self.band.columns);
        let kept = self.loaded.end.saturating_sub(start);
        if kept > 0 {
            let first = (start - self.loaded.start) * height;
            self.elements.copy_within(first..first + kept * height, 0);
        }
        self.loaded = start..end;
        self.elements[kept * height..].fill(T::ZERO);
        let a_upper = self.band.upper - self.band.lower;
        for j in start + kept..end {
            let rows = self.band.rows_of(j);
            let rows = rows.start.max(j.saturating_sub(a_upper)).min(rows.end)..rows.end;
            let to = self.part(rows.clone(), j);
            self.elements[to].copy_from_slice(&from[self.band.part(rows, j)]);
        }
    }

    /// Writes the first `count` columns back, their L as LAPACK has it.
    fn store(&mut self, count: usize, to: &mut [T]) {
        let start = self.loaded.start;
        for j in 0..count {
            let block_end = ((j / self.layout.block + 1) * self.layout.block).min(count);
            let diagonal = self.part(start + j..start + j + 1, start + j).start;
            for k in (j + 1..block_end).rev() {
                self.elements.swap(diagonal + k - j, diagonal + k - j + self.exchange[k]);
            }
            self.store_column(start + j, to);
        }
    }

    fn store_column(&self, j: usize, to: &mut [T]) {
        let rows = self.band.rows_of(j);
        to[self.band.part(rows.clone(), j)].copy_from_slice(&self.elements[self.part(rows, j)]);
    }

    /// Eliminates `width` columns from the `j`-th of the strip on; returns the first of them that has no pivot.
    fn eliminate_block(&mut self, j: usize, width: usize) -> Option<usize> {
        let here = self.loaded.start + j;
        let columns = (width + self.fill).min(self.band.columns - here);
        let region = &mut self.elements[self.fill + self.layout.block - 1 + j * (self.stride + 1)..];
        let exchange = &mut self.exchange[j..j + width];
        let (lower, rows, stride) = (self.lower, self.band.rows - here, self.stride);
        let mut panel = Panel { exchange, stride, lower, rows, layout: self.layout };
        let found = panel.eliminate_recursively(region, width);
        panel.update(region, width, columns);
        found
    }
}

/// Columns under elimination. Their elements come as `region`, which begins with the diagonal element of the first column;
/// column c begins at `c·stride`, with the same row.
struct Panel<'a> {
    exchange: &'a mut [usize],
    stride: usize,
    lower: usize,
    /// Rows of the matrix from the first of the panel on.
    rows: usize,
    layout: Layout,
}

impl Panel<'_> {
    /// Eliminates the first `width` columns, halving until they are few.
    fn eliminate_recursively<T: Number>(&mut self, region: &mut [T], width: usize) -> Option<usize> {
        if width <= INNER {
            return wide::run(Few { panel: self, region, width });
        }
        let half = width / 2;
        let left = self.eliminate_recursively(region, half);
        self.update(region, half, width);
        let (first, second) = region.split_at_mut(half * self.stride);
        let (exchange, rows) = (&mut self.exchange[half..], self.rows - half);
        let right = Panel { exchange, rows, ..*self }.eliminate_recursively(&mut second[half..], width - half);
        for column in first.chunks_mut(self.stride) {
            exchange_rows(&mut column[half..], &self.exchange[half..width]);
        }
        left.or(right.map(|k| half + k))
    }

    /// Eliminates the first `width` columns; exchanges reach all of these.
    #[inline(always)]
    fn eliminate<T: Number>(&mut self, region: &mut [T], width: usize) -> Option<usize> {
        let mut singular = None;
        for k in 0..width {
            let end = (k + 1 + self.lower).min(self.rows);
            let (left, right) = region.split_at_mut(((k + 1) * self.stride).min(region.len()));
            let (earlier, column) = left.split_at_mut(k * self.stride);
            let column = &mut column[k..end];
            let q = largest(column);
            self.exchange[k] = q;
            column.swap(0, q);
            let (pivot, multipliers) = column.split_first_mut().expect("the diagonal");
            if *pivot == T::ZERO {
                singular = singular.or(Some(k));
            } else {
                divide_by(multipliers, *pivot);
            }
            earlier.chunks_mut(self.stride).for_each(|column| column.swap(k, k + q));
            for column in right.chunks_mut(self.stride).take(width - k - 1) {
                let column = &mut column[k..end];
                column.swap(0, q);
                let (u, below) = column.split_first_mut().expect("the pivot row");
                subtract_multiple(below, *u, multipliers);
            }
        }
        singular
    }

    /// Applies the first `width` columns, eliminated, to those after them up to `columns`:
    /// U₁₂ = L₁₁⁻¹ P A₁₂, A₂₂ ← A₂₂ − L₂₁ U₁₂.
    fn update<T: Number>(&self, region: &mut [T], width: usize, columns: usize) {
        let rows = (width + self.lower).min(self.rows);
        let (left, right) = region.split_at_mut((width * self.stride).min(region.len()));
        let left = MatRef::from_column_major_slice_with_stride(left, rows, width, self.stride);
        let (l11, l21) = left.split_at_row(width);
        let task = self.layout.task;
        let count = (columns - width).div_ceil(task);
        let work = |c: usize, Wide(region, _): Wide<'_, T>| {
            let columns = (columns - width - c * task).min(task);
            for column in region.chunks_mut(self.stride).take(columns) {
                exchange_rows(column, &self.exchange[..width]);
            }
            let block = MatMut::from_column_major_slice_with_stride_mut(region, rows, columns, self.stride);
            let (mut u12, a22) = block.split_at_row_mut(width);
            T::solve_unit_lower(l11, u12.as_mut());
            T::subtract_product(a22, l21, u12.as_ref());
        };
        // The pieces are the same whether or not they run in parallel, and so is the result.
        let piece = task * self.stride;
        let parallel = count > 1 && rows * columns >= self.layout.parallel_from;
        let end = (count * piece).min(right.len());
        each_chunk((count, usize::from(parallel)), Wide(&mut right[..end], piece), &work);
    }
}

/// [`Panel::eliminate`]
struct Few<'a, 'p, T> {
    panel: &'a mut Panel<'p>,
    region: &'a mut [T],
    width: usize,
}

impl<T: Number> Job for Few<'_, '_, T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        self.panel.eliminate(self.region, self.width)
    }
}

/// Exchanges rows k and k + `exchange[k]` of one column, in order.
fn exchange_rows<T>(column: &mut [T], exchange: &[usize]) {
    for (k, &q) in exchange.iter().enumerate() {
        column.swap(k, k + q);
    }
}
