//! Eigenvalues of tridiagonal, banded and block tridiagonal matrices, of pencils, and of any linear operator.
//!
//! The equation is `A·x = λ·x`, or `A·x = λ·B·x` for a pencil (A, B).
//!
//! ```
//! use bandsolve::Tridiagonal;
//! use bandsolve_eigen::EigenSolver;
//! // The three eigenvalues nearest to 1, of λ = 2 − 2·cos(π·k/101).
//! let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
//! let eigen = EigenSolver::new(3).hermitian_nearest(&a, None, 1.0)?;
//! assert!((eigen.values[0] - (2.0 - 2.0 * (core::f64::consts::PI * 34.0 / 101.0).cos())).abs() < 1e-12);
//! assert!(eigen.report.residuals.iter().all(|residual| *residual < 1e-8));
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! # Which function to use
//!
//! | task | use |
//! | --- | --- |
//! | The k eigenvalues nearest to a target, Hermitian problem | [`EigenSolver::hermitian_nearest`] |
//! | The k eigenvalues nearest to a target, any matrix | [`EigenSolver::general_nearest`] |
//! | All eigenvalues in an interval, Hermitian problem | [`EigenSolver::hermitian_between`] |
//! | The largest or smallest eigenvalues, or your own operators | [`EigenProblem`], [`Which`], [`EigenSolver::hermitian`], [`EigenSolver::general`] |
//! | Left eigenvectors | [`EigenSolver::left`] |
//! | Eigenvalues of a real symmetric tridiagonal matrix | [`SymmetricTridiagonal`] |
//! | A sparse Hermitian matrix without a narrow band, as of a grid | [`SparseHermitian`] with the functions above |
//! | Count the eigenvalues below a number | [`eigenvalues_below`] |
//! | Check that B is positive definite | [`check_definite`] |
//!
//! # Cost
//!
//! A search costs one product or solve and approximately 8·n·ncv flops per vector: see [`EigenSolver`]. Eigenvalue counts cost one
//! elimination: see [`eigenvalues_below`].
//!
//! # Accuracy
//!
//! The residuals in [`EigenReport`] are computed from the vectors. [`EigenReport::complete`] says whether counts prove that no
//! eigenvalue is missing.
//!
//! # Features
//!
//! This crate has no cargo features.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//! - [`bandsolve-mpi`]: systems, eigenvalues and Poisson problems that several MPI processes share
//!
//! # Guide
//!
//! The pages `docs/eigenvalues.md` (guide), `docs/math/krylov-schur.md` and `docs/math/sturm-counts.md` (methods) of the repository.
//!
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse
[`bandsolve-mpi`]: https://docs.rs/bandsolve-mpi"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html
[`bandsolve-mpi`]: ../bandsolve_mpi/index.html"
)]

mod front;
mod inertia;
mod interval;
mod krylov_schur;
mod left;
mod matrices;
mod multifrontal;
mod problem;
mod projected;
mod random;
mod report;
mod solver;
mod sparse;
mod tridiagonal;

/// Parts of eigenvalue counts over several processes. Not part of the public interface.
#[doc(hidden)]
pub mod distributed {
    pub use crate::front::{InertiaPart, InertiaRows};
}

/// Searches with vectors on a device, for the crate `bandsolve-gpu`. Not part of the public interface.
#[doc(hidden)]
pub mod anywhere {
    pub use crate::krylov_schur::SearchAnywhere;
    pub use crate::problem::{SearchOperator, SpectralTransform};
}

pub use inertia::{HermitianBand, check_definite, eigenvalues_below};
pub use matrices::{MatrixOperator, OwnedInverse, ShiftableMatrix};
pub use problem::{EigenProblem, Which};
pub use report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
pub use solver::{EigenSolver, EigenvaluesBelow};
pub use sparse::{SparseHermitian, SparseHermitianInverse, SparsePencil};
pub use tridiagonal::{EigenvalueRange, SymmetricTridiagonal, TridiagonalEigenpairs};
