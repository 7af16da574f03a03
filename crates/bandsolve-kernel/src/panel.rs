//! Elimination of a panel: a few columns of a band, one after the other.

use super::Job;
use super::dense::Product;
use super::prefetch::Prefetcher;
use super::triangle::{SMALL, SmallSubstitution};
use super::vectors::{Moduli, dot, largest_modulus, place_of_largest, subtract_multiple, sum_of_lanes};
use super::window::{self, BandColumns, Column};
use crate::job::kernel;
use crate::number::{Lanes, RealScalar, Scalar};
use crate::scalar::reciprocal;
use crate::view::{View, ViewMut};
use core::ops::Range;

/// The choice of pivots.
#[derive(Debug, Clone, Copy)]
pub struct PivotRule<R> {
    /// Whether rows may be exchanged.
    pub exchange: bool,
    /// Whether a pivot that is too small compared with its column is enlarged, if rows may not be exchanged.
    pub boost: bool,
    /// Candidates up to this modulus count as zero.
    pub noise: R,
}

/// Columns during elimination.
///
/// Element (i, c), counted from the diagonal element of the first column, is `region[i + c·stride]`.
pub struct Panel<'a, T: Scalar> {
    /// The elements of the columns, from the first diagonal element on.
    pub region: &'a mut [T],
    /// Distance between neighboring columns.
    pub stride: usize,
    /// Number of rows of the matrix, from the first row of the panel on.
    pub rows: usize,
    /// Number of columns that are updated.
    pub columns: usize,
    /// Number of elements below the diagonal.
    pub lower: usize,
    /// Number of columns to the right that a row reaches.
    pub fill: usize,
    /// Number of columns to the right that a row reaches before exchanges.
    pub upper: usize,
    /// Number of columns of the window in registers, if a window may be used. Entries of the region are initially zero
    /// above the first `window` − `lower` superdiagonals.
    pub window: Option<usize>,
    /// Whether exchanges extend back to the first column of the panel.
    pub reach_back: bool,
    /// 1/u_kk of the eliminated columns.
    pub inverse: &'a mut [T],
    /// Step k exchanges the rows k and k + `exchange[k]`.
    pub exchange: &'a mut [u32],
    /// The choice of pivots.
    pub rule: PivotRule<T::Real>,
    /// Memory that is prefetched column by column.
    pub prefetcher: Prefetcher,
}

/// The result of a panel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PanelResult {
    /// First column without a pivot.
    pub singular: Option<usize>,
    /// Number of enlarged pivots.
    pub boosted: usize,
}

kernel!(PanelKernel: Panel<'a> => PanelResult);

impl<T: Scalar> Job<T> for Panel<'_, T> {
    type Output = PanelResult;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> PanelResult {
        let mut result = PanelResult::default();
        let mut first = 0;
        if const { V::PERMUTES && !T::COMPLEX } {
            first = match self.window {
                Some(4) => self.in_registers::<V, 4>(&mut result),
                Some(8) => self.in_registers::<V, 8>(&mut result),
                Some(12) => self.in_registers::<V, 12>(&mut result),
                Some(16) => self.in_registers::<V, 16>(&mut result),
                _ => 0,
            };
        }
        let mut reach = first + self.fill;
        for k in first..self.inverse.len() {
            self.eliminate::<V>(k, &mut reach, &mut result);
        }
        result
    }
}

