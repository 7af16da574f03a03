//! Elimination of a block of columns.

use super::{BandLu, How};
use crate::error::Result;
use crate::memory::allocate;
use crate::tuning;
use bandsolve_kernel::ahead::Ahead;
use bandsolve_kernel::dense::{Product, SMALL, Substitute};
use bandsolve_kernel::panel::{Found, Panel, PivotRule, Update, exchange_rows};
use bandsolve_kernel::spread::{Wide, each_chunk};
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;

/// Columns of L as other columns need them.
#[derive(Clone, Copy)]
struct Step<'a, T> {
    /// From the first pivot row on, with unit diagonal.
    l: View<'a, T>,
    /// One for each column.
    exchange: &'a [u32],
    simd: Simd,
}

impl<T: Scalar> Step<'_, T> {
    /// Exchanges rows and eliminates in `count` columns that begin with the first pivot row, `stride` apart:
    /// U₁₂ = L₁₁⁻¹ P A₁₂, A₂₂ ← A₂₂ − L₂₁ U₁₂.
    fn apply(&self, region: &mut [T], stride: usize, count: usize) {
        let (rows, width) = (self.l.nrows(), self.l.ncols());
        exchange_rows(region, stride, count, self.exchange);
        let right = ViewMut::with_stride(region, rows, count, stride);
        let (mut u12, a22) = right.split_at_row(width);
        solve_unit_lower(self.simd, self.l.rows(0..width), u12.as_mut());
        let (a, b) = (self.l.rows(width..rows), u12.as_ref());
        T::dense_product(self.simd, Product::subtract(a22, a, b));
    }
}

/// x ← L⁻¹·x with ones on the diagonal of L.
pub(crate) fn solve_unit_lower<T: Scalar>(simd: Simd, l: View<'_, T>, mut x: ViewMut<'_, T>) {
    for p in (0..l.ncols()).step_by(SMALL) {
        let w = SMALL.min(l.ncols() - p);
        let (mut top, below) = x.as_mut().rows(p..l.ncols()).split_at_row(w);
        let t = l.part(p..p + w, p..p + w);
        T::substitute_small(simd, Substitute { t, inverse: None, forward: true, x: top.as_mut() });
        let a = l.part(p + w..l.ncols(), p..p + w);
        T::dense_product(simd, Product::subtract(below, a, top.as_ref()));
    }
}

impl<T: Scalar> BandLu<T> {
    /// Eliminates columns j … j + width − 1; asks for what lies `ahead` if they are eliminated one by one.
    pub(crate) fn eliminate(&mut self, j: usize, width: usize, how: How<'_, T::Real>, ahead: Ahead) -> Found {
        let exchange = how.rule.exchanges();
        let rule = PivotRule { exchange, boost: how.boost && !exchange, noise: how.rule.noise };
        if self.block == 1 {
            let columns = self.size.columns - j;
            return self.panel((j, width), (columns, self.fill), rule, Some(ahead));
        }
        let mut found = Found::default();
        for p in (0..width).step_by(SMALL) {
            let w = SMALL.min(width - p);
            let panel = self.panel((j + p, w), (w, w), rule, None);
            found.singular = found.singular.or(panel.singular.map(|k| p + k));
            found.boosted += panel.boosted;
            self.reach_back(j, p, w);
            self.apply((j + p, w), width - p - w, false);
        }
        if !self.left_looking() {
            let right = self.fill.min(self.size.columns - j - width);
            self.apply((j, width), right, how.parallel);
        }
        found
    }

    /// Columns follow the elimination of all columns to their left that reach them.
    pub(crate) fn follow(&mut self, columns: Range<usize>, ahead: Ahead) {
        let job = Update {
            elements: &mut self.elements,
            origin: self.origin,
            stride: self.stride,
            rows: self.size.rows,
            lower: self.size.lower,
            fill: self.fill,
            block: self.block,
            columns,
            pivots: self.size.pivots,
            exchange: &self.exchange,
            ahead,
        };
        T::update(self.simd, job);
    }

    /// Eliminates a few columns, `alone` or as a part of a block, asking for what lies ahead.
    fn panel(
        &mut self,
        (j, width): (usize, usize),
        (columns, fill): (usize, usize),
        rule: PivotRule<T::Real>,
        alone: Option<Ahead>,
    ) -> Found {
        let start = self.index(j, j);
        let job = Panel {
            region: &mut self.elements[start..],
            stride: self.stride,
            rows: self.size.rows - j,
            columns,
            lower: self.size.lower,
            fill,
            window: self.window,
            reach_back: alone.is_none(),
            inverse: &mut self.inverse[j..j + width],
            exchange: &mut self.exchange[j..j + width],
            rule,
            ahead: alone.unwrap_or_else(Ahead::nothing),
        };
        T::panel(self.simd, job)
    }

