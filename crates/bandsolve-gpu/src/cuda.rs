//! NVIDIA GPUs, through the driver's library, which is looked for at run time.

use crate::device::{Error, Launch, Machine, Memory, Result};
use core::ffi::c_void;
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
};
use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// The kernels and what they include, in the order in which they need one another.
const SOURCES: [&str; 5] = [
    include_str!("../kernels/port.cuh"),
    include_str!("../kernels/element.cuh"),
    include_str!("../kernels/rpts.cuh"),
    include_str!("../kernels/residual.cuh"),
    include_str!("../kernels/kernels.cu"),
];

/// The kernels as one text.
pub(crate) fn source() -> String {
    let kept = |line: &&str| !line.starts_with("#include \"") && !line.starts_with("#pragma once");
    SOURCES.iter().flat_map(|text| text.lines().filter(kept).chain([""])).collect::<Vec<_>>().join("\n")
}

/// Dynamic shared memory that every kernel may have without asking.
const USUAL_SHARED: usize = 48 << 10;

fn failed(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Driver { call, message: error.to_string() }
}

pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    module: sys::CUmodule,
    /// Kernels that were launched already.
    functions: Mutex<HashMap<String, Function>>,
    name: String,
    shared_limit: usize,
}

#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: handles of a context may be used from any thread to which the context is bound, as all methods do first.
unsafe impl Send for Cuda {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Cuda {}

impl Cuda {
    pub fn open(number: usize) -> Result<Self> {
        let no_device = |reason: String| Error::NoDevice { reason };
        let driver = |error: DriverError| Error::NoDevice { reason: error.to_string() };
        // Without the libraries, calls into them would panic.
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_device("the driver's library (libcuda.so.1, nvcuda.dll) was not found".into()));
        }
        // SAFETY: as above.
        if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            return Err(no_device(
                "NVRTC, which compiles the kernels, was not found; it comes with CUDA 12 or later".into(),
            ));
        }
        let context = CudaContext::new(number).map_err(driver)?;
        let attribute = |which| context.attribute(which).map_err(driver);
        let major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let shared_limit = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let options = CompileOptions {
            // Fused where the kernels say so, and nowhere else.
            fmad: Some(false),
            options: vec!["--std=c++17".into(), format!("--gpu-architecture=compute_{major}{minor}")],
            ..Default::default()
        };
        let ptx = compile_ptx_with_opts(source(), options).map_err(|error| {
            let reason = match &error {
                CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
                other => format!("{other:?}"),
            };
            no_device(format!("NVRTC could not compile the kernels: {reason}"))
        })?;
        context.bind_to_thread().map_err(driver)?;
        let text = CString::new(ptx.to_src()).expect("text without zeros");
        // SAFETY: text of PTX that ends with a zero.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) }.map_err(driver)?;
        let (stream, name) = (context.default_stream(), context.name().map_err(driver)?);
        Ok(Self { stream, module, functions: Mutex::default(), name, shared_limit: shared_limit as usize, context })
    }

    fn function(&self, name: &str) -> Result<sys::CUfunction> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(name) {
            return Ok(function.0);
        }
        let c_name = CString::new(name).expect("a name without zeros");
        // SAFETY: the module is loaded as long as `self` lives.
        let function =
            unsafe { result::module::get_function(self.module, c_name) }.map_err(failed("cuModuleGetFunction"))?;
        if self.shared_limit > USUAL_SHARED {
            let (which, limit) = (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared_limit as i32);
            // SAFETY: a function of our module.
            unsafe { result::function::set_function_attribute(function, which, limit) }
                .map_err(failed("cuFuncSetAttribute"))?;
        }
        functions.insert(name.into(), Function(function));
        Ok(function)
    }

    fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            // SAFETY: loaded by `open`, and nobody launches any more. What goes wrong now concerns nobody.
            _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// An allocation of a context.
struct Allocation {
    context: Arc<CudaContext>,
    address: u64,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `allocate`, and nobody uses it any more.
            _ = unsafe { result::free_sync(self.address) };
        }
    }
}

impl Machine for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn shared_limit(&self) -> usize {
        self.shared_limit
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.bind()?;
        // SAFETY: memory of this size, which is cleared before anybody reads it.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(failed("cuMemAlloc"))?;
        let memory = Memory { address, owner: Box::new(Allocation { context: self.context.clone(), address }) };
        self.clear(&memory, bytes)?;
        Ok(memory)
    }

    fn clear(&self, memory: &Memory, bytes: usize) -> Result<()> {
        self.bind()?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the memory has so many bytes.
        unsafe { result::memset_d8_async(memory.address, 0, bytes, self.stream.cu_stream()) }
            .map_err(failed("cuMemsetD8Async"))
    }

    fn write(&self, memory: &Memory, from: &[u8]) -> Result<()> {
        self.bind()?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        // SAFETY: the memory has as many bytes.
        unsafe { result::memcpy_htod_sync(memory.address, from) }.map_err(failed("cuMemcpyHtoD"))
    }

    fn read(&self, memory: &Memory, to: &mut [u8]) -> Result<()> {
        self.bind()?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))?;
        // SAFETY: the memory has as many bytes.
        unsafe { result::memcpy_dtoh_sync(to, memory.address) }.map_err(failed("cuMemcpyDtoH"))
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: both have so many bytes.
        unsafe { result::memcpy_dtod_async(to.address, from.address, bytes, self.stream.cu_stream()) }
            .map_err(failed("cuMemcpyDtoDAsync"))
    }

    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()> {
        self.bind()?;
        let function = self.function(&launch.kernel)?;
        let (grid, block, shared) = ((launch.blocks, 1, 1), (launch.threads, 1, 1), launch.shared as u32);
        // SAFETY: the caller's promise.
        unsafe { result::launch_kernel(function, grid, block, shared, self.stream.cu_stream(), arguments) }
            .map_err(failed("cuLaunchKernel"))
    }
}

#[cfg(test)]
mod tests {
    use super::source;

    #[test]
    fn the_source_stands_for_itself() {
        let source = source();
        assert!(!source.contains("#include \"") && source.contains("reduce_##suffix"));
    }
}
