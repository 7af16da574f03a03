//! Second looks: when a Krylov space of a random vector proves that nothing is missing.
//!
//! Of several equal eigenvalues a Krylov space has one. So the search begins again, with a random vector v that is orthogonal to all
//! vectors found. After m products with OP, restricted to the complement of these vectors,
//!
//! $$ P(OP)\,v = \beta_1 \cdots \beta_m\,v_{m+1}, \qquad P(z) = \prod_{j=1}^m (z - \theta_j), $$
//!
//! where θ are the Ritz values, and those that restarts have dropped. Let λ be an eigenvalue that has not been found, and y its left
//! eigenvector of norm 1. The product with y gives a bound of the part of v along y:
//!
//! $$ |y^H v| = \frac{\beta_1 \cdots \beta_m\,|y^H v_{m+1}|}{|P(\lambda)|} \le \frac{\beta_1 \cdots \beta_m}{|P(\lambda)|} $$
//!
//! A random vector of n numbers has a part of less than t with a probability of about t·√n. P has no zero where eigenvalues are wanted, so
//! |P| is smallest on the boundary of that region. If the bound on the boundary is tiny, no eigenvalue is missing but with a tiny
//! probability. The bound holds for matrices that are far from normal, too.

use crate::problem::Which;
use bandsolve::memory::more;
use bandsolve::{Complex64, Result};

/// Vectors that a second look has beside those found, at least.
pub(super) const LEAST_ACTIVE: usize = 16;

/// How much smaller residuals are than in the first search. Of equal eigenvalues only the product of one residual and the condition of the
/// eigenvalue is then left beside the diagonal of the Schur form.
pub(super) const STRICTER: f64 = 16.0;

/// The probability with which a look ends although an eigenvalue is missing, up to a factor of the order of 1.
const RISK: f64 = 1e-8;

/// Points of the boundary that are looked at beside those next to zeros of P.
const POINTS: usize = 64;

/// What a second look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookOutcome {
    /// Nothing is missing.
    Ended,
    /// It found eigenvalues that are wanted more.
    Found,
    /// As many restarts or products as allowed.
    Limit,
}

/// Second looks at most for k eigenvalues. Each but the last finds one that is wanted more, so that k are enough, unless rounding changes
/// their order.
pub(super) fn looks(k: usize) -> usize {
    k.saturating_mul(4).saturating_add(16)
}

/// When a second look stops without an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookLimit {
    pub restarts: usize,
    /// Ten times those of the first search, or 1000: a search that took fewer does not say how many a look takes.
    pub products: usize,
}

impl LookLimit {
    /// After a search with so many products.
    pub fn after(products: usize, restarts: usize) -> Self {
        Self { restarts, products: products.max(100).saturating_mul(10) }
    }

    /// The same from here on.
    pub fn from(self, (restarts, products): (usize, usize)) -> Self {
        Self { restarts: self.restarts.saturating_add(restarts), products: self.products.saturating_add(products) }
    }

    pub fn is_reached(&self, (restarts, products): (usize, usize)) -> bool {
        restarts >= self.restarts || products >= self.products
    }
}

/// How far the space grows before a look decides again: `locked` vectors are those found, `from` all.
pub(super) fn next_size(locked: usize, from: usize, capacity: usize) -> usize {
    let more = if from == locked { 8 } else { ((from - locked) / 4).max(4) };
    (from + more).min(capacity)
}

/// Where eigenvalues are that are wanted more than all found.
#[derive(Debug, Clone, Copy)]
pub(super) struct WantedRegion {
    which: Which,
    /// Whether conjugates belong together.
    real: bool,
    /// Whether all eigenvalues are real numbers.
    hermitian: bool,
    /// Keys above this one.
    level: f64,
    /// Both ends of the real axis: below the first, above the second.
    ends: [f64; 2],
}

