//! Banded Cholesky: strips of columns of L are copied, factored, and copied back.
//!
//! In the strip every column of L has `block − 1` places above its diagonal, which hold nothing of use, and as many zeros
//! below its last entry: blocks at the edge of the band are rectangles. The upper triangle is the lower one, transposed and
//! conjugated on the way in and out.

use super::Triangle;
use crate::number::Number;
use crate::settings::{self, Partition};
use crate::wide::{self, Job};
use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::spread::{Wide, each_chunk};
use faer::MatMut;

/// Sizes of a blocked elimination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns that are eliminated together; 1: column by column, without dense kernels.
    pub block: usize,
    /// Columns of a strip that are eliminated, a multiple of `block`.
    pub columns: usize,
    /// Elements of an update from which it is spread over threads.
    pub parallel_from: usize,
}

impl Layout {
    fn of(shape: &Triangle) -> Self {
        let narrow = shape.width.min(shape.n);
        let block = match settings::partition() {
            Partition::Rows(rows) if narrow > 0 => {
                let block = rows.clamp(2, 8);
                let columns = rows.max(block).next_multiple_of(block);
                // Threads for the largest of small tests only: handing work to them takes longer than doing it.
                return Self { block, columns, parallel_from: 1 << 12 };
            }
            _ if narrow < 24 => 1,
            _ if narrow < 96 => 16,
            _ => 32,
        };
        Self { block, columns: (2 * narrow).next_multiple_of(block).max(256), parallel_from: 1 << 16 }
    }
}

/// Factors in place; returns the first row whose pivot is not positive, at which it stops.
///
/// # Cost
/// width² multiplications a column; memory for about 3·width columns, at least 256.
///
/// # Panics
/// If there is no memory for one block of columns.
pub fn factor<T: Number>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    factor_by(Layout::of(&shape), shape, elements)
}

pub(super) fn factor_by<T: Number>(layout: Layout, shape: Triangle, elements: &mut [T]) -> Option<usize> {
    let mut strip = Strip::new(shape, layout);
    for start in (0..shape.n).step_by(strip.layout.columns) {
        let count = strip.layout.columns.min(shape.n - start);
        strip.load(start, elements);
        let bad = strip.eliminate(count);
        let done = if bad.is_some() { strip.end - start } else { count };
        (0..done).for_each(|j| strip.store(j, elements));
        if let Some(bad) = bad {
            return Some(start + bad);
        }
    }
    None
}

/// Columns of L from the `start`-th to the `end`-th, element (i, j) at `block` − 1 + i + j·stride, counted from the first.
struct Strip<T> {
    shape: Triangle,
    layout: Layout,
    stride: usize,
    elements: Vec<T>,
    start: usize,
    end: usize,
}

impl<T: Number> Strip<T> {
    fn new(shape: Triangle, mut layout: Layout) -> Self {
        let width = shape.width.min(shape.n.saturating_sub(1));
        let stride = 2 * (layout.block - 1) + width;
        let mut elements = Vec::new();
        let size = |columns: usize| (columns + width).min(shape.n).saturating_mul(stride + 1);
        if elements.try_reserve_exact(size(layout.columns)).is_err() {
            layout.columns = layout.block;
        }
        elements.resize(size(layout.columns), T::ZERO);
        Self { shape, layout, stride, elements, start: 0, end: 0 }
    }

    /// Where the diagonal of the strip's column `j` stands; what is below it follows.
    fn diagonal(&self, j: usize) -> usize {
        self.layout.block - 1 + j * (self.stride + 1)
    }

    /// Entries of column `start + j`, from the diagonal down.
    fn len(&self, j: usize) -> usize {
        (self.shape.width + 1).min(self.shape.n - self.start - j)
    }

    /// Moves the strip on to the columns from `start` on: those that are here move up, the others are read.
    fn load(&mut self, start: usize, from: &[T]) {
        let height = self.stride + 1;
        let kept = self.end.saturating_sub(start);
        let first = (start - self.start) * height;
        self.elements.copy_within(first..first + kept * height, 0);
        self.elements[kept * height..].fill(T::ZERO);
        (self.start, self.end) = (start, (start + self.elements.len() / height).min(self.shape.n));
        for j in kept..self.end - start {
            let (to, len) = (self.diagonal(j), self.len(j));
            for (k, to) in self.elements[to..to + len].iter_mut().enumerate() {
                *to = self.shape.side.below(from[self.shape.below(start + j + k, start + j)]);
            }
        }
    }

