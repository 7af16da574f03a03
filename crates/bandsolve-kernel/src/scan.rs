//! The scan of all recurrences: tiles in a fixed order, with a state that passes from tile to tile.

use crate::threads::workers;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The work of a scan on the tiles of an array of `T`.
pub trait Scan<T>: Sync {
    /// Whether the scan runs from the last row to the first.
    const REVERSED: bool;

    /// Number of rows of the next tile if `left` > 0 rows remain.
    fn tile_rows(&self, left: usize) -> usize;

    /// Process one tile. Returns whether all earlier tiles were finished.
    fn tile(&self, tile: &mut ScanTile<T>) -> bool;

    /// Tell tiles that wait for a state of this scan that an earlier tile has failed.
    fn give_up(&self);
}

/// Consecutive rows.
pub struct ScanTile<'x, T> {
    /// The number of the tile in the order of the scan.
    pub index: usize,
    /// The index of its first row.
    pub offset: usize,
    /// The rows of the tile in the array.
    pub output: &'x mut [T],
    /// The row after the tile before it is overwritten; `None` in a reversed scan and after the last row.
    pub after: Option<T>,
}

/// The tiles that no thread has taken yet.
struct Queue<'x, T> {
    rest: &'x mut [T],
    index: usize,
    /// The first remaining row.
    offset: usize,
}

impl<'x, T: Copy> Queue<'x, T> {
    fn next<S: Scan<T>>(&mut self, scan: &S) -> Option<ScanTile<'x, T>> {
        let rest = core::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let (rows, index) = (scan.tile_rows(rest.len()), self.index);
        self.index += 1;
        if S::REVERSED {
            let offset = rest.len() - rows;
            let (rest, output) = rest.split_at_mut(offset);
            self.rest = rest;
            return Some(ScanTile { index, offset, output, after: None });
        }
        let (output, rest) = rest.split_at_mut(rows);
        let (offset, after) = (self.offset, rest.first().copied());
        self.offset += rows;
        self.rest = rest;
        Some(ScanTile { index, offset, output, after })
    }
}

/// The state that passes from tile to tile.
///
/// Each tile waits for its turn. No tile waits forever: it waits only for tiles that other threads have already taken, and a thread
/// finishes its tile before it takes another one. The first of these tiles waits for none. A thread that panics calls `give_up`.
///
/// The alignment keeps other states, which other threads write, out of its cache lines.
#[repr(align(128))]
pub struct Carry<S> {
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

    /// Wait for the state before tile `index`, apply `through` for each of its groups and pass the state on. `entering` receives the
    /// state before each group. Returns whether all earlier tiles were finished.
    pub fn pass(&self, index: usize, entering: &mut [S], mut through: impl FnMut(usize, S) -> S) -> bool {
        let mut looks = 0;
        // Acquire makes the writes of the previous tile visible.
        while self.turn.load(Ordering::Acquire) != index {
            if self.given_up.load(Ordering::Relaxed) {
                return false;
            }
            looks += 1;
            if looks % PATIENCE == 0 { std::thread::yield_now() } else { core::hint::spin_loop() }
        }
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            for (g, entering) in entering.iter_mut().enumerate() {
                *entering = *state;
                *state = through(g, *entering);
            }
        }
        self.turn.store(index + 1, Ordering::Release);
        true
    }
}

/// The states of a linear recurrence that pass from tile to tile.
pub struct CarryPair<S> {
    /// As the transfers give them.
    pub states: Carry<S>,
    /// The same states, as the recurrence gives them row by row.
    pub borders: Carry<S>,
}

impl<S: Copy> CarryPair<S> {
    pub fn new(start: S) -> Self {
        Self { states: Carry::new(start), borders: Carry::new(start) }
    }

    /// [`Carry::give_up`] for both.
    pub fn give_up(&self) {
        self.states.give_up();
        self.borders.give_up();
    }
}

/// Calls a function if the thread panics.
struct OnPanic<F: Fn()>(F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Scan all rows of `output` on `threads` threads.
pub fn run<T: Copy + Send, S: Scan<T>>(scan: &S, output: &mut [T], threads: usize) {
    let queue = Mutex::new(Queue { rest: output, index: 0, offset: 0 });
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next(scan);
    workers(threads, &|| {
        let panicked = OnPanic(|| scan.give_up());
        while take().is_some_and(|mut tile| scan.tile(&mut tile)) {}
        core::mem::forget(panicked);
    });
}
