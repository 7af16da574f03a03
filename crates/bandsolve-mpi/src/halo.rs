//! Halos: copies of the numbers of neighbouring ranks, for vectors and for rows of matrices.

use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::{Expected, Ranks, Sent, room};
use bytemuck::Pod;
use core::ops::Range;

/// Consecutive numbers that this rank sends to another rank, or receives from it.
#[derive(Debug, Clone)]
struct Stretch {
    rank: usize,
    /// The side of the receiver: 0 before its numbers, 1 after them.
    side: usize,
    /// The range in the numbers of the sender, or in the extended vector of the receiver.
    range: Range<usize>,
}

/// The halos of this rank, and the messages that fill halos.
#[derive(Debug, Clone)]
pub(crate) struct Halo {
    ranks: Ranks,
    ranges: RankRanges,
    /// Number of halo numbers on each side.
    width: usize,
    /// Whether the first and the last numbers are neighbours.
    pub ring: bool,
    sends: Vec<Stretch>,
    receives: Vec<Stretch>,
    /// Ranges that this rank copies to its own halo in a ring: source, destination.
    copies: Vec<(Range<usize>, Range<usize>)>,
}

/// Message tag of halos. The side of the receiver is added.
const HALO: i32 = 10;

/// Get the length of an extended vector: the numbers of this rank between two halos, and `width` more numbers at the end.
pub(crate) fn extended_len(local_len: usize, width: usize) -> usize {
    local_len.saturating_add(width.max(1).saturating_mul(3))
}

