//! Distributed matrices for the eigenvalue solver, which is the same code as on one machine.

use crate::blocks::DistributedBlocks;
use crate::factors::DistributedFactors;
use bandsolve::dyn_stack::PodStack;
use bandsolve::{Error, LinearOperator, Op, Result, Scalar};
use bandsolve_eigen::ShiftableMatrix;

/// For [`EigenSolver`](bandsolve_eigen::EigenSolver) with `communicator(ranks)`. Each rank holds its rows of every vector. All ranks make
/// the same calls and get the same eigenvalues.
///
/// # Examples
/// ```
/// use bandsolve_eigen::EigenSolver;
/// use bandsolve_mpi::{DistributedBlocks, RankRanges, on_threads};
/// // The eigenvalues are 2 − 2·cos(π·k/101). Find the two nearest to 1.
/// let values = on_threads(2, |ranks| {
///     let rows = RankRanges::even(100, ranks.size()).range(ranks.rank()).len();
///     let a = DistributedBlocks::new(ranks, 1, [&vec![-1.0; rows], &vec![2.0; rows], &vec![-1.0; rows]]).unwrap();
///     let solver = EigenSolver::new(2).communicator(ranks).seed(ranks.rank() as u64);
///     solver.hermitian_nearest(&a, None, 1.0).unwrap().values
/// });
/// let exact = 2.0 - 2.0 * (core::f64::consts::PI * 34.0 / 101.0).cos();
/// assert!((values[0][0] - exact).abs() < 1e-12 && values[0] == values[1]);
/// ```
impl<T: Scalar> ShiftableMatrix for DistributedBlocks<T> {
    type Scalar = T;
    type ShiftedInverse = DistributedFactors<T>;

    fn rows(&self) -> usize {
        LinearOperator::rows(self)
    }

    fn multiply(&self, x: &[T], y: &mut [T]) -> Result<()> {
        multiply(self, Op::Plain, x, y)
    }

    fn multiply_adjoint(&self, x: &[T], y: &mut [T]) -> Result<()> {
        multiply(self, Op::ConjTranspose, x, y)
    }

    fn check_definite(&self) -> Result<()> {
        // Counts are not available for periodic matrices.
        if self.is_periodic() { Ok(()) } else { Self::check_definite(self).map_err(|error| error.error) }
    }

    fn shifted_inverse(&self, sigma: T, b: Option<&Self>) -> Result<DistributedFactors<T>> {
        self.shifted(sigma, b).and_then(|shifted| shifted.factor()).map_err(|error| error.error)
    }
}

/// Compute the rows of y = op(A)·x of this rank.
fn multiply<T: Scalar>(a: &DistributedBlocks<T>, op: Op, x: &[T], y: &mut [T]) -> Result<()> {
    let expected = LinearOperator::rows(a);
    match [("x", x.len()), ("y", y.len())].into_iter().find(|(_, got)| *got != expected) {
        Some((what, got)) => Err(Error::Shape { what, expected, got }),
        None => a.apply_op(op, x, y, PodStack::new(&mut [])),
    }
}
