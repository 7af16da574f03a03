//! Measuring answers: row-wise and componentwise backward errors, residuals in twice the working precision.

use super::Op;
use super::inspect::Probe;
use super::verify::Equations;
use crate::matrix::Rows;
use crate::scalar::{RealScalar, Scalar};
use core::ops::Range;
use rayon::prelude::*;

/// The row-wise backward error η of one right-hand side of a tridiagonal system.
///
/// Measured in the working precision, whose rounding perturbs η by at most 2ε. Free of overflow and underflow for all
/// finite inputs; NaN if x or an entry is not finite; 0/0 counts as 0.
///
/// # Cost
/// One pass over the three diagonals, rhs and x, on all threads from n = 10⁵; the result does not depend on their number.
pub(crate) fn backward_error<T: Scalar>(rows: Rows<'_, T>, rhs: &[T], x: &[T]) -> f64 {
    measure(&rows, rhs, x, true)
}

/// Entries from which η is measured in parallel, and those that one task takes.
const PARALLEL_FROM: usize = 300_000;
const PARALLEL_TASK: usize = 1 << 14;
/// Rows that are measured together.
const CHUNK: usize = 512;

/// η of any system.
pub(crate) fn measure<T: Scalar, E: Equations<T>>(equations: &E, d: &[T], x: &[T], parallel: bool) -> f64 {
    let norm = Norm::of(x);
    if !norm.value.is_finite() {
        return f64::NAN;
    }
    let of_chunk = |c: usize| {
        let rows = c * CHUNK..((c + 1) * CHUNK).min(x.len());
        if E::BY_BLOCKS {
            return block_error(equations, rows, (d, x), &norm);
        }
        let mut worst = Largest::default();
        rows.for_each(|i| worst.add(row_error(equations, i, (d[i], x), &norm)));
        worst
    };
    let chunks = 0..x.len().div_ceil(CHUNK);
    let entries = equations.entries_in_row();
    let worst = if parallel && x.len().saturating_mul(entries) >= PARALLEL_FROM {
        chunks.into_par_iter().with_min_len(PARALLEL_TASK.div_ceil(entries * CHUNK)).map(of_chunk).max()
    } else {
        chunks.map(of_chunk).max()
    };
    worst.unwrap_or_default().value()
}

/// Largest row error of at most `CHUNK` rows of a real system.
fn block_error<T: Scalar, E: Equations<T>>(
    equations: &E,
    rows: Range<usize>,
    (d, x): (&[T], &[T]),
    norm: &Norm,
) -> Largest {
    let (mut r, mut sums) = ([T::ZERO; CHUNK], [T::ZERO; CHUNK]);
    let (r, sums) = (&mut r[..rows.len()], &mut sums[..rows.len()]);
    let d = &d[rows.clone()];
    r.copy_from_slice(d);
    equations.accumulate(rows.start, x, r, sums);
    // Within these limits nothing overflows, and what underflows is far below ε of the smallest `scale`.
    let (low, high) = (T::Real::MIN_POSITIVE.to_f64() / T::Real::EPSILON.to_f64().powi(2), T::Real::MAX.to_f64());
    let mut worst = Largest::default();
    for (k, ((r, sum), d)) in r.iter().zip(&*sums).zip(d).enumerate() {
        let scale = sum.abs1().to_f64() * norm.plain + d.abs1().to_f64();
        if scale > low && scale < high {
            worst.add(r.abs1().to_f64() / scale);
        } else {
            worst.add(ScaledRow::new::<T, E, false>(equations, rows.start + k, (*d, x), norm).error());
        }
    }
    worst
}

/// Writes the residual r = d − A·x, formed in twice the working precision, and returns η measured with it.
pub(super) fn residual<T: Scalar, E: Equations<T>>(
    equations: &E,
    (d, x): (&[T], &[T]),
    r: &mut [T],
    parallel: bool,
) -> f64 {
    let norm = Norm::of(x);
    if !norm.value.is_finite() {
        return f64::NAN;
    }
    let of_chunk = |(chunk, r): (usize, &mut [T])| {
        if let Some(eta) = equations.precise_residual(chunk * CHUNK, (d, x), (&norm, &mut *r)) {
            return eta;
        }
        let mut eta = Largest::default();
        for (i, r) in (chunk * CHUNK..).zip(r) {
            let row = ScaledRow::new::<T, E, true>(equations, i, (d[i], x), &norm);
            eta.add(row.error());
            *r = row.unscaled();
        }
        eta
    };
    let eta = if parallel && x.len().saturating_mul(equations.entries_in_row()) >= PARALLEL_FROM {
        r.par_chunks_mut(CHUNK).enumerate().map(of_chunk).max()
    } else {
        r.chunks_mut(CHUNK).enumerate().map(of_chunk).max()
    };
    eta.unwrap_or_default().value()
}

/// Running maximum of moduli, NaN if one of them is: their bits are ordered like the numbers, NaN on top.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Largest(u64);

