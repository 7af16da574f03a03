//! Dispatch: the only place that chooses the instruction set.

use crate::number::{Lanes, Machine, Scalar};
use crate::simd::Simd;
use core::mem::ManuallyDrop;

/// A computation that is compiled once for every instruction set.
pub trait Job<T: Scalar> {
    /// The result of the computation.
    type Output;
    /// Compute the result with vectors of type `V`.
    ///
    /// Implementations are `#[inline(always)]`, and so are all functions that they call in their loops.
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output;
}

/// Run a job that is compiled for `simd`. Only this function chooses the instruction set.
#[inline]
pub fn dispatch<T: Scalar, J: Job<T>>(simd: Simd, job: J) -> J::Output {
    let job = ManuallyDrop::new(job);
    // SAFETY: the job is read once, and not dropped here.
    unsafe { dispatch_from(simd, &raw const *job) }
}

/// [`dispatch`] for a job in memory, which is read where it runs. A move of a job with many fields takes longer than a product of small
/// blocks.
///
/// # Safety
/// The pointer is valid, and nothing else uses or drops the job.
pub unsafe fn dispatch_from<T: Scalar, J: Job<T>>(simd: Simd, job: *const J) -> J::Output {
    match simd {
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 if simd.is_available() => {
            // SAFETY: the machine has these features; the caller's promise.
            unsafe { run_avx512(job) }
        }
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 if simd.is_available() => {
            // SAFETY: the machine has these features; the caller's promise.
            unsafe { run_avx2(job) }
        }
        #[cfg(target_arch = "aarch64")]
        Simd::Neon if simd.is_available() => {
            // SAFETY: every aarch64 processor has this feature; the caller's promise.
            unsafe { run_neon(job) }
        }
        // SAFETY: the caller's promise.
        _ => unsafe { run_portable(job) },
    }
}

/// A function of its own, because it takes a megabyte of stack without optimisation, which other instruction sets do not need.
///
/// # Safety
/// As [`dispatch_from`].
#[inline(never)]
unsafe fn run_portable<T: Scalar, J: Job<T>>(job: *const J) -> J::Output {
    // SAFETY: the caller's promise.
    unsafe { job.read() }.run::<<T::Real as Machine>::Portable>()
}

/// # Safety
/// As [`dispatch_from`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
unsafe fn run_avx512<T: Scalar, J: Job<T>>(job: *const J) -> J::Output {
    // SAFETY: the caller's promise.
    unsafe { job.read() }.run::<<T::Real as Machine>::Avx512>()
}

/// # Safety
/// As [`dispatch_from`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<T: Scalar, J: Job<T>>(job: *const J) -> J::Output {
    // SAFETY: the caller's promise.
    unsafe { job.read() }.run::<<T::Real as Machine>::Avx2>()
}

/// # Safety
/// As [`dispatch_from`].
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn run_neon<T: Scalar, J: Job<T>>(job: *const J) -> J::Output {
    // SAFETY: the caller's promise.
    unsafe { job.read() }.run::<<T::Real as Machine>::Neon>()
}

/// Define `run_on(simd)` for a job: `kernel!(Name: Job<'a, T> => Output)`. `Name` has one instance for each number type.
///
/// This crate compiles the instances, and other crates call them.
macro_rules! kernel {
    ($name:ident: $job:ident<$($lifetime:lifetime)?> => $output:ty) => {
        $crate::by_type! {
            /// The job on the chosen instruction set.
            struct $name<$($lifetime)?>: ($crate::Simd, *const $job<$($lifetime,)? T>) => $output =
                // SAFETY: `run_on` passes its own job, which it does not use again.
                |(simd, job)| unsafe { $crate::job::dispatch_from(simd, job) };
        }

        impl<$($lifetime,)? T: $crate::Scalar> $job<$($lifetime,)? T> {
            /// Run the job with this instruction set.
            pub fn run_on(self, simd: $crate::Simd) -> $output {
                let job = core::mem::ManuallyDrop::new(self);
                T::by_type::<$name<$($lifetime)?>>((simd, &raw const *job))
            }
        }
    };
}
pub(crate) use kernel;
