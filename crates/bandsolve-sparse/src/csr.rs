//! Sparse matrices by compressed rows.

use crate::rows::RowAccess;
use bandsolve::matrix::Index;
use bandsolve::{Csc, Error, Result};
use core::ops::Range;
use std::borrow::Cow;

/// A sparse matrix by compressed rows (CSR), over the caller's arrays or its own.
///
/// Row i has the entries `row_pointers[i] .. row_pointers[i + 1]` of `column_indices` and `values`, in any order; entries of the same
/// column add up. Nothing is sorted or copied.
///
/// # Example
/// ```
/// use bandsolve_sparse::Csr;
/// // (4 −1 0), (−1 4 0), (0 0 4)
/// let a = Csr::new(3, &[0, 2, 4, 5][..], &[0, 1, 1, 0, 2][..], &[4.0, -1.0, 4.0, -1.0, 4.0][..])?;
/// assert_eq!(a.row(1).collect::<Vec<_>>(), [(1, 4.0), (0, -1.0)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Csr<'a, T: Clone, I: Clone = usize> {
    columns: usize,
    row_pointers: Cow<'a, [I]>,
    column_indices: Cow<'a, [I]>,
    values: Cow<'a, [T]>,
}

impl<'a, T: Copy, I: Index> Csr<'a, T, I> {
    /// Borrows or takes the arrays.
    ///
    /// # Errors
    /// [`Error::Shape`] if `row_pointers` is empty or `column_indices` and `values` differ in length, [`Error::Structure`] if the
    /// pointers do not begin with 0, decrease or do not end with the number of entries, or a column index is not below `columns`.
    pub fn new(
        columns: usize,
        row_pointers: impl Into<Cow<'a, [I]>>,
        column_indices: impl Into<Cow<'a, [I]>>,
        values: impl Into<Cow<'a, [T]>>,
    ) -> Result<Self> {
        let (row_pointers, column_indices, values) = (row_pointers.into(), column_indices.into(), values.into());
        // The rows of a matrix are the columns of its transpose.
        Csc::new(columns, &row_pointers, &column_indices, &values).map_err(|error| match error {
            Error::Structure { array: "column_pointers", index } => Error::Structure { array: "row_pointers", index },
            Error::Structure { array: "row_indices", index } => Error::Structure { array: "column_indices", index },
            Error::Shape { what: "column_pointers", expected, got } => {
                Error::Shape { what: "row_pointers", expected, got }
            }
            other => other,
        })?;
        Ok(Self { columns, row_pointers, column_indices, values })
    }

    /// From triplets (row, column, value) in any order, which keep it within their rows.
    ///
    /// # Errors
    /// [`Error::Structure`] if a row or column index is too large, with its place.
    pub fn from_triplets(rows: usize, columns: usize, triplets: &[(usize, usize, T)]) -> Result<Self> {
        if let Some(index) = triplets.iter().position(|(i, j, _)| *i >= rows || *j >= columns) {
            return Err(Error::Structure { array: "triplets", index });
        }
        let mut next = vec![0; rows + 1];
        triplets.iter().for_each(|(i, ..)| next[i + 1] += 1);
        (0..rows).for_each(|i| next[i + 1] += next[i]);
        let row_pointers = next.iter().map(|at| I::from_usize(*at)).collect::<Vec<_>>();
        let mut order = vec![0; triplets.len()];
        for (k, (i, ..)) in triplets.iter().enumerate() {
            order[next[*i]] = k;
            next[*i] += 1;
        }
        let column_indices = order.iter().map(|k| I::from_usize(triplets[*k].1)).collect::<Vec<_>>();
        let values = order.iter().map(|k| triplets[*k].2).collect::<Vec<_>>();
        Self::new(columns, row_pointers, column_indices, values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_pointers.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of entries, those that are zero included.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The places of the entries of row i.
    pub fn range(&self, i: usize) -> Range<usize> {
        let at = |i: usize| self.row_pointers[i].to_usize().expect("checked by `new`");
        at(i)..at(i + 1)
    }

    /// The entries (column, value) of row i.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, T)> + Clone + '_ {
        let own = self.range(i);
        let columns = self.column_indices[own.clone()].iter().map(|j| j.to_usize().expect("checked by `new`"));
        columns.zip(self.values[own].iter().copied())
    }
}

impl<T: Copy + Sync, I: Index> RowAccess for Csr<'_, T, I> {
    type Value = T;

    fn rows(&self) -> usize {
        Csr::rows(self)
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (usize, T)> {
        Csr::row(self, i)
    }
}
