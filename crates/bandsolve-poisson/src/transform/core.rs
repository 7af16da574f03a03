//! The cosine core and its transpose, computed by a complex transform of the same size.

use super::fourier::Fourier;
use super::roots::root;
use super::wide::ComplexLanes;
use crate::scalar::{PoissonScalar, real};
use bandsolve::Result;
use bandsolve::memory::collected;
use bandsolve_kernel::Lanes;

/// The cosine core of M values.
#[derive(Clone)]
pub(super) struct Core<T> {
    pub fourier: Fourier<T>,
    /// ½ω^j for j ≤ M/2.
    pub before: Vec<[T; 2]>,
    /// `scale`·½ω^j for j ≤ M/2.
    pub after: Vec<[T; 2]>,
    /// Factor of the transpose.
    pub scale: T,
}

impl<T: PoissonScalar> Core<T> {
    /// The core of m values, and its transpose times `scale`.
    pub fn new(m: usize, scale: f64) -> Result<Self> {
        let (half, scale) = (real::<T>(0.5), real::<T>(scale));
        let before: Vec<[T; 2]> = collected((0..=m / 2).map(|j| root::<T>(j, 2 * m).map(|part| part * half)))?;
        let after = collected(before.iter().map(|w| w.map(|part| part * scale)))?;
        Ok(Self { fourier: Fourier::new(m)?, before, after, scale })
    }

    /// The frequency index k of coefficient l, which belongs to cos(πj(2k+1)/2m).
    pub fn order(l: usize, m: usize) -> usize {
        if 2 * l < m { 2 * l } else { 2 * m - 1 - 2 * l }
    }

    /// Cⱼ and C_(M−j) from aⱼ and a_(M−j), where 0 < j < M and `w` = ½ω^j.
    #[inline(always)]
    pub fn twist<V: Lanes<Real = T>>(
        w: [T; 2],
        a: ComplexLanes<V>,
        mirrored: ComplexLanes<V>,
    ) -> (ComplexLanes<V>, ComplexLanes<V>) {
        // ω^{M−j} = i·conj(ω^j), so that C_{M−j} = ½ conj(ω^j) (a_j + i a_{M−j})
        let turned = mirrored.turned();
        ((a - turned).times(w), (a + turned).times_conjugate(w))
    }

    /// The transpose of [`twist`](Self::twist): aⱼ and a_(M−j) from Vⱼ and V_(M−j).
    #[inline(always)]
    pub fn untwist<V: Lanes<Real = T>>(
        w: [T; 2],
        v: ComplexLanes<V>,
        mirrored: ComplexLanes<V>,
    ) -> (ComplexLanes<V>, ComplexLanes<V>) {
        // a_j = ½(ω^j V_j + conj(ω^j) V_{M−j}), a_{M−j} = −½i (ω^j V_j − conj(ω^j) V_{M−j})
        let (v, mirrored) = (v.times(w), mirrored.times_conjugate(w));
        (v + mirrored, (mirrored - v).turned())
    }

    /// Replace all a by C.
    #[inline(always)]
    pub fn twist_all<V: Lanes<Real = T>>(&self, a: &mut [ComplexLanes<V>]) {
        let m = a.len();
        for j in 1..m.div_ceil(2) {
            (a[j], a[m - j]) = Self::twist(self.before[j], a[j], a[m - j]);
        }
        if m.is_multiple_of(2) {
            a[m / 2] = Self::twist(self.before[m / 2], a[m / 2], a[m / 2]).0;
        }
    }

    /// The transpose of [`twist_all`](Self::twist_all), times the scale if `scaled`. Otherwise, the constant is halved.
    #[inline(always)]
    pub fn untwist_all<V: Lanes<Real = T>>(&self, v: &mut [ComplexLanes<V>], scaled: bool) {
        let m = v.len();
        let w = if scaled { &self.after } else { &self.before };
        v[0] = v[0].scaled(if scaled { self.scale } else { real(0.5) });
        for j in 1..m.div_ceil(2) {
            (v[j], v[m - j]) = Self::untwist(w[j], v[j], v[m - j]);
        }
        if m.is_multiple_of(2) {
            v[m / 2] = Self::untwist(w[m / 2], v[m / 2], v[m / 2]).0;
        }
    }
}
