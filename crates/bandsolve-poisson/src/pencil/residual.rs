//! Residuals of the general separable form.

use super::axis::AxisPencil;
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, RightHandSide, peak};
use crate::verify::Question;
use bandsolve::{Scalar, Simd};
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;

/// The matrix of a problem.
pub struct PencilOperator {
    pub axes: [AxisPencil; 3],
    pub shift: f64,
}

/// A problem with its right-hand side, and a solution u to verify.
pub struct PencilResidual<'a, T> {
    pub operator: &'a PencilOperator,
    pub rhs: RightHandSide<'a, T>,
    pub u: &'a [T],
    pub threads: usize,
    pub simd: Simd,
}

/// Minimum number of unknowns for more than one thread.
const SHARED: usize = 1 << 14;
/// Number of rows that one task processes.
const ROWS: usize = 32;
/// Number of lines of scratch that one task needs.
const LINES: usize = 4;

impl PencilOperator {
    /// The number of unknowns along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.axes.each_ref().map(AxisPencil::len)
    }

    /// The lines that are coupled to line (i, j): for each one, its index and `[alpha, beta]`. The matrix block is `alpha·M₃ + beta·A₃`.
    fn around(&self, i: usize, j: usize) -> impl Iterator<Item = (usize, [f64; 2])> + '_ {
        let [rows, lines, _] = self.shape();
        let [one, two, _] = &self.axes;
        let near = |at: usize, count: usize, k: usize| (at + k).checked_sub(1).filter(|at| *at < count);
        (0..9).filter_map(move |k| {
            let (p, q) = (k / 3, k % 3);
            let (row, line) = (near(i, rows, p)?, near(j, lines, q)?);
            let (a, b) = (one.a[p][i], two.a[q][j]);
            let (m, n) = (one.m[p][i], two.m[q][j]);
            Some((row * lines + line, [a * n + m * b + self.shift * m * n, m * n]))
        })
    }

    /// Sum of the absolute values of the matrix row of unknown k in line (i, j).
    fn row_sum(&self, (i, j): (usize, usize), k: usize) -> f64 {
        let [a, m] = [&self.axes[2].a, &self.axes[2].m];
        let of_line = |[alpha, beta]: [f64; 2]| (0..3).map(|q| (alpha * m[q][k] + beta * a[q][k]).abs()).sum::<f64>();
        self.around(i, j).map(|(_, factors)| of_line(factors)).sum()
    }

    /// Coefficients `[alpha, beta]` of the diagonal block of line (i, j), `alpha·M₃ + beta·A₃`.
    #[inline(always)]
    fn diagonal(&self, (i, j): (usize, usize)) -> [f64; 2] {
        let [one, two, _] = &self.axes;
        let (m, n) = (one.m[1][i], two.m[1][j]);
        [one.a[1][i] * n + m * two.a[1][j] + self.shift * m * n, m * n]
    }
}

impl<T: PoissonScalar> PencilResidual<'_, T> {
    /// Number of scratch elements that [`measure`](Self::measure) and [`residuals`](Self::residuals) need.
    pub fn words(shape: [usize; 3]) -> usize {
        LINES * shape[2] * shape[0].div_ceil(ROWS)
    }

    /// The number of tasks, and the minimum number of tasks per thread (0: one thread does all).
    fn pieces(&self) -> (usize, usize) {
        let [rows, lines, n] = self.operator.shape();
        let pieces = rows.div_ceil(ROWS);
        let shared = self.threads > 1 && rows * lines * n >= SHARED;
        (pieces, if shared { pieces.div_ceil(4 * self.threads).max(1) } else { 0 })
    }

    /// The rows of one task.
    fn rows(&self, piece: usize) -> Range<usize> {
        piece * ROWS..self.operator.axes[0].len().min((piece + 1) * ROWS)
    }

    /// Measure the residuals r of u.
    ///
    /// The ratio is the maximum of |rᵢ| / |aᵢᵢ| for [`Question::Bound`], and the backward error for [`Question::Exact`].
    pub fn measure(&self, question: Question, scratch: &mut [T]) -> ResidualMeasure {
        let n = self.operator.axes[2].len();
        let work = |piece: usize, scratch: RowsOf<'_, T>| {
            let lines = PencilLines { residual: self, scratch: scratch.0 };
            dispatch(self.simd, PencilMeasureJob { lines, rows: self.rows(piece), question })
        };
        let all = RowsOf(scratch, LINES * n);
        chunks(self.pieces(), all, &work, (ResidualMeasure::default(), &ResidualMeasure::join))
    }

    /// Write the residuals of u to `out`.
    pub fn residuals(&self, out: &mut [T], scratch: &mut [T]) {
        let [_, lines, n] = self.operator.shape();
        let all = (RowsOf(out, ROWS * lines * n), RowsOf(scratch, LINES * n));
        each_chunk(self.pieces(), all, &|piece, (out, scratch)| {
            let lines = PencilLines { residual: self, scratch: scratch.0 };
            dispatch(self.simd, PencilResidualJob { lines, rows: self.rows(piece), out: out.0 });
        });
    }
}

