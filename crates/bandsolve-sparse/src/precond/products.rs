//! MOS-d and MOS-a: a product of the tridiagonal matrices of several forests approximates the matrix.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (57) to (62), (67), (69), (73) to (76). In (73) the diagonal belongs to no
//! splitting but the last factor of each.

use super::diagonal::DiagonalRule;
use super::forest_system::ForestSystem;
use super::incomplete::incomplete_product;
use super::lines::ForestSolver;
use super::splitting::{ForestCount, comparable_graph};
use crate::csr::Csr;
use crate::factor::GraphFactorOptions;
use crate::forest::Forest;
use crate::rows::each_row;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{allocate, collected, copied};
use bandsolve::vectors::divide;
use bandsolve::{LinearOperator, Op, RealScalar, Result, Scalar, Tridiagonal};

/// The inverse of a product of tridiagonal matrices as a preconditioner: z = M₁⁻¹ ··· Mₘ⁻¹·T⁻¹·r.
///
/// T is diagonal, and Mₗ is the tridiagonal matrix of forest l.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Forest, ForestProduct, KrylovMethod, KrylovSolver, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let forests = vec![Forest::grid_lines(20, 30, true)?, Forest::grid_lines(20, 30, false)?];
/// let m = ForestProduct::diagonal(&a, forests)?;
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Bicgstab).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged() && m.forests() == 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs m tridiagonal solves, and no product with A.
#[derive(Debug)]
pub struct ForestProduct<T: Scalar> {
    /// T⁻¹.
    inverse: Vec<T>,
    /// M₁ first.
    solvers: Vec<ForestSolver<T>>,
}

impl<T: Scalar> ForestProduct<T> {
    /// Set up MOS-d for forests that share no edge.
    ///
    /// Let Aₗ be the off-diagonal entries of A along forest l = 1 … m, and diag_p1 the diagonal of [`DiagonalRule::P1`]. Then:
    ///
    /// ```text
    /// T = diag_p1(A),   J = I + (diag(A) − T)·T⁻¹/m
    /// Mₗ = J + T⁻¹·J⁻⁽ᵐ⁻ˡ⁾·Aₗ·J⁻⁽ˡ⁻¹⁾
    /// ```
    ///
    /// # Errors
    /// Those of [`DiagonalRule::of`] and [`ForestSolver::new`].
    pub fn diagonal<I: Index>(a: &Csr<'_, T, I>, forests: Vec<Forest>) -> Result<Self> {
        Self::of(diagonal_systems(a, forests)?)
    }

    /// Set up MOS-a, which finds one forest after the other.
    ///
    /// It starts from B₀ = A. Mₗ₊₁ is the tridiagonal matrix of the forest with the heaviest edges of Bₗ, with the diagonal of Bₗ. Bₗ₊₁ approximates
    /// Bₗ·Mₗ₊₁⁻¹: each row keeps the diagonal, and as many of the largest other entries as the row of A has. In the end, T = diag_p1(Bₘ).
    ///
    /// - `count` is the number m of forests. If `count` = 0, the function adds forests until the diagonal of Bₗ has 90 % of the weight of Bₗ, or a
    ///   further forest adds less than 5 % to this share. There are at most four.
    /// - With `scaled`, B₀ = D⁻¹·A and T = D·diag_p1(Bₘ), where D = diag_p1(A). The result is then independent of a scaling of the rows of A.
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal).
    pub fn adaptive<I: Index>(
        a: &Csr<'_, T, I>,
        count: usize,
        scaled: bool,
        options: &GraphFactorOptions,
    ) -> Result<Self> {
        adaptive_systems(a, (count, scaled), options).and_then(|(systems, _)| Self::of(systems))
    }

    /// Factor the systems: the diagonal of T⁻¹, and M₁ first.
    ///
    /// # Errors
    /// Those of [`ForestSolver::new`].
    pub(super) fn of((inverse, systems): ProductSystems<T>) -> Result<Self> {
        let solvers = systems.into_iter().map(ForestSystem::factor).collect::<Result<_>>()?;
        Ok(Self { inverse, solvers })
    }

    /// Number of forests m.
    pub fn forests(&self) -> usize {
        self.solvers.len()
    }

    /// The diagonal of T⁻¹.
    pub fn inverse_diagonal(&self) -> &[T] {
        &self.inverse
    }
}

/// The diagonal of T⁻¹, and the systems of M₁ to Mₘ.
type ProductSystems<T> = (Vec<T>, Vec<ForestSystem<T>>);

