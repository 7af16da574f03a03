//! SPIKE over ranks: each rank factors its own rows, the equations between them are solved by everyone.
//!
//! The rows of rank r hold its own unknowns x_r, the k unknowns before them and the k behind: E_r x_r + D_r x_before + F_r x_behind = d_r.
//! With the spikes W_r = E_r⁻¹ D_r and V_r = E_r⁻¹ F_r,
//!
//! $$ x_r + W_r\,x_{\text{before}} + V_r\,x_{\text{behind}} = E_r^{-1} d_r $$
//!
//! What is before and behind stands among the first k and the last k unknowns of other ranks: the interface unknowns. Their equations
//! are the coarse system, which every rank gathers and solves by the pivoted method. Aᵀ is solved with the same factors: A = E·S with the
//! spikes in S, so Sᵀ first.
//!
//! Source: A. Lamas Daviña, J. E. Roman (2018), equations (10)–(16), with spikes that reach over ranks of few rows; E. Polizzi,
//! A. Sameh, Parallel Comput. 32 (2006).

use crate::agreement::{RankError, agree};
use crate::factors::RankSolver;
use crate::matrix::DistributedMatrix;
use crate::ranks::Ranks;
use bandsolve::{Banded, Error, Factor, Method, Plan, RealScalar, Scalar};
use core::ops::Range;
use std::sync::Arc;

/// Factors by SPIKE of the rows of this rank.
pub(crate) struct RankSpike<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    /// E_r; `None` where the rank owns nothing.
    own: Option<Box<dyn Factor<T>>>,
    /// W_r and V_r side by side: 2·halo columns.
    spikes: Vec<T>,
    coarse: Option<Box<dyn Factor<T>>>,
    interface: Interface,
    singular: bool,
}

impl<T: Scalar> core::fmt::Debug for RankSpike<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SPIKE on {:?}, {} interface unknowns", self.matrix.ranks, self.interface.len())
    }
}

/// The interface unknowns of all ranks, in their order.
#[derive(Debug)]
struct Interface {
    /// Unknowns of the whole system.
    unknowns: Vec<usize>,
    /// Which of them are of each rank.
    of_rank: Vec<Range<usize>>,
}

impl Interface {
    fn of<T: Scalar>(matrix: &DistributedMatrix<T>) -> Self {
        let (mut unknowns, mut of_rank) = (Vec::new(), Vec::new());
        for rank in 0..matrix.ranges.ranks() {
            let (own, first) = (matrix.ranges.range(rank), unknowns.len());
            let split = own.len().min(matrix.halo);
            unknowns.extend(own.start..own.start + split);
            unknowns.extend(own.end - split.min(own.len() - split)..own.end);
            of_rank.push(first..unknowns.len());
        }
        Self { unknowns, of_rank }
    }

    fn len(&self) -> usize {
        self.unknowns.len()
    }

    /// Places of unknowns of the whole system; all of them are interface unknowns.
    fn places(&self, unknowns: Range<usize>) -> Range<usize> {
        let first = self.unknowns.partition_point(|unknown| *unknown < unknowns.start);
        debug_assert!(unknowns.is_empty() || self.unknowns[first] == unknowns.start);
        first..first + unknowns.len()
    }

    /// Own interface rows of columns of `n` rows each, in columns of `most` rows.
    fn take<T: Scalar>(&self, rank: usize, first: usize, (columns, n): (&[T], usize), most: usize) -> Vec<T> {
        let rows = &self.unknowns[self.of_rank[rank].clone()];
        let count = columns.len().checked_div(n).unwrap_or(0);
        let mut taken = vec![T::ZERO; count * most];
        for (to, column) in taken.chunks_exact_mut(most.max(1)).zip(columns.chunks_exact(n.max(1))) {
            to.iter_mut().zip(rows).for_each(|(to, row)| *to = column[row - first]);
        }
        taken
    }
}

