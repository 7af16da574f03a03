//! General banded matrices: LU with partial pivoting in LAPACK's storage.
//!
//! Elimination column by column, each with an exchange of two rows at most `lower` apart, gives
//!
//! ```text
//! A = P₀·L₀·P₁·L₁ ⋯ Pₙ₋₁·Lₙ₋₁·U
//! ```
//!
//! where Lⱼ has `lower` entries below its unit diagonal in column j and U has `lower + upper` superdiagonals.

mod equilibrate;
mod factor;
mod lanes;
mod narrow;
mod strips;
#[cfg(test)]
mod tests;

pub(crate) use equilibrate::spread;
pub use equilibrate::{GbScales, scales};
pub use factor::factor;

use crate::Int;
use crate::norm::{MatrixNorm, largest, root_of_squares};
use crate::number::{LapackScalar, divide};
use crate::raw::RawColumns;
use crate::refine::{FactoredMatrix, MatrixEntries};
use crate::wide::{self, WideJob};
use bandsolve::{Op, RealScalar, Scalar};
use core::ops::Range;

/// The layout of a band in its array: Aᵢⱼ is at `upper + i − j + j·leading`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GbLayout {
    /// Number of rows of the matrix.
    pub rows: usize,
    /// Number of columns of the matrix.
    pub columns: usize,
    /// Number of diagonals below the main one.
    pub lower: usize,
    /// Number of diagonals above the main one for which the array has room.
    pub upper: usize,
    /// Distance in elements from one column to the next.
    pub leading: usize,
}

impl GbLayout {
    /// Length of the array.
    pub fn extent(&self) -> usize {
        crate::raw::extent(self.lower + self.upper + 1, self.columns, self.leading)
    }

    /// The rows in which column `j` has entries.
    #[inline(always)]
    pub fn rows_of(&self, j: usize) -> Range<usize> {
        let end = (j + self.lower + 1).min(self.rows);
        j.saturating_sub(self.upper).min(end)..end
    }

    /// The index of entry (i, j).
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        self.upper + i - j + j * self.leading
    }

    /// The index range of the rows `rows` of column `j`.
    #[inline(always)]
    pub fn part(&self, rows: Range<usize>, j: usize) -> Range<usize> {
        if rows.is_empty() {
            return 0..0;
        }
        let start = self.at(rows.start, j);
        start..start + rows.len()
    }
}

/// A banded matrix.
#[derive(Debug, Clone, Copy)]
pub struct GbMatrix<'a, T> {
    /// The layout of the array.
    pub band: GbLayout,
    /// The array.
    pub elements: &'a [T],
}

impl<'a, T: Scalar> GbMatrix<'a, T> {
    /// The first row and the entries of column `j`.
    #[inline(always)]
    pub fn column(&self, j: usize) -> (usize, &'a [T]) {
        let rows = self.band.rows_of(j);
        (rows.start, &self.elements[self.band.part(rows, j)])
    }

    /// A norm of the matrix. `sums` is scratch with one number per row, which only ‖·‖∞ needs.
    pub fn norm(&self, norm: MatrixNorm, sums: &mut [T::Real]) -> T::Real {
        let all = |f: &mut dyn FnMut(T::Real)| self.visit(|_, _, a| f(a.abs()));
        match norm {
            MatrixNorm::Max => largest(all),
            MatrixNorm::Frobenius => root_of_squares(all),
            MatrixNorm::One => (0..self.band.columns)
                .fold(T::Real::ZERO, |m, j| m.max_nan(self.column(j).1.iter().fold(T::Real::ZERO, |s, a| s + a.abs()))),
            MatrixNorm::Infinity => {
                sums.fill(T::Real::ZERO);
                self.visit(|i, _, a| sums[i] += a.abs());
                sums.iter().fold(T::Real::ZERO, |m, s| m.max_nan(*s))
            }
        }
    }

