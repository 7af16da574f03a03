//! Taking a band over: rows scaled by powers of two, columns copied to where they will be eliminated.

use super::Job;
use super::lanes::{Lanes, prefetch};
use crate::direct::measure::peak;
use crate::matrix::Banded;
use crate::scalar::Scalar;
use core::ops::Range;

/// Rows and columns of a band, from either end.
///
/// Element (i, j) stands at `first` + i + j·`step`, or, `reversed`, as far before `first`. It is zero unless
/// j − upper ≤ i ≤ j + lower.
#[derive(Debug, Clone, Copy)]
pub struct Rectangle<'a, T> {
    pub bands: &'a [T],
    pub first: usize,
    pub step: usize,
    pub reversed: bool,
    pub rows: usize,
    pub columns: usize,
    pub lower: usize,
    pub upper: usize,
}

impl<'a, T: Scalar> Rectangle<'a, T> {
    /// Rows and columns of a matrix; one that begins in the band.
    pub fn of(a: &'a Banded<'_, T>, rows: Range<usize>, columns: Range<usize>) -> Self {
        let (bands, leading) = a.storage();
        let (i, j) = (rows.start, columns.start);
        let (lower, upper) = (a.lower() + j - i, a.upper() + i - j);
        let first = upper + j * leading;
        let (rows, columns) = (rows.len(), columns.len());
        Rectangle { bands, first, step: leading - 1, reversed: false, rows, columns, lower, upper }
    }

    /// First row of column `j` that is not zero, and the entries from there on, to be read backwards if reversed.
    #[inline(always)]
    pub(super) fn column(&self, j: usize) -> (usize, &'a [T]) {
        let (first, end) = (j.saturating_sub(self.upper), (j + self.lower + 1).min(self.rows));
        if first >= end {
            return (0, &[]);
        }
        let start =
            if self.reversed { self.first - j * self.step - (end - 1) } else { self.first + j * self.step + first };
        (first, &self.bands[start..start + (end - first)])
    }
}

impl<T: Scalar> Rectangle<'_, T> {
    /// W rows of a column, from row i on, all in the band; of real numbers.
    ///
    /// # Safety
    /// They are in the band.
    #[inline(always)]
    pub(super) unsafe fn rows_at<V: Lanes<Real = T::Real>>(&self, i: usize, j: usize) -> V {
        let p = self.bands.as_ptr().cast::<V::Real>();
        // SAFETY: the caller's promise; real scalars are their own real type.
        unsafe {
            if self.reversed {
                backwards(V::load(p.add(self.first - j * self.step - i - (V::W - 1))))
            } else {
                V::load(p.add(self.first + j * self.step + i))
            }
        }
    }

    /// Asks for a part of the W columns after column j and the W − 1 that follow it: as much as W rows of W columns, in the
    /// order in which all lies in memory, so that the machine goes on reading ahead.
    #[inline(always)]
    pub(super) fn ask_for_next<V: Lanes<Real = T::Real>>(&self, j: usize, row: usize) {
        let next = j + V::W;
        let (part, place) = (row * V::W, next * self.step + next - self.upper);
        let from = if self.reversed {
            self.first.wrapping_sub(place + part + V::W * V::W)
        } else {
            self.first + place + part
        };
        let from = self.bands.as_ptr().wrapping_add(from).cast::<u8>();
        for line in (0..V::W * V::W * size_of::<T>()).step_by(64) {
            prefetch(from.wrapping_add(line));
        }
    }

    /// If the first `count` of these columns reach as far up and down as any: the first row of the first, and their height.
    #[inline(always)]
    pub(super) fn alike(&self, columns: &Range<usize>, count: usize) -> Option<(usize, usize)> {
        let last = columns.start + count - 1;
        let inside = columns.start >= self.upper && last < columns.end && last + self.lower < self.rows;
        inside.then(|| (columns.start - self.upper, self.lower + self.upper + 1))
    }
}

/// How far a band has been taken over.
#[derive(Debug, Clone, Copy)]
pub struct Progress<R> {
    /// Columns that were looked at for the scales of their rows.
    pub scanned: usize,
    /// Rows whose scale is known.
    pub scaled: usize,
    /// Columns that were copied.
    pub copied: usize,
    /// Numbers that were written: what was copied, and zeros before and between.
    pub end: usize,
    /// Largest entry copied.
    pub largest: R,
}

