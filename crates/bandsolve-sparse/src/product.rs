//! A·x.

use crate::csr::Csr;
use crate::rows::each_row;
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::Index;
use bandsolve::{LinearOperator, Result, Scalar};

impl<T: Scalar, I: Index> Csr<'_, T, I> {
    /// Σⱼ aᵢⱼ·xⱼ of row i, in the order of its entries.
    #[inline]
    pub(crate) fn row_times(&self, i: usize, x: &[T]) -> T {
        self.row(i).fold(T::ZERO, |sum, (j, value)| sum + value * x[j])
    }
}

impl<T: Scalar, I: Index> LinearOperator<T> for Csr<'_, T, I> {
    fn rows(&self) -> usize {
        Csr::rows(self)
    }

    fn columns(&self) -> usize {
        Csr::columns(self)
    }

    fn apply(&self, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        each_row(y, &|i, y| {
            *y = self.row_times(i, x);
            0
        });
        Ok(())
    }

    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], _: &mut PodStack) -> Result<()> {
        each_row(r, &|i, r| {
            *r = rhs[i] - self.row_times(i, x);
            0
        });
        Ok(())
    }
}
