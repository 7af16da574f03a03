//! Solve linear systems whose non-zeros lie in a narrow band.
//!
//! The solvers work in parallel and check every answer: each solve reports the backward error of x.
//!
//! ```
//! use bandsolve::prelude::*;
//! // −xᵢ₋₁ + 2.5 xᵢ − xᵢ₊₁ = 1, in 100 000 rows
//! let n = 100_000;
//! let (sub, diag, sup) = (vec![-1.0; n], vec![2.5; n], vec![-1.0; n]);
//! let a = Tridiagonal::new(&sub, &diag, &sup)?;
//! let x = a.solve(&vec![1.0; n])?;
//! assert!((x.values[n / 2] - 2.0).abs() < 1e-14); // far from both ends x = 2
//! assert!(x.report.backward_error <= 8.0 * f64::EPSILON);
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! To solve again with the same matrix, keep its factors: `Plan::new(a.shape()).factor(&a)?` returns a [`Factor`], and
//! [`Factor::solve`] solves for each right-hand side. A [`Plan`] chooses the method from the shape of the matrix alone.
//!
//! # Matrix types
//!
//! | matrix | type |
//! | --- | --- |
//! | one tridiagonal matrix, open or periodic | [`Tridiagonal`] |
//! | a block tridiagonal matrix with dense blocks, open or periodic | [`BlockTridiagonal`] |
//! | a banded matrix in LAPACK band storage | [`Banded`] |
//! | many independent tridiagonal systems of one size | [`TridiagonalBatch`] |
//! | a general sparse matrix | crate `bandsolve-sparse` |
//! | a Poisson or Helmholtz problem on a rectangular grid | crate `bandsolve-poisson` |
//! | an eigenvalue problem | crate `bandsolve-eigen` |
//! | a system that several MPI processes share | crate `bandsolve-mpi` |
//!
//! The entries are `f32`, `f64`, [`Complex32`] or [`Complex64`]. Right-hand sides are column-major, and one call solves for any
//! number of them. The functions of [`recurrence`] solve linear recurrences.
//!
//! # Errors
//!
//! Functions return [`Error`], which names the array and the index, or the row, of the problem. A solve fails with [`Error::Singular`] if
//! elimination finds no pivot, and with [`Error::NotConverged`] if the backward error of x stays above 64ε.
//!
//! If x may have no correct digit although its backward error is small, [`Report::attention`] has a warning. [`Inspect`] estimates the
//! condition of the matrix and bounds the error of x.
//!
//! # Threads and reproducibility
//!
//! A solve uses all threads of rayon's pool; [`Plan::threads`] sets another number. The result is the same, bit for bit, for any
//! number of threads. It can differ between instruction sets ([`Simd`]). A long call stops early inside
//! [`interrupt::interruptible`].
//!
//! # Features
//!
//! `single` and `complex` are on by default, all others are off. With `default-features = false`, the crate has `f64` alone and builds in
//! a third of the time.
//!
//! | feature | use |
//! | --- | --- |
//! | `single` | the number type `f32`, and with `complex` also [`Complex32`] |
//! | `complex` | the number type [`Complex64`] |
//! | `ndarray` | pass vectors and matrices of `ndarray`, see [`interop`] |
//! | `nalgebra` | pass vectors and matrices of `nalgebra`, see [`interop`] |
//! | `faer` | pass vectors and matrices of `faer`, see [`interop`] |
//! | `serde` | serialize [`Report`], [`Solution`], [`ExpertReport`], [`Error`], [`Options`] and the types in them |
//!
//! # Guide
//!
//! The guide is in the folder `docs` of the repository: `getting-started.md`, `which-method.md`, `accuracy.md`,
//! `troubleshooting.md`, and in `docs/math` one page for each method with its equations, its cost and its limits.

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
pub use contract::refine::{
    RefinedColumns, RefinedSystem, Refinement, StoppingRule, accepted_at_once, good, refine, tolerable,
};
#[doc(hidden)]
pub use contract::verify::attention;
pub use contract::{Factor, Op, Report, Solution};
pub use decision::{Options, Pivoting};
pub use error::{Error, Result};
pub use matrix::{Banded, BlockTridiagonal, ColumnStrides, Csc, CscMut, Layout, Shape, Tridiagonal, TridiagonalBatch};
pub use method::Method;
#[doc(hidden)]
pub use methods::cholesky::Diagonals;
pub use operator::{Alone, Communicator, Inverse, LinearOperator};
pub use plan::any::AnyFactor;
pub use plan::batch::BatchFactor;
pub use plan::{Factorize, Plan};
pub use tuned::Tuning;

pub use dyn_stack;

/// Building blocks of solvers for systems that several processes share. Not part of the interface.
#[doc(hidden)]
pub mod distributed {
    pub use crate::contract::equations::{Equations, Matrix};
    pub use crate::contract::measure::{error_of, inner_error_of, residual_of};
    pub use crate::methods::block_dense::{
        ChainRow, Coupling, DiagonalBlock, fill_in, subtract_from, subtract_product,
    };
    pub use crate::methods::dense_lu::{DenseLu, Team};
}
