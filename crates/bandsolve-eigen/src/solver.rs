//! The settings of a search, and its public functions.

use crate::krylov_schur::{FindGeneral, FindHermitian};
use crate::problem::{EigenProblem, Which};
use crate::report::{GeneralEigen, HermitianEigen};
use bandsolve::{Alone, Communicator, Result, Scalar};

/// A search for some eigenvalues by the Krylov–Schur method, and when it ends.
///
/// The space grows to `ncv` vectors; then the part of it that holds the wanted eigenvalues is kept, and it grows again. A pair (θ, x)
/// of the operator OP is found when ‖OP·x − θ·x‖ ≤ tol·|θ|. Residuals of A·x = λ·B·x are computed from x in the end. If one is above
/// tol, the search is repeated with a smaller tolerance for OP. If that does not help, the ending is
/// [`LargeResiduals`](crate::EigenEnding::LargeResiduals).
///
/// The result is the same for any number of threads.
///
/// # Cost
/// A product with the operator and about 8·n·ncv flops for every vector; n·(2·m + 3) numbers, of Hermitian pencils twice as many, where m is
/// ncv, for a second look at least k + 16.
///
/// # Source
/// G. W. Stewart, A Krylov–Schur algorithm for large eigenproblems, SIAM J. Matrix Anal. Appl. 23 (2002); K. Wu, H. Simon,
/// Thick-restart Lanczos method, SIAM J. Matrix Anal. Appl. 22 (2000).
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, Which};
/// // Eigenvalues 2 − 2·cos(π·k/51): the two largest.
/// let a = Tridiagonal::from_vecs(vec![-1.0; 50], vec![2.0; 50], vec![-1.0; 50], false)?;
/// let found = EigenSolver::new(2).which(Which::LargestReal).tol(1e-10).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
/// let exact = |k: f64| 2.0 - 2.0 * (core::f64::consts::PI * k / 51.0).cos();
/// assert!(found.converged() && (found.values[0] - exact(50.0)).abs() < 1e-12 && (found.values[1] - exact(49.0)).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct EigenSolver<'c, T: Scalar> {
    pub(crate) k: usize,
    pub(crate) which: Which,
    pub(crate) ncv: Option<usize>,
    pub(crate) tol: f64,
    pub(crate) max_restarts: usize,
    pub(crate) start: Option<&'c [T]>,
    pub(crate) seed: u64,
    pub(crate) norms: Option<[f64; 2]>,
    pub(crate) communicator: &'c dyn Communicator,
    pub(crate) count: Option<EigenvaluesBelow<'c>>,
    pub(crate) second_look: bool,
    /// The tolerance of the search itself, where it is smaller than `tol`, which is that of the residuals.
    pub(crate) inner: Option<f64>,
    /// Whether residuals decide on the ending.
    pub(crate) judged: bool,
    /// ‖A·x‖/‖x‖ and ‖B·x‖/‖x‖ of a random vector, once they are known.
    pub(crate) probed: Option<[f64; 2]>,
}

/// A function that counts the eigenvalues below a number, for example by the inertia of A − σB.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenSolver, EigenvaluesBelow, eigenvalues_below};
/// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
/// let below: EigenvaluesBelow<'_> = &|shift| eigenvalues_below(&a, None, shift);
/// let found = EigenSolver::new(3).count(below).hermitian_nearest(&a, None, 1.0)?;
/// assert_eq!(found.report.complete, Some(true));
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub type EigenvaluesBelow<'c> = &'c (dyn Fn(f64) -> Result<usize> + Sync);

impl<T: Scalar> EigenSolver<'static, T> {
    /// Start the settings of a search for k eigenvalues. k is at most the number of rows.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            which: Which::default(),
            ncv: None,
            tol: 1e-8,
            max_restarts: 1000,
            start: None,
            seed: 0,
            norms: None,
            communicator: &Alone,
            count: None,
            second_look: true,
            inner: None,
            judged: true,
            probed: None,
        }
    }
}

