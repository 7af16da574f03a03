//! Sweeps with L and U, tile by tile.
//!
//! A window in cache holds a tile of rows of the right-hand sides, and the rows below it that L reaches, or above it that U reaches. The
//! sweep solves for the tile, stores it and moves the window to the next tile.

use super::BandLu;
use crate::tuning;
use bandsolve_kernel::columns::solve_unit_lower;
use bandsolve_kernel::dense::Product;
use bandsolve_kernel::narrow_lu::NarrowSolve;
use bandsolve_kernel::panel::{Narrow, Sweep, exchange_rows};
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::triangle::{SMALL, SmallSubstitution};
use bandsolve_kernel::view::{View, ViewMut};
use bandsolve_kernel::{Scalar, window};
use core::ops::Range;

/// The source of the right-hand sides of a sweep, and the destination of its solutions.
pub(crate) trait RhsRows<T> {
    /// Number of columns.
    fn count(&self) -> usize;
    /// Read rows of a column.
    fn load(&mut self, column: usize, rows: Range<usize>, to: &mut [T]);
    /// Write finished rows of a column.
    fn store(&mut self, column: usize, rows: Range<usize>, from: &[T]);
}

/// Columns of a matrix that a sweep reads and overwrites.
#[derive(Debug)]
pub(crate) struct RhsColumns<'a, T: Scalar> {
    pub x: ViewMut<'a, T>,
    /// Whether rows are counted from the last one backwards.
    pub reversed: bool,
    /// The row of the matrix from which row 0 is read, and the one to which it is written.
    pub offset: [usize; 2],
    /// The factors of the rows when they are read, and when they are written.
    pub scale: [Option<&'a [T::Real]>; 2],
}

impl<T: Scalar> RhsColumns<'_, T> {
    /// The rows in memory: `at` = 0 for those that are read, 1 for those that are written.
    pub fn slice(&mut self, column: usize, rows: Range<usize>, at: usize) -> &mut [T] {
        let height = self.x.nrows();
        let rows = rows.start + self.offset[at]..rows.end + self.offset[at];
        let rows = if self.reversed { height - rows.end..height - rows.start } else { rows };
        &mut self.x.as_mut().column(column)[rows]
    }

    fn multiply(&self, at: usize, rows: Range<usize>, values: &mut [T]) {
        if let Some(scale) = self.scale[at] {
            values.iter_mut().zip(&scale[rows]).for_each(|(v, s)| *v = v.scale(*s));
        }
    }
}

impl<T: Scalar> RhsRows<T> for RhsColumns<'_, T> {
    fn count(&self) -> usize {
        self.x.ncols()
    }

    fn load(&mut self, column: usize, rows: Range<usize>, to: &mut [T]) {
        to.copy_from_slice(self.slice(column, rows.clone(), 0));
        if self.reversed {
            to.reverse();
        }
        self.multiply(0, rows, to);
    }

    fn store(&mut self, column: usize, rows: Range<usize>, from: &[T]) {
        let (reversed, scale) = (self.reversed, self.scale[1]);
        let to = self.slice(column, rows.clone(), 1);
        to.copy_from_slice(from);
        if let Some(scale) = scale {
            let scale = scale[rows].iter();
            if reversed {
                to.iter_mut().rev().zip(from).zip(scale).for_each(|((to, v), s)| *to = v.scale(*s));
            } else {
                to.iter_mut().zip(from).zip(scale).for_each(|((to, v), s)| *to = v.scale(*s));
            }
        } else if reversed {
            to.reverse();
        }
    }
}

/// A window: some rows of all right-hand sides.
struct Window<'w, T> {
    elements: &'w mut [T],
    /// The stride between columns.
    height: usize,
    columns: usize,
}

impl<T: Scalar> Window<'_, T> {
    fn column(&mut self, c: usize) -> &mut [T] {
        &mut self.elements[c * self.height..(c + 1) * self.height]
    }

    /// The given rows of all columns.
    fn rows(&mut self, rows: Range<usize>) -> ViewMut<'_, T> {
        let (height, columns) = (self.height, self.columns);
        ViewMut::new(self.elements, height, columns).rows(rows)
    }

    fn load(&mut self, x: &mut impl RhsRows<T>, rows: Range<usize>, at: usize) {
        for c in 0..self.columns {
            x.load(c, rows.clone(), &mut self.column(c)[at..at + rows.len()]);
        }
    }

    fn store(&mut self, x: &mut impl RhsRows<T>, rows: Range<usize>, at: usize) {
        for c in 0..self.columns {
            x.store(c, rows.clone(), &self.column(c)[at..at + rows.len()]);
        }
    }

    fn shift(&mut self, from: Range<usize>, to: usize) {
        (0..self.columns).for_each(|c| self.column(c).copy_within(from.clone(), to));
    }
}

