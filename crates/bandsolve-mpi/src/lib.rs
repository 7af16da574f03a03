//! Solve linear systems with a narrow band, batches, Poisson problems and eigenvalue counts on MPI clusters, and check every answer.
//!
//! Each rank (MPI process) owns consecutive rows of the matrix, or none. All functions that take a [`Ranks`], or an object created
//! from one, are collective: call them on all ranks in the same order. All ranks get the same report, or the same error.
//!
//! ```
//! use bandsolve_mpi::{DistributedBlocks, RankRanges, on_threads};
//! // Two ranks, here as threads. Under MPI, use `Ranks::of(&world)` instead.
//! let errors = on_threads(2, |ranks| {
//!     let rows = RankRanges::even(1000, ranks.size()).range(ranks.rank()).len();
//!     let a = DistributedBlocks::new(ranks, 1, [&vec![-1.0; rows], &vec![2.5; rows], &vec![-1.0; rows]])?;
//!     let x = a.factor()?.solve(&vec![1.0; rows])?;
//!     Ok::<f64, bandsolve_mpi::RankError>(x.report.backward_error)
//! });
//! assert!(errors.into_iter().all(|error| error.unwrap() <= 8.0 * f64::EPSILON));
//! ```
//!
//! # Types by task
//!
//! | Task | Type |
//! | --- | --- |
//! | Use an MPI communicator, or one process without MPI | [`Ranks`] |
//! | Distribute rows over ranks | [`RankRanges`] |
//! | Tridiagonal and block tridiagonal systems, open or periodic | [`DistributedBlocks`] |
//! | Banded systems | [`DistributedBanded`] |
//! | Many tridiagonal systems of the same size | [`DistributedBatch`], [`DistributedBatchFactors`] |
//! | Solve with one factorization many times | [`DistributedFactors`] |
//! | Poisson and Helmholtz problems on boxes | [`DistributedPoisson`] |
//! | Count eigenvalues below a number | [`DistributedBlocks::eigenvalues_below`] |
//! | Find eigenvalues | [`EigenSolver`](bandsolve_eigen::EigenSolver) with `communicator(&ranks)` |
//! | Choose how SPIKE solves its coarse system | [`RankCoarse`] |
//! | Count messages and bytes | [`Traffic`] |
//! | Handle errors | [`RankError`], [`abort_on_panic`] |
//! | Test without MPI | [`on_threads`] |
//!
//! # Features
//!
//! The feature is on by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `program` | the program `bandsolve-mpi`, which reads Matrix Market files. To use only the library, set `default-features = false`. |
//!
//! The crate needs an MPI library with `mpicc` at build time, such as Open MPI or MPICH.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-eigen`]: eigenvalues of tridiagonal, block tridiagonal and banded matrices, of pencils and of operators
//! - [`bandsolve-poisson`]: Poisson and Helmholtz problems on an interval, a rectangle or a box
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//!
//! # Guide
//!
//! The pages `docs/mpi.md` (guide), `docs/math/bcyclic-on-ranks.md` and `docs/math/batches-on-ranks.md` (methods) of the repository.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-eigen`]: https://docs.rs/bandsolve-eigen
[`bandsolve-poisson`]: https://docs.rs/bandsolve-poisson
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-eigen`]: ../bandsolve_eigen/index.html
[`bandsolve-poisson`]: ../bandsolve_poisson/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html"
)]

#[cfg(doctest)]
#[doc = include_str!("../../../docs/mpi.md")]
const _: () = ();

mod agreement;
mod banded;
mod batch;
mod bcyclic;
mod blocks;
mod coarse;
mod collective;
mod condition;
mod eigen;
mod factors;
mod halo;
mod inertia;
mod matrix;
mod model;
mod operator;
mod poisson;
mod ranges;
mod ranks;
mod spike;
mod threads;
mod transport;

pub use agreement::RankError;
pub use banded::DistributedBanded;
pub use batch::{DistributedBatch, DistributedBatchFactors};
pub use blocks::DistributedBlocks;
pub use coarse::RankCoarse;
pub use factors::DistributedFactors;
pub use poisson::DistributedPoisson;
pub use ranges::RankRanges;
pub use ranks::{Ranks, Traffic};
pub use threads::on_threads;
pub use transport::rsmpi::abort_on_panic;

use bandsolve::Method;

/// The methods that solve block tridiagonal systems over ranks. [`DistributedBlocks::factor_by`] takes each of them.
///
/// # Examples
/// ```
/// use bandsolve_mpi::METHODS;
/// assert!(METHODS.iter().any(|method| method.name() == "spike-truncated"));
/// ```
pub const METHODS: [Method; 5] =
    [Method::Auto, Method::Bcyclic, Method::Spike, Method::BlockSpike, Method::SpikeTruncated];

/// The cost models of `bandsolve-mpi bench scaling`, which tests compare with counted messages. Not part of the public interface.
#[doc(hidden)]
pub mod cost {
    pub use crate::batch::BatchCostModel;
    pub use crate::model::{CostModel, RankCost};
}
