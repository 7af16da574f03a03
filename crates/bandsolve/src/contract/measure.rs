//! Row-wise and componentwise backward errors, and residuals in twice the working precision.

#[cfg(test)]
use crate::contract::equations::TridiagonalRows;
use crate::contract::equations::{Equations, Matrix};
use crate::contract::op::Op;
use crate::contract::refine::accepted_at_once;
use crate::matrix::Tridiagonal;
use crate::tuning::{MEASURE_PARALLEL, MEASURE_TASK, MEASURED_ROWS, RHS_TOGETHER, ROWS_TOGETHER};
use bandsolve_kernel::exact::{NormalizedRow, RunningMaximum, ScaledNorm, Sum, exponent, ldexp, modulus, parts, pow2};
use bandsolve_kernel::row_errors::{GROUP, LargestErrors, MOST_ROWS};
#[cfg(test)]
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::{RowsOf, chunks};
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use core::ops::Range;
use smallvec::SmallVec;

/// The row-wise backward error η of one right-hand side of a tridiagonal system.
///
/// η is measured in the working precision, whose rounding changes η by at most 2ε. It does not overflow or underflow for finite inputs,
/// and is NaN if x or an entry is not finite. 0/0 counts as 0, and ‖x‖∞ as the smallest normal number at least.
///
/// # Cost
/// One pass over the three diagonals, rhs and x. If `parallel`, all threads work from n = 10⁵ on, with the same result.
#[cfg(test)]
pub(crate) fn backward_error<T: Scalar>(rows: Rows<'_, T>, (rhs, x): (&[T], &[T]), parallel: bool) -> f64 {
    measure(&TridiagonalRows { rows, simd: Simd::detect() }, rhs, x, parallel)
}

/// η of one right-hand side of A·x = d. Rows above half of the limit are measured in twice the working precision.
pub fn error_of<T: Scalar>(a: &impl Matrix<T>, (d, x): (&[T], &[T])) -> f64 {
    let equations = a.equations(Op::Plain, Simd::detect());
    if equations.prefers_precise() {
        return residual(&equations, (d, x), &mut vec![T::ZERO; x.len()], false);
    }
    measure_rows::<T, _, true>(&equations, 0..x.len(), (d, x), &ScaledNorm::of(x), false)
}

/// η of all rows except the first and the last, for ‖x‖∞ = `norm`. Rows above half of the limit are measured as in [`error_of`].
pub fn inner_error_of<T: Scalar>(a: &Tridiagonal<'_, T>, (d, x): (&[T], &[T]), norm: f64) -> f64 {
    let (rows, end) = (a.equations(Op::Plain, Simd::detect()), x.len().saturating_sub(1));
    let norm = ScaledNorm::of(&[T::from_real(T::Real::from_f64(norm))]);
    measure_rows::<T, _, true>(&rows, 1..end.max(1), (d, x), &norm, false)
}

/// Write the residual d − A·x, computed in twice the working precision, and return η.
pub fn residual_of<T: Scalar>(a: &impl Matrix<T>, (d, x): (&[T], &[T]), r: &mut [T]) -> f64 {
    residual(&a.equations(Op::Plain, Simd::detect()), (d, x), r, false)
}

/// Number of chunks of `chunk` rows per task, for `len` rows with `entries` matrix entries each; 0 to work on one thread.
fn task(len: usize, entries: usize, chunk: usize, parallel: bool) -> usize {
    if parallel && len.saturating_mul(entries) >= MEASURE_PARALLEL { MEASURE_TASK.div_ceil(entries * chunk) } else { 0 }
}

/// The row-wise backward error η of one right-hand side of any system.
pub(crate) fn measure<T: Scalar, E: Equations<T>>(equations: &E, d: &[T], x: &[T], parallel: bool) -> f64 {
    measure_rows::<T, E, false>(equations, 0..x.len(), (d, x), &ScaledNorm::of(x), parallel)
}

