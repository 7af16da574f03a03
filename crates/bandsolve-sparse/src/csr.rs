//! Sparse matrices in compressed sparse row (CSR) format.

use crate::rows::{Ragged, TASK};
use bandsolve::matrix::{Index, IndexWords};
use bandsolve::memory::{allocate, collected, copied, refill, reserved, zeroed};
use bandsolve::vectors::{narrow, widen};
use bandsolve::{Csc, Error, RealScalar, Result, Scalar, interrupt};
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use bytemuck::Pod;
use core::ops::Range;
use std::borrow::Cow;

/// Convert a number to another type.
#[inline]
pub(crate) fn cast<T: Scalar, S: Scalar>(v: T) -> S {
    narrow(widen(v))
}

/// Copy an array to large pages, on all threads.
fn copied_by_all<E: Pod + Send + Sync>(array: &[E]) -> Result<Vec<E>> {
    let mut copy = zeroed(array.len())?;
    each_chunk((copy.len().div_ceil(TASK), 2), RowsOf(&mut copy, TASK), &|task, part| {
        part.0.copy_from_slice(&array[task * TASK..][..part.0.len()]);
    });
    Ok(copy)
}

/// Convert a number to an index.
///
/// # Errors
/// [`Error::Shape`] if the number does not fit.
fn counted<I: Index>(what: &'static str, number: usize) -> Result<I> {
    let index = I::from_usize(number);
    if index.to_usize() == Some(number) {
        return Ok(index);
    }
    let all = usize::MAX >> (usize::BITS as usize).saturating_sub(8 * size_of::<I>());
    // Signed types have one bit less.
    let expected = if I::from_usize(all).to_usize() == Some(all) { all } else { all >> 1 };
    Err(Error::Shape { what, expected, got: number })
}

/// Duplicate an array. Copies it if it is owned.
fn duplicate<'a, E: Copy>(array: &Cow<'a, [E]>) -> Result<Cow<'a, [E]>> {
    match array {
        Cow::Borrowed(array) => Ok(Cow::Borrowed(array)),
        Cow::Owned(array) => copied(array).map(Cow::Owned),
    }
}

