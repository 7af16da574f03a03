//! Every tuning constant, with the hardware and the benchmark that chose it.
//!
//! Chosen on: Intel Xeon (Cascade Lake, 2.5 GHz, 2 cores, AVX-512), `bandsolve bench tridiagonal`.

pub(crate) use bandsolve_kernel::tuning::{SMALL_BLOCK_MAX, tasks};

/// Smallest tridiagonal system that `Auto` gives to RPTS.
pub(crate) const RPTS_MIN_N: usize = 128;

/// Systems up to this size are one partition: the recursion of RPTS ends.
pub(crate) const LAST_LEVEL_MAX_N: usize = 32;

/// Coarse systems up to this size, unless periodic, are solved row by row.
pub(crate) const SEQUENTIAL_MAX_N: usize = 64;

/// Systems from this size on are looked at whether their coarse system can be truncated; below, nothing would be gained.
pub(crate) const TRUNCATION_MIN_N: usize = 1 << 12;

/// Coarse systems up to this size are solved as a whole also for sparse right-hand sides.
pub(crate) const SPARSE_LAST_MAX_N: usize = 512;

/// Levels of cyclic reduction end with at most so many rows, which are eliminated one by one.
pub(crate) const REDUCED_MAX_N: usize = 3;

/// Rows of a partition of the SPIKE methods that work on whole partitions: two of them, factors and spikes included, stay in
/// the second-level cache.
pub(crate) const SPIKE_PARTITION_ROWS: usize = 2048;

/// x is stored past the caches when the whole system (4 arrays and x) is larger than this many bytes.
pub(crate) const STREAM_MIN_BYTES: usize = 48 << 20;

/// Tiles of an interleaved batch that are staged together: so many cache lines stand together in every row.
pub(crate) const TILES_TOGETHER: usize = 8;

/// Partitions are mended one by one if at most one of so many is bad; else the whole system is refined.
pub(crate) const MEND_ONE_OF: usize = 8;

/// Rows of a tile of a recurrence, a multiple of the groups that are swept together: a tile with its factors stays in the
/// second-level cache, and handing on the state of a tile is cheap beside the tile.
pub(crate) const SCAN_TILE_ROWS: usize = 1024;

/// Rows of a partition for a system of `n` rows and vectors of `lanes`: small systems have as many partitions as there are
/// lanes. A multiple of four, as rows are staged.
pub(crate) fn partition_rows(n: usize, lanes: usize) -> usize {
    (n / lanes).clamp(8, 32) / 4 * 4
}

/// Block rows from which `Auto` solves blocks on SIMD lanes: with fewer, lanes have too few rows each.
///
/// Factored and solved once, beside banded LU (EPYC with AVX-512, ns a row, blocks of 2, 3, 4): 131, 177, 221 and 106, 100, 111 at
/// 512 block rows, 70, 85, 79 and 151, 128, 114 at 4000.
///
/// Solved once more, which takes lanes as long again, but banded LU only its sweeps (EPYC with AVX2, ns a row, blocks of 2, 3, 4):
/// 99, 181, 247 and 57, 54, 55 at n = 3000, 50, 119, 157 and 58, 84, 63 at 30 000, 38, 110, 137 and 60, 131, 65 at 10⁵ (with AVX-512,
/// two threads, n = 5·10⁵: 32, 74, 126 and 58, 64, 96).
pub(crate) fn block_rpts_min_rows(block: usize, once: bool) -> usize {
    match block {
        _ if once => block.saturating_mul(512),
        2 => 1 << 12,
        _ => usize::MAX,
    }
}

/// Whether `Auto` solves a narrow band by blocks on SIMD lanes, which are half empty. Beside banded LU (EPYC with AVX-512, ns a row,
/// 2, 3, 4 diagonals on a side): 93, 200, 308 and 83, 79, 83 at n = 2000, 37, 55, 67 and 83, 79, 71 at n = 32 000. Not where it is
/// solved with again (EPYC with AVX2, n = 10⁴): 39, 89, 168 and 32, 38, 46.
pub(crate) fn narrow_pays(n: usize, lower: usize, upper: usize, once: bool) -> bool {
    let block = lower.max(upper);
    once && block <= 4 && lower.min(upper) > 0 && n >= 512 * block.pow(3)
}

/// Columns that the banded LU eliminates together; 1: one by one. ns a row, factored with 1, 16: half-bandwidth 10 232, 319; 14
/// 317, 385; 18 497, 472; 24 822, 527.
pub(crate) fn band_block(lower: usize, fill: usize) -> usize {
    if lower.min(fill) < 18 { 1 } else { BAND_BLOCK_MAX }
}
/// Columns that Cholesky's method eliminates together; 1: one by one.
pub(crate) fn definite_block(lower: usize) -> usize {
    if lower < 18 { 1 } else { BAND_BLOCK_MAX }
}
/// Columns of a Hermitian band that are updated together, from the diagonal of the first down: at most BAND_BLOCK_MAX.
pub(crate) const DEFINITE_COLUMNS: usize = 8;
/// Columns of a Hermitian band that are copied in one go before they are needed: diagonals are read in pieces of a kilobyte.
pub(crate) const DEFINITE_COPIED: usize = 128;

