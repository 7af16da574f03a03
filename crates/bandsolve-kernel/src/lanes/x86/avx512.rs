//! Vectors of 512 bits.

use super::{Lanes, RealScalar, bits, common, operators};
use crate::number::MAX_LANES;
use core::arch::x86_64::*;
use core::ops::{Add, Mul, Neg, Sub};

macro_rules! avx512 {
    ($name:ident, $reg:ty, $mask:ty, $abs:ident, $range:ident, $mask3_fnma:ident, $cmp:ident, $blend:ident, $cast:ident, $uncast:ident, $and:ident,
     $isub:ident, $imax:ident, $iset1:ident, $exponent:literal, $normal:literal, $recips:ident, $tile:ident, $untile:ident,
     $interleave:ident, [$swap:ident, $pairs:literal], $loadz:ident, $storez:ident, $permute:ident, $index:ident, $peak:ident, $total:ident, $first:ident,
     [$($common:tt)*],
     [$($chosen:tt)*], [$($ops:tt)*]) => {
        /// One 512-bit register.
        #[derive(Clone, Copy)]
        pub struct $name($reg);
        operators!($name, $($ops)*);
        impl Lanes for $name {
            common!($($common)*);
            chosen_at_run_time!($($chosen)*);
            bits!($cast, $uncast, $and, $isub, $iset1, $exponent, $normal);
            moves!($tile, $untile, $interleave, [$swap, $pairs]);
            type Mask = $mask;
            #[inline(always)]
            unsafe fn load_first(p: *const Self::Real, count: usize) -> Self {
                // SAFETY: the caller's promise; lanes that are masked out are not read.
                Self(unsafe { $loadz((1_u32.wrapping_shl(count as u32)).wrapping_sub(1) as $mask, p) })
            }
            #[inline(always)]
            unsafe fn store_first(self, p: *mut Self::Real, count: usize) {
                // SAFETY: the caller's promise; lanes that are masked out are not written.
                unsafe { $storez(p, (1_u32.wrapping_shl(count as u32)).wrapping_sub(1) as $mask, self.0) }
            }
            #[inline(always)]
            unsafe fn load_last(end: *const Self::Real, count: usize) -> Self {
                let mask = (!0_u32).wrapping_shl((Self::W - count) as u32) as $mask;
                // SAFETY: the caller's promise; lanes that are masked out are not read.
                Self(unsafe { $loadz(mask, end.wrapping_sub(Self::W)) })
            }
            #[inline(always)]
            unsafe fn store_last(self, end: *mut Self::Real, count: usize) {
                let mask = (!0_u32).wrapping_shl((Self::W - count) as u32) as $mask;
                // SAFETY: the caller's promise; lanes that are masked out are not written.
                unsafe { $storez(end.wrapping_sub(Self::W), mask, self.0) }
            }
            const REGISTERS: usize = 32;
            const PERMUTES: bool = true;
            type Index = __m512i;
            #[inline(always)]
            fn index(lanes: &[u32; MAX_LANES]) -> __m512i {
                // SAFETY: as in `splat`; sixteen numbers are readable.
                unsafe { $index(lanes) }
            }
            #[inline(always)]
            fn permute(self, other: Self, index: __m512i) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $permute(self.0, index, other.0) })
            }
            #[inline(always)]
            fn peak(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $peak(self.0) })
            }
            #[inline(always)]
            fn total(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $total(self.0) })
            }
            #[inline(always)]
            fn first(self) -> Self::Real {
                // SAFETY: as in `splat`.
                unsafe { $first(self.0) }
            }
            #[inline(always)]
            fn equal_bits(self, other: Self) -> u32 {
                // SAFETY: as in `splat`.
                u32::from(unsafe { $cmp::<_CMP_EQ_OQ>(self.0, other.0) })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn abs_max(self, other: Self) -> Self {
                // Range: maximum of moduli (0b11), sign cleared (0b10).
                // SAFETY: as in `splat`.
                Self(unsafe { $range::<0b1011>(self.0, other.0) })
            }
            #[inline(always)]
            fn abs_min(self, other: Self) -> Self {
                // Range: minimum of moduli (0b10), sign cleared (0b10).
                // SAFETY: as in `splat`.
                Self(unsafe { $range::<0b1010>(self.0, other.0) })
            }
            #[inline(always)]
            fn pivot(self, other: Self) -> ($mask, Self) {
                // Range: maximum of moduli (0b11) with its own sign (0b01). If both are equal, either may be selected;
                // the mask says which.
                // SAFETY: as in `splat`.
                unsafe {
                    let pivot = $range::<0b0111>(self.0, other.0);
                    ($cmp::<_CMP_NEQ_UQ>(pivot, self.0), Self(pivot))
                }
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $mask {
                // SAFETY: as in `splat`.
                unsafe { $cmp::<_CMP_GT_OQ>(self.0, other.0) }
            }
            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $uncast($and($cast(self.0), $cast(other.0))) })
            }
            #[inline(always)]
            fn neg_mul_add_where(self, mask: $mask, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $mask3_fnma(self.0, a.0, b.0, mask) })
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $blend(mask, no.0, yes.0) })
            }
            #[inline(always)]
            fn max_bits(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $uncast($imax($cast(self.0), $cast(other.0))) })
            }
            #[inline(always)]
            fn recips(self) -> [Self; 2] {
                // SAFETY: as in `splat`.
                unsafe { $recips(self) }
            }
        }
    };
}

