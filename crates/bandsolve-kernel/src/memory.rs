//! Allocation of large arrays.

use bytemuck::Pod;
use core::fmt::{self, Debug, Formatter};
use core::hint::black_box;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::{Arc, Mutex, PoisonError};

/// Arrays of at least this number of bytes request huge pages.
const HUGE: usize = 4 << 20;

/// `n` zeros, or `None` if there is not enough memory. The thread that first writes a page makes the system provide it.
pub fn zeros<T: Pod>(n: usize) -> Option<Vec<T>> {
    // SAFETY: the size is not zero.
    allocated(n, |layout| unsafe { alloc_zeroed(layout) })
}

/// `n` arbitrary values, or `None` if there is not enough memory. Memory that the process has used before is not cleared.
fn arbitrary<T: Pod>(n: usize) -> Option<Vec<T>> {
    allocated(n, arbitrary_bytes)
}

/// `n` values in memory from `allocate`, which initializes it or returns null. The size is not zero.
fn allocated<T: Pod>(n: usize, allocate: impl FnOnce(Layout) -> *mut u8) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(n).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    let memory = allocate(layout);
    if memory.is_null() {
        return None;
    }
    if layout.size() >= HUGE {
        ask_for_huge_pages(memory, layout.size());
    }
    // SAFETY: allocated by the global allocator with the layout of an array of n elements. All bytes are initialized, and all bytes are
    // valid elements.
    let values = unsafe { Vec::from_raw_parts(memory.cast::<T>(), n, n) };
    leaves_room(layout.size()).then_some(values)
}

/// New memory, or null. Each byte has some value, which must be written before it is read: an allocator may give memory that the system
/// clears later.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn arbitrary_bytes(layout: Layout) -> *mut u8 {
    // SAFETY: the size is not zero. For the compiler, the empty assembly block may write all bytes of the memory, which it owns through
    // the pointer. They are therefore initialized, with values that are unknown.
    unsafe {
        let memory = std::alloc::alloc(layout);
        core::arch::asm!("/* {0} */", in(reg) memory, options(nostack, preserves_flags));
        memory
    }
}

/// New memory, or null. Each byte has some value.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
fn arbitrary_bytes(layout: Layout) -> *mut u8 {
    // SAFETY: the size is not zero.
    unsafe { alloc_zeroed(layout) }
}

/// Whether an array of this number of bytes, just allocated, has left memory for everything small.
///
/// Small allocations are not checked one by one: tasks, boxes and lists abort the process where there is no memory. A
/// large array that would take the last of it is therefore given up, and reported as the error that it is.
pub fn leaves_room(bytes: usize) -> bool {
    const SMALL: usize = 2 << 20;
    bytes < HUGE || black_box(Vec::<u8>::new()).try_reserve_exact(black_box(SMALL)).is_ok()
}

/// Request huge pages if the system provides them on request only. There is then one page fault per 2 MiB instead of
/// one per 4 KiB.
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
    // SAFETY: these are whole pages inside the new array, and the advice changes only how the system provides them.
    _ = unsafe { madvise(memory.wrapping_add(skip).cast(), length, HUGE_PAGES) };
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn ask_for_huge_pages(_memory: *mut u8, _bytes: usize) {}

/// Words per cache line.
const CACHE_LINE_WORDS: usize = 8;

/// A pool of arrays that are no longer used, for reuse with the same size.
///
/// A new large array costs a page fault for each page, which the system clears. Clones share the pool.
#[derive(Debug, Clone, Default)]
pub struct MemoryPool(Arc<Mutex<PooledArrays>>);

#[derive(Debug, Default)]
struct PooledArrays {
    arrays: Vec<Vec<u64>>,
    /// Size of all arrays.
    bytes: usize,
}

impl PartialEq for MemoryPool {
    /// Pools are always equal, because their contents do not affect results.
    fn eq(&self, _: &MemoryPool) -> bool {
        true
    }
}

impl MemoryPool {
    /// Number of arrays of any size in the pool: four for each part of a band and of its coarse system, and those of a fallback.
    const ARRAYS: usize = 64;
    /// Maximum size of a pool with more arrays, for the factors of many partitions.
    const MANY_BYTES: usize = 256 << 20;
    /// Maximum number of arrays in the pool.
    const MAX_ARRAYS: usize = 1 << 12;
    /// Smallest array in the pool. For smaller ones, the allocator is fast enough.
    const MIN_BYTES: usize = 1 << 12;

