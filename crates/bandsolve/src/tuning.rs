//! All tuning constants of this crate, with the measurements that determined them.
//!
//! Unless stated otherwise: Intel Xeon (Cascade Lake, 2.5 GHz, 2 cores, AVX-512), `bandsolve bench tridiagonal`.

pub(crate) use bandsolve_kernel::tuning::{SMALL_BLOCK_MAX, tasks};

/// Smallest number of unknowns of a tridiagonal system for which `Auto` chooses `rpts`.
pub(crate) const RPTS_MIN_N: usize = 128;

/// Largest number of unknowns of a tridiagonal system whose factors RPTS stores. They fit into the third-level cache.
pub(crate) const STORED_MAX_N: usize = 1 << 17;

/// Number of rows that are solved with stored factors in the time in which one row is eliminated, for the number of threads that pay off.
pub(crate) const FACTORED_ROWS: usize = 4;

/// Number of rows of one tridiagonal system that are swept in the time of one row of other methods, for the number of threads that pay off: two threads
/// from 2^16 rows on. A thread that sleeps needs about 50 µs to begin.
///
/// Median and least time on two threads, and time on one, in ns per row, with other solvers in between (EPYC with AVX-512): 2.5, 1.0 and 1.7 for 2^15 rows
/// (f32: 2.0, 0.6 and 0.9), 1.4, 0.9 and 1.7 for 2^16 (f32: 0.9, 0.5 and 0.9).
pub(crate) const SWEPT_ROWS: usize = 4;

/// Smallest number of right-hand sides of a narrow band that are solved on lanes. On a Sapphire Rapids with AVX-512, 8 of them took 0.3 to 0.5
/// times as long as one by one (n = 256 and 10,000, 2 and 4 diagonals on each side), and 32 took 0.2 times as long.
pub(crate) const MANY_RHS: usize = 8;

/// Systems up to this size are a single partition, which ends the recursion of RPTS.
pub(crate) const LAST_LEVEL_MAX_N: usize = 32;

/// Coarse systems up to this size, unless periodic, are solved row by row.
pub(crate) const SEQUENTIAL_MAX_N: usize = 64;

/// Number of unknowns from which RPTS checks whether it can truncate the coarse system. Smaller systems gain nothing.
pub(crate) const TRUNCATION_MIN_N: usize = 1 << 12;

/// Coarse systems up to this size are solved as a whole, also for sparse right-hand sides.
pub(crate) const SPARSE_LAST_MAX_N: usize = 512;

/// Number of steps of the pivoted method, with two unknowns each, after which their rows are measured. They are still in the cache.
pub(crate) const PIVOTED_STEPS: usize = 512;

/// The number of tasks of a level of cyclic reduction with `rows` rows. Each level is spread over threads by itself, and most of its rows
/// come from the cache of another thread than that of the level before.
///
/// Time in ns per row to factor and solve on one and on two threads with at least 2^13 rows per task (EPYC with AVX2): 8 and 12 for n = 2^16,
/// 8.4 and 10.7 for 2^17, 15 and 13 for 2^18, 18 and 15 for 2^20.
pub(crate) fn cyclic_tasks(threads: usize, rows: usize) -> usize {
    threads.min(rows >> 17).max(1)
}

/// Maximum number of rows of the last level of cyclic reduction, which is eliminated row by row.
pub(crate) const REDUCED_MAX_N: usize = 3;

/// Number of rows per partition of SPIKE with stored spikes. Two partitions with factors and spikes fit into the second-level cache.
pub(crate) const SPIKE_PARTITION_ROWS: usize = 2048;

/// Size of a system (4 arrays and x) in bytes from which stores of x bypass the caches.
pub(crate) const STREAM_MIN_BYTES: usize = 48 << 20;

/// Number of bytes of a diagonal from which a tridiagonal system is solved in pieces, in one pass over memory. Such a system is larger than most
/// caches. The notebook has the measurements.
pub(crate) const ONE_PASS_MIN_BYTES: usize = 32 << 20;
/// Number of bytes of a diagonal of a piece. The arrays of two pieces are in the cache at the same time. In smaller pieces, the margins cost more.
pub(crate) const ONE_PASS_PIECE_BYTES: usize = 256 << 10;
/// Number of rows of the margins of a piece. The longer they are, the slower entries of A⁻¹ may decay.
pub(crate) const ONE_PASS_MARGIN_ROWS: usize = 1024;
/// Minimum number of pieces of a thread.
pub(crate) const ONE_PASS_MIN_PIECES: usize = 4;

