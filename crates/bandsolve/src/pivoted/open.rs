//! LU of an open tridiagonal matrix.

use super::{BitMask, Rule};
use crate::contract::determinant::ScaledProduct;
use crate::error::Result;
use crate::memory::allocate;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;

/// Factors of an open tridiagonal matrix.
///
/// S scales the rows, and Pᵢ exchanges rows i and i+1 or does nothing. Elimination from the top gives
///
/// ```text
/// Lₙ₋₂ Pₙ₋₂ ⋯ L₀ P₀ S A = U
/// ```
///
/// where Lᵢ subtracts `multiplier[i]` times row i from row i+1, and U has two superdiagonals.
///
/// # Source
/// LAPACK `gttrf`, `gttrs`, with rows equilibrated first.
#[derive(Debug)]
pub(crate) struct Open<T: Scalar> {
    scale: Vec<T::Real>,
    exchange: Vec<bool>,
    multiplier: Vec<T>,
    /// 1/u_ii, u_i,i+1, u_i,i+2.
    upper: Vec<[T; 3]>,
}

impl<T: Scalar> Open<T> {
    /// Factor the matrix and return the first row without a pivot, too.
    ///
    /// # Cost
    /// Per row: 1 division, 6 other operations and 2 exchanges of values; 3 words read, 5 written.
    pub fn new(a: Rows<'_, T>, rule: Rule<T::Real>) -> Result<(Self, Option<usize>)> {
        let n = a.n();
        let mut f = Self {
            scale: allocate(n, T::Real::ONE)?,
            exchange: allocate(n.saturating_sub(1), false)?,
            multiplier: allocate(n.saturating_sub(1), T::ZERO)?,
            upper: allocate(n, [T::ZERO; 3])?,
        };
        let mut singular = None;
        if n == 0 {
            return Ok((f, singular));
        }
        // The entries of the running row in columns i and i+1.
        let (_, mut p0, mut p1) = f.load(&a, 0, rule);
        for i in 0..n - 1 {
            let (c0, c1, c2) = f.load(&a, i + 1, rule);
            let (p, c) = (rule.denoise(p0), rule.denoise(c0));
            let exchange = rule.prefers(c, p);
            let (u0, l0) = exchange.exchange(p, c);
            let (u1, l1) = exchange.exchange(p1, c1);
            let (u2, l2) = exchange.exchange(T::ZERO, c2);
            if u0 == T::ZERO {
                singular = singular.or(Some(i));
            }
            let inverse = reciprocal(u0);
            let multiplier = l0 * inverse;
            f.upper[i] = [inverse, u1, u2];
            f.multiplier[i] = multiplier;
            f.exchange[i] = exchange.is_set();
            p0 = l1 - multiplier * u1;
            p1 = l2 - multiplier * u2;
        }
        let last = rule.denoise(p0);
        if last == T::ZERO {
            singular = singular.or(Some(n - 1));
        }
        f.upper[n - 1] = [reciprocal(last), T::ZERO, T::ZERO];
        Ok((f, singular))
    }

    /// Return the scaled row `i` and store its scale.
    #[inline(always)]
    fn load(&mut self, a: &Rows<'_, T>, i: usize, rule: Rule<T::Real>) -> (T, T, T) {
        let (sub, diag, sup) = a.row(i);
        let scale = rule.scale_of((sub, diag, sup));
        self.scale[i] = scale;
        (sub.scale(scale), diag.scale(scale), sup.scale(scale))
    }

    /// Return det A.
    pub fn product(&self) -> ScaledProduct {
        let exchanges = self.exchange.iter().filter(|exchange| **exchange).count();
        ScaledProduct::of_factors(self.upper.iter().map(|row| row[0]), &self.scale, exchanges)
    }

    /// Solve A·x = x in place.
    ///
    /// # Cost
    /// Per row: 8 operations; 6 words of factors read, x read and written twice.
    pub fn solve(&self, x: &mut [T]) {
        let n = self.upper.len();
        if n == 0 {
            return;
        }
        // L: combine the running right-hand side with the next one.
        let mut run = x[0].scale(self.scale[0]);
        let factors = self.multiplier.iter().zip(&self.exchange).zip(&self.scale[1..]);
        for (i, ((&multiplier, &exchange), &scale)) in factors.enumerate() {
            let exchange = BitMask::from_bool(exchange);
            let next = x[i + 1].scale(scale);
            // Exchanging the coefficients of other − multiplier·pivot keeps the exchange off the critical path.
            let (of_run, of_next) = exchange.exchange(-multiplier, T::ONE);
            (x[i], _) = exchange.exchange(run, next);
            run = of_run * run + of_next * next;
        }
        x[n - 1] = run;
        // U: x_i = (y_i − u_i,i+1 x_i+1 − u_i,i+2 x_i+2) / u_ii
        let (mut x1, mut x2) = (T::ZERO, T::ZERO);
        for (x, &[inverse, u1, u2]) in x.iter_mut().zip(&self.upper).rev() {
            let x0 = (*x - u2 * x2 - u1 * x1) * inverse;
            *x = x0;
            (x1, x2) = (x0, x1);
        }
    }

    /// Solve Aᵀ·x = x in place.
    ///
    /// # Cost
    /// That of [`solve`](Self::solve).
    pub fn solve_transpose(&self, x: &mut [T]) {
        let n = self.upper.len();
        if n == 0 {
            return;
        }
        // Uᵀ: z_i = (x_i − u_i−1,i z_i−1 − u_i−2,i z_i−2) / u_ii. `ahead` is the contribution of earlier rows to rows i and i+1.
        let mut ahead = [T::ZERO; 2];
        for (x, &[inverse, u1, u2]) in x.iter_mut().zip(&self.upper) {
            let z = (*x - ahead[0]) * inverse;
            *x = z;
            ahead = [ahead[1] + u1 * z, u2 * z];
        }
        // Lᵀ, exchanges and scales, from the bottom.
        let mut below = x[n - 1];
        for i in (0..n - 1).rev() {
            let exchange = BitMask::from_bool(self.exchange[i]);
            let multiplier = self.multiplier[i];
            let (_, lower) = exchange.exchange(x[i] - multiplier * below, below);
            x[i + 1] = lower.scale(self.scale[i + 1]);
            // The upper of the two results, again with the exchange in the coefficients.
            let (of_below, _) = exchange.exchange(-multiplier, T::ONE);
            let (of_x, _) = exchange.exchange(T::ONE, T::ZERO);
            below = of_below * below + of_x * x[i];
        }
        x[0] = below.scale(self.scale[0]);
    }
}
