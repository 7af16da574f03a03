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

/// Maximum number of diagonals on each side of batches of bands: those of block tridiagonal matrices with the largest of these blocks.
pub const BATCH_DIAGONALS: usize = 2 * SMALL_BLOCK_MAX - 1;

/// Largest block size for which the next tile is prefetched during the elimination of a tile.
///
/// Time per block row on two threads, with and without prefetching: 41 and 47 ns for blocks of size 2, 105 and 118 ns
/// for size 3, 230 and 229 ns for size 4. For larger blocks, the computation takes longer than the memory access.
pub const PREFETCH_MAX_BLOCK: usize = 3;

/// Number of bytes of a row that are copied together of an interleaved batch: of several tiles, or of right-hand sides of one matrix. Each row lies in pages
/// of its own, and finding a page costs more than reading some of its lines.
///
/// Time in ns per row for 4096 systems of 256 rows with 2, 4 and 8 diagonals on each side (EPYC with AVX2, one thread): 17, 72 and 166 with 256 bytes and
/// tiles of at most 256 KiB; 12, 50 and 114 with 1 MiB; 11, 49 and 112 with 512 bytes and 2 MiB; 10, 44 and 103 if the systems are contiguous. Tridiagonal
/// systems took the same time with 256, 512 and 1024 bytes, within the noise. With AVX-512 (EPYC, two threads): 2.5, 2.4, 2.2 and 2.6 with 128, 256, 512 and
/// 1024 bytes.
pub const TOGETHER_ROW_BYTES: usize = 512;
/// Maximum size of these tiles of bands, which are copied before the first one is solved: see above.
pub(crate) const TOGETHER_BYTES: usize = 1 << 21;

// The sizes below keep data in the first-level cache, or make a task much longer than its start. They have no recorded measurement.

/// Number of reals of a copied part of A in a dense product C ← C − A·B. With a few columns of B, it fits in the first-level cache. A smaller A fits
/// without a copy.
pub(crate) const COPIED: usize = 3072;
/// Number of columns of C from which rows of A are copied.
pub(crate) const COPIED_FROM: usize = 16;
/// Number of terms of each sum from which C is prefetched.
pub(crate) const PREFETCH_FROM: usize = 16;
/// Distance, in columns, over which L and U of a narrow band are prefetched.
pub(crate) const PREFETCH_COLUMNS: usize = 64;
/// Number of elements per piece of a parallel permutation.
pub(crate) const PERMUTED_PIECE: usize = 1 << 12;
