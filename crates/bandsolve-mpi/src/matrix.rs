//! A matrix with consecutive rows on each rank: halos, products and backward errors.
//!
//! Each rank stores its rows in a square matrix. Zero rows represent the unknowns of other ranks that occur in its rows (the halo). One more
//! group of zero rows represents unknowns that occur in no row. For the backward error, this group contains ‖x‖∞ over all ranks. The code for one
//! machine then computes the backward error η that the rows have in the whole system.

use crate::agreement::{LocalColumns, RankError, agree};
use crate::halo::{Halo, extended_len};
use crate::ranges::RankRanges;
use crate::ranks::{Ranks, collected};
use bandsolve::distributed::inner_error_of;
use bandsolve::{Error, Factor, Inspect, Op, RealScalar, Scalar, Tridiagonal};
use bandsolve_kernel::exact::ScaledNorm;
use bandsolve_kernel::memory::{Array, MemoryPool};
use bandsolve_kernel::scalar::{self, peak};
use bytemuck::Pod;
use core::ops::Range;
use std::sync::OnceLock;

/// The rows of one rank, with halo columns on each side.
pub(crate) trait OwnRows<T: Scalar>: Send + Sync + core::fmt::Debug {
    /// Get the entry in row i and column j of the matrix with halos. It is 0 outside the diagonals.
    fn entry(&self, i: usize, j: usize) -> T;

    /// Get the matrix as a tridiagonal matrix, if it is tridiagonal.
    fn lines(&self) -> Option<Tridiagonal<'_, T>> {
        None
    }

    /// Compute y = A·x for one column, with the square matrix of consecutive rows from `first` on. Block rows must be whole.
    fn apply(&self, first: usize, x: &[T], y: &mut [T]);

    /// Compute η of the rows.
    fn error(&self, d: &[T], x: &[T]) -> f64;

    /// Compute d − A·x in twice the working precision, and return η from this residual.
    fn residual(&self, d: &[T], x: &[T], r: &mut [T]) -> f64;

    /// Create the rows of Aᵀ with the same indices. The result is `Ok(Err)` if this rank cannot create them. Collective.
    fn transposed(&self, halos: &Halo) -> Result<bandsolve::Result<Box<dyn OwnRows<T>>>, RankError>;

    /// Compute Σⱼ|aᵢⱼ| of row i of this rank.
    fn sum(&self, i: usize) -> f64;

    /// Copy all entries, row by row or block row by block row.
    fn entries(&self) -> bandsolve::Result<Vec<T>>;

    /// Get the row on this rank of entry k of [`entries`](Self::entries).
    fn row_of(&self, k: usize) -> usize;

    /// Factor the whole matrix by the pivoted method, from the entries of each rank.
    fn factor_whole(&self, entries: &[Vec<T>]) -> bandsolve::Result<Box<dyn Inspect<T>>>;

    /// Factor the square matrix of some rows of this rank and the unknowns with the same indices. Block rows must be whole. `verify` says whether
    /// to verify the solves.
    fn factor_part(&self, rows: Range<usize>, verify: bool) -> bandsolve::Result<Box<dyn Factor<T>>>;
}

/// A matrix, distributed over ranks.
#[derive(Debug)]
pub(crate) struct DistributedMatrix<T: Scalar> {
    pub ranks: Ranks,
    /// The unknowns of each rank, also for a matrix of blocks.
    pub ranges: RankRanges,
    /// Number of halo unknowns on each side.
    pub halo: usize,
    halos: Halo,
    /// Memory for solves.
    pool: MemoryPool,
    /// Aᵀ, after its first use.
    transposed: OnceLock<Box<Self>>,
    pub rows: Box<dyn OwnRows<T>>,
}

impl<T: Scalar> DistributedMatrix<T> {
    /// Create a matrix. The second number of `halo` says whether the first and the last unknowns are neighbours.
    pub fn new(ranks: Ranks, ranges: RankRanges, halo: (usize, bool), rows: Box<dyn OwnRows<T>>) -> Self {
        let (halos, halo) = (Halo::new(ranks.clone(), ranges.clone(), halo), halo.0);
        Self { ranks, ranges, halo, halos, pool: MemoryPool::default(), transposed: OnceLock::new(), rows }
    }

