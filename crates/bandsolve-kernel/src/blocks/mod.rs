//! Block tridiagonal systems on SIMD lanes: partitions of block rows, one per lane, eliminated with row pivoting.
//!
//! An elimination step works on a *panel* of 2b rows: the b carried equations and the b equations of the next block
//! row. Gaussian elimination with partial pivoting over all 2b rows eliminates the b unknowns of one block. These are
//! the operations of banded LU with partial pivoting on the same matrix. No block needs to be invertible. Pivot rows
//! are found by comparison and exchanged by selection, in every lane.
//!
//! Banded matrices are divided into blocks while their tiles are staged.

mod stage;
mod sweep;

pub use stage::{Band, BlockMatrix};

use super::lanes::Lanes;
use super::run::{CheckResult, Columns, ColumnsMut, Span};
use super::sweep::Least;
use super::tile::Scaling;
use super::{Job, Simd};
use crate::Scalar;
use stage::{Tile, ahead};

/// The choice of pivots.
#[derive(Clone, Copy)]
pub struct BlockPivots<R> {
    /// One, or zero if rows may not be exchanged.
    pub exchange: R,
    /// Candidates up to this modulus count as zero. This is rarely used, and compiled for plain arrays only.
    pub noise: R,
}

/// A level of the recursion, in the form that the kernels use.
#[derive(Clone, Copy)]
pub struct BlockSystem<'a, T: Scalar> {
    pub matrix: BlockMatrix<'a, T>,
    pub scaling: Scaling,
    pub choice: BlockPivots<T::Real>,
    pub n_rhs: usize,
}

/// Rows of the coarse system: two block rows per partition.
pub struct CoarseRows<'a, T> {
    pub sub: &'a mut [T],
    pub diag: &'a mut [T],
    pub sup: &'a mut [T],
    pub rhs: ColumnsMut<'a, T>,
}

/// The operation on the partitions of a span.
pub enum Task<'a, T: Scalar> {
    /// Compute two equations between the ends of each partition.
    Reduce(CoarseRows<'a, T>),
    /// Compute the unknowns of each partition.
    Substitute(BlockTarget<'a, T>),
}

/// The inputs and outputs of `substitute`.
pub struct BlockTarget<'a, T: Scalar> {
    /// All unknowns of the coarse system.
    pub coarse: Columns<'a, T>,
    /// The first partition of the span.
    pub partition: usize,
    /// x at the rows of the span. Rows beyond the end of the matrix are omitted.
    pub x: ColumnsMut<'a, T>,
    /// For every partition the largest |residual| / scale, as [`RealScalar::log_gap`](crate::RealScalar::log_gap). If
    /// empty, nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
    /// Lower bounds of ‖x‖∞.
    pub x_max: [T::Real; super::sweep::MAX_RHS],
}

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
            let mut ahead = ahead(level, (span, t + 1), span.m);
            tile.eliminate_inside(level.choice, matches!(task, Task::Reduce(_)), &mut least, &mut ahead);
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
        tile.found(&checks, least.suspect())
    }
}