    /// max |aᵢⱼ| over the first `count` columns. With `triangle`, only entries on and above the diagonal count.
    pub fn largest_of(&self, count: usize, triangle: bool) -> T::Real {
        (0..count).fold(T::Real::ZERO, |m, j| {
            let (first, column) = self.column(j);
            let end = if triangle { j + 1 - first } else { column.len() };
            column[..end].iter().fold(m, |m, a| m.max_nan(a.abs()))
        })
    }
}

impl<T: Scalar> MatrixEntries<T> for GbMatrix<'_, T> {
    fn row_entries(&self) -> usize {
        (self.band.lower + self.band.upper + 1).min(self.band.columns)
    }

    #[inline(always)]
    fn visit(&self, mut visit: impl FnMut(usize, usize, T)) {
        for j in 0..self.band.columns {
            let (first, column) = self.column(j);
            column.iter().enumerate().for_each(|(k, a)| visit(first + k, j, *a));
        }
    }
}

/// The factors of a square matrix.
#[derive(Debug, Clone, Copy)]
pub struct GbLu<'a, T> {
    /// U on and above the diagonal, and the Lⱼ below it. `upper` is the number of superdiagonals of U.
    pub factors: GbMatrix<'a, T>,
    /// n row numbers, counted from 1: step j exchanged row j and row `pivot[j]`.
    pub pivot: &'a [Int],
}

/// The arrays of [`factor()`]: A on entry, and its factors on exit, as in [`GbLu`].
#[derive(Debug)]
pub struct GbLuMut<'a, T> {
    /// The layout, with `upper` superdiagonals for U. A has `lower` fewer.
    pub band: GbLayout,
    /// On entry: A in the rows from `lower` on. The rows before them need not be set.
    pub elements: &'a mut [T],
    /// Output only; one entry per step.
    pub pivot: &'a mut [Int],
}

impl<T: LapackScalar> GbLu<'_, T> {
    /// Solve op(A)·x = rhs for all columns in place.
    pub fn solve_columns(&self, op: Op, rhs: &mut RawColumns<'_, T>) {
        let done = lanes::solve(self, op, rhs);
        (done..rhs.count()).for_each(|j| self.solve(op, rhs.column(j)));
    }

    /// Column j of L below the diagonal.
    #[inline(always)]
    fn l(&self, j: usize) -> &[T] {
        let band = &self.factors.band;
        &self.factors.elements[band.part(j + 1..band.rows_of(j).end, j)]
    }

    /// The first row and the entries of column j of U above the diagonal, and its diagonal entry.
    #[inline(always)]
    fn u(&self, j: usize) -> (usize, &[T], T) {
        let (first, column) = self.factors.column(j);
        (first, &column[..j - first], column[j - first])
    }
}

impl<T: LapackScalar> FactoredMatrix<T> for GbLu<'_, T> {
    fn n(&self) -> usize {
        self.factors.band.columns
    }

    fn solve(&self, op: Op, x: &mut [T]) {
        if op != Op::Plain || !narrow::solve(self, x) {
            wide::run(GbSolve { lu: self, op, x });
        }
    }
}

/// An unknown, or the unknowns of several systems.
trait Unknown<T>: Copy {
    /// x ← x / d
    fn divide_by(&mut self, d: T);
    /// yᵢ ← yᵢ − vᵢ·x
    fn subtract_multiples(self, v: &[T], y: &mut [Self]);
    /// x ← x − Σ conj(vᵢ)·yᵢ
    fn subtract_dot(&mut self, v: &[T], y: &[Self], conj: impl Fn(T) -> T);
}

impl<T: Scalar> Unknown<T> for T {
    #[inline(always)]
    fn divide_by(&mut self, d: T) {
        *self = divide(*self, d);
    }

    #[inline(always)]
    fn subtract_multiples(self, v: &[T], y: &mut [Self]) {
        subtract_multiple(y, self, v);
    }

