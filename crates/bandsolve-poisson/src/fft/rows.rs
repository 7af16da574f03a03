//! Transforms of pairs of rows along all axes except the first.

use super::axes::AxisTransform;
use super::lines::{load_columns, load_line, load_lines, store_columns, store_line, store_lines};
use crate::dense::DenseTransform;
use crate::pieces::RowPairs;
use crate::scalar::{PoissonScalar, real};
use crate::separable::RightHandSide;
use crate::separable::SeparableProblem;
use crate::transform::{ALIGNED, LaneLines, Transform};
use bandsolve::memory::reserved;
use bandsolve::{Result, Simd};
use bandsolve_kernel::{Job, Lanes};
use core::ops::Range;

/// Number of pairs of rows that one matrix product covers.
const PAIRS: usize = 16;

/// Transforms along the second and the third axis.
pub(crate) struct RowTransforms<T: PoissonScalar> {
    pub shape: [usize; 3],
    /// Whether the first axis is folded.
    pub folded: bool,
    pub middle: AxisTransform<T>,
    pub last: AxisTransform<T>,
    pub simd: Simd,
}

/// Transforms some pairs of rows.
pub(crate) struct RowJob<'a, 'x, 'r, T: PoissonScalar> {
    pub transforms: &'a RowTransforms<T>,
    pub rhs: Option<&'a RightHandSide<'a, T>>,
    pub inverse: bool,
    pub part: &'a mut RowPairs<'x, T>,
    pub pairs: Range<usize>,
    pub room: &'a mut Room<'r, T>,
}

impl<T: PoissonScalar> Job<T> for RowJob<'_, '_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(mut self) {
        let all = self.pairs.clone();
        let width = self.transforms.pairs_at_once();
        for first in all.clone().step_by(width) {
            let pairs = first..all.end.min(first + width);
            if self.inverse {
                self.middle_axis::<V>(pairs.clone());
                self.last_axis::<V>(pairs);
            } else {
                self.last_axis::<V>(pairs.clone());
                self.middle_axis::<V>(pairs);
            }
        }
    }
}

/// Scratch of one task.
pub(crate) struct Room<'a, T> {
    pub z: &'a mut [T],
    out: &'a mut [T],
    fft: &'a mut [T],
    slabs: &'a mut [T],
}

impl<'a, T> Room<'a, T> {
    /// Divide `scratch` into its parts, whose sizes are [`RowTransforms::words`].
    pub fn new(scratch: &'a mut [T], [lines, fft, _]: [usize; 3]) -> Self {
        let (z, scratch) = scratch.split_at_mut(lines);
        let (out, scratch) = scratch.split_at_mut(lines);
        let (fft, slabs) = scratch.split_at_mut(fft);
        Self { z, out, fft, slabs }
    }

    #[inline(always)]
    fn lines(&mut self) -> LaneLines<'_, T> {
        LaneLines { z: self.z, out: self.out, scratch: self.fft }
    }
}

impl<T: PoissonScalar> RowTransforms<T> {
    /// Set up the transforms. `dense` selects matrices of eigenvectors also for axes with constant spacing.
    pub fn new(problem: &SeparableProblem, dense: bool) -> Result<Self> {
        let [first, middle, last] = &problem.axes;
        Ok(Self {
            shape: problem.shape(),
            folded: first.is_folded(),
            middle: AxisTransform::new(middle, dense && middle.len() > 1)?,
            last: AxisTransform::new(last, dense && last.len() > 1)?,
            simd: Simd::detect(),
        })
    }

    /// The sums λ₂ + λ₃ + shift, in the order of the coefficients.
    pub fn eigenvalues(&self, problem: &SeparableProblem) -> Result<Vec<f64>> {
        let [_, middle, last] = &problem.axes;
        let (a, b) = (self.middle.eigenvalues(middle)?, self.last.eigenvalues(last)?);
        let mut sums = reserved(a.len().saturating_mul(b.len()))?;
        a.iter().for_each(|a| sums.extend(b.iter().map(|b| (a + b) + problem.shift)));
        Ok(sums)
    }

