//! Where the numbers of a batch of matrices are in memory, and in the bands that are eliminated.

use super::tile::STAGED_ROWS;
use crate::number::Scalar;
use core::ops::Range;

/// Distances in memory between the entries of the bands of a batch, counted in numbers.
///
/// # Examples
/// ```
/// use bandsolve_kernel::band_form::BandStrides;
/// // Pentadiagonal systems of 100 unknowns, one after the other, each in LAPACK band storage:
/// let lapack = BandStrides { system: 500, column: 5, diagonal: 1 };
/// // The same with each diagonal in a row of its own, as in SciPy:
/// let scipy = BandStrides { system: 500, column: 1, diagonal: 100 };
/// assert_ne!(lapack, scipy);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandStrides {
    /// From one system to the next.
    pub system: usize,
    /// From entry (i, j) to entry (i + 1, j + 1).
    pub column: usize,
    /// From entry (i, j) to entry (i + 1, j).
    pub diagonal: usize,
}

/// Distances in memory between the entries of the blocks of a batch, counted in numbers.
///
/// # Examples
/// ```
/// use bandsolve_kernel::band_form::BlockStrides;
/// // Systems of 10 block rows one after the other, with blocks of 3 rows in row-major order, as NumPy stores an array (systems, 10, 3, 3):
/// let numpy = BlockStrides { system: 90, block: 9, row: 3, column: 1 };
/// // The same with column-major blocks:
/// let columns = BlockStrides { row: 1, column: 3, ..numpy };
/// assert_ne!(numpy, columns);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockStrides {
    /// From one system to the next; 0 for one matrix for all systems.
    pub system: usize,
    /// From a block to the next one of its array.
    pub block: usize,
    /// From one row of a block to the next.
    pub row: usize,
    /// From one column of a block to the next.
    pub column: usize,
}

/// How an entry is made of a stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredAs {
    /// The entry itself.
    Entry,
    /// The conjugate of the entry.
    Conjugate,
    /// A number with the entry as its real part.
    RealPart,
}

impl StoredAs {
    /// The entry of a stored number.
    #[inline]
    pub fn entry<T: Scalar>(self, stored: T) -> T {
        match self {
            StoredAs::Entry => stored,
            StoredAs::Conjugate => Scalar::conj(stored),
            StoredAs::RealPart => T::from_real(stored.re()),
        }
    }
}

/// Numbers of each system that have places at constant distances in memory and in a tile.
///
/// Number (o, e), for o < `outer` and e < `count`, is at `from + o·outer_stride + e·stride` of its system, in array `array`. It is entry
/// `k + o·outer_k + e·step_k` of row `row + o·outer_row + e·step_row`: entry k of row i is in column i + k − lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandRun {
    pub array: usize,
    pub stored: StoredAs,
    pub from: usize,
    pub row: usize,
    pub k: usize,
    pub count: usize,
    pub stride: usize,
    pub step_row: isize,
    pub step_k: isize,
    pub outer: usize,
    pub outer_stride: usize,
    pub outer_row: isize,
    pub outer_k: isize,
}

impl BandRun {
    /// A run without outer steps.
    pub fn line(array: usize, (from, stride): (usize, usize), (row, k): (usize, usize), count: usize) -> Self {
        Self {
            array,
            stored: StoredAs::Entry,
            from,
            row,
            k,
            count,
            stride,
            step_row: 1,
            step_k: 0,
            outer: 1,
            outer_stride: 0,
            outer_row: 0,
            outer_k: 0,
        }
    }

    /// The index of number (o, e), its row, and its entry there.
    #[inline(always)]
    pub(crate) fn place(&self, o: usize, e: usize) -> (usize, usize, usize) {
        let along = |first: usize, outer_step: isize, step: isize| {
            first.wrapping_add_signed(outer_step * o as isize + step * e as isize)
        };
        let index = self.from + o * self.outer_stride + e * self.stride;
        (index, along(self.row, self.outer_row, self.step_row), along(self.k, self.outer_k, self.step_k))
    }

