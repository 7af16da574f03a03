//! The transform that the two sides of an axis ask for, its eigenvalues and its order.

use super::core::{Core, Fourier, half_turns, root};
use super::first::First;
use crate::scalar::{PoissonScalar, real};
use num_complex::Complex;

/// Boundaries of an axis with one spacing, as the transforms tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisSides {
    /// Node, Dirichlet on both sides.
    NodeDirichlet,
    /// Node, Neumann on both sides.
    NodeNeumann,
    /// Node, Dirichlet on one side (the lower one if `true`) and Neumann on the other.
    NodeMixed(bool),
    CellDirichlet,
    CellNeumann,
    CellMixed(bool),
    Periodic,
}

/// The real transform of one axis of n unknowns.
#[derive(Clone)]
pub(crate) struct Transform<T: PoissonScalar> {
    n: usize,
    sides: AxisSides,
    how: How<T>,
}

#[derive(Clone)]
enum How<T: PoissonScalar> {
    /// One number.
    Nothing,
    First(First<T>),
    /// Cosine core, forwards or (cells) transposed.
    Core(Core<T>),
    /// Twiddles ½ω^{(2j+1)/2} and e^{iπl/n}.
    Fourth(Fourier<T>, Vec<Complex<T>>, Vec<Complex<T>>),
    Periodic(Fourier<T>),
}

/// Two lines, where their transform goes, and scratch.
pub(crate) struct LinePair<'a, T: PoissonScalar> {
    pub z: &'a mut [Complex<T>],
    pub out: &'a mut [Complex<T>],
    pub scratch: &'a mut [Complex<T>],
}

impl<T: PoissonScalar> Transform<T> {
    pub fn new(n: usize, sides: AxisSides) -> Self {
        let how = match sides {
            AxisSides::NodeNeumann | AxisSides::CellNeumann | AxisSides::Periodic if n <= 1 => How::Nothing,
            AxisSides::NodeDirichlet if n > 0 => How::First(First::new(n + 1, false)),
            AxisSides::NodeNeumann => How::First(First::new(n - 1, true)),
            AxisSides::NodeMixed(_) | AxisSides::CellDirichlet | AxisSides::CellNeumann if n > 0 => {
                How::Core(Core::new(n, 2.0 / n as f64))
            }
            AxisSides::CellMixed(_) if n > 0 => Self::fourth(n),
            AxisSides::Periodic => How::Periodic(Fourier::new(n)),
            _ => How::Nothing,
        };
        Self { n, sides, how }
    }

    fn fourth(n: usize) -> How<T> {
        let half = real::<T>(0.5);
        let before = (0..n).map(|j| root::<T>(2 * j + 1, 4 * n) * half).collect();
        let after = (0..n).map(|l| root::<T>(l, n)).collect();
        How::Fourth(Fourier::new(n), before, after)
    }

    /// Whether coefficients are the numbers themselves.
    pub fn is_trivial(&self) -> bool {
        matches!(self.how, How::Nothing)
    }

    /// Numbers of scratch.
    pub fn scratch(&self) -> usize {
        match &self.how {
            How::Nothing => 0,
            How::First(first) => first.scratch(),
            How::Core(core) => core.fourier.scratch(),
            How::Fourth(fourier, ..) | How::Periodic(fourier) => fourier.scratch(),
        }
    }

    /// Eigenvalues of (−1, 2, −1) with these sides, in the order of the coefficients: 4 sin²(a/2), exactly 0 for the constant.
    pub fn eigenvalues(&self) -> Vec<f64> {
        let n = self.n;
        // 4 sin²(π·part/of)
        let value = |part: usize, of: usize| 4.0 * half_turns(part, of).0.powi(2);
        match (&self.how, self.sides) {
            (How::Nothing, _) => vec![0.0; n],
            (How::First(first), AxisSides::NodeDirichlet) => {
                first.order().into_iter().map(|k| value(k, 2 * (n + 1))).collect()
            }
            (How::First(first), _) => first.order().into_iter().map(|k| value(k, 2 * (n - 1))).collect(),
            (How::Core(_), AxisSides::NodeMixed(_)) => {
                (0..n).map(|l| value(2 * Core::<T>::order(l, n) + 1, 4 * n)).collect()
            }
            // Sines stand as n − k.
            (How::Core(_), AxisSides::CellDirichlet) => (0..n).map(|k| value(n - k, 2 * n)).collect(),
            (How::Core(_), _) => (0..n).map(|k| value(k, 2 * n)).collect(),
            (How::Fourth(..), _) => (0..n).map(|l| value(2 * Core::<T>::order(l, n) + 1, 4 * n)).collect(),
            (How::Periodic(_), _) => (0..n).map(|k| value(k.min(n - k), n)).collect(),
        }
    }

