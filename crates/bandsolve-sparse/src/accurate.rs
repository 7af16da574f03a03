//! Residuals of sparse matrices in twice the working precision.
//!
//! # Source
//! T. Ogita, S. M. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).

use crate::csr::{Csr, CsrWords};
use crate::rows::SMALL_TASK;
use bandsolve::matrix::Index;
use bandsolve::{RealScalar, Scalar, Simd};
use bandsolve_kernel::exact::{lost, parts};
use bandsolve_kernel::spread::{RowsOf, chunks};
use bandsolve_kernel::{Job, Lanes, dispatch};

/// r = rhs − A·x.
pub(crate) struct AccurateCall<'a, T: Scalar> {
    pub a: CsrWords<'a, T>,
    pub x: &'a [T],
    pub rhs: &'a [T],
    pub r: &'a mut [T],
}

/// Compute the residual. Returns a bound on the error of each element of r before it is rounded to T.
pub(crate) fn accurate_residual<T: Scalar>(call: AccurateCall<'_, T>) -> f64 {
    let AccurateCall { a, x, rhs, r } = call;
    match a {
        CsrWords::Narrow(a) => of_words(&a, (x, rhs), r),
        CsrWords::Wide(a) => of_words(&a, (x, rhs), r),
    }
}

fn of_words<T: Scalar, I: Index>(a: &Csr<'_, T, I>, (x, rhs): (&[T], &[T]), r: &mut [T]) -> f64 {
    let tasks = r.len().div_ceil(SMALL_TASK);
    let task = |task: usize, RowsOf(r, _): RowsOf<'_, T>| {
        dispatch::<T, _>(Simd::detect(), AccurateRows { a, first: task * SMALL_TASK, x, rhs, r })
    };
    chunks((tasks, 2), RowsOf(r, SMALL_TASK), &task, (0.0, &f64::max_nan))
}

/// The residual of consecutive rows, as many as r has elements.
struct AccurateRows<'a, T: Scalar, I: Index> {
    a: &'a Csr<'a, T, I>,
    first: usize,
    x: &'a [T],
    rhs: &'a [T],
    r: &'a mut [T],
}

impl<T: Scalar, I: Index> Job<T> for AccurateRows<'_, T, I> {
    type Output = f64;

    #[inline(always)]
    fn run<V: Lanes<Real = T::Real>>(self) -> f64 {
        if const { V::FUSED } { self.each_row::<true>() } else { self.each_row::<false>() }
    }
}

impl<T: Scalar, I: Index> AccurateRows<'_, T, I> {
    #[inline(always)]
    fn each_row<const FUSED: bool>(self) -> f64 {
        let (_, columns, values) = self.a.parts();
        let mut worst = 0.0_f64;
        for (k, r) in self.r.iter_mut().enumerate() {
            let (entries, d) = (self.a.range(self.first + k), parts(self.rhs[self.first + k], 1.0));
            let (mut re, mut im) = (PairSum::new(d[0]), PairSum::new(d[1]));
            let count = entries.len();
            for e in entries {
                let column = columns[e].to_usize().expect("checked by `new`");
                let (a, x) = (parts(values[e], 1.0), parts(self.x[column], 1.0));
                re.subtract::<T, FUSED>(a[0], x[0]);
                if T::COMPLEX {
                    re.subtract::<T, FUSED>(-a[1], x[1]);
                    im.subtract::<T, FUSED>(a[0], x[1]);
                    im.subtract::<T, FUSED>(a[1], x[0]);
                }
            }
            let value = [re.high + re.low, im.high + im.low];
            *r = T::from_parts(T::Real::from_f64(value[0]), T::Real::from_f64(value[1]));
            let mut error = re.error(count) + im.error(count);
            if Scalar::abs(*r) < T::Real::MIN_POSITIVE {
                // For subnormal numbers, the rounding error to T is not relative to the number.
                error += (value[0] - r.re().to_f64()).abs() + (value[1] - r.im().to_f64()).abs();
            }
            worst = worst.max_nan(error);
        }
        worst
    }
}

/// The rounding error of smaller products may underflow.
const TINY: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// A sum as an unevaluated pair, and the size of the rounding errors in `low`.
#[derive(Clone, Copy)]
struct PairSum {
    high: f64,
    low: f64,
    /// The sum of the moduli of the terms of `low`.
    lost: f64,
    underflow: bool,
}

impl PairSum {
    #[inline(always)]
    fn new(high: f64) -> Self {
        Self { high, low: 0.0, lost: 0.0, underflow: false }
    }

    /// Subtract a·b.
    #[inline(always)]
    fn subtract<T: Scalar, const FUSED: bool>(&mut self, a: f64, b: f64) {
        let product = -a * b;
        // Products of two numbers in single precision are exact.
        let lost_in_product = if const { size_of::<T::Real>() == 4 } {
            0.0
        } else {
            self.underflow |= product.abs() < TINY && a != 0.0 && b != 0.0;
            lost_in_product::<FUSED>(-a, b, product)
        };
        let sum = self.high + product;
        let back = sum - self.high;
        let lost_in_sum = (self.high - (sum - back)) + (product - back);
        self.low += lost_in_product + lost_in_sum;
        self.lost += lost_in_product.abs() + lost_in_sum.abs();
        self.high = sum;
    }

    /// A bound on the error of high + low after `count` entries of a row. An entry of a complex matrix needs two products. Each term of `low` takes
    /// part in at most 2·count + 2 roundings of ε/2. Each product that underflows adds at most the smallest number.
    #[inline(always)]
    fn error(&self, count: usize) -> f64 {
        let terms = 2.0 * count as f64 + 2.0;
        let below = if self.underflow { terms * f64::from_bits(1) } else { 0.0 };
        terms * f64::EPSILON * self.lost + below
    }
}

/// The rounding error a·b − `product`, where `product` is a·b rounded.
#[inline(always)]
fn lost_in_product<const FUSED: bool>(a: f64, b: f64, product: f64) -> f64 {
    const SAFE: core::ops::Range<f64> = 1e-130..1e130;
    // Splitting overflows or underflows for numbers near the ends of the range. The library call is slow, but works for them.
    if FUSED || !(SAFE.contains(&a.abs()) && SAFE.contains(&b.abs())) {
        return a.mul_add(b, -product);
    }
    lost(a, b, product)
}