#[cfg(feature = "single")]
pub(super) mod single;

avx512!(
    F64x8,
    __m512d,
    __mmask8,
    _mm512_abs_pd,
    _mm512_range_pd,
    _mm512_mask3_fnmadd_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_blend_pd,
    _mm512_castpd_si512,
    _mm512_castsi512_pd,
    _mm512_and_si512,
    _mm512_sub_epi64,
    _mm512_max_epi64,
    _mm512_set1_epi64,
    0x7ff0_0000_0000_0000,
    0x7fd0_0000_0000_0000,
    recips_f64x8,
    load_f64x8,
    store_f64x8,
    interleave_f64x8,
    [_mm512_permute_pd, 0x55],
    _mm512_maskz_loadu_pd,
    _mm512_mask_storeu_pd,
    _mm512_permutex2var_pd,
    index_f64x8,
    peak_f64x8,
    total_f64x8,
    _mm512_cvtsd_f64,
    [
        f64,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_div_pd,
        _mm512_sqrt_pd,
        _mm512_max_pd,
        _mm512_min_pd
    ],
    [_mm512_stream_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd],
    [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd]
);

#[inline(always)]
unsafe fn index_f64x8(lanes: &[u32; MAX_LANES]) -> __m512i {
    // SAFETY: compiled into a function that has the instructions (so below); eight numbers are readable.
    unsafe { _mm512_cvtepu32_epi64(_mm256_loadu_si256(lanes.as_ptr().cast())) }
}

#[inline(always)]
unsafe fn peak_f64x8(v: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe {
        let v = _mm512_max_pd(v, _mm512_shuffle_f64x2::<0b01_00_11_10>(v, v));
        let v = _mm512_max_pd(v, _mm512_shuffle_f64x2::<0b10_11_00_01>(v, v));
        _mm512_max_pd(v, _mm512_permute_pd::<0b0101_0101>(v))
    }
}

#[inline(always)]
unsafe fn total_f64x8(v: __m512d) -> __m512d {
    // SAFETY: as above.
    unsafe {
        let v = _mm512_add_pd(v, _mm512_shuffle_f64x2::<0b01_00_11_10>(v, v));
        let v = _mm512_add_pd(v, _mm512_shuffle_f64x2::<0b10_11_00_01>(v, v));
        _mm512_add_pd(v, _mm512_permute_pd::<0b0101_0101>(v))
    }
}

// Reciprocals: an estimate with 14 correct bits, then Newton's method, which doubles the number of correct bits in each
// step.

