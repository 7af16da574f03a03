//! LU of a periodic tridiagonal matrix.

use super::{BitMask, Rule};
use crate::contract::determinant::ScaledProduct;
use crate::error::Result;
use crate::memory::allocate;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::reciprocal;

/// The entries of a running row in columns j, j+1, n−2 and n−1.
///
/// If j+1 = n−2, the two entries of this column are added.
type ReducedRow<T> = [T; 4];

/// The factors of step j.
#[derive(Debug, Clone, Copy)]
struct PeriodicStep<T> {
    /// Row of U: 1/u_jj, u_j,j+1, u_j,j+2, u_j,n−2, u_j,n−1.
    upper: [T; 5],
    /// Multipliers of the two other rows.
    multiplier: [T; 2],
    /// Whether to exchange the two running rows, and then the new row with the first running row.
    exchange: [bool; 2],
}

/// Factors of a periodic tridiagonal matrix.
///
/// The elimination keeps two running rows, P (at first row 0) and W (at first row n−1). Step j adds the new row C, which is row j+1. The
/// largest entry of P, W and C in column j is the pivot, with which column j is eliminated from the other two rows. Pivoting is therefore
/// partial pivoting over all rows with an entry in column j. Only columns n−2 and n−1 fill in. Dense elimination solves for the last
/// three unknowns.
///
/// # Source
/// Partial pivoting as in Gaussian elimination (Golub & Van Loan, *Matrix Computations*, §3.4), with rows in the order
/// n−1, 0, 1, …, n−2.
#[derive(Debug)]
pub(crate) struct Periodic<T: Scalar> {
    scale: Vec<T::Real>,
    steps: Vec<PeriodicStep<T>>,
    tail: Tail<T>,
    /// The first row without a pivot.
    singular: Option<usize>,
}

impl<T: Scalar> Periodic<T> {
    /// Factor the matrix.
    ///
    /// # Cost
    /// Per row: 1 division, 22 other operations and 10 exchanges of values; 3 words read, 9 written.
    pub fn new(a: Rows<'_, T>, rule: Rule<T::Real>) -> Result<Self> {
        let n = a.n();
        let mut scale = allocate(n, T::Real::ONE)?;
        let mut load = |i: usize| {
            let (sub, diag, sup) = a.row(i);
            scale[i] = rule.scale_of((sub, diag, sup));
            (sub.scale(scale[i]), diag.scale(scale[i]), sup.scale(scale[i]))
        };
        let zero = T::ZERO;
        let mut steps = allocate(n.saturating_sub(3), PeriodicStep::default())?;
        let mut singular = None;
        let (mut rows, size) = ([[zero; 3]; 3], n.min(3));
        match n {
            0 => {}
            1 => {
                let (sub, diag, sup) = load(0);
                rows[0][0] = diag + (sub + sup);
            }
            2 => {
                let ((sub0, diag0, sup0), (sub1, diag1, sup1)) = (load(0), load(1));
                rows[0] = [diag0, sub0 + sup0, zero];
                rows[1] = [sub1 + sup1, diag1, zero];
            }
            _ => {
                let ((sub0, diag0, sup0), (sub1, diag1, sup1)) = (load(0), load(n - 1));
                let mut running = ([diag0, sup0, zero, sub0], [sup1, zero, sub1, diag1]);
                for (j, step) in steps.iter_mut().enumerate() {
                    running = step.eliminate(running, load(j + 1), rule);
                    if step.upper[0] == zero {
                        singular = singular.or(Some(j));
                    }
                }
                let fold = |[r0, r1, a, b]: ReducedRow<T>| [r0, r1 + a, b];
                let (sub, diag, sup) = load(n - 2);
                rows = [fold(running.0), fold(running.1), [sub, diag, sup]];
            }
        }
        let tail = Tail::new(rows, size, rule);
        singular = singular.or(tail.singular.map(|k| n - size + k));
        Ok(Self { scale, steps, tail, singular })
    }

    /// The first row without a pivot.
    pub fn singular(&self) -> Option<usize> {
        self.singular
    }

