//! Complex Fourier transforms of several lines at the same time, yₗ = Σⱼ xⱼ exp(2πijl/n).
//!
//! The algorithm is the mixed-radix Stockham algorithm, which needs no reordering. Odd factors above 5 use direct sums. If n has a prime
//! factor above [`DIRECT`], the transform is a convolution (Bluestein). All roots of unity are accurate to approximately one ulp.
//!
//! # Source
//! The order of T. G. Stockham; L. I. Bluestein, IEEE Trans. Audio Electroacoust. 18 (1970), 451–455.

use super::roots::root;
use super::wide::{ComplexLanes, aligned, flat, wide};
use crate::scalar::{PoissonScalar, real};
use bandsolve::memory::{allocate, collected, out_of_memory, reserved};
use bandsolve::{Result, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};

/// The largest prime factor for direct sums.
const DIRECT: usize = 127;

/// The transform of one length.
#[derive(Clone)]
pub(crate) struct Fourier<T> {
    n: usize,
    steps: Vec<FourierStep<T>>,
    chirp: Option<Box<Chirp<T>>>,
}

/// One factor r of n = r·m·s, where s is the product of the factors before.
#[derive(Clone)]
struct FourierStep<T> {
    radix: usize,
    m: usize,
    s: usize,
    /// exp(2πipk/(r·m)) for p < m, 0 < k < r.
    twiddles: Vec<[T; 2]>,
    /// Cosine and sine of 2πjk/r for 0 < j, k ≤ r/2. Empty unless r is odd and above 5.
    sums: Vec<[T; 2]>,
}

/// A transform as a convolution (Bluestein).
#[derive(Clone)]
struct Chirp<T> {
    inner: Fourier<T>,
    /// exp(iπj²/n)
    chirp: Vec<[T; 2]>,
    /// The transform of the conjugate chirp, divided by the length of `inner`.
    kernel: Vec<[T; 2]>,
}

/// The factors of n: first 8, 4 and 2, with as few factors 4 and 2 as possible, then odd primes. `None` if a prime is above `largest`.
pub fn factors(mut n: usize, largest: usize) -> Option<Vec<usize>> {
    let twos = n.trailing_zeros() as usize;
    let fours = if twos == 1 { 0 } else { (3 - twos % 3) % 3 };
    let eights = twos.saturating_sub(2 * fours) / 3;
    let mut factors = [vec![8; eights], vec![4; fours], vec![2; usize::from(twos == 1)]].concat();
    n >>= twos;
    for radix in [3, 5] {
        while n.is_multiple_of(radix) {
            factors.push(radix);
            n /= radix;
        }
    }
    let mut factor = 7;
    while n > 1 {
        if factor > largest {
            return None;
        }
        if n.is_multiple_of(factor) {
            factors.push(factor);
            n /= factor;
        } else {
            factor += 2;
        }
    }
    Some(factors)
}

impl<T: PoissonScalar> Fourier<T> {
    /// The transform of n values.
    pub fn new(n: usize) -> Result<Self> {
        let Some(factors) = factors(n.max(1), DIRECT) else {
            return Ok(Self { n, steps: Vec::new(), chirp: Some(Box::new(Chirp::new(n)?)) });
        };
        let (mut steps, mut length, mut s) = (Vec::new(), n, 1);
        for radix in factors {
            let m = length / radix;
            let mut twiddles = reserved(m * (radix - 1))?;
            (0..m).for_each(|p| twiddles.extend((1..radix).map(|k| root::<T>(2 * p * k, length))));
            let half = if radix > 5 && radix % 2 == 1 { radix / 2 } else { 0 };
            let mut sums = reserved(half * half)?;
            (1..=half).for_each(|k| sums.extend((1..=half).map(|j| root::<T>(2 * (j * k % radix), radix))));
            steps.push(FourierStep { radix, m, s, twiddles, sums });
            (length, s) = (m, s * radix);
        }
        Ok(Self { n, steps, chirp: None })
    }

