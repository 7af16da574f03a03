//! The factors row by row, for many right-hand sides on lanes.

use super::BandLu;
use crate::error::Result;
use crate::matrix::Banded;
use crate::memory::zeroed;
use bandsolve_kernel::shared_band::SharedBandFactors;
use bandsolve_kernel::{Machine, RealScalar, Scalar};

impl<T: Scalar> BandLu<T> {
    /// The factors of the whole matrix `a`, whose columns were eliminated one by one, as the lanes need them. `None` if a pivot is too small.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn by_rows(&self, a: &Banded<'_, T>) -> Result<Option<SharedBandFactors<T>>> {
        let (n, lower, upper) = (self.size.rows, self.size.lower, self.size.upper);
        debug_assert!(self.block == 1 && self.size.pivots == n && a.n() == n);
        let large = |recip: T| Scalar::abs1(recip).to_f64() * T::Real::NO_PIVOT < 1.0;
        if !self.inverse.iter().all(|recip| large(*recip)) {
            return Ok(None);
        }
        let stride = SharedBandFactors::<T>::stride(lower, upper);
        let (mut scales, mut sums, mut exchange) = (zeroed(n)?, zeroed(n)?, zeroed(n)?);
        scales.copy_from_slice(&self.scale);
        exchange.copy_from_slice(&self.exchange);
        let mut numbers: Vec<T> = zeroed(n.checked_mul(stride).unwrap_or(usize::MAX))?;
        for (c, numbers) in numbers.chunks_exact_mut(stride).enumerate() {
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
