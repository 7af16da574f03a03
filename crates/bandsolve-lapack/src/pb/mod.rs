//! Positive definite banded matrices: Cholesky factors in LAPACK's storage.
//!
//! ```text
//! A = L·Lᴴ = Uᴴ·U
//! ```
//!
//! A is Hermitian with `width` off-diagonals on each side. The array contains the lower or the upper triangle of A, and
//! then L or U. Imaginary parts of diagonal entries count as zero.

mod factor;
mod narrow;
#[cfg(test)]
mod tests;

pub use factor::factor;

use crate::gb::{dot, spread, subtract_multiple};
use crate::norm::{MatrixNorm, largest, root_of_squares};
use crate::number::{LapackScalar, larger};
use crate::pt::TriangleSide;
use crate::refine::{FactoredMatrix, MatrixEntries};
use crate::wide::{self, WideJob};
use bandsolve::{Op, RealScalar, Scalar};
use core::ops::Range;

/// The layout of a triangle of a band: Aᵢⱼ is at i − j + j·leading (lower) or `width` + i − j + j·leading (upper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triangle {
    /// Number of rows and columns.
    pub n: usize,
    /// Number of off-diagonals on each side.
    pub width: usize,
    /// Distance in elements from one column to the next.
    pub leading: usize,
    /// The stored triangle.
    pub side: TriangleSide,
}

impl Triangle {
    /// Length of the array.
    pub fn extent(&self) -> usize {
        crate::raw::extent(self.width + 1, self.n, self.leading)
    }

    /// The rows in which column `j` has entries: from the diagonal down, or down to the diagonal.
    #[inline(always)]
    pub fn rows_of(&self, j: usize) -> Range<usize> {
        match self.side {
            TriangleSide::Lower => j..self.end(j),
            TriangleSide::Upper => j.saturating_sub(self.width)..j + 1,
        }
    }

    /// The index range of the entries of column `j`.
    #[inline(always)]
    pub fn part(&self, j: usize) -> Range<usize> {
        let rows = self.rows_of(j);
        let start = j * self.leading + if self.side == TriangleSide::Lower { 0 } else { self.width + rows.start - j };
        start..start + rows.len()
    }

    /// The row after the last entry of column `j` of the lower triangle.
    fn end(&self, j: usize) -> usize {
        (j + self.width + 1).min(self.n)
    }

    /// The index of entry (i, j) of the lower triangle, i ≥ j, or of its conjugate.
    #[inline(always)]
    fn below(&self, i: usize, j: usize) -> usize {
        match self.side {
            TriangleSide::Lower => i - j + j * self.leading,
            TriangleSide::Upper => self.width + j - i + i * self.leading,
        }
    }
}

/// A matrix, or its Cholesky factor.
#[derive(Debug, Clone, Copy)]
pub struct Hermitian<'a, T> {
    /// The layout of the array.
    pub shape: Triangle,
    /// The array.
    pub elements: &'a [T],
}

impl<'a, T: Scalar> Hermitian<'a, T> {
    /// Column `j` of the triangle, and its diagonal entry, which is real.
    #[inline(always)]
    fn column(&self, j: usize) -> (&'a [T], T::Real) {
        let column = &self.elements[self.shape.part(j)];
        match self.shape.side {
            TriangleSide::Lower => (&column[1..], column[0].re()),
            TriangleSide::Upper => (&column[..column.len() - 1], column[column.len() - 1].re()),
        }
    }

    /// The first row of the result of [`column`](Self::column).
    #[inline(always)]
    fn first(&self, j: usize) -> usize {
        match self.shape.side {
            TriangleSide::Lower => j + 1,
            TriangleSide::Upper => self.shape.rows_of(j).start,
        }
    }

    /// A norm of the matrix. `sums` is scratch with n numbers, which only ‖·‖₁ = ‖·‖∞ needs.
    pub fn norm(&self, norm: MatrixNorm, sums: &mut [T::Real]) -> T::Real {
        let all = |f: &mut dyn FnMut(T::Real)| self.visit(|_, _, a| f(a.abs()));
        match norm {
            MatrixNorm::Max => largest(all),
            MatrixNorm::Frobenius => root_of_squares(all),
            MatrixNorm::One | MatrixNorm::Infinity => {
                sums.fill(T::Real::ZERO);
                self.visit(|i, _, a| sums[i] += a.abs());
                sums.iter().fold(T::Real::ZERO, |m, s| m.max_nan(*s))
            }
        }
    }
}

