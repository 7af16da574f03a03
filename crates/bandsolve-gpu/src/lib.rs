//! Tridiagonal systems on NVIDIA GPUs.
//!
//! The kernels are CUDA C++, embedded in this crate and compiled on the user's machine; where there is no GPU, or no driver,
//! [`Device::cuda`] is an error and everything else works. With the feature `emulator` the same text runs on the CPU, thread by
//! thread (`Device::emulated`): slowly, but with every barrier, shuffle and memory access checked.
//!
//! ```
//! # #[cfg(feature = "emulator")] {
//! use bandsolve_gpu::{Device, Emulation, Tridiagonal};
//! let device = Device::cuda(0).unwrap_or_else(|_| Device::emulated(Emulation::default()));
//! let n = 1000;
//! let [sub, diag, sup, rhs] = [-1.0, 2.0, -1.0, 1.0].map(|v| device.upload(&vec![v; n]));
//! let mut x = device.zeros(n)?;
//! let mut solver = Tridiagonal::<f64>::new(&device, n, false)?;
//! let report = solver.solve_into([&sub?, &diag?, &sup?], &rhs?, &mut x)?;
//! assert!(report.backward_error <= 8.0 * f64::EPSILON);
//! // The middle of a parabola.
//! assert!((x.download()?[500] - 501.0 * 500.0 / 2.0).abs() < 1e-6);
//! # }
//! # Ok::<(), bandsolve_gpu::Error>(())
//! ```

mod cuda;
mod device;
#[cfg(feature = "emulator")]
mod emulated;
mod tridiagonal;

pub use device::{Device, DeviceVec, Element, Error, Result};
#[cfg(feature = "emulator")]
pub use emulated::{Emulation, Order};
pub use tridiagonal::{Report, Tridiagonal};
