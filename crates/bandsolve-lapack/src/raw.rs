//! Conversion of Fortran pointers to slices. Only this module does it.
//!
//! Every function has the contract of LAPACK's interface. A non-empty array has at least the length that the
//! documentation of the routine demands. Arrays that are written overlap no other argument. Arrays of length 0 may have
//! any pointer.
//!
//! Workspace and the unused corners of bands may contain anything, like all memory from another language. No value read
//! from them reaches a result.

use crate::Int;
use crate::number::LapackScalar;
use core::ffi::c_void;

/// `len` elements for reading.
///
/// # Safety
/// As in the module's documentation.
pub unsafe fn read<'a, T>(p: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller guarantees `len` elements that nobody writes meanwhile.
    unsafe { core::slice::from_raw_parts(p, len) }
}

/// `len` elements for writing.
///
/// # Safety
/// As in the module's documentation.
pub unsafe fn write<'a, T>(p: *mut T, len: usize) -> &'a mut [T] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller guarantees `len` elements that nobody else uses meanwhile.
    unsafe { core::slice::from_raw_parts_mut(p, len) }
}

/// A size that was already checked to be non-negative.
pub fn size(n: &Int) -> usize {
    usize::try_from(*n).unwrap_or(0)
}

/// Length of a column-major array.
pub fn extent(rows: usize, columns: usize, leading: usize) -> usize {
    if rows == 0 || columns == 0 { 0 } else { leading * (columns - 1) + rows }
}

/// Columns of a matrix in memory, with the distance `leading` between them.
#[derive(Debug)]
pub struct RawColumns<'a, T> {
    elements: &'a mut [T],
    rows: usize,
    count: usize,
    leading: usize,
}

impl<'a, T> RawColumns<'a, T> {
    /// `count` columns of `rows` elements.
    ///
    /// # Safety
    /// As in the module's documentation.
    pub unsafe fn new(p: *mut T, rows: usize, count: usize, leading: &Int) -> Self {
        let leading = size(leading).max(1);
        // SAFETY: the caller's guarantee.
        let elements = unsafe { write(p, extent(rows, count, leading)) };
        Self { elements, rows, count, leading }
    }

    /// The columns of a matrix in a slice.
    pub fn over(elements: &'a mut [T], rows: usize, count: usize, leading: usize) -> Self {
        debug_assert!(elements.len() >= extent(rows, count, leading) && leading >= rows.max(1));
        Self { elements, rows, count, leading }
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Distance in elements from one column to the next.
    pub fn leading(&self) -> usize {
        self.leading
    }

    /// All elements, from the first one of the first column to the last one of the last column.
    pub fn elements(&mut self) -> &mut [T] {
        self.elements
    }

    /// Column `j`.
    pub fn column(&mut self, j: usize) -> &mut [T] {
        let start = (j * self.leading).min(self.elements.len());
        &mut self.elements[start..][..self.rows]
    }

    /// The columns from column `j` on.
    pub fn tail(self, j: usize) -> Self {
        let start = (j * self.leading).min(self.elements.len());
        Self { elements: &mut self.elements[start..], count: self.count - j, ..self }
    }

    /// The columns, one after the other.
    pub fn each(&mut self) -> impl Iterator<Item = &mut [T]> {
        let rows = self.rows;
        self.elements.chunks_mut(self.leading).take(self.count).map(move |c| &mut c[..rows])
    }
}

/// The workspace of the routines with error bounds: real weights and `n_vectors` vectors, all of length `n`.
///
/// Real routines have all of it in WORK. Complex routines have the weights in RWORK. (IWORK of real routines is not
/// used.)
///
/// # Safety
/// As in the module's documentation.
pub unsafe fn workspace<'a, T: LapackScalar>(
    work: *mut T,
    extra: *mut c_void,
    n: usize,
    n_vectors: usize,
) -> (&'a mut [T::Real], &'a mut [T]) {
    if T::COMPLEX {
        // SAFETY: RWORK has n real numbers, WORK n·n_vectors complex ones.
        return unsafe { (write(extra.cast(), n), write(work, n * n_vectors)) };
    }
    // SAFETY: WORK has n·(1 + n_vectors) real numbers; the two parts do not overlap.
    unsafe { (write(work.cast(), n), write(work.wrapping_add(n), n * n_vectors)) }
}