impl<T: Scalar> RankSpike<T> {
    /// Factors own rows and the coarse system. Collective.
    pub fn factor(matrix: &Arc<DistributedMatrix<T>>) -> Result<Self, RankError> {
        let (ranks, interface) = (&matrix.ranks, Interface::of(matrix));
        let (own, mut singular) = (own_factors(matrix), false);
        let own = match own {
            Err(Error::OutOfMemory { bytes }) => Err(Error::OutOfMemory { bytes }),
            Err(_) => {
                singular = true;
                Ok(None)
            }
            Ok(own) => Ok(own),
        };
        let own = agree(ranks, own)?;
        let mut spikes = agree(ranks, couplings(matrix))?;
        if let Some(own) = &own {
            let wide = own.solve_in_place(&mut spikes);
            singular |= wide.is_err() || spikes.iter().any(|v| !Scalar::is_finite(*v));
        }
        singular = on_any(ranks, singular);
        let mut spike = Self { matrix: matrix.clone(), own, spikes, coarse: None, interface, singular };
        if !singular {
            let coarse = spike.coarse_factors();
            spike.singular = on_any(ranks, coarse.is_err());
            spike.coarse = coarse.unwrap_or(None);
        }
        Ok(spike)
    }

    /// Interface unknowns of a rank at most.
    fn most(&self) -> usize {
        2 * self.matrix.halo
    }

    /// The coarse system, gathered by all, factored by each.
    fn coarse_factors(&self) -> bandsolve::Result<Option<Box<dyn Factor<T>>>> {
        let (matrix, interface, most) = (&self.matrix, &self.interface, self.most());
        let (rank, own) = (matrix.ranks.rank(), matrix.ranges.range(matrix.ranks.rank()));
        let mut part = interface.take(rank, own.start, (&self.spikes, own.len()), most);
        part.resize(most * most, T::ZERO);
        let all = matrix.ranks.all_gather(&part);
        if interface.len() == 0 {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for (rank, rows) in interface.of_rank.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let spikes = &all[rank * most * most..][..most * most];
            for (side, beside, at) in matrix.needs(rank) {
                for (k, column) in interface.places(beside).enumerate() {
                    let spike = (at + k) - if side == 0 { 0 } else { matrix.ranges.range(rank).len() };
                    for (i, row) in rows.clone().enumerate() {
                        entries.push((row, column, spikes[spike * most + i]));
                    }
                }
            }
        }
        let n = interface.len();
        let width = entries.iter().map(|(i, j, _)| i.abs_diff(*j)).max().unwrap_or(0);
        let mut bands = vec![T::ZERO; n * (2 * width + 1)];
        let place = |i: usize, j: usize| j * (2 * width + 1) + width + i - j;
        (0..n).for_each(|i| bands[place(i, i)] += T::ONE);
        entries.into_iter().for_each(|(i, j, v)| bands[place(i, j)] += v);
        let coarse = Banded::from_vec(n, width, width, bands)?;
        Ok(Some(Box::new(Plan::new(coarse.shape()).method(Method::Pivoted).factor_owned(coarse)?)))
    }
}

/// Whether something is so on any rank. Collective.
fn on_any(ranks: &Ranks, own: bool) -> bool {
    let mut flag = [f64::from(u8::from(own))];
    ranks.max(&mut flag);
    flag[0] > 0.0
}

/// Factors of the square matrix of own rows and unknowns.
fn own_factors<T: Scalar>(matrix: &DistributedMatrix<T>) -> bandsolve::Result<Option<Box<dyn Factor<T>>>> {
    if matrix.own() == 0 { Ok(None) } else { matrix.rows.factor_own().map(Some) }
}

/// D_r and F_r as dense columns: what own rows hold of each unknown of the halo.
fn couplings<T: Scalar>(matrix: &DistributedMatrix<T>) -> bandsolve::Result<Vec<T>> {
    let (halo, len, inside) = (matrix.halo, matrix.extended(), matrix.inside());
    let mut columns = Vec::with_capacity(2 * halo * matrix.own());
    let mut unit = vec![T::ZERO; len];
    for j in (0..halo).chain(inside.end..inside.end + halo) {
        unit[j] = T::ONE;
        columns.extend_from_slice(&matrix.rows.apply(&unit)?[inside.clone()]);
        unit[j] = T::ZERO;
    }
    Ok(columns)
}

impl<T: Scalar> RankSolver<T> for RankSpike<T> {
    fn is_singular(&self) -> bool {
        self.singular
    }

    fn solve(&self, transposed: bool, x: &mut [T], n_rhs: usize) {
        if transposed { self.solve_transposed(x, n_rhs) } else { self.solve_plain(x, n_rhs) }
    }
}

impl<T: Scalar> RankSpike<T> {
    /// x ← E_r⁻¹x, or E_r⁻ᵀx.
    fn divide(&self, transposed: bool, x: &mut [T]) {
        let Some(factors) = &self.own else { return };
        let done = if transposed { factors.solve_transpose_in_place(x) } else { factors.solve_in_place(x) };
        if done.is_err() {
            // Seen when the answer is measured.
            x.fill(T::from_real(T::Real::NAN));
        }
    }

