//! The C API of bandsolve: the functions of `include/bandsolve.h`. See `docs/c-api.md` for conventions and examples.
//!
//! # Features
//!
//! - `cuda`: functions for arrays in GPU memory, `include/bandsolve_gpu.h`.
//!
//! # Modules
//!
//! [`entry`] declares the C functions. Each is one line that calls `solve`, `lapack`, `eigen`, `sparse`, `csr`, `poisson` or `gpu` through a guard
//! ([`status`]). The guard catches panics and stores the error message. `memory` checks pointers and sizes and creates slices.

#![allow(non_camel_case_types, non_snake_case)]

mod csr;
mod eigen;
pub mod entry;
mod factored;
#[cfg(feature = "cuda")]
mod gpu;
mod lapack;
mod memory;
mod poisson;
pub mod report;
pub mod settings;
mod solve;
mod sparse;
pub mod status;

pub use csr::{
    bandsolve_csr, bandsolve_csr_t, bandsolve_ending_t, bandsolve_forest, bandsolve_forest_info_t,
    bandsolve_forest_options_t, bandsolve_forest_t, bandsolve_iteration_options_t, bandsolve_iteration_report_t,
    bandsolve_operation_t, bandsolve_precond, bandsolve_precond_t, bandsolve_side_t, bandsolve_watch_t,
};
pub use entry::*;
#[cfg(feature = "cuda")]
pub use gpu::{bandsolve_gpu_device, bandsolve_gpu_device_t};
pub use lapack::{bandsolve_factor, bandsolve_factor_t};
pub use poisson::{
    bandsolve_boundary_t, bandsolve_grid_t, bandsolve_pencil_t, bandsolve_pencils_problem_t, bandsolve_poisson_axis_t,
    bandsolve_poisson_problem_t, bandsolve_poisson_report_t, bandsolve_poisson_side_t, bandsolve_poisson_solver,
    bandsolve_poisson_solver_t,
};
pub use report::bandsolve_report_t;
pub use settings::bandsolve_pivoting_t;
pub use status::bandsolve_status_t;
