//! MOS-d and MOS-a: a product of tridiagonal matrices of several forests stands for the matrix.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (57) to (62), (67), (69), (73) to (76). In (73) the diagonal belongs to no
//! splitting but the last factor of each.

use super::diagonal::DiagonalRule;
use super::incomplete::incomplete_product;
use super::lines::ForestSolver;
use super::splitting::{ForestsEnough, comparable_graph, of_forest};
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::forest::Forest;
use crate::rows::each_row;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::vectors::divide;
use bandsolve::{LinearOperator, Op, RealScalar, Result, Scalar, Tridiagonal};

/// z = M₁⁻¹ ··· Mₘ⁻¹·T⁻¹·r with a diagonal T and tridiagonal Mₗ of several forests: m tridiagonal solves, no product with A.
#[derive(Debug)]
pub struct ForestProduct<T: Scalar> {
    /// T⁻¹.
    inverse: Vec<T>,
    /// M₁ first.
    solvers: Vec<ForestSolver<T>>,
}

impl<T: Scalar> ForestProduct<T> {
    /// MOS-d. With T = diag_p1(A), E = (diag(A) − T)·T⁻¹/m, J = I + E and the couplings Aₗ of forest l = 1 … m, which share none:
    ///
    /// Mₗ = J + T⁻¹·J^−(m−l)·Aₗ·J^−(l−1)
    ///
    /// # Errors
    /// Those of [`DiagonalRule::of`] and [`ForestSolver::new`].
    pub fn diagonal<I: Index>(a: &Csr<'_, T, I>, forests: Vec<Forest>) -> Result<Self> {
        let (m, t) = (forests.len(), DiagonalRule::P1.of(a)?);
        let mut j = vec![T::ONE; t.len()];
        let share = T::Real::from_f64(m as f64);
        each_row(&mut j, &|i, j| {
            let d = a.row(i).filter(|(column, _)| *column == i).fold(T::ZERO, |sum, (_, value)| sum + value);
            *j = T::ONE + divide(divide(d - t[i], t[i]), T::from_real(share));
            0
        });
        let inverse: Vec<T> = t.iter().map(|t| divide(T::ONE, *t)).collect();
        let factor = |(l, forest): (usize, Forest)| {
            let entry = |row: usize, column: usize, value: T| {
                let left = divide(T::ONE, power(j[row], m - 1 - l));
                let right = divide(T::ONE, power(j[column], l));
                if row == column { T::ZERO } else { inverse[row] * (left * value * right) }
            };
            let couplings = forest.tridiagonal_of(a, &entry)?;
            let [sub, _, sup] = couplings.arrays();
            let diag = forest.order().map(|v| j[v]).collect();
            let tridiagonal = Tridiagonal::from_vecs(sub.to_vec(), diag, sup.to_vec(), false)?;
            ForestSolver::with(forest, tridiagonal)
        };
        let solvers = forests.into_iter().enumerate().map(factor).collect::<Result<Vec<_>>>()?;
        Ok(Self { inverse, solvers })
    }

