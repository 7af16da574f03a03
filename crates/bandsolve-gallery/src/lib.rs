//! Test matrices for banded systems, and reference values for their solutions.
//!
//! ```
//! use bandsolve_gallery::{Random, matrices::clement, oracle::backward_error, random_vec};
//! let a = clement(100);
//! let rhs: Vec<f64> = random_vec(100, &mut Random::new(1));
//! let x = a.solve(&rhs)?.values;
//! assert!(backward_error(&a, &rhs, &x) <= 8.0 * f64::EPSILON);
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! | task | module |
//! | --- | --- |
//! | make a matrix with known properties: MATLAB's gallery, Toeplitz, given singular values | [`matrices`] |
//! | make a matrix by its name, as `bandsolve generate` does | [`families`] |
//! | repeat the stability tables of the papers, with the published errors | [`tables`], [`band_tables`] |
//! | make the radiative transfer operator in a slab, an eigenvalue problem | [`radiative`] |
//! | draw seeded random numbers that are the same on every platform | [`random`] |
//! | compute backward errors, reference solutions and condition numbers in double-double | [`oracle`] |
//! | calculate in double-double arithmetic | [`wide`] |
//!
//! # Features
//!
//! The crate has no cargo features.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//! - [`bandsolve-io`]: matrices from Matrix Market, `.npy` and `.npz` files
//!
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse
[`bandsolve-io`]: https://docs.rs/bandsolve-io"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html
[`bandsolve-io`]: ../bandsolve_io/index.html"
)]
#![forbid(unsafe_code)]

pub mod band_tables;
pub mod families;
pub mod matrices;
pub mod oracle;
pub mod radiative;
pub mod random;
pub mod tables;
pub mod wide;

pub use random::{Random, random_vec};
