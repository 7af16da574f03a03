//! Eigenvalues of tridiagonal, banded and block tridiagonal matrices A, and of pencils (A, B).

mod inertia;
mod tridiagonal;

pub use inertia::{HermitianBand, eigenvalues_below};
pub use tridiagonal::{EigenvalueRange, SymmetricTridiagonal, TridiagonalEigenpairs};
