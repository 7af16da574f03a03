//! The four number types: `f32`, `f64`, `c32`, `c64`.

use crate::element::Element;
use crate::lanes::Lanes;
use crate::machine::Machine;
use crate::simd::Simd;
use bytemuck::Pod;
use core::fmt::{Debug, Display};
use core::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

/// Complex number of two `f32`.
///
/// # Examples
/// ```
/// use bandsolve_kernel::Complex32;
/// assert_eq!(Complex32::new(0.0, 1.0) * Complex32::new(0.0, 1.0), Complex32::new(-1.0, 0.0));
/// ```
pub type Complex32 = num_complex::Complex<f32>;
/// Complex number of two `f64`.
///
/// # Examples
/// ```
/// use bandsolve_kernel::Complex64;
/// assert_eq!(Complex64::new(0.0, 1.0) * Complex64::new(0.0, 1.0), Complex64::new(-1.0, 0.0));
/// ```
pub type Complex64 = num_complex::Complex<f64>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for super::Complex32 {}
    impl Sealed for super::Complex64 {}
}

/// A matrix entry type: `f32`, `f64`, [`Complex32`] or [`Complex64`].
///
/// # Examples
/// ```
/// use bandsolve_kernel::{Complex64, Scalar};
/// fn name_of<T: Scalar>(_: &[T]) -> &'static str {
///     T::NAME
/// }
/// assert_eq!(name_of(&[1.0_f32]), "f32");
/// assert_eq!(Scalar::abs(Complex64::new(3.0, 4.0)), 5.0);
/// ```
pub trait Scalar:
    sealed::Sealed
    + Pod
    + Send
    + Sync
    + Debug
    + Display
    + Default
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
{
    /// The type of moduli and errors: `f32` or `f64`.
    type Real: RealScalar;
    /// One scalar per SIMD lane.
    #[doc(hidden)]
    type Element<V: Lanes<Real = Self::Real>>: Element<V>;

    /// `true` for the complex types.
    const COMPLEX: bool;
    /// `"f32"`, `"f64"`, `"c32"`, `"c64"`.
    const NAME: &'static str;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;

    /// The scalar `re + i·im`. Real types ignore `im`.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// Real part.
    fn re(self) -> Self::Real;
    /// Imaginary part, 0 for the real types.
    fn im(self) -> Self::Real;
    /// Complex conjugate.
    fn conj(self) -> Self;
    /// Modulus |x|. No intermediate result overflows if the modulus is finite.
    fn abs(self) -> Self::Real;
    /// |re| + |im|, the size by which pivots are compared.
    fn abs1(self) -> Self::Real;
    /// Whether the number is neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// The scalar with this real value.
    #[inline(always)]
    fn from_real(re: Self::Real) -> Self {
        Self::from_parts(re, <Self::Real as Scalar>::ZERO)
    }
    /// Call the instance of a function for this type.
    #[doc(hidden)]
    fn by_type<B: ByType>(argument: B::Argument<Self>) -> B::Output<Self>;
    /// The number of lanes of a vector of this instruction set.
    fn lanes(simd: Simd) -> usize {
        match simd {
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 if simd.is_available() => <Self::Real as Machine>::Avx512::W,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 if simd.is_available() => <Self::Real as Machine>::Avx2::W,
            _ => <Self::Real as Machine>::Portable::W,
        }
    }
    /// Multiply by a real number.
    #[inline(always)]
    fn scale(self, by: Self::Real) -> Self {
        Self::from_parts(self.re() * by, self.im() * by)
    }
}

