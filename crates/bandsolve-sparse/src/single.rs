//! Approximate inverses in single precision, for iterations in double precision.
//!
//! # Source
//! E. Carson, N. J. Higham, SIAM J. Sci. Comput. 40 (2018): iterative refinement in several precisions.

use crate::csr::{Csr, cast};
use crate::krylov::{IterationProgress, KrylovSolver};
use crate::precond::{Preconditioner, PreconditionerKind, PreconditionerOptions};
use crate::rounded::{RowScale, apply_rounded, rounded_scratch};
use crate::scratch::check;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::matrix::Index;
use bandsolve::memory::{copied, reserved};
use bandsolve::{Complex32, Complex64, LinearOperator, Result, Scalar};
use core::fmt::{self, Debug, Formatter};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A number type in double precision (`f64`, `Complex64`), with the single-precision type that corresponds to it.
///
/// # Examples
/// ```
/// use bandsolve_sparse::DoubleScalar;
/// fn bytes_saved<T: DoubleScalar>() -> usize {
///     size_of::<T>() - size_of::<T::Single>()
/// }
/// assert_eq!(bytes_saved::<f64>(), 4);
/// assert_eq!(bytes_saved::<bandsolve::Complex64>(), 8);
/// ```
pub trait DoubleScalar: Scalar<Real = f64> {
    /// The number type in single precision.
    type Single: Scalar<Real = f32>;
}

impl DoubleScalar for f64 {
    type Single = f32;
}

impl DoubleScalar for Complex64 {
    type Single = Complex32;
}

/// A matrix R·A in single precision, with powers of two R that scale its rows to the range of single precision.
///
/// If one scale suffices for all rows, R is a multiple of the unit matrix.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, ScaledSingle};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4e100), (1, 1, 3e100)])?;
/// let single = ScaledSingle::new(&a)?;
/// assert_eq!(single.matrix().row(1).collect::<Vec<_>>(), [(1, (3e100 * single.scale(1)) as f32)]);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
pub struct ScaledSingle<T: DoubleScalar> {
    scale: RowScale,
    a: Csr<'static, T::Single, u32>,
}

impl<T: DoubleScalar> ScaledSingle<T> {
    /// Scale and round a square matrix.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape) if the matrix is not square; [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory).
    pub fn new<I: Index>(a: &Csr<'_, T, I>) -> Result<Self> {
        check("columns of a square matrix", a.rows(), a.columns())?;
        let a = a.narrow()?;
        let scale = RowScale::of(&a)?;
        let (pointers, columns, _) = a.parts();
        let mut values = reserved(a.entries())?;
        for i in 0..a.rows() {
            let scale = scale.at(i);
            values.extend(a.row(i).map(|(_, value)| cast::<_, T::Single>(value.scale(scale))));
        }
        let a = Csr::from_rows(a.columns(), copied(pointers)?, copied(columns)?, values);
        Ok(Self { scale, a })
    }

    /// The matrix R·A.
    pub fn matrix(&self) -> &Csr<'static, T::Single, u32> {
        &self.a
    }

    /// The power of two of a row.
    pub fn scale(&self, row: usize) -> f64 {
        self.scale.at(row)
    }
}

/// An approximate inverse z ≈ A⁻¹·r in single precision, for a solve in double precision.
///
/// It applies a preconditioner, or runs a Krylov method with this preconditioner ([`with_solver`](Self::with_solver)). Single precision needs half
/// the memory, and half the time if memory bandwidth limits the speed.
///
/// Use it as the preconditioner of an outer solver in double precision. With [`Richardson`](crate::KrylovMethod::Richardson) as the outer method, the
/// solve is iterative refinement: x ← x + z. With [`Gmres`](crate::KrylovMethod::Gmres) it is FGMRES.
///
/// Rows and vectors are scaled by powers of two, so that they fit the range of single precision. If one scale suffices for all rows, the inverse of a
/// Hermitian matrix stays Hermitian.
///
/// # Examples
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
///
/// # Cost
/// It keeps a copy of A in single precision, and a second one for preconditioners that keep A.
pub struct SingleInverse<T: DoubleScalar> {
    of: ScaledSingle<T>,
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
    /// Set up a preconditioner of a square matrix in single precision.
    ///
    /// # Errors
    /// As [`Preconditioner::new`].
    pub fn new<I: Index>(a: &Csr<'_, T, I>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        let of = ScaledSingle::new(a)?;
        let preconditioner = Preconditioner::from_csr(of.a.duplicated()?, kind, options)?;
        Ok(Self { of, preconditioner, solver: None, iterations: AtomicUsize::new(0) })
    }

    /// Run this Krylov method in each application, up to the tolerance and the maximum number of iterations of `solver`.
    ///
    /// Choose a tolerance of at least 10⁻⁶: single precision cannot reach a smaller one.
    #[must_use]
    pub fn with_solver(self, solver: KrylovSolver<'static>) -> Self {
        Self { solver: Some(solver), ..self }
    }

    /// The preconditioner.
    pub fn preconditioner(&self) -> &Preconditioner<'static, T::Single> {
        &self.preconditioner
    }

    /// Number of iterations of the Krylov method so far, over all applications.
    pub fn iterations(&self) -> usize {
        self.iterations.load(Ordering::Relaxed)
    }

    fn inner(&self) -> Option<&dyn LinearOperator<T::Single>> {
        (self.preconditioner.kind() != PreconditionerKind::Identity).then_some(&self.preconditioner)
    }
}

impl<T: DoubleScalar> LinearOperator<T> for SingleInverse<T> {
    fn rows(&self) -> usize {
        self.of.a.rows()
    }

    fn columns(&self) -> usize {
        self.of.a.rows()
    }

    fn apply_scratch(&self) -> StackReq {
        let solve = match &self.solver {
            Some(solver) => solver.scratch(&self.of.a, self.inner()),
            None => self.preconditioner.apply_scratch(),
        };
        rounded_scratch::<T::Single>(self.of.a.rows(), solve)
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_step(0, x, y, stack)
    }

    /// Always true. Rounding is not linear, which matters once the residual is below 10⁻⁷ of its initial value.
    fn changes(&self) -> bool {
        true
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        apply_rounded(&self.of.scale, (x, y), stack, |rhs, z, stack| match &self.solver {
            Some(solver) => {
                z.fill(T::Single::ZERO);
                let watch = &mut |_: IterationProgress<'_, T::Single>| ControlFlow::Continue(());
                let report = solver.solve_with(&self.of.a, self.inner(), rhs, z, watch, stack)?;
                self.iterations.fetch_add(report.iterations, Ordering::Relaxed);
                Ok(())
            }
            None => self.preconditioner.apply_step(step, rhs, z, stack),
        })
    }
}
