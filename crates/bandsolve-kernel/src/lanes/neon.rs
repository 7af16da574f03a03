//! Vector registers of 128 bits of ARM processors (NEON), which every aarch64 processor has. One register is the portable vector on aarch64,
//! and two are the vector of `Simd::Neon`.
//!
//! They give the same results as plain arrays, bit for bit, except for the kind of NaN, and for moduli of NaN.

use super::registers::{bits, common, operators};
use super::{Lanes, lanes_of, permutes_in_memory};
use crate::RealScalar;
use core::arch::aarch64::*;
use core::ops::{Add, Mul, Neg, Sub};

macro_rules! neon {
    ($name:ident, $vector:ident, $mask:ident, [$fma:ident, $fms:ident, $abs:ident, $gt:ident, $abs_gt:ident, $abs_max:ident, $abs_min:ident],
     [$blend:ident, $and:ident, $max_bits:ident, $zip_low:ident, $zip_high:ident, $swap:ident],
     [$first:ident, $load_first:ident, $store_first:ident, $load_columns:ident, $store_columns:ident],
     [$peak:ident, $total:ident, $equal:ident], [$($bits:tt)*], [$($common:tt)*], [$($ops:tt)*]) => {
        /// A vector in a register.
        #[derive(Clone, Copy)]
        pub struct $name($vector);

        operators!($name, $($ops)*);
        impl Lanes for $name {
            common!($($common)*);
            bits!($($bits)*);
            const PORTABLE: bool = true;
            const REGISTERS: usize = 32;
            type Mask = $mask;
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fma(b.0, self.0, a.0) })
            }
            #[inline(always)]
            fn neg_mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fms(b.0, self.0, a.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn abs_max(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs_max($abs(self.0), $abs(other.0)) })
            }
            #[inline(always)]
            fn abs_min(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs_min($abs(self.0), $abs(other.0)) })
            }
            #[inline(always)]
            fn pivot(self, other: Self) -> ($mask, Self) {
                // SAFETY: as in `splat`.
                let take = unsafe { $abs_gt(other.0, self.0) };
                (take, Self::select(take, other, self))
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $gt(self.0, other.0) }
            }
            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(mask, yes.0, no.0) })
            }
            #[inline(always)]
            fn max_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $max_bits(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn load_first(p: *const Self::Real, count: usize) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $load_first(p, count) })
            }
            #[inline(always)]
            unsafe fn store_first(self, p: *mut Self::Real, count: usize) {
                // SAFETY: the caller's promise.
                unsafe { $store_first(self.0, p, count) }
            }
            #[inline(always)]
            unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4] {
                // SAFETY: the caller's promise.
                let [a, b, c, d] = unsafe { $load_columns(src, stride) };
                [Self(a), Self(b), Self(c), Self(d)]
            }
            #[inline(always)]
            unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize) {
                let [a, b, c, d] = columns;
                // SAFETY: the caller's promise.
                unsafe { $store_columns([a.0, b.0, c.0, d.0], dst, stride) }
            }
            #[inline(always)]
            fn interleave(self, other: Self) -> [Self; 2] {
                // SAFETY: as in `splat`.
                unsafe { [Self($zip_low(self.0, other.0)), Self($zip_high(self.0, other.0))] }
            }
            #[inline(always)]
            fn swap_pairs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $swap(self.0) })
            }
            permutes_in_memory!();
            #[inline(always)]
            fn peak(self) -> Self {
                // SAFETY: as in `splat`.
                Self::splat(unsafe { $peak(self.0) })
            }
            #[inline(always)]
            fn total(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $total(self.0) })
            }
            #[inline(always)]
            fn first(self) -> Self::Real {
                // SAFETY: as in `splat`.
                unsafe { $first::<0>(self.0) }
            }
            #[inline(always)]
            fn equal_bits(self, other: Self) -> u32 {
                // SAFETY: as in `splat`.
                unsafe { $equal(self.0, other.0) }
            }
        }
    };
}

#[cfg(feature = "single")]
mod single;

#[cfg(feature = "single")]
pub use single::F32x4;

