//! The division of a system into partitions, and of its columns among threads.

use bandsolve_kernel::Scalar;
use bandsolve_kernel::sweep::MAX_RHS;
use bandsolve_kernel::tile_runs::{Columns, ColumnsMut, Span};
use core::ops::Range;

/// The partitions of one level: `full` partitions of `m` rows, then one of `tail` rows (0 if there is none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    pub m: usize,
    pub full: usize,
    tail: usize,
}

impl Cut {
    /// Divide `n ≥ 2` rows. A last partition of fewer than `least` rows is merged with the one before.
    pub fn new(n: usize, m: usize, least: usize) -> Self {
        match (n / m, n % m) {
            (full, 0) => Self { m, full, tail: 0 },
            (full, tail) if tail < least && full > 0 => Self { m, full: full - 1, tail: m + tail },
            (full, tail) => Self { m, full, tail },
        }
    }

    pub fn partitions(&self) -> usize {
        self.full + usize::from(self.tail > 0)
    }

    /// Number of rows of the coarse system.
    pub fn coarse(&self) -> usize {
        2 * self.partitions()
    }

    /// First row of partition `p`.
    pub fn start(&self, p: usize) -> usize {
        p * self.m
    }

    /// The row after the last row of partition `p`.
    pub fn end(&self, p: usize) -> usize {
        if p < self.full { self.start(p + 1) } else { self.rows() }
    }

    /// The partitions `parts` as those of a system of their own.
    pub fn section(&self, parts: &Range<usize>) -> Self {
        let tail = if parts.end > self.full { self.tail } else { 0 };
        Self { m: self.m, full: parts.end.min(self.full) - parts.start, tail }
    }

    pub fn rows(&self) -> usize {
        self.full * self.m + self.tail
    }

    /// Number of rows of the longest partition.
    pub fn longest(&self) -> usize {
        self.tail.max(if self.full > 0 { self.m } else { 0 })
    }

    /// Number of rows of the longest partition on all levels of the recursion that starts with `n` rows.
    pub fn longest_of_all(n: usize, cut: impl Fn(usize) -> Self) -> usize {
        let (mut n, mut longest) = (n, 0);
        loop {
            let cut = cut(n);
            longest = longest.max(cut.longest());
            n = cut.coarse();
            if n == 2 {
                return longest;
            }
        }
    }

    /// The longest run of similar tiles from partition `part` on: full tiles of `lanes` partitions, then the remaining full partitions,
    /// then the last partition if its length differs.
    pub fn span(&self, part: usize, end: usize, lanes: usize) -> Span {
        let full = end.min(self.full).saturating_sub(part);
        let (first, m) = (self.start(part), self.m);
        match full / lanes {
            _ if full == 0 => Span { first, m: self.tail, lanes: 1, tiles: 1 },
            0 => Span { first, m, lanes: full, tiles: 1 },
            tiles => Span { first, m, lanes, tiles },
        }
    }
}

pub(crate) fn columns<T>(all: &[T], n_rhs: usize) -> Columns<'_, T> {
    let n = all.len() / n_rhs;
    core::array::from_fn(|r| if r < n_rhs { &all[r * n..(r + 1) * n] } else { &[] })
}

pub(crate) fn columns_mut<T>(all: &mut [T], n_rhs: usize) -> ColumnsMut<'_, T> {
    let n = all.len() / n_rhs;
    let mut rest = all.chunks_exact_mut(n.max(1));
    core::array::from_fn(|_| rest.next().unwrap_or_default())
}

pub(crate) fn split_columns<'a, T>(columns: ColumnsMut<'a, T>, mid: usize) -> (ColumnsMut<'a, T>, ColumnsMut<'a, T>) {
    let mut tails: ColumnsMut<'a, T> = Default::default();
    let mut tail = tails.iter_mut();
    let heads = columns.map(|column| {
        let (a, b) = column.split_at_mut(mid.min(column.len()));
        *tail.next().expect("as many tails as columns") = b;
        a
    });
    (heads, tails)
}

/// The part of each column in `rows`.
pub(crate) fn cut_out<'a, T>(columns: &Columns<'a, T>, rows: Range<usize>, n_rhs: usize) -> Columns<'a, T> {
    let mut cut: Columns<'a, T> = [&[]; MAX_RHS];
    for r in 0..n_rhs {
        cut[r] = &columns[r][rows.clone()];
    }
    cut
}

/// The part of each column in `rows`, to be written. Empty columns stay empty.
pub(crate) fn cut_out_mut<'a, T>(columns: &'a mut ColumnsMut<'_, T>, rows: Range<usize>) -> ColumnsMut<'a, T> {
    columns.each_mut().map(|column| if column.is_empty() { &mut [][..] } else { &mut column[rows.clone()] })
}

/// The partition at which to halve `parts`, so that each half has whole tiles and its share of threads.
pub(crate) fn middle(parts: &Range<usize>, lanes: usize, threads: usize) -> usize {
    let tiles = parts.len().div_ceil(lanes);
    (parts.start + tiles * (threads / 2) / threads * lanes).min(parts.end)
}

pub(crate) const ALIGN: usize = 64;

/// A cheap lower bound of the largest modulus.
pub(crate) fn size_below<T: Scalar>(x: &[T]) -> T::Real {
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    x.iter().fold(T::Real::ZERO, |max, x| larger(larger(max, Scalar::abs1(x.re())), Scalar::abs1(x.im())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_every_row_once() {
        for n in 2..200 {
            for m in 3..40 {
                for (least, longest) in [(2, m + 1), (m, 2 * m - 1)] {
                    let cut = Cut::new(n, m.min(n), least);
                    assert_eq!(cut.rows(), n);
                    assert!(cut.tail == 0 || (2..=longest).contains(&cut.tail));
                    assert!(cut.tail == 0 || n < m || cut.tail >= least);
                    assert_eq!(cut.coarse(), 2 * cut.partitions());
                }
            }
        }
    }
}
