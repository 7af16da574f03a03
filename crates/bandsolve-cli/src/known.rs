//! A known solution and the right-hand side that belongs to it.

use crate::structure::System;
use bandsolve::{RealScalar, Scalar};

/// A small reproducible generator (splitmix64): good enough for test data, the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * f64::powi(2.0, -53)
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A solution of normal numbers, mean 3 and deviation 1 in each part.
pub fn solution<T: Scalar>(n: usize, seed: u64) -> Vec<T> {
    let mut random = Random::new(seed);
    let mut part = || T::Real::from_f64(3.0 + random.normal());
    (0..n).map(|_| if T::COMPLEX { T::from_parts(part(), part()) } else { T::from_real(part()) }).collect()
}

/// rhs = A·x, every row summed in doubled precision and rounded once.
pub fn right_hand_side<T: Scalar>(a: &System<T>, x: &[T]) -> Vec<T> {
    let mut sums = vec![(Doubled::default(), Doubled::default()); if T::COMPLEX { x.len() } else { 0 }];
    let mut real = vec![Doubled::default(); if T::COMPLEX { 0 } else { x.len() }];
    a.for_each(|i, j, v| {
        let (v_re, x_re) = (v.re().to_f64(), x[j].re().to_f64());
        if !T::COMPLEX {
            return real[i].add_product(v_re, x_re);
        }
        let (v_im, x_im) = (v.im().to_f64(), x[j].im().to_f64());
        sums[i].0.add_product(v_re, x_re);
        sums[i].0.add_product(-v_im, x_im);
        sums[i].1.add_product(v_re, x_im);
        sums[i].1.add_product(v_im, x_re);
    });
    let round = |d: &Doubled| T::Real::from_f64(d.high + d.low);
    let complex = sums.iter().map(|(re, im)| T::from_parts(round(re), round(im)));
    complex.chain(real.iter().map(|re| T::from_real(round(re)))).collect()
}

/// |x − known|₂ / |known|₂.
pub fn forward_error<T: Scalar>(x: &[T], known: &[T]) -> f64 {
    let parts = |v: T| [v.re().to_f64(), v.im().to_f64()];
    let known_norm = norm(known.iter().flat_map(|v| parts(*v)));
    let error = x.iter().zip(known).flat_map(|(a, b)| {
        let ([a_re, a_im], [b_re, b_im]) = (parts(*a), parts(*b));
        [a_re - b_re, a_im - b_im]
    });
    if known.is_empty() { 0.0 } else { norm(error) / known_norm }
}

/// Euclidean norm, free of overflow.
fn norm(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(0.0_f64, |m, v| m.max_nan(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * values.map(|v| (v / largest) * (v / largest)).sum::<f64>().sqrt()
}

/// A number as the unevaluated sum `high + low`: twice the digits of `f64`.
#[derive(Debug, Clone, Copy, Default)]
struct Doubled {
    high: f64,
    low: f64,
}

impl Doubled {
    /// Adds a·b: the product is exact by a fused multiply-add, the sum by Knuth's two-sum.
    fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        let product_low = a.mul_add(b, -product);
        let sum = self.high + product;
        let back = sum - self.high;
        self.low += (self.high - (sum - back)) + (product - back) + product_low;
        self.high = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubled_sum_survives_cancellation() {
        let mut sum = Doubled::default();
        sum.add_product(1e17, 1.0);
        sum.add_product(1.0, 1.0);
        sum.add_product(-1e17, 1.0);
        assert_eq!(sum.high + sum.low, 1.0);
    }

    #[test]
    fn normal_numbers_have_mean_three_and_deviation_one() {
        let x: Vec<f64> = solution(100_000, 5);
        let mean = x.iter().sum::<f64>() / 1e5;
        let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        // Standard errors: 0.003 and 0.0045.
        assert!((mean - 3.0).abs() < 0.015, "{mean}");
        assert!((variance - 1.0).abs() < 0.025, "{variance}");
    }

    #[test]
    fn forward_error_of_a_large_answer_is_finite() {
        assert!(forward_error(&[1e300, 0.0], &[1.0, 1.0]).is_finite());
        assert_eq!(forward_error(&[3.0, 4.0], &[3.0, 4.0]), 0.0);
        assert!(forward_error(&[f64::NAN], &[1.0]).is_nan());
    }
}
