//! Truncated SPIKE: the Thomas algorithm inside partitions without couplings across them, for strongly dominant matrices.
//!
//! If the spikes decay below ε inside each partition, truncation changes x by less than rounding. Otherwise the solve is a preconditioner
//! for iterative refinement. With method `Auto`, `rpts` truncates if `reduce` shows that the couplings are below rounding.
//!
//! Source: Polizzi, Sameh, Parallel Comput. 32 (2006); Chang, thesis, section 2.1.1.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, which does not depend on the decision.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Exchange), fixed: true, truncation: Truncation::Always }
}
