//! Numbers of other ranks beside one's own: of vectors, and of rows of matrices.

use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::{Expected, Ranks, Sent, room};
use bytemuck::Pod;
use core::ops::Range;

/// A stretch of numbers that another rank needs, or is needed of it.
#[derive(Debug, Clone)]
struct Stretch {
    rank: usize,
    /// On which side of the receiver.
    side: usize,
    /// Among the own numbers of the sender; of the receiver among those of its extended vector.
    range: Range<usize>,
}

/// The numbers left and right of those of each rank, and who owns them.
#[derive(Debug, Clone)]
pub(crate) struct Halo {
    ranks: Ranks,
    ranges: RankRanges,
    /// Numbers on either side.
    width: usize,
    /// Whether the first and the last numbers are neighbours.
    pub ring: bool,
    sends: Vec<Stretch>,
    receives: Vec<Stretch>,
    /// What this rank needs of itself, in a ring: from where, to where.
    copies: Vec<(Range<usize>, Range<usize>)>,
}

/// Tags of halos, by the side of the receiver on which they are.
const HALO: i32 = 10;

/// Numbers of an extended vector: own ones between halos, and as many more behind them.
pub(crate) fn extended_len(own: usize, width: usize) -> usize {
    own.saturating_add(width.max(1).saturating_mul(3))
}

/// The numbers that a rank needs left and right of its own: (side, which, where they stand in its extended vector).
fn needs(ranges: &RankRanges, rank: usize, width: usize, ring: bool) -> Vec<(usize, Range<usize>, usize)> {
    let (own, n) = (ranges.range(rank), ranges.rows());
    if own.is_empty() {
        return Vec::new();
    }
    // In a ring the halo is one row of blocks, which is a whole.
    let left = if ring && own.start == 0 { n - width..n } else { own.start.saturating_sub(width)..own.start };
    let right = if ring && own.end == n { 0..width } else { own.end..(own.end + width).min(n) };
    let left_at = width - left.len();
    vec![(0, left, left_at), (1, right, width + own.len())]
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl Halo {
    /// `width` numbers on either side. In a ring the first and the last `width` numbers are neighbours.
    pub fn new(ranks: Ranks, ranges: RankRanges, (width, ring): (usize, bool)) -> Self {
        let me = ranks.rank();
        let own = ranges.range(me);
        let (mut sends, mut receives, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for (side, needed, at) in needs(&ranges, me, width, ring) {
            for rank in 0..ranges.ranks() {
                let part = meet(&needed, &ranges.range(rank));
                let to = at + part.start.saturating_sub(needed.start)..at + part.end.saturating_sub(needed.start);
                match part.is_empty() {
                    true => {}
                    false if rank == me => copies.push((part.start - own.start..part.end - own.start, to)),
                    false => receives.push(Stretch { rank, side, range: to }),
                }
            }
        }
        for rank in (0..ranges.ranks()).filter(|rank| *rank != me) {
            for (side, needed, _) in needs(&ranges, rank, width, ring) {
                let part = meet(&needed, &own);
                if !part.is_empty() {
                    sends.push(Stretch { rank, side, range: part.start - own.start..part.end - own.start });
                }
            }
        }
        Self { ranks, ranges, width, ring, sends, receives, copies }
    }

    /// The same ranks with `per` numbers in the place of one.
    pub fn wider(&self, per: usize) -> Self {
        let counts = (0..self.ranges.ranks()).map(|rank| self.ranges.range(rank).len() * per);
        Self::new(self.ranks.clone(), RankRanges::of_counts(counts), (self.width * per, self.ring))
    }

    /// The numbers that a rank needs of others: the side, which, and where they stand in its extended vector.
    pub fn needs(&self, rank: usize) -> Vec<(usize, Range<usize>, usize)> {
        needs(&self.ranges, rank, self.width, self.ring)
    }

    /// Messages that a rank sends to fill the halos of others.
    pub fn sends_of(&self, rank: usize) -> u64 {
        let own = self.ranges.range(rank);
        let others = (0..self.ranges.ranks()).filter(|other| *other != rank).flat_map(|other| self.needs(other));
        others.filter(|(_, needed, _)| !meet(needed, &own).is_empty()).count() as u64
    }

    /// The ranks.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn own(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    /// Length of columns of own numbers between those of other ranks.
    pub fn len(&self, columns: usize) -> usize {
        extended_len(self.own(), self.width) * columns
    }

    /// Writes columns of own numbers between zeros.
    pub fn pad<T: Pod>(&self, x: &[T], padded: &mut [T]) {
        let (own, width) = (self.own(), self.width);
        for (column, to) in padded.chunks_exact_mut(extended_len(own, width)).enumerate() {
            to[..width].fill(T::zeroed());
            to[width..width + own].copy_from_slice(&x[column * own..][..own]);
            to[width + own..].fill(T::zeroed());
        }
    }

    /// Columns of own numbers between those of other ranks. Collective.
    pub fn fill<T: Pod>(&self, x: &[T], n_columns: usize) -> Vec<T> {
        let mut to = self.ranks.room(self.len(n_columns));
        self.fill_into(x, &mut to, n_columns);
        to
    }

    /// The same of two arrays of a column each, for which there is room on all ranks. Collective.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn fill_both<T: Pod>(&self, arrays: [&[T]; 2]) -> Result<[Vec<T>; 2], RankError> {
        let rooms = room(self.len(1)).and_then(|first| Ok([first, room(self.len(1))?]));
        let mut filled = agree(&self.ranks, rooms)?;
        filled.iter_mut().zip(arrays).for_each(|(to, x)| self.fill_into(x, to, 1));
        Ok(filled)
    }

    /// Writes columns of own numbers between those of other ranks. Collective.
    pub fn fill_into<T: Pod>(&self, x: &[T], to: &mut [T], n_columns: usize) {
        self.pad(x, to);
        self.bring(x, (to, extended_len(self.own(), self.width)), (n_columns, 0), || ());
    }

    /// The numbers before and behind columns of own numbers, twice the width a column; zeros where there are none. `work` is done while
    /// they travel. Collective.
    pub fn sides<T: Pod>(&self, x: &[T], n_columns: usize, work: impl FnOnce()) -> Vec<T> {
        let mut sides = self.ranks.room(2 * self.width * n_columns);
        self.bring(x, (&mut sides, 2 * self.width), (n_columns, self.own()), work);
        sides
    }

    /// Writes the numbers of other ranks to columns of `len` numbers, in which those behind stand `left_out` before their place. Collective.
    fn bring<T: Pod>(
        &self,
        x: &[T],
        (to, len): (&mut [T], usize),
        (n_columns, left_out): (usize, usize),
        work: impl FnOnce(),
    ) {
        let own = self.own().max(1);
        let place = |range: &Range<usize>| {
            let moved = if range.start < self.width { 0 } else { left_out };
            range.start - moved..range.end - moved
        };
        let columns = |range: &Range<usize>| x.chunks_exact(own).flat_map(|x| &x[range.clone()]).copied().collect();
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
            for (to, x) in to.chunks_exact_mut(len).zip(x.chunks_exact(own)) {
                to[place(part)].copy_from_slice(&x[from.clone()]);
            }
        }
    }
}
