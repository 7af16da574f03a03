//! The coarse system of SPIKE: the equations between the interface unknowns of all ranks.
//!
//! tᵣ are the first k unknowns of rank r, and bᵣ the last k. W_t, W_b, V_t and V_b are the rows of its spikes there. If each rank has
//! at least 2k rows, uᵣ = (tᵣ, bᵣ) are the block unknowns of a block tridiagonal system:
//!
//! ```text
//! [0 W_t]             [V_t 0]
//! [0 W_b]·uᵣ₋₁ + uᵣ + [V_b 0]·uᵣ₊₁ = gᵣ
//! ```
//!
//! Without W_b and V_t, the system splits into small systems, one for each pair of neighbouring ranks r and r + 1:
//!
//! ```text
//! [ I   V_b] [bᵣ  ]
//! [W_t   I ]·[tᵣ₊₁] = g
//! ```
//!
//! # Cost
//! `Gathered`: each rank sends 4k² numbers to all ranks to factor, and 2k per right-hand side to solve (4k for Aᵀ). `Truncated`: each rank sends k²
//! numbers to each neighbour to factor, and k per right-hand side to solve (2k for Aᵀ). `Cyclic`: BCYCLIC with one block of 2k rows per rank, and k
//! numbers per right-hand side to each neighbour.
//!
//! # Source
//! E. Polizzi, A. H. Sameh, A parallel hybrid banded system solver: the SPIKE algorithm, Parallel Comput. 32 (2006), 177–194,
//! doi:10.1016/j.parco.2005.07.005.

use crate::agreement::RankError;
use crate::bcyclic::RankBcyclic;
use crate::factors::RankSolver;
use crate::halo::Halo;
use crate::matrix::DistributedMatrix;
use crate::ranges::RankRanges;
use bandsolve::distributed::ChainRow;
use bandsolve::dyn_stack::PodStack;
use bandsolve::memory::{reserved, zeroed};
use bandsolve::{Banded, Factor, Method, Op, Plan, RealScalar, Scalar};
use core::ops::Range;

/// Maximum number of interface unknowns for which each rank solves the coarse system.
const GATHERED_MOST: usize = 1024;

/// How SPIKE over ranks solves the coarse system, the equations between the ranks.
///
/// The coarse system has 2k unknowns per rank. k is the larger bandwidth, or the number of rows per block.
///
/// # Examples
/// ```
/// use bandsolve::Method;
/// use bandsolve_mpi::{DistributedBlocks, RankCoarse, on_threads};
/// // The spikes of this matrix decay, so neighbours solve the coarse system in pairs.
/// let methods = on_threads(3, |ranks| {
///     let a = DistributedBlocks::new(ranks, 1, [&[1.0; 100], &[4.0; 100], &[1.0; 100]])?;
///     Ok::<_, bandsolve_mpi::RankError>(a.factor_spike(RankCoarse::Truncated)?.method())
/// });
/// assert_eq!(methods[0], Ok(Method::SpikeTruncated));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RankCoarse {
    /// `Gathered` for at most 1024 unknowns, otherwise `Cyclic`.
    #[default]
    Auto,
    /// Each rank gathers the whole coarse system and solves it with the pivoted method.
    Gathered,
    /// BCYCLIC over the ranks, with blocks of 2k rows. If a rank has at least one row, but fewer than 2k rows, the choice is
    /// `Gathered`.
    Cyclic,
    /// Each pair of neighbours solves its part of the coarse system, without a gather. The method drops the parts of the spikes
    /// that couple different interfaces, if these parts are at most ε. If they are larger, or if a rank has at least one row,
    /// but fewer than 2k rows, the choice is that of `Auto`.
    Truncated,
}

/// The interface unknowns of all ranks, in the order of the ranks.
#[derive(Debug)]
pub(crate) struct Interface {
    /// Indices in the whole system.
    pub unknowns: Vec<usize>,
    /// The range of interface unknowns of each rank.
    pub of_rank: Vec<Range<usize>>,
}

