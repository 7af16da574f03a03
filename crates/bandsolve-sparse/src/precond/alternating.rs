//! ALT-i and ALT-o: tridiagonal systems of several forests, one after the other.
//!
//! # Source
//! C. J. Klein, dissertation, Heidelberg 2022, equations (28) to (31). With the lines of a grid as forests: ADI.

use super::lines::ForestSolver;
use crate::csr::Csr;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{LinearOperator, Op, Result, Scalar};

/// ALT-i: z₁ = M₁⁻¹·r, zₗ = zₗ₋₁ + Mₗ⁻¹·(r − A·zₗ₋₁); z is the last of them.
///
/// An application costs m tridiagonal solves and m − 1 products with A. Residuals are written where the forest that needs them has
/// them, so that no pass over memory is for a permutation alone.
#[derive(Debug)]
pub struct AlternatingInner<'a, T: Scalar> {
    a: Csr<'a, T, u32>,
    solvers: Vec<ForestSolver<T>>,
}

impl<'a, T: Scalar> AlternatingInner<'a, T> {
    /// With solvers of a matrix's splittings.
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
        let (first, others) = self.solvers.split_first().expect("a splitting at least");
        first.apply(x, y, stack)?;
        others.iter().try_for_each(|solver| sweep(&self.a, solver, x, y, stack))
    }
}

/// ALT-o: step k applies Mₗ⁻¹ with l = k mod m. For methods that take a preconditioner that changes.
#[derive(Debug)]
pub struct AlternatingOuter<T: Scalar> {
    solvers: Vec<ForestSolver<T>>,
}

impl<T: Scalar> AlternatingOuter<T> {
    /// With solvers of a matrix's splittings.
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
