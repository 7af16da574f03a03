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
//! # Which type for your matrix
//!
//! | your matrix | type | method that the plan chooses |
//! | --- | --- | --- |
//! | tridiagonal | [`Tridiagonal::new`] | [`Rpts`](Method::Rpts): partitions on SIMD lanes and threads; [`Pivoted`](Method::Pivoted) below 128 unknowns |
//! | tridiagonal with corner entries (periodic) | [`Tridiagonal::periodic`] | the same |
//! | many tridiagonal matrices of one size, or one matrix for many systems | [`TridiagonalBatch`] | one system per SIMD lane |
//! | many banded matrices of one size, with at most 15 diagonals on each side | [`BandedBatch`] | one system per SIMD lane |
//! | many Hermitian positive definite bands of one size, with one triangle in memory | [`BandedBatch::hermitian`] | method `cholesky`, one system per SIMD lane |
//! | many block tridiagonal matrices of one size, with blocks of at most 8 rows | [`BandedBatch::from_blocks`] | one system per SIMD lane |
//! | a band whose first and last unknowns are neighbors (periodic) | [`Banded::periodic`], [`BandedBatch::periodic`] | those of bands, in another order |
//! | block tridiagonal with dense blocks, open or periodic | [`BlockTridiagonal`] | more than 8 rows per block: [`BlockSpike`](Method::BlockSpike); otherwise by size: [`Rpts`](Method::Rpts), [`Spike`](Method::Spike) or [`Pivoted`](Method::Pivoted) |
//! | banded, in LAPACK band storage | [`Banded`] | [`Spike`](Method::Spike): LU in two halves; [`Pivoted`](Method::Pivoted) for small or very wide bands |
//! | tridiagonal or banded, Hermitian positive definite | [`Tridiagonal`], [`Banded`] | as above; on request [`Cholesky`](Method::Cholesky), by [`Plan::method`] |
//! | triangular, with one or two diagonals below the main one: a linear recurrence | functions of [`recurrence`] | a scan over tiles |
//! | tridiagonal, larger than memory | [`OutOfCoreSolver`](out_of_core::OutOfCoreSolver) | partitions, in two passes over files |
//! | sparse, with entries anywhere | [`bandsolve-sparse`] | Krylov methods with preconditioners |
//! | a Poisson or Helmholtz problem on a rectangular grid | [`bandsolve-poisson`] | fast transforms |
//!
//! [`Plan::reason`] and [`Report::reason`] say why the plan chose its method. A banded matrix with at most one diagonal on each side, and
//! blocks of one row, are solved as tridiagonal.
//!
//! The entries are `f32`, `f64`, [`Complex32`] or [`Complex64`]. Right-hand sides are column-major, and one call solves for any
//! number of them.
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
//! | feature | adds |
//! | --- | --- |
//! | `single` | the number type `f32`, and with `complex` also [`Complex32`] |
//! | `complex` | the number type [`Complex64`] |
//! | `ndarray` | vectors and matrices of `ndarray` as arguments, see [`interop`] |
//! | `nalgebra` | vectors and matrices of `nalgebra` as arguments, see [`interop`] |
//! | `faer` | vectors and matrices of `faer` as arguments, see [`interop`] |
//! | `serde` | `Serialize` for [`Report`], [`Solution`], [`ExpertReport`], [`Error`], [`Options`] and the types in them |
//!
//! # Crates
//!
//! | crate | purpose |
//! | --- | --- |
//! | `bandsolve` | direct solvers for tridiagonal, block tridiagonal and banded systems, and for batches |
//! | [`bandsolve-sparse`] | sparse matrices, Krylov solvers, preconditioners, linear forests |
//! | [`bandsolve-poisson`] | Poisson and Helmholtz problems on an interval, a rectangle or a box |
//! | [`bandsolve-eigen`] | eigenvalues of tridiagonal, block tridiagonal and banded matrices, of pencils and of operators |
//! | [`bandsolve-mpi`] | systems, eigenvalues and Poisson problems that several MPI processes share |
//! | [`bandsolve-gpu`] | systems in the memory of NVIDIA GPUs |
//! | [`bandsolve-io`] | matrices from Matrix Market, `.npy` and `.npz` files |
//! | [`bandsolve-capi`] | the C API |
//! | [`bandsolve-lapack`] | a library with LAPACK's symbols |
//! | [`bandsolve-gallery`] | test matrices and reference solutions |
//!
//! # Guide
//!
//! The guide is in the folder `docs` of the repository: `getting-started.md`, `which-method.md`, `accuracy.md`,
//! `troubleshooting.md`, and in `docs/math` one page for each method with its equations, its cost and its limits.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse
[`bandsolve-poisson`]: https://docs.rs/bandsolve-poisson
[`bandsolve-eigen`]: https://docs.rs/bandsolve-eigen
[`bandsolve-mpi`]: https://docs.rs/bandsolve-mpi
[`bandsolve-gpu`]: https://docs.rs/bandsolve-gpu
[`bandsolve-io`]: https://docs.rs/bandsolve-io
[`bandsolve-capi`]: https://docs.rs/bandsolve-capi
[`bandsolve-lapack`]: https://docs.rs/bandsolve-lapack
[`bandsolve-gallery`]: https://docs.rs/bandsolve-gallery"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve-sparse`]: ../bandsolve_sparse/index.html
[`bandsolve-poisson`]: ../bandsolve_poisson/index.html
[`bandsolve-eigen`]: ../bandsolve_eigen/index.html
[`bandsolve-mpi`]: ../bandsolve_mpi/index.html
[`bandsolve-gpu`]: ../bandsolve_gpu/index.html
[`bandsolve-io`]: ../bandsolve_io/index.html
[`bandsolve-capi`]: ../bandsolve_capi/index.html
[`bandsolve-lapack`]: ../lapack_bandsolve/index.html
[`bandsolve-gallery`]: ../bandsolve_gallery/index.html"
)]

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
pub mod out_of_core;
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
pub use matrix::{
    BandStrides, Banded, BandedBatch, BlockStrides, BlockTridiagonal, ColumnStrides, Csc, CscMut, Layout,
    PeriodicBanded, Shape, Tridiagonal, TridiagonalBatch,
};
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
    pub use crate::methods::block_spike::ChainCut;
    pub use crate::methods::dense_lu::{DenseLu, Team};
    pub use crate::tuning::{BCYCLIC_INVERSE_MAX, BLOCK_SPIKE_INVERSE_MAX};
}
