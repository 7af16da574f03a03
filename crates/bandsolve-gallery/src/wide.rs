//! Double-double arithmetic, real and complex, with about 106 bits and the range of `f64`.
//!
//! # Source
//! T. J. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971); for the
//! error bounds M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error bounds for basic building blocks of
//! double-word arithmetic, ACM TOMS 44 (2017). No fused multiply-add is needed, so the numbers are the same on every
//! machine.

use core::ops::{Add, Div, Mul, Neg, Sub};

/// A number with about 106 bits: [`Double`] or [`DoubleComplex`].
pub trait Wide:
    Copy
    + PartialEq
    + core::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Make a number from a real and an imaginary part. Real numbers ignore the imaginary part.
    fn from_parts(re: f64, im: f64) -> Self;
    /// Real and imaginary part, rounded.
    fn parts(self) -> (f64, f64);
    /// Multiply by a power of two. The result is exact unless it underflows.
    fn scale(self, power: f64) -> Self;
    /// Modulus, rounded to about 2 ulp of `f64`.
    fn abs(self) -> f64 {
        let (re, im) = self.parts();
        libm::hypot(re, im)
    }
}

/// The unevaluated sum of two `f64`, |low| ≤ ulp(high)/2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Double {
    /// The number rounded to `f64`.
    pub high: f64,
    /// The number minus `high`.
    pub low: f64,
}

/// a + b = s + e exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// a + b = s + e exactly if |a| ≥ |b|.
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, b - (s - a))
}

/// Two halves of 26 bits; |a| < 2⁹⁹⁶.
fn split(a: f64) -> (f64, f64) {
    let t = 134_217_729.0 * a; // 2²⁷ + 1
    let high = t - (t - a);
    (high, a - high)
}

/// a · b = p + e exactly if nothing overflows and e does not underflow.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

impl Double {
    /// Convert an `f64` exactly.
    pub const fn new(x: f64) -> Self {
        Self { high: x, low: 0.0 }
    }

    /// Square root, to about 2⁻¹⁰⁴ relative.
    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::new(self.high.sqrt());
        }
        let root = Self::new(self.high.sqrt());
        root + (self - root * root) / (root + root)
    }
}

impl From<f64> for Double {
    fn from(x: f64) -> Self {
        Self::new(x)
    }
}

impl Add for Double {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        let (s, e) = two_sum(self.high, b.high);
        let (t, f) = two_sum(self.low, b.low);
        let (s, e) = fast_two_sum(s, e + t);
        let (high, low) = fast_two_sum(s, e + f);
        Self { high, low }
    }
}

impl Neg for Double {
    type Output = Self;
    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for Double {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        self + -b
    }
}

impl Mul for Double {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        let (p, e) = two_product(self.high, b.high);
        let (high, low) = fast_two_sum(p, e + (self.high * b.low + self.low * b.high));
        Self { high, low }
    }
}

impl Div for Double {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        // Three digits of long division, each a double.
        let q1 = self.high / b.high;
        let r = self - b * Self::new(q1);
        let q2 = r.high / b.high;
        let r = r - b * Self::new(q2);
        let q3 = r.high / b.high;
        let (high, low) = fast_two_sum(q1, q2);
        Self { high, low } + Self::new(q3)
    }
}

impl Wide for Double {
    const ZERO: Self = Self::new(0.0);
    const ONE: Self = Self::new(1.0);
    fn from_parts(re: f64, _im: f64) -> Self {
        Self::new(re)
    }
    fn parts(self) -> (f64, f64) {
        (self.high, 0.0)
    }
    fn scale(self, power: f64) -> Self {
        Self { high: self.high * power, low: self.low * power }
    }
    fn abs(self) -> f64 {
        self.high.abs()
    }
}

/// A complex number of two [`Double`]s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleComplex {
    /// Real part.
    pub re: Double,
    /// Imaginary part.
    pub im: Double,
}

impl Add for DoubleComplex {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { re: self.re + b.re, im: self.im + b.im }
    }
}

impl Neg for DoubleComplex {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}

impl Sub for DoubleComplex {
    type Output = Self;
    fn sub(self, b: Self) -> Self {
        Self { re: self.re - b.re, im: self.im - b.im }
    }
}

