//! Condition estimates of matrices over ranks.
//!
//! Let S = diag(Σⱼ|aᵢⱼ|), and κ = ‖A⁻¹·S‖∞ = ‖S·A⁻ᴴ‖₁. For a row-wise backward error η, the error of x can be approximately η·κ, relative to
//! its largest entry. Row scaling does not change κ. The estimate needs only products with B = S·A⁻ᴴ and Bᴴ. B·x takes a solve with
//! Aᴴ, and Bᴴ·y takes a solve with A.
//!
//! Source: N. J. Higham, ACM Trans. Math. Softw. 14 (1988), Algorithm 674 (LAPACK's `xLACN2`).

use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::memory::zeroed;
use bandsolve::{Error, RealScalar, Scalar, tolerable};
use bandsolve_kernel::exact::{exponent, pow2};

/// Maximum number of products with B and Bᴴ, after the first.
const STEPS: usize = 5;

/// Solve in place without verification, with A or Aᵀ. Collective.
pub(crate) type SolveOwn<'a, T> = &'a mut dyn FnMut(bool, &mut [T]);

/// The operator B over ranks.
struct Products<'a, T> {
    ranks: &'a Ranks,
    /// Σⱼ|aᵢⱼ| of the rows of this rank.
    sums: &'a [f64],
    solve: SolveOwn<'a, T>,
}

impl<T: Scalar> Products<'_, T> {
    fn scale(&self, x: &mut [T]) {
        x.iter_mut().zip(self.sums).for_each(|(x, sum)| *x = x.scale(T::Real::from_f64(*sum)));
    }

    /// Compute x ← B·x, and return ‖x‖₁.
    fn apply(&mut self, x: &mut [T]) -> f64 {
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
        (self.solve)(true, x);
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
        self.scale(x);
        let mut norm = [x.iter().map(|x| Scalar::abs(*x).to_f64()).sum::<f64>()];
        self.ranks.sum(&mut norm);
        norm[0]
    }

    /// Compute x ← Bᴴ·sign(x), and return the first row of the largest entry, counted from the first row of all ranks.
    fn apply_to_signs(&mut self, x: &mut [T], first: usize) -> usize {
        for x in x.iter_mut() {
            let size = Scalar::abs(*x);
            *x = if size > T::Real::ZERO { x.scale(T::Real::ONE / size) } else { T::ONE };
        }
        self.scale(x);
        (self.solve)(false, x);
        let mut local_max = [-1.0, first as f64];
        for (i, x) in x.iter().enumerate() {
            let size = Scalar::abs(*x).to_f64();
            local_max = if size > local_max[0] { [size, (first + i) as f64] } else { local_max };
        }
        let all = self.ranks.all_gather(&local_max);
        let (all, _) = all.as_chunks::<2>();
        all.iter().fold([-1.0, 0.0], |most, one| if one[0] > most[0] { *one } else { most })[1] as usize
    }
}

/// Get entry `i` of the right-hand side that tests the accuracy of solves before the estimate. `sum` is Σⱼ|aᵢⱼ| of the row.
pub(crate) fn sample<T: Scalar>(i: usize, sum: f64) -> T {
    T::from_real(T::Real::from_f64((1.0 + (i * 37 % 101) as f64 / 101.0) * sum))
}

/// Scale an entry of a row by a power of two, so that the sum Σⱼ|aᵢⱼ| of the row becomes approximately 1.
pub(crate) fn equilibrated<T: Scalar>(entry: T, sum: f64) -> T {
    let by = -exponent(sum);
    // The power can leave the range of the type, but each half of it does not.
    [by / 2, by - by / 2].into_iter().fold(entry, |entry, by| entry.scale(T::Real::from_f64(pow2(by))))
}

/// Convert the estimate of the pivoted method for a matrix with [`equilibrated`] rows: 0 if the matrix is singular, NaN if the estimate is unknown.
pub(crate) fn pivoted(rcond: bandsolve::Result<f64>) -> bandsolve::Result<f64> {
    match rcond {
        Err(Error::Singular { .. }) => Ok(0.0),
        Err(error @ Error::OutOfMemory { .. }) => Err(error),
        other => Ok(other.unwrap_or(f64::NAN)),
    }
}

/// Estimate 1/κ of a matrix with at least one row. Collective.
///
/// The result is at least 1/κ, and rarely more than 3/κ. It is NaN if a solve is not finite, or if solves are too inaccurate for an estimate. `sums`
/// has Σⱼ|aᵢⱼ| of the rows of this rank. `eta` is the backward error of a solve with the right-hand side [`sample`].
///
/// # Cost
/// At most 12 solves; two vectors.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn rcond<T: Scalar>(
    (ranks, ranges): (&Ranks, &RankRanges),
    (sums, eta): (bandsolve::Result<Vec<f64>>, f64),
    solve: SolveOwn<'_, T>,
) -> Result<f64, RankError> {
    let (local, n) = (ranges.range(ranks.rank()), ranges.rows());
    let (sums, mut x) = agree(ranks, sums.and_then(|sums| Ok((sums, zeroed::<T>(local.len())?))))?;
    let mut products = Products { ranks, sums: &sums, solve };
    x.fill(T::from_real(T::Real::from_f64(1.0 / n as f64)));
    let mut norm = products.apply(&mut x);
    let mut largest = usize::MAX;
    for _ in 0..STEPS {
        let place = products.apply_to_signs(&mut x, local.start);
        if place == largest {
            break;
        }
        largest = place;
        x.fill(T::ZERO);
        if local.contains(&place) {
            x[place - local.start] = T::ONE;
        }
        let next = products.apply(&mut x);
        if next <= norm {
            break;
        }
        norm = next;
    }
    // This vector with alternating signs detects matrices for which the products with the other vectors cancel.
    for (i, x) in local.zip(x.iter_mut()) {
        let size = 1.0 + i as f64 / (n.max(2) - 1) as f64;
        *x = T::from_real(T::Real::from_f64(if i % 2 == 0 { size } else { -size }));
    }
    let other = products.apply(&mut x) * 2.0 / (3.0 * n as f64);
    let norm = norm.max_nan(other);
    // In exact arithmetic κ ≥ 1. Rounding can make the norm smaller.
    let rcond = if norm.is_finite() { 1.0 / norm.max(1.0) } else { f64::NAN };
    // The solves are exact for a nearby matrix, so the norm has a relative error of approximately eta/rcond.
    let known = eta <= tolerable::<T>().max(rcond / 16.0);
    Ok(if known { rcond } else { f64::NAN })
}
