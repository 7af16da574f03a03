//! Columns of numbers with a distance between rows and between columns.

use crate::error::{Error, Result};
use crate::memory::zeroed;
use bandsolve_kernel::Scalar;

/// The places of `columns` columns of `rows` numbers in an array: entry i of column k is at index `i·row + k·column`.
///
/// With it, [`Factor::solve_strided_in_place`](crate::Factor::solve_strided_in_place) solves for right-hand sides with a leading
/// dimension or in row-major order.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// // Three right-hand sides in row-major order.
/// let mut rhs = [2.0, 4.0, 6.0, 4.0, 8.0, 12.0];
/// lu.solve_strided_in_place(Op::Plain, &mut rhs, ColumnStrides::row_major(2, 3))?;
/// assert_eq!(rhs, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnStrides {
    /// Number of entries of a column.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Distance from an entry to the next entry of its column.
    pub row: usize,
    /// Distance from an entry to the entry of the next column in the same row.
    pub column: usize,
}

/// The tile side of copies between orders: a tile of each order stays in the first-level cache.
const TILE: usize = 32;

impl ColumnStrides {
    /// Columns with the distance `leading` between their first entries, like LAPACK's arrays with LDB.
    pub fn column_major(rows: usize, columns: usize, leading: usize) -> Self {
        Self { rows, columns, row: 1, column: leading }
    }

    /// The entries of a row one after the other, like C-ordered arrays.
    pub fn row_major(rows: usize, columns: usize) -> Self {
        Self { rows, columns, row: columns, column: 1 }
    }

    /// The number of entries that an array must have.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if two entries have the same place, [`Error::Shape`] if the array would exceed the address space.
    pub fn len(&self) -> Result<usize> {
        if self.is_empty() {
            return Ok(0);
        }
        let (down, across) = (self.rows - 1, self.columns - 1);
        let most = isize::MAX as usize;
        let size = down.checked_mul(self.row).zip(across.checked_mul(self.column));
        let Some((down_span, across_span, last)) =
            size.and_then(|(d, a)| Some((d, a, d.checked_add(a)?))).filter(|size| size.2 < most)
        else {
            return Err(Error::Shape {
                what: "strided columns, which exceed the address space,",
                expected: most,
                got: usize::MAX,
            });
        };
        // Columns lie one after the other, or their entries alternate.
        if (across == 0 || self.column > down_span) && (down == 0 || self.row > 0)
            || (down == 0 || self.row > across_span) && (across == 0 || self.column > 0)
        {
            return Ok(last + 1);
        }
        let problem = format!("row {} and column {} give two entries the same place", self.row, self.column);
        let expected = format!("row >= {} or column >= {}", across_span + 1, down_span + 1);
        Err(Error::invalid("strides", format!("are invalid: {problem}"), expected))
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0
    }

    /// Whether the columns follow each other without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.is_empty() || (self.row == 1 || self.rows == 1) && (self.column == self.rows || self.columns == 1)
    }

    /// Copy the entries of `array` to columns that follow each other.
    ///
    /// # Errors
    /// [`Error::Shape`] if `array` is too short, [`Error::OutOfMemory`], and the errors of [`len`](Self::len).
    pub fn gather<T: Scalar>(&self, what: &'static str, array: &[T]) -> Result<Vec<T>> {
        self.check(what, array.len())?;
        let mut columns = zeroed(self.rows.saturating_mul(self.columns))?;
        self.each(|from, to| columns[to] = array[from]);
        Ok(columns)
    }

    /// Copy columns that follow each other to the entries of `array`. All other numbers of `array` remain.
    ///
    /// # Errors
    /// [`Error::Shape`] if `array` is too short, and the errors of [`len`](Self::len).
    pub fn scatter<T: Scalar>(&self, what: &'static str, columns: &[T], array: &mut [T]) -> Result<()> {
        self.check(what, array.len())?;
        self.each(|to, from| array[to] = columns[from]);
        Ok(())
    }

    fn check(&self, what: &'static str, got: usize) -> Result<()> {
        let expected = self.len()?;
        if got < expected { Err(Error::Shape { what, expected, got }) } else { Ok(()) }
    }

    /// Call `copy` with the index of each entry in the array and in contiguous columns, tile by tile.
    fn each(&self, mut copy: impl FnMut(usize, usize)) {
        for first in (0..self.columns).step_by(TILE) {
            for top in (0..self.rows).step_by(TILE) {
                for k in first..(first + TILE).min(self.columns) {
                    for i in top..(top + TILE).min(self.rows) {
                        copy(i * self.row + k * self.column, k * self.rows + i);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_there_and_back() {
        for (rows, columns) in [(0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (33, 40), (70, 3)] {
            let places = [
                ColumnStrides::column_major(rows, columns, rows),
                ColumnStrides::column_major(rows, columns, rows + 3),
                ColumnStrides::row_major(rows, columns),
                ColumnStrides { rows, columns, row: 2, column: 2 * rows + 1 },
                ColumnStrides { rows, columns, row: 3 * columns, column: 3 },
            ];
            for strides in places {
                let array: Vec<f64> = (0..strides.len().unwrap()).map(|v| v as f64).collect();
                let gathered = strides.gather("rhs", &array).unwrap();
                for k in 0..columns {
                    for i in 0..rows {
                        assert_eq!(gathered[k * rows + i], (i * strides.row + k * strides.column) as f64);
                    }
                }
                let negative: Vec<f64> = gathered.iter().map(|v| -v).collect();
                let mut back = array.clone();
                strides.scatter("rhs", &negative, &mut back).unwrap();
                let changed = array.iter().zip(&back).filter(|(a, b)| **a != **b).count();
                assert_eq!(changed, gathered.iter().filter(|v| **v != 0.0).count());
            }
        }
    }

    #[test]
    fn overlapping_and_huge_strides_are_errors() {
        let strides = |row, column| ColumnStrides { rows: 4, columns: 3, row, column };
        for (row, column) in [(1, 3), (0, 4), (2, 1), (1, 0), (0, 0)] {
            let error = strides(row, column).len().unwrap_err();
            assert!(matches!(error, Error::InvalidArgument { .. }), "{row}, {column}: {error}");
        }
        assert!(matches!(strides(1, usize::MAX).len(), Err(Error::Shape { .. })));
        assert!(matches!(strides(1, 4).gather("rhs", &[0.0; 11]), Err(Error::Shape { expected: 12, got: 11, .. })));
    }
}
