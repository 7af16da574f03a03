//! Periodic bands, which are folded to bands.

use super::banded::Banded;
use super::shape::{BlockSize, Shape};
use crate::error::{Error, Result};
use crate::memory::zeroed;
use crate::tuning::FOLD_TASK;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::band_form::BandRun;
use bandsolve_kernel::spread::{RowsOf, chunks};
use core::ops::Range;
use smallvec::SmallVec;

/// The rows of a system as runs in memory.
pub(crate) type RowRuns = SmallVec<[BandRun; 2]>;

/// The order 0, n − 1, 1, n − 2, … of n places on a ring. Two places that are k apart on the ring are at most 2k apart in it.
///
/// A place has one row, or those of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingOrder {
    n: usize,
    /// How many rows each place has.
    block: usize,
}

impl RingOrder {
    pub fn new(n: usize, block: usize) -> Self {
        Self { n, block }
    }

    /// The first place whose successor comes before it.
    pub(super) fn half(self) -> usize {
        self.n.div_ceil(2)
    }

    /// The position of place `i`.
    pub fn position(self, i: usize) -> usize {
        if i < self.half() { 2 * i } else { 2 * (self.n - 1 - i) + 1 }
    }

    /// The place at `position`.
    pub fn place(self, position: usize) -> usize {
        let half = position / 2;
        if position.is_multiple_of(2) { half } else { self.n - 1 - half }
    }

    /// The position of row `i`.
    pub(super) fn row_position(self, i: usize) -> usize {
        self.position(i / self.block) * self.block + i % self.block
    }

    /// The rows as runs in memory, with diagonal number `main` as the main one. For shapes without a matrix, which no memory could hold, indices
    /// are limited.
    pub fn runs(self, main: usize) -> RowRuns {
        let b = self.block;
        let row = |place: usize| place.saturating_mul(b);
        let parts = [(0, self.half(), 2), (self.half(), self.n - self.half(), -2)];
        let run = |(start, len, step): (usize, usize, isize)| {
            let line =
                BandRun::line(0, (row(start), 1), (row(self.position(start)), main), if b == 1 { len } else { b });
            match b {
                1 => BandRun { step_row: step, ..line },
                _ => BandRun { outer: len, outer_stride: b, outer_row: step * b as isize, ..line },
            }
        };
        parts.into_iter().filter(|(_, len, _)| *len > 0).map(run).collect()
    }

    /// Copy the places of each column of `from` to their positions in `to`.
    pub fn fold<T: Copy>(self, from: &[T], to: &mut [T]) {
        self.each_place(from.len(), |place, position| to[position].copy_from_slice(&from[place]));
    }

    /// Copy the numbers at the positions of each column of `from` to the places of `to`.
    pub fn unfold<T: Copy>(self, from: &[T], to: &mut [T]) {
        self.each_place(from.len(), |place, position| to[place].copy_from_slice(&from[position]));
    }

    /// Call a function with the rows of each place, and with their positions, in columns with `len` numbers in all.
    fn each_place(self, len: usize, mut call: impl FnMut(Range<usize>, Range<usize>)) {
        let block = self.block;
        for column in (0..len).step_by((self.n * block).max(1)) {
            for i in 0..self.n {
                let (place, position) = (column + i * block, column + self.position(i) * block);
                call(place..place + block, position..position + block);
            }
        }
    }

    /// The row at a position, counted through all columns.
    fn unfolded_row(self, row: usize) -> usize {
        let rows = self.n * self.block;
        let (column, row) = (row / rows, row % rows);
        column * rows + self.place(row / self.block) * self.block + row % self.block
    }

    /// An error of the folded system as one of the system of the caller.
    pub fn unfolded(self, error: Error) -> Error {
        match error {
            Error::NotFinite { array: array @ "rhs", index } => {
                Error::NotFinite { array, index: self.unfolded_row(index) }
            }
            Error::Columns { first, columns } => Error::Columns { first: Box::new(self.unfolded(*first)), columns },
            other => other.with_row(|row| self.unfolded_row(row)),
        }
    }
}

/// A periodic band: a band whose first and last unknowns are neighbors.
///
/// With k = max(lower, upper), the order 0, n − 1, 1, n − 2, … of rows and columns makes it a band with 2k diagonals on each side. This band is
/// stored and solved, by every method that solves bands. Right-hand sides and x are permuted in each solve.
///
/// # Shapes
/// [`Banded::periodic`] takes the array of a [`Banded`]. All its entries count, modulo n:
///
/// ```text
/// A[(j + r − upper) mod n, j] = bands[r + j·leading]   for   0 ≤ r ≤ lower + upper
/// ```
///
/// If n ≤ lower + upper, entries that meet in one place are added. Right-hand sides are those of the open band.
///
/// # Cost
/// A copy of the matrix. Then that of a band with 2k diagonals on each side, and two copies of the right-hand sides for each solve. The
/// [`shape`](Self::shape) of a plan is that of the folded band. [`Plan::solve_in_place_scratch`](crate::Plan::solve_in_place_scratch), which
/// knows only this shape, does not include the copies: take the number of the factors.
///
/// # Errors
/// Rows in errors are those of the periodic matrix. [`Banded::periodic`] returns [`Error::NotFinite`] for a NaN or an infinity in the array,
/// [`Error::InvalidArgument`] if the sum of entries that meet overflows, and [`Error::OutOfMemory`].
///
/// # Examples
/// The fourth derivative on a ring of six points, plus 1:
/// ```
/// use bandsolve::prelude::*;
/// let bands = [1.0, -4.0, 7.0, -4.0, 1.0].repeat(6);
/// let a = Banded::new(6, 2, 2, &bands)?.periodic()?;
/// let x = a.solve(&[1.0; 6])?; // the rows sum to 1
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-14));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PeriodicBanded<T: Scalar> {
    pub(crate) folded: Banded<'static, T>,
    pub(crate) order: RingOrder,
}