    /// Where the eigenvalue 0 stands, if there is one.
    pub fn constant(&self) -> Option<usize> {
        match (&self.how, self.sides) {
            (How::Nothing, _) if self.n == 1 => Some(0),
            (How::First(first), AxisSides::NodeNeumann) => first.order().iter().position(|k| *k == 0),
            (How::Core(_), AxisSides::CellNeumann) | (How::Periodic(_), _) => Some(0),
            _ => None,
        }
    }

    /// What one in every place becomes, at [`constant`](Self::constant).
    pub fn of_ones(&self) -> f64 {
        match (&self.how, self.sides) {
            (How::First(_), _) => (self.n - 1) as f64 / 2.0,
            (How::Core(_), _) => self.n as f64 / 2.0,
            _ => self.n as f64,
        }
    }

    /// Coefficients of two lines; these are overwritten.
    pub fn forward(&self, line: LinePair<'_, T>) {
        let LinePair { z, out, scratch } = line;
        let (n, half) = (self.n, real::<T>(0.5));
        match (&self.how, self.sides) {
            (How::Nothing, _) => out.copy_from_slice(z),
            (How::First(first), AxisSides::NodeNeumann) => {
                (z[0], z[n - 1]) = (z[0] * half, z[n - 1] * half);
                first.forward(z, out, scratch);
            }
            (How::First(first), _) => first.forward(z, out, scratch),
            (How::Core(core), AxisSides::NodeMixed(lower)) => {
                let at = |j: usize| if lower { n - 1 - j } else { j };
                z[at(0)] = z[at(0)] * half;
                core.twist_all(n, |j| z[at(j)], out);
                core.fourier.run(out, scratch);
            }
            (How::Core(core), sides) => {
                gather_even_odd(z, out, sides == AxisSides::CellDirichlet);
                core.fourier.run(out, scratch);
                z.copy_from_slice(out);
                untwist_half(core, z, out);
            }
            (How::Fourth(fourier, before, after), sides) => {
                let lower = sides == AxisSides::CellMixed(true);
                let at = |j: usize| z[if lower { n - 1 - j } else { j }];
                for j in 0..n {
                    let (a, mirrored) = (at(j), at(n - 1 - j));
                    out[j] = before[j] * (a - Complex::new(-mirrored.im, mirrored.re));
                }
                fourier.run(out, scratch);
                out.iter_mut().zip(after).for_each(|(v, w)| *v = *v * w);
            }
            (How::Periodic(fourier), _) => {
                fourier.run(z, scratch);
                out[0] = z[0];
                for k in 1..n.div_ceil(2) {
                    let (sum, difference) = ((z[k] + z[n - k]) * half, (z[k] - z[n - k]) * half);
                    (out[k], out[n - k]) = (sum, Complex::new(difference.im, -difference.re));
                }
                if n.is_multiple_of(2) {
                    out[n / 2] = z[n / 2];
                }
            }
        }
    }

