//! SPIKE over ranks: each rank factors its own rows, and all ranks solve the coarse system between them.
//!
//! The rows of rank r contain its unknowns xᵣ, the k unknowns before them, and the k unknowns after them:
//!
//! ```text
//! Eᵣ·xᵣ + Dᵣ·x_before + Fᵣ·x_after = dᵣ
//! xᵣ + Wᵣ·x_before + Vᵣ·x_after = Eᵣ⁻¹·dᵣ   with the spikes Wᵣ = Eᵣ⁻¹·Dᵣ, Vᵣ = Eᵣ⁻¹·Fᵣ
//! ```
//!
//! x_before and x_after are among the first k or last k unknowns of other ranks, the interface unknowns. Their equations are the coarse system
//! (`coarse.rs`). Solves with Aᵀ use the same factors: A = E·S with the spikes in S, so the solve starts with Sᵀ.
//!
//! # Source
//! A. Lamas Daviña, J. E. Roman, Parallel Comput. 74 (2018), equations (10)–(16), with spikes that extend over ranks with few rows; E. Polizzi,
//! A. H. Sameh, Parallel Comput. 32 (2006), 177–194.

use crate::agreement::{RankError, agree_and_tell, agree_on_method};
use crate::coarse::{CoarseParts, CoarseSystem, Interface, RankCoarse, divide, words_of};
use crate::factors::RankSolver;
use crate::matrix::DistributedMatrix;
use bandsolve::memory::zeroed;
use bandsolve::{Error, Factor, Method, RealScalar, Scalar};
use core::ops::Range;
use std::sync::Arc;

/// Number of rows of the first part of a spike.
const FIRST_ROWS: usize = 256;

/// Number of spikes of one side that are computed at the same time.
const SPIKES_AT_ONCE: usize = 4;

/// The k spikes of one side: columns that are zero except in some rows of this rank.
#[derive(Debug, Clone)]
struct SpikeColumns<T> {
    rows: Range<usize>,
    values: Vec<T>,
}

impl<T: Scalar> SpikeColumns<T> {
    fn none() -> Self {
        Self { rows: 0..0, values: Vec::new() }
    }

    /// Get column j.
    fn column(&self, j: usize) -> &[T] {
        &self.values[j * self.rows.len()..][..self.rows.len()]
    }

    fn get(&self, i: usize, j: usize) -> T {
        if self.rows.contains(&i) { self.column(j)[i - self.rows.start] } else { T::ZERO }
    }

    /// Compute x ← x − columns·factors.
    fn subtract(&self, x: &mut [T], factors: &[T]) {
        // A part of x of this size stays in the cache.
        const ROWS: usize = 512;
        for (part, x) in x[self.rows.clone()].chunks_mut(ROWS).enumerate() {
            for (j, factor) in factors.iter().enumerate() {
                x.iter_mut().zip(&self.column(j)[part * ROWS..]).for_each(|(x, v)| *x -= *v * *factor);
            }
        }
    }

    /// Compute the products of the k columns with x in some rows.
    fn products(&self, x: &[T], rows: Range<usize>, k: usize) -> Vec<T> {
        let rows = rows.start.max(self.rows.start)..rows.end.min(self.rows.end);
        let product = |j: usize| {
            let Some(x) = x.get(rows.clone()) else { return T::ZERO };
            let column = &self.column(j)[rows.start - self.rows.start..];
            column.iter().zip(x).fold(T::ZERO, |sum, (v, x)| sum + *v * *x)
        };
        (0..k).map(product).collect()
    }

    /// Estimate the number of rows from the edge after which the spikes have decayed to ε²/k. `None` if they do not decay.
    fn rows_to(&self, side: usize, k: usize) -> Option<usize> {
        let (len, limit) = (self.rows.len(), T::Real::EPSILON.to_f64().powi(2) / k as f64);
        let far = if side == 0 { len - k..len } else { 0..k };
        let mut largest = 0.0_f64;
        for v in (0..k).flat_map(|j| &self.column(j)[far.clone()]) {
            largest = largest.max(v.abs1().to_f64());
        }
        match largest {
            _ if largest <= limit => Some(len),
            _ if largest < 0.1 => Some((1.25 * len as f64 * limit.ln() / largest.ln()) as usize),
            _ => None,
        }
    }
}

