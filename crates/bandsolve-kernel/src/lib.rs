//! The computational kernels of `bandsolve`: all SIMD code and nearly all unsafe code of the library.
//!
//! Do not depend on this crate directly: any release may change it. The kernels work on the normal forms in [`rows`]
//! and on bands. They do not know plans or methods.
//!
//! A *tile* is a group of partitions, one per SIMD lane. It is copied from the caller's arrays and transposed, so that
//! row j of all its partitions is one vector. A *sweep* eliminates the rows of a tile in registers, and selects pivots
//! without branches.

// Public items are public for the other crates of this workspace only.
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
    /// The instruction set that the target is compiled for. Every machine has it.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ and VL (Skylake-X and later, Zen 4 and later).
    Avx512,
}

impl Simd {
    /// All instruction sets of this build, the widest last.
    pub const ALL: [Simd; 3] = [Simd::Portable, Simd::Avx2, Simd::Avx512];

    /// Return the widest instruction set of this machine.
    ///
    /// The environment variable `BANDSOLVE_SIMD` (`portable`, `avx2`, `avx512`) selects another one. An unknown or
    /// unavailable name has no effect.
    pub fn detect() -> Simd {
        static BEST: LazyLock<Simd> = LazyLock::new(|| {
            let asked = std::env::var("BANDSOLVE_SIMD").ok();
            let available = Simd::ALL.into_iter().rev().filter(|s| s.is_available());
            let named = available.clone().find(|s| asked.as_deref() == Some(s.name()));
            named.or(available.clone().next()).unwrap_or(Simd::Portable)
        });
        *BEST
    }

    /// Whether this machine has the instruction set.
    pub fn is_available(self) -> bool {
        static BEST: LazyLock<Simd> = LazyLock::new(Simd::widest);
        self <= *BEST
    }

    /// The widest instruction set of this machine. It has all narrower ones too.
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

    /// This instruction set if the machine has it, otherwise the result of [`detect`](Self::detect).
    pub fn or_best(self) -> Simd {
        if self.is_available() { self } else { Simd::detect() }
    }

    /// The name in reports and in `BANDSOLVE_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Simd::Portable => "portable",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        }
    }
}

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
machine!(f32, u32, [4, F32x4], F32x8, F32x16, 60, 100, 17, 50);
machine!(f64, u64, [2, F64x2], F64x4, F64x8, 500, 1000, 44, 400);

/// The kernels of one number type.
///
/// A macro implements them for each type, without generics, so that this crate compiles them, and only once.
pub trait Kernels: Sized {
    /// The number of lanes of a vector.
    fn lanes(simd: Simd) -> usize;
    /// Eliminate the inner unknowns of partitions.
    fn reduce(simd: Simd, job: run::Reduce<Self>) -> bool
    where
        Self: Scalar;
    /// Solve for the inner unknowns of partitions.
    fn substitute(simd: Simd, job: run::Substitute<Self>) -> [sweep::CheckResult; sweep::MAX_RHS]
    where
        Self: Scalar;
    /// Reduce or substitute partitions of block rows.
    fn blocks(simd: Simd, job: blocks::BlockRun<Self>) -> [sweep::CheckResult; sweep::MAX_RHS]
    where
        Self: Scalar;
    /// Solve whole systems, one per lane.
    fn lockstep(simd: Simd, job: lockstep::Lockstep<Self>) -> bool
    where
        Self: Scalar;
    /// Subtract a product of small matrices: C ← C − A·B.
    fn dense_product(simd: Simd, job: dense::Product<'_, Self>)
    where
        Self: Scalar;
    /// Solve with a small triangular matrix.
    fn substitute_small(simd: Simd, job: triangle::SmallSubstitution<'_, Self>)
    where
        Self: Scalar;
    /// Compute one step of the LU factorization of a dense block.
    fn dense_lu(simd: Simd, job: dense_lu::Step<'_, Self>)
    where
        Self: Scalar;
    /// Compute residuals of the scalar rows of a block row in extended precision.
    fn block_row(simd: Simd, job: precise::BlockRow<'_, Self>) -> exact::RunningMaximum
    where
        Self: Scalar;
    /// Compute residuals of a banded system.
    fn residual(simd: Simd, job: residual::Residual<'_, Self>)
    where
        Self: Scalar;
    /// Copy columns of a band into the working array.
    fn take(simd: Simd, job: take::Take<'_, Self>) -> take::Progress<Self::Real>
    where
        Self: Scalar;
    /// Factor a panel of a band.
    fn panel(simd: Simd, job: panel::Panel<'_, Self>) -> panel::PanelResult
    where
        Self: Scalar;
    /// Update columns of a band with the panel to their left.
    fn update(simd: Simd, job: panel::Update<'_, Self>)
    where
        Self: Scalar;
    /// Factor a panel of a Hermitian positive definite band.
    fn definite(simd: Simd, job: definite::Definite<'_, Self>) -> Option<usize>
    where
        Self: Scalar;
    /// Sweep through the columns of a narrow band.
    fn sweep_narrow(simd: Simd, job: panel::Narrow<'_, Self>)
    where
        Self: Scalar;
    /// Return the largest modulus in some columns.
    fn largest(simd: Simd, job: panel::Largest<'_, Self>) -> Self::Real
    where
        Self: Scalar;
}

/// Define the functions that are compiled for every instruction set.
///
/// The compiler compiles all code of a job together with the module that contains the dispatcher, and compiles modules
/// in parallel.
macro_rules! dispatcher {
    () => {
        /// Run a job that is compiled for `simd`. Only this function chooses the instruction set.
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
        /// The kernels of one number type.
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

/// A computation that is compiled once for every instruction set.
pub trait Job<T: Scalar> {
    /// The result of the computation.
    type Output;
    /// Compute the result with vectors of type `V`.
    ///
    /// Implementations are `#[inline(always)]`, and so are all functions that they call in their loops.
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output;
}
