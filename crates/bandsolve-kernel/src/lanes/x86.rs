//! Registers of x86-64 processors.

use super::{Lanes, lanes_of, through_memory};
use crate::RealScalar;

/// The four operators.
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

/// Those that SSE2 does not have.
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

/// 4×4 transposition inside each 128-bit block. A vector takes its blocks from different rows as it is loaded, which needs no
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

pub use avx2::{F32x8, F64x4};
pub use avx512::{F32x16, F64x8};
pub use sse2::{F32x4, F64x2};
