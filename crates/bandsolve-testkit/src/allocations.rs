//! An allocator for tests that count allocations, or make them fail one after the other.
//!
//! A test binary that uses this module declares the allocator once:
//! ```
//! use bandsolve_testkit::allocations::WatchedMemory;
//! #[global_allocator]
//! static MEMORY: WatchedMemory = WatchedMemory;
//! # fn main() {}
//! ```

#![allow(unsafe_code)] // An allocator is an unsafe trait.

use bandsolve::Error;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// The system's allocator. It counts the allocations of each thread, and makes the allocation fail that [`fail_each`] selects.
pub struct WatchedMemory;

/// The number of allocations of at least `BYTES` bytes until one fails. 0 if none is to fail.
static COUNTDOWN: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// Whether an allocation has failed since the last check.
static FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

impl WatchedMemory {
    /// Count an allocation. Returns whether it is to fail.
    fn fails(layout: Layout) -> bool {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        if layout.size() < BYTES.load(SeqCst) || COUNTDOWN.load(SeqCst) == 0 {
            return false;
        }
        let fails = COUNTDOWN.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) == Ok(1);
        if fails {
            FAILED.store(true, SeqCst);
            if std::env::var_os("BANDSOLVE_TRACE_ALLOCATIONS").is_some() {
                eprintln!("{} bytes fail\n{}", layout.size(), std::backtrace::Backtrace::force_capture());
            }
        }
        fails
    }
}

// SAFETY: all calls go to the system's allocator. The trait allows a null pointer for a failed allocation.
unsafe impl GlobalAlloc for WatchedMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::fails(layout) {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Self::fails(layout) {
            return core::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The number of allocations that this thread has made.
pub fn allocations() -> usize {
    COUNT.get()
}

/// Run `work` repeatedly. In run k, the k-th allocation of at least `bytes` bytes fails, on any thread.
///
/// The loop ends after the first run with fewer allocations. Returns the number of runs that returned [`Error::OutOfMemory`].
///
/// Choose `bytes` less than the size of all arrays that grow with the problem, and greater than the size of all others. If the environment variable
/// `BANDSOLVE_TRACE_ALLOCATIONS` is set, each failed allocation prints its place.
///
/// # Panics
/// If `work` returns another error, or fails without a failed allocation. If `work` does not check an allocation, the process aborts. The last line
/// printed then names the run.
pub fn fail_each<R>(what: &str, bytes: usize, mut work: impl FnMut() -> Result<R, Error>) -> usize {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Run once first: this initializes everything that exists once per process, including the threads.
    assert!(work().is_ok(), "{what} fails although there is memory");
    // A new thread allocates 2 KiB when it first looks for work, and aborts if it gets none. After this call, each thread has found some.
    rayon::broadcast(|_| ());
    let mut refused = 0;
    for k in 1.. {
        // If the process aborts, this is the last line.
        eprintln!("{what}: allocation {k} of at least {bytes} bytes fails");
        BYTES.store(bytes, SeqCst);
        FAILED.store(false, SeqCst);
        COUNTDOWN.store(k, SeqCst);
        let result = work().map(|_| ());
        COUNTDOWN.store(0, SeqCst);
        match (FAILED.load(SeqCst), result) {
            (false, Ok(())) => return refused,
            (true, Ok(())) => {}
            (true, Err(Error::OutOfMemory { .. })) => refused += 1,
            (_, Err(error)) => panic!("{what}, allocation {k} of at least {bytes} bytes: {error}"),
        }
    }
    unreachable!("a run ends without a failure")
}
