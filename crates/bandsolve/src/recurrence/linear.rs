//! Linear recurrences of order K as scans.

use super::scan::{Carry, Scan, ScanTile, run};
use bandsolve_kernel::Scalar;
use core::array::from_fn;

/// A recurrence of order K over an array: `y = Σ by[k]·y₋₁₋ₖ + plus`, row by row.
pub(crate) trait Affine<T: Scalar, const K: usize>: Sync {
    /// Whether the recurrence runs from the last row to the first.
    const REVERSED: bool;

    /// Return (by, plus) of row `i`, in which the array has the value `value`.
    fn row(&self, i: usize, value: T) -> ([T; K], T);

    /// Return the value to write in row `i`, by default y.
    ///
    /// `values` are the values of the array in this row and, unless reversed, in the next row, before any row is written. `before` is the
    /// previous y.
    #[inline(always)]
    fn output(&self, i: usize, values: [T; 2], before: T, y: T) -> T {
        _ = (i, values, before);
        y
    }
}

/// A recurrence whose coefficients are arrays.
pub(super) struct Plain<'a, T, const K: usize, const REVERSED: bool> {
    pub by: [&'a [T]; K],
    pub plus: &'a [T],
}

impl<T: Scalar, const K: usize, const REVERSED: bool> Affine<T, K> for Plain<'_, T, K, REVERSED> {
    const REVERSED: bool = REVERSED;

    #[inline(always)]
    fn row(&self, i: usize, _value: T) -> ([T; K], T) {
        (self.by.map(|by| by[i]), self.plus[i])
    }
}

/// Solve the recurrence from the state `start`, whose newest value comes first.
pub(crate) fn solve<T: Scalar, const K: usize, A: Affine<T, K>>(
    recurrence: &A,
    start: [T; K],
    threads: usize,
    x: &mut [T],
) {
    run(&Linear { recurrence, borders: Carry::new(start) }, x, start, threads);
}

/// Solve the recurrence row by row on the calling thread.
pub(crate) fn solve_sequentially<T: Scalar, const K: usize, A: Affine<T, K>>(
    recurrence: &A,
    start: [T; K],
    x: &mut [T],
) {
    let (n, mut state) = (x.len(), start);
    for step in 0..n {
        let i = if A::REVERSED { n - 1 - step } else { step };
        let next = x.get(i + 1).copied().unwrap_or(T::ZERO);
        x[i] = advance(recurrence, i, [x[i], next], &mut state);
    }
}

/// Advance the state by one row and return the value to write.
#[inline(always)]
fn advance<T: Scalar, const K: usize>(
    recurrence: &impl Affine<T, K>,
    i: usize,
    values: [T; 2],
    state: &mut [T; K],
) -> T {
    let (by, plus) = recurrence.row(i, values[0]);
    let before = state[0];
    let y = dot(by, *state) + plus;
    *state = pushed(*state, y);
    recurrence.output(i, values, before, y)
}

/// The sum `Σ by[k]·state[k]`.
#[inline(always)]
fn dot<T: Scalar, const K: usize>(by: [T; K], state: [T; K]) -> T {
    let mut sum = by[0] * state[0];
    for k in 1..K {
        sum += by[k] * state[k];
    }
    sum
}

/// The state after a row that makes `y` the newest value.
#[inline(always)]
fn pushed<T: Scalar, const K: usize>(mut state: [T; K], y: T) -> [T; K] {
    for k in (1..K).rev() {
        state[k] = state[k - 1];
    }
    state[0] = y;
    state
}

/// The affine map `s′ = constant + Σ s[h]·columns[h]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer<T, const K: usize> {
    columns: [[T; K]; K],
    constant: [T; K],
}

impl<T: Scalar, const K: usize> Transfer<T, K> {
    /// The transfer of no rows.
    fn identity() -> Self {
        let columns = from_fn(|h| from_fn(|k| if h == k { T::ONE } else { T::ZERO }));
        Self { columns, constant: [T::ZERO; K] }
    }

