//! The input: rank 0 reads the files and announces the sizes to the other ranks.

use bandsolve::memory::{copied, zeroed};
use bandsolve::{Complex64, Scalar};
use bandsolve_mpi::{RankError, RankRanges, Ranks};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::{DenseArray, Triplets, read_matrix, read_rhs};
use bandsolve_program::structure;
use bandsolve_sparse::Structure;
use std::path::Path;

/// The input of rank 0.
pub struct RankInput {
    pub matrix: Triplets,
    pub rhs: Option<DenseArray>,
    /// The storage of the rows.
    pub shape: RowsShape,
}

/// The storage of the rows in messages.
#[derive(Clone, Copy)]
pub enum RowsShape {
    /// Banded: number of diagonals below and above the main diagonal.
    Bands(usize, usize),
    /// Block tridiagonal: number of rows per block, and whether the matrix is periodic.
    Blocks(usize, bool),
}

/// The sizes that all ranks know, and the input on rank 0.
pub struct RankSystem {
    pub shape: RowsShape,
    pub complex: bool,
    /// Number of unknowns.
    pub n: usize,
    /// Number of right-hand sides.
    pub columns: usize,
    /// The input, on rank 0 only.
    pub input: Option<RankInput>,
}

impl RowsShape {
    /// Get the number of unknowns of a row or block row, and the number of stored entries.
    pub fn row(self) -> (usize, usize) {
        match self {
            Self::Bands(lower, upper) => (1, lower + upper + 1),
            Self::Blocks(block, _) => (block, 3 * block * block),
        }
    }
}

/// Read the files on rank 0. Without `block`, the matrix is banded.
///
/// # Errors
/// A message about the invalid file or option.
pub fn read(
    (matrix, rhs): (&Path, Option<&Path>),
    (block, periodic): (Option<usize>, bool),
) -> Result<RankInput, Failure> {
    let matrix = read_matrix(matrix)?;
    let rhs = rhs.map(|path| read_rhs(path, matrix.n_rows)).transpose()?;
    let Some(block) = block else {
        let Structure { lower, upper, .. } = Structure::of::<Complex64, _>(&matrix)?;
        return Ok(RankInput { matrix, rhs, shape: RowsShape::Bands(lower, upper) });
    };
    structure::block_shape(&matrix, block, periodic)?;
    Ok(RankInput { matrix, rhs, shape: RowsShape::Blocks(block, periodic) })
}

/// Announce the sizes of the input of rank 0 to all ranks. If rank 0 failed, the other ranks get `None`. Collective.
///
/// # Errors
/// On rank 0, the error of `input`.
pub fn announce(ranks: &Ranks, input: Result<Option<RankInput>, Failure>) -> Result<Option<RankSystem>, Failure> {
    // 0: failed, 1: real, 2: complex. Then the numbers of unknowns and columns, and the storage of the rows.
    let sizes = match &input {
        Ok(Some(input)) => {
            let columns = input.rhs.as_ref().map_or(1, |rhs| rhs.n_cols) as u64;
            let (kind, a, b) = match input.shape {
                RowsShape::Bands(lower, upper) => (0, lower as u64, upper as u64),
                RowsShape::Blocks(block, periodic) => (1, block as u64, u64::from(periodic)),
            };
            let complex = input.matrix.values.is_complex() || input.rhs.as_ref().is_some_and(|r| r.values.is_complex());
            [1 + u64::from(complex), input.matrix.n_rows as u64, columns, kind, a, b]
        }
        _ => [0; 6],
    };
    let all = ranks.all_gather(&sizes);
    let [kind, n, columns, rows, a, b] = [0, 1, 2, 3, 4, 5].map(|k| all[k] as usize);
    let input = match (kind, input) {
        (0, Err(failure)) => return Err(failure),
        (0, Ok(_)) => return Ok(None),
        (_, input) => input?,
    };
    let shape = if rows == 0 { RowsShape::Bands(a, b) } else { RowsShape::Blocks(a, b == 1) };
    Ok(Some(RankSystem { shape, complex: kind == 2, n, columns, input }))
}

impl RankSystem {
    /// Get the rows or block rows of each rank.
    pub fn ranges(&self, ranks: &Ranks) -> RankRanges {
        RankRanges::even(self.n / self.shape.row().0, ranks.size())
    }

    /// Cut whole vectors on rank 0 into the parts of the ranks.
    fn cut<T: Scalar>(ranges: &RankRanges, values: &[T], each: usize) -> bandsolve::Result<Vec<Vec<T>>> {
        (0..ranges.ranks())
            .map(|rank| copied(&values[ranges.range(rank).start * each..ranges.range(rank).end * each]))
            .collect()
    }

    /// Get all rows on rank 0. Other ranks get an empty list.
    fn whole_rows<T: Scalar>(&self, of: &impl Fn(Complex64) -> T) -> bandsolve::Result<Vec<T>> {
        let Some(input) = &self.input else { return Ok(Vec::new()) };
        let (unknowns, numbers) = self.shape.row();
        let mut rows = zeroed((self.n / unknowns).saturating_mul(numbers))?;
        let count = self.n / unknowns;
        input.matrix.for_each(|i, j, v| {
            // The shape does not contain stored zeros.
            if v == Complex64::ZERO {
                return;
            }
            let place = match self.shape {
                RowsShape::Bands(lower, _) => i * numbers + lower + j - i,
                RowsShape::Blocks(b, periodic) => {
                    let (row, column) = (i / b, j / b);
                    let wraps = periodic && count > 2 && row.abs_diff(column) + 1 == count;
                    let array = if (column > row) != wraps && column != row {
                        2
                    } else if column == row {
                        1
                    } else {
                        0
                    };
                    row * numbers + array * b * b + i % b + j % b * b
                }
            };
            rows[place] += of(v);
        });
        Ok(rows)
    }

    /// Get all rows on rank 0. Other ranks get an empty list. Collective.
    ///
    /// # Errors
    /// `OutOfMemory` on rank 0.
    pub fn rows<T: Scalar>(&self, ranks: &Ranks, of: &impl Fn(Complex64) -> T) -> Result<Vec<T>, RankError> {
        ranks.agree(self.whole_rows(of))
    }

    /// Send each rank its rows of the matrix on rank 0. Collective.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn scatter<T: Scalar>(&self, ranks: &Ranks, rows: &[T]) -> Result<Vec<T>, RankError> {
        self.deal(ranks, rows, self.shape.row().1)
    }

    /// Send each rank its part of an array on rank 0, with `each` numbers per row or block row. Collective.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn deal<T: Scalar>(&self, ranks: &Ranks, whole: &[T], each: usize) -> Result<Vec<T>, RankError> {
        let ranges = self.ranges(ranks);
        let parts = if self.input.is_some() { Self::cut(&ranges, whole, each) } else { Ok(Vec::new()) };
        ranks.scatter(ranks.agree(parts)?, ranges.range(ranks.rank()).len() * each)
    }
}
