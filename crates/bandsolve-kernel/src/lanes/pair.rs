//! Two vectors as one. Each operation has two independent instructions, so that one of them runs while the other waits for its operands.

use super::{Lanes, lanes_of, permutes_in_memory};
use core::ops::{Add, Mul, Neg, Sub};

/// Two vectors, the lanes of the first before those of the second.
#[derive(Clone, Copy)]
pub struct PairedLanes<V>(V, V);

impl<V: Lanes> Add for PairedLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}
impl<V: Lanes> Sub for PairedLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }
}
impl<V: Lanes> Mul for PairedLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0, self.1 * other.1)
    }
}
impl<V: Lanes> Neg for PairedLanes<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

/// Operations that concern each lane by itself.
macro_rules! by_vector {
    ($($name:ident($($other:ident),*);)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($other: Self),*) -> Self {
                Self(self.0.$name($($other.0),*), self.1.$name($($other.1),*))
            }
        )*
    };
}

impl<V: Lanes> Lanes for PairedLanes<V> {
    type Real = V::Real;
    type Mask = (V::Mask, V::Mask);
    const W: usize = 2 * V::W;
    const PORTABLE: bool = false;
    const REGISTERS: usize = V::REGISTERS / 2;
    by_vector! {
        recip();
        mul_add(a, b);
        sqrt();
        neg_mul_add(a, b);
        abs();
        max(other);
        min(other);
        abs_max(other);
        abs_min(other);
        and_bits(other);
        equilibrate();
        normalizer();
        log_gap(other);
        max_bits(other);
        swap_pairs();
    }
    #[inline(always)]
    fn splat(x: V::Real) -> Self {
        Self(V::splat(x), V::splat(x))
    }
    #[inline(always)]
    unsafe fn load(p: *const V::Real) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self(V::load(p), V::load(p.add(V::W))) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut V::Real) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.store(p);
            self.1.store(p.add(V::W));
        }
    }
    #[inline(always)]
    unsafe fn load_first(p: *const V::Real, count: usize) -> Self {
        let in_first = count.min(V::W);
        // SAFETY: the caller's promise.
        unsafe { Self(V::load_first(p, in_first), V::load_first(p.add(in_first), count - in_first)) }
    }
    #[inline(always)]
    unsafe fn store_first(self, p: *mut V::Real, count: usize) {
        let in_first = count.min(V::W);
        // SAFETY: the caller's promise.
        unsafe {
            self.0.store_first(p, in_first);
            self.1.store_first(p.add(in_first), count - in_first);
        }
    }
    #[inline(always)]
    unsafe fn stream(self, p: *mut V::Real) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.stream(p);
            self.1.stream(p.add(V::W));
        }
    }
    #[inline(always)]
    fn recips(self) -> [Self; 2] {
        let ([a, b], [c, d]) = (self.0.recips(), self.1.recips());
        [Self(a, c), Self(b, d)]
    }
    #[inline(always)]
    fn pivot(self, other: Self) -> (Self::Mask, Self) {
        let ((take, pivot), (take_1, pivot_1)) = (self.0.pivot(other.0), self.1.pivot(other.1));
        ((take, take_1), Self(pivot, pivot_1))
    }
    #[inline(always)]
    fn gt(self, other: Self) -> Self::Mask {
        (self.0.gt(other.0), self.1.gt(other.1))
    }
    #[inline(always)]
    fn neg_mul_add_where(self, mask: Self::Mask, a: Self, b: Self) -> Self {
        Self(self.0.neg_mul_add_where(mask.0, a.0, b.0), self.1.neg_mul_add_where(mask.1, a.1, b.1))
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(V::select(mask.0, yes.0, no.0), V::select(mask.1, yes.1, no.1))
    }
    #[inline(always)]
    unsafe fn load_columns(src: *const V::Real, stride: usize) -> [Self; 4] {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (V::load_columns(src, stride), V::load_columns(src.add(V::W * stride), stride)) };
        [Self(a[0], b[0]), Self(a[1], b[1]), Self(a[2], b[2]), Self(a[3], b[3])]
    }
    #[inline(always)]
    unsafe fn store_columns(columns: [Self; 4], dst: *mut V::Real, stride: usize) {
        let [a, b, c, d] = columns;
        // SAFETY: the caller's promise.
        unsafe {
            V::store_columns([a.0, b.0, c.0, d.0], dst, stride);
            V::store_columns([a.1, b.1, c.1, d.1], dst.add(V::W * stride), stride);
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> [Self; 2] {
        let (a, b) = (self.0.interleave(other.0), self.1.interleave(other.1));
        [Self(a[0], a[1]), Self(b[0], b[1])]
    }
    permutes_in_memory!();
    #[inline(always)]
    fn peak(self) -> Self {
        let peak = self.0.max(self.1).peak();
        Self(peak, peak)
    }
    #[inline(always)]
    fn total(self) -> Self {
        let total = (self.0 + self.1).total();
        Self(total, total)
    }
    #[inline(always)]
    fn first(self) -> V::Real {
        self.0.first()
    }
    #[inline(always)]
    fn equal_bits(self, other: Self) -> u32 {
        self.0.equal_bits(other.0) | self.1.equal_bits(other.1) << V::W
    }
}
