//! The report of a solve.

use crate::condition::Condition;
use crate::method::PoissonMethod;
use crate::scalar::PoissonScalar;
use bandsolve::{RealScalar, Report, attention};
use core::ops::Deref;
use smallvec::SmallVec;

/// The method, the measured accuracy and the condition of a solve.
///
/// The backward error of one right-hand side is
///
/// ```text
/// η = maxᵢ |fᵢ − (A·u)ᵢ| / ((Σⱼ |aᵢⱼ|)·‖u‖∞ + |fᵢ|)
/// ```
///
/// f includes the boundary values. If the problem is singular, [`removed`](Self::removed) is subtracted from f first. If η is below 8ε, the
/// reported number can be an upper bound of η, at most twice as large as η.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{Poisson, PoissonMethod};
/// let report = Poisson::new(&[31, 31]).plan::<f64>()?.solve(&[1.0; 31 * 31])?.report;
/// assert_eq!(report.method, PoissonMethod::Fft);
/// assert_eq!((&report.shape[..], report.mean), (&[31, 31][..], None));
/// assert!(report.backward_error < 1e-13 && report.rcond > 1e-3 && report.attention.is_none());
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PoissonReport {
    /// The method, its reason, the backward errors and the refinement steps. The report dereferences to it.
    ///
    /// `attention` depends on [`rcond`](Self::rcond) and the backward error only: see [`attention`](bandsolve::attention). `fallback` is always
    /// false, and `pivot_growth` is `None`.
    pub solve: Report<PoissonMethod>,
    /// Number of unknowns along each axis.
    pub shape: SmallVec<[usize; 3]>,
    /// Number of tridiagonal systems solved for each right-hand side.
    pub subproblems: usize,
    /// The constant that was subtracted from f, so that a singular problem has a solution; 0 for other problems. For several right-hand
    /// sides, the constant of largest magnitude.
    pub removed: f64,
    /// The mean of u, weighted by the volumes of the unknowns, if the problem is singular; else `None`.
    ///
    /// The mean is measured on the returned u. If it agrees with the requested [mean](crate::Poisson::mean) up to rounding, this field holds
    /// the requested mean. For several right-hand sides, the field holds the mean that differs most from the requested one.
    pub mean: Option<f64>,
    /// An estimate of the reciprocal condition number: the smallest |λ| of all eigenvalues, divided by the mean of Σⱼ |aᵢⱼ| over the rows.
    ///
    /// The error of u, relative to its largest entry, can be 2η/rcond. If the problem is singular, the eigenvalue 0 of the constant does not
    /// count. For [`SeparablePencils`](crate::SeparablePencils), `rcond` is that of the tridiagonal system nearest to a singular one. NaN if
    /// the condition is not known.
    pub rcond: f64,
}

/// The fields of every report of a solve, such as `report.backward_error`.
impl Deref for PoissonReport {
    type Target = Report<PoissonMethod>;

    fn deref(&self) -> &Self::Target {
        &self.solve
    }
}

/// The solution of a problem, with its report.
///
/// # Examples
/// ```
/// use bandsolve_poisson::Poisson;
/// // −u″ = 1 with u = 0 at both ends, spacing 1: u = x·(4 − x)/2 at x = 1, 2, 3.
/// let solution = Poisson::new(&[3]).plan::<f64>()?.solve(&[1.0; 3])?;
/// assert!(solution.values.iter().zip([1.5, 2.0, 1.5]).all(|(u, exact)| (u - exact).abs() < 1e-12));
/// assert!(solution.report.backward_error < 1e-14);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PoissonSolution<T> {
    /// u, in the shape and order of the right-hand side.
    pub values: Vec<T>,
    /// The method and the measured accuracy.
    pub report: PoissonReport,
}

/// The outcome of one right-hand side.
#[derive(Debug, Clone, Copy)]
pub struct Solved {
    /// The backward error.
    pub error: f64,
    /// The constant that was subtracted from f.
    pub removed: f64,
    /// Refinement steps.
    pub refinement_steps: usize,
    /// The requested and the measured mean of u, if the problem is singular.
    pub mean: Option<[f64; 2]>,
}

impl PoissonReport {
    /// Adds the outcome of one right-hand side to the report.
    pub(crate) fn take(&mut self, solved: Solved) {
        self.solve.push(solved.error);
        self.solve.refinement_steps = self.solve.refinement_steps.max(solved.refinement_steps);
        if solved.removed.abs() > self.removed.abs() {
            self.removed = solved.removed;
        }
        if let Some([requested, mean]) = solved.mean {
            let further = self.mean.is_none_or(|other| (mean - requested).abs() > (other - requested).abs());
            self.mean = if further { Some(mean) } else { self.mean };
        }
    }

    /// The report of all right-hand sides, solved in the number type `T`.
    pub(crate) fn finished<T: PoissonScalar>(mut self, condition: &Condition) -> Self {
        let error = self.backward_error + condition.rounding::<T>();
        let warning = attention(RealScalar::to_f64(T::EPSILON), Some(self.rcond), error, None);
        // The warning of linear systems calls the solution x.
        self.solve.attention = warning.map(|warning| match warning.strip_prefix("x ") {
            Some(rest) => format!("u {rest}").into(),
            None => warning.into(),
        });
        self
    }
}
