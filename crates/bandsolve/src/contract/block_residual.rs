//! Residuals of block tridiagonal systems.

use crate::contract::equations::{Equations, Matrix};
use crate::contract::op::Op;
use crate::error::Result;
use crate::matrix::{BlockTridiagonal, Shape};
use crate::tuning::PRECISE_FROM;
use bandsolve_kernel::exact::{RunningMaximum, ScaledNorm};
use bandsolve_kernel::precise::{PreciseResidual, residual};
use bandsolve_kernel::residual::BlockResidual;
use bandsolve_kernel::rows::{BlockRows, Orientation};
use bandsolve_kernel::{Scalar, Simd};
use core::ops::Range;

impl<T: Scalar> Matrix<T> for BlockTridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op, simd: Simd) -> impl Equations<T> {
        BlockEquations { rows: op.block_rows(self), simd }
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

/// The rows of a block tridiagonal matrix, read with the instruction set `simd`.
pub(crate) struct BlockEquations<'a, T: Scalar> {
    pub rows: BlockRows<'a, T>,
    pub simd: Simd,
}

impl<T: Scalar> Equations<T> for BlockEquations<'_, T> {
    fn entries_in_row(&self) -> usize {
        3 * self.rows.block
    }

    fn prefers_precise(&self) -> bool {
        !self.has_fast_residual() && self.rows.block >= PRECISE_FROM && !self.rows.shares_columns()
    }

    fn precise_residual(
        &self,
        first_row: usize,
        (d, x): (&[T], &[T]),
        (norm, r): (&ScaledNorm, &mut [T]),
    ) -> Option<RunningMaximum> {
        let job = PreciseResidual { rows: &self.rows, first: first_row, d, x, norm, r };
        (!self.rows.shares_columns()).then(|| residual(self.simd, job))
    }

    fn visit_row(&self, i: usize, visit: impl FnMut(usize, T)) {
        self.rows.visit_row(i, visit);
    }

    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let (b, end) = (self.rows.block, first_row + r.len());
        let shared_columns = self.rows.shares_columns();
        let mut i = first_row;
        while i < end {
            let row = i / b;
            if i == row * b && row > 0 && self.has_fast_residual() {
                // Whole block rows, except for the first and the last of the matrix.
                let whole = (end / b).min(self.rows.block_rows() - 1).saturating_sub(row);
                let span = i - first_row..i - first_row + whole * b;
                let (r, sums) = (&mut r[span.clone()], &mut sums[span]);
                let done = if whole == 0 {
                    0
                } else {
                    BlockResidual { rows: &self.rows, first: row, x, r, sums }.run_on(self.simd)
                };
                if done > 0 {
                    i += done * b;
                    continue;
                }
            }
            let stop = ((row + 1) * b).min(end);
            let span = i - first_row..stop - first_row;
            if shared_columns {
                for k in span.clone() {
                    self.visit_row(first_row + k, |j, a| {
                        r[k] -= a * x[j];
                        sums[k] += T::from_real(a.abs1());
                    });
                }
            } else {
                for (column, block) in self.rows.blocks(row).into_iter().flatten() {
                    let out = (&mut r[span.clone()], &mut sums[span.clone()]);
                    accumulate_block(&self.rows, block, i - row * b..stop - row * b, &x[column * b..][..b], out);
                }
            }
            i = stop;
        }
    }
}

impl<T: Scalar> BlockEquations<'_, T> {
    /// Whether [`BlockResidual`] computes the residuals of inner block rows: for real matrices that are not transposed.
    fn has_fast_residual(&self) -> bool {
        !T::COMPLEX && self.rows.orientation == Orientation::Plain && !self.rows.shares_columns()
    }
}