    /// Whether [`run`](Self::run) leaves the result in `other`.
    pub fn is_moved(&self) -> bool {
        self.steps.len() % 2 == 1
    }

    /// Number of vectors that `other` must have.
    pub fn spare(&self) -> usize {
        self.chirp.as_ref().map_or(self.n, |chirp| 2 * chirp.inner.n)
    }

    /// Transform `line`. The result is in `other` if [`is_moved`](Self::is_moved), otherwise in `line`. Both arrays are overwritten.
    #[inline(always)]
    pub fn run<V: Lanes<Real = T>>(&self, simd: Simd, line: &mut [ComplexLanes<V>], other: &mut [ComplexLanes<V>]) {
        self.run_flat(simd, flat(line), flat(other));
    }

    fn run_flat(&self, simd: Simd, line: &mut [T], other: &mut [T]) {
        let Some(chirp) = &self.chirp else { return dispatch(simd, FourierJob { fourier: self, line, other }) };
        let (work, other) = other.split_at_mut(other.len() / 2);
        chirp.run(simd, line, work, other);
    }
}

/// Performs all steps of one transform.
struct FourierJob<'a, T> {
    fourier: &'a Fourier<T>,
    line: &'a mut [T],
    other: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for FourierJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T>>(self) {
        let n = self.fourier.n;
        let (mut x, mut y) = (&mut wide::<T, V>(self.line)[..n], &mut wide::<T, V>(self.other)[..n]);
        for step in &self.fourier.steps {
            match step.radix {
                2 => step.butterflies(x, y, two),
                3 => step.butterflies(x, y, three),
                4 => step.butterflies(x, y, four),
                5 => step.butterflies(x, y, five),
                8 => step.butterflies(x, y, eight),
                _ => step.odd(x, y),
            }
            (x, y) = (y, x);
        }
    }
}

impl<T: PoissonScalar> FourierStep<T> {
    /// Transform all groups of R values, and multiply by the twiddle factors.
    #[inline(always)]
    fn butterflies<V: Lanes<Real = T>, const R: usize>(
        &self,
        x: &[ComplexLanes<V>],
        y: &mut [ComplexLanes<V>],
        transform: impl Fn([ComplexLanes<V>; R]) -> [ComplexLanes<V>; R],
    ) {
        let (m, s) = (self.m, self.s);
        let apart = m * s;
        for p in 0..m {
            let twiddles = &self.twiddles[p * (R - 1)..][..R - 1];
            let (from, to) = (&x[s * p..], &mut y[s * R * p..][..s * R]);
            for q in 0..s {
                let mut a = [ComplexLanes::zero(); R];
                for k in 0..R {
                    a[k] = from[q + apart * k];
                }
                let b = transform(a);
                to[q] = b[0];
                for k in 1..R {
                    to[q + s * k] = if p == 0 { b[k] } else { b[k].times(twiddles[k - 1]) };
                }
            }
        }
    }

