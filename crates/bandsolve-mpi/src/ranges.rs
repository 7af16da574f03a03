//! The distribution of rows over ranks.

use core::ops::Range;

/// The consecutive rows that each rank owns, in the order of the ranks. A rank may own no rows.
///
/// # Examples
/// ```
/// use bandsolve_mpi::RankRanges;
/// let ranges = RankRanges::of_counts([3, 0, 2]);
/// assert_eq!((ranges.rows(), ranges.range(2), ranges.owner(4)), (5, 3..5, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankRanges {
    /// First row of each rank, and the number of rows.
    starts: Vec<usize>,
}

impl RankRanges {
    /// Distribute `rows` evenly over ranks. The first `rows mod ranks` ranks own one row more than the others.
    ///
    /// # Source
    /// Lamas Daviña, Román (2018), Algorithm 3.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_mpi::RankRanges;
    /// let ranges = RankRanges::even(13, 5);
    /// assert_eq!((ranges.range(0), ranges.range(4), ranges.owner(9)), (0..3, 11..13, 3));
    /// ```
    pub fn even(rows: usize, ranks: usize) -> Self {
        let (each, more) = (rows / ranks, rows % ranks);
        Self::of_counts((0..ranks).map(|rank| each + usize::from(rank < more)))
    }

    /// Create ranges from the number of rows of each rank.
    pub fn of_counts(counts: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        for count in counts {
            starts.push(starts[starts.len() - 1] + count);
        }
        Self { starts }
    }

    /// Get the total number of rows.
    pub fn rows(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    /// Get the number of ranks.
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// Get the rows of a rank.
    pub fn range(&self, rank: usize) -> Range<usize> {
        self.starts[rank]..self.starts[rank + 1]
    }

    /// Get the rank that owns a row.
    pub fn owner(&self, row: usize) -> usize {
        debug_assert!(row < self.rows());
        self.starts.partition_point(|start| *start <= row) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_owner() {
        for counts in [vec![3, 0, 0, 2], vec![0, 1], vec![0, 0], vec![5]] {
            let ranges = RankRanges::of_counts(counts.clone());
            assert_eq!(ranges.rows(), counts.iter().sum::<usize>());
            for row in 0..ranges.rows() {
                assert!(ranges.range(ranges.owner(row)).contains(&row), "{counts:?}, row {row}");
            }
        }
        assert_eq!(RankRanges::even(3, 7), RankRanges::of_counts([1, 1, 1, 0, 0, 0, 0]));
    }
}
