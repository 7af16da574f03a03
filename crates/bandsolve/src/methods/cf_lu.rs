//! CF-LU: LU without pivoting whose pivots, continued fractions, are ratios of leading minors θ, found by a scan.
//!
//! The core and the formulas are in `theta.rs`: this is diagonal pivoting that never begins a pivot of two rows. The
//! factors are those of Thomas, as r, r·a, u. Safe where Thomas' algorithm is; a leading minor that is zero, or small, breaks it.
//!
//! Source: Chang, thesis, sections 2.1.2 and 4.3.1.

/// Factors by CF-LU: 25 bytes a row in double precision.
pub(crate) type CfLu<T> = crate::methods::theta::Theta<T, false>;
