//! Accumulate a value per row of a band in registers, column by column.

use super::band_rectangle::{Rectangle, load_part, reverse_lanes};
use super::prefetch::prefetch;
use crate::number::{Lanes, Scalar};
use core::ops::Range;

/// How the entries of a row are accumulated in A numbers.
pub(super) trait RowGather<V: Lanes, const A: usize> {
    /// The updated numbers of W rows with the entries `v` in column `j`.
    fn gather(&self, j: usize, v: V, rows: [V; A]) -> [V; A];
}

/// Accumulate the entries of some columns of real numbers, from the first column on, in the rows of `arrays`.
///
/// Only columns with the full number of entries above and below the diagonal are included. Returns the first column
/// that is left.
#[inline(always)]
pub(super) fn gather_rows<V: Lanes<Real = T::Real>, T: Scalar, const A: usize>(
    arrays: [&mut [T::Real]; A],
    gather: &impl RowGather<V, A>,
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    let mut p = [core::ptr::null_mut(); A];
    let mut rows = usize::MAX;
    for a in 0..A {
        (p[a], rows) = (arrays[a].as_mut_ptr(), rows.min(arrays[a].len()));
    }
    match (from.lower + from.upper + 1).div_ceil(V::W) {
        1 => gather_sliding::<V, T, A, 1>((p, rows), gather, from, columns),
        2 => gather_sliding::<V, T, A, 2>((p, rows), gather, from, columns),
        3 => gather_sliding::<V, T, A, 3>((p, rows), gather, from, columns),
        _ => gather_by_vectors::<V, T, A>((p, rows), gather, from, columns),
    }
}

/// Process W columns, if they exist. The rows of the next W columns can then be loaded with the same alignment as they
/// were stored.
#[inline(always)]
fn gather_by_vectors<V: Lanes<Real = T::Real>, T: Scalar, const A: usize>(
    (p, rows): ([*mut T::Real; A], usize),
    gather: &impl RowGather<V, A>,
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    let j = columns.start;
    let Some((first, height)) = from.alike(&columns, V::W) else { return j };
    let end = height + V::W - 1;
    assert!(first + end <= rows, "the columns reach beyond the rows");
    // SAFETY: real scalars are their own real type, and only existing rows and columns are accessed.
    unsafe {
        for row in (0..end).step_by(V::W) {
            from.prefetch_next_columns::<V>(j, row);
            let count = V::W.min(end - row);
            let mut gathered = load::<V, A>(p, first + row, count);
            if row > 0 && row + V::W <= height {
                for c in 0..V::W {
                    gathered = gather.gather(j + c, from.rows_at::<V>(first + row, j + c), gathered);
                }
            } else {
                for c in 0..V::W {
                    if let Some(v) = rows_of::<V, T>((c, from.column(j + c).1), row, from.reversed) {
                        gathered = gather.gather(j + c, v, gathered);
                    }
                }
            }
            store::<V, A>(gathered, p, first + row, count);
        }
    }
    j + V::W
}

/// Process as many columns as possible.
///
/// M vectors of rows remain in registers, and move on by one row per column. If they were stored and loaded at another
/// offset instead, the loads would take longer than all other operations.
#[inline(always)]
fn gather_sliding<V: Lanes<Real = T::Real>, T: Scalar, const A: usize, const M: usize>(
    (p, rows): ([*mut T::Real; A], usize),
    gather: &impl RowGather<V, A>,
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    let height = from.lower + from.upper + 1;
    // The last row of the next column also exists.
    let end = columns.end.min(from.rows.saturating_sub(from.lower + 1));
    if columns.start < from.upper || columns.start >= end {
        return columns.start;
    }
    let (mut first, rest) = (columns.start - from.upper, height - (M - 1) * V::W);
    assert!(end - 1 - from.upper + height < rows, "the columns reach beyond the rows");
    let [down, down_last] = down::<V>(rest);
    let mut window = [[V::splat(<V::Real as Scalar>::ZERO); A]; M];
    // SAFETY: real scalars are their own real type, and the assertion checked the rows of the last column and one more.
    unsafe {
        for m in 0..M {
            window[m] = load::<V, A>(p, first + m * V::W, if m + 1 < M { V::W } else { rest });
        }
        for j in columns.start..end {
            let column = from.column(j).1.as_ptr().cast::<V::Real>();
            for m in 0..M - 1 {
                window[m] = gather.gather(j, load_part::<V, true>(column, height, m * V::W, from.reversed), window[m]);
            }
            let last = load_part::<V, false>(column, height, (M - 1) * V::W, from.reversed);
            window[M - 1] = gather.gather(j, last, window[M - 1]);
            for a in 0..A {
                *p[a].add(first) = window[0][a].first();
                for m in 0..M - 1 {
                    window[m][a] = window[m][a].permute(window[m + 1][a], down);
                }
                window[M - 1][a] = window[M - 1][a].permute(V::splat(*p[a].add(first + height)), down_last);
            }
            first += 1;
        }
        for m in 0..M {
            store::<V, A>(window[m], p, first + m * V::W, if m + 1 < M { V::W } else { rest });
        }
    }
    end
}

