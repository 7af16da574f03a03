//! Conversion of Fortran pointers to slices. Only this module does it.
//!
//! Every function has the same contract, that of LAPACK's interface: an array that is not empty has at least the length
//! that the routine's documentation demands, and arrays that are written overlap no other argument. Arrays of length 0
//! may have any pointer. Workspace and the unused corners of bands may hold anything, as memory that comes from another
//! language does; no value read from them reaches a result.

use crate::Int;
use crate::number::LapackScalar;
use core::ffi::c_void;

/// `len` elements to read.
///
/// # Safety
/// See the module.
pub unsafe fn read<'a, T>(p: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for `len` elements that nobody writes meanwhile.
    unsafe { core::slice::from_raw_parts(p, len) }
}

/// `len` elements to write.
///
/// # Safety
/// See the module.
pub unsafe fn write<'a, T>(p: *mut T, len: usize) -> &'a mut [T] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller vouches for `len` elements that nobody else uses meanwhile.
    unsafe { core::slice::from_raw_parts_mut(p, len) }
}

/// A size that was checked to be 0 or more.
pub fn size(n: &Int) -> usize {
    usize::try_from(*n).unwrap_or(0)
}

/// Length of a column-major array.
pub fn extent(rows: usize, columns: usize, leading: usize) -> usize {
    if rows == 0 || columns == 0 { 0 } else { leading * (columns - 1) + rows }
}

/// Columns of a matrix in memory, `leading` elements from one to the next.
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
    /// See the module.
    pub unsafe fn new(p: *mut T, rows: usize, count: usize, leading: &Int) -> Self {
        let leading = size(leading).max(1);
        // SAFETY: passed on.
        let elements = unsafe { write(p, extent(rows, count, leading)) };
        Self { elements, rows, count, leading }
    }

    /// Columns over a slice.
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

    /// Elements from one column to the next.
    pub fn leading(&self) -> usize {
        self.leading
    }

    /// All elements, from the first of the first column to the last of the last.
    pub fn elements(&mut self) -> &mut [T] {
        self.elements
    }

    /// Column `j`.
    pub fn column(&mut self, j: usize) -> &mut [T] {
        let start = (j * self.leading).min(self.elements.len());
        &mut self.elements[start..][..self.rows]
    }

    /// The columns from the `j`-th on.
    pub fn tail(self, j: usize) -> Self {
        let start = (j * self.leading).min(self.elements.len());
        Self { elements: &mut self.elements[start..], count: self.count - j, ..self }
    }

    /// One column after the other.
    pub fn each(&mut self) -> impl Iterator<Item = &mut [T]> {
        let rows = self.rows;
        self.elements.chunks_mut(self.leading).take(self.count).map(move |c| &mut c[..rows])
    }
}

/// Workspace of the routines with error bounds: real weights and `n_vectors` vectors, all of length `n`.
///
/// Real routines have it all in WORK; complex ones have the weights in RWORK. (IWORK of real routines is not used.)
///
/// # Safety
/// See the module.
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
