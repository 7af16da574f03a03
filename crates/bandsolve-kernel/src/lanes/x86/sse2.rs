//! Vectors of 128 bits, which every x86-64 processor has. They are the portable vectors on x86-64.
//!
//! They give the same results as plain arrays, bit for bit. With plain arrays, the compiler would need minutes to find
//! the vector operations.

use super::{Lanes, RealScalar, bits, common, lanes_of, operators, permutes_in_memory, reduces_in_memory};
use core::arch::x86_64::*;
use core::ops::{Add, Mul, Neg, Sub};

macro_rules! sse2 {
    ($name:ident, $vector:ident,
     [$gt:ident, $and:ident, $andnot:ident, $or:ident, $low:ident, $high:ident],
     [$to_int:ident, $from_int:ident, $set1_int:ident, $sub_int:ident, $greater:ident],
     [$fused:ident, $load_columns:ident, $store_columns:ident, $swap:ident, $exponent:literal, $normal:literal],
     [$($common:tt)*], [$($ops:tt)*]) => {
        /// A vector in a register.
        #[derive(Clone, Copy)]
        pub struct $name(pub(super) $vector);

        operators!($name, $($ops)*);
        impl Lanes for $name {
            common!($($common)*);
            bits!($to_int, $from_int, _mm_and_si128, $sub_int, $set1_int, $exponent, $normal);
            const PORTABLE: bool = true;
            type Mask = $vector;
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                #[cfg(target_feature = "fma")]
                // SAFETY: the target has the instruction.
                return Self(unsafe { $fused(self.0, a.0, b.0) });
                #[cfg(not(target_feature = "fma"))]
                return self * a + b;
            }
            #[inline(always)]
            fn neg_mul_add(self, a: Self, b: Self) -> Self {
                (-self).mul_add(a, b)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: every x86-64 processor has SSE2 (so below).
                Self(unsafe { $andnot(Self::splat(-0.0).0, self.0) })
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $vector {
                // SAFETY: SSE2.
                unsafe { $gt(self.0, other.0) }
            }
            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                // SAFETY: SSE2.
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            fn select(mask: $vector, yes: Self, no: Self) -> Self {
                // SAFETY: SSE2.
                Self(unsafe { $or($and(mask, yes.0), $andnot(mask, no.0)) })
            }
            #[inline(always)]
            fn max_bits(self, other: Self) -> Self {
                // SAFETY: SSE2.
                let mask = unsafe { $from_int($greater($to_int(self.0), $to_int(other.0))) };
                Self::select(mask, self, other)
            }
            #[inline(always)]
            unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4] {
                // SAFETY: the caller's promise.
                unsafe { $load_columns(src, stride) }.map(Self)
            }
            #[inline(always)]
            unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize) {
                let [a, b, c, d] = columns;
                // SAFETY: the caller's promise.
                unsafe { $store_columns([a.0, b.0, c.0, d.0], dst, stride) }
            }
            #[inline(always)]
            fn interleave(self, other: Self) -> [Self; 2] {
                // SAFETY: SSE2.
                unsafe { [Self($low(self.0, other.0)), Self($high(self.0, other.0))] }
            }
            #[inline(always)]
            fn swap_pairs(self) -> Self {
                // SAFETY: SSE2.
                Self(unsafe { $swap(self.0) })
            }
            permutes_in_memory!();
    reduces_in_memory!();
        }
    };
}

#[cfg(feature = "single")]
pub(super) mod single;

sse2!(
    F64x2,
    __m128d,
    [_mm_cmpgt_pd, _mm_and_pd, _mm_andnot_pd, _mm_or_pd, _mm_unpacklo_pd, _mm_unpackhi_pd],
    [_mm_castpd_si128, _mm_castsi128_pd, _mm_set1_epi64x, _mm_sub_epi64, greater_i64],
    [_mm_fmadd_pd, load_f64x2, store_f64x2, swap_f64x2, 0x7ff0_0000_0000_0000, 0x7fd0_0000_0000_0000],
    [f64, 2, _mm_set1_pd, _mm_loadu_pd, _mm_storeu_pd, _mm_div_pd, _mm_sqrt_pd, _mm_max_pd, _mm_min_pd],
    [_mm_add_pd, _mm_sub_pd, _mm_mul_pd]
);

/// a > b for signed integers: compare the upper halves. If they are equal, the borrow of b − a decides.
#[inline(always)]
unsafe fn greater_i64(a: __m128i, b: __m128i) -> __m128i {
    // SAFETY: SSE2.
    unsafe {
        let lower = _mm_and_si128(_mm_cmpeq_epi32(a, b), _mm_sub_epi64(b, a));
        _mm_shuffle_epi32::<0b11_11_01_01>(_mm_or_si128(lower, _mm_cmpgt_epi32(a, b)))
    }
}

#[inline(always)]
unsafe fn swap_f64x2(a: __m128d) -> __m128d {
    // SAFETY: SSE2.
    unsafe { _mm_shuffle_pd::<0b01>(a, a) }
}

#[inline(always)]
unsafe fn load_f64x2(src: *const f64, stride: usize) -> [__m128d; 4] {
    // SAFETY: four numbers of each of two rows are readable.
    unsafe {
        let (a, b) = (_mm_loadu_pd(src), _mm_loadu_pd(src.add(stride)));
        let (c, d) = (_mm_loadu_pd(src.add(2)), _mm_loadu_pd(src.add(stride + 2)));
        [_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b), _mm_unpacklo_pd(c, d), _mm_unpackhi_pd(c, d)]
    }
}

#[inline(always)]
unsafe fn store_f64x2(columns: [__m128d; 4], dst: *mut f64, stride: usize) {
    let [a, b, c, d] = columns;
    // SAFETY: four numbers of each of two rows are writable.
    unsafe {
        _mm_storeu_pd(dst, _mm_unpacklo_pd(a, b));
        _mm_storeu_pd(dst.add(2), _mm_unpacklo_pd(c, d));
        _mm_storeu_pd(dst.add(stride), _mm_unpackhi_pd(a, b));
        _mm_storeu_pd(dst.add(stride + 2), _mm_unpackhi_pd(c, d));
    }
}