impl<T: Scalar> Panel<'_, T> {
    /// Eliminate as many columns as a window of N columns in registers allows. Returns their number.
    #[inline(always)]
    fn in_registers<V: Lanes<Real = T::Real>, const N: usize>(&mut self, result: &mut PanelResult) -> usize {
        let rule = self.rule.exchange && !self.reach_back && self.rule.noise == T::Real::ZERO;
        let reached = self.rows.saturating_sub(self.lower).min(self.columns.saturating_sub(N));
        let count = self.inverse.len().min(reached);
        if !rule || count == 0 || !(1..=V::W).contains(&self.lower) {
            return 0;
        }
        let last = (count - 1) * (self.stride + 1) + self.lower + N * self.stride;
        assert!(last < self.region.len(), "the window reaches beyond the band's elements");
        let place = BandColumns { elements: self.region.as_mut_ptr().cast(), stride: self.stride, lower: self.lower };
        let inverse: &mut [T::Real] = bytemuck::cast_slice_mut(&mut self.inverse[..count]);
        // SAFETY: real scalars are their own real type, and the assertion checked the last element of the last new row
        // and column.
        result.singular =
            unsafe { window::eliminate::<V, N>(place, inverse, &mut self.exchange[..count], &mut self.prefetcher) };
        count
    }

    /// Eliminate column k, and update the columns to its right: lᵢₖ = aᵢₖ / uₖₖ, aᵢⱼ ← aᵢⱼ − lᵢₖ·uₖⱼ.
    ///
    /// Columns are updated up to number `reach`, the last one in which the previous rows have entries.
    #[inline(always)]
    fn eliminate<V: Lanes<Real = T::Real>>(&mut self, k: usize, reach: &mut usize, result: &mut PanelResult) {
        let (diagonal, height) = (k * (self.stride + 1), (1 + self.lower).min(self.rows - k));
        // Without columns to the right, a column may be longer than the distance to the next column.
        let next = (diagonal + self.stride.max(height)).min(self.region.len());
        let (left, right) = self.region.split_at_mut(next);
        let (earlier, column) = left.split_at_mut(diagonal);
        let column = &mut column[..height];
        let (q, boosted) = choose::<V, T>(column, self.rule);
        result.boosted += boosted;
        column.swap(0, q);
        if column[0] == T::ZERO {
            result.singular = result.singular.or(Some(k));
        }
        // 1/u of a subnormal number would overflow.
        let tiny = column[0].abs1() < T::Real::MIN_POSITIVE;
        let lift = if tiny { T::Real::ONE / T::Real::EPSILON } else { T::Real::ONE };
        let inverse = reciprocal(column[0].scale(lift));
        (self.inverse[k], self.exchange[k]) = (inverse.scale(lift), q as u32);
        if tiny {
            column[1..].iter_mut().for_each(|l| *l = l.scale(lift));
        }
        column[1..].iter_mut().for_each(|l| *l *= inverse);
        if self.reach_back && q > 0 {
            earlier.chunks_mut(self.stride).take(k).for_each(|column| column.swap(k, k + q));
        }
        *reach = (k + q + self.upper).max(*reach);
        let count = (*reach - k).min(self.fill).min(self.columns - k - 1);
        let multipliers = &column[1..];
        for column in right.chunks_mut(self.stride).take(count) {
            update::<V, T>(&mut column[..height], multipliers, q);
        }
    }
}

/// Exchange rows 0 and q of a column, and eliminate with the multipliers.
#[inline(always)]
fn update<V: Lanes<Real = T::Real>, T: Scalar>(column: &mut [T], multipliers: &[T], q: usize) {
    // The entry of row 0 is written last. A load of a vector that was just partly written would have to wait.
    let (top, u) = (column[0], column[q]);
    subtract_multiple::<V, T>(&mut column[1..], u, multipliers);
    if q > 0 {
        column[q] = top - u * multipliers[q - 1];
    }
    column[0] = u;
}

