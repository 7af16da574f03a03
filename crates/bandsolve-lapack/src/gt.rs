//! General tridiagonal matrices: LU with partial pivoting in LAPACK's storage.
//!
//! A has `sub` below, `diag` on and `sup` above the diagonal. Elimination from the top with exchanges of neighboring
//! rows gives
//!
//! ```text
//! A = P₀·L₀·P₁·L₁ ⋯ Pₙ₋₂·Lₙ₋₂·U
//! ```
//!
//! where Lᵢ is unit lower triangular with one off-diagonal entry, in row i+1, and U has two superdiagonals.

use crate::Int;
use crate::norm::{self, MatrixNorm};
use crate::number::{divide, select};
use crate::refine::{FactoredMatrix, MatrixEntries};
use bandsolve::{Op, Scalar};

/// The matrix: `sub` and `sup` have n − 1 entries, `diag` has n.
#[derive(Debug, Clone, Copy)]
pub struct GtMatrix<'a, T> {
    /// A(i+1, i)
    pub sub: &'a [T],
    /// A(i, i)
    pub diag: &'a [T],
    /// A(i, i+1)
    pub sup: &'a [T],
}

/// The factors of the matrix.
#[derive(Debug, Clone, Copy)]
pub struct GtLu<'a, T> {
    /// The n − 1 off-diagonal entries of the Lᵢ.
    pub multiplier: &'a [T],
    /// The diagonal of U, n entries.
    pub diag: &'a [T],
    /// The first superdiagonal of U, n − 1 entries.
    pub sup: &'a [T],
    /// The second superdiagonal of U, n − 2 entries.
    pub sup2: &'a [T],
    /// n row numbers, counted from 1: row i was exchanged with row `pivot[i]`, which is i or i + 1.
    pub pivot: &'a [Int],
}

/// The arrays of [`factor`]: A on entry, and its factors on exit, as in [`GtLu`].
#[derive(Debug)]
pub struct GtLuMut<'a, T> {
    /// On entry: the subdiagonal of A.
    pub multiplier: &'a mut [T],
    /// On entry: the diagonal of A.
    pub diag: &'a mut [T],
    /// On entry: the superdiagonal of A.
    pub sup: &'a mut [T],
    /// Output only.
    pub sup2: &'a mut [T],
    /// Output only.
    pub pivot: &'a mut [Int],
}

/// One step of the elimination between the current row (`p0`, `p1`, 0) and the next row (`c0`, `c1`, `c2`).
struct GtStep<T> {
    exchange: bool,
    multiplier: T,
    /// The row of U.
    u: [T; 3],
    /// The other row after the elimination.
    rest: [T; 2],
}

impl<T: Scalar> GtStep<T> {
    #[inline(always)]
    fn new([p0, p1]: [T; 2], [c0, c1, c2]: [T; 3]) -> Self {
        let exchange = c0.abs1() > p0.abs1();
        let u = [select(exchange, c0, p0), select(exchange, c1, p1), select(exchange, c2, T::ZERO)];
        let other = [select(exchange, p0, c0), select(exchange, p1, c1), select(exchange, T::ZERO, c2)];
        // If both entries are zero, there is nothing to eliminate.
        let multiplier = if u[0] == T::ZERO { other[0] } else { divide(other[0], u[0]) };
        let rest = [other[1] - multiplier * u[1], other[2] - multiplier * u[2]];
        Self { exchange, multiplier, u, rest }
    }
}

/// Factor in place. Returns the first row of U whose diagonal entry is zero.
///
/// # Cost
/// Per row: one division and 6 other operations; 3 words read, 4 words and one row number written.
pub fn factor<T: Scalar>(f: GtLuMut<'_, T>) -> Option<usize> {
    let GtLuMut { multiplier, diag, sup, sup2, pivot } = f;
    let n = diag.len();
    let mut singular = None;
    let mut run = [first(diag), first(sup)];
    for i in 0..n.saturating_sub(1) {
        let step = GtStep::new(run, [multiplier[i], diag[i + 1], at(sup, i + 1)]);
        diag[i] = step.u[0];
        sup[i] = step.u[1];
        if let Some(sup2) = sup2.get_mut(i) {
            *sup2 = step.u[2];
        }
        multiplier[i] = step.multiplier;
        pivot[i] = (i + 1 + usize::from(step.exchange)) as Int;
        if step.u[0] == T::ZERO && singular.is_none() {
            singular = Some(i);
        }
        run = step.rest;
    }
    if n > 0 {
        diag[n - 1] = run[0];
        pivot[n - 1] = n as Int;
        if run[0] == T::ZERO {
            singular = singular.or(Some(n - 1));
        }
    }
    singular
}