/// Whether Cholesky's method divides a band in two, whatever the number of threads: the halves are long beside what is between
/// them, and there is enough to do to wake a second thread for.
pub(crate) fn definite_halves_pay(n: usize, lower: usize) -> bool {
    n / 32 >= 2 * lower && n.saturating_mul(lower.saturating_add(1)) >= 1 << 16
}

/// The larger of them.
pub(crate) const BAND_BLOCK_MAX: usize = 16;
/// Columns of a narrow band that are eliminated in one go: as many as the first-level cache holds.
pub(crate) const BAND_NARROW_STEP: usize = 64;
/// Rows of a tile of the sweeps through a band; a multiple of both numbers above.
pub(crate) const BAND_TILE: usize = 128;
/// Right-hand sides that sweep through a band together: their tile stays in the second-level cache.
pub(crate) const BAND_RHS: usize = 64;
/// A block of columns of L or U is asked for while the one before is worked with if it has at most so many bytes; more would
/// drive out what is worked with. Half-bandwidth 32, two threads: 93 ns a row for both sweeps, 101 without; 80 (22 KiB): 203
/// and 162.
pub(crate) const ASK_MAX_BYTES: usize = 12 << 10;
/// Columns that one task of a banded update takes; fixes the order of operations, so never dependent on threads.
pub(crate) const BAND_COLUMNS: usize = 128;
/// Elements of a banded update from which columns to the right are updated, on all threads, where a block is eliminated; with
/// fewer every column follows when its turn comes.
pub(crate) const BAND_PARALLEL: usize = 1 << 16;
/// Columns of a dense block that are eliminated together, whose triangles are inverted.
pub(crate) fn dense_panel(n: usize) -> usize {
    if n <= 128 { 16 } else { 32 }
}
/// Columns of a dense block that are eliminated without products.
pub(crate) const DENSE_INNER: usize = 8;
/// Columns of a block that one task takes where block rows are few; fixes the order of operations, so never dependent on
/// threads.
pub(crate) const BLOCK_COLUMNS: usize = 64;
/// A thread is woken for at least so many operations on blocks: 10 µs of them.
pub(crate) const BLOCK_TASK_FLOPS: usize = 1 << 18;
/// Diagonal blocks up to this size are inverted, larger ones are solved with by their triangles. An inverse costs as much as
/// dividing a block by its triangles (27 µs for 64 rows, 143 for 128), and then a division is a product (10 and 70 µs).
/// BCYCLIC divides two blocks by each: 47 against 53 µs at 64, 283 against 286 at 128. A right-hand side more or less changes
/// little: 1.3 µs with the inverse, 2.8 without (64), 5.4 and 9.1 (128).
pub(crate) const BCYCLIC_INVERSE_MAX: usize = 64;
/// The same for block SPIKE, which divides one block by each: 8.1 against 6.1 µs at 32, made up for by four right-hand sides.
pub(crate) const BLOCK_SPIKE_INVERSE_MAX: usize = 32;
/// Partitions of block SPIKE: each beyond two has spikes, which make its rows cost almost three times as much.
pub(crate) const BLOCK_PARTITIONS: usize = 2;
/// Rows of a partition of a banded system, in diagonals: fewer are not worth their share of the coarse system.
pub(crate) const SPIKE_MIN_ROWS: usize = 2;
/// Cost of a row of an inner partition of a banded system relative to one at an end, if it was not measured: twice as many rows
/// under a pivot and twice as many columns beside it.
pub(crate) const SPIKE_INNER_ROW_COST: f64 = 4.0;
/// Whether `Auto` divides a banded system in two: the halves are long beside what is between them, and there is enough to
/// do to wake a second thread for. Not more work on one thread, hence no question of how many there are.
pub(crate) fn spike_pays(n: usize, lower: usize, upper: usize) -> bool {
    let between = lower.saturating_add(upper);
    n / 32 >= between && n.saturating_mul(between.saturating_add(1)) >= 1 << 17
}
/// Whether `Auto` takes small blocks for a band, divided in two: ns a block row of 4, 5, 6, 7, 8 rows, two threads, random
/// blocks: 430, 930, 1250, 1670, 2120 factored and solved once, 156, 280, 320, 450, 530 once more; on lanes 240, 1100 to 2200,
/// 1300, 1500, 2100, and as much again.
pub(crate) fn blocks_pay_as_band(block: usize, block_rows: usize, once: bool) -> bool {
    let half = block.saturating_mul(2).saturating_sub(1);
    let lanes = block <= 4 && (once || block_rows >= block_rpts_min_rows(block, once));
    !lanes && spike_pays(block.saturating_mul(block_rows), half, half)
}
