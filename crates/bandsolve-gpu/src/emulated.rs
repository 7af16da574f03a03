//! The emulator, which runs the kernels on the CPU.

use crate::device::{Backend, HeldResource, Launch, Limits};
use bandsolve::Result;
use bandsolve_kernel::arithmetic::Standard;
use core::any::Any;
use core::ffi::{c_char, c_int, c_void};
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
}

impl Emulator {
    pub fn new(how: Emulation) -> Self {
        Self { how }
    }
}

unsafe extern "C" {
    fn emulator_launch(
        name: *const c_char,
        grid: *const u32,
        size: *const u32,
        shared: usize,
        arguments: *mut *mut c_void,
        order: c_int,
        seed: u64,
        resident: u32,
    ) -> c_int;
    fn emulator_allocate(bytes: usize, at_end: c_int, first: *mut *mut c_void) -> *mut c_void;
    fn emulator_free(pages: *mut c_void);
}

/// Memory of the emulator.
struct Pages(*mut c_void);

// SAFETY: this is plain memory, which only the methods of `Backend` access.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `emulator_allocate` returned this pointer.
        unsafe { emulator_free(self.0) }
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
        // SAFETY: `first` is writable.
        let pages = Pages(unsafe { emulator_allocate(bytes, c_int::from(bytes % 32 < 16), &mut first) });
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
            emulator_launch(name.as_ptr(), grid, size, launch.shared, arguments, order as c_int, seed, resident)
        };
        assert!(missing == 0, "no kernel is called {}", launch.kernel);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Device, DeviceVec};
    use std::process::Command;

    /// Run a kernel with one block. Its arguments are arrays, followed by numbers.
    fn run(order: Order, kernel: &str, threads: u32, shared: usize, arrays: &[&DeviceVec<u32>], numbers: &[u32]) {
        let mut addresses: Vec<u64> = arrays.iter().map(|array| array.slice(..).address()).collect();
        let mut numbers = numbers.to_vec();
        let mut arguments: Vec<*mut c_void> =
            addresses.iter_mut().map(|address| core::ptr::from_mut(address).cast()).collect();
        arguments.extend(numbers.iter_mut().map(|number| core::ptr::from_mut(number).cast::<c_void>()));
        let launch = Launch { kernel, blocks: 1, threads, shared, cooperative: false, stream: 0 };
        let emulator = Emulator::new(Emulation { order, ..Emulation::default() });
        // SAFETY: these are the kernels' arguments; the emulator detects the bugs of the broken kernels.
        unsafe { emulator.launch(&launch, &mut arguments) }.unwrap();
    }

    /// Run a broken kernel, in a separate process that the kernel ends.
    fn break_down(kernel: &str) {
        let device = Device::emulated(Emulation::default());
        let out = device.zeros::<u32>(64).unwrap();
        let (threads, shared, numbers): (u32, usize, &[u32]) = match kernel {
            "beyond_the_end" => (1, 0, &[64]),
            "beyond_shared_memory" => (1, 64, &[16]),
            "absent_lane" => (40, 0, &[]),
            _ => (64, 0, &[]),
        };
        run(Order::Forward, kernel, threads, shared, &[&out], numbers);
    }

    const CHILD: &str = "BANDSOLVE_BROKEN_KERNEL";

    #[test]
    fn bugs_end_the_program_with_a_message() {
        if let Ok(kernel) = std::env::var(CHILD) {
            return break_down(&kernel);
        }
        for (kernel, message) in [
            ("divergent_barrier", "__syncthreads() after some threads of the block returned"),
            ("two_barriers", "threads of a block are at different __syncthreads()"),
            ("beyond_the_end", "memory access out of bounds"),
            ("beyond_shared_memory", "memory access out of bounds"),
            ("absent_lane", "shuffle from a lane that does not exist"),
            ("torn_warp", "lanes of a warp wait at different operations"),
            ("waits_for_nobody", "threads spin forever"),
        ] {
            let name = "emulated::tests::bugs_end_the_program_with_a_message";
            let mut child = Command::new(std::env::current_exe().unwrap());
            let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, kernel).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && stderr.contains(message) && stderr.contains(kernel),
                "{kernel}: {stderr}"
            );
        }
    }

    #[test]
    fn a_missing_barrier_shows_in_one_of_the_orders() {
        let device = Device::emulated(Emulation::default());
        let input: Vec<u32> = (0..64).collect();
        let expected: Vec<u32> = (0..64).map(|t| (t + 1) % 64).collect();
        let (given, out) = (device.upload(&input).unwrap(), device.zeros::<u32>(64).unwrap());
        let is_correct = |order, wait: u32| {
            run(order, "no_barrier", 64, 256, &[&given, &out], &[wait]);
            out.download().unwrap() == expected
        };
        let orders = [Order::Forward, Order::Reverse, Order::Random];
        assert!(orders.into_iter().all(|order| is_correct(order, 1)));
        assert!(!orders.into_iter().all(|order| is_correct(order, 0)));
    }
}
