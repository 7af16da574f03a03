//! The residual of one row, for componentwise errors.

use crate::contract::op::Op;
use crate::contract::probe::Probe;
use bandsolve_kernel::exact::{Sum, exponent, ldexp, modulus, parts};
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};

/// The residual of one row of op(A)·x = d, in twice the working precision, and its size |A||x| + |d|.
///
/// Both are in units of 2^exponent, in which the largest term is near 1. Nothing overflows, and an underflow is negligible.
pub(crate) struct ComponentRow {
    residual: [f64; 2],
    pub size: f64,
    /// The increase of the size if unknowns below the smallest normal number are replaced by this number.
    floor: f64,
    pub exponent: i32,
    /// Number of terms of the sum.
    pub terms: usize,
}

impl ComponentRow {
    pub fn new<T: Scalar>(probe: &dyn Probe<T>, (op, i): (Op, usize), d: T, x: &[T]) -> Self {
        // Unknowns below the smallest normal number have an absolute error, not a relative one.
        let least = T::Real::MIN_POSITIVE;
        let size_of = |v: T| exponent(peak(v).to_f64());
        let mut largest = if d == T::ZERO { i32::MIN } else { size_of(d) };
        probe.visit_row(op, i, &mut |j, a| {
            if a != T::ZERO {
                largest = largest.max(size_of(a) + exponent(peak(x[j]).max_nan(least).to_f64()));
            }
        });
        let exponent = if largest == i32::MIN { 0 } else { largest };
        let scaled = |v: T, e: i32| parts(v, 1.0).map(|v| ldexp(v, e.max(-2000)));
        let d = scaled(d, -exponent);
        let mut sum = [Sum::new(d[0]), Sum::new(d[1])];
        let (mut size, mut floor, mut terms) = (modulus(d), 0.0, 1);
        probe.visit_row(op, i, &mut |j, a| {
            terms += 1;
            if a == T::ZERO {
                return;
            }
            let exponent_of_a = size_of(a);
            let (a, x) = (scaled(a, -exponent_of_a), scaled(x[j], exponent_of_a - exponent));
            sum[0].add_product::<true>(-a[0], x[0]);
            if T::COMPLEX {
                sum[0].add_product::<true>(a[1], x[1]);
                sum[1].add_product::<true>(-a[0], x[1]);
                sum[1].add_product::<true>(-a[1], x[0]);
            }
            let (a, x, least) = (modulus(a), modulus(x), ldexp(least.to_f64(), (exponent_of_a - exponent).max(-2000)));
            size += a * x;
            floor += a * (least - x).max(0.0);
        });
        Self { residual: sum.map(|s| s.value()), size, floor, exponent, terms }
    }

    /// Return |r| / (|A||x| + |d|) with 0/0 = 0. Unknowns count as the smallest normal number at least.
    pub fn error(&self) -> f64 {
        let error = self.residual_modulus();
        if error == 0.0 { 0.0 } else { error / (self.size + self.floor) }
    }

    pub fn residual_modulus(&self) -> f64 {
        modulus(self.residual)
    }

    /// Return the residual.
    pub fn residual<T: Scalar>(&self) -> T {
        let back = |v: f64| T::Real::from_f64(ldexp(v, self.exponent));
        T::from_parts(back(self.residual[0]), back(self.residual[1]))
    }
}
