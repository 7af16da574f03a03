//! What an iteration tells: why it ended, its report, and the state that a callback receives.

use super::method::{KrylovMethod, PreconditionerSide};
use super::units::Units;
use core::fmt::{self, Display, Formatter};

/// Why an iteration ended.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Ending, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).rtol(1e-12).max_iterations(1);
/// let report = solver.solve(&a, None, &[5.0, 2.0], &mut x)?;
/// assert_eq!(report.ending, Ending::IterationLimit);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol). The solver computed this residual from x, and allowed for its rounding error.
    Converged,
    /// The solver reached the maximum number of iterations.
    IterationLimit,
    /// Restarts (for Richardson's iteration: steps) did not reduce the residual further, or the residual is below the tolerance by less than
    /// its own rounding error. Use a larger tolerance, or another preconditioner.
    Stagnated,
    /// The method would have to divide by zero, and a restart did not help. With [`KrylovMethod::Cg`]: the matrix or the preconditioner is not
    /// Hermitian positive definite. Use GMRES.
    Breakdown,
    /// The iteration produced NaN or infinity.
    NotFinite,
    /// The callback ended the iteration.
    Cancelled,
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::IterationLimit => "iteration limit",
            Self::Stagnated => "stagnated",
            Self::Breakdown => "breakdown",
            Self::NotFinite => "not finite",
            Self::Cancelled => "cancelled",
        })
    }
}

/// The report of an iterative solve.
///
/// All norms are 2-norms. A norm beyond the range of double precision is infinite in the report. The solver itself decides with scaled numbers,
/// which do not overflow.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let report = KrylovSolver::new(KrylovMethod::Bicgstab).rtol(1e-10).solve(&a, None, &[5.0, 2.0], &mut x)?;
/// if !report.converged() {
///     eprintln!("{}: {:.1e} after {} iterations", report.ending, report.relative_residual(), report.iterations);
/// }
/// assert_eq!(report.history.len(), report.iterations + 1);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an iteration may end without having converged"]
#[non_exhaustive]
pub struct IterationReport {
    /// The method that solved.
    pub method: KrylovMethod,
    /// The side of the preconditioner; `None` without a preconditioner.
    pub side: Option<PreconditionerSide>,
    /// Why the iteration ended.
    pub ending: Ending,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of restarts. A restart begins again from the residual of the last x.
    pub restarts: usize,
    /// ‖rhs − A·x‖₂, computed from x.
    pub residual_norm: f64,
    /// ‖rhs‖₂.
    pub rhs_norm: f64,
    /// max(rtol·‖rhs‖₂, atol), the upper limit for `residual_norm`.
    pub tolerance: f64,
    /// The norm of the residual at the start and after each iteration, from the recurrence of the method. With a preconditioner on the left,
    /// these are norms of the preconditioned residual, scaled so that the first one is ‖rhs − A·x‖₂.
    pub history: Vec<f64>,
    /// A warning in words if x may have no correct digit: x is so large, compared with rhs, that A is singular to working precision.
    pub attention: Option<String>,
    /// The scaling of the computation, and ‖rhs − A·x‖₂ and ‖rhs‖₂ in this scaling.
    pub(super) scaled: (Units, [f64; 2]),
}

impl IterationReport {
    /// Whether ‖rhs − A·x‖₂ is at most the tolerance.
    pub fn converged(&self) -> bool {
        self.ending == Ending::Converged
    }

    /// The relative residual ‖rhs − A·x‖₂ / ‖rhs‖₂. If rhs is 0, ‖A·x‖₂.
    pub fn relative_residual(&self) -> f64 {
        let (_, [residual, rhs]) = self.scaled;
        if rhs > 0.0 { residual / rhs } else { self.residual_norm }
    }

    /// Divide a norm of `history`, or `tolerance`, by ‖rhs‖₂. This works also if ‖rhs‖₂ is beyond the range. If rhs is 0, the result is `norm`.
    pub fn relative(&self, norm: f64) -> f64 {
        let (units, [_, rhs]) = self.scaled;
        if rhs > 0.0 { units.scaled(norm) / rhs } else { norm }
    }
}

/// The state of an iteration, which a callback receives after each iteration.
///
/// # Examples
/// Stop after three iterations:
/// ```
/// use bandsolve_sparse::{Ending, KrylovMethod, KrylovSolver, nine_point};
/// use core::ops::ControlFlow;
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 20));
/// let mut x = vec![0.0; 400];
/// let report = KrylovSolver::new(KrylovMethod::Cg).solve_watched(&a, None, &vec![1.0; 400], &mut x, &mut |progress| {
///     if progress.iteration < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// })?;
/// assert_eq!((report.ending, report.iterations), (Ending::Cancelled, 3));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct IterationProgress<'x, T> {
    /// Number of iterations so far.
    pub iteration: usize,
    /// The norm of the residual, from the recurrence of the method.
    pub residual_norm: f64,
    /// With a preconditioner on the left: ‖M⁻¹·(rhs − A·x)‖₂. Otherwise the same as `residual_norm`.
    pub preconditioned_norm: f64,
    /// The upper limit for `residual_norm`.
    pub tolerance: f64,
    /// The current x. GMRES has no x before a cycle ends. It then calls the callback once more for the last iteration, with x.
    pub x: Option<&'x [T]>,
}
