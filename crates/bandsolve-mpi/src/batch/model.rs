//! The cost model of batches over ranks. Messages and bytes are exact, operations are estimates.

use super::interface::InterfaceLayout;
use super::matrix::DistributedBatch;
use crate::model::{AGREEMENT, NUMBER, RankCost};
use crate::ranges::RankRanges;
use bandsolve::Scalar;

/// Cost model of a batch of tridiagonal systems over ranks: messages, bytes and operations.
///
/// Messages and bytes are exact. Operations are estimates.
///
/// # Examples
/// ```
/// use bandsolve::Layout;
/// use bandsolve_mpi::cost::BatchCostModel;
/// use bandsolve_mpi::{DistributedBatch, on_threads};
/// // 10 systems on 2 ranks with 50 rows each.
/// on_threads(2, |ranks| {
///     let (off, diag) = ([-1.0; 500], [2.5; 500]);
///     let a = DistributedBatch::new(ranks, (10, Layout::Interleaved), [&off, &diag, &off]).unwrap();
///     let before = ranks.traffic();
///     a.factor().unwrap();
///     assert_eq!(ranks.traffic() - before, BatchCostModel::of(&a).factor(ranks.rank()).traffic);
/// });
/// ```
#[derive(Debug, Clone)]
pub struct BatchCostModel {
    /// The rows of each rank.
    pub ranges: RankRanges,
    /// Number of systems.
    pub count: usize,
    /// Bytes per matrix entry.
    pub scalar: usize,
    /// Whether the systems are periodic.
    pub periodic: bool,
}

impl BatchCostModel {
    /// Create the cost model of a batch.
    pub fn of<T: Scalar>(a: &DistributedBatch<T>) -> Self {
        let (ranges, count, periodic) = (a.ranges().clone(), a.count(), a.is_periodic());
        Self { ranges, count, scalar: size_of::<T>(), periodic }
    }

    /// Get the cost of the factorization on one rank: each rank sends interface rows to the ranks that solve them.
    pub fn factor(&self, rank: usize) -> RankCost {
        let (layout, mut cost) = (self.layout(), RankCost::default());
        self.send_all(&mut cost, rank, &layout.lens(rank, 3)[0]);
        cost.gather(2, AGREEMENT);
        cost.flops = 12.0 * self.local_rows(rank);
        cost
    }

    /// Get the cost of a solve on one rank, without refinement.
    pub fn solve(&self, rank: usize, n_rhs: usize) -> RankCost {
        let (layout, mut cost) = (self.layout(), RankCost::default());
        // The ranks agree on the number of columns.
        cost.gather(1, AGREEMENT + NUMBER);
        self.send_all(&mut cost, rank, &layout.lens(rank, n_rhs)[0]);
        self.send_all(&mut cost, rank, &layout.lens_back(rank, n_rhs)[0]);
        // The errors of the columns, and whether x of a column is large.
        cost.gather(u64::from(self.ranges.ranks() > 1 && n_rhs > 0), NUMBER * (n_rhs + 1) as u64);
        let part = (layout.rows.rows() * layout.parts.range(rank).len()) as f64;
        cost.flops = (20.0 * self.local_rows(rank) + 20.0 * part) * n_rhs as f64;
        cost
    }

    fn layout(&self) -> InterfaceLayout {
        InterfaceLayout::new(&self.ranges, self.count, self.periodic)
    }

    /// Get the total number of rows of all systems on a rank.
    fn local_rows(&self, rank: usize) -> f64 {
        (self.ranges.range(rank).len() * self.count) as f64
    }

    fn send_all(&self, cost: &mut RankCost, me: usize, lens: &[usize]) {
        for (_, len) in lens.iter().enumerate().filter(|(rank, len)| *rank != me && **len > 0) {
            cost.send(1, (len * self.scalar) as u64);
        }
    }
}
