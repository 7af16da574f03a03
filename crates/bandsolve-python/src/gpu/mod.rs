//! Arrays that stay in the memory of a GPU, for `bandsolve.gpu`.

mod array;
mod dlpack;
mod eigen;
mod factor;
mod given;
mod held;
mod layout;
mod poisson;
mod solvers;
mod sparse;

pub use array::{PyDeviceArray, gpu_array};
pub use eigen::eigenvalues_on_gpu;
pub use factor::PyDeviceFactor;
pub use given::stream_of_array;
pub use poisson::{PyDevicePoisson, box_on_gpu};
pub use sparse::{PyDeviceCsr, PyDevicePreconditioner, krylov_on_gpu};