impl<T: Scalar> MatrixEntries<T> for Hermitian<'_, T> {
    fn row_entries(&self) -> usize {
        (2 * self.shape.width + 1).min(self.shape.n)
    }

    #[inline(always)]
    fn visit(&self, mut visit: impl FnMut(usize, usize, T)) {
        for j in 0..self.shape.n {
            let (column, diagonal) = self.column(j);
            visit(j, j, T::from_real(diagonal));
            for (k, a) in column.iter().enumerate() {
                let i = self.first(j) + k;
                visit(i, j, *a);
                visit(j, i, Scalar::conj(*a));
            }
        }
    }
}

/// The implementation is valid if this is the factor of A.
impl<T: LapackScalar> FactoredMatrix<T> for Hermitian<'_, T> {
    fn n(&self) -> usize {
        self.shape.n
    }

    fn solve(&self, op: Op, x: &mut [T]) {
        debug_assert!(op != Op::Transpose);
        if narrow::serves(&self.shape) {
            return narrow::solve(self, x);
        }
        wide::run(PbSolve { factor: self, x });
    }
}

impl<T: LapackScalar> Hermitian<'_, T> {
    #[inline(always)]
    fn sweeps(&self, x: &mut [T]) {
        let n = self.shape.n;
        match self.shape.side {
            TriangleSide::Lower => {
                (0..n).for_each(|j| self.column_sweep(j, x));
                (0..n).rev().for_each(|j| self.row_sweep(j, x));
            }
            TriangleSide::Upper => {
                (0..n).for_each(|j| self.row_sweep(j, x));
                (0..n).rev().for_each(|j| self.column_sweep(j, x));
            }
        }
    }

    /// Divide xⱼ by the diagonal entry, by a product with its reciprocal, and subtract column j times xⱼ from the other unknowns.
    #[inline(always)]
    fn column_sweep(&self, j: usize, x: &mut [T]) {
        let (column, diagonal) = self.column(j);
        let xj = x[j].scale(T::Real::ONE / diagonal);
        x[j] = xj;
        subtract_multiple(&mut x[self.first(j)..], xj, column);
    }

    /// Subtract the product of column j, conjugated, with the other unknowns from xⱼ: the column is row j of the
    /// adjoint.
    #[inline(always)]
    fn row_sweep(&self, j: usize, x: &mut [T]) {
        let (column, diagonal) = self.column(j);
        let sum = x[j] - dot(column, &x[self.first(j)..], Scalar::conj);
        x[j] = sum.scale(T::Real::ONE / diagonal);
    }
}

struct PbSolve<'a, 'f, T> {
    factor: &'a Hermitian<'f, T>,
    x: &'a mut [T],
}

impl<T: LapackScalar> WideJob for PbSolve<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.factor.sweeps(self.x);
    }
}

/// The ratio of the scales, and the size of the matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PbScales<R> {
    /// The smallest scale divided by the largest.
    pub ratio: R,
    /// The largest diagonal entry.
    pub largest: R,
}

/// Compute s with sᵢ·aᵢᵢ·sᵢ = 1.
///
/// # Errors
/// The second value is the first diagonal entry that is not positive. The known part of the scales is returned too.
pub fn scales<T: Scalar>(a: &Hermitian<'_, T>, s: &mut [T::Real]) -> (PbScales<T::Real>, Option<usize>) {
    let mut known = PbScales { ratio: T::Real::ONE, largest: T::Real::ZERO };
    if s.is_empty() {
        return (known, None);
    }
    s.iter_mut().enumerate().for_each(|(j, s)| *s = a.column(j).1);
    known.largest = s[1..].iter().fold(s[0], |m, s| larger(*s, m));
    if let Some(row) = s.iter().position(|s| *s <= T::Real::ZERO) {
        return (known, Some(row));
    }
    let least = s.iter().fold(known.largest, |m, s| if *s < m { *s } else { m });
    known.ratio = least.sqrt() / known.largest.sqrt();
    s.iter_mut().for_each(|s| *s = T::Real::ONE / s.sqrt());
    (known, None)
}

/// aᵢⱼ ← sᵢ·aᵢⱼ·sⱼ
pub fn scale<T: Scalar>(shape: Triangle, elements: &mut [T], s: &[T::Real]) {
    for j in 0..shape.n {
        let column = &mut elements[shape.part(j)];
        column.iter_mut().zip(&s[shape.rows_of(j)]).for_each(|(a, si)| *a = a.scale(*si).scale(s[j]));
    }
}

/// The smallest of the given scales divided by the largest, both limited to the exponent range.
pub fn ratio<R: RealScalar>(s: &[R]) -> R {
    if s.is_empty() { R::ONE } else { spread(s) }
}
