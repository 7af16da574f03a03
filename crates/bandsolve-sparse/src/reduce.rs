//! Generalised products of sparse matrices and vectors: each row is reduced to one result.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, chapter 3 (SRCSR-adaptive and SRCSR-balanced).

use crate::csr::Csr;
use crate::tuning::{
    ENTRIES_PER_SAMPLE, GATHER_AHEAD, NEAR_COLUMNS, PREFETCH_BLOCK, PRODUCT_MAX_PIECES, PRODUCT_PIECE_WORK,
    PRODUCT_SAMPLES, STREAM_AHEAD,
};
use bandsolve::matrix::{Index, IndexWords};
use bandsolve_kernel::prefetch::prefetch;
use bandsolve_kernel::spread::Split;
use bandsolve_kernel::threads::{available, count, join};
use core::ops::Range;

/// The operators ⊕ and ⊗ of a generalised matrix-vector product yᵢ = ⊕ⱼ aᵢⱼ ⊗ xⱼ.
///
/// The operators may use the row and the column, and they hold the vectors. The matrix, the vectors, the partial sums and the results may have
/// different types.
///
/// # Examples
/// A product with a vector:
/// ```
/// use bandsolve_sparse::{Csr, RowReduction, reduce_rows};
/// struct Product<'x>(&'x [f64]);
/// impl RowReduction<f64> for Product<'_> {
///     type Sum = f64;
///     type Output = f64;
///     fn start(&self, _: usize) -> f64 {
///         0.0
///     }
///     fn add(&self, sum: &mut f64, _: usize, column: usize, value: f64) {
///         *sum += value * self.0[column];
///     }
///     fn join(&self, sum: &mut f64, _: usize, later: f64) {
///         *sum += later;
///     }
///     fn finish(&self, _: usize, sum: f64, output: &mut f64) -> usize {
///         *output = sum;
///         0
///     }
/// }
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut y = [0.0; 2];
/// reduce_rows(&a, &Product(&[1.0, 3.0]), &mut y);
/// assert_eq!(y, [7.0, 6.0]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub trait RowReduction<T>: Sync {
    /// The type of partial sums.
    type Sum: Send;
    /// The type of the result of a row.
    type Output: Send;
    /// The initial sum of a row: the neutral element of ⊕.
    fn start(&self, row: usize) -> Self::Sum;
    /// Add one entry to a sum: apply ⊗, then ⊕.
    fn add(&self, sum: &mut Self::Sum, row: usize, column: usize, value: T);
    /// Add consecutive entries of a row to a sum. `column(k)` is the column of `values[k]`.
    ///
    /// Override this method if you can do better than [`add`](Self::add) for each entry.
    #[inline(always)]
    fn add_entries(&self, sum: &mut Self::Sum, row: usize, column: impl Fn(usize) -> usize, values: &[T])
    where
        T: Copy,
    {
        for k in 0..values.len() {
            self.add(sum, row, column(k), values[k]);
        }
    }
    /// Number of consecutive rows of equal length that [`reduce_alike`](Self::reduce_alike) reduces in one call. 0 if it is not implemented.
    const ALIKE: usize = 0;
    /// Whether [`reduce_alike`](Self::reduce_alike) accepts rows with this number of entries.
    #[inline(always)]
    fn takes_alike(&self, _length: usize) -> bool {
        true
    }
    /// Reduce [`ALIKE`](Self::ALIKE) rows of `length` entries each in one call, where this is faster.
    ///
    /// `column(k)` is the column of `values[k]`. Call `give(r, sum)` for row r = 0, 1, … of the call. The result of a row must depend neither on its
    /// number nor on the other rows. Such rows are never skipped.
    #[inline(always)]
    fn reduce_alike(
        &self,
        _length: usize,
        _column: impl Fn(usize) -> usize,
        _values: &[T],
        _give: impl FnMut(usize, Self::Sum),
    ) where
        T: Copy,
    {
    }
    /// Join two partial sums of a row by ⊕. `later` has the entries after those of `sum`.
    fn join(&self, sum: &mut Self::Sum, row: usize, later: Self::Sum);
    /// Write the result of a row to `output`. Returns a count, which is added up over all rows.
    fn finish(&self, row: usize, sum: Self::Sum, output: &mut Self::Output) -> usize;
    /// Whether to skip the entries of a row. Its result is then that of an empty row.
    #[inline]
    fn skips(&self, _row: usize) -> bool {
        false
    }
    /// Prefetch the data that [`add`](Self::add) will soon read for this column. This is only a hint to the processor.
    #[inline]
    fn prefetch(&self, _column: usize) {}
}

