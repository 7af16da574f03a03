//! The number types that a Poisson problem can have.

use bandsolve::RealScalar;
use rustfft::FftNum;

pub(crate) mod sealed {
    use crate::method::{PoissonMethod, SeparableSolver};
    use crate::plan::factor;
    use crate::separable::SeparableProblem;
    use bandsolve::Result;

    /// What is compiled here for each number type, and not in every crate that calls it.
    pub trait Sealed: Sized {
        /// Factors by a method other than `Auto`.
        #[doc(hidden)]
        #[allow(private_interfaces)]
        fn factor(
            problem: &SeparableProblem,
            method: PoissonMethod,
            threads: usize,
        ) -> Result<Box<dyn SeparableSolver<Self>>>
        where
            Self: super::PoissonScalar;
    }

    macro_rules! sealed {
        ($($t:ty)*) => {$(
            impl Sealed for $t {
                #[allow(private_interfaces)]
                fn factor(problem: &SeparableProblem, method: PoissonMethod, threads: usize) -> Result<Box<dyn SeparableSolver<Self>>> {
                    factor(problem, method, threads)
                }
            }
        )*};
    }
    sealed!(f32 f64);
}

/// `f32` or `f64`.
pub trait PoissonScalar: sealed::Sealed + RealScalar + FftNum {}
impl PoissonScalar for f32 {}
impl PoissonScalar for f64 {}

/// x rounded; `RealScalar` and `FftNum` both have a `from_f64`.
#[inline(always)]
pub(crate) fn real<T: PoissonScalar>(x: f64) -> T {
    <T as RealScalar>::from_f64(x)
}
