//! A·x.

use crate::csr::Csr;
use crate::instances::MultiplyRows;
use crate::rows::each_row;
use bandsolve::dyn_stack::PodStack;
use bandsolve::matrix::{Index, IndexWords};
use bandsolve::{LinearOperator, Result, Scalar};

impl<T: Scalar> Csr<'_, T, u32> {
    /// Σⱼ aᵢⱼ·xⱼ of row i, in the order of its entries.
    #[inline]
    pub(crate) fn row_times(&self, i: usize, x: &[T]) -> T {
        let (_, columns, values) = self.parts();
        sum(self.range(i), columns, values, x)
    }
}

#[inline]
fn sum<T: Scalar, W: IndexWord>(own: core::ops::Range<usize>, columns: &[W], values: &[T], x: &[T]) -> T {
    let entries = columns[own.clone()].iter().zip(&values[own]);
    entries.fold(T::ZERO, |sum, (j, value)| sum + *value * x[j.at()])
}

/// An index.
trait IndexWord: Copy + Sync {
    fn at(self) -> usize;
}

impl IndexWord for u32 {
    #[inline]
    fn at(self) -> usize {
        self as usize
    }
}

impl IndexWord for u64 {
    #[inline]
    fn at(self) -> usize {
        self as usize
    }
}

/// y = A·x, or y = rhs − A·x.
pub(crate) struct ProductCall<'a, T> {
    pointers: IndexWords<'a>,
    columns: IndexWords<'a>,
    values: &'a [T],
    rhs: Option<&'a [T]>,
    x: &'a [T],
    y: &'a mut [T],
}

pub(crate) fn product<T: Scalar>(call: ProductCall<'_, T>) {
    let ProductCall { pointers, columns, values, rhs, x, y } = call;
    match (pointers, columns) {
        (IndexWords::Narrow(pointers), IndexWords::Narrow(columns)) => rows(pointers, columns, values, rhs, x, y),
        (IndexWords::Wide(pointers), IndexWords::Wide(columns)) => rows(pointers, columns, values, rhs, x, y),
        _ => unreachable!("indices of one type"),
    }
}

fn rows<T: Scalar, W: IndexWord>(pointers: &[W], columns: &[W], values: &[T], rhs: Option<&[T]>, x: &[T], y: &mut [T]) {
    let of_row = |i: usize| sum(pointers[i].at()..pointers[i + 1].at(), columns, values, x);
    match rhs {
        None => each_row(y, &|i, y| {
            *y = of_row(i);
            0
        }),
        Some(rhs) => each_row(y, &|i, y| {
            *y = rhs[i] - of_row(i);
            0
        }),
    };
}

impl<T: Scalar, I: Index> Csr<'_, T, I> {
    fn multiply<'a>(&'a self, rhs: Option<&'a [T]>, x: &'a [T], y: &'a mut [T]) {
        let (pointers, columns, values) = self.parts();
        let [pointers, columns] = [pointers, columns].map(I::words);
        T::by_type::<MultiplyRows<'_>>(ProductCall { pointers, columns, values, rhs, x, y });
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
        self.multiply(None, x, y);
        Ok(())
    }

    fn residual(&self, x: &[T], rhs: &[T], r: &mut [T], _: &mut PodStack) -> Result<()> {
        self.multiply(Some(rhs), x, r);
        Ok(())
    }
}
