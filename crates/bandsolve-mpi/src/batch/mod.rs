//! Many tridiagonal systems of the same size, distributed by rows over ranks.
//!
//! Each rank eliminates its inner rows of every system ([`inner`]). Two rows per system and rank remain: the interface systems. One
//! all-to-all exchange gives each rank whole interface systems of a part of the batch, which it solves with the batch solver
//! ([`interface`]). A second exchange returns the interface unknowns, and each rank substitutes.
//!
//! Source: K.-H. Kim, J.-H. Kang, X. Pan, J.-I. Choi, Comput. Phys. Commun. 260 (2021) (PaScaL_TDMA), with the interface rows as Schur
//! complements. The source does not contain the periodic interface systems, transposes and verification.

mod factors;
mod inner;
mod interface;
mod matrix;
mod measure;
mod model;
mod repair;
mod rows;

pub use factors::DistributedBatchFactors;
pub use matrix::DistributedBatch;
pub use model::BatchCostModel;