    /// Do the same for an odd factor, with direct sums of cosines and sines. x is overwritten.
    #[inline(always)]
    fn odd<V: Lanes<Real = T>>(&self, x: &mut [ComplexLanes<V>], y: &mut [ComplexLanes<V>]) {
        let Self { radix, m, s, .. } = *self;
        let half = radix / 2;
        for p in 0..m {
            let twiddles = &self.twiddles[p * (radix - 1)..][..radix - 1];
            for q in 0..s {
                let at = |j: usize| q + s * (p + m * j);
                let to = |k: usize| q + s * (radix * p + k);
                let first = x[at(0)];
                let mut total = first;
                for j in 1..=half {
                    let (a, b) = (x[at(j)], x[at(radix - j)]);
                    (x[at(j)], x[at(radix - j)]) = (a + b, a - b);
                    total = total + (a + b);
                }
                y[to(0)] = total;
                let mut k = 1;
                while k < half {
                    let (one, two) = self.sums[(k - 1) * half..][..2 * half].split_at(half);
                    let (mut c, mut d, mut e, mut f) = (first, ComplexLanes::zero(), first, ComplexLanes::zero());
                    for j in 0..half {
                        let (sum, difference) = (x[at(j + 1)], x[at(radix - j - 1)]);
                        c = c.plus(V::splat(one[j][0]), sum);
                        d = d.plus(V::splat(one[j][1]), difference);
                        e = e.plus(V::splat(two[j][0]), sum);
                        f = f.plus(V::splat(two[j][1]), difference);
                    }
                    let (d, f) = (d.turned(), f.turned());
                    y[to(k)] = (c + d).times(twiddles[k - 1]);
                    y[to(radix - k)] = (c - d).times(twiddles[radix - k - 1]);
                    y[to(k + 1)] = (e + f).times(twiddles[k]);
                    y[to(radix - k - 1)] = (e - f).times(twiddles[radix - k - 2]);
                    k += 2;
                }
                if k == half {
                    let one = &self.sums[(k - 1) * half..][..half];
                    let (mut c, mut d) = (first, ComplexLanes::zero());
                    for j in 0..half {
                        c = c.plus(V::splat(one[j][0]), x[at(j + 1)]);
                        d = d.plus(V::splat(one[j][1]), x[at(radix - j - 1)]);
                    }
                    let d = d.turned();
                    y[to(k)] = (c + d).times(twiddles[k - 1]);
                    y[to(radix - k)] = (c - d).times(twiddles[radix - k - 1]);
                }
            }
        }
    }
}

#[inline(always)]
fn two<V: Lanes>([a, b]: [ComplexLanes<V>; 2]) -> [ComplexLanes<V>; 2] {
    [a + b, a - b]
}

#[inline(always)]
fn three<V: Lanes<Real: PoissonScalar>>([a, b, c]: [ComplexLanes<V>; 3]) -> [ComplexLanes<V>; 3] {
    let (sum, difference) = (b + c, (b - c).scaled(real(0.75f64.sqrt())).turned());
    let t = a.plus(V::splat(real(-0.5)), sum);
    [a + sum, t + difference, t - difference]
}

#[inline(always)]
fn four<V: Lanes>([a, b, c, d]: [ComplexLanes<V>; 4]) -> [ComplexLanes<V>; 4] {
    let (t, u, v, w) = (a + c, a - c, b + d, (b - d).turned());
    [t + v, u + w, t - v, u - w]
}

#[inline(always)]
fn five<V: Lanes<Real: PoissonScalar>>([a, b, c, d, e]: [ComplexLanes<V>; 5]) -> [ComplexLanes<V>; 5] {
    // Cosines and sines of 2π/5 and 4π/5
    let cosines = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5].map(|c| V::splat(real(c)));
    let sines = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1].map(|s| V::splat(real(s)));
    let (sum, other_sum, difference, other) = (b + e, c + d, b - e, c - d);
    let t = a.plus(cosines[0], sum).plus(cosines[1], other_sum);
    let u = a.plus(cosines[1], sum).plus(cosines[0], other_sum);
    let none = ComplexLanes::zero();
    let v = none.plus(sines[0], difference).plus(sines[1], other).turned();
    let w = none.plus(sines[1], difference).plus(-sines[0], other).turned();
    [a + sum + other_sum, t + v, u + w, u - w, t - v]
}

#[inline(always)]
fn eight<V: Lanes<Real: PoissonScalar>>(a: [ComplexLanes<V>; 8]) -> [ComplexLanes<V>; 8] {
    let even = four([a[0], a[2], a[4], a[6]]);
    let [o, p, q, r] = four([a[1], a[3], a[5], a[7]]);
    let half = real::<V::Real>(0.5f64.sqrt());
    // Multiply by e^{iπ/4} and e^{3iπ/4}.
    let p = (p + p.turned()).scaled(half);
    let r = (r.turned() - r).scaled(half);
    let odd = [o, p, q.turned(), r];
    let [mut low, mut high] = [even; 2];
    for k in 0..4 {
        (low[k], high[k]) = (even[k] + odd[k], even[k] - odd[k]);
    }
    [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]
}