neon!(
    F64x2,
    float64x2_t,
    uint64x2_t,
    [vfmaq_f64, vfmsq_f64, vabsq_f64, vcgtq_f64, vcagtq_f64, vmaxnmq_f64, vminnmq_f64],
    [vbslq_f64, and_f64x2, max_bits_f64x2, vzip1q_f64, vzip2q_f64, swap_f64x2],
    [vgetq_lane_f64, load_first_f64x2, store_first_f64x2, load_f64x2, store_f64x2],
    [vmaxvq_f64, total_f64x2, equal_f64x2],
    [
        vreinterpretq_s64_f64,
        vreinterpretq_f64_s64,
        vandq_s64,
        vsubq_s64,
        vdupq_n_s64,
        0x7ff0_0000_0000_0000,
        0x7fd0_0000_0000_0000
    ],
    [f64, 2, vdupq_n_f64, vld1q_f64, vst1q_f64, vdivq_f64, vsqrtq_f64, max_f64x2, min_f64x2],
    [vaddq_f64, vsubq_f64, vmulq_f64]
);

// The instructions FMAX and FMAXNM treat NaN in another way than `Lanes::max`.

#[inline(always)]
unsafe fn max_f64x2(a: float64x2_t, b: float64x2_t) -> float64x2_t {
    // SAFETY: compiled into a function that has the instructions (so below).
    unsafe { vbslq_f64(vcgtq_f64(a, b), a, b) }
}

#[inline(always)]
unsafe fn min_f64x2(a: float64x2_t, b: float64x2_t) -> float64x2_t {
    // SAFETY: as above.
    unsafe { vbslq_f64(vcltq_f64(a, b), a, b) }
}

#[inline(always)]
unsafe fn and_f64x2(a: float64x2_t, b: float64x2_t) -> float64x2_t {
    // SAFETY: as above.
    unsafe { vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(a), vreinterpretq_u64_f64(b))) }
}

#[inline(always)]
unsafe fn max_bits_f64x2(a: float64x2_t, b: float64x2_t) -> float64x2_t {
    // SAFETY: as above.
    unsafe { vbslq_f64(vcgtq_s64(vreinterpretq_s64_f64(a), vreinterpretq_s64_f64(b)), a, b) }
}

#[inline(always)]
unsafe fn swap_f64x2(a: float64x2_t) -> float64x2_t {
    // SAFETY: as above.
    unsafe { vextq_f64::<1>(a, a) }
}

#[inline(always)]
unsafe fn total_f64x2(a: float64x2_t) -> float64x2_t {
    // SAFETY: as above.
    unsafe { vpaddq_f64(a, a) }
}

#[inline(always)]
unsafe fn equal_f64x2(a: float64x2_t, b: float64x2_t) -> u32 {
    // SAFETY: as above; two numbers are readable.
    unsafe { vaddvq_u64(vandq_u64(vceqq_f64(a, b), vld1q_u64([1, 2].as_ptr()))) as u32 }
}

#[inline(always)]
unsafe fn load_first_f64x2(p: *const f64, count: usize) -> float64x2_t {
    // SAFETY: `count` numbers are readable.
    unsafe {
        match count {
            0 => vdupq_n_f64(0.0),
            1 => vcombine_f64(vld1_f64(p), vdup_n_f64(0.0)),
            _ => vld1q_f64(p),
        }
    }
}

#[inline(always)]
unsafe fn store_first_f64x2(a: float64x2_t, p: *mut f64, count: usize) {
    // SAFETY: `count` numbers are writable.
    unsafe {
        match count {
            0 => {}
            1 => vst1_f64(p, vget_low_f64(a)),
            _ => vst1q_f64(p, a),
        }
    }
}

#[inline(always)]
unsafe fn load_f64x2(src: *const f64, stride: usize) -> [float64x2_t; 4] {
    // SAFETY: four numbers of each of two rows are readable.
    unsafe {
        let (a, b) = (vld1q_f64(src), vld1q_f64(src.add(stride)));
        let (c, d) = (vld1q_f64(src.add(2)), vld1q_f64(src.add(stride + 2)));
        [vzip1q_f64(a, b), vzip2q_f64(a, b), vzip1q_f64(c, d), vzip2q_f64(c, d)]
    }
}

#[inline(always)]
unsafe fn store_f64x2(columns: [float64x2_t; 4], dst: *mut f64, stride: usize) {
    let [a, b, c, d] = columns;
    // SAFETY: four numbers of each of two rows are writable.
    unsafe {
        vst1q_f64(dst, vzip1q_f64(a, b));
        vst1q_f64(dst.add(2), vzip1q_f64(c, d));
        vst1q_f64(dst.add(stride), vzip2q_f64(a, b));
        vst1q_f64(dst.add(stride + 2), vzip2q_f64(c, d));
    }
}
