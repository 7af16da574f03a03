//! What stands before and after the transforms of an odd number of sines.

use super::few::{Few, WIDE, backwards, forwards, put_backwards, put_forwards};
use crate::scalar::{PoissonScalar, real};
use bandsolve::Simd;
use bandsolve_kernel::{Job, Lanes, dispatch};

/// What is done to numbers z_1 … z_{N−1}, or to the N of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OddStep {
    /// line = 0, z_1, z_2, …
    Spread,
    /// line = 0, z_1, −z_2, …
    SpreadSigned,
    /// (line_m − line_{N−m})/2i for 0 < m < N/2: sums with sines.
    Gather,
    /// line_m = z_m/2i, line_{N−m} = −line_m.
    Mirror,
    /// z = scale · line
    Put,
    /// z ← z + scale · line with every other sign changed.
    AddSigned,
}

/// A step, all numbers as real and imaginary parts in turn.
pub(super) struct OddSine<'a, T> {
    step: OddStep,
    from: &'a [T],
    to: &'a mut [T],
    scale: T,
}

/// Runs one step.
pub(super) fn run<T: PoissonScalar>((step, simd): (OddStep, Simd), from: &[T], to: &mut [T], scale: T) {
    dispatch(simd, OddSine { step, from, to, scale });
}

impl<T: PoissonScalar> Job<T> for OddSine<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        match self.step {
            OddStep::Spread => {
                self.to[..2].fill(T::ZERO);
                self.to[2..].copy_from_slice(self.from);
            }
            OddStep::SpreadSigned => self.spread_signed(),
            OddStep::Gather => self.gather(),
            OddStep::Mirror => self.mirror(),
            OddStep::Put => {
                let from = &self.from[2..][..self.to.len()];
                for k in 0..from.len() {
                    self.to[k] = from[k] * self.scale;
                }
            }
            OddStep::AddSigned => self.add_signed(),
        }
    }
}

impl<T: PoissonScalar> OddSine<'_, T> {
    #[inline(always)]
    fn spread_signed(self) {
        self.to[..2].fill(T::ZERO);
        let (from, to) = (self.from, &mut self.to[2..][..self.from.len()]);
        // N is odd, so that numbers come in pairs.
        for k in (0..from.len()).step_by(4) {
            let (z, out) = (&from[k..][..4], &mut to[k..][..4]);
            (out[0], out[1], out[2], out[3]) = (z[0], z[1], -z[2], -z[3]);
        }
    }

    #[inline(always)]
    fn add_signed(self) {
        let (from, scale) = (&self.from[2..][..self.to.len()], self.scale);
        for k in (0..from.len()).step_by(4) {
            let (z, out) = (&from[k..][..4], &mut self.to[k..][..4]);
            (out[0], out[1]) = (out[0] + z[0] * scale, out[1] + z[1] * scale);
            (out[2], out[3]) = (out[2] - z[2] * scale, out[3] - z[3] * scale);
        }
    }

    #[inline(always)]
    fn gather(self) {
        let (n, count, half) = (self.from.len() / 2, self.to.len() / 2, real::<T>(0.5) * self.scale);
        let whole = count / WIDE * WIDE;
        let mut m = 1;
        while m <= whole {
            let (v, mirrored) = (forwards(self.from, m), backwards(self.from, n - m));
            let mut difference = v;
            for k in 0..2 * WIDE {
                difference[k] = (v[k] - mirrored[k]) * half;
            }
            put_forwards(self.to, m - 1, over_i(difference));
            m += WIDE;
        }
        for m in whole + 1..=count {
            let (v, mirrored) = (2 * m, 2 * (n - m));
            self.to[2 * m - 2] = (self.from[v + 1] - self.from[mirrored + 1]) * half;
            self.to[2 * m - 1] = -((self.from[v] - self.from[mirrored]) * half);
        }
    }

    #[inline(always)]
    fn mirror(self) {
        let (n, count, half) = (self.to.len() / 2, self.from.len() / 2, real::<T>(0.5) * self.scale);
        self.to[..2].fill(T::ZERO);
        let whole = count / WIDE * WIDE;
        let mut m = 1;
        while m <= whole {
            let mut z = forwards(self.from, m - 1);
            for k in 0..2 * WIDE {
                z[k] *= half;
            }
            let z = over_i(z);
            let mut negated = z;
            for k in 0..2 * WIDE {
                negated[k] = -z[k];
            }
            put_forwards(self.to, m, z);
            put_backwards(self.to, n - m, negated);
            m += WIDE;
        }
        for m in whole + 1..=count {
            let (re, im) = (self.from[2 * m - 2] * half, self.from[2 * m - 1] * half);
            (self.to[2 * m], self.to[2 * m + 1]) = (im, -re);
            (self.to[2 * (n - m)], self.to[2 * (n - m) + 1]) = (-im, re);
        }
    }
}

/// z/i
#[inline(always)]
fn over_i<T: PoissonScalar>(z: Few<T>) -> Few<T> {
    [z[1], -z[0], z[3], -z[2], z[5], -z[4], z[7], -z[6]]
}
