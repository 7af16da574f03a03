//! General problems: the Arnoldi method, with restarts by Schur vectors, locking of converged vectors, and second looks.

use super::basis::KrylovBasis;
use super::limits::{Dimensions, converged, restart_size};
use super::look::{DroppedValues, LEAST_ACTIVE, LookLimit, LookOutcome, WantedRegion, looks, next_size};
use super::vectors::SearchVectors;
use super::verify::{RitzPairs, Verified, verify};
use crate::problem::Which;
use crate::projected::{ProjectedMatrix, SchurForm, schur};
use crate::report::{EigenEnding, EigenReport, GeneralEigen};
use crate::solver::SearchSettings;
use bandsolve::memory::{collected, reserved};
use bandsolve::{Complex64, Result};
use core::ops::{ControlFlow, Range};

/// The Ritz values of one restart, in the requested order.
struct RitzValues {
    form: SchurForm,
    /// The place of each value in the Schur form.
    order: Vec<usize>,
    /// Whether the value at this place of the order and the next one are a conjugate pair.
    pair: Vec<bool>,
    /// Whether the matrix is real.
    real: bool,
}

/// The state of the search.
///
/// The first `locked.len()` vectors of the basis are converged Schur vectors. The operator maps their span into itself up to the tolerance, so
/// the search drops their coupling to the vector behind the basis (deflation).
struct GeneralSearch<'s, 'v> {
    settings: SearchSettings<'s>,
    basis: KrylovBasis<'s, 'v>,
    /// The eigenvalues of the operator in the locked space.
    locked: Vec<Complex64>,
    /// The number of rows on all processes.
    total: usize,
    /// The number of wanted eigenvalues, at most `total`.
    target: usize,
    capacity: usize,
    restarts: usize,
    /// The largest modulus of a Ritz value so far.
    seen: f64,
}

/// The reason why the space no longer grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// The wanted eigenvalues have converged.
    Found,
    /// The search reached the maximum number of restarts, or the space cannot grow.
    Limit,
}

/// The largest coupling of equal eigenvalues in the Schur form that counts as zero, in units of the tolerance for residuals.
///
/// Treating the coupling as zero makes the vectors of equal eigenvalues different. Residuals of [second looks](super::look) leave a coupling
/// of this size if the condition number of the eigenvalue is 256.
const BESIDE_EQUAL: f64 = 16.0;

/// Find eigenpairs of any problem.
pub(super) fn find(vectors: &mut SearchVectors<'_>, settings: &SearchSettings<'_>) -> Result<GeneralEigen> {
    let total = vectors.total;
    let dimensions = Dimensions::of(settings, false, total);
    let basis = KrylovBasis::new(vectors, false, dimensions, settings)?;
    let target = settings.k.min(total);
    let (settings, locked, capacity, restarts, seen) = (*settings, Vec::new(), dimensions.first, 0, 0.0);
    let mut search = GeneralSearch { settings, basis, locked, total, target, capacity, restarts, seen };
    search.basis.begin(0, settings.has_start)?;
    let all = target == 0 || search.run()? == Pause::Found;
    search.lock_converged()?;
    let none_missing = !(all && target > 0 && settings.second_look) || search.look_again(dimensions.most)?;
    search.finish(all, none_missing)
}

impl GeneralSearch<'_, '_> {
    /// Extend and restart the space until the wanted eigenvalues have converged.
    fn run(&mut self) -> Result<Pause> {
        let mut from = self.locked.len();
        loop {
            self.basis.expand(from, self.capacity)?;
            let next = self.next();
            match self.basis.agree_on(next)? {
                ControlFlow::Break(pause) => return Ok(pause),
                ControlFlow::Continue(restart) => from = self.restart(restart)?,
            }
        }
    }

