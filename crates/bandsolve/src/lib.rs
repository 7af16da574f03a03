//! Linear systems whose non-zeros lie in a narrow band, solved in parallel, every answer verified.
//!
//! ```
//! use bandsolve::prelude::*;
//! let n = 100_000;
//! let (sub, diag, sup) = (vec![-1.0; n], vec![2.5; n], vec![-1.0; n]);
//! let a = Tridiagonal::new(&sub, &diag, &sup)?;
//! let x = a.solve(&vec![1.0; n])?;
//! assert!(x.report.backward_error <= 8.0 * f64::EPSILON);
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! Three verbs serve every kind of system: a [`Plan`] chooses the method, [`Plan::factor`] takes the numbers, a
//! [`Factor`] solves for right-hand sides; `a.solve(&rhs)` does all three.

mod contract;
mod decision;
mod error;
#[doc(hidden)]
pub mod host;
pub mod interop;
pub mod interrupt;
pub mod matrix;
#[doc(hidden)]
pub mod memory;
mod method;
mod methods;
mod operator;
mod partition;
mod pivoted;
mod plan;
pub mod prelude;
pub mod recurrence;
mod tuned;
mod tuning;
pub mod vectors;

pub use bandsolve_kernel::{Complex32, Complex64, RealScalar, Scalar, Simd};
pub use contract::condition::Norm;
pub use contract::determinant::Determinant;
pub use contract::expert::ExpertReport;
pub use contract::inspect::Inspect;
#[doc(hidden)]
pub use contract::verify::{ACCEPTED_AT_ONCE, MAX_REFINEMENTS, TOLERABLE, attention, good};
pub use contract::{Factor, Op, Report, Solution};
pub use decision::{Options, Pivoting};
pub use error::{Error, Result};
pub use matrix::{Banded, BlockTridiagonal, Csc, CscMut, Layout, Shape, Tridiagonal, TridiagonalBatch};
pub use method::Method;
#[doc(hidden)]
pub use methods::cholesky::Diagonals;
pub use operator::{Alone, Communicator, Inverse, LinearOperator};
pub use plan::any::AnyFactor;
pub use plan::batch::BatchFactor;
pub use plan::{Factorize, Plan};
pub use tuned::Tuning;

pub use dyn_stack;

/// What solvers of systems that several processes hold are made of. No part of the interface.
#[doc(hidden)]
pub mod distributed {
    pub use crate::contract::equations::{Equations, Matrix, error_of, inner_error_of, residual_of};
    pub use crate::methods::block_dense::{
        ChainRow, Coupling, DiagonalBlock, fill_in, subtract_from, subtract_product,
    };
    pub use crate::methods::dense_lu::{DenseLu, Team};
}
