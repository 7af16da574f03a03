//! Matrices as views over the caller's memory.

mod banded;
mod batch;
mod block_tridiagonal;
mod csc;
mod tridiagonal;

use crate::error::{Error, Result};
pub use banded::Banded;
pub use batch::{Layout, TridiagonalBatch};
pub use block_tridiagonal::BlockTridiagonal;
pub(crate) use csc::ColumnGroup;
pub use csc::{Csc, CscMut, Index, IndexWords};
use tridiagonal::EntryPlaces;
pub use tridiagonal::Tridiagonal;

/// Kind and size of a system: all that a [`Plan`](crate::Plan) has to know.
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
        /// Unknowns.
        n: usize,
        /// Whether the first and the last unknown are neighbours.
        periodic: bool,
    },
    /// One banded system.
    Banded {
        /// Unknowns.
        n: usize,
        /// Diagonals below the main one.
        lower: usize,
        /// Diagonals above the main one.
        upper: usize,
    },
    /// One block tridiagonal system.
    BlockTridiagonal {
        /// Block rows.
        block_rows: usize,
        /// Rows of a block.
        block: usize,
        /// Whether the first and the last block of unknowns are neighbours.
        periodic: bool,
    },
    /// Many independent tridiagonal systems of one size.
    Batch {
        /// Unknowns of one system.
        n: usize,
        /// Number of systems.
        count: usize,
        /// How they lie in memory.
        layout: Layout,
    },
}

impl Shape {
    /// Unknowns of one system; as all sizes here `usize::MAX` where it would be more.
    pub fn n(&self) -> usize {
        match *self {
            Shape::Tridiagonal { n, .. } | Shape::Banded { n, .. } | Shape::Batch { n, .. } => n,
            Shape::BlockTridiagonal { block_rows, block, .. } => block_rows.saturating_mul(block),
        }
    }

    /// The shape of the tridiagonal matrix that it is, too: of bands with at most one diagonal on either side, and blocks of
    /// one row.
    pub(crate) fn as_tridiagonal(self) -> Option<Shape> {
        match self {
            Shape::Tridiagonal { .. } => Some(self),
            Shape::Banded { n, lower: 0..=1, upper: 0..=1 } => Some(Shape::Tridiagonal { n, periodic: false }),
            Shape::BlockTridiagonal { block_rows: n, block: 1, periodic } => Some(Shape::Tridiagonal { n, periodic }),
            _ => None,
        }
    }

    /// Rows of one right-hand side: `n`, for a batch `count · n`.
    pub fn rows(&self) -> usize {
        match *self {
            Shape::Batch { n, count, .. } => n.saturating_mul(count),
            _ => self.n(),
        }
    }

    /// Number of right-hand sides in an array, called `what`, of `len` scalars (columns of length [`rows`](Self::rows)).
    ///
    /// # Errors
    /// [`Error::Shape`], if it is no whole number of columns.
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

/// Unknowns, lower and upper diagonals of a band.
pub(crate) type BandSize = (usize, usize, usize);
/// Block rows, rows of a block, whether a block tridiagonal matrix is periodic.
pub(crate) type BlockSize = (usize, usize, bool);
