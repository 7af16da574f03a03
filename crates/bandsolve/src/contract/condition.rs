//! The condition of a factored matrix, estimated with a few solves.

use crate::contract::Op;
use crate::contract::inspect::Probe;
use crate::contract::verify::buffer;
use crate::error::{Error, Result};
use crate::memory::allocate;
use bandsolve_kernel::exact::{exponent, ldexp};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;

/// A norm of vectors and matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Norm {
    /// Largest sum of moduli in a column.
    One,
    /// Largest sum of moduli in a row.
    Infinity,
}

impl Norm {
    /// ‖A‖ is the largest sum in a row of this op(A).
    fn rows_of(self) -> Op {
        match self {
            Norm::One => Op::Transpose,
            Norm::Infinity => Op::Plain,
        }
    }
}

/// ‖A‖.
pub(crate) fn norm<T: Scalar>(probe: &dyn Probe<T>, norm: Norm) -> f64 {
    let (value, exponent) = norm_in_range(probe, norm);
    ldexp(value, exponent)
}

/// ‖A‖ as value·2^exponent; the value is finite if all entries are.
fn norm_in_range<T: Scalar>(probe: &dyn Probe<T>, norm: Norm) -> (f64, i32) {
    // Units of 2⁶⁴ where sums of entries near the end of the range, or a complex modulus, overflow.
    let plain = largest_row_sum(probe, norm.rows_of(), 1.0);
    let halfway = T::Real::from_f64(ldexp(1.0, -64));
    if plain.is_finite() { (plain, 0) } else { (largest_row_sum(probe, norm.rows_of(), halfway.to_f64()), 64) }
}

fn largest_row_sum<T: Scalar>(probe: &dyn Probe<T>, op: Op, unit: f64) -> f64 {
    let unit = T::Real::from_f64(unit);
    let mut largest: f64 = 0.0;
    for i in 0..probe.shape().rows() {
        let mut sum = 0.0;
        probe.visit_row(op, i, &mut |_, a| sum += Scalar::abs(a.scale(unit)).to_f64());
        largest = largest.max_nan(sum);
    }
    largest
}

/// 1 / (‖A‖·‖A⁻¹‖).
pub(crate) fn rcond<T: Scalar>(probe: &dyn Probe<T>, norm: Norm) -> Result<f64> {
    let n = probe.shape().rows();
    if n == 0 {
        return Ok(1.0);
    }
    probe.check_finite()?;
    let (size, unit) = norm_in_range(probe, norm);
    if size == 0.0 {
        return Ok(0.0);
    }
    // Solves start from vectors of the size of A, so that their results are of the size of the condition and stay in range.
    let range = exponent(T::Real::MAX.to_f64());
    let by = (exponent(size) + unit).clamp(64 - range, range - 16);
    let scale = T::Real::from_f64(ldexp(1.0, by));
    let (plain, adjoint) = match norm {
        Norm::One => (Op::Plain, Op::ConjTranspose),
        Norm::Infinity => (Op::ConjTranspose, Op::Plain),
    };
    let mut memory = buffer(probe.solve_in_place_scratch(1))?;
    let inverse = estimate_norm_1(n, |adjoined, x: &mut [T]| {
        x.iter_mut().for_each(|v| *v = v.scale(scale));
        probe.solve_roughly(if adjoined { adjoint } else { plain }, x, PodStack::new(&mut memory))
    });
    match inverse {
        Ok(inverse) => Ok((ldexp(1.0 / size, by - unit) / inverse).min(1.0)),
        Err(Error::Singular { .. }) => Ok(0.0),
        Err(error) => Err(error),
    }
}

/// Most unit vectors that are tried; two are nearly always enough.
const MAX_ROUNDS: usize = 5;

