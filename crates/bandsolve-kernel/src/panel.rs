//! A few columns of a band, eliminated one after the other.

use super::Job;
use super::ahead::Ahead;
use super::dense::Product;
use super::lanes::Lanes;
use super::triangle::{SMALL, SmallSubstitution};
use super::vectors::{Moduli, dot, largest_modulus, place_of_largest, subtract_multiple, sum_of_lanes};
use super::window::{self, BandColumns, Column};
use crate::scalar::{RealScalar, Scalar, reciprocal};
use crate::view::{View, ViewMut};
use core::ops::Range;

/// How pivots are chosen.
#[derive(Debug, Clone, Copy)]
pub struct PivotRule<R> {
    /// Whether rows may be exchanged.
    pub exchange: bool,
    /// Whether a pivot that is too small beside its column is made larger, where rows may not be exchanged.
    pub boost: bool,
    /// Candidates of at most this modulus count as zero.
    pub noise: R,
}

/// Columns under elimination.
///
/// Element (i, c), counted from the diagonal element of the first column, is `region[i + c·stride]`.
pub struct Panel<'a, T: Scalar> {
    /// The columns' elements, from the first diagonal one on.
    pub region: &'a mut [T],
    /// From column to column.
    pub stride: usize,
    /// Rows of the matrix from the first of the panel on.
    pub rows: usize,
    /// Columns that are updated.
    pub columns: usize,
    /// Elements below the diagonal.
    pub lower: usize,
    /// Columns to the right that a row reaches.
    pub fill: usize,
    /// The same before rows are exchanged.
    pub upper: usize,
    /// Columns of the window in registers that may eliminate, if one may: what reaches further than so many less `lower` up
    /// is zero at first.
    pub window: Option<usize>,
    /// Whether exchanges reach back to the first column of the panel.
    pub reach_back: bool,
    /// 1/u_kk of the columns that are eliminated.
    pub inverse: &'a mut [T],
    /// In step k rows k and k + `exchange[k]` change places.
    pub exchange: &'a mut [u32],
    /// How pivots are chosen.
    pub rule: PivotRule<T::Real>,
    /// What is asked for meanwhile, column by column.
    pub ahead: Ahead,
}

/// What was found on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PanelResult {
    /// First column without a pivot.
    pub singular: Option<usize>,
    /// Pivots that were made larger.
    pub boosted: usize,
}

impl<T: Scalar> Job<T> for Panel<'_, T> {
    type Output = PanelResult;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> PanelResult {
        let mut found = PanelResult::default();
        let mut first = 0;
        if const { V::PERMUTES && !T::COMPLEX } {
            first = match self.window {
                Some(4) => self.in_registers::<V, 4>(&mut found),
                Some(8) => self.in_registers::<V, 8>(&mut found),
                Some(12) => self.in_registers::<V, 12>(&mut found),
                Some(16) => self.in_registers::<V, 16>(&mut found),
                _ => 0,
            };
        }
        let mut reach = first + self.fill;
        for k in first..self.inverse.len() {
            self.eliminate::<V>(k, &mut reach, &mut found);
        }
        found
    }
}