/// Up to this number of contiguous systems with different matrices, each is solved alone. A batch takes as long as 8 or 16 systems, even if
/// it has fewer.
pub(crate) const FEW_SYSTEMS: usize = 4;

/// Number of bytes of a diagonal from which a system of a contiguous batch is solved alone. The memory of a batch of such systems exceeds the
/// cache.
pub(crate) const LARGE_SYSTEM_BYTES: usize = 64 << 10;

/// Number of bytes of a diagonal up to which an interleaved batch stays in the cache between two tiles. With AVX2, one tile after the other took
/// 0.7 times as long as eight together for diagonals of 128 KiB, and 1.4 times as long for 1 MiB. With AVX-512 and 1 MiB of second-level cache (EPYC), it took
/// 1.1 times as long for 320 KiB, and 1.2 times as long for 1 MiB.
pub(crate) const CACHED_ARRAY_BYTES: usize = 256 << 10;

/// Maximum number of bytes of tiles that are staged together, and of copies of right-hand sides. Longer systems come one tile after the other, which takes less
/// memory.
pub(crate) const TOGETHER_MAX_BYTES: usize = 64 << 20;

/// Bad partitions are repaired if at most one of this number is bad. Otherwise the whole system is refined.
pub(crate) const REPAIR_ONE_OF: usize = 8;

/// Partitions with small pivots are eliminated again in double precision if at most one of this number has them. A partition alone costs about
/// as much as a tile, which has one on each lane.
pub(crate) const CONFIRM_ONE_OF: usize = 64;

/// Number of rows per tile of a recurrence, a multiple of the number of groups. A tile with its factors fits into the second-level cache, and
/// passing on its state costs little compared with the tile.
pub(crate) const SCAN_TILE_ROWS: usize = 1024;

/// Number of rows of a tile of parallel cyclic reduction. The levels of a tile fit into the second-level cache. The notebook has the measurements.
pub(crate) const PCR_TILE_ROWS: usize = 1024;
/// Maximum number of levels that are computed in tiles. A tile needs 127 further rows on each side for 7 levels: a quarter of its own.
pub(crate) const PCR_TILE_LEVELS: u32 = 7;

/// Number of rows per partition for a system of `n` rows and vectors of `lanes`. Small systems have one partition per lane. The result is a
/// multiple of four, because rows are staged in groups of four.
pub(crate) fn partition_rows(n: usize, lanes: usize) -> usize {
    (n / lanes).clamp(8, 32) / 4 * 4
}

/// Number of block rows from which `Auto` solves blocks on SIMD lanes. With fewer block rows, each lane has too few.
///
/// Time in ns per row for blocks of 2, 3 and 4 rows, on lanes and by banded LU:
///
/// - Factored and solved once (EPYC with AVX-512): 131, 177, 221 and 106, 100, 111 for 512 block rows; 70, 85, 79 and 151, 128, 114 for
///   4000.
/// - One more solve, where lanes eliminate again (EPYC with AVX2): 99, 181, 247 and 57, 54, 55 for n = 3000; 50, 119, 157 and 58, 84, 63
///   for n = 30 000; 38, 110, 137 and 60, 131, 65 for n = 10⁵.
/// - One more solve (AVX-512, two threads, n = 5·10⁵): 32, 74, 126 and 58, 64, 96.
pub(crate) fn block_rpts_min_rows(block: usize, once: bool) -> usize {
    match block {
        _ if once => block.saturating_mul(512),
        2 => 1 << 12,
        _ => usize::MAX,
    }
}

/// Whether `Auto` solves a narrow band as small blocks on SIMD lanes, although half of the entries of the blocks are zero.
///
/// Time in ns per row with 2, 3 and 4 diagonals on each side, on lanes and by banded LU:
///
/// - Factored and solved once (EPYC with AVX-512): 93, 200, 308 and 83, 79, 83 for n = 2000; 37, 55, 67 and 83, 79, 71 for n = 32 000.
/// - One more solve (EPYC with AVX2, n = 10⁴): 39, 89, 168 and 32, 38, 46.
pub(crate) fn narrow_pays(n: usize, lower: usize, upper: usize, once: bool) -> bool {
    let block = lower.max(upper);
    once && block <= 4 && lower.min(upper) > 0 && n >= 512 * block.pow(3)
}

