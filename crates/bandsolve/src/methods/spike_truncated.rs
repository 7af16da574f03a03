//! Truncated SPIKE: Thomas' algorithm inside partitions, couplings across them left out, for strongly dominant matrices.
//!
//! Exact within the precision where spikes decay below ε inside a partition; elsewhere a preconditioner, which refinement makes
//! good if it can. The plan takes it by itself where `reduce` proves that nothing is lost.
//!
//! Source: Polizzi, Sameh, Parallel Comput. 32 (2006); Chang, thesis, section 2.1.1.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, whatever was decided.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Exchange), fixed: true, truncation: Truncation::Always }
}
