//! Eigenvalues of tridiagonal, banded and block tridiagonal matrices A, and of pencils (A, B).

mod tridiagonal;

pub use tridiagonal::{EigenvalueRange, SymmetricTridiagonal, TridiagonalEigenpairs};