impl WantedRegion {
    /// Beyond the last of `k` wanted values, by more than a margin that depends on its modulus.
    pub fn beyond(
        (which, real, hermitian): (Which, bool, bool),
        (values, k): (&[Complex64], usize),
        margin: impl Fn(f64) -> f64,
    ) -> Self {
        let order = which.order(values, real, 0);
        let chosen: Vec<Complex64> = order.iter().take(k).map(|at| values[*at]).collect();
        let last = chosen.last().copied().unwrap_or_default();
        let level = which.key(&last, real) + margin(last.norm());
        // Upper and lower end in turns.
        let end = |first: usize| {
            chosen.iter().skip(first).step_by(2).next_back().map(|value| (value.re, margin(value.norm())))
        };
        let low = end(1).map_or(f64::NEG_INFINITY, |(end, margin)| end - margin);
        let high = end(0).map_or(f64::INFINITY, |(end, margin)| end + margin);
        Self { which, real, hermitian, level, ends: [low, high] }
    }

    /// The least key of what is wanted more.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// Whether nothing can be wanted more.
    pub fn is_empty(&self) -> bool {
        match self.which {
            Which::LargestImaginary | Which::SmallestImaginary if self.hermitian => true,
            Which::SmallestMagnitude => self.level >= 0.0,
            Which::SmallestImaginary => self.real && self.level >= 0.0,
            _ => false,
        }
    }

    /// Whether a value is wanted more.
    pub fn contains(&self, value: Complex64) -> bool {
        match self.which {
            Which::BothEnds => value.re < self.ends[0] || value.re > self.ends[1],
            _ => !self.is_empty() && self.which.key(&value, self.real) > self.level,
        }
    }

    /// Points of the boundary, among them those next to the zeros of P.
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

/// These numbers, and others at equal distances between the least and the largest of them.
fn along(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = numbers.collect();
    let (least, largest) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    if least < largest {
        all.extend((0..POINTS).map(|k| least + (largest - least) * (k as f64 / POINTS as f64)));
    }
    all
}

/// The zeros of P that are no Ritz values any more.
#[derive(Debug, Default)]
pub(super) struct DroppedValues(Vec<Complex64>);

impl DroppedValues {
    /// Adds those that a restart drops.
    ///
    /// # Errors
    /// [`bandsolve::Error::OutOfMemory`].
    pub fn add(&mut self, values: &[Complex64]) -> Result<()> {
        more(&mut self.0, values.len())?;
        self.0.extend_from_slice(values);
        Ok(())
    }

    /// Whether nothing in the region is missing: these Ritz values, ln(β₁ ⋯ βₘ), and the rows on all processes.
    pub fn exclude(&self, region: &WantedRegion, values: &[Complex64], (growth, total): (f64, usize)) -> bool {
        let zeros = || self.0.iter().chain(values);
        if zeros().any(|zero| region.contains(*zero)) {
            return false;
        }
        let allowed = RISK.ln() - 0.5 * (total.max(1) as f64).ln();
        let small = |at: &Complex64| growth - zeros().map(|zero| (at - zero).norm().ln()).sum::<f64>() <= allowed;
        // P(OP)·v = 0: v is in a space that was found whole.
        growth == f64::NEG_INFINITY || region.boundary(values).iter().all(small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_begin_beyond_what_was_found() {
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

    /// Lanczos' recurrence of eigenvalues 0, 1, …, 9 ends where no other eigenvalue can be.
    #[test]
    fn a_bound_excludes_what_is_beyond_all_zeros() {
        let found = [Complex64::from(12.0)];
        let region = WantedRegion::beyond((Which::LargestReal, true, true), (&found, 1), |_| 1e-6);
        let values: Vec<Complex64> = (0..10).map(|k| Complex64::from(f64::from(k))).collect();
        let dropped = DroppedValues::default();
        // P(12) = 12·11 ⋯ 3 = 2.4e8.
        assert!(dropped.exclude(&region, &values, (-2.0, 1)) && !dropped.exclude(&region, &values, (2.0, 1)));
        assert!(!dropped.exclude(&region, &[Complex64::from(13.0)], (f64::NEG_INFINITY, 1)));
    }
}
