//! SPIKE with diagonal pivoting inside partitions.
//!
//! Each SIMD lane eliminates one partition. A lane eliminates a 2 × 2 pivot in two steps of one row each, and the second step makes no
//! choice. All lanes therefore stay in the same row, and random data are as fast as dominant data. In the source, threads can be up to a
//! tile ahead of each other ("dynamic tiling").
//!
//! If a partition ends inside a 2 × 2 pivot, its last inner unknown is eliminated with the next row. Singular partitions therefore cause
//! no failure.
//!
//! Source: Chang, thesis, chapter 3. [`LanePivots::step`](bandsolve_kernel::sweep::LanePivots::step) has the pivoting rule.

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, which does not depend on the decision.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Diagonal), fixed: false, truncation: Truncation::Never }
}
