//! Elimination and sweeps in registers, for narrow bands.
//!
//! The *window* at step k consists of the rows k … k + lower − 1, one per lane, and the columns k … k + fill − 1, one
//! per vector. Its rows and row k + lower, which is still unchanged, are the pivot candidates. The row at the diagonal
//! moves to the place of the chosen pivot row. All rows then move up by one lane, and the new row enters the last lane.
//! This is a permutation of two vectors, the same for every column.
//!
//! All operations, and so the results, are the same as those of the elimination in memory.

use super::Simd;
use super::prefetch::{Prefetcher, prefetch_second_level};
use crate::number::{Lanes, Scalar};
use crate::tuning::PREFETCH_COLUMNS;

/// Numbers of superdiagonals of U for which windows are compiled.
const WIDTHS: [usize; 4] = [4, 8, 12, 16];

/// The smallest sufficient window width, if the elimination fits in the registers of this instruction set.
pub fn width<T: Scalar>(simd: Simd, lower: usize, fill: usize) -> Option<usize> {
    let fits = simd == Simd::Avx512 && !T::COMPLEX && (1..=T::lanes(simd)).contains(&lower);
    WIDTHS.into_iter().find(|width| fits && fill <= *width)
}

/// The largest number of superdiagonals that [`width`] returns for `fill`.
pub fn width_at_most(fill: usize) -> usize {
    WIDTHS.into_iter().find(|width| fill <= *width).unwrap_or(fill)
}

/// Columns of a band during elimination. Element (i, c), counted from the first diagonal element, is `elements[i +
/// c·stride]`.
#[derive(Clone, Copy)]
pub struct BandColumns<R> {
    pub elements: *mut R,
    pub stride: usize,
    /// Number of elements below the diagonal, in 1 … W.
    pub lower: usize,
}

/// The permutations of lanes, for every place of the pivot.
struct Moves<V: Lanes> {
    /// Copy the pivot to every lane.
    pivot: [V::Index; MAX_CANDIDATES],
    /// Move the other rows to their new places.
    rows: [V::Index; MAX_CANDIDATES],
}

/// Number of rows of the widest vector, plus one.
const MAX_CANDIDATES: usize = 17;

impl<V: Lanes> Moves<V> {
    #[inline(always)]
    fn new(lower: usize) -> Self {
        let (w, mut rows) = (V::W as u32, [[0; 16]; MAX_CANDIDATES]);
        let mut pivot = rows;
        for q in 0..=lower {
            for k in 0..V::W {
                pivot[q][k] = if q == lower { w } else { q as u32 };
                // Lanes without rows do not change.
                rows[q][k] = if k < lower { k as u32 + 1 } else { k as u32 };
            }
            rows[q][lower - 1] = w;
            if q > 0 {
                rows[q][q - 1] = 0;
            }
        }
        let zero = V::index(&rows[0]);
        let mut moves = Self { pivot: [zero; MAX_CANDIDATES], rows: [zero; MAX_CANDIDATES] };
        for q in 0..=lower {
            (moves.pivot[q], moves.rows[q]) = (V::index(&pivot[q]), V::index(&rows[q]));
        }
        moves
    }
}

/// Eliminate as many columns as `inverse` and `exchange` have, and prefetch meanwhile. Returns the first column
/// without a pivot.
///
/// # Safety
/// The matrix has row `lower` and column N below and to the right of every pivot, and 1 ≤ lower ≤ W.
#[inline(always)]
pub unsafe fn eliminate<V: Lanes, const N: usize>(
    place: BandColumns<V::Real>,
    inverse: &mut [V::Real],
    exchange: &mut [u32],
    prefetcher: &mut Prefetcher,
) -> Option<usize> {
    let BandColumns { elements, stride, lower } = place;
    let moves = Moves::<V>::new(lower);
    let (zero, mut singular) = (V::splat(<V::Real as Scalar>::ZERO), None);
    let mut column = [zero; N];
    let mut diagonal = elements;
    // SAFETY: all these elements are inside the band, as the caller promises.
    unsafe {
        for c in 0..N {
            column[c] = V::load_first(diagonal.add(c * stride), lower);
        }
        for k in 0..inverse.len().min(exchange.len()) {
            prefetcher.prefetch_next();
            let new = V::splat(*diagonal.add(lower));
            let moduli = column[0].abs();
            let largest = moduli.peak().max(new.abs());
            let q = (moduli.equal_bits(largest) | 1 << lower).trailing_zeros() as usize;
            let (to_pivot, to_rows) = (moves.pivot[q], moves.rows[q]);
            let pivot = column[0].permute(new, to_pivot).first();
            let is_zero = pivot == <V::Real as Scalar>::ZERO;
            if is_zero && singular.is_none() {
                singular = Some(k);
            }
            let reciprocal = if is_zero { <V::Real as Scalar>::ZERO } else { <V::Real as Scalar>::ONE / pivot };
            (inverse[k], exchange[k]) = (reciprocal, q as u32);
            let l = column[0].permute(new, to_rows) * V::splat(reciprocal);
            *diagonal = pivot;
            l.store_first(diagonal.add(1), lower);
            let mut at = diagonal;
            for c in 1..N {
                at = at.add(stride);
                let new = V::splat(*at.add(lower));
                let u = column[c].permute(new, to_pivot);
                column[c - 1] = l.neg_mul_add(u, column[c].permute(new, to_rows));
                *at = u.first();
            }
            at = at.add(stride);
            let new = V::splat(*at.add(lower));
            let u = zero.permute(new, to_pivot);
            column[N - 1] = l.neg_mul_add(u, zero.permute(new, to_rows));
            *at = u.first();
            diagonal = diagonal.wrapping_add(stride + 1);
        }
        for c in 0..N {
            column[c].store_first(diagonal.add(c * stride), lower);
        }
    }
    singular
}

