//! RPTS: recursive partitioned Schur complement with row exchanges.
//!
//! Inside a partition, the scaled row with the larger coefficient of the unknown becomes the pivot row. The coarse system is solved in the
//! same way. With method `Auto`, it is truncated instead if the spikes decay below rounding.
//!
//! Source: C. Klein, dissertation, sections 2.5 and 2.6, Algorithms 1 and 2.

use crate::contract::factors::Factors;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{BandSize, Banded, BlockSize, BlockTridiagonal, Tridiagonal};
use crate::partition::blocks::block_of;
use crate::partition::partitioned::{self, Scheme, Truncation};
use crate::partition::settings::LevelSize;
use crate::partition::stored;
use crate::pivoted::{banded, block_band};
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;
use std::sync::Arc;

/// The scheme of RPTS for a decision.
pub(crate) fn scheme(decision: &Decision) -> Scheme {
    let truncation = if decision.is_auto() { Truncation::WhereSafe } else { Truncation::Never };
    Scheme { eliminator: None, fixed: false, truncation }
}

/// Tridiagonal matrices.
pub(crate) mod of_tridiagonal {
    use super::*;

    /// Factor a matrix that is solved with many times, if that pays off. Otherwise, prepare solves that eliminate again.
    pub(crate) fn factor<'m, T: Scalar>(
        decision: &Decision,
        a: Arc<Tridiagonal<'m, T>>,
    ) -> Result<Factors<T, Tridiagonal<'m, T>>> {
        match stored::factor(scheme(decision), decision, &a)? {
            Some(factors) => Ok(factors),
            None => partitioned::factor(scheme(decision), decision, a),
        }
    }

    /// Scratch of solves, from the plan alone: at least as much as the factors need.
    pub(crate) fn scratch<T: Scalar>(decision: &Decision, n: usize, n_rhs: usize) -> Option<StackReq> {
        let again = partitioned::scratch_of_plan::<T>(scheme(decision), decision, n, n_rhs)?;
        Some(again.or(stored::scratch::<T>(scheme(decision), &decision.options, n, n_rhs).unwrap_or(StackReq::EMPTY)))
    }
}

/// Narrow bands, which are divided into small blocks (`partition/blocks.rs`).
pub(crate) mod of_bands {
    use super::*;

    /// Prepare solves with a narrow band by partitions. A band of at most two block rows is factored by the pivoted method.
    pub(crate) fn factor<'m, T: Scalar>(
        decision: &Decision,
        a: Arc<Banded<'m, T>>,
    ) -> Result<Factors<T, Banded<'m, T>>> {
        if a.n() <= 2 * a.lower().max(a.upper()) {
            return banded::factor(decision, a);
        }
        partitioned::factor(Scheme::BLOCKS, decision, a)
    }

    /// Scratch of solves, from the plan alone: at least as much as the factors need.
    pub(crate) fn scratch<T: Scalar>(
        decision: &Decision,
        (n, lower, upper): BandSize,
        n_rhs: usize,
    ) -> Option<StackReq> {
        let block = block_of(lower, upper);
        if n <= block.saturating_mul(2) {
            return banded::scratch::<T>(decision, (n, lower, upper), n_rhs);
        }
        let size = LevelSize { n, rows: n.div_ceil(block), blocks: Some((block, lower + upper + 1)) };
        Some(partitioned::scratch::<T>(&decision.options, Scheme::BLOCKS, size, n_rhs))
    }
}

/// Block tridiagonal matrices with small blocks.
pub(crate) mod of_blocks {
    use super::*;

    /// Prepare solves with small blocks by partitions. A single block row is factored by the pivoted method.
    pub(crate) fn factor<'m, T: Scalar>(
        decision: &Decision,
        a: Arc<BlockTridiagonal<'m, T>>,
    ) -> Result<Factors<T, BlockTridiagonal<'m, T>>> {
        if a.block_rows() <= 1 {
            return block_band::factor(decision, a);
        }
        partitioned::factor(Scheme::BLOCKS, decision, a)
    }

    /// Scratch of solves, from the plan alone: at least as much as the factors need.
    pub(crate) fn scratch<T: Scalar>(decision: &Decision, size: BlockSize, n_rhs: usize) -> Option<StackReq> {
        let (block_rows, block, _) = size;
        if block_rows <= 1 {
            return block_band::scratch::<T>(decision, size, n_rhs);
        }
        let size = LevelSize { n: decision.shape.n(), rows: block_rows, blocks: Some((block, 0)) };
        Some(partitioned::scratch::<T>(&decision.options, Scheme::BLOCKS, size, n_rhs))
    }
}
