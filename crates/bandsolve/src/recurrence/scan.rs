//! The scan of all recurrences: tiles in a fixed order, with a state that passes from tile to tile.

use crate::tuning::{SCAN_TILE_ROWS, tasks};
use bandsolve_kernel::spread::Split;
use bandsolve_kernel::threads::workers;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of groups of rows per tile that are swept together.
pub(crate) const SCAN_GROUPS: usize = 8;

/// The map of a group of rows on a state. `O` is the type of the arrays to write.
pub(crate) trait Scan<O: Output>: Sync {
    /// The state between rows.
    type State: Copy + Send;
    /// The map of a group from the state before it to the state after it.
    type Transfer: Copy;
    /// Whether the scan runs from the last row to the first.
    const REVERSED: bool;

    /// Compute the transfers of the groups of a tile.
    fn transfers<const G: usize>(&self, tile: &ScanTile<O>) -> [Self::Transfer; G];

    /// Compute the state after group `g` from the state before it.
    fn apply<const G: usize>(
        &self,
        tile: &ScanTile<O>,
        g: usize,
        transfer: &Self::Transfer,
        state: Self::State,
    ) -> Self::State;

    /// Write the tile from the state before each group. Returns whether all earlier tiles were finished.
    fn finish<const G: usize>(&self, tile: &mut ScanTile<O>, entering: [Self::State; G]) -> bool;

    /// Tell tiles that wait for a state of this scan that an earlier tile has failed.
    fn give_up(&self);
}

/// Arrays that are divided into tiles.
pub(crate) trait Output: Split {
    /// A copy of the first row, for the previous tile.
    type Head: Copy + Send;

    /// Number of rows.
    fn rows(&self) -> usize;
    /// A copy of the first row, if there is one.
    fn head(&self) -> Option<Self::Head>;
}

impl<T: Copy + Send> Output for &mut [T] {
    type Head = T;

    fn rows(&self) -> usize {
        self.len()
    }

    fn head(&self) -> Option<T> {
        self.first().copied()
    }
}

impl<A: Copy + Send, B: Copy + Send> Output for (&mut [A], &mut [B]) {
    type Head = (A, B);

    fn rows(&self) -> usize {
        self.0.len()
    }

    fn head(&self) -> Option<(A, B)> {
        Some((*self.0.first()?, *self.1.first()?))
    }
}

/// Consecutive rows, in groups of equal length.
pub(crate) struct ScanTile<O: Output> {
    /// The number of the tile in the order of the scan.
    pub index: usize,
    /// The index of its first row.
    pub offset: usize,
    /// The rows of the tile in the output.
    pub output: O,
    /// The row after the tile before it is overwritten; `None` in a reversed scan.
    pub after: Option<O::Head>,
}

impl<O: Output> ScanTile<O> {
    /// Number of rows per group, for G groups.
    pub fn group_rows<const G: usize>(&self) -> usize {
        self.output.rows() / G
    }

    /// The index in the tile of row `step` of group `g`.
    #[inline(always)]
    pub fn at<const G: usize>(&self, reversed: bool, g: usize, step: usize) -> usize {
        let forward = g * self.group_rows::<G>() + step;
        if reversed { self.output.rows() - 1 - forward } else { forward }
    }
}

/// Number of rows of the next tile if `left` rows remain. Full tiles come first, then one of equal groups, then one of fewer rows than
/// groups.
fn tile_rows(rows: usize) -> usize {
    match rows {
        SCAN_TILE_ROWS.. => SCAN_TILE_ROWS,
        SCAN_GROUPS.. => rows / SCAN_GROUPS * SCAN_GROUPS,
        _ => rows,
    }
}

/// The tiles that no thread has taken yet.
struct Queue<O> {
    rest: Option<O>,
    index: usize,
    /// The first remaining row.
    offset: usize,
}

