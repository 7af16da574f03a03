//! sin(πjk/N) for 0 < j, k < N, and cos(πjk/N) for 0 ≤ j, k ≤ N: halved while N is even.

use super::core::{Core, Fourier};
use super::few::{WIDE, backwards, both, forwards, one, put_backwards, put_forwards, put_one, twist, untwist};
use super::odd::{self, OddStep};
use super::small::SmallMatrix;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Simd;
use bandsolve_kernel::{Job, Lanes, dispatch};
use bytemuck::{cast_slice, cast_slice_mut};
use num_complex::Complex;

/// N up to which the matrix is used.
const SMALL: usize = 8;

/// The transforms of one N.
///
/// Coefficients stand in blocks: those of odd k, N/2 numbers, then of k = 2·odd, N/4 numbers, and so on, and those of the last N.
#[derive(Clone)]
pub(crate) struct First<T: PoissonScalar> {
    /// N
    parts: usize,
    cosine: bool,
    /// Of N/2, N/4, …
    levels: Vec<Core<T>>,
    rest: Rest<T>,
    scale: T,
    simd: Simd,
}

/// The last N: small, or odd.
#[derive(Clone)]
enum Rest<T: PoissonScalar> {
    Small(SmallMatrix<T>),
    /// Even k by F of N numbers, odd k as N − k with every other number negated.
    Odd(Fourier<T>),
}

impl<T: PoissonScalar> First<T> {
    pub fn new(parts: usize, cosine: bool) -> Self {
        // The matrix times itself is N/2.
        let scale = 2.0 / parts as f64;
        let (mut levels, mut left) = (Vec::new(), parts);
        while left % 2 == 0 && left > SMALL {
            levels.push(Core::new(left / 2, scale));
            left /= 2;
        }
        let rest = match left <= SMALL {
            true if cosine => Rest::Small(SmallMatrix::cosine(left)),
            true => Rest::Small(SmallMatrix::sine(left)),
            false => Rest::Odd(Fourier::new(left)),
        };
        Self { parts, cosine, levels, rest, scale: real::<T>(scale), simd: Simd::detect() }
    }

    /// Numbers of a line.
    fn len(parts: usize, cosine: bool) -> usize {
        if cosine { parts + 1 } else { parts - 1 }
    }

    /// N of the rest.
    fn last(&self) -> usize {
        self.parts >> self.levels.len()
    }

