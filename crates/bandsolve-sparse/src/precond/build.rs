//! The preconditioner of any named kind, as one operator.

use super::alternating::{AlternatingInner, AlternatingOuter};
use super::amg::{LineMultigrid, MultigridOptions};
use super::forest_system::ForestSystem;
use super::ilu::IncompleteInverse;
use super::kind::{PreconditionerKind, PreconditionerOptions, preconditioners};
use super::parts::{PreconditionerParts, parts};
use super::products::ForestProduct;
use crate::csr::Csr;
use crate::krylov::KrylovMethod;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{LinearOperator, Op, Result, Scalar};
use core::fmt::{self, Debug, Formatter};

/// A preconditioner of a matrix, of any kind: an operator z = M⁻¹·r for [`KrylovSolver`](crate::KrylovSolver).
///
/// # Shapes
/// The matrix is square with n rows. r and z have n elements.
///
/// # Cost
/// One application, for m linear forests:
///
/// | kind | cost |
/// | --- | --- |
/// | `jacobi`, `diagp1`, `diagp2`, `l1` | n operations |
/// | `tridiagonal`, `forest`, `alt-o:m` | 1 tridiagonal solve |
/// | `forest-block` | 1 block tridiagonal solve |
/// | `alt-i:m` | m tridiagonal solves and m − 1 products with A |
/// | `mos-d:m`, `mos-a:m` | m tridiagonal solves |
/// | `ilu0` | 2 sequential solves with triangles |
/// | `ilu-isai:s` | 4·s + 2 products with a triangle |
/// | `adi:NXxNY` | 2 tridiagonal solves and 1 product with A |
/// | `amg-lines:m` | approximately 2·m products and 2·m tridiagonal solves, and a third more for the coarse levels |
///
/// # Errors
/// [`new`](Self::new) lists the errors of the set-up, such as [`Error::Singular`](bandsolve::Error::Singular).
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver, Preconditioner, PreconditionerOptions};
/// let n = 100;
/// let row = |i: usize| [(i, i, 2.1), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.0)];
/// let a = Csr::<f64>::from_triplets(n, n, &(0..n).flat_map(row).collect::<Vec<_>>())?;
/// let m = Preconditioner::new(&a, "alt-i:2".parse().expect("a name"), &PreconditionerOptions::default())?;
/// let mut x = vec![0.0; n];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).solve(&a, Some(&m), &vec![1.0; n], &mut x)?;
/// assert!(report.converged() && report.iterations < 5);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct Preconditioner<'a, T: Scalar> {
    pub(super) kind: PreconditionerKind,
    pub(super) reason: String,
    pub(super) method: Option<KrylovMethod>,
    operator: Box<dyn LinearOperator<T> + Send + 'a>,
}

impl<T: Scalar> Debug for Preconditioner<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Preconditioner").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'a, T: Scalar> Preconditioner<'a, T> {
    fn of(kind: PreconditionerKind, operator: Box<dyn LinearOperator<T> + Send + 'a>) -> Self {
        Self { kind, reason: String::new(), method: None, operator }
    }

    /// Set the reason.
    pub(super) fn because(self, reason: String) -> Self {
        Self { reason, ..self }
    }

    /// Set the Krylov method.
    pub(super) fn with_method(self, method: KrylovMethod) -> Self {
        Self { method: Some(method), ..self }
    }
}

/// The code of the column `set_up` of the table.
macro_rules! set_up {
    (($matrix:ident, $kind:ident, $all:ident), branch) => {
        branch($matrix, $kind, $all)
    };
    (($matrix:ident, $kind:ident, $all:ident), |$a:ident, $options:pat_param| $operator:expr) => {{
        let ($a, $options) = ($matrix, $all);
        Ok(Preconditioner::of($kind, Box::new($operator?)))
    }};
}

macro_rules! build_by_table {
    ($(
        $(#[$doc:meta])*
        $variant:ident $(($($element:tt)*))? $({$($field:tt)*})? $names:literal
            [hermitian: $hermitian:literal, adjoint: $adjoint:literal, set_up: $($set_up:tt)+];
    )*) => {
        /// Set up a preconditioner of a square matrix, of any kind except `Auto`.
        ///
        /// # Errors
        /// Those of [`Preconditioner::new`].
        pub(super) fn build<'a, T: Scalar>(
            a: Csr<'a, T, u32>,
            kind: PreconditionerKind,
            options: &PreconditionerOptions,
        ) -> Result<Preconditioner<'a, T>> {
            match kind {
                PreconditionerKind::Auto => unreachable!("`auto` chooses another kind before"),
                $(PreconditionerKind::$variant { .. } => set_up!((a, kind, options), $($set_up)+),)*
            }
        }
    };
}
preconditioners!(build_by_table);

/// Set up a preconditioner whose constructor is not in the table.
fn branch<'a, T: Scalar>(
    a: Csr<'a, T, u32>,
    kind: PreconditionerKind,
    options: &PreconditionerOptions,
) -> Result<Preconditioner<'a, T>> {
    match kind {
        PreconditionerKind::IluIsai(sweeps) => {
            Ok(Preconditioner::of(kind, Box::new(IncompleteInverse::new(&a, sweeps)?)))
        }
        PreconditionerKind::AmgLines(forests) => {
            let multigrid = MultigridOptions::of(forests, options);
            Ok(Preconditioner::of(kind, Box::new(LineMultigrid::new(a, &multigrid)?)))
        }
        _ => {
            let (parts, kind, reason) = parts((&a, kind, *options))?;
            Ok(Preconditioner::of(kind, factored(parts, a)?).because(reason))
        }
    }
}

/// Factor the systems of a preconditioner of this matrix.
fn factored<'a, T: Scalar>(
    parts: PreconditionerParts<T>,
    a: Csr<'a, T, u32>,
) -> Result<Box<dyn LinearOperator<T> + Send + 'a>> {
    let solvers = |systems: Vec<ForestSystem<T>>| systems.into_iter().map(ForestSystem::factor).collect();
    Ok(match parts {
        PreconditionerParts::Identity => Box::new(Identity(a.rows())),
        PreconditionerParts::Diagonal(inverse) => Box::new(inverse),
        PreconditionerParts::Forest(system) => Box::new(system.factor()?),
        PreconditionerParts::Pairs(system) => Box::new(system.factor()?),
        PreconditionerParts::AlternatingInner(systems) => {
            let solvers: Result<_> = solvers(systems);
            Box::new(AlternatingInner::new(a, solvers?))
        }
        PreconditionerParts::AlternatingOuter(systems) => {
            let solvers: Result<_> = solvers(systems);
            Box::new(AlternatingOuter::new(solvers?))
        }
        PreconditionerParts::Product { inverse, systems } => Box::new(ForestProduct::of((inverse, systems))?),
    })
}

impl<T: Scalar> LinearOperator<T> for Preconditioner<'_, T> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        self.operator.apply_scratch()
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply(x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply_op(op, x, y, stack)
    }

    fn changes(&self) -> bool {
        self.operator.changes()
    }

    fn apply_step(&self, step: usize, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.operator.apply_step(step, x, y, stack)
    }
}

/// z = r.
struct Identity(usize);

impl<T: Scalar> LinearOperator<T> for Identity {
    fn rows(&self) -> usize {
        self.0
    }

    fn columns(&self) -> usize {
        self.0
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, _: Op, x: &[T], y: &mut [T], _: &mut PodStack) -> Result<()> {
        y.copy_from_slice(x);
        Ok(())
    }
}
