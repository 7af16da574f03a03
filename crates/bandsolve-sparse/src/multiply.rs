//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::rows::{RowsMade, TASK, each_row, make_rows};
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

/// Rows in the making, one after the other: where the present one has an element for each column.
pub(crate) struct RowSum<'a, T: Scalar> {
    /// The place of the element of a column, counted from that of the very first of all rows, which is 1.
    places: &'a mut [u32],
    /// The place at which the row begins.
    first: &'a mut u32,
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
    pub fn new(columns: usize, made: &'a mut RowsMade<T>) -> Self {
        made.make_places(columns);
        let RowsMade { lengths, columns, values, places, next_place } = made;
        let start = columns.len();
        Self { places, first: next_place, lengths, columns, values, start, count: 0 }
    }

    /// Makes room for so many elements more.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        let most = self.start + self.count as usize + more + 1;
        if self.columns.len() < most {
            self.columns.resize(most + most / 2, 0);
            self.values.resize(most + most / 2, T::ZERO);
        }
    }

    /// Adds to the element of a column. There is room for it. Whether there is one already cannot be foreseen: nothing is branched on.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: T) {
        let place = &mut self.places[column as usize];
        let own = place.wrapping_sub(*self.first);
        let known = own < self.count;
        let own = if known { own } else { self.count };
        let at = self.start + own as usize;
        let before = self.values[at];
        self.values[at] = if known { before } else { T::ZERO } + value;
        self.columns[at] = column;
        *place = *self.first + own;
        self.count += u32::from(!known);
    }

    /// Ends the row, sorted by columns.
    pub fn finish_sorted(&mut self) {
        let own = self.start..self.start + self.count as usize;
        sort_row(&mut self.columns[own.clone()], &mut self.values[own]);
        self.start += self.count as usize;
        self.lengths.push(self.count);
        *self.first += self.count;
        self.count = 0;
    }
}

impl<T: Scalar> Drop for RowSum<'_, T> {
    fn drop(&mut self) {
        self.columns.truncate(self.start);
        self.values.truncate(self.start);
    }
}

