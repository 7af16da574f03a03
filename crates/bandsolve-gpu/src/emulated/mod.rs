//! The emulator, which runs the kernels on the CPU.

mod batch;
mod dense;
mod library;
mod queue;
mod streams;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use tests::watched;

use crate::dense::DenseBatch;
use crate::device::{Backend, HeldResource, Launch, Limits};
use bandsolve::{Error, Result};
use core::any::Any;
use core::ffi::{c_int, c_void};
use dense::EmulatedDense;
use library::{EmulatorLibrary, at};
use queue::{QueuedKernel, StreamQueue, Work};
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use streams::EmulatedStreams;

/// The order in which blocks, and the threads of a block, run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The first thread first.
    #[default]
    Forward,
    /// The last thread first.
    Reverse,
    /// A random order, which changes in every round.
    Random,
}

/// The lanes of a wave, which is what a multiprocessor runs at a time.
///
/// The kernels work in warps of 32 lanes. A wave of 64 lanes has two warps, which can run the same instruction or different ones.
///
/// # Examples
/// ```
/// use bandsolve_gpu::{Device, Emulation, WaveSize};
///
/// let device = Device::emulated(Emulation { wave: WaveSize::Lanes64, ..Emulation::default() });
/// let numbers = device.upload(&[1.0, 2.0]).unwrap();
/// assert_eq!(numbers.download().unwrap(), [1.0, 2.0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WaveSize {
    /// A wave is a warp of 32 lanes, which run independently, as on NVIDIA GPUs.
    #[default]
    Lanes32,
    /// A wave has 64 lanes, as on AMD Instinct GPUs. Votes of a wave contain those of both warps. A lane that waits in a loop stops the
    /// other lanes of its wave, so it must not wait for one of them.
    Lanes64,
}

impl WaveSize {
    /// The number of lanes of a wave.
    pub fn lanes(self) -> usize {
        match self {
            Self::Lanes32 => 32,
            Self::Lanes64 => 64,
        }
    }
}

/// Options of the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emulation {
    /// The order of threads and blocks.
    pub order: Order,
    /// Seed of random orders.
    pub seed: u64,
    /// Number of blocks that run at the same time.
    pub resident: u32,
    /// Number of multiprocessors that the device reports.
    pub multiprocessors: usize,
    /// Bytes of memory that the device reports.
    pub memory: usize,
    /// Lanes of a wave.
    pub wave: WaveSize,
}

impl Default for Emulation {
    fn default() -> Self {
        Self {
            order: Order::Forward,
            seed: 1,
            resident: 4,
            multiprocessors: 1,
            memory: 1 << 30,
            wave: WaveSize::default(),
        }
    }
}

pub(crate) struct Emulator {
    how: Emulation,
    streams: Arc<EmulatedStreams>,
}

impl Emulator {
    pub fn new(how: Emulation) -> Self {
        Self::of(how, EmulatorLibrary::LINKED)
    }

    /// An emulator that also finds data races.
    #[cfg(feature = "races")]
    pub fn with_races(how: Emulation) -> Self {
        Self::of(how, EmulatorLibrary::with_races())
    }

    fn of(how: Emulation, library: EmulatorLibrary) -> Self {
        let queue = Mutex::new(StreamQueue::new(how.order, how.seed));
        Self { how, streams: Arc::new(EmulatedStreams { how, library, queue, allocations: Mutex::default() }) }
    }
}

impl Emulator {
    /// Check the limits of the device, as a launch of CUDA does.
    fn check(&self, launch: &Launch) -> Result<()> {
        let Launch { kernel, blocks, threads, shared, cooperative, .. } = *launch;
        let limits = self.limits();
        let within = |what: &str, number: usize, most: usize| match number <= most {
            true => Ok(()),
            false => {
                let message = format!("kernel {kernel} has {number} {what}, expected at most {most}");
                Err(Error::Device { call: "launch", message })
            }
        };
        within("blocks", blocks as usize, i32::MAX as usize)?;
        within("threads per block", threads as usize, 1024)?;
        within("bytes of shared memory per block", shared, limits.shared_per_block)?;
        let together = limits.multiprocessors * self.resident(kernel, threads, shared)?;
        within("blocks that wait for each other", if cooperative { blocks as usize } else { 0 }, together)
    }
}

/// Shared memory that a device reserves for itself in each block.
const RESERVED: usize = 1 << 10;

/// Memory of the emulator.
struct Pages {
    pages: *mut c_void,
    address: u64,
    bytes: usize,
    streams: Arc<EmulatedStreams>,
}