/// The largest error of some rows, for ‖x‖∞ = `norm`.
///
/// If `TWICE`, rows whose error exceeds half of the limit are measured again in twice the working precision, so that rounding cannot
/// exceed the limit.
pub(crate) fn measure_rows<T: Scalar, E: Equations<T>, const TWICE: bool>(
    equations: &E,
    rows: Range<usize>,
    (d, x): (&[T], &[T]),
    norm: &ScaledNorm,
    parallel: bool,
) -> f64 {
    if !norm.value.is_finite() {
        return f64::NAN;
    }
    let of_chunk = |c: usize| {
        let first = rows.start + c * MEASURED_ROWS;
        let rows = first..(first + MEASURED_ROWS).min(rows.end);
        if E::BY_BLOCKS {
            return block_error::<T, E, TWICE>(equations, rows, (d, x), norm);
        }
        let mut worst = RunningMaximum::default();
        for i in rows {
            let error = row_error(equations, i, (d[i], x), norm);
            worst.add(if TWICE && error > accepted_at_once::<T>() {
                scaled_row::<T, E, true>(equations, i, (d[i], x), norm).error()
            } else {
                error
            });
        }
        worst
    };
    let least = task(rows.len(), equations.entries_in_row(), MEASURED_ROWS, parallel);
    let of_chunk = |c: usize, ()| of_chunk(c);
    chunks((rows.len().div_ceil(MEASURED_ROWS), least), (), &of_chunk, (RunningMaximum::default(), &Ord::max)).value()
}

/// η of up to [`RHS_TOGETHER`] right-hand sides of n numbers, followed by zeros.
pub(crate) fn measure_together<T: Scalar, E: Equations<T>>(
    equations: &E,
    n: usize,
    (d, x): (&[T], &[T]),
    parallel: bool,
) -> [f64; RHS_TOGETHER] {
    let mut etas = [0.0; RHS_TOGETHER];
    if !E::BY_BLOCKS {
        for (eta, (d, x)) in etas.iter_mut().zip(d.chunks_exact(n).zip(x.chunks_exact(n))) {
            *eta = measure(equations, d, x, parallel);
        }
        return etas;
    }
    let norms: SmallVec<[ScaledNorm; RHS_TOGETHER]> = x.chunks_exact(n).map(ScaledNorm::of).collect();
    let of_chunk = |c: usize| {
        let rows = c * ROWS_TOGETHER..((c + 1) * ROWS_TOGETHER).min(n);
        // Sized for the maximum number of columns, so that it needs no heap memory.
        let mut r = SmallVec::<[T; RHS_TOGETHER * ROWS_TOGETHER]>::new();
        d.chunks_exact(n).for_each(|d| r.extend_from_slice(&d[rows.clone()]));
        let mut sums = [T::ZERO; ROWS_TOGETHER];
        let sums = &mut sums[..rows.len()];
        equations.accumulate_columns(rows.start, (x, n), (&mut r, rows.len()), sums);
        let mut worst = [RunningMaximum::default(); RHS_TOGETHER];
        let columns = r.chunks_exact(rows.len()).zip(d.chunks_exact(n).zip(x.chunks_exact(n)));
        for ((worst, norm), (r, (d, x))) in worst.iter_mut().zip(&norms).zip(columns) {
            let residuals = RowResiduals { first_row: rows.start, r, sums, d: &d[rows.clone()] };
            *worst = row_errors::<T, E, false>(equations, residuals, x, norm);
        }
        worst
    };
    let larger = |mut a: [RunningMaximum; RHS_TOGETHER], b: [RunningMaximum; RHS_TOGETHER]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(b));
        a
    };
    let none = [RunningMaximum::default(); RHS_TOGETHER];
    let least = task(x.len(), equations.entries_in_row(), ROWS_TOGETHER * norms.len(), parallel);
    let of_chunk = |c: usize, ()| of_chunk(c);
    let worst = chunks((n.div_ceil(ROWS_TOGETHER), least), (), &of_chunk, (none, &larger));
    for (eta, (worst, norm)) in etas.iter_mut().zip(worst.iter().zip(&norms)) {
        *eta = if norm.value.is_finite() { worst.value() } else { f64::NAN };
    }
    etas
}

/// Largest error of at most `MEASURED_ROWS` rows of a real system.
fn block_error<T: Scalar, E: Equations<T>, const TWICE: bool>(
    equations: &E,
    rows: Range<usize>,
    (d, x): (&[T], &[T]),
    norm: &ScaledNorm,
) -> RunningMaximum {
    let (mut r, mut sums) = ([T::ZERO; MEASURED_ROWS], [T::ZERO; MEASURED_ROWS]);
    let (r, sums) = (&mut r[..rows.len()], &mut sums[..rows.len()]);
    let d = &d[rows.clone()];
    r.copy_from_slice(d);
    equations.accumulate(rows.start, x, r, sums);
    row_errors::<T, E, TWICE>(equations, RowResiduals { first_row: rows.start, r, sums, d }, x, norm)
}

