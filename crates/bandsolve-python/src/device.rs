//! GPUs. Without the feature `cuda`, there are none.

#[cfg(feature = "cuda")]
pub use present::*;

#[cfg(not(feature = "cuda"))]
pub use absent::*;

/// The crate `bandsolve-gpu`.
#[cfg(feature = "cuda")]
mod present {
    use bandsolve::{Factor, Plan, Result};
    use numpy::PyUntypedArray;
    use pyo3::prelude::*;
    use pyo3::types::{PyFloat, PyInt, PyList, PyTuple};
    use std::sync::Arc;

    pub use bandsolve_gpu::{Device, DeviceScalar, HostMatrix};

    /// The attribute of arrays in the memory of a GPU.
    pub const INTERFACE: &str = "__cuda_array_interface__";
    /// `kDLCUDA` of DLPack: memory of an NVIDIA GPU.
    pub const CUDA: i32 = 2;
    /// `kDLCUDAManaged` of DLPack: memory that GPU and host share.
    pub const CUDA_MANAGED: i32 = 13;

    /// Whether an argument is an array in the memory of an NVIDIA GPU.
    pub fn is_on_gpu(value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let of_host = value.is_instance_of::<PyUntypedArray>()
            || value.is_instance_of::<PyList>()
            || value.is_instance_of::<PyTuple>()
            || value.is_instance_of::<PyFloat>()
            || value.is_instance_of::<PyInt>()
            || value.is_none();
        if of_host {
            return Ok(false);
        }
        if value.getattr_opt(INTERFACE)?.is_some() {
            return Ok(true);
        }
        match value.getattr_opt("__dlpack_device__")? {
            Some(device) => Ok([CUDA, CUDA_MANAGED].contains(&device.call0()?.extract::<(i32, i32)>()?.0)),
            None => Ok(false),
        }
    }

    /// Whether any of the arguments is an array in the memory of an NVIDIA GPU.
    #[pyfunction]
    #[pyo3(signature = (*values))]
    pub fn any_on_gpu(values: &Bound<'_, PyTuple>) -> PyResult<bool> {
        for value in values {
            if is_on_gpu(&value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

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