/// Move all lanes down by one. The first lane of the other vector enters last, or after `rest` − 1 lanes.
#[inline(always)]
pub(super) fn down<V: Lanes>(rest: usize) -> [V::Index; 2] {
    let (mut lanes, mut last) = ([0; 16], [V::W as u32; 16]);
    for k in 0..V::W {
        lanes[k] = k as u32 + 1;
    }
    last[..rest - 1].copy_from_slice(&lanes[..rest - 1]);
    [V::index(&lanes), V::index(&last)]
}

/// Load `count` numbers of every array.
///
/// # Safety
/// These numbers are readable.
#[inline(always)]
unsafe fn load<V: Lanes, const A: usize>(p: [*mut V::Real; A], at: usize, count: usize) -> [V; A] {
    let mut rows = [V::splat(<V::Real as Scalar>::ZERO); A];
    for a in 0..A {
        // SAFETY: the caller's promise.
        rows[a] = unsafe { V::load_first(p[a].add(at), count) };
    }
    rows
}

/// Store `count` numbers to every array.
///
/// # Safety
/// These numbers are writable.
#[inline(always)]
unsafe fn store<V: Lanes, const A: usize>(rows: [V; A], p: [*mut V::Real; A], at: usize, count: usize) {
    for a in 0..A {
        // SAFETY: the caller's promise.
        unsafe { rows[a].store_first(p[a].add(at), count) };
    }
}

impl<T: Scalar> Rectangle<'_, T> {
    /// W rows of a column of real numbers, from row i on.
    ///
    /// # Safety
    /// All these rows are in the band.
    #[inline(always)]
    unsafe fn rows_at<V: Lanes<Real = T::Real>>(&self, i: usize, j: usize) -> V {
        let p = self.bands.as_ptr().cast::<V::Real>();
        // SAFETY: the caller's promise; real scalars are their own real type.
        unsafe {
            if self.reversed {
                reverse_lanes(V::load(p.add(self.first - j * self.step - i - (V::W - 1))))
            } else {
                V::load(p.add(self.first + j * self.step + i))
            }
        }
    }

    /// Prefetch a part of the W columns after column j and the W − 1 columns that follow.
    ///
    /// The part has the size of W rows of W columns, in memory order, so that the hardware continues to read ahead.
    #[inline(always)]
    fn prefetch_next_columns<V: Lanes<Real = T::Real>>(&self, j: usize, row: usize) {
        let next = j + V::W;
        let (part, place) = (row * V::W, next * self.step + next - self.upper);
        let from =
            if self.reversed { self.first.wrapping_sub(place + part + V::W * V::W) } else { self.first + place + part };
        let from = self.bands.as_ptr().wrapping_add(from).cast::<u8>();
        for line in (0..V::W * V::W * size_of::<T>()).step_by(64) {
            prefetch(from.wrapping_add(line));
        }
    }

    /// The first row of the first of these columns and their height, if the first `count` columns have the full number
    /// of entries.
    #[inline(always)]
    fn alike(&self, columns: &Range<usize>, count: usize) -> Option<(usize, usize)> {
        let last = columns.start + count - 1;
        let inside = columns.start >= self.upper && last < columns.end && last + self.lower < self.rows;
        inside.then(|| (columns.start - self.upper, self.lower + self.upper + 1))
    }
}

/// A vector of rows of a column that begins in row `top`, with zeros above and below it. `None` if no row is left.
///
/// The column has real numbers, and at least the length of a vector.
///
/// # Safety
/// The caller is compiled for the instruction set.
#[inline(always)]
unsafe fn rows_of<V: Lanes<Real = T::Real>, T: Scalar>(
    (top, column): (usize, &[T]),
    row: usize,
    reversed: bool,
) -> Option<V> {
    let (p, end) = (column.as_ptr().cast::<V::Real>(), top + column.len());
    if row >= end || row + V::W <= top {
        return None;
    }
    // SAFETY: the numbers are inside the column.
    unsafe {
        let v = match (row >= top, row + V::W <= end, reversed) {
            (true, true, false) => V::load(p.add(row - top)),
            (true, true, true) => V::load(p.add(end - row - V::W)),
            (true, false, false) => V::load_first(p.add(row - top), end - row),
            (true, false, true) => V::load_last(p.add(end - row), end - row),
            (false, _, false) => V::load_last(p.add(row + V::W - top), row + V::W - top),
            (false, _, true) => V::load_first(p.add(end - row - V::W), row + V::W - top),
        };
        Some(if reversed { reverse_lanes(v) } else { v })
    }
}
