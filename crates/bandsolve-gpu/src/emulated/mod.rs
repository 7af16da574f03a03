//! The emulator, which runs the kernels on the CPU.

mod library;
#[cfg(test)]
mod tests;

use crate::device::{Backend, HeldResource, Launch, Limits};
use bandsolve::Result;
use bandsolve_kernel::arithmetic::Standard;
use core::any::Any;
use core::ffi::{c_int, c_void};
use library::Library;
use std::ffi::CString;

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
}

impl Default for Emulation {
    fn default() -> Self {
        Self { order: Order::Forward, seed: 1, resident: 4, multiprocessors: 1, memory: 1 << 30 }
    }
}

pub(crate) struct Emulator {
    how: Emulation,
    library: Library,
}

impl Emulator {
    pub fn new(how: Emulation) -> Self {
        Self { how, library: Library::LINKED }
    }

    /// An emulator that also finds data races.
    #[cfg(feature = "races")]
    pub fn with_races(how: Emulation) -> Self {
        Self { how, library: Library::with_races() }
    }
}

/// Memory of the emulator.
struct Pages {
    pages: *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: this is plain memory, which only the methods of `Backend` access.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the same library allocated these pages.
        unsafe { (self.free)(self.pages) }
    }
}

fn at(address: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(address as usize)
}

impl Backend for Emulator {
    fn name(&self) -> String {
        "emulated".into()
    }

    fn limits(&self) -> Limits {
        // The shared memory of the smallest GPUs in use, so that tests include smaller partitions. The number of
        // multiprocessors is small, so that small systems use all of them.
        let shared = 96 << 10;
        Limits {
            shared_per_block: shared,
            shared_per_multiprocessor: shared,
            multiprocessors: self.how.multiprocessors,
            memory: self.how.memory,
        }
    }

    fn allocate(&self, bytes: usize) -> Result<HeldResource> {
        let mut first = core::ptr::null_mut();
        // The emulator detects accesses beyond the end. For half of all sizes, it detects accesses before the beginning
        // instead.
        let pages = (self.library.allocate)(bytes, c_int::from(bytes % 32 < 16), &mut first);
        let pages = Pages { pages, free: self.library.free };
        Ok(HeldResource { handle: first.expose_provenance() as u64, owner: Box::new(pages) })
    }

    fn new_stream(&self) -> Result<HeldResource> {
        Ok(HeldResource { handle: 0, owner: Box::new(()) })
    }

    fn synchronize(&self, _stream: u64) -> Result<()> {
        Ok(())
    }

    fn enter_context(&self) -> Result<Box<dyn Any>> {
        Ok(Box::new(()))
    }

    fn wait_for(&self, _stream: u64, _other: u64) -> Result<()> {
        Ok(())
    }

    fn time(&self, _stream: u64, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let start = std::time::Instant::now();
        work()?;
        Ok(start.elapsed().as_secs_f64())
    }

    unsafe fn clear(&self, _stream: u64, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: here and below, the caller's promise.
        unsafe { at(address).write_bytes(0, bytes) }
        Ok(())
    }

    unsafe fn write(&self, _stream: u64, address: u64, from: &[u8]) -> Result<()> {
        // SAFETY: see above.
        unsafe { at(address).copy_from_nonoverlapping(from.as_ptr(), from.len()) }
        Ok(())
    }

    unsafe fn read(&self, _stream: u64, address: u64, to: &mut [u8]) -> Result<()> {
        // SAFETY: see above.
        unsafe { at(address).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
        Ok(())
    }

    unsafe fn copy(&self, _stream: u64, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: see above.
        unsafe { at(to).copy_from(at(from), bytes) }
        Ok(())
    }

    fn resident(&self, _kernel: &str, threads: u32, shared: usize) -> Result<usize> {
        Ok((2048 / threads as usize).min(self.limits().shared_per_multiprocessor / shared.max(1)))
    }

    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()> {
        // The floating-point mode of the host does not matter.
        let _mode = Standard::enter();
        let name = CString::new(launch.kernel).expect("a kernel name has no zero bytes");
        let (grid, size) = ([launch.blocks, 1, 1], [launch.threads, 1, 1]);
        let Emulation { order, seed, resident, .. } = self.how;
        let resident = if launch.cooperative { launch.blocks } else { resident };
        // SAFETY: the caller's promise; grid and size have three numbers each.
        let missing = unsafe {
            let (grid, size, arguments) = (grid.as_ptr(), size.as_ptr(), arguments.as_mut_ptr());
            (self.library.launch)(name.as_ptr(), grid, size, launch.shared, arguments, order as c_int, seed, resident)
        };
        assert!(missing == 0, "no kernel is called {}", launch.kernel);
        Ok(())
    }
}
