//! The settings of a search, and the functions that start one.

use crate::problem::Which;
use bandsolve::{Alone, Communicator, RealScalar, Result, Scalar};

/// The settings of a search for k eigenvalues of A·x = λ·x or A·x = λ·B·x by the Krylov–Schur method.
///
/// The search works with an operator OP: A, B⁻¹·A, (A − σB)⁻¹·B or a Cayley transform, see [`EigenProblem`](crate::EigenProblem). OP has the eigenvectors x of
/// the problem, and its eigenvalues θ are functions of λ. The search builds a Krylov space of at most `ncv` vectors. It then keeps the part
/// of the space that contains the wanted eigenvectors, and extends the space again (a restart).
///
/// A pair (θ, x) has converged if ‖OP·x − θ·x‖ ≤ tol·|θ|. At the end, the search computes the residuals of A·x = λ·B·x from x. If a residual
/// exceeds `tol`, the search runs again with a smaller tolerance for OP. If a residual is still too large, the ending is
/// [`LargeResiduals`](crate::EigenEnding::LargeResiduals).
///
/// Results are the same for any number of threads.
///
/// # Shapes
/// A and B are n × n. The result has at most k eigenvalues. Its vectors have n numbers each, one vector after the other.
///
/// # Cost
/// Each vector of the Krylov space costs one product with OP and approximately 8·n·ncv flops. The memory is n·(1.2·m + 4) numbers and six real
/// vectors in double precision, or n·m numbers more for a Hermitian pencil. Here m is `ncv`, and at least k + 17 with a
/// [second look](Self::second_look).
///
/// # Errors
/// A search that does not converge is not an error: check `converged`. [`hermitian`](Self::hermitian) and [`general`](Self::general) list the
/// errors.
///
/// # Source
/// G. W. Stewart, A Krylov–Schur algorithm for large eigenproblems, SIAM J. Matrix Anal. Appl. 23 (2002); K. Wu, H. Simon,
/// Thick-restart Lanczos method, SIAM J. Matrix Anal. Appl. 22 (2000).
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, Which};
/// // The two largest eigenvalues of λ = 2 − 2·cos(π·k/51).
/// let a = Tridiagonal::from_vecs(vec![-1.0; 50], vec![2.0; 50], vec![-1.0; 50], false)?;
/// let solver = EigenSolver::new(2).which(Which::LargestReal).tol(1e-10);
/// let eigen = solver.hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
/// let exact = |k: f64| 2.0 - 2.0 * (core::f64::consts::PI * k / 51.0).cos();
/// assert!(eigen.converged() && (eigen.values[0] - exact(50.0)).abs() < 1e-12);
/// assert!((eigen.values[1] - exact(49.0)).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct EigenSolver<'c, T: Scalar> {
    pub(crate) settings: SearchSettings<'c>,
    pub(crate) start: Option<&'c [T]>,
}

/// The settings that do not contain numbers of the type of the problem.
#[derive(Clone, Copy)]
pub(crate) struct SearchSettings<'c> {
    pub k: usize,
    pub which: Which,
    pub ncv: Option<usize>,
    pub tol: f64,
    pub max_restarts: usize,
    pub seed: u64,
    pub norms: Option<[f64; 2]>,
    pub communicator: &'c dyn Communicator,
    pub count: Option<EigenvaluesBelow<'c>>,
    pub second_look: bool,
    /// The tolerance for OP, if it differs from `tol`. The residuals of A·x = λ·B·x always refer to `tol`.
    pub inner: Option<f64>,
    /// Whether large residuals change the ending.
    pub judged: bool,
    /// ‖A·x‖/‖x‖ and ‖B·x‖/‖x‖ for a random vector x. `None` before they have been computed.
    pub probed: Option<[f64; 2]>,
    /// Whether there is a start vector.
    pub has_start: bool,
    /// The unit roundoff ε of the number type.
    pub epsilon: f64,
    /// Whether the number type is real.
    pub real: bool,
}

impl SearchSettings<'_> {
    /// Whether the number type is in double precision.
    pub fn is_double(&self) -> bool {
        self.epsilon == <f64 as RealScalar>::EPSILON
    }
}

