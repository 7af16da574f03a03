//! GPUs, for `solve`, `tune` and `doctor`. Without the feature `cuda`, there are none.

#[cfg(not(feature = "cuda"))]
mod absent;
#[cfg(feature = "cuda")]
mod cuda;

#[cfg(not(feature = "cuda"))]
pub use absent::*;
#[cfg(feature = "cuda")]
pub use cuda::*;
