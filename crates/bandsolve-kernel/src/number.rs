//! The traits of numbers and of vectors of numbers. They are in one file because each refers to the next: a scalar has a real type, which has
//! vectors on each instruction set, whose elements hold one scalar per lane.

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
            #[cfg(target_arch = "aarch64")]
            Simd::Neon if simd.is_available() => <Self::Real as Machine>::Neon::W,
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

/// The vector types of a real type, and the constants that depend on its exponent range.
pub trait Machine: Sized {
    /// Vectors of 128 bits on x86-64 and aarch64, where every processor has them. Plain arrays elsewhere.
    type Portable: Lanes<Real = Self>;
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Real = Self>;
    /// 512-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Real = Self>;
    /// Two 128-bit registers.
    #[cfg(target_arch = "aarch64")]
    type Neon: Lanes<Real = Self>;
    /// This number is added to pivots of rows whose largest entry is near 1.
    ///
    /// It is far below rounding, but a zero pivot becomes large enough that its reciprocal and the square of the
    /// reciprocal are finite. The sweeps also add `GUARD` · pivot to a spike, so that a decaying spike never becomes
    /// subnormal. Operations on subnormal numbers cost about a hundred cycles each.
    const GUARD: Self;
    /// This number is added where rows are not scaled, to distinguish the one of two numbers that stands for zero.
    ///
    /// It is so small that it disappears in all other numbers, and so large that its products are normal numbers.
    const FAINT: Self;
    /// If x is larger than the scaled right-hand side by this factor, a pivot was nearly zero: `GUARD`^−0.6.
    const IMPLAUSIBLE: f64;
    /// Pivots up to this size may be rounded zeros if the largest entry of each row is near 1. The sequential method
    /// then solves the system.
    ///
    /// In random systems with row exchanges, the probability of such a pivot is approximately `NO_PIVOT`² on the first level. It is larger on
    /// coarse levels, whose couplings can be small.
    const NO_PIVOT: f64;
    /// Products of two quantities between 1/`SAFE` and `SAFE` do not overflow or underflow.
    const SAFE: Self;
    /// 1 / `SAFE`
    const TINY: Self;
    /// self · a + b, rounded once if the target has the instruction. Otherwise a fused operation would be a library
    /// call.
    fn fused_if_fast(self, a: Self, b: Self) -> Self;
}

/// Whether every processor of the target has fused multiply-adds.
pub(crate) const FUSED_BY_TARGET: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// The number of lanes of the widest vector.
pub const MAX_LANES: usize = 16;

