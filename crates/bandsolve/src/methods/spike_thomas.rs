//! SPIKE with Thomas' algorithm inside partitions: no pivoting, for dominant matrices.
//!
//! Source: Chang, thesis, section 3.3.2.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, whatever was decided.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Exchange), fixed: true, truncation: Truncation::Never }
}