    /// Exchanges the rows of pivots j + p … in the earlier columns of the block that begins with column j.
    fn reach_back(&mut self, j: usize, p: usize, w: usize) {
        let start = self.index(j, j);
        let exchange = &self.exchange[j + p..j + p + w];
        exchange_rows(&mut self.elements[start + p..], self.stride, p, exchange);
    }

    /// Applies the columns j … j + width − 1, eliminated, to the `count` columns after them.
    fn apply(&mut self, (j, width): (usize, usize), count: usize, parallel: bool) {
        let (start, stride) = (self.index(j, j), self.stride);
        let rows = (width + self.size.lower).min(self.size.rows - j);
        let (left, right) = self.elements[start..].split_at_mut(width * stride);
        let l = View::with_stride(left, rows, width, stride);
        let step = Step { l, exchange: &self.exchange[j..j + width], simd: self.simd };
        let chunk = tuning::BAND_COLUMNS;
        let pieces = count.div_ceil(chunk);
        let work = |c: usize, Wide(region, _): Wide<'_, T>| step.apply(region, stride, (count - c * chunk).min(chunk));
        // The pieces are the same whether or not they run in parallel, and so is the result.
        let least = usize::from(parallel && rows * count >= tuning::BAND_PARALLEL);
        let end = (pieces * chunk * stride).min(right.len());
        each_chunk((pieces, least), Wide(&mut right[..end], chunk * stride), &work);
    }
}

/// Columns to the left of a rectangle, which fill up as it is eliminated: of each only the rows that are being worked on are
/// kept, in the end those of the equations that are left.
#[derive(Debug)]
pub(crate) struct Spike<T> {
    columns: usize,
    /// Rows from column to column.
    height: usize,
    elements: Vec<T>,
}

impl<T: Scalar> Spike<T> {
    /// No columns.
    pub fn none() -> Self {
        Self { columns: 0, height: 0, elements: Vec::new() }
    }

    /// Columns with the given entries in rows 0 … columns − 1, for a rectangle of this lower bandwidth.
    pub fn new(columns: usize, lower: usize, entry: impl Fn(usize, usize) -> T) -> Result<Self> {
        let height = lower.max(columns) + tuning::BAND_NARROW_STEP.max(tuning::BAND_BLOCK_MAX);
        let mut elements = allocate(columns * height, T::ZERO)?;
        for c in 0..columns {
            (0..columns).for_each(|i| elements[i + c * height] = entry(i, c));
        }
        Ok(Self { columns, height, elements })
    }

    /// Rows that are not zero at first.
    pub(crate) fn rows(&self) -> usize {
        self.columns
    }

    /// Calls `visit(row, entry)` for all entries as they are at first.
    pub(crate) fn visit(&self, mut visit: impl FnMut(usize, T)) {
        for column in self.elements.chunks(self.height.max(1)) {
            column[..self.columns].iter().enumerate().for_each(|(i, v)| visit(i, *v));
        }
    }

    /// Multiplies rows.
    pub(crate) fn scale(&mut self, scale: &[T::Real]) {
        for column in self.elements.chunks_mut(self.height.max(1)) {
            column.iter_mut().zip(scale).for_each(|(v, s)| *v = v.scale(*s));
        }
    }

    /// Follows the elimination of columns j … j + width − 1, then forgets their rows.
    pub(crate) fn eliminate(&mut self, lu: &BandLu<T>, j: usize, width: usize) {
        if self.columns == 0 {
            return;
        }
        for k in (0..width).step_by(lu.block) {
            let block = lu.block.min(width - k);
            let step =
                Step { l: lu.columns_of_l(j + k, block), exchange: &lu.exchange[j + k..j + k + block], simd: lu.simd };
            step.apply(&mut self.elements[k..], self.height, self.columns);
        }
        for column in self.elements.chunks_mut(self.height) {
            column.copy_within(width.., 0);
            let kept = column.len() - width;
            column[kept..].fill(T::ZERO);
        }
    }

    /// What is left in equation i after all pivots.
    pub fn rest(&self, i: usize, column: usize) -> T {
        self.elements[i + column * self.height]
    }
}
