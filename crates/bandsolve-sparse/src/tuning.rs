//! The tuning constants of this crate, with the benchmarks that measure their effect. Run the benchmark again after a change.
//!
//! The pages `docs/math/algebraic-lines.md` and `docs/notebook/measurements.md` have the results.

use core::ops::RangeInclusive;

/// `amg-lines`: the damping factor for the sweeps of a single forest. A sweep can multiply an error by −1 that alternates from path to path; the factor
/// moves the eigenvalues of the sweep into −0.6 … 1. Benchmark: `python docs/amg_table.py --sides 200 --solvers amg-lines:1/cg,amg-lines:2/cg`.
pub(crate) const SWEEP_DAMPING: f64 = 0.8;

/// `amg-lines`: the damping factor ω of the Jacobi step that smooths the prolongation. The step divides each row by the sum of its moduli, so that no
/// eigenvalue of the step's matrix is above 1. Benchmark: `python docs/amg_table.py`.
pub(crate) const PROLONGATION_DAMPING: f64 = 1.6;

/// `amg-lines`: the threshold θ of strength of connection. Aggregates do not include couplings below this share of the strongest coupling in their row.
/// It is above `FOREST_OMEGA`, since the forests solve along no weaker couplings. Benchmark: `python docs/amg_table.py`.
pub(crate) const STRENGTH_THRESHOLD: f64 = 0.02;

/// The factor ω by which the edge weights of a forest are multiplied before the search for the next one. Benchmark: `python docs/sparse_table.py`.
pub(crate) const FOREST_OMEGA: f64 = 0.01;

/// `amg-lines`: a row is a hub if it has more entries than `HUB_MIN_ENTRIES`, and more than `HUB_TIMES_MEAN` times the mean. Hubs are not smoothed.
/// The matrices with hubs of `tests/amg.rs` show the entries of all levels.
pub(crate) const HUB_MIN_ENTRIES: usize = 128;
pub(crate) const HUB_TIMES_MEAN: usize = 16;

/// `amg-lines`: maximum ratio of the numbers of entries of the next matrix and of this one. For grids the next matrix has fewer entries. For graphs
/// without a geometry the matrices would become full after some levels. Their prolongation is not smoothed, so that no level has more entries than the
/// one before. The random graphs of `tests/amg.rs` show the entries of all levels.
pub(crate) const MAX_FILL: usize = 2;

/// `amg-lines`: number of rows of the next matrix whose entries are counted to estimate the fill.
pub(crate) const SAMPLED_COARSE_ROWS: usize = 64;

/// `amg-lines`: range of the moduli of entries for a hierarchy in single precision. A product of an entry and a vector element near 1 stays normal.
pub(crate) const SINGLE_RANGE: RangeInclusive<f64> = 1e-30..=1e30;

/// `amg-lines`: maximum condition number of the coarsest matrix for a hierarchy in half the precision.
pub(crate) const HALF_PRECISION_MAX_CONDITION: f64 = 1e5;

/// `amg-lines`: maximum growth of the inverse of a path's system for a hierarchy in half the precision. For a chain whose rows have the sum 0, the inverse
/// grows with the square of the length.
pub(crate) const HALF_PRECISION_MAX_GROWTH: f64 = (1 << 20) as f64;

// Products: `bandsolve bench spmv`

/// The minimum work of a piece, in rows plus entries, and the maximum number of pieces.
pub(crate) const PRODUCT_PIECE_WORK: usize = 1 << 14;
pub(crate) const PRODUCT_MAX_PIECES: usize = 128;

/// Distance in entries at which the matrix is prefetched. Hardware prefetching stops at the end of a page, which is 512 entries.
pub(crate) const STREAM_AHEAD: usize = 256;

/// Distance in entries at which the vector is prefetched.
pub(crate) const GATHER_AHEAD: usize = 64;

/// Entries of a long row between two rounds of prefetching.
pub(crate) const PREFETCH_BLOCK: usize = 64;

/// Number of samples, and entries per sample.
pub(crate) const PRODUCT_SAMPLES: usize = 256;
pub(crate) const ENTRIES_PER_SAMPLE: usize = 32;

/// Maximum distance of columns that are near each other.
pub(crate) const NEAR_COLUMNS: usize = 128;

/// Size of x in bytes above which panels are worth their memory.
pub(crate) const PANELS_MIN_X_BYTES: usize = 2 << 20;

