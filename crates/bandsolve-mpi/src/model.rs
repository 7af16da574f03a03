//! The cost model of solves over ranks. Messages and bytes are exact, operations are estimates.

use crate::blocks::DistributedBlocks;
use crate::coarse::{RankCoarse, block_rows, is_regular};
use crate::inertia::between;
use crate::ranges::RankRanges;
use crate::ranks::Traffic;
use bandsolve::{Method, Scalar};

/// Bytes of a gather in which ranks agree on an error.
pub(crate) const AGREEMENT: u64 = 32;
pub(crate) const NUMBER: u64 = 8;

/// Cost of an operation on one rank.
///
/// # Examples
/// ```
/// use bandsolve::Method;
/// use bandsolve_mpi::cost::{CostModel, RankCost};
/// use bandsolve_mpi::{DistributedBlocks, on_threads};
/// // The messages and bytes of the model are exact.
/// on_threads(2, |ranks| {
///     let a = DistributedBlocks::new(ranks, 1, [&[-1.0; 50], &[2.5; 50], &[-1.0; 50]]).unwrap();
///     let cost: RankCost = CostModel::of(&a, Method::Bcyclic).factor(ranks.rank());
///     let before = ranks.traffic();
///     a.factor_by(Method::Bcyclic).unwrap();
///     assert_eq!(ranks.traffic() - before, cost.traffic);
/// });
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankCost {
    /// Messages and bytes that the rank sends.
    pub traffic: Traffic,
    /// Floating-point operations, approximately.
    pub flops: f64,
}

/// Cost model of a block tridiagonal system over ranks: messages, bytes and operations.
///
/// Messages and bytes are exact. Operations are estimates.
///
/// # Examples
/// ```
/// use bandsolve::Method;
/// use bandsolve_mpi::cost::CostModel;
/// use bandsolve_mpi::{RankCoarse, RankRanges};
/// // 4096 ranks with 128 block rows each, blocks of 64 × 64 numbers of type f64.
/// let ranges = RankRanges::even(128 * 4096, 4096);
/// let (block, scalar, periodic, method) = (64, 8, false, Method::Bcyclic);
/// let model = CostModel { ranges, block, scalar, periodic, method, coarse: RankCoarse::Auto };
/// // Factors move far more bytes than a solve with one right-hand side.
/// assert!(model.factor(0).traffic.bytes > 10 * model.solve(0, 1).traffic.bytes);
/// ```
#[derive(Debug, Clone)]
pub struct CostModel {
    /// The block rows of each rank.
    pub ranges: RankRanges,
    /// Number of rows per block.
    pub block: usize,
    /// Bytes per matrix entry.
    pub scalar: usize,
    /// Whether the matrix is periodic.
    pub periodic: bool,
    /// The method: `Bcyclic`, or any other method for SPIKE.
    pub method: Method,
    /// How SPIKE solves its coarse system. Use `Truncated` if the spikes decay.
    pub coarse: RankCoarse,
}

/// How SPIKE solves the coarse system.
enum CoarseCost {
    Gathered,
    Pairs,
    /// By BCYCLIC with blocks of 2k rows, which has its own model.
    Cyclic(Box<CostModel>),
}

impl CostModel {
    /// Create the cost model of a matrix and a method.
    pub fn of<T: Scalar>(a: &DistributedBlocks<T>, method: Method) -> Self {
        let (ranges, block, periodic) = (a.ranges().clone(), a.block(), a.is_periodic());
        let coarse = if method == Method::SpikeTruncated { RankCoarse::Truncated } else { RankCoarse::Auto };
        Self { ranges, block, scalar: size_of::<T>(), periodic, method, coarse }
    }

    fn coarse(&self) -> CoarseCost {
        let ranges = block_rows(&self.ranges, 1);
        let unknowns = ranges.rows() * 2 * self.block;
        match is_regular(&self.ranges, 1) {
            true if self.coarse == RankCoarse::Truncated => CoarseCost::Pairs,
            true if self.coarse.is_cyclic(unknowns) => CoarseCost::Cyclic(Box::new(Self {
                ranges,
                block: 2 * self.block,
                method: Method::Bcyclic,
                ..self.clone()
            })),
            _ => CoarseCost::Gathered,
        }
    }

