//! Pairs of rows, transformed along all axes but the first.

use super::TransformSolver;
use super::axes::AxisTransform;
use crate::pieces::RowPairs;
use crate::scalar::{PoissonScalar, real};
use crate::separable::RightHandSide;
use crate::transform::LinePair;
use bandsolve_kernel::{Job, Lanes};
use num_complex::Complex;

/// Columns of a plane that are transformed one after the other, since they share lines of the cache.
pub(super) const COLUMNS: usize = 4;

/// Transforms of some pairs of rows.
pub(super) struct RowJob<'a, 'x, T: PoissonScalar> {
    pub solver: &'a TransformSolver<T>,
    pub rhs: Option<&'a RightHandSide<'a, T>>,
    pub inverse: bool,
    pub part: RowPairs<'x, T>,
    pub scratch: &'a mut [Complex<T>],
}

impl<T: PoissonScalar> Job<T> for RowJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let RowJob { solver, rhs, inverse, mut part, scratch } = self;
        let mut room = Room::new(scratch, solver.words());
        let (count, together) = (part.pairs(), solver.together());
        for first in (0..count).step_by(together) {
            let pairs = first..count.min(first + together);
            if inverse {
                solver.backwards(&mut part, pairs, &mut room);
            } else {
                solver.forwards((rhs, &mut part), pairs, &mut room);
            }
        }
    }
}

/// Scratch of a piece.
pub(super) struct Room<'a, T: PoissonScalar> {
    pub lines: &'a mut [Complex<T>],
    slabs: &'a mut [Complex<T>],
    fft: &'a mut [Complex<T>],
}

impl<'a, T: PoissonScalar> Room<'a, T> {
    pub fn new(scratch: &'a mut [Complex<T>], [line, slab, _]: [usize; 3]) -> Self {
        let (lines, scratch) = scratch.split_at_mut(line);
        let (slabs, fft) = scratch.split_at_mut(slab);
        Self { lines, slabs, fft }
    }
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// Coefficients of some pairs, to their rows.
    #[inline(always)]
    pub(super) fn forwards(
        &self,
        (rhs, part): (Option<&RightHandSide<'_, T>>, &mut RowPairs<'_, T>),
        pairs: core::ops::Range<usize>,
        room: &mut Room<'_, T>,
    ) {
        self.last_forwards((rhs, &mut *part), pairs.clone(), room);
        self.middle_of(pairs.len(), room, false);
        self.store(part, pairs, room);
    }

    /// The way back.
    #[inline(always)]
    pub(super) fn backwards(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        self.load(part, pairs.clone(), room);
        self.middle_of(pairs.len(), room, true);
        self.last_backwards(part, pairs, room);
    }

    /// Complex rows of some pairs, transformed along the last axis.
    #[inline(always)]
    fn last_forwards(
        &self,
        (rhs, part): (Option<&RightHandSide<'_, T>>, &mut RowPairs<'_, T>),
        pairs: core::ops::Range<usize>,
        room: &mut Room<'_, T>,
    ) {
        let [_, lines, n] = self.shape;
        let (z, spare) = room.lines.split_at_mut(n);
        let spare: &mut [T] = bytemuck::cast_slice_mut(spare);
        let (spare_one, spare_two) = spare.split_at_mut(n);
        for (p, slab) in pairs.clone().zip(room.slabs.chunks_exact_mut(lines * n)) {
            let (own, mirror) = part.indices(p);
            let folded = self.folded && mirror.is_some();
            for (j, out) in slab.chunks_exact_mut(n).enumerate() {
                let (a, b) = match rhs {
                    Some(rhs) => {
                        (rhs.line((own, j), spare_one), mirror.map(|mirror| rhs.line((mirror, j), &mut spare_two[..n])))
                    }
                    None => {
                        let (a, b) = part.rows(p);
                        (&a[j * n..][..n], b.map(|b| &b[j * n..][..n]))
                    }
                };
                match &self.last {
                    AxisTransform::Dense(_) => pack((a, b), out, folded),
                    AxisTransform::Fast(transform) => {
                        pack((a, b), z, folded);
                        transform.forward(LinePair { z, out, scratch: room.fft });
                    }
                }
            }
        }
        self.dense_lines(pairs.len(), room, false);
    }

    /// The way back.
    #[inline(always)]
    fn last_backwards(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let [_, lines, n] = self.shape;
        self.dense_lines(pairs.len(), room, true);
        for (p, slab) in pairs.zip(room.slabs.chunks_exact_mut(lines * n)) {
            let folded = self.folded && part.indices(p).1.is_some();
            let (a, mut b) = part.rows_mut(p);
            for (j, z) in slab.chunks_exact_mut(n).enumerate() {
                let mut out = &mut room.lines[..n];
                match &self.last {
                    AxisTransform::Fast(transform) => transform.inverse(LinePair { z, out, scratch: room.fft }),
                    AxisTransform::Dense(_) => out = z,
                }
                let b = b.as_deref_mut().map(|b| &mut b[j * n..][..n]);
                unpack(out, (&mut a[j * n..][..n], b), folded);
            }
        }
    }

