//! Vector registers of x86-64 processors.

use super::registers::{bits, common, operators};
use super::{Lanes, lanes_of, permutes_in_memory, reduces_in_memory};
use crate::RealScalar;

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
