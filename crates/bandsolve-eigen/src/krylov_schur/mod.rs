//! The Krylov–Schur method: extend a Krylov decomposition OP·V = V·H + β·v·eᵀ, restrict it to the wanted part, and extend it again.
//!
//! Names in the source: V is the basis, H the Rayleigh quotient, β·v the residual, and U contains the Schur vectors of H.
//!
//! # Source
//! G. W. Stewart, A Krylov–Schur algorithm for large eigenproblems, SIAM J. Matrix Anal. Appl. 23 (2002).

mod basis;
mod door;
mod general;
mod hermitian;
mod look;
mod verify;

pub(crate) use basis::PRODUCT;
pub(crate) use hermitian::NEAR;

use crate::problem::EigenProblem;
use crate::report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
use crate::solver::EigenSolver;
use bandsolve::vectors::Reducer;
use bandsolve::{Complex32, Complex64, RealScalar, Result, Scalar};
use bandsolve_kernel::ByType;
use core::marker::PhantomData;

/// The settings of a search, and its problem.
type Search<'a, T> = (EigenSolver<'a, T>, EigenProblem<'a, T>);

/// [`hermitian::find`] for every number type. Compiling it in this crate keeps compile times of callers short.
pub(crate) struct FindHermitian<'a>(PhantomData<&'a ()>);

/// [`general::find`] for every number type, compiled in this crate.
pub(crate) struct FindGeneral<'a>(PhantomData<&'a ()>);

impl<'a> ByType for FindHermitian<'a> {
    type Argument<T: Scalar> = Search<'a, T>;
    type Output<T: Scalar> = Result<HermitianEigen<T>>;

    fn of_f32(search: Search<'a, f32>) -> Result<HermitianEigen<f32>> {
        door::hermitian(search)
    }
    fn of_f64(search: Search<'a, f64>) -> Result<HermitianEigen<f64>> {
        door::hermitian(search)
    }
    fn of_c32(search: Search<'a, Complex32>) -> Result<HermitianEigen<Complex32>> {
        door::hermitian(search)
    }
    fn of_c64(search: Search<'a, Complex64>) -> Result<HermitianEigen<Complex64>> {
        door::hermitian(search)
    }
}

impl<'a> ByType for FindGeneral<'a> {
    type Argument<T: Scalar> = Search<'a, T>;
    type Output<T: Scalar> = Result<GeneralEigen>;

    fn of_f32(search: Search<'a, f32>) -> Result<GeneralEigen> {
        door::general(search)
    }
    fn of_f64(search: Search<'a, f64>) -> Result<GeneralEigen> {
        door::general(search)
    }
    fn of_c32(search: Search<'a, Complex32>) -> Result<GeneralEigen> {
        door::general(search)
    }
    fn of_c64(search: Search<'a, Complex64>) -> Result<GeneralEigen> {
        door::general(search)
    }
}

/// Replace the residuals in a report by the residuals of these pairs.
pub(crate) fn residuals_of<T: Scalar>(
    solver: &EigenSolver<'_, T>,
    problem: &EigenProblem<'_, T>,
    pairs: (&[Complex64], &[Complex64]),
    report: EigenReport,
) -> Result<EigenReport> {
    let mut memory = verify::SearchMemory::new(solver, problem, 2)?;
    let (mut reducer, stack) = Reducer::new(solver.communicator, problem.a.rows(), 2, memory.stack());
    let checked = verify::verify(solver, problem, (pairs.0, pairs.1, 0.0), false, (&mut reducer, stack))?;
    // The caller prescribes the values, so missing eigenvalues do not change the ending.
    let all = matches!(report.ending, EigenEnding::Converged | EigenEnding::Incomplete);
    let ending = EigenEnding::of(all, checked.sound);
    let (residuals, norms, orthogonality) = (checked.residuals, checked.norms, checked.orthogonality);
    Ok(EigenReport { ending, residuals, norms, orthogonality, ..report })
}

/// The maximum dimension of the Krylov space: `ncv` or its default, but at least k + 2 and at most n.
fn capacity<T: Scalar>(solver: &EigenSolver<'_, T>, total: usize) -> usize {
    let wished = solver.ncv.unwrap_or_else(|| solver.k.saturating_mul(2).saturating_add(6).max(16));
    wished.max(solver.k.saturating_add(2)).min(total)
}

impl<T: Scalar> EigenSolver<'_, T> {
    /// The largest ‖OP·x − θ·x‖ at which a pair has converged: tol·|θ|, or the rounding errors of the largest |θ|.
    fn allowed(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 4.0 * T::Real::EPSILON.to_f64();
        (self.inner_tolerance().max(rounding) * theta).max(rounding * largest)
    }

    /// The relative tolerance for the residuals of the operator.
    fn inner_tolerance(&self) -> f64 {
        self.inner.unwrap_or(self.tol)
    }

    /// The smallest distance between the keys of two different eigenvalues: twice the tolerance, or the rounding errors of a few products.
    fn distinct(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 32.0 * T::Real::EPSILON.to_f64();
        ((2.0 * self.inner_tolerance()).max(rounding) * theta).max(rounding * largest)
    }

    /// The same settings with a smaller tolerance, for second looks.
    fn stricter(&self) -> Self {
        Self { inner: Some(self.inner_tolerance() / look::STRICTER), ..*self }
    }
}

/// The number of leading pairs (|θ|, residual) that have converged.
fn converged<T: Scalar>(solver: &EigenSolver<'_, T>, pairs: impl Iterator<Item = (f64, f64)>, largest: f64) -> usize {
    pairs.take_while(|(theta, residual)| *residual <= solver.allowed(*theta, largest)).count()
}

impl EigenEnding {
    /// Change `Converged` to `Incomplete` if a wanted eigenvalue may be missing.
    fn if_settled(self, settled: bool) -> Self {
        if self == Self::Converged && !settled { Self::Incomplete } else { self }
    }
}

/// The number of vectors that a restart keeps, of `active` vectors of which the first `found` have converged.
fn kept(active: usize, found: usize) -> usize {
    (found + ((active - found) / 2).max(1)).min(active - 1)
}