#[inline(always)]
unsafe fn recips_f64x8(x: F64x8) -> [F64x8; 2] {
    // SAFETY: compiled into a function that has the instruction (so below).
    let rough = F64x8(unsafe { _mm512_rcp14_pd(x.0) });
    [rough, newton(x, newton(x, rough))]
}

/// An improved reciprocal of `x`: r + r·(1 − x·r).
#[inline(always)]
fn newton<V: Lanes>(x: V, r: V) -> V {
    let error = x.neg_mul_add(r, V::splat(<V::Real as crate::Scalar>::ONE));
    r.mul_add(error, r)
}

// Loads and stores of four columns. The 128-bit blocks of a vector come from different rows, so only a transposition
// inside the blocks remains.

#[inline(always)]
unsafe fn load_f64x8(src: *const f64, stride: usize) -> [F64x8; 4] {
    // SAFETY: four numbers of rows 0..8 are readable: the caller's promise.
    unsafe {
        // Rows i and i + 2: [i0 i1 | i2 i3 | (i+2)0 … ]
        macro_rules! rows {
            ($i:literal) => {{
                let low = _mm512_castpd256_pd512(_mm256_loadu_pd(src.add($i * stride)));
                _mm512_insertf64x4::<1>(low, _mm256_loadu_pd(src.add(($i + 2) * stride)))
            }};
        }
        let (r02, r13, r46, r57) = (rows!(0), rows!(1), rows!(4), rows!(5));
        let (a, b) = (_mm512_unpacklo_pd(r02, r13), _mm512_unpackhi_pd(r02, r13));
        let (c, d) = (_mm512_unpacklo_pd(r46, r57), _mm512_unpackhi_pd(r46, r57));
        [
            F64x8(_mm512_shuffle_f64x2::<0b10_00_10_00>(a, c)),
            F64x8(_mm512_shuffle_f64x2::<0b10_00_10_00>(b, d)),
            F64x8(_mm512_shuffle_f64x2::<0b11_01_11_01>(a, c)),
            F64x8(_mm512_shuffle_f64x2::<0b11_01_11_01>(b, d)),
        ]
    }
}

#[inline(always)]
unsafe fn store_f64x8([v0, v1, v2, v3]: [F64x8; 4], dst: *mut f64, stride: usize) {
    // SAFETY: four numbers of rows 0..8 are writable: the caller's promise.
    unsafe {
        let (a, b) = (_mm512_unpacklo_pd(v0.0, v1.0), _mm512_unpackhi_pd(v0.0, v1.0)); // columns 0, 1 of rows 0246, 1357
        let (c, d) = (_mm512_unpacklo_pd(v2.0, v3.0), _mm512_unpackhi_pd(v2.0, v3.0)); // columns 2, 3
        // Rows i, i + 2, i + 4, i + 6, whose columns 0, 1 are the blocks of x and columns 2, 3 those of y.
        let (first, second) =
            (_mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4));
        macro_rules! put {
            ($i:literal, $x:ident, $y:ident) => {{
                let low = _mm512_permutex2var_pd($x, first, $y);
                let high = _mm512_permutex2var_pd($x, second, $y);
                _mm256_storeu_pd(dst.add($i * stride), _mm512_castpd512_pd256(low));
                _mm256_storeu_pd(dst.add(($i + 2) * stride), _mm512_extractf64x4_pd::<1>(low));
                _mm256_storeu_pd(dst.add(($i + 4) * stride), _mm512_castpd512_pd256(high));
                _mm256_storeu_pd(dst.add(($i + 6) * stride), _mm512_extractf64x4_pd::<1>(high));
            }};
        }
        put!(0, a, c);
        put!(1, b, d);
    }
}

#[inline(always)]
unsafe fn interleave_f64x8(a: F64x8, b: F64x8) -> [F64x8; 2] {
    // SAFETY: compiled into a function that has the instruction (so below).
    unsafe {
        let (low, high) = (_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4));
        [F64x8(_mm512_permutex2var_pd(a.0, low, b.0)), F64x8(_mm512_permutex2var_pd(a.0, high, b.0))]
    }
}
