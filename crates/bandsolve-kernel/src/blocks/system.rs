//! Block tridiagonal systems, and the arrays of an operation on their partitions.

use super::super::sweep::MAX_RHS;
use super::super::tile::Scaling;
use super::super::tile_runs::{Columns, ColumnsMut};
use crate::Scalar;
use crate::rows::{BlockRows, Orientation};

/// A banded matrix as a block tridiagonal one, with `block ≥ lower, upper`. The last block row is padded with rows of
/// the identity.
#[derive(Debug, Clone, Copy)]
pub struct Band<'a, T> {
    /// LAPACK band storage of the matrix that the caller passed: entry (i, j) is at `upper + i − j + j·leading`.
    pub bands: &'a [T],
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    pub leading: usize,
    pub block: usize,
    pub orientation: Orientation,
}

/// The matrices that can be solved by blocks.
#[derive(Debug, Clone, Copy)]
pub enum BlockMatrix<'a, T> {
    Blocks(BlockRows<'a, T>),
    Band(Band<'a, T>),
}

impl<T: Scalar> BlockMatrix<'_, T> {
    pub fn block(&self) -> usize {
        match self {
            BlockMatrix::Blocks(rows) => rows.block,
            BlockMatrix::Band(band) => band.block,
        }
    }

    /// The block size, and the leading dimension of a band (otherwise 0). The memory of a tile depends on these two
    /// numbers.
    pub fn storage(&self) -> (usize, usize) {
        match self {
            BlockMatrix::Blocks(rows) => (rows.block, 0),
            BlockMatrix::Band(band) => (band.block, band.leading),
        }
    }

    /// Number of block rows.
    pub fn block_rows(&self) -> usize {
        match self {
            BlockMatrix::Blocks(rows) => rows.block_rows(),
            BlockMatrix::Band(band) => band.n.div_ceil(band.block),
        }
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        match self {
            BlockMatrix::Blocks(rows) => rows.block_rows() * rows.block,
            BlockMatrix::Band(band) => band.n,
        }
    }

    pub fn periodic(&self) -> bool {
        matches!(self, BlockMatrix::Blocks(rows) if rows.periodic())
    }

    pub(super) fn orientation(&self) -> Orientation {
        match self {
            BlockMatrix::Blocks(rows) => rows.orientation,
            BlockMatrix::Band(band) => band.orientation,
        }
    }

    /// Entry (r, c) of the block left of (0), on (1) or right of (2) the diagonal in a block row, not conjugated.
    pub(super) fn entry(&self, row: usize, k: usize, (r, c): (usize, usize)) -> T {
        match self {
            BlockMatrix::Blocks(rows) => {
                let plain = rows.orientation == Orientation::Plain;
                let at = if plain { r + c * rows.block } else { c + r * rows.block };
                rows.blocks(row)[k].map_or(T::ZERO, |(_, block)| block[at])
            }
            BlockMatrix::Band(band) => band.entry(
                (row * band.block + r) as isize,
                (row + k) as isize * band.block as isize - band.block as isize + c as isize,
            ),
        }
    }
}

impl<T: Scalar> Band<'_, T> {
    fn entry(&self, i: isize, j: isize) -> T {
        let n = self.n as isize;
        if i >= n {
            return if i == j { T::ONE } else { T::ZERO };
        }
        if !(0..n).contains(&j) {
            return T::ZERO;
        }
        let (i, j) = if self.orientation == Orientation::Plain { (i, j) } else { (j, i) };
        let at = self.upper as isize + i - j;
        let inside = (0..=(self.lower + self.upper) as isize).contains(&at);
        if inside { self.bands[at as usize + j as usize * self.leading] } else { T::ZERO }
    }
}

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
    pub x_max: [T::Real; MAX_RHS],
}
