//! Vectors of 256 bits.

use super::{Lanes, RealScalar, bits, common, lanes_of, operators, permutes_in_memory, reduces_in_memory};
use core::arch::x86_64::*;
use core::ops::{Add, Mul, Neg, Sub};

macro_rules! avx2 {
    ($name:ident, $reg:ty, $andnot:ident, $cmp:ident, $blend:ident, $and:ident, $cast:ident, $uncast:ident,
     $isub:ident, $igt:ident, $iset1:ident, $exponent:literal, $normal:literal, $tile:ident, $untile:ident,
     $interleave:ident, [$swap:ident, $pairs:literal], $loadz:ident, $storez:ident, $int:ty, [$($common:tt)*],
     [$($chosen:tt)*], [$($ops:tt)*]) => {
        /// One 256-bit register.
        #[derive(Clone, Copy)]
        pub struct $name($reg);
        operators!($name, $($ops)*);
        impl $name {
            /// A mask of the first `count` ≤ W lanes.
            #[inline(always)]
            fn mask_of_first(count: usize) -> __m256i {
                static MASKS: [[$int; <$name as Lanes>::W]; 2] =
                    [[-1; <$name as Lanes>::W], [0; <$name as Lanes>::W]];
                let masks = MASKS.as_flattened();
                // SAFETY: W numbers from index W − count on exist, because count is at most W.
                unsafe { _mm256_loadu_si256(masks.as_ptr().add(Self::W - count.min(Self::W)).cast()) }
            }
        }
        impl Lanes for $name {
            common!($($common)*);
            chosen_at_run_time!($($chosen)*);
            bits!($cast, $uncast, _mm256_and_si256, $isub, $iset1, $exponent, $normal);
            moves!($tile, $untile, $interleave, [$swap, $pairs]);
            type Mask = $reg;
            #[inline(always)]
            unsafe fn load_first(p: *const Self::Real, count: usize) -> Self {
                // SAFETY: the caller's promise; lanes that are masked out are not read.
                Self(unsafe { $loadz(p, Self::mask_of_first(count)) })
            }
            #[inline(always)]
            unsafe fn store_first(self, p: *mut Self::Real, count: usize) {
                // SAFETY: the caller's promise; lanes that are masked out are not written.
                unsafe { $storez(p, Self::mask_of_first(count), self.0) }
            }
            permutes_in_memory!();
    reduces_in_memory!();
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $andnot(Self::splat(-0.0).0, self.0) })
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $reg {
                // SAFETY: as in `splat`.
                unsafe { $cmp::<_CMP_GT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $and(self.0, other.0) })
            }
            #[inline(always)]
            fn select(mask: $reg, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(no.0, yes.0, mask) })
            }
            #[inline(always)]
            fn max_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe {
                    let larger = $igt($cast(self.0), $cast(other.0));
                    Self($blend(other.0, self.0, $uncast(larger)))
                }
            }
        }
    };
}

#[cfg(feature = "single")]
pub(super) mod single;

avx2!(
    F64x4,
    __m256d,
    _mm256_andnot_pd,
    _mm256_cmp_pd,
    _mm256_blendv_pd,
    _mm256_and_pd,
    _mm256_castpd_si256,
    _mm256_castsi256_pd,
    _mm256_sub_epi64,
    _mm256_cmpgt_epi64,
    _mm256_set1_epi64x,
    0x7ff0_0000_0000_0000,
    0x7fd0_0000_0000_0000,
    load_f64x4,
    store_f64x4,
    interleave_f64x4,
    [_mm256_permute_pd, 0x5],
    _mm256_maskload_pd,
    _mm256_maskstore_pd,
    i64,
    [
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_div_pd,
        _mm256_sqrt_pd,
        _mm256_max_pd,
        _mm256_min_pd
    ],
    [_mm256_stream_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd],
    [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd]
);

#[inline(always)]
unsafe fn interleave_f64x4(a: F64x4, b: F64x4) -> [F64x4; 2] {
    // SAFETY: as above.
    unsafe {
        let (lo, hi) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
        [F64x4(_mm256_permute2f128_pd::<0x20>(lo, hi)), F64x4(_mm256_permute2f128_pd::<0x31>(lo, hi))]
    }
}

#[inline(always)]
unsafe fn load_f64x4(src: *const f64, stride: usize) -> [F64x4; 4] {
    // SAFETY: as in `load_f64x8`, four rows.
    unsafe {
        macro_rules! blocks {
            ($p:expr) => {{ _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd($p)), _mm_loadu_pd($p.add(2 * stride))) }};
        }
        let (a, b) = (blocks!(src), blocks!(src.add(stride)));
        let (c, d) = (blocks!(src.add(2)), blocks!(src.add(stride + 2)));
        [
            F64x4(_mm256_unpacklo_pd(a, b)),
            F64x4(_mm256_unpackhi_pd(a, b)),
            F64x4(_mm256_unpacklo_pd(c, d)),
            F64x4(_mm256_unpackhi_pd(c, d)),
        ]
    }
}

#[inline(always)]
unsafe fn store_f64x4([v0, v1, v2, v3]: [F64x4; 4], dst: *mut f64, stride: usize) {
    // SAFETY: as in `store_f64x8`, four rows.
    unsafe {
        let (a, b) = (_mm256_unpacklo_pd(v0.0, v1.0), _mm256_unpackhi_pd(v0.0, v1.0));
        let (c, d) = (_mm256_unpacklo_pd(v2.0, v3.0), _mm256_unpackhi_pd(v2.0, v3.0));
        _mm256_storeu_pd(dst, _mm256_permute2f128_pd::<0x20>(a, c));
        _mm256_storeu_pd(dst.add(stride), _mm256_permute2f128_pd::<0x20>(b, d));
        _mm256_storeu_pd(dst.add(2 * stride), _mm256_permute2f128_pd::<0x31>(a, c));
        _mm256_storeu_pd(dst.add(3 * stride), _mm256_permute2f128_pd::<0x31>(b, d));
    }
}