/// The rows of a system from `first_row` on: residuals, sums Σ|a|, and right-hand sides.
struct RowResiduals<'a, T> {
    first_row: usize,
    r: &'a [T],
    sums: &'a [T],
    d: &'a [T],
}

const _: () = assert!(MEASURED_ROWS <= MOST_ROWS && ROWS_TOGETHER <= MOST_ROWS);

/// Largest error of at most [`MOST_ROWS`] rows.
fn row_errors<T: Scalar, E: Equations<T>, const TWICE: bool>(
    equations: &E,
    RowResiduals { first_row, r, sums, d }: RowResiduals<'_, T>,
    x: &[T],
    norm: &ScaledNorm,
) -> RunningMaximum {
    // Within these limits nothing overflows, and an underflow is far below ε times the smallest `scale`.
    let (low, high) = (T::Real::MIN_POSITIVE.to_f64() / T::Real::EPSILON.to_f64().powi(2), T::Real::MAX.to_f64());
    // The largest error of some groups of rows. If `again`, errors above the limit are measured in twice the working precision.
    let largest = |mut groups: u64, again: bool| {
        let mut worst = RunningMaximum::default();
        while groups != 0 {
            let group = groups.trailing_zeros() as usize * GROUP;
            groups &= groups - 1;
            for k in group..(group + GROUP).min(r.len()) {
                let (i, scale) = (first_row + k, sums[k].abs1().to_f64() * norm.plain + d[k].abs1().to_f64());
                let plain = scale > low && scale < high;
                let error = if plain {
                    r[k].abs1().to_f64() / scale
                } else {
                    scaled_row::<T, E, TWICE>(equations, i, (d[k], x), norm).error()
                };
                worst.add(if again && plain && is_large::<T>(error) {
                    scaled_row::<T, E, true>(equations, i, (d[k], x), norm).error()
                } else {
                    error
                });
            }
        }
        worst
    };
    let (limits, norm) = ([low, high].map(T::Real::from_f64), T::Real::from_f64(norm.plain));
    // Every instruction set finds the group with the largest error.
    let groups = LargestErrors { r, sums, d, norm, limits }.run_on(Simd::detect());
    let worst = largest(groups, false);
    // A second measurement can make the largest error smaller than that of a row in another group.
    if TWICE && is_large::<T>(worst.value()) { largest(u64::MAX >> (63 - (r.len() - 1) / GROUP), true) } else { worst }
}

/// Whether an error exceeds half of the limit, or is NaN.
fn is_large<T: Scalar>(error: f64) -> bool {
    !(error <= accepted_at_once::<T>())
}

/// An upper bound of the reciprocal condition of a matrix of n rows, if x is so large that this bound is below ε; otherwise `None`.
///
/// With sᵢ = Σⱼ|aᵢⱼ|, ‖A⁻¹·diag(s)‖∞ is at least ‖x‖∞ / maxᵢ(|dᵢ|/sᵢ). `ratio(i)` is |dᵢ|/sᵢ. `largest` returns ‖x‖∞, and `at_most` is an
/// upper bound of ‖x‖∞.
///
/// # Cost
/// The rows up to the first that shows that x is not too large, mostly one row. `largest` is not called if `at_most` shows this already.
pub(crate) fn rcond_from_size<T: Scalar>(
    n: usize,
    ratio: impl Fn(usize) -> f64,
    (at_most, largest): (f64, impl FnOnce() -> f64),
) -> Option<f64> {
    // The largest ratio, or `None` if a ratio is at least ε times the size of x.
    let largest_ratio = |size: f64| {
        let (mut most, limit): (f64, f64) = (0.0, T::Real::EPSILON.to_f64() * size);
        for i in 0..n {
            most = most.max(ratio(i));
            if most >= limit {
                return None;
            }
        }
        Some(most)
    };
    if at_most.is_finite() {
        largest_ratio(at_most)?;
    }
    let largest = largest();
    let rcond = largest_ratio(largest)? / largest;
    (rcond > 0.0).then_some(rcond)
}

