//! Fast direct solvers for Poisson and Helmholtz problems on boxes, every answer verified.
//!
//! ```
//! use bandsolve_poisson::{Boundary, Poisson};
//! // −Δu = 1 on the unit square with u = 0 all around, 1023 × 1023 nodes inside.
//! let n = 1023;
//! let plan = Poisson::new(&[n, n]).spacing(1.0 / (n + 1) as f64).boundary(Boundary::dirichlet(0.0)).plan::<f64>()?;
//! let u = plan.solve(&vec![1.0; n * n])?;
//! assert!((u.values[n * n / 2] - 0.0736713).abs() < 1e-6);
//! assert!(u.report.backward_error < 2e-15);
//! # Ok::<(), bandsolve::Error>(())
//! ```

mod axis;
mod boundary;
mod chain;
mod choice;
mod condition;
mod cyclic;
mod dense;
mod fft;
mod folded;
mod indefinite;
mod level;
mod long_line;
mod method;
mod methods;
mod operator;
mod order;
mod pencil;
mod pieces;
mod plan;
mod problem;
mod radix;
mod reflections;
mod report;
mod residual;
mod scalar;
mod separable;
mod settings;
mod slab;
mod transform;
mod verify;

pub use boundary::{Boundary, BoundaryKind, Grid, Side};
pub use method::PoissonMethod;
pub use pencil::{AxisPencil, PencilPlan, SeparablePencils};
pub use plan::PoissonPlan;
pub use problem::Poisson;
pub use radix::{RadixComparison, compare_line_solvers, compare_radices};
pub use report::{PoissonReport, PoissonSolution};
pub use scalar::PoissonScalar;

/// What solvers of problems that several processes hold are made of. No part of the interface.
#[doc(hidden)]
pub mod distributed {
    pub use crate::level::levelled;
    pub use crate::report::Solved;
    pub use crate::slab::{SlabConstant, SlabMean, SlabParts, SlabResidual, largest_modulus};
}