/// The row of the pivot in a column that begins at the diagonal, and the number (0 or 1) of enlarged pivots.
#[inline(always)]
fn choose<V: Lanes<Real = T::Real>, T: Scalar>(column: &mut [T], rule: PivotRule<T::Real>) -> (usize, usize) {
    if rule.noise > T::Real::ZERO {
        column.iter_mut().filter(|v| v.abs1() <= rule.noise).for_each(|v| *v = T::ZERO);
    }
    if rule.exchange {
        return (place_of_largest::<V, T>(column).0, 0);
    }
    if !rule.boost {
        return (0, 0);
    }
    let least = largest_modulus::<V, T>(column) * T::Real::EPSILON.sqrt();
    if !(column[0].abs1() < least) {
        return (0, 0);
    }
    let negative = column[0].re() < T::Real::ZERO;
    column[0] = T::from_real(if negative { -least } else { least });
    (0, 1)
}

/// Columns that are updated block by block with the eliminated columns to their left.
pub struct Update<'a, T: Scalar> {
    /// The elements of L and U. Element (i, j) is at `origin` + i + j·`stride`.
    pub elements: &'a mut [T],
    pub origin: usize,
    pub stride: usize,
    /// Number of rows of the matrix.
    pub rows: usize,
    /// Number of elements below the diagonal.
    pub lower: usize,
    /// Number of columns to the right that a row reaches.
    pub fill: usize,
    /// Number of columns of an eliminated block.
    pub block: usize,
    /// The columns to update, at most one block.
    pub columns: Range<usize>,
    /// Number of eliminated pivots.
    pub pivots: usize,
    /// Step k exchanges the rows k and k + `exchange[k]`.
    pub exchange: &'a [u32],
    /// Memory that is prefetched in [`parts`](Self::parts).
    pub prefetcher: Prefetcher,
}

impl<T: Scalar> Update<'_, T> {
    /// Number of parts for prefetching, for updates with a band of `fill` diagonals, `block` columns at a time.
    pub fn parts(fill: usize, block: usize) -> usize {
        (fill.div_ceil(block) + 1) * (block.div_ceil(SMALL) + 1)
    }
}

kernel!(UpdateKernel: Update<'a> => ());

impl<T: Scalar> Job<T> for Update<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { elements, origin, stride, lower, fill, block, columns, mut prefetcher, .. } = self;
        let at = |i: usize, j: usize| origin + i + j * stride;
        // No column to the right begins below the last column of L that the update needs.
        let split = at(columns.start, columns.start) - fill - (block - 1);
        let (left, right) = elements.split_at_mut(split);
        let first = columns.start.saturating_sub(fill + block - 1).next_multiple_of(block);
        for p in (first..self.pivots.min(columns.start)).step_by(block) {
            let width = block.min(self.pivots - p);
            let (count, rows) = (columns.end.min(p + block + fill) - columns.start, (width + lower).min(self.rows - p));
            let region = &mut right[at(p, columns.start) - split..];
            exchange_rows(region, stride, count, &self.exchange[p..p + width]);
            let l = View::with_stride(&left[at(p, p)..], rows, width, stride);
            let mut region = ViewMut::with_stride(region, rows, count, stride);
            // Compute the rows of eight pivots and their update with the other pivots of the block. The last pass
            // updates all rows below the block with the same code, because the code is long.
            for k in (0..width + SMALL).step_by(SMALL) {
                prefetcher.prefetch_next();
                let whole = k >= width;
                let (first, end, size) = if whole { (0, rows, width) } else { (k, width, SMALL.min(width - k)) };
                let (mut top, below) = region.as_mut().rows(first..end).split_at_row(size);
                if !whole {
                    let t = l.part(k..k + size, k..k + size);
                    SmallSubstitution { t, inverse: None, forward: true, x: top.as_mut() }.run::<V>();
                }
                let a = l.part(first + size..end, first..first + size);
                Product::subtract(below, a, top.as_ref()).run::<V>();
            }
        }
    }
}

