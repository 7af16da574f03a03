//! Views of dense matrices in borrowed memory.
//!
//! The columns of a view are contiguous, or the rows if the view is transposed. The distance between columns may exceed
//! the number of rows.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut, Range};
use core::slice;

/// Sizes and strides of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ViewLayout {
    rows: usize,
    columns: usize,
    /// Distance between neighboring rows.
    row_stride: usize,
    /// Distance between neighboring columns.
    column_stride: usize,
}

impl ViewLayout {
    /// The layout of a column-major matrix in `len` elements.
    ///
    /// # Panics
    /// If `len` is too small, or if columns overlap.
    #[inline(always)]
    fn column_major(len: usize, rows: usize, columns: usize, column_stride: usize) -> Self {
        assert!(
            rows <= column_stride || columns <= 1,
            "columns overlap: the column stride must be at least the number of rows"
        );
        let needed = columns.checked_sub(1).map_or(0, |before| before * column_stride + rows);
        assert!(
            needed <= len,
            "a matrix of {rows} × {columns} with column stride {column_stride} does not fit in {len} elements"
        );
        Self { rows, columns, row_stride: 1, column_stride }
    }

    /// The layout of a part of the matrix, and the offset of its first element.
    ///
    /// # Panics
    /// If the part reaches beyond the matrix.
    #[inline(always)]
    fn part(self, rows: Range<usize>, columns: Range<usize>) -> (usize, Self) {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "the rows are outside of the matrix");
        assert!(columns.start <= columns.end && columns.end <= self.columns, "the columns are outside of the matrix");
        let empty = rows.is_empty() || columns.is_empty();
        let offset = if empty { 0 } else { rows.start * self.row_stride + columns.start * self.column_stride };
        (offset, Self { rows: rows.len(), columns: columns.len(), ..self })
    }

    #[inline(always)]
    fn place(self, (i, j): (usize, usize)) -> usize {
        assert!(i < self.rows && j < self.columns, "the element is outside of the matrix");
        i * self.row_stride + j * self.column_stride
    }

    #[inline(always)]
    fn transposed(self) -> Self {
        let Self { rows, columns, row_stride, column_stride } = self;
        Self { rows: columns, columns: rows, row_stride: column_stride, column_stride: row_stride }
    }
}

/// A matrix that can be read.
#[derive(Debug)]
pub struct View<'a, T> {
    first: *const T,
    layout: ViewLayout,
    life: PhantomData<&'a [T]>,
}

/// A matrix that can be read and written. Its columns are contiguous.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    first: *mut T,
    layout: ViewLayout,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: a view borrows a set of elements, as a slice does.
unsafe impl<T: Sync> Send for View<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for View<'_, T> {}
// SAFETY: as above; in addition, no two writable views share elements.
unsafe impl<T: Send> Send for ViewMut<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ViewMut<'_, T> {}

impl<T> Clone for View<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for View<'_, T> {}

/// The functions that readable and writable views share.
macro_rules! common {
    ($elements:ty, $first:ident) => {
        /// A matrix whose columns follow each other without gaps.
        ///
        /// # Panics
        /// If there are too few elements.
        #[inline(always)]
        pub fn new(elements: $elements, rows: usize, columns: usize) -> Self {
            Self::with_stride(elements, rows, columns, rows)
        }

        /// A matrix with the distance `stride` between neighboring columns.
        ///
        /// # Panics
        /// If there are too few elements, or if columns overlap.
        #[inline(always)]
        pub fn with_stride(elements: $elements, rows: usize, columns: usize, stride: usize) -> Self {
            let layout = ViewLayout::column_major(elements.len(), rows, columns, stride);
            Self { first: elements.$first(), layout, life: PhantomData }
        }

        /// The given rows of the given columns.
        ///
        /// # Panics
        /// If the part reaches beyond the matrix.
        #[inline(always)]
        pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
            let (offset, layout) = self.layout.part(rows, columns);
            // SAFETY: the offset is inside the matrix, or the part is empty.
            Self { first: unsafe { self.first.add(offset) }, layout, life: PhantomData }
        }

        /// The given rows of all columns.
        ///
        /// # Panics
        /// If the rows reach beyond the matrix.
        #[inline(always)]
        pub fn rows(self, rows: Range<usize>) -> Self {
            let columns = 0..self.ncols();
            self.part(rows, columns)
        }

        /// The number of rows.
        #[inline(always)]
        pub fn nrows(&self) -> usize {
            self.layout.rows
        }

        /// The number of columns.
        #[inline(always)]
        pub fn ncols(&self) -> usize {
            self.layout.columns
        }

        /// The distance between neighboring columns.
        #[inline(always)]
        pub fn column_stride(&self) -> usize {
            self.layout.column_stride
        }

        /// A pointer to the first element. It dangles if the matrix is empty.
        #[inline(always)]
        pub fn as_ptr(&self) -> *const T {
            self.first
        }
    };
}

