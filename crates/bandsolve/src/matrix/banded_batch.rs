//! Batches of banded and block tridiagonal systems of the same size, open or periodic.

use super::banded::Banded;
use super::periodic::{PeriodicBanded, RingOrder, RowRuns, block_reach, folded_width, sum_overflows};
use super::shape::{Layout, Shape};
use crate::error::{Error, Result, check_len};
use crate::memory::{copied, push, zeroed};
use crate::tuning::SMALL_BLOCK_MAX;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::band_form::{BandRun, BandStrides, BlockStrides, StoredAs};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// `count` banded or block tridiagonal matrices of size n, over the caller's arrays.
///
/// Each system has at most 15 diagonals on each side of the main one, or blocks of at most 8 rows. [`periodic`](Self::periodic) systems, whose first
/// and last unknowns are neighbors, have at most 7 diagonals on each side, or blocks of at most 5 rows.
///
/// # Shapes
/// With the three [`BandStrides`], entry (i, j) of system s is
///
/// ```text
/// bands[s·system + j·column + (upper + i − j)·diagonal]   for   j − upper ≤ i ≤ j + lower
/// ```
///
/// Entries of the array outside of the matrices are ignored. Right-hand sides have length `count · n`, in a [`Layout`].
///
/// | arrays | constructor |
/// | --- | --- |
/// | one [`Banded`] after the other | [`contiguous`](Self::contiguous) |
/// | the same entry of all systems side by side | [`interleaved`](Self::interleaved) |
/// | any other order, such as one array for each diagonal | [`with_strides`](Self::with_strides) |
/// | blocks | [`from_blocks`](Self::from_blocks) |
/// | one triangle of Hermitian matrices | [`hermitian`](Self::hermitian) |
/// | one matrix for all systems | [`with_strides`](Self::with_strides) or [`from_blocks`](Self::from_blocks), `system: 0` |
///
/// # Cost
/// One system is on each SIMD lane, and groups of systems are on each thread. With q = lower + upper, a solve takes per row about lower·q
/// multiplications and additions, as many selections of pivot rows, and one reciprocal. It reads q + 2 words and writes one. No factors are
/// stored. One matrix for all systems is factored once; a solve then takes 2·q + lower multiplications and additions per row, reads one word and
/// writes one (from 1024 rows on, 3 and 2). Blocks of b rows are solved as bands with 2b − 1 diagonals on each side. Periodic bands are solved in
/// the order 0, n − 1, 1, n − 2, … of their unknowns, as bands with twice as many diagonals, and periodic blocks as bands with 3b − 1.
///
/// # Errors
/// The constructors return [`Error::Shape`] if the length of an array is wrong, or a system has too many diagonals. A solve returns the
/// errors of [`Factor`](crate::Factor). In [`Error::Singular`] and [`Error::NotDefinite`], row i of system s has the number s·n + i.
///
/// # Examples
/// ```
/// use bandsolve::BandedBatch;
/// // Two systems of three unknowns: [2 1 1; 1 4 1; 1 1 2] and the same matrix times 2.
/// let one = [0., 0., 2., 1., 1., 0., 1., 4., 1., 0., 1., 1., 2., 0., 0.];
/// let bands: Vec<f64> = one.iter().chain(&one.map(|v| 2.0 * v)).copied().collect();
/// let a = BandedBatch::contiguous(2, 3, (2, 2), &bands)?;
/// let x = a.solve(&[4., 6., 4., 8., 12., 8.])?;
/// assert!(x.values.iter().all(|v| (v - 1.0).abs() < 1e-15));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BandedBatch<'a, T: Scalar> {
    count: usize,
    layout: Layout,
    /// The number of places, rows or block rows, and the rows of each.
    pub(super) places: usize,
    pub(super) block: usize,
    /// How many places below and above its own a place is coupled with by stored entries.
    pub(super) widths: (usize, usize),
    /// Whether the other triangle has the conjugates of the stored entries.
    pub(super) hermitian: bool,
    periodic: bool,
    pub(super) strides: EntryStrides,
    /// The array of bands, or those of blocks.
    arrays: [Cow<'a, [T]>; 3],
}