impl<T: Scalar> PeriodicBanded<T> {
    /// The band that is solved. Its row p is row p/2 of the periodic matrix for even p, and row n − (p + 1)/2 for odd p. The same holds for columns.
    pub fn folded(&self) -> &Banded<'static, T> {
        &self.folded
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.folded.n()
    }

    /// The shape that a [`Plan`](crate::Plan) needs: that of the folded band.
    pub fn shape(&self) -> Shape {
        self.folded.shape()
    }

    /// A band with an array whose [`periodic`](Banded::periodic) is this matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unfolded(&self) -> Result<Banded<'static, T>> {
        let (n, order) = (self.folded.n(), self.order);
        let width = self.folded.lower().div_ceil(2);
        let height = 2 * width + 1;
        let mut bands = zeroed::<T>(n.saturating_mul(height))?;
        for (j, column) in bands.chunks_exact_mut(height).enumerate() {
            // On a ring of n = 2·width rows, the last diagonal is the first.
            for (r, entry) in column.iter_mut().take(n).enumerate() {
                let i = (j + n - width + r) % n;
                *entry = self.folded.get(order.row_position(i), order.row_position(j));
            }
        }
        Banded::from_vec(n, width, width, bands)
    }
}

/// The error for entries of a periodic matrix that meet in a place (row, column), where their sum overflows.
pub(super) fn sum_overflows((i, j): (usize, usize)) -> Error {
    let problem = format!("has entries that meet in row {i} and column {j}, whose sum overflows");
    Error::invalid("the periodic matrix", problem, "sums in the range of the number type")
}

/// Number of diagonals on each side of a folded band.
pub(super) fn folded_width(n: usize, (lower, upper): (usize, usize)) -> usize {
    lower.max(upper).saturating_mul(2).min(n.saturating_sub(1))
}

/// Number of diagonals on each side of a block tridiagonal matrix as a band. A periodic matrix is folded, which brings neighbors on the ring
/// at most two places apart.
pub(crate) fn block_reach((_, block, periodic): BlockSize) -> usize {
    block.saturating_mul(if periodic { 3 } else { 2 }).saturating_sub(1)
}

impl<T: Scalar> Banded<'_, T> {
    /// The periodic band with this array, in which no entry is ignored. [`PeriodicBanded`] has its shape, cost and errors.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::InvalidArgument`], [`Error::OutOfMemory`].
    pub fn periodic(&self) -> Result<PeriodicBanded<T>> {
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        let (bands, leading) = self.storage();
        let order = RingOrder::new(n, 1);
        let width = folded_width(n, (lower, upper));
        let height = 2 * width + 1;
        let mut folded = zeroed::<T>(n.saturating_mul(height))?;
        // Fills a column. Returns the first index of an entry that is not finite, or, after all entries, the place of a sum that overflows.
        let fill = |position: usize, RowsOf(to, _): RowsOf<'_, T>| {
            let j = order.place(position);
            let (mut bad, mut i) = (usize::MAX, (j + (n - upper % n)) % n);
            for (index, entry) in (j * leading..).zip(&bands[j * leading..=j * leading + lower + upper]) {
                let sum = &mut to[width + order.position(i) - position];
                *sum += *entry;
                if !Scalar::is_finite(*sum) {
                    let place = bands.len() + i + j * n;
                    bad = bad.min(if Scalar::is_finite(*entry) { place } else { index });
                }
                i = if i + 1 == n { 0 } else { i + 1 };
            }
            bad
        };
        let least = (FOLD_TASK / height).max(1);
        match chunks((n, least), RowsOf(&mut folded, height), &fill, (usize::MAX, &usize::min)) {
            usize::MAX => Ok(PeriodicBanded { folded: Banded::from_vec(n, width, width, folded)?, order }),
            index if index < bands.len() => Err(Error::NotFinite { array: "bands", index }),
            place => Err(sum_overflows(((place - bands.len()) % n, (place - bands.len()) / n))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_on_the_ring_stay_near() {
        for n in 1..20 {
            let order = RingOrder::new(n, 1);
            let mut positions: Vec<usize> = (0..n).map(|i| order.position(i)).collect();
            assert!((0..n).all(|i| positions[i].abs_diff(positions[(i + 1) % n]) <= 2), "{n}");
            assert!((0..n).all(|i| order.place(positions[i]) == i), "{n}");
            positions.sort_unstable();
            assert!(positions.into_iter().eq(0..n));
        }
    }

    #[test]
    fn runs_list_each_row_once_at_its_position() {
        for (n, block) in [(0, 1), (1, 1), (1, 3), (2, 1), (7, 1), (8, 2), (9, 3)] {
            let order = RingOrder::new(n, block);
            let mut rows = Vec::new();
            for run in order.runs(5) {
                run.each(|index, position, k| {
                    assert!(position == order.row_position(index) && k == 5, "{n} × {block}");
                    rows.push(index);
                });
            }
            assert!(rows.into_iter().eq(0..n * block), "{n} × {block}");
        }
    }
}