/// Copies columns, with zeros around them, and finds the scales of all rows that have entries in them.
pub struct Take<'a, T: Scalar> {
    pub from: Rectangle<'a, T>,
    /// Element (i, j) goes to place `origin` + i + j·`stride`.
    pub to: &'a mut [T],
    pub origin: usize,
    pub stride: usize,
    /// Of every row; before it is known the largest entry so far.
    pub scale: &'a mut [T::Real],
    /// Rows whose scales are needed.
    pub rows: usize,
    /// Columns up to this one are copied.
    pub columns: usize,
    pub progress: Progress<T::Real>,
}

impl<T: Scalar> Job<T> for Take<'_, T> {
    type Output = Progress<T::Real>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> Progress<T::Real> {
        self.find_scales::<V>();
        self.copy::<V>();
        self.progress
    }
}

impl<T: Scalar> Take<'_, T> {
    #[inline(always)]
    fn find_scales<V: Lanes<Real = T::Real>>(&mut self) {
        let (from, done) = (self.from, &mut self.progress);
        if self.rows <= done.scaled {
            return;
        }
        let columns = if self.rows == from.rows { from.columns } else { (self.rows + from.upper).min(from.columns) };
        let mut j = done.scanned;
        while j < columns {
            j = raise_columns::<V, T>(self.scale, &from, j..columns);
        }
        equilibrate::<V>(&mut self.scale[done.scaled..self.rows]);
        (done.scanned, done.scaled) = (done.scanned.max(columns), self.rows);
    }

    #[inline(always)]
    fn copy<V: Lanes<Real = T::Real>>(&mut self) {
        let (from, done) = (self.from, &mut self.progress);
        let mut largest = V::splat(done.largest);
        for j in done.copied..self.columns {
            let (first, column) = from.column(j);
            if column.is_empty() {
                continue;
            }
            let start = self.origin + first + j * self.stride;
            clear::<V, T>(&mut self.to[done.end..start]);
            done.end = start + column.len();
            let (to, scale) = (&mut self.to[start..done.end], &self.scale[first..first + column.len()]);
            largest = copy_scaled::<V, T>(to, scale, column, from.reversed, largest);
        }
        if self.columns == from.columns {
            self.to[done.end..].fill(T::ZERO);
            done.end = self.to.len();
        }
        (done.copied, done.largest) = (done.copied.max(self.columns), largest.peak().first());
    }
}

/// A vector of rows of a column that begins in row `top`, with zeros above and below it; `None` if nothing is left. A column
/// of real numbers, at least as long as a vector.
///
/// # Safety
/// Compiled into a function that has the instruction set.
#[inline(always)]
pub(super) unsafe fn rows_of<V: Lanes<Real = T::Real>, T: Scalar>(
    (top, column): (usize, &[T]),
    row: usize,
    reversed: bool,
) -> Option<V> {
    let (p, end) = (column.as_ptr().cast::<V::Real>(), top + column.len());
    if row >= end || row + V::W <= top {
        return None;
    }
    // SAFETY: the numbers are inside of the column.
    unsafe {
        let v = match (row >= top, row + V::W <= end, reversed) {
            (true, true, false) => V::load(p.add(row - top)),
            (true, true, true) => V::load(p.add(end - row - V::W)),
            (true, false, false) => V::load_first(p.add(row - top), end - row),
            (true, false, true) => V::load_last(p.add(end - row), end - row),
            (false, _, false) => V::load_last(p.add(row + V::W - top), row + V::W - top),
            (false, _, true) => V::load_first(p.add(end - row - V::W), row + V::W - top),
        };
        Some(if reversed { backwards(v) } else { v })
    }
}

/// [`raise`] for some of the columns; returns the first left out.
#[inline(always)]
fn raise_columns<V: Lanes<Real = T::Real>, T: Scalar>(
    largest: &mut [T::Real],
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    if const { V::PERMUTES && !T::COMPLEX } {
        let next = match (from.lower + from.upper + 1).div_ceil(V::W) {
            1 => slide::<V, T, 1>(largest, from, columns.clone()),
            2 => slide::<V, T, 2>(largest, from, columns.clone()),
            3 => slide::<V, T, 3>(largest, from, columns.clone()),
            _ => raise_together::<V, T>(largest, from, columns.clone()),
        };
        if next > columns.start {
            return next;
        }
    }
    let (first, column) = from.column(columns.start);
    raise::<V, T>(&mut largest[first..first + column.len()], column, from.reversed);
    columns.start + 1
}