    /// Return det A.
    pub fn product(&self) -> ScaledProduct {
        let in_steps: usize = self.steps.iter().map(|step| step.exchange.map(usize::from).iter().sum::<usize>()).sum();
        let in_tail = (0..self.tail.size).filter(|k| self.tail.pivot[*k] != *k).count();
        // The tail has rows n−2 and n−1 in reverse order, which counts as an exchange.
        let at_start = usize::from(self.tail.size == 3);
        let pivots = self.steps.iter().map(|step| step.upper[0]);
        let last = (0..self.tail.size).map(|k| self.tail.rows[k][k]);
        ScaledProduct::of_factors(pivots.chain(last), &self.scale, in_steps + in_tail + at_start)
    }

    /// Solve A·x = x in place.
    ///
    /// # Cost
    /// Per row: 14 operations; 8 words of factors read, x read and written twice.
    pub fn solve(&self, x: &mut [T]) {
        let n = x.len();
        let m = self.steps.len();
        if n == 0 {
            return;
        }
        let scaled = |x: &[T], i: usize| x[i].scale(self.scale[i]);
        let (mut p, mut w) = (scaled(x, 0), scaled(x, n - 1));
        for (j, step) in self.steps.iter().enumerate() {
            (x[j], p, w) = step.forward((p, w, scaled(x, j + 1)));
        }
        let mut tail = [T::ZERO; 3];
        match n {
            1 => tail[0] = p,
            2 => (tail[0], tail[1]) = (p, w),
            _ => tail = [p, w, scaled(x, n - 2)],
        }
        self.tail.solve(&mut tail);
        x[m..].copy_from_slice(&tail[..n - m]);
        let Some(&[mut x1, mut x2, _]) = x[m..].first_chunk::<3>() else { return };
        let (a, b) = (x[n - 2], x[n - 1]);
        for (x, step) in x[..m].iter_mut().zip(&self.steps).rev() {
            let [inverse, u1, u2, ua, ub] = step.upper;
            let x0 = (*x - (ua * a + ub * b) - u2 * x2 - u1 * x1) * inverse;
            *x = x0;
            (x1, x2) = (x0, x1);
        }
    }

    /// Solve Aᵀ·x = x in place.
    ///
    /// # Cost
    /// That of [`solve`](Self::solve).
    pub fn solve_transpose(&self, x: &mut [T]) {
        let n = x.len();
        let m = self.steps.len();
        if n == 0 {
            return;
        }
        // Uᵀ: the contributions of earlier rows to columns j, j+1, n−2 and n−1.
        let mut owed = [T::ZERO; 4];
        for (x, step) in x.iter_mut().zip(&self.steps) {
            let [inverse, u1, u2, ua, ub] = step.upper;
            let z = (*x - owed[0]) * inverse;
            *x = z;
            owed = [owed[1] + u1 * z, u2 * z, owed[2] + ua * z, owed[3] + ub * z];
        }
        let mut tail = [T::ZERO; 3];
        tail[..n - m].copy_from_slice(&x[m..]);
        if n >= 3 {
            tail = [tail[0] - owed[0], tail[1] - owed[1] - owed[2], tail[2] - owed[3]];
        }
        self.tail.solve_transpose(&mut tail);
        // Lᵀ, exchanges and scales, from the bottom.
        let [mut p, mut w, c] = tail;
        if n >= 3 {
            x[n - 2] = c.scale(self.scale[n - 2]);
        }
        for (j, step) in self.steps.iter().enumerate().rev() {
            let c;
            (p, w, c) = step.backward((x[j], p, w));
            x[j + 1] = c.scale(self.scale[j + 1]);
        }
        x[0] = p.scale(self.scale[0]);
        if n > 1 {
            x[n - 1] = w.scale(self.scale[n - 1]);
        }
    }
}

impl<T: Scalar> Default for PeriodicStep<T> {
    fn default() -> Self {
        Self { upper: [T::ZERO; 5], multiplier: [T::ZERO; 2], exchange: [false; 2] }
    }
}