impl<T: Scalar> Panel<'_, T> {
    /// Eliminates as many columns as a window of N columns in registers reaches, and returns their number.
    #[inline(always)]
    fn in_registers<V: Lanes<Real = T::Real>, const N: usize>(&mut self, found: &mut PanelResult) -> usize {
        let rule = self.rule.exchange && !self.reach_back && self.rule.noise == T::Real::ZERO;
        let reached = self.rows.saturating_sub(self.lower).min(self.columns.saturating_sub(N));
        let count = self.inverse.len().min(reached);
        if !rule || count == 0 || !(1..=V::W).contains(&self.lower) {
            return 0;
        }
        let last = (count - 1) * (self.stride + 1) + self.lower + N * self.stride;
        assert!(last < self.region.len(), "the band's elements");
        let place = BandColumns { elements: self.region.as_mut_ptr().cast(), stride: self.stride, lower: self.lower };
        let inverse: &mut [T::Real] = bytemuck::cast_slice_mut(&mut self.inverse[..count]);
        // SAFETY: real scalars are their own real type; the last element of the last new row and column was looked up.
        found.singular =
            unsafe { window::eliminate::<V, N>(place, inverse, &mut self.exchange[..count], &mut self.ahead) };
        count
    }

    /// Eliminates column k, and updates those to its right up to number `reach`, the last that the rows so far have entries in.
    #[inline(always)]
    fn eliminate<V: Lanes<Real = T::Real>>(&mut self, k: usize, reach: &mut usize, found: &mut PanelResult) {
        let (diagonal, height) = (k * (self.stride + 1), (1 + self.lower).min(self.rows - k));
        // Without columns to the right a column may be higher than it is far to the next.
        let next = (diagonal + self.stride.max(height)).min(self.region.len());
        let (left, right) = self.region.split_at_mut(next);
        let (earlier, column) = left.split_at_mut(diagonal);
        let column = &mut column[..height];
        let (q, boosted) = choose::<V, T>(column, self.rule);
        found.boosted += boosted;
        column.swap(0, q);
        if column[0] == T::ZERO {
            found.singular = found.singular.or(Some(k));
        }
        // 1/u of a number that is not normal would overflow.
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

/// Exchanges rows 0 and q of a column and eliminates with the multipliers.
#[inline(always)]
fn update<V: Lanes<Real = T::Real>, T: Scalar>(column: &mut [T], multipliers: &[T], q: usize) {
    // What was in row 0 is put in place afterwards: a vector that was just written in part would have to wait.
    let (top, u) = (column[0], column[q]);
    subtract_multiple::<V, T>(&mut column[1..], u, multipliers);
    if q > 0 {
        column[q] = top - u * multipliers[q - 1];
    }
    column[0] = u;
}

/// The place of the pivot in a column that begins at the diagonal, and how many (0 or 1) had to be made larger.
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

/// Columns that follow the elimination of columns to their left, block by block.
pub struct Update<'a, T: Scalar> {
    /// Elements of L and U, element (i, j) in place `origin` + i + j·`stride`.
    pub elements: &'a mut [T],
    pub origin: usize,
    pub stride: usize,
    /// Rows of the matrix.
    pub rows: usize,
    /// Elements below the diagonal.
    pub lower: usize,
    /// Columns to the right that a row reaches.
    pub fill: usize,
    /// Columns that were eliminated together.
    pub block: usize,
    /// The columns that follow, at most a block.
    pub columns: Range<usize>,
    /// Pivots that have been eliminated.
    pub pivots: usize,
    /// In step k rows k and k + `exchange[k]` change places.
    pub exchange: &'a [u32],
    /// What is asked for meanwhile, in [`parts`](Self::parts).
    pub ahead: Ahead,
}

impl<T: Scalar> Update<'_, T> {
    /// How many times something may be asked for in between: where columns follow a band of `fill` diagonals, `block` at a time.
    pub fn parts(fill: usize, block: usize) -> usize {
        (fill.div_ceil(block) + 1) * (block.div_ceil(SMALL) + 1)
    }
}

impl<T: Scalar> Job<T> for Update<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { elements, origin, stride, lower, fill, block, columns, mut ahead, .. } = self;
        let at = |i: usize, j: usize| origin + i + j * stride;
        // Below the last column of L that is needed nothing of the columns to its right begins.
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
            // The rows of eight pivots and what they take from the others' of the block; in the end what all take from those
            // below, in the same place of the program: it is long.
            for k in (0..width + SMALL).step_by(SMALL) {
                ahead.ask();
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

/// Exchanges rows k and k + `exchange[k]`, in order, of `count` columns that are `stride` apart.
#[inline(always)]
pub fn exchange_rows<T: Copy>(region: &mut [T], stride: usize, count: usize, exchange: &[u32]) {
    if exchange.iter().all(|q| *q == 0) {
        return;
    }
    let reach = exchange.iter().enumerate().map(|(k, q)| k + *q as usize).max().unwrap_or(0);
    assert!(count == 0 || (count - 1) * stride + reach < region.len(), "rows of all columns");
    let mut c = 0;
    while c < count {
        let column = region.as_mut_ptr().wrapping_add(c * stride);
        // SAFETY: the last row that is exchanged was looked up in the last column.
        unsafe {
            if count - c >= TOGETHER {
                exchange_in::<TOGETHER, T>(column, stride, exchange);
                c += TOGETHER;
            } else {
                exchange_in::<1, T>(column, stride, exchange);
                c += 1;
            }
        }
    }
}

/// Columns in which rows are exchanged together: what is exchanged in one does not wait for another.
const TOGETHER: usize = 4;

/// [`exchange_rows`] of N columns.
///
/// # Safety
/// Their rows that are exchanged exist.
#[inline(always)]
unsafe fn exchange_in<const N: usize, T>(column: *mut T, stride: usize, exchange: &[u32]) {
    for (k, &q) in exchange.iter().enumerate() {
        for n in 0..N {
            // SAFETY: the caller's promise.
            unsafe { core::ptr::swap(column.add(n * stride + k), column.add(n * stride + k + q as usize)) }
        }
    }
}

/// The largest modulus in columns of U.
pub struct Largest<'a, T> {
    /// Elements, of which column c takes those from `c·step` on.
    pub elements: &'a [T],
    /// From one column to the next.
    pub step: usize,
    /// Numbers of a column.
    pub height: usize,
    /// Number of columns.
    pub columns: usize,
}

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