    /// Get the cost of the factorization on one rank.
    pub fn factor(&self, rank: usize) -> RankCost {
        let (b, several) = (self.block as f64, u64::from(self.ranges.ranks() > 1));
        let square = (self.block * self.block * self.scalar) as u64;
        let mut cost = RankCost::default();
        if self.method == Method::Bcyclic {
            for level in self.levels(rank) {
                cost.send(level.gone_sends, 2 * square);
                cost.flops += level.gone * (2.0 / 3.0 + 4.0) * b.powi(3) + level.kept * 8.0 * b.powi(3);
            }
            cost.flops += if self.owns_first(rank) { 2.0 / 3.0 * b.powi(3) } else { 0.0 };
            cost.gather(1, AGREEMENT + 2 * NUMBER);
            cost.gather(1, AGREEMENT + NUMBER);
        } else {
            // The model assumes that the spikes do not decay.
            let spikes = self.beside(rank).into_iter().flatten().count() as f64;
            cost.flops = self.ranges.range(rank).len() as f64 * (14.0 / 3.0 + 8.0 * spikes) * b.powi(3);
            cost.gather(1, AGREEMENT + 2 * NUMBER);
            cost.gather(1, AGREEMENT + NUMBER);
            if self.coarse == RankCoarse::Truncated && is_regular(&self.ranges, 1) {
                cost.gather(several, NUMBER);
            }
            match self.coarse() {
                CoarseCost::Gathered => {
                    cost.flops += 32.0 * self.ranges.ranks() as f64 * b.powi(3);
                    cost.gather(1, 4 * square);
                }
                CoarseCost::Pairs => {
                    cost.flops += 32.0 * b.powi(3);
                    cost.send(self.halo_sends(rank), square);
                }
                CoarseCost::Cyclic(model) => cost.add(model.factor(rank)),
            }
        }
        cost
    }

    /// Get the cost of a solve on one rank, without refinement.
    pub fn solve(&self, rank: usize, n_rhs: usize) -> RankCost {
        self.solve_with(rank, n_rhs, 2)
    }

    /// Get the cost of a solve with Aᵀ or Aᴴ on one rank, once the rows of Aᵀ exist. SPIKE gathers twice as many bytes as in
    /// [`solve`](Self::solve).
    pub fn solve_transposed(&self, rank: usize, n_rhs: usize) -> RankCost {
        self.solve_with(rank, n_rhs, 4)
    }

    /// Get the cost of [`eigenvalues_below`](DistributedBlocks::eigenvalues_below) on one rank.
    ///
    /// The cost does not include the shifted matrix. It assumes that every column has a pivot.
    pub fn count(&self, rank: usize) -> RankCost {
        let (b, size, several) = (self.block as f64, self.ranges.ranks(), u64::from(self.ranges.ranks() > 1));
        let inner = self.ranges.range(rank).len() as f64;
        let mut cost = RankCost { flops: 19.0 / 3.0 * inner * b.powi(3), ..RankCost::default() };
        cost.gather(1, AGREEMENT + 2 * NUMBER);
        cost.gather(several, 2 * NUMBER);
        cost.gather(1, AGREEMENT + NUMBER);
        let mut step = 1;
        while step < size && rank.is_multiple_of(2 * step) {
            let joins = rank + step < size && !self.ranges.range(rank + step).is_empty();
            cost.flops += if joins { 19.0 / 3.0 * b.powi(3) } else { 0.0 };
            step *= 2;
        }
        if step < size {
            // The rows that remain of this rank and the ranks that it has joined.
            let last = (rank + step).min(size) - 1;
            let joined = self.ranges.range(rank).start..self.ranges.range(last).end;
            let order = between(&self.ranges, joined).into_iter().sum::<usize>() * self.block;
            cost.send(1, 4 * NUMBER);
            cost.send(u64::from(order > 0), (order * order * self.scalar) as u64);
        }
        cost
    }

    /// Cost of the sweeps of BCYCLIC.
    fn sweeps(&self, rank: usize, n_rhs: usize) -> RankCost {
        let (b, columns, mut cost) = (self.block as f64, n_rhs as f64, RankCost::default());
        for level in self.levels(rank) {
            cost.send(level.gone_sends + level.kept_sends, (self.block * n_rhs * self.scalar) as u64);
            cost.flops += (6.0 * level.gone + 4.0 * level.kept) * b * b * columns;
        }
        cost.flops += if self.owns_first(rank) { 2.0 * b * b * columns } else { 0.0 };
        cost
    }

