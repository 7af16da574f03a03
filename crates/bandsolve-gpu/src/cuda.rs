//! NVIDIA GPUs, through the driver's library, which is loaded at run time.

use crate::device::{Backend, HeldResource, Launch, Limits};
use crate::program;
use bandsolve::{Error, Result};
use core::ffi::c_void;
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
};
use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

/// Dynamic shared memory that each kernel may use without an attribute.
const USUAL_SHARED: usize = 48 << 10;

fn failed(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Device { call, message: error.to_string() }
}

pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    /// The architecture with NVRTC's name.
    architecture: String,
    limits: Limits,
    name: String,
    /// All kernels, if they were compiled with this crate for this GPU.
    prebuilt: Option<sys::CUmodule>,
    /// The kernels that were launched before.
    kernels: Mutex<HashMap<String, Kernel>>,
}

struct Kernel {
    /// The module that was loaded for this kernel.
    module: Option<sys::CUmodule>,
    function: sys::CUfunction,
}

// SAFETY: any thread may use the handles of a context after it binds the context, as all methods do first.
unsafe impl Send for Cuda {}
// SAFETY: as above; the driver has its own locks.
unsafe impl Sync for Cuda {}

impl Cuda {
    pub fn open(number: usize) -> Result<Self> {
        let no_device = |reason: &str| Error::NoDevice { reason: reason.into() };
        let driver = |error: DriverError| Error::NoDevice { reason: error.to_string() };
        // Without the library, calls of the driver would panic.
        // SAFETY: the call only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_device(
                "the library of the NVIDIA driver (libcuda.so.1, nvcuda.dll) was not found; install the driver",
            ));
        }
        let context = CudaContext::new(number).map_err(driver)?;
        context.bind_to_thread().map_err(driver)?;
        // Loading fails on a GPU for which the kernels were not built.
        // SAFETY: this is a fat binary from the compiler.
        let load = |image: &[u8]| unsafe { result::module::load_data(image.as_ptr().cast()) }.ok();
        let prebuilt = program::PREBUILT.and_then(load);
        if prebuilt.is_none() && !program::compiler_is_present() {
            return Err(no_device("NVRTC, which compiles the kernels, was not found; install CUDA 12 or later"));
        }
        let attribute = |which| context.attribute(which).map_err(driver);
        let size = |which| attribute(which).map(|value| value as usize);
        let major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let limits = Limits {
            shared_per_block: size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_per_multiprocessor: size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            multiprocessors: size(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory: context.total_mem().map_err(driver)?,
        };
        let name = context.name().map_err(driver)?;
        let architecture = format!("compute_{major}{minor}");
        Ok(Self { context, architecture, limits, name, prebuilt, kernels: Mutex::default() })
    }

    /// The kernel with this name, compiled and loaded at its first use.
    fn kernel(&self, name: &str) -> Result<sys::CUfunction> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(name) {
            return Ok(kernel.function);
        }
        let own = if self.prebuilt.is_some() { None } else { Some(self.compile(name)?) };
        let module = self.prebuilt.or(own).expect("a module was prebuilt or compiled");
        let c_name = CString::new(name).expect("a kernel name has no zero bytes");
        // SAFETY: the module is loaded as long as `self` lives.
        let function =
            unsafe { result::module::get_function(module, c_name) }.map_err(failed("cuModuleGetFunction"))?;
        if self.limits.shared_per_block > USUAL_SHARED {
            let (which, limit) = (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, self.limits.shared_per_block as i32);
            // SAFETY: the function belongs to a loaded module.
            unsafe { result::function::set_function_attribute(function, which, limit) }
                .map_err(failed("cuFuncSetAttribute"))?;
        }
        kernels.insert(name.into(), Kernel { module: own, function });
        Ok(function)
    }

    /// Compile and load a kernel.
    fn compile(&self, name: &str) -> Result<sys::CUmodule> {
        let text = CString::new(program::compile(name, &self.architecture)?).expect("PTX has no zero bytes");
        // SAFETY: this is PTX text that ends with a zero byte.
        unsafe { result::module::load_data(text.as_ptr().cast()) }.map_err(failed("cuModuleLoadData"))
    }

    fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("cuCtxSetCurrent"))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            let kernels = self.kernels.get_mut().unwrap_or_else(PoisonError::into_inner);
            for module in kernels.values().filter_map(|kernel| kernel.module).chain(self.prebuilt) {
                // SAFETY: `open` or `compile` loaded the module, and no more launches follow. Errors can no longer be
                // reported.
                _ = unsafe { result::module::unload(module) };
            }
        }
    }
}

