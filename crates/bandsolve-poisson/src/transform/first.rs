//! The matrices sin(πjk/N), 0 < j, k < N, and cos(πjk/N), 0 ≤ j, k ≤ N. N is halved as long as it is even.

use super::core::Core;
use super::fourier::Fourier;
use super::small::SmallMatrix;
use super::wide::ComplexLanes;
use crate::scalar::{PoissonScalar, real};
use bandsolve::memory::reserved;
use bandsolve::{Result, Simd};
use bandsolve_kernel::Lanes;

/// Maximum N for a product with the matrix.
const SMALL: usize = 8;
/// Maximum odd N for a product with the matrix.
const SMALL_ODD: usize = 51;

/// The sine or cosine transform for one N.
///
/// The coefficients form blocks: N/2 coefficients with odd k, N/4 coefficients with odd k/2, and so on. The last block is the transform for
/// the last N, after all halvings.
#[derive(Clone)]
pub(super) struct First<T> {
    /// N
    parts: usize,
    cosine: bool,
    /// The cosine cores of N/2, N/4, … values.
    levels: Vec<Core<T>>,
    rest: Rest<T>,
    scale: T,
}

/// The transform for the last N, which is small or odd.
#[derive(Clone)]
enum Rest<T> {
    Small(SmallMatrix<T>),
    /// For odd N. Even k: F of N values. Odd k: F of N values with alternating signs, which gives N − k.
    Odd(Fourier<T>),
}

/// The input `z`, which is overwritten, the result `out` and scratch.
pub(super) struct Buffers<'a, V> {
    pub z: &'a mut [ComplexLanes<V>],
    pub out: &'a mut [ComplexLanes<V>],
    pub scratch: &'a mut [ComplexLanes<V>],
    pub simd: Simd,
}

impl<T: PoissonScalar> First<T> {
    /// The transform for N = `parts`.
    pub fn new(parts: usize, cosine: bool) -> Result<Self> {
        // The square of the matrix is N/2 times the identity.
        let scale = 2.0 / parts as f64;
        let (mut levels, mut length) = (Vec::new(), parts);
        while length % 2 == 0 && length > SMALL {
            levels.push(Core::new(length / 2, scale)?);
            length /= 2;
        }
        let rest = match length <= SMALL || length % 2 == 1 && length <= SMALL_ODD {
            true => Rest::Small(SmallMatrix::new(length, cosine)?),
            false => Rest::Odd(Fourier::new(length)?),
        };
        Ok(Self { parts, cosine, levels, rest, scale: real::<T>(scale) })
    }

    /// Number of elements of a line.
    fn len(parts: usize, cosine: bool) -> usize {
        if cosine { parts + 1 } else { parts - 1 }
    }

    /// The last N, after all halvings.
    fn last(&self) -> usize {
        self.parts >> self.levels.len()
    }

    /// The k of each coefficient.
    pub fn order(&self) -> Result<Vec<usize>> {
        let mut order = reserved(Self::len(self.parts, self.cosine))?;
        for level in 0..self.levels.len() {
            let m = self.parts >> (level + 1);
            order.extend((0..m).map(|l| (2 * Core::<T>::order(l, m) + 1) << level));
        }
        let (last, first) = (self.last(), usize::from(!self.cosine));
        let count = Self::len(last, self.cosine);
        let of_rest = |l: usize| match &self.rest {
            Rest::Small(_) => first + l,
            // sines: 2, 4, …, then N − 2, N − 4, …; cosines: 0, 2, …, then N, N − 2, …
            Rest::Odd(_) if l < count / 2 => 2 * (l + first),
            Rest::Odd(_) => last - 2 * (l - count / 2 + first),
        };
        order.extend((0..count).map(|l| of_rest(l) << self.levels.len()));
        Ok(order)
    }

    /// Number of scratch vectors: half a line, and the scratch of F that does not fit into unused parts of `out`.
    pub fn scratch(&self) -> usize {
        let of_rest = if let Rest::Odd(fourier) = &self.rest { fourier.spare() + self.last() } else { 0 };
        let work = |level: usize| {
            let spare = self.levels[level].fourier.spare();
            if spare > self.parts >> (level + 1) { spare } else { 0 }
        };
        self.parts / 2 + 1 + (0..self.levels.len()).map(work).max().unwrap_or(0).max(of_rest)
    }

