//! Sequential elimination with pivoting: the oracle in the library, and the fallback of every other method.

mod banded;
mod tridiagonal;

pub use banded::BandedFactor;
pub use tridiagonal::PivotedTridiagonal;
