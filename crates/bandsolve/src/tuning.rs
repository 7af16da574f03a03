//! Every tuning constant, with the hardware and the benchmark that chose it.

/// Smallest tridiagonal system that `Auto` gives to RPTS.
/// Chosen on: Xeon Cascade Lake 2.5 GHz, AVX-512, `bandsolve bench tridiagonal`.
pub(crate) const RPTS_MIN_N: usize = 256;
