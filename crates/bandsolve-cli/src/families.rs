//! The matrix families that `generate` knows.

pub use bandsolve_gallery::families::{System, families};
