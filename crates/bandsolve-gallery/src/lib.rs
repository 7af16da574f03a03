//! Test matrices of bandsolve, and what their solutions are compared with.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`random`] | seeded random numbers, the same on every platform |
//! | [`matrices`] | matrices with known properties: MATLAB's gallery, Toeplitz, given singular values |
//! | [`radiative`] | the radiative transfer operator in a slab |
//! | [`tables`], [`band_tables`] | the stability tables of the papers: matrices and published errors |
//! | [`families`] | every generator by name, for the command line |
//! | [`oracle`] | backward errors, reference solutions and condition numbers in double-double |
//! | [`wide`] | double-double arithmetic |

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
