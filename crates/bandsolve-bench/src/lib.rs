//! Benchmarks, accuracy tables and pictures of the program `bandsolve`.
//!
//! The solvers of a benchmark run alternately, so a slowdown of the machine affects all of them. The inputs that a solver overwrites are
//! restored outside of the timed part. The reports contain medians and minima. No test depends on a time.

pub mod args;
mod banded;
mod batch;
mod block;
mod contest;
#[cfg(feature = "cuda")]
mod cusparse;
mod dots;
#[cfg(feature = "cuda")]
mod gpu;
mod iterate;
mod lines;
pub mod machine;
mod methods;
mod mkl_poisson;
mod mkl_sparse;
mod page;
pub mod peers;
pub mod plot;
mod poisson;
mod results;
mod row;
mod setup;
mod sheet;
mod spans;
mod sparse;
mod spmv;
pub mod stability;
mod sweep;
mod system;
mod tridiagonal;
pub mod yardstick;

use args::{BenchArgs, BenchTable};
use bandsolve_program::exit::Failure;

/// Run one benchmark.
///
/// # Errors
/// [`Failure::Other`] if the report cannot be written or the GPU is missing. [`Failure::Unsolved`] if a solution of the GPU violates the
/// accuracy contract.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    match &args.table {
        BenchTable::Tridiagonal(args) => tridiagonal::run(args),
        BenchTable::Methods(args) => methods::run(args),
        BenchTable::Batch(args) => batch::run(args),
        BenchTable::Block(args) => block::run(args),
        BenchTable::Banded(args) => banded::run(args),
        BenchTable::Sparse(args) => sparse::run(args),
        BenchTable::Spmv(args) => spmv::run(args),
        BenchTable::Iterate(args) => iterate::run(args),
        BenchTable::Poisson(args) => poisson::run(args),
        #[cfg(feature = "cuda")]
        BenchTable::Gpu(args) => gpu::run(args),
        #[cfg(not(feature = "cuda"))]
        BenchTable::Gpu(_) => Err(Failure::without_cuda()),
    }
}
