//! Seeded random numbers that are the same, bit for bit, on every platform.
//!
//! The generators use only the operations `+ − × ÷ √` of the hardware, which IEEE 754 rounds correctly, and the pure Rust functions of `libm`. A failing
//! test can therefore be repeated on any machine from its seed.
//!
//! # Source
//! D. Blackman, S. Vigna, Scrambled linear pseudorandom number generators, ACM TOMS 47 (2021): xoshiro256++, seeded by
//! SplitMix64 as its authors recommend.

use bandsolve::{RealScalar, Scalar};
use bandsolve_kernel::random::{STEP, split_mix};

/// A generator of random numbers: xoshiro256++.
///
/// # Examples
/// ```
/// use bandsolve_gallery::Random;
/// let (mut a, mut b) = (Random::new(1), Random::new(1));
/// assert_eq!(a.uniform(-1.0, 1.0), b.uniform(-1.0, 1.0));
/// ```
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
    spare: Option<f64>,
}

impl Random {
    /// A generator. Each seed gives another sequence.
    pub fn new(seed: u64) -> Self {
        // SplitMix64 turns any seed, including 0, into a well mixed state.
        let split = |k: usize| split_mix(STEP.wrapping_mul(k as u64).wrapping_add(seed));
        Self { state: core::array::from_fn(split), spare: None }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number uniform in \[0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        const ULP: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * ULP
    }

    /// A number uniform in \[low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        let x = low + (high - low) * self.unit();
        // Rounding can give `high`, which is not in the interval.
        if x < high { x } else { low }
    }

    /// A normally distributed number, by Marsaglia's polar method.
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let standard = self.spare.take().unwrap_or_else(|| {
            loop {
                let (u, v) = (self.uniform(-1.0, 1.0), self.uniform(-1.0, 1.0));
                let s = u * u + v * v;
                if s > 0.0 && s < 1.0 {
                    let radius = (-2.0 * libm::log(s) / s).sqrt();
                    self.spare = Some(v * radius);
                    break u * radius;
                }
            }
        });
        mean + deviation * standard
    }

    /// `true` with this probability.
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An integer uniform in 0 … bound − 1.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "`bound` must be at least 1");
        // The high word of the product has a bias of bound / 2⁶⁴, far less than a test can detect.
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// `n` numbers uniform in \[low, high).
    pub fn uniform_vec(&mut self, n: usize, low: f64, high: f64) -> Vec<f64> {
        (0..n).map(|_| self.uniform(low, high)).collect()
    }

    /// `n` normally distributed numbers.
    pub fn normal_vec(&mut self, n: usize, mean: f64, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| self.normal(mean, deviation)).collect()
    }
}

/// Numbers uniform in \[−1, 1), complex numbers uniform in the square. All types have the same numbers, except for rounding.
pub fn random_vec<T: Scalar>(n: usize, random: &mut Random) -> Vec<T> {
    let real = |v: f64| T::Real::from_f64(v);
    (0..n).map(|_| T::from_parts(real(random.uniform(-1.0, 1.0)), real(random.uniform(-1.0, 1.0)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_matches_its_authors_first_values() {
        let mut random = Random { state: [1, 2, 3, 4], spare: None };
        let got: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(got, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn first_values_are_pinned() {
        let mut random = Random::new(42);
        let bits: Vec<u64> = (0..2).map(|_| random.bits()).collect();
        let uniform: Vec<u64> = (0..2).map(|_| random.uniform(-1.0, 1.0).to_bits()).collect();
        let normal: Vec<u64> = (0..4).map(|_| random.normal(3.0, 1.0).to_bits()).collect();
        assert_eq!(bits, [0xd076_4d4f_4476_689f, 0x519e_4174_576f_3791]);
        assert_eq!(uniform, [0x3fee_f81f_3ec3_093a, 0x3fd9_becf_b006_6c18]);
        assert_eq!(
            normal,
            [0x4011_5c7e_5346_70c2, 0x400b_37ef_cf65_8fcd, 0x4000_4946_c25a_ac44, 0x400a_2a16_9256_0595]
        );
    }

    #[test]
    fn moments() {
        let mut random = Random::new(7);
        let n = 100_000;
        let x = random.normal_vec(n, 3.0, 2.0);
        let mean = x.iter().sum::<f64>() / n as f64;
        let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64;
        // Six standard errors: 6·2/√n and 6·4·√(2/n).
        assert!((mean - 3.0).abs() < 0.04 && (variance - 4.0).abs() < 0.11, "{mean} {variance}");
        let u = random.uniform_vec(n, -1.0, 1.0);
        assert!(u.iter().all(|v| (-1.0..1.0).contains(v)));
        assert!((u.iter().sum::<f64>() / n as f64).abs() < 6.0 * 0.58 / (n as f64).sqrt());
        let heads = (0..n).filter(|_| random.bernoulli(0.25)).count() as f64 / n as f64;
        assert!((heads - 0.25).abs() < 6.0 * 0.44 / (n as f64).sqrt());
        let mut seen = [0; 7];
        (0..n).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|s| (*s as f64 / n as f64 - 1.0 / 7.0).abs() < 0.007), "{seen:?}");
    }
}
