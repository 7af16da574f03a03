//! Parallel diagonal pivoting: the factors of `diagonal_pivoting.rs`, found and applied by scans.
//!
//! The core and the formulas are in `theta.rs`; here leading entries decide whether a pivot has one row or two.
//!
//! Source: Chang, thesis, chapter 4.

/// Factors by parallel diagonal pivoting: 25 bytes a row in double precision.
pub(crate) type ParallelDiagonalPivoting<T> = crate::methods::theta::Theta<T, true>;