/// The first `count` elements of an array, or all elements if there are fewer.
fn leading<E: Clone>(array: Cow<'_, [E]>, count: usize) -> Cow<'_, [E]> {
    match array {
        Cow::Borrowed(array) => Cow::Borrowed(&array[..count.min(array.len())]),
        Cow::Owned(mut array) => {
            array.truncate(count);
            Cow::Owned(array)
        }
    }
}

/// A sparse matrix in compressed sparse row (CSR) format, over the caller's arrays or its own.
///
/// The entries of row i are the elements `row_pointers[i] .. row_pointers[i + 1]` of `column_indices` and `values`. They may be in any order, and
/// entries with the same row and column add up. The matrix neither sorts nor copies the arrays.
///
/// # Shapes
/// For m rows and e entries: `row_pointers` has m + 1 elements, `column_indices` and `values` have e.
///
/// # Cost
/// The memory is that of the three arrays. A product A·x takes two flops per entry and vector, and reads each entry once
/// ([`product`](Self::product)). For many products with one matrix, see [`PreparedProduct`](crate::PreparedProduct).
///
/// # Errors
/// [`new`](Self::new) returns [`Error::Shape`] if arrays differ in length, and [`Error::Structure`] if row pointers or column indices are invalid.
///
/// # Examples
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
    /// Make a matrix from three arrays. Borrows slices, and takes vectors.
    ///
    /// # Shapes
    /// For m rows, `row_pointers` has m + 1 elements. `column_indices` and `values` have at least `row_pointers[m]` elements; the matrix ignores
    /// further ones.
    ///
    /// # Errors
    /// [`Error::Shape`] if `row_pointers` is empty, or if only one of `column_indices` and `values` is too short. [`Error::Structure`] if the row
    /// pointers do not begin with 0, decrease, or exceed the number of entries, or if a column index is not below `columns`.
    pub fn new(
        columns: usize,
        row_pointers: impl Into<Cow<'a, [I]>>,
        column_indices: impl Into<Cow<'a, [I]>>,
        values: impl Into<Cow<'a, [T]>>,
    ) -> Result<Self> {
        let row_pointers = row_pointers.into();
        let entries = row_pointers.last().and_then(|last| last.to_usize()).unwrap_or(usize::MAX);
        let (column_indices, values) = (leading(column_indices.into(), entries), leading(values.into(), entries));
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

    /// Make a matrix with row pointers of another integer type than the column indices.
    ///
    /// Some libraries use 64 bits for row pointers, and 32 bits for column indices. The row pointers are copied; the other arrays are borrowed or
    /// taken.
    ///
    /// # Errors
    /// As [`new`](Self::new). [`Error::Shape`] if the number of entries does not fit type `I`. [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let (pointers, columns, values) = ([0_i64, 1, 3], [1_i32, 0, 1], [3.0, 5.0, 4.0]);
    /// let a = Csr::with_pointers(2, &pointers, &columns[..], &values[..])?;
    /// assert_eq!(a.row(1).collect::<Vec<_>>(), [(0, 5.0), (1, 4.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn with_pointers<P: Index>(
        columns: usize,
        row_pointers: &[P],
        column_indices: impl Into<Cow<'a, [I]>>,
        values: impl Into<Cow<'a, [T]>>,
    ) -> Result<Self> {
        let mut pointers = reserved(row_pointers.len())?;
        for (index, pointer) in row_pointers.iter().enumerate() {
            let at = pointer.to_usize().ok_or(Error::Structure { array: "row_pointers", index })?;
            pointers.push(counted("entries of a matrix with this index type", at)?);
        }
        Self::new(columns, pointers, column_indices, values)
    }

    /// Make a matrix from triplets (row, column, value) in any order. The entries of a row keep the order of the triplets.
    ///
    /// # Errors
    /// [`Error::Structure`] with the place of the first triplet whose row or column index is too large. [`Error::OutOfMemory`].
    pub fn from_triplets(rows: usize, columns: usize, triplets: &[(usize, usize, T)]) -> Result<Self> {
        if let Some(index) = triplets.iter().position(|(i, j, _)| *i >= rows || *j >= columns) {
            return Err(Error::Structure { array: "triplets", index });
        }
        let mut next = allocate(rows.saturating_add(1), 0)?;
        triplets.iter().for_each(|(i, ..)| next[i + 1] += 1);
        (0..rows).for_each(|i| next[i + 1] += next[i]);
        let row_pointers = collected(next.iter().map(|at| I::from_usize(*at)))?;
        let mut order = allocate(triplets.len(), 0)?;
        for (k, (i, ..)) in triplets.iter().enumerate() {
            order[next[*i]] = k;
            next[*i] += 1;
        }
        let column_indices = collected(order.iter().map(|k| I::from_usize(triplets[*k].1)))?;
        let values = collected(order.iter().map(|k| triplets[*k].2))?;
        Self::new(columns, row_pointers, column_indices, values)
    }

    /// Convert a matrix from compressed sparse column (CSC) format. The rows of the copy are sorted by column.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of columns does not fit type `I`. [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve::Csc;
    /// use bandsolve_sparse::Csr;
    /// // Columns (4, −1) and (0, 4).
    /// let a = Csr::from_columns(&Csc::new(2, &[0, 2, 3], &[0, 1, 1], &[4.0, -1.0, 4.0])?)?;
    /// assert_eq!(a.row(1).collect::<Vec<_>>(), [(0, -1.0), (1, 4.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_columns(a: &Csc<'_, T, I>) -> Result<Self> {
        counted::<I>("columns of a matrix with this index type", a.columns())?;
        let mut next = allocate(a.rows() + 1, 0)?;
        (0..a.columns()).flat_map(|j| a.column(j)).for_each(|(i, _)| next[i + 1] += 1);
        (0..a.rows()).for_each(|i| next[i + 1] += next[i]);
        let row_pointers = collected(next.iter().map(|at| I::from_usize(*at)))?.into();
        // The copy only has the right length: every element is overwritten.
        let mut column_indices = allocate(a.values().len(), I::from_usize(0))?;
        let mut values = copied(a.values())?;
        for j in 0..a.columns() {
            for (i, value) in a.column(j) {
                (column_indices[next[i]], values[next[i]]) = (I::from_usize(j), value);
                next[i] += 1;
            }
        }
        Ok(Self { columns: a.columns(), row_pointers, column_indices: column_indices.into(), values: values.into() })
    }

    /// Borrow the matrix: a matrix over the same memory.
    pub fn view(&self) -> Csr<'_, T, I> {
        Csr {
            columns: self.columns,
            row_pointers: Cow::Borrowed(&self.row_pointers),
            column_indices: Cow::Borrowed(&self.column_indices),
            values: Cow::Borrowed(&self.values),
        }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.row_pointers.len() - 1
    }

    /// Number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries, including zeros.
    #[inline]
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// The range of the entries of row i in the arrays of column indices and values.
    #[inline]
    pub fn range(&self, i: usize) -> Range<usize> {
        let at = |i: usize| self.row_pointers[i].to_usize().expect("checked by `new`");
        at(i)..at(i + 1)
    }

    /// The entries (column, value) of row i.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, T)> + Clone + '_ {
        let entries = self.range(i);
        let columns = self.column_indices[entries.clone()].iter().map(|j| j.to_usize().expect("checked by `new`"));
        columns.zip(self.values[entries].iter().copied())
    }
}

