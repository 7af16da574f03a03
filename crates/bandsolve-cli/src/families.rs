//! The matrix families that `generate` knows.

pub use bandsolve_testkit::families::{System, families};