/// Exchange rows k and k + `exchange[k]`, in order, in `count` columns with the distance `stride`.
#[inline(always)]
pub fn exchange_rows<T: Copy>(region: &mut [T], stride: usize, count: usize, exchange: &[u32]) {
    if exchange.iter().all(|q| *q == 0) {
        return;
    }
    let reach = exchange.iter().enumerate().map(|(k, q)| k + *q as usize).max().unwrap_or(0);
    assert!(count == 0 || (count - 1) * stride + reach < region.len(), "a row exchange reaches beyond the columns");
    let mut c = 0;
    while c < count {
        let column = region.as_mut_ptr().wrapping_add(c * stride);
        // SAFETY: the assertion checked the last exchanged row in the last column.
        unsafe {
            if count - c >= EXCHANGED_COLUMNS {
                exchange_in::<EXCHANGED_COLUMNS, T>(column, stride, exchange);
                c += EXCHANGED_COLUMNS;
            } else {
                exchange_in::<1, T>(column, stride, exchange);
                c += 1;
            }
        }
    }
}

/// Number of columns in which rows are exchanged at the same time. The exchanges of one column do not wait for another.
const EXCHANGED_COLUMNS: usize = 4;

/// [`exchange_rows`] for N columns.
///
/// # Safety
/// All exchanged rows exist.
#[inline(always)]
unsafe fn exchange_in<const N: usize, T>(column: *mut T, stride: usize, exchange: &[u32]) {
    for (k, &q) in exchange.iter().enumerate() {
        for n in 0..N {
            // SAFETY: the caller's promise.
            unsafe { core::ptr::swap(column.add(n * stride + k), column.add(n * stride + k + q as usize)) }
        }
    }
}

/// Compute the largest modulus in columns of U.
pub struct Largest<'a, T> {
    /// The elements. Column c begins at `c·step`.
    pub elements: &'a [T],
    /// Distance between neighboring columns.
    pub step: usize,
    /// Number of entries of a column.
    pub height: usize,
    /// Number of columns.
    pub columns: usize,
}

kernel!(LargestKernel: Largest<'a> => <T as Scalar>::Real);

impl<T: Scalar> Job<T> for Largest<'_, T> {
    type Output = T::Real;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> T::Real {
        let mut largest = Moduli::<V>::new();
        for c in 0..self.columns {
            largest.add(&self.elements[c * self.step..][..self.height]);
        }
        largest.value()
    }
}

/// The triangular solve with columns of L or U.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sweep {
    /// x ← L⁻¹·P·x
    Lower,
    /// x ← U⁻¹·x
    Upper,
    /// x ← U⁻ᵀ·x
    UpperTransposed,
    /// x ← Pᵀ·L⁻ᵀ·x
    LowerTransposed,
}

/// One right-hand side and some columns of a narrow band.
pub struct Narrow<'a, T> {
    /// The triangular solve.
    pub sweep: Sweep,
    /// The elements of L and U.
    pub elements: &'a [T],
    /// Index of the first diagonal element.
    pub diagonal: usize,
    /// Distance from one diagonal element to the next.
    pub step: usize,
    /// Number of elements below the diagonal, or above it.
    pub reach: usize,
    /// Number of rows of x from the first unknown on, in the direction of the columns.
    pub rows: usize,
    /// 1/u_kk for every column, even if they are not needed.
    pub inverse: &'a [T],
    /// The row exchanges.
    pub exchange: &'a [u32],
    /// The right-hand side.
    pub x: &'a mut [T],
    /// Index of the first unknown in x.
    pub first: usize,
}

