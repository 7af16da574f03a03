//! Vectors of lanes: the few operations that the sweeps need, for every instruction set.
//!
//! The methods of the x86 types are inlined into functions compiled for their instruction set (see `dispatch` in
//! `mod.rs`); nothing else may call them.

use crate::scalar::RealScalar;
use core::ops::{Add, Mul, Neg, Sub};

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
    /// Tiles that the sweeps interleave: as many as the registers hold.
    const TILES: usize;

    /// Plain arrays?
    const PORTABLE: bool;

    /// The same number in every lane.
    fn splat(x: Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` readable numbers.
    unsafe fn load(p: *const Self::Real) -> Self;
    /// # Safety
    /// `p` points to `W` writable numbers.
    unsafe fn store(self, p: *mut Self::Real);
    /// 1 / self
    fn recip(self) -> Self;
    /// self · a + b, fused where the machine can.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// b − self · a, fused where the machine can.
    fn neg_mul_add(self, a: Self, b: Self) -> Self;
    /// |self|
    fn abs(self) -> Self;
    /// The larger; `other` if either is NaN.
    fn max(self, other: Self) -> Self;
    /// The smaller; `other` if either is NaN.
    fn min(self, other: Self) -> Self;
    /// self ≥ other, false for NaN.
    fn ge(self, other: Self) -> Self::Mask;
    /// Lane by lane.
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask is set, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// [`RealScalar::equilibrate`] in every lane; `self` is not negative.
    fn equilibrate(self) -> Self;

    /// Transposes W rows of `columns` numbers, `stride` apart, into vectors of W lanes: column j goes to
    /// [`slot`]`::<Self, K>(j, row)`.
    ///
    /// # Safety
    /// `src` is readable for all rows, `dst` writable at all slots.
    unsafe fn gather<const K: usize>(src: *const Self::Real, stride: usize, columns: usize, dst: *mut Self::Real, row: usize) {
        // SAFETY: the caller's promise.
        unsafe { gather_from::<Self, K>(src, stride, 0, columns, dst, row) }
    }

    /// The inverse of [`gather`](Self::gather).
    ///
    /// # Safety
    /// `src` is readable at all slots, `dst` writable for all rows.
    unsafe fn scatter<const K: usize>(src: *const Self::Real, row: usize, columns: usize, dst: *mut Self::Real, stride: usize) {
        // SAFETY: the caller's promise.
        unsafe { scatter_from::<Self, K>(src, row, 0, columns, dst, stride) }
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

/// Offset of the vector of column `j` in a tile whose rows are `row` numbers apart and whose elements are `K` vectors
/// (1 for real numbers, 2 for complex ones: real parts, then imaginary parts).
#[inline(always)]
pub fn slot<V: Lanes, const K: usize>(j: usize, row: usize) -> usize {
    j / K * row + j % K * V::W
}

/// Columns `first..columns` of [`Lanes::gather`], one number at a time.
///
/// # Safety
/// As [`Lanes::gather`].
#[inline(always)]
unsafe fn gather_from<V: Lanes, const K: usize>(
    src: *const V::Real,
    stride: usize,
    first: usize,
    columns: usize,
    dst: *mut V::Real,
    row: usize,
) {
    for j in first..columns {
        for lane in 0..V::W {
            // SAFETY: row `lane`, column `j` of the caller's tile.
            unsafe { *dst.add(slot::<V, K>(j, row) + lane) = *src.add(lane * stride + j) }
        }
    }
}

/// Columns `first..columns` of [`Lanes::scatter`], one number at a time.
///
/// # Safety
/// As [`Lanes::scatter`].
#[inline(always)]
unsafe fn scatter_from<V: Lanes, const K: usize>(
    src: *const V::Real,
    row: usize,
    first: usize,
    columns: usize,
    dst: *mut V::Real,
    stride: usize,
) {
    for j in first..columns {
        for lane in 0..V::W {
            // SAFETY: row `lane`, column `j` of the caller's tile.
            unsafe { *dst.add(lane * stride + j) = *src.add(slot::<V, K>(j, row) + lane) }
        }
    }
}

/// Asks for the cache line at `p`; any address will do.
#[inline(always)]
pub fn prefetch<R>(p: *const R) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(p.cast())
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Plain arrays: whatever vectors the target is compiled for.
#[derive(Clone, Copy)]
pub struct Portable<R, const N: usize>([R; N]);

impl<R: RealScalar, const N: usize> Portable<R, N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(R, R) -> R) -> Self {
        Self(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl<R: RealScalar, const N: usize> Add for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}
impl<R: RealScalar, const N: usize> Sub for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}
impl<R: RealScalar, const N: usize> Mul for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}
impl<R: RealScalar, const N: usize> Neg for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|a| -a))
    }
}

impl<R: RealScalar, const N: usize> Lanes for Portable<R, N> {
    type Real = R;
    type Mask = [bool; N];
    const W: usize = N;
    const TILES: usize = 1;
    const PORTABLE: bool = true;
    #[inline(always)]
    fn splat(x: R) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const R) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { p.cast::<[R; N]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut R) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[R; N]>().write(self.0) }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self(self.0.map(|a| R::ONE / a))
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i].fused_if_fast(a.0[i], b.0[i])))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        (-self).mul_add(a, b)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.map(|a| a.abs1()))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn ge(self, other: Self) -> [bool; N] {
        core::array::from_fn(|i| self.0[i] >= other.0[i])
    }
    #[inline(always)]
    fn or(a: [bool; N], b: [bool; N]) -> [bool; N] {
        core::array::from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    fn select(mask: [bool; N], yes: Self, no: Self) -> Self {
        Self(core::array::from_fn(|i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn equilibrate(self) -> Self {
        Self(self.0.map(RealScalar::equilibrate))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use core::arch::x86_64::*;

    /// Operators and the methods that differ only in the name of the intrinsic.
    macro_rules! operators {
        ($name:ident, $add:ident, $sub:ident, $mul:ident) => {
            impl Add for $name {
                type Output = Self;
                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: compiled into a function that has the instruction.
                    Self(unsafe { $add(self.0, other.0) })
                }
            }
            impl Sub for $name {
                type Output = Self;
                #[inline(always)]
                fn sub(self, other: Self) -> Self {
                    // SAFETY: compiled into a function that has the instruction.
                    Self(unsafe { $sub(self.0, other.0) })
                }
            }
            impl Mul for $name {
                type Output = Self;
                #[inline(always)]
                fn mul(self, other: Self) -> Self {
                    // SAFETY: compiled into a function that has the instruction.
                    Self(unsafe { $mul(self.0, other.0) })
                }
            }
            impl Neg for $name {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    Self::splat(-0.0) - self
                }
            }
        };
    }

    macro_rules! common {
        ($real:ty, $w:literal, $set1:ident, $load:ident, $store:ident, $stream:ident, $div:ident, $fma:ident,
         $fnma:ident, $max:ident, $min:ident) => {
            type Real = $real;
            const W: usize = $w;
            const PORTABLE: bool = false;
            #[inline(always)]
            fn splat(x: $real) -> Self {
                // SAFETY: compiled into a function that has the instruction (so below).
                Self(unsafe { $set1(x) })
            }
            #[inline(always)]
            unsafe fn load(p: *const $real) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { $load(p) })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $real) {
                // SAFETY: the caller's promise.
                unsafe { $store(p, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $real) {
                // SAFETY: the caller's promise.
                unsafe { $stream(p, self.0) }
            }
            #[inline(always)]
            fn recip(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $div($set1(1.0), self.0) })
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn neg_mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $fnma(self.0, a.0, b.0) })
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $max(self.0, other.0) })
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $min(self.0, other.0) })
            }
        };
    }

    macro_rules! avx512 {
        ($name:ident, $reg:ty, $mask:ty, $abs:ident, $cmp:ident, $blend:ident, $cast:ident, $uncast:ident, $and:ident,
         $isub:ident, $iset1:ident, $exponent:literal, $tile:ident, $untile:ident, [$($common:tt)*], [$($ops:tt)*]) => {
            /// One 512-bit register.
            #[derive(Clone, Copy)]
            pub struct $name($reg);
            operators!($name, $($ops)*);
            impl Lanes for $name {
                common!($($common)*);
                type Mask = $mask;
                const TILES: usize = 2;
                #[inline(always)]
                fn abs(self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $abs(self.0) })
                }
                #[inline(always)]
                fn ge(self, other: Self) -> $mask {
                    // SAFETY: as in `splat`.
                    unsafe { $cmp::<_CMP_GE_OQ>(self.0, other.0) }
                }
                #[inline(always)]
                fn or(a: $mask, b: $mask) -> $mask {
                    a | b
                }
                #[inline(always)]
                fn select(mask: $mask, yes: Self, no: Self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $blend(mask, no.0, yes.0) })
                }
                #[inline(always)]
                fn equilibrate(self) -> Self {
                    let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
                    // SAFETY: as in `splat`.
                    Self(unsafe { $uncast($isub($iset1($exponent), $and($cast(e.0), $iset1($exponent)))) })
                }
                #[inline(always)]
                unsafe fn gather<const K: usize>(
                    src: *const Self::Real,
                    stride: usize,
                    columns: usize,
                    dst: *mut Self::Real,
                    row: usize,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { $tile::<K>(src, stride, columns, dst, row) }
                }
                #[inline(always)]
                unsafe fn scatter<const K: usize>(
                    src: *const Self::Real,
                    row: usize,
                    columns: usize,
                    dst: *mut Self::Real,
                    stride: usize,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { $untile::<K>(src, row, columns, dst, stride) }
                }
            }
        };
    }

    avx512!(
        F64x8, __m512d, __mmask8, _mm512_abs_pd, _mm512_cmp_pd_mask, _mm512_mask_blend_pd, _mm512_castpd_si512,
        _mm512_castsi512_pd, _mm512_and_si512, _mm512_sub_epi64, _mm512_set1_epi64, 0x7ff0_0000_0000_0000,
        gather_f64x8, scatter_f64x8,
        [f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_stream_pd, _mm512_div_pd,
         _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_max_pd, _mm512_min_pd],
        [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd]
    );
    avx512!(
        F32x16, __m512, __mmask16, _mm512_abs_ps, _mm512_cmp_ps_mask, _mm512_mask_blend_ps, _mm512_castps_si512,
        _mm512_castsi512_ps, _mm512_and_si512, _mm512_sub_epi32, _mm512_set1_epi32, 0x7f80_0000,
        gather_f32x16, scatter_f32x16,
        [f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps, _mm512_div_ps,
         _mm512_fmadd_ps, _mm512_fnmadd_ps, _mm512_max_ps, _mm512_min_ps],
        [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps]
    );

    macro_rules! avx2 {
        ($name:ident, $reg:ty, $andnot:ident, $cmp:ident, $blend:ident, $or:ident, $cast:ident, $uncast:ident,
         $isub:ident, $iset1:ident, $exponent:literal, $tile:ident, $untile:ident, [$($common:tt)*], [$($ops:tt)*]) => {
            /// One 256-bit register.
            #[derive(Clone, Copy)]
            pub struct $name($reg);
            operators!($name, $($ops)*);
            impl Lanes for $name {
                common!($($common)*);
                type Mask = $reg;
                const TILES: usize = 1;
                #[inline(always)]
                fn abs(self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $andnot(Self::splat(-0.0).0, self.0) })
                }
                #[inline(always)]
                fn ge(self, other: Self) -> $reg {
                    // SAFETY: as in `splat`.
                    unsafe { $cmp::<_CMP_GE_OQ>(self.0, other.0) }
                }
                #[inline(always)]
                fn or(a: $reg, b: $reg) -> $reg {
                    // SAFETY: as in `splat`.
                    unsafe { $or(a, b) }
                }
                #[inline(always)]
                fn select(mask: $reg, yes: Self, no: Self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $blend(no.0, yes.0, mask) })
                }
                #[inline(always)]
                fn equilibrate(self) -> Self {
                    let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
                    // SAFETY: as in `splat`.
                    unsafe {
                        let all = $iset1($exponent);
                        Self($uncast($isub(all, _mm256_and_si256($cast(e.0), all))))
                    }
                }
                #[inline(always)]
                unsafe fn gather<const K: usize>(
                    src: *const Self::Real,
                    stride: usize,
                    columns: usize,
                    dst: *mut Self::Real,
                    row: usize,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { $tile::<K>(src, stride, columns, dst, row) }
                }
                #[inline(always)]
                unsafe fn scatter<const K: usize>(
                    src: *const Self::Real,
                    row: usize,
                    columns: usize,
                    dst: *mut Self::Real,
                    stride: usize,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { $untile::<K>(src, row, columns, dst, stride) }
                }
            }
        };
    }

    avx2!(
        F64x4, __m256d, _mm256_andnot_pd, _mm256_cmp_pd, _mm256_blendv_pd, _mm256_or_pd, _mm256_castpd_si256,
        _mm256_castsi256_pd, _mm256_sub_epi64, _mm256_set1_epi64x, 0x7ff0_0000_0000_0000, gather_f64x4, scatter_f64x4,
        [f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_stream_pd, _mm256_div_pd,
         _mm256_fmadd_pd, _mm256_fnmadd_pd, _mm256_max_pd, _mm256_min_pd],
        [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd]
    );
    avx2!(
        F32x8, __m256, _mm256_andnot_ps, _mm256_cmp_ps, _mm256_blendv_ps, _mm256_or_ps, _mm256_castps_si256,
        _mm256_castsi256_ps, _mm256_sub_epi32, _mm256_set1_epi32, 0x7f80_0000, gather_f32x8, scatter_f32x8,
        [f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps, _mm256_div_ps,
         _mm256_fmadd_ps, _mm256_fnmadd_ps, _mm256_max_ps, _mm256_min_ps],
        [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps]
    );

    // Transposition: a vector takes its 128-bit blocks from different rows as it is loaded (no shuffle port needed);
    // what remains is a transposition inside the blocks: 2×2 for f64, 4×4 for f32.

    #[inline(always)]
    unsafe fn gather_f64x8<const K: usize>(src: *const f64, stride: usize, columns: usize, dst: *mut f64, row: usize) {
        // SAFETY: rows 0..8 and columns j, j+1 are readable, the two vectors writable: the caller's promise.
        unsafe {
            let blocks = |p: *const f64| {
                let v = _mm512_castpd128_pd512(_mm_loadu_pd(p));
                let v = _mm512_insertf64x2::<1>(v, _mm_loadu_pd(p.add(2 * stride)));
                let v = _mm512_insertf64x2::<2>(v, _mm_loadu_pd(p.add(4 * stride)));
                _mm512_insertf64x2::<3>(v, _mm_loadu_pd(p.add(6 * stride)))
            };
            for j in (0..columns / 2).map(|k| 2 * k) {
                let (even, odd) = (blocks(src.add(j)), blocks(src.add(j + stride)));
                _mm512_storeu_pd(dst.add(slot::<F64x8, K>(j, row)), _mm512_unpacklo_pd(even, odd));
                _mm512_storeu_pd(dst.add(slot::<F64x8, K>(j + 1, row)), _mm512_unpackhi_pd(even, odd));
            }
            gather_from::<F64x8, K>(src, stride, columns / 2 * 2, columns, dst, row);
        }
    }

    #[inline(always)]
    unsafe fn scatter_f64x8<const K: usize>(src: *const f64, row: usize, columns: usize, dst: *mut f64, stride: usize) {
        // SAFETY: as in `gather_f64x8`.
        unsafe {
            let blocks = |v: __m512d, p: *mut f64| {
                _mm_storeu_pd(p, _mm512_castpd512_pd128(v));
                _mm_storeu_pd(p.add(2 * stride), _mm512_extractf64x2_pd::<1>(v));
                _mm_storeu_pd(p.add(4 * stride), _mm512_extractf64x2_pd::<2>(v));
                _mm_storeu_pd(p.add(6 * stride), _mm512_extractf64x2_pd::<3>(v));
            };
            for j in (0..columns / 2).map(|k| 2 * k) {
                let (a, b) = (_mm512_loadu_pd(src.add(slot::<F64x8, K>(j, row))), _mm512_loadu_pd(src.add(slot::<F64x8, K>(j + 1, row))));
                blocks(_mm512_unpacklo_pd(a, b), dst.add(j));
                blocks(_mm512_unpackhi_pd(a, b), dst.add(j + stride));
            }
            scatter_from::<F64x8, K>(src, row, columns / 2 * 2, columns, dst, stride);
        }
    }

    #[inline(always)]
    unsafe fn gather_f64x4<const K: usize>(src: *const f64, stride: usize, columns: usize, dst: *mut f64, row: usize) {
        // SAFETY: as in `gather_f64x8`, four rows.
        unsafe {
            let blocks = |p: *const f64| {
                _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(p)), _mm_loadu_pd(p.add(2 * stride)))
            };
            for j in (0..columns / 2).map(|k| 2 * k) {
                let (even, odd) = (blocks(src.add(j)), blocks(src.add(j + stride)));
                _mm256_storeu_pd(dst.add(slot::<F64x4, K>(j, row)), _mm256_unpacklo_pd(even, odd));
                _mm256_storeu_pd(dst.add(slot::<F64x4, K>(j + 1, row)), _mm256_unpackhi_pd(even, odd));
            }
            gather_from::<F64x4, K>(src, stride, columns / 2 * 2, columns, dst, row);
        }
    }

    #[inline(always)]
    unsafe fn scatter_f64x4<const K: usize>(src: *const f64, row: usize, columns: usize, dst: *mut f64, stride: usize) {
        // SAFETY: as in `gather_f64x8`, four rows.
        unsafe {
            let blocks = |v: __m256d, p: *mut f64| {
                _mm_storeu_pd(p, _mm256_castpd256_pd128(v));
                _mm_storeu_pd(p.add(2 * stride), _mm256_extractf128_pd::<1>(v));
            };
            for j in (0..columns / 2).map(|k| 2 * k) {
                let (a, b) = (_mm256_loadu_pd(src.add(slot::<F64x4, K>(j, row))), _mm256_loadu_pd(src.add(slot::<F64x4, K>(j + 1, row))));
                blocks(_mm256_unpacklo_pd(a, b), dst.add(j));
                blocks(_mm256_unpackhi_pd(a, b), dst.add(j + stride));
            }
            scatter_from::<F64x4, K>(src, row, columns / 2 * 2, columns, dst, stride);
        }
    }

    /// 4×4 transposition inside each 128-bit block.
    macro_rules! transpose_blocks {
        ($v:expr, $lo:ident, $hi:ident, $lopd:ident, $hipd:ident, $pd:ident, $ps:ident) => {{
            let [a, b, c, d] = $v;
            let (ab0, ab1) = ($pd($lo(a, b)), $pd($hi(a, b)));
            let (cd0, cd1) = ($pd($lo(c, d)), $pd($hi(c, d)));
            [$ps($lopd(ab0, cd0)), $ps($hipd(ab0, cd0)), $ps($lopd(ab1, cd1)), $ps($hipd(ab1, cd1))]
        }};
    }
    macro_rules! transpose_blocks_512 {
        ($v:expr) => {
            transpose_blocks!(
                $v, _mm512_unpacklo_ps, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpackhi_pd,
                _mm512_castps_pd, _mm512_castpd_ps
            )
        };
    }
    macro_rules! transpose_blocks_256 {
        ($v:expr) => {
            transpose_blocks!(
                $v, _mm256_unpacklo_ps, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpackhi_pd,
                _mm256_castps_pd, _mm256_castpd_ps
            )
        };
    }

    #[inline(always)]
    unsafe fn gather_f32x16<const K: usize>(src: *const f32, stride: usize, columns: usize, dst: *mut f32, row: usize) {
        // SAFETY: as in `gather_f64x8`, sixteen rows and four columns at a time.
        unsafe {
            let blocks = |p: *const f32| {
                let v = _mm512_castps128_ps512(_mm_loadu_ps(p));
                let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps(p.add(4 * stride)));
                let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps(p.add(8 * stride)));
                _mm512_insertf32x4::<3>(v, _mm_loadu_ps(p.add(12 * stride)))
            };
            for j in (0..columns / 4).map(|k| 4 * k) {
                let p = src.add(j);
                let v = [blocks(p), blocks(p.add(stride)), blocks(p.add(2 * stride)), blocks(p.add(3 * stride))];
                let [a, b, c, d] = transpose_blocks_512!(v);
                _mm512_storeu_ps(dst.add(slot::<F32x16, K>(j, row)), a);
                _mm512_storeu_ps(dst.add(slot::<F32x16, K>(j + 1, row)), b);
                _mm512_storeu_ps(dst.add(slot::<F32x16, K>(j + 2, row)), c);
                _mm512_storeu_ps(dst.add(slot::<F32x16, K>(j + 3, row)), d);
            }
            gather_from::<F32x16, K>(src, stride, columns / 4 * 4, columns, dst, row);
        }
    }

    #[inline(always)]
    unsafe fn scatter_f32x16<const K: usize>(src: *const f32, row: usize, columns: usize, dst: *mut f32, stride: usize) {
        // SAFETY: as in `gather_f32x16`.
        unsafe {
            let blocks = |v: __m512, p: *mut f32| {
                _mm_storeu_ps(p, _mm512_castps512_ps128(v));
                _mm_storeu_ps(p.add(4 * stride), _mm512_extractf32x4_ps::<1>(v));
                _mm_storeu_ps(p.add(8 * stride), _mm512_extractf32x4_ps::<2>(v));
                _mm_storeu_ps(p.add(12 * stride), _mm512_extractf32x4_ps::<3>(v));
            };
            for j in (0..columns / 4).map(|k| 4 * k) {
                let load = |k: usize| _mm512_loadu_ps(src.add(slot::<F32x16, K>(j + k, row)));
                let v = transpose_blocks_512!([load(0), load(1), load(2), load(3)]);
                for (k, row) in v.into_iter().enumerate() {
                    blocks(row, dst.add(j + k * stride));
                }
            }
            scatter_from::<F32x16, K>(src, row, columns / 4 * 4, columns, dst, stride);
        }
    }

    #[inline(always)]
    unsafe fn gather_f32x8<const K: usize>(src: *const f32, stride: usize, columns: usize, dst: *mut f32, row: usize) {
        // SAFETY: as in `gather_f32x16`, eight rows.
        unsafe {
            let blocks = |p: *const f32| {
                _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p.add(4 * stride)))
            };
            for j in (0..columns / 4).map(|k| 4 * k) {
                let p = src.add(j);
                let v = [blocks(p), blocks(p.add(stride)), blocks(p.add(2 * stride)), blocks(p.add(3 * stride))];
                let [a, b, c, d] = transpose_blocks_256!(v);
                _mm256_storeu_ps(dst.add(slot::<F32x8, K>(j, row)), a);
                _mm256_storeu_ps(dst.add(slot::<F32x8, K>(j + 1, row)), b);
                _mm256_storeu_ps(dst.add(slot::<F32x8, K>(j + 2, row)), c);
                _mm256_storeu_ps(dst.add(slot::<F32x8, K>(j + 3, row)), d);
            }
            gather_from::<F32x8, K>(src, stride, columns / 4 * 4, columns, dst, row);
        }
    }

    #[inline(always)]
    unsafe fn scatter_f32x8<const K: usize>(src: *const f32, row: usize, columns: usize, dst: *mut f32, stride: usize) {
        // SAFETY: as in `gather_f32x16`, eight rows.
        unsafe {
            let blocks = |v: __m256, p: *mut f32| {
                _mm_storeu_ps(p, _mm256_castps256_ps128(v));
                _mm_storeu_ps(p.add(4 * stride), _mm256_extractf128_ps::<1>(v));
            };
            for j in (0..columns / 4).map(|k| 4 * k) {
                let load = |k: usize| _mm256_loadu_ps(src.add(slot::<F32x8, K>(j + k, row)));
                let v = transpose_blocks_256!([load(0), load(1), load(2), load(3)]);
                for (k, row) in v.into_iter().enumerate() {
                    blocks(row, dst.add(j + k * stride));
                }
            }
            scatter_from::<F32x8, K>(src, row, columns / 4 * 4, columns, dst, stride);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{F32x8, F32x16, F64x4, F64x8};
