//! Distribute rows over threads.
//!
//! The operations on a row never depend on where the rows are cut. Results are therefore the same for any number of
//! threads, bit for bit.

use crate::threads::{Callable, available, count, join_calls};
pub use crate::tuning::tasks;
use core::marker::PhantomData;
use core::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The shares of at most `tasks` tasks of `count` items, in whole groups of `group`. The rest of the items is a smaller group, or belongs to the
/// last one if `rest_in_last`.
pub fn group_spans(
    count: usize,
    (group, rest_in_last): (usize, bool),
    tasks: usize,
) -> impl Iterator<Item = Range<usize>> {
    let groups = if rest_in_last { count / group } else { count.div_ceil(group) };
    let share = groups.div_ceil(tasks.min(groups).max(1)).max(1);
    let parts = groups.div_ceil(share);
    (0..parts).map(move |p| p * share * group..if p + 1 == parts { count } else { (p + 1) * share * group })
}

/// Arrays that are written row by row, and can be cut between two rows.
pub trait Split: Send + Sized {
    /// Split into the first `rows` rows and the others.
    fn split(self, rows: usize) -> (Self, Self);
}

impl<T: Send> Split for &mut [T] {
    fn split(self, rows: usize) -> (Self, Self) {
        self.split_at_mut(rows)
    }
}

impl<T: Sync> Split for &[T] {
    fn split(self, rows: usize) -> (Self, Self) {
        self.split_at(rows)
    }
}

impl Split for () {
    fn split(self, _: usize) -> (Self, Self) {
        ((), ())
    }
}

/// An array with the given number of elements per row. The last row may have any length.
pub struct RowsOf<'a, T>(pub &'a mut [T], pub usize);

impl<T: Send> Split for RowsOf<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at_mut(rows * self.1);
        (RowsOf(left, self.1), RowsOf(right, self.1))
    }
}

/// An array whose row k is the section from `starts[k]` to `starts[k + 1]`, counted from `starts[0]`.
pub struct SectionsOf<'a, T>(pub &'a mut [T], pub &'a [usize]);

impl<T: Send> Split for SectionsOf<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at_mut(self.1[rows] - self.1[0]);
        (SectionsOf(left, &self.1[..=rows]), SectionsOf(right, &self.1[rows..]))
    }
}

/// Vectors of equal length, one after the other in an array. A part has the same rows of all of them.
pub struct VectorsOf<'a, T> {
    /// The first row of the part in the first vector.
    first: *mut T,
    /// The distance from one vector to the next, and the number of vectors.
    stride: usize,
    count: usize,
    /// The number of rows of the part.
    rows: usize,
    /// The number of rows that count as one when the part is split.
    piece: usize,
    of: PhantomData<&'a mut [T]>,
}

// SAFETY: a part is the only one with its rows, as a mutable slice of them would be.
unsafe impl<T: Send> Send for VectorsOf<'_, T> {}

impl<'a, T> VectorsOf<'a, T> {
    /// The vectors of n elements in `array`, one every `stride` elements, to be split into pieces of `piece` rows.
    pub fn new(array: &'a mut [T], (n, stride): (usize, usize), piece: usize) -> Self {
        assert!(n <= stride, "vectors may not overlap");
        let count = array.len().checked_div(stride).unwrap_or(usize::MAX);
        Self { first: array.as_mut_ptr(), stride, count, rows: n, piece, of: PhantomData }
    }

    /// The rows of vector k.
    #[inline(always)]
    pub fn vector(&self, k: usize) -> &[T] {
        assert!(k < self.count, "there are {} vectors", self.count);
        // SAFETY: the array has this vector, and the part is the only one with these rows.
        unsafe { core::slice::from_raw_parts(self.first.add(k * self.stride), self.rows) }
    }

    /// The rows of all vectors.
    #[inline(always)]
    pub fn all(&self) -> OthersOf<'_, T> {
        OthersOf { of: self, except: usize::MAX }
    }

    /// The rows of vector k, to be written, and those of the others.
    #[inline(always)]
    pub fn around(&mut self, k: usize) -> (&mut [T], OthersOf<'_, T>) {
        assert!(k < self.count, "there are {} vectors", self.count);
        // SAFETY: as for `vector`. The part is borrowed as long as the rows are, and the others do not give this vector.
        let target = unsafe { core::slice::from_raw_parts_mut(self.first.add(k * self.stride), self.rows) };
        (target, OthersOf { of: self, except: k })
    }
}

