//! Lines as lanes, and back: number k of lane l is the real (`part` 0) or the imaginary part of vector k.

use crate::scalar::PoissonScalar;
use bandsolve_kernel::Lanes;

/// As many lines as there are lanes, of n numbers and `stride` apart; zeros if there are none.
#[inline(always)]
pub(super) fn load_lines<T: PoissonScalar, V: Lanes<Real = T>>(
    from: &[T],
    (stride, n): (usize, usize),
    z: &mut [T],
    part: usize,
) {
    let z = &mut z[..2 * V::W * n];
    if from.is_empty() {
        for vector in z.chunks_exact_mut(V::W).skip(part).step_by(2) {
            vector.fill(T::ZERO);
        }
        return;
    }
    let from = &from[..(V::W - 1) * stride + n];
    let whole = n / 4 * 4;
    for k in (0..whole).step_by(4) {
        // SAFETY: four numbers of every line, which ends at n or later, and four vectors.
        unsafe {
            let columns = V::load_columns(from.as_ptr().add(k), stride);
            for (c, column) in columns.into_iter().enumerate() {
                column.store(z.as_mut_ptr().add((2 * (k + c) + part) * V::W));
            }
        }
    }
    for k in whole..n {
        for lane in 0..V::W {
            z[(2 * k + part) * V::W + lane] = from[lane * stride + k];
        }
    }
}

/// The way back.
#[inline(always)]
pub(super) fn store_lines<T: PoissonScalar, V: Lanes<Real = T>>(
    z: &[T],
    part: usize,
    to: &mut [T],
    (stride, n): (usize, usize),
) {
    let (z, to) = (&z[..2 * V::W * n], &mut to[..(V::W - 1) * stride + n]);
    let whole = n / 4 * 4;
    for k in (0..whole).step_by(4) {
        // SAFETY: as in `load_lines`.
        unsafe {
            let at = |c: usize| V::load(z.as_ptr().add((2 * (k + c) + part) * V::W));
            V::store_columns([at(0), at(1), at(2), at(3)], to.as_mut_ptr().add(k), stride);
        }
    }
    for k in whole..n {
        for lane in 0..V::W {
            to[lane * stride + k] = z[(2 * k + part) * V::W + lane];
        }
    }
}

/// One line, `z` beginning with its lane and vectors being `apart`.
#[inline(always)]
pub(super) fn load_line<T: PoissonScalar>(from: &[T], z: &mut [T], apart: usize) {
    for (z, x) in z.iter_mut().step_by(apart).zip(from) {
        *z = *x;
    }
}

/// The way back.
#[inline(always)]
pub(super) fn store_line<T: PoissonScalar>(z: &[T], apart: usize, to: &mut [T]) {
    for (z, x) in z.iter().step_by(apart).zip(to) {
        *x = *z;
    }
}

/// Columns of `lines` numbers, `width` of them next to each other, lines being `stride` apart.
#[inline(always)]
pub(super) fn load_columns<T: PoissonScalar, V: Lanes<Real = T>>(
    from: &[T],
    (stride, lines, width): (usize, usize, usize),
    z: &mut [T],
    part: usize,
) {
    let (from, z) = (&from[..(lines - 1) * stride + width], &mut z[..2 * V::W * lines]);
    for j in 0..lines {
        // SAFETY: `width` ≤ W numbers of every line, and a vector.
        unsafe {
            let from = from.as_ptr().add(j * stride);
            let v = if width == V::W { V::load(from) } else { V::load_first(from, width) };
            v.store(z.as_mut_ptr().add((2 * j + part) * V::W));
        }
    }
}

/// The way back.
#[inline(always)]
pub(super) fn store_columns<T: PoissonScalar, V: Lanes<Real = T>>(
    z: &[T],
    part: usize,
    to: &mut [T],
    (stride, lines, width): (usize, usize, usize),
) {
    let (z, to) = (&z[..2 * V::W * lines], &mut to[..(lines - 1) * stride + width]);
    for j in 0..lines {
        // SAFETY: as in `load_columns`.
        unsafe {
            let v = V::load(z.as_ptr().add((2 * j + part) * V::W));
            let to = to.as_mut_ptr().add(j * stride);
            if width == V::W { v.store(to) } else { v.store_first(to, width) }
        }
    }
}