impl<'c, T: Scalar> EigenSolver<'c, T> {
    /// Set which eigenvalues of the operator to find. Default: largest magnitude, which with a shift means nearest to the shift.
    pub fn which(self, which: Which) -> Self {
        Self { which, ..self }
    }

    /// Set the maximum dimension of the Krylov space, from k + 2 to n. Default: max(2·k + 6, 16).
    pub fn ncv(self, ncv: usize) -> Self {
        Self { ncv: Some(ncv), ..self }
    }

    /// The part of |θ| that ‖OP·x − θ·x‖ may have, and the largest residual of A·x = λ·B·x. Default: 10⁻⁸. Rounding is allowed for:
    /// 4ε, and residuals of 32·ε·√n.
    pub fn tol(self, tol: f64) -> Self {
        Self { tol, ..self }
    }

    /// Set the maximum number of restarts of the search and of each [second look](Self::second_look). Default: 1000.
    pub fn max_restarts(self, restarts: usize) -> Self {
        Self { max_restarts: restarts, ..self }
    }

    /// Set the start vector. Default: a random vector, which also replaces a zero vector.
    pub fn start<'d>(self, start: &'d [T]) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { start: Some(start), ..self }
    }

    /// Set the seed of the random vectors. Default: 0.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Set ‖A‖ and ‖B‖ for the residuals. Default: the largest ‖A·x‖₂/‖x‖₂ of the search.
    pub fn norms(self, a: f64, b: f64) -> Self {
        Self { norms: Some([a, b]), ..self }
    }

    /// Set the processes that share the vectors. Default: this process only.
    pub fn communicator<'d>(self, communicator: &'d dyn Communicator) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { communicator, ..self }
    }

    /// Counts of eigenvalues, of Hermitian problems: they prove that the set found is complete, instead of a
    /// [second look](Self::second_look), and what is missing is looked for. They have a meaning for the eigenvalues nearest to a shift, and
    /// without a shift for those at an end of the spectrum and those of largest or smallest magnitude. Default: none.
    pub fn count<'d>(self, below: EigenvaluesBelow<'d>) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { count: Some(below), ..self }
    }

    /// Whether the search looks again, with a random vector orthogonal to what it has found, for eigenvalues that the start had nothing
    /// of: one of several equal eigenvalues is all that a Krylov space has. A look that finds nothing proves that nothing is missing, but
    /// with a probability of about 10⁻⁸. A look that takes [`max_restarts`](Self::max_restarts) restarts, or ten times as many products as the
    /// search and more than 1000, stops: the ending is [`Incomplete`](crate::EigenEnding::Incomplete). Counts that prove the set complete take its place.
    ///
    /// Without a second look and without counts, equal eigenvalues may be missed. Default: true.
    ///
    /// # Cost
    /// Usually fewer products than the search itself; the search for the next eigenvalue where that has nearly the same modulus. One more look for
    /// every copy of a multiple eigenvalue.
    pub fn second_look(self, second_look: bool) -> Self {
        Self { second_look, ..self }
    }

    /// Eigenvalues of a Hermitian problem: A = Aᴴ, B positive definite, σ real.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape) if sizes do not fit or k is above the number of rows, [`Error::NotFinite`](bandsolve::Error::NotFinite) if the start, the
    /// shift or a product is not finite, [`Error::NotDefinite`](bandsolve::Error::NotDefinite) if xᴴ·B·x < 0 was seen,
    /// [`Error::Unsupported`](bandsolve::Error::Unsupported) for a pencil without an inverse, and those of the operators. To find fewer
    /// than wanted is no error, but an [`EigenEnding`](crate::EigenEnding).
    pub fn hermitian(&self, problem: &EigenProblem<'_, T>) -> Result<HermitianEigen<T>> {
        T::by_type::<FindHermitian<'_>>((*self, *problem))
    }

    /// Eigenvalues of any problem. Real matrices are reduced in real arithmetic; vectors are complex.
    ///
    /// # Errors
    /// As [`hermitian`](Self::hermitian).
    pub fn general(&self, problem: &EigenProblem<'_, T>) -> Result<GeneralEigen> {
        T::by_type::<FindGeneral<'_>>((*self, *problem))
    }
}