/// The rule by which a product divides its work among threads.
///
/// The pieces depend only on the matrix, never on the number of threads. The results are therefore the same for any number of threads.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, ProductPlan, ProductSchedule, RowMax};
/// let a = Csr::<f64>::from_triplets(2, 3, &[(0, 1, -4.0), (0, 2, 3.0), (1, 0, 5.0)])?;
/// let mut largest = [None; 2];
/// ProductPlan::new(&a).with_schedule(ProductSchedule::Balanced).reduce(&a, &RowMax, &mut largest);
/// assert_eq!(largest, [Some(3.0), Some(5.0)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProductSchedule {
    /// Pieces of whole rows, with about the same work. Each row is reduced from left to right. One very long row keeps one thread busy while the
    /// others wait.
    Adaptive,
    /// Pieces of the same work, which may begin and end within a row. The parts of such a row are joined in a fixed order.
    Balanced,
}

/// The rows that a product reduces, and its schedule.
///
/// # Examples
/// Reduce rows 1 and 2 only:
/// ```
/// use bandsolve_sparse::{Csr, ProductPlan, RowMax};
/// let a = Csr::<f64>::from_triplets(3, 3, &[(0, 1, -4.0), (1, 2, 3.0), (1, 0, 5.0)])?;
/// let mut largest = [None; 2];
/// ProductPlan::new(&a).with_rows(1..3).reduce(&a, &RowMax, &mut largest);
/// assert_eq!(largest, [Some(5.0), None]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductPlan {
    rows: Range<usize>,
    schedule: ProductSchedule,
    scattered: bool,
}

/// Entries per cache line, at 8 bytes each.
const LINE: usize = 8;

impl ProductPlan {
    /// Plan a product over all rows. The schedule depends on the lengths of some hundred sampled rows.
    pub fn new<T: Clone, I: Index>(a: &Csr<'_, T, I>) -> Self {
        let (pointers, columns, _) = a.parts();
        let (rows, index) = (pointers.len() - 1, |index: &I| index.to_usize().expect("checked by `new`"));
        // A row as long as a piece makes its sample long.
        let sample = |k: usize| index(&pointers[rows * k / PRODUCT_SAMPLES]);
        let longest = (0..PRODUCT_SAMPLES).map(|k| sample(k + 1) - sample(k)).max().unwrap_or(0);
        let usual = columns.len() / PRODUCT_SAMPLES;
        let schedule = if longest > 4 * usual + PRODUCT_PIECE_WORK {
            ProductSchedule::Balanced
        } else {
            ProductSchedule::Adaptive
        };
        // A column is near if the previous entry, or an entry of the previous row, lies within about one kilobyte.
        let is_far = |e: usize| {
            let near = |other: usize| index(&columns[e]).abs_diff(index(&columns[other])) < NEAR_COLUMNS;
            !near(e - 1) && !(e - ENTRIES_PER_SAMPLE..e - 1).any(near)
        };
        let places = (0..PRODUCT_SAMPLES)
            .map(|k| ENTRIES_PER_SAMPLE + (columns.len() - ENTRIES_PER_SAMPLE) * k / PRODUCT_SAMPLES);
        let scattered =
            columns.len() > PRODUCT_PIECE_WORK && 4 * places.filter(|e| is_far(*e)).count() > PRODUCT_SAMPLES;
        Self { rows: 0..rows, schedule, scattered }
    }

    /// Reduce these rows only.
    pub fn with_rows(mut self, rows: Range<usize>) -> Self {
        self.rows = rows;
        self
    }

