//! Determinants that neither overflow nor underflow.

use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::exact::{exponent, ldexp};
use bandsolve_kernel::{RealScalar, Scalar};
use core::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// A determinant as phase and logarithm: det A = `phase` · exp(`log_abs`).
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let n = 1000;
/// let a = Tridiagonal::from_vecs(vec![0.0; n], vec![-10.0; n], vec![0.0; n], false)?;
/// let determinant = Plan::new(a.shape()).factor(&a)?.determinant()?; // 10^1000
/// assert_eq!(determinant.phase, 1.0);
/// assert!((determinant.log_abs / (1000.0 * 10_f64.ln()) - 1.0).abs() < 1e-10);
/// assert_eq!(determinant.value(), f64::INFINITY);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Determinant<T> {
    /// det A / |det A|: ±1, or a number of modulus 1 if T is complex; 0 for a singular matrix.
    pub phase: T,
    /// ln |det A|; −∞ for a singular matrix, 0 for n = 0.
    pub log_abs: f64,
}

impl<T: Scalar> Determinant<T> {
    /// The determinant of a matrix without rows.
    pub const ONE: Self = Self { phase: T::ONE, log_abs: 0.0 };

    /// Whether the matrix is singular.
    pub fn is_zero(&self) -> bool {
        self.phase == T::ZERO
    }

    /// The determinant as one number; infinity or 0 if it leaves the range of the type.
    pub fn value(&self) -> T {
        let _mode = Standard::enter();
        // Part by part, because 0 times infinity is NaN.
        let size = T::Real::from_f64(self.log_abs.exp());
        if T::COMPLEX && size == T::Real::INFINITY {
            let part = |v: T::Real| if v == T::Real::ZERO { v } else { v * size };
            return T::from_parts(part(self.phase.re()), part(self.phase.im()));
        }
        self.phase.scale(size)
    }

    /// The product of two determinants, which is the determinant of the block diagonal matrix of both.
    pub fn times(&self, other: &Self) -> Self {
        let _mode = Standard::enter();
        Self { phase: self.phase * other.phase, log_abs: self.log_abs + other.log_abs }
    }
}

/// A product of many numbers: (re + i·im)·2^exponent with the larger of |re| and |im| in [½, 1), or zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScaledProduct {
    parts: [f64; 2],
    exponent: i64,
}

impl ScaledProduct {
    pub const ONE: Self = Self { parts: [0.5, 0.0], exponent: 1 };
    pub const ZERO: Self = Self { parts: [0.0, 0.0], exponent: 0 };

    /// Return det A of P·S·A = L·U from the numbers 1/uⱼⱼ, the powers of two on the diagonal of S, and the number of exchanges in P.
    pub fn of_factors<T: Scalar>(inverse: impl Iterator<Item = T>, scale: &[T::Real], exchanges: usize) -> Self {
        let mut product = Self::ONE;
        inverse.for_each(|v| product.multiply(v));
        scale.iter().for_each(|v| product.multiply(T::from_real(*v)));
        product.invert();
        product.negate_if(exchanges % 2 == 1);
        product
    }

    pub fn multiply<T: Scalar>(&mut self, v: T) {
        // Scaling by a power of two is exact.
        let (re, im) = (v.re().to_f64(), if T::COMPLEX { v.im().to_f64() } else { 0.0 });
        let by = exponent(re.abs().max(im.abs()));
        let [re, im] = [ldexp(re, -by), ldexp(im, -by)];
        let [a, b] = self.parts;
        self.parts = if T::COMPLEX { [a * re - b * im, a * im + b * re] } else { [a * re, 0.0] };
        self.exponent += i64::from(by);
        self.normalize();
    }

    pub fn divide<T: Scalar>(&mut self, v: T) {
        self.invert();
        self.multiply(v);
        self.invert();
    }

    /// Replace the product by its reciprocal.
    pub fn invert(&mut self) {
        let [a, b] = self.parts;
        self.parts = if b == 0.0 {
            [1.0 / a, 0.0]
        } else {
            let square = a * a + b * b;
            [a / square, -b / square]
        };
        self.exponent = -self.exponent;
        self.normalize();
    }

