//! Sparse matrices by columns, for sparse right-hand sides and the largest entries of solutions.

use crate::error::{Error, Result, check_len};
use crate::memory::{collected, reserved};
use core::ops::Range;

/// An integer type of index arrays.
///
/// # Examples
/// ```
/// use bandsolve::matrix::Index;
/// assert_eq!(7_i32.to_usize(), Some(7));
/// assert_eq!((-1_i32).to_usize(), None);
/// ```
pub trait Index: Copy + Send + Sync + 'static {
    /// The number as an index; `None` if it is negative or too large.
    fn to_usize(self) -> Option<usize>;
    /// An index as this type. An index that does not fit wraps around.
    fn from_usize(index: usize) -> Self;
    /// The same bits as unsigned integers, so that two versions of a loop serve all five index types.
    #[doc(hidden)]
    fn words(indices: &[Self]) -> IndexWords<'_>;
}

/// Nonnegative indices.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum IndexWords<'a> {
    /// 32 bits each.
    Narrow(&'a [u32]),
    /// 64 bits each.
    Wide(&'a [u64]),
}

macro_rules! index {
    ($($t:ty),*) => {$(impl Index for $t {
        #[inline]
        fn to_usize(self) -> Option<usize> {
            usize::try_from(self).ok()
        }
        #[inline]
        fn from_usize(index: usize) -> Self {
            index as $t
        }
        fn words(indices: &[Self]) -> IndexWords<'_> {
            match size_of::<$t>() {
                4 => IndexWords::Narrow(bytemuck::cast_slice(indices)),
                _ => IndexWords::Wide(bytemuck::cast_slice(indices)),
            }
        }
    })*};
}
index!(i32, i64, u32, u64, usize);

/// A sparse matrix in compressed columns (CSC), over the caller's arrays.
///
/// Column j has the entries `column_pointers[j] .. column_pointers[j + 1]` of `row_indices` and `values`, in any order. Entries with the
/// same row are added.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// // Columns (0, 1, 0, 0, 0) and (2, 0, 0, 0, 3).
/// let rhs = Csc::new(5, &[0, 1, 3], &[1, 0, 4], &[1.0, 2.0, 3.0])?;
/// let a = Tridiagonal::new(&[-1.0; 4], &[2.0; 5], &[-1.0; 4])?;
/// let mut x = [0.0; 10];
/// Plan::new(a.shape()).factor(&a)?.solve_sparse_into(Op::Plain, &rhs, &mut x)?;
/// assert!((x[1] - 4.0 / 3.0).abs() < 1e-15 && (x[9] - 17.0 / 6.0).abs() < 1e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Csc<'a, T, I = usize> {
    rows: usize,
    column_pointers: &'a [I],
    row_indices: &'a [I],
    values: &'a [T],
}

impl<'a, T: Copy, I: Index> Csc<'a, T, I> {
    /// A matrix that borrows its arrays.
    ///
    /// # Errors
    /// - [`Error::Shape`] if `column_pointers` is empty, or `row_indices` and `values` differ in length.
    /// - [`Error::Structure`] if the column pointers do not start with 0, decrease, or do not end with the number of entries.
    /// - [`Error::Structure`] if a row index is negative or not less than `rows`.
    pub fn new(rows: usize, column_pointers: &'a [I], row_indices: &'a [I], values: &'a [T]) -> Result<Self> {
        check_len("values", row_indices.len(), values.len())?;
        check_pointers(column_pointers, values.len())?;
        let inside = |i: &I| i.to_usize().is_some_and(|i| i < rows);
        match row_indices.iter().position(|i| !inside(i)) {
            Some(index) => Err(Error::Structure { array: "row_indices", index }),
            None => Ok(Self { rows, column_pointers, row_indices, values }),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.column_pointers.len() - 1
    }

    /// The values of all entries, column by column.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The entries (row, value) of column `j`.
    pub fn column(&self, j: usize) -> impl Iterator<Item = (usize, T)> + Clone + use<'a, T, I> {
        let range = entries(self.column_pointers, j);
        let rows = self.row_indices[range.clone()].iter().map(|i| i.to_usize().expect("checked by `new`"));
        rows.zip(self.values[range].iter().copied())
    }
}

/// A sparse matrix like [`Csc`] whose row indices and values a function writes. The number of entries per column is given.
///
/// # Examples
/// ```
/// use bandsolve::CscMut;
/// // Two columns with one and two entries.
/// let (mut rows, mut values) = ([0_i32; 3], [0.0_f64; 3]);
/// assert_eq!(CscMut::new(4, &[0, 1, 3], &mut rows, &mut values)?.columns(), 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct CscMut<'a, T, I = usize> {
    column_pointers: &'a [I],
    row_indices: &'a mut [I],
    values: &'a mut [T],
}

