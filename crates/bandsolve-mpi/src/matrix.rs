//! A matrix of which every rank holds consecutive rows: unknowns of other ranks beside one's own, products, errors.
//!
//! Each rank keeps its rows as a matrix of its own, which is square: rows of zeros stand for the unknowns of other ranks that its
//! rows hold (the halo), and for one group of unknowns more, in which no row has an entry. There stands ‖x‖∞ of all ranks while
//! errors are measured, so that the library's own η of these rows is theirs in the whole system.

use crate::ranges::RankRanges;
use crate::ranks::{Expected, Ranks, Sent};
use bandsolve::{Factor, RealScalar, Scalar};
use bandsolve_kernel::exact::ScaledNorm;
use core::ops::Range;

/// The rows of one rank, as a matrix between halos.
pub(crate) trait OwnRows<T: Scalar>: Send + Sync + core::fmt::Debug {
    /// A·x, for one column.
    fn apply(&self, x: &[T]) -> bandsolve::Result<Vec<T>>;

    /// η of the rows.
    fn error(&self, d: &[T], x: &[T]) -> f64;

    /// d − A·x in twice the working precision, and η measured with it.
    fn residual(&self, d: &[T], x: &[T], r: &mut [T]) -> f64;

    /// All entries, row by row (of blocks).
    fn entries(&self) -> Vec<T>;

    /// Factors of the whole matrix by the pivoted method, from the entries of all ranks.
    fn factor_whole(&self, entries: Vec<T>) -> bandsolve::Result<Box<dyn Factor<T>>>;

    /// Factors of the square matrix of own rows and own unknowns.
    fn factor_own(&self) -> bandsolve::Result<Box<dyn Factor<T>>>;
}

/// A stretch of unknowns that another rank needs, or is needed of it.
#[derive(Debug, Clone)]
struct Stretch {
    rank: usize,
    /// On which side of the receiver.
    side: usize,
    /// Among the own unknowns of the sender; of the receiver among those of its extended vector.
    range: Range<usize>,
}

/// A matrix over ranks.
#[derive(Debug)]
pub(crate) struct DistributedMatrix<T: Scalar> {
    pub ranks: Ranks,
    /// Of unknowns, not of blocks.
    pub ranges: RankRanges,
    /// Unknowns of the halo on either side.
    pub halo: usize,
    /// Whether the first and the last unknowns are neighbours.
    ring: bool,
    sends: Vec<Stretch>,
    receives: Vec<Stretch>,
    /// What this rank needs of itself, in a ring: from where, to where.
    copies: Vec<(Range<usize>, Range<usize>)>,
    pub rows: Box<dyn OwnRows<T>>,
}

/// Tags of halos, by the side of the receiver on which they are.
const HALO: i32 = 10;

