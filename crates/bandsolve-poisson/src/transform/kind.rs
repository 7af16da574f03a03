//! The transform for the sides of an axis, with its eigenvalues in the order of the coefficients.

use super::core::Core;
use super::first::{Buffers, First};
use super::fourier::Fourier;
use super::roots::{half_turns, root};
use super::wide::{ALIGNED, ComplexLanes, aligned, wide};
use crate::scalar::{PoissonScalar, real};
use bandsolve::memory::{allocate, collected};
use bandsolve::{Result, Simd};
use bandsolve_kernel::{Job, Lanes, dispatch};

/// The sides of an axis with constant spacing, which determine the transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisSides {
    /// Nodes, with Dirichlet conditions on both sides.
    NodeDirichlet,
    /// Nodes, with Neumann conditions on both sides.
    NodeNeumann,
    /// Nodes, with a Dirichlet condition on one side (the lower one if `true`) and a Neumann condition on the other.
    NodeMixed(bool),
    /// Cells, with Dirichlet conditions on both sides.
    CellDirichlet,
    /// Cells, with Neumann conditions on both sides.
    CellNeumann,
    /// Cells, with a Dirichlet condition on one side (the lower one if `true`) and a Neumann condition on the other.
    CellMixed(bool),
    /// A periodic axis.
    Periodic,
}

/// The real transform of one axis of n unknowns.
#[derive(Clone)]
pub(crate) struct Transform<T> {
    n: usize,
    sides: AxisSides,
    how: How<T>,
}

/// The algorithm of a transform.
#[derive(Clone)]
enum How<T> {
    /// The identity, for at most one unknown.
    Nothing,
    /// Nodes, with the same kind of condition on both sides.
    First(First<T>),
    /// Nodes with mixed sides: the cosine core. Cells with the same kind of condition on both sides: its transpose.
    Core(Core<T>),
    /// Cells with mixed sides: F, and the twiddle factors ½ω^((2j+1)/2) (before) and exp(iπl/n) (after).
    Fourth(Fourier<T>, Vec<[T; 2]>, Vec<[T; 2]>),
    /// A periodic axis: F.
    Periodic(Fourier<T>),
}

/// Lines `z` (two per lane), their transform `out`, and scratch. All arrays are aligned, and [`Transform::words`] returns their lengths.
pub(crate) struct LaneLines<'a, T> {
    pub z: &'a mut [T],
    pub out: &'a mut [T],
    pub scratch: &'a mut [T],
}

impl<T: PoissonScalar> Transform<T> {
    /// The transform of n unknowns.
    pub fn new(n: usize, sides: AxisSides) -> Result<Self> {
        let how = match sides {
            AxisSides::NodeNeumann | AxisSides::CellNeumann | AxisSides::Periodic if n <= 1 => How::Nothing,
            AxisSides::NodeDirichlet if n > 0 => How::First(First::new(n + 1, false)?),
            AxisSides::NodeNeumann => How::First(First::new(n - 1, true)?),
            AxisSides::NodeMixed(_) | AxisSides::CellDirichlet | AxisSides::CellNeumann if n > 0 => {
                How::Core(Core::new(n, 2.0 / n as f64)?)
            }
            AxisSides::CellMixed(_) if n > 0 => Self::fourth(n)?,
            AxisSides::Periodic => How::Periodic(Fourier::new(n)?),
            _ => How::Nothing,
        };
        Ok(Self { n, sides, how })
    }

    /// The transform for cells with mixed sides.
    fn fourth(n: usize) -> Result<How<T>> {
        let half = real::<T>(0.5);
        let before = collected((0..n).map(|j| root::<T>(2 * j + 1, 4 * n).map(|part| part * half)))?;
        let after = collected((0..n).map(|l| root::<T>(l, n)))?;
        Ok(How::Fourth(Fourier::new(n)?, before, after))
    }

    /// Number of complex vectors of `z` and of `out`, and of scratch.
    fn vectors(&self) -> [usize; 2] {
        let scratch = match &self.how {
            How::Nothing => 0,
            How::First(first) => first.scratch(),
            How::Core(Core { fourier, .. }) | How::Fourth(fourier, ..) | How::Periodic(fourier) => fourier.spare(),
        };
        [self.n + 1, scratch]
    }

    /// Number of elements of `z` and of `out`, and of scratch, rounded up to a multiple of the alignment.
    pub fn words(&self, simd: Simd) -> [usize; 2] {
        let whole = ALIGNED / size_of::<T>();
        self.vectors().map(|vectors| (2 * T::lanes(simd) * vectors).next_multiple_of(whole))
    }