    /// MOS-a. B₀ = A; the forest of Bₗ's heaviest couplings, with its diagonal, is Mₗ₊₁; Bₗ₊₁ is Bₗ·Mₗ₊₁⁻¹, of whose rows the diagonal
    /// and as many of the largest others are kept as A has; T = diag_p1(Bₘ). `scaled`: B₀ = D⁻¹·A with D = diag_p1(A), and T = D·diag_p1(Bₘ),
    /// which does for F·A what it does for A, whatever the diagonal F. `count` = 0: as many as are worth it, at most four. There are
    /// enough when the diagonal of Bₗ has 90% of its weight, or the last forest has added less than 5% to that.
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal).
    pub fn adaptive<I: Index>(
        a: &Csr<'_, T, I>,
        count: usize,
        scaled: bool,
        options: &GraphFactorOptions,
    ) -> Result<Self> {
        Self::adaptive_said(a, (count, scaled), options).map(|(product, _)| product)
    }

    /// [`adaptive`](Self::adaptive), and why there are so many forests, where their number was not given.
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal).
    pub(super) fn adaptive_said<I: Index>(
        a: &Csr<'_, T, I>,
        (count, scaled): (usize, bool),
        options: &GraphFactorOptions,
    ) -> Result<(Self, String)> {
        let mut b: Csr<'static, T, u32> = a.sorted();
        let kept: Vec<u32> = (0..b.rows()).map(|i| b.row(i).filter(|(j, _)| *j != i).count() as u32).collect();
        let mut scale = vec![T::ONE; b.rows()];
        if scaled {
            scale = DiagonalRule::P1.of(&b)?;
            let inverse: Vec<T> = scale.iter().map(|d| divide(T::ONE, *d)).collect();
            b.scale_rows(&inverse);
        }
        let (mut solvers, mut enough) = (Vec::with_capacity(count), ForestsEnough::new(0.0));
        while if count == 0 { enough.wants_more() } else { solvers.len() < count } {
            let forest = Forest::of(&comparable_graph(&b)?, &of_forest(options, solvers.len()))?;
            let tridiagonal = forest.tridiagonal(&b)?;
            let next = incomplete_product(&b, &forest, &tridiagonal, &kept)?;
            if count == 0 && !enough.takes(diagonal_share(&next)) {
                break;
            }
            b = next;
            solvers.push(ForestSolver::with(forest, tridiagonal)?);
        }
        let t = DiagonalRule::P1.of(&b)?;
        let inverse = t.iter().zip(&scale).map(|(t, d)| divide(T::ONE, *d * *t)).collect();
        let said =
            if count == 0 { enough.said("of the weight of what they leave is its diagonal's") } else { String::new() };
        Ok((Self { inverse, solvers }, said))
    }

    /// m.
    pub fn forests(&self) -> usize {
        self.solvers.len()
    }

    /// T⁻¹.
    pub fn inverse_diagonal(&self) -> &[T] {
        &self.inverse
    }
}

/// c_diag: the share of a matrix's weight that its diagonal has.
fn diagonal_share<T: Scalar>(a: &Csr<'_, T, u32>) -> f64 {
    let (mut own, mut all) = (0.0, 0.0);
    for i in 0..a.rows() {
        for (j, value) in a.row(i) {
            let modulus = Scalar::abs(value).to_f64();
            all += modulus;
            own += if j == i { modulus } else { 0.0 };
        }
    }
    own / all
}

/// x to a small power.
fn power<T: Scalar>(x: T, exponent: usize) -> T {
    (0..exponent).fold(T::ONE, |product, _| product * x)
}

impl<T: Scalar> LinearOperator<T> for ForestProduct<T> {
    fn rows(&self) -> usize {
        self.inverse.len()
    }

    fn columns(&self) -> usize {
        self.inverse.len()
    }

    fn apply_scratch(&self) -> StackReq {
        let solves = self.solvers.iter().fold(StackReq::EMPTY, |all, solver| all.or(solver.scratch()));
        StackReq::new::<T>(2 * self.inverse.len()).and(solves)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (last, others) = self.solvers.split_last().expect("a splitting at least");
        let (to, stack) = stack.make_raw::<T>(x.len());
        let (from, stack) = stack.make_raw::<T>(x.len());
        let (mut to, mut from) = (to, from);
        last.solve_from(Op::Plain, &|v| self.inverse[v] * x[v], to, stack)?;
        let mut places = last.forest().permutation().places();
        for solver in others.iter().rev() {
            // From the order of the one before into its own.
            (from, to) = (to, from);
            let solved = &*from;
            solver.solve_from(Op::Plain, &|v| solved[places[v] as usize], to, stack)?;
            places = solver.forest().permutation().places();
        }
        each_row(y, &|v, y| {
            *y = to[places[v] as usize];
            0
        });
        Ok(())
    }
}
