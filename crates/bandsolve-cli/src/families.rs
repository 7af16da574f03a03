//! The matrix families of `generate`: the one place that knows where they come from.
//!
//! Stands in for `bandsolve_testkit::families`, with the same shape: replace the whole file by
//! `pub use bandsolve_testkit::families::{families, System};` once that module is there.

use bandsolve::{Banded, Tridiagonal};

/// A generated matrix.
#[derive(Debug)]
pub enum System {
    /// Open or periodic.
    Tridiagonal(Tridiagonal<'static, f64>),
    /// Any bandwidth.
    #[allow(dead_code, reason = "the family that stands in is tridiagonal")]
    Banded(Banded<'static, f64>),
}

/// A named recipe.
#[derive(Debug)]
pub struct Family {
    /// What the user types.
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
    make: fn(usize, u64) -> System,
}

impl Family {
    /// The member of size `n`.
    pub fn generate(&self, n: usize, seed: u64) -> System {
        (self.make)(n, seed)
    }
}

/// All families.
pub fn families() -> &'static [Family] {
    &[Family { name: "random", description: "tridiagonal, every entry uniform in [-1, 1)", make: random }]
}

fn random(n: usize, seed: u64) -> System {
    let mut numbers = crate::known::Random::new(seed);
    let mut array = || (0..n).map(|_| 2.0 * numbers.uniform() - 1.0).collect();
    let matrix = Tridiagonal::from_vecs(array(), array(), array(), false);
    System::Tridiagonal(matrix.expect("three arrays of length n are a tridiagonal matrix"))
}