impl<'a, T: Scalar, I: Index> Csr<'a, T, I> {
    /// Check that there are as many columns as rows.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub(crate) fn check_square(&self) -> Result<()> {
        if self.columns == self.rows() {
            return Ok(());
        }
        Err(Error::Shape { what: "columns of a square matrix", expected: self.rows(), got: self.columns })
    }

    /// Convert to 32-bit indices. Borrows indices that have 32 bits, and copies others.
    ///
    /// # Errors
    /// [`Error::Shape`] if an index does not fit. [`Error::OutOfMemory`].
    pub(crate) fn narrow(&self) -> Result<Csr<'_, T, u32>> {
        const ENTRIES: &str = "the list of entries of a matrix with 32-bit indices";
        const COLUMNS: &str = "a row of a matrix with 32-bit indices";
        let narrow = |what: &'static str, got: usize, indices| match indices {
            IndexWords::Narrow(indices) => Ok(Cow::Borrowed(indices)),
            IndexWords::Wide(indices) => {
                if got >= u32::MAX as usize {
                    return Err(Error::Shape { what, expected: u32::MAX as usize - 1, got });
                }
                collected(indices.iter().map(|index| *index as u32)).map(Cow::Owned)
            }
        };
        Ok(Csr {
            columns: self.columns,
            row_pointers: narrow(ENTRIES, self.entries(), I::words(&self.row_pointers))?,
            column_indices: narrow(COLUMNS, self.columns, I::words(&self.column_indices))?,
            values: Cow::Borrowed(&self.values),
        })
    }

    /// Copy the matrix on all threads, with 32-bit indices.
    ///
    /// # Errors
    /// [`Error::Shape`] if an index does not fit. [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let (pointers, columns, values) = ([0_i64, 1, 2], [1_i64, 0], [3.0, 5.0]);
    /// let a = Csr::new(2, &pointers[..], &columns[..], &values[..])?.to_owned_narrow()?;
    /// assert_eq!(a.parts(), (&[0_u32, 1, 2][..], &[1_u32, 0][..], &[3.0, 5.0][..]));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn to_owned_narrow(&self) -> Result<Csr<'static, T, u32>> {
        let a = self.narrow()?;
        let (pointers, columns, values) = a.parts();
        let copies = (copied_by_all(pointers)?, copied_by_all(columns)?, copied_by_all(values)?);
        Ok(Csr {
            columns: self.columns,
            row_pointers: copies.0.into(),
            column_indices: copies.1.into(),
            values: copies.2.into(),
        })
    }

    /// Compute A − σ·B, or A − σ·I if `b` is `None`. Searches for eigenvalues by shift-and-invert solve with this matrix.
    ///
    /// The result is a copy. Each row has the entries of A in their order, followed by those that only B has.
    ///
    /// # Cost
    /// One pass over the entries of both matrices.
    ///
    /// # Errors
    /// [`Error::Shape`] if A is not square, if B has another shape than A, or if the number of entries does not fit type `I`.
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
    /// assert_eq!(a.shifted(3.0, None)?.row(0).collect::<Vec<_>>(), [(0, 1.0), (1, 1.0)]);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn shifted(&self, sigma: T, b: Option<&Self>) -> Result<Csr<'static, T, I>> {
        let n = self.rows();
        let shapes = b.map_or([n, n], |b| [b.rows(), b.columns()]);
        for (what, got) in
            [("columns of a square matrix", self.columns), ("rows of B", shapes[0]), ("columns of B", shapes[1])]
        {
            if got != n {
                return Err(Error::Shape { what, expected: n, got });
            }
        }
        let most = self.entries() + b.map_or(n, |b| b.entries());
        counted::<I>("entries of a matrix with this index type", most)?;
        let (mut pointers, mut columns, mut values) = (reserved(n + 1)?, reserved(most)?, reserved(most)?);
        // The position of the first entry of each column in the current row. Smaller positions belong to earlier rows.
        let mut places = allocate(n, usize::MAX)?;
        pointers.push(I::from_usize(0));
        for i in 0..n {
            let first = values.len();
            for (j, value) in self.row(i) {
                if !(first..values.len()).contains(&places[j]) {
                    places[j] = values.len();
                }
                columns.push(I::from_usize(j));
                values.push(value);
            }
            let mut subtract = |(j, value): (usize, T)| {
                if (first..values.len()).contains(&places[j]) {
                    values[places[j]] -= sigma * value;
                } else {
                    places[j] = values.len();
                    columns.push(I::from_usize(j));
                    values.push(-(sigma * value));
                }
            };
            match b {
                Some(b) => b.row(i).for_each(&mut subtract),
                None => subtract((i, T::ONE)),
            }
            pointers.push(I::from_usize(values.len()));
        }
        Csr::new(n, pointers, columns, values)
    }

    /// Copy the matrix without the entries that are smaller than `threshold` times the largest entry of their row, in modulus, and without zeros.
    ///
    /// Entries at the same position are added up first. The rows of the copy are sorted by column. The matrix keeps NaN.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `threshold` is not a number from 0 to 1. [`Error::Shape`] if an index does not fit. [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::Csr;
    /// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 1, 1e-9), (0, 0, 4.0), (1, 0, 1e-9)])?;
    /// let a = a.without_small(1e-6)?;
    /// // The entry of row 1 is the largest of its row.
    /// assert_eq!(a.parts(), (&[0, 1, 2][..], &[0, 0][..], &[4.0, 1e-9][..]));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn without_small(&self, threshold: f64) -> Result<Csr<'static, T, u32>> {
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid("threshold", format!("is {threshold}"), "a number from 0 to 1"));
        }
        let a = self.narrow()?.sorted()?;
        let (mut pointers, mut columns) = (reserved(a.rows() + 1)?, reserved(a.entries())?);
        let mut values = reserved(a.entries())?;
        let modulus = |value: T| Scalar::abs(value).to_f64();
        pointers.push(0);
        for i in 0..a.rows() {
            let largest = a.row(i).fold(0.0, |largest, (_, value)| f64::max(largest, modulus(value)));
            // No comparison with NaN is true, so NaN stays.
            for (j, value) in a.row(i).filter(|(_, v)| *v != T::ZERO && !(modulus(*v) < threshold * largest)) {
                columns.push(j as u32);
                values.push(value);
            }
            pointers.push(columns.len() as u32);
        }
        Ok(Csr::from_rows(self.columns, pointers, columns, values))
    }

    /// The values, converted to another type.
    pub(crate) fn rounded_values<S: Scalar>(&self) -> Result<Vec<S>> {
        let mut values = zeroed::<S>(self.entries())?;
        each_chunk((values.len().div_ceil(TASK), 2), RowsOf(&mut values, TASK), &|task, part| {
            part.0.iter_mut().zip(&self.values[task * TASK..]).for_each(|(to, value)| *to = cast(*value));
        });
        Ok(values)
    }

    /// The same pattern, with the values converted to another type.
    pub(crate) fn rounded<S: Scalar>(self) -> Result<Csr<'a, S, I>> {
        let values = self.rounded_values()?;
        Ok(self.with_values(values))
    }

    /// The same pattern with other values.
    pub(crate) fn with_values<S: Scalar>(self, values: Vec<S>) -> Csr<'a, S, I> {
        let Self { columns, row_pointers, column_indices, .. } = self;
        Csr { columns, row_pointers, column_indices, values: values.into() }
    }

    /// The pattern without values.
    pub(crate) fn places(&self) -> Result<Csr<'a, T, I>> {
        let (row_pointers, column_indices) = (duplicate(&self.row_pointers)?, duplicate(&self.column_indices)?);
        Ok(Csr { columns: self.columns, row_pointers, column_indices, values: Cow::Borrowed(&[]) })
    }

    /// Duplicate the matrix. The duplicate borrows the borrowed arrays, and copies the owned ones.
    pub(crate) fn duplicated(&self) -> Result<Csr<'a, T, I>> {
        Ok(Csr { values: duplicate(&self.values)?, ..self.places()? })
    }

    /// A copy with rows sorted by column. Entries with the same row and column are added up.
    pub(crate) fn sorted(&self) -> Result<Csr<'static, T, u32>> {
        let mut pointers = reserved(self.rows() + 1)?;
        let (mut columns, mut values) = (reserved(self.entries())?, reserved::<T>(self.entries())?);
        let mut row: Vec<(usize, usize, T)> = Vec::new();
        pointers.push(0);
        for i in 0..self.rows() {
            if i % TASK == 0 {
                interrupt::check()?;
            }
            // Entries add up in the caller's order. Sort by position, too, because a stable sort would need extra memory.
            refill(&mut row, self.row(i).enumerate().map(|(k, (j, value))| (j, k, value)))?;
            row.sort_unstable_by_key(|(j, k, _)| (*j, *k));
            for (j, _, value) in &row {
                if columns.len() > pointers[i] as usize && columns.last() == Some(&(*j as u32)) {
                    *values.last_mut().expect("as many as columns") += *value;
                } else {
                    columns.push(*j as u32);
                    values.push(*value);
                }
            }
            pointers.push(columns.len() as u32);
        }
        Ok(Csr::from_rows(self.columns, pointers, columns, values))
    }

    /// Replace every value by `row(i)(column, value)`, on all threads.
    pub(crate) fn update<E: Fn(usize, T) -> T>(&mut self, row: &(impl Fn(usize) -> E + Sync)) -> Result<()> {
        let (rows, tasks) = (self.rows(), self.rows().div_ceil(TASK));
        let at = |i: usize| self.row_pointers[i].to_usize().expect("checked by `new`");
        let starts: Vec<usize> = collected((0..=tasks).map(|task| at((task * TASK).min(rows))))?;
        let (pointers, columns) = (&self.row_pointers, &self.column_indices);
        let out = Ragged { values: self.values.to_mut(), starts: &starts };
        each_chunk((tasks, 2), out, &|task, part| {
            let index = |index: I| index.to_usize().expect("checked by `new`");
            for i in task * TASK..((task + 1) * TASK).min(rows) {
                let (entry, entries) = (row(i), index(pointers[i])..index(pointers[i + 1]));
                let values = &mut part.values[entries.start - part.starts[0]..entries.end - part.starts[0]];
                for (value, column) in values.iter_mut().zip(&columns[entries]) {
                    *value = entry(index(*column), *value);
                }
            }
        });
        Ok(())
    }

    /// Whether the columns strictly ascend in every row.
    pub(crate) fn is_sorted(&self) -> bool {
        let (rows, tasks) = (self.rows(), self.rows().div_ceil(TASK));
        let is_sorted = |i: usize| self.row(i).is_sorted_by(|a, b| a.0 < b.0);
        let of_task = |task: usize, ()| (task * TASK..((task + 1) * TASK).min(rows)).all(is_sorted);
        chunks((tasks, 2), (), &of_task, (true, &|a, b| a & b))
    }

    /// Multiply each row i by `by[i]`.
    pub(crate) fn scale_rows(&mut self, by: &[T]) -> Result<()> {
        self.update(&|i| {
            let by = by[i];
            move |_, value| by * value
        })
    }
}

