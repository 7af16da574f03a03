//! Sums, maxima and multiples of contiguous vectors.

use crate::number::{Lanes, MAX_LANES, Scalar};

/// The first number of adjacent columns, and the distance from one column to the next.
#[derive(Clone, Copy)]
pub(super) struct ColumnStart<R> {
    pub first: *const R,
    pub stride: usize,
}

impl<R> ColumnStart<R> {
    /// The same columns from number k on.
    #[inline(always)]
    pub fn from(self, k: usize) -> Self {
        Self { first: self.first.wrapping_add(k), ..self }
    }
}

/// Add the products of M columns of A with N columns of B, one vector of each. Unless `FULL`, only the first `count`
/// numbers count.
///
/// For complex numbers, products of parts of the same kind are added to `sum`, and the others to `crossed`.
///
/// # Safety
/// W numbers, or `count` numbers unless `FULL`, are readable in all columns.
#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes, const M: usize, const N: usize, const FULL: bool, const COMPLEX: bool>(
    a: ColumnStart<V::Real>,
    b: ColumnStart<V::Real>,
    count: usize,
    sum: &mut [[V; M]; N],
    crossed: &mut [[V; M]; N],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut column = [V::splat(<V::Real as Scalar>::ZERO); M];
        for m in 0..M {
            column[m] = load::<V, FULL>(a.first.add(m * a.stride), count);
        }
        for n in 0..N {
            let b = load::<V, FULL>(b.first.add(n * b.stride), count);
            for m in 0..M {
                sum[n][m] = column[m].mul_add(b, sum[n][m]);
            }
            if COMPLEX {
                let b = b.swap_pairs();
                for m in 0..M {
                    crossed[n][m] = column[m].mul_add(b, crossed[n][m]);
                }
            }
        }
    }
}

/// W numbers, or the first `count` unless `FULL`.
///
/// No closure in these kernels may handle vectors, because it would be compiled without the instruction set.
///
/// # Safety
/// That number of numbers is readable.
#[inline(always)]
pub(super) unsafe fn load<V: Lanes, const FULL: bool>(p: *const V::Real, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if FULL { V::load(p) } else { V::load_first(p, count) } }
}

/// The sum of all lanes. The lanes are summed by halves.
#[inline(always)]
pub(super) fn sum_of_lanes<V: Lanes>(v: V) -> V::Real {
    let mut lanes = [<V::Real as Scalar>::ZERO; MAX_LANES];
    // SAFETY: room for the widest vector.
    unsafe { v.store(lanes.as_mut_ptr()) };
    let mut half = V::W / 2;
    while half > 0 {
        for k in 0..half {
            lanes[k] += lanes[k + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// y ← y − c·v on the common length.
#[inline(always)]
pub fn subtract_multiple<V: Lanes<Real = T::Real>, T: Scalar>(y: &mut [T], c: T, v: &[T]) {
    let len = y.len().min(v.len()) * if T::COMPLEX { 2 } else { 1 };
    let (y, v) = (y.as_mut_ptr().cast::<V::Real>(), v.as_ptr().cast::<V::Real>());
    let (re, im) = (V::splat(c.re()), V::splat(-c.im()).interleave(V::splat(c.im()))[0]);
    let whole = len / V::W * V::W;
    // SAFETY: scalars are one or two numbers of their real type, and both slices have `len` of them.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            minus_multiple::<V, T>(re, im, V::load(v.add(k)), V::load(y.add(k))).store(y.add(k));
        }
        if whole < len {
            let (y, v, rest) = (y.add(whole), v.add(whole), len - whole);
            minus_multiple::<V, T>(re, im, V::load_first(v, rest), V::load_first(y, rest)).store_first(y, rest);
        }
    }
}

/// y − c·v, where real and imaginary parts alternate if complex. `re` is Re c in all lanes; `im` is −Im c and Im c
/// alternately.
#[inline(always)]
fn minus_multiple<V: Lanes<Real = T::Real>, T: Scalar>(re: V, im: V, v: V, y: V) -> V {
    let y = re.neg_mul_add(v, y);
    if T::COMPLEX { im.neg_mul_add(v.swap_pairs(), y) } else { y }
}

/// Σ aᵢ·bᵢ on the common length.
#[inline(always)]
pub fn dot<V: Lanes<Real = T::Real>, T: Scalar>(a: &[T], b: &[T]) -> T {
    if T::COMPLEX {
        return a.iter().zip(b).fold(T::ZERO, |sum, (a, b)| sum + *a * *b);
    }
    let len = a.len().min(b.len());
    let a = ColumnStart { first: a.as_ptr().cast::<V::Real>(), stride: 0 };
    let b = ColumnStart { first: b.as_ptr().cast::<V::Real>(), stride: 0 };
    let ([mut sum, mut none], whole) = ([[[V::splat(T::Real::ZERO)]]; 2], len / V::W * V::W);
    // SAFETY: real scalars are their own real type; both slices have `len` numbers.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            multiply::<V, 1, 1, true, false>(a.from(k), b.from(k), V::W, &mut sum, &mut none);
        }
        if whole < len {
            multiply::<V, 1, 1, false, false>(a.from(whole), b.from(whole), len - whole, &mut sum, &mut none);
        }
    }
    T::from_real(sum_of_lanes(sum[0][0]))
}