fn first<T: Scalar>(a: &[T]) -> T {
    at(a, 0)
}

/// `a[i]`, or 0 beyond the end.
#[inline(always)]
fn at<T: Scalar>(a: &[T], i: usize) -> T {
    a.get(i).copied().unwrap_or(T::ZERO)
}

/// Solve A·x = rhs for the columns of `rhs` during the elimination. x replaces the columns. The diagonals of U replace A: `diag`, `sup`,
/// and the second superdiagonal in `sub`.
///
/// # Errors
/// The first row of U whose diagonal entry is zero. The columns are then invalid.
///
/// # Cost
/// As [`factor`], and 8 operations and one division per row and column.
pub fn eliminate<T: Scalar>(
    (sub, diag, sup): (&mut [T], &mut [T], &mut [T]),
    rhs: &mut crate::raw::RawColumns<'_, T>,
) -> Result<(), usize> {
    let (n, count) = (diag.len(), rhs.count());
    let mut run = [first(diag), first(sup)];
    for i in 0..n.saturating_sub(1) {
        let step = GtStep::new(run, [sub[i], diag[i + 1], at(sup, i + 1)]);
        if step.u[0] == T::ZERO {
            return Err(i);
        }
        (diag[i], sup[i], sub[i]) = (step.u[0], step.u[1], step.u[2]);
        if count == 1 {
            forward(&mut rhs.elements()[i..], step.exchange, step.multiplier);
        } else {
            rhs.each().for_each(|x| forward(&mut x[i..], step.exchange, step.multiplier));
        }
        run = step.rest;
    }
    if n == 0 {
        return Ok(());
    }
    diag[n - 1] = run[0];
    if run[0] == T::ZERO {
        return Err(n - 1);
    }
    rhs.each().for_each(|x| back(diag, sup, sub, x));
    Ok(())
}

/// Apply a row exchange and an elimination step to the first two entries of `x`.
#[inline(always)]
fn forward<T: Scalar>(x: &mut [T], exchange: bool, multiplier: T) {
    let [x0, x1, ..] = x else { return };
    let (top, below) = (select(exchange, *x1, *x0), select(exchange, *x0, *x1));
    (*x0, *x1) = (top, below - multiplier * top);
}

/// x ← U⁻¹·x
fn back<T: Scalar>(diag: &[T], sup: &[T], sup2: &[T], x: &mut [T]) {
    let n = diag.len();
    let (mut x1, mut x2) = (T::ZERO, T::ZERO);
    for i in (0..n).rev() {
        // Rows at the end have fewer superdiagonals. A factor of zero would not suffice, because 0 · NaN is NaN.
        let sum = match n - i {
            1 => x[i],
            2 => x[i] - sup[i] * x1,
            _ => x[i] - sup[i] * x1 - sup2[i] * x2,
        };
        let x0 = divide(sum, diag[i]);
        x[i] = x0;
        (x1, x2) = (x0, x1);
    }
}

impl<T: Scalar> FactoredMatrix<T> for GtLu<'_, T> {
    fn n(&self) -> usize {
        self.diag.len()
    }

    fn solve(&self, op: Op, x: &mut [T]) {
        match op {
            Op::Plain => self.solve_plain(x),
            Op::Transpose => self.solve_transpose(x, |v| v),
            Op::ConjTranspose => self.solve_transpose(x, Scalar::conj),
        }
    }
}

impl<T: Scalar> GtLu<'_, T> {
    fn solve_plain(&self, x: &mut [T]) {
        for i in 0..self.n().saturating_sub(1) {
            forward(&mut x[i..], self.exchanged(i), self.multiplier[i]);
        }
        back(self.diag, self.sup, self.sup2, x);
    }

    fn solve_transpose(&self, x: &mut [T], conj: impl Fn(T) -> T) {
        let n = self.n();
        for i in 0..n {
            let sum = match i {
                0 => x[0],
                1 => x[1] - conj(self.sup[0]) * x[0],
                _ => x[i] - conj(self.sup[i - 1]) * x[i - 1] - conj(self.sup2[i - 2]) * x[i - 2],
            };
            x[i] = divide(sum, conj(self.diag[i]));
        }
        for i in (0..n.saturating_sub(1)).rev() {
            let top = x[i] - conj(self.multiplier[i]) * x[i + 1];
            let exchange = self.exchanged(i);
            (x[i], x[i + 1]) = (select(exchange, x[i + 1], top), select(exchange, top, x[i + 1]));
        }
    }

    #[inline(always)]
    fn exchanged(&self, i: usize) -> bool {
        self.pivot[i] != (i + 1) as Int
    }
}

