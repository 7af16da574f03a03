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

use crate::contract::factors::Factors;
use crate::contract::verify::Facts;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, Tridiagonal};
use crate::methods::spike_thomas;
use crate::partition::partitioned;
use crate::pivoted::banded::{self, OfBand};
use band::BandCholesky;
use bandsolve_kernel::Scalar;
use std::sync::Arc;

/// Factors a band that is Hermitian positive definite, of which a [`Banded`] has both triangles.
///
/// # Shapes
/// Right-hand sides are n × n_rhs, column-major. Both triangles are given; diagonals that only one of them has are zero.
///
/// # Cost
/// width² multiplications and as many additions a row to factor, half of LU's without exchanges, and 4·width flops a row and
/// right-hand side to solve; width + 1 words a row are kept.
///
/// # Errors
/// [`NotDefinite`](crate::Error::NotDefinite), [`NotFinite`](crate::Error::NotFinite),
/// [`OutOfMemory`](crate::Error::OutOfMemory).
pub(crate) fn factor<'m, T: Scalar>(decision: &Decision, a: Arc<Banded<'m, T>>) -> Result<Factors<T, Banded<'m, T>>> {
    let factors = BandCholesky::new(decision, &a)?;
    Ok(Factors::new(a, Facts::new(decision), OfBand(factors)).or_else(decision, banded::factor))
}

/// Takes a tridiagonal matrix that is Hermitian positive definite, to be solved by partitions.
///
/// # Errors
/// Those of [`factor`].
pub(crate) fn factor_tridiagonal<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<Tridiagonal<'m, T>>,
) -> Result<Factors<T, Tridiagonal<'m, T>>> {
    tridiagonal::check_definite(&a, decision.options.threads > 1)?;
    partitioned::factor(spike_thomas::SCHEME, decision, a)
}
