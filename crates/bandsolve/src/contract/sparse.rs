//! Right-hand sides by sparse columns, as methods that know how to skip zeros take them.

use crate::contract::verify::Report;
use crate::error::Result;
use bandsolve_kernel::Scalar;
use core::ops::Range;

/// The entries (row, value) of a column.
pub type Entries<T> = Vec<(usize, T)>;

/// Solves for sparse columns.
pub trait SparseSolver<T: Scalar>: Sync {
    /// Columns of a group.
    fn together(&self) -> usize;
    /// A worker for one thread.
    fn worker(&self) -> Result<Box<dyn Worker<T> + '_>>;
}

/// Solves for one group after the other.
pub trait Worker<T: Scalar> {
    /// Solves for a group of columns; `x` is zero before. What was found is added to the report, column by column.
    fn solve(&mut self, group: &[Entries<T>], x: &mut [T], report: &mut Report) -> Result<()>;
    /// Where x of a column of the last group may not be zero.
    fn touched(&self, column: usize) -> &[Range<usize>];
}
