//! Tools for residuals: sums in twice the working precision, powers of two, and the largest of many errors.

use crate::row_errors::Peak;
use crate::{RealScalar, Scalar, Simd};

/// The running maximum of moduli, or NaN if one of them is NaN. Bits of non-negative numbers have the order of the
/// numbers, with NaN as the largest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunningMaximum(u64);

impl RunningMaximum {
    #[inline(always)]
    pub fn add(&mut self, v: f64) {
        self.0 = self.0.max(v.abs().to_bits());
    }

    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// ‖x‖∞ as `value · 2^exponent`, or the smallest normal number if that is larger. Smaller numbers are known only with
/// an absolute error of a fraction of the smallest normal number.
pub struct ScaledNorm {
    pub value: f64,
    pub exponent: i32,
    /// The product `value · 2^exponent`, which may overflow.
    pub plain: f64,
}

impl ScaledNorm {
    pub fn of<T: Scalar>(x: &[T]) -> Self {
        let largest = Peak { values: x }.run_on(Simd::detect()).to_f64();
        let least = T::Real::MIN_POSITIVE.to_f64();
        let largest = if largest < least { least } else { largest };
        let exponent = exponent(largest);
        let mut value = largest * pow2(-exponent);
        if T::COMPLEX && largest.is_finite() {
            value = x.iter().map(|v| modulus(parts(*v, pow2(-exponent)))).fold(value, f64::max);
        }
        Self { value, exponent, plain: value * pow2(exponent) }
    }
}

/// One row whose entries, x and d are multiplied by powers of two so that the largest ones are near 1.
pub struct NormalizedRow {
    /// d − A·x, scaled by 2^−exponent.
    pub residual: [f64; 2],
    /// Σ|aᵢⱼ|·‖x‖∞ + |d|, with the same scale.
    pub size: f64,
    pub exponent: i32,
}

impl NormalizedRow {
    /// The row with the given scaled residual, the sum of the scaled row, and d.
    #[inline(always)]
    pub fn sum_up<T: Scalar>(residual: [f64; 2], (row_sum, norm): (f64, &ScaledNorm), (d, exponent): (T, i32)) -> Self {
        let d = parts(d, 1.0).map(|v| ldexp(v, -exponent));
        Self { residual, size: row_sum * norm.value + modulus(d), exponent }
    }

    /// The residual without scaling.
    #[inline(always)]
    pub fn unscaled<T: Scalar>(&self) -> T {
        let [re, im] = self.residual.map(|v| T::Real::from_f64(ldexp(v, self.exponent)));
        T::from_parts(re, im)
    }

    #[inline(always)]
    pub fn error(&self) -> f64 {
        let error = modulus(self.residual);
        if error == 0.0 {
            0.0
        } else if self.size == f64::INFINITY {
            // d exceeds A·x by more than the range of the type, or is infinite, which is an error.
            if self.residual.iter().any(|v| v.is_nan()) { f64::NAN } else { 1.0 }
        } else {
            error / self.size
        }
    }
}

/// A sum as an unevaluated pair, after Ogita, Rump & Oishi, *Accurate sum and dot product* (2005).
#[derive(Clone, Copy)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    pub fn new(high: f64) -> Self {
        Self { high, low: 0.0 }
    }

    /// Add a·b. With `COMPENSATED`, the rounding errors of the product and the sum are added too. |a|, |b| ≤ 2¹⁰⁰.
    #[inline(always)]
    pub fn add_product<const COMPENSATED: bool>(&mut self, a: f64, b: f64) {
        let product = a * b;
        let sum = self.high + product;
        if COMPENSATED {
            let lost_in_product = lost(a, b, product);
            let back = sum - self.high;
            let lost_in_sum = (self.high - (sum - back)) + (product - back);
            self.low += lost_in_product + lost_in_sum;
        }
        self.high = sum;
    }

    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

/// The rounding error a·b − `product`, where `product` is a·b rounded. After Dekker.
#[inline(always)]
pub fn lost(a: f64, b: f64, product: f64) -> f64 {
    let ((a1, a2), (b1, b2)) = (split(a), split(b));
    a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
}

/// Veltkamp's splitting a = high + low with 26 bits each. Products of these parts are exact without FMA.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a; // 2²⁷ + 1
    let high = c - (c - a);
    (high, a - high)
}

/// Real and imaginary part in double precision, multiplied by a power of two.
#[inline(always)]
pub fn parts<T: Scalar>(v: T, scale: f64) -> [f64; 2] {
    [v.re().to_f64() * scale, if T::COMPLEX { v.im().to_f64() * scale } else { 0.0 }]
}

/// |z| for values that are far from the limits of the type.
#[inline(always)]
pub fn modulus(z: [f64; 2]) -> f64 {
    if z[1] == 0.0 { z[0].abs() } else { (z[0] * z[0] + z[1] * z[1]).sqrt() }
}

/// e with |v| in [2^(e−1), 2^e), clamped to ±1000.
pub fn exponent(v: f64) -> i32 {
    let biased = (v.to_bits() >> 52) as i32 & 0x7ff;
    (biased - 1022).clamp(-1000, 1000)
}

/// 2^e for |e| ≤ 1022.
#[inline(always)]
pub fn pow2(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// v·2^e for |e| ≤ 2000.
#[inline(always)]
pub fn ldexp(v: f64, e: i32) -> f64 {
    let half = e / 2;
    v * pow2(half) * pow2(e - half)
}
