//! Periodic bands, which are folded to bands.

use super::banded::Banded;
use super::banded_batch::BandedBatch;
use super::shape::Layout;
use crate::error::{Error, Result};
use crate::memory::zeroed;
use crate::tuning::FOLD_TASK;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::band_lockstep::BandStrides;
use bandsolve_kernel::spread::{RowsOf, chunks};
use core::ops::Range;
use std::borrow::Cow;

/// The order 0, n − 1, 1, n − 2, … of n places on a ring. Two places that are k apart on the ring are at most 2k apart in it.
///
/// A place has one row, or those of a block. Arrays may hold several columns, and a row may consist of several numbers, one of each system of a
/// batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingOrder {
    n: usize,
    /// How many rows each place has.
    block: usize,
    /// How many numbers each row has.
    together: usize,
}

impl RingOrder {
    pub(super) fn new(n: usize, block: usize, together: usize) -> Self {
        Self { n, block, together }
    }

    /// The order of the rows of one system.
    pub fn of_system(self) -> Self {
        Self { together: 1, ..self }
    }

    /// The position of place `i`.
    pub(super) fn position(self, i: usize) -> usize {
        let mirrored = self.n - 1 - i;
        if i <= mirrored { 2 * i } else { 2 * mirrored + 1 }
    }

    /// The place at `position`.
    pub(super) fn place(self, position: usize) -> usize {
        let half = position / 2;
        if position.is_multiple_of(2) { half } else { self.n - 1 - half }
    }

    /// Copy the places of `from` to their positions in `to`.
    pub fn fold<T: Copy>(self, from: &[T], to: &mut [T]) {
        let size = (self.block * self.together).max(1);
        self.each_column(from.len(), |column| {
            let (from, to) = (&from[column.clone()], &mut to[column]);
            let (places, mirrored) = (from.chunks_exact(size), from.chunks_exact(size).rev());
            let mut positions = to.chunks_exact_mut(size);
            for (place, mirrored) in places.zip(mirrored).take(self.n.div_ceil(2)) {
                for place in [place, mirrored] {
                    positions.next().into_iter().for_each(|to| to.copy_from_slice(place));
                }
            }
        });
    }

    /// Copy what stands at the positions of `from` to the places of `to`.
    pub fn unfold<T: Copy>(self, from: &[T], to: &mut [T]) {
        let size = (self.block * self.together).max(1);
        self.each_column(from.len(), |column| {
            let (from, to) = (&from[column.clone()], &mut to[column]);
            let (mut positions, mut places) = (from.chunks_exact(size), to.chunks_exact_mut(size));
            while let Some(place) = places.next() {
                positions.next().into_iter().for_each(|from| place.copy_from_slice(from));
                places.next_back().into_iter().for_each(|place| {
                    positions.next().into_iter().for_each(|from| place.copy_from_slice(from));
                });
            }
        });
    }

    fn each_column(self, len: usize, mut call: impl FnMut(Range<usize>)) {
        let size = self.n * self.block * self.together;
        (0..len).step_by(size.max(1)).for_each(|start| call(start..start + size));
    }

    /// Row `row` of all systems, one after the other, with its place replaced by what `other` returns for it.
    fn moved(self, row: usize, other: impl FnOnce(usize) -> usize) -> usize {
        let rows = self.n * self.block;
        let (system, row) = (row / rows, row % rows);
        system * rows + other(row / self.block) * self.block + row % self.block
    }

    /// The index in a folded array, for an index in the array of the caller.
    pub fn folded_index(self, index: usize) -> usize {
        self.moved(index / self.together, |place| self.position(place)) * self.together + index % self.together
    }

    /// The index in the array of the caller, for an index in a folded array.
    pub fn unfolded_index(self, index: usize) -> usize {
        self.unfolded_row(index / self.together) * self.together + index % self.together
    }

    /// The row of the matrix with all systems on its diagonal, for a row of the folded one.
    fn unfolded_row(self, row: usize) -> usize {
        self.moved(row, |position| self.place(position))
    }

    /// An error of the folded system as one of the system of the caller.
    pub fn unfolded(self, error: Error) -> Error {
        match error {
            Error::NotFinite { array: array @ "rhs", index } => {
                Error::NotFinite { array, index: self.unfolded_index(index) }
            }
            Error::Singular { row } => Error::Singular { row: self.unfolded_row(row) },
            Error::NotDefinite { row } => Error::NotDefinite { row: self.unfolded_row(row) },
            Error::Columns { first, columns } => Error::Columns { first: Box::new(self.unfolded(*first)), columns },
            other => other,
        }
    }

