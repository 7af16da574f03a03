//! The residuals of a whole problem, on several threads.

use crate::residual::{RowCheck, RowsJob};
use crate::scalar::PoissonScalar;
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide, RowWindow};
use bandsolve_kernel::spread::{RowsOf, chunks, spread};
use bandsolve_kernel::{Job, Lanes, Simd, dispatch};
use core::ops::Range;

/// Number of rows of a piece. Two pieces read the rows next to their common end.
const ROWS: usize = 32;

/// The measure of the residuals to compute.
#[derive(Clone, Copy)]
pub enum Question {
    /// The largest |rᵢ| / Σⱼ |aᵢⱼ| and the largest |uᵢ|, which give an upper bound of the backward error.
    Bound,
    /// The backward error. The field is the largest |uᵢ|.
    Exact(f64),
}

/// A problem with its right-hand side and a solution to verify.
pub struct Verification<'a, T> {
    pub operator: &'a ResidualOperator<T>,
    pub rhs: RightHandSide<'a, T>,
    pub u: &'a [T],
    pub threads: usize,
    pub simd: Simd,
}

impl<T: PoissonScalar> Verification<'_, T> {
    /// Length of the scratch memory of [`measure`](Self::measure), in numbers.
    pub fn words(shape: [usize; 3]) -> usize {
        2 * shape[2] * shape[0].div_ceil(Self::piece(shape))
    }

    /// The number of rows of a piece. Rows of one number have larger pieces.
    fn piece(shape: [usize; 3]) -> usize {
        if shape[1] * shape[2] == 1 { 64 * ROWS } else { ROWS }
    }

    /// Measures the residuals of all lines.
    pub fn measure(&self, question: Question, scratch: &mut [T]) -> ResidualMeasure {
        let [rows, _, n] = self.operator.shape;
        let most = Self::piece(self.operator.shape);
        let pieces = rows.div_ceil(most);
        let least = if self.threads > 1 { pieces.div_ceil(4 * self.threads).max(1) } else { 0 };
        let work = |piece: usize, lines: RowsOf<'_, T>| {
            let rows = piece * most..rows.min((piece + 1) * most);
            dispatch(self.simd, MeasureJob { verification: self, rows, lines: lines.0, question })
        };
        chunks((pieces, least), RowsOf(scratch, 2 * n), &work, (ResidualMeasure::default(), &ResidualMeasure::join))
    }

    /// Writes all residuals to `out`.
    pub fn residual(&self, out: &mut [T]) {
        let [rows, lines, n] = self.operator.shape;
        spread(self.threads.min(rows), 0..rows, RowsOf(out, lines * n), &|rows, out| {
            dispatch(self.simd, ResidualJob { verification: self, rows, out: out.0 });
        });
    }
}

struct MeasureJob<'a, 'b, T> {
    verification: &'a Verification<'a, T>,
    rows: Range<usize>,
    lines: &'b mut [T],
    question: Question,
}

impl<T: PoissonScalar> Job<T> for MeasureJob<'_, '_, T> {
    type Output = ResidualMeasure;
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> ResidualMeasure {
        let MeasureJob { verification: &Verification { operator, ref rhs, u, .. }, rows, lines: scratch, question } =
            self;
        let window = RowWindow { u, first: 0 };
        let Question::Exact(largest) = question else {
            return RowsJob { check: RowCheck { operator, rhs }, rows, window, scratch }.run::<V>();
        };
        let [_, lines, n] = operator.shape;
        let (r, f) = scratch.split_at_mut(n);
        let mut all = ResidualMeasure::default();
        for line in rows.start * lines..rows.end * lines {
            let at = (line / lines, line % lines);
            rhs.copy_line(at, r);
            f.copy_from_slice(r);
            operator.line(at, window, r);
            all = all.join(ResidualMeasure { ratio: operator.exact(at, (r, f), largest), largest });
        }
        all
    }
}

struct ResidualJob<'a, 'b, T> {
    verification: &'a Verification<'a, T>,
    rows: Range<usize>,
    out: &'b mut [T],
}

impl<T: PoissonScalar> Job<T> for ResidualJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Verification { operator, rhs, u, .. } = self.verification;
        let [_, lines, n] = operator.shape;
        for (line, out) in (self.rows.start * lines..).zip(self.out.chunks_exact_mut(n)) {
            let at = (line / lines, line % lines);
            rhs.copy_line(at, out);
            operator.line(at, RowWindow { u, first: 0 }, out);
        }
    }
}