/// The vectors of a part, without the one that is written: see [`VectorsOf::around`].
pub struct OthersOf<'a, T> {
    of: &'a VectorsOf<'a, T>,
    except: usize,
}

impl<'a, T> OthersOf<'a, T> {
    /// The rows of vector k.
    #[inline(always)]
    pub fn vector(&self, k: usize) -> &'a [T] {
        assert!(k != self.except, "vector {k} is being written");
        self.of.vector(k)
    }
}

impl<T: Send> Split for VectorsOf<'_, T> {
    fn split(self, rows: usize) -> (Self, Self) {
        let rows = (rows * self.piece).min(self.rows);
        // SAFETY: these rows are inside the first vector.
        let behind = unsafe { self.first.add(rows) };
        (Self { rows, ..self }, Self { first: behind, rows: self.rows - rows, ..self })
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

impl<A: Split, const N: usize> Split for [A; N] {
    fn split(self, rows: usize) -> (Self, Self) {
        let (mut rest, mut count) = ([const { None }; N], 0);
        let first = self.map(|array| {
            let (first, others) = array.split(rows);
            rest[count] = Some(others);
            count += 1;
            first
        });
        (first, rest.map(|array| array.expect("each array was split")))
    }
}

/// Call `work` for `tasks` contiguous pieces of `rows`, each with its part of `out`. A single task does not use rayon.
pub fn spread<S: Split>(tasks: usize, rows: Range<usize>, out: S, work: &(impl Fn(Range<usize>, S) + Sync)) {
    cut(tasks, rows, out, work);
}

/// The work on a piece of the rows.
///
/// This trait has a table with one function. The table of `dyn Fn` has three, each with the whole code of the closure.
trait RowWork<S>: Sync {
    fn run(&self, rows: Range<usize>, out: S);
}

impl<S, F: Fn(Range<usize>, S) + Sync> RowWork<S> for F {
    fn run(&self, rows: Range<usize>, out: S) {
        self(rows, out);
    }
}

/// The tasks of one half in [`cut`], which runs once.
struct RowTask<'a, S> {
    tasks: usize,
    rows: Range<usize>,
    out: Option<S>,
    work: &'a dyn RowWork<S>,
}

impl<S: Split> Callable for RowTask<'_, S> {
    fn run(&mut self) {
        if let Some(out) = self.out.take() {
            cut(self.tasks, self.rows.clone(), out, self.work);
        }
    }
}

/// [`spread`] as a function that is not generic in `work`. Otherwise each of hundreds of closures would be compiled into
/// its own tree of tasks.
fn cut<S: Split>(tasks: usize, rows: Range<usize>, out: S, work: &dyn RowWork<S>) {
    if tasks <= 1 || rows.len() < 2 {
        return work.run(rows, out);
    }
    let half = (rows.len() * (tasks / 2) / tasks).max(1);
    let (left, right) = out.split(half);
    let middle = rows.start + half;
    let mut left = RowTask { tasks: tasks / 2, rows: rows.start..middle, out: Some(left), work };
    let mut right = RowTask { tasks: tasks - tasks / 2, rows: middle..rows.end, out: Some(right), work };
    join_calls(&mut left, &mut right);
}

/// [`spread`] row by row: call `work` with each of `rows` and its row of `out`.
pub fn spread_each<S: Split>(tasks: usize, rows: Range<usize>, out: S, work: &(impl Fn(usize, S) + Sync)) {
    cut(tasks, rows, out, &|rows: Range<usize>, out: S| one_by_one(rows, out, work));
}

/// Call `work` with each of `rows` and its row of `out`.
fn one_by_one<S: Split>(rows: Range<usize>, out: S, mut work: impl FnMut(usize, S)) {
    let mut rest = Some(out);
    for row in rows.clone() {
        let out = rest.take().expect("`out` must have one row for each of `rows`");
        let out = if row + 1 == rows.end {
            out
        } else {
            let (first, others) = out.split(1);
            rest = Some(others);
            first
        };
        work(row, out);
    }
}