/// Where the entries are in the arrays.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryStrides {
    Bands(BandStrides),
    Blocks(BlockStrides),
}

/// Places t of a diagonal of places: those from `start` on, `len` of them, with the positions of t and of the place that it is coupled with.
struct Segment {
    start: usize,
    len: usize,
    /// The first position and the distance from one to the next.
    own: (usize, isize),
    other: (usize, isize),
}

impl<'a, T: Scalar> BandedBatch<'a, T> {
    /// The largest number of diagonals on each side.
    pub const MAX_DIAGONALS: usize = bandsolve_kernel::tuning::BATCH_DIAGONALS;
    /// The largest number of diagonals on each side of periodic bands.
    pub const MAX_PERIODIC_DIAGONALS: usize = Self::MAX_DIAGONALS / 2;

    /// The largest number of rows of a block, of open or of periodic systems.
    pub const fn max_block(periodic: bool) -> usize {
        // Periodic blocks have 3·block − 1 diagonals on each side, others 2·block − 1.
        let rows = (Self::MAX_DIAGONALS + 1) / if periodic { 3 } else { 2 };
        if rows < SMALL_BLOCK_MAX { rows } else { SMALL_BLOCK_MAX }
    }

    /// A batch in layout [`Contiguous`](Layout::Contiguous) that borrows `bands`: the arrays of `count` matrices
    /// [`Banded::new`]`(n, lower, upper, …)`, one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `count · n · (lower + upper + 1)` and each side has at most 15 diagonals.
    pub fn contiguous(count: usize, n: usize, (lower, upper): (usize, usize), bands: &'a [T]) -> Result<Self> {
        let diagonals = lower.saturating_add(upper).saturating_add(1);
        check_len("bands", count.saturating_mul(n).saturating_mul(diagonals), bands.len())?;
        let strides = BandStrides { system: n * diagonals, column: diagonals, diagonal: 1 };
        Self::with_strides(count, n, (lower, upper), Layout::Contiguous, strides, bands)
    }

    /// A batch in layout [`Interleaved`](Layout::Interleaved) that borrows `bands`: entry e of the array of [`Banded::new`] is at
    /// `e·count + s` for system s.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `bands` has length `count · n · (lower + upper + 1)` and each side has at most 15 diagonals.
    pub fn interleaved(count: usize, n: usize, (lower, upper): (usize, usize), bands: &'a [T]) -> Result<Self> {
        let diagonals = lower.saturating_add(upper).saturating_add(1);
        check_len("bands", count.saturating_mul(n).saturating_mul(diagonals), bands.len())?;
        let strides = BandStrides { system: 1, column: diagonals * count, diagonal: count };
        Self::with_strides(count, n, (lower, upper), Layout::Interleaved, strides, bands)
    }

