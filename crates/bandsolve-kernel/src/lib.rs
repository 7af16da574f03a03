//! What `bandsolve` computes with: the only SIMD and nearly all unsafe code of the library. It knows no plan, no method and no
//! matrix but the normal forms in [`rows`]. Not meant to be used by itself: anything here may change with any release.
//!
//! A *tile* is a handful of partitions, one a SIMD lane, copied from the caller's arrays and transposed so that row j of
//! all of them is one vector. A *sweep* eliminates through a tile in registers, choosing pivots by selection.

// What is public here is so for the crate `bandsolve` alone.
#![allow(missing_docs)]

pub mod ahead;
pub mod arithmetic;
pub mod blocks;
pub mod columns;
pub mod definite;
pub mod dense;
pub mod dense_lu;
mod element;
pub mod estimate;
pub mod exact;
mod lanes;
pub mod lockstep;
pub mod memory;
pub mod panel;
pub mod permutation;
pub mod precise;
pub mod random;
mod reduce;
pub mod residual;
pub mod rows;
pub mod run;
pub mod scalar;
pub mod shifted;
pub mod spread;
mod substitute;
pub mod sweep;
pub mod take;
pub mod threads;
pub mod tile;
pub mod triangle;
pub mod tuning;
pub mod vectors;
pub mod view;
mod walk;
pub mod window;
mod work;

pub use element::{ComplexElement, Element, RealElement};
pub use lanes::Lanes;
pub use scalar::{ByType, Complex32, Complex64, RealScalar, Scalar};

use std::sync::LazyLock;

/// An instruction set for which the kernels are compiled.
///
/// # Examples
/// ```
/// use bandsolve_kernel::Simd;
/// assert!(Simd::detect().is_available() && Simd::Portable.is_available());
/// assert_eq!(Simd::Avx2.name(), "avx2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Simd {
    /// What the target is compiled for; works everywhere.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ and VL (Skylake-X and later, Zen 4 and later).
    Avx512,
}

impl Simd {
    /// Every instruction set of this build, the widest last.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// The best that this machine has; the environment variable `BANDSOLVE_SIMD` (`portable`, `avx2`, `avx512`) chooses
    /// another that it has.
    pub fn detect() -> Simd {
        static BEST: LazyLock<Simd> = LazyLock::new(|| {
            let asked = std::env::var("BANDSOLVE_SIMD").ok();
            let available = Simd::ALL.into_iter().rev().filter(|s| s.is_available());
            let named = available.clone().find(|s| asked.as_deref() == Some(s.name()));
            named.or(available.clone().next()).unwrap_or(Simd::Portable)
        });
        *BEST
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        static BEST: LazyLock<Simd> = LazyLock::new(Simd::widest);
        self <= *BEST
    }

    /// The widest that this machine has, with all that are narrower.
    fn widest() -> Simd {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let all = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            return if all { Simd::Avx512 } else { Simd::Avx2 };
        }
        Simd::Portable
    }

    /// Itself if the machine has it, else the best that it has.
    pub fn or_best(self) -> Simd {
        if self.is_available() { self } else { Simd::detect() }
    }

    /// The name used in reports and in `BANDSOLVE_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}