/// Prefetch all columns, unless they are too large.
fn ask_for<T>(a: View<'_, T>) {
    let lines = (size_of::<T>() * a.nrows()).div_ceil(64);
    if a.ncols() * lines * 64 > tuning::PREFETCH_MAX_BYTES {
        return;
    }
    for c in 0..a.ncols() {
        let column = a.as_ptr().wrapping_add(c * a.column_stride()).cast::<u8>();
        (0..=lines).for_each(|line| prefetch(column.wrapping_add(64 * line)));
    }
}

/// The tiles of `pivots` rows.
fn tiles(pivots: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let tile = tuning::BAND_TILE;
    (0..pivots.div_ceil(tile)).map(move |t| t * tile..((t + 1) * tile).min(pivots))
}

/// Number of rows of the window for a sweep through a band with at most `reach` diagonals on each side.
fn height(reach: usize) -> usize {
    // With this stride, columns of a window do not collide in the caches.
    reach.saturating_add(tuning::BAND_TILE).checked_next_multiple_of(16).unwrap_or(usize::MAX).saturating_add(8)
}

/// Words of scratch that suffice for [`BandLu::solve`] with a band of `lower` and `upper` diagonals, with or without row exchanges.
pub(crate) fn words_at_most(lower: usize, upper: usize, n_rhs: usize) -> usize {
    height(window::width_at_most(lower.saturating_add(upper))).saturating_mul(n_rhs.min(tuning::BAND_RHS))
}

impl<T: Scalar> BandLu<T> {
    /// Words of scratch for [`solve`](Self::solve).
    pub fn words(&self, n_rhs: usize) -> usize {
        self.window(n_rhs.min(tuning::BAND_RHS))
    }

    /// Solve A·x = x or Aᵀ·x = x for columns x of a square matrix that was factored as a whole.
    pub fn solve(&self, transposed: bool, x: &mut [T], window: &mut [T]) {
        let n = self.size.rows.max(1);
        if !transposed && self.has_few_diagonals() {
            return x.chunks_exact_mut(n).for_each(|x| self.solve_narrow(x));
        }
        for x in x.chunks_mut(n * tuning::BAND_RHS) {
            let x = ViewMut::new(x, n, x.len() / n);
            let (scale, none) = (Some(&self.scale[..]), None);
            let scale = if !transposed { [scale, none] } else { [none, scale] };
            let mut x = RhsColumns { x, reversed: false, offset: [0, 0], scale };
            self.solve_rows(transposed, &mut x, window);
        }
    }

    /// Solve A·x = x for one right-hand side, if the matrix has few diagonals.
    fn solve_narrow(&self, x: &mut [T]) {
        let Self { size, fill, elements, inverse, exchange, scale, .. } = self;
        let (lower, upper, fill) = (size.lower, size.upper, *fill);
        NarrowSolve { elements, lower, upper, fill, inverse, exchange, scale, x }.run_on(self.simd);
    }

    /// Do the work of [`solve`](Self::solve) for at most `BAND_RHS` columns.
    fn solve_rows(&self, transposed: bool, x: &mut RhsColumns<'_, T>, window: &mut [T]) {
        let scale = x.scale;
        if !transposed {
            self.lower(x, window, &mut []);
            x.scale = [None, None];
            self.upper(x, window, &[]);
        } else {
            x.scale = [None, None];
            self.upper_transposed(x, window, &mut []);
            x.scale = scale;
            self.lower_transposed(x, window, &[]);
        }
    }

    /// Words of the window for a sweep of `columns` right-hand sides.
    pub fn window(&self, columns: usize) -> usize {
        self.height() * columns
    }

    fn height(&self) -> usize {
        height(self.fill.max(self.size.lower))
    }

