//! Numbers of the four types and double precision.

use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{Complex64, RealScalar, Scalar};

/// Convert a number to type T. If T is real, the imaginary part is dropped.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::narrow};
/// assert_eq!(narrow::<f64>(Complex64::new(2.0, 3.0)), 2.0);
/// ```
#[inline(always)]
pub fn narrow<T: Scalar>(c: Complex64) -> T {
    T::from_parts(T::Real::from_f64(c.re), T::Real::from_f64(c.im))
}

/// Convert a number to double precision.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::widen};
/// assert_eq!(widen(2.0_f32), Complex64::new(2.0, 0.0));
/// ```
#[inline(always)]
pub fn widen<T: Scalar>(v: T) -> Complex64 {
    Complex64::new(v.re().to_f64(), v.im().to_f64())
}

/// The product by·v in double precision, rounded once.
///
/// # Examples
/// ```
/// assert_eq!(bandsolve::vectors::times(2_f32.powi(100), 2_f64.powi(-140)), 2_f32.powi(-40)); // 2⁻¹⁴⁰ is no number of type f32 with all digits
/// ```
#[inline(always)]
pub fn times<T: Scalar>(v: T, by: f64) -> T {
    narrow(widen(v) * by)
}

/// The quotient a / b, without overflow or underflow of |b|².
///
/// The division of `num_complex` divides by |b|², which overflows or underflows in double precision if |b| is above 1e154 or below
/// 1e-154.
///
/// # Examples
/// ```
/// use bandsolve::{Complex64, vectors::divide};
/// let b = Complex64::new(0.0, 1e200); // |b|² overflows
/// assert!((divide(b, b) - 1.0).norm() < 1e-15);
/// ```
#[inline(always)]
pub fn divide<T: Scalar>(a: T, b: T) -> T {
    if !T::COMPLEX {
        return a / b;
    }
    if b.im() == T::Real::ZERO {
        return T::from_parts(a.re() / b.re(), a.im() / b.re());
    }
    let scale = peak(b).equilibrate();
    // The larger part of q is in [2, 4).
    let q = b.scale(scale);
    let square = q.re() * q.re() + q.im() * q.im();
    let inverse = Scalar::conj(q).scale(T::Real::ONE / square);
    (a * inverse).scale(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (3 − 2i)/(1 + 4i) = (−5 − 14i)/17, for numbers of all sizes. Each quotient has four roundings.
    #[test]
    fn quotients_in_the_whole_range() {
        let c = Complex64::new;
        for (of_a, of_b) in [(0, 0), (300, 300), (-300, -300), (160, 0), (0, 160), (-160, 140), (307, 200), (-5, -300)]
        {
            let (s, t) = (10_f64.powi(of_a), 10_f64.powi(of_b));
            let q = divide(c(3.0 * s, -2.0 * s), c(t, 4.0 * t)) / (s / t);
            assert!((q - c(-5.0 / 17.0, -14.0 / 17.0)).norm() < 8.0 * f64::EPSILON, "{of_a} {of_b}: {q}");
        }
        assert_eq!(divide(c(1.0, 2.0), c(f64::MAX, f64::MAX)).re, 1.5 / f64::MAX);
        assert_eq!(divide(c(1e-310, 0.0), c(1e-310, 0.0)), c(1.0, 0.0));
        assert!(!divide(c(1.0, 1.0), c(0.0, 0.0)).is_finite());
    }
}