    pub fn negate_if(&mut self, negate: bool) {
        if negate {
            self.parts = self.parts.map(|v| -v);
        }
    }

    pub fn is_finite(&self) -> bool {
        self.parts.iter().all(|v| v.is_finite())
    }

    fn normalize(&mut self) {
        let by = exponent(self.parts[0].abs().max(self.parts[1].abs()));
        self.parts = self.parts.map(|v| ldexp(v, -by));
        self.exponent += i64::from(by);
    }

    pub fn determinant<T: Scalar>(&self) -> Determinant<T> {
        let [re, im] = self.parts;
        let modulus = if T::COMPLEX { re.hypot(im) } else { re.abs() };
        if modulus == 0.0 {
            return Determinant { phase: T::ZERO, log_abs: f64::NEG_INFINITY };
        }
        let phase = T::from_parts(T::Real::from_f64(re / modulus), T::Real::from_f64(im / modulus));
        // Near 1, both terms of the logarithm must be small to keep its digits.
        let half = modulus < FRAC_1_SQRT_2;
        let (modulus, exponent) = if half { (2.0 * modulus, self.exponent - 1) } else { (modulus, self.exponent) };
        Determinant { phase, log_abs: modulus.ln() + exponent as f64 * LN_2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex64;

    #[test]
    fn products_beyond_the_range() {
        let mut product = ScaledProduct::ONE;
        for _ in 0..1000 {
            product.multiply(-1e300);
            product.multiply(1e-320); // subnormal
        }
        let computed: Determinant<f64> = product.determinant();
        // 1e-320 is 2024 times the smallest number.
        let expected = 1000.0 * (1e300f64.ln() + 2024.0f64.ln() - 1074.0 * LN_2);
        assert!(computed.phase == 1.0 && (computed.log_abs / expected - 1.0).abs() < 1e-14, "{computed:?}, {expected}");
        assert_eq!(computed.value(), 0.0);
        product.invert();
        product.negate_if(true);
        let computed: Determinant<f64> = product.determinant();
        assert!(computed.phase == -1.0 && (computed.log_abs / -expected - 1.0).abs() < 1e-14);
        assert_eq!(computed.value(), f64::NEG_INFINITY);
    }

    #[test]
    fn phases_turn() {
        let mut product = ScaledProduct::ONE;
        for _ in 0..7 {
            product.multiply(Complex64::new(0.0, 3.0));
        }
        let computed: Determinant<Complex64> = product.determinant();
        assert!(
            (computed.phase - Complex64::new(0.0, -1.0)).norm() < 1e-15
                && (computed.log_abs - 7.0 * 3f64.ln()).abs() < 1e-14
        );
        assert!((computed.value() - Complex64::new(0.0, -2187.0)).norm() < 1e-11);
        product.invert();
        let back: Determinant<Complex64> = product.determinant();
        assert!((back.phase - Complex64::new(0.0, 1.0)).norm() < 1e-15 && back.log_abs == -computed.log_abs);
    }

    #[test]
    fn near_one_the_logarithm_keeps_its_digits() {
        for x in [1.0 - 1e-10, 1.0f64, 1.0 + 1e-10] {
            let mut product = ScaledProduct::ONE;
            product.multiply(x);
            assert_eq!(product.determinant::<f64>().log_abs, x.ln());
        }
    }

    #[test]
    fn zero_and_what_is_not_finite() {
        assert_eq!(ScaledProduct::ZERO.determinant(), Determinant { phase: 0.0, log_abs: f64::NEG_INFINITY });
        assert_eq!(ScaledProduct::ONE.determinant::<f64>(), Determinant::ONE);
        let mut product = ScaledProduct::ONE;
        product.multiply(0.0);
        assert!(product.determinant::<f64>().is_zero());
        product.invert();
        assert!(!product.is_finite());
    }
}
