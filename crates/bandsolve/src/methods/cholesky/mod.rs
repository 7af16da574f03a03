//! Cholesky's method for Hermitian positive definite bands, without square roots.
//!
//! $$ A = L\,D\,L^H,\qquad d_j = a_{jj} - \sum_{k<j} |l_{jk}|^2 d_k,\qquad
//!    l_{ij} = \Bigl(a_{ij} - \sum_{k<j} l_{ik}\,d_k\,\overline{l_{jk}}\Bigr) / d_j $$
//!
//! A Hermitian matrix is positive definite if, and only if, all d are positive: other matrices are refused. Rather L·D·Lᴴ than
//! L·Lᴴ: L has ones on its diagonal, so that the sweeps are those of LU, and no root stands between a pivot and the next. The
//! range is the same: |l_ij| is at most √(d_i/d_j).
//!
//! # Source
//! LAPACK `pbtrf`, `pttrf`; Golub & Van Loan, *Matrix Computations*, sections 4.2 and 4.3.

mod band;
mod diagonals;
mod hermitian;
#[cfg(test)]
mod tests;
mod tridiagonal;

pub(crate) use band::words;
pub use diagonals::Diagonals;
pub(crate) use tridiagonal::check_definite;
use tridiagonal::check_minors;

use crate::contract::inspect::Probe;
use crate::contract::verify::{Factored, Facts, KeepsFactors, Lazy, Matrix, Report, solve_verified, verified_scratch};
use crate::contract::{Factor, Op, determinant};
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, Shape};
use crate::pivoted::PivotedBanded;
use band::BandCholesky;
use bandsolve_kernel::Scalar;
use dyn_stack::{PodStack, StackReq};

/// A Hermitian band, in whatever storage.
pub(crate) trait Hermitian<'m, T: Scalar>: Matrix<T> + Sync + Send {
    /// Its factors.
    fn factor(&self, decision: &Decision) -> Result<BandCholesky<T>>;
    /// Both triangles, column by column.
    fn to_banded(&self) -> Result<Banded<'m, T>>;
}

impl<'m, T: Scalar> Hermitian<'m, T> for Banded<'m, T> {
    fn factor(&self, decision: &Decision) -> Result<BandCholesky<T>> {
        BandCholesky::new(decision, self)
    }

    fn to_banded(&self) -> Result<Banded<'m, T>> {
        Ok(self.clone())
    }
}

/// Factors of a band that is Hermitian positive definite, of which a [`Banded`] has both triangles.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. Both triangles are given; diagonals that only one of them has are zero.
///
/// # Cost
/// width² multiplications and as many additions a row to factor, half of LU's without exchanges, and 4·width flops a row and
/// right-hand side to solve; width + 1 words a row are kept.
///
/// # Errors
/// Factoring: [`NotDefinite`](crate::Error::NotDefinite), [`NotFinite`](crate::Error::NotFinite),
/// [`OutOfMemory`](crate::Error::OutOfMemory).
#[derive(Debug)]
pub(crate) struct Cholesky<'m, T: Scalar, A> {
    a: A,
    factors: BandCholesky<T>,
    decision: Decision,
    facts: Facts,
    fallback: Lazy<PivotedBanded<'m, T>>,
}

impl<'m, T: Scalar, A: Hermitian<'m, T>> Cholesky<'m, T, A> {
    /// Factors `a`.
    ///
    /// # Errors
    /// As above.
    pub fn new(decision: &Decision, a: A) -> Result<Self> {
        let factors = a.factor(decision)?;
        let (facts, decision) = (Facts::new(decision), decision.clone());
        Ok(Self { a, factors, decision, facts, fallback: Lazy::new() })
    }
}

impl<T: Scalar, A> KeepsFactors for Cholesky<'_, T, A> {}

impl<'m, T: Scalar, A: Hermitian<'m, T>> Factored<T> for Cholesky<'m, T, A> {
    type Matrix = A;

    fn matrix(&self) -> &A {
        &self.a
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        let (scratch, _) = stack.make_raw::<T>(self.factors.words(x.len() / self.a.shape().n().max(1)));
        self.factors.solve(op, x, scratch);
    }

    fn fallback(&self) -> Option<Result<&dyn Probe<T>>> {
        let make = || PivotedBanded::new(&self.decision.with_best_pivots(), self.a.to_banded()?);
        Some(self.fallback.get(make).map(|factor| factor as &dyn Probe<T>))
    }

    fn product(&self) -> Option<determinant::Product> {
        Some(self.factors.product())
    }
}

impl<'m, T: Scalar, A: Hermitian<'m, T>> Factor<T> for Cholesky<'m, T, A> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let own = |n_rhs| StackReq::new::<T>(self.factors.words(n_rhs));
        own(n_rhs).or(verified_scratch(self).and(own(1)))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        solve_verified(self, op, rhs, x, stack)
    }
}
