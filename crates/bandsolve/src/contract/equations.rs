//! Matrices as the accuracy contract needs them: their rows, and whether these are finite.

use crate::contract::Op;
use crate::contract::measure::{ROWS_TOGETHER, measure_rows, residual};
use crate::error::Result;
use crate::matrix::{Shape, Tridiagonal};
use bandsolve_kernel::exact::{RunningMaximum, ScaledNorm};
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use core::fmt::Debug;

/// The equations of one system, row by row: all that measuring an answer needs.
pub trait Equations<T: Scalar>: Sync {
    /// Calls `visit(j, a_ij)` for the entries of row `i`, each column once.
    fn visit_row(&self, i: usize, visit: impl FnMut(usize, T));
    /// About so many entries stand in a row.
    fn entries_in_row(&self) -> usize {
        3
    }

    /// Whether the precise residual is about as cheap as the plain one, and rows so long that the rounding of a good solve
    /// exceeds the half of what is accepted of the plain one: then it is not looked at.
    fn prefers_precise(&self) -> bool {
        false
    }

    /// The precise residual of the rows from `first_row` on, if there is a faster way to it than row by row; returns their
    /// largest η.
    fn precise_residual(
        &self,
        _first_row: usize,
        _system: (&[T], &[T]),
        _out: (&ScaledNorm, &mut [T]),
    ) -> Option<RunningMaximum> {
        None
    }

    /// Whether [`accumulate`](Self::accumulate) may be called: real scalars only.
    const BY_BLOCKS: bool = !T::COMPLEX;
    /// For the rows i from `first_row` on: subtracts (A·x)_i from `r`, adds Σ|a_ij| to `sums`, which is zero. What
    /// [`visit_row`](Self::visit_row) could do, but for many rows at a time.
    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]);
    /// The same for some columns of X, n numbers each, and those of R, `rows` numbers each.
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
            visit(i, b + (a + c)); // n = 1; the same rounding for the transpose
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
        // The rows between, each with its three neighbours, in slices of one length.
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

/// η of one right-hand side of A·x = d, measured in the working precision; what is above half of what is accepted, in twice that.
pub fn error_of<T: Scalar>(a: &impl Matrix<T>, (d, x): (&[T], &[T])) -> f64 {
    let equations = a.equations(Op::Plain, Simd::detect());
    if equations.prefers_precise() {
        return residual(&equations, (d, x), &mut vec![T::ZERO; x.len()], false);
    }
    measure_rows::<T, _, true>(&equations, 0..x.len(), (d, x), &ScaledNorm::of(x), false)
}

/// The same of all rows but the first and the last, where ‖x‖∞ is `norm`.
pub fn inner_error_of<T: Scalar>(a: &Tridiagonal<'_, T>, (d, x): (&[T], &[T]), norm: f64) -> f64 {
    let (rows, end) = (a.equations(Op::Plain, Simd::detect()), x.len().saturating_sub(1));
    let norm = ScaledNorm::of(&[T::from_real(T::Real::from_f64(norm))]);
    measure_rows::<T, _, true>(&rows, 1..end.max(1), (d, x), &norm, false)
}

/// The residual d − A·x, formed in twice the working precision, and η measured with it.
pub fn residual_of<T: Scalar>(a: &impl Matrix<T>, (d, x): (&[T], &[T]), r: &mut [T]) -> f64 {
    residual(&a.equations(Op::Plain, Simd::detect()), (d, x), r, false)
}

/// A matrix as the accuracy contract needs it.
pub trait Matrix<T: Scalar>: Debug + Send + Sync {
    /// Kind and size.
    fn shape(&self) -> Shape;
    /// Rows of op(A), measured with these vectors.
    fn equations(&self, op: Op, simd: Simd) -> impl Equations<T>;
    /// First entry of the matrix that is not finite, as an error.
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
