//! The Krylov–Schur method: extend a Krylov decomposition OP·V = V·H + β·v·eᵀ, restrict it to the wanted part, and extend it again.
//!
//! Names in the source: V is the basis, H the Rayleigh quotient, β·v the residual, and U contains the Schur vectors of H.
//!
//! A search sees its vectors only through [`Vectors`](bandsolve::vectors::Vectors), so it is the same for all number types. [`host`] provides vectors in the
//! memory of the CPU.
//!
//! # Source
//! G. W. Stewart, A Krylov–Schur algorithm for large eigenproblems, SIAM J. Matrix Anal. Appl. 23 (2002).

mod anywhere;
mod basis;
mod door;
mod general;
mod hermitian;
mod host;
mod limits;
mod look;
mod scaling;
mod vectors;
mod verify;

pub use anywhere::SearchAnywhere;
pub(crate) use basis::PRODUCT;
pub(crate) use hermitian::NEAR;
pub(crate) use host::residuals_of;

use crate::problem::EigenProblem;
use crate::report::{GeneralEigen, HermitianEigen};
use crate::solver::EigenSolver;
use bandsolve::{Result, Scalar};
use bandsolve_kernel::by_type;

by_type! {
    /// [`host::hermitian`] for every number type. Compiling it in this crate keeps compile times of callers short.
    struct FindHermitian<'a>: host::Search<'a, T> => Result<HermitianEigen<T>> = host::hermitian;
    /// [`host::general`] for every number type, compiled in this crate.
    struct FindGeneral<'a>: host::Search<'a, T> => Result<GeneralEigen> = host::general;
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// Find eigenpairs of a Hermitian problem.
    ///
    /// The problem is A·x = λ·x or A·x = λ·B·x with A = Aᴴ, B = Bᴴ positive definite and a real shift. If the search finds fewer eigenvalues than
    /// requested, the function returns no error: see [`EigenReport::ending`](crate::EigenReport::ending).
    ///
    /// # Cost
    /// See [`EigenSolver`].
    ///
    /// # Errors
    /// - [`Error::Shape`](bandsolve::Error::Shape) if the sizes of the operators or of the start vector differ.
    /// - [`Error::NotFinite`](bandsolve::Error::NotFinite) if the start vector, the shift or a product contains NaN or infinity.
    /// - [`Error::NotDefinite`](bandsolve::Error::NotDefinite) if a vector with xᴴ·B·x < 0 occurs.
    /// - [`Error::InvalidArgument`](bandsolve::Error::InvalidArgument) for a pencil without an inverse, an inverse of B without B, a tolerance
    ///   outside 0 ≤ tol < 1, or a k above the number of rows.
    /// - [`Error::NotConverged`](bandsolve::Error::NotConverged) if the eigenvalues of the small projected matrix cannot be computed.
    /// - [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory), and the errors of the operators.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, Which};
    /// // λ = 2 − 2·cos(π·k/51)
    /// let a = Tridiagonal::from_vecs(vec![-1.0; 50], vec![2.0; 50], vec![-1.0; 50], false)?;
    /// let eigen = EigenSolver::new(3).which(Which::BothEnds).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// // Two from the upper end, one from the lower end.
    /// assert!(eigen.converged() && eigen.values.iter().filter(|value| **value > 2.0).count() == 2);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian(&self, problem: &EigenProblem<'_, T>) -> Result<HermitianEigen<T>> {
        T::by_type::<FindHermitian<'_>>((*self, *problem))
    }

    /// Find eigenpairs of any problem.
    ///
    /// For real matrices, the search uses real arithmetic. Eigenvalues and eigenvectors are complex. If the search finds fewer eigenvalues than
    /// requested, the function returns no error: see [`EigenReport::ending`](crate::EigenReport::ending).
    ///
    /// # Cost
    /// See [`EigenSolver`].
    ///
    /// # Errors
    /// The errors of [`hermitian`](Self::hermitian), except `NotDefinite`.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// // Upper bidiagonal: the eigenvalues 1, …, 30 are the entries of the diagonal.
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.1; 30], false)?;
    /// let eigen = EigenSolver::new(2).general(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!(eigen.converged() && (eigen.values[0] - 30.0).norm() < 1e-6 && (eigen.values[1] - 29.0).norm() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn general(&self, problem: &EigenProblem<'_, T>) -> Result<GeneralEigen> {
        T::by_type::<FindGeneral<'_>>((*self, *problem))
    }
}
