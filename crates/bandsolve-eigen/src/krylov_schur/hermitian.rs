//! Hermitian problems: the thick-restart Lanczos method with locking, then second looks or eigenvalue counts.

use super::basis::KrylovBasis;
use super::limits::{Dimensions, converged, restart_size};
use super::look::{DroppedValues, LEAST_ACTIVE, LookLimit, LookOutcome, WantedRegion, looks, next_size};
use super::vectors::SearchVectors;
use super::verify::{RitzPairs, Verified, verify};
use crate::problem::{SearchOperator, Which};
use crate::projected::{ProjectedMatrix, hermitian_eigen};
use crate::report::{EigenEnding, EigenReport, GeneralEigen};
use crate::solver::{EigenvaluesBelow, SearchSettings};
use bandsolve::memory::zeroed;
use bandsolve::{Complex64, Result};

/// The state of the search. The first vectors of the basis belong to the `locked` eigenvalues of the operator.
struct HermitianSearch<'s, 'v> {
    settings: SearchSettings<'s>,
    operator: SearchOperator,
    basis: KrylovBasis<'s, 'v>,
    locked: Vec<f64>,
    /// The largest modulus of a Ritz value so far.
    largest: f64,
    /// The number of rows on all processes.
    total: usize,
    capacity: usize,
    restarts: usize,
}

/// Ritz values θ with the eigenvectors u of the projected matrix, and their residuals.
struct HermitianRitz {
    theta: Vec<f64>,
    u: ProjectedMatrix,
    residuals: Vec<f64>,
    /// The indices of the values, in the requested order.
    order: Vec<usize>,
}

/// The result of a count of the eigenvalues that come before the last found one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountOutcome {
    /// The search found all of them.
    Proved,
    /// There are more than the search found.
    Missing,
    /// There are fewer than the search found, because of rounding errors.
    Unclear,
    /// There is no function that counts, or counts do not apply to the selection.
    Nothing,
}

/// If rounding errors matter, move a shift whose nearest eigenvalue is closer than this fraction of the distance of the last wanted one.
pub(crate) const NEAR: f64 = 0.05;

/// The maximum number of looks that find nothing although the counts show a missing eigenvalue.
const VAIN: usize = 3;

/// Find eigenpairs of a Hermitian problem. The values are real.
pub(super) fn find(vectors: &mut SearchVectors<'_>, settings: &SearchSettings<'_>) -> Result<GeneralEigen> {
    let (total, operator) = (vectors.total, vectors.operator);
    let dimensions = Dimensions::of(settings, true, total);
    let basis = KrylovBasis::new(vectors, operator.mass, dimensions, settings)?;
    let (locked, largest, capacity, restarts) = (Vec::new(), 0.0, dimensions.first, 0);
    let mut search =
        HermitianSearch { settings: *settings, operator, basis, locked, largest, total, capacity, restarts };
    search.basis.begin(0, settings.has_start)?;
    let all = search.run()?;
    let (none_missing, complete) = if all { search.find_missing()? } else { (false, None) };
    search.finish((all, none_missing), complete)
}

impl HermitianSearch<'_, '_> {
    /// Extend and restart the space until k pairs are locked. Returns whether they are, or no more exist.
    fn run(&mut self) -> Result<bool> {
        let (mut from, target) = (self.locked.len(), self.settings.k);
        while self.locked.len() < target {
            self.basis.expand(from, self.capacity)?;
            let l = self.locked.len();
            let ritz = self.ritz(l)?;
            let (active, largest) = (ritz.theta.len(), self.largest);
            let pairs = ritz.order.iter().map(|i| (ritz.theta[*i].abs(), ritz.residuals[*i]));
            let count = if active > 0 { converged(&self.settings, pairs, largest) } else { 0 };
            if l + count >= target || self.basis.exhausted || self.restarts >= self.settings.max_restarts {
                self.lock(&ritz, &ritz.order[..count])?;
                break;
            }
            from = self.restart(&ritz, count)?;
        }
        Ok(self.locked.len() >= target || self.basis.exhausted)
    }

