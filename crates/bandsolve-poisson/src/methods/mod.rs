//! Fast direct methods, one per file.

pub(crate) mod block_cyclic;
pub(crate) mod partial_fractions;
pub(crate) mod pscr;
pub(crate) mod spectrum;
pub(crate) mod toeplitz;

#[cfg(test)]
mod tests;
