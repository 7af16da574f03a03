//! The number types that a Poisson problem can have.

use bandsolve::RealScalar;
use rustfft::FftNum;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
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