/// Residuals line by line, with scratch for one line.
struct PencilLines<'a, 'b, T> {
    residual: &'a PencilResidual<'a, T>,
    scratch: &'b mut [T],
}

impl<T: PoissonScalar> PencilLines<'_, '_, T> {
    /// Write the residual of line (i, j) to the first line of scratch, and its right-hand side to the second line.
    #[inline(always)]
    fn line(&mut self, (i, j): (usize, usize)) {
        let PencilResidual { operator, rhs, u, .. } = self.residual;
        let n = operator.axes[2].len();
        let (out, rest) = self.scratch.split_at_mut(n);
        let (f, sums) = rest.split_at_mut(n);
        let (s, t) = sums.split_at_mut(n);
        rhs.copy_line((i, j), f);
        out.copy_from_slice(f);
        s.fill(T::ZERO);
        t.fill(T::ZERO);
        // s = Σ alpha·u and t = Σ beta·u over the coupled lines; r = f − M₃s − A₃t.
        for (line, [alpha, beta]) in operator.around(i, j) {
            let (alpha, beta, u) = (real::<T>(alpha), real::<T>(beta), &u[line * n..][..n]);
            for k in 0..n {
                s[k] += alpha * u[k];
                t[k] += beta * u[k];
            }
        }
        let [a, m] = [&operator.axes[2].a, &operator.axes[2].m];
        for k in 0..n {
            let (below, above) = (k.saturating_sub(1), (k + 1).min(n - 1));
            let sum = |q: usize, at: usize| real::<T>(m[q][k]) * s[at] + real::<T>(a[q][k]) * t[at];
            out[k] -= sum(0, below) + sum(1, k) + sum(2, above);
        }
    }
}

/// Measures the residuals of some rows.
struct PencilMeasureJob<'a, 'b, T> {
    lines: PencilLines<'a, 'b, T>,
    rows: Range<usize>,
    question: Question,
}

impl<T: PoissonScalar> Job<T> for PencilMeasureJob<'_, '_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let Self { mut lines, rows, question } = self;
        let PencilResidual { operator, u, .. } = lines.residual;
        let [_, count, n] = operator.shape();
        let last = &operator.axes[2];
        let mut all = ResidualMeasure::default();
        for line in rows.start * count..rows.end * count {
            let at = (line / count, line % count);
            lines.line(at);
            let (r, f) = (&lines.scratch[..n], &lines.scratch[n..2 * n]);
            let [alpha, beta] = operator.diagonal(at);
            let mut ratio = 0.0f64;
            for k in 0..n {
                let r = Scalar::abs(r[k]).to_f64();
                let against = match question {
                    Question::Bound => (alpha * last.m[1][k] + beta * last.a[1][k]).abs(),
                    Question::Exact(largest) => operator.row_sum(at, k) * largest + Scalar::abs(f[k]).to_f64(),
                };
                let error = if r == 0.0 { 0.0 } else { r / against };
                ratio = if error.is_nan() || error > ratio { error } else { ratio };
            }
            all = all.join(ResidualMeasure { ratio, largest: peak(&u[line * n..][..n]).to_f64() });
        }
        all
    }
}

/// Writes the residuals of some rows to `out`.
struct PencilResidualJob<'a, 'b, T> {
    lines: PencilLines<'a, 'b, T>,
    rows: Range<usize>,
    out: &'b mut [T],
}

impl<T: PoissonScalar> Job<T> for PencilResidualJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { mut lines, rows, out } = self;
        let [_, count, n] = lines.residual.operator.shape();
        for (line, out) in (rows.start * count..).zip(out.chunks_exact_mut(n)) {
            lines.line((line / count, line % count));
            out.copy_from_slice(&lines.scratch[..n]);
        }
    }
}
