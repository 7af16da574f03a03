//! Generalised products of sparse matrices and vectors: every row is reduced to one result.

use crate::csr::Csr;
use bandsolve::Scalar;
use bandsolve_kernel::memory::zeros;
use bandsolve_kernel::spread::{RowsOf, Split, chunks, each_chunk};
use core::ops::Range;

/// A matrix that is read row by row.
pub trait RowAccess: Sync {
    /// What an entry is.
    type Value: Copy;
    /// Number of rows.
    fn rows(&self) -> usize;
    /// The entries (column, value) of row i.
    fn row(&self, i: usize) -> impl Iterator<Item = (usize, Self::Value)>;
}

/// The operators of a generalised product yᵢ = ⊕ⱼ aᵢⱼ ⊗ xⱼ. They may see row and column, and hold the vectors themselves.
pub trait RowReduction<T>: Sync {
    /// What is carried from entry to entry.
    type Sum;
    /// The result of a row.
    type Output: Send;
    /// What a row begins with.
    fn start(&self, row: usize) -> Self::Sum;
    /// Takes an entry: ⊗, then ⊕.
    fn add(&self, sum: &mut Self::Sum, row: usize, column: usize, value: T);
    /// Writes the result of a row; what is returned is added up over all rows.
    fn finish(&self, row: usize, sum: Self::Sum, output: &mut Self::Output) -> usize;
}

/// Rows of one task.
pub(crate) const TASK: usize = 1 << 12;

/// Reduces every row, on all threads; returns the sum of what `finish` returned. No result depends on the number of threads.
///
/// # Example
/// The largest entry of every row, and how many rows have none:
/// ```
/// use bandsolve_sparse::{Csr, RowReduction, reduce_rows};
/// struct Largest;
/// impl RowReduction<f64> for Largest {
///     type Sum = f64;
///     type Output = f64;
///     fn start(&self, _: usize) -> f64 {
///         0.0
///     }
///     fn add(&self, sum: &mut f64, _: usize, _: usize, value: f64) {
///         *sum = sum.max(value.abs());
///     }
///     fn finish(&self, _: usize, sum: f64, output: &mut f64) -> usize {
///         *output = sum;
///         usize::from(sum == 0.0)
///     }
/// }
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 1, -4.0), (0, 2, 3.0), (2, 0, 1.0)])?;
/// let mut largest = [0.0; 3];
/// assert_eq!(reduce_rows(&a, &Largest, &mut largest), 1);
/// assert_eq!(largest, [4.0, 0.0, 1.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Panics
/// If `output` has not one element a row.
pub fn reduce_rows<A: RowAccess, R: RowReduction<A::Value>>(a: &A, reduction: &R, output: &mut [R::Output]) -> usize {
    assert_eq!(output.len(), a.rows(), "one result a row");
    each_row(output, &|row, output| {
        let mut sum = reduction.start(row);
        for (column, value) in a.row(row) {
            reduction.add(&mut sum, row, column, value);
        }
        reduction.finish(row, sum, output)
    })
}

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
