//! Parallel operations on long vectors, for Krylov methods: sums in a fixed order, and orthonormal bases.
//!
//! Threads share the pieces of a vector, which have a fixed length. Each piece gives partial sums in double precision, which are added
//! in the order of the pieces. The result is therefore the same, bit for bit, for any number of threads. It can differ between
//! instruction sets.
//!
//! Methods see their vectors through the trait [`Vectors`], which [`HostVectors`] implements in the memory of the CPU.

mod agree;
mod host;
mod numbers;
mod operations;
mod piece;
mod reducer;

pub use agree::{agree, agree_alike, agree_on, digest};
pub use host::HostVectors;
pub use numbers::{divide, narrow, times, widen};
pub use operations::{LinearCombination, MOST_TERMS, Operator, VectorId, Vectors};
pub use piece::{PIECE, dot, each_piece, norm_squared, subtract};
pub use reducer::Reducer;
