//! Memory that is watched: tests count allocations, or let them fail one after the other.
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

/// The system's allocator. It counts the allocations of each thread, and makes the one fail that [`fail_each`] names.
pub struct WatchedMemory;

/// The allocation that fails: those of at least `BYTES` bytes are counted down to it. 0 while none is to fail.
static COUNTDOWN: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
/// Whether an allocation has failed since the last look.
static FAILED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

impl WatchedMemory {
    /// Counts an allocation; whether it is to fail.
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

// SAFETY: all is left to the system's allocator. A null pointer says that there is no memory, as the trait allows.
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

/// Runs `work` again and again. In run k, the k-th allocation of at least `bytes` bytes fails, on whichever thread it is. Ends with
/// the first run in which there are fewer, and returns the number of runs that returned [`Error::OutOfMemory`].
///
/// Choose `bytes` below the smallest array that grows with the problem, and above all that do not. With the environment variable
/// `BANDSOLVE_TRACE_ALLOCATIONS` set, each failure prints where it was.
///
/// # Panics
/// If `work` returns another error, or fails although all memory was there. If `work` uses memory without looking whether it is there,
/// the process aborts; the last line printed then names the run.
pub fn fail_each<R>(what: &str, bytes: usize, mut work: impl FnMut() -> Result<R, Error>) -> usize {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // What is made once in a process, and with it the threads.
    assert!(work().is_ok(), "{what} fails although there is memory");
    let mut refused = 0;
    for k in 1.. {
        // (Only the end of the process leaves this line to be read.)
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
