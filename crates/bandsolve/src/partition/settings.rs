//! What is fixed during a solve by partitions: how systems are cut, threads, memory, what eliminates.

use crate::decision::{Options, Pivoting};
use crate::partition::cut::{ALIGN, Cut};
use crate::tuning;
use bandsolve_kernel::blocks::{BlockPivots, memory as block_memory};
use bandsolve_kernel::run::{self, SweepOptions};
use bandsolve_kernel::sweep::{Eliminator, MAX_RHS, Pivots};
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use dyn_stack::StackReq;

/// When couplings across partitions are left out of the coarse system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truncation {
    Never,
    /// Where that changes nothing within the precision.
    WhereSafe,
    Always,
}

/// One of the methods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    /// What eliminates inside a partition, once its ends are known; `None`: as the plan's pivoting says.
    pub eliminator: Option<Eliminator>,
    /// No row is exchanged.
    pub fixed: bool,
    pub truncation: Truncation,
}

impl Scheme {
    /// The only one that there is for blocks.
    pub const BLOCKS: Self = Self { eliminator: None, fixed: false, truncation: Truncation::Never };
}

/// What of a matrix decides how it is cut and how much memory its solves take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelSize {
    /// Unknowns.
    pub n: usize,
    /// Rows, or block rows.
    pub rows: usize,
    /// [`BlockMatrix::storage`]; `None`: scalars.
    pub blocks: Option<(usize, usize)>,
}

impl LevelSize {
    pub fn scalars(n: usize) -> Self {
        Self { n, rows: n, blocks: None }
    }

    /// Rows of a block.
    pub fn block(self) -> usize {
        self.blocks.map_or(1, |(block, _)| block)
    }
}

/// What is fixed during a solve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    options: &'a Options,
    pub scheme: Scheme,
    pub simd: Simd,
    /// Of a vector.
    pub lanes: usize,
    /// [`LevelSize::blocks`]
    blocks: Option<(usize, usize)>,
}

impl<'a> Settings<'a> {
    pub fn new<T: Scalar>(options: &'a Options, scheme: Scheme, blocks: Option<(usize, usize)>) -> Self {
        let simd = options.sweep_simd();
        Self { options, scheme, simd, lanes: T::lanes(simd), blocks }
    }

    /// Rows of a block.
    pub fn block(&self) -> usize {
        self.blocks.map_or(1, |(block, _)| block)
    }

    /// How a level of `n` rows or block rows is cut; small ones are a single partition, which ends the recursion.
    pub fn cut(&self, n: usize) -> Cut {
        let m = self.options.partition_rows.unwrap_or_else(|| tuning::partition_rows(n, self.lanes));
        let single = n <= tuning::LAST_LEVEL_MAX_N.max(m);
        // In a short partition no spike decays.
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

    /// Threads worth waking for `n` rows or block rows: work grows with the square of the block.
    pub fn threads_for(&self, n: usize) -> usize {
        tuning::tasks(self.options.threads, n.saturating_mul(self.block() * self.block()))
    }

    /// Reals of tile memory for all threads.
    pub fn tile_memory<T: Scalar>(&self, n: usize, n_rhs: usize) -> usize {
        let longest = Cut::longest_of_all(n, |n| self.cut(n));
        let of_thread = match self.blocks {
            None => run::memory::<T>(self.simd, longest, n_rhs, 1),
            // Coarse matrices take less than a band.
            Some(storage) => block_memory::<T>(self.simd, storage, longest, n_rhs),
        };
        of_thread.saturating_mul(self.threads_for(n))
    }

    /// Right-hand sides that are swept together when there are `n_rhs`. Sweeps of scalars take four or one: one by one those that
    /// know noise, and those of complex numbers that pivot diagonally or rotate, which would take long to compile.
    pub fn together<T: Scalar>(&self, n_rhs: usize) -> usize {
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

    pub fn block_pivots<X: RealScalar>(&self) -> BlockPivots<X> {
        let exchange = X::from_f64(f64::from(self.options.pivoting != Pivoting::None));
        BlockPivots { exchange, noise: X::from_f64(self.options.noise_threshold) }
    }

    /// Rows or block rows of a coarse right-hand side, and of its solution where it stands apart: scalars are solved for in place, and
    /// have an unknown before the first partition and one after the last.
    pub fn coarse_columns(&self, coarse: usize) -> [usize; 2] {
        if self.blocks.is_some() { [coarse, coarse] } else { [coarse + 2, 0] }
    }

    /// Scratch of [`solve_level`](crate::partition::level::solve_level) for `n` rows or block rows, without tile memory.
    pub fn level_scratch<T: Scalar>(&self, n: usize, n_rhs: usize) -> StackReq {
        let (coarse, block) = (self.cut(n).coarse(), self.block());
        let array = StackReq::new_aligned::<T>(coarse.saturating_mul(block * block), ALIGN);
        let column = |rows: usize| StackReq::new_aligned::<T>(rows.saturating_mul(block * n_rhs), ALIGN);
        let [own, apart] = self.coarse_columns(coarse).map(column);
        let below = if coarse == 2 { StackReq::empty() } else { self.level_scratch::<T>(coarse, n_rhs) };
        StackReq::all_of(&[array, array, array, own, apart, below])
    }

    /// Scratch of [`solve_level`](crate::partition::level::solve_level).
    pub fn scratch<T: Scalar>(&self, n: usize, n_rhs: usize) -> StackReq {
        StackReq::new_aligned::<T::Real>(self.tile_memory::<T>(n, n_rhs), ALIGN).and(self.level_scratch::<T>(n, n_rhs))
    }
}
