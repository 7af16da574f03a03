//! The traits of methods that skip zeros of sparse right-hand sides.

use crate::contract::verify::Report;
use crate::error::Result;
use bandsolve_kernel::Scalar;
use core::ops::Range;

/// The entries (row, value) of a column.
pub type Entries<T> = Vec<(usize, T)>;

/// A solver for sparse columns.
pub trait SparseSolver<T: Scalar>: Sync {
    /// Number of columns per group.
    fn group_size(&self) -> usize;
    /// A worker for one thread.
    fn worker(&self) -> Result<Box<dyn Worker<T> + '_>>;
}

/// The state of one thread, which solves one group of columns after the other.
pub trait Worker<T: Scalar> {
    /// Solve for a group of columns and append each column to the report. `x` must be zero before.
    fn solve(&mut self, group: &[Entries<T>], x: &mut [T], report: &mut Report) -> Result<()>;
    /// The rows in which x of a column of the last group may be nonzero.
    fn touched(&self, column: usize) -> &[Range<usize>];
}
