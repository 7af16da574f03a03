//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::rows::{RowsMade, make_rows};
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;

/// A row in the making, and where it has an element for each column.
pub(crate) struct RowSum<T> {
    /// The place of the element of a column, counted from that of the very first of all rows, which is 1.
    places: Vec<u32>,
    /// The place at which the row begins.
    first: u32,
    /// Elements that the row has.
    count: u32,
    columns: Vec<u32>,
    values: Vec<T>,
}

/// Entries of a row that are sorted one by one.
const SHORT: usize = 24;

impl<T: Scalar> RowSum<T> {
    /// For rows with columns below this number.
    pub fn new(columns: usize) -> Self {
        Self { places: zeros(columns).expect("memory"), first: 1, count: 0, columns: vec![], values: vec![] }
    }

    /// Makes room for so many elements more.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        let most = self.count as usize + more + 1;
        if self.columns.len() < most {
            self.columns.resize(2 * most, 0);
            self.values.resize(2 * most, T::ZERO);
        }
    }

    /// Adds to the element of a column. There is room for it. Whether there is one already cannot be foreseen: nothing is branched on.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: T) {
        let place = &mut self.places[column as usize];
        let own = place.wrapping_sub(self.first);
        let known = own < self.count;
        let own = if known { own } else { self.count };
        let before = self.values[own as usize];
        self.values[own as usize] = if known { before } else { T::ZERO } + value;
        self.columns[own as usize] = column;
        *place = self.first + own;
        self.count += u32::from(!known);
    }

    /// Appends the row, in the order in which its columns came; what is left is empty.
    pub fn finish(&mut self, made: &mut RowsMade<T>) {
        made.columns.extend_from_slice(&self.columns[..self.count as usize]);
        made.values.extend_from_slice(&self.values[..self.count as usize]);
        made.lengths.push(self.count);
        self.first += self.count;
        self.count = 0;
    }

    /// Appends the row, sorted by columns; what is left is empty.
    pub fn finish_sorted(&mut self, made: &mut RowsMade<T>) {
        sort_row(&mut self.columns[..self.count as usize], &mut self.values[..self.count as usize]);
        self.finish(made);
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

/// R·A·P, its rows sorted.
pub(crate) fn triple_product<T: Scalar>(
    r: &Csr<'_, T, u32>,
    a: &Csr<'_, T, u32>,
    p: &Csr<'_, T, u32>,
) -> Csr<'static, T, u32> {
    multiply(r, &multiply(a, p, &RowSum::finish), &RowSum::finish_sorted)
}

/// A·B; `finish` ends each row.
fn multiply<T: Scalar>(
    a: &Csr<'_, T, u32>,
    b: &Csr<'_, T, u32>,
    finish: &(impl Fn(&mut RowSum<T>, &mut RowsMade<T>) + Sync),
) -> Csr<'static, T, u32> {
    let (_, columns, values) = b.parts();
    make_rows((a.rows(), b.columns()), a.entries(), &|rows, made| {
        let mut sum = RowSum::new(b.columns());
        for i in rows {
            for (k, value) in a.row(i) {
                let own = b.range(k);
                sum.reserve(own.len());
                let entries = columns[own.clone()].iter().zip(&values[own]);
                entries.for_each(|(j, other)| sum.add(*j, value * *other));
            }
            finish(&mut sum, made);
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
