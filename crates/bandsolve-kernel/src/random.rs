//! Random bits as functions of their position, so that they are the same for any number of threads.

/// The difference between consecutive states of SplitMix64.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output of SplitMix64 for the state after `state`.
///
/// # Source
/// G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
#[inline]
pub fn split_mix(state: u64) -> u64 {
    let z = state.wrapping_add(STEP);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_values_are_those_of_its_authors() {
        let got = [0, 1, 2].map(|k: u64| split_mix(STEP.wrapping_mul(k).wrapping_add(1_234_567)));
        assert_eq!(got, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