impl<T: PoissonScalar> Chirp<T> {
    fn new(n: usize) -> Result<Self> {
        // Such a length cannot be allocated, and j² below would overflow.
        if n >= 1 << (usize::BITS / 2) {
            return Err(out_of_memory::<[T; 2]>(n));
        }
        let length = (0..).map(|k| 1usize << k).flat_map(|k| [4 * k, 5 * k, 6 * k, 7 * k]).find(|m| *m >= 2 * n - 1);
        let inner = Fourier::new(length.unwrap_or(2 * n))?;
        let m = inner.n;
        let chirp: Vec<[T; 2]> = collected((0..n).map(|j| root(j * j % (2 * n), n)))?;
        let simd = Simd::detect();
        let lanes = T::lanes(simd);
        let mut room = allocate(4 * lanes * m + ALIGNED_NUMBERS, T::ZERO)?;
        let (line, other) = aligned(&mut room).split_at_mut(2 * lanes * m);
        for (j, [re, im]) in chirp.iter().enumerate() {
            for at in [j, (m - j) % m] {
                (line[2 * lanes * at], line[2 * lanes * at + lanes]) = (*re, -*im);
            }
        }
        inner.run_flat(simd, line, other);
        let transformed = if inner.is_moved() { other } else { line };
        let scale = real::<T>(1.0 / m as f64);
        let kernel = collected((0..m).map(|k| [0, lanes].map(|part| transformed[2 * lanes * k + part] * scale)))?;
        Ok(Self { inner, chirp, kernel })
    }

    fn run(&self, simd: Simd, line: &mut [T], work: &mut [T], other: &mut [T]) {
        dispatch(simd, ChirpJob { chirp: self, step: ChirpStep::Spread, line, work });
        self.inner.run_flat(simd, work, other);
        let (work, other) = if self.inner.is_moved() { (other, work) } else { (work, other) };
        dispatch(simd, ChirpJob { chirp: self, step: ChirpStep::Multiply, line, work });
        self.inner.run_flat(simd, work, other);
        let work = if self.inner.is_moved() { other } else { work };
        dispatch(simd, ChirpJob { chirp: self, step: ChirpStep::Gather, line, work });
    }
}

/// Maximum number of elements that alignment skips (f32).
const ALIGNED_NUMBERS: usize = super::wide::ALIGNED / 4;

#[derive(Clone, Copy)]
enum ChirpStep {
    /// work = line · chirp, padded with zeros
    Spread,
    /// work = conj(kernel · work)
    Multiply,
    /// line = chirp · conj(work)
    Gather,
}

struct ChirpJob<'a, T> {
    chirp: &'a Chirp<T>,
    step: ChirpStep,
    line: &'a mut [T],
    work: &'a mut [T],
}

impl<T: PoissonScalar> Job<T> for ChirpJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T>>(self) {
        let Self { chirp, step, line, work } = self;
        let (line, work) = (wide::<T, V>(line), &mut wide::<T, V>(work)[..chirp.inner.n]);
        match step {
            ChirpStep::Spread => {
                let (products, rest) = work.split_at_mut(chirp.chirp.len());
                for (j, w) in products.iter_mut().enumerate() {
                    *w = line[j].times(chirp.chirp[j]);
                }
                rest.fill(ComplexLanes::zero());
            }
            ChirpStep::Multiply => {
                for (w, k) in work.iter_mut().zip(&chirp.kernel) {
                    *w = w.times(*k).conjugate();
                }
            }
            ChirpStep::Gather => {
                for (j, c) in chirp.chirp.iter().enumerate() {
                    line[j] = work[j].conjugate().times(*c);
                }
            }
        }
    }
}
