//! Fast direct solvers for Poisson and Helmholtz problems on boxes.

mod methods;
mod radix;

pub use radix::{RadixComparison, compare_line_solvers, compare_radices};
