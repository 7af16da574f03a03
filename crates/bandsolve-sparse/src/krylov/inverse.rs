//! Inverses by iteration, as operators.

use super::{Ending, IterationProgress, KrylovSolver, buffer, stack};
use crate::random::mixed;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::{Reducer, agree_on};
use bandsolve::{Communicator, Error, LinearOperator, RealScalar, Result, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// y ≈ A⁻¹·x by a Krylov method: an operator that solves, as [`Inverse`](bandsolve::Inverse) does by factors.
///
/// $$ \|x - A\,y\|_2 \le \max(\mathtt{rtol}\,\|x\|_2,\ \mathtt{atol}) $$
///
/// Where rounding does not let the residual become so small, 8ε·(‖A‖·‖y‖₂ + ‖x‖₂) will do, with ‖A·p‖₂/‖p‖₂ of a random p as ‖A‖.
///
/// An eigenvalue solver takes it as the inverse of A − σB. Its tolerance is then to be a hundredth of that of the eigenvalues, or less:
/// the error of a solve is one of the operator. Where A is Hermitian positive definite (σ is below all eigenvalues), conjugate gradients
/// serve, else [`Gmres`](crate::KrylovMethod::Gmres).
///
/// # Cost
/// A product with A at first; then the iterations of each solve. Nothing is allocated in a solve.
///
/// # Errors
/// Applying it: [`Error::NotConverged`] where the tolerance was not reached, with the relative residual as `backward_error`; those of the
/// operators. [`Error::Unsupported`] for transposes.
///
/// # Example
/// ```
/// use bandsolve::{LinearOperator, dyn_stack::{PodBuffer, PodStack}};
/// use bandsolve_sparse::{KrylovInverse, KrylovMethod, KrylovSolver, Preconditioner, nine_point};
/// let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (30, 30));
/// let m = Preconditioner::new(&a, "amg-lines".parse().expect("a name"), &Default::default())?;
/// let inverse = KrylovInverse::new(KrylovSolver::new(KrylovMethod::Cg).rtol(1e-10), &a, Some(&m))?;
/// let (mut y, mut memory) = (vec![0.0; 900], PodBuffer::new(inverse.apply_scratch()));
/// inverse.apply(&vec![1.0; 900], &mut y, PodStack::new(&mut memory))?;
/// assert!(inverse.iterations() < 20);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct KrylovInverse<'a, T: Scalar> {
    solver: KrylovSolver<'a>,
    a: &'a dyn LinearOperator<T>,
    preconditioner: Option<&'a dyn LinearOperator<T>>,
    /// ‖A·p‖₂/‖p‖₂ of a random p.
    size: f64,
    iterations: AtomicUsize,
}

impl<T: Scalar> Debug for KrylovInverse<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("KrylovInverse").field("iterations", &self.iterations()).finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> KrylovInverse<'a, T> {
    /// The inverse of `a` to the tolerance of `solver`, with a preconditioner. All processes of the solver call it together.
    ///
    /// # Errors
    /// Those of a product with A; [`Error::OutOfMemory`].
    pub fn new(
        solver: KrylovSolver<'a>,
        a: &'a dyn LinearOperator<T>,
        preconditioner: Option<&'a dyn LinearOperator<T>>,
    ) -> Result<Self> {
        Ok(Self { solver, a, preconditioner, size: norm_of(a, solver.communicator)?, iterations: AtomicUsize::new(0) })
    }

    /// Iterations so far, of all applications.
    pub fn iterations(&self) -> usize {
        self.iterations.load(Ordering::Relaxed)
    }
}

impl<T: Scalar> LinearOperator<T> for KrylovInverse<'_, T> {
    fn rows(&self) -> usize {
        self.a.columns()
    }

    fn columns(&self) -> usize {
        self.a.rows()
    }

    fn apply_scratch(&self) -> StackReq {
        self.solver.scratch(self.a, self.preconditioner)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        y.fill(T::ZERO);
        let watch = &mut |_: IterationProgress<'_, T>| ControlFlow::Continue(());
        let report = self.solver.solve_with(self.a, self.preconditioner, x, y, watch, stack)?;
        self.iterations.fetch_add(report.iterations, Ordering::Relaxed);
        if report.ending == Ending::Converged {
            return Ok(());
        }
        // The scratch of the solve has room for this.
        let (mut reducer, _) = Reducer::new(self.solver.communicator, y.len(), 1, stack);
        let rounding = 8.0 * T::Real::EPSILON.to_f64() * (self.size * reducer.norm(y) + report.rhs_norm);
        // An infinite bound allows nothing.
        if rounding.is_finite() && report.residual_norm <= rounding {
            return Ok(());
        }
        Err(Error::NotConverged { backward_error: report.relative_residual(), refinement_steps: report.iterations })
    }
}

/// ‖A·p‖₂/‖p‖₂ of a random p: a number of the size of ‖A‖, and at most that.
fn norm_of<T: Scalar>(a: &dyn LinearOperator<T>, communicator: &dyn Communicator) -> Result<f64> {
    let (rows, columns) = (a.rows(), a.columns());
    let memory =
        || Ok((zeroed::<T>(columns)?, zeroed::<T>(rows)?, buffer(a.apply_scratch().or(Reducer::scratch(rows, 1)))?));
    let (mut p, mut image, mut memory) = agree_on(communicator, memory())?;
    let before = communicator.rows_before(columns);
    for (i, p) in p.iter_mut().enumerate() {
        *p = if mixed((before + i) as u64) & 1 == 0 { T::ONE } else { T::ZERO - T::ONE };
    }
    a.apply(&p, &mut image, stack(&mut memory))?;
    let norm = Reducer::new(communicator, rows, 1, stack(&mut memory)).0.norm(&image);
    let mut all = [columns as f64];
    communicator.sum(&mut all);
    Ok(if all[0] > 0.0 { norm / all[0].sqrt() } else { 0.0 })
}
