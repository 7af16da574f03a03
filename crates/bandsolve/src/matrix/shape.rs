//! The kinds and sizes of systems.

use crate::error::{Error, Result};
use bandsolve_kernel::tile::Strides;

/// The kind and the size of a system, from which a [`Plan`](crate::Plan) chooses the method.
///
/// # Examples
/// ```
/// use bandsolve::{Shape, Tridiagonal};
/// let a = Tridiagonal::new(&[1.0; 2], &[4.0; 3], &[1.0; 2])?;
/// assert_eq!(a.shape(), Shape::Tridiagonal { n: 3, periodic: false });
/// assert_eq!(a.shape().n_rhs("rhs", 6)?, 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Shape {
    /// One tridiagonal system of `n` unknowns.
    Tridiagonal {
        /// Number of unknowns.
        n: usize,
        /// Whether the matrix has corner entries, which couple the first and the last unknown.
        periodic: bool,
    },
    /// One banded system.
    Banded {
        /// Number of unknowns.
        n: usize,
        /// Number of diagonals below the main one.
        lower: usize,
        /// Number of diagonals above the main one.
        upper: usize,
    },
    /// One block tridiagonal system.
    BlockTridiagonal {
        /// Number of block rows.
        block_rows: usize,
        /// Number of rows per block.
        block: usize,
        /// Whether the matrix has corner blocks, which couple the first and the last block of unknowns.
        periodic: bool,
    },
    /// Many independent tridiagonal systems of one size.
    Batch {
        /// Number of unknowns per system.
        n: usize,
        /// Number of systems.
        count: usize,
        /// The order of the systems in memory.
        layout: Layout,
        /// Whether the matrices have corner entries, which couple the first and the last unknown of a system.
        periodic: bool,
    },
    /// Many independent banded systems of one size.
    BandedBatch {
        /// Number of unknowns per system.
        n: usize,
        /// Number of systems.
        count: usize,
        /// The order of the systems in memory.
        layout: Layout,
        /// Number of diagonals below the main one.
        lower: usize,
        /// Number of diagonals above the main one.
        upper: usize,
    },
}

impl Shape {
    /// Number of unknowns per system, at most `usize::MAX`.
    pub fn n(&self) -> usize {
        match *self {
            Shape::Tridiagonal { n, .. }
            | Shape::Banded { n, .. }
            | Shape::Batch { n, .. }
            | Shape::BandedBatch { n, .. } => n,
            Shape::BlockTridiagonal { block_rows, block, .. } => block_rows.saturating_mul(block),
        }
    }

    /// The equivalent tridiagonal shape, for bands with at most one diagonal on each side and for blocks of one row.
    pub(crate) fn as_tridiagonal(self) -> Option<Shape> {
        match self {
            Shape::Tridiagonal { .. } => Some(self),
            Shape::Banded { n, lower: 0..=1, upper: 0..=1 } => Some(Shape::Tridiagonal { n, periodic: false }),
            Shape::BlockTridiagonal { block_rows: n, block: 1, periodic } => Some(Shape::Tridiagonal { n, periodic }),
            _ => None,
        }
    }

    /// Number of rows per right-hand side: `n`, or `count · n` for a batch. At most `usize::MAX`.
    pub fn rows(&self) -> usize {
        match *self {
            Shape::Batch { n, count, .. } | Shape::BandedBatch { n, count, .. } => n.saturating_mul(count),
            _ => self.n(),
        }
    }

    /// Number of right-hand sides in an array of `len` numbers. Each has length [`rows`](Self::rows). `what` names the array in the
    /// error.
    ///
    /// # Errors
    /// [`Error::Shape`] if `len` is not a whole number of right-hand sides.
    pub fn n_rhs(&self, what: &'static str, len: usize) -> Result<usize> {
        let rows = self.rows();
        if rows == 0 {
            crate::error::check_len(what, 0, len)?;
            return Ok(0);
        }
        if len.is_multiple_of(rows) {
            Ok(len / rows)
        } else {
            Err(Error::Shape { what, expected: len.div_ceil(rows).saturating_mul(rows), got: len })
        }
    }
}

/// The order of the systems of a batch in memory.
///
/// # Examples
/// ```
/// use bandsolve::{Layout, Shape};
/// let shape = Shape::Batch { n: 10, count: 3, layout: Layout::Interleaved, periodic: false };
/// assert_eq!((shape.n(), shape.rows()), (10, 30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Layout {
    /// One system after the other: row i of system s is at index `s·n + i`.
    Contiguous,
    /// Row by row: row i of system s is at index `i·count + s`. Solves in this layout need not rearrange data.
    Interleaved,
}

impl Layout {
    /// Index of row `i` of system `s`, for `count` systems of `n` rows.
    #[inline]
    pub(crate) fn index(self, (count, n): (usize, usize), s: usize, i: usize) -> usize {
        match self {
            Layout::Contiguous => s * n + i,
            Layout::Interleaved => i * count + s,
        }
    }

    /// The system and the row at an index.
    pub(crate) fn place(self, (count, n): (usize, usize), index: usize) -> (usize, usize) {
        match self {
            Layout::Contiguous => (index / n, index % n),
            Layout::Interleaved => (index % count, index / count),
        }
    }

    /// The distances in memory between systems and between rows.
    pub(crate) fn strides(self, (count, n): (usize, usize)) -> Strides {
        match self {
            Layout::Contiguous => Strides::contiguous(n),
            Layout::Interleaved => Strides { lane: 1, row: count },
        }
    }
}

/// The numbers of unknowns, lower and upper diagonals of a band.
pub(crate) type BandSize = (usize, usize, usize);
/// The numbers of block rows and of rows per block, and whether the matrix is periodic.
pub(crate) type BlockSize = (usize, usize, bool);
