//! The mean of u, weighted by volumes.

use crate::chain::two_sum;
use crate::scalar::{PoissonScalar, real};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{RealScalar, Simd};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;

/// Minimum length of a piece.
const PIECE: usize = 1 << 12;
/// Number of products that are added without compensation, in [`SUMS`] partial sums.
const PLAIN: usize = 64;
const SUMS: usize = 8;
/// Minimum number of unknowns for several threads.
const SHARED: usize = 1 << 16;

/// Maximum number of corrections of the mean of u. One is enough, unless u is many orders of magnitude larger than its mean.
const LEVELLINGS: usize = 2;
/// Bound of the rounding error of a measured mean, relative to the mean of |u|.
///
/// The code adds 8 products, then 8 of these sums, then all sums in twice the precision. The weights are products of three quotients. The total is less
/// than 24 rounding errors of ε/2 in double precision.
const MEAN_ROUNDING: f64 = 12.0 * f64::EPSILON;

/// Adds constants to u until its mean is `target` up to rounding.
///
/// `shifted` adds a constant to u if there is one, and returns the means of u and of |u|. The result is the mean of u, and whether u has changed. The
/// mean is exactly `target` if u has this mean up to rounding.
pub fn levelled<T: PoissonScalar>(target: f64, mut shifted: impl FnMut(Option<T>) -> [f64; 2]) -> (f64, bool) {
    // Rounding of u + δ to T has a relative error of ε/2.
    let rounding = |size: f64| (RealScalar::to_f64(T::EPSILON) + MEAN_ROUNDING) * (size + target.abs());
    let reached = |[mean, size]: [f64; 2]| (mean - target).abs() <= rounding(size);
    let (mut means, mut changed) = (shifted(None), false);
    for _ in 0..LEVELLINGS {
        if reached(means) {
            break;
        }
        means = shifted(Some(real(target - means[0])));
        changed = true;
    }
    (if reached(means) { target } else { means[0] }, changed)
}

/// The weights of the unknowns along each axis, each with sum 1.
pub(crate) struct WeightedMean<'a> {
    pub weights: &'a [Vec<f64>; 3],
    pub threads: usize,
    pub simd: Simd,
}

impl WeightedMean<'_> {
    /// The number of rows of a piece, and the number of pieces.
    fn pieces(weights: &[Vec<f64>; 3]) -> [usize; 2] {
        let [rows, lines, n] = weights.each_ref().map(Vec::len);
        let most = PIECE.div_ceil(lines * n);
        [most, rows.div_ceil(most)]
    }

    /// Scratch memory of [`of`](Self::of).
    pub fn scratch(weights: &[Vec<f64>; 3]) -> StackReq {
        StackReq::new::<[f64; 2]>(Self::pieces(weights)[1])
    }

    /// The means of u and of |u|. They do not depend on the number of threads.
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

/// The sums of weight·u and weight·|u| over some rows.
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

/// Adds x to the sum `high`, and the rounding error to `low`.
#[inline(always)]
fn add([high, low]: &mut [f64; 2], x: f64) {
    let [sum, lost] = two_sum(*high, x);
    (*high, *low) = (sum, *low + lost);
}

/// The sum of numbers, computed in twice the precision and rounded once.
pub fn compensated(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut all = [0.0; 2];
    numbers.for_each(|x| add(&mut all, x));
    all[0] + all[1]
}

/// Σ weight·u and Σ weight·|u| of at most [`PLAIN`] numbers, without compensation.
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