    /// Number of diagonals on each side of the folded form of a periodic band.
    fn width(self, (lower, upper): (usize, usize)) -> usize {
        lower.max(upper).saturating_mul(2).min(self.n.saturating_sub(1))
    }

    /// Add columns `j` of periodic bands, in an array with these strides, to columns of the folded ones: the entry on diagonal d of system k of
    /// `systems` is `to[k + d·beside]`. Returns the least index of an entry that is not finite.
    fn fold_columns<T: Scalar>(
        self,
        widths @ (lower, upper): (usize, usize),
        (systems, j): (Range<usize>, usize),
        (bands, strides): (&[T], BandStrides),
        (to, beside): (&mut [T], usize),
    ) -> usize {
        let (width, column) = (self.width(widths), self.position(j));
        let mut bad = usize::MAX;
        // Row j + r − upper, on the ring.
        let mut i = (j + (self.n - upper % self.n)) % self.n;
        for r in 0..=lower + upper {
            let (first, of_diagonal) =
                ((width + self.position(i) - column) * beside, j * strides.column + r * strides.diagonal);
            for (k, entry) in to[first..first + systems.len()].iter_mut().enumerate() {
                let index = (systems.start + k) * strides.system + of_diagonal;
                *entry += bands[index];
                // If the ring is shorter than the band, entries meet in one place, and their sum may overflow.
                if !Scalar::is_finite(*entry) {
                    bad = bad.min(index);
                }
            }
            i = if i + 1 == self.n { 0 } else { i + 1 };
        }
        bad
    }
}

/// The size of folded bands of a batch.
#[derive(Clone, Copy)]
pub(super) struct FoldedSize {
    /// Number of columns, or of blocks of columns, of each matrix, and how many numbers of a matrix one has.
    pub columns: usize,
    pub column: usize,
    pub matrices: usize,
    pub layout: Layout,
}

impl FoldedSize {
    /// The number of matrices that lie side by side.
    fn beside(self) -> usize {
        if self.layout == Layout::Interleaved { self.matrices } else { 1 }
    }

    /// The distances in memory in a batch of `count` systems, if `columns` counts single columns. A single matrix is that of all systems.
    pub fn strides_of(self, count: usize) -> BandStrides {
        let system = match self.layout {
            _ if self.matrices < count => 0,
            Layout::Interleaved => 1,
            Layout::Contiguous => self.columns * self.column,
        };
        BandStrides { system, column: self.column * self.beside(), diagonal: self.beside() }
    }

    /// An array into which `fill` writes the columns of some systems at a position, entry e of system k of them to `to[k + e·beside]`, and the
    /// least number that `fill` returned.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn filled<T: Scalar>(
        self,
        fill: &(impl Fn(Range<usize>, usize, &mut [T], usize) -> usize + Sync),
    ) -> Result<(Vec<T>, usize)> {
        let Self { columns, column, matrices, layout } = self;
        let mut all = zeroed::<T>(matrices.saturating_mul(columns).saturating_mul(column))?;
        // A task has columns of all systems, or whole systems.
        let interleaved = layout == Layout::Interleaved;
        let (pieces, piece) = if interleaved { (columns, column * matrices) } else { (matrices, column * columns) };
        let of_piece = |k: usize, RowsOf(to, _): RowsOf<'_, T>| {
            if interleaved {
                return fill(0..matrices, k, to, matrices);
            }
            let columns = to.chunks_exact_mut(column).enumerate();
            columns.map(|(position, to)| fill(k..k + 1, position, to, 1)).min().unwrap_or(usize::MAX)
        };
        let least = (FOLD_TASK / piece.max(1)).max(1);
        let found = chunks((pieces, least), RowsOf(&mut all, piece), &of_piece, (usize::MAX, &usize::min));
        Ok((all, found))
    }
}

/// An error for the index of an entry that is not finite, if there is one.
fn finite(bad: usize) -> Result<()> {
    if bad == usize::MAX { Ok(()) } else { Err(Error::NotFinite { array: "bands", index: bad }) }
}