/// What is solved with columns of L or U.
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
    /// Which sweep.
    pub sweep: Sweep,
    /// Elements of L and U.
    pub elements: &'a [T],
    /// Place of the first diagonal element.
    pub diagonal: usize,
    /// From one diagonal element to the next.
    pub step: usize,
    /// Elements below the diagonal, or above it.
    pub reach: usize,
    /// Rows of x below the first unknown, itself included, or above it, that there are.
    pub rows: usize,
    /// 1/u_kk; as many as there are columns, also where they are not needed.
    pub inverse: &'a [T],
    /// Rows that change places.
    pub exchange: &'a [u32],
    /// The right-hand side.
    pub x: &'a mut [T],
    /// Place of the first unknown in it.
    pub first: usize,
}

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
                let end = if steps > 0 { steps } else { GROUP * self.groups() };
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

/// Columns of L that are taken together where windows in registers are not: rows are loaded and stored once for all.
const GROUP: usize = 4;

/// Some columns of L, of real numbers.
struct ColumnsOfL<R> {
    /// The first diagonal element.
    diagonal: *const R,
    /// From one diagonal element to the next.
    step: usize,
    /// Elements below the diagonal.
    reach: usize,
}

impl<R: RealScalar> ColumnsOfL<R> {
    /// Element of row i and column p of the group.
    ///
    /// # Safety
    /// The column's elements exist.
    #[inline(always)]
    unsafe fn at(&self, i: usize, p: usize) -> R {
        // SAFETY: the caller's promise.
        if i - p <= self.reach { unsafe { *self.diagonal.add(p * self.step + i - p) } } else { R::ZERO }
    }

    /// Rows from number i on of column p, with zeros after its last.
    ///
    /// # Safety
    /// The column's elements exist.
    #[inline(always)]
    unsafe fn rows<V: Lanes<Real = R>>(&self, i: usize, p: usize) -> V {
        let rest = (self.reach + 1 + p).saturating_sub(i);
        let from = self.diagonal.wrapping_add(p * self.step + i - p);
        // SAFETY: the caller's promise.
        unsafe { if rest >= V::W { V::load(from) } else { V::load_first(from, rest) } }
    }

    /// x ← L⁻¹·x: solves for the unknowns of the group, and subtracts what they contribute to the rows below.
    ///
    /// # Safety
    /// The columns' elements and the rows of x that they reach exist.
    #[inline(always)]
    unsafe fn solve<V: Lanes<Real = R>>(&self, x: *mut R) {
        // SAFETY: the caller's promise; of the last rows as many as there are.
        unsafe {
            let mut own = [R::ZERO; GROUP];
            let mut all = [V::splat(R::ZERO); GROUP];
            for p in 0..GROUP {
                own[p] = *x.add(p);
                for c in 0..p {
                    own[p] -= self.at(p, c) * own[c];
                }
                *x.add(p) = own[p];
                all[p] = V::splat(own[p]);
            }
            for i in (GROUP..GROUP + self.reach).step_by(V::W) {
                let count = GROUP + self.reach - i;
                let to = x.add(i);
                let mut rows = if count >= V::W { V::load(to) } else { V::load_first(to, count) };
                for p in 0..GROUP {
                    rows = all[p].neg_mul_add(self.rows::<V>(i, p), rows);
                }
                if count >= V::W { rows.store(to) } else { rows.store_first(to, count) }
            }
        }
    }

