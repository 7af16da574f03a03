//! The settings of a solve by partitions: partition sizes, threads, memory and elimination.

use crate::decision::Options;
use crate::partition::cut::{ALIGN, Cut};
use crate::tuning;
use bandsolve_kernel::blocks::memory as block_memory;
use bandsolve_kernel::sweep::{Eliminator, MAX_RHS, Pivots};
use bandsolve_kernel::tile::{Scaling, SweepOptions};
use bandsolve_kernel::tile_runs;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use dyn_stack::StackReq;

/// When the couplings across partitions are dropped from the coarse system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truncation {
    Never,
    /// If the couplings are below rounding.
    WhereSafe,
    Always,
}

/// The properties of one of the methods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    /// The elimination inside a partition with known ends; `None` for the pivoting of the plan.
    pub eliminator: Option<Eliminator>,
    /// Whether rows are never exchanged.
    pub fixed: bool,
    pub truncation: Truncation,
}

impl Scheme {
    /// The only scheme for blocks.
    pub const BLOCKS: Self = Self { eliminator: None, fixed: false, truncation: Truncation::Never };
}

/// The sizes of a matrix that determine its partitions and the memory of solves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelSize {
    /// Number of unknowns.
    pub n: usize,
    /// Number of rows, or of block rows.
    pub rows: usize,
    /// [`BlockMatrix::storage`]; `None` for scalars.
    pub blocks: Option<(usize, usize)>,
}

impl LevelSize {
    pub fn scalars(n: usize) -> Self {
        Self { n, rows: n, blocks: None }
    }

    /// Number of rows per block.
    pub fn block(self) -> usize {
        self.blocks.map_or(1, |(block, _)| block)
    }
}

/// The settings of a solve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub options: &'a Options,
    pub scheme: Scheme,
    pub simd: Simd,
    /// Number of SIMD lanes per vector.
    pub lanes: usize,
    /// [`LevelSize::blocks`] of the matrix.
    blocks: Option<(usize, usize)>,
}

impl<'a> Settings<'a> {
    pub fn new<T: Scalar>(options: &'a Options, scheme: Scheme, blocks: Option<(usize, usize)>) -> Self {
        let simd = options.sweep_simd();
        Self { options, scheme, simd, lanes: T::lanes(simd), blocks }
    }

    /// Number of rows per block.
    pub fn block(&self) -> usize {
        self.blocks.map_or(1, |(block, _)| block)
    }

    /// The partitions of a level of `n` rows or block rows. A small level is a single partition, which ends the recursion.
    pub fn cut(&self, n: usize) -> Cut {
        let m = self.options.partition_rows.unwrap_or_else(|| tuning::partition_rows(n, self.lanes));
        let single = n <= tuning::LAST_LEVEL_MAX_N.max(m);
        // Spikes do not decay in a short partition.
        let least = if self.truncates(n) { m } else { 2 };
        Cut::new(n, if single { n } else { m }, least)
    }

    /// Whether the coarse system of `n` rows may be truncated.
    pub fn truncates(&self, n: usize) -> bool {
        match self.scheme.truncation {
            Truncation::Never => false,
            Truncation::WhereSafe => n >= tuning::TRUNCATION_MIN_N,
            Truncation::Always => true,
        }
    }

    /// Number of threads that pay off for `n` rows or block rows. Work grows with the square of the block size.
    pub fn threads_for(&self, n: usize) -> usize {
        let rows = match self.blocks {
            None => n / tuning::SWEPT_ROWS,
            Some(_) => n.saturating_mul(self.block() * self.block()),
        };
        tuning::tasks(self.options.threads, rows)
    }

    /// Real numbers of tile memory for all threads.
    pub fn tile_memory<T: Scalar>(&self, n: usize, n_rhs: usize) -> usize {
        let longest = Cut::longest_of_all(n, |n| self.cut(n));
        let of_thread = match self.blocks {
            None => tile_runs::memory::<T>(self.simd, longest, n_rhs, 1),
            // The tiles of a band are larger than those of coarse matrices.
            Some(storage) => block_memory::<T>(self.simd, storage, longest, n_rhs),
        };
        of_thread.saturating_mul(self.threads_for(n))
    }

    /// Number of right-hand sides that are swept together, of `n_rhs`.
    ///
    /// Sweeps of scalars take four or one. To save compile time, sweeps with a noise threshold take one, and so do complex sweeps with
    /// diagonal pivoting or rotations.
    pub fn group_size<T: Scalar>(&self, n_rhs: usize) -> usize {
        if self.blocks.is_some() {
            return n_rhs.min(MAX_RHS);
        }
        let exchange = matches!(self.scheme.eliminator, None | Some(Eliminator::Exchange));
        let compiled = self.options.noise_threshold == 0.0 && (exchange || !T::COMPLEX);
        if n_rhs >= MAX_RHS && compiled { MAX_RHS } else { 1 }
    }

    pub fn how<X: RealScalar>(&self) -> SweepOptions<X> {
        let pivots = self.options.pivots();
        match self.scheme.eliminator {
            None => SweepOptions { pivots, scaling: self.options.scaling() },
            Some(eliminator) => SweepOptions {
                pivots: Pivots { eliminator, fixed: self.scheme.fixed, ..pivots },
                scaling: Scaling::Rows,
            },
        }
    }

    /// Number of rows or block rows of a coarse right-hand side, and of a separate array for its solution.
    ///
    /// Scalars are solved in place, with an additional unknown before the first partition and one after the last.
    pub fn coarse_columns(&self, coarse: usize) -> [usize; 2] {
        if self.blocks.is_some() { [coarse, coarse] } else { [coarse + 2, 0] }
    }

    /// Scratch of [`solve_level`](crate::partition::level::solve_level) for `n` rows or block rows, without tile memory.
    pub fn level_scratch<T: Scalar>(&self, n: usize, n_rhs: usize) -> StackReq {
        let (coarse, block) = (self.cut(n).coarse(), self.block());
        let array = StackReq::new_aligned::<T>(coarse.saturating_mul(block * block), ALIGN);
        let column = |rows: usize| StackReq::new_aligned::<T>(rows.saturating_mul(block * n_rhs), ALIGN);
        let [in_place, separate] = self.coarse_columns(coarse).map(column);
        let below = if coarse == 2 { StackReq::empty() } else { self.level_scratch::<T>(coarse, n_rhs) };
        StackReq::all_of(&[array, array, array, in_place, separate, below])
    }

    /// Scratch of [`solve_level`](crate::partition::level::solve_level).
    pub fn scratch<T: Scalar>(&self, n: usize, n_rhs: usize) -> StackReq {
        StackReq::new_aligned::<T::Real>(self.tile_memory::<T>(n, n_rhs), ALIGN).and(self.level_scratch::<T>(n, n_rhs))
    }
}
