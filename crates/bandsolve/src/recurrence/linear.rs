//! Linear recurrences of order K as scans.

use crate::tuning::{SCAN_TILE_ROWS, tasks};
use bandsolve_kernel::Scalar;
use bandsolve_kernel::scan::{CarryPair, Scan, ScanTile, run};
use core::array::from_fn;

/// Number of groups of rows per tile that are swept together.
const GROUPS: usize = 8;

/// A recurrence of order K over an array: `y = Σ by[k]·y₋₁₋ₖ + plus`, row by row.
pub(super) trait Affine<T: Scalar, const K: usize>: Sync {
    /// Whether the recurrence runs from the last row to the first.
    const REVERSED: bool;

    /// Return (by, plus) of row `i`.
    fn row(&self, i: usize) -> ([T; K], T);
}

/// A recurrence whose coefficients are arrays.
pub(super) struct Plain<'a, T, const K: usize, const REVERSED: bool> {
    pub by: [&'a [T]; K],
    pub plus: &'a [T],
}

impl<T: Scalar, const K: usize, const REVERSED: bool> Affine<T, K> for Plain<'_, T, K, REVERSED> {
    const REVERSED: bool = REVERSED;

    #[inline(always)]
    fn row(&self, i: usize) -> ([T; K], T) {
        (self.by.map(|by| by[i]), self.plus[i])
    }
}

/// Solve the recurrence from the state `start`, whose newest value comes first.
pub(super) fn solve<T: Scalar, const K: usize, A: Affine<T, K>>(
    recurrence: &A,
    start: [T; K],
    threads: usize,
    x: &mut [T],
) {
    let threads = tasks(threads, x.len());
    run(&Linear { recurrence, carry: CarryPair::new(start) }, x, threads);
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
    /// The states at the borders of groups.
    carry: CarryPair<[T; K]>,
}

/// A tile in G groups of equal length, as many rows as possible; the last tile has fewer rows than groups, which are one group.
struct GroupedTile<'t, 'x, T, const G: usize> {
    tile: &'t mut ScanTile<'x, T>,
    reversed: bool,
}

impl<T, const G: usize> GroupedTile<'_, '_, T, G> {
    /// Number of rows per group.
    fn rows(&self) -> usize {
        self.tile.output.len() / G
    }

    /// The index in the tile of row `step` of group `g`.
    #[inline(always)]
    fn at(&self, g: usize, step: usize) -> usize {
        let forward = g * self.rows() + step;
        if self.reversed { self.tile.output.len() - 1 - forward } else { forward }
    }
}

impl<T: Scalar, A: Affine<T, K>, const K: usize> Linear<'_, T, A, K> {
    /// (by, plus) of a row of the tile.
    #[inline(always)]
    fn row<const G: usize>(&self, groups: &GroupedTile<'_, '_, T, G>, g: usize, step: usize) -> ([T; K], T) {
        self.recurrence.row(groups.tile.offset + groups.at(g, step))
    }

    fn transfers<const G: usize>(&self, groups: &GroupedTile<'_, '_, T, G>) -> [Transfer<T, K>; G] {
        let mut transfers = [Transfer::identity(); G];
        for step in 0..groups.rows() {
            for (g, transfer) in transfers.iter_mut().enumerate() {
                let (by, plus) = self.row(groups, g, step);
                for column in &mut transfer.columns {
                    *column = pushed(*column, dot(by, *column));
                }
                transfer.constant = pushed(transfer.constant, dot(by, transfer.constant) + plus);
            }
        }
        transfers
    }

    /// The state after group `g`.
    fn apply<const G: usize>(
        &self,
        groups: &GroupedTile<'_, '_, T, G>,
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
        for step in 0..groups.rows() {
            let (by, plus) = self.row(groups, g, step);
            state = pushed(state, dot(by, state) + plus);
        }
        state
    }

    /// Solve a tile in G groups.
    fn groups<const G: usize>(&self, tile: &mut ScanTile<T>) -> bool {
        let groups = GroupedTile::<T, G> { tile, reversed: A::REVERSED };
        let (index, rows) = (groups.tile.index, groups.rows());
        let (transfers, mut states) = (self.transfers(&groups), [[T::ZERO; K]; G]);
        if !self.carry.states.pass(index, &mut states, |g, state| self.apply(&groups, g, &transfers[g], state)) {
            return false;
        }
        let mut leaving = states;
        for step in 0..rows {
            for (g, state) in leaving.iter_mut().enumerate() {
                let (by, plus) = self.row(&groups, g, step);
                *state = pushed(*state, dot(by, *state) + plus);
            }
        }
        if !self.carry.borders.pass(index, &mut states, |g, _| leaving[g]) {
            return false;
        }
        for step in 0..rows {
            for (g, state) in states.iter_mut().enumerate() {
                let (by, plus) = self.row(&groups, g, step);
                let y = dot(by, *state) + plus;
                *state = pushed(*state, y);
                groups.tile.output[groups.at(g, step)] = y;
            }
        }
        true
    }
}

impl<T: Scalar, A: Affine<T, K>, const K: usize> Scan<T> for Linear<'_, T, A, K> {
    const REVERSED: bool = A::REVERSED;

    /// Full tiles come first, then one of equal groups, then one of fewer rows than groups.
    fn tile_rows(&self, left: usize) -> usize {
        match left {
            SCAN_TILE_ROWS.. => SCAN_TILE_ROWS,
            GROUPS.. => left / GROUPS * GROUPS,
            _ => left,
        }
    }

    fn tile(&self, tile: &mut ScanTile<T>) -> bool {
        match tile.output.len() {
            GROUPS.. => self.groups::<GROUPS>(tile),
            _ => self.groups::<1>(tile),
        }
    }

    fn give_up(&self) {
        self.carry.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::{Affine, solve};
    use crate::tuning::SCAN_TILE_ROWS;
    use bandsolve_kernel::tuning::MIN_ROWS_PER_THREAD;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// The recurrence y = y₋₁/2 + 1, which panics when row `bad` is read for the `deadly`-th time.
    struct Deadly {
        bad: usize,
        deadly: usize,
        looks: AtomicUsize,
    }

    impl Affine<f64, 1> for Deadly {
        const REVERSED: bool = false;

        fn row(&self, i: usize) -> ([f64; 1], f64) {
            let looks = if i == self.bad { self.looks.fetch_add(1, Ordering::Relaxed) + 1 } else { 0 };
            assert!(looks != self.deadly, "on purpose");
            ([0.5], 1.0)
        }
    }

    #[test]
    fn a_panic_in_a_tile_ends_the_scan() {
        // A row is read three times: for the transfer of its group, for the state after its group, and when it is written. The panics
        // therefore come before the first state is passed on, between the two states, and after both.
        for deadly in [1, 2, 3] {
            let (done, end) = channel();
            // Threads that wait forever end with the process.
            std::thread::spawn(move || {
                let recurrence = Deadly { bad: 3 * SCAN_TILE_ROWS + 5, deadly, looks: AtomicUsize::new(0) };
                let mut y = vec![0.0; 8 * MIN_ROWS_PER_THREAD];
                let solved = catch_unwind(AssertUnwindSafe(|| solve(&recurrence, [0.0], 4, &mut y)));
                _ = done.send(solved.map_err(|panic| panic.downcast_ref::<&str>() == Some(&"on purpose")));
            });
            let received =
                end.recv_timeout(Duration::from_secs(20)).expect("threads wait for a tile that will not be done");
            assert_eq!(received, Err(true), "the panic reaches the caller");
        }
    }
}
