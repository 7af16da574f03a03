//! RPTS: recursive partitioned Schur complement, pivots by exchange of rows.
//!
//! Inside a partition the row with the larger coefficient of the unknown, rows being scaled, becomes the pivot row. The coarse
//! system is solved the same way, unless the plan was free to choose and spikes turn out to decay inside partitions.
//!
//! Source: C. Klein, dissertation, sections 2.5 and 2.6, Algorithms 1 and 2.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};

/// RPTS under a decision.
pub(crate) fn scheme(decision: &Decision) -> Scheme {
    let truncation = if decision.is_auto() { Truncation::WhereSafe } else { Truncation::Never };
    Scheme { eliminator: None, fixed: false, truncation }
}
