//! Systems with a narrow band on NVIDIA GPUs: tridiagonal, periodic, block tridiagonal and banded ones, and batches.
//!
//! The kernels are CUDA C++, embedded in this crate and compiled on the user's machine; where there is no GPU, or no driver,
//! [`Device::cuda`] is an error and everything else works. With the feature `emulator` the same text runs on the CPU, thread by
//! thread (`Device::emulated`): slowly, but with every barrier, shuffle and memory access checked.
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

mod cuda;
mod cut;
mod device;
#[cfg(feature = "emulator")]
mod emulated;
mod factored;
mod host;
mod host_mend;
mod launch;
mod matrix;
mod program;
mod scan;
mod solver;
mod sparse;
mod spread;
mod tuned;

pub use device::{Device, DeviceScalar, DeviceSlice, DeviceSliceMut, DeviceVec, Limits};
#[cfg(feature = "emulator")]
pub use emulated::{Emulation, Order};
pub use factored::Factored;
pub use host::{HostMatrix, OnDevice};
pub use matrix::DeviceMatrix;
pub use solver::{DeviceSolver, Pending};
pub use sparse::{DeviceCsc, DeviceCscMut};
pub use spread::Spread;
pub use tuned::{DeviceTuning, Sizes};