    fn apply(&self, state: [T; K]) -> [T; K] {
        let mut result = self.constant;
        for (k, result) in result.iter_mut().enumerate() {
            for h in 0..K {
                *result += state[h] * self.columns[h][k];
            }
        }
        result
    }
}

/// A recurrence as a scan.
struct Linear<'r, T, A, const K: usize> {
    recurrence: &'r A,
    /// The states at the borders of groups, as the recurrence gives them row by row.
    borders: Carry<[T; K]>,
}

impl<T: Scalar, A: Affine<T, K>, const K: usize> Linear<'_, T, A, K> {
    /// (by, plus) of a row of the tile.
    #[inline(always)]
    fn row<const G: usize>(&self, tile: &ScanTile<&mut [T]>, g: usize, step: usize) -> ([T; K], T) {
        let at = tile.at::<G>(A::REVERSED, g, step);
        self.recurrence.row(tile.offset + at, tile.output[at])
    }
}

impl<'x, T: Scalar, A: Affine<T, K>, const K: usize> Scan<&'x mut [T]> for Linear<'_, T, A, K> {
    type State = [T; K];
    type Transfer = Transfer<T, K>;
    const REVERSED: bool = A::REVERSED;

    fn transfers<const G: usize>(&self, tile: &ScanTile<&'x mut [T]>) -> [Transfer<T, K>; G] {
        let mut transfers = [Transfer::identity(); G];
        for step in 0..tile.group_rows::<G>() {
            for (g, transfer) in transfers.iter_mut().enumerate() {
                let (by, plus) = self.row::<G>(tile, g, step);
                for column in &mut transfer.columns {
                    *column = pushed(*column, dot(by, *column));
                }
                transfer.constant = pushed(transfer.constant, dot(by, transfer.constant) + plus);
            }
        }
        transfers
    }

    fn apply<const G: usize>(
        &self,
        tile: &ScanTile<&'x mut [T]>,
        g: usize,
        transfer: &Transfer<T, K>,
        mut state: [T; K],
    ) -> [T; K] {
        let finite = |state: &[T; K]| state.iter().all(|y| y.is_finite());
        let result = transfer.apply(state);
        if finite(&result) || !finite(&state) {
            return result;
        }
        // Products of coefficients overflow, but the recurrence itself may stay finite.
        for step in 0..tile.group_rows::<G>() {
            let (by, plus) = self.row::<G>(tile, g, step);
            state = pushed(state, dot(by, state) + plus);
        }
        state
    }

    fn finish<const G: usize>(&self, tile: &mut ScanTile<&'x mut [T]>, entering: [[T; K]; G]) -> bool {
        let rows = tile.group_rows::<G>();
        let mut leaving = entering;
        for step in 0..rows {
            for (g, state) in leaving.iter_mut().enumerate() {
                let (by, plus) = self.row::<G>(tile, g, step);
                *state = pushed(*state, dot(by, *state) + plus);
            }
        }
        let Some(mut states) = self.borders.pass::<G>(tile.index, |g, _| leaving[g]) else { return false };
        // Read the first row of each next group before it is overwritten.
        let after: [T; G] = from_fn(|g| {
            let next = if g + 1 < G { tile.output.get((g + 1) * rows).copied() } else { tile.after };
            next.unwrap_or(T::ZERO)
        });
        for step in 0..rows {
            for (g, state) in states.iter_mut().enumerate() {
                let at = tile.at::<G>(A::REVERSED, g, step);
                let next = if step + 1 == rows || A::REVERSED { after[g] } else { tile.output[at + 1] };
                tile.output[at] = advance(self.recurrence, tile.offset + at, [tile.output[at], next], state);
            }
        }
        true
    }

    fn give_up(&self) {
        self.borders.give_up();
    }
}