    /// Eigenvalues 4 sin²(θ/2) of the second difference (−1, 2, −1) with these sides, in the order of the coefficients. The eigenvalue of the
    /// constant is exactly 0.
    pub fn eigenvalues(&self) -> Result<Vec<f64>> {
        let n = self.n;
        // 4 sin²(π·part/of)
        let value = |part: usize, of: usize| 4.0 * half_turns(part, of).0.powi(2);
        match (&self.how, self.sides) {
            (How::Nothing, _) => allocate(n, 0.0),
            (How::First(first), AxisSides::NodeDirichlet) => {
                collected(first.order()?.into_iter().map(|k| value(k, 2 * (n + 1))))
            }
            (How::First(first), _) => collected(first.order()?.into_iter().map(|k| value(k, 2 * (n - 1)))),
            (How::Core(_), AxisSides::NodeMixed(_)) => {
                collected((0..n).map(|l| value(2 * Core::<T>::order(l, n) + 1, 4 * n)))
            }
            // Coefficient k of a sine transform has the frequency n − k.
            (How::Core(_), AxisSides::CellDirichlet) => collected((0..n).map(|k| value(n - k, 2 * n))),
            (How::Core(_), _) => collected((0..n).map(|k| value(k, 2 * n))),
            (How::Fourth(..), _) => collected((0..n).map(|l| value(2 * Core::<T>::order(l, n) + 1, 4 * n))),
            (How::Periodic(_), _) => collected((0..n).map(|k| value(k.min(n - k), n))),
        }
    }

    /// The index of the eigenvalue 0, if there is one.
    pub fn constant(&self) -> Result<Option<usize>> {
        Ok(match (&self.how, self.sides) {
            (How::Nothing, _) if self.n == 1 => Some(0),
            (How::First(first), AxisSides::NodeNeumann) => first.order()?.iter().position(|k| *k == 0),
            (How::Core(_), AxisSides::CellNeumann) | (How::Periodic(_), _) => Some(0),
            _ => None,
        })
    }

    /// The coefficient [`constant`](Self::constant) of a vector of ones.
    pub fn of_ones(&self) -> f64 {
        match (&self.how, self.sides) {
            (How::First(_), _) => (self.n - 1) as f64 / 2.0,
            (How::Core(_), _) => self.n as f64 / 2.0,
            _ => self.n as f64,
        }
    }

    /// Compute the coefficients of lines or, if `inverse`, the lines from coefficients. `z` is overwritten.
    pub fn run(&self, simd: Simd, lines: LaneLines<'_, T>, inverse: bool) {
        dispatch(simd, TransformJob { transform: self, simd, lines, inverse });
    }

    /// Transform a few contiguous lines in place. Allocates the buffers itself.
    pub fn each(&self, simd: Simd, lines: &mut [T], inverse: bool) -> Result<()> {
        let (n, lanes, [words, scratch]) = (self.n, T::lanes(simd), self.words(simd));
        let mut room = allocate(2 * words + scratch + ALIGNED, T::ZERO)?;
        let (z, room) = aligned(&mut room).split_at_mut(words);
        let (out, room) = room.split_at_mut(words);
        for lines in lines.chunks_mut(n.max(1) * 2 * lanes) {
            let place = |k: usize| 2 * lanes * (k % n) + k / n;
            z.fill(T::ZERO);
            lines.iter().enumerate().for_each(|(k, x)| z[place(k)] = *x);
            self.run(simd, LaneLines { z: &mut *z, out: &mut *out, scratch: &mut room[..scratch] }, inverse);
            lines.iter_mut().enumerate().for_each(|(k, x)| *x = out[place(k)]);
        }
        Ok(())
    }

