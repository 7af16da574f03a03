//! Loops over rows of matrices and elements of vectors, on all threads.

use bandsolve_kernel::spread::{RowsOf, Split, chunks};

/// Number of rows per task.
pub(crate) const TASK: usize = 1 << 12;

/// Number of rows per task if a few rows are worth a second thread, such as those of the coarse levels of a hierarchy.
pub(crate) const SMALL_TASK: usize = 1 << 10;

/// Call `work` for every element, on all threads. Returns the sum of its results.
pub(crate) fn each_row<T: Send>(output: &mut [T], work: &(impl Fn(usize, &mut T) -> usize + Sync)) -> usize {
    let tasks = output.len().div_ceil(SMALL_TASK);
    let task = |task: usize, RowsOf(output, _): RowsOf<'_, T>| {
        output.iter_mut().enumerate().map(|(k, output)| work(task * SMALL_TASK + k, output)).sum()
    };
    chunks((tasks, 2), RowsOf(output, SMALL_TASK), &task, (0, &|a, b| a + b))
}

/// An array of rows with different lengths. `starts` has the beginning of each row, and the end of the last.
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