    /// k of every coefficient.
    pub fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        for level in 0..self.levels.len() {
            let m = self.parts >> (level + 1);
            order.extend((0..m).map(|l| (2 * Core::<T>::order(l, m) + 1) << level));
        }
        let (last, first) = (self.last(), usize::from(!self.cosine));
        let count = Self::len(last, self.cosine);
        let of_rest = |l: usize| match &self.rest {
            Rest::Small(_) => first + l,
            // 2, 4, … and N − 2, N − 4, … (from 0 and N for cosines)
            Rest::Odd(_) if l < count / 2 => 2 * (l + first),
            Rest::Odd(_) => last - 2 * (l - count / 2 + first),
        };
        order.extend((0..count).map(|l| of_rest(l) << self.levels.len()));
        order
    }

    /// Numbers of scratch.
    pub fn scratch(&self) -> usize {
        let of_rest = if let Rest::Odd(fourier) = &self.rest { fourier.scratch() + self.last() } else { 0 };
        let most = self.levels.iter().map(|core| core.fourier.scratch()).max().unwrap_or(0);
        2 * (self.parts / 2 + 1) + most.max(of_rest)
    }

    /// out = matrix · z; z is overwritten.
    pub fn forward(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let half = self.parts / 2 + 1;
        let (one, scratch) = scratch.split_at_mut(half);
        let (two, scratch) = scratch.split_at_mut(half);
        let (mut from, mut to, mut out) = (&mut *z, &mut *one, out);
        let mut spare = two;
        for (level, core) in self.levels.iter().enumerate() {
            let m = self.parts >> (level + 1);
            let (block, others) = out.split_at_mut(m);
            out = others;
            if self.cosine {
                fold_cosine(core, &from[..2 * m + 1], block, to);
            } else {
                fold_sine((core, self.simd), &from[..2 * m - 1], block, to);
            }
            core.fourier.run(block, scratch);
            (from, to, spare) = (to, spare, from);
        }
        _ = spare;
        let n = Self::len(self.last(), self.cosine);
        self.rest(&mut from[..n], out, scratch, T::ONE);
    }

    /// out = matrix · z · 2/N from coefficients, which are overwritten.
    pub fn inverse(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        let half = self.parts / 2 + 1;
        let (one, scratch) = scratch.split_at_mut(half);
        let (two, scratch) = scratch.split_at_mut(half);
        let (mut to, mut from) = (one, two);
        let n = Self::len(self.last(), self.cosine);
        let start = z.len() - n;
        let (z, rest) = z.split_at_mut(start);
        if self.levels.is_empty() {
            return self.unrest(rest, out, scratch, self.scale);
        }
        self.unrest(rest, &mut to[..n], scratch, self.scale);
        let mut end = z.len();
        for (level, core) in self.levels.iter().enumerate().rev() {
            let m = self.parts >> (level + 1);
            let block = &mut z[end - m..end];
            end -= m;
            core.fourier.run(block, scratch);
            (from, to) = (to, from);
            let to = if level == 0 { &mut *out } else { &mut *to };
            if self.cosine {
                unfold_cosine(core, block, &from[..m + 1], &mut to[..2 * m + 1]);
            } else {
                unfold_sine((core, self.simd), block, &from[..m - 1], &mut to[..2 * m - 1]);
            }
        }
    }

    fn rest(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], scratch: &mut [Complex<T>], scale: T) {
        match &self.rest {
            Rest::Small(table) => table.multiply(z, out, scale),
            Rest::Odd(fourier) => {
                let (line, scratch) = scratch.split_at_mut(self.last());
                let (even, odd) = out.split_at_mut(z.len() / 2);
                for (negate, out) in [(false, even), (true, odd)] {
                    if self.cosine {
                        self.spread_odd(z, line, negate);
                        fourier.run(line, scratch);
                        self.gather_odd(line, out, scale);
                        continue;
                    }
                    let step = if negate { OddStep::SpreadSigned } else { OddStep::Spread };
                    odd::run((step, self.simd), cast_slice(z), cast_slice_mut(line), T::ONE);
                    fourier.run(line, scratch);
                    odd::run((OddStep::Gather, self.simd), cast_slice(line), cast_slice_mut(out), scale);
                }
            }
        }
        if self.cosine {
            self.halve_ends(out);
        }
    }

    /// The coefficients of k = 0 and k = N count half.
    fn halve_ends(&self, out: &mut [Complex<T>]) {
        let half = real::<T>(0.5);
        let last = match &self.rest {
            Rest::Small(_) => out.len() - 1,
            Rest::Odd(_) => out.len() / 2,
        };
        out[0] = out[0] * half;
        out[last] = out[last] * half;
    }

    /// z as N numbers, every other one negated if asked for.
    fn spread_odd(&self, z: &[Complex<T>], line: &mut [Complex<T>], negate: bool) {
        let first = usize::from(!self.cosine);
        line[0] = Complex::new(T::ZERO, T::ZERO);
        for (j, z) in (first..).zip(z) {
            // sin(πj(N − k)/N) = (−1)^{j+1} sin(πjk/N) for even k, cos: (−1)^j
            let sign = negate && (j + first) % 2 == 1;
            let z = if sign { -*z } else { *z };
            if j % self.last() == 0 { line[0] = line[0] + z } else { line[j] = z }
        }
    }

    /// Sums with sines or cosines of 2πjm/N from F.
    fn gather_odd(&self, line: &[Complex<T>], out: &mut [Complex<T>], scale: T) {
        let half = real::<T>(0.5) * scale;
        let (n, first) = (self.last(), usize::from(!self.cosine));
        for (m, out) in (first..).zip(out) {
            let (v, mirrored) = (line[m], line[(n - m) % n]);
            let (sum, difference) = ((v + mirrored) * half, (v - mirrored) * half);
            *out = if self.cosine { sum } else { Complex::new(difference.im, -difference.re) };
        }
    }

    /// The same matrix transposed: coefficients in their order to numbers along the line.
    fn unrest(&self, z: &mut [Complex<T>], out: &mut [Complex<T>], scratch: &mut [Complex<T>], scale: T) {
        let Rest::Odd(fourier) = &self.rest else {
            let Rest::Small(table) = &self.rest else { unreachable!("two kinds") };
            return table.multiply(z, out, scale);
        };
        let (line, scratch) = scratch.split_at_mut(self.last());
        let (n, first) = (self.last(), usize::from(!self.cosine));
        let (even, odd) = z.split_at(z.len() / 2);
        let half = real::<T>(0.5);
        for (negate, coefficients) in [(false, even), (true, odd)] {
            if !self.cosine {
                odd::run((OddStep::Mirror, self.simd), cast_slice(coefficients), cast_slice_mut(line), T::ONE);
                fourier.run(line, scratch);
                let step = if negate { OddStep::AddSigned } else { OddStep::Put };
                odd::run((step, self.simd), cast_slice(line), cast_slice_mut(out), scale);
                continue;
            }
            line.fill(Complex::new(T::ZERO, T::ZERO));
            for (m, c) in (first..).zip(coefficients) {
                // As sums with e^{2πijm/N}: half of it at m and, for sines negated, at N − m.
                let c = c * half;
                let c = if self.cosine { c } else { Complex::new(c.im, -c.re) };
                line[m] = line[m] + c;
                line[(n - m) % n] = if self.cosine { line[(n - m) % n] + c } else { -c };
            }
            fourier.run(line, scratch);
            for (j, out) in (first..).zip(out.iter_mut()) {
                let v = line[j % n] * scale;
                let v = if negate && (j + first) % 2 == 1 { -v } else { v };
                *out = if negate { *out + v } else { v };
            }
        }
    }
}