/// A column of L or U.
#[derive(Clone, Copy)]
pub struct Column<R> {
    pub diagonal: *const R,
    /// Distance from one diagonal element to the next.
    pub step: usize,
    /// Number of elements below the diagonal, or above it.
    pub reach: usize,
}

/// Prefetch `count` numbers.
#[inline(always)]
fn prefetch_numbers<R>(from: *const R, count: usize) {
    for k in (0..count).step_by(64 / size_of::<R>()) {
        prefetch_second_level(from.wrapping_add(k));
    }
    prefetch_second_level(from.wrapping_add(count - 1));
}

/// x ← L⁻¹·P·x for `exchange.len()` columns. `first` is the first of them, and `x` points to the first unknown.
///
/// # Safety
/// 1 ≤ reach ≤ W. `reach` elements exist below every diagonal element and below every unknown.
#[inline(always)]
pub unsafe fn lower<V: Lanes>(first: Column<V::Real>, exchange: &[u32], x: *mut V::Real) {
    let Column { diagonal, step, reach: lower } = first;
    let (moves, mut x) = (Moves::<V>::new(lower), x);
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = diagonal.add(1);
        let mut window = V::load_first(x, lower);
        for q in exchange {
            prefetch_numbers(column.wrapping_add(PREFETCH_COLUMNS * step), lower);
            let (q, new) = (*q as usize, V::splat(*x.add(lower)));
            let y = window.permute(new, moves.pivot[q]);
            window = y.neg_mul_add(V::load_first(column, lower), window.permute(new, moves.rows[q]));
            *x = y.first();
            (x, column) = (x.add(1), column.wrapping_add(step));
        }
        window.store_first(x, lower);
    }
}

/// x ← U⁻¹·x for `inverse.len()` columns, from the last to the first. `last` is the last column, and `x` points to the
/// last unknown.
///
/// # Safety
/// 1 ≤ reach ≤ 2·W. Every column has `reach` elements above the diagonal, and `x` has `reach` + 2 rows above the first
/// unknown.
#[inline(always)]
pub unsafe fn upper<V: Lanes>(last: Column<V::Real>, inverse: &[V::Real], x: *mut V::Real) {
    let Column { diagonal, step, reach: fill } = last;
    let (near, far) = (fill.min(V::W), fill.saturating_sub(V::W));
    let (top, up_near, up_far) = (V::index(&[V::W as u32 - 1; 16]), up::<V>(near), up::<V>(far));
    // The offset of the row that enters the window. With one vector, this row waits in the other vector.
    let next = if far == 0 { fill + 2 } else { fill + 1 };
    let (mut diagonal, mut x) = (diagonal, x);
    // SAFETY: the caller's promise.
    unsafe {
        let mut unknown = V::splat(*x);
        let mut above = V::load_last(x, near);
        let mut further = if far == 0 { V::splat(*x.sub(fill + 1)) } else { V::load_last(x.sub(V::W), far) };
        for inverse in inverse.iter().rev() {
            prefetch_numbers(diagonal.wrapping_sub(PREFETCH_COLUMNS * step + fill), fill);
            let y = unknown * V::splat(*inverse);
            *x = y.first();
            above = y.neg_mul_add(V::load_last(diagonal, near), above);
            if far > 0 {
                further = y.neg_mul_add(V::load_last(diagonal.sub(V::W), far), further);
            }
            unknown = above.permute(above, top);
            above = further.permute(above, up_near);
            further = V::splat(*x.sub(next)).permute(further, up_far);
            (x, diagonal) = (x.sub(1), diagonal.wrapping_sub(step));
        }
        *x = unknown.first();
        above.store_last(x, near);
        if far > 0 {
            further.store_last(x.sub(V::W), far);
        }
    }
}