impl<'a, T> View<'a, T> {
    common!(&'a [T], as_ptr);

    /// The distance between neighboring rows: 1 unless the view is transposed.
    #[inline(always)]
    pub fn row_stride(&self) -> usize {
        self.layout.row_stride
    }

    /// The transpose.
    #[inline(always)]
    pub fn transpose(self) -> Self {
        Self { layout: self.layout.transposed(), ..self }
    }

    /// Column `j` as a slice.
    ///
    /// # Panics
    /// If the view is transposed, or if there is no such column.
    #[inline(always)]
    pub fn column(self, j: usize) -> &'a [T] {
        assert!(
            self.layout.row_stride == 1 && j < self.ncols(),
            "the view is transposed, or the column is outside of the matrix"
        );
        let offset = if self.layout.rows == 0 { 0 } else { j * self.layout.column_stride };
        // SAFETY: a column of the matrix.
        unsafe { slice::from_raw_parts(self.first.add(offset), self.layout.rows) }
    }
}

impl<T> Index<(usize, usize)> for View<'_, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, at: (usize, usize)) -> &T {
        // SAFETY: an element of the matrix.
        unsafe { &*self.first.add(self.layout.place(at)) }
    }
}

impl<'a, T> ViewMut<'a, T> {
    common!(&'a mut [T], as_mut_ptr);

    /// A pointer to the first element. It dangles if the matrix is empty.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.first
    }

    /// A readable view of the same matrix.
    #[inline(always)]
    pub fn as_ref(&self) -> View<'_, T> {
        View { first: self.first, layout: self.layout, life: PhantomData }
    }

    /// A writable view of the same matrix with a shorter lifetime.
    #[inline(always)]
    pub fn as_mut(&mut self) -> ViewMut<'_, T> {
        ViewMut { first: self.first, layout: self.layout, life: PhantomData }
    }

    /// Split the matrix into its first `row` rows and the others.
    ///
    /// # Panics
    /// If the matrix has fewer rows.
    #[inline(always)]
    pub fn split_at_row(self, row: usize) -> (Self, Self) {
        let (rows, columns) = (self.nrows(), self.ncols());
        let (offset, below) = self.layout.part(row..rows, 0..columns);
        // SAFETY: the offset is inside the matrix, or the part is empty; the two parts share no row.
        let below = Self { first: unsafe { self.first.add(offset) }, layout: below, life: PhantomData };
        (self.part(0..row, 0..columns), below)
    }

    /// Column `j` as a slice.
    ///
    /// # Panics
    /// If there is no such column.
    #[inline(always)]
    pub fn column(self, j: usize) -> &'a mut [T] {
        assert!(j < self.ncols(), "the column is outside of the matrix");
        let offset = if self.layout.rows == 0 { 0 } else { j * self.layout.column_stride };
        // SAFETY: a column of the matrix.
        unsafe { slice::from_raw_parts_mut(self.first.add(offset), self.layout.rows) }
    }
}

impl<T> Index<(usize, usize)> for ViewMut<'_, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, at: (usize, usize)) -> &T {
        // SAFETY: an element of the matrix.
        unsafe { &*self.first.add(self.layout.place(at)) }
    }
}

impl<T> IndexMut<(usize, usize)> for ViewMut<'_, T> {
    #[inline(always)]
    fn index_mut(&mut self, at: (usize, usize)) -> &mut T {
        // SAFETY: an element of the matrix.
        unsafe { &mut *self.first.add(self.layout.place(at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_matrix() {
        let elements: Vec<usize> = (0..15).collect();
        let a = View::with_stride(&elements, 4, 3, 5);
        assert_eq!((a[(0, 0)], a[(3, 2)], a.column(1)), (0, 13, &[5, 6, 7, 8][..]));
        let part = a.part(1..3, 1..3);
        assert_eq!((part.nrows(), part.ncols(), part[(1, 1)]), (2, 2, 12));
        let turned = part.transpose();
        assert_eq!((turned[(0, 1)], turned.row_stride(), turned.column_stride()), (7, 5, 1));
        assert_eq!(turned.rows(1..2)[(0, 0)], 11);
        assert_eq!((a.rows(4..4).nrows(), a.part(0..4, 3..3).ncols()), (0, 0));
    }

    #[test]
    fn halves_are_written_apart() {
        let mut elements = vec![0; 11];
        let (mut top, mut bottom) = ViewMut::with_stride(&mut elements, 3, 3, 4).split_at_row(2);
        top[(1, 2)] = 1;
        bottom[(0, 0)] = 2;
        bottom.column(1)[0] = 3;
        assert_eq!(elements, [0, 0, 2, 0, 0, 0, 3, 0, 0, 1, 0]);
        let (all, none) = ViewMut::new(&mut elements, 11, 1).split_at_row(11);
        assert_eq!((all.nrows(), none.nrows()), (11, 0));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let elements = [0.0; 6];
        let refused = |f: fn(&[f64])| std::panic::catch_unwind(|| f(&elements)).is_err();
        assert!(refused(|e| _ = View::new(e, 3, 3)) && refused(|e| _ = View::with_stride(e, 3, 2, 2)));
        assert!(refused(|e| _ = View::new(e, 3, 2)[(3, 0)]) && refused(|e| _ = View::new(e, 3, 2).column(2)));
        assert!(refused(|e| _ = View::new(e, 3, 2).rows(2..4)) && refused(|e| _ = View::new(e, 3, 2).part(0..1, 2..3)));
        assert!(refused(|e| _ = View::new(e, 3, 2).transpose().column(0)));
    }
}
