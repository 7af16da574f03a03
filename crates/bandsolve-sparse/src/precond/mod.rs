//! Preconditioners: operators M⁻¹ that approximate A⁻¹ and are cheap to apply.

mod aggregates;
mod alternating;
mod amg;
mod auto;
mod block_lines;
mod build;
mod diagonal;
mod forest_system;
mod galerkin;
mod ilu;
mod incomplete;
mod kind;
mod lines;
mod multigrid_parts;
mod parts;
mod path_elimination;
mod products;
mod splitting;
mod strong_edges;

pub use alternating::{AlternatingInner, AlternatingOuter};
pub use amg::{LineMultigrid, MultigridOptions};
pub use block_lines::{PairForestSolver, PairForestSystem};
pub use build::Preconditioner;
pub use diagonal::{DiagonalInverse, DiagonalRule};
pub use forest_system::ForestSystem;
pub use ilu::{IncompleteInverse, IncompleteLu};
pub use kind::{PRECONDITIONERS, PreconditionerKind, PreconditionerOptions};
pub use lines::ForestSolver;
pub use multigrid_parts::{MultigridLevelParts, MultigridParts, MultigridTransfer};
pub use parts::PreconditionerParts;
pub use products::ForestProduct;
pub use splitting::{ForestCount, comparable_graph};

use crate::csr::Csr;
use crate::krylov::KrylovMethod;
use bandsolve::matrix::Index;
use bandsolve::{Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::by_type;

impl<'a, T: Scalar> Preconditioner<'a, T> {
    /// Set up the preconditioner of a square matrix. It borrows the matrix.
    ///
    /// # Errors
    /// [`Error::Shape`](bandsolve::Error::Shape) if the matrix is not square, if it has 2³² − 1 entries or more, or if the size of a grid does not match. [`Error::Singular`](bandsolve::Error::Singular)
    /// with the first singular row, if the matrix that the preconditioner inverts is singular. [`Error::NotFinite`](bandsolve::Error::NotFinite) if this matrix contains NaN or
    /// infinity. [`Error::OutOfMemory`](bandsolve::Error::OutOfMemory). [`Error::Interrupted`](bandsolve::Error::Interrupted) if the caller stops the set-up.
    pub fn new<I: Index>(
        a: &'a Csr<'a, T, I>,
        kind: PreconditionerKind,
        options: &PreconditionerOptions,
    ) -> Result<Self> {
        Self::from_csr(a.narrow()?, kind, options)
    }

    /// Set up the preconditioner of a matrix that the preconditioner then owns.
    ///
    /// If the matrix owns its arrays, the preconditioner has the lifetime `'static`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_csr(a: Csr<'a, T, u32>, kind: PreconditionerKind, options: &PreconditionerOptions) -> Result<Self> {
        let _mode = Standard::enter();
        T::by_type::<MakePreconditioner<'_>>((a, kind, *options))
    }

    /// The reason for the choice of this kind, in words. Empty if the caller named the kind and its parameter.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The Krylov method that [`PreconditionerKind::Auto`] chose together with the preconditioner. `None` if the caller named the kind.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{KrylovMethod, Preconditioner, PreconditionerKind, nine_point};
    /// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 20));
    /// let m = Preconditioner::new(&a, PreconditionerKind::Auto, &Default::default())?;
    /// assert_eq!(m.method(), Some(KrylovMethod::Cg));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn method(&self) -> Option<KrylovMethod> {
        self.method
    }

    /// The kind, with the number of forests. For [`PreconditionerKind::Auto`] this is the chosen kind.
    pub fn kind(&self) -> PreconditionerKind {
        self.kind
    }
}

by_type! {
    /// [`make`] for each number type, compiled once, in this crate.
    struct MakePreconditioner<'a>: (Csr<'a, T, u32>, PreconditionerKind, PreconditionerOptions) => Result<Preconditioner<'a, T>> = make;
}

fn make<'a, T: Scalar>(
    (a, kind, options): (Csr<'a, T, u32>, PreconditionerKind, PreconditionerOptions),
) -> Result<Preconditioner<'a, T>> {
    a.check_square()?;
    match kind {
        PreconditionerKind::Auto => auto::choose(&a, &options),
        named => build::build(a, named, &options),
    }
}
