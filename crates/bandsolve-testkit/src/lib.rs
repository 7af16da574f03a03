//! Matrix generators, oracles and the conformance suite of bandsolve.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`random`] | seeded random numbers, the same on every platform |
//! | [`gallery`] | test matrices with known properties: MATLAB's gallery, Toeplitz, given singular values |
//! | [`tables`] | the stability tables of the papers: matrices and published errors |
//! | [`families`] | every generator by name, for the command line |
//! | [`dense`] | determinants and componentwise errors of small matrices, in double-double |
//! | [`singular`] | singular matrices, and right-hand sides that hide it |
//! | [`oracle`] | backward errors, reference solutions and condition numbers in double-double |
//! | [`wide`] | double-double arithmetic |
//! | [`mod@conformance`] | the suite that every method instantiates |

#![forbid(unsafe_code)]

pub mod band_tables;
pub mod conformance;
pub mod dense;
mod documentation;
pub mod families;
pub mod gallery;
#[cfg(test)]
mod layers;
pub mod oracle;
pub mod random;
pub mod singular;
mod skipped;
pub mod tables;
pub mod wide;

pub use random::Random;
pub use skipped::skipped;