    fn store(&self, j: usize, to: &mut [T]) {
        let (from, len, column) = (self.diagonal(j), self.len(j), self.start + j);
        for (k, from) in self.elements[from..from + len].iter().enumerate() {
            to[self.shape.below(column + k, column)] = self.shape.side.below(*from);
        }
    }

    /// Eliminates the first `count` columns; returns the first whose pivot is not positive.
    fn eliminate(&mut self, count: usize) -> Option<usize> {
        let block = self.layout.block;
        if block > 1 {
            let by_blocks = |j: usize| self.eliminate_block(j, block.min(count - j)).map(|k| j + k);
            return (0..count).step_by(block).find_map(by_blocks);
        }
        let (most, rows, stride) = (self.len(0), self.shape.n - self.start, self.stride);
        wide::run(Columns { region: &mut self.elements, stride, count, most, rows })
    }

    /// Eliminates `width` columns from the `j`-th on; returns the first of them whose pivot is not positive.
    fn eliminate_block(&mut self, j: usize, width: usize) -> Option<usize> {
        let below = self.shape.width.min(self.shape.n - self.start - j - width);
        let (start, stride) = (self.diagonal(j), self.stride);
        let region = &mut self.elements[start..];
        let columns = Columns { region: &mut *region, stride, count: width, most: width, rows: width };
        if let Some(bad) = wide::run(columns) {
            return Some(bad);
        }
        let (left, right) = region.split_at_mut((width * stride).min(region.len()));
        let left = MatMut::from_column_major_slice_with_stride_mut(left, width + below, width, stride);
        let (l11, mut l21) = left.split_at_row_mut(width);
        T::solve_adjoint_from_right(l21.as_mut(), l11.as_ref());
        let l21 = l21.as_ref();
        let (block, count) = (self.layout.block, below.div_ceil(self.layout.block));
        // A₂₂ ← A₂₂ − L₂₁·L₂₁ᴴ, from the diagonal of each group of columns down.
        let work = |c: usize, Wide(region, _): Wide<'_, T>| {
            let (first, columns) = (c * block, block.min(below - c * block));
            let skipped = &mut region[width + first..];
            let a22 = MatMut::from_column_major_slice_with_stride_mut(skipped, below - first, columns, stride);
            T::subtract_adjoint_product(a22, l21.subrows(first, below - first), l21.subrows(first, columns));
        };
        // The pieces are the same whether or not they run in parallel, and so is the result.
        let parallel = count > 1 && below * below >= self.layout.parallel_from;
        let end = (count * block * stride).min(right.len());
        each_chunk((count, usize::from(parallel)), Wide(&mut right[..end], block * stride), &work);
        None
    }
}

/// `count` columns of which each has so many entries from its diagonal down, at most `most` and none in the rows from
/// `rows` on, and is taken from as many columns after it.
///
/// Column c begins at `c·(stride + 1)` with its diagonal.
struct Columns<'a, T> {
    region: &'a mut [T],
    stride: usize,
    count: usize,
    most: usize,
    rows: usize,
}

impl<T: Number> Job for Columns<'_, T> {
    type Output = Option<usize>;

    /// Factors them; returns the first whose pivot is not positive.
    #[inline(always)]
    fn run(self) -> Option<usize> {
        let height = self.stride + 1;
        for k in 0..self.count {
            let len = self.most.min(self.rows - k);
            let mut columns = self.region[k * height..].chunks_mut(height);
            let column = &mut columns.next().expect("column k")[..len];
            let pivot = column[0].re();
            if !(pivot > T::Real::ZERO) {
                return Some(k);
            }
            let root = pivot.sqrt();
            column[0] = T::from_real(root);
            let inverse = T::Real::ONE / root;
            column[1..].iter_mut().for_each(|l| *l = l.scale(inverse));
            for (c, to) in columns.take(len - 1).enumerate() {
                let l = &column[1 + c..];
                crate::gb::subtract_multiple(to, Scalar::conj(l[0]), l);
            }
        }
        None
    }
}
