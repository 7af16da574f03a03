//! Sequential elimination with pivoting, the fallback of all other methods.

pub(crate) mod band_lu;
pub(crate) mod banded;
pub(crate) mod block_band;
pub(crate) mod many_rhs;
mod open;
mod periodic;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tridiagonal;

use crate::decision::{Options, Pivoting};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};
use bytemuck::cast;

/// The rule that selects pivots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule<R> {
    /// Whether rows are multiplied by a power of two so that their largest entry is in [2, 4).
    pub scaled: bool,
    /// 1 if rows may be exchanged, otherwise 0. The entries of the other row are multiplied by this number.
    pub exchange: R,
    /// Modulus up to which a candidate counts as zero.
    pub noise: R,
}

impl<R: RealScalar> Rule<R> {
    pub fn new(options: &Options) -> Self {
        Self {
            scaled: options.pivoting == Pivoting::ScaledPartial,
            exchange: if options.pivoting == Pivoting::None { R::ZERO } else { R::ONE },
            noise: R::from_f64(options.noise_threshold),
        }
    }

    /// Scaled partial pivoting without a threshold for noise.
    #[inline(always)]
    pub fn usual() -> Self {
        Self { scaled: true, exchange: R::ONE, noise: R::ZERO }
    }

    /// Whether this is [`usual`](Self::usual).
    pub fn is_usual(&self) -> bool {
        self.scaled && self.exchanges() && self.noise == R::ZERO
    }

    /// Whether rows may be exchanged.
    pub fn exchanges(&self) -> bool {
        self.exchange != R::ZERO
    }

    /// The power of two that scales a row whose largest entry is `largest`.
    #[inline(always)]
    fn row_scale(&self, largest: R) -> R {
        if self.scaled { largest.equilibrate() } else { R::ONE }
    }

    /// The power of two that scales a row of three entries.
    #[inline(always)]
    fn scale_of<T: Scalar<Real = R>>(&self, (a, b, c): (T, T, T)) -> R {
        let larger = |a: R, b: R| if a > b { a } else { b };
        self.row_scale(larger(larger(peak(a), peak(b)), peak(c)))
    }

    /// The candidate, or zero if it counts as noise.
    #[inline(always)]
    fn denoise<T: Scalar<Real = R>>(&self, candidate: T) -> T {
        if self.noise > R::ZERO && candidate.abs1() <= self.noise { T::ZERO } else { candidate }
    }

    /// Whether `challenger` is the better pivot.
    #[inline(always)]
    fn prefers<T: Scalar<Real = R>>(&self, challenger: T, holder: T) -> BitMask {
        BitMask::greater(challenger.abs1() * self.exchange, holder.abs1())
    }
}

/// A Boolean as a mask of all ones or all zeros.
///
/// Exchanges work on the bits as integers. x86 has no conditional move between floating-point registers, so the compiler would turn a
/// comparison into a branch. For random data, half of these branches are mispredicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BitMask(u64);

impl BitMask {
    /// Whether a > b, for a, b ≥ 0.
    #[inline(always)]
    fn greater<R: RealScalar>(a: R, b: R) -> Self {
        // The bits of nonnegative numbers have the same order as the numbers.
        BitMask((bits(b).wrapping_sub(bits(a)) as i64 >> 63) as u64)
    }

    #[inline(always)]
    fn from_bool(yes: bool) -> Self {
        BitMask((yes as u64).wrapping_neg())
    }

    #[inline(always)]
    fn is_set(self) -> bool {
        self.0 != 0
    }

    /// `(b, a)` if the mask is set, otherwise `(a, b)`, without a branch.
    #[inline(always)]
    fn exchange<T: Scalar>(self, a: T, b: T) -> (T, T) {
        let (re_a, re_b) = self.exchange_real(a.re(), b.re());
        if !T::COMPLEX {
            return (T::from_real(re_a), T::from_real(re_b));
        }
        let (im_a, im_b) = self.exchange_real(a.im(), b.im());
        (T::from_parts(re_a, im_a), T::from_parts(re_b, im_b))
    }

    #[inline(always)]
    fn exchange_real<R: RealScalar>(self, a: R, b: R) -> (R, R) {
        let (a, b) = (bits(a), bits(b));
        let difference = (a ^ b) & self.0;
        (from_bits(a ^ difference), from_bits(b ^ difference))
    }
}

/// The bits of a number. The bits of an `f32` are in the low half.
#[inline(always)]
fn bits<R: RealScalar>(v: R) -> u64 {
    if size_of::<R>() == 8 { cast(v) } else { u64::from(cast::<R, u32>(v)) }
}

#[inline(always)]
fn from_bits<R: RealScalar>(bits: u64) -> R {
    if size_of::<R>() == 8 { cast(bits) } else { cast(bits as u32) }
}