/// A function that counts the eigenvalues below a number, for example by the inertia of A − σB.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenSolver, EigenvaluesBelow, eigenvalues_below};
/// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
/// let below: EigenvaluesBelow<'_> = &|shift| eigenvalues_below(&a, None, shift);
/// let eigen = EigenSolver::new(3).count(below).hermitian_nearest(&a, None, 1.0)?;
/// assert_eq!(eigen.report.complete, Some(true));
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub type EigenvaluesBelow<'c> = &'c (dyn Fn(f64) -> Result<usize> + Sync);

impl<T: Scalar> EigenSolver<'static, T> {
    /// The default of [`tol`](Self::tol): machine precision.
    pub const DEFAULT_TOL: f64 = 0.0;

    /// Start the settings of a search for k eigenvalues. k is at most the number of rows.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(2).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// // By default, the search finds the eigenvalues of largest magnitude.
    /// assert!((eigen.values[0] - 30.0).abs() < 1e-6 && (eigen.values[1] - 29.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn new(k: usize) -> Self {
        let settings = SearchSettings {
            k,
            which: Which::default(),
            ncv: None,
            tol: Self::DEFAULT_TOL,
            max_restarts: 1000,
            seed: 0,
            norms: None,
            communicator: &Alone,
            count: None,
            second_look: true,
            inner: None,
            judged: true,
            probed: None,
            has_start: false,
            epsilon: T::Real::EPSILON.to_f64(),
            real: !T::COMPLEX,
        };
        Self { settings, start: None }
    }
}

impl<'c, T: Scalar> EigenSolver<'c, T> {
    /// The same start vector with other settings.
    pub(crate) fn with(self, settings: SearchSettings<'c>) -> Self {
        Self { settings, ..self }
    }

