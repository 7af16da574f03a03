//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::rows::{RowsMade, make_rows};
use bandsolve::Scalar;
use core::ops::RangeInclusive;

/// A row in the making: elements by column. Where columns are near each other they have places of their own in a window; else they stand in
/// a hash table.
pub(crate) struct RowSum<T> {
    columns: Vec<u32>,
    values: Vec<T>,
    used: Vec<u32>,
    window: Vec<T>,
    /// A bit for each place of the window that is taken.
    taken: Vec<u64>,
    /// The first column of the window, if there is one, and the words of `taken` that it has.
    first: Option<u32>,
    words: usize,
}

const EMPTY: u32 = u32::MAX;
/// Columns of a window.
const WINDOW: usize = 1 << 13;

impl<T: Scalar> RowSum<T> {
    pub fn new() -> Self {
        Self {
            columns: vec![EMPTY; 64],
            values: vec![T::ZERO; 64],
            used: Vec::new(),
            window: Vec::new(),
            taken: Vec::new(),
            first: None,
            words: 0,
        }
    }

    /// Makes room for so many columns, from the first to the last; there must be nothing in it.
    pub fn reserve(&mut self, count: usize, columns: RangeInclusive<u32>) {
        let width = (*columns.end() as usize).saturating_sub(*columns.start() as usize) + 1;
        self.first = (width <= WINDOW).then_some(*columns.start());
        if self.first.is_some() {
            self.words = width.div_ceil(64);
            self.taken.resize(self.words.max(self.taken.len()), 0);
            self.window.resize(64 * self.taken.len(), T::ZERO);
            return;
        }
        let wanted = (2 * count).next_power_of_two();
        if wanted > self.columns.len() {
            self.columns = vec![EMPTY; wanted];
            self.values = vec![T::ZERO; wanted];
        }
    }

    /// Adds to the element of a column.
    #[inline]
    pub fn add(&mut self, column: u32, value: T) {
        match self.first {
            Some(first) => self.add_to_window((column - first) as usize, value),
            None => self.add_to_table(column, value),
        }
    }

    #[inline]
    fn add_to_window(&mut self, at: usize, value: T) {
        let (word, bit) = (&mut self.taken[at / 64], 1 << (at % 64));
        let before = if *word & bit == 0 { T::ZERO } else { self.window[at] };
        *word |= bit;
        self.window[at] = before + value;
    }

    fn add_to_table(&mut self, column: u32, value: T) {
        let mask = self.columns.len() - 1;
        let mut at = (column.wrapping_mul(0x9e37_79b1) >> 7) as usize & mask;
        loop {
            if self.columns[at] == column {
                self.values[at] += value;
                return;
            }
            if self.columns[at] == EMPTY {
                self.columns[at] = column;
                self.values[at] = value;
                self.used.push(at as u32);
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Appends the row, sorted by columns, to a matrix; what is left is empty.
    pub fn finish(&mut self, made: &mut RowsMade<T>) {
        let before = made.columns.len();
        if let Some(first) = self.first {
            for (k, word) in self.taken[..self.words].iter_mut().enumerate().filter(|(_, word)| **word != 0) {
                while *word != 0 {
                    let at = 64 * k + word.trailing_zeros() as usize;
                    made.columns.push(first + at as u32);
                    made.values.push(self.window[at]);
                    *word &= *word - 1;
                }
            }
        } else {
            let columns = &self.columns;
            self.used.sort_unstable_by_key(|at| columns[*at as usize]);
            for at in self.used.drain(..) {
                made.columns.push(self.columns[at as usize]);
                made.values.push(self.values[at as usize]);
                self.columns[at as usize] = EMPTY;
            }
        }
        made.lengths.push((made.columns.len() - before) as u32);
    }
}

/// From the least of some columns to the largest.
pub(crate) fn extent(columns: impl Iterator<Item = u32>) -> RangeInclusive<u32> {
    let (least, largest) = columns.fold((u32::MAX, 0), |(least, largest), j| (least.min(j), largest.max(j)));
    least.min(largest)..=largest
}

/// A·B; the rows of B are sorted.
pub(crate) fn multiply<T: Scalar>(a: &Csr<'_, T, u32>, b: &Csr<'_, T, u32>) -> Csr<'static, T, u32> {
    let (_, columns, _) = b.parts();
    debug_assert!(b.is_sorted());
    make_rows((a.rows(), b.columns()), a.entries(), &|rows, made| {
        let mut sum = RowSum::new();
        for i in rows {
            let rows = || a.row(i).map(|(k, _)| &columns[b.range(k)]);
            let ends = rows().flat_map(|row| [row.first(), row.last()]).flatten();
            sum.reserve(rows().map(<[u32]>::len).sum(), extent(ends.copied()));
            for (k, value) in a.row(i) {
                b.row(k).for_each(|(j, other)| sum.add(j as u32, value * other));
            }
            sum.finish(made);
        }
    })
}

/// Aᴴ, its rows sorted.
pub(crate) fn adjoint<T: Scalar>(a: &Csr<'_, T, u32>) -> Csr<'static, T, u32> {
    let (_, columns, values) = a.parts();
    let mut pointers = vec![0_u32; a.columns() + 1];
    columns.iter().for_each(|j| pointers[*j as usize + 1] += 1);
    (0..a.columns()).for_each(|j| pointers[j + 1] += pointers[j]);
    let mut next = pointers.clone();
    let (mut rows, mut moved) = (vec![0; columns.len()], vec![T::ZERO; columns.len()]);
    for i in 0..a.rows() {
        for e in a.range(i) {
            let at = &mut next[columns[e] as usize];
            (rows[*at as usize], moved[*at as usize]) = (i as u32, values[e].conj());
            *at += 1;
        }
    }
    Csr::from_rows(a.rows(), pointers, rows, moved)
}
