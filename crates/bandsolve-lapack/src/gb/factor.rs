//! Banded LU, column by column in place; wide bands go to [`strips`](super::strips).

use super::strips::{self, Layout};
use super::{Band, LuMut, subtract_multiple};
use crate::number::{Number, divide};
use crate::wide::{self, Job};
use bandsolve::{RealScalar, Scalar};

/// Factors in place; returns the first column of U whose diagonal entry is zero.
///
/// # Cost
/// With exchanges at every step 2·lower·(lower + upper) flops a column. Bands of at least 16 diagonals below and above are
/// eliminated in blocks of columns by dense kernels, for which memory of about 3·upper columns is allocated; without it
/// they go column by column.
pub fn factor<T: Number>(mut f: LuMut<'_, T>) -> Option<usize> {
    if let Some(layout) = Layout::of(&f.band)
        && let Some(singular) = strips::factor(&mut f, layout)
    {
        return singular;
    }
    columns(f)
}

/// Factors column by column.
pub(super) fn columns<T: Number>(f: LuMut<'_, T>) -> Option<usize> {
    wide::run(ByColumns(f))
}

struct ByColumns<'a, T>(LuMut<'a, T>);

impl<T: Number> Job for ByColumns<'_, T> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        eliminate(self.0)
    }
}

#[inline(always)]
fn eliminate<T: Number>(f: LuMut<'_, T>) -> Option<usize> {
    let LuMut { band, elements, pivot } = f;
    let steps = band.rows.min(band.columns);
    let mut singular = None;
    // The last column that the rows so far reach into.
    let mut reach = 0;
    for j in 0..band.upper.min(band.columns) {
        clear_fill(&band, elements, j);
    }
    for j in 0..steps {
        if j + band.upper < band.columns {
            clear_fill(&band, elements, j + band.upper);
        }
        let end = band.rows_of(j).end;
        let column = &mut elements[band.part(j..end, j)];
        let q = largest(column);
        pivot[j] = (j + q + 1) as crate::Int;
        if column[q] == T::ZERO {
            singular = singular.or(Some(j));
            continue;
        }
        column.swap(0, q);
        let (diagonal, below) = column.split_first_mut().expect("the diagonal");
        divide_by(below, *diagonal);
        reach = (j + q + band.upper - band.lower).min(band.columns - 1).max(reach);
        let (left, right) = elements.split_at_mut(((j + 1) * band.leading).min(elements.len()));
        let multipliers = &left[band.part(j..end, j)][1..];
        for (k, column) in right.chunks_mut(band.leading).take(reach - j).enumerate() {
            let top = band.upper - 1 - k;
            let column = &mut column[top..];
            column.swap(0, q);
            let (u, below) = column.split_first_mut().expect("the pivot row");
            subtract_multiple(below, *u, multipliers);
        }
    }
    singular
}

/// Sets to zero what of column `j` is no entry of A but may become one of U.
#[inline(always)]
fn clear_fill<T: Scalar>(band: &Band, elements: &mut [T], j: usize) {
    let rows = band.rows_of(j);
    let end = (j + band.lower).saturating_sub(band.upper).min(rows.end).max(rows.start);
    elements[band.part(rows.start..end, j)].fill(T::ZERO);
}

/// v ← v / d, by a multiplication where that does no harm.
#[inline(always)]
pub(super) fn divide_by<T: Scalar>(v: &mut [T], d: T) {
    if d.abs1() >= T::Real::MIN_POSITIVE {
        let inverse = divide(T::ONE, d);
        v.iter_mut().for_each(|v| *v *= inverse);
    } else {
        v.iter_mut().for_each(|v| *v = divide(*v, d));
    }
}

/// Index of the first largest entry by |Re| + |Im|.
#[inline(always)]
pub(super) fn largest<T: Scalar>(column: &[T]) -> usize {
    let mut best = (column[0].abs1(), 0);
    for (i, v) in column.iter().enumerate().skip(1) {
        let size = v.abs1();
        let better = size > best.0;
        best.0 = crate::number::select(better, size, best.0);
        best.1 = if better { i } else { best.1 };
    }
    best.1
}
