//! What batches over ranks cost: messages and bytes as they are counted, operations as estimates.

use super::DistributedBatch;
use super::interface::InterfaceLayout;
use crate::model::{AGREEMENT, NUMBER, NetworkFigures, RankCost, seconds};
use crate::ranges::RankRanges;
use bandsolve::Scalar;

/// Costs of a batch of tridiagonal systems over ranks.
#[derive(Debug, Clone)]
pub struct BatchCostModel {
    /// The rows of each rank.
    pub ranges: RankRanges,
    /// Number of systems.
    pub count: usize,
    /// Bytes of a number.
    pub scalar: usize,
    /// Whether systems are rings.
    pub periodic: bool,
}

impl BatchCostModel {
    /// Of this batch.
    pub fn of<T: Scalar>(a: &DistributedBatch<T>) -> Self {
        let (ranges, count, periodic) = (a.ranges().clone(), a.count(), a.is_periodic());
        Self { ranges, count, scalar: size_of::<T>(), periodic }
    }

    /// Factors: interface rows to the ranks that solve them.
    pub fn factor(&self, rank: usize) -> RankCost {
        let (layout, mut cost) = (self.layout(), RankCost::default());
        self.send_all(&mut cost, rank, &layout.lens(rank, 3)[0]);
        cost.gather(2, AGREEMENT);
        cost.flops = 12.0 * self.own(rank);
        cost
    }

    /// A solve that is measured once, as it is where no refinement is needed.
    pub fn solve(&self, rank: usize, n_rhs: usize) -> RankCost {
        let (layout, mut cost) = (self.layout(), RankCost::default());
        // Lengths and numbers are checked.
        cost.gather(1, AGREEMENT + NUMBER);
        self.send_all(&mut cost, rank, &layout.lens(rank, n_rhs)[0]);
        self.send_all(&mut cost, rank, &layout.lens_back(rank, n_rhs)[0]);
        // Errors of the columns, and whether x of one is large.
        cost.gather(u64::from(self.ranges.ranks() > 1 && n_rhs > 0), NUMBER * (n_rhs + 1) as u64);
        let part = (layout.rows.rows() * layout.parts.range(rank).len()) as f64;
        cost.flops = (20.0 * self.own(rank) + 20.0 * part) * n_rhs as f64;
        cost
    }

    /// Seconds of the slowest rank, as of [`CostModel::seconds`](crate::CostModel::seconds).
    pub fn seconds(&self, cost: impl Fn(usize) -> RankCost, figures: NetworkFigures) -> f64 {
        seconds(self.ranges.ranks(), cost, figures)
    }

    fn layout(&self) -> InterfaceLayout {
        InterfaceLayout::new(&self.ranges, self.count, self.periodic)
    }

    /// Own rows of all systems.
    fn own(&self, rank: usize) -> f64 {
        (self.ranges.range(rank).len() * self.count) as f64
    }

    fn send_all(&self, cost: &mut RankCost, me: usize, lens: &[usize]) {
        for (_, len) in lens.iter().enumerate().filter(|(rank, len)| *rank != me && **len > 0) {
            cost.send(1, (len * self.scalar) as u64);
        }
    }
}
