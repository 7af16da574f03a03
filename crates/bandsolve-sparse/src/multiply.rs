//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::rows::{RowScratch, RowsMade, TASK, each_row, make_rows};
use bandsolve::memory::{allocate, collected, more, zeroed};
use bandsolve::{Result, Scalar};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::sync::atomic::{AtomicU32, Ordering};

/// Rows in the making, one after the other: where the present one has an element for each column.
pub(crate) struct RowSum<'a, T: Scalar> {
    /// The place of the element of a column, counted from that of the very first of all rows, which is 1.
    places: &'a mut [u32],
    /// The place at which the row begins.
    first: u32,
    /// That of the rows after.
    next_place: &'a mut u32,
    lengths: &'a mut Vec<u32>,
    /// Those of all rows, and some room.
    columns: &'a mut Vec<u32>,
    values: &'a mut Vec<T>,
    /// Elements of the rows before.
    start: usize,
    /// Elements that the row has.
    count: u32,
}

/// Entries of a row that are sorted one by one.
const SHORT: usize = 24;

impl<'a, T: Scalar> RowSum<'a, T> {
    /// For rows with columns below this number, behind what has been made.
    pub fn new(columns: usize, made: &'a mut RowsMade<T>) -> Result<Self> {
        made.scratch.make_places(columns)?;
        let RowsMade { lengths, columns, values, scratch: RowScratch { places, next_place, .. }, .. } = made;
        let start = columns.len();
        Ok(Self { places, first: *next_place, next_place, lengths, columns, values, start, count: 0 })
    }

    /// Makes room for so many elements more.
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

    /// Adds to the element of a column. There is room for it. Whether there is one already cannot be foreseen: nothing is branched on.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: T) {
        let place = &mut self.places[column as usize];
        let own = place.wrapping_sub(self.first);
        let known = own < self.count;
        let own = if known { own } else { self.count };
        let at = self.start + own as usize;
        let before = self.values[at];
        self.values[at] = if known { before } else { T::ZERO } + value;
        self.columns[at] = column;
        *place = self.first + own;
        self.count += u32::from(!known);
    }

    /// Ends the row, its columns in the order in which they came.
    pub fn finish(&mut self) {
        self.start += self.count as usize;
        self.lengths.push(self.count);
        self.first += self.count;
        self.count = 0;
    }

    /// Ends the row, sorted by columns.
    pub fn finish_sorted(&mut self) -> Result<()> {
        let own = self.start..self.start + self.count as usize;
        sort_row(&mut self.columns[own.clone()], &mut self.values[own])?;
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
    if columns.len() > SHORT {
        let mut row = collected(columns.iter().copied().zip(values.iter().copied()))?;
        row.sort_unstable_by_key(|(column, _)| *column);
        let places = columns.iter_mut().zip(values);
        places.zip(row).for_each(|((column, value), own)| (*column, *value) = own);
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

/// The elements of a matrix as sums.
pub(crate) trait RowTerms<T>: Sync {
    /// Calls `add(column, term)` for each term of a row's elements.
    fn each_term(&self, row: usize, add: &mut impl FnMut(u32, T));

    /// A row has no more elements.
    fn most(&self, row: usize) -> usize;
}

/// A matrix with rows of sums; sorted, or in the order in which columns come. `entries`: about as many as there will be.
pub(crate) fn sum_rows<T: Scalar>(
    (rows, columns): (usize, usize),
    entries: usize,
    sorted: bool,
    terms: &impl RowTerms<T>,
) -> Result<Csr<'static, T, u32>> {
    make_rows((rows, columns), entries, &|rows, made| {
        let mut sum = RowSum::new(columns, made)?;
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

/// A·B.
struct SparseProduct<'a, T: Scalar> {
    a: &'a Csr<'a, T, u32>,
    b: &'a Csr<'a, T, u32>,
    /// Entries of the longest row of B.
    longest: usize,
}

impl<T: Scalar> RowTerms<T> for SparseProduct<'_, T> {
    #[inline(always)]
    fn each_term(&self, row: usize, add: &mut impl FnMut(u32, T)) {
        let (_, columns, values) = self.b.parts();
        for (k, value) in self.a.row(row) {
            let own = self.b.range(k);
            let entries = columns[own.clone()].iter().zip(&values[own]);
            entries.for_each(|(j, other)| add(*j, value * *other));
        }
    }

    fn most(&self, row: usize) -> usize {
        self.a.range(row).len() * self.longest
    }
}

/// A·B.
fn multiply<T: Scalar>(a: &Csr<'_, T, u32>, b: &Csr<'_, T, u32>, sorted: bool) -> Result<Csr<'static, T, u32>> {
    let longest = (0..b.rows()).map(|k| b.range(k).len()).max().unwrap_or(0);
    sum_rows((a.rows(), b.columns()), a.entries(), sorted, &SparseProduct { a: &a.view(), b: &b.view(), longest })
}

/// R·A·P, its rows sorted.
pub(crate) fn triple_product<T: Scalar>(
    r: &Csr<'_, T, u32>,
    a: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Result<Csr<'static, T, u32>> {
    multiply(r, &multiply(a, p, false)?, true)
}

/// Parts of the rows of a matrix whose adjoint is made.
const PARTS: usize = 4;

/// Aᴴ, its rows sorted.
///
/// # Errors
/// [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory).
pub(crate) fn adjoint<T: Scalar>(a: &Csr<'_, T, u32>) -> Result<Csr<'static, T, u32>> {
    let (columns, values) = (a.parts().1, a.parts().2);
    let rows_of = |part: usize| a.rows() * part / PARTS..a.rows() * (part + 1) / PARTS;
    // Entries of each column in each part, then where the next of them goes.
    let mut next: Vec<u32> = zeroed(PARTS * a.columns())?;
    let least = usize::from(a.entries() >= TASK);
    each_chunk((PARTS, least), RowsOf(&mut next, a.columns()), &|part, next| {
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
    each_chunk((PARTS, least), RowsOf(&mut next, a.columns()), &|part, next| {
        for i in rows_of(part) {
            for e in a.range(i) {
                let at = &mut next.0[columns[e] as usize];
                // Each place once.
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

/// Zeros, on large pages where there are many. (Collected where they lie, as their inner numbers are.)
pub(crate) fn atomic_zeros(count: usize) -> Result<Vec<AtomicU32>> {
    Ok(zeroed::<u32>(count)?.into_iter().map(AtomicU32::new).collect())
}
