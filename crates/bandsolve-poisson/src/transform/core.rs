//! The cosine core and its transpose, by a complex transform of the same size.

use crate::scalar::{PoissonScalar, real};
use num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::PI;
use std::sync::Arc;

/// e^{iπ·part/of}
pub(super) fn root<T: PoissonScalar>(part: usize, of: usize) -> Complex<T> {
    let (sin, cos) = half_turns(part, of);
    Complex::new(real(cos), real(sin))
}

/// Sine and cosine of π·part/of, from angles of at most π/4.
pub(crate) fn half_turns(part: usize, of: usize) -> (f64, f64) {
    let part = part % (2 * of);
    if part > of {
        let (sin, cos) = half_turns(2 * of - part, of);
        return (-sin, cos);
    }
    if 2 * part > of {
        let (sin, cos) = half_turns(of - part, of);
        return (sin, -cos);
    }
    if 4 * part > of {
        // sin x = cos(π/2 − x); (of − 2·part)/(2·of) half turns
        let (sin, cos) = (PI * (of - 2 * part) as f64 / (2 * of) as f64).sin_cos();
        return (cos, sin);
    }
    (PI * part as f64 / of as f64).sin_cos()
}

/// [re, re] and [−im, im] of every number.
fn parts<T: PoissonScalar>(w: &[Complex<T>]) -> [Vec<T>; 2] {
    [w.iter().flat_map(|w| [w.re, w.re]).collect(), w.iter().flat_map(|w| [-w.im, w.im]).collect()]
}

/// F of one size.
#[derive(Clone)]
pub(crate) struct Fourier<T: PoissonScalar>(Arc<dyn Fft<T>>);

impl<T: PoissonScalar> Fourier<T> {
    pub fn new(n: usize) -> Self {
        Self(FftPlanner::new().plan_fft_inverse(n))
    }

    /// Numbers of scratch.
    pub fn scratch(&self) -> usize {
        self.0.get_inplace_scratch_len()
    }

    pub fn run(&self, line: &mut [Complex<T>], scratch: &mut [Complex<T>]) {
        self.0.process_with_scratch(line, scratch);
    }
}

/// The cosine core of M numbers.
#[derive(Clone)]
pub(super) struct Core<T: PoissonScalar> {
    pub fourier: Fourier<T>,
    /// ½ω^j for j ≤ M/2, and times `scale`.
    pub before: Vec<Complex<T>>,
    pub after: Vec<Complex<T>>,
    /// The same as [re, re] and [−im, im] of every number.
    pub before_parts: [Vec<T>; 2],
    pub after_parts: [Vec<T>; 2],
    /// What the transpose is multiplied by.
    pub scale: T,
}

impl<T: PoissonScalar> Core<T> {
    pub fn new(m: usize, scale: f64) -> Self {
        let half = real::<T>(0.5);
        let scale = real::<T>(scale);
        let before: Vec<_> = (0..=m / 2).map(|j| root::<T>(j, 2 * m) * half).collect();
        let after: Vec<_> = before.iter().map(|w| w * scale).collect();
        let (before_parts, after_parts) = (parts(&before), parts(&after));
        Self { fourier: Fourier::new(m), before, after, before_parts, after_parts, scale }
    }

    /// The m-th coefficient stands for cos(πj(2m+1)/2M) with the m that this returns for place l.
    pub fn order(l: usize, m: usize) -> usize {
        if 2 * l < m { 2 * l } else { 2 * m - 1 - 2 * l }
    }

    /// C_j and C_{M−j} from a_j and a_{M−j}, 0 < j < M; `w` = ½ω^j.
    #[inline(always)]
    pub fn twist(w: Complex<T>, a: Complex<T>, mirrored: Complex<T>) -> (Complex<T>, Complex<T>) {
        // ω^{M−j} = i·conj ω^j: C_{M−j} = ½ conj ω^j (a_j + i a_{M−j}).
        let turned = Complex::new(-mirrored.im, mirrored.re);
        (w * (a - turned), w.conj() * (a + turned))
    }

    /// The transpose: a_j and a_{M−j} from V_j and V_{M−j}.
    #[inline(always)]
    pub fn untwist(w: Complex<T>, v: Complex<T>, mirrored: Complex<T>) -> (Complex<T>, Complex<T>) {
        // a_j = ½(ω V_j + conj ω V_{M−j}), a_{M−j} = ½(−i)(ω V_j − conj ω V_{M−j})
        let (v, mirrored) = (w * v, w.conj() * mirrored);
        let difference = v - mirrored;
        (v + mirrored, Complex::new(difference.im, -difference.re))
    }

    /// out = C of a, `a(j)` being a_j.
    #[inline(always)]
    pub fn twist_all(&self, m: usize, a: impl Fn(usize) -> Complex<T>, out: &mut [Complex<T>]) {
        out[0] = a(0);
        for j in 1..m.div_ceil(2) {
            (out[j], out[m - j]) = Self::twist(self.before[j], a(j), a(m - j));
        }
        if m.is_multiple_of(2) && m > 0 {
            out[m / 2] = Self::twist(self.before[m / 2], a(m / 2), a(m / 2)).0;
        }
    }

    /// The transpose of all: `put(j, a_j)` from V.
    #[inline(always)]
    pub fn untwist_all(&self, v: &[Complex<T>], mut put: impl FnMut(usize, Complex<T>)) {
        let m = v.len();
        put(0, v[0] * self.scale);
        for j in 1..m.div_ceil(2) {
            let (a, mirrored) = Self::untwist(self.after[j], v[j], v[m - j]);
            put(j, a);
            put(m - j, mirrored);
        }
        if m.is_multiple_of(2) && m > 0 {
            put(m / 2, Self::untwist(self.after[m / 2], v[m / 2], v[m / 2]).0);
        }
    }
}
