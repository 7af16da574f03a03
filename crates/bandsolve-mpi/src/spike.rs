//! SPIKE over ranks: each rank factors its own rows, the equations between them are the coarse system.
//!
//! The rows of rank r hold its own unknowns x_r, the k unknowns before them and the k behind: E_r x_r + D_r x_before + F_r x_behind = d_r.
//! With the spikes W_r = E_r⁻¹ D_r and V_r = E_r⁻¹ F_r,
//!
//! $$ x_r + W_r\,x_{\text{before}} + V_r\,x_{\text{behind}} = E_r^{-1} d_r $$
//!
//! What is before and behind stands among the first k and the last k unknowns of other ranks: the interface unknowns, whose equations
//! are the coarse system (`coarse.rs`). Aᵀ is solved with the same factors: A = E·S with the spikes in S, so Sᵀ first.
//!
//! Source: A. Lamas Daviña, J. E. Roman (2018), equations (10)–(16), with spikes that reach over ranks of few rows; E. Polizzi,
//! A. Sameh, Parallel Comput. 32 (2006).

use crate::agreement::{RankError, agree};
use crate::coarse::{CoarseParts, CoarseSystem, Interface, RankCoarse, divide};
use crate::factors::RankSolver;
use crate::matrix::DistributedMatrix;
use crate::ranks::Ranks;
use bandsolve::{Error, Factor, Method, Scalar};
use std::sync::Arc;

/// Factors by SPIKE of the rows of this rank.
pub(crate) struct RankSpike<T: Scalar> {
    matrix: Arc<DistributedMatrix<T>>,
    /// E_r; `None` where the rank owns nothing.
    own: Option<Box<dyn Factor<T>>>,
    /// W_r and V_r side by side: 2·halo columns.
    spikes: Vec<T>,
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
    /// Factors own rows and the coarse system. Collective.
    pub fn factor(matrix: &Arc<DistributedMatrix<T>>, way: RankCoarse) -> Result<Self, RankError> {
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
        let mut spikes = couplings(matrix);
        if let Some(own) = &own {
            let wide = own.solve_in_place(&mut spikes);
            singular |= wide.is_err() || spikes.iter().any(|v| !Scalar::is_finite(*v));
        }
        singular = on_any(ranks, singular);
        let mut spike = Self { matrix: matrix.clone(), own, spikes, coarse: None, interface, singular };
        if !singular {
            let (interface, rows) = (&spike.interface, matrix.ranges.range(ranks.rank()));
            let tips = interface.take(ranks.rank(), rows.start, (&spike.spikes, rows.len()), 2 * matrix.halo);
            let coarse = CoarseParts { matrix, interface, tips }.factor(way)?;
            spike.singular = on_any(ranks, coarse.as_ref().map_or(true, CoarseSystem::is_singular));
            spike.coarse = coarse.ok();
        }
        Ok(spike)
    }

    /// The method, and why.
    pub fn method(&self, spike: Method, [whole, cyclic, pairs]: [&'static str; 3]) -> (Method, &'static str) {
        match self.coarse {
            Some(CoarseSystem::Cyclic(..)) => (spike, cyclic),
            Some(CoarseSystem::Pairs(..)) => (Method::SpikeTruncated, pairs),
            _ => (spike, whole),
        }
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

/// D_r and F_r as dense columns: what own rows hold of each unknown of the halo. Only the first and the last k rows hold any.
fn couplings<T: Scalar>(matrix: &DistributedMatrix<T>) -> Vec<T> {
    let (halo, own, inside) = (matrix.halo, matrix.own(), matrix.inside());
    let mut columns = vec![T::ZERO; 2 * halo * own];
    if own == 0 {
        return columns;
    }
    let (first, last) = (0..halo.min(own), own.saturating_sub(halo)..own);
    for (j, column) in columns.chunks_exact_mut(own).enumerate() {
        let (rows, unknown) = if j < halo { (first.clone(), j) } else { (last.clone(), inside.end + j - halo) };
        rows.for_each(|i| column[i] = matrix.rows.entry(halo + i, unknown));
    }
    columns
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
        if let Some(factors) = &self.own {
            divide(&**factors, transposed, x);
        }
    }

    /// Own interface rows of columns of own rows.
    fn tips(&self, x: &[T]) -> Vec<T> {
        let (matrix, rank) = (&self.matrix, self.matrix.ranks.rank());
        let own = matrix.ranges.range(rank);
        self.interface.take(rank, own.start, (x, own.len()), 2 * matrix.halo)
    }

    fn solve_plain(&self, x: &mut [T], n_rhs: usize) {
        let (own, most) = (self.matrix.own(), 2 * self.matrix.halo);
        self.divide(false, x);
        let Some(coarse) = &self.coarse else { return };
        let beside = coarse.solve(&self.matrix, &self.interface, self.tips(x), n_rhs);
        if own == 0 {
            return;
        }
        for (x, beside) in x.chunks_exact_mut(own).zip(beside.chunks_exact(most.max(1))) {
            subtract_columns(x, &self.spikes, beside);
        }
    }

    /// A = E·S, S = 1 + spikes: first Sᵀy = d, which has y = d but for interface unknowns, then E_rᵀ x_r = y_r.
    fn solve_transposed(&self, x: &mut [T], n_rhs: usize) {
        let (matrix, most) = (&self.matrix, 2 * self.matrix.halo);
        let Some(coarse) = &self.coarse else { return self.divide(true, x) };
        let own = matrix.ranges.range(matrix.ranks.rank());
        let products: Vec<T> = x.chunks_exact(own.len().max(1)).flat_map(|x| self.inner_products(x)).collect();
        let tips = coarse.solve_transposed((matrix, &self.interface), (self.tips(x), products), n_rhs);
        let rows = &self.interface.unknowns[self.interface.of_rank[matrix.ranks.rank()].clone()];
        for (x, tips) in x.chunks_exact_mut(own.len().max(1)).zip(tips.chunks_exact(most.max(1))) {
            rows.iter().zip(tips).for_each(|(row, tip)| x[row - own.start] = *tip);
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

/// x ← x − Σ columns·factors, a part of x at a time that stays in cache.
fn subtract_columns<T: Scalar>(x: &mut [T], columns: &[T], factors: &[T]) {
    const ROWS: usize = 512;
    let n = x.len();
    for (part, x) in x.chunks_mut(ROWS).enumerate() {
        let rows = part * ROWS..part * ROWS + x.len();
        for (column, factor) in columns.chunks_exact(n).zip(factors) {
            x.iter_mut().zip(&column[rows.clone()]).for_each(|(x, v)| *x -= *v * *factor);
        }
    }
}
