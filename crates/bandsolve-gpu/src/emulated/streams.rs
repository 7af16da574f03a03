//! The streams of an emulated device.

use super::Emulation;
use super::library::{EmulatorLibrary, at};
use super::queue::{QueuedKernel, StreamQueue, Work};
use bandsolve_kernel::arithmetic::Standard;
use core::ffi::{c_int, c_void};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The streams of a device, whose work runs when somebody waits for it.
pub struct EmulatedStreams {
    pub how: Emulation,
    pub library: EmulatorLibrary,
    pub queue: Mutex<StreamQueue>,
    /// The allocations: first address and bytes.
    pub allocations: Mutex<HashMap<u64, usize>>,
}

impl EmulatedStreams {
    pub fn queue(&self) -> MutexGuard<'_, StreamQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn allocations(&self) -> MutexGuard<'_, HashMap<u64, usize>> {
        self.allocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Run the work on a stream, and perhaps other work.
    pub fn finish(&self, stream: u64) {
        let mut queue = self.queue();
        while let Some(work) = queue.next(stream) {
            self.run(work);
        }
    }

    /// Run all work that may use some of these bytes.
    pub fn finish_users(&self, address: u64, bytes: usize) {
        let mut queue = self.queue();
        while let Some(stream) = queue.user_of(address, bytes) {
            queue.next(stream).into_iter().for_each(|work| self.run(work));
        }
    }

    fn run(&self, work: Work) {
        match work {
            Work::Launch(kernel) => self.run_kernel(kernel),
            Work::Batch(batch) => {
                // The floating-point mode of the host does not matter.
                let _mode = Standard::enter();
                // SAFETY: who enqueued the operation promised that the blocks exist.
                unsafe { batch.run() }
            }
            // SAFETY: who enqueued the work promised that the bytes exist.
            Work::Clear { address, bytes } => unsafe { at(address).write_bytes(0, bytes) },
            // SAFETY: see above.
            Work::Copy { from, to, bytes } => unsafe { at(to).copy_from(at(from), bytes) },
            Work::Wait { .. } => {}
        }
    }

    fn run_kernel(&self, mut kernel: QueuedKernel) {
        // The floating-point mode of the host does not matter.
        let _mode = Standard::enter();
        let (grid, size) = ([kernel.blocks, 1, 1], [kernel.threads, 1, 1]);
        let mut arguments: Vec<*mut c_void> =
            kernel.arguments.iter_mut().map(|memory| memory.as_mut_ptr().cast()).collect();
        let Emulation { order, seed, wave, .. } = self.how;
        let lanes = wave.lanes() as u32;
        // SAFETY: who enqueued the kernel promised that these are its arguments; grid and size have three numbers each.
        let missing = unsafe {
            let (name, grid, size, arguments) =
                (kernel.name.as_ptr(), grid.as_ptr(), size.as_ptr(), arguments.as_mut_ptr());
            (self.library.launch)(
                name,
                grid,
                size,
                kernel.shared,
                arguments,
                order as c_int,
                seed,
                kernel.resident,
                lanes,
            )
        };
        assert!(missing == 0, "no kernel is called {:?}", kernel.name);
    }
}