/// [`raise`] for W columns that all reach as far up and down, if there are so many; returns the first left out. The rows of
/// the next ones are then loaded as they were stored.
#[inline(always)]
fn raise_together<V: Lanes<Real = T::Real>, T: Scalar>(
    largest: &mut [T::Real],
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    let Some((first, height)) = from.alike(&columns, V::W) else { return columns.start };
    let s = largest[first..first + height + V::W - 1].as_mut_ptr();
    // SAFETY: real scalars are their own real type; of rows and columns only what is there is touched.
    unsafe {
        for row in (0..height + V::W - 1).step_by(V::W) {
            let count = V::W.min(height + V::W - 1 - row);
            from.ask_for_next::<V>(columns.start, row);
            let mut rows = V::load_first(s.add(row), count);
            if row > 0 && row + V::W <= height {
                for c in 0..V::W {
                    rows = from.rows_at::<V>(first + row, columns.start + c).abs_max(rows);
                }
            } else {
                for c in 0..V::W {
                    let column = from.column(columns.start + c).1;
                    if let Some(v) = rows_of::<V, T>((c, column), row, from.reversed) {
                        rows = v.abs_max(rows);
                    }
                }
            }
            rows.store_first(s.add(row), count);
        }
    }
    columns.start + V::W
}

/// [`raise`] for as many of the columns, from the first on, as all reach as far up and down; returns the first left out.
///
/// The moduli of M vectors of rows stay in registers, and move on by one row a column: to load what was just stored in
/// another place would take longer than all else.
#[inline(always)]
fn slide<V: Lanes<Real = T::Real>, T: Scalar, const M: usize>(
    largest: &mut [T::Real],
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    let height = from.lower + from.upper + 1;
    // Of the next column, too, the last row exists.
    let end = columns.end.min(from.rows.saturating_sub(from.lower + 1));
    if columns.start < from.upper || columns.start >= end {
        return columns.start;
    }
    let (first, rest) = (columns.start - from.upper, height - (M - 1) * V::W);
    assert!(end - 1 - from.upper + height < largest.len(), "rows");
    let [down, down_last] = down::<V>(rest);
    let mut s = largest.as_mut_ptr().wrapping_add(first);
    let mut window = [V::splat(T::Real::ZERO); M];
    // SAFETY: real scalars are their own real type; the rows of the last column and one more were looked up.
    unsafe {
        for m in 0..M - 1 {
            window[m] = V::load(s.add(m * V::W));
        }
        window[M - 1] = V::load_first(s.add((M - 1) * V::W), rest);
        for j in columns.start..end {
            let column = from.column(j).1.as_ptr().cast::<V::Real>();
            for m in 0..M - 1 {
                window[m] = window[m].abs_max(part::<V, true>(column, height, m * V::W, from.reversed));
            }
            window[M - 1] = window[M - 1].abs_max(part::<V, false>(column, height, (M - 1) * V::W, from.reversed));
            *s = window[0].first();
            for m in 0..M - 1 {
                window[m] = window[m].permute(window[m + 1], down);
            }
            window[M - 1] = window[M - 1].permute(V::splat(*s.add(height)), down_last);
            s = s.add(1);
        }
        for m in 0..M - 1 {
            window[m].store(s.add(m * V::W));
        }
        window[M - 1].store_first(s.add((M - 1) * V::W), rest);
    }
    end
}

/// All lanes move down by one, and another vector's first comes in last, or after `rest` − 1 lanes.
#[inline(always)]
pub(super) fn down<V: Lanes>(rest: usize) -> [V::Index; 2] {
    let (mut lanes, mut last) = ([0; 16], [V::W as u32; 16]);
    for k in 0..V::W {
        lanes[k] = k as u32 + 1;
    }
    last[..rest - 1].copy_from_slice(&lanes[..rest - 1]);
    [V::index(&lanes), V::index(&last)]
}

/// [`RealScalar::equilibrate`] of all.
#[inline(always)]
fn equilibrate<V: Lanes>(largest: &mut [V::Real]) {
    let (s, whole) = (largest.as_mut_ptr(), largest.len() / V::W * V::W);
    // SAFETY: so many numbers are there.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            V::load(s.add(k)).equilibrate().store(s.add(k));
        }
        let (s, rest) = (s.add(whole), largest.len() - whole);
        V::load_first(s, rest).equilibrate().store_first(s, rest);
    }
}

