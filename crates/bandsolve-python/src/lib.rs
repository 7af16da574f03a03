//! The compiled module of the Python package. Functions take and return NumPy arrays, and release the GIL during computations.
//!
//! Public names, defaults and most docstrings are in `python/bandsolve`.

mod arrays;
mod banded_batch;
mod batch;
mod device;
mod diagonals;
mod eigen;
mod errors;
mod factor;
mod generate;
#[cfg(feature = "cuda")]
mod gpu;
mod interrupt;
mod memory;
mod options;
mod out_of_core;
mod poisson;
mod read;
mod report;
mod solve;
mod sparse;
mod spline;
mod structure;
mod tridiagonal_eigen;
mod xla;
mod xla_interface;

use pyo3::prelude::*;

/// The compiled part of bandsolve.
#[pymodule]
mod _bandsolve {
    #[pymodule_export]
    use super::arrays::as_array;
    #[pymodule_export]
    use super::banded_batch::{solve_banded_batch, solve_block_batch};
    #[pymodule_export]
    use super::batch::{solve_batch, solved_as_columns, target_of};
    #[pymodule_export]
    use super::device::any_on_gpu;
    #[pymodule_export]
    use super::diagonals::check_off_diagonals;
    #[pymodule_export]
    use super::eigen::{check_mass, eigenvalues, eigenvalues_nearest};
    #[pymodule_export]
    use super::factor::{PyFactor, factor_banded, factor_block_tridiagonal, factor_tridiagonal};
    #[pymodule_export]
    use super::generate::{families, generate};
    #[cfg(feature = "cuda")]
    #[pymodule_export]
    use super::gpu::{
        PyDeviceArray, PyDeviceCsr, PyDeviceFactor, PyDevicePoisson, PyDevicePreconditioner, box_on_gpu,
        eigenvalues_on_gpu, gpu_array, krylov_on_gpu, stream_of_array,
    };
    #[pymodule_export]
    use super::memory::free_memory;
    #[pymodule_export]
    use super::options::{get_num_threads, instruction_set, methods, set_num_threads};
    #[pymodule_export]
    use super::out_of_core::PyPieceSolver;
    #[pymodule_export]
    use super::poisson::PyPoissonPlan;
    #[pymodule_export]
    use super::read::read_file;
    #[pymodule_export]
    use super::report::PyReport;
    #[pymodule_export]
    use super::solve::{solve_banded, solve_block_tridiagonal, solve_tridiagonal, solveh_banded};
    #[pymodule_export]
    use super::sparse::{PyPreconditioner, PyProduct, graph_factor, krylov};
    #[pymodule_export]
    use super::spline::spline_values;
    #[pymodule_export]
    use super::structure::{factor_compact, reverse_cuthill_mckee, storage, stored};
    #[pymodule_export]
    use super::tridiagonal_eigen::eigh_tridiagonal;
    #[pymodule_export]
    use super::xla::xla_solve_tridiagonal;
    #[pymodule_export]
    const __VERSION__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    const BATCH_DIAGONALS: usize = bandsolve::BandedBatch::<f64>::MAX_DIAGONALS;
    #[pymodule_export]
    const BATCH_BLOCK_ROWS: usize = bandsolve::BandedBatch::<f64>::max_block(false);
    #[pymodule_export]
    const BATCH_PERIODIC_BLOCK_ROWS: usize = bandsolve::BandedBatch::<f64>::max_block(true);
}
