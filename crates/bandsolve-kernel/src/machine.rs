//! What depends on the machine: the vector types of the instruction sets, and constants of the real types.

use crate::lanes;
use crate::number::{FUSED_BY_TARGET, Machine};

macro_rules! machine {
    ($real:ty, $bits:ty, [$arrays:literal, $register:ident], $avx2:ident, $avx512:ident, $guard:literal, $faint:literal, $none:literal, $safe:literal) => {
        impl Machine for $real {
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            type Portable = lanes::$register;
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            type Portable = lanes::Portable<$real, $arrays>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = lanes::$avx2;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = lanes::$avx512;
            // Two registers of four or eight bytes per lane: see `docs/decisions/kernels.md`.
            #[cfg(target_arch = "aarch64")]
            type Neon = lanes::PairedLanes<lanes::$register>;
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
                if FUSED_BY_TARGET { self.mul_add(a, b) } else { self * a + b }
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