impl Interface {
    pub fn of<T: Scalar>(matrix: &DistributedMatrix<T>) -> Self {
        let (mut unknowns, mut of_rank) = (Vec::new(), Vec::new());
        for rank in 0..matrix.ranges.ranks() {
            // tᵣ and bᵣ: the first and the last k rows of the rank. If it has fewer than 2k rows, bᵣ has only those that are not in tᵣ.
            let (rows, first) = (matrix.ranges.range(rank), unknowns.len());
            let split = rows.len().min(matrix.halo);
            unknowns.extend(rows.start..rows.start + split);
            unknowns.extend(rows.end - split.min(rows.len() - split)..rows.end);
            of_rank.push(first..unknowns.len());
        }
        Self { unknowns, of_rank }
    }

    pub fn len(&self) -> usize {
        self.unknowns.len()
    }

    /// Get the positions of interface unknowns, from their indices in the whole system.
    fn places(&self, unknowns: Range<usize>) -> Range<usize> {
        let first = self.unknowns.partition_point(|unknown| *unknown < unknowns.start);
        debug_assert!(unknowns.is_empty() || self.unknowns[first] == unknowns.start);
        first..first + unknowns.len()
    }

    /// Copy the interface rows of a rank from columns of `n` rows to columns of `most` rows.
    pub fn tips<T: Scalar>(&self, rank: usize, first: usize, (columns, n): (&[T], usize), most: usize) -> Vec<T> {
        let rows = &self.unknowns[self.of_rank[rank].clone()];
        let count = columns.len().checked_div(n).unwrap_or(0);
        let mut tips = vec![T::ZERO; count * most];
        for (to, column) in tips.chunks_exact_mut(most.max(1)).zip(columns.chunks_exact(n.max(1))) {
            to.iter_mut().zip(rows).for_each(|(to, row)| *to = column[row - first]);
        }
        tips
    }

    /// Call `visit` for each spike of a rank, with its number and the position of its interface unknown.
    fn each_spike<T: Scalar>(&self, matrix: &DistributedMatrix<T>, rank: usize, mut visit: impl FnMut(usize, usize)) {
        for (side, beside, at) in matrix.needs(rank) {
            let before = if side == 0 { 0 } else { matrix.ranges.range(rank).len() };
            self.places(beside).enumerate().for_each(|(k, place)| visit(at + k - before, place));
        }
    }
}

/// Factors of the coarse system. Columns of the interface unknowns of this rank have 2k rows.
pub(crate) enum CoarseSystem<T: Scalar> {
    /// Factors of the whole system on each rank, or `None` without unknowns.
    Gathered(Option<Box<dyn Factor<T>>>),
    Cyclic(RankBcyclic<T>, Halo),
    /// Factors for the pairs with the ranks before and after, if these exist.
    Pairs([Option<Box<dyn Factor<T>>>; 2], Halo),
}

/// Whether the coarse system is block tridiagonal: each rank has no rows, or at least 2·`halo` rows.
pub(crate) fn is_regular(ranges: &RankRanges, halo: usize) -> bool {
    halo > 0 && (0..ranges.ranks()).map(|rank| ranges.range(rank).len()).all(|len| len == 0 || len >= 2 * halo)
}

impl RankCoarse {
    /// Whether BCYCLIC solves a regular coarse system with this number of unknowns, if not in pairs.
    pub(crate) fn is_cyclic(self, unknowns: usize) -> bool {
        self == Self::Cyclic || self != Self::Gathered && unknowns > GATHERED_MOST
    }
}

/// Create ranges with `each` numbers for every rank that has rows.
pub(crate) fn block_rows(ranges: &RankRanges, each: usize) -> RankRanges {
    RankRanges::of_counts((0..ranges.ranks()).map(|rank| if ranges.range(rank).is_empty() { 0 } else { each }))
}

/// The input for a coarse system.
pub(crate) struct CoarseParts<'a, T: Scalar> {
    pub matrix: &'a DistributedMatrix<T>,
    pub interface: &'a Interface,
    /// Interface rows of the spikes of this rank: 2k columns of 2k rows.
    pub tips: Vec<T>,
}

