//! The eigenpairs and the report of a search.

use bandsolve::Complex64;
use core::fmt::{self, Display, Formatter};

/// Why a search for eigenvalues ended.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenEnding, EigenProblem, EigenSolver, MatrixOperator};
/// let a = Tridiagonal::from_vecs(vec![-1.0; 200], vec![2.0; 200], vec![-1.0; 200], false)?;
/// // One restart without shift-and-invert is not enough for four eigenvalues.
/// let eigen = EigenSolver::new(4).max_restarts(1).hermitian(&EigenProblem::new(&MatrixOperator(&a)))?;
/// assert_eq!(eigen.report.ending, EigenEnding::RestartLimit);
/// assert_eq!(eigen.report.ending.to_string(), "restart limit");
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EigenEnding {
    /// The search found all requested eigenvalues, and a second look or counts found none missing.
    ///
    /// Without a [second look](crate::EigenSolver::second_look) and without counts, copies of equal eigenvalues can be missing.
    Converged,
    /// The search reached the maximum number of restarts. Use a larger `ncv`, or a target.
    RestartLimit,
    /// The residuals, computed from the vectors, are above the tolerance and above rounding.
    ///
    /// Check the inverse, which may be wrong or too inexact, and whether the matrix is Hermitian.
    LargeResiduals,
    /// The search found as many eigenvalues as requested, but an eigenvalue that comes before them may be missing.
    ///
    /// Either a second look reached its limit of restarts or products, or the counts show a missing eigenvalue that the search did not find.
    /// Use a larger `ncv`, or a target near the eigenvalues.
    Incomplete,
}

impl Display for EigenEnding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::RestartLimit => "restart limit",
            Self::LargeResiduals => "large residuals",
            Self::Incomplete => "may be incomplete",
        })
    }
}

/// The ending, the residuals and the work of a search.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::{EigenEnding, EigenSolver};
/// let a = Tridiagonal::from_vecs(vec![-1.0; 100], vec![2.0; 100], vec![-1.0; 100], false)?;
/// let report = EigenSolver::new(0).hermitian_between(&a, None, (1.0, 1.2))?.report;
/// assert_eq!((report.ending, report.wanted, report.complete), (EigenEnding::Converged, 4, Some(true)));
/// assert!(report.residuals.iter().all(|residual| *residual < 1e-8) && report.orthogonality < 1e-6);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EigenReport {
    /// Why the search ended.
    pub ending: EigenEnding,
    /// The number of requested eigenvalues. The search may have found fewer.
    pub wanted: usize,
    /// The residual ‖A·x − λ·B·x‖₂ / ((‖A‖ + |λ|·‖B‖)·‖x‖₂) of each pair, computed from x.
    pub residuals: Vec<f64>,
    /// ‖A‖ and ‖B‖ in the residuals: the caller's values, or the largest ‖A·x‖₂/‖x‖₂ of the search, which is at most ‖A‖₂.
    pub norms: [f64; 2],
    /// The largest entry of |XᴴBX − I| for Hermitian problems, or the largest |‖x‖₂ − 1| for general problems.
    pub orthogonality: f64,
    /// The number of restarts.
    pub restarts: usize,
    /// The number of products with the operator: solves with A − σB or B, or products with A.
    pub solves: usize,
    /// Whether counts prove that no eigenvalue nearer to the target is missing; `None` without counts.
    pub complete: Option<bool>,
}

/// Eigenpairs of a Hermitian problem, in the order of the request, for example nearest first.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::EigenSolver;
/// // λ = 1, 3, 5, …: the two nearest to 4.5 are 5 and 3.
/// let diag: Vec<f64> = (0..30).map(|i| 2.0 * i as f64 + 1.0).collect();
/// let a = Tridiagonal::from_vecs(vec![0.0; 30], diag, vec![0.0; 30], false)?;
/// let eigen = EigenSolver::new(2).hermitian_nearest(&a, None, 4.5)?;
/// assert!(eigen.converged() && eigen.vectors.len() == 2 * 30);
/// assert!((eigen.values[0] - 5.0).abs() < 1e-12 && (eigen.offsets[1] + 1.5).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "the search may have found fewer eigenvalues than requested"]
#[non_exhaustive]
pub struct HermitianEigen<T> {
    /// The eigenvalues λ.
    pub values: Vec<f64>,
    /// The offsets λ − σ, in full precision even if the difference of the rounded λ and σ has few digits; λ without a shift.
    pub offsets: Vec<f64>,
    /// The eigenvectors x, one after the other, with xᴴ·B·x = 1.
    pub vectors: Vec<T>,
    /// The ending, the residuals and the work of the search.
    pub report: EigenReport,
}

/// Eigenpairs of a general problem, in the order of the request, for example nearest first.
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// use bandsolve_eigen::EigenSolver;
/// // The eigenvalues of [[2, −1], [1, 2]] are 2 ± i.
/// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[-1.0])?;
/// let eigen = EigenSolver::new(2).general_nearest(&a, None, 1.9)?;
/// assert!(eigen.converged());
/// assert!(eigen.values.iter().all(|value| (value.re - 2.0).abs() < 1e-12 && (value.im.abs() - 1.0).abs() < 1e-12));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "the search may have found fewer eigenvalues than requested"]
#[non_exhaustive]
pub struct GeneralEigen {
    /// The eigenvalues λ. For a real matrix, complex λ come in conjugate pairs. Only the last λ may lack its conjugate.
    pub values: Vec<Complex64>,
    /// The offsets λ − σ, in full precision even if the difference of the rounded λ and σ has few digits; λ without a shift.
    pub offsets: Vec<Complex64>,
    /// The eigenvectors x, one after the other, with ‖x‖₂ = 1.
    pub vectors: Vec<Complex64>,
    /// The ending, the residuals and the work of the search.
    pub report: EigenReport,
}

impl<T> HermitianEigen<T> {
    /// Whether the search ended with [`EigenEnding::Converged`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0])?; // λ = 1, 3
    /// assert!(EigenSolver::new(1).hermitian_nearest(&a, None, 2.9)?.converged());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn converged(&self) -> bool {
        self.report.ending == EigenEnding::Converged
    }
}

impl GeneralEigen {
    /// Whether the search ended with [`EigenEnding::Converged`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::EigenSolver;
    /// let a = Tridiagonal::new(&[1.0], &[2.0, 2.0], &[1.0])?; // λ = 1, 3
    /// assert!(EigenSolver::new(1).general_nearest(&a, None, 2.9)?.converged());
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn converged(&self) -> bool {
        self.report.ending == EigenEnding::Converged
    }
}
