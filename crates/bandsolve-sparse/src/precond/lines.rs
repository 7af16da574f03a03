//! Tridiagonal systems in a matrix: those of a forest, solved in its order.

use crate::csr::Csr;
use crate::forest::Forest;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::{AnyFactor, Factor, LinearOperator, Op, Plan, Result, Scalar, Tridiagonal};

/// M⁻¹ with M = Pᵀ·T·P, where P brings the paths of a forest one after the other and T is tridiagonal.
///
/// # Source
/// C. J. Klein, dissertation, Heidelberg 2022, section 4.5: with the forest of the heaviest couplings, AlgTriScal.
#[derive(Debug)]
pub struct ForestSolver<T: Scalar> {
    forest: Forest,
    factor: AnyFactor<'static, T>,
}

impl<T: Scalar> ForestSolver<T> {
    /// With the diagonal and the coupled entries of a matrix.
    ///
    /// # Errors
    /// [`bandsolve::Error::Shape`] if the matrix is not of the forest's size, [`bandsolve::Error::Singular`] if its tridiagonal part is singular,
    /// [`bandsolve::Error::NotFinite`] if it holds NaN or an infinity.
    pub fn new<I: Index>(a: &Csr<'_, T, I>, forest: Forest) -> Result<Self> {
        let tridiagonal = forest.tridiagonal(a)?;
        Self::with(forest, tridiagonal)
    }

    /// With a tridiagonal matrix in the order of the forest.
    pub(crate) fn with(forest: Forest, tridiagonal: Tridiagonal<'static, T>) -> Result<Self> {
        // Preconditioners need no verification: what they feed is verified.
        let factor = Plan::new(tridiagonal.shape()).verify(false).factor_owned(tridiagonal)?;
        Ok(Self { forest, factor })
    }

    /// The paths.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Scratch for [`solve_from`](Self::solve_from).
    pub(crate) fn scratch(&self) -> StackReq {
        StackReq::new::<T>(self.forest.vertices()).and(self.factor.solve_scratch(1))
    }

    /// Solves for the right-hand side whose element of vertex v is `rhs(v)`; x stands in the order of the forest.
    pub(crate) fn solve_from(
        &self,
        op: Op,
        rhs: &(impl Fn(usize) -> T + Sync),
        x: &mut [T],
        stack: &mut PodStack,
    ) -> Result<()> {
        let (ordered, stack) = stack.make_raw::<T>(x.len());
        self.forest.permutation().scatter(ordered, rhs);
        self.factor.solve_into_with(op, ordered, x, stack).map(|_| ())
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