    /// A batch that borrows `bands`, with any strides. The right-hand sides have the given layout.
    ///
    /// # Errors
    /// [`Error::Shape`] if an entry would lie outside of `bands`, or a side has more than 15 diagonals.
    ///
    /// # Examples
    /// Each diagonal of a system in a row of its own, as in SciPy's `ab`:
    /// ```
    /// use bandsolve::{BandStrides, BandedBatch, Layout};
    /// let (count, n, lower, upper) = (1, 3, 1, 1);
    /// let ab = [0.0, 1.0, 1.0, 4.0, 4.0, 4.0, 1.0, 1.0, 0.0]; // upper, main and lower diagonal
    /// let strides = BandStrides { system: 3 * n, column: 1, diagonal: n };
    /// let a = BandedBatch::with_strides(count, n, (lower, upper), Layout::Contiguous, strides, &ab)?;
    /// let x = a.solve(&[5.0, 6.0, 5.0])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn with_strides(
        count: usize,
        n: usize,
        (lower, upper): (usize, usize),
        layout: Layout,
        strides: BandStrides,
        bands: &'a [T],
    ) -> Result<Self> {
        if lower.max(upper) > Self::MAX_DIAGONALS {
            let what = "the number of diagonals on one side of a batch of bands";
            return Err(Error::Shape { what, expected: Self::MAX_DIAGONALS, got: lower.max(upper) });
        }
        let steps = [(count, strides.system), (n, strides.column), (lower + upper + 1, strides.diagonal)];
        check_reach("bands", &steps, bands.len())?;
        let arrays = [Cow::Borrowed(bands), Cow::Borrowed(&[][..]), Cow::Borrowed(&[][..])];
        let strides = EntryStrides::Bands(strides);
        Ok(Self {
            count,
            layout,
            places: n,
            block: 1,
            widths: (lower, upper),
            hermitian: false,
            periodic: false,
            strides,
            arrays,
        })
    }

    /// A batch of Hermitian matrices with `width` diagonals on each side, that borrows one triangle of each.
    ///
    /// # Shapes
    /// With i ≥ j if `lower`, and i ≤ j otherwise, entry (i, j) of system s is
    ///
    /// ```text
    /// bands[s·system + j·column + (i − j)·diagonal]           (lower)
    /// bands[s·system + j·column + (width + i − j)·diagonal]   (upper)
    /// ```
    ///
    /// Imaginary parts of the main diagonal and entries outside of the matrices are ignored.
    ///
    /// # Cost
    /// Half of the entries are read. Under method [`Cholesky`](crate::Method::Cholesky), which requires positive definite matrices, a solve takes about a
    /// fourth of the operations of a general band; with other methods, as many.
    ///
    /// # Errors
    /// [`Error::Shape`] if an entry would lie outside of `bands`, or there are more than 15 diagonals on a side. If a matrix is not positive
    /// definite, method `Cholesky` returns [`Error::NotDefinite`], from [`Plan::factor`](crate::Plan::factor) or from a solve.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::prelude::*;
    /// // Two systems, with A = [4 1 0; 1 4 1; 0 1 4] and 2A, each with its diagonals in two rows.
    /// let ab = [4.0, 4.0, 4.0, 1.0, 1.0, 0.0, 8.0, 8.0, 8.0, 2.0, 2.0, 0.0];
    /// let strides = BandStrides { system: 6, column: 1, diagonal: 3 };
    /// let a = BandedBatch::hermitian(2, 3, (1, true), Layout::Contiguous, strides, &ab)?;
    /// let factor = Plan::new(a.shape()).method(Method::Cholesky).factor(&a)?;
    /// let mut x = [5.0, 6.0, 5.0, 10.0, 12.0, 10.0];
    /// factor.solve_in_place(&mut x)?;
    /// assert!(x.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn hermitian(
        count: usize,
        n: usize,
        (width, lower): (usize, bool),
        layout: Layout,
        strides: BandStrides,
        bands: &'a [T],
    ) -> Result<Self> {
        let widths = if lower { (width, 0) } else { (0, width) };
        Ok(Self { hermitian: true, ..Self::with_strides(count, n, widths, layout, strides, bands)? })
    }

    /// `count` block tridiagonal matrices of `block_rows` block rows, with blocks of at most 8 rows, over the arrays `sub`, `diag` and `sup`.
    ///
    /// # Shapes
    /// `sub`, `diag`, `sup`: blocks with the distances `strides`, indexed by block row. The first block of `sub` and the last one of `sup` of each
    /// system are ignored, unless the batch becomes [`periodic`](Self::periodic). The right-hand sides are those of bands with n =
    /// `block_rows`·`block` rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays that are too short or have different lengths, or for no or too many rows in a block.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::{BandedBatch, BlockStrides, Layout};
    /// // Three systems with two block rows of two rows each, all with the same matrix.
    /// let (diag, off) = ([4.0, 1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 4.0], [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    /// let strides = BlockStrides { system: 0, block: 4, row: 1, column: 2 };
    /// let a = BandedBatch::from_blocks(3, (2, 2), Layout::Contiguous, strides, [&off, &diag, &off])?;
    /// let x = a.solve(&[6.0; 12])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-15));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn from_blocks(
        count: usize,
        (block_rows, block): (usize, usize),
        layout: Layout,
        strides: BlockStrides,
        arrays: [&'a [T]; 3],
    ) -> Result<Self> {
        Self::of_blocks(count, (block_rows, block), layout, strides, arrays.map(Cow::Borrowed))
    }

    /// [`from_blocks`](Self::from_blocks) with arrays that the batch may own.
    pub(super) fn of_blocks(
        count: usize,
        (block_rows, block): (usize, usize),
        layout: Layout,
        strides: BlockStrides,
        arrays: [Cow<'a, [T]>; 3],
    ) -> Result<Self> {
        let most = Self::max_block(false);
        if !(1..=most).contains(&block) {
            let what = "the number of rows of a block of a batch";
            return Err(Error::Shape { what, expected: block.clamp(1, most), got: block });
        }
        let steps =
            [(count, strides.system), (block_rows, strides.block), (block, strides.row), (block, strides.column)];
        for (array, what) in arrays.iter().zip(BLOCK_ARRAYS) {
            check_len(what, arrays[0].len(), array.len())?;
            check_reach(what, &steps, array.len())?;
        }
        let strides = EntryStrides::Blocks(strides);
        Ok(Self {
            count,
            layout,
            places: block_rows,
            block,
            widths: (1, 1),
            hermitian: false,
            periodic: false,
            strides,
            arrays,
        })
    }

    /// The periodic systems with these arrays, in which no entry is ignored: all indices of A count modulo n, as in [`PeriodicBanded`].
    ///
    /// The first block of `sub` multiplies the last block of x, and the last block of `sup` the first. Entries that meet in one place, of bands
    /// with n ≤ lower + upper and of one or two block rows, are added. If their sum overflows, solves return
    /// [`Error::InvalidArgument`].
    ///
    /// # Errors
    /// [`Error::Shape`] if there are more than 7 diagonals on a side, or more than 5 rows in a block.
    ///
    /// # Examples
    /// ```
    /// use bandsolve::BandedBatch;
    /// let bands = [1.0, -4.0, 7.0, -4.0, 1.0].repeat(2 * 6); // two rings of six points
    /// let a = BandedBatch::contiguous(2, 6, (2, 2), &bands)?.periodic()?;
    /// let x = a.solve(&[1.0; 12])?;
    /// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-14));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn periodic(self) -> Result<Self> {
        let (what, most, got) = match self.strides {
            EntryStrides::Bands(_) => {
                let what = "the number of diagonals on one side of a batch of periodic bands";
                (what, Self::MAX_PERIODIC_DIAGONALS, self.widths.0.max(self.widths.1))
            }
            EntryStrides::Blocks(_) => {
                ("the number of rows of a block of a periodic batch", Self::max_block(true), self.block)
            }
        };
        if got > most { Err(Error::Shape { what, expected: most, got }) } else { Ok(Self { periodic: true, ..self }) }
    }

    /// Number of unknowns per system.
    pub fn n(&self) -> usize {
        self.places.saturating_mul(self.block)
    }

    /// Number of systems.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many places below and above its own a place is coupled with.
    fn coupled_widths(&self) -> (usize, usize) {
        let (lower, upper) = self.widths;
        if self.hermitian { (lower.max(upper), lower.max(upper)) } else { self.widths }
    }

    /// Number of diagonals below and above the main one of the bands that are solved.
    pub(crate) fn solved_widths(&self) -> (usize, usize) {
        match (self.strides, self.periodic) {
            (EntryStrides::Bands(_), false) => self.coupled_widths(),
            (EntryStrides::Bands(_), true) => {
                let width = folded_width(self.places, self.coupled_widths());
                (width, width)
            }
            (EntryStrides::Blocks(_), periodic) => {
                let width = block_reach((self.places, self.block, periodic));
                (width, width)
            }
        }
    }

    /// The larger of the two numbers of diagonals of the bands that are solved, for both sides.
    pub(crate) fn symmetric_widths(&self) -> (usize, usize) {
        let (lower, upper) = self.solved_widths();
        (lower.max(upper), lower.max(upper))
    }

    /// Number of diagonals below the main one, of the bands that are solved.
    pub fn lower(&self) -> usize {
        self.solved_widths().0
    }

    /// Number of diagonals above the main one, of the bands that are solved.
    pub fn upper(&self) -> usize {
        self.solved_widths().1
    }

    /// Whether the first and the last unknowns are neighbors.
    pub fn is_periodic(&self) -> bool {
        self.periodic
    }

    /// The order of the right-hand sides in memory.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The shape that a [`Plan`](crate::Plan) needs.
    pub fn shape(&self) -> Shape {
        let (lower, upper) = self.solved_widths();
        Shape::BandedBatch { n: self.n(), count: self.count, layout: self.layout, lower, upper }
    }

    /// The arrays.
    pub(crate) fn arrays(&self) -> [&[T]; 3] {
        self.arrays.each_ref().map(|array| &array[..])
    }

    /// The distance in the arrays from one system to the next.
    pub(crate) fn system_stride(&self) -> usize {
        match self.strides {
            EntryStrides::Bands(strides) => strides.system,
            EntryStrides::Blocks(strides) => strides.system,
        }
    }

    /// Whether all systems have the same matrix: the distance from one system to the next is 0.
    pub fn is_shared(&self) -> bool {
        self.system_stride() == 0
    }

    /// Index of row `i` of system `s` in right-hand sides.
    #[inline]
    pub fn index(&self, s: usize, i: usize) -> usize {
        self.layout.index((self.count, self.n()), s, i)
    }

    /// The order in which the rows are solved, if it is not their own.
    pub(crate) fn order(&self) -> Option<RingOrder> {
        self.periodic.then(|| RingOrder::new(self.places, self.block))
    }

    /// Whether several entries may meet in one place.
    pub(crate) fn entries_meet(&self) -> bool {
        let (lower, upper) = self.coupled_widths();
        self.periodic && self.places <= lower + upper
    }

    /// Whether the bands that are solved have places that no entry reaches.
    pub(crate) fn has_gaps(&self) -> bool {
        self.periodic || matches!(self.strides, EntryStrides::Blocks(_))
    }

    /// The place that is `delta` places after `t`.
    fn coupled(&self, t: usize, delta: isize) -> Option<usize> {
        let place = t as isize + delta;
        let inside = (0..self.places as isize).contains(&place);
        if self.periodic {
            Some(place.rem_euclid(self.places as isize) as usize)
        } else {
            inside.then_some(place as usize)
        }
    }

    /// The places that are coupled with the one `delta` places after them, in parts in which both positions advance by a constant.
    fn segments(&self, delta: isize) -> SmallVec<[Segment; 8]> {
        let n = self.places;
        let mut ends: SmallVec<[usize; 8]> = SmallVec::new();
        match self.order() {
            Some(order) if n > 0 => {
                // Where t or the other place begins again, or passes the turning point.
                let at = |other: usize| (other as isize - delta).rem_euclid(n as isize) as usize;
                ends.extend([0, n, order.half(), at(0), at(order.half() % n)]);
            }
            _ => {
                let (start, end) = (delta.min(0).unsigned_abs(), n.saturating_sub(delta.max(0).unsigned_abs()));
                if start < end {
                    ends.extend([start, end]);
                }
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let position = |i: usize| match self.order() {
            None => (i, 1),
            Some(order) => (order.position(i), if i < order.half() { 2 } else { -2 }),
        };
        let part = |ends: &[usize]| {
            let other = self.coupled(ends[0], delta).expect("inside of the matrix");
            Segment { start: ends[0], len: ends[1] - ends[0], own: position(ends[0]), other: position(other) }
        };
        ends.windows(2).map(part).collect()
    }

    /// The entries of the matrices, and the order of their rows, as the kernel takes them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn runs(&self) -> Result<(Vec<BandRun>, RowRuns)> {
        self.runs_of(false)
    }

    /// The runs of all entries, and at least of those on the main diagonal and above if `upper`; and the order of the rows.
    fn runs_of(&self, upper: bool) -> Result<(Vec<BandRun>, RowRuns)> {
        let (lower, b) = (self.solved_widths().0, self.block);
        let mut runs = Vec::new();
        match self.strides {
            // One triangle of a full matrix is read by diagonals.
            EntryStrides::Bands(strides) if self.has_columns(strides) && (!upper || self.hermitian) => {
                runs = self.column_runs(upper)?;
            }
            EntryStrides::Bands(strides) => {
                for r in 0..=self.widths.0 + self.widths.1 {
                    // Column t has an entry in row t + r − upper, and if Hermitian, row t has one in column t + r − upper.
                    let delta = r as isize - self.widths.1 as isize;
                    for Segment { start, len, own, other } in self.segments(delta) {
                        let from = (start * strides.column + r * strides.diagonal, strides.column);
                        let line = |row: (usize, isize), column: (usize, isize), stored: StoredAs| {
                            let line = BandRun::line(0, from, (row.0, lower + column.0 - row.0), len);
                            BandRun { stored, step_row: row.1, step_k: column.1 - row.1, ..line }
                        };
                        match (self.hermitian, delta) {
                            (false, _) => push(&mut runs, line(other, own, StoredAs::Entry))?,
                            (true, 0) => push(&mut runs, line(own, own, StoredAs::RealPart))?,
                            (true, _) => {
                                push(&mut runs, line(other, own, StoredAs::Entry))?;
                                push(&mut runs, line(own, other, StoredAs::Conjugate))?;
                            }
                        }
                    }
                }
            }
            EntryStrides::Blocks(strides) => {
                let by_rows = strides.column == 1;
                for array in 0..3 {
                    for Segment { start, len, own: row, other: column } in self.segments(array as isize - 1) {
                        let k = lower + column.0 - row.0;
                        if b == 1 {
                            let line = BandRun::line(array, (start * strides.block, strides.block), (row.0, k), len);
                            push(&mut runs, BandRun { step_row: row.1, step_k: column.1 - row.1, ..line })?;
                            continue;
                        }
                        for line in 0..b {
                            // A row of each block, or a column.
                            let (r, c) = if by_rows { (line, 0) } else { (0, line) };
                            let from = start * strides.block + r * strides.row + c * strides.column;
                            let (i, j) = (row.0 * b + r, column.0 * b + c);
                            let stride = if by_rows { strides.column } else { strides.row };
                            let run = BandRun {
                                step_row: isize::from(!by_rows),
                                step_k: if by_rows { 1 } else { -1 },
                                outer: len,
                                outer_stride: strides.block,
                                outer_row: row.1 * b as isize,
                                outer_k: (column.1 - row.1) * b as isize,
                                ..BandRun::line(array, (from, stride), (i, lower + j - i), b)
                            };
                            push(&mut runs, run)?;
                        }
                    }
                }
            }
        }
        let rows = match self.order() {
            Some(order) => order.runs(lower),
            None if self.n() == 0 => RowRuns::new(),
            None => smallvec![BandRun::line(0, (0, 1), (0, lower), self.n())],
        };
        Ok((runs, rows))
    }

    /// Whether the entries of each column are side by side, and the columns too. The places of conjugates among complex numbers have no such runs.
    fn has_columns(&self, strides: BandStrides) -> bool {
        let height = self.widths.0 + self.widths.1 + 1;
        let conjugates = T::COMPLEX && self.hermitian;
        !self.periodic && !conjugates && height > 1 && (strides.diagonal, strides.column) == (1, height)
    }

    /// The runs of bands that are stored column by column. If `upper`, those of the upper triangle of a Hermitian matrix.
    fn column_runs(&self, upper: bool) -> Result<Vec<BandRun>> {
        let ((below, above), n, solved) = (self.widths, self.places, self.solved_widths().0);
        let (height, mut runs) = (below + above + 1, Vec::new());
        for mirrored in [false, true].into_iter().take(1 + usize::from(self.hermitian)) {
            if upper && mirrored != (below > above) {
                continue;
            }
            // Entries from number r on of column t, or of row t of the other triangle.
            let line = |t: usize, r: usize, count: usize| {
                let other = t + r - above;
                let (row, column) = if mirrored { (t, other) } else { (other, t) };
                let line = BandRun::line(0, (t * height + r, 1), (row, solved + column - row), count);
                if mirrored { BandRun { step_row: 0, step_k: 1, ..line } } else { BandRun { step_k: -1, ..line } }
            };
            // The main diagonal, number `above`, is an end of a triangle, and belongs to one of the two.
            let skip = usize::from(mirrored && !upper);
            let used = if above == 0 { skip..height } else { 0..height - skip };
            let whole = above..n.saturating_sub(below);
            if !whole.is_empty() {
                let first = line(above, used.start, used.len());
                push(&mut runs, BandRun { outer: whole.len(), outer_stride: height, outer_row: 1, ..first })?;
            }
            for t in (0..n).filter(|t| !whole.contains(t)) {
                let (r, end) = (used.start.max(above.saturating_sub(t)), used.end.min(n + above - t));
                if r < end {
                    push(&mut runs, line(t, r, end - r))?;
                }
            }
        }
        Ok(runs)
    }

    /// The runs of the entries on the main diagonal and above, of bands with as many diagonals on both sides.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn upper_runs(&self) -> Result<(Vec<BandRun>, RowRuns)> {
        let ((runs, mut rows), lower) = (self.runs_of(true)?, self.solved_widths().0);
        let (mut above, more) = (Vec::new(), self.symmetric_widths().0 - lower);
        for run in runs {
            run.upper(lower, |part| push(&mut above, BandRun { k: part.k + more, ..part }))?;
        }
        rows.iter_mut().for_each(|run| run.k += more);
        Ok((above, rows))
    }

    /// Call `visit` with the array, the index in it, the kind of storage and the column of each entry of row `i` of system `s` of A, or of Aᵀ
    /// if `transposed`.
    fn visit_entries(
        &self,
        transposed: bool,
        s: usize,
        i: usize,
        visit: &mut dyn FnMut(usize, usize, StoredAs, usize),
    ) {
        let (b, (lower, upper)) = (self.block, self.widths);
        match self.strides {
            EntryStrides::Bands(BandStrides { system, column, diagonal }) => {
                // Where entries meet, all sums add them in the order of the array, as the kernel does.
                let ascending = transposed || self.entries_meet();
                for step in 0..=lower + upper {
                    let r = if ascending { step } else { lower + upper - step };
                    let below = r as isize - upper as isize;
                    let stored = if self.hermitian && below == 0 { StoredAs::RealPart } else { StoredAs::Entry };
                    // Entry r of column j is in row j + below, and if Hermitian, its conjugate is in row j and column j + below.
                    let mut take = |down: bool, stored: StoredAs| {
                        if let Some(other) = self.coupled(i, if down { below } else { -below }) {
                            let j = if down { i } else { other };
                            visit(0, s * system + j * column + r * diagonal, stored, other);
                        }
                    };
                    take(transposed, stored);
                    if self.hermitian && below != 0 {
                        take(!transposed, StoredAs::Conjugate);
                    }
                }
            }
            EntryStrides::Blocks(BlockStrides { system, block, row, column }) => {
                let descending = transposed && !self.entries_meet();
                for step in 0..3 {
                    let array = if descending { 2 - step } else { step };
                    let delta = array as isize - 1;
                    let Some(other) = self.coupled(i / b, if transposed { -delta } else { delta }) else { continue };
                    for k in 0..b {
                        let (block_row, r, c) = if transposed { (other, k, i % b) } else { (i / b, i % b, k) };
                        let index = s * system + block_row * block + r * row + c * column;
                        visit(array, index, StoredAs::Entry, other * b + k);
                    }
                }
            }
        }
    }

    /// The entries of row `i` of system `s` of A, or of Aᵀ if `transposed`, once for each column.
    pub(crate) fn visit_row(&self, transposed: bool, s: usize, i: usize, visit: &mut dyn FnMut(usize, T)) {
        let arrays = self.arrays();
        if !self.entries_meet() {
            return self.visit_entries(transposed, s, i, &mut |array, index, stored, j| {
                visit(j, stored.entry(arrays[array][index]));
            });
        }
        let mut row: SmallVec<[(usize, T); 16]> = SmallVec::new();
        self.visit_entries(transposed, s, i, &mut |array, index, stored, j| {
            let value = stored.entry(arrays[array][index]);
            match row.iter_mut().find(|(known, _)| *known == j) {
                Some((_, sum)) => *sum += value,
                None => row.push((j, value)),
            }
        });
        row.into_iter().for_each(|(j, value)| visit(j, value));
    }

    /// The same batch, which borrows the arrays of `self`.
    pub fn view(&self) -> BandedBatch<'_, T> {
        BandedBatch { arrays: self.arrays().map(Cow::Borrowed), ..*self }
    }

    /// The same batch, which owns its arrays.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn try_into_owned(self) -> Result<BandedBatch<'static, T>> {
        let Self { count, layout, places, block, widths, hermitian, periodic, strides, arrays } = self;
        let own = |array: Cow<'a, [T]>| match array {
            Cow::Owned(array) => Ok(Cow::Owned(array)),
            Cow::Borrowed(array) => copied(array).map(Cow::Owned),
        };
        let [first, second, third] = arrays;
        let arrays = [own(first)?, own(second)?, own(third)?];
        Ok(BandedBatch { count, layout, places, block, widths, hermitian, periodic, strides, arrays })
    }

    /// A copy of system `s` as a band. A periodic system is folded, as [`PeriodicBanded::folded`] is; that of blocks by its block rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    ///
    /// # Panics
    /// If `s` is not less than the number of systems.
    pub fn system(&self, s: usize) -> Result<Banded<'static, T>> {
        assert!(s < self.count, "the batch has {} systems, but system {s} was requested", self.count);
        let (n, (lower, upper), arrays) = (self.n(), self.solved_widths(), self.arrays());
        let (beside, first) = (lower + upper, s * self.system_stride());
        let mut bands = zeroed(n * (beside + 1))?;
        for run in self.runs()?.0 {
            let array = &arrays[run.array][first..];
            // Entry (row, column) is at upper + row − column of its column.
            run.each(|index, row, k| bands[(row + k - lower) * beside + upper + row] += run.stored.entry(array[index]));
        }
        Banded::from_vec(n, lower, upper, bands)
    }

    /// A copy of system `s` of a periodic batch.
    pub(crate) fn periodic_system(&self, s: usize) -> Result<PeriodicBanded<T>> {
        Ok(PeriodicBanded { folded: self.system(s)?, order: RingOrder::new(self.places, self.block) })
    }

    /// Check that all entries are finite. Ignored entries may have any value.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for the first NaN or infinity.
    pub fn check_finite(&self) -> Result<()> {
        match (0..self.count).find_map(|s| self.not_finite(s)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The error for an entry of system `s` that is not finite, if there is one.
    fn not_finite(&self, s: usize) -> Option<Error> {
        let arrays = self.arrays();
        let mut bad = None;
        for i in 0..self.n() {
            self.visit_entries(false, s, i, &mut |array, index, stored, _| {
                if !Scalar::is_finite(stored.entry(arrays[array][index]))
                    && bad.is_none_or(|known| (array, index) < known)
                {
                    bad = Some((array, index));
                }
            });
        }
        let names = if let EntryStrides::Bands(_) = self.strides { ["bands"; 3] } else { BLOCK_ARRAYS };
        bad.map(|(array, index)| Error::NotFinite { array: names[array], index })
    }

    /// The error for system `s`, whose band has a number that is not finite: for an entry, or for entries whose sum overflows.
    pub(crate) fn named(&self, s: usize) -> Error {
        self.not_finite(s).unwrap_or_else(|| {
            let mut place = (0, 0);
            for i in 0..self.n() {
                self.visit_row(false, s, i, &mut |j, sum| {
                    if !Scalar::is_finite(sum) {
                        place = (i, j);
                    }
                });
            }
            sum_overflows(place)
        })
    }
}

/// The names of the arrays of blocks.
const BLOCK_ARRAYS: [&str; 3] = ["sub", "diag", "sup"];

/// Check that an array of length `len` has an entry at each index Σ step·stride, for the numbers of steps and strides `steps`.
fn check_reach(what: &'static str, steps: &[(usize, usize)], len: usize) -> Result<()> {
    if steps.iter().any(|(count, _)| *count == 0) {
        return Ok(());
    }
    let last = steps.iter().try_fold(0usize, |sum, (count, stride)| sum.checked_add((count - 1).checked_mul(*stride)?));
    let needed = last.and_then(|last| last.checked_add(1)).unwrap_or(usize::MAX);
    if needed > len { Err(Error::Shape { what, expected: needed, got: len }) } else { Ok(()) }
}