    /// Compute the coefficients of lines.
    #[inline(always)]
    fn forward<V: Lanes<Real = T>>(
        &self,
        simd: Simd,
        z: &mut [ComplexLanes<V>],
        out: &mut [ComplexLanes<V>],
        scratch: &mut [ComplexLanes<V>],
    ) {
        let (n, half) = (self.n, real::<T>(0.5));
        match (&self.how, self.sides) {
            (How::Nothing, _) => out[..n].copy_from_slice(&z[..n]),
            (How::First(first), sides) => {
                if sides == AxisSides::NodeNeumann {
                    (z[0], z[n - 1]) = (z[0].scaled(half), z[n - 1].scaled(half));
                }
                first.forward(Buffers { z, out, scratch, simd });
            }
            (How::Core(core), AxisSides::NodeMixed(lower)) => {
                if lower {
                    z[..n].reverse();
                }
                z[0] = z[0].scaled(half);
                core.twist_all(&mut z[..n]);
                core.fourier.run(simd, z, scratch);
                out[..n].copy_from_slice(if core.fourier.is_moved() { &scratch[..n] } else { &z[..n] });
            }
            (How::Core(core), sides) => {
                let moved = core.fourier.is_moved();
                let (goal, other) = if moved { (&mut *scratch, &mut *out) } else { (&mut *out, &mut *scratch) };
                gather_even_odd(&z[..n], goal, sides == AxisSides::CellDirichlet);
                core.fourier.run(simd, goal, other);
                core.untwist_all(&mut out[..n], false);
            }
            (How::Fourth(fourier, before, after), sides) => {
                if sides == AxisSides::CellMixed(true) {
                    z[..n].reverse();
                }
                let moved = fourier.is_moved();
                let (goal, other) = if moved { (&mut *scratch, &mut *out) } else { (&mut *out, &mut *scratch) };
                for j in 0..n {
                    goal[j] = (z[j] - z[n - 1 - j].turned()).times(before[j]);
                }
                fourier.run(simd, goal, other);
                for (v, w) in out.iter_mut().zip(after) {
                    *v = v.times(*w);
                }
            }
            (How::Periodic(fourier), _) => {
                fourier.run(simd, z, scratch);
                let transformed = if fourier.is_moved() { &*scratch } else { &*z };
                out[0] = transformed[0];
                for k in 1..n.div_ceil(2) {
                    let (a, b) = (transformed[k], transformed[n - k]);
                    (out[k], out[n - k]) = ((a + b).scaled(half), (b - a).turned().scaled(half));
                }
                if n.is_multiple_of(2) {
                    out[n / 2] = transformed[n / 2];
                }
            }
        }
    }

    /// Compute the lines from coefficients.
    #[inline(always)]
    fn inverse<V: Lanes<Real = T>>(
        &self,
        simd: Simd,
        z: &mut [ComplexLanes<V>],
        out: &mut [ComplexLanes<V>],
        scratch: &mut [ComplexLanes<V>],
    ) {
        let n = self.n;
        match (&self.how, self.sides) {
            (How::Nothing, _) => out[..n].copy_from_slice(&z[..n]),
            (How::First(first), _) => first.inverse(Buffers { z, out, scratch, simd }),
            (How::Core(core), AxisSides::NodeMixed(lower)) => {
                core.fourier.run(simd, z, scratch);
                let transformed = if core.fourier.is_moved() { &*scratch } else { &*z };
                out[..n].copy_from_slice(&transformed[..n]);
                core.untwist_all(&mut out[..n], true);
                if lower {
                    out[..n].reverse();
                }
            }
            (How::Core(core), sides) => {
                for v in &mut z[..n] {
                    *v = v.scaled(core.scale);
                }
                core.twist_all(&mut z[..n]);
                core.fourier.run(simd, z, scratch);
                let transformed = if core.fourier.is_moved() { &scratch[..n] } else { &z[..n] };
                scatter_even_odd(transformed, &mut out[..n], sides == AxisSides::CellDirichlet);
            }
            (How::Fourth(fourier, before, after), sides) => {
                let scale = real::<T>(2.0 / n as f64);
                for (v, w) in z.iter_mut().zip(after) {
                    *v = v.times(*w).scaled(scale);
                }
                fourier.run(simd, z, scratch);
                let transformed = if fourier.is_moved() { &*scratch } else { &*z };
                for j in 0..n {
                    let mirrored = transformed[n - 1 - j].times(before[n - 1 - j]);
                    out[j] = transformed[j].times(before[j]) - mirrored.turned();
                }
                if sides == AxisSides::CellMixed(true) {
                    out[..n].reverse();
                }
            }
            (How::Periodic(fourier), _) => {
                let scale = real::<T>(1.0 / n as f64);
                let (goal, other) = if fourier.is_moved() { (scratch, out) } else { (out, scratch) };
                goal[0] = z[0].scaled(scale);
                for k in 1..n.div_ceil(2) {
                    let (cos, sin) = (z[k].scaled(scale), z[n - k].scaled(scale).turned());
                    (goal[k], goal[n - k]) = (cos - sin, cos + sin);
                }
                if n.is_multiple_of(2) {
                    goal[n / 2] = z[n / 2].scaled(scale);
                }
                fourier.run(simd, goal, other);
            }
        }
    }
}

/// Transforms the lines of one call.
struct TransformJob<'a, T> {
    transform: &'a Transform<T>,
    simd: Simd,
    lines: LaneLines<'a, T>,
    inverse: bool,
}

impl<T: PoissonScalar> Job<T> for TransformJob<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T>>(self) {
        let Self { transform, simd, lines: LaneLines { z, out, scratch }, inverse } = self;
        let (z, out, scratch) = (wide::<T, V>(z), wide::<T, V>(out), wide::<T, V>(scratch));
        if inverse {
            transform.inverse(simd, z, out, scratch);
        } else {
            transform.forward(simd, z, out, scratch);
        }
    }
}

