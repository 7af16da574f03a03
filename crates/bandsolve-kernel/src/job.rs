//! Dispatch: the only place that chooses the instruction set.

use crate::number::{Lanes, Machine, Scalar};
use crate::simd::Simd;

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

/// Define `run_on(simd)` for a job: `kernel!(Name: Job<'a, T> => Output)`. `Name` has one instance for each number type.
///
/// This crate compiles the instances, and other crates call them.
macro_rules! kernel {
    ($name:ident: $job:ident<$($lifetime:lifetime)?> => $output:ty) => {
        $crate::by_type! {
            /// The job on the chosen instruction set.
            struct $name<$($lifetime)?>: ($crate::Simd, $job<$($lifetime,)? T>) => $output =
                |(simd, job)| $crate::dispatch(simd, job);
        }

        impl<$($lifetime,)? T: $crate::Scalar> $job<$($lifetime,)? T> {
            /// Run the job with this instruction set.
            pub fn run_on(self, simd: $crate::Simd) -> $output {
                T::by_type::<$name<$($lifetime)?>>((simd, self))
            }
        }
    };
}
pub(crate) use kernel;