    /// Compute out = matrix · z. z is overwritten.
    #[inline(always)]
    pub fn forward<V: Lanes<Real = T>>(&self, buffers: Buffers<'_, V>) {
        let Buffers { z, out, scratch, simd } = buffers;
        let (one, scratch) = scratch.split_at_mut(self.parts / 2 + 1);
        // Each halving reads its values from one of two arrays, and writes the remaining values to the other.
        let (mut from, mut to) = (z, one);
        let mut start = 0;
        for (level, core) in self.levels.iter().enumerate() {
            let m = self.parts >> (level + 1);
            // F uses the space of later coefficients as scratch. It has m elements, including the one after the last coefficient.
            let (block, rest) = out[start..].split_at_mut(m);
            let spare = core.fourier.spare();
            let work = if spare > m { &mut scratch[..spare] } else { &mut rest[..m] };
            start += m;
            let moved = core.fourier.is_moved();
            let goal = if moved { &mut work[..m] } else { &mut *block };
            if self.cosine {
                fold_cosine(core, &from[..2 * m + 1], goal, to);
            } else {
                fold_sine(core, &from[..2 * m - 1], goal, to);
            }
            if moved {
                core.fourier.run(simd, work, block);
            } else {
                core.fourier.run(simd, block, work);
            }
            (from, to) = (to, from);
        }
        let n = Self::len(self.last(), self.cosine);
        let out = &mut out[start..start + n];
        match &self.rest {
            Rest::Small(matrix) => matrix.multiply(&mut from[..n], out, T::ONE),
            Rest::Odd(fourier) => self.odd((fourier, simd), &from[..n], out, scratch),
        }
        if self.cosine {
            self.halve_ends(out);
        }
    }

    /// Compute out = 2/N · matrix · z from the coefficients z, which are overwritten.
    #[inline(always)]
    pub fn inverse<V: Lanes<Real = T>>(&self, buffers: Buffers<'_, V>) {
        let Buffers { z, out, scratch, simd } = buffers;
        let (one, scratch) = scratch.split_at_mut(self.parts / 2 + 1);
        let n = Self::len(self.last(), self.cosine);
        let mut end = self.parts - (self.parts >> self.levels.len());
        // The values alternate between two arrays, so that the last step writes to `out`.
        let (mut to, mut from) = if self.levels.len().is_multiple_of(2) { (out, one) } else { (one, out) };
        let rest = &mut z[end..][..n];
        match &self.rest {
            Rest::Small(matrix) => matrix.multiply(rest, &mut to[..n], self.scale),
            Rest::Odd(fourier) => self.odd_inverse((fourier, simd), rest, &mut to[..n], scratch),
        }
        for (level, core) in self.levels.iter().enumerate().rev() {
            let m = self.parts >> (level + 1);
            // F uses the space of coefficients that are no longer needed as scratch.
            let (block, rest) = z[end - m..].split_at_mut(m);
            let spare = core.fourier.spare();
            let work = if spare > m { &mut scratch[..spare] } else { &mut rest[..m] };
            end -= m;
            core.fourier.run(simd, block, work);
            let block = if core.fourier.is_moved() { &work[..m] } else { &*block };
            (from, to) = (to, from);
            if self.cosine {
                unfold_cosine(core, block, &from[..m + 1], &mut to[..2 * m + 1]);
            } else {
                unfold_sine(core, block, &from[..m - 1], &mut to[..2 * m - 1]);
            }
        }
    }

    /// Halve the coefficients with k = 0 and k = N.
    #[inline(always)]
    fn halve_ends<V: Lanes<Real = T>>(&self, out: &mut [ComplexLanes<V>]) {
        let half = real::<T>(0.5);
        let last = match &self.rest {
            Rest::Small(_) => out.len() - 1,
            Rest::Odd(_) => out.len() / 2,
        };
        out[0] = out[0].scaled(half);
        out[last] = out[last].scaled(half);
    }

    /// Coefficients for odd N: sums with sines or cosines of 2πjm/N, once of the values and once of the values with alternating signs.
    #[inline(always)]
    fn odd<V: Lanes<Real = T>>(
        &self,
        (fourier, simd): (&Fourier<T>, Simd),
        z: &[ComplexLanes<V>],
        out: &mut [ComplexLanes<V>],
        scratch: &mut [ComplexLanes<V>],
    ) {
        let (n, first, half) = (self.last(), usize::from(!self.cosine), real::<T>(0.5));
        let (line, other) = scratch.split_at_mut(n);
        let (even, odd) = out.split_at_mut(z.len() / 2);
        for (negate, out) in [(false, even), (true, odd)] {
            line[0] = ComplexLanes::zero();
            for k in 0..z.len() {
                let j = k + first;
                // sin(πj(N − k)/N) = (−1)^{j+1} sin(πjk/N), cos(πj(N − k)/N) = (−1)^j cos(πjk/N)
                let x = if negate && (j + first) % 2 == 1 { ComplexLanes::zero() - z[k] } else { z[k] };
                if j % n == 0 {
                    line[0] = line[0] + x;
                } else {
                    line[j] = x;
                }
            }
            fourier.run(simd, line, other);
            let transformed = if fourier.is_moved() { &*other } else { &*line };
            for (k, out) in out.iter_mut().enumerate() {
                let m = k + first;
                let (v, mirrored) = (transformed[m], transformed[(n - m) % n]);
                *out = if self.cosine { v + mirrored } else { (mirrored - v).turned() }.scaled(half);
            }
        }
    }