/// SPIKE factors of the rows of this rank.
pub(crate) struct RankSpike<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    way: RankCoarse,
    /// Whether each solve with Eᵣ is verified.
    verified: bool,
    /// Factors of Eᵣ, or `None` if the rank owns no rows.
    local: Option<Box<dyn Factor<T>>>,
    /// Wᵣ and Vᵣ.
    spikes: [SpikeColumns<T>; 2],
    coarse: Option<CoarseSystem<T>>,
    interface: Interface,
    singular: bool,
}

impl<T: Scalar> core::fmt::Debug for RankSpike<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SPIKE on {:?}, {} interface unknowns", self.matrix.ranks, self.interface.len())
    }
}

impl<T: Scalar> RankSpike<T> {
    /// Factor the rows of this rank and the coarse system. Solves with Eᵣ are not verified unless necessary. Collective.
    pub fn factor(matrix: &Arc<DistributedMatrix<T>>, way: RankCoarse) -> Result<Self, RankError> {
        let spike = Self::factor_with(matrix, way, false)?;
        if spike.singular { Self::factor_with(matrix, way, true) } else { Ok(spike) }
    }

    fn factor_with(matrix: &Arc<DistributedMatrix<T>>, way: RankCoarse, verified: bool) -> Result<Self, RankError> {
        let (ranks, interface) = (&matrix.ranks, Interface::of(matrix));
        // Factor Eᵣ, and compute Wᵣ = Eᵣ⁻¹·Dᵣ and Vᵣ = Eᵣ⁻¹·Fᵣ.
        let spiked = local_factors(matrix, verified).and_then(|local| {
            let spikes = match &local {
                Some(local) => [spikes(matrix, &**local, 0, verified)?, spikes(matrix, &**local, 1, verified)?],
                None => [SpikeColumns::none(), SpikeColumns::none()],
            };
            let finite = spikes.iter().all(|spikes| spikes.values.iter().all(|v| Scalar::is_finite(*v)));
            if finite { Ok((local, spikes)) } else { Err(Error::Singular { row: 0 }) }
        });
        let spiked = match spiked {
            Err(Error::OutOfMemory { bytes }) => Err(Error::OutOfMemory { bytes }),
            other => Ok(other.ok()),
        };
        let singular = matches!(spiked, Ok(None));
        let (spiked, singular) = agree_on_method(ranks, spiked, (way as u64, singular))?;
        let (local, spikes) = spiked.unwrap_or((None, [SpikeColumns::none(), SpikeColumns::none()]));
        let mut spike =
            Self { matrix: matrix.clone(), way, verified, local, spikes, coarse: None, interface, singular };
        if !singular {
            // Factor the coarse system of the interface rows of all spikes.
            let coarse = CoarseParts { matrix, interface: &spike.interface, tips: spike.spike_tips() }.factor(way)?;
            let coarse = match coarse {
                Err(Error::OutOfMemory { bytes }) => Err(Error::OutOfMemory { bytes }),
                other => Ok(other.ok()),
            };
            let singular = matches!(&coarse, Ok(coarse) if coarse.as_ref().is_none_or(CoarseSystem::is_singular));
            let (coarse, singular) = agree_and_tell(ranks, coarse, [u64::from(singular)])?;
            (spike.coarse, spike.singular) = (coarse, singular.contains(&1));
        }
        Ok(spike)
    }

