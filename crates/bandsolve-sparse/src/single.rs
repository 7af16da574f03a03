//! Approximate inverses in single precision, for methods that go on in double precision.
//!
//! # Source
//! E. Carson, N. J. Higham, SIAM J. Sci. Comput. 40 (2018): iterative refinement in several precisions.

use crate::csr::{Csr, cast};
use crate::krylov::{KrylovSolver, check};
use crate::precond::{Preconditioner, PreconditionerKind, PreconditionerOptions};
use crate::rounded::{RowScale, apply_rounded, rounded_scratch};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{copied, reserved};
use bandsolve::{Complex32, Complex64, LinearOperator, Result, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A number type of double precision.
pub trait DoubleScalar: Scalar<Real = f64> {
    /// The type of single precision.
    type Single: Scalar<Real = f32>;
}

impl DoubleScalar for f64 {
    type Single = f32;
}

impl DoubleScalar for Complex64 {
    type Single = Complex32;
}

/// z ≈ A⁻¹·r, computed in single precision: by a preconditioner alone, or by a Krylov method with it.
///
/// Preconditioners of half the memory take half the time where memory is what they wait for. With a Krylov method inside and
/// [`Richardson`](crate::KrylovMethod::Richardson) outside it is iterative refinement: x ← x + z, where the residual is formed in double
/// precision. With [`Gmres`](crate::KrylovMethod::Gmres) outside it is FGMRES.
///
/// Rows and vectors are scaled by powers of two, so that they fit the range of single precision. All rows are scaled alike where
/// that will do: then the inverse of a Hermitian matrix is Hermitian.
///
/// # Cost
/// A copy of A in single precision; for preconditioners that keep A, two.
///
/// # Example
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, SingleInverse};
/// let n = 100;
/// let row = |i: usize| [(i, i, 2.1), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.0)];
/// let a = Csr::<f64>::from_triplets(n, n, &(0..n).flat_map(row).collect::<Vec<_>>())?;
/// let inner = KrylovSolver::new(KrylovMethod::Bicgstab).rtol(1e-4);
/// let inverse = SingleInverse::new(&a, "ilu0".parse().expect("a name"), &Default::default())?.with_solver(inner);
/// let mut x = vec![0.0; n];
/// let refine = KrylovSolver::new(KrylovMethod::Richardson { damping: 1.0 }).rtol(1e-14);
/// let report = refine.solve(&a, Some(&inverse), &vec![1.0; n], &mut x)?;
/// assert!(report.converged() && report.iterations <= 5);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct SingleInverse<T: DoubleScalar> {
    scale: RowScale,
    /// The scaled matrix.
    a: Csr<'static, T::Single, u32>,
    preconditioner: Preconditioner<'static, T::Single>,
    solver: Option<KrylovSolver<'static>>,
    iterations: AtomicUsize,
}

impl<T: DoubleScalar> Debug for SingleInverse<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleInverse").field("preconditioner", &self.preconditioner).finish_non_exhaustive()
    }
}

impl<T: DoubleScalar> SingleInverse<T> {
    /// A preconditioner of a square matrix, in single precision.
    ///
    /// # Errors
    /// As [`Preconditioner::new`].
    pub fn new<I: Index>(a: &Csr<'_, T, I>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        check("columns of a square matrix", a.rows(), a.columns())?;
        let a = a.narrow()?;
        let scale = RowScale::of(&a)?;
        let (pointers, columns, _) = a.parts();
        let mut values = reserved(a.entries())?;
        for i in 0..a.rows() {
            let scale = scale.at(i);
            values.extend(a.row(i).map(|(_, value)| cast::<_, T::Single>(value.scale(scale))));
        }
        let single = Csr::from_rows(a.columns(), copied(pointers)?, copied(columns)?, values);
        let preconditioner = Preconditioner::from_csr(single.duplicated()?, kind, options)?;
        Ok(Self { scale, a: single, preconditioner, solver: None, iterations: AtomicUsize::new(0) })
    }

    /// With a Krylov method, whose tolerance and limit say how far each application goes. Not below 10⁻⁶: single precision ends there.
    #[must_use]
    pub fn with_solver(self, solver: KrylovSolver<'static>) -> Self {
        Self { solver: Some(solver), ..self }
    }

    /// The preconditioner.
    pub fn preconditioner(&self) -> &Preconditioner<'static, T::Single> {
        &self.preconditioner
    }

    /// Iterations of the Krylov method so far, of all applications.
    pub fn iterations(&self) -> usize {
        self.iterations.load(Ordering::Relaxed)
    }

    fn inner(&self) -> Option<&dyn LinearOperator<T::Single>> {
        (self.preconditioner.kind() != PreconditionerKind::Identity).then_some(&self.preconditioner)
    }
}

impl<T: DoubleScalar> LinearOperator<T> for SingleInverse<T> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn columns(&self) -> usize {
        self.a.rows()
    }

    fn apply_scratch(&self) -> StackReq {
        let solve = match &self.solver {
            Some(solver) => solver.scratch(&self.a, self.inner()),
            None => self.preconditioner.apply_scratch(),
        };
        rounded_scratch::<T::Single>(self.a.rows(), solve)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_step(0, x, y, stack)
    }

    /// It does: rounding is no linear operator, and tells at residuals below 10⁻⁷ of those at the start.
    fn changes(&self) -> bool {
        true
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        apply_rounded(&self.scale, (x, y), stack, |rhs, z, stack| match &self.solver {
            Some(solver) => {
                z.fill(T::Single::ZERO);
                let watch = &mut |_: crate::IterationProgress<'_, T::Single>| ControlFlow::Continue(());
                let report = solver.solve_with(&self.a, self.inner(), rhs, z, watch, stack)?;
                self.iterations.fetch_add(report.iterations, Ordering::Relaxed);
                Ok(())
            }
            None => self.preconditioner.apply_step(step, rhs, z, stack),
        })
    }
}