    /// The transpose of [`odd`](Self::odd): values of the line from coefficients.
    #[inline(always)]
    fn odd_inverse<V: Lanes<Real = T>>(
        &self,
        (fourier, simd): (&Fourier<T>, Simd),
        z: &[ComplexLanes<V>],
        out: &mut [ComplexLanes<V>],
        scratch: &mut [ComplexLanes<V>],
    ) {
        let (n, first, half) = (self.last(), usize::from(!self.cosine), real::<T>(0.5) * self.scale);
        let (line, other) = scratch.split_at_mut(n);
        let (even, odd) = z.split_at(z.len() / 2);
        for (negate, coefficients) in [(false, even), (true, odd)] {
            line[0] = ComplexLanes::zero();
            for (k, c) in coefficients.iter().enumerate() {
                // cos θ = ½(e^{iθ} + e^{−iθ}), sin θ = −½i(e^{iθ} − e^{−iθ}); element N − m has the factor of e^{−iθ}
                let (m, c) = (k + first, c.scaled(half));
                if m == 0 {
                    line[0] = c + c;
                } else if self.cosine {
                    (line[m], line[n - m]) = (c, c);
                } else {
                    let c = c.turned();
                    (line[m], line[n - m]) = (ComplexLanes::zero() - c, c);
                }
            }
            fourier.run(simd, line, other);
            let transformed = if fourier.is_moved() { &*other } else { &*line };
            for (k, out) in out.iter_mut().enumerate() {
                let j = k + first;
                let v = transformed[j % n];
                if !negate {
                    *out = v;
                } else if (j + first) % 2 == 1 {
                    *out = *out - v;
                } else {
                    *out = *out + v;
                }
            }
        }
    }
}

/// Halve a sine transform, N = 2M: `block` = C of zⱼ + z_(N−j), and `rest` = zⱼ − z_(N−j), 0 < j < M. `z[0]` is z₁.
#[inline(always)]
fn fold_sine<T: PoissonScalar, V: Lanes<Real = T>>(
    core: &Core<T>,
    z: &[ComplexLanes<V>],
    block: &mut [ComplexLanes<V>],
    rest: &mut [ComplexLanes<V>],
) {
    let m = block.len();
    let n = 2 * m;
    // a_j = e_{M−j}, e_j = z_j + z_{N−j}, e_M = z_M
    block[0] = z[m - 1];
    for j in 1..=m / 2 {
        let (x, mirror, y, opposite) = (z[j - 1], z[n - j - 1], z[m - j - 1], z[m + j - 1]);
        let (c, mirrored) = Core::twist(core.before[j], y + opposite, x + mirror);
        (rest[m - j - 1], rest[j - 1]) = (y - opposite, x - mirror);
        block[m - j] = mirrored;
        block[j] = c;
    }
}

/// The transpose of [`fold_sine`].
#[inline(always)]
fn unfold_sine<T: PoissonScalar, V: Lanes<Real = T>>(
    core: &Core<T>,
    block: &[ComplexLanes<V>],
    rest: &[ComplexLanes<V>],
    z: &mut [ComplexLanes<V>],
) {
    let m = block.len();
    let n = 2 * m;
    z[m - 1] = block[0].scaled(core.scale);
    for j in 1..=m / 2 {
        let (a, e) = Core::untwist(core.after[j], block[j], block[m - j]);
        let (x, y) = (rest[j - 1], rest[m - j - 1]);
        if 2 * j < m {
            (z[j - 1], z[n - j - 1]) = (e + x, e - x);
        }
        (z[m - j - 1], z[m + j - 1]) = (a + y, a - y);
    }
}

/// Halve a cosine transform, N = 2M: `block` = C of zⱼ − z_(N−j), and `rest` = zⱼ + z_(N−j) for j < M, followed by z_M.
#[inline(always)]
fn fold_cosine<T: PoissonScalar, V: Lanes<Real = T>>(
    core: &Core<T>,
    z: &[ComplexLanes<V>],
    block: &mut [ComplexLanes<V>],
    rest: &mut [ComplexLanes<V>],
) {
    let m = block.len();
    let n = 2 * m;
    block[0] = z[0] - z[n];
    (rest[0], rest[m]) = (z[0] + z[n], z[m]);
    for j in 1..=m / 2 {
        let (x, mirror, y, opposite) = (z[j], z[n - j], z[m - j], z[m + j]);
        let (c, mirrored) = Core::twist(core.before[j], x - mirror, y - opposite);
        (rest[m - j], rest[j]) = (y + opposite, x + mirror);
        block[m - j] = mirrored;
        block[j] = c;
    }
}

/// The transpose of [`fold_cosine`].
#[inline(always)]
fn unfold_cosine<T: PoissonScalar, V: Lanes<Real = T>>(
    core: &Core<T>,
    block: &[ComplexLanes<V>],
    rest: &[ComplexLanes<V>],
    z: &mut [ComplexLanes<V>],
) {
    let m = block.len();
    let n = 2 * m;
    let a = block[0].scaled(core.scale);
    (z[0], z[n], z[m]) = (rest[0] + a, rest[0] - a, rest[m]);
    for j in 1..=m / 2 {
        let (a, mirrored) = Core::untwist(core.after[j], block[j], block[m - j]);
        let (x, y) = (rest[j], rest[m - j]);
        (z[m - j], z[m + j]) = (y + mirrored, y - mirrored);
        (z[j], z[n - j]) = (x + a, x - a);
    }
}
