//! Positive definite tridiagonal matrices: L·D·Lᴴ in LAPACK's storage.
//!
//! A is Hermitian with a real diagonal; L is unit lower bidiagonal, D a positive diagonal matrix:
//!
//! $$ A = L D L^H, \qquad d_0 = a_{00},\quad l_i = a_{i+1,i}/d_i,\quad d_{i+1} = a_{i+1,i+1} - l_i\,\overline{a_{i+1,i}} $$
//!
//! Arrays beside the diagonal are given as the entries below it ([`Side::Lower`]) or as those above it.

use crate::gt::accumulate;
use crate::norm::{self, Norm};
use crate::number::larger;
use crate::refine::System;
use bandsolve::{RealScalar, Scalar};

/// Which side of the diagonal an array holds; the other is its conjugate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below.
    Lower,
    /// Above.
    Upper,
}

impl Side {
    /// An entry of this side as one below the diagonal, or back.
    #[inline(always)]
    pub fn below<T: Scalar>(self, e: T) -> T {
        if self == Side::Lower { e } else { Scalar::conj(e) }
    }
}

/// A matrix: n entries of the diagonal, n − 1 beside it. Or the factors of one: D and what L has beside its diagonal.
#[derive(Debug, Clone, Copy)]
pub struct Symmetric<'a, T: Scalar> {
    /// Diagonal.
    pub diag: &'a [T::Real],
    /// Beside it.
    pub off: &'a [T],
    /// Where that stands.
    pub side: Side,
}

/// Factors in place; returns the first row whose pivot is not positive, at which it stops.
///
/// # Cost
/// Per row a division and 3 other operations; 2 words read and written.
pub fn factor<T: Scalar>(diag: &mut [T::Real], off: &mut [T]) -> Option<usize> {
    for (i, e) in off.iter_mut().enumerate() {
        if diag[i] <= T::Real::ZERO {
            return Some(i);
        }
        let below = *e;
        *e = T::from_parts(below.re() / diag[i], below.im() / diag[i]);
        diag[i + 1] -= e.re() * below.re() + e.im() * below.im();
    }
    let last = diag.len().checked_sub(1)?;
    (diag[last] <= T::Real::ZERO).then_some(last)
}

impl<T: Scalar> Symmetric<'_, T> {
    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.diag.len()
    }

    /// x ← (L·D·Lᴴ)⁻¹·x
    pub fn solve(&self, x: &mut [T]) {
        let n = self.n();
        for i in 1..n {
            let before = x[i - 1];
            x[i] -= self.side.below(self.off[i - 1]) * before;
        }
        for i in (0..n).rev() {
            x[i] = T::from_parts(x[i].re() / self.diag[i], x[i].im() / self.diag[i]);
            if i + 1 < n {
                let after = x[i + 1];
                x[i] -= Scalar::conj(self.side.below(self.off[i])) * after;
            }
        }
    }

    /// v ← |(L·D·Lᴴ)⁻¹|·v: the inverse of a bidiagonal matrix has one product in each entry, and those of L⁻ᴴ·D⁻¹·L⁻¹ that
    /// add up have the same sign, so that the moduli can be taken first.
    pub fn solve_moduli(&self, v: &mut [T::Real]) {
        let n = self.n();
        for i in 1..n {
            let before = v[i - 1];
            v[i] += self.off[i - 1].abs() * before;
        }
        for i in (0..n).rev() {
            let after = if i + 1 < n { self.off[i].abs() * v[i + 1] } else { T::Real::ZERO };
            v[i] = v[i] / self.diag[i] + after;
        }
    }

    /// 1/(‖A‖₁·‖A⁻¹‖₁), exact but for rounding, of the matrix with these factors; `norm` = ‖A‖₁, `v` is scratch.
    ///
    /// # Source
    /// N. J. Higham, SIAM J. Sci. Stat. Comput. 7 (1986).
    pub fn reciprocal_condition(&self, norm: T::Real, v: &mut [T::Real]) -> T::Real {
        if self.n() == 0 {
            return T::Real::ONE;
        }
        if norm == T::Real::ZERO || self.diag.iter().any(|d| *d <= T::Real::ZERO) {
            return T::Real::ZERO;
        }
        v.fill(T::Real::ONE);
        self.solve_moduli(v);
        let inverse = v.iter().fold(T::Real::ZERO, |m, v| m.max_nan(*v));
        // A singular matrix has an inverse that overflows, or is no number.
        if inverse.is_nan() { T::Real::ZERO } else { T::Real::ONE / inverse / norm }
    }

    /// A norm of the matrix.
    pub fn norm(&self, norm: Norm) -> T::Real {
        norm::tridiagonal(norm, (self.off, self.diag, self.off))
    }
}

/// A system A·x = b with the factors of A.
#[derive(Debug)]
pub struct Factored<'a, T: Scalar> {
    /// A
    pub a: Symmetric<'a, T>,
    /// Its factors.
    pub factors: Symmetric<'a, T>,
}

impl<T: Scalar> System<T> for Factored<'_, T> {
    fn row_entries(&self) -> usize {
        3
    }

    fn residual(&self, x: &[T], b: &[T], r: &mut [T], w: &mut [T::Real]) {
        let mut take = accumulate((x, b), (r, w));
        let n = self.a.n();
        for i in 0..n {
            if i > 0 {
                take(i, i - 1, self.a.side.below(self.a.off[i - 1]));
            }
            take(i, i, T::from_real(self.a.diag[i]));
            if i + 1 < n {
                take(i, i + 1, Scalar::conj(self.a.side.below(self.a.off[i])));
            }
        }
    }

    fn solve(&self, v: &mut [T]) {
        self.factors.solve(v);
    }

    fn solve_adjoint(&self, v: &mut [T]) {
        self.factors.solve(v);
    }

    fn amplify(&self, w: &mut [T::Real], _first: &mut [T], _second: &mut [T]) -> T::Real {
        self.factors.solve_moduli(w);
        w.iter().fold(T::Real::ZERO, |m, w| larger(*w, m))
    }
}
