//! Krylov methods: solve A·x = rhs by products with A.
//!
//! # Memory traffic
//! The header of each method counts the words that one iteration loads and stores per row. A word is one element, 8 bytes in double precision. Each
//! loop over the rows counts each vector once per load and once per store, even if it reads a piece again from the cache. A product y = A·x counts 2
//! words, and an application z = M⁻¹·r too (without a preconditioner it is a copy). Add the entries of both: a product with a
//! [`Csr`](crate::Csr) loads a value and a column index per entry, 1.5 words in double precision with 32-bit indices, and half a word per row. Not
//! counted are the copies of the best x, which occur only when the residual has halved, and the norms that measure the products 1, 8, 64, ….

mod bicgstab;
mod cg;
mod gmres;
mod idr;
mod inverse;
mod method;
mod monitor;
mod report;
mod richardson;
mod run;
mod solver;
mod units;
mod vectors;

pub use inverse::KrylovInverse;
pub use method::{KrylovMethod, PreconditionerSide, Preconditioning};
pub use report::{Ending, IterationProgress, IterationReport};
pub use solver::KrylovSolver;