impl Largest {
    #[inline(always)]
    pub fn add(&mut self, v: f64) {
        self.0 = self.0.max(v.abs().to_bits());
    }

    fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// ‖x‖∞ as `value · 2^exponent` with `value` near 1.
pub(crate) struct Norm {
    pub value: f64,
    pub exponent: i32,
    /// The product, not safe from overflow.
    plain: f64,
}

impl Norm {
    fn of<T: Scalar>(x: &[T]) -> Self {
        let mut largest = Largest::default();
        for v in x {
            largest.add(v.re().to_f64());
            largest.add(v.im().to_f64());
        }
        let largest = largest.value();
        let exponent = exponent(largest);
        let mut value = largest * pow2(-exponent);
        if T::COMPLEX && largest.is_finite() {
            value = x.iter().map(|v| modulus(parts(*v, pow2(-exponent)))).fold(0.0, f64::max);
        }
        Self { value, exponent, plain: value * pow2(exponent) }
    }
}

/// |d_i − (Ax)_i| / (Σ|a_ij|·‖x‖∞ + |d_i|) of one row of a complex system.
#[inline(always)]
fn row_error<T: Scalar, E: Equations<T>>(equations: &E, i: usize, (d, x): (T, &[T]), norm: &Norm) -> f64 {
    // Complex moduli in double precision would over- or underflow unscaled.
    if T::Real::EPSILON.to_f64() == f64::EPSILON {
        return ScaledRow::new::<T, E, false>(equations, i, (d, x), norm).error();
    }
    let mut r = parts(d, 1.0);
    let mut scale = modulus(r);
    equations.visit_row(i, |j, a| {
        let (a, x) = (parts(a, 1.0), parts(x[j], 1.0));
        r[0] -= a[0] * x[0] - a[1] * x[1];
        r[1] -= a[0] * x[1] + a[1] * x[0];
        scale += modulus(a) * norm.plain;
    });
    if r == [0.0, 0.0] { 0.0 } else { modulus(r) / scale }
}

/// One row with its entries, x and d multiplied by powers of two so that the largest are near 1.
pub(super) struct ScaledRow {
    /// d − A·x, scaled by 2^−exponent.
    residual: [f64; 2],
    /// Σ|a_ij|·‖x‖∞ + |d|, scaled alike.
    size: f64,
    exponent: i32,
}

impl ScaledRow {
    fn new<T: Scalar, E: Equations<T>, const COMPENSATED: bool>(
        equations: &E,
        i: usize,
        (d, x): (T, &[T]),
        norm: &Norm,
    ) -> Self {
        let mut largest = T::Real::ZERO;
        equations.visit_row(i, |_, a| largest = largest.max_nan(peak(a)));
        let row_exponent = exponent(largest.to_f64());
        let (row_scale, x_scale) = (pow2(-row_exponent), pow2(-norm.exponent));

        let exponent = row_exponent + norm.exponent;
        let d = parts(d, 1.0).map(|v| ldexp(v, -exponent));
        let mut sum = [Sum::new(d[0]), Sum::new(d[1])];
        let mut row_sum = 0.0;
        equations.visit_row(i, |j, a| {
            let (a, x) = (parts(a, row_scale), parts(x[j], x_scale));
            sum[0].add_product::<COMPENSATED>(-a[0], x[0]);
            if T::COMPLEX {
                sum[0].add_product::<COMPENSATED>(a[1], x[1]);
                sum[1].add_product::<COMPENSATED>(-a[0], x[1]);
                sum[1].add_product::<COMPENSATED>(-a[1], x[0]);
            }
            row_sum += modulus(a);
        });
        Self { residual: sum.map(|s| s.value()), size: row_sum * norm.value + modulus(d), exponent }
    }

    /// From the scaled residual, the sum of the scaled row, and d.
    #[inline(always)]
    pub fn sum_up<T: Scalar>(residual: [f64; 2], (row_sum, norm): (f64, &Norm), (d, exponent): (T, i32)) -> Self {
        let d = parts(d, 1.0).map(|v| ldexp(v, -exponent));
        Self { residual, size: row_sum * norm.value + modulus(d), exponent }
    }

    /// The residual itself.
    #[inline(always)]
    pub fn unscaled<T: Scalar>(&self) -> T {
        let [re, im] = self.residual.map(|v| T::Real::from_f64(ldexp(v, self.exponent)));
        T::from_parts(re, im)
    }

