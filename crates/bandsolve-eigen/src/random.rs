//! Random numbers that are functions of their place: the same for any number of threads.

pub(crate) use bandsolve_kernel::random::STEP;
use bandsolve_kernel::random::split_mix;

/// Uniform in (−1, 1), of a seed and a place.
pub(crate) fn unit(seed: u64, place: u64) -> f64 {
    uniform(split_mix(seed) ^ place.wrapping_mul(STEP))
}

/// Uniform in [−1, 1), of a state; the next state is [`STEP`] more.
pub(crate) fn uniform(state: u64) -> f64 {
    (split_mix(state) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