impl<T: Scalar> CoarseParts<'_, T> {
    /// Factor the coarse system. The result is `Ok(Err)` if it is singular on this rank. Collective.
    pub fn factor(mut self, way: RankCoarse) -> Result<bandsolve::Result<CoarseSystem<T>>, RankError> {
        let (ranges, k) = (&self.matrix.ranges, self.matrix.halo);
        self.tips.resize(4 * k * k, T::ZERO);
        // Pairs need spikes that decay, BCYCLIC a block tridiagonal system. The gathered system needs neither.
        Ok(match is_regular(ranges, k) {
            true if way == RankCoarse::Truncated && self.decays() => self.pairs(),
            true if way.is_cyclic(self.interface.len()) => Ok(self.cyclic()?),
            _ => self.gathered().map(CoarseSystem::Gathered),
        })
    }

    /// Create halos for the interface unknowns: 2k numbers per rank.
    fn halo(&self) -> Halo {
        let (k, ring) = (self.matrix.halo, self.matrix.is_ring());
        Halo::new(self.matrix.ranks.clone(), block_rows(&self.matrix.ranges, 2 * k), (k, ring))
    }

    /// Whether there are ranks before and after this one.
    fn neighbours(&self) -> [bool; 2] {
        let needed = self.matrix.needs(self.matrix.ranks.rank());
        [0, 1].map(|side| needed.iter().any(|(of, which, _)| *of == side && !which.is_empty()))
    }

    /// Whether W_b and V_t of all ranks, which couple different interfaces, are at most ε. Collective.
    fn decays(&self) -> bool {
        let k = self.matrix.halo;
        let mut largest = [0.0];
        if self.neighbours() == [true; 2] {
            // The largest row sum of |W_b| (rows k to 2k − 1 of the first k spikes) and |V_t| (rows 0 to k − 1 of the last k)
            for (row, spikes) in (k..2 * k).map(|row| (row, 0..k)).chain((0..k).map(|row| (row, k..2 * k))) {
                let sum = spikes.map(|spike| self.tips[spike * 2 * k + row].abs1().to_f64()).sum::<f64>();
                largest[0] = if sum > largest[0] || sum.is_nan() { sum } else { largest[0] };
            }
        }
        self.matrix.ranks.max(&mut largest);
        largest[0] <= T::Real::EPSILON.to_f64()
    }

    /// Factor the systems of the pairs of neighbours. Collective.
    fn pairs(&self) -> bandsolve::Result<CoarseSystem<T>> {
        let (k, halo) = (self.matrix.halo, self.halo());
        // Column j of W_t, followed by column j of V_b. A rank without rows has none.
        let columns = if self.matrix.local_rows() == 0 { 0 } else { k };
        let mut inner = Vec::with_capacity(columns * 2 * k);
        for j in 0..columns {
            inner.extend_from_slice(&self.tips[j * 2 * k..][..k]);
            inner.extend_from_slice(&self.tips[(k + j) * 2 * k + k..][..k]);
        }
        let around = halo.fill(&inner, k);
        let len = around.len() / k;
        let pair = |above: usize, below: usize| -> bandsolve::Result<Box<dyn Factor<T>>> {
            // [I V_b; W_t I] as a banded matrix: V_b is in the upper block row, W_t in the lower one.
            let (width, high) = (2 * k - 1, 4 * k - 1);
            let mut bands = zeroed(2 * k * high)?;
            let mut put = |i: usize, j: usize, v: T| bands[j * high + width + i - j] = v;
            (0..2 * k).for_each(|i| put(i, i, T::ONE));
            for (i, j) in (0..k).flat_map(|i| (0..k).map(move |j| (i, j))) {
                put(i, k + j, around[j * len + above + i]);
                put(k + i, j, around[j * len + below + i]);
            }
            let pair = Banded::from_vec(2 * k, width, width, bands)?;
            Ok(Box::new(Plan::new(pair.shape()).method(Method::Pivoted).factor_owned(pair)?))
        };
        // `around` contains V_b of the rank before, W_t, V_b, and W_t of the rank after.
        let [before, behind] = self.neighbours();
        let left = if before { Some(pair(0, k)?) } else { None };
        let right = if behind { Some(pair(2 * k, 3 * k)?) } else { None };
        Ok(CoarseSystem::Pairs([left, right], halo))
    }

    /// Factor the coarse system by BCYCLIC. Collective.
    fn cyclic(&self) -> Result<CoarseSystem<T>, RankError> {
        let (k, n, ring) = (self.matrix.halo, 2 * self.matrix.halo, self.matrix.is_ring());
        // The block of uᵣ₋₁ is [0 W], that of uᵣ₊₁ is [V 0], and the diagonal block is I. Each has 2k rows and columns.
        let block = |columns: usize, spikes: Range<usize>| -> bandsolve::Result<Vec<T>> {
            let mut block = zeroed(n * n)?;
            block[columns * n..][..k * n].copy_from_slice(&self.tips[spikes.start * n..spikes.end * n]);
            Ok(block)
        };
        let local_row = || {
            let [before, behind] = self.neighbours();
            let mut diag = zeroed(n * n)?;
            diag.iter_mut().step_by(n + 1).for_each(|v| *v = T::ONE);
            let left = if before { Some(block(k, 0..k)?) } else { None };
            let right = if behind { Some(block(0, k..n)?) } else { None };
            Ok((vec![ChainRow { left, diag, right }], vec![T::Real::ONE; n]))
        };
        let chain = if self.matrix.local_rows() > 0 { local_row() } else { Ok((Vec::new(), Vec::new())) };
        let ranges = block_rows(&self.matrix.ranges, 1);
        let solver = RankBcyclic::factor(&self.matrix.ranks, &ranges, chain, (n, ring, false))?;
        Ok(CoarseSystem::Cyclic(solver, self.halo()))
    }

    /// Gather the coarse system on all ranks and factor it on each rank. Collective.
    fn gathered(&self) -> bandsolve::Result<Option<Box<dyn Factor<T>>>> {
        let (matrix, interface, most) = (self.matrix, self.interface, 2 * self.matrix.halo);
        let all = matrix.ranks.all_gather(&self.tips);
        if interface.len() == 0 {
            return Ok(None);
        }
        // I + the spikes, as entries (row, column, value) in the order of the interface unknowns
        let mut entries = reserved(interface.len() * most)?;
        for (rank, rows) in interface.of_rank.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let spikes = &all[rank * most * most..][..most * most];
            interface.each_spike(matrix, rank, |spike, column| {
                entries.extend(rows.clone().enumerate().map(|(i, row)| (row, column, spikes[spike * most + i])));
            });
        }
        let n = interface.len();
        // The same as a banded matrix, as wide as its entries
        let width = entries.iter().map(|(i, j, _)| i.abs_diff(*j)).max().unwrap_or(0);
        let mut bands = zeroed(n * (2 * width + 1))?;
        let place = |i: usize, j: usize| j * (2 * width + 1) + width + i - j;
        (0..n).for_each(|i| bands[place(i, i)] += T::ONE);
        entries.into_iter().for_each(|(i, j, v)| bands[place(i, j)] += v);
        let coarse = Banded::from_vec(n, width, width, bands)?;
        Ok(Some(Box::new(Plan::new(coarse.shape()).method(Method::Pivoted).factor_owned(coarse)?)))
    }
}

