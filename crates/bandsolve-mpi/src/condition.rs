//! Condition estimates of matrices over ranks, by solves.
//!
//! Let S = diag(Σⱼ|aᵢⱼ|). The error of x, relative to its largest entry, can be approximately η·κ, where η is the row-wise backward error
//! and κ = ‖A⁻¹·S‖∞ = ‖S·A⁻ᴴ‖₁. Row scaling does not change κ. The estimate needs only products with B = S·A⁻ᴴ: a solve with Aᴴ for
//! B·x, a solve with A for Bᴴ·y.
//!
//! Source: N. J. Higham, ACM Trans. Math. Softw. 14 (1988), Algorithm 674 (LAPACK's `xLACN2`).

use crate::agreement::{RankError, agree};
use crate::ranges::RankRanges;
use crate::ranks::Ranks;
use bandsolve::memory::zeroed;
use bandsolve::{Error, RealScalar, Scalar, TOLERABLE};
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

    /// x ← B·x; returns ‖x‖₁.
    fn apply(&mut self, x: &mut [T]) -> f64 {
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
        (self.solve)(true, x);
        x.iter_mut().for_each(|x| *x = Scalar::conj(*x));
        self.scale(x);
        let mut norm = [x.iter().map(|x| Scalar::abs(*x).to_f64()).sum::<f64>()];
        self.ranks.sum(&mut norm);
        norm[0]
    }

    /// x ← Bᴴ·sign(x); returns the first place of the largest entry, counted from the first row of all ranks.
    fn apply_to_signs(&mut self, x: &mut [T], first: usize) -> usize {
        for x in x.iter_mut() {
            let size = Scalar::abs(*x);
            *x = if size > T::Real::ZERO { x.scale(T::Real::ONE / size) } else { T::ONE };
        }
        self.scale(x);
        (self.solve)(false, x);
        let mut own = [-1.0, first as f64];
        for (i, x) in x.iter().enumerate() {
            let size = Scalar::abs(*x).to_f64();
            own = if size > own[0] { [size, (first + i) as f64] } else { own };
        }
        let all = self.ranks.all_gather(&own);
        let (all, _) = all.as_chunks::<2>();
        all.iter().fold([-1.0, 0.0], |most, one| if one[0] > most[0] { *one } else { most })[1] as usize
    }
}

/// A right-hand side with which solves are measured before κ is estimated by them, in row `i` with this Σⱼ|aᵢⱼ|.
pub(crate) fn sample<T: Scalar>(i: usize, sum: f64) -> T {
    T::from_real(T::Real::from_f64((1.0 + (i * 37 % 101) as f64 / 101.0) * sum))
}

/// An entry of a row with this Σⱼ|aᵢⱼ|, divided by a power of two with which that sum is about 1.
pub(crate) fn equilibrated<T: Scalar>(entry: T, sum: f64) -> T {
    let by = -exponent(sum);
    // Each half of the power is in the range of the type.
    [by / 2, by - by / 2].into_iter().fold(entry, |entry, by| entry.scale(T::Real::from_f64(pow2(by))))
}

/// The estimate of the pivoted method, of a matrix whose rows are [`equilibrated`]: 0 of a singular one, NaN where it is not known.
pub(crate) fn pivoted(rcond: bandsolve::Result<f64>) -> bandsolve::Result<f64> {
    match rcond {
        Err(Error::Singular { .. }) => Ok(0.0),
        Err(error @ Error::OutOfMemory { .. }) => Err(error),
        other => Ok(other.unwrap_or(f64::NAN)),
    }
}

/// An estimate of 1/κ, which is at least 1/κ and rarely more than three times as much, of one row at least. NaN where a solve is not finite, or solves
/// are too inaccurate to tell. `sums`: Σⱼ|aᵢⱼ| of own rows; `eta`: the backward error of a solve of [`sample`]. Collective.
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
    let (own, n) = (ranges.range(ranks.rank()), ranges.rows());
    let (sums, mut x) = agree(ranks, sums.and_then(|sums| Ok((sums, zeroed::<T>(own.len())?))))?;
    let mut products = Products { ranks, sums: &sums, solve };
    x.fill(T::from_real(T::Real::from_f64(1.0 / n as f64)));
    let mut norm = products.apply(&mut x);
    let mut largest = usize::MAX;
    for _ in 0..STEPS {
        let place = products.apply_to_signs(&mut x, own.start);
        if place == largest {
            break;
        }
        largest = place;
        x.fill(T::ZERO);
        if own.contains(&place) {
            x[place - own.start] = T::ONE;
        }
        let next = products.apply(&mut x);
        if next <= norm {
            break;
        }
        norm = next;
    }
    // A vector that finds what cancels in the others.
    for (i, x) in own.zip(x.iter_mut()) {
        let size = 1.0 + i as f64 / (n.max(2) - 1) as f64;
        *x = T::from_real(T::Real::from_f64(if i % 2 == 0 { size } else { -size }));
    }
    let other = products.apply(&mut x) * 2.0 / (3.0 * n as f64);
    let norm = norm.max_nan(other);
    // B has columns whose sums are at least about 1, whatever rounding says.
    let rcond = if norm.is_finite() { 1.0 / norm.max(1.0) } else { f64::NAN };
    // Inverses that belong to a matrix nearby have a relative error of eta/rcond.
    let known = eta <= (TOLERABLE * T::Real::EPSILON.to_f64()).max(rcond / 16.0);
    Ok(if known { rcond } else { f64::NAN })
}