impl<T: Scalar> PeriodicStep<T> {
    /// Eliminate column j from the running rows and from the new row `c`, whose entries are in columns j, j+1 and j+2. Returns the new
    /// running rows.
    #[inline(always)]
    fn eliminate(
        &mut self,
        (mut p, mut w): (ReducedRow<T>, ReducedRow<T>),
        c: (T, T, T),
        rule: Rule<T::Real>,
    ) -> (ReducedRow<T>, ReducedRow<T>) {
        (p[0], w[0]) = (rule.denoise(p[0]), rule.denoise(w[0]));
        let c = (rule.denoise(c.0), c.1, c.2);
        let first = rule.prefers(w[0], p[0]);
        for k in 0..4 {
            (p[k], w[k]) = first.exchange(p[k], w[k]);
        }
        let second = rule.prefers(c.0, p[0]);
        let (u0, c0) = second.exchange(p[0], c.0);
        let (u1, c1) = second.exchange(p[1], c.1);
        let (u2, c2) = second.exchange(T::ZERO, c.2);
        let (ua, ca) = second.exchange(p[2], T::ZERO);
        let (ub, cb) = second.exchange(p[3], T::ZERO);
        let inverse = reciprocal(u0);
        let (l, m) = (c0 * inverse, w[0] * inverse);
        *self =
            Self { upper: [inverse, u1, u2, ua, ub], multiplier: [l, m], exchange: [first.is_set(), second.is_set()] };
        (
            [c1 - l * u1, c2 - l * u2, ca - l * ua, cb - l * ub],
            [w[1] - m * u1, T::ZERO - m * u2, w[2] - m * ua, w[3] - m * ub],
        )
    }

    /// Apply the step to right-hand sides: (P, W, C) → (pivot, P, W).
    #[inline(always)]
    fn forward(&self, (p, w, c): (T, T, T)) -> (T, T, T) {
        let (p, w) = BitMask::from_bool(self.exchange[0]).exchange(p, w);
        let (pivot, c) = BitMask::from_bool(self.exchange[1]).exchange(p, c);
        (pivot, c - self.multiplier[0] * pivot, w - self.multiplier[1] * pivot)
    }

    /// The transpose of [`forward`](Self::forward): (pivot, P, W) → (P, W, C).
    #[inline(always)]
    fn backward(&self, (pivot, c, w): (T, T, T)) -> (T, T, T) {
        let pivot = pivot - self.multiplier[0] * c - self.multiplier[1] * w;
        let (p, c) = BitMask::from_bool(self.exchange[1]).exchange(pivot, c);
        let (p, w) = BitMask::from_bool(self.exchange[0]).exchange(p, w);
        (p, w, c)
    }
}

/// Dense LU of the last equations, at most three.
#[derive(Debug)]
struct Tail<T> {
    /// L below the diagonal, 1/u_kk on it, U above.
    rows: [[T; 3]; 3],
    /// Step k exchanges rows k and `pivot[k]`.
    pivot: [usize; 3],
    size: usize,
    singular: Option<usize>,
}

impl<T: Scalar> Tail<T> {
    fn new(mut a: [[T; 3]; 3], size: usize, rule: Rule<T::Real>) -> Self {
        let mut pivot = [0, 1, 2];
        let mut singular = None;
        for k in 0..size {
            for row in &mut a[k..size] {
                row[k] = rule.denoise(row[k]);
            }
            for i in k + 1..size {
                if rule.prefers(a[i][k], a[pivot[k]][k]).is_set() {
                    pivot[k] = i;
                }
            }
            a.swap(k, pivot[k]);
            if a[k][k] == T::ZERO {
                singular = singular.or(Some(k));
            }
            a[k][k] = reciprocal(a[k][k]);
            let u = a[k];
            for row in &mut a[k + 1..size] {
                row[k] *= u[k];
                for j in k + 1..size {
                    row[j] -= row[k] * u[j];
                }
            }
        }
        Self { rows: a, pivot, size, singular }
    }

    fn solve(&self, x: &mut [T; 3]) {
        for k in 0..self.size {
            // The factorisation exchanged whole rows of L, so all exchanges come first.
            x.swap(k, self.pivot[k]);
        }
        for i in 0..self.size {
            for j in 0..i {
                x[i] -= self.rows[i][j] * x[j];
            }
        }
        for i in (0..self.size).rev() {
            for j in i + 1..self.size {
                x[i] -= self.rows[i][j] * x[j];
            }
            x[i] *= self.rows[i][i];
        }
    }

    fn solve_transpose(&self, x: &mut [T; 3]) {
        for i in 0..self.size {
            for j in 0..i {
                x[i] -= self.rows[j][i] * x[j];
            }
            x[i] *= self.rows[i][i];
        }
        for i in (0..self.size).rev() {
            for j in i + 1..self.size {
                x[i] -= self.rows[j][i] * x[j];
            }
        }
        for k in (0..self.size).rev() {
            x.swap(k, self.pivot[k]);
        }
    }
}