/// A function with one instance for each number type.
///
/// Each instance is compiled once, in the crate that implements this trait. Generic callers in other crates use
/// [`Scalar::by_type`] to call the instance for their `T`.
pub trait ByType {
    /// The argument of the function.
    type Argument<T: Scalar>;
    /// The result of the function.
    type Output<T: Scalar>;
    /// The instance for `f32`.
    #[cfg(feature = "single")]
    fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32>;
    /// The instance for `f64`.
    fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64>;
    /// The instance for [`Complex32`].
    #[cfg(all(feature = "single", feature = "complex"))]
    fn of_c32(argument: Self::Argument<Complex32>) -> Self::Output<Complex32>;
    /// The instance for [`Complex64`].
    #[cfg(feature = "complex")]
    fn of_c64(argument: Self::Argument<Complex64>) -> Self::Output<Complex64>;
}

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(feature = "single")]
#[macro_export]
macro_rules! if_single {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(feature = "single"))]
#[macro_export]
macro_rules! if_single {
    ($($code:tt)*) => {};
}

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(feature = "complex")]
#[macro_export]
macro_rules! if_complex {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(feature = "complex"))]
#[macro_export]
macro_rules! if_complex {
    ($($code:tt)*) => {};
}

/// Expands to its argument if the number type exists. (An attribute in [`by_type`](crate::by_type) would ask for a feature of the calling crate.)
#[doc(hidden)]
#[cfg(all(feature = "single", feature = "complex"))]
#[macro_export]
macro_rules! if_single_complex {
    ($($code:tt)*) => { $($code)* };
}
/// Expands to nothing, because the number type does not exist.
#[doc(hidden)]
#[cfg(not(all(feature = "single", feature = "complex")))]
#[macro_export]
macro_rules! if_single_complex {
    ($($code:tt)*) => {};
}

/// Define types with [`ByType`]: `struct Name<'a>: Argument => Output = function;`. The function is generic over the number type `T`.
///
/// # Examples
/// ```
/// use bandsolve_kernel::{Scalar, by_type};
/// fn sum<T: Scalar>(values: &[T]) -> T {
///     values.iter().fold(T::ZERO, |sum, value| sum + *value)
/// }
/// by_type! {
///     /// [`sum`] for each number type.
///     struct Sum<'a>: &'a [T] => T = sum;
/// }
/// assert_eq!(f32::by_type::<Sum<'_>>(&[1.0, 2.0]), 3.0);
/// ```
#[macro_export]
macro_rules! by_type {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident<$($lifetime:lifetime $(: $bound:lifetime)?),*>:
            $argument:ty => $output:ty = $function:expr;
    )*) => {$(
        $(#[$attribute])*
        $visibility struct $name<$($lifetime),*>(core::marker::PhantomData<($(&$lifetime (),)*)>);

        impl<$($lifetime $(: $bound)?),*> $crate::ByType for $name<$($lifetime),*> {
            type Argument<T: $crate::Scalar> = $argument;
            type Output<T: $crate::Scalar> = $output;

            $crate::if_single! {
                fn of_f32(argument: Self::Argument<f32>) -> Self::Output<f32> {
                    let function: fn(Self::Argument<f32>) -> Self::Output<f32> = $function;
                    function(argument)
                }
            }
            fn of_f64(argument: Self::Argument<f64>) -> Self::Output<f64> {
                let function: fn(Self::Argument<f64>) -> Self::Output<f64> = $function;
                function(argument)
            }
            $crate::if_single_complex! {
                fn of_c32(argument: Self::Argument<$crate::Complex32>) -> Self::Output<$crate::Complex32> {
                    let function: fn(Self::Argument<$crate::Complex32>) -> Self::Output<$crate::Complex32> = $function;
                    function(argument)
                }
            }
            $crate::if_complex! {
                fn of_c64(argument: Self::Argument<$crate::Complex64>) -> Self::Output<$crate::Complex64> {
                    let function: fn(Self::Argument<$crate::Complex64>) -> Self::Output<$crate::Complex64> = $function;
                    function(argument)
                }
            }
        }
    )*};
}