// SAFETY: this is plain memory, which only the methods of `Backend` access.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        self.streams.finish_users(self.address, self.bytes);
        self.streams.allocations().remove(&self.address);
        // SAFETY: the same library allocated these pages, and no work uses them.
        unsafe { (self.streams.library.free)(self.pages) }
    }
}

impl Backend for Emulator {
    fn name(&self) -> String {
        "emulated".into()
    }

    fn number(&self) -> usize {
        0
    }

    fn holds(&self, address: u64) -> bool {
        self.streams.allocations().iter().any(|(first, bytes)| (*first..first + *bytes as u64).contains(&address))
    }

    fn limits(&self) -> Limits {
        // Somewhat less shared memory than the smallest GPUs in use, so that tests include smaller partitions. The number of
        // multiprocessors is small, so that small systems use all of them.
        let shared = 96 << 10;
        Limits {
            shared_per_block: shared - RESERVED,
            shared_per_multiprocessor: shared,
            multiprocessors: self.how.multiprocessors,
            memory: self.how.memory,
        }
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        let mut first = core::ptr::null_mut();
        // The emulator detects accesses beyond the end. For half of all sizes, it detects accesses before the beginning
        // instead.
        let pages = (self.streams.library.allocate)(bytes, c_int::from(bytes % 32 < 16), &mut first);
        let address = first.expose_provenance() as u64;
        self.streams.allocations().insert(address, bytes);
        let owner = Pages { pages, address, bytes, streams: self.streams.clone() };
        Ok(HeldResource { handle: address, owner: Box::new(owner) })
    }

    fn allocate_on_host(&self, bytes: usize) -> Result<HeldResource> {
        let memory = self.allocate(bytes)?;
        // SAFETY: the memory is new.
        unsafe { at(memory.handle).write_bytes(0, bytes) }
        Ok(memory)
    }

    fn new_stream(&self) -> Result<HeldResource> {
        Ok(HeldResource { handle: self.streams.queue().number(), owner: Box::new(()) })
    }

    fn synchronize(&self, stream: u64) -> Result<()> {
        self.streams.finish(stream);
        Ok(())
    }

    fn enter_context(&self) -> Result<Box<dyn Any>> {
        Ok(Box::new(()))
    }

    fn dense(&self) -> Result<Arc<dyn DenseBatch>> {
        Ok(Arc::new(EmulatedDense(self.streams.clone())))
    }

    fn wait_for(&self, stream: u64, other: u64) -> Result<()> {
        self.streams.queue().wait_for(stream, other);
        Ok(())
    }

    fn time(&self, stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.streams.finish(stream);
        let start = std::time::Instant::now();
        work()?;
        self.streams.finish(stream);
        Ok(start.elapsed().as_secs_f64())
    }

    unsafe fn clear(&self, stream: u64, address: u64, bytes: usize) -> Result<()> {
        self.streams.queue().push(stream, Work::Clear { address, bytes });
        Ok(())
    }

    unsafe fn write(&self, stream: u64, address: u64, from: &[u8]) -> Result<()> {
        self.streams.finish(stream);
        // SAFETY: here and below, the caller's promise.
        unsafe { at(address).copy_from_nonoverlapping(from.as_ptr(), from.len()) }
        Ok(())
    }

    unsafe fn read(&self, stream: u64, address: u64, to: &mut [u8]) -> Result<()> {
        self.streams.finish(stream);
        // SAFETY: see above.
        unsafe { at(address).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
        Ok(())
    }

    unsafe fn read_later(&self, stream: u64, address: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise. Memory of the emulator is memory of the host.
        unsafe { self.copy(stream, address, to, bytes) }
    }

    unsafe fn copy(&self, stream: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        self.streams.queue().push(stream, Work::Copy { from, to, bytes });
        Ok(())
    }

    fn resident(&self, _kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        let by_shared = self.limits().shared_per_multiprocessor / (shared + RESERVED);
        Ok(by_shared.min(2048 / threads as usize))
    }

    unsafe fn launch(&self, launch: &Launch, arguments: Vec<Box<[u64]>>) -> Result<()> {
        self.check(launch)?;
        let name = CString::new(launch.kernel).expect("a kernel name has no zero bytes");
        let Launch { blocks, threads, shared, .. } = *launch;
        let resident = if launch.cooperative { launch.blocks } else { self.how.resident };
        let kernel = QueuedKernel { name, blocks, threads, shared, resident, arguments };
        self.streams.queue().push(launch.stream, Work::Launch(kernel));
        Ok(())
    }
}
