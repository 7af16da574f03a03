//! Vectors of lanes: the few operations that the sweeps need, for every instruction set.
//!
//! The methods of the x86 types are inlined into functions compiled for their instruction set (see `dispatch` in
//! `mod.rs`); nothing else may call them.

use crate::RealScalar;
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
    /// The first `count` ≤ W numbers; 0 in the other lanes.
    ///
    /// # Safety
    /// `p` points to `count` readable numbers.
    #[inline(always)]
    unsafe fn load_first(p: *const Self::Real, count: usize) -> Self {
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; 16];
        // SAFETY: the caller's promise; no vector has more than 16 lanes.
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
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; 16];
        // SAFETY: the caller's promise; no vector has more than 16 lanes.
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
    fn index(lanes: &[u32; 16]) -> Self::Index;
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
        let mut lanes = [<Self::Real as crate::Scalar>::ZERO; 16];
        // SAFETY: the caller's promise; no vector has more than 16 lanes.
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

/// The lanes of a vector, and as many zeros as are missing to 16.
#[inline(always)]
fn lanes_of<V: Lanes>(v: V) -> [V::Real; 16] {
    let mut lanes = [<V::Real as crate::Scalar>::ZERO; 16];
    // SAFETY: no vector has more than 16 lanes.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes
}

