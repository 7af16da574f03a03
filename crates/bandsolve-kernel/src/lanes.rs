//! Vectors of lanes: the operations that the sweeps need, for every instruction set.
//!
//! The methods of the x86 types are inlined into functions that are compiled for their instruction set (see `dispatch`
//! in `lib.rs`). No other code may call them.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::RealScalar;
use core::ops::{Add, Mul, Neg, Sub};

// On x86-64, `x86` has its own `Portable` vectors, and the tests compare them with these.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use x86::*;

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

    /// Whether this vector type needs no detection of processor features at run time.
    const PORTABLE: bool;

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
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; MAX_LANES];
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
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; MAX_LANES];
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
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; MAX_LANES];
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
    let mut lanes = [<V::Real as crate::Scalar>::ZERO; MAX_LANES];
    // SAFETY: no vector has more lanes.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}

/// The operations of [`Lanes`] that move numbers between lanes, implemented with loads and stores.
macro_rules! through_memory {
    () => {
        const PERMUTES: bool = false;
        type Index = [u32; crate::lanes::MAX_LANES];
        #[inline(always)]
        fn index(lanes: &[u32; crate::lanes::MAX_LANES]) -> [u32; crate::lanes::MAX_LANES] {
            *lanes
        }
        #[inline(always)]
        fn permute(self, other: Self, index: [u32; crate::lanes::MAX_LANES]) -> Self {
            let (lanes, other, mut out) = (lanes_of(self), lanes_of(other), lanes_of(self));
            for k in 0..Self::W {
                let from = index[k] as usize;
                out[k] = if from < Self::W { lanes[from] } else { other[from - Self::W] };
            }
            // SAFETY: `out` has one number per lane.
            unsafe { Self::load(out.as_ptr()) }
        }
        #[inline(always)]
        fn peak(self) -> Self {
            let lanes = lanes_of(self);
            let mut largest = lanes[0];
            for k in 1..Self::W {
                largest = if lanes[k] > largest { lanes[k] } else { largest };
            }
            Self::splat(largest)
        }
        #[inline(always)]
        fn total(self) -> Self {
            let (mut lanes, mut half) = (lanes_of(self), Self::W / 2);
            while half > 0 {
                for k in 0..half {
                    lanes[k] += lanes[k + half];
                }
                half /= 2;
            }
            Self::splat(lanes[0])
        }
        #[inline(always)]
        fn first(self) -> Self::Real {
            lanes_of(self)[0]
        }
        #[inline(always)]
        fn equal_bits(self, other: Self) -> u32 {
            let (lanes, other) = (lanes_of(self), lanes_of(other));
            let mut bits = 0;
            for k in 0..Self::W {
                bits |= u32::from(lanes[k] == other[k]) << k;
            }
            bits
        }
    };
}

use through_memory;
