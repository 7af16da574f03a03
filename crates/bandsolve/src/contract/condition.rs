//! Estimates of the condition of a factored matrix by a few solves.

use crate::contract::op::Op;
use crate::contract::probe::Probe;
use crate::error::{Error, Result};
use crate::memory::{allocate, buffer};
use bandsolve_kernel::exact::{exponent, ldexp};
use bandsolve_kernel::{RealScalar, Scalar, estimate};
use dyn_stack::PodStack;

/// A norm of vectors and matrices.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[3.0], &[1.0, 2.0], &[0.0])?; // rows (1, 0) and (3, 2)
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// assert_eq!((lu.norm(Norm::One), lu.norm(Norm::Infinity)), (4.0, 5.0));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Norm {
    /// Largest sum of moduli over a column.
    One,
    /// Largest sum of moduli over a row.
    Infinity,
}

impl Norm {
    /// The op for which ‖A‖ is the largest row sum of op(A).
    fn rows_of(self) -> Op {
        match self {
            Norm::One => Op::Transpose,
            Norm::Infinity => Op::Plain,
        }
    }
}

/// Return ‖A‖.
pub(crate) fn norm<T: Scalar>(probe: &dyn Probe<T>, norm: Norm) -> f64 {
    let (value, exponent) = norm_in_range(probe, norm);
    ldexp(value, exponent)
}

/// Return ‖A‖ as value·2^exponent. The value is finite if all entries are.
fn norm_in_range<T: Scalar>(probe: &dyn Probe<T>, norm: Norm) -> (f64, i32) {
    // If a sum or a complex modulus overflows, sum in units of 2⁶⁴.
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

/// Estimate 1 / (‖A‖·‖A⁻¹‖).
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
    // With vectors of the size of A, the solutions have the size of the condition and stay within the range of the type.
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

/// Estimate ‖B‖₁ from below by a few products, see [`bandsolve_kernel::estimate`].
pub(crate) fn estimate_norm_1<T: Scalar>(n: usize, apply: impl FnMut(bool, &mut [T]) -> Result<()>) -> Result<f64> {
    estimate::norm_1([&mut allocate(n, T::ZERO)?, &mut allocate(n, T::ZERO)?], apply)
}