/// The operations of [`Lanes`] that move numbers between lanes, through memory.
macro_rules! through_memory {
    () => {
        const PERMUTES: bool = false;
        type Index = [u32; 16];
        #[inline(always)]
        fn index(lanes: &[u32; 16]) -> [u32; 16] {
            *lanes
        }
        #[inline(always)]
        fn permute(self, other: Self, index: [u32; 16]) -> Self {
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
    fn sqrt(self) -> Self {
        Self(self.0.map(RealScalar::sqrt))
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
    fn gt(self, other: Self) -> [bool; N] {
        core::array::from_fn(|i| self.0[i] > other.0[i])
    }
    #[inline(always)]
    fn and_bits(self, other: Self) -> Self {
        self.zip(other, RealScalar::and_bits)
    }
    #[inline(always)]
    fn select(mask: [bool; N], yes: Self, no: Self) -> Self {
        Self(core::array::from_fn(|i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn equilibrate(self) -> Self {
        Self(self.0.map(RealScalar::equilibrate))
    }
    #[inline(always)]
    fn normalizer(self) -> Self {
        Self(self.0.map(RealScalar::normalizer))
    }
    #[inline(always)]
    fn log_gap(self, other: Self) -> Self {
        self.zip(other, RealScalar::log_gap)
    }
    #[inline(always)]
    fn max_bits(self, other: Self) -> Self {
        self.zip(other, RealScalar::max_bits)
    }
    #[inline(always)]
    unsafe fn load_columns(src: *const R, stride: usize) -> [Self; 4] {
        let mut columns = [Self([R::ZERO; N]); 4];
        for lane in 0..N {
            for (k, column) in columns.iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                column.0[lane] = unsafe { *src.add(lane * stride + k) };
            }
        }
        columns
    }
    #[inline(always)]
    unsafe fn store_columns(columns: [Self; 4], dst: *mut R, stride: usize) {
        for lane in 0..N {
            for (k, column) in columns.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *dst.add(lane * stride + k) = column.0[lane] }
            }
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        let at = |i: usize| if i.is_multiple_of(2) { self.0[i / 2] } else { other.0[i / 2] };
        [Self(core::array::from_fn(at)), Self(core::array::from_fn(|i| at(i + N)))]
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        Self(core::array::from_fn(|i| self.0[i ^ 1]))
    }
    through_memory!();
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
        ($real:ty, $w:literal, $set1:ident, $load:ident, $store:ident, $stream:ident, $div:ident, $sqrt:ident, $fma:ident,
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
            fn sqrt(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { $sqrt(self.0) })
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
        ($name:ident, $reg:ty, $mask:ty, $abs:ident, $range:ident, $mask3_fnma:ident, $cmp:ident, $blend:ident, $cast:ident, $uncast:ident, $and:ident,
         $isub:ident, $imax:ident, $iset1:ident, $exponent:literal, $normal:literal, $recips:ident, $tile:ident, $untile:ident,
         $interleave:ident, [$swap:ident, $pairs:literal], $loadz:ident, $storez:ident, $permute:ident, $index:ident, $peak:ident, $total:ident, $first:ident,
         [$($common:tt)*], [$($ops:tt)*]) => {
            /// One 512-bit register.
            #[derive(Clone, Copy)]
            pub struct $name($reg);
            operators!($name, $($ops)*);
            impl Lanes for $name {
                common!($($common)*);
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
                const PERMUTES: bool = true;
                type Index = __m512i;
                #[inline(always)]
                fn index(lanes: &[u32; 16]) -> __m512i {
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
                    // Range: maximum of moduli (0b11) with its own sign (0b01). On a tie either may be taken: the mask says
                    // which it was.
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
                fn equilibrate(self) -> Self {
                    let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
                    // SAFETY: as in `splat`.
                    Self(unsafe { $uncast($isub($iset1($exponent), $and($cast(e.0), $iset1($exponent)))) })
                }
                #[inline(always)]
                fn normalizer(self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $uncast($isub($iset1($normal), $and($cast(self.0), $iset1($exponent)))) })
                }
                #[inline(always)]
                fn log_gap(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $uncast($isub($cast(self.0), $cast(other.0))) })
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
                #[inline(always)]
                unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4] {
                    // SAFETY: the caller's promise.
                    unsafe { $tile(src, stride) }
                }
                #[inline(always)]
                unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize) {
                    // SAFETY: the caller's promise.
                    unsafe { $untile(columns, dst, stride) }
                }
                #[inline(always)]
                fn interleave(self, other: Self) -> [Self; 2] {
                    // SAFETY: as in `splat`.
                    unsafe { $interleave(self, other) }
                }
                #[inline(always)]
                fn swap_pairs(self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $swap::<$pairs>(self.0) })
                }
            }
        };
    }

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
            _mm512_stream_pd,
            _mm512_div_pd,
            _mm512_sqrt_pd,
            _mm512_fmadd_pd,
            _mm512_fnmadd_pd,
            _mm512_max_pd,
            _mm512_min_pd
        ],
        [_mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd]
    );
    avx512!(
        F32x16,
        __m512,
        __mmask16,
        _mm512_abs_ps,
        _mm512_range_ps,
        _mm512_mask3_fnmadd_ps,
        _mm512_cmp_ps_mask,
        _mm512_mask_blend_ps,
        _mm512_castps_si512,
        _mm512_castsi512_ps,
        _mm512_and_si512,
        _mm512_sub_epi32,
        _mm512_max_epi32,
        _mm512_set1_epi32,
        0x7f80_0000,
        0x7e80_0000,
        recips_f32x16,
        load_f32x16,
        store_f32x16,
        interleave_f32x16,
        [_mm512_permute_ps, 0xb1],
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps,
        _mm512_permutex2var_ps,
        index_f32x16,
        peak_f32x16,
        total_f32x16,
        _mm512_cvtss_f32,
        [
            f32,
            16,
            _mm512_set1_ps,
            _mm512_loadu_ps,
            _mm512_storeu_ps,
            _mm512_stream_ps,
            _mm512_div_ps,
            _mm512_sqrt_ps,
            _mm512_fmadd_ps,
            _mm512_fnmadd_ps,
            _mm512_max_ps,
            _mm512_min_ps
        ],
        [_mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps]
    );

    macro_rules! avx2 {
        ($name:ident, $reg:ty, $andnot:ident, $cmp:ident, $blend:ident, $and:ident, $cast:ident, $uncast:ident,
         $isub:ident, $igt:ident, $iset1:ident, $exponent:literal, $normal:literal, $tile:ident, $untile:ident,
         $interleave:ident, [$swap:ident, $pairs:literal], $loadz:ident, $storez:ident, $int:ty, [$($common:tt)*], [$($ops:tt)*]) => {
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
                    // SAFETY: W numbers from number W − count on, count being at most W.
                    unsafe { _mm256_loadu_si256(masks.as_ptr().add(Self::W - count.min(Self::W)).cast()) }
                }
            }
            impl Lanes for $name {
                common!($($common)*);
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
                through_memory!();
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
                fn equilibrate(self) -> Self {
                    let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
                    // SAFETY: as in `splat`.
                    unsafe {
                        let all = $iset1($exponent);
                        Self($uncast($isub(all, _mm256_and_si256($cast(e.0), all))))
                    }
                }
                #[inline(always)]
                fn normalizer(self) -> Self {
                    // SAFETY: as in `splat`.
                    unsafe {
                        let exponent = _mm256_and_si256($cast(self.0), $iset1($exponent));
                        Self($uncast($isub($iset1($normal), exponent)))
                    }
                }
                #[inline(always)]
                fn log_gap(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $uncast($isub($cast(self.0), $cast(other.0))) })
                }
                #[inline(always)]
                fn max_bits(self, other: Self) -> Self {
                    // SAFETY: as in `splat`.
                    unsafe {
                        let larger = $igt($cast(self.0), $cast(other.0));
                        Self($blend(other.0, self.0, $uncast(larger)))
                    }
                }
                #[inline(always)]
                unsafe fn load_columns(src: *const Self::Real, stride: usize) -> [Self; 4] {
                    // SAFETY: the caller's promise.
                    unsafe { $tile(src, stride) }
                }
                #[inline(always)]
                unsafe fn store_columns(columns: [Self; 4], dst: *mut Self::Real, stride: usize) {
                    // SAFETY: the caller's promise.
                    unsafe { $untile(columns, dst, stride) }
                }
                #[inline(always)]
                fn interleave(self, other: Self) -> [Self; 2] {
                    // SAFETY: as in `splat`.
                    unsafe { $interleave(self, other) }
                }
                #[inline(always)]
                fn swap_pairs(self) -> Self {
                    // SAFETY: as in `splat`.
                    Self(unsafe { $swap::<$pairs>(self.0) })
                }
            }
        };
    }

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
            _mm256_stream_pd,
            _mm256_div_pd,
            _mm256_sqrt_pd,
            _mm256_fmadd_pd,
            _mm256_fnmadd_pd,
            _mm256_max_pd,
            _mm256_min_pd
        ],
        [_mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd]
    );
    avx2!(
        F32x8,
        __m256,
        _mm256_andnot_ps,
        _mm256_cmp_ps,
        _mm256_blendv_ps,
        _mm256_and_ps,
        _mm256_castps_si256,
        _mm256_castsi256_ps,
        _mm256_sub_epi32,
        _mm256_cmpgt_epi32,
        _mm256_set1_epi32,
        0x7f80_0000,
        0x7e80_0000,
        load_f32x8,
        store_f32x8,
        interleave_f32x8,
        [_mm256_permute_ps, 0xb1],
        _mm256_maskload_ps,
        _mm256_maskstore_ps,
        i32,
        [
            f32,
            8,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_stream_ps,
            _mm256_div_ps,
            _mm256_sqrt_ps,
            _mm256_fmadd_ps,
            _mm256_fnmadd_ps,
            _mm256_max_ps,
            _mm256_min_ps
        ],
        [_mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps]
    );

    #[inline(always)]
    unsafe fn index_f64x8(lanes: &[u32; 16]) -> __m512i {
        // SAFETY: compiled into a function that has the instructions (so below); eight numbers are readable.
        unsafe { _mm512_cvtepu32_epi64(_mm256_loadu_si256(lanes.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn index_f32x16(lanes: &[u32; 16]) -> __m512i {
        // SAFETY: as above, sixteen numbers.
        unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
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
    unsafe fn peak_f32x16(v: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe {
            let v = _mm512_max_ps(v, _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
            let v = _mm512_max_ps(v, _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
            let v = _mm512_max_ps(v, _mm512_permute_ps::<0b01_00_11_10>(v));
            _mm512_max_ps(v, _mm512_permute_ps::<0b10_11_00_01>(v))
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

    #[inline(always)]
    unsafe fn total_f32x16(v: __m512) -> __m512 {
        // SAFETY: as above.
        unsafe {
            let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b01_00_11_10>(v, v));
            let v = _mm512_add_ps(v, _mm512_shuffle_f32x4::<0b10_11_00_01>(v, v));
            let v = _mm512_add_ps(v, _mm512_permute_ps::<0b01_00_11_10>(v));
            _mm512_add_ps(v, _mm512_permute_ps::<0b10_11_00_01>(v))
        }
    }

    // Reciprocals: an estimate of 14 bits, then Newton's method, which doubles them each time.

    #[inline(always)]
    unsafe fn recips_f64x8(x: F64x8) -> [F64x8; 2] {
        // SAFETY: compiled into a function that has the instruction (so below).
        let rough = F64x8(unsafe { _mm512_rcp14_pd(x.0) });
        [rough, newton(x, newton(x, rough))]
    }

    #[inline(always)]
    unsafe fn recips_f32x16(x: F32x16) -> [F32x16; 2] {
        // SAFETY: as above.
        let rough = F32x16(unsafe { _mm512_rcp14_ps(x.0) });
        [rough, newton(x, rough)]
    }

    /// A better reciprocal of `x`: r + r·(1 − x·r).
    #[inline(always)]
    fn newton<V: Lanes>(x: V, r: V) -> V {
        let error = x.neg_mul_add(r, V::splat(<V::Real as crate::Scalar>::ONE));
        r.mul_add(error, r)
    }

    // Transposition: a vector takes its 128- or 256-bit blocks from different rows as it is loaded, which needs no shuffle;
    // what remains is a transposition inside the blocks.

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
            let (low, high) =
                (_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4));
            [F64x8(_mm512_permutex2var_pd(a.0, low, b.0)), F64x8(_mm512_permutex2var_pd(a.0, high, b.0))]
        }
    }

    #[inline(always)]
    unsafe fn interleave_f32x16(a: F32x16, b: F32x16) -> [F32x16; 2] {
        // SAFETY: as above.
        unsafe {
            let low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
            let high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
            [F32x16(_mm512_permutex2var_ps(a.0, low, b.0)), F32x16(_mm512_permutex2var_ps(a.0, high, b.0))]
        }
    }

    #[inline(always)]
    unsafe fn interleave_f64x4(a: F64x4, b: F64x4) -> [F64x4; 2] {
        // SAFETY: as above.
        unsafe {
            let (lo, hi) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
            [F64x4(_mm256_permute2f128_pd::<0x20>(lo, hi)), F64x4(_mm256_permute2f128_pd::<0x31>(lo, hi))]
        }
    }

    #[inline(always)]
    unsafe fn interleave_f32x8(a: F32x8, b: F32x8) -> [F32x8; 2] {
        // SAFETY: as above.
        unsafe {
            let (lo, hi) = (_mm256_unpacklo_ps(a.0, b.0), _mm256_unpackhi_ps(a.0, b.0));
            [F32x8(_mm256_permute2f128_ps::<0x20>(lo, hi)), F32x8(_mm256_permute2f128_ps::<0x31>(lo, hi))]
        }
    }

    #[inline(always)]
    unsafe fn load_f64x4(src: *const f64, stride: usize) -> [F64x4; 4] {
        // SAFETY: as in `load_f64x8`, four rows.
        unsafe {
            macro_rules! blocks {
                ($p:expr) => {{
                    _mm256_insertf128_pd::<1>(
                        _mm256_castpd128_pd256(_mm_loadu_pd($p)),
                        _mm_loadu_pd($p.add(2 * stride)),
                    )
                }};
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
                $v,
                _mm512_unpacklo_ps,
                _mm512_unpackhi_ps,
                _mm512_unpacklo_pd,
                _mm512_unpackhi_pd,
                _mm512_castps_pd,
                _mm512_castpd_ps
            )
        };
    }
    macro_rules! transpose_blocks_256 {
        ($v:expr) => {
            transpose_blocks!(
                $v,
                _mm256_unpacklo_ps,
                _mm256_unpackhi_ps,
                _mm256_unpacklo_pd,
                _mm256_unpackhi_pd,
                _mm256_castps_pd,
                _mm256_castpd_ps
            )
        };
    }

    #[inline(always)]
    unsafe fn load_f32x16(src: *const f32, stride: usize) -> [F32x16; 4] {
        // SAFETY: as in `load_f64x8`, sixteen rows.
        unsafe {
            macro_rules! blocks {
                ($p:expr) => {{
                    let v = _mm512_castps128_ps512(_mm_loadu_ps($p));
                    let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps($p.add(4 * stride)));
                    let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps($p.add(8 * stride)));
                    _mm512_insertf32x4::<3>(v, _mm_loadu_ps($p.add(12 * stride)))
                }};
            }
            let v =
                [blocks!(src), blocks!(src.add(stride)), blocks!(src.add(2 * stride)), blocks!(src.add(3 * stride))];
            let [a, b, c, d] = transpose_blocks_512!(v);
            [F32x16(a), F32x16(b), F32x16(c), F32x16(d)]
        }
    }

    #[inline(always)]
    unsafe fn store_f32x16([v0, v1, v2, v3]: [F32x16; 4], dst: *mut f32, stride: usize) {
        // SAFETY: as in `store_f64x8`, sixteen rows.
        unsafe {
            macro_rules! blocks {
                ($v:expr, $p:expr) => {{
                    _mm_storeu_ps($p, _mm512_castps512_ps128($v));
                    _mm_storeu_ps($p.add(4 * stride), _mm512_extractf32x4_ps::<1>($v));
                    _mm_storeu_ps($p.add(8 * stride), _mm512_extractf32x4_ps::<2>($v));
                    _mm_storeu_ps($p.add(12 * stride), _mm512_extractf32x4_ps::<3>($v));
                }};
            }
            let [a, b, c, d] = transpose_blocks_512!([v0.0, v1.0, v2.0, v3.0]);
            blocks!(a, dst);
            blocks!(b, dst.add(stride));
            blocks!(c, dst.add(2 * stride));
            blocks!(d, dst.add(3 * stride));
        }
    }

    #[inline(always)]
    unsafe fn load_f32x8(src: *const f32, stride: usize) -> [F32x8; 4] {
        // SAFETY: as in `load_f64x8`, eight rows.
        unsafe {
            macro_rules! blocks {
                ($p:expr) => {{
                    _mm256_insertf128_ps::<1>(
                        _mm256_castps128_ps256(_mm_loadu_ps($p)),
                        _mm_loadu_ps($p.add(4 * stride)),
                    )
                }};
            }
            let v =
                [blocks!(src), blocks!(src.add(stride)), blocks!(src.add(2 * stride)), blocks!(src.add(3 * stride))];
            let [a, b, c, d] = transpose_blocks_256!(v);
            [F32x8(a), F32x8(b), F32x8(c), F32x8(d)]
        }
    }

    #[inline(always)]
    unsafe fn store_f32x8([v0, v1, v2, v3]: [F32x8; 4], dst: *mut f32, stride: usize) {
        // SAFETY: as in `store_f64x8`, eight rows.
        unsafe {
            macro_rules! blocks {
                ($v:expr, $p:expr) => {{
                    _mm_storeu_ps($p, _mm256_castps256_ps128($v));
                    _mm_storeu_ps($p.add(4 * stride), _mm256_extractf128_ps::<1>($v));
                }};
            }
            let [a, b, c, d] = transpose_blocks_256!([v0.0, v1.0, v2.0, v3.0]);
            blocks!(a, dst);
            blocks!(b, dst.add(stride));
            blocks!(c, dst.add(2 * stride));
            blocks!(d, dst.add(3 * stride));
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{F32x8, F32x16, F64x4, F64x8};
