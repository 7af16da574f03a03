//! Vector registers of x86-64 processors.

use super::{Lanes, lanes_of, through_memory};
use crate::RealScalar;

/// The operators.
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

/// The methods of [`Lanes`] that differ only in the name of the intrinsic.
macro_rules! common {
    ($real:ty, $w:literal, $set1:ident, $load:ident, $store:ident, $div:ident, $sqrt:ident, $max:ident,
     $min:ident) => {
        type Real = $real;
        const W: usize = $w;
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
        fn recip(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $div($set1(1.0), self.0) })
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $sqrt(self.0) })
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

/// The methods that SSE2 lacks.
macro_rules! chosen_at_run_time {
    ($stream:ident, $fma:ident, $fnma:ident) => {
        const PORTABLE: bool = false;
        #[inline(always)]
        unsafe fn stream(self, p: *mut Self::Real) {
            // SAFETY: the caller's promise.
            unsafe { $stream(p, self.0) }
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
    };
}

/// The methods that read exponents as integers.
macro_rules! bits {
    ($cast:ident, $uncast:ident, $and:ident, $sub:ident, $set1:ident, $exponent:literal, $normal:literal) => {
        #[inline(always)]
        fn equilibrate(self) -> Self {
            let e = self.max(Self::splat(<Self::Real as RealScalar>::MIN_POSITIVE));
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($set1($exponent), $and($cast(e.0), $set1($exponent)))) })
        }
        #[inline(always)]
        fn normalizer(self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($set1($normal), $and($cast(self.0), $set1($exponent)))) })
        }
        #[inline(always)]
        fn log_gap(self, other: Self) -> Self {
            // SAFETY: as in `splat`.
            Self(unsafe { $uncast($sub($cast(self.0), $cast(other.0))) })
        }
    };
}

/// Transposition and permutation of lanes, for registers that are wider than 128 bits.
macro_rules! moves {
    ($tile:ident, $untile:ident, $interleave:ident, [$swap:ident, $pairs:literal]) => {
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
    };
}

#[cfg(feature = "single")]
/// 4×4 transposition inside each 128-bit block. The blocks of a vector are loaded from different rows, which needs no
/// shuffle.
macro_rules! transpose_blocks {
    ($v:expr, $lo:ident, $hi:ident, $lopd:ident, $hipd:ident, $pd:ident, $ps:ident) => {{
        let [a, b, c, d] = $v;
        let (ab0, ab1) = ($pd($lo(a, b)), $pd($hi(a, b)));
        let (cd0, cd1) = ($pd($lo(c, d)), $pd($hi(c, d)));
        [$ps($lopd(ab0, cd0)), $ps($hipd(ab0, cd0)), $ps($lopd(ab1, cd1)), $ps($hipd(ab1, cd1))]
    }};
}

mod avx2;
mod avx512;
mod sse2;

pub use avx2::F64x4;
#[cfg(feature = "single")]
pub use avx2::single::F32x8;
pub use avx512::F64x8;
#[cfg(feature = "single")]
pub use avx512::single::F32x16;
pub use sse2::F64x2;
#[cfg(feature = "single")]
pub use sse2::single::F32x4;
