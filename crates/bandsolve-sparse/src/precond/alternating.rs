//! ALT-i and ALT-o: solves with the tridiagonal systems of several forests in turn.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (28) to (31). With the lines of a grid as forests, ALT-i is ADI.

use super::lines::ForestSolver;
use crate::csr::Csr;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{LinearOperator, Op, Result, Scalar};

/// The preconditioner ALT-i: each application solves with the systems of m forests in turn.
///
/// ```text
/// z₁ = M₁⁻¹·r
/// zₗ = zₗ₋₁ + Mₗ⁻¹·(r − A·zₗ₋₁)    for l = 2 … m
/// ```
///
/// The result is zₘ.
///
/// # Examples
/// ADI, with the rows and the columns of a grid as forests:
/// ```
/// use bandsolve_sparse::{AlternatingInner, Forest, ForestSolver, KrylovMethod, KrylovSolver, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let rows = ForestSolver::new(&a, Forest::grid_lines(20, 30, true)?)?;
/// let columns = ForestSolver::new(&a, Forest::grid_lines(20, 30, false)?)?;
/// let m = AlternatingInner::new(a.view(), vec![rows, columns]);
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Bicgstab).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged());
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs m tridiagonal solves and m − 1 products with A. No pass over memory serves a permutation alone.
#[derive(Debug)]
pub struct AlternatingInner<'a, T: Scalar> {
    a: Csr<'a, T, u32>,
    solvers: Vec<ForestSolver<T>>,
}

impl<'a, T: Scalar> AlternatingInner<'a, T> {
    /// Combine a matrix with the solvers of its forests. There must be at least one solver.
    pub fn new(a: Csr<'a, T, u32>, solvers: Vec<ForestSolver<T>>) -> Self {
        Self { a, solvers }
    }
}

/// z ← z + M⁻¹·(r − A·z).
pub(super) fn sweep<T: Scalar>(
    a: &Csr<'_, T, u32>,
    solver: &ForestSolver<T>,
    r: &[T],
    z: &mut [T],
    stack: &mut PodStack,
) -> Result<()> {
    // step = M⁻¹·(r − A·z), in the order of the forest
    let (step, stack) = stack.make_raw::<T>(r.len());
    let before = &*z;
    solver.solve_from(Op::Plain, &|v| r[v] - a.row_times(v, before), step, stack)?;
    let step = &*step;
    solver.forest().permutation().gather(z, &|_, z, place| z + step[place]);
    Ok(())
}

impl<T: Scalar> LinearOperator<T> for AlternatingInner<'_, T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn columns(&self) -> usize {
        self.a.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        let solves = self.solvers.iter().fold(StackReq::EMPTY, |all, solver| all.or(solver.apply_scratch()));
        StackReq::new::<T>(self.a.rows()).and(solves)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let (first, others) = self.solvers.split_first().expect("at least one forest");
        // y = M₁⁻¹·x, then y ← y + Mₗ⁻¹·(x − A·y) for l = 2, …, m
        first.apply(x, y, stack)?;
        others.iter().try_for_each(|solver| sweep(&self.a, solver, x, y, stack))
    }
}

/// The preconditioner ALT-o: step k solves with the system of forest k mod m.
///
/// The preconditioner changes from step to step. Use it with GMRES, which then runs as FGMRES.
///
/// # Examples
/// ```
/// use bandsolve::LinearOperator;
/// use bandsolve_sparse::{AlternatingOuter, Forest, ForestSolver, KrylovMethod, KrylovSolver, nine_point};
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 30));
/// let rows = ForestSolver::new(&a, Forest::grid_lines(20, 30, true)?)?;
/// let columns = ForestSolver::new(&a, Forest::grid_lines(20, 30, false)?)?;
/// let m = AlternatingOuter::new(vec![rows, columns]);
/// let mut x = vec![0.0; 600];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).solve(&a, Some(&m), &vec![1.0; 600], &mut x)?;
/// assert!(report.converged() && LinearOperator::<f64>::changes(&m));
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Cost
/// One application costs one tridiagonal solve.
#[derive(Debug)]
pub struct AlternatingOuter<T: Scalar> {
    solvers: Vec<ForestSolver<T>>,
}

impl<T: Scalar> AlternatingOuter<T> {
    /// Alternate between the solvers of the forests of a matrix. There must be at least one solver.
    pub fn new(solvers: Vec<ForestSolver<T>>) -> Self {
        Self { solvers }
    }
}

impl<T: Scalar> LinearOperator<T> for AlternatingOuter<T> {
    fn rows(&self) -> usize {
        self.solvers[0].rows()
    }

    fn columns(&self) -> usize {
        self.solvers[0].columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.solvers.iter().fold(StackReq::EMPTY, |all, solver| all.or(solver.apply_scratch()))
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.solvers[0].apply(x, y, stack)
    }

    fn changes(&self) -> bool {
        self.solvers.len() > 1
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.solvers[step % self.solvers.len()].apply(x, y, stack)
    }
}