    /// Use this schedule.
    pub fn with_schedule(mut self, schedule: ProductSchedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The schedule.
    pub fn schedule(&self) -> ProductSchedule {
        self.schedule
    }

    /// Whether the columns of neighboring entries are far apart. The product then calls [`RowReduction::prefetch`].
    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Reduce the rows on all threads. Returns the sum of the counts that [`RowReduction::finish`] returned.
    ///
    /// The results are the same for any number of threads.
    ///
    /// # Shapes
    /// `output` has one element per row of the plan.
    ///
    /// # Panics
    /// If `output` has another length, or a row of the plan is not a row of `a`.
    pub fn reduce<T, I, R>(&self, a: &Csr<'_, T, I>, reduction: &R, output: &mut [R::Output]) -> usize
    where
        T: Copy + Sync,
        I: Index,
        R: RowReduction<T>,
    {
        assert_eq!(output.len(), self.rows.len(), "`output` must have one element per row of the plan");
        self.reduce_to(a, reduction, output)
    }

    pub(crate) fn reduce_to<T, I, R, O>(&self, a: &Csr<'_, T, I>, reduction: &R, output: O) -> usize
    where
        T: Copy + Sync,
        I: Index,
        R: RowReduction<T>,
        O: OutputRows<R::Output>,
    {
        let (pointers, columns, values) = a.parts();
        match (I::words(pointers), I::words(columns)) {
            (IndexWords::Narrow(pointers), IndexWords::Narrow(columns)) => {
                WorkPieces { plan: self, pointers, columns, values, reduction }.run(output)
            }
            (IndexWords::Wide(pointers), IndexWords::Wide(columns)) => {
                WorkPieces { plan: self, pointers, columns, values, reduction }.run(output)
            }
            _ => unreachable!("indices of one type"),
        }
    }
}

/// Reduce every row of a matrix on all threads. Returns the sum of the counts that [`RowReduction::finish`] returned.
///
/// The schedule is that of [`ProductPlan::new`]. The results are the same for any number of threads.
///
/// # Shapes
/// `output` has one element per row of `a`.
///
/// # Examples
/// Compute the largest modulus of every row, and count the rows without an entry:
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
///     fn join(&self, sum: &mut f64, _: usize, later: f64) {
///         *sum = sum.max(later);
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
/// If `output` does not have one element per row.
pub fn reduce_rows<T, I, R>(a: &Csr<'_, T, I>, reduction: &R, output: &mut [R::Output]) -> usize
where
    T: Copy + Sync,
    I: Index,
    R: RowReduction<T>,
{
    ProductPlan::new(a).reduce(a, reduction, output)
}

/// The results of rows, as a destination that can be split.
pub(crate) trait OutputRows<V>: Split {
    /// Call `write` with the result of a row.
    fn update(&mut self, row: usize, write: impl FnOnce(&mut V) -> usize) -> usize;
}

impl<V: Send> OutputRows<V> for &mut [V] {
    #[inline(always)]
    fn update(&mut self, row: usize, write: impl FnOnce(&mut V) -> usize) -> usize {
        write(&mut self[row])
    }
}

/// A cut through a matrix: `row` rows and `entry` entries lie before it.
#[derive(Clone, Copy, PartialEq)]
struct WorkCut {
    row: usize,
    entry: usize,
}

/// The work between two cuts: rows plus entries.
fn work(from: WorkCut, to: WorkCut) -> usize {
    to.row - from.row + to.entry - from.entry
}

/// The partial results of a piece.
struct OpenEnds<S> {
    /// Sum of the counts that `finish` returned.
    count: usize,
    /// The partial sum of the row that began before the piece.
    head: Option<S>,
    /// The partial sum of the row that began in the piece and continues after it.
    tail: Option<S>,
    /// Whether a row ended in the piece.
    ended: bool,
}

/// An index of 32 or 64 bits.
trait IndexWord: Copy + Sync {
    fn at(self) -> usize;
}

impl IndexWord for u32 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

impl IndexWord for u64 {
    #[inline(always)]
    fn at(self) -> usize {
        self as usize
    }
}

/// A product that is cut into pieces.
struct WorkPieces<'a, T, W, R> {
    plan: &'a ProductPlan,
    pointers: &'a [W],
    columns: &'a [W],
    values: &'a [T],
    reduction: &'a R,
}

impl<T: Copy + Sync, W: IndexWord, R: RowReduction<T>> WorkPieces<'_, T, W, R> {
    fn run<O: OutputRows<R::Output>>(&self, output: O) -> usize {
        let rows = &self.plan.rows;
        let cut = |row: usize| WorkCut { row, entry: self.pointers[row].at() };
        let (from, to) = (cut(rows.start), cut(rows.end));
        let parallel = count() > 1 && available();
        // Cuts between whole rows do not change the results.
        let alone = !parallel && self.plan.schedule == ProductSchedule::Adaptive;
        let least = if alone { usize::MAX } else { PRODUCT_PIECE_WORK.max(work(from, to) / PRODUCT_MAX_PIECES) };
        self.piece((from, to), least, output, parallel).count
    }

    /// Whether the cut is inside a row.
    fn is_within(&self, cut: WorkCut) -> bool {
        self.pointers[cut.row].at() < cut.entry
    }

    /// A cut that halves the work between two others, or one of these two if there is none.
    fn middle(&self, from: WorkCut, to: WorkCut) -> WorkCut {
        let half = (from.row + from.entry).midpoint(to.row + to.entry);
        let over = |row: usize| self.pointers[row].at() + row <= half;
        let (mut row, mut end) = (from.row, to.row);
        // The row of the cut: the last row that begins before the cut.
        while row < end {
            let middle = end - (end - row) / 2;
            if over(middle) { row = middle } else { end = middle - 1 }
        }
        match self.plan.schedule {
            ProductSchedule::Balanced => WorkCut { row, entry: half - row },
            ProductSchedule::Adaptive => {
                let row = if row == from.row { to.row.min(row + 1) } else { row };
                WorkCut { row, entry: self.pointers[row].at() }
            }
        }
    }

    /// Reduce the piece between two cuts. `output` has the rows that begin and end in the piece.
    fn piece<O: OutputRows<R::Output>>(
        &self,
        (from, to): (WorkCut, WorkCut),
        least: usize,
        output: O,
        parallel: bool,
    ) -> OpenEnds<R::Sum> {
        if work(from, to) <= least {
            return self.reduce(from, to, output);
        }
        let middle = self.middle(from, to);
        if middle == from || middle == to {
            return self.reduce(from, to, output);
        }
        let first = from.row + usize::from(self.is_within(from));
        let (left, right) = output.split(middle.row.saturating_sub(first));
        // The result of the row at the cut, if it begins and ends in this piece.
        let (cut, right) =
            right.split(usize::from(self.is_within(middle) && first <= middle.row && middle.row < to.row));
        let left = || self.piece((from, middle), least, left, parallel);
        let right = || self.piece((middle, to), least, right, parallel);
        let (left, right) = if parallel { join(left, right) } else { (left(), right()) };
        self.joined(middle.row, left, right, cut)
    }

    /// Join two pieces. `cut` is the result of the row between them.
    fn joined<O: OutputRows<R::Output>>(
        &self,
        row: usize,
        left: OpenEnds<R::Sum>,
        right: OpenEnds<R::Sum>,
        mut cut: O,
    ) -> OpenEnds<R::Sum> {
        let mut both =
            OpenEnds { count: left.count + right.count, head: left.head, tail: None, ended: left.ended || right.ended };
        let Some(later) = right.head else {
            both.tail = right.tail;
            return both;
        };
        // The row between the pieces began in the left piece, or before it.
        let in_left = left.tail.is_some() || left.ended;
        let open = if in_left { left.tail } else { both.head.take() };
        let sum = open.unwrap_or_else(|| self.reduction.start(row));
        let sum = self.both(row, sum, later);
        match (in_left, right.ended) {
            (true, true) => both.count += cut.update(0, |output| self.reduction.finish(row, sum, output)),
            (true, false) => both.tail = Some(sum),
            (false, _) => both.head = Some(sum),
        }
        if right.ended {
            both.tail = right.tail;
        }
        both
    }

    fn both(&self, row: usize, mut sum: R::Sum, later: R::Sum) -> R::Sum {
        self.reduction.join(&mut sum, row, later);
        sum
    }

    /// Reduce a piece from left to right.
    fn reduce<O: OutputRows<R::Output>>(&self, from: WorkCut, to: WorkCut, mut output: O) -> OpenEnds<R::Sum> {
        let mut left = OpenEnds { count: 0, head: None, tail: None, ended: from.row < to.row };
        let (mut row, mut entry) = (from.row, from.entry);
        if self.is_within(from) {
            let end = if left.ended { self.pointers[row + 1].at() } else { to.entry };
            left.head = Some(self.part(row, entry..end));
            (row, entry) = (row + usize::from(left.ended), end);
        }
        if left.ended {
            left.count = if self.plan.scattered {
                self.rows::<O, true>(row..to.row, &mut output)
            } else {
                self.rows::<O, false>(row..to.row, &mut output)
            };
            (row, entry) = (to.row, self.pointers[to.row].at());
        }
        if entry < to.entry {
            left.tail = Some(self.part(row, entry..to.entry));
        }
        left
    }

    /// Reduce whole rows.
    fn rows<O: OutputRows<R::Output>, const SCATTERED: bool>(&self, rows: Range<usize>, output: &mut O) -> usize {
        let Self { pointers, columns, values, reduction, .. } = *self;
        let (mut count, mut from) = (0, pointers[rows.start].at());
        let mut asked = from;
        // Number of rows that are already reduced.
        let mut reduced = 0;
        for (at, end) in pointers[rows.start + 1..rows.end + 1].iter().enumerate() {
            let (row, end) = (rows.start + at, end.at());
            if R::ALIKE > 0 && at < reduced {
                continue;
            }
            if R::ALIKE > 0 && self.are_alike(row..rows.end, end.wrapping_sub(from)) {
                count += self.rows_alike(row, at, output);
                (from, reduced) = (from + R::ALIKE * (end - from), at + R::ALIKE);
                asked = asked.max(from + STREAM_AHEAD);
                continue;
            }
            let sum = if reduction.skips(row) {
                asked = end;
                reduction.start(row)
            } else if end.wrapping_sub(from) > PREFETCH_BLOCK {
                asked = end;
                self.part(row, from..end)
            } else {
                while asked < end + STREAM_AHEAD {
                    prefetch(columns.as_ptr().wrapping_add(asked));
                    prefetch(values.as_ptr().wrapping_add(asked));
                    asked += LINE;
                }
                if SCATTERED {
                    ask_for(reduction, columns, from..end);
                }
                reduce_entries(reduction, reduction.start(row), row, (&columns[from..end], &values[from..end]))
            };
            count += output.update(at, |output| reduction.finish(row, sum, output));
            from = end;
        }
        count
    }

    /// Whether the first [`RowReduction::ALIKE`] rows have the same length, so that one call reduces them.
    #[inline(always)]
    fn are_alike(&self, rows: Range<usize>, length: usize) -> bool {
        let Some(end) = self.pointers[..=rows.end].get(rows.start + R::ALIKE) else { return false };
        // Rows of different lengths seldom have this total length. No branches, since lengths may be random.
        let are_alike = end.at().wrapping_sub(self.pointers[rows.start].at()) == R::ALIKE * length;
        if !(are_alike & (length.wrapping_sub(1) < PREFETCH_BLOCK) & self.reduction.takes_alike(length)) {
            return false;
        }
        let of = |row: usize| self.pointers[row + 1].at() - self.pointers[row].at();
        (rows.start + 1..rows.start + R::ALIKE).fold(true, |same, row| same & (of(row) == length))
    }

    /// Reduce rows of the same length, starting at `row`. Their results begin at `at`.
    #[inline(never)]
    fn rows_alike<O: OutputRows<R::Output>>(&self, row: usize, at: usize, output: &mut O) -> usize {
        let entries = self.pointers[row].at()..self.pointers[row + R::ALIKE].at();
        for line in (entries.start + STREAM_AHEAD..entries.end + STREAM_AHEAD).step_by(LINE) {
            prefetch(self.columns.as_ptr().wrapping_add(line));
            prefetch(self.values.as_ptr().wrapping_add(line));
        }
        let (columns, values, mut count) = (&self.columns[entries.clone()], &self.values[entries], 0);
        let give = |k: usize, sum| {
            count += output.update(at + k, |output| self.reduction.finish(row + k, sum, output));
        };
        self.reduction.reduce_alike(values.len() / R::ALIKE, |k| columns[k].at(), values, give);
        count
    }

    /// Reduce some entries of a row, in blocks.
    #[inline(never)]
    fn part(&self, row: usize, entries: Range<usize>) -> R::Sum {
        let Self { columns, values, reduction, .. } = *self;
        let mut sum = reduction.start(row);
        let entries = if reduction.skips(row) { 0..0 } else { entries };
        for from in entries.clone().step_by(PREFETCH_BLOCK) {
            let end = entries.end.min(from + PREFETCH_BLOCK);
            for line in (from + STREAM_AHEAD..end + STREAM_AHEAD).step_by(LINE) {
                prefetch(columns.as_ptr().wrapping_add(line));
                prefetch(values.as_ptr().wrapping_add(line));
            }
            if self.plan.scattered {
                ask_for(reduction, columns, from..end);
            }
            sum = reduce_entries(reduction, sum, row, (&columns[from..end], &values[from..end]));
        }
        sum
    }
}

/// Prefetch the data that will be read soon after these entries.
#[inline(always)]
fn ask_for<T, W: IndexWord, R: RowReduction<T>>(reduction: &R, columns: &[W], entries: Range<usize>) {
    let end = columns.len().min(entries.end + GATHER_AHEAD);
    for e in entries.start + GATHER_AHEAD..end {
        reduction.prefetch(columns[e].at());
    }
}

/// Add entries to a sum.
#[inline(always)]
fn reduce_entries<T: Copy, W: IndexWord, R: RowReduction<T>>(
    reduction: &R,
    mut sum: R::Sum,
    row: usize,
    (columns, values): (&[W], &[T]),
) -> R::Sum {
    reduction.add_entries(&mut sum, row, |k| columns[k].at(), &values[..columns.len()]);
    sum
}