    /// Decide how to continue with a full space.
    fn next(&mut self) -> Result<ControlFlow<Pause, Restart>> {
        let (l, m) = (self.locked.len(), self.basis.filled);
        let s = self.basis.h.block(l, m)?;
        let ritz = RitzValues::of(&s, self.settings.which, self.settings.real)?;
        let residuals = ritz.residuals(self.basis.beta)?;
        let largest = self.largest(&ritz);
        self.seen = self.seen.max(largest);
        if self.has_converged(&ritz, &residuals) {
            return Ok(ControlFlow::Break(Pause::Found));
        }
        if self.basis.exhausted || self.restarts >= self.settings.max_restarts || m < l + 2 {
            return Ok(ControlFlow::Break(Pause::Limit));
        }
        let count = converged(&self.settings, ritz.sizes().zip(residuals), largest);
        let tolerance = |theta: f64| self.settings.allowed(theta, largest);
        ritz.restart(&s, count, (self.basis.beta, &tolerance)).map(ControlFlow::Continue)
    }

    /// The largest |θ| of the locked values and the Ritz values.
    fn largest(&self, ritz: &RitzValues) -> f64 {
        ritz.sizes().chain(self.locked.iter().map(|theta| theta.norm())).fold(0.0, f64::max)
    }

    /// Whether the first values in the requested order, of locked and Ritz values together, have converged.
    fn has_converged(&self, ritz: &RitzValues, residuals: &[f64]) -> bool {
        let (l, largest) = (self.locked.len(), self.largest(ritz));
        let values: Vec<Complex64> = self.locked.iter().copied().chain(ritz.values()).collect();
        let order = self.settings.which.order(&values, self.settings.real, 0);
        let residual = |at: usize| if at < l { 0.0 } else { residuals[at - l] };
        let pairs = order.iter().map(|at| (values[*at].norm(), residual(*at)));
        self.basis.exhausted || converged(&self.settings, pairs, largest) >= self.target
    }

    /// Restrict the space to the part that a restart keeps. Returns the number of vectors.
    fn restart(&mut self, Restart { q, h, values }: Restart) -> Result<usize> {
        let (l, m, beta, keep) = (self.locked.len(), self.basis.filled, self.basis.beta, q.columns());
        let [q, old] = self.basis.compress(l, Ok(q))?;
        for j in 0..l {
            self.basis.h.column_mut(j)[..l].copy_from_slice(&old.column(j)[..l]);
        }
        for j in 0..keep {
            // The rows of the locked vectors become H₁₂·Q.
            for i in 0..l {
                let row = (l..m).map(|k| old[(i, k)] * q[(k - l, j)]);
                self.basis.h[(i, l + j)] = row.sum();
            }
            self.basis.h.column_mut(l + j)[l..l + keep].copy_from_slice(h.column(j));
            if j >= values.len() {
                self.basis.h[(l + keep, l + j)] = beta * q[(m - l - 1, j)];
            }
        }
        self.locked.extend(values);
        self.restarts += 1;
        Ok(l + keep)
    }

    /// Lock the wanted and converged values in the requested order, and drop all others.
    fn lock_converged(&mut self) -> Result<()> {
        let (l, m) = (self.locked.len(), self.basis.filled);
        if m == 0 || self.target == 0 {
            self.locked.clear();
            return Ok(());
        }
        // For locked vectors, the last row contains only rounding errors.
        let beta = if m > l { self.basis.beta } else { 0.0 };
        let restart = self.basis.agree_on(self.converged_alone(beta));
        let Restart { q, h, values } = restart?;
        self.basis.compress(0, Ok(q))?;
        for j in 0..h.columns() {
            self.basis.h.column_mut(j)[..h.rows()].copy_from_slice(h.column(j));
        }
        self.locked = values;
        Ok(())
    }

