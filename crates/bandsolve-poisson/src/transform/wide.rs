//! Vectors of W complex numbers: W real parts, then W imaginary parts.
//!
//! Each lane holds two lines, one as real parts and one as imaginary parts. Transforms therefore need no shuffles, and perform the same
//! operations in every lane.

use crate::scalar::PoissonScalar;
use bandsolve_kernel::Lanes;
use core::ops::{Add, Sub};

/// Alignment of buffers of complex vectors, in bytes.
pub(crate) const ALIGNED: usize = 64;

/// W complex numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ComplexLanes<V> {
    pub re: V,
    pub im: V,
}

impl<V: Lanes> ComplexLanes<V> {
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = V::splat(<V::Real as bandsolve::Scalar>::ZERO);
        Self { re: zero, im: zero }
    }

    /// i·z
    #[inline(always)]
    pub fn turned(self) -> Self {
        Self { re: -self.im, im: self.re }
    }

    #[inline(always)]
    pub fn scaled(self, by: V::Real) -> Self {
        let by = V::splat(by);
        Self { re: self.re * by, im: self.im * by }
    }

    /// w·z
    #[inline(always)]
    pub fn times(self, [re, im]: [V::Real; 2]) -> Self {
        let (re, im) = (V::splat(re), V::splat(im));
        Self { re: self.im.neg_mul_add(im, self.re * re), im: self.im.mul_add(re, self.re * im) }
    }

    /// conj(w)·z
    #[inline(always)]
    pub fn times_conjugate(self, [re, im]: [V::Real; 2]) -> Self {
        let (re, im) = (V::splat(re), V::splat(im));
        Self { re: self.im.mul_add(im, self.re * re), im: self.re.neg_mul_add(im, self.im * re) }
    }

    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// self + factor·z
    #[inline(always)]
    pub fn plus(self, factor: V, z: Self) -> Self {
        Self { re: z.re.mul_add(factor, self.re), im: z.im.mul_add(factor, self.im) }
    }
}

impl<V: Lanes> Add for ComplexLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<V: Lanes> Sub for ComplexLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

/// View elements as complex vectors.
#[inline(always)]
pub(crate) fn wide<T: PoissonScalar, V: Lanes<Real = T>>(numbers: &mut [T]) -> &mut [ComplexLanes<V>] {
    const { assert!(size_of::<ComplexLanes<V>>() == 2 * V::W * size_of::<T>()) }
    let start = numbers.as_mut_ptr().cast::<ComplexLanes<V>>();
    assert!(start.is_aligned(), "the buffer must be aligned for vectors");
    // SAFETY: the pointer is aligned, the length stays within the slice, and every bit pattern of 2W elements is a valid vector.
    unsafe { core::slice::from_raw_parts_mut(start, numbers.len() / (2 * V::W)) }
}

/// View complex vectors as elements.
#[inline(always)]
pub(crate) fn flat<T: PoissonScalar, V: Lanes<Real = T>>(vectors: &mut [ComplexLanes<V>]) -> &mut [T] {
    // SAFETY: as in `wide`.
    unsafe { core::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), vectors.len() * 2 * V::W) }
}

/// The part of `numbers` that starts at an aligned address. The caller provides [`ALIGNED`] bytes more than it needs.
pub(crate) fn aligned<T>(numbers: &mut [T]) -> &mut [T] {
    let skipped = numbers.as_ptr().align_offset(ALIGNED);
    &mut numbers[skipped..]
}
