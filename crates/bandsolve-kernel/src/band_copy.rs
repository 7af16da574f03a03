//! Copy a band to the array in which it is eliminated, with rows scaled by powers of two.

use super::Job;
use super::band_rectangle::{Rectangle, load_part};
use super::row_gather::{RowGather, gather_rows};
use crate::job::kernel;
use crate::number::{Lanes, Scalar};
use crate::scalar::peak;
use core::ops::Range;

/// The progress of copying a band.
#[derive(Debug, Clone, Copy)]
pub struct CopyProgress<R> {
    /// Number of columns that were scanned for the scales of their rows.
    pub scanned: usize,
    /// Number of rows whose scale is known.
    pub scaled: usize,
    /// Number of columns that were copied.
    pub copied: usize,
    /// Number of entries that were written: copied entries, and zeros before and between them.
    pub end: usize,
    /// Largest copied entry.
    pub largest: R,
}

/// Copy columns with zeros around them, and compute the scales of all rows that have entries in these columns.
pub struct BandCopy<'a, T: Scalar> {
    pub from: Rectangle<'a, T>,
    /// Element (i, j) is copied to `origin` + i + j·`stride`.
    pub to: &'a mut [T],
    pub origin: usize,
    pub stride: usize,
    /// The scale of every row. Before it is known, the largest entry so far.
    pub scale: &'a mut [T::Real],
    /// Number of rows whose scales are needed.
    pub rows: usize,
    /// Number of columns to copy.
    pub columns: usize,
    pub progress: CopyProgress<T::Real>,
}

kernel!(BandCopyKernel: BandCopy<'a> => CopyProgress<<T as Scalar>::Real>);

impl<T: Scalar> Job<T> for BandCopy<'_, T> {
    type Output = CopyProgress<T::Real>;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) -> CopyProgress<T::Real> {
        self.find_scales::<V>();
        self.copy::<V>();
        self.progress
    }
}

impl<T: Scalar> BandCopy<'_, T> {
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

/// [`raise`] for some of the columns. Returns the first column that is left.
#[inline(always)]
fn raise_columns<V: Lanes<Real = T::Real>, T: Scalar>(
    largest: &mut [T::Real],
    from: &Rectangle<'_, T>,
    columns: Range<usize>,
) -> usize {
    if const { V::PERMUTES && !T::COMPLEX } {
        let next = gather_rows::<V, T, 1>([&mut *largest], &RowMaxima, from, columns.clone());
        if next > columns.start {
            return next;
        }
    }
    let (first, column) = from.column(columns.start);
    raise::<V, T>(&mut largest[first..first + column.len()], column, from.reversed);
    columns.start + 1
}

/// The largest modulus in every row. NaN entries are ignored.
struct RowMaxima;

impl<V: Lanes> RowGather<V, 1> for RowMaxima {
    #[inline(always)]
    fn gather(&self, _: usize, v: V, [rows]: [V; 1]) -> [V; 1] {
        [v.abs_max(rows)]
    }
}

/// [`RealScalar::equilibrate`](crate::RealScalar::equilibrate) for all entries.
#[inline(always)]
fn equilibrate<V: Lanes>(largest: &mut [V::Real]) {
    let (s, whole) = (largest.as_mut_ptr(), largest.len() / V::W * V::W);
    // SAFETY: the slice has this number of entries.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            V::load(s.add(k)).equilibrate().store(s.add(k));
        }
        let (s, rest) = (s.add(whole), largest.len() - whole);
        V::load_first(s, rest).equilibrate().store_first(s, rest);
    }
}

/// largest ← max(largest, |entry|) for each entry. NaN entries are ignored.
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
    // SAFETY: real scalars are their own real type, and both slices have `count` numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            load_part::<V, true>(column, count, k, reversed).abs().max(V::load(s.add(k))).store(s.add(k));
        }
        if whole < count {
            let (s, rest) = (s.add(whole), count - whole);
            load_part::<V, false>(column, count, whole, reversed)
                .abs()
                .max(V::load_first(s, rest))
                .store_first(s, rest);
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
    // SAFETY: real scalars are their own real type, and the slice has this number of entries.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            zero.store(p.add(k));
        }
        zero.store_first(p.add(whole), to.len() - whole);
    }
}

/// to ← scale·column. Returns the larger of `largest` and the stored moduli, for each lane.
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
    // SAFETY: real scalars are their own real type, and all three slices have `count` numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            let v = load_part::<V, true>(column, count, k, reversed) * V::load(s.add(k));
            v.store(to.add(k));
            largest = v.abs().max(largest);
        }
        if whole < count {
            let rest = count - whole;
            let v = load_part::<V, false>(column, count, whole, reversed) * V::load_first(s.add(whole), rest);
            v.store_first(to.add(whole), rest);
            largest = v.abs().max(largest);
        }
    }
    largest
}