    /// The Ritz values of the vectors that are not locked, in the requested order after `preceding` others.
    fn ritz(&mut self, preceding: usize) -> Result<HermitianRitz> {
        let (l, m) = (self.locked.len(), self.basis.filled);
        let pairs = self.basis.h.block(l, m).map(hermitian_part).and_then(hermitian_eigen);
        let (theta, u) = self.basis.agree_on(pairs)?;
        let values: Vec<Complex64> = theta.iter().map(|theta| Complex64::from(*theta)).collect();
        let order = self.settings.which.order(&values, true, preceding);
        let residuals = (0..m - l).map(|i| self.basis.beta * u[(m - l - 1, i)].norm()).collect();
        self.largest = theta.iter().fold(self.largest, |largest, theta| largest.max(theta.abs()));
        Ok(HermitianRitz { theta, u, residuals, order })
    }

    /// Lock the pairs at these places, and drop all others.
    fn lock(&mut self, ritz: &HermitianRitz, places: &[usize]) -> Result<()> {
        self.basis.compress(self.locked.len(), ritz.u.columns_at(places.iter().copied()))?;
        self.locked.extend(places.iter().map(|i| ritz.theta[*i]));
        Ok(())
    }

    /// Lock the first `count` pairs, and restart with some of the others. Returns the number of vectors.
    fn restart(&mut self, ritz: &HermitianRitz, count: usize) -> Result<usize> {
        let (l, active, beta) = (self.locked.len(), ritz.theta.len(), self.basis.beta);
        let keep = restart_size(active, count);
        let [q, _] = self.basis.compress(l, ritz.u.columns_at(ritz.order[..keep].iter().copied()))?;
        self.locked.extend(ritz.order[..count].iter().map(|i| ritz.theta[*i]));
        // OP·(V·u) = θ·V·u + β·u_last·v. The coefficients of v become a row of H. Those of converged vectors are dropped.
        for (k, i) in ritz.order[..keep].iter().enumerate().skip(count) {
            self.basis.h[(l + k, l + k)] = Complex64::from(ritz.theta[*i]);
            self.basis.h[(l + keep, l + k)] = beta * q[(active - 1, k)];
        }
        self.restarts += 1;
        Ok(l + keep)
    }

    /// Count or look until no wanted eigenvalue is missing. Returns whether this succeeded, and whether counts prove it.
    fn find_missing(&mut self) -> Result<(bool, Option<bool>)> {
        let (mut in_vain, limit) = (0, LookLimit::after(self.basis.solves, self.settings.max_restarts));
        for _ in 0..looks(self.settings.k) {
            if !self.basis.exhausted {
                self.keep_wanted()?;
            }
            let counted = self.counted()?;
            let complete = (counted != CountOutcome::Nothing).then_some(counted == CountOutcome::Proved);
            let enough =
                counted == CountOutcome::Proved || counted != CountOutcome::Missing && !self.settings.second_look;
            if enough || self.basis.exhausted || self.locked.is_empty() {
                return Ok((true, complete));
            }
            match self.look(limit)? {
                LookOutcome::Found => (),
                LookOutcome::Ended if counted == CountOutcome::Missing && in_vain < VAIN => in_vain += 1,
                LookOutcome::Ended => return Ok((counted != CountOutcome::Missing, complete)),
                LookOutcome::Limit => return Ok((false, complete)),
            }
        }
        Ok((false, self.settings.count.map(|_| false)))
    }

    /// Keep only the first k locked pairs in the requested order.
    fn keep_wanted(&mut self) -> Result<()> {
        let (l, mut order) = (self.locked.len(), self.order());
        if l > self.settings.k {
            order.truncate(self.settings.k);
            let wanted = ProjectedMatrix::identity(l).and_then(|unit| unit.columns_at(order.iter().copied()));
            self.basis.compress(0, wanted)?;
            self.locked = order.iter().map(|k| self.locked[*k]).collect();
        }
        self.basis.filled = self.locked.len();
        Ok(())
    }

