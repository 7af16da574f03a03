//! The four number types, with arithmetic for the range of data that LAPACK allows.

use bandsolve::{Complex32, Complex64, RealScalar, Scalar};
use core::hint::select_unpredictable;

/// A number type with the first letter of its LAPACK names.
pub trait LapackScalar: Scalar {
    /// `S`, `D`, `C` or `Z`.
    const LETTER: u8;
}

impl LapackScalar for f32 {
    const LETTER: u8 = b'S';
}
impl LapackScalar for f64 {
    const LETTER: u8 = b'D';
}
impl LapackScalar for Complex32 {
    const LETTER: u8 = b'C';
}
impl LapackScalar for Complex64 {
    const LETTER: u8 = b'Z';
}

/// Relative error of one rounding: half the distance from 1 to the next number.
pub fn rounding<R: RealScalar>() -> R {
    R::EPSILON * R::from_f64(0.5)
}

/// v / by, without the division of the imaginary part of a real number.
#[inline(always)]
pub fn divided<T: Scalar>(v: T, by: T::Real) -> T {
    if T::COMPLEX { T::from_parts(v.re() / by, v.im() / by) } else { T::from_real(v.re() / by) }
}

/// The larger of two numbers; the second if the first is NaN.
#[inline(always)]
pub fn larger<R: RealScalar>(a: R, b: R) -> R {
    if a > b { a } else { b }
}

/// a / b; for complex numbers without intermediate overflow or underflow.
#[inline(always)]
pub fn divide<T: Scalar>(a: T, b: T) -> T {
    if !T::COMPLEX {
        return a / b;
    }
    // (The sum of both can overflow.)
    let scale = larger(b.re().abs(), b.im().abs()).equilibrate();
    // The larger part of q is in [2, 4), so its square neither overflows nor underflows.
    let q = b.scale(scale);
    let square = q.re() * q.re() + q.im() * q.im();
    let inverse = Scalar::conj(q).scale(T::Real::ONE / square);
    (a * inverse).scale(scale)
}

/// `a` if `yes`, otherwise `b`, without a branch. For random data, a branch would be mispredicted half the time.
#[inline(always)]
pub fn select<T: Scalar>(yes: bool, a: T, b: T) -> T {
    let re = select_unpredictable(yes, a.re(), b.re());
    if T::COMPLEX { T::from_parts(re, select_unpredictable(yes, a.im(), b.im())) } else { T::from_real(re) }
}

/// A power of two within a factor of two of x; 1 if x is zero or not finite.
pub(crate) fn power_of_two_near<R: RealScalar>(x: R) -> R {
    if x.is_finite() && x > R::ZERO { R::ONE / x.normalizer() } else { R::ONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_in_the_whole_range() {
        let c = Complex64::new;
        for e in [-300, -160, 0, 160, 300] {
            let s = 10f64.powi(e);
            let q = divide(c(3.0 * s, -2.0 * s), c(1.0 * s, 4.0 * s));
            // (3 − 2i)/(1 + 4i) = (3 − 2i)(1 − 4i)/17 = (−5 − 14i)/17
            assert!((q - c(-5.0 / 17.0, -14.0 / 17.0)).norm() < 4.0 * f64::EPSILON, "{e}: {q}");
        }
        // |Re| + |Im| overflows here, but x/x = 1.
        let large = c(0.7 * f64::MAX, -0.7 * f64::MAX);
        assert!((divide(large, large) - 1.0).norm() < 4.0 * f64::EPSILON, "{}", divide(large, large));
        assert!(!divide(c(1.0, 0.0), c(0.0, 0.0)).is_finite());
        assert!(divide(c(f64::NAN, 0.0), c(1.0, 1.0)).re.is_nan());
    }

    #[test]
    fn selection() {
        assert_eq!(select(true, 1.5f32, f32::NAN), 1.5);
        assert_eq!(select(false, f64::INFINITY, -0.0).to_bits(), (-0.0f64).to_bits());
        assert_eq!(select(true, Complex32::new(1.0, 2.0), Complex32::new(3.0, 4.0)), Complex32::new(1.0, 2.0));
    }
}