/// `W` real numbers, one per lane.
pub trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + 'static
{
    /// `f32` or `f64`.
    type Real: RealScalar;
    /// One truth value per lane.
    type Mask: Copy;
    /// The number of lanes.
    const W: usize;

    /// Whether this is the vector type of [`Simd::Portable`].
    const PORTABLE: bool;
    /// The number of vectors of this type that the registers of the processor hold.
    const REGISTERS: usize = 16;
    /// Whether `mul_add` of `f64` is one instruction in code that is compiled for this vector type.
    const FUSED: bool = !Self::PORTABLE || FUSED_BY_TARGET;

    /// The same number in every lane.
    fn splat(x: Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` readable numbers.
    unsafe fn load(p: *const Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` writable numbers.
    unsafe fn store(self, p: *mut Self::Real);
    /// Load the first `count` ≤ W numbers. The other lanes are 0.
    ///
    /// # Safety
    /// `p` points to `count` readable numbers.
    #[inline(always)]
    unsafe fn load_first(p: *const Self::Real, count: usize) -> Self {
        let mut lanes = [<Self::Real as Scalar>::ZERO; MAX_LANES];
        // SAFETY: the caller's promise; no vector has more lanes.
        unsafe {
            core::ptr::copy_nonoverlapping(p, lanes.as_mut_ptr(), count);
            Self::load(lanes.as_ptr())
        }
    }
    /// Store the first `count` ≤ W lanes.
    ///
    /// # Safety
    /// `p` points to `count` writable numbers.
    #[inline(always)]
    unsafe fn store_first(self, p: *mut Self::Real, count: usize) {
        let mut lanes = [<Self::Real as Scalar>::ZERO; MAX_LANES];
        // SAFETY: the caller's promise; no vector has more lanes.
        unsafe {
            self.store(lanes.as_mut_ptr());
            core::ptr::copy_nonoverlapping(lanes.as_ptr(), p, count);
        }
    }
    /// 1 / self
    fn recip(self) -> Self;
    /// 1 / self twice: a fast approximation with a relative error of 2^−13, and a value that is correct to the last
    /// digit or two.
    #[inline(always)]
    fn recips(self) -> [Self; 2] {
        [self.recip(); 2]
    }
    /// self · a + b, fused if the machine has the instruction.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// √self
    fn sqrt(self) -> Self;
    /// b − self · a, fused if the machine has the instruction.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// |self|
    fn abs(self) -> Self;
    /// The larger of two numbers, or `other` if either is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers, or `other` if either is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger modulus of the two.
    #[inline(always)]
    fn abs_max(self, other: Self) -> Self {
        self.abs().max(other.abs())
    }
    /// The smaller modulus of the two.
    #[inline(always)]
    fn abs_min(self, other: Self) -> Self {
        self.abs().min(other.abs())
    }
    /// The candidate with the larger modulus (either one if they are equal), and whether it is `other`.
    #[inline(always)]
    fn pivot(self, other: Self) -> (Self::Mask, Self) {
        let take = other.abs().gt(self.abs());
        (take, Self::select(take, other, self))
    }
    /// self > other. The result is false for NaN.
    fn gt(self, other: Self) -> Self::Mask;
    /// Bitwise AND.
    fn and_bits(self, other: Self) -> Self;
    /// b − self · a where the mask is set, else b.
    #[inline(always)]
    fn neg_mul_add_where(self, mask: Self::Mask, a: Self, b: Self) -> Self {
        Self::select(mask, self.neg_mul_add(a, b), b)
    }
    /// `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// [`RealScalar::equilibrate`] in every lane. No lane may be negative.
    fn equilibrate(self) -> Self;
    /// [`RealScalar::normalizer`] in every lane.
    fn normalizer(self) -> Self;
    /// [`RealScalar::log_gap`] in every lane.
    fn log_gap(self, other: Self) -> Self;
    /// [`RealScalar::max_bits`] in every lane.
    fn max_bits(self, other: Self) -> Self;

    /// Load four consecutive numbers of each of W rows with the distance `stride`, and transpose: vector k holds number
    /// k of every row.
    ///
    /// # Safety
    /// `src` is readable for four numbers of every row.
    unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4];

    /// The inverse of [`load_columns`](Self::load_columns).
    ///
    /// # Safety
    /// `dst` is writable for four numbers of every row.
    unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize);

    /// The lanes of two vectors, alternately.
    fn interleave(self, other: Self) -> [Self; 2];
    /// The inverse of [`interleave`](Self::interleave): the lanes of even number of two vectors, and those of odd number.
    #[inline(always)]
    fn deinterleave(self, other: Self) -> [Self; 2] {
        const { assert!(Self::W.is_power_of_two()) };
        // Interleaving moves lane i of all 2·W to lane 2·i modulo 2·W − 1, and the last one stays. After log₂ W + 1 times, every lane is where it was.
        let mut vectors = [self, other];
        for _ in 0..const { Self::W.ilog2() } {
            vectors = vectors[0].interleave(vectors[1]);
        }
        vectors
    }
    /// Exchange each lane of even number with the next lane.
    fn swap_pairs(self) -> Self;

    /// Whether [`permute`](Self::permute) is one instruction.
    const PERMUTES: bool;
    /// A choice of lanes for [`permute`](Self::permute).
    type Index: Copy;
    /// A choice of lanes. Numbers below W select lanes of the first vector, and numbers from W on those of the second.
    fn index(lanes: &[u32; MAX_LANES]) -> Self::Index;
    /// The vector whose lane k is lane `index[k]` of the two vectors.
    fn permute(self, other: Self, index: Self::Index) -> Self;
    /// The largest lane, in every lane. No lane may be NaN.
    fn peak(self) -> Self;
    /// The sum of all lanes, in every lane. The lanes are summed by halves.
    fn total(self) -> Self;
    /// The first lane.
    fn first(self) -> Self::Real;
    /// A bit for each lane, which is set if both vectors are equal there.
    fn equal_bits(self, other: Self) -> u32;
    /// Load the `count` ≤ W numbers before `end` as the last lanes. The other lanes are 0.
    ///
    /// # Safety
    /// `count` numbers before `end` are readable.
    #[inline(always)]
    unsafe fn load_last(end: *const Self::Real, count: usize) -> Self {
        let mut lanes = [<Self::Real as Scalar>::ZERO; MAX_LANES];
        // SAFETY: the caller's promise; no vector has more lanes.
        unsafe {
            core::ptr::copy_nonoverlapping(end.sub(count), lanes.as_mut_ptr().add(Self::W - count), count);
            Self::load(lanes.as_ptr())
        }
    }

    /// Store the last `count` ≤ W lanes before `end`.
    ///
    /// # Safety
    /// `count` numbers before `end` are writable.
    #[inline(always)]
    unsafe fn store_last(self, end: *mut Self::Real, count: usize) {
        let lanes = lanes_of(self);
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(lanes.as_ptr().add(Self::W - count), end.sub(count), count) }
    }

    /// Store the vector past the caches. `p` must be aligned to the size of the vector.
    ///
    /// # Safety
    /// As [`store`](Self::store), and aligned.
    unsafe fn stream(self, p: *mut Self::Real) {
        // SAFETY: the caller's promise.
        unsafe { self.store(p) }
    }
}