/// The vectors of a real type, and the constants that depend on its exponent range.
pub trait Machine: Sized {
    /// Vectors of 128 bits, which x86-64 always has; elsewhere plain arrays.
    type Portable: Lanes<Real = Self>;
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx2: Lanes<Real = Self>;
    /// 512-bit registers.
    #[cfg(target_arch = "x86_64")]
    type Avx512: Lanes<Real = Self>;
    /// Added to pivots of rows whose largest entry is near 1: far below rounding, but enough that a zero pivot has a finite
    /// reciprocal (as has its square). So much of the pivot is added to a spike, that it never becomes subnormal as it
    /// decays, which would cost a hundred cycles an operation.
    const GUARD: Self;
    /// Added where rows are not scaled, to know the one of two numbers that stands for zero: so small that it disappears in
    /// all others, and still so large that its products are normal numbers.
    const FAINT: Self;
    /// An x so much larger than the scaled right-hand side comes from a pivot next to zero: `GUARD`^−0.6.
    const IMPLAUSIBLE: f64;
    /// Pivots up to this size, in rows whose largest entry is near 1, may be zeros that were rounded: then the sequential method
    /// decides. In random systems, where rows may be exchanged, the chance of one is about the square of it.
    const NO_PIVOT: f64;
    /// Quantities between 1/`SAFE` and `SAFE` may be multiplied with one another.
    const SAFE: Self;
    /// 1 / `SAFE`
    const TINY: Self;
    /// self · a + b, in one rounding where the target has the instruction (elsewhere it would be a library call).
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
// GUARD, FAINT, NO_PIVOT and SAFE: 2^−60, 2^−100, 2^−17, 2^50; 2^−500, 2^−1000, 2^−44, 2^400.
machine!(f32, u32, [4, F32x4], F32x8, F32x16, 60, 100, 17, 50);
machine!(f64, u64, [2, F64x2], F64x4, F64x8, 500, 1000, 44, 400);

/// The sweeps of one number type. Implemented for each by itself, not generically, so that they are compiled in this crate
/// and once.
pub trait Kernels: Sized {
    /// Lanes of a vector.
    fn lanes(simd: Simd) -> usize;
    /// Eliminates the inside of partitions.
    fn reduce(simd: Simd, job: run::Reduce<Self>) -> bool
    where
        Self: Scalar;
    /// Solves for the inside of partitions.
    fn substitute(simd: Simd, job: run::Substitute<Self>) -> [sweep::CheckResult; sweep::MAX_RHS]
    where
        Self: Scalar;
    /// Reduces or substitutes partitions of block rows.
    fn blocks(simd: Simd, job: blocks::BlockRun<Self>) -> [sweep::CheckResult; sweep::MAX_RHS]
    where
        Self: Scalar;
    /// Solves whole systems.
    fn lockstep(simd: Simd, job: lockstep::Lockstep<Self>) -> bool
    where
        Self: Scalar;
    /// C ← C − A·B of small matrices.
    fn dense_product(simd: Simd, job: dense::Product<'_, Self>)
    where
        Self: Scalar;
    /// Solves with a small triangle.
    fn substitute_small(simd: Simd, job: triangle::SmallSubstitution<'_, Self>)
    where
        Self: Scalar;
    /// A step of LU of a dense block.
    fn dense_lu(simd: Simd, job: dense_lu::Step<'_, Self>)
    where
        Self: Scalar;
    /// Precise residuals of rows of a block row.
    fn block_row(simd: Simd, job: precise::BlockRow<'_, Self>) -> exact::RunningMaximum
    where
        Self: Scalar;
    /// Residuals of a banded system.
    fn residual(simd: Simd, job: residual::Residual<'_, Self>)
    where
        Self: Scalar;
    /// Takes columns of a band over.
    fn take(simd: Simd, job: take::Take<'_, Self>) -> take::Progress<Self::Real>
    where
        Self: Scalar;
    /// Eliminates a few columns of a band.
    fn panel(simd: Simd, job: panel::Panel<'_, Self>) -> panel::PanelResult
    where
        Self: Scalar;
    /// Updates columns of a band by those to their left.
    fn update(simd: Simd, job: panel::Update<'_, Self>)
    where
        Self: Scalar;
    /// Eliminates a few columns of a Hermitian positive definite band.
    fn definite(simd: Simd, job: definite::Definite<'_, Self>) -> Option<usize>
    where
        Self: Scalar;
    /// A sweep through columns of a narrow band.
    fn sweep_narrow(simd: Simd, job: panel::Narrow<'_, Self>)
    where
        Self: Scalar;
    /// The largest modulus in some columns.
    fn largest(simd: Simd, job: panel::Largest<'_, Self>) -> Self::Real
    where
        Self: Scalar;
}

/// Functions compiled for every instruction set. All that they are used with is compiled with the module that they stand in,
/// and modules side by side.
macro_rules! dispatcher {
    () => {
        /// Runs a job compiled for `simd`: the one place where the instruction set is chosen.
        pub fn dispatch<T: Scalar, J: Job<T>>(simd: Simd, job: J) -> J::Output {
            match simd {
                #[cfg(target_arch = "x86_64")]
                Simd::Avx512 if simd.is_available() => {
                    // SAFETY: the machine has these features.
                    unsafe { run_avx512(job) }
                }
                #[cfg(target_arch = "x86_64")]
                Simd::Avx2 if simd.is_available() => {
                    // SAFETY: the machine has these features.
                    unsafe { run_avx2(job) }
                }
                _ => job.run::<<T::Real as Machine>::Portable>(),
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        fn run_avx512<T: Scalar, J: Job<T>>(job: J) -> J::Output {
            job.run::<<T::Real as Machine>::Avx512>()
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn run_avx2<T: Scalar, J: Job<T>>(job: J) -> J::Output {
            job.run::<<T::Real as Machine>::Avx2>()
        }
    };
}
dispatcher!();

macro_rules! kernels {
    ($($module:ident: $t:ty),*) => {$(
        /// The kernels of one type.
        mod $module {
            use super::*;
            impl Kernels for $t {
                fn lanes(simd: Simd) -> usize {
                    dispatch::<Self, _>(simd, LanesJob)
                }
                fn reduce(simd: Simd, job: run::Reduce<Self>) -> bool {
                    dispatch(simd, job)
                }
                fn substitute(simd: Simd, job: run::Substitute<Self>) -> [sweep::CheckResult; sweep::MAX_RHS] {
                    dispatch(simd, job)
                }
                fn blocks(simd: Simd, job: blocks::BlockRun<Self>) -> [sweep::CheckResult; sweep::MAX_RHS] {
                    dispatch(simd, job)
                }
                fn lockstep(simd: Simd, job: lockstep::Lockstep<Self>) -> bool {
                    dispatch(simd, job)
                }
                fn dense_product(simd: Simd, job: dense::Product<'_, Self>) {
                    dispatch(simd, job)
                }
                fn substitute_small(simd: Simd, job: triangle::SmallSubstitution<'_, Self>) {
                    dispatch(simd, job)
                }
                fn dense_lu(simd: Simd, job: dense_lu::Step<'_, Self>) {
                    dispatch(simd, job)
                }
                fn block_row(simd: Simd, job: precise::BlockRow<'_, Self>) -> exact::RunningMaximum {
                    dispatch(simd, job)
                }
                fn residual(simd: Simd, job: residual::Residual<'_, Self>) {
                    dispatch(simd, job)
                }
                fn take(simd: Simd, job: take::Take<'_, Self>) -> take::Progress<<Self as Scalar>::Real> {
                    dispatch(simd, job)
                }
                fn panel(simd: Simd, job: panel::Panel<'_, Self>) -> panel::PanelResult {
                    dispatch(simd, job)
                }
                fn update(simd: Simd, job: panel::Update<'_, Self>) {
                    dispatch(simd, job)
                }
                fn definite(simd: Simd, job: definite::Definite<'_, Self>) -> Option<usize> {
                    dispatch(simd, job)
                }
                fn sweep_narrow(simd: Simd, job: panel::Narrow<'_, Self>) {
                    dispatch(simd, job)
                }
                fn largest(simd: Simd, job: panel::Largest<'_, Self>) -> <Self as Scalar>::Real {
                    dispatch(simd, job)
                }
            }

            dispatcher!();
        }
    )*};
}
kernels!(of_f32: f32, of_f64: f64, of_c32: Complex32, of_c64: Complex64);

struct LanesJob;

impl<T: Scalar> Job<T> for LanesJob {
    type Output = usize;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> usize {
        V::W
    }
}

/// Work that is compiled once for every instruction set.
pub trait Job<T: Scalar> {
    /// Its result.
    type Output;
    /// Does it with vectors of type `V`. Implementations are `#[inline(always)]`, as is all that they call in the loop.
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output;
}
