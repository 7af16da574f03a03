//! Rows of matrices and elements of vectors, one by one on all threads.

use crate::csr::Csr;
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, Split, chunks, each_chunk};
use core::ops::Range;

/// Rows of one task.
pub(crate) const TASK: usize = 1 << 12;

/// Calls `work` for every element, on all threads, and adds up what it returns.
pub(crate) fn each_row<T: Send>(output: &mut [T], work: &(impl Fn(usize, &mut T) -> usize + Sync)) -> usize {
    let tasks = output.len().div_ceil(TASK);
    let task = |task: usize, RowsOf(output, _): RowsOf<'_, T>| {
        output.iter_mut().enumerate().map(|(k, output)| work(task * TASK + k, output)).sum()
    };
    chunks((tasks, 2), RowsOf(output, TASK), &task, (0, &|a, b| a + b))
}

/// Some rows of a matrix that is made row by row.
#[derive(Debug, Clone)]
pub(crate) struct RowsMade<T> {
    pub lengths: Vec<u32>,
    pub columns: Vec<u32>,
    pub values: Vec<T>,
}

/// A matrix that is made row by row, on all threads: `work` gets a range of rows and appends them to what it is given.
pub(crate) fn make_rows<T: Scalar>(
    (rows, columns): (usize, usize),
    work: &(impl Fn(Range<usize>, &mut RowsMade<T>) + Sync),
) -> Csr<'static, T, u32> {
    let none = RowsMade { lengths: vec![], columns: vec![], values: vec![] };
    let mut tasks = vec![none; rows.div_ceil(TASK)];
    each_chunk((tasks.len(), 2), RowsOf(&mut tasks, 1), &|task, made| {
        work(task * TASK..((task + 1) * TASK).min(rows), &mut made.0[0]);
    });
    let mut pointers = Vec::with_capacity(rows + 1);
    pointers.push(0);
    tasks.iter().flat_map(|made| &made.lengths).for_each(|length| pointers.push(pointers[pointers.len() - 1] + length));
    let starts: Vec<usize> = (0..=tasks.len()).map(|task| pointers[(task * TASK).min(rows)] as usize).collect();
    let entries = pointers[rows] as usize;
    let (mut indices, mut values) = (zeros::<u32>(entries).expect("memory"), zeros::<T>(entries).expect("memory"));
    let out = (Ragged { values: &mut indices, starts: &starts }, Ragged { values: &mut values, starts: &starts });
    each_chunk((tasks.len(), 2), out, &|task, (indices, values)| {
        indices.values.copy_from_slice(&tasks[task].columns);
        values.values.copy_from_slice(&tasks[task].values);
    });
    Csr::from_rows(columns, pointers, indices, values)
}

/// An array of rows of any lengths: where each begins, and where the last ends.
pub(crate) struct Ragged<'a, T> {
    pub values: &'a mut [T],
    pub starts: &'a [usize],
}

impl<T: Send> Split for Ragged<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let (left, right) = self.values.split_at_mut(self.starts[rows] - self.starts[0]);
        (Self { values: left, starts: &self.starts[..=rows] }, Self { values: right, starts: &self.starts[rows..] })
    }
}
