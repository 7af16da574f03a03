//! Elimination of blocks of columns of a band with row exchanges, by panels, triangles and products.

use crate::dense::Product;
use crate::panel::{Panel, PanelResult, PivotRule, exchange_rows};
use crate::spread::{RowsOf, each_chunk};
use crate::triangle::{SMALL, SmallSubstitution};
use crate::view::{View, ViewMut};
use crate::{Scalar, Simd, prefetch::Prefetcher};

/// How an update of columns is divided. The pieces, and so the results, are the same with and without parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// Number of columns of a piece.
    pub columns: usize,
    /// Number of elements of an update from which pieces run on all threads.
    pub parallel_from: usize,
}

impl Pieces {
    /// Divide `count` columns of `rows` rows with the distance `stride`, and call `work` with the number of each piece
    /// and its columns.
    pub fn each<T: Send>(
        self,
        region: &mut [T],
        stride: usize,
        (rows, count): (usize, usize),
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let (pieces, size) = (count.div_ceil(self.columns), self.columns * stride);
        let least = usize::from(rows * count >= self.parallel_from);
        let end = (pieces * size).min(region.len());
        each_chunk((pieces, least), RowsOf(&mut region[..end], size), &|c, RowsOf(piece, _)| work(c, piece));
    }
}

/// Columns of L and their row exchanges, for the update of other columns.
#[derive(Clone, Copy)]
pub struct Eliminated<'a, T> {
    /// L from the first pivot row on, with unit diagonal.
    pub l: View<'a, T>,
    /// One row exchange per column.
    pub exchange: &'a [u32],
    pub simd: Simd,
}

impl<T: Scalar> Eliminated<'_, T> {
    /// Exchange rows and eliminate in `count` columns, which begin at the first pivot row and have the distance
    /// `stride`: U₁₂ = L₁₁⁻¹ P A₁₂, A₂₂ ← A₂₂ − L₂₁ U₁₂.
    pub fn apply(&self, region: &mut [T], stride: usize, count: usize) {
        let (rows, width) = (self.l.nrows(), self.l.ncols());
        exchange_rows(region, stride, count, self.exchange);
        let right = ViewMut::with_stride(region, rows, count, stride);
        let (mut u12, a22) = right.split_at_row(width);
        solve_unit_lower(self.simd, self.l.rows(0..width), u12.as_mut());
        let (a, b) = (self.l.rows(width..rows), u12.as_ref());
        Product::subtract(a22, a, b).run_on(self.simd);
    }
}

/// x ← L⁻¹·x with unit diagonal of L.
pub fn solve_unit_lower<T: Scalar>(simd: Simd, l: View<'_, T>, mut x: ViewMut<'_, T>) {
    for p in (0..l.ncols()).step_by(SMALL) {
        let w = SMALL.min(l.ncols() - p);
        let (mut top, below) = x.as_mut().rows(p..l.ncols()).split_at_row(w);
        let t = l.part(p..p + w, p..p + w);
        SmallSubstitution { t, inverse: None, forward: true, x: top.as_mut() }.run_on(simd);
        let a = l.part(p + w..l.ncols(), p..p + w);
        Product::subtract(below, a, top.as_ref()).run_on(simd);
    }
}

/// A block of columns during elimination, followed by other columns.
///
/// Element (i, c), counted from the diagonal element of the first column, is `region[i + c·stride]`. Blocks at the
/// edges of the band are rectangles. A block with w columns therefore needs w − 1 diagonals of zeros around the band.
pub struct Block<'a, T: Scalar> {
    /// The elements of the columns, from the first diagonal element on.
    pub region: &'a mut [T],
    /// Distance between neighboring columns.
    pub stride: usize,
    /// Number of rows of the matrix, from the first row of the block on.
    pub rows: usize,
    /// Number of elements below the diagonal.
    pub lower: usize,
    /// 1/u_kk of the columns of the block.
    pub inverse: &'a mut [T],
    /// Step k exchanges the rows k and k + `exchange[k]`.
    pub exchange: &'a mut [u32],
    /// The choice of pivots.
    pub rule: PivotRule<T::Real>,
    pub simd: Simd,
}

impl<T: Scalar> Block<'_, T> {
    /// Eliminate the columns of the block, and update the `right` columns after it.
    pub fn eliminate(&mut self, right: usize, pieces: Pieces) -> PanelResult {
        let (mut result, width) = (PanelResult::default(), self.inverse.len());
        let alone = Pieces { parallel_from: usize::MAX, ..pieces };
        for p in (0..width).step_by(SMALL) {
            let w = SMALL.min(width - p);
            let panel = self.panel(p, w);
            result.singular = result.singular.or(panel.singular.map(|k| p + k));
            result.boosted += panel.boosted;
            exchange_rows(&mut self.region[p..], self.stride, p, &self.exchange[p..p + w]);
            self.apply((p, w), width - p - w, alone);
        }
        self.apply((0, width), right, pieces);
        result
    }

    /// Eliminate the columns of a panel.
    fn panel(&mut self, p: usize, width: usize) -> PanelResult {
        let job = Panel {
            region: &mut self.region[p * (self.stride + 1)..],
            stride: self.stride,
            rows: self.rows - p,
            columns: width,
            lower: self.lower,
            fill: width,
            upper: width,
            window: None,
            reach_back: true,
            inverse: &mut self.inverse[p..p + width],
            exchange: &mut self.exchange[p..p + width],
            rule: self.rule,
            prefetcher: Prefetcher::none(),
        };
        job.run_on(self.simd)
    }

    /// Update `count` columns with the eliminated columns p … p + width − 1 to their left.
    fn apply(&mut self, (p, width): (usize, usize), count: usize, pieces: Pieces) {
        if count == 0 {
            return;
        }
        let (rows, stride) = ((width + self.lower).min(self.rows - p), self.stride);
        let region = &mut self.region[p * (stride + 1)..];
        let (left, right) = region.split_at_mut((width * stride).min(region.len()));
        let l = View::with_stride(left, rows, width, stride);
        let step = Eliminated { l, exchange: &self.exchange[p..p + width], simd: self.simd };
        pieces.each(right, stride, (rows, count), |c, piece| {
            step.apply(piece, stride, (count - c * pieces.columns).min(pieces.columns));
        });
    }
}
