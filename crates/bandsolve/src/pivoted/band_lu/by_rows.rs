//! The factors row by row, for many right-hand sides on lanes.

use super::BandLu;
use crate::contract::verify::Lazy;
use crate::error::{Error, Result};
use crate::matrix::Banded;
use crate::memory::{array, zeroed};
use bandsolve_kernel::memory::MemoryPool;
use bandsolve_kernel::shared_band::SharedBandFactors;
use bandsolve_kernel::{Machine, RealScalar, Scalar};

/// The factors of A and of Aᵀ by rows, computed when they are first needed. `None` stands for a matrix with a small pivot.
#[derive(Debug)]
pub(crate) struct FactorsByRows<T: Scalar>([Lazy<Option<SharedBandFactors<T>>>; 2]);

impl<T: Scalar> FactorsByRows<T> {
    pub fn new() -> Self {
        Self([Lazy::new(), Lazy::new()])
    }

    /// The factors of A or Aᵀ, which `make` computes. `None` if a pivot is too small, and if there is no memory: other methods need less.
    ///
    /// # Errors
    /// Other errors of `make`.
    pub fn get(
        &self,
        transposed: bool,
        make: impl FnOnce() -> Result<Option<SharedBandFactors<T>>>,
    ) -> Result<Option<&SharedBandFactors<T>>> {
        match self.0[usize::from(transposed)].get(make) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            factors => factors.map(Option::as_ref),
        }
    }
}

impl<T: Scalar> BandLu<T> {
    /// The factors of the whole matrix `a` as the lanes need them, in memory from `pool`. `None` if a pivot is too small, or if columns were
    /// eliminated in blocks.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn by_rows(&self, a: &Banded<'_, T>, pool: Option<&MemoryPool>) -> Result<Option<SharedBandFactors<T>>> {
        let (n, lower, upper) = (self.size.rows, self.size.lower, self.size.upper);
        debug_assert!(self.size.pivots == n && a.n() == n);
        // A pivot that is zero has no reciprocal, and 0 stands for it.
        let large = |recip: T| recip != T::ZERO && Scalar::abs1(recip).to_f64() * T::Real::NO_PIVOT < 1.0;
        if self.block > 1 || !self.inverse.iter().all(|recip| large(*recip)) {
            return Ok(None);
        }
        let stride = SharedBandFactors::<T>::stride(lower, upper);
        let (mut scales, mut sums, mut exchange) = (zeroed(n)?, zeroed(n)?, zeroed(n)?);
        scales.copy_from_slice(&self.scale);
        exchange.copy_from_slice(&self.exchange);
        let mut numbers = array(n.saturating_mul(stride), pool)?;
        for (c, numbers) in numbers.chunks_exact_mut(stride).enumerate() {
            numbers.fill(T::ZERO);
            let (row, rest) = numbers.split_at_mut(lower + upper + 1);
            let (l, rest) = rest.split_at_mut(lower);
            let (first, entries) = a.row(c);
            for (to, entry) in row[first + lower - c..].iter_mut().zip(entries) {
                *to = entry.scale(self.scale[c]);
                sums[c] += Scalar::abs(*to);
            }
            for (i, l) in (c + 1..n).zip(l) {
                *l = self.elements[self.index(i, c)];
            }
            rest[0] = self.inverse[c];
            for (j, u) in (c + 1..n.min(c + self.fill + 1)).zip(&mut rest[1..]) {
                *u = self.elements[self.index(c, j)];
            }
        }
        Ok(Some(SharedBandFactors { lower, upper, scales, sums, exchange, numbers }))
    }
}
