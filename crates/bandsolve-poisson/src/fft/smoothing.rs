//! One step of Jacobi's iteration with half its weight before the solve: u = v + w with v = ωf, and Aw = f − Av.
//!
//! Where f is rough, sums over its lines round as much as its high frequencies are large, and low frequencies, whose eigenvalues are small,
//! inherit that. The right-hand side of w has hardly any of the high ones, and the same low ones. ω is a power of two near
//! 1/(2·diagonal).

use super::TransformSolver;
use crate::residual::RowCheck;
use crate::scalar::{PoissonScalar, real};
use crate::separable::{RowWindow, strides_of};
use bandsolve_kernel::spread::{RowsOf, spread};
use bandsolve_kernel::{Job, Lanes, dispatch};
use core::ops::Range;

/// Unknowns along an axis from which on it pays: errors grow with them.
const LONG: usize = 1500;

/// The step for one right-hand side.
#[derive(Clone, Copy)]
pub(super) struct Smoothing<'a, T> {
    check: RowCheck<'a, T>,
    /// ω and 1/ω.
    weight: T,
    inverse: T,
}

impl<T: PoissonScalar> TransformSolver<T> {
    /// The step, where it pays and is simple.
    pub(super) fn smoothing<'a>(&self, check: RowCheck<'a, T>) -> Option<Smoothing<'a, T>> {
        let [rows, lines, n] = self.shape;
        let simple = !self.folded && self.constant.is_none() && self.indefinite.words() == 0;
        let plain = check.rhs.has_plain_lines() && check.rhs.strides == strides_of(self.shape);
        if !simple || !plain || rows.max(lines).max(n) < LONG || rows.min(n) < 3 {
            return None;
        }
        let diagonal = check.operator.scale((1, lines / 2), 1) / 2.0;
        let weight = (-1.0 - diagonal.log2()).round().exp2();
        let usual = weight.is_normal() && (1.0 / weight).is_normal();
        usual.then(|| Smoothing { check, weight: real(weight), inverse: real(1.0 / weight) })
    }

    /// Does it for all rows, on threads.
    pub(super) fn smooth(&self, smoothing: Smoothing<'_, T>, x: &mut [T], after: bool) {
        let [rows, lines, n] = self.shape;
        let pieces = self.pieces().min(rows);
        spread(pieces, 0..rows, RowsOf(x, lines * n), &|rows: Range<usize>, x: RowsOf<'_, T>| {
            dispatch(self.simd, SmoothJob { smoothing, rows, x: x.0, after });
        });
    }
}

impl<T: PoissonScalar> Smoothing<'_, T> {
    /// Row i of f − Av.
    #[inline(always)]
    pub fn before(&self, i: usize, row: &mut [T]) {
        let RowCheck { operator, rhs } = self.check;
        let [_, lines, n] = operator.shape;
        for (j, out) in row.chunks_exact_mut(n).enumerate() {
            let f = &rhs.f[(i * lines + j) * n..][..n];
            for k in 0..n {
                out[k] = f[k] * self.inverse;
            }
            operator.line((i, j), RowWindow { u: rhs.f, first: 0 }, out);
            for x in out {
                *x *= self.weight;
            }
        }
    }

    /// Adds row i of v.
    #[inline(always)]
    pub fn after(&self, i: usize, row: &mut [T]) {
        let f = &self.check.rhs.f[i * row.len()..][..row.len()];
        for (x, f) in row.iter_mut().zip(f) {
            *x += *f * self.weight;
        }
    }
}

/// Some rows before or after the solve.
pub(super) struct SmoothJob<'a, 'x, T> {
    pub smoothing: Smoothing<'a, T>,
    pub rows: Range<usize>,
    pub x: &'x mut [T],
    pub after: bool,
}

impl<T: PoissonScalar> Job<T> for SmoothJob<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) {
        let Self { smoothing, rows, x, after } = self;
        let row = x.len() / rows.len().max(1);
        for (i, x) in rows.zip(x.chunks_exact_mut(row.max(1))) {
            if after {
                smoothing.after(i, x);
            } else {
                smoothing.before(i, x);
            }
        }
    }
}