fn sort_row<T: Scalar>(columns: &mut [u32], values: &mut [T]) {
    if columns.len() > SHORT {
        let mut row: Vec<_> = columns.iter().copied().zip(values.iter().copied()).collect();
        row.sort_unstable_by_key(|(column, _)| *column);
        let places = columns.iter_mut().zip(values);
        places.zip(row).for_each(|((column, value), own)| (*column, *value) = own);
        return;
    }
    for k in 1..columns.len() {
        let mut at = k;
        while at > 0 && columns[at - 1] > columns[at] {
            columns.swap(at - 1, at);
            values.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The elements of a matrix as sums.
pub(crate) trait RowTerms<T>: Sync {
    /// Calls `add(k, column, term)` for each term of a row's elements. Terms of even and of odd k are summed apart, so that one does not wait
    /// for the one before.
    fn each_term(&self, row: usize, add: &mut impl FnMut(usize, u32, T));

    /// A row has no more elements.
    fn most(&self, row: usize) -> usize;
}

/// A matrix with rows of sums, sorted. `entries`: about as many as there will be.
pub(crate) fn sum_rows<T: Scalar>(
    (rows, columns): (usize, usize),
    entries: usize,
    terms: &impl RowTerms<T>,
) -> Csr<'static, T, u32> {
    make_rows((rows, columns), entries, &|rows, made| {
        let mut batch = RowBatch::new(columns, made);
        for first in rows.clone().step_by(BATCH) {
            batch.sum(first..rows.end.min(first + BATCH), columns, terms);
        }
    })
}

/// Rows that are summed together: those beside each other mostly have the same columns.
const BATCH: usize = 8;
/// Columns that they may have in all.
const SLOTS: usize = 64;

/// Rows in the making, some at a time.
struct RowBatch<'a, T: Scalar> {
    made: &'a mut RowsMade<T>,
    /// The column of each slot.
    columns: [u32; SLOTS],
    count: u32,
    /// An element for each slot and row, in two parts.
    values: [[[T; 2]; SLOTS]; BATCH],
    /// The slots in which rows have elements, bit by bit.
    taken: [u64; BATCH],
    is_full: bool,
}

impl<'a, T: Scalar> RowBatch<'a, T> {
    /// Behind what has been made.
    fn new(columns: usize, made: &'a mut RowsMade<T>) -> Self {
        made.make_places(columns);
        let values = [[[T::ZERO; 2]; SLOTS]; BATCH];
        Self { made, columns: [0; SLOTS], count: 0, values, taken: [0; BATCH], is_full: false }
    }

    /// Some rows, [`BATCH`] at most.
    fn sum(&mut self, rows: Range<usize>, columns: usize, terms: &impl RowTerms<T>) {
        self.made.next_place += self.count;
        (self.count, self.is_full) = (0, false);
        for (k, i) in rows.clone().enumerate() {
            let mut taken = 0;
            terms.each_term(i, &mut |part, column, value| {
                let slot = self.slot(column);
                self.values[k][slot][part % 2] += value;
                taken |= 1_u64 << slot;
            });
            self.taken[k] = taken;
        }
        if !self.is_full {
            return self.write(rows.len());
        }
        self.made.next_place += self.count;
        self.count = 0;
        let mut sum = RowSum::new(columns, self.made);
        for i in rows {
            sum.reserve(terms.most(i).min(columns));
            terms.each_term(i, &mut |_, column, value| sum.add(column, value));
            sum.finish_sorted();
        }
    }

    /// The slot of a column. Nearly always there is one.
    #[inline(always)]
    fn slot(&mut self, column: u32) -> usize {
        let slot = self.made.places[column as usize].wrapping_sub(self.made.next_place);
        (if slot < self.count { slot } else { self.insert(column) }) as usize % SLOTS
    }

    #[inline(never)]
    fn insert(&mut self, column: u32) -> u32 {
        let slot = self.count;
        if slot as usize == SLOTS {
            self.is_full = true;
            return 0;
        }
        self.columns[slot as usize] = column;
        self.values.iter_mut().for_each(|values| values[slot as usize] = [T::ZERO; 2]);
        self.made.places[column as usize] = self.made.next_place + slot;
        self.count += 1;
        slot
    }

    /// Appends the rows. Which of the slots a row has taken cannot be foreseen: nothing is branched on.
    fn write(&mut self, rows: usize) {
        let (count, mut at) = (self.count as usize, self.made.columns.len());
        let mut slots = [(0, 0); SLOTS];
        slots.iter_mut().zip(&self.columns[..count]).enumerate().for_each(|(slot, (own, j))| *own = (*j, slot));
        slots[..count].sort_unstable();
        let RowsMade { lengths, columns, values, .. } = &mut *self.made;
        columns.resize(at + rows * count + 1, 0);
        values.resize(at + rows * count + 1, T::ZERO);
        for (taken, of_row) in self.taken[..rows].iter().zip(&self.values) {
            let first = at;
            for (column, slot) in &slots[..count] {
                let [even, odd] = of_row[*slot];
                (columns[at], values[at]) = (*column, even + odd);
                at += (taken >> slot & 1) as usize;
            }
            lengths.push((at - first) as u32);
        }
        columns.truncate(at);
        values.truncate(at);
    }
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
    fn each_term(&self, row: usize, add: &mut impl FnMut(usize, u32, T)) {
        let (_, columns, values) = self.b.parts();
        for (place, (k, value)) in self.a.row(row).enumerate() {
            let own = self.b.range(k);
            let entries = columns[own.clone()].iter().zip(&values[own]);
            entries.for_each(|(j, other)| add(place, *j, value * *other));
        }
    }

    fn most(&self, row: usize) -> usize {
        self.a.range(row).len() * self.longest
    }
}

/// A·B, its rows sorted.
fn multiply<T: Scalar>(a: &Csr<'_, T, u32>, b: &Csr<'_, T, u32>) -> Csr<'static, T, u32> {
    let longest = (0..b.rows()).map(|k| b.range(k).len()).max().unwrap_or(0);
    sum_rows((a.rows(), b.columns()), a.entries(), &SparseProduct { a: &a.view(), b: &b.view(), longest })
}

/// R·A·P, its rows sorted.
pub(crate) fn triple_product<T: Scalar>(
    r: &Csr<'_, T, u32>,
    a: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Csr<'static, T, u32> {
    multiply(r, &multiply(a, p))
}

/// Parts of the rows of a matrix whose adjoint is made.
const PARTS: usize = 4;

/// Aᴴ, its rows sorted.
pub(crate) fn adjoint<T: Scalar>(a: &Csr<'_, T, u32>) -> Csr<'static, T, u32> {
    let (columns, values) = (a.parts().1, a.parts().2);
    let rows_of = |part: usize| a.rows() * part / PARTS..a.rows() * (part + 1) / PARTS;
    // Entries of each column in each part, then where the next of them goes.
    let mut next: Vec<u32> = zeros(PARTS * a.columns()).expect("memory");
    let least = usize::from(a.entries() >= TASK);
    each_chunk((PARTS, least), RowsOf(&mut next, a.columns()), &|part, next| {
        let entries = rows_of(part).flat_map(|i| a.range(i));
        entries.for_each(|e| next.0[columns[e] as usize] += 1);
    });
    let mut pointers = vec![0; a.columns() + 1];
    for j in 0..a.columns() {
        let mut at = pointers[j];
        for next in next[j..].iter_mut().step_by(a.columns()) {
            (*next, at) = (at, at + *next);
        }
        pointers[j + 1] = at;
    }
    let (rows, entries) = (atomic_zeros(columns.len()), atomic_zeros(columns.len()));
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
    let mut moved: Vec<T> = zeros(columns.len()).expect("memory");
    each_row(&mut moved, &|k, value| {
        *value = values[entries[k].load(Ordering::Relaxed) as usize].conj();
        0
    });
    Csr::from_rows(a.rows(), pointers, rows.into_iter().map(AtomicU32::into_inner).collect(), moved)
}

fn atomic_zeros(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}