/// A matrix with unsigned indices of one of two sizes.
pub(crate) enum CsrWords<'a, T: Clone> {
    /// 32-bit indices.
    Narrow(Csr<'a, T, u32>),
    /// 64-bit indices.
    Wide(Csr<'a, T, u64>),
}

impl<T: Scalar, I: Index> Csr<'_, T, I> {
    /// The same matrix over the same memory, with one of two index types instead of five.
    pub(crate) fn words(&self) -> CsrWords<'_, T> {
        let (columns, values) = (self.columns, Cow::Borrowed(&self.values[..]));
        match (I::words(&self.row_pointers), I::words(&self.column_indices)) {
            (IndexWords::Narrow(pointers), IndexWords::Narrow(indices)) => {
                let (row_pointers, column_indices) = (Cow::Borrowed(pointers), Cow::Borrowed(indices));
                CsrWords::Narrow(Csr { columns, row_pointers, column_indices, values })
            }
            (IndexWords::Wide(pointers), IndexWords::Wide(indices)) => {
                let (row_pointers, column_indices) = (Cow::Borrowed(pointers), Cow::Borrowed(indices));
                CsrWords::Wide(Csr { columns, row_pointers, column_indices, values })
            }
            _ => unreachable!("indices of one type"),
        }
    }

    /// The first row that begins at this entry or after it.
    pub(crate) fn row_at(&self, entry: usize) -> usize {
        let before = |start: &I| start.to_usize().expect("checked by `new`") < entry;
        self.row_pointers.partition_point(before).min(self.rows())
    }
}

impl<T: Scalar> Csr<'static, T, u32> {
    /// A matrix without rows, columns and memory.
    pub(crate) fn nothing() -> Self {
        let (row_pointers, column_indices) = (Cow::Borrowed(&[0][..]), Cow::Borrowed(&[][..]));
        Self { columns: 0, row_pointers, column_indices, values: Cow::Borrowed(&[]) }
    }
}

impl<T: Scalar, I: Index> Csr<'static, T, I> {
    /// Make a matrix from arrays that are known to be valid.
    pub(crate) fn from_rows(columns: usize, row_pointers: Vec<I>, column_indices: Vec<I>, values: Vec<T>) -> Self {
        debug_assert!(Csr::new(columns, &row_pointers[..], &column_indices[..], &values[..]).is_ok());
        Self {
            columns,
            row_pointers: row_pointers.into(),
            column_indices: column_indices.into(),
            values: values.into(),
        }
    }
}

impl<'a, T: Clone, I: Clone> Csr<'a, T, I> {
    /// The arrays `row_pointers`, `column_indices` and `values`.
    #[inline]
    pub fn parts(&self) -> (&[I], &[I], &[T]) {
        (&self.row_pointers, &self.column_indices, &self.values)
    }
}