    fn open<'w>(&self, x: &impl RhsRows<T>, window: &'w mut [T]) -> Window<'w, T> {
        Window { elements: &mut window[..self.window(x.count())], height: self.height(), columns: x.count() }
    }

    /// Compute x ← L⁻¹·P·x in the rows of the pivots. Writes the remaining rows to `rest`, column by column.
    pub fn lower(&self, x: &mut impl RhsRows<T>, window: &mut [T], rest: &mut [T]) {
        let mut w = self.open(x, window);
        let (below, rows) = (self.size.lower, self.size.rows);
        w.load(x, 0..below.min(rows), 0);
        for tile in tiles(self.size.pivots) {
            let (start, end) = ((tile.start + below).min(rows), (tile.end + below).min(rows));
            w.load(x, start..end, start - tile.start);
            for j in tile.clone().step_by(self.step()) {
                let width = self.step().min(tile.end - j);
                self.ask_for_l(j + width);
                self.lower_block(j..j + width, &mut w, j - tile.start);
            }
            w.store(x, tile.clone(), 0);
            w.shift(tile.len()..end - tile.start, 0);
        }
        let remaining = rows - self.size.pivots;
        rest.chunks_exact_mut(remaining.max(1))
            .enumerate()
            .for_each(|(c, rest)| rest.copy_from_slice(&w.column(c)[..remaining]));
    }

    /// Compute x ← Pᵀ·L⁻ᵀ·x, the transpose of [`lower`](Self::lower).
    pub fn lower_transposed(&self, x: &mut impl RhsRows<T>, window: &mut [T], rest: &[T]) {
        let mut w = self.open(x, window);
        let (below, rows, pivots) = (self.size.lower, self.size.rows, self.size.pivots);
        let (remaining, last) = (rows - pivots, tiles(pivots).next_back().map_or(0, |tile| tile.len()));
        rest.chunks_exact(remaining.max(1))
            .enumerate()
            .for_each(|(c, rest)| w.column(c)[last..last + remaining].copy_from_slice(rest));
        for tile in tiles(pivots).rev() {
            w.load(x, tile.clone(), 0);
            for j in tile.clone().step_by(self.step()).rev() {
                let width = self.step().min(tile.end - j);
                self.ask_for_l(j.wrapping_sub(self.block));
                self.lower_transposed_block(j..j + width, &mut w, j - tile.start);
            }
            // Rows that earlier pivots may still exchange are not stored yet.
            let (start, end) = ((tile.start + below).min(rows), (tile.end + below).min(rows));
            w.store(x, start..end, start - tile.start);
            if tile.start == 0 {
                w.store(x, 0..start, 0);
            } else {
                w.shift(0..start - tile.start, tuning::BAND_TILE);
            }
        }
    }

    /// Compute x ← U⁻¹·x for the unknowns of the pivots. `tail` holds the other unknowns, column by column.
    pub fn upper(&self, x: &mut impl RhsRows<T>, window: &mut [T], tail: &[T]) {
        let mut w = self.open(x, window);
        let (above, pivots) = (self.fill, self.size.pivots);
        for tile in tiles(pivots).rev() {
            let first = tile.start.saturating_sub(above);
            let known = if tile.end == pivots { tile.end } else { tile.end.saturating_sub(above).max(first) };
            w.load(x, first..known, first + above - tile.start);
            if tile.end == pivots {
                self.apply_tail(&mut w, above + tile.len(), tail);
            }
            for j in tile.clone().step_by(self.step()).rev() {
                let width = self.step().min(tile.end - j);
                self.ask_for_u(j.wrapping_sub(self.block));
                self.upper_block(j..j + width, &mut w, above + j - tile.start);
            }
            w.store(x, tile.clone(), above);
            w.shift(0..above, tuning::BAND_TILE);
        }
    }

    /// Compute x ← U⁻ᵀ·x for the pivots and subtract their contribution from `tail`.
    pub fn upper_transposed(&self, x: &mut impl RhsRows<T>, window: &mut [T], tail: &mut [T]) {
        let mut w = self.open(x, window);
        let (above, pivots) = (self.fill, self.size.pivots);
        for tile in tiles(pivots) {
            w.load(x, tile.clone(), above);
            for j in tile.clone().step_by(self.step()) {
                let width = self.step().min(tile.end - j);
                self.ask_for_u(j + width);
                self.upper_transposed_block(j..j + width, &mut w, above + j - tile.start);
            }
            w.store(x, tile.clone(), above);
            if tile.end == pivots {
                self.subtract_from_tail(&mut w, above + tile.len(), tail);
            }
            w.shift(tile.len()..tile.len() + above, 0);
        }
    }

    /// Columns j … of L from the diagonal down to the last row of the band.
    pub(crate) fn columns_of_l(&self, j: usize, width: usize) -> View<'_, T> {
        let rows = (width + self.size.lower).min(self.size.rows - j);
        let elements = &self.elements[self.index(j, j)..];
        View::with_stride(elements, rows, width, self.stride)
    }

    /// Columns j … of U from the first row of the band to row `end`, exclusive.
    fn columns_of_u(&self, columns: Range<usize>, end: usize) -> View<'_, T> {
        let rows = end - columns.start.saturating_sub(self.fill).min(end);
        let elements = &self.elements[self.index(end - rows, columns.start)..];
        View::with_stride(elements, rows, columns.len(), self.stride)
    }

    /// Prefetch the block of columns of L from column j on, if it exists.
    fn ask_for_l(&self, j: usize) {
        if self.block > 1 && j < self.size.pivots {
            ask_for(self.columns_of_l(j, self.block.min(self.size.pivots - j)));
        }
    }

    /// Prefetch the block of columns of U from column j on, if it exists.
    fn ask_for_u(&self, j: usize) {
        if self.block > 1 && j < self.size.pivots {
            let end = (j + self.block).min(self.size.pivots);
            ask_for(self.columns_of_u(j..end, end));
        }
    }

    /// Sweep column by column. Unknown `pivots.start` is in row `at` of the window.
    fn narrow(&self, sweep: Sweep, pivots: Range<usize>, w: &mut Window<'_, T>, at: usize) {
        let upward = matches!(sweep, Sweep::Upper | Sweep::UpperTransposed);
        for c in 0..w.columns {
            let job = Narrow {
                sweep,
                elements: &self.elements,
                diagonal: self.index(pivots.start, pivots.start),
                step: self.stride + 1,
                reach: if upward { self.fill } else { self.size.lower },
                rows: if upward { pivots.start } else { self.size.rows - pivots.start },
                inverse: &self.inverse[pivots.clone()],
                exchange: &self.exchange[pivots.clone()],
                x: w.column(c),
                first: at,
            };
            job.run_on(self.simd);
        }
    }

    fn lower_block(&self, pivots: Range<usize>, w: &mut Window<'_, T>, at: usize) {
        if self.block == 1 {
            return self.narrow(Sweep::Lower, pivots, w, at);
        }
        let l = self.columns_of_l(pivots.start, pivots.len());
        let exchange = &self.exchange[pivots.clone()];
        exchange_rows(&mut w.elements[at..], w.height, w.columns, exchange);
        let (mut top, below) = w.rows(at..at + l.nrows()).split_at_row(pivots.len());
        solve_unit_lower(self.simd, l, top.as_mut());
        let a = l.rows(pivots.len()..l.nrows());
        Product::subtract(below, a, top.as_ref()).run_on(self.simd);
    }

    fn lower_transposed_block(&self, pivots: Range<usize>, w: &mut Window<'_, T>, at: usize) {
        if self.block == 1 {
            return self.narrow(Sweep::LowerTransposed, pivots, w, at);
        }
        let (l, width) = (self.columns_of_l(pivots.start, pivots.len()), pivots.len());
        for p in (0..width).step_by(SMALL).rev() {
            let size = SMALL.min(width - p);
            let (mut top, below) = w.rows(at + p..at + l.nrows()).split_at_row(size);
            let a = l.part(p + size..l.nrows(), p..p + size);
            Product::subtract(top.as_mut(), a.transpose(), below.as_ref()).run_on(self.simd);
            let t = l.part(p..p + size, p..p + size).transpose();
            SmallSubstitution { t, inverse: None, forward: false, x: top }.run_on(self.simd);
        }
        for c in 0..w.columns {
            let x = &mut w.column(c)[at..];
            self.exchange[pivots.clone()].iter().enumerate().rev().for_each(|(k, q)| x.swap(k, k + *q as usize));
        }
    }

    fn upper_block(&self, pivots: Range<usize>, w: &mut Window<'_, T>, at: usize) {
        if self.block == 1 {
            return self.narrow(Sweep::Upper, pivots, w, at);
        }
        for j in pivots.clone().step_by(SMALL).rev() {
            let (size, row) = (SMALL.min(pivots.end - j), at + j - pivots.start);
            let t = self.columns_of_u(j..j + size, j + size);
            let t = t.rows(t.nrows() - size..t.nrows());
            let inverse = Some(&self.inverse[j..j + size]);
            SmallSubstitution { t, inverse, forward: false, x: w.rows(row..row + size) }.run_on(self.simd);
            self.apply_columns(j..j + size, pivots.start, w, row);
        }
        self.apply_columns(pivots.clone(), 0, w, at);
    }

    /// Subtract columns of U times their unknowns from the unknowns `first` … above them. The unknowns of the columns start in row `at` of
    /// the window.
    fn apply_columns(&self, columns: Range<usize>, first: usize, w: &mut Window<'_, T>, at: usize) {
        let a = self.columns_of_u(columns.clone(), columns.start);
        let skip = first.saturating_sub(columns.start - a.nrows());
        let a = a.rows(skip..a.nrows());
        let (above, x) = w.rows(at - a.nrows()..at + columns.len()).split_at_row(a.nrows());
        Product::subtract(above, a, x.as_ref()).run_on(self.simd);
    }

    fn upper_transposed_block(&self, pivots: Range<usize>, w: &mut Window<'_, T>, at: usize) {
        if self.block == 1 {
            return self.narrow(Sweep::UpperTransposed, pivots, w, at);
        }
        let a = self.columns_of_u(pivots.clone(), pivots.start);
        let (above, x) = w.rows(at - a.nrows()..at + pivots.len()).split_at_row(a.nrows());
        Product::subtract(x, a.transpose(), above.as_ref()).run_on(self.simd);
        for j in pivots.clone().step_by(SMALL) {
            let (size, row) = (SMALL.min(pivots.end - j), at + j - pivots.start);
            let u = self.columns_of_u(j..j + size, j + size);
            let done = (j - pivots.start).min(u.nrows() - size);
            let a = u.rows(u.nrows() - size - done..u.nrows() - size);
            let (above, mut x) = w.rows(row - done..row + size).split_at_row(done);
            Product::subtract(x.as_mut(), a.transpose(), above.as_ref()).run_on(self.simd);
            let t = u.rows(u.nrows() - size..u.nrows()).transpose();
            let inverse = Some(&self.inverse[j..j + size]);
            SmallSubstitution { t, inverse, forward: true, x }.run_on(self.simd);
        }
    }

    /// Blocks of the columns after the pivots that have entries in rows of the pivots.
    fn tail_blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let (pivots, block) = (self.size.pivots, self.block);
        let end = self.size.columns.min(pivots + self.fill);
        (pivots..end).step_by(block).map(move |c| c..(c + block).min(end))
    }

    /// Subtract columns of U times the unknowns after the pivots. Row `pivots` corresponds to row `at` of the window.
    fn apply_tail(&self, w: &mut Window<'_, T>, at: usize, tail: &[T]) {
        let (pivots, behind) = (self.size.pivots, self.size.columns - self.size.pivots);
        for columns in self.tail_blocks() {
            let a = self.columns_of_u(columns.clone(), pivots);
            let x = View::new(&tail[..behind * w.columns], behind, w.columns);
            let b = x.rows(columns.start - pivots..columns.end - pivots);
            Product::subtract(w.rows(at - a.nrows()..at), a, b).run_on(self.simd);
        }
    }

    /// Apply the transpose of [`apply_tail`](Self::apply_tail).
    fn subtract_from_tail(&self, w: &mut Window<'_, T>, at: usize, tail: &mut [T]) {
        let (pivots, behind, count) = (self.size.pivots, self.size.columns - self.size.pivots, w.columns);
        for columns in self.tail_blocks() {
            let a = self.columns_of_u(columns.clone(), pivots);
            let x = ViewMut::new(&mut tail[..behind * count], behind, count);
            let c = x.rows(columns.start - pivots..columns.end - pivots);
            Product::subtract(c, a.transpose(), w.rows(at - a.nrows()..at).as_ref()).run_on(self.simd);
        }
    }
}