/// A periodic band, or a batch of them: a band whose first and last unknowns are neighbours.
///
/// With k = max(lower, upper), the order 0, n − 1, 1, n − 2, … of rows and columns makes it a band with 2k diagonals on each side. This band is
/// stored and solved, by every method that solves bands. Right-hand sides and x are permuted in each solve.
///
/// # Shapes
/// The array is that of [`Banded`] or [`BandedBatch`], whose [`periodic`](Banded::periodic) returns this type. All its entries count, modulo n:
///
/// ```text
/// A[(j + r − upper) mod n, j] = bands[r + j·leading]   for   0 ≤ r ≤ lower + upper
/// ```
///
/// If n ≤ lower + upper, entries that meet in one place are added. Right-hand sides are those of the open band.
///
/// # Cost
/// A copy of the matrix. Then that of a band with 2k diagonals on each side, and two copies of the right-hand sides for each solve. The
/// `shape` of a plan is that of the folded band. [`Plan::solve_in_place_scratch`](crate::Plan::solve_in_place_scratch), which
/// knows only this shape, does not include the copies: take the number of the factors.
///
/// # Errors
/// Rows in errors are those of the periodic matrix. `periodic` returns [`Error::NotFinite`] for a NaN or an infinity in the array,
/// [`Error::OutOfMemory`], and [`Error::Shape`] if k > 7 for a batch, whose folded bands have at most 15 diagonals on each side.
///
/// # Examples
/// The fourth derivative on a ring of six points, plus 1:
/// ```
/// use bandsolve::prelude::*;
/// let bands = [1.0, -4.0, 7.0, -4.0, 1.0].repeat(6);
/// let a = Banded::new(6, 2, 2, &bands)?.periodic()?;
/// let x = a.solve(&[1.0; 6])?; // the rows sum to 1
/// assert!(x.values.iter().all(|v| (v - 1.0).abs() < 1e-14));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PeriodicBands<A> {
    pub(crate) folded: A,
    pub(crate) order: RingOrder,
}

impl<A> PeriodicBands<A> {
    /// The band that is solved: row p of it is row p/2 of the periodic matrix for even p, row n − (p + 1)/2 for odd p, and so are its columns.
    pub fn folded(&self) -> &A {
        &self.folded
    }
}

impl<T: Scalar> PeriodicBands<Banded<'_, T>> {
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
                *entry = self.folded.get(order.position((j + n - width + r) % n), order.position(j));
            }
        }
        Banded::from_vec(n, width, width, bands)
    }
}

impl<T: Scalar> Banded<'_, T> {
    /// The periodic band with this array, in which no entry is ignored. [`PeriodicBands`] has its shape, cost and errors.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::OutOfMemory`].
    pub fn periodic(&self) -> Result<PeriodicBands<Banded<'static, T>>> {
        let (n, widths) = (self.n(), (self.lower(), self.upper()));
        let (bands, leading) = self.storage();
        let strides = BandStrides { system: 0, column: leading, diagonal: 1 };
        let order = RingOrder::new(n, 1, 1);
        let width = order.width(widths);
        let fold = |systems: Range<usize>, position: usize, to: &mut [T], beside: usize| {
            order.fold_columns(widths, (systems, order.place(position)), (bands, strides), (to, beside))
        };
        let size = FoldedSize { columns: n, column: 2 * width + 1, matrices: 1, layout: Layout::Interleaved };
        let (folded, bad) = size.filled(&fold)?;
        finite(bad)?;
        Ok(PeriodicBands { folded: Banded::from_vec(n, width, width, folded)?, order })
    }
}

impl<T: Scalar> BandedBatch<'_, T> {
    /// The largest number of diagonals on each side of periodic bands.
    pub const MAX_PERIODIC_DIAGONALS: usize = Self::MAX_DIAGONALS / 2;

    /// The periodic bands with this array, in which no entry is ignored. [`PeriodicBands`] has their shape, cost and errors.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`], [`Error::OutOfMemory`].
    pub fn periodic(&self) -> Result<PeriodicBands<BandedBatch<'static, T>>> {
        let (n, lower, upper) = (self.n(), self.lower(), self.upper());
        if lower.max(upper) > Self::MAX_PERIODIC_DIAGONALS {
            let what = "the number of diagonals on one side of a batch of periodic bands";
            return Err(Error::Shape { what, expected: Self::MAX_PERIODIC_DIAGONALS, got: lower.max(upper) });
        }
        let (bands, strides) = self.storage();
        let (layout, count, widths) = (self.layout(), self.count(), (lower, upper));
        // One matrix for all systems stays one.
        let matrices = if strides.system == 0 { count.min(1) } else { count };
        let order = RingOrder::new(n, 1, if layout == Layout::Interleaved { count } else { 1 });
        let width = order.width(widths);
        let fold = |systems: Range<usize>, position: usize, to: &mut [T], beside: usize| {
            order.fold_columns(widths, (systems, order.place(position)), (bands, strides), (to, beside))
        };
        let size = FoldedSize { columns: n, column: 2 * width + 1, matrices, layout };
        let (folded, bad) = size.filled(&fold)?;
        finite(bad)?;
        let folded = BandedBatch::build(count, n, (width, width), layout, size.strides_of(count), Cow::Owned(folded))?;
        Ok(PeriodicBands { folded, order })
    }
}
