//! SPIKE with diagonal pivoting inside partitions.
//!
//! Lanes are partitions. A lane whose pivot has two rows takes them in two steps of one row each, remembering in between that
//! no choice is left: so lanes never part, and random data run as fast as dominant ones. The source lets threads run ahead of
//! each other by up to a tile ("dynamic tiling"); here the bound is zero rows.
//!
//! Where a partition ends inside a pivot of two rows, its last inner unknown is taken from the row after: the cut moves by a
//! row where the pivot says so, and singular partitions are solved.
//!
//! Source: Chang, thesis, chapter 3; the rule: [`LanePivots::step`](bandsolve_kernel::sweep::LanePivots::step).

use crate::decision::Decision;
use crate::partition::partitioned::{Scheme, Truncation};
use bandsolve_kernel::sweep::Eliminator;

/// The scheme, whatever was decided.
pub(crate) fn scheme(_: &Decision) -> Scheme {
    Scheme { eliminator: Some(Eliminator::Diagonal), fixed: false, truncation: Truncation::Never }
}
