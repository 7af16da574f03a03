//! The computational kernels of `bandsolve`: all SIMD code and nearly all unsafe code of the solvers.
//!
//! Do not depend on this crate directly: any release may change it. The kernels work on the normal forms in [`rows`]
//! and on bands. They do not know plans or methods.
//!
//! A *tile* is a group of partitions, one per SIMD lane. It is copied from the caller's arrays and transposed, so that
//! row j of all its partitions is one vector. A *sweep* eliminates the rows of a tile in registers, and selects pivots
//! without branches.

// Public items are public for the other crates of this workspace only.
#![allow(missing_docs)]

pub mod adaptive;
pub mod arithmetic;
pub mod band_copy;
pub mod band_form;
pub mod band_lockstep;
pub mod band_rectangle;
pub mod blocks;
mod border;
mod by_type;
pub mod columns;
pub mod combine;
pub mod cyclic;
pub mod definite;
pub mod dense;
pub mod dense_lu;
pub mod doubling;
mod element;
pub mod estimate;
pub mod exact;
mod job;
mod lane_columns;
mod lanes;
pub mod lockstep;
mod machine;
pub mod memory;
pub mod narrow_lu;
mod number;
pub mod panel;
pub mod permutation;
pub mod pivot_tiles;
pub mod precise;
pub mod prefetch;
pub mod random;
mod reduce;
pub mod residual;
pub mod row_errors;
mod row_gather;
pub mod rows;
pub mod scalar;
pub mod scan;
pub mod shared_band;
pub mod shared_matrix;
pub mod shifted;
mod simd;
pub mod spread;
pub mod stored_tiles;
mod substitute;
pub mod sweep;
pub mod threads;
pub mod tile;
pub mod tile_runs;
mod tile_sweep;
pub mod triangle;
pub mod tuning;
pub mod vectors;
pub mod view;
pub mod window;

pub use job::{Job, dispatch};
pub use number::{ByType, Complex32, Complex64, Element, Lanes, Machine, RealScalar, Scalar};
pub use simd::Simd;
