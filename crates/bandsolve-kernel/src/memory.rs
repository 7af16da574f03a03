//! Large arrays.

use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Words of a line of the cache.
const LINE: usize = 8;

/// Arrays that are no longer needed, kept for the next of the same size: fresh memory has to be cleared, by the system page by
/// page if it is large. Clones share what is kept.
#[derive(Debug, Clone, Default)]
pub struct MemoryPool(Arc<Mutex<Vec<Vec<u64>>>>);

impl PartialEq for MemoryPool {
    /// What is kept makes no difference.
    fn eq(&self, _: &MemoryPool) -> bool {
        true
    }
}

impl MemoryPool {
    /// Arrays that are kept at most: four for each part of a band and of its coarse system, and those of a fallback.
    const MOST: usize = 64;
    /// Smaller ones the allocator keeps by itself, and clears soon enough.
    const LEAST: usize = 1 << 12;

    fn take(&self, words: usize) -> Option<Vec<u64>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|array| array.len() == words)?;
        Some(kept.swap_remove(place))
    }

    fn keep(&self, array: Vec<u64>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if size_of_val(&array[..]) >= Self::LEAST && kept.len() < Self::MOST {
            kept.push(array);
        }
    }
}

/// An array that begins with a line of the cache, and goes back to a pool.
#[derive(Debug)]
pub struct Array<T> {
    /// Up to a line longer than needed: asked for a line's alignment, the allocator would clear even what is zero already.
    words: Vec<u64>,
    /// Words before the first line.
    skipped: usize,
    len: usize,
    pool: Option<MemoryPool>,
    of: PhantomData<T>,
}

impl<T: Pod> Array<T> {
    /// `len` numbers, whatever they are; `None` if there is no memory.
    pub fn new(len: usize, pool: Option<&MemoryPool>) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let words = bytes.div_ceil(LINE * size_of::<u64>()) * LINE + LINE - 1;
        let kept = pool.and_then(|pool| pool.take(words));
        let words = kept.or_else(|| zeros(words))?;
        let skipped = words.as_ptr().align_offset(LINE * size_of::<u64>());
        Some(Self { words, skipped, len, pool: pool.cloned(), of: PhantomData })
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.words[self.skipped..][..self.words.len() - LINE + 1])[..self.len]
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let words = self.words.len() - LINE + 1;
        &mut bytemuck::cast_slice_mut(&mut self.words[self.skipped..][..words])[..self.len]
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.keep(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Array, MemoryPool};

    #[test]
    fn zeros_are_zero_and_writable() {
        for n in [0, 1, 1000, 1 << 20] {
            let mut zeros = super::zeros::<f64>(n).unwrap();
            assert!(zeros.len() == n && zeros.iter().all(|v| *v == 0.0));
            zeros.fill(1.0);
        }
        assert!(super::zeros::<f64>(usize::MAX / 4).is_none());
    }

    #[test]
    fn large_arrays_are_kept_for_the_next_of_their_size() {
        let (pool, large) = (MemoryPool::default(), MemoryPool::LEAST / 8);
        let mut array = Array::<f64>::new(large, Some(&pool)).unwrap();
        assert!(array.len() == large && array.as_ptr().addr().is_multiple_of(64));
        array.fill(3.0);
        drop(array);
        assert!(Array::<f64>::new(large + 8, Some(&pool)).unwrap()[0] == 0.0);
        assert!(Array::<f64>::new(large, Some(&pool.clone())).unwrap()[large - 1] == 3.0);
        // Small ones, and too many, are given back.
        drop(Array::<f64>::new(9, Some(&pool)).unwrap());
        let many: Vec<_> = (0..80).map(|k| Array::<f64>::new(large + 8 * k, Some(&pool)).unwrap()).collect();
        drop(many);
        assert!(pool.0.lock().unwrap().len() == MemoryPool::MOST);
    }
}