/// Σ|aᵢ|, each |re| + |im|.
#[inline(always)]
pub fn sum_of_moduli<V: Lanes<Real = T::Real>, T: Scalar>(a: &[T]) -> T {
    if T::COMPLEX {
        return a.iter().fold(T::ZERO, |sum, a| sum + T::from_real(a.abs1()));
    }
    let (p, whole) = (a.as_ptr().cast::<V::Real>(), a.len() / V::W * V::W);
    let mut sum = V::splat(T::Real::ZERO);
    // SAFETY: real scalars are their own real type, and the slice has this number of elements.
    unsafe {
        for k in (0..whole).step_by(V::W) {
            sum = V::load(p.add(k)).abs() + sum;
        }
        sum = V::load_first(p.add(whole), a.len() - whole).abs() + sum;
    }
    T::from_real(sum_of_lanes(sum))
}

/// The largest modulus (|re| + |im|) so far, for each lane. NaN and infinity may go undetected.
#[derive(Clone, Copy)]
pub struct Moduli<V>(V);

impl<V: Lanes> Moduli<V> {
    /// 0.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(V::splat(<V::Real as Scalar>::ZERO))
    }

    /// Include the moduli of these numbers.
    #[inline(always)]
    pub fn add<T: Scalar<Real = V::Real>>(&mut self, numbers: &[T]) {
        if T::COMPLEX {
            let largest = self.value();
            let largest = numbers.iter().fold(largest, |best, v| if v.abs1() > best { v.abs1() } else { best });
            self.0 = V::splat(largest);
            return;
        }
        let (p, whole) = (numbers.as_ptr().cast::<V::Real>(), numbers.len() / V::W * V::W);
        // SAFETY: real scalars are their own real type, and the slice has this number of elements.
        unsafe {
            for k in (0..whole).step_by(V::W) {
                self.0 = V::load(p.add(k)).abs_max(self.0);
            }
            if whole < numbers.len() {
                self.0 = V::load_first(p.add(whole), numbers.len() - whole).abs_max(self.0);
            }
        }
    }

    /// The largest lane.
    #[inline(always)]
    pub fn value(self) -> V::Real {
        self.0.peak().first()
    }
}

/// The largest modulus of a column.
#[inline(always)]
pub fn largest_modulus<V: Lanes<Real = T::Real>, T: Scalar>(column: &[T]) -> T::Real {
    let mut largest = Moduli::<V>::new();
    largest.add(column);
    largest.value()
}

/// The index of the first entry with the largest modulus, and this modulus.
#[inline(always)]
pub fn place_of_largest<V: Lanes<Real = T::Real>, T: Scalar>(column: &[T]) -> (usize, T::Real) {
    let largest = largest_modulus::<V, T>(column);
    if const { V::PERMUTES && !T::COMPLEX } {
        let (p, v) = (column.as_ptr().cast::<V::Real>(), V::splat(largest));
        for k in (0..column.len()).step_by(V::W) {
            let count = V::W.min(column.len() - k);
            // SAFETY: real scalars are their own real type, and `count` numbers are readable.
            let bits = unsafe { V::load_first(p.add(k), count) }.abs().equal_bits(v) & ((1 << count) - 1);
            if bits != 0 {
                return (k + bits.trailing_zeros() as usize, largest);
            }
        }
        return (0, largest);
    }
    // Compare eight entries without branches, then one by one.
    let mut first = 0;
    for chunk in column.chunks(8) {
        let mut any = false;
        for v in chunk {
            any |= v.abs1() == largest;
        }
        if any {
            break;
        }
        first += chunk.len();
    }
    for (k, v) in column.iter().enumerate().skip(first) {
        if v.abs1() == largest {
            return (k, largest);
        }
    }
    (0, largest)
}
