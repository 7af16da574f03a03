//! Eigenvalues of tridiagonal, banded and block tridiagonal matrices A, and of pencils (A, B).
//!
//! ```
//! use bandsolve::Tridiagonal;
//! use bandsolve_eigen::EigenSolver;
//! // A·x = λ·x with λ = 2 − 2·cos(π·k/101): the three nearest to 1.
//! let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
//! let found = EigenSolver::new(3).hermitian_nearest(&a, None, 1.0)?;
//! assert!((found.values[0] - (2.0 - 2.0 * (core::f64::consts::PI * 34.0 / 101.0).cos())).abs() < 1e-12);
//! assert!(found.report.residuals.iter().all(|residual| *residual < 1e-8));
//! # Ok::<(), bandsolve::Error>(())
//! ```

mod front;
mod inertia;
mod interval;
mod krylov_schur;
mod left;
mod matrices;
mod problem;
mod projected;
mod random;
mod report;
mod solver;
mod tridiagonal;

/// What counts over several processes take of this crate.
#[doc(hidden)]
pub mod distributed {
    pub use crate::front::{InertiaPart, InertiaRows};
}

pub use inertia::{HermitianBand, check_definite, eigenvalues_below};
pub use matrices::{MatrixOperator, OwnedInverse, ShiftableMatrix, block_rows};
pub use problem::{EigenProblem, Which};
pub use report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
pub use solver::{EigenSolver, EigenvaluesBelow};
pub use tridiagonal::{EigenvalueRange, SymmetricTridiagonal, TridiagonalEigenpairs};
