//! The conformance suite of bandsolve, and what its tests share beside the matrices of `bandsolve-gallery`.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`allocations`] | an allocator that counts, and that fails one allocation after the other |
//! | [`dense`] | determinants and componentwise errors of small matrices, in double-double |
//! | [`singular`] | singular matrices, and right-hand sides that hide it |
//! | [`mod@conformance`] | the suite that every method instantiates |

#![deny(unsafe_code)]

pub mod allocations;
pub mod conformance;
pub mod dense;
mod documentation;
#[cfg(test)]
mod layers;
pub mod singular;
mod skipped;

pub use skipped::skipped;
