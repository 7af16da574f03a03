//! `rcond` of a problem with two matrices per axis, from the tridiagonal systems along the first axis.

use super::axis::AxisPencil;
use super::eigen::is_definite;
use crate::rcond::of_scaled_system;
use bandsolve::Result;
use bandsolve::memory::collected;

/// Stability of elimination without row exchanges for A + μM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stability {
    /// Symmetric and positive definite.
    Positive,
    /// Symmetric and negative definite.
    Negative,
    /// No multiplier is larger than 1 in modulus, and no pivot is 0.
    Bounded,
    /// Elimination needs row exchanges.
    Weak,
}

impl Stability {
    /// Eliminate A + μM, and classify the pivots and the multipliers.
    pub fn of(axis: &AxisPencil, mu: f64) -> Self {
        let (mut pivot, mut above) = (0.0f64, 0.0);
        let (mut positive, mut negative, mut bounded) = (axis.is_symmetric(), axis.is_symmetric(), true);
        for i in 0..axis.len() {
            let at = |q: usize| axis.a[q][i] + mu * axis.m[q][i];
            let factor = if i > 0 { at(0) / pivot } else { 0.0 };
            pivot = at(1) - factor * above;
            above = at(2);
            positive &= pivot > 0.0;
            negative &= pivot < 0.0;
            bounded &= factor.abs() <= 1.0 && pivot != 0.0;
            if !positive && !negative && !bounded {
                return Self::Weak;
            }
        }
        match (positive, negative) {
            (true, _) => Self::Positive,
            (_, true) => Self::Negative,
            _ => Self::Bounded,
        }
    }
}

/// The mean size of A relative to M: Σ |aᵢⱼ| / Σ |mᵢⱼ|, summed over all entries.
pub(super) fn size(axis: &AxisPencil) -> f64 {
    let sum = |matrix: &[Vec<f64>; 3]| matrix.iter().flatten().map(|x| x.abs()).sum::<f64>();
    sum(&axis.a) / sum(&axis.m)
}

/// The minimum of 1/‖B⁻¹‖∞ over all μ, where B is A + μM with each row i divided by Σⱼ |aᵢⱼ| + `rest`·Σⱼ |mᵢⱼ|.
///
/// `rest` is the size of the other axes and of the shift, relative to M.
///
/// If M is positive definite, two of the definite systems can be the closest to a singular one. These are the positive definite system with
/// the smallest μ and the negative definite system with the largest μ. The function then skips all other definite systems.
pub(super) fn rcond(axis: &AxisPencil, (mu, stabilities): (&[f64], &[Stability]), rest: f64) -> Result<f64> {
    if !mu.iter().all(|mu| mu.is_finite()) || !rest.is_finite() {
        return Ok(f64::NAN);
    }
    // If M is positive definite, the eigenvalues of A + μM increase with μ.
    let ordered = is_definite(&axis.m);
    let (mut least, mut ends) = (1.0f64, [None::<f64>; 2]);
    for (mu, stability) in mu.iter().zip(stabilities) {
        match stability {
            Stability::Positive if ordered => ends[0] = Some(ends[0].map_or(*mu, |end| end.min(*mu))),
            Stability::Negative if ordered => ends[1] = Some(ends[1].map_or(*mu, |end| end.max(*mu))),
            _ => least = least.min(of_system(axis, *mu, rest)?),
        }
    }
    for mu in ends.into_iter().flatten() {
        least = least.min(of_system(axis, mu, rest)?);
    }
    Ok(least)
}

/// 1/‖B⁻¹‖∞ for one μ.
fn of_system(axis: &AxisPencil, mu: f64, rest: f64) -> Result<f64> {
    let row = |matrix: &[Vec<f64>; 3], i: usize| matrix.iter().map(|x| x[i].abs()).sum::<f64>();
    // A zero row is not scaled.
    let size = |i: usize| Some(row(&axis.a, i) + rest * row(&axis.m, i)).filter(|size| *size > 0.0).unwrap_or(1.0);
    let diagonal = |q: usize| collected((0..axis.len()).map(|i| (axis.a[q][i] + mu * axis.m[q][i]) / size(i)));
    of_scaled_system([diagonal(0)?, diagonal(1)?, diagonal(2)?], false)
}
