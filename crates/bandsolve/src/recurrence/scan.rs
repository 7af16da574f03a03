//! The scan under every recurrence: tiles in order, states handed from tile to tile.

use crate::spread::Split;
use crate::threads::workers;
use crate::tuning::{SCAN_TILE_ROWS, tasks};
use core::sync::atomic::{AtomicUsize, Ordering};
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
    fn transfers<const G: usize>(&self, tile: &Tile<O>) -> [Self::Transfer; G];

    /// The state that leaves group `g`, when `state` enters it.
    fn apply<const G: usize>(
        &self,
        tile: &Tile<O>,
        g: usize,
        transfer: &Self::Transfer,
        state: Self::State,
    ) -> Self::State;

    /// Writes the tile, given the state that enters each group.
    fn finish<const G: usize>(&self, tile: &mut Tile<O>, entering: [Self::State; G]);
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
pub(crate) struct Tile<O: Output> {
    /// Number of the tile, in the order in which they are taken.
    pub index: usize,
    /// Index of its first row in the whole.
    pub offset: usize,
    /// Its part of the output.
    pub output: O,
    /// The row after the tile as it was before any was written, unless rows are taken from the last to the first.
    pub after: Option<O::Head>,
}

impl<O: Output> Tile<O> {
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
    fn next(&mut self, reversed: bool) -> Option<Tile<O>> {
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
            return Some(Tile { index, offset, output, after: None });
        }
        let (output, rest) = rest.split(rows);
        let (offset, after) = (self.offset, rest.head());
        self.offset += rows;
        self.rest = Some(rest);
        Some(Tile { index, offset, output, after })
    }
}

/// A state on its way from tile to tile.
///
/// Tiles wait for their turn. No wait is for ever: a tile waits only for tiles that were taken before it, each by a thread that
/// is at work on it and takes no other before it is done; the earliest of them waits for none.
pub(crate) struct Carry<S> {
    /// The tile whose turn it is.
    turn: AtomicUsize,
    /// The state that enters it. The lock is always free: only that tile looks here.
    state: Mutex<S>,
}

/// Looks at a flag before the thread lets others run.
const PATIENCE: usize = 200;

impl<S: Copy> Carry<S> {
    pub fn new(start: S) -> Self {
        Self { turn: AtomicUsize::new(0), state: Mutex::new(start) }
    }

    /// Waits for the state that enters tile `index`, takes it through its G groups and hands it on; returns what enters each.
    pub fn pass<const G: usize>(&self, index: usize, mut through: impl FnMut(usize, S) -> S) -> [S; G] {
        let mut looks = 0;
        // Acquire: what the tile before wrote is seen.
        while self.turn.load(Ordering::Acquire) != index {
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
        entering
    }
}

/// Scans all rows of `output`, from `start`.
pub(crate) fn run<O: Output, S: Scan<O>>(scan: &S, output: O, start: S::State, threads: usize) {
    let threads = tasks(threads, output.rows());
    let carry = Carry::new(start);
    let queue = Mutex::new(Queue { rest: Some(output), index: 0, offset: 0 });
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next(S::REVERSED);
    workers(threads, &|| {
        while let Some(mut tile) = take() {
            if tile.output.rows() >= GROUPS {
                one::<O, S, GROUPS>(scan, &carry, &mut tile);
            } else {
                one::<O, S, 1>(scan, &carry, &mut tile);
            }
        }
    });
}

/// One tile: transfers, the state through them, and the rest.
fn one<O: Output, S: Scan<O>, const G: usize>(scan: &S, carry: &Carry<S::State>, tile: &mut Tile<O>) {
    let transfers = scan.transfers::<G>(tile);
    let entering = carry.pass::<G>(tile.index, |g, state| scan.apply::<G>(tile, g, &transfers[g], state));
    scan.finish(tile, entering);
}