/// A lower bound of ‖B‖₁, rarely less than a third of it. `apply(false, x)` replaces x by B·x, `apply(true, x)` by Bᴴ·x.
///
/// ‖B‖₁ is the largest ‖Bx‖₁ over ‖x‖₁ ≤ 1, found at a unit vector. From x = (1/n, …, 1/n) the estimator climbs:
/// z = Bᴴ·sign(Bx) is the gradient, and its largest component names the unit vector to go to next. In the end a vector of
/// alternating signs is tried, for matrices that are made so that the climb stands still. Infinite where a product is not finite.
///
/// # Source
/// Higham, ACM TOMS 14 (1988) 381, algorithm 4.1, with the sign of a complex number y/|y|.
pub(crate) fn estimate_norm_1<T: Scalar>(n: usize, mut apply: impl FnMut(bool, &mut [T]) -> Result<()>) -> Result<f64> {
    let mut x = allocate(n, T::from_real(T::Real::from_f64(1.0 / n as f64)))?;
    apply(false, &mut x)?;
    let mut estimate = sum_of_moduli(&x);
    if n == 1 || !estimate.is_finite() {
        return Ok(if n == 0 { 0.0 } else { finite(estimate) });
    }
    let mut signs = allocate(n, T::ZERO)?;
    let mut tried = None;
    for _ in 0..MAX_ROUNDS {
        x.iter_mut().for_each(|v| *v = sign(*v));
        if x == signs {
            break;
        }
        signs.copy_from_slice(&x);
        apply(true, &mut x)?;
        let Some((steepest, slope)) = largest(&x) else { return Ok(f64::INFINITY) };
        if tried.is_some_and(|j: usize| Scalar::abs(x[j]).to_f64() >= slope) {
            break;
        }
        tried = Some(steepest);
        x.fill(T::ZERO);
        x[steepest] = T::ONE;
        apply(false, &mut x)?;
        let norm = finite(sum_of_moduli(&x));
        if norm.is_infinite() {
            return Ok(norm);
        }
        if norm <= estimate {
            break;
        }
        estimate = norm;
    }
    for (i, v) in x.iter_mut().enumerate() {
        let size = 1.0 + i as f64 / (n - 1) as f64;
        *v = T::from_real(T::Real::from_f64(if i % 2 == 0 { size } else { -size }));
    }
    apply(false, &mut x)?;
    Ok(estimate.max(finite(2.0 * sum_of_moduli(&x) / (3.0 * n as f64))))
}

/// Infinite instead of NaN.
fn finite(v: f64) -> f64 {
    if v.is_nan() { f64::INFINITY } else { v }
}

fn sum_of_moduli<T: Scalar>(x: &[T]) -> f64 {
    x.iter().map(|v| Scalar::abs(*v).to_f64()).sum()
}

/// x/|x|, and 1 for 0 and for what is too small to be divided by.
fn sign<T: Scalar>(x: T) -> T {
    let modulus = Scalar::abs(x);
    if modulus >= T::Real::MIN_POSITIVE { x.scale(T::Real::ONE / modulus) } else { T::ONE }
}

/// First of the largest moduli and its place; `None` if one is not finite.
fn largest<T: Scalar>(z: &[T]) -> Option<(usize, f64)> {
    let mut best = (0, -1.0);
    for (i, v) in z.iter().enumerate() {
        let modulus = Scalar::abs(*v).to_f64();
        if !modulus.is_finite() {
            return None;
        }
        if modulus > best.1 {
            best = (i, modulus);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(b: &[&[f64]]) -> f64 {
        let n = b.len();
        let product = |transposed: bool, x: &mut [f64]| {
            let entry = |i: usize, j: usize| if transposed { b[j][i] } else { b[i][j] };
            let y: Vec<f64> = (0..n).map(|i| (0..n).map(|j| entry(i, j) * x[j]).sum()).collect();
            x.copy_from_slice(&y);
            Ok(())
        };
        estimate_norm_1(n, product).unwrap()
    }

    #[test]
    fn norms_by_hand() {
        assert_eq!(estimate(&[&[-3.0]]), 3.0);
        assert_eq!(estimate(&[&[1.0, 2.0], &[3.0, -4.0]]), 6.0);
        assert_eq!(estimate(&[&[0.0, 0.0], &[0.0, 0.0]]), 0.0);
        // Columns that cancel in the start, and in every gradient: the climb ends at ½, the alternating vector
        // (1, −3/2, 2) finds 2·6/9 of 2.
        let found = estimate(&[&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.0], &[0.0, 0.0, 0.5]]);
        assert!((found - 4.0 / 3.0).abs() < 1e-15, "{found}");
    }

    #[test]
    fn what_is_not_finite_is_infinite() {
        assert_eq!(estimate(&[&[f64::NAN, 1.0], &[1.0, 1.0]]), f64::INFINITY);
        assert_eq!(estimate(&[&[f64::MAX, f64::MAX], &[1.0, 1.0]]), f64::INFINITY);
    }
}
