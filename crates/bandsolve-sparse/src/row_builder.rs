//! Matrices that are built row by row, on all threads.

use crate::csr::Csr;
use crate::rows::{Ragged, SMALL_TASK, TASK};
use crate::tuning::WAVE_TASKS;
use bandsolve::memory::{more, reserved, zeroed};
use bandsolve::{Result, Scalar, interrupt};
use bandsolve_kernel::spread::{RowsOf, each_chunk};
use bytemuck::Pod;
use core::mem::replace;
use core::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Some rows of a matrix that is built row by row.
#[derive(Debug, Clone)]
pub(crate) struct BuiltRows<T> {
    pub lengths: Vec<u32>,
    pub columns: Vec<u32>,
    pub values: Vec<T>,
    /// Scratch memory for the function that builds the rows.
    pub scratch: RowScratch<T>,
    /// Whether the rows could be built.
    result: Result<()>,
}

/// Scratch memory that is reused from task to task, one per thread.
#[derive(Debug, Clone)]
pub(crate) struct RowScratch<T> {
    /// The places of [`RowSum`](crate::multiply::RowSum). All places from `next_place` on are unused.
    pub places: Vec<u32>,
    pub next_place: u32,
    pub numbers: Vec<T>,
    pub marks: Vec<u32>,
}

impl<T> BuiltRows<T> {
    fn new() -> Self {
        Self { lengths: vec![], columns: vec![], values: vec![], scratch: RowScratch::new(), result: Ok(()) }
    }

    /// Reserve memory for this number of rows.
    fn begin(&mut self, rows: usize) -> Result<()> {
        self.lengths.clear();
        self.columns.clear();
        self.values.clear();
        more(&mut self.lengths, rows)
    }

    /// Reserve memory for this number of further entries.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        more(&mut self.columns, entries)?;
        more(&mut self.values, entries)
    }
}

impl<T> RowScratch<T> {
    fn new() -> Self {
        Self { places: vec![], next_place: 1, numbers: vec![], marks: vec![] }
    }

    /// Provide at least this number of places.
    pub fn make_places(&mut self, columns: usize) -> Result<()> {
        if self.places.len() < columns {
            self.places = zeroed(columns)?;
            self.next_place = 1;
        }
        Ok(())
    }
}

/// Build a matrix row by row, on all threads. `work` receives a range of rows, and appends these rows to its second argument. `entries` is an estimate
/// of the number of entries.
///
/// # Errors
/// Those of `work`, [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory), [`Error::Interrupted`](bandsolve::Error::Interrupted).
pub(crate) fn make_rows<T: Scalar>(
    (rows, columns): (usize, usize),
    entries: usize,
    work: &(impl Fn(Range<usize>, &mut BuiltRows<T>) -> Result<()> + Sync),
) -> Result<Csr<'static, T, u32>> {
    let mut pointers = reserved(rows + 1)?;
    pointers.push(0);
    let (mut indices, mut values, mut filled) = (room(entries, &[])?, room(entries, &[])?, 0);
    let none = BuiltRows::new();
    // Enough tasks to balance the threads.
    let of_task = (rows / 32).clamp(SMALL_TASK / 4, TASK);
    let mut wave = vec![none; WAVE_TASKS.min(rows.div_ceil(of_task))];
    let scratch = Mutex::new(vec![]);
    let free = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
    for first in (0..rows).step_by(WAVE_TASKS * of_task) {
        interrupt::check()?;
        let tasks = (rows - first).div_ceil(of_task).min(WAVE_TASKS);
        each_chunk((tasks, 2), RowsOf(&mut wave[..tasks], 1), &|task, built| {
            let (built, from) = (&mut built.0[0], first + task * of_task);
            let rows = from..(from + of_task).min(rows);
            built.scratch = free().pop().unwrap_or_else(RowScratch::new);
            built.result = built.begin(rows.len()).and_then(|()| work(rows, built));
            free().push(replace(&mut built.scratch, RowScratch::new()));
        });
        wave[..tasks].iter().try_for_each(|built| built.result.clone())?;
        let mut starts = vec![filled];
        wave[..tasks].iter().for_each(|built| starts.push(starts[starts.len() - 1] + built.values.len()));
        let lengths = wave[..tasks].iter().flat_map(|built| &built.lengths);
        lengths.for_each(|length| pointers.push(pointers[pointers.len() - 1] + length));
        let end = starts[tasks];
        if end > values.len() {
            (indices, values) = (room(2 * end, &indices[..filled])?, room(2 * end, &values[..filled])?);
        }
        let out = (
            Ragged { values: &mut indices[filled..end], starts: &starts },
            Ragged { values: &mut values[filled..end], starts: &starts },
        );
        each_chunk((tasks, 2), out, &|task, (indices, values)| {
            indices.values.copy_from_slice(&wave[task].columns);
            values.values.copy_from_slice(&wave[task].values);
        });
        filled = end;
    }
    indices.truncate(filled);
    values.truncate(filled);
    Ok(Csr::from_rows(columns, pointers, indices, values))
}

/// An array with this capacity, on large pages if it is large. Pages that are never written take no memory.
fn room<T: Pod>(count: usize, first: &[T]) -> Result<Vec<T>> {
    let mut room = zeroed(count)?;
    room[..first.len()].copy_from_slice(first);
    Ok(room)
}
