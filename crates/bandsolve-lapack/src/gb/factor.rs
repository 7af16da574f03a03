//! Banded LU: narrow bands in place, several columns at a time. Wide bands use [`strips`].

use super::strips::{self, GbSizes};
use super::{GbLayout, GbLuMut};
use crate::number::LapackScalar;
use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::Simd;
use bandsolve_kernel::ahead::Ahead;
use bandsolve_kernel::panel::{Panel, PivotRule};

/// Number of columns that are eliminated in one call of the kernel.
const STEP: usize = 64;

/// Factor in place. Returns the first column of U whose diagonal entry is zero.
///
/// # Cost
/// 2·lower·(lower + upper) flops per column. For wide bands (`GbSizes::of`), dense kernels eliminate blocks of columns,
/// and need memory for about 3·upper columns. If there is not enough memory, the elimination proceeds column by column.
pub fn factor<T: LapackScalar>(mut f: GbLuMut<'_, T>) -> Option<usize> {
    if let Some(layout) = GbSizes::of::<T>(&f.band)
        && let Some(singular) = strips::factor(&mut f, layout)
    {
        return singular;
    }
    columns(f)
}

/// The pivot of a column is its largest entry by |Re| + |Im|.
pub(super) fn largest<R: RealScalar>() -> PivotRule<R> {
    PivotRule { exchange: true, boost: false, noise: R::ZERO }
}

/// Factor column by column.
pub(super) fn columns<T: LapackScalar>(f: GbLuMut<'_, T>) -> Option<usize> {
    let GbLuMut { band, elements, pivot } = f;
    if band.lower == 0 {
        pivot.iter_mut().enumerate().for_each(|(j, pivot)| *pivot = (j + 1) as crate::Int);
        return (0..pivot.len()).find(|j| elements[band.at(*j, *j)] == T::ZERO);
    }
    let (mut singular, mut cleared) = (None, 0);
    let (mut inverse, mut exchange) = ([T::ZERO; STEP], [0; STEP]);
    for (chunk, pivot) in pivot.chunks_mut(STEP).enumerate() {
        let (j, width) = (chunk * STEP, pivot.len());
        let reached = (j + width + band.upper).min(band.columns);
        (cleared..reached).for_each(|j| clear_fill(&band, elements, j));
        cleared = reached;
        let job = Panel {
            region: &mut elements[band.at(j, j)..],
            stride: band.leading - 1,
            rows: band.rows - j,
            columns: band.columns - j,
            lower: band.lower.min(band.rows - 1),
            fill: band.upper,
            upper: band.upper - band.lower,
            window: None,
            reach_back: false,
            inverse: &mut inverse[..width],
            exchange: &mut exchange[..width],
            rule: largest(),
            ahead: Ahead::nothing(),
        };
        singular = singular.or(T::panel(Simd::detect(), job).singular.map(|k| j + k));
        for (k, (pivot, q)) in pivot.iter_mut().zip(exchange).enumerate() {
            *pivot = (j + k + q as usize + 1) as crate::Int;
        }
    }
    singular
}

/// Set the entries of column `j` to zero that do not belong to A but may become entries of U.
fn clear_fill<T: Scalar>(band: &GbLayout, elements: &mut [T], j: usize) {
    let rows = band.rows_of(j);
    let end = (j + band.lower).saturating_sub(band.upper).min(rows.end).max(rows.start);
    elements[band.part(rows.start..end, j)].fill(T::ZERO);
}
