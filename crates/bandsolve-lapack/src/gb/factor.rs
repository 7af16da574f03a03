//! Banded LU: narrow bands in place, several columns at a time. Wide bands use [`strips`].

use super::narrow;
use super::strips::{self, GbSizes, largest};
use super::{GbLayout, GbLuMut};
use crate::number::LapackScalar;
use bandsolve::Scalar;
use bandsolve_kernel::Simd;
use bandsolve_kernel::panel::Panel;
use bandsolve_kernel::prefetch::Prefetcher;

/// Number of columns that are eliminated in one call of the kernel.
const KERNEL_COLUMNS: usize = 64;

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

/// Factor column by column.
pub(super) fn columns<T: LapackScalar>(mut f: GbLuMut<'_, T>) -> Option<usize> {
    let (done, singular) = narrow::factor(&mut f);
    singular.or(columns_from(done, f))
}

/// Factor the columns from `start` on. The entries of earlier rows, and those of U in the next `upper` columns, are set.
fn columns_from<T: LapackScalar>(start: usize, f: GbLuMut<'_, T>) -> Option<usize> {
    let GbLuMut { band, elements, pivot } = f;
    if band.lower == 0 {
        pivot.iter_mut().enumerate().for_each(|(j, pivot)| *pivot = (j + 1) as crate::Int);
        return (0..pivot.len()).find(|j| elements[band.at(*j, *j)] == T::ZERO);
    }
    let mut singular = None;
    let mut cleared = if start > 0 { (start + band.upper).min(band.columns) } else { 0 };
    let (mut inverse, mut exchange) = ([T::ZERO; KERNEL_COLUMNS], [0; KERNEL_COLUMNS]);
    for (chunk, pivot) in pivot[start..].chunks_mut(KERNEL_COLUMNS).enumerate() {
        let (j, width) = (start + chunk * KERNEL_COLUMNS, pivot.len());
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
            prefetcher: Prefetcher::none(),
        };
        singular = singular.or(job.run_on(Simd::detect()).singular.map(|k| j + k));
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