/// An allocation or a stream of a context.
struct Owned {
    context: Arc<CudaContext>,
    handle: u64,
    free: unsafe fn(u64),
}

impl Drop for Owned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: `allocate` or `new_stream` made the handle, and it is no longer used.
            unsafe { (self.free)(self.handle) };
        }
    }
}

fn stream(handle: u64) -> sys::CUstream {
    core::ptr::with_exposed_provenance_mut(handle as usize)
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        self.bind()?;
        // SAFETY: this allocates memory of this size.
        let handle = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(failed("cuMemAlloc"))?;
        let free = |address| {
            // SAFETY: the memory was allocated above. Errors can no longer be reported.
            _ = unsafe { result::free_sync(address) };
        };
        Ok(HeldResource { handle, owner: Box::new(Owned { context: self.context.clone(), handle, free }) })
    }

    fn new_stream(&self) -> Result<HeldResource> {
        self.bind()?;
        let made = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed("cuStreamCreate"))?;
        let handle = made.expose_provenance() as u64;
        let free = |handle| {
            // SAFETY: the stream was created above. Errors can no longer be reported.
            _ = unsafe { result::stream::destroy(stream(handle)) };
        };
        Ok(HeldResource { handle, owner: Box::new(Owned { context: self.context.clone(), handle, free }) })
    }

    fn synchronize(&self, handle: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: the stream belongs to this context.
        unsafe { result::stream::synchronize(stream(handle)) }.map_err(failed("cuStreamSynchronize"))
    }

    fn time(&self, handle: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.bind()?;
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let [begin, end] = [result::event::create(flags), result::event::create(flags)];
        let (begin, end) = (begin.map_err(failed("cuEventCreate"))?, end.map_err(failed("cuEventCreate"))?);
        // SAFETY: events and stream belong to this context. The events are destroyed when nothing waits for them.
        unsafe {
            let start = result::event::record(begin, stream(handle)).map_err(failed("cuEventRecord"));
            let worked = start.and_then(|()| work());
            let elapsed = worked.and_then(|()| {
                result::event::record(end, stream(handle)).map_err(failed("cuEventRecord"))?;
                result::event::synchronize(end).map_err(failed("cuEventSynchronize"))?;
                result::event::elapsed(begin, end).map_err(failed("cuEventElapsedTime"))
            });
            _ = (result::event::destroy(begin), result::event::destroy(end));
            elapsed.map(|milliseconds| f64::from(milliseconds) * 1e-3)
        }
    }

    unsafe fn clear(&self, handle: u64, address: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller's promise.
        unsafe { result::memset_d8_async(address, 0, bytes, stream(handle)) }.map_err(failed("cuMemsetD8Async"))
    }

    unsafe fn write(&self, handle: u64, address: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller's promise; `from` is borrowed until the copy is complete.
        unsafe { result::memcpy_htod_async(address, from, stream(handle)) }.map_err(failed("cuMemcpyHtoDAsync"))?;
        self.synchronize(handle)
    }

    unsafe fn read(&self, handle: u64, address: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller's promise; `to` is borrowed until the copy is complete.
        unsafe { result::memcpy_dtoh_async(to, address, stream(handle)) }.map_err(failed("cuMemcpyDtoHAsync"))?;
        self.synchronize(handle)
    }

    unsafe fn copy(&self, handle: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: the caller's promise.
        unsafe { result::memcpy_dtod_async(to, from, bytes, stream(handle)) }.map_err(failed("cuMemcpyDtoDAsync"))
    }

    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        self.bind()?;
        let function = self.kernel(kernel)?;
        // SAFETY: the function belongs to a loaded module.
        unsafe { result::occupancy::max_active_block_per_multiprocessor(function, threads as i32, shared) }
            .map(|blocks| blocks as usize)
            .map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    }

    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()> {
        self.bind()?;
        let function = self.kernel(launch.kernel)?;
        let (grid, block, shared) = ((launch.blocks, 1, 1), (launch.threads, 1, 1), launch.shared as u32);
        let stream = stream(launch.stream);
        // SAFETY: the caller's promise.
        unsafe {
            if launch.together {
                return result::launch_cooperative_kernel(function, grid, block, shared, stream, arguments)
                    .map_err(failed("cuLaunchCooperativeKernel"));
            }
            result::launch_kernel(function, grid, block, shared, stream, arguments).map_err(failed("cuLaunchKernel"))
        }
    }
}