/// Subtract block·x from `r` and add the row sums of moduli to `sums`, for the rows `rows` of the block.
fn accumulate_block<T: Scalar>(
    matrix: &BlockRows<'_, T>,
    block: &[T],
    rows: Range<usize>,
    x: &[T],
    (r, sums): (&mut [T], &mut [T]),
) {
    let b = matrix.block;
    if matrix.orientation == Orientation::Plain {
        for (column, x) in block.chunks_exact(b).zip(x) {
            for ((r, sum), a) in r.iter_mut().zip(&mut *sums).zip(&column[rows.clone()]) {
                *r -= *a * *x;
                *sum += T::from_real(a.abs1());
            }
        }
        return;
    }
    for ((r, sum), i) in r.iter_mut().zip(sums).zip(rows) {
        for (c, x) in x.iter().enumerate() {
            let a = matrix.entry(block, i, c);
            *r -= a * *x;
            *sum += T::from_real(a.abs1());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::measure::residual;
    use crate::{BlockTridiagonal, Complex32, Complex64, RealScalar};

    /// Equations without a fast precise residual.
    struct Slow<'a, T>(BlockRows<'a, T>);

    impl<T: Scalar> Equations<T> for Slow<'_, T> {
        fn visit_row(&self, i: usize, visit: impl FnMut(usize, T)) {
            self.0.visit_row(i, visit);
        }

        fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
            BlockEquations { rows: self.0, simd: Simd::detect() }.accumulate(first_row, x, r, sums);
        }
    }

    fn check<T: Scalar>(rows: usize, block: usize, periodic: bool) {
        let wave = |i: usize, by: f64| T::Real::from_f64(((i * i) as f64 * by).sin());
        let array = |k: usize| {
            let power = |i: usize| T::Real::from_f64(2f64.powi((i % block * 7 % 60) as i32 - 30));
            let entry = |i: usize| T::from_parts(wave(i + k, 0.37), wave(i + k, 0.71)).scale(power(i));
            (0..rows * block * block).map(entry).collect::<Vec<_>>()
        };
        let a = BlockTridiagonal::from_vecs(block, [1, 2, 3].map(array), periodic).unwrap();
        let x: Vec<T> = (0..a.n()).map(|i| T::from_parts(wave(i, 0.3), wave(i, 0.9))).collect();
        // d is nearly A·x, so the residual consists of rounding errors and has few digits in the working precision.
        let d = a.apply(&x).unwrap();
        let rows = a.rows();
        check_rows(rows, (&d, &x));
        for conj in [false, true] {
            let rows = rows.transposed(conj);
            let mut d = vec![T::ZERO; x.len()];
            for (i, d) in d.iter_mut().enumerate() {
                rows.visit_row(i, |j, a| *d += a * x[j]);
            }
            check_rows(rows, (&d, &x));
        }
    }

    fn check_rows<T: Scalar>(rows: BlockRows<'_, T>, (d, x): (&[T], &[T])) {
        let (mut fast, mut slow) = (d.to_vec(), d.to_vec());
        let eta = residual(&BlockEquations { rows, simd: Simd::detect() }, (d, x), &mut fast, false);
        let expected = residual(&Slow(rows), (d, x), &mut slow, false);
        let (rows, block) = (rows.block_rows(), rows.block);
        assert!((eta - expected).abs() <= 1e-6 * expected, "{} {rows} × {block}: {eta:e}, {expected:e}", T::NAME);
        for (i, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
            let size = slow.abs1().to_f64();
            let limit = 1e-6 * size + 1e-27 * (block as f64) * d[i].abs1().to_f64();
            assert!((*fast - *slow).abs1().to_f64() <= limit, "{} row {i}: {fast:?}, {slow:?}", T::NAME);
        }
    }

    #[test]
    fn the_same_as_row_by_row() {
        for (rows, block) in [(1, 3), (4, 1), (3, 40), (9, 64), (3, 300)] {
            for periodic in [false, rows > 2] {
                check::<f64>(rows, block, periodic);
                check::<f32>(rows, block, periodic);
                check::<Complex64>(rows, block, periodic);
                check::<Complex32>(rows, block, periodic);
            }
        }
    }
}