    /// The restart that keeps only the wanted and converged values of all vectors, with this β.
    fn converged_alone(&self, beta: f64) -> Result<Restart> {
        let s = self.basis.h.block(0, self.basis.filled)?;
        let mut ritz = RitzValues::of(&s, self.settings.which, self.settings.real)?;
        let largest = self.largest(&ritz);
        let small = |(theta, residual): (f64, f64)| residual <= self.settings.allowed(theta, largest);
        let small: Vec<bool> = ritz.sizes().zip(ritz.residuals(beta)?).map(small).collect();
        let count = ritz.move_forward(&small, self.target);
        ritz.restart_with(&s, count, count)
    }

    /// Run second looks until no wanted eigenvalue is missing. Returns whether this succeeded.
    fn look_again(&mut self, most: usize) -> Result<bool> {
        let limit = LookLimit::after(self.basis.solves, self.settings.max_restarts);
        for _ in 0..looks(self.target) {
            if self.basis.exhausted {
                return Ok(true);
            }
            if self.locked.len() < self.target {
                // Locking changed some vectors by more than their tolerance, so search for them again.
                if self.run()? != Pause::Found {
                    return Ok(false);
                }
                self.lock_converged()?;
                continue;
            }
            match self.look(most, limit)? {
                LookOutcome::Ended => return Ok(true),
                LookOutcome::Limit => return Ok(false),
                LookOutcome::Found => self.lock_converged()?,
            }
        }
        Ok(false)
    }

    /// Run a second look with a random vector orthogonal to the locked vectors.
    ///
    /// If it finds wanted eigenvalues, their vectors are in the basis. Otherwise only the locked vectors remain.
    fn look(&mut self, most: usize, limit: LookLimit) -> Result<LookOutcome> {
        let (l, region) = (self.locked.len(), self.region());
        if region.is_empty() {
            return Ok(LookOutcome::Ended);
        }
        self.grow((l + LEAST_ACTIVE).min(most))?;
        self.basis.filled = l;
        self.basis.draw(l)?;
        if self.basis.exhausted {
            return Ok(LookOutcome::Ended);
        }
        let (strict, limit) = (self.settings.stricter(), limit.from((self.restarts, self.basis.solves)));
        let (mut from, mut dropped) = (l, DroppedValues::default());
        self.basis.growth = 0.0;
        loop {
            self.basis.expand(from, next_size(l, from, self.capacity))?;
            let next = self.next_of_look((&region, &strict), limit, &mut dropped);
            from = match self.basis.agree_on(next)? {
                ControlFlow::Continue(None) => self.basis.filled,
                ControlFlow::Continue(Some(restart)) => self.restart(restart)?,
                ControlFlow::Break(outcome) => {
                    if outcome != LookOutcome::Found {
                        self.basis.filled = l;
                    }
                    return Ok(outcome);
                }
            };
        }
    }