kernel!(NarrowKernel: Narrow<'a> => ());

impl<T: Scalar> Job<T> for Narrow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        let count = self.inverse.len();
        let registers = const { V::PERMUTES && !T::COMPLEX };
        match self.sweep {
            Sweep::Lower => {
                let mut first = if registers { self.lower_in_registers::<V>(false) } else { 0 };
                if first == 0 {
                    first = self.lower_in_groups::<V>(false);
                }
                for k in first..count {
                    self.lower::<V>(k);
                }
            }
            Sweep::LowerTransposed => {
                let steps = if registers { self.steps_below::<V>() } else { 0 };
                let end = if steps > 0 { steps } else { GROUP_COLUMNS * self.groups() };
                for k in (end..count).rev() {
                    self.lower_transposed::<V>(k);
                }
                if steps > 0 {
                    self.lower_in_registers::<V>(true);
                } else {
                    self.lower_in_groups::<V>(true);
                }
            }
            Sweep::Upper => {
                let end = if registers { self.upper_in_registers::<V>(false) } else { count };
                for k in (0..end).rev() {
                    self.upper::<V>(k);
                }
            }
            Sweep::UpperTransposed => {
                let end = if registers { self.first_above::<V>(0) } else { count };
                for k in 0..end {
                    self.upper_transposed::<V>(k);
                }
                if registers {
                    self.upper_in_registers::<V>(true);
                }
            }
        }
    }
}

/// Number of columns of L per group if windows in registers cannot be used. Rows are loaded and stored once per group.
const GROUP_COLUMNS: usize = 4;

/// A group of columns of L with real numbers.
struct ColumnsOfL<R> {
    /// The first diagonal element.
    diagonal: *const R,
    /// Distance from one diagonal element to the next.
    step: usize,
    /// Number of elements below the diagonal.
    reach: usize,
}

impl<R: RealScalar> ColumnsOfL<R> {
    /// The element of row i and column p of the group.
    ///
    /// # Safety
    /// The elements of the column exist.
    #[inline(always)]
    unsafe fn at(&self, i: usize, p: usize) -> R {
        // SAFETY: the caller's promise.
        if i - p <= self.reach { unsafe { *self.diagonal.add(p * self.step + i - p) } } else { R::ZERO }
    }

    /// Rows from row i on of column p, with zeros after the last one.
    ///
    /// # Safety
    /// The elements of the column exist.
    #[inline(always)]
    unsafe fn rows<V: Lanes<Real = R>>(&self, i: usize, p: usize) -> V {
        let rest = (self.reach + 1 + p).saturating_sub(i);
        let from = self.diagonal.wrapping_add(p * self.step + i - p);
        // SAFETY: the caller's promise.
        unsafe { if rest >= V::W { V::load(from) } else { V::load_first(from, rest) } }
    }

    /// x ← L⁻¹·x: solve for the unknowns of the group, and subtract their contributions from the rows below.
    ///
    /// # Safety
    /// The elements of the columns, and the rows of x within their reach, exist.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = R>>(&self, x: *mut R) {
        // SAFETY: the caller's promise; the last vector has only the remaining rows.
        unsafe {
            let mut values = [R::ZERO; GROUP_COLUMNS];
            let mut all = [V::splat(R::ZERO); GROUP_COLUMNS];
            for p in 0..GROUP_COLUMNS {
                values[p] = *x.add(p);
                for c in 0..p {
                    values[p] -= self.at(p, c) * values[c];
                }
                *x.add(p) = values[p];
                all[p] = V::splat(values[p]);
            }
            for i in (GROUP_COLUMNS..GROUP_COLUMNS + self.reach).step_by(V::W) {
                let count = GROUP_COLUMNS + self.reach - i;
                let to = x.add(i);
                let mut rows = if count >= V::W { V::load(to) } else { V::load_first(to, count) };
                for p in 0..GROUP_COLUMNS {
                    rows = all[p].neg_mul_add(self.rows::<V>(i, p), rows);
                }
                if count >= V::W { rows.store(to) } else { rows.store_first(to, count) }
            }
        }
    }

    /// x ← L⁻ᵀ·x: subtract the contributions of the rows below, and solve for the unknowns of the group.
    ///
    /// # Safety
    /// As [`solve`](Self::solve).
    #[inline(always)]
    unsafe fn solve_transposed<V: Lanes<Real = R>>(&self, x: *mut R) {
        // SAFETY: the caller's promise; the last vector has only the remaining rows.
        unsafe {
            let mut sum = [V::splat(R::ZERO); GROUP_COLUMNS];
            for i in (GROUP_COLUMNS..GROUP_COLUMNS + self.reach).step_by(V::W) {
                let count = GROUP_COLUMNS + self.reach - i;
                let from = x.add(i);
                let rows = if count >= V::W { V::load(from) } else { V::load_first(from, count) };
                for p in 0..GROUP_COLUMNS {
                    sum[p] = self.rows::<V>(i, p).mul_add(rows, sum[p]);
                }
            }
            let mut values = [R::ZERO; GROUP_COLUMNS];
            for p in (0..GROUP_COLUMNS).rev() {
                values[p] = *x.add(p) - sum_of_lanes(sum[p]);
                for c in p + 1..GROUP_COLUMNS {
                    values[p] -= self.at(c, p) * values[c];
                }
                *x.add(p) = values[p];
            }
        }
    }
}