impl<'a, T, I: Index> CscMut<'a, T, I> {
    /// A matrix that borrows its arrays. Only `column_pointers` is read.
    ///
    /// # Errors
    /// Those of [`Csc::new`] for lengths and column pointers, and [`Error::Structure`] if a column has more than `rows` entries.
    pub fn new(rows: usize, column_pointers: &'a [I], row_indices: &'a mut [I], values: &'a mut [T]) -> Result<Self> {
        check_len("values", row_indices.len(), values.len())?;
        check_pointers(column_pointers, values.len())?;
        match (0..column_pointers.len() - 1).find(|j| entries(column_pointers, *j).len() > rows) {
            Some(j) => Err(Error::Structure { array: "column_pointers", index: j + 1 }),
            None => Ok(Self { column_pointers, row_indices, values }),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.column_pointers.len() - 1
    }

    /// Split the matrix into groups of `group_size` columns.
    pub(crate) fn into_groups(self, group_size: usize) -> Result<Vec<ColumnGroup<'a, T, I>>> {
        let Self { column_pointers, mut row_indices, mut values } = self;
        let columns = column_pointers.len() - 1;
        let mut groups = reserved(columns.div_ceil(group_size))?;
        for first in (0..columns).step_by(group_size) {
            let of_column = |j| entries(column_pointers, j).len();
            let counts = collected((first..columns.min(first + group_size)).map(of_column))?;
            let len = counts.iter().sum();
            let (i, v);
            (i, row_indices) = row_indices.split_at_mut(len);
            (v, values) = values.split_at_mut(len);
            groups.push(ColumnGroup { counts, row_indices: i, values: v });
        }
        Ok(groups)
    }
}

/// Consecutive columns of a [`CscMut`]: the number of entries per column, and the arrays to fill.
pub(crate) struct ColumnGroup<'a, T, I> {
    pub counts: Vec<usize>,
    pub row_indices: &'a mut [I],
    pub values: &'a mut [T],
}

/// The range of the entries of column `j`.
fn entries<I: Index>(column_pointers: &[I], j: usize) -> Range<usize> {
    let at = |j: usize| column_pointers[j].to_usize().expect("checked");
    at(j)..at(j + 1)
}

fn check_pointers<I: Index>(column_pointers: &[I], entries: usize) -> Result<()> {
    let wrong = |index| Err(Error::Structure { array: "column_pointers", index });
    let Some(last) = column_pointers.len().checked_sub(1) else {
        return Err(Error::Shape { what: "column_pointers", expected: 1, got: 0 });
    };
    let mut before = 0;
    for (index, pointer) in column_pointers.iter().enumerate() {
        match pointer.to_usize() {
            Some(at) if at >= before && (index > 0 || at == 0) => before = at,
            _ => return wrong(index),
        }
    }
    if before == entries { Ok(()) } else { wrong(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_structures_are_refused() {
        let values = [1.0; 3];
        let refused = |pointers: &[i32], rows: &[i32]| match Csc::new(4, pointers, rows, &values[..rows.len()]) {
            Err(Error::Structure { array, index }) => (array, index),
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&[1, 3], &[0, 1, 2]), ("column_pointers", 0));
        assert_eq!(refused(&[0, 2, 1, 3], &[0, 1, 2]), ("column_pointers", 2));
        assert_eq!(refused(&[0, -1, 3], &[0, 1, 2]), ("column_pointers", 1));
        assert_eq!(refused(&[0, 2], &[0, 1, 2]), ("column_pointers", 1));
        assert_eq!(refused(&[0, 3], &[0, 4, 2]), ("row_indices", 1));
        assert_eq!(refused(&[0, 3], &[0, 1, -2]), ("row_indices", 2));
        assert!(Csc::<f64, usize>::new(4, &[], &[], &[]).is_err());
        assert!(Csc::new(4, &[0, 1], &[0, 1], &[1.0]).is_err());
        let a = Csc::new(4, &[0, 2, 2, 3], &[3, 1, 0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((a.columns(), a.rows()), (3, 4));
        assert_eq!(a.column(0).collect::<Vec<_>>(), [(3, 1.0), (1, 2.0)]);
        assert_eq!(a.column(1).count() + 2 * a.column(2).count(), 2);
    }

    #[test]
    fn groups_share_out_the_entries() {
        let (mut rows, mut values) = ([0; 6], [0.0; 6]);
        assert!(CscMut::new(2, &[0, 3, 6], &mut rows, &mut values).is_err());
        let groups = CscMut::new(3, &[0, 1, 1, 3, 6], &mut rows, &mut values).unwrap().into_groups(3).unwrap();
        assert_eq!(
            groups.iter().map(|g| (g.counts.clone(), g.values.len())).collect::<Vec<_>>(),
            [(vec![1, 0, 2], 3), (vec![3], 3)]
        );
    }
}