/// Write the residual r = d − A·x, computed in twice the working precision, and return η.
pub(crate) fn residual<T: Scalar, E: Equations<T>>(
    equations: &E,
    (d, x): (&[T], &[T]),
    r: &mut [T],
    parallel: bool,
) -> f64 {
    let norm = ScaledNorm::of(x);
    if !norm.value.is_finite() {
        return f64::NAN;
    }
    let of_chunk = |chunk: usize, RowsOf(r, _): RowsOf<'_, T>| {
        if let Some(eta) = equations.precise_residual(chunk * MEASURED_ROWS, (d, x), (&norm, &mut *r)) {
            return eta;
        }
        let mut eta = RunningMaximum::default();
        for (i, r) in (chunk * MEASURED_ROWS..).zip(r) {
            let row = scaled_row::<T, E, true>(equations, i, (d[i], x), &norm);
            eta.add(row.error());
            *r = row.unscaled();
        }
        eta
    };
    let least = task(x.len(), equations.entries_in_row(), MEASURED_ROWS, parallel);
    chunks(
        (r.len().div_ceil(MEASURED_ROWS), least),
        RowsOf(r, MEASURED_ROWS),
        &of_chunk,
        (RunningMaximum::default(), &Ord::max),
    )
    .value()
}

/// The error |dᵢ − (Ax)ᵢ| / (Σ|aᵢⱼ|·‖x‖∞ + |dᵢ|) of one row of a complex system.
#[inline(always)]
fn row_error<T: Scalar, E: Equations<T>>(equations: &E, i: usize, (d, x): (T, &[T]), norm: &ScaledNorm) -> f64 {
    // Complex moduli in double precision can overflow or underflow without scaling.
    if T::Real::EPSILON.to_f64() == f64::EPSILON {
        return scaled_row::<T, E, false>(equations, i, (d, x), norm).error();
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

/// The residual and the size of one row. If `COMPENSATED`, the residual is computed in twice the working precision.
fn scaled_row<T: Scalar, E: Equations<T>, const COMPENSATED: bool>(
    equations: &E,
    i: usize,
    (d, x): (T, &[T]),
    norm: &ScaledNorm,
) -> NormalizedRow {
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
    NormalizedRow { residual: sum.map(|s| s.value()), size: row_sum * norm.value + modulus(d), exponent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::equations::Matrix;
    use crate::{Banded, BlockTridiagonal, Simd, Tridiagonal};

    fn wave(n: usize, by: f64) -> Vec<f64> {
        (0..n).map(|i| (i as f64 * by + 0.3).sin()).collect()
    }

    /// Check that columns measured together have the same η as single ones, up to rounding.
    fn check(a: &impl Matrix<f64>, columns: usize) {
        let n = a.shape().n();
        let (d, x) = (wave(n * columns, 0.71), wave(n * columns, 1.37));
        for (op, parallel) in [(Op::Plain, false), (Op::Transpose, true)] {
            let equations = a.equations(op, Simd::detect());
            let etas = measure_together(&equations, n, (&d, &x), parallel);
            for (k, (d, x)) in d.chunks(n).zip(x.chunks(n)).enumerate() {
                let eta = measure(&equations, d, x, false);
                assert!((etas[k] - eta).abs() <= 1e-13, "{:?} {op:?}, column {k}: {} {eta}", a.shape(), etas[k]);
            }
            assert!(etas[columns..].iter().all(|eta| *eta == 0.0));
        }
    }

    #[test]
    fn together_and_one_by_one() {
        for columns in [2, 5, 16] {
            for (n, lower, upper) in
                [(1, 0, 0), (3, 1, 5), (31, 2, 2), (33, 40, 1), (200, 0, 0), (300, 7, 30), (700, 60, 45)]
            {
                // Entries outside of the matrix are NaN, because they must not be read.
                let mut bands = wave(n * (lower + upper + 3), 0.37);
                for (j, column) in bands.chunks_mut(lower + upper + 3).enumerate() {
                    let inside = |k: usize| k <= lower + upper && (upper..n + upper).contains(&(j + k));
                    column.iter_mut().enumerate().filter(|(k, _)| !inside(*k)).for_each(|(_, v)| *v = f64::NAN);
                }
                check(&Banded::with_leading(n, lower, upper, lower + upper + 3, &bands).unwrap(), columns);
            }
            for (n, periodic) in [(1, false), (2, true), (129, true), (1000, false)] {
                let arrays = [0.37, 0.53, 0.59].map(|by| wave(n, by));
                let [sub, diag, sup] = arrays;
                check(&Tridiagonal::from_vecs(sub, diag, sup, periodic).unwrap(), columns);
                let blocks = [0.37, 0.53, 0.59].map(|by| wave(9 * n, by));
                check(&BlockTridiagonal::from_vecs(3, blocks, periodic).unwrap(), columns);
            }
        }
    }

    #[test]
    fn the_worst_row_is_found_wherever_it_is() {
        // The solver skips groups of rows by comparing products. The reference computes a quotient for each row.
        for n in [1, 2, 15, 16, 17, 511, 513, 1500] {
            let arrays = [0.37, 0.53, 0.59].map(|by| wave(n, by));
            let [sub, diag, sup] = arrays.each_ref().map(Vec::as_slice);
            let a = Tridiagonal::new(sub, diag, sup).unwrap();
            let (mut x, equations) = (wave(n, 1.37), a.equations(Op::Plain, Simd::detect()));
            let d = a.apply(&x).unwrap();
            for bad in [0, n / 2, n - 1] {
                x[bad] += 1e-9;
                let norm = ScaledNorm::of(&x);
                let of_row = |i: usize| {
                    let (mut r, mut sum) = ([d[i]], [0.0]);
                    equations.accumulate(i, &x, &mut r, &mut sum);
                    r[0].abs() / (sum[0] * norm.plain + d[i].abs())
                };
                let worst = (0..n).map(of_row).fold(0.0, f64::max);
                assert_eq!(measure(&equations, &d, &x, false).to_bits(), worst.to_bits(), "{n}, {bad}");
                assert_eq!(inner_error_of(&a, (&d, &x), norm.plain) > 0.0, n > 2, "{n}, {bad}");
            }
        }
    }

    #[test]
    fn rows_above_half_of_what_is_accepted_are_measured_again() {
        let n = 700;
        let a = Tridiagonal::from_vecs(wave(n, 0.37), wave(n, 0.53), wave(n, 0.59), false).unwrap();
        let (mut x, equations) = (wave(n, 1.37), a.equations(Op::Plain, Simd::detect()));
        let d = a.apply(&x).unwrap();
        // Three rows have an error of some ε. All unknowns are at most 1.
        x[300] += 60.0 * f64::EPSILON;
        let mut r = vec![0.0; n];
        let precise = residual(&equations, (&d, &x), &mut r, false);
        assert!(precise > accepted_at_once::<f64>(), "{precise:e}");
        assert_eq!(error_of(&a, (&d, &x)), precise);
    }

    #[test]
    fn no_row_hides_behind_one_whose_error_is_only_rounding() {
        // x = 1. Forty entries of row 0 disappear when they are subtracted from a number above 1, which looks like an error of 6ε. The
        // error of row 100 is 5ε.
        let (n, width, epsilon) = (128, 40, f64::EPSILON);
        let mut bands = vec![0.0; n * (width + 1)];
        let mut set = |i: usize, j: usize, v: f64| bands[width + i - j + j * (width + 1)] = v;
        (1..n).for_each(|i| set(i, i, 1.0));
        (0..width).for_each(|j| set(0, j, 0.3 * epsilon));
        set(0, width, 1.0);
        let a = Banded::from_vec(n, 0, width, bands).unwrap();
        let (x, mut d) = (vec![1.0; n], vec![1.0; n]);
        d[0] += 12.0 * epsilon;
        d[100] += 10.0 * epsilon;
        assert!(measure(&a.equations(Op::Plain, Simd::detect()), &d, &x, false) > 5.5 * epsilon);
        let error = error_of(&a, (&d, &x));
        assert!((error / epsilon - 5.0).abs() < 0.01, "{error:e}");
    }

    #[test]
    fn only_columns_with_nan_have_a_nan_error() {
        let a = Banded::from_vec(40, 1, 2, wave(160, 0.7)).unwrap();
        let (d, mut x) = (wave(120, 0.71), wave(120, 1.37));
        x[57] = f64::INFINITY;
        let etas = measure_together(&a.equations(Op::Plain, Simd::detect()), 40, (&d, &x), false);
        assert!(etas[0].is_finite() && etas[1].is_nan() && etas[2].is_finite(), "{etas:?}");
    }
}