    /// Copy the interface rows of the spikes of this rank, in columns of 2k rows.
    fn spike_tips(&self) -> Vec<T> {
        let (matrix, k) = (&self.matrix, self.matrix.halo);
        let start = matrix.ranges.range(matrix.ranks.rank()).start;
        let rows = &self.interface.unknowns[self.interface.of_rank[matrix.ranks.rank()].clone()];
        let mut tips: Vec<T> = matrix.ranks.room(4 * k * k);
        for (j, tips) in tips.chunks_exact_mut((2 * k).max(1)).enumerate() {
            let (side, column) = (&self.spikes[j / k], j % k);
            tips.iter_mut().zip(rows).for_each(|(tip, row)| *tip = side.get(row - start, column));
        }
        tips
    }

    /// Get the method, and the reason for it.
    pub fn method(&self, spike: Method, [whole, cyclic, pairs]: [&'static str; 3]) -> (Method, &'static str) {
        match self.coarse {
            Some(CoarseSystem::Cyclic(..)) => (spike, cyclic),
            Some(CoarseSystem::Pairs(..)) => (Method::SpikeTruncated, pairs),
            _ => (spike, whole),
        }
    }
}

/// Factor the square matrix of the rows and unknowns of this rank.
fn local_factors<T: Scalar>(
    matrix: &DistributedMatrix<T>,
    verify: bool,
) -> bandsolve::Result<Option<Box<dyn Factor<T>>>> {
    if matrix.local_rows() == 0 { Ok(None) } else { matrix.rows.factor_part(0..matrix.local_rows(), verify).map(Some) }
}

/// Compute the spikes of one side: E⁻¹·D, or E⁻¹·F.
///
/// If the matrix is diagonally dominant, the spikes decay, and entries far from the edge are less than ε². So the function first solves with a part
/// of the rows at the edge, and uses more rows if the spikes have not decayed. The dropped entries change η by at most ε².
fn spikes<T: Scalar>(
    matrix: &DistributedMatrix<T>,
    local: &dyn Factor<T>,
    side: usize,
    verify: bool,
) -> bandsolve::Result<SpikeColumns<T>> {
    let (k, n) = (matrix.halo, matrix.local_rows());
    let needed = matrix.needs(matrix.ranks.rank());
    if needed.iter().all(|(of, which, _)| *of != side || which.is_empty()) {
        return Ok(SpikeColumns::none());
    }
    let mut rows = FIRST_ROWS.max(8 * k).next_multiple_of(k);
    while rows < n / 4 {
        let part = if side == 0 { 0..rows } else { n - rows..n };
        let solved = matrix.rows.factor_part(part.clone(), verify);
        let Ok(columns) = solved.and_then(|factors| solved_spikes(matrix, &*factors, side, part)) else { break };
        match columns.rows_to(side, k) {
            Some(enough) if enough <= rows => return Ok(columns),
            Some(enough) => rows = enough.max(2 * rows).next_multiple_of(k),
            None => break,
        }
    }
    solved_spikes(matrix, local, side, 0..n)
}

/// Solve with the rows in a range for the spikes of one side.
fn solved_spikes<T: Scalar>(
    matrix: &DistributedMatrix<T>,
    factors: &dyn Factor<T>,
    side: usize,
    rows: Range<usize>,
) -> bandsolve::Result<SpikeColumns<T>> {
    let (k, n, len) = (matrix.halo, matrix.local_rows(), rows.len());
    // Only the k rows at the edge contain unknowns of that side.
    let edge = if side == 0 { 0..k.min(n) } else { n.saturating_sub(k)..n };
    let (mut values, mut rhs) = (zeroed(k * len)?, zeroed(SPIKES_AT_ONCE.min(k) * len)?);
    for first in (0..k).step_by(SPIKES_AT_ONCE) {
        let columns = first..(first + SPIKES_AT_ONCE).min(k);
        let rhs = &mut rhs[..columns.len() * len];
        for (j, rhs) in columns.clone().zip(rhs.chunks_exact_mut(len)) {
            let unknown = if side == 0 { j } else { matrix.inside().end + j };
            edge.clone().for_each(|i| rhs[i - rows.start] = matrix.rows.entry(k + i, unknown));
        }
        factors.solve_into(rhs, &mut values[columns.start * len..columns.end * len])?;
    }
    Ok(SpikeColumns { rows, values })
}

impl<T: Scalar> RankSolver<T> for RankSpike<T> {
    fn is_singular(&self) -> bool {
        self.singular
    }

