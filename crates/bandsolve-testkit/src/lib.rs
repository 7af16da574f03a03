//! The conformance suite of bandsolve, and tools for its tests. (`bandsolve-gallery` has the test matrices.)
//!
//! | module | content |
//! | --- | --- |
//! | [`allocations`] | an allocator that counts allocations, or makes them fail one after the other |
//! | [`dense`] | determinants and componentwise errors of small matrices, in double-double |
//! | [`singular`] | singular matrices, and right-hand sides that hide the singularity |
//! | [`mod@conformance`] | the test suite that every method instantiates |

#![deny(unsafe_code)]

pub mod allocations;
pub mod conformance;
pub mod dense;
mod device;
mod documentation;
#[cfg(test)]
mod layers;
pub mod singular;
mod skipped;

pub use device::named_device;
pub use skipped::skipped;
