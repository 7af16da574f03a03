//! Reports.

use bandsolve::Report;
use pyo3::prelude::*;
use std::borrow::Cow;

/// How a solver solved a system, and the backward error of x.
///
/// Solvers return a `Report` with x if you pass ``full_output=True``. All attributes are read-only.
///
/// Notes
/// -----
/// The backward error measures the smallest change of the matrix and of the right-hand side, relative to each row, that makes x exact. The solver
/// computes
///
/// ```text
/// max over i of |rhs[i] - (A @ x)[i]| / (sum(|A[i, :]|) * max(|x|) + |rhs[i]|).
/// ```
///
/// The check takes almost no additional time, because the solver computes the backward error while it writes x.
///
/// See Also
/// --------
/// - `bandsolve.Factor`: its `rcond` estimates how close a matrix is to a singular one.
///
/// Examples
/// --------
/// >>> import numpy as np, bandsolve
/// >>> off, diag = np.full(9, -1.0), np.full(10, 2.5)
/// >>> rhs = np.ones(10)
/// >>> x, report = bandsolve.solve_tridiagonal(off, diag, off, rhs, full_output=True)
/// >>> report.method, report.backward_error < 1e-15, report.fallback
/// ('pivoted', True, False)
///
/// A matrix that is singular up to rounding:
///
/// >>> off, diag, rhs = [1.0], [1.0, 1.0 + 2**-52], [0.0, 1.0]
/// >>> x, report = bandsolve.solve_tridiagonal(off, diag, off, rhs, full_output=True)
/// >>> report.backward_error < 1e-15
/// True
/// >>> print(report.attention.split(":")[0])
/// x may have no correct digit
#[pyclass(frozen, module = "bandsolve", name = "Report")]
#[derive(Debug)]
pub struct PyReport(Report<Cow<'static, str>>);

impl PyReport {
    pub fn new(report: Report) -> Self {
        let method = Cow::Borrowed(report.method.name());
        Self(report.named(method))
    }
}

#[pymethods]
impl PyReport {
    /// The report of an iteration: the name of the method, why it was chosen, the backward error of each right-hand side, and a warning.
    #[staticmethod]
    fn _of_iteration(method: String, reason: String, backward_errors: Vec<f64>, attention: Option<String>) -> PyReport {
        let mut report = Report::empty(Cow::Owned(method), reason.into());
        backward_errors.into_iter().for_each(|error| report.push(error));
        report.attention = attention.map(Into::into);
        Self(report)
    }

    /// The same report with more words before the reason.
    fn _explained(&self, why: &str) -> PyReport {
        let mut report = self.0.clone();
        report.reason = format!("{why}: {}", report.reason).into();
        Self(report)
    }

    /// Name of the method that computed x.
    #[getter]
    fn method(&self) -> &str {
        &self.0.method
    }

    /// Why the plan chose this method, in words.
    #[getter]
    fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Largest row-wise backward error of all right-hand sides; NaN with ``verify=False``.
    #[getter]
    fn backward_error(&self) -> f64 {
        self.0.backward_error
    }

    /// Row-wise backward error of each right-hand side; an empty list with ``verify=False``. A batch counts as one right-hand side, with the
    /// largest error of its systems.
    #[getter]
    fn backward_errors(&self) -> &[f64] {
        &self.0.backward_errors
    }

    /// Maximum number of iterative refinement steps of any right-hand side. A local repair, which solves only the rows around an error again, counts
    /// as 1.
    #[getter]
    fn refinement_steps(&self) -> usize {
        self.0.refinement_steps
    }

    /// Whether the solver solved a right-hand side again with the sequential pivoted method.
    #[getter]
    fn fallback(&self) -> bool {
        self.0.fallback
    }

    /// Numbers of the systems of a batch that the solver solved again with the sequential pivoted method, in ascending order. Systems are counted
    /// in the order of `numpy.ndindex` over all axes but that of the unknowns. The list is empty for a single matrix, also for one that all systems
    /// share.
    #[getter]
    fn fallback_systems(&self) -> &[usize] {
        &self.0.fallback_systems
    }

    /// Largest entry of the factors divided by the largest entry of the matrix; None if the method does not compute it.
    #[getter]
    fn pivot_growth(&self) -> Option<f64> {
        self.0.pivot_growth
    }

    /// A warning in words if x may have no correct digit, else None.
    ///
    /// The solver warns if x is so large that the matrix must be singular to working precision. This test is free, but does not detect every such
    /// matrix. `Factor.rcond` does, at the cost of a few solves. For several right-hand sides, or systems of a batch, the warning is about the first.
    /// With ``verify=False``, batches and methods that cut a system into partitions test only systems and rows that the solver solved again.
    #[getter]
    fn attention(&self) -> Option<&str> {
        self.0.attention.as_deref()
    }

    fn __repr__(&self) -> String {
        let Self(report) = self;
        let fallback = if report.fallback { "True" } else { "False" };
        let mut text = format!("Report(method='{}', backward_error={:.2e}", report.method, report.backward_error);
        text += &format!(", refinement_steps={}, fallback={fallback}", report.refinement_steps);
        if let Some(growth) = report.pivot_growth {
            text += &format!(", pivot_growth={growth:.2e}");
        }
        if let Some(attention) = &report.attention {
            text += &format!(", attention='{attention}'");
        }
        text + &format!(", reason='{}')", report.reason)
    }
}
