//! Cholesky's method for Hermitian positive definite bands, without square roots.
//!
//! ```text
//! A = L D Lᴴ
//! dⱼ  = aⱼⱼ − Σ_(k<j) |lⱼₖ|² dₖ
//! lᵢⱼ = (aᵢⱼ − Σ_(k<j) lᵢₖ dₖ conj(lⱼₖ)) / dⱼ
//! ```
//!
//! A Hermitian matrix is positive definite if and only if all d are positive. All other matrices give an error. L has a unit diagonal, so
//! the sweeps of LU also work for L·D·Lᴴ, and no pivot needs a square root. The range of numbers is the same as for L·Lᴴ: |lᵢⱼ| is at most
//! √(dᵢ/dⱼ).
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
