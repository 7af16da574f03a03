//! The tridiagonal system of a linear forest, solved in the order of the forest.

use super::forest_system::ForestSystem;
use super::path_elimination::{PathElimination, tridiagonal_rows};
use super::strong_edges::LinkedForest;
use crate::csr::{Csr, cast};
use crate::forest::Forest;
use crate::scratch::{buffer, stack};
use crate::sliced::SlicedMatrix;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{collected, zeroed};
use bandsolve::{AnyFactor, Factor, LinearOperator, Op, Plan, RealScalar, Result, Scalar, Tridiagonal};

/// Solve the tridiagonal system of a linear forest, as a preconditioner.
///
/// M = Pᵀ·T·P, where the permutation P puts the paths of the forest one after the other, and T is tridiagonal. M keeps the diagonal of A, and the
/// entries of A along the paths.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Forest, ForestSolver, GraphFactorOptions, KrylovMethod, KrylovSolver, comparable_graph};
/// // The path 0–2–1: the forest contains all couplings, so that M is A.
/// let entries = [(0, 0, 4.0), (0, 2, -1.0), (1, 1, 4.0), (1, 2, -1.0), (2, 0, -1.0), (2, 1, -1.0), (2, 2, 4.0)];
/// let a = Csr::<f64, u32>::from_triplets(3, 3, &entries)?;
/// let forest = Forest::of(&comparable_graph(&a)?, &GraphFactorOptions::default())?;
/// let m = ForestSolver::new(&a, forest)?;
/// let mut x = [0.0; 3];
/// let report = KrylovSolver::new(KrylovMethod::Cg).rtol(1e-10).solve(&a, Some(&m), &[1.0, 2.0, 3.0], &mut x)?;
/// assert!(report.converged() && report.iterations <= 2);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs one tridiagonal solve and two permutations.
///
/// # Source
/// C. J. Klein, dissertation, Heidelberg 2022, section 4.5. With the forest of the heaviest edges it is AlgTriScal.
#[derive(Debug)]
pub struct ForestSolver<T: Scalar> {
    forest: Forest,
    factors: ForestFactors<T>,
}

#[derive(Debug)]
enum ForestFactors<T: Scalar> {
    /// By elimination path by path, for smoothers.
    Paths(PathElimination<T>),
    /// By a method of the crate `bandsolve`.
    Plan(AnyFactor<'static, T>),
}

/// A tridiagonal matrix, in another number type.
fn of_rows<S: Scalar, T: Scalar>(rows: &[[S; 3]]) -> Result<Tridiagonal<'static, T>> {
    let band = |k: usize| collected(rows.iter().map(|row| cast(row[k])));
    Tridiagonal::from_vecs(band(0)?, band(1)?, band(2)?, false)
}

impl<T: Scalar> ForestSystem<T> {
    /// The system of a smoother ([`ForestSolver::smoother`]).
    ///
    /// # Errors
    /// [`OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub(super) fn of_smoother(a: &Csr<'_, T, u32>, forest: Forest, damping: f64) -> Result<Self> {
        let partners = collected((0..forest.vertices()).map(|v| forest.linked(v)))?;
        let linked = LinkedForest { forest, partners };
        let tridiagonal = of_rows(&tridiagonal_rows(a, &linked, damping)?)?;
        Ok(Self { forest: linked.forest, tridiagonal })
    }

    /// Factor the matrix.
    ///
    /// # Errors
    /// Those of [`ForestSolver::new`].
    pub(super) fn factor(self) -> Result<ForestSolver<T>> {
        let Self { forest, tridiagonal } = self;
        // A preconditioner needs no verification: the Krylov solver checks its own residual.
        let factor = Plan::new(tridiagonal.shape()).verify(false).factor_owned(tridiagonal)?;
        Ok(ForestSolver { forest, factors: ForestFactors::Plan(factor) })
    }
}

impl<T: Scalar> ForestSolver<T> {
    /// Factor the tridiagonal system that a forest selects from a matrix.
    ///
    /// # Errors
    /// [`Shape`](bandsolve::Error::Shape) if the sizes of matrix and forest differ. [`Singular`](bandsolve::Error::Singular) if the tridiagonal
    /// system is singular. [`NotFinite`](bandsolve::Error::NotFinite) if it contains NaN or infinity.
    pub fn new<I: Index>(a: &Csr<'_, T, I>, forest: Forest) -> Result<Self> {
        ForestSystem::new(a, forest)?.factor()
    }

