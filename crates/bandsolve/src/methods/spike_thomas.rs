//! SPIKE with the Thomas algorithm inside partitions, without pivoting, for diagonally dominant matrices.
//!
//! Source: Chang, thesis, section 3.3.2.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, which does not depend on the decision.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Exchange), fixed: true, truncation: Truncation::Never }
}