/// List the numbers that a rank needs on each side: the side, the numbers, and their position in its extended vector.
fn needs(ranges: &RankRanges, rank: usize, width: usize, ring: bool) -> Vec<(usize, Range<usize>, usize)> {
    let (local, n) = (ranges.range(rank), ranges.rows());
    if local.is_empty() {
        return Vec::new();
    }
    // In a ring, the halo is one whole block row.
    let before = if ring && local.start == 0 { n - width..n } else { local.start.saturating_sub(width)..local.start };
    let behind = if ring && local.end == n { 0..width } else { local.end..(local.end + width).min(n) };
    let before_at = width - before.len();
    vec![(0, before, before_at), (1, behind, width + local.len())]
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Halo {
    /// Create halos of `width` numbers on each side. In a ring, the first and the last `width` numbers are neighbours.
    pub fn new(ranks: Ranks, ranges: RankRanges, (width, ring): (usize, bool)) -> Self {
        let me = ranks.rank();
        let local = ranges.range(me);
        let (mut sends, mut receives, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for (side, needed, at) in needs(&ranges, me, width, ring) {
            for rank in 0..ranges.ranks() {
                let part = meet(&needed, &ranges.range(rank));
                let to = at + part.start.saturating_sub(needed.start)..at + part.end.saturating_sub(needed.start);
                match part.is_empty() {
                    true => {}
                    false if rank == me => copies.push((part.start - local.start..part.end - local.start, to)),
                    false => receives.push(Stretch { rank, side, range: to }),
                }
            }
        }
        for rank in (0..ranges.ranks()).filter(|rank| *rank != me) {
            for (side, needed, _) in needs(&ranges, rank, width, ring) {
                let part = meet(&needed, &local);
                if !part.is_empty() {
                    sends.push(Stretch { rank, side, range: part.start - local.start..part.end - local.start });
                }
            }
        }
        Self { ranks, ranges, width, ring, sends, receives, copies }
    }

    /// Create halos for `per` numbers instead of one.
    pub fn wider(&self, per: usize) -> Self {
        let counts = (0..self.ranges.ranks()).map(|rank| self.ranges.range(rank).len() * per);
        Self::new(self.ranks.clone(), RankRanges::of_counts(counts), (self.width * per, self.ring))
    }

    /// List the numbers that a rank needs: the side, the numbers, and their position in its extended vector.
    pub fn needs(&self, rank: usize) -> Vec<(usize, Range<usize>, usize)> {
        needs(&self.ranges, rank, self.width, self.ring)
    }

    /// Get the number of messages that a rank sends to fill the halos of other ranks.
    pub fn sends_of(&self, rank: usize) -> u64 {
        let local = self.ranges.range(rank);
        let others = (0..self.ranges.ranks()).filter(|other| *other != rank).flat_map(|other| self.needs(other));
        others.filter(|(_, needed, _)| !meet(needed, &local).is_empty()).count() as u64
    }

    /// Get the ranks.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn local_len(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    /// Get the length of an array of columns with halos.
    pub fn len(&self, columns: usize) -> usize {
        extended_len(self.local_len(), self.width) * columns
    }

    /// Write columns with zeros as halos.
    pub fn pad<T: Pod>(&self, x: &[T], padded: &mut [T]) {
        let (local_len, width) = (self.local_len(), self.width);
        for (column, to) in padded.chunks_exact_mut(extended_len(local_len, width)).enumerate() {
            to[..width].fill(T::zeroed());
            to[width..width + local_len].copy_from_slice(&x[column * local_len..][..local_len]);
            to[width + local_len..].fill(T::zeroed());
        }
    }

    /// Return columns with halos from other ranks. Collective.
    pub fn fill<T: Pod>(&self, x: &[T], n_columns: usize) -> Vec<T> {
        let mut to = self.ranks.room(self.len(n_columns));
        self.fill_into(x, &mut to, n_columns);
        to
    }

    /// Return two columns with halos. All ranks first agree that they have memory for them. Collective.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn fill_both<T: Pod>(&self, arrays: [&[T]; 2]) -> Result<[Vec<T>; 2], RankError> {
        let rooms = room(self.len(1)).and_then(|first| Ok([first, room(self.len(1))?]));
        let mut filled = agree(&self.ranks, rooms)?;
        filled.iter_mut().zip(arrays).for_each(|(to, x)| self.fill_into(x, to, 1));
        Ok(filled)
    }

    /// Write columns with halos from other ranks. Collective.
    pub fn fill_into<T: Pod>(&self, x: &[T], to: &mut [T], n_columns: usize) {
        self.pad(x, to);
        self.bring(x, (to, extended_len(self.local_len(), self.width)), (n_columns, 0), || ());
    }

    /// Return only the halos: 2·width numbers per column, with zeros if there is no neighbour. Run `work` during the communication. Collective.
    pub fn sides<T: Pod>(&self, x: &[T], n_columns: usize, work: impl FnOnce()) -> Vec<T> {
        let mut sides = self.ranks.room(2 * self.width * n_columns);
        self.bring(x, (&mut sides, 2 * self.width), (n_columns, self.local_len()), work);
        sides
    }

    /// Write the numbers of other ranks to columns of `len` numbers. The halo after the rows of this rank starts `left_out` numbers earlier than in an
    /// extended vector. Collective.
    fn bring<T: Pod>(
        &self,
        x: &[T],
        (to, len): (&mut [T], usize),
        (n_columns, left_out): (usize, usize),
        work: impl FnOnce(),
    ) {
        let local_len = self.local_len().max(1);
        let place = |range: &Range<usize>| {
            let moved = if range.start < self.width { 0 } else { left_out };
            range.start - moved..range.end - moved
        };
        let columns =
            |range: &Range<usize>| x.chunks_exact(local_len).flat_map(|x| &x[range.clone()]).copied().collect();
        let sent: Vec<Sent<T>> = self
            .sends
            .iter()
            .map(|part| Sent { to: part.rank, tag: HALO + part.side as i32, values: columns(&part.range) })
            .collect();
        let expected: Vec<Expected> = self
            .receives
            .iter()
            .map(|part| Expected { from: part.rank, tag: HALO + part.side as i32, len: part.range.len() * n_columns })
            .collect();
        let came = self.ranks.exchange_during(&sent, &expected, work);
        for (part, values) in self.receives.iter().zip(came) {
            for (to, values) in to.chunks_exact_mut(len).zip(values.chunks_exact(part.range.len())) {
                to[place(&part.range)].copy_from_slice(values);
            }
        }
        for (from, part) in &self.copies {
            for (to, x) in to.chunks_exact_mut(len).zip(x.chunks_exact(local_len)) {
                to[place(part)].copy_from_slice(&x[from.clone()]);
            }
        }
    }
}