    /// Set which eigenvalues θ of the operator to find. Default: largest magnitude.
    ///
    /// With shift-and-invert, θ = 1/(λ − σ). The default then finds the λ nearest to σ.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator, Which};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(1).which(Which::SmallestReal).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!((eigen.values[0] - 1.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn which(self, which: Which) -> Self {
        self.with(SearchSettings { which, ..self.settings })
    }

    /// Set the maximum dimension of the Krylov space. Default: max(2·k + 6, 16).
    ///
    /// The search uses k + 2 if `ncv` is smaller, and n if `ncv` is larger. A larger space needs more memory and fewer restarts.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(2).ncv(30).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert_eq!(eigen.report.restarts, 0); // the space contains all vectors
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn ncv(self, ncv: usize) -> Self {
        self.with(SearchSettings { ncv: Some(ncv), ..self.settings })
    }

    /// Set the relative tolerance, with 0 ≤ tol < 1. Default: 0, which means machine precision of the number type.
    ///
    /// A pair has converged if `‖OP·x − θ·x‖ ≤ tol·|θ|`. The residuals `‖A·x − λ·B·x‖ / ((‖A‖ + |λ|·‖B‖)·‖x‖)` of the result are then at most
    /// `tol`. Rounding errors limit both: the search never asks for less than 4ε·|θ|, nor for residuals below 32·ε·√n.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(2).tol(1e-4).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!(eigen.report.residuals.iter().all(|residual| *residual <= 1e-4));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn tol(self, tol: f64) -> Self {
        self.with(SearchSettings { tol, ..self.settings })
    }

    /// Set the maximum number of restarts, of the search and of each [second look](Self::second_look). Default: 1000.
    ///
    /// If the search reaches the limit, the ending is [`RestartLimit`](crate::EigenEnding::RestartLimit), and the result contains the pairs
    /// that have converged.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(4).max_restarts(50).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!(eigen.converged() && eigen.report.restarts <= 50);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn max_restarts(self, restarts: usize) -> Self {
        self.with(SearchSettings { max_restarts: restarts, ..self.settings })
    }

    /// Set the start vector of n numbers. Default: a random vector, which also replaces a zero vector.
    ///
    /// A vector near the wanted eigenvectors can save restarts.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let start = vec![1.0; 30];
    /// let eigen = EigenSolver::new(1).start(&start).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!((eigen.values[0] - 30.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn start<'d>(self, start: &'d [T]) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { settings: SearchSettings { has_start: true, ..self.settings }, start: Some(start) }
    }

    /// Set the seed of the random vectors. Default: 0.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let operator = MatrixOperator(&a);
    /// let problem = EigenProblem::new(&operator);
    /// // The same seed gives the same results.
    /// assert_eq!(EigenSolver::new(1).seed(7).hermitian(&problem)?, EigenSolver::new(1).seed(7).hermitian(&problem)?);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn seed(self, seed: u64) -> Self {
        self.with(SearchSettings { seed, ..self.settings })
    }

    /// Set ‖A‖ and ‖B‖ for the residuals. Default: the largest ‖A·x‖₂/‖x‖₂ and ‖B·x‖₂/‖x‖₂ of the search.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(1).norms(30.0, 1.0).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert_eq!(eigen.report.norms, [30.0, 1.0]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn norms(self, a: f64, b: f64) -> Self {
        self.with(SearchSettings { norms: Some([a, b]), ..self.settings })
    }

    /// Set the processes that share the rows of the vectors. Default: this process only.
    ///
    /// Each process passes its rows. All processes must call the search with the same settings.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::{Alone, Tridiagonal};
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// let diag: Vec<f64> = (1..=30).map(f64::from).collect(); // λ = 1, …, 30
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// // `Alone` is the communicator of a single process. The crate `bandsolve-mpi` has one for MPI.
    /// let eigen = EigenSolver::new(1).communicator(&Alone).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!((eigen.values[0] - 30.0).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn communicator<'d>(self, communicator: &'d dyn Communicator) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { settings: SearchSettings { communicator, ..self.settings }, start: self.start }
    }

    /// Set a function that counts eigenvalues, for Hermitian problems. Default: none.
    ///
    /// `below(σ)` returns the number of eigenvalues below σ, such as [`eigenvalues_below`](crate::eigenvalues_below). If the counts prove that
    /// the search found all wanted eigenvalues, the search needs no [second look](Self::second_look), and
    /// [`complete`](crate::EigenReport::complete) is `Some(true)`. If the counts show that one is missing, the search continues.
    ///
    /// Counts apply to the eigenvalues nearest to a shift. Without a shift, they apply to the largest and smallest eigenvalues, by value or by
    /// magnitude. The search does not use them in other cases, nor in [`general`](Self::general).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenSolver, eigenvalues_below};
    /// // λ = 2 − 2·cos(π·k/101)
    /// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
    /// let below = |shift| eigenvalues_below(&a, None, shift);
    /// let eigen = EigenSolver::new(3).count(&below).hermitian_nearest(&a, None, 1.0)?;
    /// assert_eq!(eigen.report.complete, Some(true));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn count<'d>(self, below: EigenvaluesBelow<'d>) -> EigenSolver<'d, T>
    where
        'c: 'd,
    {
        EigenSolver { settings: SearchSettings { count: Some(below), ..self.settings }, start: self.start }
    }

    /// Set whether the search looks for missing eigenvalues before it ends. Default: true.
    ///
    /// A Krylov space contains only one vector for several equal eigenvalues. The start vector may also have no component along an
    /// eigenvector. A second look therefore searches from a random vector that is orthogonal to all vectors found. If the look finds a wanted
    /// eigenvalue, the search looks again. If the look finds none, the probability that one is missing is approximately 10⁻⁸.
    ///
    /// A look stops after [`max_restarts`](Self::max_restarts) restarts, or after ten times as many products as the search needed (at least
    /// 1000). The ending is then [`Incomplete`](crate::EigenEnding::Incomplete). Counts that prove the set complete replace the look, see
    /// [`count`](Self::count). Without looks and without counts, copies of equal eigenvalues can be missing.
    ///
    /// # Cost
    /// A look usually needs fewer products than the search. It can need as many products as a search for k + 1 eigenvalues, if eigenvalues k and
    /// k + 1 have nearly the same modulus. Each copy of a multiple eigenvalue costs one more look.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// // λ = 1, 1, 2, 2, …, 15, 15
    /// let diag: Vec<f64> = (0..30).map(|i| f64::from(i / 2 + 1)).collect();
    /// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
    /// let eigen = EigenSolver::new(2).second_look(true).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
    /// assert!(eigen.converged() && eigen.values.iter().all(|value| (value - 15.0).abs() < 1e-6));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn second_look(self, second_look: bool) -> Self {
        self.with(SearchSettings { second_look, ..self.settings })
    }
}
