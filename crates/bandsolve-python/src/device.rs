//! GPUs. Without the feature `cuda`, there are none.

#[cfg(feature = "cuda")]
pub use present::*;

#[cfg(not(feature = "cuda"))]
pub use absent::*;

/// The crate `bandsolve-gpu`.
#[cfg(feature = "cuda")]
mod present {
    use bandsolve::{Factor, Plan, Result};
    use std::sync::Arc;

    pub use crate::gpu::any_on_gpu;
    pub use bandsolve_gpu::{Device, DeviceScalar, HostMatrix};

    /// Copy a matrix to a GPU, for solves.
    pub fn factor_on<'m, T: DeviceScalar>(
        device: &Device,
        plan: &Plan,
        a: Arc<dyn HostMatrix<T> + 'm>,
    ) -> Result<Box<dyn Factor<T> + 'm>> {
        Ok(Box::new(device.factor_shared(plan, a)?))
    }
}

/// What replaces the crate `bandsolve-gpu`. No device can be opened.
#[cfg(not(feature = "cuda"))]
mod absent {
    use bandsolve::{Error, Factor, Plan, Result};
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;
    use std::convert::Infallible;
    use std::sync::Arc;

    pub use bandsolve::Scalar as DeviceScalar;

    /// No argument is known to be on a GPU.
    #[pyfunction]
    #[pyo3(signature = (*_values))]
    pub fn any_on_gpu(_values: &Bound<'_, PyTuple>) -> PyResult<bool> {
        Ok(false)
    }

    pub trait HostMatrix<T>: Send + Sync {}
    impl<T, M: Send + Sync> HostMatrix<T> for M {}

    #[derive(Clone)]
    pub struct Device(Infallible);

    impl Device {
        pub fn open(_name: &str) -> Result<Self> {
            let reason = "bandsolve was built without CUDA; `pip install .` builds it with CUDA".into();
            Err(Error::NoDevice { reason })
        }

        pub fn name(&self) -> String {
            match self.0 {}
        }

        pub fn plan(&self, _plan: &Plan) -> Result<Plan> {
            match self.0 {}
        }
    }

    pub fn factor_on<'m, T>(
        device: &Device,
        _plan: &Plan,
        _a: Arc<dyn HostMatrix<T> + 'm>,
    ) -> Result<Box<dyn Factor<T> + 'm>> {
        match device.0 {}
    }
}
