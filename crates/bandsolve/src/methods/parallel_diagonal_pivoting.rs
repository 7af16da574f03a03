//! Parallel diagonal pivoting: scans compute and apply the factors of `diagonal_pivoting.rs`.
//!
//! `theta.rs` has the code and the formulas. The leading entries determine whether a pivot is 1 × 1 or 2 × 2.
//!
//! Source: Chang, thesis, chapter 4.

/// Factors by parallel diagonal pivoting: 48 bytes per row in double precision.
pub(crate) type ParallelDiagonalPivoting<T> = crate::methods::theta::Theta<T, true>;
