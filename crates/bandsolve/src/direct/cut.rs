//! Where a system is cut into partitions.

use crate::kernel::run::Span;

/// How one level is cut: `full` partitions of `m` rows, then one of `tail` rows (0: none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub m: usize,
    pub full: usize,
    tail: usize,
}

impl Cut {
    /// Cuts `n ≥ 2` rows. No partition has fewer than `least` rows: what is left over joins the last.
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

    /// Rows of the coarse system.
    pub fn coarse(&self) -> usize {
        2 * self.partitions()
    }

    /// First row of partition `p`.
    pub fn start(&self, p: usize) -> usize {
        p * self.m
    }

    pub fn rows(&self) -> usize {
        self.full * self.m + self.tail
    }

    /// Rows of the longest partition.
    pub fn longest(&self) -> usize {
        self.tail.max(if self.full > 0 { self.m } else { 0 })
    }

    /// The longest run of tiles of `lanes` partitions from partition `part` on: full tiles, what is left of full partitions,
    /// the partition that is shorter or longer than the others.
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
