//! Vectors of lanes: the few operations that the sweeps need, for every instruction set.
//!
//! The methods of the x86 types are inlined into functions compiled for their instruction set (see `dispatch` in
//! `mod.rs`); nothing else may call them.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::RealScalar;
use core::ops::{Add, Mul, Neg, Sub};

// On x86-64 its own vectors are `portable`, and these what the tests compare them with.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use x86::{F32x4, F32x8, F32x16, F64x2, F64x4, F64x8};

/// Lanes of the widest vector.
pub const MAX_LANES: usize = 16;

/// `W` real numbers, one a lane.
pub trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + 'static
{
    /// `f32` or `f64`.
    type Real: RealScalar;
    /// One truth value a lane.
    type Mask: Copy;
    /// Lanes.
    const W: usize;

    /// Not chosen at run time?
    const PORTABLE: bool;

    /// The same number in every lane.
    fn splat(x: Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` readable numbers.
    unsafe fn load(p: *const Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` writable numbers.
    unsafe fn store(self, p: *mut Self::Real);
    /// The first `count` ≤ W numbers; 0 in the other lanes.
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
    /// Stores the first `count` ≤ W lanes.
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
    /// 1 / self, roughly (to 2^−13) but soon, and to the last digit or two.
    #[inline(always)]
    fn recips(self) -> [Self; 2] {
        [self.recip(); 2]
    }
    /// self · a + b, fused where the machine can.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// √self
    fn sqrt(self) -> Self;
    /// b − self · a, fused where the machine can.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// |self|
    fn abs(self) -> Self;
    /// The larger; `other` if either is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller; `other` if either is NaN.
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
    /// Of two candidates the one with the larger modulus (either on a tie), and whether that is `other`.
    #[inline(always)]
    fn pivot(self, other: Self) -> (Self::Mask, Self) {
        let take = other.abs().gt(self.abs());
        (take, Self::select(take, other, self))
    }
    /// self > other, false for NaN.
    fn gt(self, other: Self) -> Self::Mask;
    /// Bit by bit.
    fn and_bits(self, other: Self) -> Self;
    /// b − self · a where the mask is set, else b.
    #[inline(always)]
    fn neg_mul_add_where(self, mask: Self::Mask, a: Self, b: Self) -> Self {
        Self::select(mask, self.neg_mul_add(a, b), b)
    }
    /// `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// [`RealScalar::equilibrate`] in every lane; `self` is not negative.
    fn equilibrate(self) -> Self;
    /// [`RealScalar::normalizer`] in every lane.
    fn normalizer(self) -> Self;
    /// [`RealScalar::log_gap`] in every lane.
    fn log_gap(self, other: Self) -> Self;
    /// [`RealScalar::max_bits`] in every lane.
    fn max_bits(self, other: Self) -> Self;

    /// Four neighbouring numbers of each of W rows, `stride` apart, transposed: vector k holds number k of every row.
    ///
    /// # Safety
    /// `src` is readable for four numbers of every row.
    unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4];

    /// The inverse of [`load_columns`](Self::load_columns).
    ///
    /// # Safety
    /// `dst` is writable for four numbers of every row.
    unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize);

    /// The lanes of two vectors, alternating.
    fn interleave(self, other: Self) -> [Self; 2];
    /// Every lane with an even number changes places with the next.
    fn swap_pairs(self) -> Self;

    /// Whether [`permute`](Self::permute) is one instruction.
    const PERMUTES: bool;
    /// Which lane goes where.
    type Index: Copy;
    /// The first W numbers as lanes: below W those of one vector, from there on those of another.
    fn index(lanes: &[u32; MAX_LANES]) -> Self::Index;
    /// Lane k becomes lane `index[k]` of the two vectors.
    fn permute(self, other: Self, index: Self::Index) -> Self;
    /// The largest lane, in every lane, if none is NaN.
    fn peak(self) -> Self;
    /// The sum of all lanes, by halves, in every lane.
    fn total(self) -> Self;
    /// The first lane.
    fn first(self) -> Self::Real;
    /// The lanes that equal the other's, one a bit.
    fn equal_bits(self, other: Self) -> u32;
    /// The `count` ≤ W numbers before `end` as the last lanes; 0 in the others.
    ///
    /// # Safety
    /// So many numbers are readable.
    #[inline(always)]
    unsafe fn load_last(end: *const Self::Real, count: usize) -> Self {
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; MAX_LANES];
        // SAFETY: the caller's promise; no vector has more lanes.
        unsafe {
            core::ptr::copy_nonoverlapping(end.sub(count), lanes.as_mut_ptr().add(Self::W - count), count);
            Self::load(lanes.as_ptr())
        }
    }

    /// Stores the last `count` ≤ W lanes before `end`.
    ///
    /// # Safety
    /// So many numbers are writable.
    #[inline(always)]
    unsafe fn store_last(self, end: *mut Self::Real, count: usize) {
        let lanes = lanes_of(self);
        // SAFETY: the caller's promise.
        unsafe { core::ptr::copy_nonoverlapping(lanes.as_ptr().add(Self::W - count), end.sub(count), count) }
    }

    /// Stores past the caches. `p` must be aligned to the vector's size.
    ///
    /// # Safety
    /// As [`store`](Self::store), and aligned.
    unsafe fn stream(self, p: *mut Self::Real) {
        // SAFETY: the caller's promise.
        unsafe { self.store(p) }
    }
}

/// The lanes of a vector, and as many zeros as are missing to [`MAX_LANES`].
#[inline(always)]
pub(crate) fn lanes_of<V: Lanes>(v: V) -> [V::Real; MAX_LANES] {
    let mut lanes = [<V::Real as crate::Scalar>::ZERO; MAX_LANES];
    // SAFETY: no vector has more lanes.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}

/// The operations of [`Lanes`] that move numbers between lanes, through memory.
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
            let (own, other, mut out) = (lanes_of(self), lanes_of(other), lanes_of(self));
            for k in 0..Self::W {
                let from = index[k] as usize;
                out[k] = if from < Self::W { own[from] } else { other[from - Self::W] };
            }
            // SAFETY: as many numbers as lanes.
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
            let (own, other) = (lanes_of(self), lanes_of(other));
            let mut bits = 0;
            for k in 0..Self::W {
                bits |= u32::from(own[k] == other[k]) << k;
            }
            bits
        }
    };
}

use through_memory;
