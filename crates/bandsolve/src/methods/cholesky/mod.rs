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

pub(crate) mod band;
mod diagonals;
mod hermitian;
#[cfg(test)]
mod tests;
pub(crate) mod tridiagonal;

pub use diagonals::Diagonals;