    /// Decide how to continue a look. If the space is full, the result contains a restart.
    fn next_of_look(
        &self,
        (region, strict): (&WantedRegion, &SearchSettings<'_>),
        limit: LookLimit,
        dropped: &mut DroppedValues,
    ) -> Result<ControlFlow<LookOutcome, Option<Restart>>> {
        let (l, m, beta) = (self.locked.len(), self.basis.filled, self.basis.beta);
        let s = self.basis.h.block(l, m)?;
        let ritz = RitzValues::of(&s, self.settings.which, self.settings.real)?;
        let (values, largest): (Vec<Complex64>, f64) = (ritz.values().collect(), self.largest(&ritz));
        let residuals = ritz.residuals(beta)?;
        let wanted = values.iter().zip(residuals).filter(|(value, _)| region.contains(**value));
        let mut small = wanted.map(|(value, residual)| residual <= strict.allowed(value.norm(), largest)).peekable();
        if small.peek().is_some() && small.all(|small| small) {
            return Ok(ControlFlow::Break(LookOutcome::Found));
        }
        if self.basis.exhausted || dropped.exclude(region, &values, (self.basis.growth, self.total)) {
            return Ok(ControlFlow::Break(LookOutcome::Ended));
        }
        if m < self.capacity {
            return Ok(ControlFlow::Continue(None));
        }
        if limit.is_reached((self.restarts, self.basis.solves)) {
            return Ok(ControlFlow::Break(LookOutcome::Limit));
        }
        let restart = ritz.restart(&s, 0, (beta, &|_| 0.0))?;
        dropped.add(&values[restart.q.columns()..])?;
        Ok(ControlFlow::Continue(Some(restart)))
    }

    /// The region of eigenvalues that come before the last found one.
    fn region(&self) -> WantedRegion {
        let largest = self.locked.iter().map(|theta| theta.norm()).fold(0.0, f64::max);
        let distinct = |theta| self.settings.distinct(theta, largest);
        WantedRegion::beyond((self.settings.which, self.settings.real, false), (&self.locked, self.target), distinct)
    }

    /// Grow the capacity to at least this number of vectors. H keeps the block of the locked vectors.
    fn grow(&mut self, capacity: usize) -> Result<()> {
        if capacity <= self.capacity {
            return Ok(());
        }
        let (old, l) = (self.basis.grow(capacity)?, self.locked.len());
        (0..l).for_each(|j| self.basis.h.column_mut(j)[..l].copy_from_slice(&old.column(j)[..l]));
        self.capacity = capacity;
        Ok(())
    }

    fn finish(mut self, all: bool, none_missing: bool) -> Result<GeneralEigen> {
        let (settings, operator, n) = (self.settings, self.basis.vectors.operator, self.basis.vectors.rows);
        let count = self.locked.len().min(self.target);
        let ready = self.basis.h.block(0, self.locked.len()).and_then(|h| {
            let ritz = RitzValues::of(&h, settings.which, settings.real)?;
            Ok((reserved::<Complex64>(count)?, reserved::<Complex64>(count * n)?, ritz))
        });
        let (mut offsets, mut vectors, ritz) = self.basis.agree_on(ready)?;
        let largest = self.largest(&ritz);
        for k in 0..count {
            if k > 0 && ritz.pair[k - 1] {
                offsets.push(offsets[k - 1].conj());
                let conjugates = vectors.len();
                vectors.extend_from_within((k - 1) * n..);
                vectors[conjugates..].iter_mut().for_each(|v| *v = v.conj());
                continue;
            }
            offsets.push(operator.offset(ritz.value(k, largest)));
            let theta = ritz.form.t[(ritz.order[k], ritz.order[k])];
            let equal = BESIDE_EQUAL * settings.allowed(theta.norm(), largest);
            let small = self.basis.agree_on(ritz.form.vector(ritz.order[k], equal))?;
            vectors.extend(self.basis.combination(&small)?);
        }
        let pairs = RitzPairs { offsets: &offsets, vectors: &vectors, largest: self.seen };
        let checked = verify(&settings, pairs, false, self.basis.vectors)?;
        let Verified { values, residuals, norms, orthogonality, sound } = checked;
        let ending = EigenEnding::of(all && offsets.len() >= self.target, sound).if_none_missing(none_missing);
        let (restarts, solves) = (self.restarts, self.basis.solves);
        let report = EigenReport {
            ending,
            wanted: settings.k,
            residuals,
            norms,
            orthogonality,
            restarts,
            solves,
            complete: None,
        };
        Ok(GeneralEigen { values, offsets, vectors, report })
    }
}

/// The part of a space that a restart keeps: a basis Q, and H = Qᴴ·S·Q. The first `values.len()` vectors become locked.
struct Restart {
    q: ProjectedMatrix,
    h: ProjectedMatrix,
    values: Vec<Complex64>,
}

impl RitzValues {
    fn of(s: &ProjectedMatrix, which: Which, real: bool) -> Result<Self> {
        let form = schur(s.copy()?)?;
        let values = form.values();
        let wanted = which.order(&values, real, 0);
        if !real {
            let pair = vec![false; wanted.len()];
            return Ok(Self { form, order: wanted, pair, real });
        }
        let (mut order, mut pair, mut unpaired) = (Vec::new(), Vec::new(), wanted);
        while !unpaired.is_empty() {
            let i = unpaired.remove(0);
            // Without a partner, the value is real: it is nearer to its own conjugate than every other value.
            let distance = |j: usize| (values[j] - values[i].conj()).norm();
            let other = (0..unpaired.len()).min_by(|a, b| distance(unpaired[*a]).total_cmp(&distance(unpaired[*b])));
            let other = other.filter(|other| distance(unpaired[*other]) < distance(i));
            let Some(other) = other else {
                order.push(i);
                pair.push(false);
                continue;
            };
            // With several equal pairs, a value may be matched with the conjugate of another copy. Sorting by the imaginary part keeps copies
            // different.
            let other = unpaired.remove(other);
            order.extend(if values[i].im < values[other].im { [other, i] } else { [i, other] });
            pair.extend([true, false]);
        }
        Ok(Self { form, order, pair, real })
    }