    /// Two lines from their coefficients, which are overwritten.
    pub fn inverse(&self, line: LinePair<'_, T>) {
        let LinePair { z, out, scratch } = line;
        let n = self.n;
        match (&self.how, self.sides) {
            (How::Nothing, _) => out.copy_from_slice(z),
            (How::First(first), _) => first.inverse(z, out, scratch),
            (How::Core(core), AxisSides::NodeMixed(lower)) => {
                core.fourier.run(z, scratch);
                core.untwist_all(z, |j, a| out[if lower { n - 1 - j } else { j }] = a);
            }
            (How::Core(core), sides) => {
                core.twist_all(n, |j| z[j] * core.scale, out);
                core.fourier.run(out, scratch);
                z.copy_from_slice(out);
                scatter_even_odd(z, out, sides == AxisSides::CellDirichlet);
            }
            (How::Fourth(fourier, before, after), sides) => {
                let (scale, lower) = (real::<T>(2.0 / n as f64), sides == AxisSides::CellMixed(true));
                z.iter_mut().zip(after).for_each(|(v, w)| *v = *v * w);
                fourier.run(z, scratch);
                for j in 0..n {
                    let mirrored = before[n - 1 - j] * z[n - 1 - j];
                    let a = before[j] * z[j] + Complex::new(mirrored.im, -mirrored.re);
                    out[if lower { n - 1 - j } else { j }] = a * scale;
                }
            }
            (How::Periodic(fourier), _) => {
                let scale = real::<T>(1.0 / n as f64);
                out[0] = z[0] * scale;
                for k in 1..n.div_ceil(2) {
                    let (cos, sin) = (z[k] * scale, z[n - k] * scale);
                    let sin = Complex::new(sin.im, -sin.re);
                    (out[k], out[n - k]) = (cos + sin, cos - sin);
                }
                if n.is_multiple_of(2) {
                    out[n / 2] = z[n / 2] * scale;
                }
                fourier.run(out, scratch);
            }
        }
    }
}

/// z_0, z_2, … forwards, z_1, z_3, … backwards and, if asked for, negated.
fn gather_even_odd<T: PoissonScalar>(z: &[Complex<T>], out: &mut [Complex<T>], negate: bool) {
    let n = z.len();
    for (l, pair) in z.chunks(2).enumerate() {
        out[l] = pair[0];
        if let Some(odd) = pair.get(1) {
            out[n - 1 - l] = if negate { -*odd } else { *odd };
        }
    }
}

/// The inverse of it.
fn scatter_even_odd<T: PoissonScalar>(z: &[Complex<T>], out: &mut [Complex<T>], negate: bool) {
    let n = z.len();
    for (l, pair) in out.chunks_mut(2).enumerate() {
        pair[0] = z[l];
        if let Some(odd) = pair.get_mut(1) {
            *odd = if negate { -z[n - 1 - l] } else { z[n - 1 - l] };
        }
    }
}

