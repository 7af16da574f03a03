//! Prefetching of memory that later steps need.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64;

/// Several arrays that are prefetched into the second-level cache part by part, during other computations.
///
/// A processor can load only a few cache lines at the same time. It would wait if everything were prefetched at once.
pub struct Prefetcher {
    /// Address of the first byte, and length in bytes.
    arrays: [(*const u8, usize); PREFETCHED_ARRAYS],
    /// Number of cache lines of a part.
    part: usize,
    /// The next position: array and byte.
    next: (usize, usize),
}

/// Number of arrays that are prefetched at the same time.
const PREFETCHED_ARRAYS: usize = 3;
/// Bytes of a cache line.
pub const CACHE_LINE_BYTES: usize = 64;

impl Prefetcher {
    /// Prefetch these arrays in `parts` parts.
    #[inline(always)]
    pub fn new<T>(arrays: [&[T]; PREFETCHED_ARRAYS], parts: usize) -> Self {
        let arrays = arrays.map(|array| (array.as_ptr().cast::<u8>(), size_of_val(array)));
        let bytes: usize = arrays.iter().map(|(_, bytes)| bytes).sum();
        Self { arrays, part: bytes.div_ceil(CACHE_LINE_BYTES * parts.max(1)), next: (0, 0) }
    }

    /// Prefetch nothing.
    pub fn none() -> Self {
        Self::new::<u8>([&[]; PREFETCHED_ARRAYS], 1)
    }

    /// Prefetch the next part, if there is one.
    #[inline(always)]
    pub fn prefetch_next(&mut self) {
        let mut lines = self.part;
        while self.next.0 < PREFETCHED_ARRAYS {
            let ((first, bytes), (_, from)) = (self.arrays[self.next.0], self.next);
            let end = bytes.min(from + lines * CACHE_LINE_BYTES);
            for byte in (from..end).step_by(CACHE_LINE_BYTES) {
                prefetch_second_level(first.wrapping_add(byte));
            }
            lines -= (end - from).div_ceil(CACHE_LINE_BYTES);
            if end < bytes {
                self.next.1 = end;
                return;
            }
            self.next = (self.next.0 + 1, 0);
        }
    }
}

/// Prefetch the cache line at `p`. Any address is allowed.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        x86_64::_mm_prefetch::<{ x86_64::_MM_HINT_T0 }>(p.cast())
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) p, options(readonly, nostack, preserves_flags))
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = p;
}

/// Prefetch the cache line at `p` into the second-level cache only. Any address is allowed.
#[inline(always)]
pub fn prefetch_second_level<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        x86_64::_mm_prefetch::<{ x86_64::_MM_HINT_T1 }>(p.cast())
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a hint, which never faults.
    unsafe {
        core::arch::asm!("prfm pldl2keep, [{}]", in(reg) p, options(readonly, nostack, preserves_flags))
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = p;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_asked_for_in_as_many_parts_as_were_said() {
        let memory = vec![0_u64; 1000];
        for cuts in [[0, 0], [0, 10], [5, 5], [1, 999], [300, 700], [1000, 1000]] {
            for parts in [1, 2, 3, 17, 1000] {
                let arrays = [&memory[..cuts[0]], &memory[cuts[0]..cuts[1]], &memory[cuts[1]..]];
                let mut prefetcher = Prefetcher::new(arrays, parts);
                (0..parts).for_each(|_| prefetcher.prefetch_next());
                // Every array can end within a line.
                (0..PREFETCHED_ARRAYS).for_each(|_| prefetcher.prefetch_next());
                assert_eq!(prefetcher.next, (PREFETCHED_ARRAYS, 0), "{cuts:?}, {parts} parts");
                prefetcher.prefetch_next();
            }
        }
        let mut nothing = Prefetcher::new::<f64>([&[], &[], &[]], 4);
        nothing.prefetch_next();
        assert_eq!(nothing.next, (PREFETCHED_ARRAYS, 0));
    }
}