/// Copy z₀, z₂, … in ascending order, then the elements with odd index in descending order, negated if `negate`.
#[inline(always)]
fn gather_even_odd<V: Lanes>(z: &[ComplexLanes<V>], out: &mut [ComplexLanes<V>], negate: bool) {
    let n = z.len();
    for j in 0..n {
        if j % 2 == 0 {
            out[j / 2] = z[j];
        } else {
            out[n - 1 - j / 2] = if negate { ComplexLanes::zero() - z[j] } else { z[j] };
        }
    }
}

/// The inverse of [`gather_even_odd`].
#[inline(always)]
fn scatter_even_odd<V: Lanes>(z: &[ComplexLanes<V>], out: &mut [ComplexLanes<V>], negate: bool) {
    let n = z.len();
    for j in 0..n {
        if j % 2 == 0 {
            out[j] = z[j / 2];
        } else {
            out[j] = if negate { ComplexLanes::zero() - z[n - 1 - j / 2] } else { z[n - 1 - j / 2] };
        }
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

    /// The second difference (−1, 2, −1) of x with these sides.
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
            // For n = 1, a Neumann side mirrors the unknown itself, or the Dirichlet value of the other side.
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

    fn lines(n: usize) -> Vec<f64> {
        let mut x = 0u64;
        let mut next = || {
            x = (1_103_515_245 * x + 12345) % (1 << 31);
            x as f64 / f64::from(1 << 30) - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn largest(z: impl IntoIterator<Item = f64>) -> f64 {
        z.into_iter().map(f64::abs).fold(0.0, f64::max)
    }

    #[test]
    fn transforms_are_inverted_and_diagonalize() {
        let sizes =
            (1..=60).chain([64, 100, 101, 102, 127, 128, 129, 130, 250, 251, 255, 256, 257, 262, 263, 509, 526]);
        for n in sizes.chain([1000, 1009, 1023, 1024, 2048]) {
            for sides in ALL {
                let transform = Transform::<f64>::new(n, sides).unwrap();
                // Every lane computes the same result, up to rounding.
                let z = lines(n);
                let run = |z: &[f64], inverse: bool| {
                    let results = Simd::ALL.iter().filter(|simd| simd.is_available()).map(|simd| {
                        let mut all: Vec<f64> =
                            (0..3).flat_map(|k| z.iter().map(move |z| z * [1.0, -0.5, 4.0][k])).collect();
                        transform.each(*simd, &mut all, inverse).unwrap();
                        let (one, others) = all.split_at(n);
                        (one.to_vec(), others.to_vec())
                    });
                    let results: Vec<_> = results.collect();
                    for (one, others) in &results {
                        let (two, three) = others.split_at(n);
                        let scale = largest(one.iter().copied()).max(1.0);
                        let far =
                            |(k, x): (usize, &f64)| (x + 0.5 * one[k]).abs().max((0.25 * three[k] - one[k]).abs());
                        assert!(largest(two.iter().enumerate().map(far)) <= 1e-14 * scale, "{sides:?} {n}");
                    }
                    results[0].0.clone()
                };
                let coefficients = run(&z, false);
                let back = run(&coefficients, true);
                let bound = 1e-15 * (2.0 + (n as f64).log2());
                let error = largest(back.iter().zip(&z).map(|(a, b)| a - b));
                assert!(error <= 2.0 * bound, "{sides:?} {n}: back with {error:e}");
                let expected = coefficients.iter().zip(transform.eigenvalues().unwrap()).map(|(c, e)| c * e);
                let got = run(&apply(sides, &z), false);
                let scale = largest(coefficients.iter().copied());
                let error = largest(got.iter().zip(expected).map(|(a, b)| a - b));
                assert!(error <= 8.0 * bound * scale.max(1.0), "{sides:?} {n}: {error:e} of {scale:e}");
            }
        }
    }

    #[test]
    fn the_constant_has_the_documented_coefficient() {
        for n in (1..=40).chain([128, 129, 513]) {
            for sides in ALL {
                let transform = Transform::<f64>::new(n, sides).unwrap();
                let eigenvalues = transform.eigenvalues().unwrap();
                let Some(place) = transform.constant().unwrap() else {
                    assert!(eigenvalues.iter().all(|e| *e > 0.0));
                    continue;
                };
                assert!(eigenvalues.iter().enumerate().all(|(k, e)| (*e == 0.0) == (k == place)));
                let mut z = vec![-2.0; n];
                transform.each(Simd::detect(), &mut z, false).unwrap();
                z[place] += 2.0 * transform.of_ones();
                assert!(largest(z) <= 1e-14 * n as f64, "{sides:?} {n}");
            }
        }
    }
}