/// x ← U⁻ᵀ·x for `inverse.len()` columns. `first` is the first column, and `x` points to the first unknown.
///
/// # Safety
/// 1 ≤ reach ≤ 2·W. Every column has `reach` elements above the diagonal, and `x` has as many rows above the first
/// unknown.
#[inline(always)]
pub unsafe fn upper_transposed<V: Lanes>(first: Column<V::Real>, inverse: &[V::Real], x: *mut V::Real) {
    // The contribution of the newest unknown is subtracted last, so that the sum over all previous ones need not wait
    // for it.
    let Column { mut diagonal, step, reach: fill } = first;
    let (near, far, mut x) = ((fill - 1).min(V::W), (fill - 1).saturating_sub(V::W), x);
    let [down, _] = super::row_gather::down::<V>(1);
    // SAFETY: the caller's promise.
    unsafe {
        let mut newest = V::splat(*x.sub(1));
        let mut above = V::load_last(x.sub(1), near);
        let mut further = V::load_last(x.wrapping_sub(1 + V::W), far);
        for inverse in inverse {
            prefetch_numbers(diagonal.wrapping_add(PREFETCH_COLUMNS * step - fill), fill);
            let mut sum = V::load_last(diagonal.sub(1), near) * above;
            if far > 0 {
                sum = V::load_last(diagonal.sub(1 + V::W), far).mul_add(further, sum);
            }
            let rest = V::splat(*x) - sum.total();
            let y = newest.neg_mul_add(V::splat(*diagonal.sub(1)), rest) * V::splat(*inverse);
            *x = y.first();
            further = further.permute(above, down);
            above = above.permute(newest, down);
            newest = y;
            (x, diagonal) = (x.add(1), diagonal.wrapping_add(step));
        }
    }
}

/// x ← Pᵀ·L⁻ᵀ·x for `exchange.len()` columns, from the last to the first. `last` is the last column, and `x` points to
/// the last unknown.
///
/// # Safety
/// 1 ≤ reach ≤ W. `reach` elements exist below every diagonal element and below every unknown.
#[inline(always)]
pub unsafe fn lower_transposed<V: Lanes>(last: Column<V::Real>, exchange: &[u32], x: *mut V::Real) {
    let Column { mut diagonal, step, reach: lower } = last;
    let (moves, zero, mut x) = (MovesBack::<V>::new(lower), V::splat(<V::Real as Scalar>::ZERO), x);
    // SAFETY: the caller's promise.
    unsafe {
        let mut below = V::load_first(x.add(1), lower);
        // The newest unknown, its lane, and the other lanes, whose sum need not wait for it.
        let (mut newest, mut lane, mut others) = (zero, 0, below);
        for q in exchange.iter().rev() {
            let q = *q as usize;
            prefetch_numbers(diagonal.wrapping_sub(PREFETCH_COLUMNS * step - 1), lower);
            let sum = (V::load_first(diagonal.add(1), lower) * others).total();
            let y = newest.neg_mul_add(V::splat(*diagonal.add(1 + lane)), V::splat(*x) - sum);
            *x.add(lower) = below.permute(y, moves.last[q]).first();
            others = below.permute(zero, moves.rows[q]);
            below = below.permute(y, moves.rows[q]);
            // The exchange moved the newest unknown out of the window.
            (newest, lane) = if q == lower { (zero, 0) } else { (y, q) };
            (x, diagonal) = (x.wrapping_sub(1), diagonal.wrapping_sub(step));
        }
        below.store_first(x.wrapping_add(1), lower);
    }
}

/// The permutations of lanes that undo a row exchange, for every place of the pivot.
struct MovesBack<V: Lanes> {
    /// Copy the last row to the first lane.
    last: [V::Index; MAX_CANDIDATES],
    /// Move the other rows to their new places.
    rows: [V::Index; MAX_CANDIDATES],
}

impl<V: Lanes> MovesBack<V> {
    #[inline(always)]
    fn new(lower: usize) -> Self {
        // The order before: the unknown itself, from the other vector, then the rows below it.
        let before = |row: usize| if row == 0 { V::W as u32 } else { row as u32 - 1 };
        let zero = V::index(&[0; 16]);
        let mut moves = Self { last: [zero; MAX_CANDIDATES], rows: [zero; MAX_CANDIDATES] };
        for q in 0..=lower {
            let exchanged = |row: usize| {
                before(if row == q {
                    0
                } else if row == 0 {
                    q
                } else {
                    row
                })
            };
            let (mut last, mut rows) = ([0; 16], [0; 16]);
            last[0] = exchanged(lower);
            for k in 0..lower {
                rows[k] = exchanged(k);
            }
            (moves.last[q], moves.rows[q]) = (V::index(&last), V::index(&rows));
        }
        moves
    }
}

/// Move all lanes up by one. The last lane of the other vector enters before the last `count` lanes.
#[inline(always)]
fn up<V: Lanes>(count: usize) -> V::Index {
    let mut lanes = [V::W as u32 - 1; 16];
    for k in V::W - count + 1..V::W {
        lanes[k] = (V::W + k - 1) as u32;
    }
    V::index(&lanes)
}
