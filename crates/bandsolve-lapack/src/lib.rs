//! LAPACK's own Fortran symbols for tridiagonal and banded systems, in the four types `s`, `d`, `c`, `z`.
//!
//! The library `liblapack_bandsolve` stands in for LAPACK where it is linked or preloaded before it. Storage, arguments
//! and INFO are LAPACK's; what is computed is written here from the definitions. Large `gtsv` run in parallel
//! ([`partitioned`]). Every symbol also exists with the prefix `scipy_`.
//!
//! Layers, from the outside: `symbols` declares the C functions; `entry` checks arguments, reports wrong ones to `xerbla_`
//! and makes slices of pointers (`raw`); all other modules are safe and know nothing of LAPACK's interface.

pub mod condition;
mod entry;
pub mod gb;
pub mod gt;
pub mod norm;
pub mod number;
pub mod partitioned;
pub mod pb;
pub mod pt;
mod raw;
pub mod refine;
mod settings;
mod strip;
mod symbols;
#[cfg(test)]
mod testing;
mod wide;
mod xerbla;

/// LAPACK's INTEGER: 32 bits, with the feature `ilp64` 64.
#[cfg(not(feature = "ilp64"))]
pub type Int = i32;
/// LAPACK's INTEGER: 32 bits, with the feature `ilp64` 64.
#[cfg(feature = "ilp64")]
pub type Int = i64;
