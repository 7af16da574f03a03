//! Vectors as plain arrays. The compiler uses the vector registers of the target.

use super::{Lanes, lanes_of, permutes_in_memory, reduces_in_memory};
use crate::RealScalar;
use core::ops::{Add, Mul, Neg, Sub};

/// A vector as an array.
#[derive(Clone, Copy)]
pub struct Portable<R, const N: usize>([R; N]);

/// An array that is filled lane by lane. Closures are not inlined into functions as large as a sweep.
macro_rules! lanes {
    ($from:expr, |$i:ident| $lane:expr) => {{
        let mut lanes = $from;
        for $i in 0..N {
            lanes[$i] = $lane;
        }
        lanes
    }};
}

impl<R: RealScalar, const N: usize> Add for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i] + other.0[i]))
    }
}
impl<R: RealScalar, const N: usize> Sub for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i] - other.0[i]))
    }
}
impl<R: RealScalar, const N: usize> Mul for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i] * other.0[i]))
    }
}
impl<R: RealScalar, const N: usize> Neg for Portable<R, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(lanes!(self.0, |i| -self.0[i]))
    }
}

impl<R: RealScalar, const N: usize> Lanes for Portable<R, N> {
    type Real = R;
    type Mask = [bool; N];
    const W: usize = N;
    const PORTABLE: bool = true;
    #[inline(always)]
    fn splat(x: R) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const R) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { p.cast::<[R; N]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut R) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<[R; N]>().write(self.0) }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self(lanes!(self.0, |i| R::ONE / self.0[i]))
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].fused_if_fast(a.0[i], b.0[i])))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        (-self).mul_add(a, b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].sqrt()))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].abs1()))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| if self.0[i] < other.0[i] { self.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    fn gt(self, other: Self) -> [bool; N] {
        lanes!([false; N], |i| self.0[i] > other.0[i])
    }
    #[inline(always)]
    fn and_bits(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].and_bits(other.0[i])))
    }
    #[inline(always)]
    fn select(mask: [bool; N], yes: Self, no: Self) -> Self {
        Self(lanes!(no.0, |i| if mask[i] { yes.0[i] } else { no.0[i] }))
    }
    #[inline(always)]
    fn equilibrate(self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].equilibrate()))
    }
    #[inline(always)]
    fn normalizer(self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].normalizer()))
    }
    #[inline(always)]
    fn log_gap(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].log_gap(other.0[i])))
    }
    #[inline(always)]
    fn max_bits(self, other: Self) -> Self {
        Self(lanes!(self.0, |i| self.0[i].max_bits(other.0[i])))
    }
    #[inline(always)]
    unsafe fn load_columns(src: *const R, stride: usize) -> [Self; 4] {
        let mut columns = [Self([R::ZERO; N]); 4];
        for lane in 0..N {
            for k in 0..4 {
                // SAFETY: the caller's promise.
                columns[k].0[lane] = unsafe { *src.add(lane * stride + k) };
            }
        }
        columns
    }
    #[inline(always)]
    unsafe fn store_columns(columns: [Self; 4], dst: *mut R, stride: usize) {
        for lane in 0..N {
            for k in 0..4 {
                // SAFETY: the caller's promise.
                unsafe { *dst.add(lane * stride + k) = columns[k].0[lane] }
            }
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        let mut halves = [self; 2];
        for i in 0..2 * N {
            halves[i / N].0[i % N] = if i % 2 == 0 { self.0[i / 2] } else { other.0[i / 2] };
        }
        halves
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        Self(lanes!(self.0, |i| self.0[i ^ 1]))
    }
    permutes_in_memory!();
    reduces_in_memory!();
}