    fn take(&self, words: usize) -> Option<Vec<u64>> {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pool.arrays.iter().rposition(|array| array.len() == words)?;
        let array = pool.arrays.swap_remove(place);
        pool.bytes -= size_of_val(&array[..]);
        Some(array)
    }

    fn keep(&self, array: Vec<u64>) {
        let bytes = size_of_val(&array[..]);
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let many = pool.arrays.len() < Self::MAX_ARRAYS && pool.bytes + bytes <= Self::MANY_BYTES;
        let fits = bytes >= Self::MIN_BYTES && (pool.arrays.len() < Self::ARRAYS || many);
        // Without memory for a longer list, the array is freed.
        if fits && pool.arrays.try_reserve(1).is_ok() {
            pool.bytes += bytes;
            pool.arrays.push(array);
        }
    }

    /// Free all arrays in the pool. `None` if there are none.
    fn clear(&self) -> Option<()> {
        let pool = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        (pool.bytes > 0).then_some(())
    }
}

/// An array that is aligned to a cache line, and returns its memory to a pool.
pub struct Array<T> {
    /// Up to one cache line longer than needed, for the alignment.
    words: Vec<u64>,
    /// Number of words before the first cache line.
    skipped: usize,
    len: usize,
    pool: Option<MemoryPool>,
    of: PhantomData<T>,
}

impl<T> Debug for Array<T> {
    /// Values are not shown, because they may not have been written yet.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Array of {}", self.len)
    }
}

impl<T: Pod> Array<T> {
    /// An array of `len` numbers with arbitrary values, or `None` if there is not enough memory.
    pub fn new(len: usize, pool: Option<&MemoryPool>) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        let words = bytes.div_ceil(CACHE_LINE_WORDS * size_of::<u64>()) * CACHE_LINE_WORDS + CACHE_LINE_WORDS - 1;
        let reused = pool.and_then(|pool| pool.take(words));
        let after_clearing = || {
            pool?.clear()?;
            arbitrary(words)
        };
        let words = reused.or_else(|| arbitrary(words)).or_else(after_clearing)?;
        let skipped = words.as_ptr().align_offset(CACHE_LINE_WORDS * size_of::<u64>());
        Some(Self { words, skipped, len, pool: pool.cloned(), of: PhantomData })
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words[self.skipped..]);
        bytemuck::cast_slice(&bytes[..self.len * size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[self.skipped..]);
        bytemuck::cast_slice_mut(&mut bytes[..self.len * size_of::<T>()])
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
        assert!(super::zeros::<f64>(usize::MAX / 4).is_none() && Array::<f64>::new(usize::MAX / 16, None).is_none());
    }

    #[test]
    fn large_arrays_are_kept_for_the_next_of_their_size() {
        let (pool, large) = (MemoryPool::default(), MemoryPool::MIN_BYTES / 8);
        let mut array = Array::<f64>::new(large, Some(&pool)).unwrap();
        assert!(array.len() == large && array.as_ptr().addr().is_multiple_of(64));
        array.fill(3.0);
        drop(array);
        let other = Array::<f64>::new(large + 8, Some(&pool)).unwrap();
        assert!(pool.0.lock().unwrap().arrays.len() == 1, "an array of another size was used");
        drop(other);
        assert!(Array::<f64>::new(large, Some(&pool.clone())).unwrap()[large - 1] == 3.0);
        assert!(
            Array::<[f64; 5]>::new(7, None).unwrap().len() == 7,
            "the size of a type need not divide that of the memory"
        );
        // Small arrays are freed, and so are arrays that exceed the capacity of the pool.
        drop(Array::<f64>::new(9, Some(&pool)).unwrap());
        let many: Vec<_> =
            (0..MemoryPool::MAX_ARRAYS + 16).map(|_| Array::<f64>::new(large, Some(&pool)).unwrap()).collect();
        drop(many);
        assert!(pool.0.lock().unwrap().arrays.len() == MemoryPool::MAX_ARRAYS);
        // An array for which there is no memory makes the pool free its own.
        assert!(Array::<f64>::new(1 << 57, Some(&pool)).is_none() && pool.0.lock().unwrap().arrays.is_empty());
    }
}
