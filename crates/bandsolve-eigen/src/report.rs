//! What an eigenvalue solver found, and how.

use bandsolve::Complex64;
use core::fmt::{self, Display, Formatter};

/// Why a search for eigenvalues ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EigenEnding {
    /// As many as wanted were found, or all, where there are no more. A second look ended without finding another one that is wanted
    /// more, or counts prove that there is none. (Without a [second look](crate::EigenSolver::second_look) and without counts, one of
    /// several equal eigenvalues may be missing.)
    Converged,
    /// As many restarts as allowed.
    RestartLimit,
    /// Residuals computed from the vectors are above the tolerance, and above rounding: the inverse that was given is not one, or is too
    /// inexact, or a matrix that was said to be Hermitian is not.
    LargeResiduals,
    /// As many as wanted were found, but others that are wanted more may be missing: a second look took as many restarts as allowed, or
    /// counts say that one is missing, and it was not found.
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

/// What a search for eigenvalues did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EigenReport {
    /// Why it ended.
    pub ending: EigenEnding,
    /// Eigenvalues that were asked for; fewer may have been found.
    pub wanted: usize,
    /// ‖A·x − λ·B·x‖₂ / ((‖A‖ + |λ|·‖B‖)·‖x‖₂) of each pair, computed from x.
    pub residuals: Vec<f64>,
    /// ‖A‖ and ‖B‖ in the residuals: what the caller said, or else the largest ‖A·x‖₂/‖x‖₂ that was seen, which is at most ‖A‖₂.
    pub norms: [f64; 2],
    /// The largest entry of |XᴴBX − I| of Hermitian problems, of |‖x‖₂ − 1| of others.
    pub orthogonality: f64,
    /// Times that the space was made smaller, to grow again.
    pub restarts: usize,
    /// Products with the operator: solves with A − σB or B, or products with A.
    pub solves: usize,
    /// Whether none of the eigenvalues nearer to the target is missing: proved by counts; `None` where nothing was counted.
    pub complete: Option<bool>,
}

/// Eigenvalues of a Hermitian problem, those that are wanted most first.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "fewer eigenvalues may have been found than were asked for"]
#[non_exhaustive]
pub struct HermitianEigen<T> {
    /// λ.
    pub values: Vec<f64>,
    /// λ − σ, to full precision where the difference of λ and σ has few digits; λ without a shift.
    pub offsets: Vec<f64>,
    /// The vectors x, column by column: xᴴ·B·x = 1.
    pub vectors: Vec<T>,
    /// How they were found.
    pub report: EigenReport,
}

/// Eigenvalues of a general problem, those that are wanted most first.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "fewer eigenvalues may have been found than were asked for"]
#[non_exhaustive]
pub struct GeneralEigen {
    /// λ. Those of a real matrix come in conjugate pairs, of which the last may lack its partner.
    pub values: Vec<Complex64>,
    /// λ − σ, to full precision where the difference of λ and σ has few digits; λ without a shift.
    pub offsets: Vec<Complex64>,
    /// The vectors x, column by column, of norm 1.
    pub vectors: Vec<Complex64>,
    /// How they were found.
    pub report: EigenReport,
}

impl<T> HermitianEigen<T> {
    /// Whether all that were asked for have been found, and none that is wanted more is missing.
    pub fn converged(&self) -> bool {
        self.report.ending == EigenEnding::Converged
    }
}

impl GeneralEigen {
    /// Whether all that were asked for have been found, and none that is wanted more is missing.
    pub fn converged(&self) -> bool {
        self.report.ending == EigenEnding::Converged
    }
}