impl Mul for DoubleComplex {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self { re: self.re * b.re - self.im * b.im, im: self.re * b.im + self.im * b.re }
    }
}

impl Div for DoubleComplex {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        // Numerator and denominator times a power of two near 1/|b|, so that |b|² neither overflows nor underflows.
        let power = power_of_two(-exponent(b.re.high).max(exponent(b.im.high)).clamp(-1000, 1000));
        let b = b.scale(power);
        let norm = b.re * b.re + b.im * b.im;
        let conj = Self { re: b.re, im: -b.im };
        let product = self * conj;
        Self { re: product.re / norm, im: product.im / norm }.scale(power)
    }
}

impl Wide for DoubleComplex {
    const ZERO: Self = Self { re: Double::ZERO, im: Double::ZERO };
    const ONE: Self = Self { re: Double::ONE, im: Double::ZERO };
    fn from_parts(re: f64, im: f64) -> Self {
        Self { re: Double::new(re), im: Double::new(im) }
    }
    fn parts(self) -> (f64, f64) {
        (self.re.high, self.im.high)
    }
    fn scale(self, power: f64) -> Self {
        Self { re: self.re.scale(power), im: self.im.scale(power) }
    }
}

/// The exponent of zero: smaller than all others.
pub const NO_EXPONENT: i32 = -5000;

/// e with 2ᵉ ≤ |x| < 2ᵉ⁺¹; [`NO_EXPONENT`] for zero.
pub fn exponent(x: f64) -> i32 {
    if x == 0.0 { NO_EXPONENT } else { libm::ilogb(x) }
}

/// 2ᵉ, zero or infinite outside the range of `f64`.
pub fn power_of_two(e: i32) -> f64 {
    libm::scalbn(1.0, e.clamp(-1100, 1100))
}

/// x · 2ᵉ, rounded once, for any e.
pub fn shift(x: f64, e: i32) -> f64 {
    libm::scalbn(x, e.clamp(-3000, 3000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn splitting_is_exact() {
        // (1 + 2⁻⁵²)² = 1 + 2⁻⁵¹ + 2⁻¹⁰⁴
        let x = 1.0 + f64::EPSILON;
        let (p, e) = two_product(x, x);
        assert_eq!((p, e), (1.0 + 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON));
        assert_eq!(two_sum(1.0, 1e-30), (1.0, 1e-30));
    }

    #[test]
    fn ring_and_field_identities_hold_to_a_hundred_bits() {
        let mut random = Random::new(3);
        for _ in 0..1000 {
            let mut draw = || Double::new(random.uniform(-1.0, 1.0)) + Double::new(random.uniform(-1e-17, 1e-17));
            let (a, b) = (draw(), draw());
            // Bounds of Joldes et al.: a few times 2⁻¹⁰⁴ each operation, on numbers of at most 2.
            let tiny = 64.0 * 2.0_f64.powi(-106);
            assert!(((a + b) * (a - b) - (a * a - b * b)).abs() <= tiny);
            assert!((a / b * b - a).abs() <= tiny * a.abs());
            let root = (a * a).sqrt();
            assert!((root * root - a * a).abs() <= tiny * a.abs());
            let (z, w) = (DoubleComplex { re: a, im: b }, DoubleComplex { re: b, im: draw() });
            assert!((z / w * w - z).abs() <= tiny * z.abs());
            assert_eq!(z * w, w * z);
        }
    }

    #[test]
    fn complex_division_does_not_overflow() {
        for size in [1e-300, 1e-160, 1e160, 1e290] {
            let z = DoubleComplex::from_parts(3.0 * size, 4.0 * size);
            let q = z / z;
            assert!((q - DoubleComplex::ONE).abs() < 1e-15, "{size} {q:?}");
        }
    }

    #[test]
    fn exponents() {
        assert_eq!(exponent(1.0), 0);
        assert_eq!(exponent(-3.0), 1);
        assert_eq!(exponent(f64::from_bits(1)), -1074);
        assert_eq!(shift(f64::from_bits(1), 1074), 1.0);
        assert_eq!(shift(f64::MAX, -2200), 0.0);
        assert_eq!(power_of_two(-1), 0.5);
    }
}
