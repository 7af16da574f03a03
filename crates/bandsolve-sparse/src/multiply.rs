//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::row_builder::{BuiltRows, RowScratch, make_rows};
use crate::rows::{TASK, each_row};
use crate::tuning::{ADJOINT_PARTS, INSERTION_SORT_MAX_ENTRIES};
use bandsolve::memory::{allocate, collected, more, zeroed};
use bandsolve::{Result, Scalar};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::sync::atomic::{AtomicU32, Ordering};

/// An accumulator for rows that are built one after the other.
pub(crate) struct RowSum<'a, T: Scalar> {
    /// The position of the element of each column. Positions count from 1 over all rows so far, so old positions need no reset.
    places: &'a mut [u32],
    /// The position at which the current row begins.
    first: u32,
    /// The position at which later rows begin.
    next_place: &'a mut u32,
    lengths: &'a mut Vec<u32>,
    /// Columns of all rows so far, and some spare elements.
    columns: &'a mut Vec<u32>,
    values: &'a mut Vec<T>,
    /// Number of elements of the earlier rows.
    start: usize,
    /// Number of elements of the current row.
    count: u32,
}

impl<'a, T: Scalar> RowSum<'a, T> {
    /// Append rows with this number of columns to `made`.
    pub fn new(columns: usize, built: &'a mut BuiltRows<T>) -> Result<Self> {
        built.scratch.make_places(columns)?;
        let BuiltRows { lengths, columns, values, scratch: RowScratch { places, next_place, .. }, .. } = built;
        let start = columns.len();
        Ok(Self { places, first: *next_place, next_place, lengths, columns, values, start, count: 0 })
    }

    /// Reserve memory for `more` further elements.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        let most = self.start + self.count as usize + more + 1;
        if self.columns.len() < most {
            self.grow(most + most / 2)?;
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, most: usize) -> Result<()> {
        more(self.columns, most - self.columns.len())?;
        more(self.values, most - self.values.len())?;
        self.columns.resize(most, 0);
        self.values.resize(most, T::ZERO);
        Ok(())
    }

    /// Add to the element of a column. The memory for a new element must be reserved. It selects values instead of branching, since the processor
    /// cannot predict whether the element exists.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: T) {
        let place = &mut self.places[column as usize];
        let position = place.wrapping_sub(self.first);
        let known = position < self.count;
        let position = if known { position } else { self.count };
        let at = self.start + position as usize;
        let before = self.values[at];
        self.values[at] = if known { before } else { T::ZERO } + value;
        self.columns[at] = column;
        *place = self.first + position;
        self.count += u32::from(!known);
    }

    /// End the row. Its columns keep the order in which they were added.
    pub fn finish(&mut self) {
        self.start += self.count as usize;
        self.lengths.push(self.count);
        self.first += self.count;
        self.count = 0;
    }

    /// End the row, and sort it by column.
    pub fn finish_sorted(&mut self) -> Result<()> {
        let row = self.start..self.start + self.count as usize;
        sort_row(&mut self.columns[row.clone()], &mut self.values[row])?;
        self.finish();
        Ok(())
    }
}

impl<T: Scalar> Drop for RowSum<'_, T> {
    fn drop(&mut self) {
        self.columns.truncate(self.start);
        self.values.truncate(self.start);
        *self.next_place = self.first;
    }
}

fn sort_row<T: Scalar>(columns: &mut [u32], values: &mut [T]) -> Result<()> {
    if columns.len() > INSERTION_SORT_MAX_ENTRIES {
        let mut row = collected(columns.iter().copied().zip(values.iter().copied()))?;
        row.sort_unstable_by_key(|(column, _)| *column);
        let places = columns.iter_mut().zip(values);
        places.zip(row).for_each(|((column, value), entry)| (*column, *value) = entry);
        return Ok(());
    }
    for k in 1..columns.len() {
        let mut at = k;
        while at > 0 && columns[at - 1] > columns[at] {
            columns.swap(at - 1, at);
            values.swap(at - 1, at);
            at -= 1;
        }
    }
    Ok(())
}

/// A matrix whose elements are sums of terms.
pub(crate) trait RowTerms<T>: Sync {
    /// Call `add(column, term)` for each term of a row.
    fn each_term(&self, row: usize, add: &mut impl FnMut(u32, T));

    /// The maximum number of elements of a row.
    fn most(&self, row: usize) -> usize;
}

