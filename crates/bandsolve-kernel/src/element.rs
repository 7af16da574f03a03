//! One scalar per lane: real, or complex with separate vectors for real and imaginary parts.

use crate::number::{Element, Lanes};
use core::ops::{Add, Mul, Neg, Sub};

/// One real number per lane.
#[derive(Clone, Copy)]
pub struct RealElement<V>(V);

/// One complex number per lane.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "complex"), expect(dead_code))]
pub struct ComplexElement<V> {
    re: V,
    im: V,
}

impl<V: Lanes> Add for RealElement<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl<V: Lanes> Sub for RealElement<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl<V: Lanes> Mul for RealElement<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0)
    }
}
impl<V: Lanes> Neg for RealElement<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<V: Lanes> Element<V> for RealElement<V> {
    const REALS: usize = 1;
    #[inline(always)]
    fn splat(x: V::Real) -> Self {
        Self(V::splat(x))
    }
    #[inline(always)]
    unsafe fn load(p: *const V::Real) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { V::load(p) })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut V::Real) {
        // SAFETY: the caller's promise.
        unsafe { self.0.store(p) }
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(self.0.mul_add(a.0, b.0))
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        Self(self.0.neg_mul_add(a.0, b.0))
    }
    #[inline(always)]
    fn neg_mul_add_where(self, mask: V::Mask, a: Self, b: Self) -> Self {
        Self(self.0.neg_mul_add_where(mask, a.0, b.0))
    }
    #[inline(always)]
    fn scale(self, by: V) -> Self {
        Self(self.0 * by)
    }
    #[inline(always)]
    fn recip(self) -> Self {
        Self(self.0.recip())
    }
    #[inline(always)]
    fn recips(self) -> [Self; 2] {
        let [rough, fine] = self.0.recips();
        [Self(rough), Self(fine)]
    }
    #[inline(always)]
    fn scale_add(self, by: V, add: Self) -> Self {
        Self(self.0.mul_add(by, add.0))
    }
    #[inline(always)]
    fn from_columns(columns: &[V]) -> Self {
        Self(columns[0])
    }
    #[inline(always)]
    fn columns(self) -> [V; 2] {
        [self.0, self.0]
    }
    #[inline(always)]
    fn conj(self) -> Self {
        self
    }
    #[inline(always)]
    fn abs1(self) -> V {
        self.0.abs()
    }
    #[inline(always)]
    fn pivot(first: Self, second: Self) -> (V::Mask, Self) {
        let (take, pivot) = first.0.pivot(second.0);
        (take, Self(pivot))
    }
    #[inline(always)]
    fn and_bits(self, bits: V) -> Self {
        Self(self.0.and_bits(bits))
    }
    #[inline(always)]
    fn larger(a: Self, b: Self) -> V {
        a.0.abs_max(b.0)
    }
    #[inline(always)]
    fn smaller(a: Self, b: V) -> V {
        a.0.abs_min(b)
    }
    #[inline(always)]
    fn largest(a: Self, b: Self, c: Self) -> V {
        a.0.abs_max(b.0).abs_max(c.0)
    }
    #[inline(always)]
    fn measure(self) -> V {
        self.0.abs()
    }
    #[inline(always)]
    fn square(self) -> V {
        self.0 * self.0
    }
    #[inline(always)]
    fn square_add(self, add: V) -> V {
        self.0.mul_add(self.0, add)
    }
    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Self(V::select(mask, yes.0, no.0))
    }
}

impl<V: Lanes> Add for ComplexElement<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}
impl<V: Lanes> Sub for ComplexElement<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}
impl<V: Lanes> Mul for ComplexElement<V> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.im.neg_mul_add(other.im, self.re * other.re),
            im: self.im.mul_add(other.re, self.re * other.im),
        }
    }
}
impl<V: Lanes> Neg for ComplexElement<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}

impl<V: Lanes> Element<V> for ComplexElement<V> {
    const REALS: usize = 2;
    #[inline(always)]
    fn splat(x: V::Real) -> Self {
        Self { re: V::splat(x), im: V::splat(<V::Real as crate::Scalar>::ZERO) }
    }
    #[inline(always)]
    unsafe fn load(p: *const V::Real) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self { re: V::load(p), im: V::load(p.add(V::W)) } }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut V::Real) {
        // SAFETY: the caller's promise.
        unsafe {
            self.re.store(p);
            self.im.store(p.add(V::W));
        }
    }
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self {
            re: self.im.neg_mul_add(a.im, self.re.mul_add(a.re, b.re)),
            im: self.im.mul_add(a.re, self.re.mul_add(a.im, b.im)),
        }
    }
    #[inline(always)]
    fn neg_mul_add(self, a: Self, b: Self) -> Self {
        Self {
            re: self.im.mul_add(a.im, self.re.neg_mul_add(a.re, b.re)),
            im: self.im.neg_mul_add(a.re, self.re.neg_mul_add(a.im, b.im)),
        }
    }
    #[inline(always)]
    fn neg_mul_add_where(self, mask: V::Mask, a: Self, b: Self) -> Self {
        Self::select(mask, self.neg_mul_add(a, b), b)
    }
    #[inline(always)]
    fn scale(self, by: V) -> Self {
        Self { re: self.re * by, im: self.im * by }
    }
    #[inline(always)]
    fn recip(self) -> Self {
        let by = self.square().recip();
        Self { re: self.re * by, im: -self.im * by }
    }
    #[inline(always)]
    fn recips(self) -> [Self; 2] {
        [self.recip(); 2]
    }
    #[inline(always)]
    fn scale_add(self, by: V, add: Self) -> Self {
        Self { re: self.re.mul_add(by, add.re), im: self.im.mul_add(by, add.im) }
    }
    #[inline(always)]
    fn from_columns(columns: &[V]) -> Self {
        Self { re: columns[0], im: columns[1] }
    }
    #[inline(always)]
    fn columns(self) -> [V; 2] {
        [self.re, self.im]
    }
    #[inline(always)]
    fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }
    #[inline(always)]
    fn abs1(self) -> V {
        self.re.abs() + self.im.abs()
    }
    #[inline(always)]
    fn pivot(first: Self, second: Self) -> (V::Mask, Self) {
        let take = second.abs1().gt(first.abs1());
        (take, Self::select(take, second, first))
    }
    #[inline(always)]
    fn and_bits(self, bits: V) -> Self {
        Self { re: self.re.and_bits(bits), im: self.im.and_bits(bits) }
    }
    #[inline(always)]
    fn larger(a: Self, b: Self) -> V {
        a.abs1().max(b.abs1())
    }
    #[inline(always)]
    fn smaller(a: Self, b: V) -> V {
        a.abs1().min(b)
    }
    #[inline(always)]
    fn largest(a: Self, b: Self, c: Self) -> V {
        a.abs1().max(b.abs1()).max(c.abs1())
    }
    #[inline(always)]
    fn measure(self) -> V {
        let (re, im) = (self.re.abs(), self.im.abs());
        // 1/√2 is rounded down, so that the result remains a lower bound.
        ((re + im) * V::splat(crate::RealScalar::from_f64(0.707))).max(re.max(im))
    }
    #[inline(always)]
    fn square(self) -> V {
        self.re.mul_add(self.re, self.im * self.im)
    }
    #[inline(always)]
    fn square_add(self, add: V) -> V {
        self.re.mul_add(self.re, self.im.mul_add(self.im, add))
    }
    #[inline(always)]
    fn select(mask: V::Mask, yes: Self, no: Self) -> Self {
        Self { re: V::select(mask, yes.re, no.re), im: V::select(mask, yes.im, no.im) }
    }
}