/// The unknowns that a rank needs left and right of its own: (side, which, where they stand in its extended vector).
fn needs(ranges: &RankRanges, rank: usize, halo: usize, ring: bool) -> Vec<(usize, Range<usize>, usize)> {
    let (own, n) = (ranges.range(rank), ranges.rows());
    if own.is_empty() {
        return Vec::new();
    }
    // In a ring the halo is one row of blocks, which is a whole.
    let left = if ring && own.start == 0 { n - halo..n } else { own.start.saturating_sub(halo)..own.start };
    let right = if ring && own.end == n { 0..halo } else { own.end..(own.end + halo).min(n) };
    let left_at = halo - left.len();
    vec![(0, left, left_at), (1, right, halo + own.len())]
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

impl<T: Scalar> DistributedMatrix<T> {
    /// `ring`: the first and the last stretch of `halo` unknowns are neighbours.
    pub fn new(ranks: Ranks, ranges: RankRanges, halo: (usize, bool), rows: Box<dyn OwnRows<T>>) -> Self {
        let (me, (halo, ring)) = (ranks.rank(), halo);
        let own = ranges.range(me);
        let (mut sends, mut receives, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for (side, needed, at) in needs(&ranges, me, halo, ring) {
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
            for (side, needed, _) in needs(&ranges, rank, halo, ring) {
                let part = meet(&needed, &own);
                if !part.is_empty() {
                    sends.push(Stretch { rank, side, range: part.start - own.start..part.end - own.start });
                }
            }
        }
        Self { ranks, ranges, halo, ring, sends, receives, copies, rows }
    }

    /// The unknowns that a rank needs of others: the side, which, and where they stand in its extended vector.
    pub fn needs(&self, rank: usize) -> Vec<(usize, Range<usize>, usize)> {
        needs(&self.ranges, rank, self.halo, self.ring)
    }

    /// Unknowns of this rank.
    pub fn own(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    /// Unknowns of the matrix that this rank keeps.
    pub fn extended(&self) -> usize {
        extended_len(self.own(), self.halo)
    }

    /// Where its own unknowns stand among them.
    pub fn inside(&self) -> Range<usize> {
        self.halo..self.halo + self.own()
    }

    /// Own unknowns between zeros.
    pub fn padded(&self, x: &[T], n_rhs: usize) -> Vec<T> {
        let mut padded = vec![T::ZERO; self.extended() * n_rhs];
        if self.own() > 0 {
            for (to, x) in padded.chunks_exact_mut(self.extended()).zip(x.chunks_exact(self.own())) {
                to[self.inside()].copy_from_slice(x);
            }
        }
        padded
    }

    /// Own unknowns between those of other ranks. Collective.
    pub fn with_halo(&self, x: &[T], n_rhs: usize) -> Vec<T> {
        let mut to = self.padded(x, n_rhs);
        let (own, len) = (self.own().max(1), self.extended());
        let columns = |range: &Range<usize>| x.chunks_exact(own).flat_map(|x| &x[range.clone()]).copied().collect();
        let sent: Vec<Sent<T>> = self
            .sends
            .iter()
            .map(|part| Sent { to: part.rank, tag: HALO + part.side as i32, values: columns(&part.range) })
            .collect();
        let expected: Vec<Expected> = self
            .receives
            .iter()
            .map(|part| Expected { from: part.rank, tag: HALO + part.side as i32, len: part.range.len() * n_rhs })
            .collect();
        let came = self.ranks.exchange(&sent, &expected);
        for (part, values) in self.receives.iter().zip(came) {
            for (to, values) in to.chunks_exact_mut(len).zip(values.chunks_exact(part.range.len())) {
                to[part.range.clone()].copy_from_slice(values);
            }
        }
        for (from, part) in &self.copies {
            for (to, x) in to.chunks_exact_mut(len).zip(x.chunks_exact(own)) {
                to[part.clone()].copy_from_slice(&x[from.clone()]);
            }
        }
        to
    }

    /// A·x of own rows. Collective; fails on this rank alone.
    pub fn apply(&self, x: &[T], n_rhs: usize) -> bandsolve::Result<Vec<T>> {
        let mut y = Vec::with_capacity(x.len());
        for x in self.with_halo(x, n_rhs).chunks_exact(self.extended()) {
            y.extend_from_slice(&self.rows.apply(x)?[self.inside()]);
        }
        Ok(y)
    }

    /// Own unknowns with halos, and ‖x‖∞ of all ranks behind them. Collective.
    fn to_measure(&self, x: &[T], n_rhs: usize) -> Vec<T> {
        let mut extended = self.with_halo(x, n_rhs);
        let (own, len) = (self.own().max(1), self.extended());
        let mut norms = vec![0.0; n_rhs];
        for (norm, x) in norms.iter_mut().zip(x.chunks_exact(own)) {
            *norm = if x.iter().all(|x| Scalar::is_finite(*x)) { ScaledNorm::of(x).plain } else { f64::NAN };
        }
        self.ranks.max(&mut norms);
        for (x, norm) in extended.chunks_exact_mut(len).zip(norms) {
            x[len - 1] = T::from_real(T::Real::from_f64(norm));
        }
        extended
    }

    /// η of every column; `d` is [`padded`](Self::padded). Collective.
    pub fn errors(&self, d: &[T], x: &[T], n_rhs: usize) -> Vec<f64> {
        let (x, len) = (self.to_measure(x, n_rhs), self.extended());
        let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
        let mut errors: Vec<f64> = columns.map(|(d, x)| self.rows.error(d, x)).collect();
        self.ranks.max(&mut errors);
        errors
    }

    /// The same with the residuals of own rows, formed in twice the working precision. Collective.
    pub fn residuals(&self, d: &[T], x: &[T], r: &mut [T]) -> Vec<f64> {
        let len = self.extended();
        let x = self.to_measure(x, d.len() / len);
        let (mut whole, own) = (vec![T::ZERO; len], self.own());
        let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
        let mut errors = Vec::with_capacity(d.len() / len);
        for (k, (d, x)) in columns.enumerate() {
            errors.push(self.rows.residual(d, x, &mut whole));
            r[k * own..(k + 1) * own].copy_from_slice(&whole[self.inside()]);
        }
        self.ranks.max(&mut errors);
        errors
    }
}

/// Unknowns of the matrix that a rank with so many keeps: halos, and a group for the norm.
pub(crate) fn extended_len(own: usize, halo: usize) -> usize {
    own + 3 * halo.max(1)
}
