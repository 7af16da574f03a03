//! A matrix of which every rank holds consecutive rows: unknowns of other ranks beside one's own, products, errors.
//!
//! Each rank keeps its rows as a matrix of its own, which is square: rows of zeros stand for the unknowns of other ranks that its
//! rows hold (the halo), and for one group of unknowns more, in which no row has an entry. There stands ‖x‖∞ of all ranks while
//! errors are measured, so that the library's own η of these rows is theirs in the whole system.

use crate::agreement::{RankError, agree};
use crate::halo::{Halo, extended_len};
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::{Factor, RealScalar, Scalar};
use bandsolve_kernel::exact::ScaledNorm;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bytemuck::Pod;
use core::ops::Range;
use std::sync::OnceLock;

/// The rows of one rank, as a matrix between halos.
pub(crate) trait OwnRows<T: Scalar>: Send + Sync + core::fmt::Debug {
    /// Entry in row i and column j, of this matrix with its halos; 0 outside of the diagonals.
    fn entry(&self, i: usize, j: usize) -> T;

    /// A·x, for one column.
    fn apply(&self, x: &[T]) -> bandsolve::Result<Vec<T>>;

    /// η of the rows.
    fn error(&self, d: &[T], x: &[T]) -> f64;

    /// d − A·x in twice the working precision, and η measured with it.
    fn residual(&self, d: &[T], x: &[T], r: &mut [T]) -> f64;

    /// The same rows of Aᵀ. Collective.
    fn transposed(&self, halos: &Halo) -> bandsolve::Result<Box<dyn OwnRows<T>>>;

    /// All entries, row by row (of blocks).
    fn entries(&self) -> Vec<T>;

    /// Factors of the whole matrix by the pivoted method, from the entries of all ranks.
    fn factor_whole(&self, entries: Vec<T>) -> bandsolve::Result<Box<dyn Factor<T>>>;

    /// Factors of the square matrix of some own rows and the unknowns of the same numbers; of blocks whole ones. Their solves are
    /// verified, if asked.
    fn factor_own(&self, rows: Range<usize>, verify: bool) -> bandsolve::Result<Box<dyn Factor<T>>>;
}

/// A matrix over ranks.
#[derive(Debug)]
pub(crate) struct DistributedMatrix<T: Scalar> {
    pub ranks: Ranks,
    /// Of unknowns, not of blocks.
    pub ranges: RankRanges,
    /// Unknowns of the halo on either side.
    pub halo: usize,
    halos: Halo,
    /// Memory of solves.
    pool: MemoryPool,
    /// Aᵀ, when it was needed.
    transposed: OnceLock<Box<Self>>,
    pub rows: Box<dyn OwnRows<T>>,
}

impl<T: Scalar> DistributedMatrix<T> {
    /// `ring`: the first and the last stretch of `halo` unknowns are neighbours.
    pub fn new(ranks: Ranks, ranges: RankRanges, halo: (usize, bool), rows: Box<dyn OwnRows<T>>) -> Self {
        let (halos, halo) = (Halo::new(ranks.clone(), ranges.clone(), halo), halo.0);
        Self { ranks, ranges, halo, halos, pool: MemoryPool::default(), transposed: OnceLock::new(), rows }
    }

    /// The unknowns that a rank needs of others: the side, which, and where they stand in its extended vector.
    pub fn needs(&self, rank: usize) -> Vec<(usize, Range<usize>, usize)> {
        self.halos.needs(rank)
    }

    /// Whether the first and the last unknowns are neighbours.
    pub fn is_ring(&self) -> bool {
        self.halos.ring
    }

    /// Unknowns of this rank.
    pub fn own(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    /// Unknowns of the matrix that this rank keeps.
    pub fn extended(&self) -> usize {
        extended_len(self.own(), self.halo)
    }

    /// Where its own unknowns stand among them.
    pub fn inside(&self) -> Range<usize> {
        self.halo..self.halo + self.own()
    }

    /// Memory of a solve, kept for the next.
    pub fn memory<V: Pod>(&self, len: usize) -> Array<V> {
        Array::new(len, Some(&self.pool)).expect("memory for a few vectors")
    }

    /// Own unknowns between zeros.
    pub fn padded(&self, x: &[T], n_rhs: usize) -> Array<T> {
        let mut padded = self.memory(self.halos.len(n_rhs));
        self.halos.pad(x, &mut padded);
        padded
    }

    /// Own unknowns between those of other ranks. Collective.
    pub fn with_halo(&self, x: &[T], n_rhs: usize) -> Array<T> {
        let mut filled = self.memory(self.halos.len(n_rhs));
        self.halos.fill_into(x, &mut filled, n_rhs);
        filled
    }

    /// Aᵀ over the same ranks, made once. Collective.
    pub fn transposed(&self) -> Result<&Self, RankError> {
        if self.transposed.get().is_none() {
            let rows = agree(&self.ranks, self.rows.transposed(&self.halos))?;
            let halo = (self.halo, self.halos.ring);
            let made = Self::new(self.ranks.clone(), self.ranges.clone(), halo, rows);
            _ = self.transposed.set(Box::new(made));
        }
        Ok(self.transposed.get().expect("made on all ranks"))
    }

    /// A·x of own rows. Collective; fails on this rank alone.
    pub fn apply(&self, x: &[T], n_rhs: usize) -> bandsolve::Result<Vec<T>> {
        let mut y = Vec::with_capacity(x.len());
        for x in self.with_halo(x, n_rhs).chunks_exact(self.extended()) {
            y.extend_from_slice(&self.rows.apply(x)?[self.inside()]);
        }
        Ok(y)
    }

    /// Own unknowns with halos, and ‖x‖∞ of all ranks behind them. Collective.
    fn to_measure(&self, x: &[T], n_rhs: usize) -> Array<T> {
        let mut extended = self.with_halo(x, n_rhs);
        let (own, len) = (self.own().max(1), self.extended());
        let mut norms = vec![0.0; n_rhs];
        for (norm, x) in norms.iter_mut().zip(x.chunks_exact(own)) {
            // Not a number, or infinite, where one of them is.
            *norm = ScaledNorm::of(x).plain;
        }
        self.ranks.max(&mut norms);
        for (x, norm) in extended.chunks_exact_mut(len).zip(norms) {
            x[len - 1] = T::from_real(T::Real::from_f64(norm));
        }
        extended
    }

    /// η of every column; `d` is [`padded`](Self::padded). Collective.
    pub fn errors(&self, d: &[T], x: &[T], n_rhs: usize) -> Vec<f64> {
        let (x, len) = (self.to_measure(x, n_rhs), self.extended());
        let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
        let mut errors: Vec<f64> = columns.map(|(d, x)| self.rows.error(d, x)).collect();
        self.ranks.max(&mut errors);
        errors
    }

    /// The same with the residuals of own rows, formed in twice the working precision. Collective.
    pub fn residuals(&self, d: &[T], x: &[T], r: &mut [T]) -> Vec<f64> {
        let len = self.extended();
        let x = self.to_measure(x, d.len() / len);
        let (mut whole, own) = (vec![T::ZERO; len], self.own());
        let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
        let mut errors = Vec::with_capacity(d.len() / len);
        for (k, (d, x)) in columns.enumerate() {
            errors.push(self.rows.residual(d, x, &mut whole));
            r[k * own..(k + 1) * own].copy_from_slice(&whole[self.inside()]);
        }
        self.ranks.max(&mut errors);
        errors
    }
}
