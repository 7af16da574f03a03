//! A drop-in replacement for LAPACK's tridiagonal and banded routines, in the number types `s`, `d`, `c` and `z`.
//!
//! Link or preload the library `liblapack_bandsolve` before LAPACK. It exports LAPACK's Fortran symbols, with the same storage,
//! arguments and INFO. Large `gtsv` calls run in parallel ([`partitioned`]). Each symbol also exists with the prefix `scipy_`.
//!
//! # Features
//!
//! - `ilp64`: 64-bit integers in all arguments.
//!
//! # Modules
//!
//! `symbols` declares the C functions. `entry` checks arguments, reports invalid arguments to `xerbla_`, and creates slices from
//! pointers (`raw`). All other modules are safe Rust and do not depend on LAPACK's interface.
//!
//! Routines and instructions: `docs/lapack.md`.

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

/// LAPACK's INTEGER: 32 bits, or 64 bits with the feature `ilp64`.
#[cfg(not(feature = "ilp64"))]
pub type Int = i32;
/// LAPACK's INTEGER: 32 bits, or 64 bits with the feature `ilp64`.
#[cfg(feature = "ilp64")]
pub type Int = i64;