/// The systems of [`ForestProduct::diagonal`].
///
/// # Errors
/// Those of [`DiagonalRule::of`].
pub(super) fn diagonal_systems<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    forests: Vec<Forest>,
) -> Result<ProductSystems<T>> {
    let (m, t) = (forests.len(), DiagonalRule::P1.of(a)?);
    let mut j = allocate(t.len(), T::ONE)?;
    let share = T::Real::from_f64(m as f64);
    // jᵢ = 1 + (aᵢᵢ − tᵢ)/(tᵢ·m)
    each_row(&mut j, &|i, j| {
        let d = a.row(i).filter(|(column, _)| *column == i).fold(T::ZERO, |sum, (_, value)| sum + value);
        *j = T::ONE + divide(divide(d - t[i], t[i]), T::from_real(share));
        0
    });
    let inverse: Vec<T> = collected(t.iter().map(|t| divide(T::ONE, *t)))?;
    // Mₗ has jᵢ on the diagonal, and tᵢ⁻¹·jᵢ⁻⁽ᵐ⁻ˡ⁾·aᵢₖ·jₖ⁻⁽ˡ⁻¹⁾ along the forest. Here l counts from 0.
    let factor = |(l, forest): (usize, Forest)| {
        let entry = |row: usize, column: usize, value: T| {
            let left = divide(T::ONE, power(j[row], m - 1 - l));
            let right = divide(T::ONE, power(j[column], l));
            if row == column { T::ZERO } else { inverse[row] * (left * value * right) }
        };
        let couplings = forest.tridiagonal_of(a, &entry)?;
        let [sub, _, sup] = couplings.arrays();
        let diag = collected(forest.order().map(|v| j[v]))?;
        let tridiagonal = Tridiagonal::from_vecs(copied(sub)?, diag, copied(sup)?, false)?;
        Ok(ForestSystem { forest, tridiagonal })
    };
    let systems = forests.into_iter().enumerate().map(factor).collect::<Result<Vec<_>>>()?;
    Ok((inverse, systems))
}

/// The systems of [`ForestProduct::adaptive`], with the reason for the number of forests if `count` = 0.
///
/// # Errors
/// As [`diagonal_systems`].
pub(super) fn adaptive_systems<T: Scalar, I: Index>(
    a: &Csr<'_, T, I>,
    (count, scaled): (usize, bool),
    options: &GraphFactorOptions,
) -> Result<(ProductSystems<T>, String)> {
    let mut b: Csr<'static, T, u32> = a.sorted()?;
    let lengths: Vec<u32> = collected((0..b.rows()).map(|i| b.row(i).filter(|(j, _)| *j != i).count() as u32))?;
    let mut scale = allocate(b.rows(), T::ONE)?;
    if scaled {
        scale = DiagonalRule::P1.of(&b)?;
        let inverse: Vec<T> = collected(scale.iter().map(|d| divide(T::ONE, *d)))?;
        b.scale_rows(&inverse)?;
    }
    let (mut systems, mut enough) = (Vec::with_capacity(count), ForestCount::new(0.0));
    while if count == 0 { enough.wants_more() } else { systems.len() < count } {
        let forest = Forest::of(&comparable_graph(&b)?, &options.of_forest(systems.len()))?;
        let tridiagonal = forest.tridiagonal(&b)?;
        // Bₗ₊₁ ≈ Bₗ·Mₗ₊₁⁻¹
        let next = incomplete_product(&b, &forest, &tridiagonal, &lengths)?;
        if count == 0 && !enough.takes(diagonal_share(&next)) {
            break;
        }
        b = next;
        systems.push(ForestSystem { forest, tridiagonal });
    }
    // T⁻¹ = (D·diag_p1(Bₘ))⁻¹
    let t = DiagonalRule::P1.of(&b)?;
    let inverse = collected(t.iter().zip(&scale).map(|(t, d)| divide(T::ONE, *d * *t)))?;
    let reason = if count == 0 { enough.reason("the diagonal of the remaining matrix has") } else { String::new() };
    Ok(((inverse, systems), reason))
}

/// The share of the diagonal in the sum of the moduli of all entries (c_diag).
fn diagonal_share<T: Scalar>(a: &Csr<'_, T, u32>) -> f64 {
    let (mut diagonal, mut all) = (0.0, 0.0);
    for i in 0..a.rows() {
        for (j, value) in a.row(i) {
            let modulus = Scalar::abs(value).to_f64();
            all += modulus;
            diagonal += if j == i { modulus } else { 0.0 };
        }
    }
    diagonal / all
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
        let (last, others) = self.solvers.split_last().expect("at least one forest");
        let (to, stack) = stack.make_raw::<T>(x.len());
        let (from, stack) = stack.make_raw::<T>(x.len());
        let (mut to, mut from) = (to, from);
        // y = M₁⁻¹ ··· Mₘ⁻¹·T⁻¹·x, from the right
        last.solve_from(Op::Plain, &|v| self.inverse[v] * x[v], to, stack)?;
        let mut places = last.forest().permutation().places();
        for solver in others.iter().rev() {
            // From the order of the previous forest into the order of this one.
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
