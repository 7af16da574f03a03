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

pub mod direct;
mod error;
#[doc(hidden)]
pub mod host;
mod kernel;
pub mod matrix;
#[doc(hidden)]
pub mod memory;
mod plan;
pub mod prelude;
pub mod recurrence;
mod scalar;
mod spread;
#[doc(hidden)]
pub mod threads;
mod tuned;
mod tuning;

pub use direct::{Determinant, ExpertReport, Factor, Inspect, Norm, Op, Report, Solution};
pub use error::{Error, Result};
pub use kernel::Simd;
#[doc(hidden)]
pub use kernel::arithmetic;
pub use matrix::{Banded, BlockTridiagonal, Csc, CscMut, Layout, Shape, Tridiagonal, TridiagonalBatch};
pub use plan::{Factorize, Method, Options, Pivoting, Plan};
pub use scalar::{Complex32, Complex64, RealScalar, Scalar};
pub use tuned::Tuning;

pub use dyn_stack;
