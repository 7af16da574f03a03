//! SPIKE with Givens rotations inside partitions: no pivot is chosen, none can be bad.
//!
//! The row that a rotation leaves is the same as after elimination, up to a factor; what it keeps is the QR factor's row, of
//! three entries. A partition whose last rotated row is nearly zero takes its last inner unknown from the row after: so
//! singular partitions are solved.
//!
//! Source: Venetis et al., Parallel Comput. 49 (2015), g-Spike; rows of the neighbouring partition instead of its rank-one
//! corrections.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, whatever was decided.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Rotation), fixed: false, truncation: Truncation::Never }
}
