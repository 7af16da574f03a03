//! What depends on the machine: the vector types of the instruction sets, and constants of the real types.

use crate::lanes::{self, Lanes};

/// The vector types of a real type, and the constants that depend on its exponent range.
pub trait Machine: Sized {
    /// Vectors of 128 bits on x86-64, where every processor has them. Plain arrays elsewhere.
    type Portable: Lanes<Real = Self>;
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Real = Self>;
    /// 512-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Real = Self>;
    /// This number is added to pivots of rows whose largest entry is near 1.
    ///
    /// It is far below rounding, but a zero pivot becomes large enough that its reciprocal and the square of the
    /// reciprocal are finite. The sweeps also add `GUARD` · pivot to a spike, so that a decaying spike never becomes
    /// subnormal. Operations on subnormal numbers cost about a hundred cycles each.
    const GUARD: Self;
    /// This number is added where rows are not scaled, to distinguish the one of two numbers that stands for zero.
    ///
    /// It is so small that it disappears in all other numbers, and so large that its products are normal numbers.
    const FAINT: Self;
    /// If x is larger than the scaled right-hand side by this factor, a pivot was nearly zero: `GUARD`^−0.6.
    const IMPLAUSIBLE: f64;
    /// Pivots up to this size may be rounded zeros if the largest entry of each row is near 1. The sequential method
    /// then solves the system.
    ///
    /// In random systems with row exchanges, the probability of such a pivot is approximately `NO_PIVOT`².
    const NO_PIVOT: f64;
    /// Products of two quantities between 1/`SAFE` and `SAFE` do not overflow or underflow.
    const SAFE: Self;
    /// 1 / `SAFE`
    const TINY: Self;
    /// self · a + b, rounded once if the target has the instruction. Otherwise a fused operation would be a library
    /// call.
    fn fused_if_fast(self, a: Self, b: Self) -> Self;
}

macro_rules! machine {
    ($real:ty, $bits:ty, [$arrays:literal, $sse2:ident], $avx2:ident, $avx512:ident, $guard:literal, $faint:literal, $none:literal, $safe:literal) => {
        impl Machine for $real {
            #[cfg(target_arch = "x86_64")]
            type Portable = lanes::$sse2;
            #[cfg(not(target_arch = "x86_64"))]
            type Portable = lanes::Portable<$real, $arrays>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = lanes::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = lanes::$avx512;
            const GUARD: Self =
                <$real>::from_bits((<$real>::MAX_EXP as $bits - 1 - $guard) << (<$real>::MANTISSA_DIGITS - 1));
            const FAINT: Self =
                <$real>::from_bits((<$real>::MAX_EXP as $bits - 1 - $faint) << (<$real>::MANTISSA_DIGITS - 1));
            const IMPLAUSIBLE: f64 = exp2_f64($guard * 3 / 5);
            const NO_PIVOT: f64 = exp2_f64(-$none);
            const SAFE: Self =
                <$real>::from_bits((<$real>::MAX_EXP as $bits - 1 + $safe) << (<$real>::MANTISSA_DIGITS - 1));
            const TINY: Self = 1.0 / Self::SAFE;
            #[inline(always)]
            fn fused_if_fast(self, a: Self, b: Self) -> Self {
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    self.mul_add(a, b)
                } else {
                    self * a + b
                }
            }
        }
    };
}

/// 2^exponent as a constant.
const fn exp2_f64(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
// GUARD, FAINT, NO_PIVOT, SAFE: 2^−60, 2^−100, 2^−17, 2^50 for f32 and 2^−500, 2^−1000, 2^−44, 2^400 for f64.
#[cfg(feature = "single")]
machine!(f32, u32, [4, F32x4], F32x8, F32x16, 60, 100, 17, 50);
machine!(f64, u64, [2, F64x2], F64x4, F64x8, 500, 1000, 44, 400);