/// The lanes of a vector, followed by zeros up to [`MAX_LANES`] numbers.
#[inline(always)]
pub(crate) fn lanes_of<V: Lanes>(v: V) -> [V::Real; MAX_LANES] {
    let mut lanes = [<V::Real as Scalar>::ZERO; MAX_LANES];
    // SAFETY: no vector has more lanes.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}

/// One scalar in every lane of `V`. The sweeps are written in terms of this trait.
pub trait Element<V: Lanes>:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// Number of vectors of an element.
    const REALS: usize;

    /// The same real number in every lane.
    fn splat(x: V::Real) -> Self;
    /// # Safety
    /// `p` points to `REALS · W` readable numbers.
    unsafe fn load(p: *const V::Real) -> Self;
    /// # Safety
    /// `p` points to `REALS · W` writable numbers.
    unsafe fn store(self, p: *mut V::Real);
    /// self · a + b
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// b − self · a
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// b − self · a where the mask is set, else b.
    fn neg_mul_add_where(self, mask: V::Mask, a: Self, b: Self) -> Self;
    /// self · by, with real numbers `by`.
    fn scale(self, by: V) -> Self;
    /// 1 / self
    fn recip(self) -> Self;
    /// 1 / self, first as a fast approximation and then precisely ([`Lanes::recips`]).
    fn recips(self) -> [Self; 2];
    /// self · by + add, with real numbers `by`.
    fn scale_add(self, by: V, add: Self) -> Self;
    /// The element with the parts `columns[0]` and, if complex, `columns[1]`.
    fn from_columns(columns: &[V]) -> Self;
    /// The real and imaginary parts.
    fn columns(self) -> [V; 2];
    /// Complex conjugate.
    fn conj(self) -> Self;
    /// |re| + |im|, the size by which pivots are compared.
    fn abs1(self) -> V;
    /// The larger of two pivot candidates, and whether it is `second`.
    fn pivot(first: Self, second: Self) -> (V::Mask, Self);
    /// Bitwise AND of each part with a real number.
    fn and_bits(self, bits: V) -> Self;
    /// The larger modulus, measured by [`abs1`](Self::abs1).
    fn larger(a: Self, b: Self) -> V;
    /// The smaller of a modulus, measured by [`abs1`](Self::abs1), and a non-negative number.
    fn smaller(a: Self, b: V) -> V;
    /// The largest of three moduli, measured by [`abs1`](Self::abs1).
    fn largest(a: Self, b: Self, c: Self) -> V;
    /// A cheap lower bound of |z|, exact for real numbers.
    fn measure(self) -> V;
    /// |z|²
    fn square(self) -> V;
    /// |z|² + add
    fn square_add(self, add: V) -> V;
    /// `yes` where the mask is set, else `no`.
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self;
}