/// largest ← max(largest, |entry|), one for each entry; entries that are NaN are passed over.
#[inline(always)]
fn raise<V: Lanes<Real = T::Real>, T: Scalar>(largest: &mut [T::Real], column: &[T], reversed: bool) {
    if T::COMPLEX || reversed && !V::PERMUTES {
        let raise = |(s, v): (&mut T::Real, &T)| *s = if peak(*v) > *s { peak(*v) } else { *s };
        if reversed {
            largest.iter_mut().zip(column.iter().rev()).for_each(raise);
        } else {
            largest.iter_mut().zip(column).for_each(raise);
        }
        return;
    }
    let (s, count) = (largest.as_mut_ptr(), column.len());
    let (column, whole) = (column.as_ptr().cast::<V::Real>(), count / V::W * V::W);
    // SAFETY: real scalars are their own real type; there are `count` numbers in both.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            part::<V, true>(column, count, k, reversed).abs().max(V::load(s.add(k))).store(s.add(k));
        }
        if whole < count {
            let (s, rest) = (s.add(whole), count - whole);
            part::<V, false>(column, count, whole, reversed).abs().max(V::load_first(s, rest)).store_first(s, rest);
        }
    }
}

/// to ← 0
#[inline(always)]
fn clear<V: Lanes<Real = T::Real>, T: Scalar>(to: &mut [T]) {
    if T::COMPLEX {
        return to.fill(T::ZERO);
    }
    let (p, whole) = (to.as_mut_ptr().cast::<V::Real>(), to.len() / V::W * V::W);
    let zero = V::splat(T::Real::ZERO);
    // SAFETY: real scalars are their own real type; there are so many numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            zero.store(p.add(k));
        }
        zero.store_first(p.add(whole), to.len() - whole);
    }
}

/// to ← scale·column; returns the larger of `largest` and what was stored, lane by lane.
#[inline(always)]
fn copy_scaled<V: Lanes<Real = T::Real>, T: Scalar>(
    to: &mut [T],
    scale: &[T::Real],
    column: &[T],
    reversed: bool,
    largest: V,
) -> V {
    if T::COMPLEX || reversed && !V::PERMUTES {
        let mut most = T::Real::ZERO;
        let mut copy = |((to, s), v): ((&mut T, &T::Real), &T)| {
            *to = v.scale(*s);
            most = if peak(*to) > most { peak(*to) } else { most };
        };
        if reversed {
            to.iter_mut().zip(scale).zip(column.iter().rev()).for_each(&mut copy);
        } else {
            to.iter_mut().zip(scale).zip(column).for_each(&mut copy);
        }
        return V::splat(most).max(largest);
    }
    let (to, s, count) = (to.as_mut_ptr().cast::<V::Real>(), scale.as_ptr(), column.len());
    let (column, whole) = (column.as_ptr().cast::<V::Real>(), count / V::W * V::W);
    let mut largest = largest;
    // SAFETY: real scalars are their own real type; there are `count` numbers in all three.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            let v = part::<V, true>(column, count, k, reversed) * V::load(s.add(k));
            v.store(to.add(k));
            largest = v.abs().max(largest);
        }
        if whole < count {
            let rest = count - whole;
            let v = part::<V, false>(column, count, whole, reversed) * V::load_first(s.add(whole), rest);
            v.store_first(to.add(whole), rest);
            largest = v.abs().max(largest);
        }
    }
    largest
}

/// Numbers k … of `count` numbers, or of the same backwards; as many as there are, unless `FULL`, with zeros after them.
///
/// # Safety
/// `count` numbers are readable, W of them from number k on if `FULL`, else fewer.
#[inline(always)]
unsafe fn part<V: Lanes, const FULL: bool>(p: *const V::Real, count: usize, k: usize, reversed: bool) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        match (reversed, FULL) {
            (false, true) => V::load(p.add(k)),
            (false, false) => V::load_first(p.add(k), count - k),
            // The numbers wanted end where k others begin.
            (true, true) => backwards(V::load(p.add(count - k - V::W))),
            (true, false) => backwards(V::load_last(p.add(count - k), count - k)),
        }
    }
}

/// The last lane first.
#[inline(always)]
fn backwards<V: Lanes>(v: V) -> V {
    const DOWN: [u32; 31] =
        [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let index = DOWN[16 - V::W..32 - V::W].try_into().expect("sixteen numbers");
    v.permute(v, V::index(index))
}