    /// Run a second look with a random vector orthogonal to the locked vectors, and lock the wanted eigenvalues that it finds.
    fn look(&mut self, limit: LookLimit) -> Result<LookOutcome> {
        let (l, region) = (self.locked.len(), self.region(1.0));
        if region.is_empty() {
            return Ok(LookOutcome::Ended);
        }
        let capacity = self.capacity.max(l + LEAST_ACTIVE).min(self.total);
        if capacity > self.capacity {
            self.basis.grow(capacity)?;
            self.capacity = capacity;
        }
        self.basis.draw(l)?;
        if self.basis.exhausted {
            return Ok(LookOutcome::Ended);
        }
        let (strict, limit) = (self.settings.stricter(), limit.from((self.restarts, self.basis.solves)));
        let (mut from, mut dropped) = (l, DroppedValues::default());
        self.basis.growth = 0.0;
        loop {
            self.basis.expand(from, next_size(l, from, self.capacity))?;
            let ritz = self.ritz(0)?;
            let values: Vec<Complex64> = ritz.order.iter().map(|i| Complex64::from(ritz.theta[*i])).collect();
            let wanted: Vec<usize> = ritz
                .order
                .iter()
                .copied()
                .zip(&values)
                .filter(|(_, value)| region.contains(**value))
                .map(|(i, _)| i)
                .collect();
            let small = |i: &usize| ritz.residuals[*i] <= strict.allowed(ritz.theta[*i].abs(), self.largest);
            if !wanted.is_empty() && wanted.iter().all(small) {
                self.lock(&ritz, &wanted)?;
                return Ok(LookOutcome::Found);
            }
            if self.basis.exhausted || dropped.exclude(&region, &values, (self.basis.growth, self.total)) {
                return Ok(LookOutcome::Ended);
            }
            from = self.basis.filled;
            if from == self.capacity {
                if limit.is_reached((self.restarts, self.basis.solves)) {
                    return Ok(LookOutcome::Limit);
                }
                from = self.restart(&ritz, 0)?;
                self.basis.agree_on(dropped.add(&values[from - l..]))?;
            }
        }
    }

    /// The region of eigenvalues that come before the last of the k found ones, by `times` the possible error.
    fn region(&self, times: f64) -> WantedRegion {
        let values: Vec<Complex64> = self.locked.iter().map(|theta| Complex64::from(*theta)).collect();
        let largest = values.iter().fold(self.largest, |largest, theta| largest.max(theta.norm()));
        let distinct = |theta| times * self.settings.distinct(theta, largest);
        WantedRegion::beyond((self.settings.which, true, true), (&values, self.settings.k), distinct)
    }

    /// Count the eigenvalues that come before the last found one.
    fn counted(&mut self) -> Result<CountOutcome> {
        let Some(below) = self.settings.count else { return Ok(CountOutcome::Nothing) };
        if self.locked.is_empty() {
            return Ok(CountOutcome::Proved);
        }
        let (mut missing, size) = (true, self.size()?);
        // For a zero matrix, the size is 0, but distances must stay positive.
        let rounding = (8.0 * self.settings.epsilon * size).max(f64::MIN_POSITIVE);
        let error = self.settings.limit(self.total as f64) * size;
        // Count beside the last eigenvalue. Count at a second place if the first count fails: another eigenvalue may lie at the first place.
        for times in [1.0, 2.0] {
            match self.count_beyond(below, (times, times * rounding, times * error))? {
                None => return Ok(CountOutcome::Nothing),
                Some((counted, computed)) if counted == computed => return Ok(CountOutcome::Proved),
                Some((counted, computed)) => missing &= counted > computed,
            }
        }
        Ok(if missing { CountOutcome::Missing } else { CountOutcome::Unclear })
    }

    /// The size of A − σB for a vector of norm 1 in the inner product. Rounding errors of counts are proportional to this number.
    fn size(&mut self) -> Result<f64> {
        let [norm, size] = self.basis.norms_of_product()?;
        let sigma = self.operator.shift().map_or(0.0, |sigma| sigma.norm());
        let largest = self.offsets().iter().fold(0.0_f64, |largest, offset| largest.max(offset.abs()));
        Ok(norm * size + sigma + largest)
    }

