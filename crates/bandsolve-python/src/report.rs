//! Reports.

use pyo3::prelude::*;

/// How a system was solved, and how good the answer is.
#[pyclass(frozen, module = "bandsolve", name = "Report")]
#[derive(Debug)]
pub struct PyReport(bandsolve::Report);

impl PyReport {
    pub fn new(report: bandsolve::Report) -> Self {
        Self(report)
    }
}

#[pymethods]
impl PyReport {
    /// Name of the method that found the answer.
    #[getter]
    fn method(&self) -> &'static str {
        self.0.method.name()
    }

    /// Why this method was chosen.
    #[getter]
    fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Largest row-wise backward error of all right-hand sides; NaN if answers were not verified.
    #[getter]
    fn backward_error(&self) -> f64 {
        self.0.backward_error
    }

    /// Row-wise backward error of every right-hand side; empty if answers were not verified. A batch counts as one right-hand
    /// side, with the largest error of its systems.
    #[getter]
    fn backward_errors(&self) -> &[f64] {
        &self.0.backward_errors
    }

    /// Most refinement steps that a right-hand side took; 1 also where only the rows around bad ones were solved again.
    #[getter]
    fn refinement_steps(&self) -> usize {
        self.0.refinement_steps
    }

    /// Whether a right-hand side had to be solved again by the sequential pivoted method.
    #[getter]
    fn fallback(&self) -> bool {
        self.0.fallback
    }

    /// Largest entry of the factors relative to the largest of the matrix, where the method knows it.
    #[getter]
    fn pivot_growth(&self) -> Option<f64> {
        self.0.pivot_growth
    }

    /// Says in words where x may have no correct digit, else None: x is so large that the matrix must be singular to working precision.
    /// `rcond` of factors estimates how close to singular a matrix is.
    #[getter]
    fn attention(&self) -> Option<&str> {
        self.0.attention.as_deref()
    }

    fn __repr__(&self) -> String {
        let Self(report) = self;
        let fallback = if report.fallback { "True" } else { "False" };
        let mut text =
            format!("Report(method='{}', backward_error={:.2e}", report.method.name(), report.backward_error);
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