/// Get the number of words of scratch memory for a solve.
pub(crate) fn words_of<T: Scalar>(factors: &dyn Factor<T>, columns: usize) -> usize {
    factors.solve_in_place_scratch(columns).unaligned_bytes_required().div_ceil(size_of::<f64>())
}

/// Compute x ← A⁻¹x, or A⁻ᵀx, with scratch memory of the matrix. If the solve fails, set x to NaN, which the verification detects.
pub(crate) fn divide<T: Scalar>(matrix: &DistributedMatrix<T>, factors: &dyn Factor<T>, transposed: bool, x: &mut [T]) {
    let op = if transposed { Op::Transpose } else { Op::Plain };
    let columns = x.len().checked_div(factors.shape().n()).unwrap_or(0);
    let mut memory = matrix.memory::<f64>(words_of(factors, columns));
    if factors.solve_in_place_with(op, x, PodStack::new(bytemuck::cast_slice_mut(&mut memory))).is_err() {
        x.fill(T::from_real(T::Real::NAN));
    }
}

impl<T: Scalar> CoarseSystem<T> {
    /// Whether the coarse system is singular, so that there are no factors.
    pub fn is_singular(&self) -> bool {
        matches!(self, Self::Cyclic(solver, _) if solver.is_singular())
    }

    /// Compute the interface unknowns before and after this rank, 2k per column, from the interface rows of E⁻¹d of this rank. Collective.
    pub fn solve(
        &self,
        matrix: &DistributedMatrix<T>,
        interface: &Interface,
        mut tips: Vec<T>,
        n_rhs: usize,
    ) -> Vec<T> {
        let (k, most, rank) = (matrix.halo, 2 * matrix.halo, matrix.ranks.rank());
        let mut beside: Vec<T> = matrix.ranks.room(most * n_rhs);
        match self {
            Self::Gathered(coarse) => {
                // Gather g of all ranks, solve S·u = g, and pick the unknowns beside this rank.
                tips.resize(most * n_rhs, T::ZERO);
                let all = matrix.ranks.all_gather(&tips);
                let Some(coarse) = coarse else { return beside };
                // The interface unknowns of all ranks, column by column.
                let mut tips = Vec::with_capacity(interface.len() * n_rhs);
                for column in 0..n_rhs {
                    for (rank, rows) in interface.of_rank.iter().enumerate() {
                        tips.extend_from_slice(&all[(rank * n_rhs + column) * most..][..rows.len()]);
                    }
                }
                divide(matrix, &**coarse, false, &mut tips);
                for (beside, tips) in beside.chunks_exact_mut(most).zip(tips.chunks_exact(interface.len())) {
                    interface.each_spike(matrix, rank, |spike, place| beside[spike] = tips[place]);
                }
            }
            Self::Cyclic(solver, halo) => {
                // Solve S·u = g in place: tips = uᵣ. Then bᵣ₋₁ and tᵣ₊₁ come from the neighbours.
                solver.solve(false, &mut tips, n_rhs);
                let around = halo.fill(&tips, n_rhs);
                let len = around.len() / n_rhs.max(1);
                let columns = beside.chunks_exact_mut(most).zip(around.chunks_exact(len.max(1)));
                for (beside, around) in columns.filter(|_| matrix.local_rows() > 0) {
                    beside[..k].copy_from_slice(&around[..k]);
                    beside[k..].copy_from_slice(&around[3 * k..][..k]);
                }
            }
            Self::Pairs([left, right], halo) => {
                // `around` contains g of bᵣ₋₁, tᵣ, bᵣ and tᵣ₊₁. Solve [I V_b; W_t I]·(bᵣ₋₁, tᵣ) = g for bᵣ₋₁, and the next pair for tᵣ₊₁.
                let around = halo.fill(&tips, n_rhs);
                let len = around.len() / n_rhs.max(1);
                let mut pair = vec![T::ZERO; most];
                for (beside, around) in beside.chunks_exact_mut(most).zip(around.chunks_exact(len.max(1))) {
                    if let Some(left) = left {
                        pair.copy_from_slice(&around[..most]);
                        divide(matrix, &**left, false, &mut pair);
                        beside[..k].copy_from_slice(&pair[..k]);
                    }
                    if let Some(right) = right {
                        pair.copy_from_slice(&around[most..2 * most]);
                        divide(matrix, &**right, false, &mut pair);
                        beside[k..].copy_from_slice(&pair[k..]);
                    }
                }
            }
        }
        beside
    }