    fn reserve(&self, n_rhs: usize) -> bandsolve::Result<()> {
        let words = |factors: &dyn Factor<T>| words_of(factors, n_rhs);
        self.matrix.try_memory::<f64>(self.local.as_deref().map_or(0, words))?;
        Ok(())
    }

    fn solve(&self, transposed: bool, x: &mut [T], n_rhs: usize) {
        if transposed { self.solve_transposed(x, n_rhs) } else { self.solve_plain(x, n_rhs) }
    }

    fn careful(&self) -> Result<Option<Box<dyn RankSolver<T>>>, RankError> {
        if self.verified {
            return Ok(None);
        }
        Ok(Some(Box::new(Self::factor_with(&self.matrix, self.way, true)?)))
    }
}

impl<T: Scalar> RankSpike<T> {
    /// Compute x ← Eᵣ⁻¹x, or Eᵣ⁻ᵀx.
    fn divide(&self, transposed: bool, x: &mut [T]) {
        if let Some(factors) = &self.local {
            divide(&self.matrix, &**factors, transposed, x);
        }
    }

    /// Copy the interface rows of columns of this rank.
    fn tips(&self, x: &[T]) -> Vec<T> {
        let (matrix, rank) = (&self.matrix, self.matrix.ranks.rank());
        let rows = matrix.ranges.range(rank);
        self.interface.tips(rank, rows.start, (x, rows.len()), 2 * matrix.halo)
    }

    fn solve_plain(&self, x: &mut [T], n_rhs: usize) {
        let (n, most) = (self.matrix.local_rows(), 2 * self.matrix.halo);
        // g = E⁻¹·d
        self.divide(false, x);
        let Some(coarse) = &self.coarse else { return };
        // S·u = g for the interface unknowns
        let beside = coarse.solve(&self.matrix, &self.interface, self.tips(x), n_rhs);
        if n == 0 {
            return;
        }
        // xᵣ = gᵣ − Wᵣ·x_before − Vᵣ·x_after
        for (x, beside) in x.chunks_exact_mut(n).zip(beside.chunks_exact(most.max(1))) {
            let sides = self.spikes.iter().zip(beside.chunks_exact(most / 2));
            sides.for_each(|(spikes, beside)| spikes.subtract(x, beside));
        }
    }

    /// Solve with Aᵀ, where A = E·S and S = I + spikes. First solve Sᵀ·y = d, where y = d except for interface unknowns. Then solve Eᵣᵀ·xᵣ = yᵣ.
    fn solve_transposed(&self, x: &mut [T], n_rhs: usize) {
        let (matrix, most) = (&self.matrix, 2 * self.matrix.halo);
        let Some(coarse) = &self.coarse else { return self.divide(true, x) };
        let range = matrix.ranges.range(matrix.ranks.rank());
        let products: Vec<T> = x.chunks_exact(range.len().max(1)).flat_map(|x| self.inner_products(x)).collect();
        let tips = coarse.solve_transposed((matrix, &self.interface), (self.tips(x), products), n_rhs);
        let rows = &self.interface.unknowns[self.interface.of_rank[matrix.ranks.rank()].clone()];
        for (x, tips) in x.chunks_exact_mut(range.len().max(1)).zip(tips.chunks_exact(most.max(1))) {
            rows.iter().zip(tips).for_each(|(row, tip)| x[row - range.start] = *tip);
        }
        self.divide(true, x);
    }

    /// Compute the products of all spikes with x in the rows of this rank that are not interface rows.
    fn inner_products(&self, x: &[T]) -> Vec<T> {
        let (len, halo) = (x.len(), self.matrix.halo);
        let inner = halo.min(len)..len.saturating_sub(halo).max(halo.min(len));
        self.spikes.iter().flat_map(|spikes| spikes.products(x, inner.clone(), halo)).collect()
    }
}
