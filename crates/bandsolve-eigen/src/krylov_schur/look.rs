//! Second looks: proofs, by a Krylov space of a random vector, that no wanted eigenvalue is missing.
//!
//! A Krylov space contains only one vector for several equal eigenvalues. The search therefore begins again, with a random vector v that is
//! orthogonal to all vectors found. After m products with OP, restricted to the complement of these vectors,
//!
//! ```text
//! P(OP)·v = β₁ ⋯ βₘ·vₘ₊₁,   P(z) = (z − θ₁) ⋯ (z − θₘ)
//! ```
//!
//! where the θ are the Ritz values and the values that restarts have dropped. Let λ be an eigenvalue that the search has not found, and y
//! its left eigenvector of norm 1. The product with yᴴ bounds the component of v along y:
//!
//! ```text
//! |yᴴv| = β₁ ⋯ βₘ·|yᴴvₘ₊₁| / |P(λ)| ≤ β₁ ⋯ βₘ / |P(λ)|
//! ```
//!
//! In a random vector of n numbers, a component is less than t with a probability of approximately t·√n. P has no zero in the region of
//! wanted eigenvalues, so |P| is smallest on the boundary of the region. If the bound on the boundary is tiny, the probability that an
//! eigenvalue is missing is tiny. The bound also holds for matrices that are far from normal.

use crate::problem::Which;
use bandsolve::memory::more;
use bandsolve::{Complex64, Result};

/// The smallest number of vectors of a second look, in addition to the vectors found.
pub(super) const LEAST_ACTIVE: usize = 16;

/// The factor by which the tolerance of a second look is smaller than in the first search.
///
/// For equal eigenvalues, the off-diagonal entry of the Schur form is then the product of a residual and the condition number of the eigenvalue.
pub(super) const STRICTER: f64 = 16.0;

/// The probability that a look ends although an eigenvalue is missing, up to a factor of the order of 1.
const RISK: f64 = 1e-8;

/// The number of points of the boundary, in addition to those next to zeros of P.
const POINTS: usize = 64;

/// The result of a second look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookOutcome {
    /// No wanted eigenvalue is missing.
    Ended,
    /// The look found wanted eigenvalues.
    Found,
    /// The look reached the maximum number of restarts or products.
    Limit,
}

/// The maximum number of second looks for k eigenvalues.
///
/// Each look but the last finds a wanted eigenvalue. So k looks are enough unless rounding errors change the order of the eigenvalues.
pub(super) fn looks(k: usize) -> usize {
    k.saturating_mul(4).saturating_add(16)
}

/// The maximum numbers of restarts and products of a second look.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookLimit {
    pub restarts: usize,
    /// Ten times the products of the first search, but at least 1000, because a short search does not predict the length of a look.
    pub products: usize,
}

impl LookLimit {
    /// The limit after a search with this number of products.
    pub fn after(products: usize, restarts: usize) -> Self {
        Self { restarts, products: products.max(100).saturating_mul(10) }
    }

    /// The same limit, counted from the current numbers of restarts and products.
    pub fn from(self, (restarts, products): (usize, usize)) -> Self {
        Self { restarts: self.restarts.saturating_add(restarts), products: self.products.saturating_add(products) }
    }

    pub fn is_reached(&self, (restarts, products): (usize, usize)) -> bool {
        restarts >= self.restarts || products >= self.products
    }
}

/// The dimension at which a look decides again. The space now has `from` vectors, of which `locked` are found.
pub(super) fn next_size(locked: usize, from: usize, capacity: usize) -> usize {
    let more = if from == locked { 8 } else { ((from - locked) / 4).max(4) };
    (from + more).min(capacity)
}

/// The region of eigenvalues that come before the last found one in the requested order.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedRegion {
    which: Which,
    /// Whether the matrix is real, so that conjugates have the same key.
    real: bool,
    /// Whether all eigenvalues are real.
    hermitian: bool,
    /// The region contains the values with larger keys.
    level: f64,
    /// For both ends of the real axis, the region contains the values below the first and above the second.
    ends: [f64; 2],
}

impl WantedRegion {
    /// The region beyond the last of `k` wanted values, by more than a margin that depends on the modulus of that value.
    pub fn beyond(
        (which, real, hermitian): (Which, bool, bool),
        (values, k): (&[Complex64], usize),
        margin: impl Fn(f64) -> f64,
    ) -> Self {
        let order = which.order(values, real, 0);
        let chosen: Vec<Complex64> = order.iter().take(k).map(|at| values[*at]).collect();
        let last = chosen.last().copied().unwrap_or_default();
        let level = which.key(&last, real) + margin(last.norm());
        // The order alternates between the upper and the lower end.
        let end = |first: usize| {
            chosen.iter().skip(first).step_by(2).next_back().map(|value| (value.re, margin(value.norm())))
        };
        let low = end(1).map_or(f64::NEG_INFINITY, |(end, margin)| end - margin);
        let high = end(0).map_or(f64::INFINITY, |(end, margin)| end + margin);
        Self { which, real, hermitian, level, ends: [low, high] }
    }

    /// The lower bound of the keys in the region.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Whether the region contains no possible eigenvalue.
    pub fn is_empty(&self) -> bool {
        match self.which {
            Which::LargestImaginary | Which::SmallestImaginary if self.hermitian => true,
            Which::SmallestMagnitude => self.level >= 0.0,
            Which::SmallestImaginary => self.real && self.level >= 0.0,
            _ => false,
        }
    }

