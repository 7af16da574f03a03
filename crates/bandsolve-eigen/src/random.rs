//! Random numbers that depend only on a seed and an index, and so are the same for any number of threads.

pub(crate) use bandsolve_kernel::random::STEP;
use bandsolve_kernel::random::split_mix;

/// A random number from the uniform distribution on [−1, 1), for a seed and an index.
pub(crate) fn unit(seed: u64, place: u64) -> f64 {
    uniform(split_mix(seed) ^ place.wrapping_mul(STEP))
}

/// A random number from the uniform distribution on [−1, 1), for a state. The next state is larger by [`STEP`].
pub(crate) fn uniform(state: u64) -> f64 {
    (split_mix(state) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}
