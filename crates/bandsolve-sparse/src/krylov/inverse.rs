//! Iterative solves as operators.

use super::{Ending, IterationProgress, KrylovSolver, buffer, stack};
use crate::random::mixed;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::{Reducer, agree_on};
use bandsolve::{Communicator, Error, LinearOperator, RealScalar, Result, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// An operator that solves by a Krylov method: y ≈ A⁻¹·x. [`Inverse`](bandsolve::Inverse) is the same with factors.
///
/// Each application computes y with ‖x − A·y‖₂ ≤ max(rtol·‖x‖₂, atol). If rounding errors prevent this, it accepts
/// ‖x − A·y‖₂ ≤ 8ε·(s·‖y‖₂ + ‖x‖₂). Here s = ‖A·p‖₂/‖p‖₂ for a random p, an estimate of ‖A‖.
///
/// An eigenvalue solver can use it as the inverse of A − σB. Choose a tolerance of at most a hundredth of the tolerance for the eigenvalues. If
/// A − σB is Hermitian positive definite (σ is below all eigenvalues), use [`Cg`](crate::KrylovMethod::Cg), otherwise
/// [`Gmres`](crate::KrylovMethod::Gmres).
///
/// # Examples
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
///
/// # Cost
/// The constructor computes one product with A. Each application costs the iterations of one solve, and allocates nothing.
///
/// # Errors
/// An application returns [`Error::NotConverged`] if it does not reach the tolerance; `backward_error` is then the relative residual. It returns
/// [`Error::Unsupported`] for transposes, and the errors of the operators.
pub struct KrylovInverse<'a, T: Scalar> {
    solver: KrylovSolver<'a>,
    a: &'a dyn LinearOperator<T>,
    preconditioner: Option<&'a dyn LinearOperator<T>>,
    /// ‖A·p‖₂/‖p‖₂ for a random p.
    size: f64,
    iterations: AtomicUsize,
}

impl<T: Scalar> Debug for KrylovInverse<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("KrylovInverse").field("iterations", &self.iterations()).finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> KrylovInverse<'a, T> {
    /// Make the inverse of `a`, with the tolerance of `solver`. All processes of the solver's communicator must call this function.
    ///
    /// # Errors
    /// Those of a product with A. [`Error::OutOfMemory`].
    pub fn new(
        solver: KrylovSolver<'a>,
        a: &'a dyn LinearOperator<T>,
        preconditioner: Option<&'a dyn LinearOperator<T>>,
    ) -> Result<Self> {
        Ok(Self { solver, a, preconditioner, size: norm_of(a, solver.communicator)?, iterations: AtomicUsize::new(0) })
    }

    /// Number of iterations so far, over all applications.
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
        // The scratch memory of the solve has room for the reducer.
        let (mut reducer, _) = Reducer::new(self.solver.communicator, y.len(), 1, stack);
        let rounding = 8.0 * T::Real::EPSILON.to_f64() * (self.size * reducer.norm(y) + report.rhs_norm);
        // Do not accept an infinite bound.
        if rounding.is_finite() && report.residual_norm <= rounding {
            return Ok(());
        }
        Err(Error::NotConverged { backward_error: report.relative_residual(), refinement_steps: report.iterations })
    }
}

/// ‖A·p‖₂/‖p‖₂ for a random p, a lower estimate of ‖A‖₂.
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
