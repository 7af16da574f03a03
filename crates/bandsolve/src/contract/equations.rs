//! The traits through which the accuracy contract reads matrices.

use crate::contract::op::Op;
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use crate::tuning::ROWS_TOGETHER;
use bandsolve_kernel::exact::{RunningMaximum, ScaledNorm};
use bandsolve_kernel::residual::TridiagonalResidual;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::{Scalar, Simd};
use core::fmt::Debug;

/// The rows of op(A), from which residuals and backward errors are computed.
pub trait Equations<T: Scalar>: Sync {
    /// Call `visit(j, a_ij)` for the entries of row `i`, once for each column.
    fn visit_row(&self, i: usize, visit: impl FnMut(usize, T));
    /// Approximate number of entries per row.
    fn entries_in_row(&self) -> usize {
        3
    }

    /// Whether to skip the residual in working precision. This pays off if the precise one costs about as much, and rows are so long that
    /// the rounding of a good solve exceeds half of the limit.
    fn prefers_precise(&self) -> bool {
        false
    }

    /// Compute the precise residual of the rows from `first_row` on and return their largest η, if there is a faster way than row by
    /// row.
    fn precise_residual(
        &self,
        _first_row: usize,
        _system: (&[T], &[T]),
        _out: (&ScaledNorm, &mut [T]),
    ) -> Option<RunningMaximum> {
        None
    }

    /// Whether [`accumulate`](Self::accumulate) may be called. It works for real numbers only.
    const BY_BLOCKS: bool = !T::COMPLEX;
    /// For the rows i from `first_row` on, subtracts (A·x)ᵢ from `r` and adds Σ|aᵢⱼ| to `sums`, which is zero. This is faster for many
    /// rows than [`visit_row`](Self::visit_row).
    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]);
    /// Call [`accumulate`](Self::accumulate) for columns of X, n numbers each, and of R, `rows` numbers each.
    fn accumulate_columns(
        &self,
        first_row: usize,
        (x, n): (&[T], usize),
        (r, rows): (&mut [T], usize),
        sums: &mut [T],
    ) {
        let mut again = [T::ZERO; ROWS_TOGETHER];
        for (k, (x, r)) in x.chunks_exact(n).zip(r.chunks_exact_mut(rows)).enumerate() {
            self.accumulate(first_row, x, r, if k == 0 { &mut *sums } else { &mut again[..rows] });
        }
    }
}

/// The rows of a tridiagonal matrix, read with an instruction set.
pub(crate) struct TridiagonalRows<'a, T> {
    pub rows: Rows<'a, T>,
    pub simd: Simd,
}

impl<T: Scalar> Equations<T> for TridiagonalRows<'_, T> {
    #[inline(always)]
    fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (a, b, c) = self.rows.row(i);
        let (left, right) = self.rows.neighbours(i);
        if left != right {
            visit(left, a);
            visit(i, b);
            visit(right, c);
        } else if left == i {
            visit(i, b + (a + c)); // n = 1: this order gives the same rounding for the transpose
        } else {
            visit(i, b); // n = 2: off-diagonal and corner share a column
            visit(left, a + c);
        }
    }

    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let Rows { sub, diag, sup, .. } = self.rows;
        let end_row = first_row + r.len();
        let from = first_row.max(1);
        let to = end_row.min(self.rows.n() - 1).max(from);
        for i in (first_row..from.min(end_row)).chain(to..end_row) {
            self.visit_row(i, |j, a| {
                r[i - first_row] -= a * x[j];
                sums[i - first_row] += T::from_real(a.abs1());
            });
        }
        if from < to {
            let (r, sums) = (&mut r[from - first_row..to - first_row], &mut sums[from - first_row..to - first_row]);
            let (sub, diag, sup, x) = (&sub[from - 1..to - 1], &diag[from..to], &sup[from..to], &x[from - 1..to + 1]);
            TridiagonalResidual { sub, diag, sup, x, r, sums }.run_on(self.simd);
        }
    }
}

/// A matrix whose solutions the accuracy contract can measure.
pub trait Matrix<T: Scalar>: Debug + Send + Sync {
    /// The kind and the size of the matrix.
    fn shape(&self) -> Shape;
    /// The rows of op(A), read with the instruction set `simd`.
    fn equations(&self, op: Op, simd: Simd) -> impl Equations<T>;
    /// Return `Err(NotFinite)` for the first entry that is not finite.
    fn check_finite(&self) -> Result<()>;
}

impl<T: Scalar> Matrix<T> for Tridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op, simd: Simd) -> impl Equations<T> {
        TridiagonalRows { rows: op.rows(self), simd }
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}