impl<O: Output> Queue<O> {
    fn next(&mut self, reversed: bool) -> Option<ScanTile<O>> {
        let rest = self.rest.take()?;
        let (rows, index) = (tile_rows(rest.rows()), self.index);
        if rows == 0 {
            return None;
        }
        self.index += 1;
        if reversed {
            let offset = rest.rows() - rows;
            let (rest, output) = rest.split(offset);
            self.rest = Some(rest);
            return Some(ScanTile { index, offset, output, after: None });
        }
        let (output, rest) = rest.split(rows);
        let (offset, after) = (self.offset, rest.head());
        self.offset += rows;
        self.rest = Some(rest);
        Some(ScanTile { index, offset, output, after })
    }
}

/// The state that passes from tile to tile.
///
/// Each tile waits for its turn. No tile waits forever: it waits only for tiles that other threads have already taken, and a thread
/// finishes its tile before it takes another one. The first of these tiles waits for none. A thread that panics calls `give_up`.
pub(crate) struct Carry<S> {
    /// The tile whose turn it is.
    turn: AtomicUsize,
    /// The state before this tile. The lock is always free, because only this tile uses it.
    state: Mutex<S>,
    /// Whether a tile has failed, so that no later tile can finish.
    given_up: AtomicBool,
}

/// Number of times that a thread reads a flag before it yields.
const PATIENCE: usize = 200;

impl<S: Copy> Carry<S> {
    pub fn new(start: S) -> Self {
        Self { turn: AtomicUsize::new(0), state: Mutex::new(start), given_up: AtomicBool::new(false) }
    }

    /// Tell all waiting tiles that an earlier tile has failed.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Wait for the state before tile `index`, apply `through` for its G groups and pass the state on. Returns the state before each
    /// group, or `None` if an earlier tile has failed.
    pub fn pass<const G: usize>(&self, index: usize, mut through: impl FnMut(usize, S) -> S) -> Option<[S; G]> {
        let mut looks = 0;
        // Acquire makes the writes of the previous tile visible.
        while self.turn.load(Ordering::Acquire) != index {
            if self.given_up.load(Ordering::Relaxed) {
                return None;
            }
            looks += 1;
            if looks % PATIENCE == 0 { std::thread::yield_now() } else { core::hint::spin_loop() }
        }
        let entering = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            core::array::from_fn(|g| {
                let entering = *state;
                *state = through(g, entering);
                entering
            })
        };
        self.turn.store(index + 1, Ordering::Release);
        Some(entering)
    }
}

/// Calls a function if the thread panics.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Scan all rows of `output` from the state `start`.
pub(crate) fn run<O: Output, S: Scan<O>>(scan: &S, output: O, start: S::State, threads: usize) {
    let threads = tasks(threads, output.rows());
    let carry = Carry::new(start);
    let queue = Mutex::new(Queue { rest: Some(output), index: 0, offset: 0 });
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next(S::REVERSED);
    let one = |tile: &mut ScanTile<O>| match tile.output.rows() {
        SCAN_GROUPS.. => one::<O, S, SCAN_GROUPS>(scan, &carry, tile),
        _ => one::<O, S, 1>(scan, &carry, tile),
    };
    workers(threads, &|| {
        let panicked = OnPanic(|| {
            carry.give_up();
            scan.give_up();
        });
        while take().is_some_and(|mut tile| one(&mut tile)) {}
        core::mem::forget(panicked);
    });
}

/// Process one tile. Returns whether all earlier tiles were finished.
fn one<O: Output, S: Scan<O>, const G: usize>(scan: &S, carry: &Carry<S::State>, tile: &mut ScanTile<O>) -> bool {
    let transfers = scan.transfers::<G>(tile);
    let entering = carry.pass::<G>(tile.index, |g, state| scan.apply::<G>(tile, g, &transfers[g], state));
    entering.is_some_and(|entering| scan.finish(tile, entering))
}

#[cfg(test)]
mod tests {
    use crate::recurrence::{Affine, solve};
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

        fn row(&self, i: usize, _: f64) -> ([f64; 1], f64) {
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