/// The transpose of the twist without the scale of the inverse; the constant counts half.
fn untwist_half<T: PoissonScalar>(core: &Core<T>, v: &[Complex<T>], out: &mut [Complex<T>]) {
    let n = v.len();
    let half = real::<T>(0.5);
    out[0] = v[0] * half;
    for j in 1..n.div_ceil(2) {
        (out[j], out[n - j]) = Core::untwist(core.before[j], v[j], v[n - j]);
    }
    if n.is_multiple_of(2) {
        out[n / 2] = Core::untwist(core.before[n / 2], v[n / 2], v[n / 2]).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [AxisSides; 9] = [
        AxisSides::NodeDirichlet,
        AxisSides::NodeNeumann,
        AxisSides::NodeMixed(true),
        AxisSides::NodeMixed(false),
        AxisSides::CellDirichlet,
        AxisSides::CellNeumann,
        AxisSides::CellMixed(true),
        AxisSides::CellMixed(false),
        AxisSides::Periodic,
    ];

    /// (−1, 2, −1) with these sides, times x.
    fn apply(sides: AxisSides, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let dirichlet_below = matches!(sides, AxisSides::NodeDirichlet | AxisSides::NodeMixed(true));
        let dirichlet_above = matches!(sides, AxisSides::NodeDirichlet | AxisSides::NodeMixed(false));
        let outside = |inside: f64, mirror: usize, lower: bool| match sides {
            AxisSides::Periodic if lower => x[n - 1],
            AxisSides::Periodic => x[0],
            AxisSides::CellDirichlet => -inside,
            AxisSides::CellNeumann => inside,
            AxisSides::CellMixed(dirichlet) => {
                if dirichlet == lower {
                    -inside
                } else {
                    inside
                }
            }
            _ if lower && dirichlet_below || !lower && dirichlet_above => 0.0,
            // n = 1: both neighbours are the unknown itself, or the mixed one's Dirichlet value.
            _ => x.get(mirror).copied().unwrap_or(if dirichlet_below || dirichlet_above { 0.0 } else { inside }),
        };
        (0..n)
            .map(|i| {
                let below = if i > 0 { x[i - 1] } else { outside(x[0], 1, true) };
                let above = if i + 1 < n { x[i + 1] } else { outside(x[n - 1], n.wrapping_sub(2), false) };
                2.0 * x[i] - below - above
            })
            .collect()
    }

    fn lines(n: usize) -> Vec<Complex<f64>> {
        let mut x = 0u64;
        let mut next = || {
            x = (1_103_515_245 * x + 12345) % (1 << 31);
            x as f64 / f64::from(1 << 30) - 1.0
        };
        (0..n).map(|_| Complex::new(next(), next())).collect()
    }

    fn largest(z: impl IntoIterator<Item = Complex<f64>>) -> f64 {
        z.into_iter().map(|z| z.norm()).fold(0.0, f64::max)
    }

    #[test]
    fn transforms_are_inverted_and_diagonalise() {
        let sizes = (1..=41).chain([64, 127, 128, 129, 250, 251, 255, 256, 257, 509, 1000, 1009, 1023, 1024]);
        for n in sizes {
            for sides in ALL {
                let transform = Transform::<f64>::new(n, sides);
                let z = lines(n);
                let nothing = vec![Complex::new(f64::NAN, 0.0); n];
                let mut scratch = vec![Complex::new(f64::NAN, 0.0); transform.scratch()];
                let run = |z: &[Complex<f64>], inverse: bool, scratch: &mut [Complex<f64>]| {
                    let (mut z, mut out) = (z.to_vec(), nothing.clone());
                    let line = LinePair { z: &mut z, out: &mut out, scratch };
                    if inverse {
                        transform.inverse(line)
                    } else {
                        transform.forward(line)
                    }
                    out
                };
                let coefficients = run(&z, false, &mut scratch);
                let back = run(&coefficients, true, &mut scratch);
                let bound = 1e-15 * (2.0 + (n as f64).log2());
                let error = largest(back.iter().zip(&z).map(|(a, b)| a - b));
                assert!(error <= 2.0 * bound, "{sides:?} {n}: back with {error:e}");
                let parts: [Vec<f64>; 2] = [z.iter().map(|z| z.re).collect(), z.iter().map(|z| z.im).collect()];
                let [re, im] = parts.map(|x| apply(sides, &x));
                let applied: Vec<_> = re.into_iter().zip(im).map(|(re, im)| Complex::new(re, im)).collect();
                let expected = coefficients.iter().zip(transform.eigenvalues()).map(|(c, e)| c * e);
                let got = run(&applied, false, &mut scratch);
                let (scale, error) =
                    (largest(coefficients.clone()), largest(got.iter().zip(expected).map(|(a, b)| a - b)));
                assert!(error <= 8.0 * bound * scale.max(1.0), "{sides:?} {n}: {error:e} of {scale:e}");
            }
        }
    }

    #[test]
    fn constants_are_where_they_are_said_to_be() {
        for n in (1..=40).chain([128, 129, 513]) {
            for sides in ALL {
                let transform = Transform::<f64>::new(n, sides);
                let Some(place) = transform.constant() else {
                    assert!(transform.eigenvalues().iter().all(|e| *e > 0.0));
                    continue;
                };
                assert!(transform.eigenvalues().iter().enumerate().all(|(k, e)| (*e == 0.0) == (k == place)));
                let (mut z, mut out) = (vec![Complex::new(1.0, -2.0); n], vec![Complex::new(f64::NAN, 0.0); n]);
                let mut scratch = vec![Complex::new(f64::NAN, 0.0); transform.scratch()];
                transform.forward(LinePair { z: &mut z, out: &mut out, scratch: &mut scratch });
                let size = transform.of_ones();
                out[place] -= Complex::new(size, -2.0 * size);
                assert!(largest(out) <= 1e-14 * n as f64, "{sides:?} {n}");
            }
        }
    }
}