impl<T: Scalar> Narrow<'_, T> {
    /// Column k of L below the diagonal, and x from its unknown on.
    #[inline(always)]
    fn below(&mut self, k: usize) -> (&[T], &mut [T]) {
        let length = self.reach.min(self.rows - 1 - k);
        let start = self.diagonal + k * self.step + 1;
        (&self.elements[start..start + length], &mut self.x[self.first + k..=self.first + k + length])
    }

    /// Column k of U above the diagonal, and x up to and including its unknown.
    #[inline(always)]
    fn above(&mut self, k: usize) -> (&[T], &mut [T]) {
        let length = self.reach.min(self.rows + k);
        let end = self.diagonal + k * self.step;
        (&self.elements[end - length..end], &mut self.x[self.first + k - length..=self.first + k])
    }

    /// Number of columns of L, from the first on, that windows in registers can process, because all rows within their
    /// reach exist.
    #[inline(always)]
    fn steps_below<V: Lanes<Real = T::Real>>(&self) -> usize {
        let fits = (1..=V::W).contains(&self.reach);
        if fits { self.exchange.len().min(self.rows.saturating_sub(self.reach)) } else { 0 }
    }

    /// Number of columns of L, from the first on, that can be processed in groups. The numbers must be real, without
    /// row exchanges, and all rows within reach must exist.
    #[inline(always)]
    fn groups(&self) -> usize {
        if T::COMPLEX || self.reach == 0 || self.exchange.iter().any(|q| *q != 0) {
            return 0;
        }
        self.exchange.len().min(self.rows.saturating_sub(self.reach)) / GROUP_COLUMNS
    }

    /// Process the columns of L that [`groups`](Self::groups) returns. Returns their number.
    #[inline(always)]
    fn lower_in_groups<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (groups, reach) = (self.groups(), self.reach);
        let end = groups * GROUP_COLUMNS;
        if groups == 0 {
            return 0;
        }
        let last = self.diagonal + (end - 1) * self.step + reach;
        assert!(
            last < self.elements.len() && self.first + end + reach <= self.x.len(),
            "the group reaches beyond L or x"
        );
        let elements = self.elements[self.diagonal..].as_ptr().cast::<V::Real>();
        let x = self.x[self.first..].as_mut_ptr().cast::<V::Real>();
        for g in 0..groups {
            let k = GROUP_COLUMNS * if transposed { groups - 1 - g } else { g };
            // SAFETY: real scalars are their own real type, and the assertion checked the last elements of L and x.
            unsafe {
                let group = ColumnsOfL { diagonal: elements.add(k * self.step), step: self.step, reach };
                if transposed { group.solve_transposed::<V>(x.add(k)) } else { group.solve::<V>(x.add(k)) }
            }
        }
        end
    }

    /// The first column of U from which on windows in registers can process all columns. They read `more` rows of `x`
    /// beyond the reach of the columns.
    #[inline(always)]
    fn first_above<V: Lanes<Real = T::Real>>(&self, more: usize) -> usize {
        let fits = (1..=2 * V::W).contains(&self.reach);
        let first = (self.reach + more).saturating_sub(self.rows.min(self.first));
        if fits { first.min(self.inverse.len()) } else { self.inverse.len() }
    }

    /// Process the columns of L that windows in registers can process. Returns their number.
    #[inline(always)]
    fn lower_in_registers<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (count, reach) = (self.steps_below::<V>(), self.reach);
        if count == 0 {
            return 0;
        }
        let (last, last_x) = (self.diagonal + (count - 1) * self.step, self.first + count - 1);
        assert!(
            last + reach < self.elements.len() && last_x + reach < self.x.len(),
            "the window reaches beyond L or x"
        );
        let column = |at: usize| Column { diagonal: self.elements[at..].as_ptr().cast(), step: self.step, reach };
        let (exchange, x) = (&self.exchange[..count], self.x.as_mut_ptr().cast::<V::Real>());
        // SAFETY: real scalars are their own real type, and the assertion checked the last elements of L and x.
        unsafe {
            if transposed {
                window::lower_transposed::<V>(column(last), exchange, x.add(last_x));
            } else {
                window::lower::<V>(column(self.diagonal), exchange, x.add(self.first));
            }
        }
        count
    }

    /// Process the columns of U that windows in registers can process. Returns the first one.
    #[inline(always)]
    fn upper_in_registers<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (end, reach) = (self.inverse.len(), self.reach);
        // Sweeps without transposition read the next row and one more.
        let start = self.first_above::<V>(if transposed { 0 } else { 2 });
        if start == end {
            return end;
        }
        let [first, last] = [start, end - 1].map(|k| self.diagonal + k * self.step);
        assert!(
            first >= reach && last < self.elements.len() && self.first + end <= self.x.len(),
            "columns of U, rows of x"
        );
        let column = |at: usize| Column { diagonal: self.elements[at..].as_ptr().cast(), step: self.step, reach };
        let inverse: &[T::Real] = bytemuck::cast_slice(&self.inverse[start..]);
        let x = self.x.as_mut_ptr().cast::<V::Real>();
        // SAFETY: real scalars are their own real type, and the first and last elements of U and x exist.
        unsafe {
            if transposed {
                window::upper_transposed::<V>(column(first), inverse, x.add(self.first + start));
            } else {
                window::upper::<V>(column(last), inverse, x.add(self.first + end - 1));
            }
        }
        start
    }

    #[inline(always)]
    fn lower<V: Lanes<Real = T::Real>>(&mut self, k: usize) {
        self.x.swap(self.first + k, self.first + k + self.exchange[k] as usize);
        let (column, x) = self.below(k);
        let (top, below) = x.split_first_mut().expect("x must contain the unknown");
        subtract_multiple::<V, T>(below, *top, column);
    }

    #[inline(always)]
    fn lower_transposed<V: Lanes<Real = T::Real>>(&mut self, k: usize) {
        let (column, x) = self.below(k);
        x[0] -= dot::<V, T>(column, &x[1..]);
        self.x.swap(self.first + k, self.first + k + self.exchange[k] as usize);
    }

    #[inline(always)]
    fn upper<V: Lanes<Real = T::Real>>(&mut self, k: usize) {
        let inverse = self.inverse[k];
        let (column, x) = self.above(k);
        let (bottom, above) = x.split_last_mut().expect("x must contain the unknown");
        *bottom *= inverse;
        subtract_multiple::<V, T>(above, *bottom, column);
    }

    #[inline(always)]
    fn upper_transposed<V: Lanes<Real = T::Real>>(&mut self, k: usize) {
        let inverse = self.inverse[k];
        let (column, x) = self.above(k);
        let (bottom, above) = x.split_last_mut().expect("x must contain the unknown");
        *bottom = (*bottom - dot::<V, T>(column, above)) * inverse;
    }
}
