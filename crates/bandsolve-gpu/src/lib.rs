//! Solve tridiagonal, periodic, block tridiagonal and banded systems, batches and Poisson problems on NVIDIA GPUs, and check every answer.
//!
//! ```
//! # #[cfg(feature = "emulator")] {
//! use bandsolve::{Plan, Shape};
//! use bandsolve_gpu::{Device, Emulation, DeviceMatrix, DeviceSolver};
//! let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
//! let n = 1000;
//! let [sub, diag, sup, rhs] = [-1.0, 2.0, -1.0, 1.0].map(|v| device.upload(&vec![v; n]));
//! let (sub, diag, sup, rhs, mut x) = (sub?, diag?, sup?, rhs?, device.zeros(n)?);
//! let mut solver = DeviceSolver::<f64>::new(&device, &Plan::new(Shape::Tridiagonal { n, periodic: false }), 1)?;
//! let report = solver.solve(DeviceMatrix::tridiagonal(&sub, &diag, &sup), &rhs, &mut x)?;
//! assert!(report.backward_error <= 8.0 * f64::EPSILON);
//! // The middle of a parabola.
//! assert!((x.download()?[500] - 501.0 * 500.0 / 2.0).abs() < 1e-6);
//! # }
//! # Ok::<(), bandsolve::Error>(())
//! ```
//!
//! The kernels are CUDA C++. The crate contains their source and compiles them at run time with NVRTC. If there is no GPU or no
//! driver, [`Device::cuda`] returns an error.
//!
//! # Types by task
//!
//! | Task | Type |
//! | --- | --- |
//! | Open a GPU, choose a stream | [`Device`] |
//! | Allocate and copy device memory | [`DeviceVec`], [`DeviceSlice`], [`DeviceSliceMut`] |
//! | Solve with a matrix in device memory | [`DeviceSolver`], [`DeviceMatrix`] |
//! | Start a solve and continue on the host | [`DeviceSolver::start`], [`Pending`] |
//! | Factor once, solve many times | [`DeviceSolver::factor`], [`Factored`]; [`DeviceSolver::store`], [`FactoredOperations`] |
//! | Solve with a matrix in host memory | [`Device::factor`], [`OnDevice`] |
//! | Multiply with a sparse matrix, compute residuals | [`DeviceCsr`] |
//! | Solve with a sparse matrix by a Krylov method | [`solve_krylov`], [`DeviceOperator`], [`DevicePreconditioner`], [`DeviceSingleInverse`] |
//! | Find paths along the strongest couplings of a sparse matrix | [`DeviceGraph`], [`DeviceGraphFactor`], [`DeviceForest`] |
//! | Find eigenvalues of a sparse matrix or another operator | [`DeviceEigenProblem`] |
//! | Linear combinations and inner products for Krylov methods | [`DeviceVectors`] |
//! | Solve Poisson and Helmholtz problems on boxes | [`DevicePoisson`] |
//! | Sparse right-hand sides | [`DeviceCsc`], [`DeviceCscMut`] |
//! | Systems that exceed the memory of one GPU | [`Spread`] |
//! | Measured sizes | [`DeviceTuning`], [`Sizes`], [`Limits`] |
//!
//! # Features
//!
//! The features are off by default.
//!
//! | feature | adds |
//! | --- | --- |
//! | `emulator` | `Device::emulated`, which runs the same kernels on the CPU, for tests. It is slow, and checks each barrier, shuffle and memory access. The build needs a C++ compiler. |
//! | `races` | `Device::emulated_with_races`, which also finds data races between the threads of a kernel. The library that it needs stays in the build directory. |
//!
//! # Crates
//!
//! - [`bandsolve`]: direct solvers for tridiagonal, block tridiagonal and banded systems, and the list of all crates
//! - [`bandsolve-capi`]: the C API
//! - [`bandsolve-mpi`]: systems, eigenvalues and Poisson problems that several MPI processes share
//!
//! # Guide
//!
//! The page `docs/math/gpu.md` (methods) of the repository.
//!
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    docsrs,
    doc = "[`bandsolve`]: https://docs.rs/bandsolve
[`bandsolve-capi`]: https://docs.rs/bandsolve-capi
[`bandsolve-mpi`]: https://docs.rs/bandsolve-mpi"
)]
#![cfg_attr(
    not(docsrs),
    doc = "[`bandsolve`]: ../bandsolve/index.html
[`bandsolve-capi`]: ../bandsolve_capi/index.html
[`bandsolve-mpi`]: ../bandsolve_mpi/index.html"
)]

mod bcyclic;
mod block_batches;
mod block_spike;
mod context;
mod csr;
mod cublas;
mod cuda;
mod cut;
mod dense;
mod dense_factors;
mod device;
mod diagonal;
mod eigen;
mod elimination;
#[cfg(feature = "emulator")]
mod emulated;
mod forest;
mod graph;
mod graph_factor;
mod host;
mod host_repair;
mod krylov;
mod launch;
mod matrix;
mod measure;
mod open;
mod operator;
mod poisson;
mod precond;
mod program;
mod rhs;
mod scan;
mod single;
mod solver;
mod sparse;
mod spread;
mod system;
mod tuning;
mod vectors;

pub use csr::{DeviceCsr, NO_COLUMN};
pub use device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, Limits};
pub use eigen::DeviceEigenProblem;
#[cfg(feature = "emulator")]
pub use emulated::{Emulation, Order, WaveSize};
pub use forest::DeviceForest;
pub use graph::DeviceGraph;
pub use graph_factor::DeviceGraphFactor;
pub use host::{HostMatrix, OnDevice};
pub use krylov::solve_krylov;
pub use matrix::DeviceMatrix;
pub use operator::DeviceOperator;
pub use poisson::DevicePoisson;
pub use precond::DevicePreconditioner;
pub use single::{DeviceSingleInverse, DeviceSingleMatrix};
pub use solver::{DeviceSolver, DeviceStatus, Factored, FactoredOperations, Pending};
pub use sparse::{DeviceCsc, DeviceCscMut};
pub use spread::Spread;
pub use tuning::{DeviceTuning, Sizes};
pub use vectors::DeviceVectors;
