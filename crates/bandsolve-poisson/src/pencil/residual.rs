//! Residuals of the general separable form.

use super::AxisPencil;
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, peak};
use crate::verify::Question;
use bandsolve::Scalar;
use bandsolve_kernel::spread::{RowsOf, chunks, each_chunk};
use bandsolve_kernel::{Job, Lanes, Simd, dispatch};

/// The matrix of a problem, and f times a power of two.
pub(super) struct PencilResidual<'a, T> {
    pub axes: &'a [AxisPencil; 3],
    pub shift: f64,
    pub f: &'a [T],
    pub scale: T,
    pub threads: usize,
    pub simd: Simd,
}

/// Unknowns from which on more than one thread works.
const SHARED: usize = 1 << 14;

impl<T: PoissonScalar> PencilResidual<'_, T> {
    fn shape(&self) -> [usize; 3] {
        self.axes.each_ref().map(AxisPencil::len)
    }

    /// Numbers of scratch of [`measure`](Self::measure): three lines for each row.
    pub fn words(shape: [usize; 3]) -> usize {
        3 * shape[2] * shape[0]
    }

    fn least(&self) -> usize {
        let [rows, lines, n] = self.shape();
        if self.threads > 1 && rows * lines * n >= SHARED { rows.div_ceil(4 * self.threads).max(1) } else { 0 }
    }

    /// What the residuals of u show: of a bound the largest |r_i| / |a_ii|.
    pub fn measure(&self, question: Question, u: &[T], scratch: &mut [T]) -> ResidualMeasure {
        let [rows, _, n] = self.shape();
        let work = |i: usize, scratch: RowsOf<'_, T>| {
            let row = PencilRow { residual: self, i, u, scratch: scratch.0 };
            dispatch(self.simd, PencilMeasureJob { row, question })
        };
        let all = RowsOf(scratch, 3 * n);
        chunks((rows, self.least()), all, &work, (ResidualMeasure::default(), &ResidualMeasure::join))
    }

    /// The residuals, to `out`.
    pub fn residuals(&self, u: &[T], out: &mut [T], scratch: &mut [T]) {
        let [rows, lines, n] = self.shape();
        let all = (RowsOf(out, lines * n), RowsOf(scratch, 3 * n));
        each_chunk((rows, self.least()), all, &|i, (out, scratch)| {
            let row = PencilRow { residual: self, i, u, scratch: scratch.0 };
            dispatch(self.simd, PencilResidualJob { row, out: out.0 });
        });
    }

    /// Lines that row (i, j) couples to, with what M and A of the last axis are multiplied by.
    fn around(&self, i: usize, j: usize) -> impl Iterator<Item = (usize, [f64; 2])> + '_ {
        let [rows, lines, _] = self.shape();
        let [one, two, _] = self.axes;
        let near = |at: usize, count: usize, k: usize| (at + k).checked_sub(1).filter(|at| *at < count);
        (0..9).filter_map(move |k| {
            let (p, q) = (k / 3, k % 3);
            let (row, line) = (near(i, rows, p)?, near(j, lines, q)?);
            let (a, b) = (one.a[p][i], two.a[q][j]);
            let (m, n) = (one.m[p][i], two.m[q][j]);
            Some((row * lines + line, [a * n + m * b + self.shift * m * n, m * n]))
        })
    }

    /// Σ_j |a_ij| at place k of line (i, j).
    fn row_sum(&self, (i, j): (usize, usize), k: usize) -> f64 {
        let [a, m] = [&self.axes[2].a, &self.axes[2].m];
        let of_line = |[alpha, beta]: [f64; 2]| (0..3).map(|q| (alpha * m[q][k] + beta * a[q][k]).abs()).sum::<f64>();
        self.around(i, j).map(|(_, factors)| of_line(factors)).sum()
    }
}

/// Row i, all its lines.
struct PencilRow<'a, 'b, T> {
    residual: &'a PencilResidual<'a, T>,
    i: usize,
    u: &'a [T],
    scratch: &'b mut [T],
}

impl<T: PoissonScalar> PencilRow<'_, '_, T> {
    /// The residual of line j, to the first line of scratch.
    #[inline(always)]
    fn line(&mut self, j: usize) {
        let PencilResidual { axes, f, scale, .. } = self.residual;
        let n = axes[2].len();
        let (out, sums) = self.scratch.split_at_mut(n);
        let (s, t) = sums.split_at_mut(n);
        let f = &f[(self.i * axes[1].len() + j) * n..][..n];
        out.iter_mut().zip(f).for_each(|(x, f)| *x = *f * *scale);
        s.fill(T::ZERO);
        t.fill(T::ZERO);
        for (line, [alpha, beta]) in self.residual.around(self.i, j) {
            let (alpha, beta, u) = (real::<T>(alpha), real::<T>(beta), &self.u[line * n..][..n]);
            for k in 0..n {
                s[k] += alpha * u[k];
                t[k] += beta * u[k];
            }
        }
        let [a, m] = [&axes[2].a, &axes[2].m];
        for k in 0..n {
            let (below, above) = (k.saturating_sub(1), (k + 1).min(n - 1));
            let sum = |q: usize, at: usize| real::<T>(m[q][k]) * s[at] + real::<T>(a[q][k]) * t[at];
            out[k] -= sum(0, below) + sum(1, k) + sum(2, above);
        }
    }

    /// |a_ii| of place k of line j, as the products say it.
    #[inline(always)]
    fn diagonal(&self, j: usize) -> [f64; 2] {
        let PencilResidual { axes: [one, two, _], shift, .. } = self.residual;
        let (m, n) = (one.m[1][self.i], two.m[1][j]);
        [one.a[1][self.i] * n + m * two.a[1][j] + shift * m * n, m * n]
    }
}

struct PencilMeasureJob<'a, 'b, T> {
    row: PencilRow<'a, 'b, T>,
    question: Question,
}

impl<T: PoissonScalar> Job<T> for PencilMeasureJob<'_, '_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let Self { mut row, question } = self;
        let PencilResidual { axes, f, scale, .. } = row.residual;
        let (lines, n) = (axes[1].len(), axes[2].len());
        let mut all = ResidualMeasure::default();
        for j in 0..lines {
            row.line(j);
            let start = (row.i * lines + j) * n;
            let own = &row.u[start..][..n];
            let [alpha, beta] = row.diagonal(j);
            let mut ratio = 0.0f64;
            for k in 0..n {
                let r = Scalar::abs(row.scratch[k]).to_f64();
                let against = match question {
                    Question::Bound => (alpha * axes[2].m[1][k] + beta * axes[2].a[1][k]).abs(),
                    Question::Exact(largest) => {
                        let f = Scalar::abs(f[start + k] * *scale).to_f64();
                        row.residual.row_sum((row.i, j), k) * largest + f
                    }
                };
                let error = if r == 0.0 { 0.0 } else { r / against };
                ratio = if error.is_nan() || error > ratio { error } else { ratio };
            }
            all = all.join(ResidualMeasure { ratio, largest: peak(own).to_f64() });
        }
        all
    }
}

struct PencilResidualJob<'a, 'b, T> {
    row: PencilRow<'a, 'b, T>,
    out: &'b mut [T],
}

impl<T: PoissonScalar> Job<T> for PencilResidualJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { mut row, out } = self;
        let n = row.residual.axes[2].len();
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            row.line(j);
            out.copy_from_slice(&row.scratch[..n]);
        }
    }
}
