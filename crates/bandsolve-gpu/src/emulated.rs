//! The kernels on the CPU.

use crate::device::{Launch, Machine, Memory, Result};
use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;

/// The order in which the threads of a block, and blocks, run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The first thread first.
    #[default]
    Forward,
    /// The last thread first.
    Reverse,
    /// Any, another one each time.
    Random,
}

/// How kernels are emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emulation {
    /// Who runs first.
    pub order: Order,
    /// What random orders follow from.
    pub seed: u64,
    /// Blocks that run at a time.
    pub resident: u32,
}

impl Default for Emulation {
    fn default() -> Self {
        Self { order: Order::Forward, seed: 1, resident: 4 }
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

/// Pages of the emulator, and where in them the memory begins.
struct Pages {
    pages: *mut c_void,
    first: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory, which only `Machine`'s methods touch.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: they come from `emulator_allocate`.
        unsafe { emulator_free(self.pages) }
    }
}

fn pages(memory: &Memory) -> &Pages {
    memory.owner.downcast_ref().expect("memory of the emulator")
}

impl Machine for Emulator {
    fn name(&self) -> String {
        "emulated".into()
    }

    fn shared_limit(&self) -> usize {
        // That of the smallest cards in use, so that tests see how partitions become smaller.
        96 << 10
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let mut first = core::ptr::null_mut();
        // What is read or written beyond its end, or every other time before its beginning, is found out.
        // SAFETY: `first` may be written.
        let pages = unsafe { emulator_allocate(bytes, c_int::from(bytes % 32 < 16), &mut first) };
        let pages = Pages { pages, first: first.cast(), bytes };
        let memory = Memory { address: first.addr() as u64, owner: Box::new(pages) };
        self.clear(&memory, bytes)?;
        Ok(memory)
    }

    fn clear(&self, memory: &Memory, bytes: usize) -> Result<()> {
        let pages = pages(memory);
        assert!(bytes <= pages.bytes);
        // SAFETY: so many bytes are there.
        unsafe { pages.first.write_bytes(0, bytes) }
        Ok(())
    }

    fn write(&self, memory: &Memory, from: &[u8]) -> Result<()> {
        let pages = pages(memory);
        assert!(from.len() <= pages.bytes);
        // SAFETY: so many bytes are there.
        unsafe { pages.first.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
        Ok(())
    }

    fn read(&self, memory: &Memory, to: &mut [u8]) -> Result<()> {
        let pages = pages(memory);
        assert!(to.len() <= pages.bytes);
        // SAFETY: so many bytes are there.
        unsafe { pages.first.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) }
        Ok(())
    }

    fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        let (from, to) = (pages(from), pages(to));
        assert!(bytes <= from.bytes.min(to.bytes));
        // SAFETY: so many bytes are in both.
        unsafe { to.first.copy_from(from.first, bytes) }
        Ok(())
    }

    unsafe fn launch(&self, launch: &Launch, arguments: &mut [*mut c_void]) -> Result<()> {
        let name = CString::new(&*launch.kernel).expect("a name without zeros");
        let (grid, size) = ([launch.blocks, 1, 1], [launch.threads, 1, 1]);
        let Emulation { order, seed, resident } = self.how;
        // SAFETY: the caller's promise; grid and size are three numbers each.
        let missing = unsafe {
            let (grid, size, arguments) = (grid.as_ptr(), size.as_ptr(), arguments.as_mut_ptr());
            emulator_launch(name.as_ptr(), grid, size, launch.shared, arguments, order as c_int, seed, resident)
        };
        assert!(missing == 0, "no kernel is called {}", launch.kernel);
        Ok(())
    }
}
