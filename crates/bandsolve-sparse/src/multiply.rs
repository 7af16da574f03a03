//! Products and transposes of sparse matrices.

use crate::csr::Csr;
use crate::rows::{RowsMade, make_rows};
use bandsolve::Scalar;

/// A row in the making: elements by column, in a hash table.
pub(crate) struct RowSum<T> {
    columns: Vec<u32>,
    values: Vec<T>,
    used: Vec<u32>,
}

const EMPTY: u32 = u32::MAX;

impl<T: Scalar> RowSum<T> {
    pub fn new() -> Self {
        Self { columns: vec![EMPTY; 64], values: vec![T::ZERO; 64], used: Vec::new() }
    }

    /// Makes room for so many columns; there must be nothing in it.
    pub fn reserve(&mut self, count: usize) {
        let wanted = (2 * count).next_power_of_two();
        if wanted > self.columns.len() {
            self.columns = vec![EMPTY; wanted];
            self.values = vec![T::ZERO; wanted];
        }
    }

    /// Adds to the element of a column.
    #[inline]
    pub fn add(&mut self, column: u32, value: T) {
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
        let columns = &self.columns;
        self.used.sort_unstable_by_key(|at| columns[*at as usize]);
        made.lengths.push(self.used.len() as u32);
        for at in self.used.drain(..) {
            made.columns.push(self.columns[at as usize]);
            made.values.push(self.values[at as usize]);
            self.columns[at as usize] = EMPTY;
        }
    }
}

/// A·B.
pub(crate) fn multiply<T: Scalar>(a: &Csr<'_, T, u32>, b: &Csr<'_, T, u32>) -> Csr<'static, T, u32> {
    make_rows((a.rows(), b.columns()), &|rows, made| {
        let mut sum = RowSum::new();
        for i in rows {
            sum.reserve(a.row(i).map(|(k, _)| b.range(k).len()).sum());
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
