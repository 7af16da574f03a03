//! Rows of a matrix and columns of numbers, copied between the caller's arrays and lanes: each lane has consecutive rows.

use crate::number::{Element, Lanes, MAX_LANES, Scalar};
use crate::rows::Rows;
use crate::tile::{STAGED_ROWS, copy_in, copy_out};

/// The place of staged rows of a matrix.
pub(crate) trait StagedMatrix<E> {
    /// Store row `j` of every lane: sub, diag and sup.
    ///
    /// # Safety
    /// The place has row `j`.
    unsafe fn put_row(&self, j: usize, row: [E; 3]);
}

/// Row `first + lane·m` of a matrix, for every lane. Rows outside of the matrix are those of the identity.
#[inline(always)]
pub(crate) fn matrix_row<T: Scalar, V: Lanes<Real = T::Real>>(
    rows: &Rows<T>,
    first: usize,
    m: usize,
) -> [T::Element<V>; 3] {
    let mut lanes = [[T::Real::ZERO; 2 * MAX_LANES]; 3];
    for lane in 0..V::W {
        let i = first.wrapping_add(lane * m);
        let (sub, diag, sup) = if i < rows.n() { rows.row(i) } else { (T::ZERO, T::ONE, T::ZERO) };
        let scalars = [sub, diag, sup];
        for k in 0..3 {
            lanes[k][lane] = scalars[k].re();
            if T::COMPLEX {
                lanes[k][V::W + lane] = scalars[k].im();
            }
        }
    }
    let mut row = [T::Element::<V>::splat(T::Real::ZERO); 3];
    for k in 0..3 {
        // SAFETY: an element has at most two vectors.
        row[k] = unsafe { T::Element::<V>::load(lanes[k].as_ptr()) };
    }
    row
}

/// Stage `m` rows per lane, from row `first` of the matrix on.
///
/// # Safety
/// `to` has `m` rows.
#[inline(always)]
pub(crate) unsafe fn stage_matrix<T: Scalar, V: Lanes<Real = T::Real>, P: StagedMatrix<T::Element<V>>>(
    rows: &Rows<T>,
    (first, m): (usize, usize),
    to: &P,
) {
    let reals = T::Element::<V>::REALS;
    // Blocks of rows are read by vectors, but not the first and the last row of the matrix, which have no neighbor in `sub` and `sup`.
    let from = if first == 0 { STAGED_ROWS.min(m) } else { 0 };
    let whole = (rows.n() - 1).saturating_sub(first + (V::W - 1) * m).min(m);
    let end = from.max(whole / STAGED_ROWS * STAGED_ROWS);
    assert!(rows.sub.len() + 1 == rows.n() && rows.sup.len() + 1 == rows.n());
    let arrays = [
        rows.sub.as_ptr().wrapping_add(first).wrapping_sub(1),
        rows.diag.as_ptr().wrapping_add(first),
        rows.sup.as_ptr().wrapping_add(first),
    ];
    let mut row = [T::Element::<V>::splat(T::Real::ZERO); 3];
    // SAFETY: in whole blocks, all neighbors exist; the caller's promise.
    unsafe {
        for j in (from..end).step_by(STAGED_ROWS / reals) {
            let mut columns = [[V::splat(T::Real::ZERO); 4]; 3];
            for k in 0..3 {
                columns[k] = V::load_columns(arrays[k].wrapping_add(j).cast(), m * reals);
            }
            for i in 0..STAGED_ROWS / reals {
                for k in 0..3 {
                    row[k] = T::Element::<V>::from_columns(&columns[k][i * reals..]);
                    if T::COMPLEX && rows.conj {
                        row[k] = row[k].conj();
                    }
                }
                to.put_row(j + i, row);
            }
        }
        for j in (0..from).chain(end..m) {
            to.put_row(j, matrix_row::<T, V>(rows, first + j, m));
        }
    }
}

/// Copy a column of a tile to the partitions, `m` contiguous scalars each.
///
/// # Safety
/// The tile has `m` rows with the distance `step` in reals, and `out` is writable for as many of every lane.
#[inline(always)]
pub(crate) unsafe fn write<T: Scalar, V: Lanes<Real = T::Real>>(
    (tile, step): (*const T::Real, usize),
    m: usize,
    out: *mut T,
) {
    let whole = m / STAGED_ROWS * STAGED_ROWS;
    let reals = T::Element::<V>::REALS;
    // SAFETY: the caller's promise.
    unsafe {
        for j in (0..whole).step_by(STAGED_ROWS / reals) {
            // Four vectors are four real rows or two complex ones.
            let mut columns = [V::splat(T::Real::ZERO); 4];
            for k in 0..4 {
                columns[k] = V::load(tile.add((j + k / reals) * step + k % reals * V::W));
            }
            V::store_columns(columns, out.add(j).cast(), m * reals);
        }
        for j in whole..m {
            copy_out(tile.add(j * step), (V::W, V::W), out.add(j), m);
        }
    }
}

/// The inverse of [`write`].
///
/// # Safety
/// As [`write`], with `from` readable and the tile writable.
#[inline(always)]
pub(crate) unsafe fn read<T: Scalar, V: Lanes<Real = T::Real>>(
    from: *const T,
    m: usize,
    (tile, step): (*mut T::Real, usize),
) {
    let whole = m / STAGED_ROWS * STAGED_ROWS;
    let reals = T::Element::<V>::REALS;
    // SAFETY: the caller's promise.
    unsafe {
        for j in (0..whole).step_by(STAGED_ROWS / reals) {
            let columns = V::load_columns(from.add(j).cast(), m * reals);
            for k in 0..4 {
                columns[k].store(tile.add((j + k / reals) * step + k % reals * V::W));
            }
        }
        for j in whole..m {
            copy_in(from.add(j), (V::W, V::W, m), tile.add(j * step));
        }
    }
}
