//! Every tuning constant of the kernels and threads, with the hardware and the benchmark that chose it.
//!
//! Chosen on: Intel Xeon (Cascade Lake, 2.5 GHz, 2 cores, AVX-512), `bandsolve bench tridiagonal`.

/// A thread is woken for at least so many rows.
pub const MIN_ROWS_PER_THREAD: usize = 8192;

/// Tasks for `rows` rows: not more than threads, each large enough to wake a thread for it.
pub fn tasks(threads: usize, rows: usize) -> usize {
    threads.min(rows / MIN_ROWS_PER_THREAD).max(1)
}

/// Largest blocks, and numbers of off-diagonals, that are eliminated on SIMD lanes.
pub const SMALL_BLOCK_MAX: usize = 8;

/// The next tile of blocks up to this size is asked for while one is eliminated: 41 against 47 ns a block row of 2, two
/// threads, 105 and 118 of 3. Larger ones are computed with for longer than they take to come: 230 and 229 of 4.
pub const ASK_MAX_BLOCK: usize = 3;
