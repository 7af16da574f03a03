//! Iterative solves as operators.

use super::report::{Ending, IterationProgress, IterationReport};
use super::solver::KrylovSolver;
use super::units::towards_one;
use crate::random::mixed;
use crate::scratch::{buffer, stack};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::{PIECE, Reducer, agree_on, each_piece, times};
use bandsolve::{Communicator, Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_kernel::spread::RowsOf;
use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    /// The solver after one application in which `solver` did not converge.
    fallback: Option<KrylovSolver<'a>>,
    /// Whether `solver` did not converge once.
    has_failed: AtomicBool,
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
        let (size, iterations) = (norm_of(a, solver.communicator)?, AtomicUsize::new(0));
        Ok(Self { solver, fallback: None, has_failed: AtomicBool::new(false), a, preconditioner, size, iterations })
    }

    /// Use another solver after the first application in which the solver of [`new`](Self::new) does not converge, and in this application. Both have
    /// the same communicator.
    ///
    /// For example, GMRES after conjugate gradients, for a Hermitian matrix that may be indefinite.
    pub fn fallback(self, solver: KrylovSolver<'a>) -> Self {
        Self { fallback: Some(solver), ..self }
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
        let scratch = |solver: &KrylovSolver<'_>| solver.scratch(self.a, self.preconditioner);
        self.fallback.iter().fold(scratch(&self.solver), |all, solver| all.or(scratch(solver)))
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        // Scale A, so that no product leaves the range of the type.
        let scaled = ScaledOperator { a: self.a, by: towards_one(T::Real::EPSILON.to_f64(), self.size) };
        let a: &dyn LinearOperator<T> = if scaled.by == 1.0 { self.a } else { &scaled };
        let mut failed = None;
        if self.fallback.is_none() || !self.has_failed.load(Ordering::Relaxed) {
            failed = self.solve(&self.solver, (a, scaled.by), x, y, stack)?;
        }
        if let Some(solver) =
            self.fallback.as_ref().filter(|_| failed.is_some() || self.has_failed.load(Ordering::Relaxed))
        {
            self.has_failed.store(true, Ordering::Relaxed);
            failed = self.solve(solver, (a, scaled.by), x, y, stack)?;
        }
        multiply(y, scaled.by);
        failed.map_or(Ok(()), |report| {
            let (backward_error, refinement_steps) = (report.relative_residual(), report.iterations);
            Err(Error::NotConverged { backward_error, refinement_steps })
        })
    }
}

impl<T: Scalar> KrylovInverse<'_, T> {
    /// Solve A·y = x, where A is multiplied by `by`. Returns the report if the solver did not reach the tolerance or the rounding errors.
    fn solve(
        &self,
        solver: &KrylovSolver<'_>,
        (a, by): (&dyn LinearOperator<T>, f64),
        x: &[T],
        y: &mut [T],
        stack: &mut PodStack,
    ) -> Result<Option<IterationReport>> {
        y.fill(T::ZERO);
        let watch = &mut |_: IterationProgress<'_, T>| ControlFlow::Continue(());
        let report = solver.solve_with(a, self.preconditioner, x, y, watch, stack)?;
        self.iterations.fetch_add(report.iterations, Ordering::Relaxed);
        if report.ending == Ending::Converged {
            return Ok(None);
        }
        // The scratch memory of the solve has room for the reducer.
        let (mut reducer, _) = Reducer::new(solver.communicator, y.len(), 1, stack);
        let rounding = 8.0 * T::Real::EPSILON.to_f64() * (by * self.size * reducer.norm(y) + report.rhs_norm);
        // Do not accept an infinite bound.
        Ok(Some(report).filter(|report| !(rounding.is_finite() && report.residual_norm <= rounding)))
    }
}

/// v ← by·v, where `by` is a power of two.
fn multiply<T: Scalar>(v: &mut [T], by: f64) {
    if by != 1.0 {
        each_piece(v.len(), RowsOf(v, PIECE), &|_, v| v.0.iter_mut().for_each(|v| *v = times(*v, by)));
    }
}

/// A, multiplied by a power of two.
struct ScaledOperator<'a, T> {
    a: &'a dyn LinearOperator<T>,
    by: f64,
}

impl<T: Scalar> LinearOperator<T> for ScaledOperator<'_, T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn columns(&self) -> usize {
        self.a.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.a.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.a.apply(x, y, stack)?;
        multiply(y, self.by);
        Ok(())
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