    /// The value at a place of the order. For a real matrix, a value that is real up to rounding errors becomes real.
    fn value(&self, k: usize, largest: f64) -> Complex64 {
        let at = self.order[k];
        let value = self.form.t[(at, at)];
        let alone = self.real && !self.pair[k];
        if alone && value.im.abs() <= 1e3 * f64::EPSILON * largest { Complex64::from(value.re) } else { value }
    }

    /// The values θ, in the order.
    fn values(&self) -> impl Iterator<Item = Complex64> {
        self.order.iter().map(|at| self.form.t[(*at, *at)])
    }

    /// The moduli |θ|, in the order.
    fn sizes(&self) -> impl Iterator<Item = f64> {
        self.values().map(|theta| theta.norm())
    }

    /// Move the chosen values to the front of the order, and return their number.
    ///
    /// Moves at most `wanted` values, or one more to keep a conjugate pair together. The chosen values need not come first, because some
    /// copies of a value may not have converged.
    fn move_forward(&mut self, chosen: &[bool], wanted: usize) -> usize {
        let (mut first, mut others, mut k) = (Vec::new(), Vec::new(), 0);
        while k < self.order.len() {
            let next = k + 1 + usize::from(self.pair[k]);
            let to = if chosen[k] && first.len() < wanted { &mut first } else { &mut others };
            to.extend((k..next).map(|k| (self.order[k], self.pair[k])));
            k = next;
        }
        let count = first.len();
        (self.order, self.pair) = first.into_iter().chain(others).unzip();
        count
    }

    /// The residuals of the Ritz vectors, in the order.
    fn residuals(&self, beta: f64) -> Result<Vec<f64>> {
        let m = self.form.t.rows();
        self.order.iter().map(|at| Ok(beta * self.form.vector(*at, 0.0)?[m - 1].norm())).collect()
    }