/// A real [`Scalar`]: `f32` or `f64`.
///
/// # Examples
/// ```
/// use bandsolve_kernel::RealScalar;
/// fn limit<R: RealScalar>() -> f64 {
///     8.0 * R::EPSILON.to_f64()
/// }
/// assert!(limit::<f64>() < limit::<f32>());
/// ```
pub trait RealScalar: Scalar<Real = Self> + PartialOrd + Machine {
    /// Distance from 1 to the next larger number: 2.2e-16 in double precision.
    const EPSILON: Self;
    /// Smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// Largest finite number.
    const MAX: Self;
    /// Infinity.
    const INFINITY: Self;
    /// Not a number.
    const NAN: Self;

    /// The number rounded to this type.
    fn from_f64(x: f64) -> Self;
    /// The number as `f64`, which is exact.
    fn to_f64(self) -> f64;
    /// The larger of two numbers, or NaN if either is NaN.
    #[inline(always)]
    fn max_nan(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }
    /// Whether the number is NaN.
    fn is_nan(self) -> bool;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The power of two that scales a row with the largest entry `self` to a largest entry in \[2, 4).
    ///
    /// The scaled entry is smaller only if `self` is subnormal. The result is never zero or infinite for finite `self`.
    fn equilibrate(self) -> Self;
    /// The power of two that scales numbers in \[−`self`, `self`\] to \[−1, 1\], and `self` to at least ½.
    ///
    /// The scaled `self` is smaller only if `self` is subnormal. The result is invalid if `self` is within a factor of
    /// 4 of the end of the range.
    fn normalizer(self) -> Self;
    /// log₂ self − log₂ other as a fixed-point number in the bits of the result, with an error of at most 0.0861.
    ///
    /// [`max_bits`](Self::max_bits) compares such results, and [`gap_to_ratio`](Self::gap_to_ratio) reads them. Neither
    /// argument may be negative.
    fn log_gap(self, other: Self) -> Self;
    /// The number whose bits are all set.
    const ALL_BITS: Self;
    /// The largest number in the order of [`max_bits`](Self::max_bits).
    const MAX_BITS: Self;
    /// Bitwise AND.
    fn and_bits(self, other: Self) -> Self;
    /// The number whose bits are the larger integer.
    fn max_bits(self, other: Self) -> Self;
    /// An upper bound of the ratio whose [`log_gap`](Self::log_gap) is `self`, at most 20 % above the ratio.
    ///
    /// The bound is infinite if one of the two numbers was not finite, or if both were zero.
    fn gap_to_ratio(self) -> f64;
}

macro_rules! real_scalar {
    ($t:ident, $int:ident, $name:literal, $instance:ident, $exponent:literal, $normal:literal) => {
        impl Scalar for $t {
            type Real = $t;
            type Element<V: Lanes<Real = $t>> = crate::RealElement<V>;
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
    ($t:ident, $real:ident, $name:literal, $instance:ident) => {
        impl Scalar for $t {
            type Real = $real;
            type Element<V: Lanes<Real = $real>> = crate::ComplexElement<V>;
            const COMPLEX: bool = true;
            const NAME: &'static str = $name;
            const ZERO: Self = $t { re: 0.0, im: 0.0 };
            const ONE: Self = $t { re: 1.0, im: 0.0 };
            fn by_type<B: ByType>(argument: B::Argument<Self>) -> B::Output<Self> {
                B::$instance(argument)
            }
            #[inline(always)]
            fn from_parts(re: $real, im: $real) -> Self {
                $t { re, im }
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
                $t { re: self.re, im: -self.im }
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
complex_scalar!(Complex32, f32, "c32", of_c32);
#[cfg(feature = "complex")]
complex_scalar!(Complex64, f64, "c64", of_c64);

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

/// The largest [`peak`] of finite numbers, with half the operations of [`largest`]. NaN and infinity are not detected.
#[inline(always)]
pub fn largest_peak<T: Scalar>(values: &[T]) -> T::Real {
    let mut most = [T::Real::ZERO; 16];
    for chunk in values.chunks(most.len()) {
        for (most, value) in most.iter_mut().zip(chunk) {
            let size = peak(*value);
            *most = if size > *most { size } else { *most };
        }
    }
    most.into_iter().fold(T::Real::ZERO, RealScalar::max_bits)
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
