//! Copies between lines in memory and vector lanes.
//!
//! Element k of line l goes to lane l of complex vector k: to its real part if `part` is 0, to its imaginary part if `part` is 1.

use crate::scalar::PoissonScalar;
use bandsolve_kernel::Lanes;

/// Load one line of n elements per lane. The lines are `stride` elements apart. If `from` is empty, load zeros.
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
        // SAFETY: k + 4 ≤ n, so that the reads stay within `from`, and the writes to four vectors within `z`.
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

/// Store lines: the inverse of [`load_lines`].
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

/// Load one line into one lane. `z` starts at this lane, and consecutive vectors are `apart` elements apart.
#[inline(always)]
pub(super) fn load_line<T: PoissonScalar>(from: &[T], z: &mut [T], apart: usize) {
    for (z, x) in z.iter_mut().step_by(apart).zip(from) {
        *z = *x;
    }
}

/// Store one line: the inverse of [`load_line`].
#[inline(always)]
pub(super) fn store_line<T: PoissonScalar>(z: &[T], apart: usize, to: &mut [T]) {
    for (z, x) in z.iter().step_by(apart).zip(to) {
        *x = *z;
    }
}

/// Load `width` adjacent columns of `lines` elements. Consecutive elements of a column are `stride` elements apart.
#[inline(always)]
pub(super) fn load_columns<T: PoissonScalar, V: Lanes<Real = T>>(
    from: &[T],
    (stride, lines, width): (usize, usize, usize),
    z: &mut [T],
    part: usize,
) {
    let (from, z) = (&from[..(lines - 1) * stride + width], &mut z[..2 * V::W * lines]);
    for j in 0..lines {
        // SAFETY: `width` ≤ W elements of line j are within `from`, and vector j is within `z`.
        unsafe {
            let from = from.as_ptr().add(j * stride);
            let v = if width == V::W { V::load(from) } else { V::load_first(from, width) };
            v.store(z.as_mut_ptr().add((2 * j + part) * V::W));
        }
    }
}

/// Store columns: the inverse of [`load_columns`].
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
