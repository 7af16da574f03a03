//! The limits of a search: the dimension of the Krylov space, the tolerances, the vectors that a restart keeps.

use super::look::{LEAST_ACTIVE, STRICTER};
use crate::report::EigenEnding;
use crate::solver::SearchSettings;

/// The largest dimensions of the Krylov space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dimensions {
    /// In the first search.
    pub first: usize,
    /// In the second looks.
    pub most: usize,
}

impl Dimensions {
    /// For a search in `total` dimensions. The first search uses `ncv` or its default, but at least k + 2 and at most n.
    pub fn of(settings: &SearchSettings<'_>, hermitian: bool, total: usize) -> Self {
        let k = settings.k;
        // In general problems with real numbers, one more vector is needed to keep a conjugate pair together.
        let beside = usize::from(!hermitian && settings.real);
        let wished =
            settings.ncv.unwrap_or_else(|| k.saturating_mul(2).saturating_add(6).max(16).saturating_add(beside));
        let first = wished.max(k.saturating_add(2)).min(total);
        // The search may have found the conjugate of the last eigenvalue, too.
        let looks = settings.second_look || settings.count.is_some();
        let least = if looks { k.saturating_add(1 + LEAST_ACTIVE) } else { 0 };
        Self { first, most: first.max(least).min(total) }
    }
}

impl SearchSettings<'_> {
    /// The largest ‖OP·x − θ·x‖ at which a pair has converged: tol·|θ|, or the rounding errors of the largest |θ|.
    pub(super) fn allowed(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 4.0 * self.epsilon;
        (self.inner_tolerance().max(rounding) * theta).max(rounding * largest)
    }

    /// The relative tolerance for the residuals of the operator.
    pub(super) fn inner_tolerance(&self) -> f64 {
        self.inner.unwrap_or(self.tol)
    }

    /// The smallest distance between the keys of two different eigenvalues: twice the tolerance, or the rounding errors of a few products.
    pub(super) fn distinct(&self, theta: f64, largest: f64) -> f64 {
        let rounding = 32.0 * self.epsilon;
        ((2.0 * self.inner_tolerance()).max(rounding) * theta).max(rounding * largest)
    }

    /// The same settings with a smaller tolerance, for second looks.
    pub(super) fn stricter(&self) -> Self {
        Self { inner: Some(self.inner_tolerance() / STRICTER), ..*self }
    }
}

/// The number of leading pairs (|θ|, residual) that have converged.
pub(super) fn converged(settings: &SearchSettings<'_>, pairs: impl Iterator<Item = (f64, f64)>, largest: f64) -> usize {
    pairs.take_while(|(theta, residual)| *residual <= settings.allowed(*theta, largest)).count()
}

impl EigenEnding {
    /// Change `Converged` to `Incomplete` if a wanted eigenvalue may be missing.
    pub(super) fn if_none_missing(self, none_missing: bool) -> Self {
        if self == Self::Converged && !none_missing { Self::Incomplete } else { self }
    }
}

/// The number of vectors that a restart keeps, of `active` vectors of which the first `count` have converged.
pub(super) fn restart_size(active: usize, count: usize) -> usize {
    (count + ((active - count) / 2).max(1)).min(active - 1)
}