    /// Make a restart, if the first `count` values have converged.
    ///
    /// It locks those whose Schur vectors have small residuals, too. The Schur vectors of nearly defective values may have large residuals.
    fn restart(mut self, s: &ProjectedMatrix, count: usize, (beta, allowed): (f64, Allowed<'_>)) -> Result<Restart> {
        let m = s.rows();
        self.reorder();
        let small = |k: &usize| beta * self.form.u[(m - 1, *k)].norm() <= allowed(self.form.t[(*k, *k)].norm());
        let mut lock = (0..count.min(m - 1)).take_while(small).count();
        if lock > 0 && self.pair[lock - 1] {
            lock -= 1;
        }
        let mut keep = restart_size(m, count.min(m - 1));
        if self.pair[keep - 1] {
            keep = if keep + 1 < m { keep + 1 } else { (keep - 1).max(1) };
        }
        self.ordered_restart(s, lock.min(keep), keep)
    }

    /// Make a restart that keeps the first `keep` vectors, and locks the first `lock` of these.
    fn restart_with(mut self, s: &ProjectedMatrix, lock: usize, keep: usize) -> Result<Restart> {
        self.reorder();
        self.ordered_restart(s, lock, keep)
    }

    /// Reorder the Schur form by the requested order.
    fn reorder(&mut self) {
        self.form.reorder(&self.order);
        self.order = (0..self.order.len()).collect();
    }

    fn ordered_restart(&self, s: &ProjectedMatrix, lock: usize, keep: usize) -> Result<Restart> {
        let (m, t) = (s.rows(), &self.form.t);
        let values = (0..lock).map(|k| t[(k, k)]).collect();
        if !self.real || keep == 0 {
            return Ok(Restart { q: self.form.u.columns_at(0..keep)?, h: t.block(0, keep)?, values });
        }
        // Q spans an invariant space up to rounding errors, unless nearly equal values are on both sides of the cut.
        let allowed = 100.0 * m as f64 * f64::EPSILON * s.norm();
        let mut best = Projected::of(s, real_basis(&self.form.u, lock, keep)?)?;
        let most = if lock == keep { keep + 1 } else { m };
        for keep in keep + 1..most {
            if best.error <= allowed {
                break;
            }
            let other = Projected::of(s, real_basis(&self.form.u, lock, keep)?)?;
            best = if other.error < best.error { other } else { best };
        }
        if best.error <= allowed {
            return Ok(Restart { q: best.q, h: best.h, values });
        }
        // With several equal pairs, a value may have been matched with the conjugate of another copy.
        let other = self.deflated_basis(s, keep)?.map(|q| Projected::of(s, q)).transpose()?;
        match other.filter(|other| other.error < best.error) {
            // These vectors differ from the ones whose last row was checked, so lock none.
            Some(other) if lock < keep => Ok(Restart { q: other.q, h: other.h, values: Vec::new() }),
            Some(other) => Ok(Restart { q: other.q, h: other.h, values }),
            None => Ok(Restart { q: best.q, h: best.h, values }),
        }
    }

    /// Compute a real basis of an invariant space with `count` dimensions, or one more.
    ///
    /// The basis consists of the real and imaginary parts of eigenvectors, in the order of the form. Each is an eigenvector of S restricted to the
    /// complement of the previous ones. `None` if the two parts of a vector are linearly dependent.
    ///
    /// # Cost
    /// One Schur form per eigenvector.
    fn deflated_basis(&self, s: &ProjectedMatrix, count: usize) -> Result<Option<ProjectedMatrix>> {
        let (m, mut basis, mut k) = (s.rows(), Vec::new(), 0);
        while basis.len() < count.min(m) && k < m {
            let known = basis.len();
            // The complement comes from the projections of the unit vectors. The basis itself stays unchanged.
            extend_basis(&mut basis, parts(&ProjectedMatrix::identity(m)?, 0..m)?, m);
            let complement = from_columns(m, &basis[known..])?;
            basis.truncate(known);
            let form = schur(complement.adjoint()?.times(&s.times(&complement)?)?)?;
            let distance = |value: &Complex64| (value - self.form.t[(k, k)]).norm();
            let near = form.values().iter().map(distance).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((at, _)) = near else { break };
            let mut vector = ProjectedMatrix::zeros(complement.columns(), 1)?;
            vector.column_mut(0).copy_from_slice(&form.vector(at, 0.0)?);
            let next = 1 + usize::from(self.pair[k]);
            let reached = basis.len() + next;
            let next_parts = parts(&complement.times(&vector)?, 0..1)?;
            if reached > m || extend_basis(&mut basis, next_parts, reached) < 1e-6 {
                return Ok(None);
            }
            k += next;
        }
        from_columns(m, &basis).map(Some)
    }
}

/// A basis Q, H = Qᴴ·S·Q, and the error ‖S·Q − Q·H‖_F, which is zero if the span is invariant.
struct Projected {
    q: ProjectedMatrix,
    h: ProjectedMatrix,
    error: f64,
}

impl Projected {
    fn of(s: &ProjectedMatrix, q: ProjectedMatrix) -> Result<Self> {
        let sq = s.times(&q)?;
        let h = q.adjoint()?.times(&sq)?;
        let error = difference(&sq, &q.times(&h)?);
        Ok(Self { q, h, error })
    }
}

/// A function that returns the largest residual for an eigenvalue of this modulus.
type Allowed<'a> = &'a dyn Fn(f64) -> f64;

/// The norm ‖A − B‖_F.
fn difference(a: &ProjectedMatrix, b: &ProjectedMatrix) -> f64 {
    let columns = (0..a.columns()).flat_map(|j| a.column(j).iter().zip(b.column(j)));
    columns.map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt()
}

/// Compute a real orthonormal basis of the span of the first `count` columns of U. The first `lock` vectors span the first `lock` columns.
///
/// The span must contain the conjugates of its vectors. Then U·Uᴴ is real, and the real and imaginary parts have the singular values 1 and 0.
/// So Gram–Schmidt with pivoting finds the span.
fn real_basis(u: &ProjectedMatrix, lock: usize, count: usize) -> Result<ProjectedMatrix> {
    let mut basis = Vec::new();
    extend_basis(&mut basis, parts(u, 0..lock)?, lock);
    extend_basis(&mut basis, parts(u, lock..count)?, count);
    from_columns(u.rows(), &basis)
}

/// The real and imaginary parts of columns.
fn parts(u: &ProjectedMatrix, columns: Range<usize>) -> Result<Vec<Vec<f64>>> {
    let mut parts = reserved(2 * columns.len())?;
    for column in columns.map(|j| u.column(j)) {
        parts.push(collected(column.iter().map(|u| u.re))?);
        parts.push(collected(column.iter().map(|u| u.im))?);
    }
    Ok(parts)
}

/// Extend an orthonormal basis to `count` vectors. The next vector is the one with the largest component orthogonal to the basis.
/// Returns the smallest norm of these components.
fn extend_basis(basis: &mut Vec<Vec<f64>>, mut parts: Vec<Vec<f64>>, count: usize) -> f64 {
    let mut least = f64::INFINITY;
    let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
    basis.iter().for_each(|q| parts.iter_mut().for_each(|v| subtract_projection(v, q)));
    while basis.len() < count {
        let largest = (0..parts.len()).max_by(|i, j| square(&parts[*i]).total_cmp(&square(&parts[*j])));
        let mut next = parts.swap_remove(largest.expect("`parts` contains enough vectors"));
        // Repeat the projection, so that the vector is orthogonal up to rounding errors.
        basis.iter().for_each(|q| subtract_projection(&mut next, q));
        let norm = square(&next).sqrt();
        next.iter_mut().for_each(|v| *v /= norm);
        parts.iter_mut().for_each(|v| subtract_projection(v, &next));
        basis.push(next);
        least = least.min(norm);
    }
    least
}

/// Make a matrix from real columns.
fn from_columns(rows: usize, columns: &[Vec<f64>]) -> Result<ProjectedMatrix> {
    let mut matrix = ProjectedMatrix::zeros(rows, columns.len())?;
    for (j, column) in columns.iter().enumerate() {
        matrix.column_mut(j).iter_mut().zip(column).for_each(|(to, v)| *to = Complex64::from(*v));
    }
    Ok(matrix)
}

/// Compute v ← v − q·qᵀ·v.
fn subtract_projection(v: &mut [f64], q: &[f64]) {
    let dot: f64 = q.iter().zip(&*v).map(|(q, v)| q * v).sum();
    v.iter_mut().zip(q).for_each(|(v, q)| *v -= dot * q);
}
