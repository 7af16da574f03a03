//! Large arrays of zeros.

use bytemuck::Pod;
use std::alloc::{Layout, alloc_zeroed};

/// Arrays from this size on ask for huge pages.
const HUGE: usize = 4 << 20;

/// `n` zeros, `None` if there is no memory. Pages become real when they are first written, by the thread that writes them.
pub fn zeros<T: Pod>(n: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(n).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    if layout.size() >= HUGE {
        ask_for_huge_pages(memory, layout.size());
    }
    // SAFETY: allocated by the global allocator with the layout of an array of n elements, all of which are valid as zeros.
    Some(unsafe { Vec::from_raw_parts(memory.cast::<T>(), n, n) })
}

/// Faults one page in two megabytes instead of in four kilobytes, where the system does so on request only.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn ask_for_huge_pages(memory: *mut u8, bytes: usize) {
    use core::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }
    const PAGE: usize = 1 << 16; // a multiple of every page size in use
    const HUGE_PAGES: c_int = 14;
    let skip = memory.align_offset(PAGE);
    let length = bytes.saturating_sub(skip) / PAGE * PAGE;
    // SAFETY: whole pages inside of our array; the advice changes nothing but how they are backed.
    _ = unsafe { madvise(memory.wrapping_add(skip).cast(), length, HUGE_PAGES) };
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn ask_for_huge_pages(_memory: *mut u8, _bytes: usize) {}

#[cfg(test)]
mod tests {
    #[test]
    fn zeros_are_zero_and_writable() {
        for n in [0, 1, 1000, 1 << 20] {
            let mut zeros = super::zeros::<f64>(n).unwrap();
            assert!(zeros.len() == n && zeros.iter().all(|v| *v == 0.0));
            zeros.fill(1.0);
        }
        assert!(super::zeros::<f64>(usize::MAX / 4).is_none());
    }
}
