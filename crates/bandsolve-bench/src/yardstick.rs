//! The yardstick: the time to move the words of a solve through memory.
//!
//! A tridiagonal solve reads four arrays, once or twice, and writes x once. The yardstick sums each array as often and fills x once, with the
//! same n and the same number of threads.

use bandsolve::RealScalar;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Name in the tables.
pub const NAME: &str = "yardstick";

/// How often a solver reads the arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// A batch reads them once.
    One,
    /// A solver with partitions reads them twice.
    Two,
}

impl Passes {
    /// The number of passes.
    fn count(self) -> usize {
        match self {
            Passes::One => 1,
            Passes::Two => 2,
        }
    }

    /// Words per row that the yardstick moves.
    pub fn words(self) -> usize {
        4 * self.count() + 1
    }
}

/// The two ways to write x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Through the caches: the CPU reads every cache line before it writes to it.
    Plain,
    /// Bypass the caches with streaming stores.
    Streaming,
}

impl Store {
    /// The ways that this architecture supports.
    pub const ALL: &[Store] =
        if cfg!(target_arch = "x86_64") { &[Store::Plain, Store::Streaming] } else { &[Store::Plain] };
}

/// Number types with streaming stores.
pub trait Word: RealScalar {
    /// A vector register with `v` in all lanes.
    #[cfg(target_arch = "x86_64")]
    fn splat(v: Self) -> core::arch::x86_64::__m128i;
}

impl Word for f32 {
    #[cfg(target_arch = "x86_64")]
    fn splat(v: f32) -> core::arch::x86_64::__m128i {
        use core::arch::x86_64::{_mm_castps_si128, _mm_set1_ps};
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castps_si128(_mm_set1_ps(v)) }
    }
}

impl Word for f64 {
    #[cfg(target_arch = "x86_64")]
    fn splat(v: f64) -> core::arch::x86_64::__m128i {
        use core::arch::x86_64::{_mm_castpd_si128, _mm_set1_pd};
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_castpd_si128(_mm_set1_pd(v)) }
    }
}

/// Move the words of every row, and return the time.
pub fn move_words<T: Word>(
    passes: Passes,
    arrays: [&[T]; 4],
    x: &mut [T],
    (store, threads): (Store, usize),
) -> Duration {
    let started = Instant::now();
    for _pass in 0..passes.count() {
        black_box(read(black_box(arrays), threads));
    }
    write(x, store, threads);
    started.elapsed()
}

/// Memory bandwidth with this number of threads in GB/s, from the shortest of three runs per store.
pub fn bandwidth(threads: usize) -> f64 {
    // 4 Mi rows are 160 MiB, more than most caches.
    let n = 1 << 22;
    let arrays = [(); 4].map(|()| vec![1.0_f64; n]);
    let mut x = vec![0.0; n];
    let mut once = |store| move_words(Passes::Two, arrays.each_ref().map(|array| &array[..]), &mut x, (store, threads));
    let times = Store::ALL.iter().flat_map(|store| [(); 3].map(|()| once(*store)));
    let best = times.min().unwrap_or_default();
    (Passes::Two.words() * n * size_of::<f64>()) as f64 / best.as_nanos() as f64
}

/// Read all arrays once. Returns the sum, so that the compiler keeps the reads.
pub fn read<T: Word>(arrays: [&[T]; 4], threads: usize) -> T {
    if threads <= 1 {
        return sum(arrays);
    }
    let share = arrays[0].len() * (threads / 2) / threads;
    let halves = arrays.map(|a| a.split_at(share));
    let (a, b) =
        rayon::join(|| read(halves.map(|h| h.0), threads / 2), || read(halves.map(|h| h.1), threads - threads / 2));
    a + b
}

/// The sum of four arrays of the same length, in four independent chains each. 16 chains fit in the registers of any x86-64 CPU, and hide
/// the latency of the additions, so memory limits the speed.
fn sum<T: Word>(arrays: [&[T]; 4]) -> T {
    const CHAINS: usize = 4;
    let [(a, rest_a), (b, rest_b), (c, rest_c), (d, rest_d)] = arrays.map(|array| array.as_chunks::<CHAINS>());
    let mut sums = [[T::ZERO; CHAINS]; 4];
    let add = |sums: &mut [T; CHAINS], chunk: &[T; CHAINS]| (0..CHAINS).for_each(|i| sums[i] += chunk[i]);
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        add(&mut sums[0], a);
        add(&mut sums[1], b);
        add(&mut sums[2], c);
        add(&mut sums[3], d);
    }
    let rest = [rest_a, rest_b, rest_c, rest_d].into_iter().flatten();
    sums.iter().flatten().chain(rest).fold(T::ZERO, |total, v| total + *v)
}

/// Fill x.
fn write<T: Word>(x: &mut [T], store: Store, threads: usize) {
    if threads <= 1 {
        return match store {
            Store::Plain => fill(black_box(x)),
            Store::Streaming => stream(x),
        };
    }
    let (a, b) = x.split_at_mut(x.len() * (threads / 2) / threads);
    rayon::join(|| write(a, store, threads / 2), || write(b, store, threads - threads / 2));
}

fn fill<T: Word>(x: &mut [T]) {
    x.fill(T::ONE);
}

#[cfg(target_arch = "x86_64")]
fn stream<T: Word>(x: &mut [T]) {
    use core::arch::x86_64::{__m128i, _mm_sfence, _mm_stream_si128};
    let ones = T::splat(T::ONE);
    // SAFETY: T is f32 or f64, for which every bit pattern is valid, so whole registers may be written over the entries.
    let (head, body, tail) = unsafe { x.align_to_mut::<__m128i>() };
    fill(head);
    for register in body {
        // SAFETY: the address is valid and aligned, and SSE2 is part of x86-64.
        unsafe { _mm_stream_si128(register, ones) };
    }
    fill(tail);
    // SAFETY: the fence only orders the streaming stores before later stores, and accesses no memory.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn stream<T: Word>(x: &mut [T]) {
    fill(x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_read_and_written() {
        for threads in [1, 2, 3] {
            for n in [0_usize, 1, 31, 32, 100] {
                let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
                let total = (4 * n * n.saturating_sub(1) / 2) as f64;
                assert_eq!(read([&a, &a, &a, &a], threads), total, "{n} rows, {threads} threads");
                for store in Store::ALL {
                    let mut x = vec![0.0_f32; n];
                    write(&mut x, *store, threads);
                    assert!(x.iter().all(|v| *v == 1.0), "{n} rows, {threads} threads, {store:?}");
                }
            }
        }
    }
}
