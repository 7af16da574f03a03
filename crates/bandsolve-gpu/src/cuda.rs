//! NVIDIA GPUs, through the driver's library, which is loaded at run time.

use crate::context::{Entered, failed};
use crate::cublas::Cublas;
use crate::dense::DenseBatch;
use crate::device::{Backend, HeldResource, Launch, Limits};
use crate::program::{self, Architecture};
use bandsolve::{Error, Result};
use core::any::Any;
use core::ffi::c_void;
use cudarc::driver::sys::CUdevice_attribute::{
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
};
use cudarc::driver::sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
use cudarc::driver::sys::cudaError_enum::{
    CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
};
use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Dynamic shared memory that each kernel may use without an attribute.
const USUAL_SHARED: usize = 48 << 10;

/// The GPUs that are open, by number. All handles of a GPU share its kernels.
static OPEN: Mutex<Vec<(usize, Weak<Cuda>)>> = Mutex::new(Vec::new());

fn lock<X>(mutex: &Mutex<X>) -> MutexGuard<'_, X> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    /// Ten times the compute capability.
    capability: i32,
    limits: Limits,
    name: String,
    /// All kernels, if they were compiled with this crate for this GPU.
    prebuilt: Option<sys::CUmodule>,
    /// The kernels that were launched before. Threads that need the same kernel wait for each other while it is compiled.
    kernels: Mutex<HashMap<String, Arc<Mutex<Option<Kernel>>>>>,
    /// cuBLAS, opened at its first use.
    cublas: Mutex<Option<Arc<Cublas>>>,
}

#[derive(Clone, Copy)]
struct Kernel {
    /// The module that was loaded for this kernel.
    module: Option<sys::CUmodule>,
    function: sys::CUfunction,
}

// SAFETY: any thread may use the handles of a context while the context is current, see `Entered`.
unsafe impl Send for Cuda {}
// SAFETY: as above; the driver has its own locks.
unsafe impl Sync for Cuda {}

impl Cuda {
    /// Open a GPU, or get it if it is open.
    pub fn open(number: usize) -> Result<Arc<Self>> {
        let mut open = lock(&OPEN);
        open.retain(|(_, gpu)| gpu.strong_count() > 0);
        if let Some(gpu) = open.iter().find(|(known, _)| *known == number).and_then(|(_, gpu)| gpu.upgrade()) {
            return Ok(gpu);
        }
        let gpu = Arc::new(Self::new(number)?);
        open.push((number, Arc::downgrade(&gpu)));
        Ok(gpu)
    }

    fn new(number: usize) -> Result<Self> {
        let no_device = |reason: &str| Error::NoDevice { reason: reason.into() };
        let driver = |error: DriverError| Error::NoDevice { reason: error.to_string() };
        // Without the library, calls of the driver would panic.
        // SAFETY: the call only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(no_device(
                "the library of the NVIDIA driver (libcuda.so.1, nvcuda.dll) was not found; install the driver",
            ));
        }
        result::init().map_err(driver)?;
        let before = result::ctx::get_current().map_err(driver)?;
        let context = CudaContext::new(number).map_err(driver)?;
        // `CudaContext::new` makes the context current.
        // SAFETY: this context was current before.
        unsafe { result::ctx::set_current(before.unwrap_or(core::ptr::null_mut())) }.map_err(driver)?;
        let entered = Entered::new(&context)?;
        let prebuilt = program::PREBUILT.map_or(Ok(None), load_prebuilt)?;
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
        drop(entered);
        Ok(Self {
            context,
            capability: 10 * major + minor,
            limits,
            name,
            prebuilt,
            kernels: Mutex::default(),
            cublas: Mutex::default(),
        })
    }

    /// The kernel with this name, compiled and loaded at its first use.
    fn kernel(&self, name: &str) -> Result<sys::CUfunction> {
        let entry = lock(&self.kernels).entry(name.into()).or_default().clone();
        // Other kernels can be used while this one is compiled.
        let mut entry = lock(&entry);
        if let Some(kernel) = *entry {
            return Ok(kernel.function);
        }
        let compiled = if self.prebuilt.is_some() { None } else { Some(self.compile(name)?) };
        let module = self.prebuilt.or(compiled).expect("a module was prebuilt or compiled");
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
        *entry = Some(Kernel { module: compiled, function });
        Ok(function)
    }

    /// Compile and load a kernel.
    fn compile(&self, name: &str) -> Result<sys::CUmodule> {
        let code = program::compile(name, Architecture::of(self.capability)?)?;
        // SAFETY: this is machine code, or PTX text that ends with a zero byte.
        unsafe { result::module::load_data(code.as_ptr().cast()) }.map_err(failed("cuModuleLoadData"))
    }

    fn enter(&self) -> Result<Entered> {
        Entered::new(&self.context)
    }
}

