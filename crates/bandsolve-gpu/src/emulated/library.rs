//! The functions of the emulator, which is C++: linked to this crate, or from the library that also finds data races.

use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    safe fn emulator_allocate(bytes: usize, at_end: c_int, first: &mut *mut c_void) -> *mut c_void;
    fn emulator_free(pages: *mut c_void);
    fn emulator_launch(
        name: *const c_char,
        grid: *const u32,
        size: *const u32,
        shared: usize,
        arguments: *mut *mut c_void,
        order: c_int,
        seed: u64,
        resident: u32,
        wave: u32,
    ) -> c_int;
}

type Allocate = extern "C" fn(usize, c_int, &mut *mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type LaunchKernel =
    unsafe extern "C" fn(*const c_char, *const u32, *const u32, usize, *mut *mut c_void, c_int, u64, u32, u32) -> c_int;

/// The memory at an address of an emulated device.
pub fn at(address: u64) -> *mut u8 {
    core::ptr::with_exposed_provenance_mut(address as usize)
}

/// The functions of the emulator.
#[derive(Clone, Copy)]
pub struct EmulatorLibrary {
    /// Allocate memory of this size, and write its address. A protected page begins after its end if the number is 1, and ends at its
    /// beginning otherwise. Returns what `free` takes.
    pub allocate: Allocate,
    pub free: Free,
    /// Run a kernel: name, grid, block, bytes of shared memory, arguments, order, seed, blocks that run at the same time, and lanes of a
    /// wave (32 or 64). Returns 1 if no kernel has this name.
    pub launch: LaunchKernel,
}

impl EmulatorLibrary {
    /// The emulator that is linked to this crate.
    pub const LINKED: Self = Self { allocate: emulator_allocate, free: emulator_free, launch: emulator_launch };

    /// The emulator that finds data races.
    ///
    /// # Panics
    /// If the library, which the build wrote, no longer exists.
    #[cfg(feature = "races")]
    pub fn with_races() -> Self {
        static OPEN: std::sync::LazyLock<libloading::Library> = std::sync::LazyLock::new(|| {
            let path = concat!(env!("OUT_DIR"), "/libraces.so");
            // SAFETY: the build of this crate wrote the library, whose initialization does nothing.
            unsafe { libloading::Library::new(path) }.unwrap_or_else(|error| panic!("{path}: {error}"))
        });
        // SAFETY: the library has these functions with these types, as it is compiled from the same files. It is never closed.
        unsafe {
            Self {
                allocate: *OPEN.get::<Allocate>("emulator_allocate").expect("the library has this function"),
                free: *OPEN.get::<Free>("emulator_free").expect("the library has this function"),
                launch: *OPEN.get::<LaunchKernel>("emulator_launch").expect("the library has this function"),
            }
        }
    }
}