    /// x ← L⁻ᵀ·x: subtracts what the rows below contribute, and solves for the unknowns of the group.
    ///
    /// # Safety
    /// As [`solve`](Self::solve).
    #[inline(always)]
    unsafe fn solve_transposed<V: Lanes<Real = R>>(&self, x: *mut R) {
        // SAFETY: the caller's promise; of the last rows as many as there are.
        unsafe {
            let mut sum = [V::splat(R::ZERO); GROUP];
            for i in (GROUP..GROUP + self.reach).step_by(V::W) {
                let count = GROUP + self.reach - i;
                let from = x.add(i);
                let rows = if count >= V::W { V::load(from) } else { V::load_first(from, count) };
                for p in 0..GROUP {
                    sum[p] = self.rows::<V>(i, p).mul_add(rows, sum[p]);
                }
            }
            let mut own = [R::ZERO; GROUP];
            for p in (0..GROUP).rev() {
                own[p] = *x.add(p) - sum_of_lanes(sum[p]);
                for c in p + 1..GROUP {
                    own[p] -= self.at(c, p) * own[c];
                }
                *x.add(p) = own[p];
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

    /// Column k of U above the diagonal, and x down to its unknown.
    #[inline(always)]
    fn above(&mut self, k: usize) -> (&[T], &mut [T]) {
        let length = self.reach.min(self.rows + k);
        let end = self.diagonal + k * self.step;
        (&self.elements[end - length..end], &mut self.x[self.first + k - length..=self.first + k])
    }

    /// Columns of L, from the first on, that windows in registers can take: there are all rows that they reach.
    #[inline(always)]
    fn steps_below<V: Lanes<Real = T::Real>>(&self) -> usize {
        let fits = (1..=V::W).contains(&self.reach);
        if fits { self.exchange.len().min(self.rows.saturating_sub(self.reach)) } else { 0 }
    }

    /// Groups of columns of L, from the first on, that can be taken together: of real numbers, where no rows are exchanged, and
    /// there are all rows that they reach.
    #[inline(always)]
    fn groups(&self) -> usize {
        if T::COMPLEX || self.reach == 0 || self.exchange.iter().any(|q| *q != 0) {
            return 0;
        }
        self.exchange.len().min(self.rows.saturating_sub(self.reach)) / GROUP
    }

    /// The steps with L that [`groups`](Self::groups) can take; returns their number.
    #[inline(always)]
    fn lower_in_groups<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (groups, reach) = (self.groups(), self.reach);
        let end = groups * GROUP;
        if groups == 0 {
            return 0;
        }
        let last = self.diagonal + (end - 1) * self.step + reach;
        assert!(last < self.elements.len() && self.first + end + reach <= self.x.len(), "rows of L and x");
        let elements = self.elements[self.diagonal..].as_ptr().cast::<V::Real>();
        let x = self.x[self.first..].as_mut_ptr().cast::<V::Real>();
        for g in 0..groups {
            let k = GROUP * if transposed { groups - 1 - g } else { g };
            // SAFETY: real scalars are their own real type; the last elements of L and x were looked up.
            unsafe {
                let group = ColumnsOfL { diagonal: elements.add(k * self.step), step: self.step, reach };
                if transposed { group.solve_transposed::<V>(x.add(k)) } else { group.solve::<V>(x.add(k)) }
            }
        }
        end
    }

    /// The first column of U from which on windows in registers can take all; of `x` they read `more` rows beyond what the
    /// columns reach.
    #[inline(always)]
    fn first_above<V: Lanes<Real = T::Real>>(&self, more: usize) -> usize {
        let fits = (1..=2 * V::W).contains(&self.reach);
        let first = (self.reach + more).saturating_sub(self.rows.min(self.first));
        if fits { first.min(self.inverse.len()) } else { self.inverse.len() }
    }

    /// The steps with L that windows in registers can take; returns their number.
    #[inline(always)]
    fn lower_in_registers<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (count, reach) = (self.steps_below::<V>(), self.reach);
        if count == 0 {
            return 0;
        }
        let (last, last_x) = (self.diagonal + (count - 1) * self.step, self.first + count - 1);
        assert!(last + reach < self.elements.len() && last_x + reach < self.x.len(), "rows of L and x");
        let column = |at: usize| Column { diagonal: self.elements[at..].as_ptr().cast(), step: self.step, reach };
        let (exchange, x) = (&self.exchange[..count], self.x.as_mut_ptr().cast::<V::Real>());
        // SAFETY: real scalars are their own real type; the last elements of L and x were looked up.
        unsafe {
            if transposed {
                window::lower_transposed::<V>(column(last), exchange, x.add(last_x));
            } else {
                window::lower::<V>(column(self.diagonal), exchange, x.add(self.first));
            }
        }
        count
    }

    /// The steps with U that windows in registers can take; returns the first.
    #[inline(always)]
    fn upper_in_registers<V: Lanes<Real = T::Real>>(&mut self, transposed: bool) -> usize {
        let (end, reach) = (self.inverse.len(), self.reach);
        // Plain sweeps read what comes in next, and one row more.
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
        // SAFETY: real scalars are their own real type; the first elements of U and x exist, and the last ones.
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
        let (top, below) = x.split_first_mut().expect("the unknown itself");
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
        let (bottom, above) = x.split_last_mut().expect("the unknown itself");
        *bottom *= inverse;
        subtract_multiple::<V, T>(above, *bottom, column);
    }

    #[inline(always)]
    fn upper_transposed<V: Lanes<Real = T::Real>>(&mut self, k: usize) {
        let inverse = self.inverse[k];
        let (column, x) = self.above(k);
        let (bottom, above) = x.split_last_mut().expect("the unknown itself");
        *bottom = (*bottom - dot::<V, T>(column, above)) * inverse;
    }
}
