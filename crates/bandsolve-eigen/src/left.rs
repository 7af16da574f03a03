//! Left eigenvectors, computed from the adjoint problem.

use crate::krylov_schur::residuals_of;
use crate::problem::{EigenProblem, Inverted, Which};
use crate::report::{EigenEnding, GeneralEigen};
use crate::solver::{EigenSolver, SearchSettings};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::reserved;
use bandsolve::vectors::agree_on;
use bandsolve::{Complex64, LinearOperator, Op, Result, Scalar};

/// The largest condition number of an eigenvalue for which the residual of its left vector must be acceptable.
const CONDITION: f64 = 32.0;

/// The operator Aᴴ.
struct AdjointOperator<'a, T: Scalar>(&'a dyn LinearOperator<T>);

impl<T: Scalar> LinearOperator<T> for AdjointOperator<'_, T> {
    fn rows(&self) -> usize {
        self.0.columns()
    }

    fn columns(&self) -> usize {
        self.0.rows()
    }

    fn apply_scratch(&self) -> StackReq {
        self.0.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.0.apply_op(Op::ConjTranspose, x, y, stack)
    }
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// Find left eigenvectors y with `yᴴ·A = λ·yᴴ·B`, for eigenvalues λ that [`general`](Self::general) found.
    ///
    /// Pass the result of `general` as `right`. The function solves the adjoint problem `Aᴴ·y = λ̄·Bᴴ·y` by the same
    /// method. Values, offsets and their order are equal to those in `right`. The vectors have ‖y‖₂ = 1. The residuals
    /// are `‖Aᴴ·y − λ̄·Bᴴ·y‖₂ / ((‖A‖ + |λ|·‖B‖)·‖y‖₂)`. For equal eigenvalues, the left vectors are a basis, but they
    /// are not biorthogonal to the right vectors.
    ///
    /// # Cost
    /// One more search, for k + 2 eigenvalues.
    ///
    /// # Errors
    /// The errors of [`general`](Self::general). [`Unsupported`](bandsolve::Error::Unsupported) if an operator does not implement products
    /// with its adjoint.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Tridiagonal;
    /// use bandsolve_eigen::{EigenProblem, EigenSolver, MatrixOperator};
    /// // Upper triangular: yᴴ = (0, 1) belongs to λ = 3.
    /// let a = Tridiagonal::new(&[0.0], &[2.0, 3.0], &[1.0])?;
    /// let (operator, solver) = (MatrixOperator(&a), EigenSolver::new(1));
    /// let problem = EigenProblem::new(&operator);
    /// let left = solver.left(&problem, &solver.general(&problem)?)?;
    /// assert!(left.vectors[0].norm() < 1e-12 && (left.values[0] - 3.0).norm() < 1e-12);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn left(&self, problem: &EigenProblem<'_, T>, right: &GeneralEigen) -> Result<GeneralEigen> {
        let settings = &self.settings;
        let a = AdjointOperator(problem.a);
        let b = problem.b.map(AdjointOperator);
        let inverse = problem.inverse().map(AdjointOperator);
        let mut adjoint = EigenProblem::new(&a);
        if let Some(b) = &b {
            adjoint = adjoint.mass(b);
        }
        adjoint = match (&inverse, problem.inverse) {
            (Some(inverse), Some(Inverted::Shifted(sigma, _))) => adjoint.shifted(Scalar::conj(sigma), inverse),
            (Some(inverse), Some(Inverted::Cayley(sigma, _))) => adjoint.cayley(Scalar::conj(sigma), inverse),
            (Some(inverse), Some(Inverted::Mass(_))) => adjoint.mass_inverse(inverse),
            _ => adjoint,
        };
        let wanted = right.values.len();
        let mut total = [problem.a.rows() as f64];
        settings.communicator.sum(&mut total);
        // Request two more, because an equal or conjugate value may come before a wanted one.
        let k = if wanted > 0 { (wanted + 2).min(total[0] as usize) } else { 0 };
        let which = if T::COMPLEX { settings.which.of_conjugates() } else { settings.which };
        let ncv = settings.ncv.map(|ncv| ncv + 2);
        let theirs = SearchSettings { k, which, ncv, has_start: false, count: None, ..*settings };
        let theirs = Self { settings: theirs, start: None }.general(&adjoint)?;
        let (n, mut free) = (problem.a.rows(), (0..theirs.values.len()).collect::<Vec<_>>());
        let vectors = agree_on(settings.communicator, reserved(right.vectors.len()))?;
        let (values, offsets, report) = (right.values.clone(), right.offsets.clone(), right.report.clone());
        let mut left = GeneralEigen { values, offsets, vectors, report };
        for offset in &right.offsets {
            let distance = |j: &usize| (theirs.offsets[*j].conj() - offset).norm();
            let Some(place) = (0..free.len()).min_by(|i, j| distance(&free[*i]).total_cmp(&distance(&free[*j]))) else {
                break;
            };
            left.vectors.extend_from_slice(&theirs.vectors[free.swap_remove(place) * n..][..n]);
        }
        let count = left.vectors.len().checked_div(n).unwrap_or(0);
        left.values.truncate(count);
        left.offsets.truncate(count);
        let conjugates: Vec<Complex64> = left.offsets.iter().map(Complex64::conj).collect();
        // λ comes from `right`. Its error is the residual of the right vector times the condition number of λ.
        let solver = self.with(SearchSettings { tol: CONDITION * settings.limit(total[0]), ..*settings });
        left.report = residuals_of((solver, adjoint), total[0] as usize, (&conjugates, &left.vectors), theirs.report)?;
        left.report.wanted = wanted;
        if count < wanted {
            left.report.ending = EigenEnding::RestartLimit;
        }
        Ok(left)
    }
}

impl Which {
    /// The same selection for the conjugates of the eigenvalues.
    fn of_conjugates(self) -> Self {
        match self {
            Self::LargestImaginary => Self::SmallestImaginary,
            Self::SmallestImaginary => Self::LargestImaginary,
            other => other,
        }
    }
}