/// Size of the sums of a panel in bytes: half of a second-level cache.
pub(crate) const PANEL_SUMS_BYTES: usize = 256 << 10;

/// Minimum number of panels, so that all threads have work.
pub(crate) const MIN_PANELS: usize = 16;

/// Rows with more entries are in no panel. They are divided among the threads.
pub(crate) const PANEL_MAX_ROW_ENTRIES: usize = 1 << 14;

/// Number of adjacent columns in which the entries of a panel keep the order of the rows.
pub(crate) const PANEL_NEAR_COLUMNS: usize = 1 << 6;

/// Distance in entries at which vector and sums are prefetched.
pub(crate) const PANEL_AHEAD: usize = 32;

/// Size in bytes above which vectors are copied to large pages.
pub(crate) const LARGE_PAGES_MIN_BYTES: usize = 4 << 20;

/// Number of parts of the rows. The product with the transpose of each part goes to a separate vector.
pub(crate) const TRANSPOSED_PARTS: usize = 8;

/// Maximum length of rows whose values are compared with those of earlier slices.
pub(crate) const SHARED_VALUES_MAX_ENTRIES: usize = 32;

/// Distance in values at which slices are prefetched.
pub(crate) const SLICE_AHEAD: usize = 512;

/// Length above which the search for the largest value comes before the search for the places of two.
pub(crate) const TWO_PASSES_MIN_ENTRIES: usize = 32;

// Set-up of graphs, forests and hierarchies: `python docs/sparse_table.py`, `python docs/amg_table.py`

/// Number of tasks whose rows are collected before they are concatenated: as many as fit the caches.
pub(crate) const WAVE_TASKS: usize = 16;

/// Maximum length of rows that insertion sort sorts.
pub(crate) const INSERTION_SORT_MAX_ENTRIES: usize = 24;

/// Number of parts of the rows that are transposed in parallel.
pub(crate) const ADJOINT_PARTS: usize = 4;

/// Maximum length of rows that are searched linearly for mirrored entries.
pub(crate) const LINEAR_SEARCH_MAX_ENTRIES: usize = 48;

/// Number of edges that are kept per vertex.
pub(crate) const STRONG_EDGES: usize = 8;

/// Maximum number of forests.
pub(crate) const MAX_FORESTS: usize = 4;

/// The coverage μ that suffices, and the coverage that a further forest must add at least.
pub(crate) const SUFFICIENT_COVERAGE: f64 = 0.9;
pub(crate) const MIN_ADDED_COVERAGE: f64 = 0.05;

/// The weight of the edge of a pair is at least this share of the largest edge weight of either unknown. Algebraic multigrid calls such a
/// coupling strong.
pub(crate) const PAIR_MIN_WEIGHT: f64 = 0.25;

/// Number of elements above which they are not kept sorted, since each new element would move half of them.
pub(crate) const SORTED_MAX_ELEMENTS: usize = 64;

/// If an earlier row is longer than the rest of the current row by this factor, it is searched instead of read.
pub(crate) const SEARCH_MIN_RATIO: usize = 16;

/// The systems of rows of N with more entries are solved by columns, because a loop over all pairs would take too long.
pub(crate) const PAIRS_MAX_ENTRIES: usize = 64;

// The choice `auto`: `python docs/sparse_table.py`

/// Relative residual at which a trial ends, and the maximum number of its steps.
pub(crate) const TRIAL_RESIDUAL: f64 = 1e-2;
pub(crate) const TRIAL_STEPS: usize = 12;

/// Maximum number of steps of a second trial of the two best candidates. The first steps of a long iteration give little information about its convergence.
pub(crate) const SECOND_TRIAL_STEPS: usize = 8 * TRIAL_STEPS;

/// Relative residual for which the number of iterations is predicted.
pub(crate) const PREDICTED_RESIDUAL: f64 = 1e-8;

/// A predicted number of iterations that counts as no convergence.
pub(crate) const NO_CONVERGENCE: f64 = 1e4;

/// Minimum number of iterations that a candidate needs. With this number, candidates whose set-up costs too much are skipped.
pub(crate) const MIN_ITERATIONS: f64 = 6.0;

/// The restart of GMRES. If more iterations are predicted, a method with short recurrences is chosen.
pub(crate) const GENERAL_RESTART: usize = 30;