    /// Memory of the matrices, in bytes.
    pub fn bytes(&self) -> usize {
        self.middle.bytes() + self.last.bytes()
    }

    /// Number of pairs of rows that are transformed at a time.
    pub fn pairs_at_once(&self) -> usize {
        match (self.shape[1], self.last.is_dense()) {
            (1, true) => PAIRS,
            (1, false) => T::lanes(self.simd),
            _ => 1,
        }
    }

    /// Number of scratch elements per task: for lines (needed twice), for the transforms, and for slabs.
    pub fn words(&self) -> [usize; 3] {
        let [_, lines, n] = self.shape;
        let axes = [&self.middle, &self.last].map(|axis| axis.words(self.simd));
        let whole = |numbers: usize| numbers.next_multiple_of(ALIGNED / size_of::<T>());
        let dense = self.middle.is_dense() || self.last.is_dense();
        let slabs = if dense { 4 * self.pairs_at_once() * lines * n } else { 0 };
        // Residuals need two lines.
        [whole(axes[0][0].max(axes[1][0]).max(2 * n)), axes[0][1].max(axes[1][1]), whole(slabs)]
    }

    /// Number of scratch elements per task.
    pub fn scratch(&self) -> usize {
        let [lines, fft, slabs] = self.words();
        2 * lines + fft + slabs
    }
}