    /// The number of eigenvalues in the [`region`](Self::region), reduced by rounding errors, and how many of them the search found.
    ///
    /// `None` if counts do not apply to the selection. `error` bounds the errors of eigenvalues with acceptable residuals.
    fn count_beyond(
        &self,
        below: EigenvaluesBelow<'_>,
        (times, rounding, error): (f64, f64, f64),
    ) -> Result<Option<(usize, usize)>> {
        let (offsets, level) = (self.offsets(), self.region(times).level());
        let last = offsets[self.settings.k.min(offsets.len()) - 1].abs();
        let sigma = self.operator.shift().map_or(0.0, |sigma| sigma.re);
        let computed = |inside: &dyn Fn(f64) -> bool| offsets.iter().filter(|offset| inside(**offset)).count();
        let within =
            |radius: f64| -> Result<usize> { Ok(below(sigma + radius)?.saturating_sub(below(sigma - radius)?)) };
        let near = |radius: f64| -> Result<Option<(usize, usize)>> {
            Ok(match radius - rounding {
                radius if radius > 0.0 => Some((within(radius)?, computed(&|offset| offset.abs() < radius))),
                // No eigenvalue is nearer than one at the target. Otherwise rounding errors hide the number.
                _ if last == 0.0 => Some((0, 0)),
                _ => Some((0, 1)),
            })
        };
        Ok(match (self.settings.which, self.operator.shift()) {
            (_, Some(_)) if !self.operator.is_shifted() => None,
            // An eigenvalue at the distance δ causes errors of approximately ε·d²/δ at the distance d. They can change the order of distances.
            (Which::LargestMagnitude, Some(_)) if offsets[0].abs() < NEAR * last => {
                near((last - error).max(1.0 / level))?
            }
            (Which::LargestMagnitude, Some(_)) => near(1.0 / level)?,
            (Which::SmallestMagnitude, None) => near(-level)?,
            (Which::LargestMagnitude, None) => {
                let radius = level + rounding;
                Some((self.total.saturating_sub(within(radius)?), computed(&|value| value.abs() > radius)))
            }
            (Which::LargestReal, None) => {
                let edge = level + rounding;
                Some((self.total.saturating_sub(below(edge)?), computed(&|value| value > edge)))
            }
            (Which::SmallestReal, None) => {
                let edge = -level - rounding;
                Some((below(edge)?, computed(&|value| value < edge)))
            }
            _ => None,
        })
    }

    /// The offsets λ − σ of all locked values, in the requested order.
    fn offsets(&self) -> Vec<f64> {
        self.order().iter().map(|k| self.operator.offset(Complex64::from(self.locked[*k])).re).collect()
    }

    fn order(&self) -> Vec<usize> {
        let values: Vec<Complex64> = self.locked.iter().map(|theta| Complex64::from(*theta)).collect();
        self.settings.which.order(&values, true, 0)
    }

    fn finish(self, (all, none_missing): (bool, bool), complete: Option<bool>) -> Result<GeneralEigen> {
        let order = self.order();
        let chosen = &order[..order.len().min(self.settings.k)];
        let offsets: Vec<Complex64> =
            chosen.iter().map(|k| self.operator.offset(Complex64::from(self.locked[*k]))).collect();
        let Self { settings, basis, largest, restarts, .. } = self;
        let (n, solves) = (basis.vectors.rows, basis.solves);
        let mut vectors: Vec<Complex64> = basis.agree_on(zeroed(chosen.len() * n))?;
        for (k, x) in chosen.iter().zip(vectors.chunks_exact_mut(n.max(1))) {
            basis.vectors.of.elements(basis.vector(*k), x);
        }
        let pairs = RitzPairs { offsets: &offsets, vectors: &vectors, largest };
        let Verified { values, residuals, norms, orthogonality, sound } =
            verify(&settings, pairs, true, basis.vectors)?;
        let ending = EigenEnding::of(all, sound).if_none_missing(none_missing);
        let wanted = settings.k;
        let report = EigenReport { ending, wanted, residuals, norms, orthogonality, restarts, solves, complete };
        Ok(GeneralEigen { values, offsets, vectors, report })
    }
}

/// The Hermitian part (H + Hᴴ)/2.
fn hermitian_part(mut h: ProjectedMatrix) -> ProjectedMatrix {
    for j in 0..h.columns() {
        for i in 0..=j {
            // `expand` forms whole columns, so entries below the diagonal that a restart wrote have partners above the diagonal.
            let mean = (h[(i, j)] + h[(j, i)].conj()) * 0.5;
            (h[(i, j)], h[(j, i)]) = (mean, mean.conj());
        }
    }
    h
}
