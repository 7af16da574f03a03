//! The mean of u, weighted by volumes.

use crate::chain::two_sum;
use crate::scalar::{PoissonScalar, real};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{RealScalar, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;

/// Numbers of a piece at least.
const PIECE: usize = 1 << 12;
/// Numbers that are added up without looking at rounding, in [`SUMS`] sums.
const PLAIN: usize = 64;
const SUMS: usize = 8;
/// Unknowns from which on more than one thread works.
const SHARED: usize = 1 << 16;

/// Corrections of the mean of u at most: one does, unless u is many orders of magnitude larger than its mean.
const LEVELLINGS: usize = 2;
/// Rounding errors of a mean that is measured, in ε of double precision and parts of the mean of |u|: 8 products are added up, then 8 such sums,
/// then all in twice the precision, with weights that are products of three quotients. That is less than 24 roundings of ε/2.
const MEAN_ROUNDING: f64 = 12.0 * f64::EPSILON;

/// Adds constants to u until its mean is `asked` up to rounding. `shifted` adds a constant to u, if it is given one, and returns the means of
/// u and of |u|. Returns the mean of u, which is `asked` where that is reached, and whether u has changed.
pub fn levelled<T: PoissonScalar>(asked: f64, mut shifted: impl FnMut(Option<T>) -> [f64; 2]) -> (f64, bool) {
    // u + δ is rounded to T, by ε/2 of itself.
    let rounding = |size: f64| (RealScalar::to_f64(T::EPSILON) + MEAN_ROUNDING) * (size + asked.abs());
    let reached = |[mean, size]: [f64; 2]| (mean - asked).abs() <= rounding(size);
    let (mut means, mut changed) = (shifted(None), false);
    for _ in 0..LEVELLINGS {
        if reached(means) {
            break;
        }
        means = shifted(Some(real(asked - means[0])));
        changed = true;
    }
    (if reached(means) { asked } else { means[0] }, changed)
}

/// Weights of the unknowns, by axis, each with the sum 1.
pub(crate) struct WeightedMean<'a> {
    pub weights: &'a [Vec<f64>; 3],
    pub threads: usize,
    pub simd: Simd,
}

impl WeightedMean<'_> {
    /// Rows of a piece, and pieces.
    fn pieces(weights: &[Vec<f64>; 3]) -> [usize; 2] {
        let [rows, lines, n] = weights.each_ref().map(Vec::len);
        let most = PIECE.div_ceil(lines * n);
        [most, rows.div_ceil(most)]
    }

    pub fn scratch(weights: &[Vec<f64>; 3]) -> StackReq {
        StackReq::new::<[f64; 2]>(Self::pieces(weights)[1])
    }

    /// The means of u and of |u|. Sums do not depend on the number of threads.
    pub fn of<T: PoissonScalar>(&self, u: &[T], stack: &mut PodStack) -> [f64; 2] {
        let [most, count] = Self::pieces(self.weights);
        let rows = self.weights[0].len();
        let (sums, _) = stack.make_raw::<[f64; 2]>(count);
        let least = if self.threads > 1 && u.len() >= SHARED { count.div_ceil(4 * self.threads).max(1) } else { 0 };
        each_chunk((count, least), RowsOf(&mut *sums, 1), &|piece, sum| {
            let rows = piece * most..rows.min((piece + 1) * most);
            sum.0[0] = dispatch(self.simd, MeanJob { weights: self.weights, rows, u });
        });
        [0, 1].map(|k| compensated(sums.iter().map(|sum| sum[k])))
    }
}

/// Sums of weight·u and weight·|u| of some rows.
pub(crate) struct MeanJob<'a, T> {
    pub weights: &'a [Vec<f64>; 3],
    pub rows: Range<usize>,
    pub u: &'a [T],
}

impl<T: PoissonScalar> Job<T> for MeanJob<'_, T> {
    type Output = [f64; 2];
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> [f64; 2] {
        let [one, two, three] = self.weights;
        let mut all = [[0.0; 2]; 2];
        for i in self.rows {
            for (j, of_line) in two.iter().enumerate() {
                let line = &self.u[(i * two.len() + j) * three.len()..][..three.len()];
                for (weights, u) in three.chunks(PLAIN).zip(line.chunks(PLAIN)) {
                    let sums = weighted_sums(weights, u);
                    (0..2).for_each(|k| add(&mut all[k], one[i] * of_line * sums[k]));
                }
            }
        }
        all.map(|[high, low]| high + low)
    }
}

/// Adds a number to a sum and to what rounding has taken from it.
#[inline(always)]
fn add([high, low]: &mut [f64; 2], x: f64) {
    let [sum, lost] = two_sum(*high, x);
    (*high, *low) = (sum, *low + lost);
}

/// The sum of numbers, with one rounding error for all of them.
pub(crate) fn compensated(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut all = [0.0; 2];
    numbers.for_each(|x| add(&mut all, x));
    all[0] + all[1]
}

/// Σ weight·u and Σ weight·|u| of a few numbers.
#[inline(always)]
fn weighted_sums<T: PoissonScalar>(weights: &[f64], u: &[T]) -> [f64; 2] {
    let (mut sums, mut sizes) = ([0.0; SUMS], [0.0; SUMS]);
    let (groups, numbers) = (weights.chunks_exact(SUMS), u.chunks_exact(SUMS));
    let rest = groups.remainder().iter().zip(numbers.remainder());
    for (weights, u) in groups.zip(numbers) {
        for k in 0..SUMS {
            let u = RealScalar::to_f64(u[k]);
            sums[k] += weights[k] * u;
            sizes[k] += weights[k] * u.abs();
        }
    }
    for (k, (weight, u)) in rest.enumerate() {
        let u = RealScalar::to_f64(*u);
        sums[k] += weight * u;
        sizes[k] += weight * u.abs();
    }
    [sums.iter().sum(), sizes.iter().sum()]
}