    /// Number of blocks of at most [`STAGED_ROWS`] numbers.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.outer * self.count.div_ceil(STAGED_ROWS)
    }

    /// Block `b`: the index of its first number, how many there are, and the row of the first one and the distance to the next row.
    #[inline(always)]
    pub(crate) fn block(&self, b: usize) -> (usize, usize, (usize, isize)) {
        let per_line = self.count.div_ceil(STAGED_ROWS);
        let (o, e) = (b / per_line, b % per_line * STAGED_ROWS);
        let (index, row, _) = self.place(o, e);
        (index, STAGED_ROWS.min(self.count - e), (row, self.step_row))
    }

    /// Number of rows of each line that stay together when a run is cut: all if there are outer steps, else one.
    #[inline]
    pub(crate) fn side_by_side(&self) -> usize {
        if self.outer_row == 0 { 1 } else { self.count }
    }

    /// The numbers of the lines that begin in `rows`, or, if there are no outer steps, the numbers in `rows`.
    #[inline]
    pub(crate) fn within(&self, rows: &Range<usize>) -> Self {
        let outer = self.outer_row != 0;
        let (step, count) = if outer { (self.outer_row, self.outer) } else { (self.step_row, self.count) };
        // Number of steps to the first row that is not before `end`, in the direction of the steps.
        let distance = step.unsigned_abs().max(1);
        let steps = |end: usize| {
            let rows = if step < 0 { (self.row + 1).saturating_sub(end) } else { end.saturating_sub(self.row) };
            rows.div_ceil(distance).min(count)
        };
        let (first, end) =
            if step < 0 { (steps(rows.end), steps(rows.start)) } else { (steps(rows.start), steps(rows.end)) };
        let (o, e) = if outer { (first, 0) } else { (0, first) };
        let (from, row, k) = self.place(o, e);
        let part = Self { from, row, k, ..*self };
        if outer { Self { outer: end - first, ..part } } else { Self { count: end - first, ..part } }
    }

    /// Call a function with the index, the row and the entry of each number.
    #[inline]
    pub fn each(&self, mut call: impl FnMut(usize, usize, usize)) {
        for (o, e) in (0..self.outer).flat_map(|o| (0..self.count).map(move |e| (o, e))) {
            let (index, row, k) = self.place(o, e);
            call(index, row, k);
        }
    }

    /// Call a function with the parts of a run that are on the main diagonal, number `main`, or above.
    pub fn upper<E>(&self, main: usize, mut call: impl FnMut(Self) -> Result<(), E>) -> Result<(), E> {
        // Lines at a constant distance from the diagonal are cut at the same place.
        let alike = if self.outer_k == 0 { self.outer } else { 1 };
        for o in (0..self.outer).step_by(alike.max(1)) {
            let is_upper = |e: usize| self.place(o, e).2 >= main;
            let from = (0..self.count).find(|e| is_upper(*e)).unwrap_or(self.count);
            let end = (from..self.count).find(|e| !is_upper(*e)).unwrap_or(self.count);
            if from < end {
                let (index, row, k) = self.place(o, from);
                call(Self { from: index, row, k, count: end - from, outer: alike, ..*self })?;
            }
        }
        Ok(())
    }

    /// The same numbers in Aᵀ.
    #[inline(always)]
    pub(crate) fn transposed(&self, form: &BandForm<'_>) -> Self {
        Self {
            row: self.row + self.k - form.lower,
            k: form.q() - self.k,
            step_row: self.step_row + self.step_k,
            step_k: -self.step_k,
            outer_row: self.outer_row + self.outer_k,
            outer_k: -self.outer_k,
            ..*self
        }
    }

    /// The largest index. `None` if it overflows, or there is none.
    pub fn last(&self) -> Option<usize> {
        let (inner, outer) = (self.count.checked_sub(1)?, self.outer.checked_sub(1)?);
        let along = inner.checked_mul(self.stride)?.checked_add(outer.checked_mul(self.outer_stride)?)?;
        self.from.checked_add(along)
    }

    /// Whether all numbers have places in a matrix of this form. Rows, columns and entries are linear, so that four numbers show it.
    pub(crate) fn is_inside(&self, form: &BandForm<'_>) -> bool {
        let at = |first: usize, steps: [(isize, usize); 2]| {
            let step = |(step, count): (isize, usize)| step.checked_mul(isize::try_from(count).ok()?);
            let [outer, inner] = steps.map(step);
            first.checked_add_signed(outer?.checked_add(inner?)?)
        };
        [0, self.outer - 1].iter().all(|o| {
            [0, self.count - 1].iter().all(|e| {
                let row = at(self.row, [(self.outer_row, *o), (self.step_row, *e)]);
                let k = at(self.k, [(self.outer_k, *o), (self.step_k, *e)]);
                let inside = |row: usize, k: usize| {
                    row < form.n
                        && (form.skipped()..=form.q()).contains(&k)
                        && (form.lower..form.n + form.lower).contains(&(row + k))
                };
                row.zip(k).is_some_and(|(row, k)| inside(row, k))
            })
        })
    }
}

/// The form in which a batch of matrices is eliminated: bands, whose entries come from anywhere.
#[derive(Debug, Clone, Copy)]
pub struct BandForm<'a> {
    /// Number of rows, and of diagonals below and above the main one.
    pub n: usize,
    pub lower: usize,
    pub upper: usize,
    /// Whether the matrices are Hermitian positive definite, and `runs` has the entries on the main diagonal and above only.
    pub definite: bool,
    /// The entries of A. They are added if `add`, and written otherwise.
    pub runs: &'a [BandRun],
    pub add: bool,
    /// Whether there are entries of the bands that no run reaches, besides those outside of the matrices. They are zero.
    pub gaps: bool,
    /// The order of the rows. Their indices are counted in rows, and their `k` is `lower`.
    pub rows: &'a [BandRun],
}

impl BandForm<'_> {
    /// Number of off-diagonals.
    pub(crate) fn q(&self) -> usize {
        self.lower + self.upper
    }

    /// Number of diagonals that are not stored in a tile: those below the main one of a Hermitian matrix.
    pub(crate) fn skipped(&self) -> usize {
        if self.definite { self.lower } else { 0 }
    }

    /// Number of entries of a row in a tile.
    pub(crate) fn entries(&self) -> usize {
        self.q() + 1 - self.skipped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_run_are_its_numbers_in_the_rows() {
        let line = |row: usize, step_row: isize| BandRun { step_row, ..BandRun::line(0, (3, 2), (row, 1), 7) };
        let blocks = |row: usize, outer_row: isize| BandRun {
            outer: 5,
            outer_stride: 3,
            outer_row,
            ..BandRun::line(0, (0, 1), (row, 1), 3)
        };
        for run in [line(4, 2), line(15, -2), line(0, 1), line(6, -1), blocks(6, 6), blocks(27, -6)] {
            for start in (0..36).step_by(run.side_by_side()) {
                for end in (start..36).step_by(run.side_by_side()) {
                    let (mut part, mut expected) = (Vec::new(), Vec::new());
                    run.within(&(start..end)).each(|index, row, k| part.push((index, row, k)));
                    run.each(|index, row, k| expected.extend((start..end).contains(&row).then_some((index, row, k))));
                    assert_eq!(part, expected, "{run:?} in {start}..{end}");
                }
            }
        }
    }
}