    /// Whether the region contains a value.
    pub fn contains(&self, value: Complex64) -> bool {
        match self.which {
            Which::BothEnds => value.re < self.ends[0] || value.re > self.ends[1],
            _ => !self.is_empty() && self.which.key(&value, self.real) > self.level,
        }
    }

    /// Points on the boundary, including the ones next to the zeros of P.
    fn boundary(&self, zeros: &[Complex64]) -> Vec<Complex64> {
        let point = |re: f64| Complex64::new(re, 0.0);
        let level = self.level;
        let ends = match self.which {
            Which::LargestMagnitude | Which::SmallestMagnitude if self.hermitian => vec![level.abs(), -level.abs()],
            Which::LargestReal => vec![level],
            Which::SmallestReal => vec![-level],
            Which::BothEnds => self.ends.into_iter().filter(|end| end.is_finite()).collect(),
            _ => Vec::new(),
        };
        if self.hermitian {
            return ends.into_iter().map(point).collect();
        }
        match self.which {
            Which::LargestMagnitude | Which::SmallestMagnitude => {
                let turn = core::f64::consts::TAU / POINTS as f64;
                let angles = zeros.iter().map(|zero| zero.arg()).chain((0..POINTS).map(|k| k as f64 * turn));
                angles.map(|angle| Complex64::from_polar(level.abs(), angle)).collect()
            }
            Which::LargestImaginary | Which::SmallestImaginary => {
                let (one, other) = match self.which {
                    _ if self.real => (level.abs(), -level.abs()),
                    Which::LargestImaginary => (level, level),
                    _ => (-level, -level),
                };
                let along = along(zeros.iter().map(|zero| zero.re));
                along.iter().flat_map(|re| [Complex64::new(*re, one), Complex64::new(*re, other)]).collect()
            }
            _ => {
                let along = along(zeros.iter().map(|zero| zero.im));
                ends.iter().flat_map(|end| along.iter().map(|im| Complex64::new(*end, *im))).collect()
            }
        }
    }
}

/// These numbers, and equidistant numbers between the smallest and the largest of them.
fn along(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = numbers.collect();
    let (least, largest) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    if least < largest {
        all.extend((0..POINTS).map(|k| least + (largest - least) * (k as f64 / POINTS as f64)));
    }
    all
}

/// The zeros of P that restarts have dropped from the Ritz values.
#[derive(Debug, Default)]
pub(super) struct DroppedValues(Vec<Complex64>);

impl DroppedValues {
    /// Add the values that a restart drops.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`].
    pub fn add(&mut self, values: &[Complex64]) -> Result<()> {
        more(&mut self.0, values.len())?;
        self.0.extend_from_slice(values);
        Ok(())
    }

    /// Whether no eigenvalue in the region is missing. `values` are the Ritz values, `growth` is ln(β₁ ⋯ βₘ), and `total` the number of rows.
    pub fn exclude(&self, region: &WantedRegion, values: &[Complex64], (growth, total): (f64, usize)) -> bool {
        let zeros = || self.0.iter().chain(values);
        if zeros().any(|zero| region.contains(*zero)) {
            return false;
        }
        let allowed = RISK.ln() - 0.5 * (total.max(1) as f64).ln();
        let small = |at: &Complex64| growth - zeros().map(|zero| (at - zero).norm().ln()).sum::<f64>() <= allowed;
        // If P(OP)·v = 0, v lies in an invariant space that the look has found completely.
        growth == f64::NEG_INFINITY || region.boundary(values).iter().all(small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_begin_beyond_the_last_eigenvalue() {
        let values = [3.0, -2.0, 1.0].map(Complex64::from);
        let margin = |size: f64| 0.1 * size;
        let region = |which, k| WantedRegion::beyond((which, true, true), (&values, k), margin);
        let largest = region(Which::LargestMagnitude, 2);
        assert!(largest.contains(Complex64::from(2.3)) && largest.contains(Complex64::from(-2.3)));
        assert!(!largest.contains(Complex64::from(2.1)) && !largest.is_empty());
        let smallest = region(Which::SmallestMagnitude, 1);
        assert!(smallest.contains(Complex64::from(-0.8)) && !smallest.contains(Complex64::from(0.95)));
        let ends = region(Which::BothEnds, 2);
        assert!(ends.contains(Complex64::from(3.4)) && ends.contains(Complex64::from(-2.3)));
        assert!(!ends.contains(Complex64::from(0.0)) && region(Which::LargestImaginary, 2).is_empty());
        let zero = WantedRegion::beyond((Which::SmallestMagnitude, true, true), (&[Complex64::default()], 1), |_| 0.1);
        assert!(zero.is_empty());
    }

    /// With the Ritz values 0, 1, …, 9, the bound excludes a missing eigenvalue above 12 if the product of the β is small.
    #[test]
    fn a_bound_excludes_what_is_beyond_all_zeros() {
        let locked = [Complex64::from(12.0)];
        let region = WantedRegion::beyond((Which::LargestReal, true, true), (&locked, 1), |_| 1e-6);
        let values: Vec<Complex64> = (0..10).map(|k| Complex64::from(f64::from(k))).collect();
        let dropped = DroppedValues::default();
        // P(12) = 12·11 ⋯ 3 = 2.4e8.
        assert!(dropped.exclude(&region, &values, (-2.0, 1)) && !dropped.exclude(&region, &values, (2.0, 1)));
        assert!(!dropped.exclude(&region, &[Complex64::from(13.0)], (f64::NEG_INFINITY, 1)));
    }
}
