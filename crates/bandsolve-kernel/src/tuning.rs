//! The tuning constants of the kernels and threads, with the hardware and the benchmark that determined them.
//!
//! Hardware: Intel Xeon (Cascade Lake, 2.5 GHz, 2 cores, AVX-512). Benchmark: `bandsolve bench tridiagonal`.

/// Minimum number of rows per thread.
pub const MIN_ROWS_PER_THREAD: usize = 8192;

/// The number of tasks for `rows` rows: at most `threads`, each with at least [`MIN_ROWS_PER_THREAD`] rows.
pub fn tasks(threads: usize, rows: usize) -> usize {
    threads.min(rows / MIN_ROWS_PER_THREAD).max(1)
}

/// Largest block size, and largest number of off-diagonals on each side, for elimination on SIMD lanes.
pub const SMALL_BLOCK_MAX: usize = 8;

/// Largest block size for which the next tile is prefetched during the elimination of a tile.
///
/// Time per block row on two threads, with and without prefetching: 41 and 47 ns for blocks of size 2, 105 and 118 ns
/// for size 3, 230 and 229 ns for size 4. For larger blocks, the computation takes longer than the memory access.
pub const ASK_MAX_BLOCK: usize = 3;
