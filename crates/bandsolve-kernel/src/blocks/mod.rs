//! Block tridiagonal systems on SIMD lanes: partitions of block rows, one per lane, eliminated with row pivoting.
//!
//! An elimination step works on a *panel* of 2b rows: the b carried equations and the b equations of the next block
//! row. Gaussian elimination with partial pivoting over all 2b rows eliminates the b unknowns of one block. These are
//! the operations of banded LU with partial pivoting on the same matrix. No block needs to be invertible. Pivot rows
//! are found by comparison and exchanged by selection, in every lane.
//!
//! Banded matrices are divided into blocks while their tiles are staged.

pub(crate) mod panel_step;
mod stage;
mod sweep;
mod system;

pub use system::{Band, BlockMatrix, BlockPivots, BlockSystem, BlockTarget, CoarseRows, Task};

use super::sweep::Least;
use super::tile_runs::{CheckResult, Columns, Span};
use super::{Job, Simd};
use crate::job::kernel;
use crate::number::{Lanes, Scalar};
use stage::{Tile, tile_prefetcher};

/// A task for one span. [`memory`] returns the size of the memory.
pub struct BlockRun<'a, T: Scalar> {
    pub level: &'a BlockSystem<'a, T>,
    pub rhs: Columns<'a, T>,
    pub span: Span,
    pub task: Task<'a, T>,
    pub memory: &'a mut [T::Real],
}

/// Number of reals of memory for a span of partitions with at most `m` block rows.
pub fn memory<T: Scalar>(simd: Simd, storage: (usize, usize), m: usize, n_rhs: usize) -> usize {
    stage::TileLayout::new(storage, m, n_rhs).total * T::lanes(simd) * size_of::<T>() / size_of::<T::Real>()
}

kernel!(BlockKernel: BlockRun<'a> => [CheckResult; super::sweep::MAX_RHS]);

impl<T: Scalar> Job<T> for BlockRun<'_, T> {
    type Output = [CheckResult; super::sweep::MAX_RHS];
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> Self::Output {
        // With a constant block size, loops are unrolled. Such code is compiled for real numbers only, and not for
        // plain arrays.
        match self.level.matrix.block() {
            1 if const { !T::COMPLEX && !V::PORTABLE } => self.sweep::<V, 1>(),
            2 if const { !T::COMPLEX && !V::PORTABLE } => self.sweep::<V, 2>(),
            _ => self.sweep::<V, 0>(),
        }
    }
}

impl<T: Scalar> BlockRun<'_, T> {
    /// Run the task with blocks of `B` rows (0: any size).
    #[inline(always)]
    fn sweep<V: Lanes<Real = T::Real>, const B: usize>(self) -> [CheckResult; super::sweep::MAX_RHS] {
        let Self { level, rhs, span, mut task, memory } = self;
        let tile = Tile::<T, V, B>::new(level, span.m, memory);
        let (mut checks, mut least) = (tile.new_checks(&task), Least::new());
        for t in 0..span.tiles {
            tile.stage(level, &rhs, (span, t));
            if let Task::Substitute(to) = &task {
                tile.take_ends(level, to, (span, t));
            }
            let mut prefetcher = tile_prefetcher(level, (span, t + 1), span.m);
            tile.eliminate_inside(level.choice, matches!(task, Task::Reduce(_)), &mut least, &mut prefetcher);
            match &mut task {
                Task::Reduce(out) => tile.put_coarse(out, (span, t)),
                Task::Substitute(to) => {
                    tile.see_pivots(&mut least);
                    if !to.gaps[0].is_empty() {
                        tile.check(&mut checks, to, (span, t));
                    }
                    tile.put_x(&mut to.x, (span, t));
                }
            }
        }
        tile.check_results(&checks, least.suspect())
    }
}
