//! Fast direct solvers for Poisson and Helmholtz problems on an interval, a rectangle or a box. Each solve checks its answer.
//!
//! The equation is `(−Δ + c)·u = f`, with second differences in place of Δ. **Note the minus sign.** For Δu = g, pass f = −g.
//!
//! ```
//! use bandsolve_poisson::{Boundary, Poisson};
//! // −Δu = 1 on the unit square with u = 0 at all sides, 1023 × 1023 nodes inside.
//! let n = 1023;
//! let plan = Poisson::new(&[n, n]).spacing(1.0 / (n + 1) as f64).boundary(Boundary::dirichlet(0.0)).plan::<f64>()?;
//! let u = plan.solve(&vec![1.0; n * n])?;
//! assert!((u.values[n * n / 2] - 0.0736713).abs() < 1e-6); // u in the center
//! assert!(u.report.backward_error < 2e-15);
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! # Which type to use
//!
//! | task | use |
//! | --- | --- |
//! | Describe a Poisson or Helmholtz problem | [`Poisson`] |
//! | Set the condition at a side | [`Boundary`], [`BoundaryKind`], [`Side`] |
//! | Place the unknowns at nodes or in cells | [`Grid`] |
//! | Use two tridiagonal matrices per axis, for example finite elements | [`SeparablePencils`], [`AxisPencil`] |
//! | Solve for one or several right-hand sides | [`PoissonPlan`] |
//! | Read the accuracy and the condition of a solve | [`PoissonReport`] |
//! | Choose the method yourself | [`PoissonMethod`] |
//!
//! # Cost
//!
//! With constant spacing, a solve takes O(log n) flops per unknown and axis. See [`Poisson`] for variable spacing, and
//! [`PoissonPlan::factor_bytes`] for the memory.
//!
//! # Accuracy
//!
//! A solve measures the backward error of u. If the backward error is above 8ε, the solver refines u, at most three times. If it is then still above
//! 64ε, the solve returns [`NotConverged`](bandsolve::Error::NotConverged). If the problem is ill-conditioned, u can be inaccurate although the
//! backward error is small: check [`attention`](bandsolve::Report::attention).
//!
//! # Features
//!
//! This crate has no cargo features.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//! - [`bandsolve-mpi`]: systems, eigenvalues and Poisson problems that several MPI processes share
//!
//! # Guide
//!
//! The pages `docs/poisson-problems.md` (guide) and `docs/math/poisson.md` (methods) of the repository.
//!
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse
[`bandsolve-mpi`]: https://docs.rs/bandsolve-mpi"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html
[`bandsolve-mpi`]: ../bandsolve_mpi/index.html"
)]

mod axis;
mod boundary;
mod chain;
mod choice;
mod condition;
mod cyclic;
mod dense;
mod factor;
mod fft;
mod folded;
mod indefinite;
mod level;
mod long_line;
mod method;
mod methods;
mod operator;
mod order;
mod parts;
mod pencil;
mod pieces;
mod plan;
mod problem;
mod rcond;
mod reflections;
mod report;
mod residual;
mod scalar;
mod separable;
mod separable_pencils;
mod settings;
mod slab;
mod transform;
mod verify;

pub use boundary::{Boundary, BoundaryKind, Grid, Side};
pub use method::PoissonMethod;
pub use pencil::AxisPencil;
pub use plan::PoissonPlan;
pub use problem::Poisson;
pub use report::{PoissonReport, PoissonSolution};
pub use scalar::PoissonScalar;
pub use separable_pencils::{PencilPlan, SeparablePencils};

/// Measurements for `bandsolve bench poisson` and the example `radix`. Not part of the public interface.
#[doc(hidden)]
pub mod radix;

/// Parts of the solvers for problems on devices. Not part of the public interface.
#[doc(hidden)]
pub mod device {
    pub use crate::axis::AxisOperator;
    pub use crate::dense::DenseTransform;
    pub use crate::level::{compensated, levelled};
    pub use crate::parts::BoxParts;
    pub use crate::report::Solved;
    pub use crate::separable::SideTerm;
    pub use crate::transform::{AxisSides, factors, half_turns};
}

/// Parts of the solvers for problems distributed over several processes. Not part of the public interface.
#[doc(hidden)]
pub mod distributed {
    pub use crate::level::levelled;
    pub use crate::report::Solved;
    pub use crate::slab::{SlabConstant, SlabMean, SlabParts, SlabResidual, largest_modulus};
}
