//! The implementations for the four number types: `f32`, `f64`, `c32`, `c64`; and functions of numbers.

use crate::number::{ByType, Lanes, RealScalar, Scalar};

macro_rules! real_scalar {
    ($t:ident, $int:ident, $name:literal, $instance:ident, $exponent:literal, $normal:literal) => {
        impl Scalar for $t {
            type Real = $t;
            type Element<V: Lanes<Real = $t>> = crate::element::RealElement<V>;
            const COMPLEX: bool = false;
            const NAME: &'static str = $name;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn by_type<B: ByType>(argument: B::Argument<Self>) -> B::Output<Self> {
                B::$instance(argument)
            }
            #[inline(always)]
            fn from_parts(re: $t, _im: $t) -> Self {
                re
            }
            #[inline(always)]
            fn re(self) -> $t {
                self
            }
            #[inline(always)]
            fn im(self) -> $t {
                0.0
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn abs(self) -> $t {
                $t::abs(self)
            }
            #[inline(always)]
            fn abs1(self) -> $t {
                $t::abs(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            #[inline(always)]
            fn scale(self, by: $t) -> Self {
                self * by
            }
        }

        impl RealScalar for $t {
            const EPSILON: Self = $t::EPSILON;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const MAX: Self = $t::MAX;
            const INFINITY: Self = $t::INFINITY;
            const NAN: Self = $t::NAN;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn equilibrate(self) -> Self {
                // 2^(e − bias) → 2^(bias − e + 1): the sum of the biased exponents has all exponent bits set.
                let exponent = self.max($t::MIN_POSITIVE).to_bits() & $exponent;
                $t::from_bits($exponent - exponent)
            }
            #[inline(always)]
            fn normalizer(self) -> Self {
                let normal: $int = $normal;
                $t::from_bits(normal.wrapping_sub((self.to_bits() & $exponent) as $int) as _)
            }
            #[inline(always)]
            fn log_gap(self, other: Self) -> Self {
                // The exponent is the integer part of the logarithm, and the mantissa approximates its fraction.
                $t::from_bits(self.to_bits().wrapping_sub(other.to_bits()))
            }
            const ALL_BITS: Self = $t::from_bits(!0);
            const MAX_BITS: Self = $t::from_bits(!0 >> 1);
            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                $t::from_bits(self.to_bits() & other.to_bits())
            }
            #[inline(always)]
            fn max_bits(self, other: Self) -> Self {
                if (self.to_bits() as $int) > (other.to_bits() as $int) { self } else { other }
            }
            #[inline(always)]
            fn gap_to_ratio(self) -> f64 {
                match (self.to_bits() as $int).checked_add($t::to_bits(1.0) as $int) {
                    // Ratios of ¼ and above are treated as infinite. 2^0.0861 = 1.0615.
                    Some(bits) if bits < $t::to_bits(0.25) as $int => $t::from_bits(bits.max(0) as _) as f64 * 1.0615,
                    _ => f64::INFINITY,
                }
            }
        }
    };
}

#[cfg(feature = "single")]
real_scalar!(f32, i32, "f32", of_f32, 0x7f80_0000, 0x7e80_0000);
real_scalar!(f64, i64, "f64", of_f64, 0x7ff0_0000_0000_0000, 0x7fd0_0000_0000_0000);

#[cfg(feature = "complex")]
macro_rules! complex_scalar {
    ($t:ty, $real:ident, $name:literal, $instance:ident) => {
        impl Scalar for $t {
            type Real = $real;
            type Element<V: Lanes<Real = $real>> = crate::element::ComplexElement<V>;
            const COMPLEX: bool = true;
            const NAME: &'static str = $name;
            const ZERO: Self = Self { re: 0.0, im: 0.0 };
            const ONE: Self = Self { re: 1.0, im: 0.0 };
            fn by_type<B: ByType>(argument: B::Argument<Self>) -> B::Output<Self> {
                B::$instance(argument)
            }
            #[inline(always)]
            fn from_parts(re: $real, im: $real) -> Self {
                Self { re, im }
            }
            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $real {
                self.im
            }
            #[inline(always)]
            fn conj(self) -> Self {
                Self { re: self.re, im: -self.im }
            }
            #[inline(always)]
            fn abs(self) -> $real {
                self.re.hypot(self.im)
            }
            #[inline(always)]
            fn abs1(self) -> $real {
                self.re.abs() + self.im.abs()
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
        }
    };
}

#[cfg(all(feature = "single", feature = "complex"))]
complex_scalar!(crate::number::Complex32, f32, "c32", of_c32);
#[cfg(feature = "complex")]
complex_scalar!(crate::number::Complex64, f64, "c64", of_c64);

/// The larger number. A NaN in the second place is ignored.
#[inline(always)]
pub fn larger<R: RealScalar>(a: R, b: R) -> R {
    if b > a { b } else { a }
}

/// The larger of |Re v| and |Im v|. Unlike `abs1`, it is finite for all finite v.
#[inline(always)]
pub fn peak<T: Scalar>(v: T) -> T::Real {
    let (re, im) = (v.re().abs1(), v.im().abs1());
    if T::COMPLEX { re.max_nan(im) } else { re }
}

/// The largest `size(i, vᵢ)`, or NaN if one of these sizes is not finite. No size may be negative.
#[inline(always)]
pub fn largest<T: Copy, R: RealScalar>(values: &[T], size: impl Fn(usize, T) -> R) -> R {
    // Independent maxima hide the latency of the comparisons.
    const PARTIAL_MAXIMA: usize = 16;
    let [mut most, mut zeros] = [[R::ZERO; PARTIAL_MAXIMA]; 2];
    for (group, values) in values.chunks(PARTIAL_MAXIMA).enumerate() {
        for (k, ((value, most), zero)) in values.iter().zip(&mut most).zip(&mut zeros).enumerate() {
            let size = size(group * PARTIAL_MAXIMA + k, *value);
            *most = if size > *most { size } else { *most };
            // 0 if the size is finite, otherwise NaN.
            *zero += size * R::ZERO;
        }
    }
    let zero = zeros.into_iter().fold(R::ZERO, |sum, zero| sum + zero);
    most.into_iter().fold(R::ZERO, RealScalar::max_bits) + zero
}

/// 1/p, which is finite unless p is subnormal. For p = 0 the result is 0, so that the unknown becomes zero.
#[inline(always)]
pub fn reciprocal<T: Scalar>(p: T) -> T {
    if p == T::ZERO {
        return T::ZERO;
    }
    if !T::COMPLEX {
        return T::ONE / p;
    }
    let scale = p.abs1().equilibrate();
    let q = p.scale(scale); // |Re q| + |Im q| in [2, 4)
    let square = q.re() * q.re() + q.im() * q.im();
    Scalar::conj(q).scale(T::Real::ONE / square).scale(scale)
}

#[cfg(test)]
mod tests {
    use super::RealScalar;

    #[test]
    fn gaps_bound_ratios_from_above() {
        for i in 1..2000 {
            let (r, s) = ((f64::from(i) * 0.7).sin().abs() * 1e-13, 1.0 + f64::from(i % 37));
            let bound = r.log_gap(s).gap_to_ratio();
            assert!(bound >= r / s && bound <= 1.2 * r / s, "{r} / {s}: {bound}");
            let (r, s) = (r as f32, s as f32);
            let (bound, ratio) = (r.log_gap(s).gap_to_ratio(), f64::from(r / s));
            assert!(bound >= ratio && bound <= 1.2 * ratio, "{r} / {s}: {bound}");
        }
        assert_eq!(0.0f64.log_gap(1.0).gap_to_ratio(), 0.0);
        for (r, s) in [(f64::NAN, 1.0), (1.0, f64::INFINITY), (f64::NAN, f64::NAN), (0.0, 0.0), (f64::INFINITY, 1e-300)]
        {
            let gap = r.log_gap(s);
            // A small ratio with an infinite scale is detected by the size of x.
            assert!(gap.gap_to_ratio() == f64::INFINITY || s == f64::INFINITY, "{r} / {s}");
        }
        assert_eq!(f64::MAX_BITS.max_bits(f64::NAN).to_bits(), f64::MAX_BITS.to_bits());
    }

    #[test]
    fn normalizers_bring_numbers_below_one() {
        for e in -300..300 {
            let x = 1.7 * 10f64.powi(e);
            let y = x * x.normalizer();
            assert!((0.5..1.0).contains(&y), "{x}: {y}");
        }
        assert_eq!(0.0 * 0.0f64.normalizer(), 0.0);
        assert_eq!(0.0 * 0.0f32.normalizer(), 0.0);
    }
}