/// Number of columns that the banded LU eliminates together.
///
/// Time to factor in ns per row with 1 and 16 columns: 232 and 319 for half-bandwidth 10; 317 and 385 for 14; 497 and 472 for 18; 822 and
/// 527 for 24.
pub(crate) fn band_block(lower: usize, fill: usize) -> usize {
    if lower.min(fill) < 18 { 1 } else { BAND_BLOCK_MAX }
}
/// Number of columns that Cholesky's method eliminates together.
pub(crate) fn definite_block(lower: usize) -> usize {
    if lower < 18 { 1 } else { BAND_BLOCK_MAX }
}
/// Number of columns of a Hermitian band that are updated together, at most `BAND_BLOCK_MAX`.
pub(crate) const DEFINITE_COLUMNS: usize = 8;
/// Number of columns of a Hermitian band that are copied together, so that diagonals are read in pieces of a kilobyte.
pub(crate) const DEFINITE_COPIED: usize = 128;

/// Whether Cholesky's method divides a band into two halves, for any number of threads. The halves must be long compared with the rows
/// between them, and large enough for a second thread to pay off.
pub(crate) fn definite_halves_pay(n: usize, lower: usize) -> bool {
    n / 32 >= 2 * lower && n.saturating_mul(lower.saturating_add(1)) >= 1 << 16
}

/// The largest block of columns of banded LU and Cholesky's method.
pub(crate) const BAND_BLOCK_MAX: usize = 16;
/// Number of columns of a narrow band that are eliminated at a time, so that they fit into the first-level cache.
pub(crate) const BAND_NARROW_STEP: usize = 64;
/// Number of rows per tile of the sweeps through a band, a multiple of both numbers above.
pub(crate) const BAND_TILE: usize = 128;
/// Maximum number of right-hand sides per sweep through a band, so that their tile fits into the second-level cache.
pub(crate) const BAND_RHS: usize = 64;
/// Maximum size in bytes of a block of columns of L or U that is prefetched. Larger blocks would evict the current one from the cache.
///
/// Time of both sweeps on two threads, with and without prefetching: 93 and 101 ns per row for half-bandwidth 32; 203 and 162 ns per row
/// for half-bandwidth 80, where a block has 22 KiB.
pub(crate) const PREFETCH_MAX_BYTES: usize = 12 << 10;
/// Number of columns per task of a banded update. It sets the order of operations and must not depend on the number of threads.
pub(crate) const BAND_COLUMNS: usize = 128;
/// Number of elements of a banded update from which the elimination of a block updates the columns to its right, on all threads. Below,
/// each column is updated just before its elimination.
pub(crate) const BAND_PARALLEL: usize = 1 << 16;
/// Number of columns per panel of a dense block. The triangles of a panel are inverted.
pub(crate) fn dense_panel(n: usize) -> usize {
    if n <= 128 { 16 } else { 32 }
}
/// Number of columns of a dense block that are eliminated without matrix products.
pub(crate) const DENSE_INNER: usize = 8;
/// Number of columns of a block per task if there are few block rows. It sets the order of operations and must not depend on the number of
/// threads.
pub(crate) const BLOCK_COLUMNS: usize = 64;
/// Minimum number of operations on blocks per thread, which take about 10 µs.
pub(crate) const BLOCK_TASK_FLOPS: usize = 1 << 18;
/// Largest diagonal block that BCYCLIC inverts. It solves with the triangles of larger blocks.
///
/// An inverse costs as much as dividing a block by its triangles (27 µs for 64 rows, 143 µs for 128). A division is then a product (10 and
/// 70 µs). BCYCLIC divides two blocks by each diagonal block: 47 µs with and 53 µs without inverses for 64 rows, 283 and 286 µs for 128. A
/// right-hand side costs 1.3 µs with and 2.8 µs without inverses for 64 rows, 5.4 and 9.1 µs for 128.
pub const BCYCLIC_INVERSE_MAX: usize = 64;
/// Largest diagonal block that block SPIKE inverts. It divides one block by each diagonal block: 8.1 µs with and 6.1 µs without inverses for
/// 32 rows, which four right-hand sides compensate.
pub const BLOCK_SPIKE_INVERSE_MAX: usize = 32;
/// Number of partitions of block SPIKE. With more than two, inner partitions have spikes, and their rows cost almost three times as much.
pub(crate) const BLOCK_PARTITIONS: usize = 2;
/// Minimum number of rows of a partition of a banded system, divided by the number of its off-diagonals.
pub(crate) const SPIKE_MIN_ROWS: usize = 2;
/// Cost per row of an inner partition of a banded system, relative to a partition at an end, without measurement. An inner partition has
/// twice as many rows below a pivot and twice as many columns to its right.
pub(crate) const SPIKE_INNER_ROW_COST: f64 = 4.0;
/// Whether `Auto` divides a banded system into two halves.
///
/// The halves must be long compared with the rows between them, and large enough for a second thread to pay off. Two halves cost no more
/// operations than one elimination, so the answer does not depend on the number of threads.
pub(crate) fn spike_pays(n: usize, lower: usize, upper: usize) -> bool {
    let between = lower.saturating_add(upper);
    n / 32 >= between && n.saturating_mul(between.saturating_add(1)) >= 1 << 17
}
/// Whether `Auto` solves small blocks as a band that is divided into two halves.
///
/// Time in ns per block row of 4, 5, 6, 7 and 8 rows (two threads, random blocks), factored and solved once: 430, 930, 1250, 1670, 2120 as
/// a band; 240, 1100 to 2200, 1300, 1500, 2100 on lanes. One more solve: 156, 280, 320, 450, 530 as a band; the same as the first on lanes.
pub(crate) fn blocks_pay_as_band(block: usize, block_rows: usize, once: bool) -> bool {
    let half = block.saturating_mul(2).saturating_sub(1);
    let lanes = block <= 4 && (once || block_rows >= block_rpts_min_rows(block, once));
    !lanes && spike_pays(block.saturating_mul(block_rows), half, half)
}