    /// Agree on the number of columns of an array, and return it with the result of `prepare` for this number. Collective.
    ///
    /// If `finite` is set, all numbers must be finite.
    pub fn columns<V>(
        &self,
        (name, values): (&'static str, &[T]),
        (finite, op): (bool, Op),
        prepare: impl FnOnce(usize) -> bandsolve::Result<V>,
    ) -> Result<(usize, V), RankError> {
        let len_of = |rank: usize| self.ranges.range(rank).len();
        let columns = LocalColumns { name, values, len_of: &len_of, finite, option: op as u64 };
        columns.agree(&self.ranks, prepare)
    }

    /// List the unknowns that a rank needs from others: the side, the unknowns, and their position in the extended vector.
    pub fn needs(&self, rank: usize) -> Vec<(usize, Range<usize>, usize)> {
        self.halos.needs(rank)
    }

    /// Whether the matrix is periodic, so that the first and the last unknowns are neighbours.
    pub fn is_ring(&self) -> bool {
        self.halos.ring
    }

    /// Get the number of unknowns of this rank.
    pub fn local_rows(&self) -> usize {
        self.ranges.range(self.ranks.rank()).len()
    }

    /// Get the number of unknowns that this rank stores, with halos.
    pub fn extended(&self) -> usize {
        extended_len(self.local_rows(), self.halo)
    }

    /// Get the positions of the unknowns of this rank in an extended vector.
    pub fn inside(&self) -> Range<usize> {
        self.halo..self.halo + self.local_rows()
    }

    /// Get memory for a solve. The matrix keeps it for the next solve. If the allocation fails, return `OutOfMemory`.
    pub fn try_memory<V: Pod>(&self, len: usize) -> bandsolve::Result<Array<V>> {
        let bytes = len.saturating_mul(size_of::<V>());
        Array::new(len, Some(&self.pool)).ok_or(Error::OutOfMemory { bytes })
    }

    /// Get memory for a solve while other ranks wait for this one. If the allocation fails, the job ends. [`reserve`](Self::reserve) large arrays
    /// before.
    pub fn memory<V: Pod>(&self, len: usize) -> Array<V> {
        self.try_memory(len).unwrap_or_else(|error| self.ranks.abort(&error.to_string()))
    }

    /// Reserve memory for the arrays with halos that [`errors`](Self::errors) uses.
    pub fn reserve(&self, n_rhs: usize) -> bandsolve::Result<()> {
        if self.rows.lines().is_none() {
            self.try_memory::<T>(self.halos.len(n_rhs))?;
        }
        Ok(())
    }

    /// Reserve memory for the arrays with halos that [`residuals`](Self::residuals) uses.
    pub fn reserve_residuals(&self, n_rhs: usize) -> bandsolve::Result<()> {
        let _both = [self.try_memory::<T>(self.halos.len(n_rhs))?, self.try_memory(self.extended())?];
        Ok(())
    }

    /// Copy the unknowns of this rank, with zeros as halos.
    pub fn padded(&self, x: &[T], n_rhs: usize) -> bandsolve::Result<Array<T>> {
        let mut padded = self.try_memory(self.halos.len(n_rhs))?;
        self.halos.pad(x, &mut padded);
        Ok(padded)
    }

    /// Copy the unknowns of this rank, with halos from other ranks. Collective.
    pub fn with_halo(&self, x: &[T], n_rhs: usize) -> Array<T> {
        let mut filled = self.memory(self.halos.len(n_rhs));
        self.halos.fill_into(x, &mut filled, n_rhs);
        filled
    }

    /// Get Aᵀ over the same ranks. The first call creates it. Collective.
    pub fn transposed(&self) -> Result<&Self, RankError> {
        if self.transposed.get().is_none() {
            let rows = agree(&self.ranks, self.rows.transposed(&self.halos)?)?;
            let halo = (self.halo, self.halos.ring);
            let transposed = Self::new(self.ranks.clone(), self.ranges.clone(), halo, rows);
            _ = self.transposed.set(Box::new(Self { pool: self.pool.clone(), ..transposed }));
        }
        Ok(self.transposed.get().expect("created on all ranks"))
    }

    /// Compute the rows of y = A·x of this rank. Collective.
    pub fn apply_into(&self, x: &[T], y: &mut [T], n_rhs: usize) {
        let (local_rows, k) = (self.local_rows(), self.halo);
        // Multiply the rows without unknowns of other ranks during the communication.
        let sides = self.halos.sides(x, n_rhs, || {
            if local_rows >= 4 * k {
                let columns = y.chunks_exact_mut(local_rows.max(1)).zip(x.chunks_exact(local_rows.max(1)));
                columns.for_each(|(y, x)| self.rows.apply(k, x, y));
            }
        });
        if k == 0 {
            return;
        }
        // Multiply the first and the last k rows, with k more rows on the inner side, or all rows at once.
        let part = if local_rows >= 4 * k { 2 * k } else { local_rows };
        let [mut around, mut product] = [0, 1].map(|_| self.memory::<T>(part + 2 * k));
        for (column, y) in y.chunks_exact_mut(local_rows.max(1)).enumerate() {
            let (x, sides) = (&x[column * local_rows..][..local_rows], &sides[column * 2 * k..][..2 * k]);
            around[..k].copy_from_slice(&sides[..k]);
            around[k..k + part].copy_from_slice(&x[..part]);
            around[k + part..].copy_from_slice(if part == local_rows { &sides[k..] } else { &x[part..part + k] });
            self.rows.apply(0, &around, &mut product);
            y[..part].copy_from_slice(&product[k..k + part]);
            if part < local_rows {
                around[..k].copy_from_slice(&x[local_rows - 3 * k..local_rows - 2 * k]);
                around[k..k + part].copy_from_slice(&x[local_rows - part..]);
                around[k + part..].copy_from_slice(&sides[k..]);
                self.rows.apply(local_rows - part, &around, &mut product);
                y[local_rows - part..].copy_from_slice(&product[k..k + part]);
            }
        }
    }

    /// Compute ‖x‖∞ of each column over all ranks. Collective.
    fn norms(&self, x: &[T], n_rhs: usize) -> Vec<f64> {
        let mut norms = vec![0.0; n_rhs];
        for (norm, x) in norms.iter_mut().zip(x.chunks_exact(self.local_rows().max(1))) {
            *norm = largest(x);
        }
        self.ranks.max(&mut norms);
        norms
    }

    /// Compute Σⱼ|aᵢⱼ| of each row of this rank.
    pub fn sums(&self) -> bandsolve::Result<Vec<f64>> {
        collected(self.local_rows(), (0..self.local_rows()).map(|i| self.rows.sum(i)))
    }

    /// Copy the unknowns of this rank with halos, followed by ‖x‖∞ over all ranks. Collective.
    fn to_measure(&self, x: &[T], norms: &[f64]) -> Array<T> {
        let (mut extended, len) = (self.with_halo(x, norms.len()), self.extended());
        for (x, norm) in extended.chunks_exact_mut(len).zip(norms) {
            x[len - 1] = T::from_real(T::Real::from_f64(*norm));
        }
        extended
    }

    /// Compute η of every column, and an upper bound for the reciprocal condition number. `d` is [`padded`](Self::padded). Collective.
    ///
    /// From x = A⁻¹·d follows that ‖A⁻¹·diag(s)‖∞ is at least ‖x‖∞ / maxᵢ(|dᵢ|/sᵢ), where sᵢ = Σⱼ|aᵢⱼ|. The function stops at the first row for
    /// which the bound is above ε, because such a bound gives no warning.
    pub fn measured(&self, d: &[T], x: &[T], n_rhs: usize) -> (Vec<f64>, Vec<f64>) {
        let norms = self.norms(x, n_rhs);
        let mut all = match self.rows.lines() {
            Some(lines) => self.errors_of_lines(&lines, d, x, &norms),
            None => {
                let (x, len) = (self.to_measure(x, &norms), self.extended());
                let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
                columns.map(|(d, x)| self.rows.error(d, x)).collect()
            }
        };
        all.extend(d.chunks_exact(self.extended()).zip(&norms).map(|(d, norm)| self.ratio(d, *norm)));
        self.ranks.max(&mut all);
        let bounds = all.split_off(n_rhs).into_iter().zip(norms).map(|(ratio, norm)| ratio / norm).collect();
        (all, bounds)
    }

    /// Compute maxᵢ(|dᵢ|/sᵢ) over the rows of this rank. Stop as soon as the maximum is at least ε·norm.
    fn ratio(&self, d: &[T], norm: f64) -> f64 {
        let (mut ratio, enough) = (0.0_f64, T::Real::EPSILON.to_f64() * norm);
        for (i, d) in d[self.inside()].iter().enumerate().filter(|(_, d)| **d != T::ZERO) {
            ratio = ratio.max(Scalar::abs(*d).to_f64() / self.rows.sum(i));
            if ratio >= enough {
                break;
            }
        }
        ratio
    }

    /// Compute η of every column. `d` is [`padded`](Self::padded). Collective.
    pub fn errors(&self, d: &[T], x: &[T], n_rhs: usize) -> Vec<f64> {
        self.measured(d, x, n_rhs).0
    }

    /// Compute η on this rank for a tridiagonal matrix, without a copy of x. The first and the last row are computed separately. Collective.
    fn errors_of_lines(&self, lines: &Tridiagonal<'_, T>, d: &[T], x: &[T], norms: &[f64]) -> Vec<f64> {
        let (local_rows, n_rhs) = (self.local_rows(), norms.len());
        let sides = self.halos.sides(x, n_rhs, || ());
        if local_rows == 0 {
            return vec![0.0; n_rhs];
        }
        let [sub, diag, sup] = lines.arrays();
        // η of the rows of A from `first` on.
        let error = |first: usize, (d, x): (&[T], &[T]), norm: f64| {
            let [sub, diag, sup] = [sub, diag, sup].map(|array| &array[first..first + x.len()]);
            let rows = Tridiagonal::new(sub, diag, sup).expect("arrays of one length");
            inner_error_of(&rows, (d, x), norm)
        };
        let of_column = |(k, norm): (usize, &f64)| {
            let (d, x) = (&d[k * self.extended()..][..self.extended()], &x[k * local_rows..][..local_rows]);
            let [before, behind] = [sides[2 * k], sides[2 * k + 1]];
            let first = [before, x[0], x.get(1).copied().unwrap_or(behind)];
            let last = [if local_rows > 1 { x[local_rows - 2] } else { before }, x[local_rows - 1], behind];
            // NaN counts as the largest value, as in the maximum over the ranks.
            let all = [
                error(0, (&d[..3], &first), *norm),
                error(local_rows - 1, (&d[local_rows - 1..local_rows + 2], &last), *norm),
            ];
            let inner = error(1, (&d[1..=local_rows], x), *norm);
            all.into_iter().fold(inner, |worst, error| if error > worst || error.is_nan() { error } else { worst })
        };
        norms.iter().enumerate().map(of_column).collect()
    }

    /// Compute η of every column, and the residuals of the rows of this rank in twice the working precision. Collective.
    pub fn residuals(&self, d: &[T], x: &[T], r: &mut [T]) -> Vec<f64> {
        let len = self.extended();
        let norms = self.norms(x, d.len() / len);
        let x = self.to_measure(x, &norms);
        let (mut whole, local_rows) = (self.memory::<T>(len), self.local_rows());
        let columns = d.chunks_exact(len).zip(x.chunks_exact(len));
        let mut errors = Vec::with_capacity(d.len() / len);
        for (k, (d, x)) in columns.enumerate() {
            errors.push(self.rows.residual(d, x, &mut whole));
            r[k * local_rows..(k + 1) * local_rows].copy_from_slice(&whole[self.inside()]);
        }
        self.ranks.max(&mut errors);
        errors
    }
}

/// Compute ‖x‖∞. It is NaN or infinite if an entry is.
fn largest<T: Scalar>(x: &[T]) -> f64 {
    if T::COMPLEX {
        return ScaledNorm::of(x).plain;
    }
    scalar::largest(x, |_, x| peak(x)).to_f64()
}
