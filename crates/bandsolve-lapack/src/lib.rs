//! A drop-in replacement for LAPACK's tridiagonal and banded routines, in the number types `s`, `d`, `c` and `z`.
//!
//! Link or preload the library `liblapack_bandsolve` before LAPACK. It exports LAPACK's Fortran symbols, with the same storage,
//! arguments and INFO. Large `gtsv` calls run in parallel ([`partitioned`]). Each symbol also exists with the prefix `scipy_`.
//!
//! From Rust, declare the symbols that you need:
//!
//! ```
//! use lapack_bandsolve::Int; // a program that uses the crate contains the symbols
//! unsafe extern "C" {
//!     fn dgtsv_(
//!         n: &Int, nrhs: &Int, dl: *mut f64, d: *mut f64, du: *mut f64,
//!         b: *mut f64, ldb: &Int, info: &mut Int,
//!     );
//! }
//! // −xᵢ₋₁ + 2 xᵢ − xᵢ₊₁ = bᵢ, three unknowns
//! let (mut dl, mut d, mut du, mut b) = ([-1.0; 2], [2.0; 3], [-1.0; 2], [1.0, 0.0, 1.0]);
//! let mut info = -1;
//! let [dl, d, du, rhs] = [&mut dl[..], &mut d, &mut du, &mut b].map(|array| array.as_mut_ptr());
//! // SAFETY: the arrays have the lengths that LAPACK's `dgtsv` requires.
//! unsafe { dgtsv_(&3, &1, dl, d, du, rhs, &3, &mut info) };
//! assert_eq!(info, 0);
//! assert!(b.iter().all(|x| (x - 1.0).abs() < 1e-15));
//! ```
//!
//! # Features
//!
//! The feature is off by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `ilp64` | 64-bit integers in all arguments, in place of 32-bit integers |
//!
//! # Modules
//!
//! `symbols` declares the C functions. `entry` checks arguments, reports invalid arguments to `xerbla_`, and creates slices from
//! pointers (`raw`). All other modules are safe Rust and do not depend on LAPACK's interface.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-capi`]: the C API
//!
//! # Guide
//!
//! The page `docs/lapack.md` of the repository lists the routines, and says how to link or preload the library.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-capi`]: https://docs.rs/bandsolve-capi"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-capi`]: ../bandsolve_capi/index.html"
)]

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
