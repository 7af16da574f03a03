//! Cholesky factors of narrow bands, with the numbers of the next columns in registers.
//!
//! With W off-diagonals, column j changes the W columns after it. These changes never leave the registers, so that the time per column
//! is that of one division and the operations that depend on it.

use super::{Hermitian, Triangle};
use crate::number::{LapackScalar, divided};
use bandsolve::{RealScalar, Scalar};

/// The largest number of off-diagonals for which the numbers fit in registers.
pub(super) const NARROW: usize = 8;

/// Evaluate `$call` with `W` equal to `$width`, from 1 to [`NARROW`].
macro_rules! with_width {
    ($width:expr, $w:ident => $call:expr) => {
        match $width {
            1 => with_width!(@ $w = 1, $call),
            2 => with_width!(@ $w = 2, $call),
            3 => with_width!(@ $w = 3, $call),
            4 => with_width!(@ $w = 4, $call),
            5 => with_width!(@ $w = 5, $call),
            6 => with_width!(@ $w = 6, $call),
            7 => with_width!(@ $w = 7, $call),
            _ => with_width!(@ $w = 8, $call),
        }
    };
    (@ $w:ident = $value:literal, $call:expr) => {{
        const $w: usize = $value;
        $call
    }};
}

/// Whether the functions of this file serve a band. The last W columns are left to other functions.
pub(super) fn serves(shape: &Triangle) -> bool {
    (1..=NARROW).contains(&shape.width) && shape.n > 2 * shape.width
}

/// What the columns so far subtract from the next W columns: entry (c + m, c) of the rest is `[c][m]`.
type PendingColumns<T, const W: usize> = [[T; W]; W];

/// Factor all columns but the last W, and update these. Returns the first column whose pivot is not positive.
pub(super) fn factor<T: LapackScalar>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    with_width!(shape.width, W => factor_columns::<T, W>(shape, elements))
}

fn factor_columns<T: LapackScalar, const W: usize>(shape: Triangle, elements: &mut [T]) -> Option<usize> {
    let mut pending = [[T::ZERO; W]; W];
    for j in 0..shape.n - W {
        let at = shape.below(j, j);
        let pivot = elements[at].re() - pending[0][0].re();
        if !(pivot > T::Real::ZERO && pivot.is_finite()) {
            subtract_pending(shape, elements, j, &pending);
            return Some(j);
        }
        let column: [T; W] = core::array::from_fn(|m| {
            let a = shape.side.below(elements[shape.below(j + 1 + m, j)]);
            if m + 1 < W { a - pending[0][m + 1] } else { a }
        });
        // conj(lₘ)/d. The reciprocal of a subnormal pivot would overflow.
        let factors: [T; W] = if pivot >= T::Real::MIN_POSITIVE {
            let inverse = T::Real::ONE / pivot;
            column.map(|l| Scalar::conj(l).scale(inverse))
        } else {
            column.map(|l| divided(Scalar::conj(l), pivot))
        };
        for c in 0..W {
            for m in 0..W - c {
                let before = if c + 1 < W && m < W - c - 1 { pending[c + 1][m] } else { T::ZERO };
                pending[c][m] = before + factors[c] * column[c + m];
            }
        }
        let root = pivot.sqrt();
        elements[at] = T::from_real(root);
        let by = T::Real::ONE / root;
        for (m, l) in column.iter().enumerate() {
            elements[shape.below(j + 1 + m, j)] = shape.side.below(l.scale(by));
        }
    }
    subtract_pending(shape, elements, shape.n - W, &pending);
    None
}

/// Subtract what is pending from the columns from `first` on.
fn subtract_pending<T: LapackScalar, const W: usize>(
    shape: Triangle,
    elements: &mut [T],
    first: usize,
    pending: &PendingColumns<T, W>,
) {
    for (c, column) in pending.iter().enumerate() {
        for (m, v) in column[..W - c].iter().enumerate() {
            if first + c + m < shape.n {
                elements[shape.below(first + c + m, first + c)] -= shape.side.below(*v);
            }
        }
    }
}

/// x ← (L·Lᴴ)⁻¹·x. Divisions by the diagonal are products with its reciprocal, on which no later division has to wait.
pub(super) fn solve<T: LapackScalar>(a: &Hermitian<'_, T>, x: &mut [T]) {
    with_width!(a.shape.width, W => {
        lower::<T, W>(a, x);
        upper::<T, W>(a, x);
    });
}

impl<T: LapackScalar> Hermitian<'_, T> {
    /// Entry (i, j) of L.
    #[inline(always)]
    fn l(&self, i: usize, j: usize) -> T {
        self.shape.side.below(self.elements[self.shape.below(i, j)])
    }

    /// The reciprocal of entry (j, j) of L.
    #[inline(always)]
    fn inverse(&self, j: usize) -> T::Real {
        T::Real::ONE / self.elements[self.shape.below(j, j)].re()
    }
}

/// x ← L⁻¹·x
fn lower<T: LapackScalar, const W: usize>(a: &Hermitian<'_, T>, x: &mut [T]) {
    let n = a.shape.n;
    // Right-hand sides of the next rows, without the columns so far.
    let mut next: [T; W] = core::array::from_fn(|m| x[m]);
    for j in 0..n - W {
        let xj = next[0].scale(a.inverse(j));
        let after = x[j + W];
        x[j] = xj;
        for m in 0..W {
            next[m] = if m + 1 < W { next[m + 1] } else { after } - a.l(j + 1 + m, j) * xj;
        }
    }
    x[n - W..].copy_from_slice(&next);
    for j in n - W..n {
        let xj = x[j].scale(a.inverse(j));
        x[j] = xj;
        (j + 1..n).for_each(|i| x[i] -= a.l(i, j) * xj);
    }
}

/// x ← L⁻ᴴ·x
fn upper<T: LapackScalar, const W: usize>(a: &Hermitian<'_, T>, x: &mut [T]) {
    let n = a.shape.n;
    for j in (n - W..n).rev() {
        let sum = (j + 1..n).fold(x[j], |sum, i| sum - Scalar::conj(a.l(i, j)) * x[i]);
        x[j] = sum.scale(a.inverse(j));
    }
    let mut last: [T; W] = core::array::from_fn(|m| x[n - W + m]);
    for j in (0..n - W).rev() {
        // The newest unknown comes last, because the others are known earlier.
        let sum = (1..W).rev().fold(x[j], |sum, m| sum - Scalar::conj(a.l(j + 1 + m, j)) * last[m]);
        let xj = (sum - Scalar::conj(a.l(j + 1, j)) * last[0]).scale(a.inverse(j));
        x[j] = xj;
        last.copy_within(..W - 1, 1);
        last[0] = xj;
    }
}
