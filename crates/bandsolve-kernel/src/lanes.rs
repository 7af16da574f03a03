//! Vectors of lanes: the operations that the sweeps need, for every instruction set.
//!
//! The methods of the types for x86 and ARM are inlined into functions that are compiled for their instruction set (see
//! `dispatch` in `job.rs`). No other code may call them.

#[cfg(target_arch = "aarch64")]
mod neon;
mod pair;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod registers;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::number::{Lanes, lanes_of};

#[cfg(target_arch = "aarch64")]
pub use neon::*;
pub use pair::PairedLanes;
// On x86-64 and aarch64, registers of 128 bits are the portable vectors, and the tests compare them with these.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub use x86::*;

/// The permutation of [`Lanes`], implemented with loads and stores.
macro_rules! permutes_in_memory {
    () => {
        const PERMUTES: bool = false;
        type Index = [u32; crate::number::MAX_LANES];
        #[inline(always)]
        fn index(lanes: &[u32; crate::number::MAX_LANES]) -> [u32; crate::number::MAX_LANES] {
            *lanes
        }
        #[inline(always)]
        fn permute(self, other: Self, index: [u32; crate::number::MAX_LANES]) -> Self {
            let (lanes, other, mut out) = (lanes_of(self), lanes_of(other), lanes_of(self));
            for k in 0..Self::W {
                let from = index[k] as usize;
                out[k] = if from < Self::W { lanes[from] } else { other[from - Self::W] };
            }
            // SAFETY: `out` has one number per lane.
            unsafe { Self::load(out.as_ptr()) }
        }
    };
}

#[cfg(any(test, not(target_arch = "aarch64")))]
/// The operations of [`Lanes`] that combine all lanes, implemented with loads and stores.
macro_rules! reduces_in_memory {
    () => {
        #[inline(always)]
        fn peak(self) -> Self {
            let lanes = lanes_of(self);
            let mut largest = lanes[0];
            for k in 1..Self::W {
                largest = if lanes[k] > largest { lanes[k] } else { largest };
            }
            Self::splat(largest)
        }
        #[inline(always)]
        fn total(self) -> Self {
            let (mut lanes, mut half) = (lanes_of(self), Self::W / 2);
            while half > 0 {
                for k in 0..half {
                    lanes[k] += lanes[k + half];
                }
                half /= 2;
            }
            Self::splat(lanes[0])
        }
        #[inline(always)]
        fn first(self) -> Self::Real {
            lanes_of(self)[0]
        }
        #[inline(always)]
        fn equal_bits(self, other: Self) -> u32 {
            let (lanes, other) = (lanes_of(self), lanes_of(other));
            let mut bits = 0;
            for k in 0..Self::W {
                bits |= u32::from(lanes[k] == other[k]) << k;
            }
            bits
        }
    };
}

use permutes_in_memory;
#[cfg(any(test, not(target_arch = "aarch64")))]
use reduces_in_memory;