// The sizes below keep data in the first-level cache, or make a task much longer than its start. They have no recorded measurement.

/// Number of matrix entries from which η is measured in parallel, and number of entries per task.
pub(crate) const MEASURE_PARALLEL: usize = 300_000;
pub(crate) const MEASURE_TASK: usize = 1 << 14;
/// Number of rows whose backward errors are measured together.
pub(crate) const MEASURED_ROWS: usize = 512;
/// Number of rows per tile of a residual of several columns of a banded system.
pub(crate) const RESIDUAL_TILE_ROWS: usize = 32;
/// Block size from which only residuals in twice the working precision are computed.
pub(crate) const PRECISE_FROM: usize = 32;
/// Maximum number of products of entries that one task of a block tridiagonal product computes.
pub(crate) const PRODUCT_TASK: usize = 1 << 16;
/// Number of block columns from which a task of the conversion of blocks to a band pays off.
pub(crate) const COLUMNS_TASK: usize = 1 << 10;
/// Number of pairs of coarse equations per task of a truncated coarse system.
pub(crate) const TRUNCATION_PAIRS: usize = 1 << 12;
/// Number of tiles that are reduced at a time for sparse right-hand sides.
pub(crate) const DUMMY_TILES: usize = 16;
/// Number of sparse right-hand sides that are expanded and solved together.
pub(crate) const DENSE_TOGETHER: usize = 16;
/// Number of rows from which a positive definite tridiagonal matrix is checked in segments, and from which on two threads.
pub(crate) const SEGMENTS_FROM: usize = 1 << 10;
pub(crate) const SEGMENT_THREADS_FROM: usize = 1 << 15;
/// Number of columns of a band that are compared with their rows together.
pub(crate) const HERMITIAN_COLUMNS: usize = 32;
/// Number of columns, or of rows of all systems of a batch, of a task that compares both triangles.
pub(crate) const HERMITIAN_TASK: usize = 1 << 12;
/// Entries of a periodic band that are worth a task of their own when it is folded.
pub(crate) const FOLD_TASK: usize = 1 << 14;
/// Number of pieces of a vector from which a thread pays off.
pub(crate) const PARALLEL_PIECES: usize = 8;
/// Maximum number of basis vectors per matrix product of an orthogonalization.
pub(crate) const BASIS_VECTORS: usize = 32;
/// Number of right-hand sides, and of rows, whose backward errors are measured together.
pub(crate) const RHS_TOGETHER: usize = 64;
pub(crate) const ROWS_TOGETHER: usize = 128;

/// Number of rows of a partition of a system that is larger than memory. Its arrays fit into the second-level cache, and the coarse system, which
/// is in memory, has 1/2048 of the rows.
pub(crate) const OUT_OF_CORE_PARTITION_ROWS: usize = 4096;
