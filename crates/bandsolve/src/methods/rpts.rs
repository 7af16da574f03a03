//! RPTS: recursive partitioned Schur complement, pivots by exchange of rows.
//!
//! Inside a partition the row with the larger coefficient of the unknown, rows being scaled, becomes the pivot row. The coarse
//! system is solved the same way, unless the plan was free to choose and spikes turn out to decay inside partitions.
//!
//! Source: C. Klein, dissertation, sections 2.5 and 2.6, Algorithms 1 and 2.

use crate::contract::factors::Factors;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{BandSize, Banded, BlockSize, BlockTridiagonal};
use crate::partition::blocks::block_of;
use crate::partition::partitioned::{self, Scheme, Truncation};
use crate::partition::settings::LevelSize;
use crate::pivoted::{banded, block_band};
use bandsolve_kernel::Scalar;
use dyn_stack::StackReq;
use std::sync::Arc;

/// RPTS under a decision.
pub(crate) fn scheme(decision: &Decision) -> Scheme {
    let truncation = if decision.is_auto() { Truncation::WhereSafe } else { Truncation::Never };
    Scheme { eliminator: None, fixed: false, truncation }
}

/// Bands of few diagonals, cut into small blocks: `partition/blocks.rs`.
pub(crate) mod of_bands {
    use super::*;

    /// Takes a narrow band: by partitions, unless there is one block row.
    pub(crate) fn factor<'m, T: Scalar>(
        decision: &Decision,
        a: Arc<Banded<'m, T>>,
    ) -> Result<Factors<T, Banded<'m, T>>> {
        if a.n() <= 2 * a.lower().max(a.upper()) {
            return banded::factor(decision, a);
        }
        partitioned::factor(Scheme::BLOCKS, decision, a)
    }

    /// Scratch of verified solves, from the plan alone: at least what factors ask for.
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

/// Small blocks.
pub(crate) mod of_blocks {
    use super::*;

    /// Takes small blocks: by partitions, unless there is one block row.
    pub(crate) fn factor<'m, T: Scalar>(
        decision: &Decision,
        a: Arc<BlockTridiagonal<'m, T>>,
    ) -> Result<Factors<T, BlockTridiagonal<'m, T>>> {
        if a.block_rows() <= 1 {
            return block_band::factor(decision, a);
        }
        partitioned::factor(Scheme::BLOCKS, decision, a)
    }

    /// Scratch of verified solves, from the plan alone: at least what factors ask for.
    pub(crate) fn scratch<T: Scalar>(decision: &Decision, size: BlockSize, n_rhs: usize) -> Option<StackReq> {
        let (block_rows, block, _) = size;
        if block_rows <= 1 {
            return block_band::scratch::<T>(decision, size, n_rhs);
        }
        let size = LevelSize { n: decision.shape.n(), rows: block_rows, blocks: Some((block, 0)) };
        Some(partitioned::scratch::<T>(&decision.options, Scheme::BLOCKS, size, n_rhs))
    }
}
