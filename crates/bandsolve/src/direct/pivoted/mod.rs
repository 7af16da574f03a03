//! Sequential elimination with pivoting: the oracle in the library, and the fallback of every other method.

mod banded;
mod open;
mod periodic;
#[cfg(test)]
mod testing;
mod tridiagonal;

pub use banded::BandedFactor;
pub use tridiagonal::PivotedTridiagonal;

use crate::direct::Op;
use crate::direct::verify::peak;
use crate::error::{Error, Result};
use crate::plan::{Options, Pivoting};
use crate::scalar::{RealScalar, Scalar};
use core::hint::select_unpredictable;

/// `n` copies of `value`, or `Err(OutOfMemory)`.
fn allocate<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let bytes = n.saturating_mul(size_of::<T>());
    let mut v = Vec::new();
    v.try_reserve_exact(n).map_err(|_| Error::OutOfMemory { bytes })?;
    v.resize(n, value);
    Ok(v)
}

/// How candidates become pivots.
#[derive(Debug, Clone, Copy)]
struct Rule<R> {
    /// Rows are multiplied by a power of two that brings their largest entry into [2, 4).
    scaled: bool,
    /// Rows may be exchanged.
    exchange: bool,
    /// Candidates of at most this modulus count as zero.
    noise: R,
}

impl<R: RealScalar> Rule<R> {
    fn new(options: &Options) -> Self {
        Self {
            scaled: options.pivoting == Pivoting::ScaledPartial,
            exchange: options.pivoting != Pivoting::None,
            noise: R::from_f64(options.noise_threshold),
        }
    }

    /// The power of two for a row whose largest entry is `largest`.
    #[inline(always)]
    fn row_scale(&self, largest: R) -> R {
        if self.scaled { largest.equilibrate() } else { R::ONE }
    }

    /// The power of two for a row of three entries.
    #[inline(always)]
    fn scale_of<T: Scalar<Real = R>>(&self, (a, b, c): (T, T, T)) -> R {
        let larger = |a: R, b: R| if a > b { a } else { b };
        self.row_scale(larger(larger(peak(a), peak(b)), peak(c)))
    }

    /// A candidate with noise removed.
    #[inline(always)]
    fn denoise<T: Scalar<Real = R>>(&self, candidate: T) -> T {
        if self.noise > R::ZERO && candidate.abs1() <= self.noise { T::ZERO } else { candidate }
    }

    /// Whether `challenger` is the better pivot.
    #[inline(always)]
    fn prefers<T: Scalar<Real = R>>(&self, challenger: T, holder: T) -> bool {
        self.exchange & (challenger.abs1() > holder.abs1())
    }
}

/// 1/p; finite unless p is subnormal. 0 for p = 0: the unknown is then left at zero.
#[inline(always)]
fn reciprocal<T: Scalar>(p: T) -> T {
    if p == T::ZERO {
        return T::ZERO;
    }
    if !T::COMPLEX {
        return T::ONE / p;
    }
    let scale = p.abs1().equilibrate();
    let q = p.scale(scale); // |Re q| + |Im q| in [2, 4)
    let square = q.re() * q.re() + q.im() * q.im();
    Scalar::conj(q).scale(T::Real::ONE / square).scale(scale)
}

/// `(b, a)` if `exchange`, else `(a, b)`; without a branch.
#[inline(always)]
fn exchange_if<T: Copy>(exchange: bool, a: T, b: T) -> (T, T) {
    (select_unpredictable(exchange, b, a), select_unpredictable(exchange, a, b))
}

/// Runs a solve with A or Aᵀ for `op`: Aᴴ·x = rhs is Aᵀ·conj(x) = conj(rhs).
fn around_transpose<T: Scalar>(op: Op, x: &mut [T], solve: impl FnOnce(&mut [T])) {
    let conj = T::COMPLEX && op == Op::ConjTranspose;
    if conj {
        x.iter_mut().for_each(|v| *v = Scalar::conj(*v));
    }
    solve(x);
    if conj {
        x.iter_mut().for_each(|v| *v = Scalar::conj(*v));
    }
}