    /// Lines of all slabs times eigenvectors.
    #[inline(always)]
    fn dense_lines(&self, pairs: usize, room: &mut Room<'_, T>, inverse: bool) {
        let AxisTransform::Dense(dense) = &self.last else { return };
        let [_, lines, n] = self.shape;
        let count = pairs * lines;
        let (slab, other) = room.slabs.split_at_mut(self.together() * lines * n);
        let (slab, other) = (&mut slab[..count * n], &mut other[..count * n]);
        transpose(slab, other, (count, n));
        dense.multiply(bytemuck::cast_slice(other), bytemuck::cast_slice_mut(slab), 2 * count, inverse);
        transpose(slab, other, (n, count));
        slab.copy_from_slice(other);
    }

    /// The middle axis of some slabs.
    #[inline(always)]
    fn middle_of(&self, pairs: usize, room: &mut Room<'_, T>, inverse: bool) {
        let [_, lines, n] = self.shape;
        if lines == 1 {
            return;
        }
        let (slab, other) = room.slabs.split_at_mut(self.together() * lines * n);
        debug_assert!(pairs == 1);
        let transform = match &self.middle {
            AxisTransform::Fast(transform) => transform,
            AxisTransform::Dense(dense) => {
                dense.multiply(bytemuck::cast_slice(slab), bytemuck::cast_slice_mut(other), 2 * n, inverse);
                slab.copy_from_slice(&other[..lines * n]);
                return;
            }
        };
        let (from, to) = room.lines.split_at_mut(COLUMNS * lines);
        for k in (0..n).step_by(COLUMNS) {
            let width = COLUMNS.min(n - k);
            for (j, row) in slab.chunks_exact(n).enumerate() {
                for c in 0..width {
                    from[c * lines + j] = row[k + c];
                }
            }
            for (z, out) in from.chunks_exact_mut(lines).zip(to.chunks_exact_mut(lines)).take(width) {
                let line = LinePair { z, out, scratch: room.fft };
                if inverse { transform.inverse(line) } else { transform.forward(line) }
            }
            for (j, row) in slab.chunks_exact_mut(n).enumerate() {
                for c in 0..width {
                    row[k + c] = to[c * lines + j];
                }
            }
        }
    }

    /// Coefficients of slabs to their rows.
    #[inline(always)]
    fn store(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let row = self.shape[1] * self.shape[2];
        for (p, slab) in pairs.zip(room.slabs.chunks_exact(row)) {
            let (a, b) = part.rows_mut(p);
            unpack(slab, (a, b), false);
        }
    }

    /// Slabs of coefficients from their rows.
    #[inline(always)]
    fn load(&self, part: &mut RowPairs<'_, T>, pairs: core::ops::Range<usize>, room: &mut Room<'_, T>) {
        let row = self.shape[1] * self.shape[2];
        for (p, slab) in pairs.zip(room.slabs.chunks_exact_mut(row)) {
            let (a, b) = part.rows(p);
            pack((a, b), slab, false);
        }
    }
}

/// Two rows as one of complex numbers; `folded`: half their sum and half their difference.
#[inline(always)]
fn pack<T: PoissonScalar>((a, b): (&[T], Option<&[T]>), z: &mut [Complex<T>], folded: bool) {
    let Some(b) = b else {
        z.iter_mut().zip(a).for_each(|(z, a)| *z = Complex::new(*a, T::ZERO));
        return;
    };
    if folded {
        let half = real::<T>(0.5);
        for ((z, a), b) in z.iter_mut().zip(a).zip(b) {
            *z = Complex::new((*a + *b) * half, (*a - *b) * half);
        }
        return;
    }
    // Eight numbers at a time, so that it becomes shuffles of registers.
    const EIGHT: usize = 8;
    let whole = z.len() / EIGHT * EIGHT;
    for k in (0..whole).step_by(EIGHT) {
        let (z, a, b) = (&mut z[k..][..EIGHT], &a[k..][..EIGHT], &b[k..][..EIGHT]);
        for l in 0..EIGHT {
            z[l] = Complex::new(a[l], b[l]);
        }
    }
    for k in whole..z.len() {
        z[k] = Complex::new(a[k], b[k]);
    }
}

/// The inverse of it.
#[inline(always)]
fn unpack<T: PoissonScalar>(z: &[Complex<T>], (a, b): (&mut [T], Option<&mut [T]>), folded: bool) {
    let Some(b) = b else {
        z.iter().zip(a).for_each(|(z, a)| *a = z.re);
        return;
    };
    if folded {
        for ((z, a), b) in z.iter().zip(a).zip(b) {
            (*a, *b) = (z.re + z.im, z.re - z.im);
        }
        return;
    }
    for ((z, a), b) in z.iter().zip(a).zip(b) {
        (*a, *b) = (z.re, z.im);
    }
}

/// `to` = the rows × columns matrix `from`, transposed.
#[inline(always)]
fn transpose<T: Copy>(from: &[T], to: &mut [T], (rows, columns): (usize, usize)) {
    const TILE: usize = 8;
    for i in (0..rows).step_by(TILE) {
        for j in (0..columns).step_by(TILE) {
            for r in i..rows.min(i + TILE) {
                for c in j..columns.min(j + TILE) {
                    to[c * rows + r] = from[r * columns + c];
                }
            }
        }
    }
}