    /// Compute the interface unknowns of Sᵀy = d of this rank, 2k per column. Collective.
    ///
    /// `tips` has the interface rows of d. `products` has the products of the spikes of this rank with d in inner rows. Both have 2k numbers per
    /// column.
    pub fn solve_transposed(
        &self,
        (matrix, interface): (&DistributedMatrix<T>, &Interface),
        (mut tips, mut products): (Vec<T>, Vec<T>),
        n_rhs: usize,
    ) -> Vec<T> {
        let (k, most, rank) = (matrix.halo, 2 * matrix.halo, matrix.ranks.rank());
        match self {
            Self::Gathered(coarse) => {
                tips.resize(most * n_rhs, T::ZERO);
                products.resize(most * n_rhs, T::ZERO);
                let all = matrix.ranks.all_gather(&[tips, products].concat());
                let mut local = vec![T::ZERO; most * n_rhs];
                let Some(coarse) = coarse else { return local };
                // Subtract the products from d: each belongs to the interface unknown of its spike.
                let mut tips = vec![T::ZERO; interface.len() * n_rhs];
                for (column, tips) in tips.chunks_exact_mut(interface.len()).enumerate() {
                    for (rank, rows) in interface.of_rank.iter().enumerate() {
                        let [d, product] = [0, 1].map(|k| &all[((2 * rank + k) * n_rhs + column) * most..][..most]);
                        tips[rows.clone()].iter_mut().zip(d).for_each(|(tip, d)| *tip += *d);
                        interface.each_spike(matrix, rank, |spike, place| tips[place] -= product[spike]);
                    }
                }
                // Solve Sᵀ·y = d, and pick the unknowns of this rank.
                divide(matrix, &**coarse, true, &mut tips);
                for (local, tips) in local.chunks_exact_mut(most.max(1)).zip(tips.chunks_exact(interface.len())) {
                    let rows = interface.of_rank[rank].clone();
                    local[..rows.len()].copy_from_slice(&tips[rows]);
                }
                local
            }
            Self::Cyclic(solver, halo) => {
                subtract_beside(halo, &products, &mut tips, (k, n_rhs));
                solver.solve(true, &mut tips, n_rhs);
                tips
            }
            Self::Pairs([left, right], halo) => {
                // Solve the transposed pairs: tᵣ is in the lower half of the pair before, bᵣ in the upper half of the next one.
                subtract_beside(halo, &products, &mut tips, (k, n_rhs));
                let around = halo.fill(&tips, n_rhs);
                let len = around.len() / n_rhs.max(1);
                let mut pair = vec![T::ZERO; most];
                for (local, around) in tips.chunks_exact_mut(most).zip(around.chunks_exact(len.max(1))) {
                    if let Some(left) = left {
                        pair.copy_from_slice(&around[..most]);
                        divide(matrix, &**left, true, &mut pair);
                        local[..k].copy_from_slice(&pair[k..]);
                    }
                    if let Some(right) = right {
                        pair.copy_from_slice(&around[most..2 * most]);
                        divide(matrix, &**right, true, &mut pair);
                        local[k..].copy_from_slice(&pair[..k]);
                    }
                }
                tips
            }
        }
    }
}

/// Subtract the products of the neighbours' spikes from the interface unknowns of this rank.
fn subtract_beside<T: Scalar>(halo: &Halo, products: &[T], tips: &mut [T], (k, n_rhs): (usize, usize)) {
    let around = halo.fill(products, n_rhs);
    let len = around.len() / n_rhs.max(1);
    for (tips, around) in tips.chunks_exact_mut(2 * k).zip(around.chunks_exact(len.max(1))) {
        let (first, last) = tips.split_at_mut(k);
        first.iter_mut().zip(&around[..k]).for_each(|(tip, v)| *tip -= *v);
        last.iter_mut().zip(&around[3 * k..]).for_each(|(tip, v)| *tip -= *v);
    }
}
