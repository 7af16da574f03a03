//! The C API of bandsolve: the functions of `include/bandsolve.h`. See `docs/c-api.md` for conventions and examples.
//!
//! ```c
//! #include <bandsolve.h>
//! #include <stdio.h>
//!
//! int main(void) {
//!     /* -x[i-1] + 2 x[i] - x[i+1] = rhs[i]; sub[0] and sup[4] are ignored. */
//!     const double sub[5] = {0, -1, -1, -1, -1}, diag[5] = {2, 2, 2, 2, 2}, sup[5] = {-1, -1, -1, -1, 0};
//!     double x[5] = {0, 0, 0, 0, 6};
//!     bandsolve_status_t status = bandsolveDgtsv(BANDSOLVE_DEFAULT_PIVOTING, 5, 1, sub, diag, sup, x, x, NULL);
//!     if (status != BANDSOLVE_SUCCESS) {
//!         fprintf(stderr, "%s: %s\n", bandsolveStatusName(status), bandsolveLastError());
//!         return 1;
//!     }
//!     printf("%.3g %.3g %.3g %.3g %.3g\n", x[0], x[1], x[2], x[3], x[4]); /* 1 2 3 4 5 */
//!     return 0;
//! }
//! ```
//!
//! # Features
//!
//! The feature is off by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `cuda` | functions for arrays in GPU memory, declared in `include/bandsolve_gpu.h` |
//!
//! # Modules
//!
//! [`entry`] declares the C functions. Each is one line that calls `solve`, `lapack`, `eigen`, `sparse`, `csr`, `poisson` or `gpu` through a guard
//! ([`status`]). The guard catches panics and stores the error message. `memory` checks pointers and sizes and creates slices.
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-gpu`]: systems in the memory of NVIDIA GPUs
//! - [`bandsolve-sparse`]: sparse matrices, Krylov solvers, preconditioners, linear forests
//! - [`bandsolve-poisson`]: Poisson and Helmholtz problems on an interval, a rectangle or a box
//! - [`bandsolve-lapack`]: a library with LAPACK's symbols
//!
//! # Guide
//!
//! The page `docs/c-api.md` of the repository has the conventions, and an example for each family of functions.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-gpu`]: https://docs.rs/bandsolve-gpu
[`bandsolve-sparse`]: https://docs.rs/bandsolve-sparse
[`bandsolve-poisson`]: https://docs.rs/bandsolve-poisson
[`bandsolve-lapack`]: https://docs.rs/bandsolve-lapack"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-gpu`]: ../bandsolve_gpu/index.html
[`bandsolve-sparse`]: ../bandsolve_sparse/index.html
[`bandsolve-poisson`]: ../bandsolve_poisson/index.html
[`bandsolve-lapack`]: ../lapack_bandsolve/index.html"
)]
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
pub use gpu::{bandsolve_gpu_device, bandsolve_gpu_device_t, bandsolve_gpu_status, bandsolve_gpu_status_t};
pub use lapack::{bandsolve_factor, bandsolve_factor_t};
pub use poisson::{
    bandsolve_boundary_t, bandsolve_grid_t, bandsolve_pencil_t, bandsolve_pencils_problem_t, bandsolve_poisson_axis_t,
    bandsolve_poisson_problem_t, bandsolve_poisson_report_t, bandsolve_poisson_side_t, bandsolve_poisson_solver,
    bandsolve_poisson_solver_t,
};
pub use report::bandsolve_report_t;
pub use settings::bandsolve_pivoting_t;
pub use status::bandsolve_status_t;
