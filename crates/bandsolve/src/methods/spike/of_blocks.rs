//! Block tridiagonal matrices as bands, solved by partitions.

use super::{Partitions, words_at_most};
use crate::contract::factors::Factors;
use crate::contract::verify::Facts;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{BlockSize, BlockTridiagonal};
use crate::pivoted::block_band::{self, BlockBand};
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;
use std::sync::Arc;

/// Factor a block tridiagonal matrix by partitions of its band.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar>(
    decision: &Decision,
    a: Arc<BlockTridiagonal<'m, T>>,
) -> Result<Factors<T, BlockTridiagonal<'m, T>>> {
    let partitions = block_band::with_band(decision, &a, |band| Partitions::new(decision, band))?;
    let facts = partitions.facts(Facts::new(decision));
    Ok(Factors::new(a, facts, BlockBand(partitions)).or_else(decision, block_band::factor))
}

/// Scratch of solves, from the plan alone: at least as much as the factors need.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, size: BlockSize, n_rhs: usize) -> Option<StackReq> {
    let words = |n, reach, n_rhs| words_at_most(n, (reach, reach), n_rhs);
    decision.options.partitions.is_none().then(|| block_band::scratch_by::<T>(decision, size, n_rhs, words))
}
