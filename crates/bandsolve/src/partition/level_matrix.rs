//! The matrices of all levels of the recursion: the caller's matrix, and the coarse systems.

use crate::partition::cut::Cut;
use crate::partition::repair::{LONGEST_WINDOW, solve_window};
use crate::partition::settings::{LevelSize, Settings};
use crate::partition::truncation::solve_two;
use crate::tuning;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::blocks::BlockMatrix;
use bandsolve_kernel::rows::Rows;

/// The matrix of a level in the form that the kernels use.
#[derive(Clone, Copy)]
pub(crate) enum LevelMatrix<'a, T: Scalar> {
    Scalars(Rows<'a, T>),
    Blocks(BlockMatrix<'a, T>),
}

impl<T: Scalar> LevelMatrix<'_, T> {
    pub fn size(&self) -> LevelSize {
        match self {
            LevelMatrix::Scalars(rows) => LevelSize::scalars(rows.n()),
            LevelMatrix::Blocks(matrix) => {
                LevelSize { n: matrix.n(), rows: matrix.block_rows(), blocks: Some(matrix.storage()) }
            }
        }
    }

    pub fn periodic(&self) -> bool {
        match self {
            LevelMatrix::Scalars(rows) => rows.periodic,
            LevelMatrix::Blocks(matrix) => matrix.periodic(),
        }
    }
}

/// One level of the recursion: a system and its partitions.
#[derive(Clone, Copy)]
pub(crate) struct Level<'a, T: Scalar> {
    pub settings: &'a Settings<'a>,
    pub cut: Cut,
    pub matrix: LevelMatrix<'a, T>,
    pub finer: Finer<'a, T>,
    pub n_rhs: usize,
}

/// The matrix of which a level has the coarse system.
#[derive(Clone, Copy)]
pub(crate) enum Finer<'a, T: Scalar> {
    /// None: the level has the caller's matrix.
    Caller,
    Level(&'a Level<'a, T>),
    /// A matrix that is not at hand.
    Unknown,
}

impl<T: Scalar> Level<'_, T> {
    /// Whether the rows of the level can be computed again from the caller's matrix.
    pub fn is_exact(&self) -> bool {
        match self.finer {
            Finer::Caller => true,
            Finer::Level(finer) => finer.is_exact(),
            Finer::Unknown => false,
        }
    }
}

/// The coarse matrix of scalars, from the arrays that `reduce` fills.
pub(crate) fn coarse_rows<T: Scalar>([sub, diag, sup]: [&[T]; 3], periodic: bool) -> Rows<'_, T> {
    let n = diag.len();
    let (first, last) = if periodic { (sub[0], sup[n - 1]) } else { (T::ZERO, T::ZERO) };
    Rows { sub: &sub[1..], diag, sup: &sup[..n - 1], first, last, periodic, conj: false }
}

/// Solve the last coarse system by sequential elimination. Returns whether a pivot was close to zero.
pub(crate) fn solve_last<T: Scalar>(rows: &Rows<'_, T>, rhs: &mut [T]) -> bool {
    if rows.periodic { solve_two(rows, rhs) } else { solve_window(rows, 0..rows.n(), rhs) }
}

const _: () = assert!(tuning::SEQUENTIAL_MAX_N <= LONGEST_WINDOW);