impl<T: Scalar> MatrixEntries<T> for GtMatrix<'_, T> {
    fn row_entries(&self) -> usize {
        3
    }

    #[inline(always)]
    fn visit(&self, mut visit: impl FnMut(usize, usize, T)) {
        let n = self.diag.len();
        for i in 0..n {
            if i > 0 {
                visit(i, i - 1, self.sub[i - 1]);
            }
            visit(i, i, self.diag[i]);
            if i + 1 < n {
                visit(i, i + 1, self.sup[i]);
            }
        }
    }
}

impl<T: Scalar> GtMatrix<'_, T> {
    /// A norm of A.
    pub fn norm(&self, norm: MatrixNorm) -> T::Real {
        norm::tridiagonal(norm, (self.sub, self.diag, self.sup))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::RawColumns;
    use crate::testing::{TestRng, eps, largest};
    use bandsolve::{Complex32, Complex64, RealScalar};

    /// The largest |b − op(A)·x| relative to the row sum times the largest x.
    fn backward<T: Scalar>(a: GtMatrix<'_, T>, op: Op, x: &[T], b: &[T]) -> f64 {
        let (mut r, mut sums) = (b.to_vec(), vec![T::Real::ZERO; b.len()]);
        a.visit(|i, j, a| {
            let (i, j, a) = match op {
                Op::Plain => (i, j, a),
                Op::Transpose => (j, i, a),
                Op::ConjTranspose => (j, i, Scalar::conj(a)),
            };
            r[i] -= a * x[j];
            sums[i] += a.abs();
        });
        let size = largest(x.iter().map(|x| x.abs().to_f64()));
        largest(r.iter().zip(sums).map(|(r, s)| r.abs().to_f64() / (s.to_f64() * size)))
    }

    fn solves<T: Scalar>() {
        let mut rng = TestRng(1);
        for n in [1, 2, 3, 17, 200] {
            let (sub, diag, sup) = (rng.vector::<T>(n - 1), rng.vector::<T>(n), rng.vector::<T>(n - 1));
            let a = GtMatrix { sub: &sub, diag: &diag, sup: &sup };
            let (mut l, mut d, mut u) = (sub.clone(), diag.clone(), sup.clone());
            let (mut u2, mut pivot) = (vec![T::ZERO; n.saturating_sub(2)], vec![0; n]);
            let f = GtLuMut { multiplier: &mut l, diag: &mut d, sup: &mut u, sup2: &mut u2, pivot: &mut pivot };
            assert_eq!(factor(f), None);
            let lu = GtLu { multiplier: &l, diag: &d, sup: &u, sup2: &u2, pivot: &pivot };
            let b = rng.vector::<T>(n);
            for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
                let mut x = b.clone();
                lu.solve(op, &mut x);
                let eta = backward(a, op, &x, &b);
                // There are three entries per row, and pivots grow by at most 2. A transposed row is scaled by the size
                // of another row.
                let limit = if op == Op::Plain { 16.0 } else { 64.0 };
                assert!(eta <= limit * eps::<T>(), "n = {n}, {op:?}: {:.1} eps", eta / eps::<T>());
            }
            let mut x = b.clone();
            let (mut l, mut d, mut u) = (sub.clone(), diag.clone(), sup.clone());
            assert_eq!(eliminate((&mut l, &mut d, &mut u), &mut RawColumns::over(&mut x, n, 1, n)), Ok(()));
            assert!(backward(a, Op::Plain, &x, &b) <= 16.0 * eps::<T>());
        }
    }

    #[test]
    fn systems_are_solved() {
        solves::<f32>();
        solves::<f64>();
        solves::<Complex32>();
        solves::<Complex64>();
    }

    #[test]
    fn the_first_zero_pivot_is_reported() {
        // Second differences with two free ends: the last pivot of U is exactly zero.
        let n = 9;
        let mut diag = vec![2.0; n];
        (diag[0], diag[n - 1]) = (1.0, 1.0);
        let (mut l, mut d, mut u) = (vec![-1.0; n - 1], diag.clone(), vec![-1.0; n - 1]);
        let mut x = vec![0.0; n];
        let rhs = &mut RawColumns::over(&mut x, n, 1, n);
        assert_eq!(eliminate((&mut l, &mut d, &mut u), rhs), Err(n - 1));
        let (mut l, mut u, mut u2, mut pivot) = (vec![-1.0; n - 1], vec![-1.0; n - 1], vec![0.0; n - 2], vec![0; n]);
        (l[3], diag[3], u[3], l[2]) = (0.0, 0.0, 5.0, 0.0);
        let f = GtLuMut { multiplier: &mut l, diag: &mut diag, sup: &mut u, sup2: &mut u2, pivot: &mut pivot };
        assert_eq!(factor(f), Some(3));
    }
}
