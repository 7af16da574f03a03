//! Linear systems of a narrow band over the processes (ranks) of a cluster, every answer verified.
//!
//! Each rank owns consecutive rows, or none. All functions that take a [`Ranks`] are collective: every rank calls them in the same
//! order. All ranks get the same report, or the same error.
//!
//! ```
//! use bandsolve_mpi::{DistributedBlocks, RankRanges, on_threads};
//! // Two ranks, here as threads; under MPI `Ranks::of(&world)` takes their place.
//! let errors = on_threads(2, |ranks| {
//!     let rows = RankRanges::even(1000, ranks.size()).range(ranks.rank()).len();
//!     let a = DistributedBlocks::new(ranks, 1, [&vec![-1.0; rows], &vec![2.5; rows], &vec![-1.0; rows]])?;
//!     let x = a.factor()?.solve(&vec![1.0; rows])?;
//!     Ok::<f64, bandsolve_mpi::RankError>(x.report.backward_error)
//! });
//! assert!(errors.into_iter().all(|error| error.unwrap() <= 8.0 * f64::EPSILON));
//! ```

#[cfg(doctest)]
#[doc = include_str!("../../../docs/mpi.md")]
const _: () = ();

mod agreement;
mod banded;
mod batch;
mod bcyclic;
mod blocks;
mod coarse;
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
mod transport;

pub use agreement::RankError;
pub use banded::DistributedBanded;
pub use batch::{BatchCostModel, DistributedBatch, DistributedBatchFactors};
pub use blocks::DistributedBlocks;
pub use coarse::RankCoarse;
pub use factors::DistributedFactors;
pub use model::{CostModel, NetworkFigures, RankCost};
pub use poisson::DistributedPoisson;
pub use ranges::RankRanges;
pub use ranks::{Ranks, Traffic};
pub use transport::rsmpi::abort_on_panic;
pub use transport::threads::on_threads;