/// Make a matrix from rows of sums. With `sorted`, its rows are sorted by column. `entries` is an estimate of the number of entries.
pub(crate) fn sum_rows<T: Scalar>(
    (rows, columns): (usize, usize),
    entries: usize,
    sorted: bool,
    terms: &impl RowTerms<T>,
) -> Result<Csr<'static, T, u32>> {
    make_rows((rows, columns), entries, &|rows, built| {
        let mut sum = RowSum::new(columns, built)?;
        for i in rows {
            sum.reserve(terms.most(i).min(columns))?;
            terms.each_term(i, &mut |column, term| sum.add(column, term));
            if sorted {
                sum.finish_sorted()?;
            } else {
                sum.finish();
            }
        }
        Ok(())
    })
}

/// The terms of the product A·B.
struct SparseProduct<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    b: &'a Csr<'a, T, u32>,
    /// Length of the longest row of B.
    longest: usize,
}

impl<T: Scalar> RowTerms<T> for SparseProduct<'_, T> {
    #[inline(always)]
    fn each_term(&self, row: usize, add: &mut impl FnMut(u32, T)) {
        let (_, columns, values) = self.b.parts();
        for (k, value) in self.a.row(row) {
            let entries = self.b.range(k);
            let entries = columns[entries.clone()].iter().zip(&values[entries]);
            entries.for_each(|(j, other)| add(*j, value * *other));
        }
    }

    fn most(&self, row: usize) -> usize {
        self.a.range(row).len() * self.longest
    }
}

/// Compute A·B.
fn multiply<T: Scalar>(a: &Csr<'_, T, u32>, b: &Csr<'_, T, u32>, sorted: bool) -> Result<Csr<'static, T, u32>> {
    let longest = (0..b.rows()).map(|k| b.range(k).len()).max().unwrap_or(0);
    sum_rows((a.rows(), b.columns()), a.entries(), sorted, &SparseProduct { a: &a.view(), b: &b.view(), longest })
}

/// Compute R·A·P with sorted rows.
pub(crate) fn triple_product<T: Scalar>(
    r: &Csr<'_, T, u32>,
    a: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Result<Csr<'static, T, u32>> {
    multiply(r, &multiply(a, p, false)?, true)
}

/// Compute Aᴴ with sorted rows.
///
/// # Errors
/// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory).
pub(crate) fn adjoint<T: Scalar>(a: &Csr<'_, T, u32>) -> Result<Csr<'static, T, u32>> {
    let (columns, values) = (a.parts().1, a.parts().2);
    let rows_of = |part: usize| a.rows() * part / ADJOINT_PARTS..a.rows() * (part + 1) / ADJOINT_PARTS;
    // The number of entries of each column in each part. Later, the position of the next of these entries.
    let mut next: Vec<u32> = zeroed(ADJOINT_PARTS * a.columns())?;
    let least = usize::from(a.entries() >= TASK);
    each_chunk((ADJOINT_PARTS, least), RowsOf(&mut next, a.columns()), &|part, next| {
        let entries = rows_of(part).flat_map(|i| a.range(i));
        entries.for_each(|e| next.0[columns[e] as usize] += 1);
    });
    let mut pointers = allocate(a.columns() + 1, 0)?;
    for j in 0..a.columns() {
        let mut at = pointers[j];
        for next in next[j..].iter_mut().step_by(a.columns()) {
            (*next, at) = (at, at + *next);
        }
        pointers[j + 1] = at;
    }
    let (rows, entries) = (atomic_zeros(columns.len())?, atomic_zeros(columns.len())?);
    each_chunk((ADJOINT_PARTS, least), RowsOf(&mut next, a.columns()), &|part, next| {
        for i in rows_of(part) {
            for e in a.range(i) {
                let at = &mut next.0[columns[e] as usize];
                // Each element is written exactly once.
                rows[*at as usize].store(i as u32, Ordering::Relaxed);
                entries[*at as usize].store(e as u32, Ordering::Relaxed);
                *at += 1;
            }
        }
    });
    let mut moved: Vec<T> = zeroed(columns.len())?;
    each_row(&mut moved, &|k, value| {
        *value = values[entries[k].load(Ordering::Relaxed) as usize].conj();
        0
    });
    Ok(Csr::from_rows(a.rows(), pointers, rows.into_iter().map(AtomicU32::into_inner).collect(), moved))
}

/// Atomic zeros, on large pages if there are many. (Collecting them in place makes no copy.)
pub(crate) fn atomic_zeros(count: usize) -> Result<Vec<AtomicU32>> {
    Ok(zeroed::<u32>(count)?.into_iter().map(AtomicU32::new).collect())
}