impl<T: PoissonScalar> RowJob<'_, '_, '_, T> {
    /// Transform some pairs along the last axis.
    #[inline(always)]
    fn last_axis<V: Lanes<Real = T>>(&mut self, pairs: Range<usize>) {
        let (transforms, lines) = (self.transforms, self.transforms.shape[1]);
        let transform = match &transforms.last {
            AxisTransform::Fast(transform) => transform,
            AxisTransform::Dense(dense) => return self.last_dense(dense, pairs),
        };
        if lines == 1 {
            return self.group::<V>(transform, pairs, 0..1);
        }
        for p in pairs {
            for j in (0..lines).step_by(V::W) {
                self.group::<V>(transform, p..p + 1, j..lines.min(j + V::W));
            }
        }
    }

    /// Transform up to one line per lane: lines of one pair, or one line of each of several pairs.
    #[inline(always)]
    fn group<V: Lanes<Real = T>>(&mut self, transform: &Transform<T>, pairs: Range<usize>, lines: Range<usize>) {
        let [_, all, n] = self.transforms.shape;
        let count = pairs.len() * lines.len();
        // The number of pairs with two rows. Only the last pair can have a single row.
        let pair = |l: usize| pairs.start + if all == 1 { l } else { 0 };
        let two_rows = |l: &usize| self.part.indices(pair(*l)).1.is_some();
        let folded = if self.transforms.folded { (0..count).filter(two_rows).count() } else { 0 };
        self.load::<V>(pairs.clone(), lines.clone());
        if folded > 0 && !self.inverse {
            fold::<T, V>(&mut self.room.z[..2 * V::W * n], folded, real(0.5));
        }
        transform.run(self.transforms.simd, self.room.lines(), self.inverse);
        if folded > 0 && self.inverse {
            fold::<T, V>(&mut self.room.out[..2 * V::W * n], folded, T::ONE);
        }
        self.store::<V>(pairs, lines);
    }

    /// Load the lines of a group. The first two cases load whole vectors.
    #[inline(always)]
    fn load<V: Lanes<Real = T>>(&mut self, pairs: Range<usize>, lines: Range<usize>) {
        let (transforms, rhs, part, room) = (self.transforms, self.rhs, &mut *self.part, &mut *self.room);
        let [_, all, n] = transforms.shape;
        let (row, count) = (all * n, pairs.len() * lines.len());
        let whole = count == V::W;
        let spaced = if whole && all == 1 { part.spaced(pairs.clone()) } else { None };
        let plain = rhs.is_none_or(RightHandSide::has_plain_lines);
        if let (Some((x, first, [a, b])), true) = (&spaced, plain) {
            let (x, stride, first) = match rhs {
                Some(rhs) => (rhs.f, rhs.strides[0], *first),
                None => (&**x, row, 0),
            };
            load_lines::<T, V>(&x[(first + a) * stride..], (2 * stride, n), room.z, 0);
            load_lines::<T, V>(&x[(first + b) * stride..], (2 * stride, n), room.z, 1);
            return;
        }
        if whole && all > 1 && plain {
            let (i, mirror) = part.indices(pairs.start);
            let (a, b) = part.rows(pairs.start);
            let at = lines.start * n;
            let (a, b, stride) = match rhs {
                Some(rhs) => {
                    let line = |i: usize| &rhs.f[i * rhs.strides[0] + lines.start * rhs.strides[1]..];
                    (line(i), mirror.map(line), rhs.strides[1])
                }
                None => (&a[at..], b.map(|b| &b[at..]), n),
            };
            load_lines::<T, V>(a, (stride, n), room.z, 0);
            match b {
                Some(b) => load_lines::<T, V>(b, (stride, n), room.z, 1),
                None => load_lines::<T, V>(&[], (0, n), room.z, 1),
            }
            return;
        }
        room.z.fill(T::ZERO);
        for l in 0..count {
            let (p, j) = if all == 1 { (l, 0) } else { (0, lines.start + l) };
            let p = part.in_memory(&pairs, p);
            let (i, mirror) = part.indices(p);
            let (a, b) = part.rows(p);
            for (which, i, rows) in [(0, Some(i), Some(a)), (1, mirror, b)] {
                let (Some(i), Some(rows)) = (i, rows) else { continue };
                let line = match rhs {
                    Some(rhs) => rhs.line((i, j), &mut room.out[..n]),
                    None => &rows[j * n..][..n],
                };
                load_line::<T>(line, &mut room.z[which * V::W + l..], 2 * V::W);
            }
        }
    }

    /// Store the lines of a group. The first two cases store whole vectors.
    #[inline(always)]
    fn store<V: Lanes<Real = T>>(&mut self, pairs: Range<usize>, lines: Range<usize>) {
        let (transforms, part, room) = (self.transforms, &mut *self.part, &mut *self.room);
        let [_, all, n] = transforms.shape;
        let (row, count) = (all * n, pairs.len() * lines.len());
        let whole = count == V::W;
        let spaced = if whole && all == 1 { part.spaced(pairs.clone()) } else { None };
        if let Some((x, _, [a, b])) = spaced {
            store_lines::<T, V>(room.out, 0, &mut x[a * row..], (2 * row, n));
            store_lines::<T, V>(room.out, 1, &mut x[b * row..], (2 * row, n));
            return;
        }
        if whole && all > 1 {
            let at = lines.start * n;
            let (a, b) = part.rows_mut(pairs.start);
            store_lines::<T, V>(room.out, 0, &mut a[at..], (n, n));
            if let Some(b) = b {
                store_lines::<T, V>(room.out, 1, &mut b[at..], (n, n));
            }
            return;
        }
        for l in 0..count {
            let (p, j) = if all == 1 { (l, 0) } else { (0, lines.start + l) };
            let p = part.in_memory(&pairs, p);
            let (a, b) = part.rows_mut(p);
            for (which, rows) in [(0, Some(a)), (1, b)] {
                let Some(rows) = rows else { continue };
                store_line::<T>(&room.out[which * V::W + l..], 2 * V::W, &mut rows[j * n..][..n]);
            }
        }
    }

    /// Multiply some pairs by the matrix of eigenvectors of the last axis.
    fn last_dense(&mut self, dense: &DenseTransform<T>, pairs: Range<usize>) {
        let (transforms, rhs, part, room) = (self.transforms, self.rhs, &mut *self.part, &mut *self.room);
        let ([_, lines, n], folded, inverse) = (transforms.shape, transforms.folded, self.inverse);
        let half = real::<T>(0.5);
        let (slab, other) = room.slabs.split_at_mut(2 * transforms.pairs_at_once() * lines * n);
        let mut count = 0;
        for p in pairs.clone() {
            let (i, mirror) = part.indices(p);
            let rows = part.rows(p);
            for j in 0..lines {
                let mut put = |i: usize, rows: &[T]| {
                    let out = &mut slab[count * n..][..n];
                    count += 1;
                    match rhs {
                        Some(rhs) => rhs.copy_line((i, j), out),
                        None => out.copy_from_slice(&rows[j * n..][..n]),
                    }
                };
                put(i, rows.0);
                let (Some(mirror), Some(b)) = (mirror, rows.1) else { continue };
                put(mirror, b);
                if folded && !inverse {
                    let (a, b) = slab[(count - 2) * n..count * n].split_at_mut(n);
                    a.iter_mut().zip(b).for_each(|(a, b)| (*a, *b) = ((*a + *b) * half, (*a - *b) * half));
                }
            }
        }
        dense.multiply_lines(&slab[..count * n], &mut other[..count * n], count, inverse);
        let mut solved = other.chunks_exact(n);
        for p in pairs {
            let (a, mut b) = part.rows_mut(p);
            for j in 0..lines {
                let a = &mut a[j * n..][..n];
                a.copy_from_slice(solved.next().unwrap_or_default());
                let Some(b) = &mut b else { continue };
                let b = &mut b[j * n..][..n];
                b.copy_from_slice(solved.next().unwrap_or_default());
                if folded && inverse {
                    a.iter_mut().zip(b).for_each(|(a, b)| (*a, *b) = (*a + *b, *a - *b));
                }
            }
        }
    }

    /// Transform some pairs along the middle axis.
    #[inline(always)]
    fn middle_axis<V: Lanes<Real = T>>(&mut self, pairs: Range<usize>) {
        let (transforms, part, room) = (self.transforms, &mut *self.part, &mut *self.room);
        let ([_, lines, n], inverse) = (transforms.shape, self.inverse);
        if lines == 1 {
            return;
        }
        for p in pairs {
            let (a, mut b) = part.rows_mut(p);
            let transform = match &transforms.middle {
                AxisTransform::Fast(transform) => transform,
                AxisTransform::Dense(dense) => {
                    let other = &mut room.slabs[..lines * n];
                    for plane in [Some(a), b].into_iter().flatten() {
                        dense.multiply(plane, other, n, inverse);
                        plane.copy_from_slice(other);
                    }
                    continue;
                }
            };
            for k in (0..n).step_by(V::W) {
                let width = V::W.min(n - k);
                load_columns::<T, V>(&a[k..], (n, lines, width), room.z, 0);
                match &b {
                    Some(b) => load_columns::<T, V>(&b[k..], (n, lines, width), room.z, 1),
                    None => load_lines::<T, V>(&[], (0, lines), room.z, 1),
                }
                transform.run(transforms.simd, room.lines(), inverse);
                store_columns::<T, V>(room.out, 0, &mut a[k..], (n, lines, width));
                if let Some(b) = &mut b {
                    store_columns::<T, V>(room.out, 1, &mut b[k..], (n, lines, width));
                }
            }
        }
    }
}

/// Replace the real part a and the imaginary part b of the first `lanes` lanes by `factor·(a + b)` and `factor·(a − b)`.
#[inline(always)]
fn fold<T: PoissonScalar, V: Lanes<Real = T>>(z: &mut [T], lanes: usize, factor: T) {
    for pair in z.chunks_exact_mut(2 * V::W) {
        let (a, b) = pair.split_at_mut(V::W);
        for k in 0..lanes {
            (a[k], b[k]) = ((a[k] + b[k]) * factor, (a[k] - b[k]) * factor);
        }
    }
}