    /// Factor the [rows of a smoother](tridiagonal_rows). Also returns an estimate of ‖(D⁻¹·T)⁻¹‖, where D is the diagonal of T: the largest modulus
    /// of x with T·x = D·1.
    ///
    /// The smoother solves only with T, not with its transposes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn smoother<S: Scalar>(a: &Csr<'_, S, u32>, linked: LinkedForest, damping: f64) -> Result<(Self, f64)> {
        let rows = tridiagonal_rows(a, &linked, damping)?;
        let forest = linked.forest;
        let solver = match PathElimination::new(&rows, &forest)? {
            Some(paths) => Self { forest, factors: ForestFactors::Paths(paths) },
            // Elimination needs row exchanges.
            None => ForestSystem { forest, tridiagonal: of_rows(&rows)? }.factor()?,
        };
        let (mut x, places) = (zeroed(rows.len())?, solver.forest.permutation().places());
        let diag = |v: usize| cast(rows[places[v] as usize][1]);
        solver.solve_from(Op::Plain, &diag, &mut x, stack(&mut buffer(solver.scratch())?))?;
        let growth = x.iter().fold(0.0, |most, x| f64::max(most, Scalar::abs1(*x).to_f64()));
        Ok((solver, growth))
    }

    /// The forest.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The forest, without the factors.
    pub(super) fn into_forest(self) -> Forest {
        self.forest
    }

    /// Scratch for [`solve_from`](Self::solve_from).
    pub(crate) fn scratch(&self) -> StackReq {
        match &self.factors {
            ForestFactors::Paths(_) => StackReq::EMPTY,
            ForestFactors::Plan(factor) => StackReq::new::<T>(self.forest.vertices()).and(factor.solve_scratch(1)),
        }
    }

    /// Scratch for [`sweep`](Self::sweep).
    pub(super) fn sweep_scratch(&self) -> StackReq {
        StackReq::new::<T>(2 * self.forest.vertices()).and(self.scratch())
    }

    /// Solve for the right-hand side with element `rhs(v)` for vertex v. The result x is in the order of the forest.
    pub(crate) fn solve_from(
        &self,
        op: Op,
        rhs: &(impl Fn(usize) -> T + Sync),
        x: &mut [T],
        stack: &mut PodStack,
    ) -> Result<()> {
        match &self.factors {
            ForestFactors::Paths(paths) => {
                debug_assert!(op == Op::Plain);
                self.forest.permutation().scatter(x, rhs);
                paths.solve(x);
                Ok(())
            }
            ForestFactors::Plan(factor) => {
                let (ordered, stack) = stack.make_raw::<T>(x.len());
                self.forest.permutation().scatter(ordered, rhs);
                factor.solve_into_with(op, ordered, x, stack).map(|_| ())
            }
        }
    }

    /// x ← x + M⁻¹·(rhs − A·x).
    pub(super) fn sweep(&self, a: &SlicedMatrix<'_, T>, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (r, stack) = stack.make_raw::<T>(x.len());
        let (step, stack) = stack.make_raw::<T>(x.len());
        a.residual(x, rhs, r);
        let r = &*r;
        self.solve_from(Op::Plain, &|v| r[v], step, stack)?;
        let step = &*step;
        self.forest.permutation().gather(x, &|_, x, place| x + step[place]);
        Ok(())
    }
}

impl<T: Scalar> LinearOperator<T> for ForestSolver<T> {
    fn rows(&self) -> usize {
        self.forest.vertices()
    }

    fn columns(&self) -> usize {
        self.forest.vertices()
    }

    fn apply_scratch(&self) -> StackReq {
        StackReq::new::<T>(self.forest.vertices()).and(self.scratch())
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (solved, stack) = stack.make_raw::<T>(x.len());
        self.solve_from(op, &|v| x[v], solved, stack)?;
        let solved = &*solved;
        self.forest.permutation().gather(y, &|_, _, place| solved[place]);
        Ok(())
    }
}