    #[inline(always)]
    fn subtract_dot(&mut self, v: &[T], y: &[Self], conj: impl Fn(T) -> T) {
        *self -= dot(v, y, conj);
    }
}

/// x ← op(A)⁻¹·x
struct GbSolve<'a, 'f, T, X> {
    lu: &'a GbLu<'f, T>,
    op: Op,
    x: &'a mut [X],
}

impl<T: LapackScalar, X: Unknown<T>> WideJob for GbSolve<'_, '_, T, X> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.op {
            Op::Plain => self.plain(),
            Op::Transpose => self.transposed(|v| v),
            Op::ConjTranspose => self.transposed(Scalar::conj),
        }
    }
}

impl<T: LapackScalar, X: Unknown<T>> GbSolve<'_, '_, T, X> {
    #[inline(always)]
    fn plain(self) {
        let Self { lu, x, .. } = self;
        let n = lu.n();
        if lu.factors.band.lower > 0 {
            for j in 0..n {
                x.swap(j, lu.pivot[j] as usize - 1);
                let (xj, below) = x[j..].split_first_mut().expect("j < n");
                xj.subtract_multiples(lu.l(j), below);
            }
        }
        for j in (0..n).rev() {
            let (first, above, diagonal) = lu.u(j);
            let (left, right) = x.split_at_mut(j);
            right[0].divide_by(diagonal);
            right[0].subtract_multiples(above, &mut left[first..]);
        }
    }

    #[inline(always)]
    fn transposed(self, conj: impl Fn(T) -> T + Copy) {
        let Self { lu, x, .. } = self;
        let n = lu.n();
        for j in 0..n {
            let (first, above, diagonal) = lu.u(j);
            let (left, right) = x.split_at_mut(j);
            right[0].subtract_dot(above, &left[first..], conj);
            right[0].divide_by(conj(diagonal));
        }
        if lu.factors.band.lower == 0 {
            return;
        }
        for j in (0..n).rev() {
            let (xj, below) = x[j..].split_first_mut().expect("j < n");
            xj.subtract_dot(lu.l(j), below, conj);
            x.swap(j, lu.pivot[j] as usize - 1);
        }
    }
}

/// y ← y − c·v on the common length.
#[inline(always)]
pub(crate) fn subtract_multiple<T: Scalar>(y: &mut [T], c: T, v: &[T]) {
    y.iter_mut().zip(v).for_each(|(y, v)| *y -= c * *v);
}

/// Σ conj(aᵢ)·bᵢ on the common length, in sixteen partial sums and then in four.
#[inline(always)]
pub(crate) fn dot<T: Scalar>(a: &[T], b: &[T], conj: impl Fn(T) -> T) -> T {
    let len = a.len().min(b.len());
    let (a16, a) = a[..len].as_chunks::<16>();
    let (b16, b) = b[..len].as_chunks::<16>();
    let (a4, a) = a.as_chunks::<4>();
    let (b4, b) = b.as_chunks::<4>();
    let rest = a.iter().zip(b).fold(T::ZERO, |s, (a, b)| s + conj(*a) * *b);
    let four = sums(a4, b4, &conj);
    let mut total = rest + (four[0] + four[2]) + (four[1] + four[3]);
    if !a16.is_empty() {
        let sixteen = sums(a16, b16, &conj);
        for k in 0..4 {
            total += (sixteen[k] + sixteen[k + 8]) + (sixteen[k + 4] + sixteen[k + 12]);
        }
    }
    total
}

/// Σᵢ conj(aᵢₖ)·bᵢₖ
#[inline(always)]
fn sums<T: Scalar, const N: usize>(a: &[[T; N]], b: &[[T; N]], conj: &impl Fn(T) -> T) -> [T; N] {
    let mut sum = [T::ZERO; N];
    for (a, b) in a.iter().zip(b) {
        for k in 0..N {
            sum[k] += conj(a[k]) * b[k];
        }
    }
    sum
}
