//! CF-LU: LU without pivoting, whose pivots are continued fractions. A scan computes them as ratios of leading minors θ.
//!
//! `theta.rs` has the code and the formulas. CF-LU is diagonal pivoting that never starts a 2 × 2 pivot. The factors are those of the
//! Thomas algorithm in the form r, r·a, u. CF-LU is safe if the Thomas algorithm is, and inaccurate if a leading minor is zero or small.
//!
//! Source: Chang, thesis, sections 2.1.2 and 4.3.1.

/// Factors by CF-LU: 24 bytes per row in double precision.
pub(crate) type CfLu<T> = crate::methods::theta::Theta<T, false>;
