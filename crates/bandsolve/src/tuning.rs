//! Every tuning constant, with the hardware and the benchmark that chose it.

/// Smallest tridiagonal system that `Auto` gives to RPTS.
/// Chosen on: Xeon Cascade Lake 2.5 GHz, AVX-512, `bandsolve bench tridiagonal`.
pub(crate) const RPTS_MIN_N: usize = 256;

/// Columns that the banded LU eliminates together; 1: one by one.
pub(crate) fn band_block(lower: usize, fill: usize) -> usize {
    match lower.min(fill) {
        0..16 => 1,
        16..64 => 16,
        _ => 32,
    }
}
/// Columns of a block that are eliminated without dense kernels.
pub(crate) const BAND_INNER: usize = 8;
/// Columns that one task of a banded update takes; fixes the order of operations, so never dependent on threads.
pub(crate) const BAND_COLUMNS: usize = 128;
/// Elements of a banded update from which it is spread over threads.
pub(crate) const BAND_PARALLEL: usize = 1 << 16;
/// Right-hand sides from which blocks of L and U are applied by dense kernels.
pub(crate) const BAND_MANY_RHS: usize = 4;