/// Call `work` for each of `count` chunks with its number and its row of `out`.
///
/// All threads share the chunks if there are at least 2·`least` of them. `least` = 0 selects one thread. `both`
/// combines the results in pairs. It must be commutative and associative, because the order of the pairs is not fixed.
/// The result is `none` if there are no chunks.
pub fn chunks<S: Split, R: Send + Copy + Sync>(
    (chunks, least): (usize, usize),
    out: S,
    work: &(impl Fn(usize, S) -> R + Sync),
    (none, both): (R, &(impl Fn(R, R) -> R + Sync)),
) -> R {
    let total = Mutex::new(none);
    let piece = |rows: Range<usize>, out: S| {
        let mut result = none;
        one_by_one(rows, out, |chunk, out| result = both(result, work(chunk, out)));
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = both(*total, result);
    };
    let mut tasks = chunks.checked_div(least).unwrap_or(1);
    if tasks > 1 {
        // Several tasks per thread, so that no thread is idle while others are late.
        tasks = if count() > 1 && available() { tasks.min(4 * count()) } else { 1 };
    }
    cut(tasks, 0..chunks, out, &piece);
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// [`chunks`] for work without results.
pub fn each_chunk<S: Split>((chunks, least): (usize, usize), out: S, work: &(impl Fn(usize, S) + Sync)) {
    self::chunks((chunks, least), out, work, ((), &|(), ()| ()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_once() {
        for (len, wide, least) in
            [(0, 3, 1), (1, 3, 1), (3, 3, 0), (4, 3, 1), (3000, 7, 1), (3000, 7, 0), (3000, 7, 1000)]
        {
            let mut values = vec![0; len];
            let add = |chunk: usize, rows: RowsOf<'_, usize>| {
                assert_eq!(rows.0.len(), wide.min(len - chunk * wide));
                rows.0.iter_mut().enumerate().for_each(|(k, v)| *v += chunk * wide + k);
                rows.0.len()
            };
            let all = chunks((len.div_ceil(wide), least), RowsOf(&mut values, wide), &add, (0, &|a, b| a + b));
            assert!(all == len && values.iter().enumerate().all(|(k, v)| k == *v), "{len} {wide} {least}");
        }
    }

    #[test]
    fn every_number_of_sections_of_several_arrays_once() {
        let starts = [0, 3, 3, 4, 9, 10];
        for tasks in [1, 2, 3, 7] {
            let (mut a, mut b) = (vec![0; 10], vec![0; 10]);
            let out = [SectionsOf(&mut a, &starts), SectionsOf(&mut b, &starts)];
            spread_each(tasks, 0..5, out, &|k, sections| {
                for SectionsOf(section, _) in sections {
                    assert_eq!(section.len(), starts[k + 1] - starts[k]);
                    section.iter_mut().for_each(|v| *v += k + 1);
                }
            });
            assert_eq!((&a[..], &a), (&[1, 1, 1, 3, 4, 4, 4, 4, 4, 5][..], &b), "{tasks} tasks");
        }
    }

    #[test]
    fn every_row_of_every_vector_once() {
        for (n, piece, least) in [(0, 4, 1), (1, 4, 1), (4, 4, 1), (5, 4, 1), (3000, 7, 1), (3000, 7, 0)] {
            let stride = n + n % 3;
            let mut values: Vec<usize> = (0..3 * stride + n / 2).collect();
            each_chunk(
                (n.div_ceil(piece), least),
                VectorsOf::new(&mut values, (n, stride), piece),
                &|chunk, mut part| {
                    let first = chunk * piece;
                    for k in 0..3 {
                        let expected = (first..(first + piece).min(n)).map(|row| k * stride + row);
                        assert!(part.vector(k).iter().copied().eq(expected));
                        let (rows, others) = part.around(k);
                        rows.iter_mut().for_each(|v| *v += 1);
                        assert_eq!(others.vector((k + 1) % 3).len(), rows.len());
                    }
                },
            );
            let is_row = |k: usize| k < 3 * stride && k % stride < n;
            assert!(values.iter().enumerate().all(|(k, v)| *v == k + usize::from(is_row(k))), "{n} {piece} {least}");
        }
    }

    #[test]
    fn every_row_once() {
        for (n, tasks) in [(0, 1), (1, 3), (2, 7), (10, 1), (10, 3), (100, 7)] {
            let (mut one, mut two) = (vec![0; n], vec![0; 2 * n + 1]);
            spread(tasks, 0..n, (&mut one[..], RowsOf(&mut two, 2)), &|rows, (one, two)| {
                one.iter_mut().zip(rows.clone()).for_each(|(v, i)| *v += i + 1);
                assert!(two.0.len() == 2 * rows.len() || rows.end == n && two.0.len() == 2 * rows.len() + 1);
                two.0.iter_mut().for_each(|v| *v += 1);
            });
            assert!((0..n).all(|i| one[i] == i + 1) && two.iter().all(|v| *v == 1), "{n} rows, {tasks} tasks");
        }
    }
}