    #[inline(always)]
    pub fn error(&self) -> f64 {
        let error = modulus(self.residual);
        if error == 0.0 {
            0.0
        } else if self.size == f64::INFINITY {
            // d is beyond A·x by more than the range of the type (or infinite, which is not for us to excuse).
            if self.residual.iter().any(|v| v.is_nan()) { f64::NAN } else { 1.0 }
        } else {
            error / self.size
        }
    }
}

/// One row of op(A)·x = d: its residual, formed in twice the working precision, and (|A||x| + |d|), in units of 2^exponent in
/// which its largest term is near 1. So nothing overflows, and what underflows is nothing beside the largest.
pub(super) struct ComponentRow {
    residual: [f64; 2],
    pub size: f64,
    /// What unknowns below the smallest normal number would add to the size if they were that.
    floor: f64,
    pub exponent: i32,
    /// Terms that were added up.
    pub terms: usize,
}

impl ComponentRow {
    pub fn new<T: Scalar>(probe: &dyn Probe<T>, (op, i): (Op, usize), d: T, x: &[T]) -> Self {
        // Unknowns below the smallest normal number are not known to better than a part of that.
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
            let own = size_of(a);
            let (a, x) = (scaled(a, -own), scaled(x[j], own - exponent));
            sum[0].add_product::<true>(-a[0], x[0]);
            if T::COMPLEX {
                sum[0].add_product::<true>(a[1], x[1]);
                sum[1].add_product::<true>(-a[0], x[1]);
                sum[1].add_product::<true>(-a[1], x[0]);
            }
            let (a, x, least) = (modulus(a), modulus(x), ldexp(least.to_f64(), (own - exponent).max(-2000)));
            size += a * x;
            floor += a * (least - x).max(0.0);
        });
        Self { residual: sum.map(|s| s.value()), size, floor, exponent, terms }
    }

    /// |r| / (|A||x| + |d|), 0/0 = 0, with all unknowns at least the smallest normal number.
    pub fn error(&self) -> f64 {
        let error = self.residual_modulus();
        if error == 0.0 { 0.0 } else { error / (self.size + self.floor) }
    }

    pub fn residual_modulus(&self) -> f64 {
        modulus(self.residual)
    }

    /// r itself.
    pub fn residual<T: Scalar>(&self) -> T {
        let back = |v: f64| T::Real::from_f64(ldexp(v, self.exponent));
        T::from_parts(back(self.residual[0]), back(self.residual[1]))
    }
}

/// A sum kept as an unevaluated pair, after Ogita, Rump & Oishi, *Accurate sum and dot product* (2005).
#[derive(Clone, Copy)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn new(high: f64) -> Self {
        Self { high, low: 0.0 }
    }

    /// Adds a·b; compensated: with the rounding errors of the product and the sum. |a|, |b| ≤ 2¹⁰⁰.
    #[inline(always)]
    fn add_product<const COMPENSATED: bool>(&mut self, a: f64, b: f64) {
        let product = a * b;
        let sum = self.high + product;
        if COMPENSATED {
            let lost_in_product = lost(a, b, product);
            let back = sum - self.high;
            let lost_in_sum = (self.high - (sum - back)) + (product - back);
            self.low += lost_in_product + lost_in_sum;
        }
        self.high = sum;
    }

    fn value(self) -> f64 {
        self.high + self.low
    }
}

/// a·b − `product`, which is a·b rounded. After Dekker.
#[inline(always)]
pub(super) fn lost(a: f64, b: f64, product: f64) -> f64 {
    let ((a1, a2), (b1, b2)) = (split(a), split(b));
    a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)
}

/// Veltkamp: a = high + low with 26 bits each, so that their products are exact without FMA.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let c = 134_217_729.0 * a; // 2²⁷ + 1
    let high = c - (c - a);
    (high, a - high)
}

/// Real and imaginary part in double precision, times a power of two.
#[inline(always)]
pub(super) fn parts<T: Scalar>(v: T, scale: f64) -> [f64; 2] {
    [v.re().to_f64() * scale, if T::COMPLEX { v.im().to_f64() * scale } else { 0.0 }]
}

/// The larger of |Re v| and |Im v|: finite for all finite v, unlike `abs1`.
#[inline(always)]
pub(crate) fn peak<T: Scalar>(v: T) -> T::Real {
    let (re, im) = (v.re().abs1(), v.im().abs1());
    if T::COMPLEX { re.max_nan(im) } else { re }
}

/// |z| for values that are nowhere near the limits of the type.
#[inline(always)]
pub(super) fn modulus(z: [f64; 2]) -> f64 {
    if z[1] == 0.0 { z[0].abs() } else { (z[0] * z[0] + z[1] * z[1]).sqrt() }
}

/// e with |v| in [2^(e−1), 2^e), clamped to ±1000.
pub(super) fn exponent(v: f64) -> i32 {
    let biased = (v.to_bits() >> 52) as i32 & 0x7ff;
    (biased - 1022).clamp(-1000, 1000)
}

/// 2^e for |e| ≤ 1022.
#[inline(always)]
pub(super) fn pow2(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// v·2^e for |e| ≤ 2000.
#[inline(always)]
pub(super) fn ldexp(v: f64, e: i32) -> f64 {
    let half = e / 2;
    v * pow2(half) * pow2(e - half)
}
