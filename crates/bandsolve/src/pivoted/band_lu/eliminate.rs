//! Elimination of a block of columns.

use super::{BandLu, FactorOptions};
use crate::error::Result;
use crate::memory::allocate;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::columns::{Block, Eliminated, Pieces};
use bandsolve_kernel::panel::{Panel, PanelResult, PivotRule, Update};
use bandsolve_kernel::prefetch::Prefetcher;
use core::ops::Range;

impl<T: Scalar> BandLu<T> {
    /// Eliminate columns j … j + width − 1. `prefetcher` works if they are eliminated one by one.
    pub(crate) fn eliminate(
        &mut self,
        j: usize,
        width: usize,
        how: FactorOptions<'_, T::Real>,
        prefetcher: Prefetcher,
    ) -> PanelResult {
        let exchange = how.rule.exchanges();
        let rule = PivotRule { exchange, boost: how.boost && !exchange, noise: how.rule.noise };
        let (start, left_looking) = (self.index(j, j), self.left_looking());
        let (region, stride, rows) = (&mut self.elements[start..], self.stride, self.size.rows - j);
        let (inverse, exchange) = (&mut self.inverse[j..j + width], &mut self.exchange[j..j + width]);
        let lower = self.size.lower;
        if self.block == 1 {
            let (columns, fill, window) = (self.size.columns - j, self.fill, self.window);
            let alone = Panel {
                region,
                stride,
                rows,
                columns,
                lower,
                fill,
                upper: self.size.upper,
                window,
                reach_back: false,
                inverse,
                exchange,
                rule,
                prefetcher,
            };
            return alone.run_on(self.simd);
        }
        let right = if left_looking { 0 } else { self.fill.min(self.size.columns - j - width) };
        let parallel_from = if how.parallel { tuning::BAND_PARALLEL } else { usize::MAX };
        let mut block = Block { region, stride, rows, lower, inverse, exchange, rule, simd: self.simd };
        block.eliminate(right, Pieces { columns: tuning::BAND_COLUMNS, parallel_from })
    }

    /// Apply the elimination of all earlier columns to `columns`.
    pub(crate) fn follow(&mut self, columns: Range<usize>, prefetcher: Prefetcher) {
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
            prefetcher,
        };
        job.run_on(self.simd);
    }
}

/// Columns to the left of a rectangle, which fill in during the elimination.
///
/// Only the rows in use are stored. At the end, these are the rows of the remaining equations.
#[derive(Debug)]
pub(crate) struct Spike<T> {
    columns: usize,
    /// The stride between columns.
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

    /// Number of rows that are nonzero before the elimination.
    pub(crate) fn rows(&self) -> usize {
        self.columns
    }

    /// Call `visit(row, entry)` for all entries before the elimination.
    pub(crate) fn visit(&self, mut visit: impl FnMut(usize, T)) {
        for column in self.elements.chunks(self.height.max(1)) {
            column[..self.columns].iter().enumerate().for_each(|(i, v)| visit(i, *v));
        }
    }

    /// Multiply each row by its scale.
    pub(crate) fn scale(&mut self, scale: &[T::Real]) {
        for column in self.elements.chunks_mut(self.height.max(1)) {
            column.iter_mut().zip(scale).for_each(|(v, s)| *v = v.scale(*s));
        }
    }

    /// Apply the elimination of columns j … j + width − 1, then drop their rows.
    pub(crate) fn eliminate(&mut self, lu: &BandLu<T>, j: usize, width: usize) {
        if self.columns == 0 {
            return;
        }
        for k in (0..width).step_by(lu.block) {
            let block = lu.block.min(width - k);
            let (l, exchange) = (lu.columns_of_l(j + k, block), &lu.exchange[j + k..j + k + block]);
            let step = Eliminated { l, exchange, simd: lu.simd };
            step.apply(&mut self.elements[k..], self.height, self.columns);
        }
        for column in self.elements.chunks_mut(self.height) {
            column.copy_within(width.., 0);
            let remaining = column.len() - width;
            column[remaining..].fill(T::ZERO);
        }
    }

    /// The entry of remaining equation i after the elimination.
    pub fn rest(&self, i: usize, column: usize) -> T {
        self.elements[i + column * self.height]
    }
}