/// Load the kernels that were compiled with this crate; `None` if there are none for this GPU.
fn load_prebuilt(image: &[u8]) -> Result<Option<sys::CUmodule>> {
    // SAFETY: this is a fat binary from the compiler.
    match unsafe { result::module::load_data(image.as_ptr().cast()) } {
        Ok(module) => Ok(Some(module)),
        Err(DriverError(
            CUDA_ERROR_NO_BINARY_FOR_GPU | CUDA_ERROR_INVALID_PTX | CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        )) => Ok(None),
        Err(error) => Err(failed("cuModuleLoadData")(error)),
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let Ok(_entered) = self.enter() {
            let kernels = core::mem::take(&mut *lock(&self.kernels));
            let compiled = kernels.values().filter_map(|kernel| lock(kernel).and_then(|kernel| kernel.module));
            for module in compiled.chain(self.prebuilt) {
                // SAFETY: `new` or `compile` loaded the module, and no more launches follow. Errors can no longer be
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
        if let Ok(_entered) = Entered::new(&self.context) {
            // SAFETY: `allocate` or `new_stream` made the handle, and it is no longer used.
            unsafe { (self.free)(self.handle) };
        }
    }
}

/// Milliseconds between two events.
///
/// # Safety
/// Both events were recorded and have happened.
unsafe fn elapsed(begin: sys::CUevent, end: sys::CUevent) -> Result<f32> {
    type ElapsedTime = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;
    let call = "cuEventElapsedTime";
    let mut milliseconds = 0.0;
    // The bindings of CUDA 13 have only `cuEventElapsedTime_v2`, which drivers before CUDA 12.8 do not have.
    // SAFETY: the function has this type in all drivers, and the caller's promise.
    let status = unsafe {
        let function = sys::culib().get::<ElapsedTime>(call.as_bytes());
        let function = function.map_err(|error| Error::Device { call, message: error.to_string() })?;
        function(&raw mut milliseconds, begin, end)
    };
    status.result().map_err(failed(call)).map(|()| milliseconds)
}

/// The number of the GPU whose memory has this address; `None` for other addresses, or without a driver.
pub(crate) fn ordinal_of(address: u64) -> Option<usize> {
    // SAFETY: the calls look for the library, and write a number of type `int`.
    unsafe {
        if !sys::is_culib_present() {
            return None;
        }
        result::init().ok()?;
        let mut ordinal: core::ffi::c_int = -1;
        let status =
            sys::cuPointerGetAttribute((&raw mut ordinal).cast(), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
        status.result().ok()?;
        usize::try_from(ordinal).ok()
    }
}

fn stream(handle: u64) -> sys::CUstream {
    core::ptr::with_exposed_provenance_mut(handle as usize)
}

impl Backend for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn number(&self) -> usize {
        self.context.ordinal()
    }

    fn holds(&self, address: u64) -> bool {
        ordinal_of(address) == Some(self.context.ordinal())
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        let _entered = self.enter()?;
        // SAFETY: this allocates memory of this size.
        let handle = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(failed("cuMemAlloc"))?;
        let free = |address| {
            // SAFETY: the memory was allocated above. Errors can no longer be reported.
            _ = unsafe { result::free_sync(address) };
        };
        Ok(HeldResource { handle, owner: Box::new(Owned { context: self.context.clone(), handle, free }) })
    }

    fn allocate_on_host(&self, bytes: usize) -> Result<HeldResource> {
        let _entered = self.enter()?;
        // SAFETY: this allocates memory of this size, and nobody else writes it yet.
        let pointer = unsafe {
            let pointer = result::malloc_host(bytes.max(1), 0).map_err(failed("cuMemHostAlloc"))?;
            pointer.cast::<u8>().write_bytes(0, bytes.max(1));
            pointer
        };
        let handle = pointer.expose_provenance() as u64;
        let free = |address| {
            // SAFETY: the memory was allocated above. Errors can no longer be reported.
            _ = unsafe { result::free_host(core::ptr::with_exposed_provenance_mut(address as usize)) };
        };
        Ok(HeldResource { handle, owner: Box::new(Owned { context: self.context.clone(), handle, free }) })
    }

    fn new_stream(&self) -> Result<HeldResource> {
        let _entered = self.enter()?;
        let pointer =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed("cuStreamCreate"))?;
        let handle = pointer.expose_provenance() as u64;
        let free = |handle| {
            // SAFETY: the stream was created above. Errors can no longer be reported.
            _ = unsafe { result::stream::destroy(stream(handle)) };
        };
        Ok(HeldResource { handle, owner: Box::new(Owned { context: self.context.clone(), handle, free }) })
    }

    fn synchronize(&self, handle: u64) -> Result<()> {
        let _entered = self.enter()?;
        // SAFETY: the stream belongs to this context.
        unsafe { result::stream::synchronize(stream(handle)) }.map_err(failed("cuStreamSynchronize"))
    }

    fn enter_context(&self) -> Result<Box<dyn Any>> {
        Ok(Box::new(self.enter()?))
    }

    fn dense(&self) -> Result<Arc<dyn DenseBatch>> {
        let mut cublas = lock(&self.cublas);
        if cublas.is_none() {
            *cublas = Some(Arc::new(Cublas::open(&self.context)?));
        }
        Ok(cublas.clone().expect("cuBLAS is open"))
    }

    fn wait_for(&self, waiting: u64, other: u64) -> Result<()> {
        let _entered = self.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = event.map_err(failed("cuEventCreate"))?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and streams belong to this context. The driver keeps the event until nothing waits for it.
        unsafe {
            let recorded = result::event::record(event, stream(other)).map_err(failed("cuEventRecord"));
            let waits = recorded.and_then(|()| {
                result::stream::wait_event(stream(waiting), event, flags).map_err(failed("cuStreamWaitEvent"))
            });
            _ = result::event::destroy(event);
            waits
        }
    }

    fn time(&self, handle: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let _entered = self.enter()?;
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
                elapsed(begin, end)
            });
            _ = (result::event::destroy(begin), result::event::destroy(end));
            elapsed.map(|milliseconds| f64::from(milliseconds) * 1e-3)
        }
    }

    unsafe fn clear(&self, handle: u64, address: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.enter()?;
        // SAFETY: the caller's promise.
        unsafe { result::memset_d8_async(address, 0, bytes, stream(handle)) }.map_err(failed("cuMemsetD8Async"))
    }

    unsafe fn write(&self, handle: u64, address: u64, from: &[u8]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let _entered = self.enter()?;
        // SAFETY: the caller's promise; `from` is borrowed until the copy is complete.
        unsafe { result::memcpy_htod_async(address, from, stream(handle)) }.map_err(failed("cuMemcpyHtoDAsync"))?;
        self.synchronize(handle)
    }

    unsafe fn read(&self, handle: u64, address: u64, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        let _entered = self.enter()?;
        // SAFETY: the caller's promise; `to` is borrowed until the copy is complete.
        unsafe { result::memcpy_dtoh_async(to, address, stream(handle)) }.map_err(failed("cuMemcpyDtoHAsync"))?;
        self.synchronize(handle)
    }

    unsafe fn read_later(&self, handle: u64, address: u64, to: u64, bytes: usize) -> Result<()> {
        let _entered = self.enter()?;
        let to = core::ptr::with_exposed_provenance_mut(to as usize);
        // SAFETY: the caller's promise.
        let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(to, address, bytes, stream(handle)) };
        copied.result().map_err(failed("cuMemcpyDtoHAsync"))
    }

    unsafe fn copy(&self, handle: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let _entered = self.enter()?;
        // SAFETY: the caller's promise.
        unsafe { result::memcpy_dtod_async(to, from, bytes, stream(handle)) }.map_err(failed("cuMemcpyDtoDAsync"))
    }

    fn resident(&self, kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        let _entered = self.enter()?;
        let function = self.kernel(kernel)?;
        // SAFETY: the function belongs to a loaded module.
        unsafe { result::occupancy::max_active_block_per_multiprocessor(function, threads as i32, shared) }
            .map(|blocks| blocks as usize)
            .map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    }

    unsafe fn launch(&self, launch: &Launch, mut arguments: Vec<Box<[u64]>>) -> Result<()> {
        let _entered = self.enter()?;
        let mut arguments: Vec<*mut c_void> = arguments.iter_mut().map(|memory| memory.as_mut_ptr().cast()).collect();
        let function = self.kernel(launch.kernel)?;
        let (grid, block, shared) = ((launch.blocks, 1, 1), (launch.threads, 1, 1), launch.shared as u32);
        let stream = stream(launch.stream);
        // SAFETY: the caller's promise.
        unsafe {
            if launch.cooperative {
                return result::launch_cooperative_kernel(function, grid, block, shared, stream, &mut arguments)
                    .map_err(failed("cuLaunchCooperativeKernel"));
            }
            result::launch_kernel(function, grid, block, shared, stream, &mut arguments)
                .map_err(failed("cuLaunchKernel"))
        }
    }
}
