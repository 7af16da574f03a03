//! Random numbers that are functions of their place: the same for any number of threads.

/// Uniform in (−1, 1), of a seed and a place.
pub(crate) fn unit(seed: u64, place: u64) -> f64 {
    uniform(split_mix(seed) ^ place.wrapping_mul(STEP))
}

/// Uniform in [−1, 1), of a state; the next state is [`STEP`] more.
pub(crate) fn uniform(state: u64) -> f64 {
    (split_mix(state) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// What states are apart.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 of a number.
fn split_mix(z: u64) -> u64 {
    let z = z.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