    /// Get the cost of a solve. `gathered` is the number of blocks per column that a rank contributes to the coarse system of SPIKE.
    fn solve_with(&self, rank: usize, n_rhs: usize, gathered: u64) -> RankCost {
        let (b, columns, several) = (self.block as f64, n_rhs as f64, u64::from(self.ranges.ranks() > 1));
        let chunk = (self.block * n_rhs * self.scalar) as u64;
        let mut cost = RankCost::default();
        // The ranks agree on the number of columns.
        cost.gather(1, AGREEMENT + NUMBER);
        if self.method == Method::Bcyclic {
            cost.add(self.sweeps(rank, n_rhs));
        } else {
            cost.flops = self.ranges.range(rank).len() as f64 * 12.0 * b * b * columns;
            match self.coarse() {
                CoarseCost::Gathered => {
                    cost.gather(1, gathered * chunk);
                    cost.flops += 24.0 * self.ranges.ranks() as f64 * b * b * columns;
                }
                CoarseCost::Pairs => {
                    cost.send(gathered / 2 * self.halo_sends(rank), chunk);
                    cost.flops += 16.0 * b * b * columns;
                }
                CoarseCost::Cyclic(model) => {
                    cost.send(self.halo_sends(rank), chunk);
                    cost.add(model.sweeps(rank, n_rhs));
                }
            }
        }
        // The halos of x, ‖x‖∞ and η.
        cost.send(self.halo_sends(rank), chunk);
        // The gather of η includes the upper bound for the reciprocal condition number.
        cost.gather(several, NUMBER * n_rhs as u64);
        cost.gather(several, 2 * NUMBER * n_rhs as u64);
        cost.flops += 6.0 * self.ranges.range(rank).len() as f64 * b * b * columns;
        cost
    }

    fn owns_first(&self, rank: usize) -> bool {
        self.ranges.range(rank).contains(&0)
    }

    /// The block rows before and after the rows of a rank.
    fn beside(&self, rank: usize) -> [Option<usize>; 2] {
        let (local_rows, rows) = (self.ranges.range(rank), self.ranges.rows());
        if local_rows.is_empty() {
            return [None; 2];
        }
        let wrapped = |ring: usize| self.periodic.then_some(ring);
        [
            local_rows.start.checked_sub(1).or(wrapped(rows - 1)),
            Some(local_rows.end).filter(|end| *end < rows).or(wrapped(0)),
        ]
    }

    /// Number of messages with the unknowns at the ends of the rows of a rank, for products.
    fn halo_sends(&self, rank: usize) -> u64 {
        let local_rows = self.ranges.range(rank);
        self.beside(rank).into_iter().flatten().filter(|row| !local_rows.contains(row)).count() as u64
    }

    /// Get the work of a rank at each level of BCYCLIC.
    fn levels(&self, rank: usize) -> Vec<LevelCost> {
        let (mut levels, mut rows, mut ring, mut shift) = (Vec::new(), self.ranges.rows(), self.periodic, 0);
        let owned = self.ranges.range(rank);
        while rows > 1 {
            ring &= rows > 2;
            let local_rows = owned.start.div_ceil(1 << shift)..owned.end.div_ceil(1 << shift);
            let mut level = LevelCost::default();
            for place in local_rows.clone() {
                let gone = place % 2 == 1;
                let ends = [(place == local_rows.start, place == 0), (place + 1 == local_rows.end, place + 1 == rows)];
                let wraps = ring && rows % 2 == 0 && local_rows.len() < rows;
                let sends = ends.iter().filter(|(last, end)| *last && (!*end || wraps)).count() as u64;
                if gone {
                    (level.gone, level.gone_sends) = (level.gone + 1.0, level.gone_sends + sends);
                } else {
                    (level.kept, level.kept_sends) = (level.kept + 1.0, level.kept_sends + sends);
                }
            }
            levels.push(level);
            (rows, shift) = (rows.div_ceil(2), shift + 1);
        }
        levels
    }
}

/// The numbers of eliminated and remaining rows of one rank at a level, and of their messages.
#[derive(Debug, Clone, Copy, Default)]
struct LevelCost {
    gone: f64,
    gone_sends: u64,
    kept: f64,
    kept_sends: u64,
}

impl RankCost {
    fn add(&mut self, other: Self) {
        let (sum, more) = (&mut self.traffic, other.traffic);
        (sum.messages, sum.bytes) = (sum.messages + more.messages, sum.bytes + more.bytes);
        (sum.gathers, sum.gathered_bytes) = (sum.gathers + more.gathers, sum.gathered_bytes + more.gathered_bytes);
        self.flops += other.flops;
    }

    pub(crate) fn send(&mut self, messages: u64, bytes: u64) {
        self.traffic.messages += messages;
        self.traffic.bytes += messages * bytes;
    }

    pub(crate) fn gather(&mut self, times: u64, bytes: u64) {
        self.traffic.gathers += times;
        self.traffic.gathered_bytes += times * bytes;
    }
}
