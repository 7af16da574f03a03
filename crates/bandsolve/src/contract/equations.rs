//! The traits through which the accuracy contract reads matrices.

use crate::contract::op::Op;
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use crate::tuning::ROWS_TOGETHER;
use bandsolve_kernel::exact::{RunningMaximum, ScaledNorm};
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

impl<T: Scalar> Equations<T> for Rows<'_, T> {
    #[inline(always)]
    fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (a, b, c) = self.row(i);
        let (left, right) = self.neighbours(i);
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
        let end_row = first_row + r.len();
        let from = first_row.max(1);
        let to = end_row.min(self.n() - 1).max(from);
        for i in (first_row..from.min(end_row)).chain(to..end_row) {
            self.visit_row(i, |j, a| {
                r[i - first_row] -= a * x[j];
                sums[i - first_row] += T::from_real(a.abs1());
            });
        }
        if from == to {
            return;
        }
        // Slices of the same length let the compiler drop bounds checks and use SIMD.
        let m = to - from;
        let (r, sums) = (&mut r[from - first_row..][..m], &mut sums[from - first_row..][..m]);
        let (a, b, c) = (&self.sub[from - 1..][..m], &self.diag[from..][..m], &self.sup[from..][..m]);
        let (left, x, right) = (&x[from - 1..][..m], &x[from..][..m], &x[from + 1..][..m]);
        for k in 0..m {
            r[k] = r[k] - a[k] * left[k] - b[k] * x[k] - c[k] * right[k];
            sums[k] = T::from_real(a[k].abs1() + b[k].abs1() + c[k].abs1());
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

    fn equations(&self, op: Op, _simd: Simd) -> impl Equations<T> {
        op.rows(self)
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}
