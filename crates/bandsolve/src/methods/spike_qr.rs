//! SPIKE with Givens rotations inside partitions, which need no pivoting.
//!
//! A rotation gives a row of the QR factor with three entries, and the same remaining row as an elimination up to a factor. If the last
//! remaining row of a partition is nearly zero, its last inner unknown is eliminated with the next row. Singular partitions therefore cause
//! no failure.
//!
//! Source: Venetis et al., Parallel Comput. 49 (2015), g-Spike. Here rows of the neighbouring partition replace the rank-one corrections.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, which does not depend on the decision.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Rotation), fixed: false, truncation: Truncation::Never }
}
