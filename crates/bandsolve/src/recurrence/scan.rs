//! The scan under every recurrence: tiles in order, states handed from tile to tile.

use crate::tuning::{SCAN_TILE_ROWS, tasks};
use bandsolve_kernel::spread::Split;
use bandsolve_kernel::threads::workers;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Groups of rows in a tile that are swept together.
pub(crate) const GROUPS: usize = 8;

/// What is scanned: how groups of rows act on a state.
/// `O` are the arrays that are written.
pub(crate) trait Scan<O: Output>: Sync {
    /// What goes from row to row.
    type State: Copy + Send;
    /// What a group does to a state.
    type Transfer: Copy;
    /// Whether rows are taken from the last to the first.
    const REVERSED: bool;

    /// The transfers of the groups of a tile.
    fn transfers<const G: usize>(&self, tile: &ScanTile<O>) -> [Self::Transfer; G];

    /// The state that leaves group `g`, when `state` enters it.
    fn apply<const G: usize>(
        &self,
        tile: &ScanTile<O>,
        g: usize,
        transfer: &Self::Transfer,
        state: Self::State,
    ) -> Self::State;

    /// Writes the tile, given the state that enters each group; returns whether all tiles before it were done.
    fn finish<const G: usize>(&self, tile: &mut ScanTile<O>, entering: [Self::State; G]) -> bool;

    /// Lets tiles that wait for a state of the scan's own know that a tile before them will not be done.
    fn give_up(&self);
}

/// Arrays that tiles are cut from.
pub(crate) trait Output: Split {
    /// What a neighbouring tile may know of the first row.
    type Head: Copy + Send;

    /// Rows.
    fn rows(&self) -> usize;
    /// The first row as it stands, if there is one.
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
    /// Number of the tile, in the order in which they are taken.
    pub index: usize,
    /// Index of its first row in the whole.
    pub offset: usize,
    /// Its part of the output.
    pub output: O,
    /// The row after the tile as it was before any was written, unless rows are taken from the last to the first.
    pub after: Option<O::Head>,
}

impl<O: Output> ScanTile<O> {
    /// Rows of each of G groups.
    pub fn group_rows<const G: usize>(&self) -> usize {
        self.output.rows() / G
    }

    /// Where in the tile the `step`-th row of group `g` stands.
    #[inline(always)]
    pub fn at<const G: usize>(&self, reversed: bool, g: usize, step: usize) -> usize {
        let forward = g * self.group_rows::<G>() + step;
        if reversed { self.output.rows() - 1 - forward } else { forward }
    }
}

/// Rows of the next tile when `left` are left: full tiles, then one of equal groups, then fewer rows than groups.
fn tile_rows(left: usize) -> usize {
    match left {
        SCAN_TILE_ROWS.. => SCAN_TILE_ROWS,
        GROUPS.. => left / GROUPS * GROUPS,
        _ => left,
    }
}

/// The tiles that no thread has taken yet.
struct Queue<O> {
    rest: Option<O>,
    index: usize,
    /// Row at which the rest begins.
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

/// A state on its way from tile to tile.
///
/// Tiles wait for their turn. No wait is for ever: a tile waits only for tiles that were taken before it, each by a thread that
/// is at work on it and takes no other before it is done; the earliest of them waits for none. A thread that panics gives up.
pub(crate) struct Carry<S> {
    /// The tile whose turn it is.
    turn: AtomicUsize,
    /// The state that enters it. The lock is always free: only that tile looks here.
    state: Mutex<S>,
    /// A tile will not be done, nor those after it.
    given_up: AtomicBool,
}

/// Looks at a flag before the thread lets others run.
const PATIENCE: usize = 200;

impl<S: Copy> Carry<S> {
    pub fn new(start: S) -> Self {
        Self { turn: AtomicUsize::new(0), state: Mutex::new(start), given_up: AtomicBool::new(false) }
    }

    /// Tells all who wait that they wait in vain.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Waits for the state that enters tile `index`, takes it through its G groups and hands it on; returns what enters each.
    /// `None` if a tile before it was given up.
    pub fn pass<const G: usize>(&self, index: usize, mut through: impl FnMut(usize, S) -> S) -> Option<[S; G]> {
        let mut looks = 0;
        // Acquire: what the tile before wrote is seen.
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

/// What a thread does on its way out by a panic.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Scans all rows of `output`, from `start`.
pub(crate) fn run<O: Output, S: Scan<O>>(scan: &S, output: O, start: S::State, threads: usize) {
    let threads = tasks(threads, output.rows());
    let carry = Carry::new(start);
    let queue = Mutex::new(Queue { rest: Some(output), index: 0, offset: 0 });
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next(S::REVERSED);
    let one = |tile: &mut ScanTile<O>| match tile.output.rows() {
        GROUPS.. => one::<O, S, GROUPS>(scan, &carry, tile),
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

/// One tile: transfers, the state through them, and the rest. Returns whether all tiles before it were done.
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

    /// y = y₋₁/2 + 1, but the `deadly`-th look at row `bad` panics.
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
        // A row is looked at for its transfer, for what leaves its group, and as it is written: before the first state is passed
        // on, between the two, and after both.
        for deadly in [1, 2, 3] {
            let (done, end) = channel();
            // Threads that wait for ever end with the process.
            std::thread::spawn(move || {
                let recurrence = Deadly { bad: 3 * SCAN_TILE_ROWS + 5, deadly, looks: AtomicUsize::new(0) };
                let mut y = vec![0.0; 8 * MIN_ROWS_PER_THREAD];
                let solved = catch_unwind(AssertUnwindSafe(|| solve(&recurrence, [0.0], 4, &mut y)));
                _ = done.send(solved.map_err(|panic| panic.downcast_ref::<&str>() == Some(&"on purpose")));
            });
            let found =
                end.recv_timeout(Duration::from_secs(20)).expect("threads wait for a tile that will not be done");
            assert_eq!(found, Err(true), "the panic reaches the caller");
        }
    }
}