    /// Visits the spikes of a rank: number among its spikes, place of the interface unknown.
    fn each_spike(&self, rank: usize, mut visit: impl FnMut(usize, usize)) {
        for (side, beside, at) in self.matrix.needs(rank) {
            let before = if side == 0 { 0 } else { self.matrix.ranges.range(rank).len() };
            self.interface.places(beside).enumerate().for_each(|(k, place)| visit(at + k - before, place));
        }
    }

    fn solve_plain(&self, x: &mut [T], n_rhs: usize) {
        let (matrix, most) = (&self.matrix, self.most());
        let (rank, size) = (matrix.ranks.rank(), matrix.ranks.size());
        let own = matrix.ranges.range(rank);
        self.divide(false, x);
        let mut part = self.interface.take(rank, own.start, (x, own.len()), most);
        part.resize(most * n_rhs, T::ZERO);
        let all = matrix.ranks.all_gather(&part);
        let Some(coarse) = &self.coarse else { return };
        // Interface unknowns of all ranks, column by column.
        let mut tips = Vec::with_capacity(self.interface.len() * n_rhs);
        for column in 0..n_rhs {
            for rank in 0..size {
                tips.extend_from_slice(&all[(rank * n_rhs + column) * most..][..self.interface.of_rank[rank].len()]);
            }
        }
        if coarse.solve_in_place(&mut tips).is_err() {
            tips.fill(T::from_real(T::Real::NAN));
        }
        self.each_spike(rank, |spike, place| {
            let spike = &self.spikes[spike * own.len()..][..own.len()];
            for (x, tips) in x.chunks_exact_mut(own.len()).zip(tips.chunks_exact(self.interface.len())) {
                let tip = tips[place];
                x.iter_mut().zip(spike).for_each(|(x, v)| *x -= *v * tip);
            }
        });
    }

    /// A = E·S, S = 1 + spikes: first Sᵀy = d, which has y = d but for interface unknowns, then E_rᵀ x_r = y_r.
    fn solve_transposed(&self, x: &mut [T], n_rhs: usize) {
        let (matrix, most, count) = (&self.matrix, self.most(), self.interface.len());
        let (rank, size) = (matrix.ranks.rank(), matrix.ranks.size());
        let own = matrix.ranges.range(rank);
        let tips = self.interface.take(rank, own.start, (x, own.len()), most);
        // Of each column own interface unknowns, and what spikes hold of all others.
        let mut part = Vec::with_capacity(2 * most * n_rhs);
        for (k, x) in x.chunks_exact(own.len().max(1)).enumerate() {
            part.extend_from_slice(&tips[k * most..][..most]);
            part.extend(self.inner_products(x));
        }
        part.resize(2 * most * n_rhs, T::ZERO);
        let all = matrix.ranks.all_gather(&part);
        let Some(coarse) = &self.coarse else { return self.divide(true, x) };
        let mut tips = vec![T::ZERO; count * n_rhs];
        for (column, tips) in tips.chunks_exact_mut(count).enumerate() {
            for rank in 0..size {
                let part = &all[(rank * n_rhs + column) * 2 * most..][..2 * most];
                let rows = self.interface.of_rank[rank].clone();
                let len = rows.len();
                tips[rows].iter_mut().zip(&part[..len]).for_each(|(tip, d)| *tip += *d);
                self.each_spike(rank, |spike, place| tips[place] -= part[most + spike]);
            }
        }
        if coarse.solve_transpose_in_place(&mut tips).is_err() {
            tips.fill(T::from_real(T::Real::NAN));
        }
        let rows = self.interface.of_rank[rank].clone();
        for (x, tips) in x.chunks_exact_mut(own.len().max(1)).zip(tips.chunks_exact(count)) {
            rows.clone().for_each(|place| x[self.interface.unknowns[place] - own.start] = tips[place]);
        }
        self.divide(true, x);
    }

    /// Products of all spikes with x at own rows that are not between ranks.
    fn inner_products(&self, x: &[T]) -> Vec<T> {
        let (len, halo) = (x.len(), self.matrix.halo);
        let inner = halo.min(len)..len.saturating_sub(halo).max(halo.min(len));
        let product =
            |spike: &[T]| spike[inner.clone()].iter().zip(&x[inner.clone()]).fold(T::ZERO, |sum, (v, x)| sum + *v * *x);
        self.spikes.chunks_exact(len).map(product).collect()
    }
}