/// One halving: `block` = C of z_j + z_{N−j}, N = 2M; `rest` = z_j − z_{N−j}, 0 < j < M. z begins with z_1.
fn fold_sine<T: PoissonScalar>(
    (core, simd): (&Core<T>, Simd),
    z: &[Complex<T>],
    block: &mut [Complex<T>],
    rest: &mut [Complex<T>],
) {
    let job = Fold { core, z: cast_slice(z), block: cast_slice_mut(block), rest: cast_slice_mut(rest) };
    dispatch(simd, job);
}

/// Its transpose.
fn unfold_sine<T: PoissonScalar>(
    (core, simd): (&Core<T>, Simd),
    block: &[Complex<T>],
    rest: &[Complex<T>],
    z: &mut [Complex<T>],
) {
    let job = Unfold { core, block: cast_slice(block), rest: cast_slice(rest), z: cast_slice_mut(z) };
    dispatch(simd, job);
}

/// Of a halving of sines, all numbers as real and imaginary parts in turn.
struct Fold<'a, T: PoissonScalar> {
    core: &'a Core<T>,
    z: &'a [T],
    block: &'a mut [T],
    rest: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for Fold<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Fold { core, z, block, rest } = self;
        let m = block.len() / 2;
        let n = 2 * m;
        // a_j = e_{M−j}, e_j = z_j + z_{N−j}, e_M = z_M
        (block[0], block[1]) = (z[2 * m - 2], z[2 * m - 1]);
        let mut j = 1;
        // j … j + 3 and their mirrors M − j …, while the two do not meet.
        while 2 * (j + WIDE) <= m + 1 {
            let (e, d) = both(forwards(z, j - 1), backwards(z, n - j - 1));
            let (a, b) = both(backwards(z, m - j - 1), forwards(z, m + j - 1));
            let (c, mirrored) = twist(&core.before_parts, j, a, e);
            put_forwards(block, j, c);
            put_backwards(block, m - j, mirrored);
            put_forwards(rest, j - 1, d);
            put_backwards(rest, m - j - 1, b);
            j += WIDE;
        }
        while 2 * j <= m {
            let (e, d) = both(one(z, j - 1), one(z, n - j - 1));
            let (a, b) = both(one(z, m - j - 1), one(z, m + j - 1));
            let w = core.before[j];
            let (c, mirrored) = Core::twist(w, Complex::new(a[0], a[1]), Complex::new(e[0], e[1]));
            put_one(rest, j - 1, d);
            put_one(rest, m - j - 1, b);
            put_one(block, m - j, [mirrored.re, mirrored.im]);
            put_one(block, j, [c.re, c.im]);
            j += 1;
        }
    }
}

/// Of the transpose.
struct Unfold<'a, T: PoissonScalar> {
    core: &'a Core<T>,
    block: &'a [T],
    rest: &'a [T],
    z: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for Unfold<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Unfold { core, block, rest, z } = self;
        let m = block.len() / 2;
        let n = 2 * m;
        put_one(z, m - 1, [block[0] * core.scale, block[1] * core.scale]);
        let mut j = 1;
        while 2 * (j + WIDE) <= m + 1 {
            let (a, e) = untwist(&core.after_parts, j, forwards(block, j), backwards(block, m - j));
            let (below, above) = both(e, forwards(rest, j - 1));
            put_forwards(z, j - 1, below);
            put_backwards(z, n - j - 1, above);
            let (below, above) = both(a, backwards(rest, m - j - 1));
            put_backwards(z, m - j - 1, below);
            put_forwards(z, m + j - 1, above);
            j += WIDE;
        }
        while 2 * j <= m {
            let (v, mirrored) = (one(block, j), one(block, m - j));
            let (v, mirrored) = (Complex::new(v[0], v[1]), Complex::new(mirrored[0], mirrored[1]));
            let (a, e) = Core::untwist(core.after[j], v, mirrored);
            let (a, e) = ([a.re, a.im], [e.re, e.im]);
            let ((c, d), (f, g)) = (both(a, one(rest, m - j - 1)), both(e, one(rest, j - 1)));
            put_one(z, m - j - 1, c);
            put_one(z, m + j - 1, d);
            if 2 * j < m {
                put_one(z, j - 1, f);
                put_one(z, n - j - 1, g);
            }
            j += 1;
        }
    }
}

/// One halving: `block` = C of z_j − z_{N−j}; `rest` = z_j + z_{N−j}, j < M, and z_M.
fn fold_cosine<T: PoissonScalar>(core: &Core<T>, z: &[Complex<T>], block: &mut [Complex<T>], rest: &mut [Complex<T>]) {
    let m = block.len();
    let n = 2 * m;
    core.twist_all(m, |j| z[j] - z[n - j], block);
    for j in 0..m {
        rest[j] = z[j] + z[n - j];
    }
    rest[m] = z[m];
}

/// Its transpose.
fn unfold_cosine<T: PoissonScalar>(core: &Core<T>, block: &[Complex<T>], rest: &[Complex<T>], z: &mut [Complex<T>]) {
    let m = block.len();
    let n = 2 * m;
    core.untwist_all(block, |j, a| (z[j], z[n - j]) = (rest[j] + a, rest[j] - a));
    z[m] = rest[m];
}
