//! Rows spread over threads.
//!
//! What is done to a row never depends on where the rows are cut, so that results are the same, bit for bit, for any number
//! of threads.

use crate::threads::join;
pub use crate::tuning::tasks;
use core::ops::Range;

/// Arrays that are written row by row and can be cut between two rows.
pub trait Split: Send + Sized {
    /// The first `rows` rows, and the rest.
    fn split(self, rows: usize) -> (Self, Self);
}

impl<T: Send> Split for &mut [T] {
    fn split(self, rows: usize) -> (Self, Self) {
        self.split_at_mut(rows)
    }
}

/// An array with so many elements a row; the last row may be of any length.
pub struct Wide<'a, T>(pub &'a mut [T], pub usize);

impl<T: Send> Split for Wide<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at_mut(rows * self.1);
        (Wide(left, self.1), Wide(right, self.1))
    }
}

impl<A: Split, B: Split> Split for (A, B) {
    fn split(self, rows: usize) -> (Self, Self) {
        let (a, b) = (self.0.split(rows), self.1.split(rows));
        ((a.0, b.0), (a.1, b.1))
    }
}

impl<A: Split, B: Split, C: Split> Split for (A, B, C) {
    fn split(self, rows: usize) -> (Self, Self) {
        let (a, b, c) = (self.0.split(rows), self.1.split(rows), self.2.split(rows));
        ((a.0, b.0, c.0), (a.1, b.1, c.1))
    }
}

/// Calls `work` for `tasks` contiguous pieces of `rows`, each with its part of `out`. One task is done without rayon.
pub fn spread<S: Split>(tasks: usize, rows: Range<usize>, out: S, work: &(impl Fn(Range<usize>, S) + Sync)) {
    if tasks <= 1 || rows.len() < 2 {
        return work(rows, out);
    }
    let half = (rows.len() * (tasks / 2) / tasks).max(1);
    let (left, right) = out.split(half);
    let (start, middle, end) = (rows.start, rows.start + half, rows.end);
    join(|| spread(tasks / 2, start..middle, left, work), || spread(tasks - tasks / 2, middle..end, right, work));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_once() {
        for (n, tasks) in [(0, 1), (1, 3), (2, 7), (10, 1), (10, 3), (100, 7)] {
            let (mut one, mut two) = (vec![0; n], vec![0; 2 * n + 1]);
            spread(tasks, 0..n, (&mut one[..], Wide(&mut two, 2)), &|rows, (one, two)| {
                one.iter_mut().zip(rows.clone()).for_each(|(v, i)| *v += i + 1);
                assert!(two.0.len() == 2 * rows.len() || rows.end == n && two.0.len() == 2 * rows.len() + 1);
                two.0.iter_mut().for_each(|v| *v += 1);
            });
            assert!((0..n).all(|i| one[i] == i + 1) && two.iter().all(|v| *v == 1), "{n} rows, {tasks} tasks");
        }
    }
}
