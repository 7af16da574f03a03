//! General problems: Arnoldi's method, restarted with Schur vectors; those found are locked.
//!
//! Of several equal eigenvalues a Krylov space has one. So the search looks again: from a random vector orthogonal to what was found,
//! which has a part of what is missing, until all that comes up is wanted less.

use super::basis::KrylovBasis;
use super::verify::{SearchMemory, Verified, check, verify};
use super::{Search, capacity, converged, kept};
use crate::problem::EigenProblem;
use crate::problem::Which;
use crate::projected::{ProjectedMatrix, SchurForm, schur};
use crate::report::{EigenEnding, EigenReport, GeneralEigen};
use crate::solver::EigenSolver;
use bandsolve::vectors::Reducer;
use bandsolve::{Complex64, Result, Scalar};

/// Ritz values of one restart, those wanted most first.
struct RitzValues {
    form: SchurForm,
    /// Their places in the Schur form, before it is ordered.
    order: Vec<usize>,
    /// Whether the value at this place of the order and the next are a conjugate pair.
    pair: Vec<bool>,
    /// Whether the matrix is real.
    real: bool,
}

/// The search: the first `locked.len()` vectors of the basis span a space of found Schur vectors, which the operator maps into itself up
/// to the tolerance. What couples them to the vector behind the basis is dropped (deflation).
struct GeneralSearch<'a, 's, T: Scalar> {
    solver: EigenSolver<'a, T>,
    problem: EigenProblem<'a, T>,
    basis: KrylovBasis<'a, 's, T>,
    /// Eigenvalues of the operator in that space.
    locked: Vec<Complex64>,
    /// Eigenvalues that are wanted, at most all.
    target: usize,
    capacity: usize,
    restarts: usize,
}

/// Why the space no longer grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// What is wanted has been found.
    Found,
    /// As many restarts or products as allowed.
    Limit,
}

/// Second looks at most: each finds one more of several equal eigenvalues.
const LOOKS: usize = 16;

/// Finds eigenvalues of any problem.
pub(super) fn find<T: Scalar>((solver, problem): Search<'_, T>) -> Result<GeneralEigen> {
    let total = check(&solver, &problem)?;
    // A pair that is not to be split needs one vector more.
    let capacity = (capacity(&solver, total) + usize::from(!T::COMPLEX && solver.ncv.is_none())).min(total);
    // As many sums as vectors there may ever be.
    let most = total.min(capacity + 16) + 2;
    let mut memory = SearchMemory::new(&solver, &problem, most)?;
    let (reducer, stack) = Reducer::new(solver.communicator, problem.a.rows(), most, memory.stack());
    let basis = KrylovBasis::new(problem, false, (total, capacity), solver.seed, (reducer, stack))?;
    let target = solver.k.min(total);
    let mut search = GeneralSearch { solver, problem, basis, locked: Vec::new(), target, capacity, restarts: 0 };
    search.basis.begin(0, solver.start)?;
    let all = target == 0 || search.run(None)? == Pause::Found;
    search.lock_found()?;
    if all && target > 0 && target < total && solver.second_look {
        search.look_again(most - 2)?;
    }
    search.finish(all)
}

impl<T: Scalar> GeneralSearch<'_, '_, T> {
    /// Lets the space grow and restarts it until what is wanted is found. With a number of products, a second look: until
    /// nothing that comes up is wanted more, or so many products have been formed.
    fn run(&mut self, products: Option<usize>) -> Result<Pause> {
        let (mut from, begun) = (self.locked.len(), self.basis.solves);
        loop {
            self.basis.expand(from, self.capacity)?;
            let (l, m) = (self.locked.len(), self.basis.filled);
            let s = self.basis.h.block(l, m);
            let ritz = RitzValues::of(&s, self.solver.which, !T::COMPLEX)?;
            let residuals = ritz.residuals(self.basis.beta);
            if self.is_found(&ritz, &residuals, products.is_some()) {
                return Ok(Pause::Found);
            }
            let spent = products.is_some_and(|products| self.basis.solves - begun >= products);
            if self.basis.exhausted || spent || self.restarts >= self.solver.max_restarts || m < l + 2 {
                return Ok(Pause::Limit);
            }
            let largest = self.largest(&ritz);
            let found = converged(&self.solver, ritz.sizes().zip(residuals), largest);
            let tolerance = |theta: f64| self.solver.allowed(theta, largest);
            let restart = ritz.restart::<T>(&s, found, (self.basis.beta, &tolerance));
            from = self.restart(&restart)?;
        }
    }

    /// |θ| of the largest eigenvalue that is known.
    fn largest(&self, ritz: &RitzValues) -> f64 {
        ritz.sizes().chain(self.locked.iter().map(|theta| theta.norm())).fold(0.0, f64::max)
    }

    /// Whether those that are wanted most, of locked and of Ritz values, have been found. For a second look also whether what has not
    /// converged is certainly wanted less, as its residual tells.
    fn is_found(&self, ritz: &RitzValues, residuals: &[f64], second: bool) -> bool {
        let (which, real, l, largest) = (self.solver.which, !T::COMPLEX, self.locked.len(), self.largest(ritz));
        let own = || ritz.order.iter().map(|at| ritz.form.t[(*at, *at)]);
        let values: Vec<Complex64> = self.locked.iter().copied().chain(own()).collect();
        let order = which.order(&values, real, 0);
        let residual = |at: usize| if at < l { 0.0 } else { residuals[at - l] };
        let pairs = order.iter().map(|at| (values[*at].norm(), residual(*at)));
        if converged(&self.solver, pairs, largest) < self.target && !self.basis.exhausted {
            return false;
        }
        if !second || self.basis.exhausted {
            return true;
        }
        let least = which.key(&values[order[self.target - 1]], real);
        let open =
            own().zip(residuals).find(|(theta, residual)| **residual > self.solver.allowed(theta.norm(), largest));
        open.is_none_or(|(theta, residual)| which.key(&theta, real) + residual < least)
    }

    /// Begins anew with the part of the space that is kept; how many vectors there are then.
    fn restart(&mut self, restart: &Restart) -> Result<usize> {
        let (l, m, beta) = (self.locked.len(), self.basis.filled, self.basis.beta);
        let Restart { q, h, values } = restart;
        let (old, keep) = (self.basis.h.clone(), q.columns());
        self.basis.compress(l, q)?;
        for j in 0..l {
            self.basis.h.column_mut(j)[..l].copy_from_slice(&old.column(j)[..l]);
        }
        for j in 0..keep {
            // Rows of locked vectors: H₁₂·Q.
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

    /// Keeps what is wanted and has converged alone, in this order, and locks it.
    fn lock_found(&mut self) -> Result<()> {
        let (l, m) = (self.locked.len(), self.basis.filled);
        if m == 0 || self.target == 0 {
            self.locked.clear();
            return Ok(());
        }
        let s = self.basis.h.block(0, m);
        let ritz = RitzValues::of(&s, self.solver.which, !T::COMPLEX)?;
        let largest = self.largest(&ritz);
        // Of vectors that are locked nothing is in the last row but rounding.
        let beta = if m > l { self.basis.beta } else { 0.0 };
        let residuals = ritz.residuals(beta);
        let mut found = converged(&self.solver, ritz.sizes().zip(residuals), largest).min(self.target);
        if found > 0 && found < m && ritz.pair[found - 1] {
            found += 1;
        }
        let Restart { q, h, values } = ritz.restart_with::<T>(&s, found, found);
        self.basis.compress(0, &q)?;
        for j in 0..found {
            self.basis.h.column_mut(j)[..found].copy_from_slice(h.column(j));
        }
        self.locked = values;
        Ok(())
    }

    /// Looks for eigenvalues that the first vector had nothing of, with random ones orthogonal to what is locked.
    fn look_again(&mut self, most: usize) -> Result<()> {
        let (which, real) = (self.solver.which, !T::COMPLEX);
        let products = self.basis.solves.max(2 * self.capacity);
        for _ in 0..LOOKS {
            let l = self.locked.len();
            self.grow((l + 8).min(most))?;
            self.basis.filled = l;
            self.basis.draw(l)?;
            if self.basis.exhausted {
                return Ok(());
            }
            let least = self.locked.iter().map(|theta| which.key(theta, real)).fold(f64::INFINITY, f64::min);
            if self.run(Some(products))? != Pause::Found {
                // What was found before stays; new values that have converged join it.
                self.basis.filled = self.locked.len();
            }
            self.lock_found()?;
            let now = self.locked.iter().map(|theta| which.key(theta, real)).fold(f64::INFINITY, f64::min);
            let largest = self.locked.iter().map(|theta| theta.norm()).fold(0.0, f64::max);
            if now <= least + 1e-8 * largest {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Room for so many vectors at least; H of the locked ones stays.
    fn grow(&mut self, capacity: usize) -> Result<()> {
        if capacity <= self.capacity {
            return Ok(());
        }
        let (old, l) = (self.basis.h.clone(), self.locked.len());
        self.basis.grow(capacity)?;
        (0..l).for_each(|j| self.basis.h.column_mut(j)[..l].copy_from_slice(&old.column(j)[..l]));
        self.capacity = capacity;
        Ok(())
    }

    fn finish(mut self, all: bool) -> Result<GeneralEigen> {
        let (solver, problem, n) = (self.solver, self.problem, self.problem.a.rows());
        let (mut offsets, mut vectors) = (Vec::<Complex64>::new(), Vec::<Complex64>::new());
        let ritz = RitzValues::of(&self.basis.h.block(0, self.locked.len()), solver.which, !T::COMPLEX)?;
        let largest = self.largest(&ritz);
        for k in 0..self.locked.len().min(self.target) {
            if k > 0 && ritz.pair[k - 1] {
                offsets.push(offsets[k - 1].conj());
                let conjugate: Vec<Complex64> = vectors[(k - 1) * n..].iter().map(Complex64::conj).collect();
                vectors.extend(conjugate);
                continue;
            }
            offsets.push(problem.offset(ritz.value(k, largest)));
            vectors.extend(self.basis.combination(&ritz.form.vector(ritz.order[k]))?);
        }
        let checked = verify(&solver, &problem, (&offsets, &vectors), false, self.basis.tools())?;
        let Verified { values, residuals, norms, orthogonality, sound } = checked;
        let ending = EigenEnding::of(all && offsets.len() >= self.target, sound);
        let (restarts, solves) = (self.restarts, self.basis.solves);
        let report =
            EigenReport { ending, wanted: solver.k, residuals, norms, orthogonality, restarts, solves, complete: None };
        Ok(GeneralEigen { values, offsets, vectors, report })
    }
}

/// What is kept of a space: a basis Q, and QᴴSQ. The first vectors span the space of found values, which are locked.
struct Restart {
    q: ProjectedMatrix,
    h: ProjectedMatrix,
    values: Vec<Complex64>,
}

impl RitzValues {
    fn of(s: &ProjectedMatrix, which: Which, real: bool) -> Result<Self> {
        let form = schur(s.clone())?;
        let values = form.values();
        let wanted = which.order(&values, real, 0);
        if !real {
            let pair = vec![false; wanted.len()];
            return Ok(Self { form, order: wanted, pair, real });
        }
        let (mut order, mut pair, mut left) = (Vec::new(), Vec::new(), wanted);
        while !left.is_empty() {
            let i = left.remove(0);
            // The conjugate is another value, unless the value is nearer to its own conjugate than any other.
            let distance = |j: usize| (values[j] - values[i].conj()).norm();
            let other = (0..left.len()).min_by(|a, b| distance(left[*a]).total_cmp(&distance(left[*b])));
            let other = other.filter(|other| distance(left[*other]) < distance(i));
            order.push(i);
            pair.push(other.is_some());
            if let Some(other) = other {
                order.push(left.remove(other));
                pair.push(false);
            }
        }
        Ok(Self { form, order, pair, real })
    }

    /// The value at a place of the order; one that is real up to rounding, of a real matrix, as a real number.
    fn value(&self, k: usize, largest: f64) -> Complex64 {
        let at = self.order[k];
        let value = self.form.t[(at, at)];
        let alone = self.real && !self.pair[k];
        if alone && value.im.abs() <= 1e3 * f64::EPSILON * largest { Complex64::from(value.re) } else { value }
    }

    /// |θ|, in the order.
    fn sizes(&self) -> impl Iterator<Item = f64> {
        self.order.iter().map(|at| self.form.t[(*at, *at)].norm())
    }

    /// Residuals of the Ritz vectors, in the order.
    fn residuals(&self, beta: f64) -> Vec<f64> {
        let m = self.form.t.rows();
        self.order.iter().map(|at| beta * self.form.vector(*at)[m - 1].norm()).collect()
    }

    /// What is kept where the first `found` values have converged. Of these are locked as many as have Schur vectors with a small residual,
    /// too: those of nearly defective values need not.
    fn restart<T: Scalar>(mut self, s: &ProjectedMatrix, found: usize, (beta, allowed): (f64, Allowed<'_>)) -> Restart {
        let m = s.rows();
        self.reorder();
        let small = |k: &usize| beta * self.form.u[(m - 1, *k)].norm() <= allowed(self.form.t[(*k, *k)].norm());
        let mut lock = (0..found.min(m - 1)).take_while(small).count();
        if lock > 0 && self.pair[lock - 1] {
            lock -= 1;
        }
        let mut keep = kept(m, found.min(m - 1));
        if self.pair[keep - 1] {
            keep = if keep + 1 < m { keep + 1 } else { (keep - 1).max(1) };
        }
        self.ordered_restart::<T>(s, lock.min(keep), keep)
    }

    /// The first `keep` vectors, of which the first `lock` are to be locked.
    fn restart_with<T: Scalar>(mut self, s: &ProjectedMatrix, lock: usize, keep: usize) -> Restart {
        self.reorder();
        self.ordered_restart::<T>(s, lock, keep)
    }

    /// Brings the Schur form into the order of what is wanted.
    fn reorder(&mut self) {
        self.form.reorder(&self.order);
        self.order = (0..self.order.len()).collect();
    }

    fn ordered_restart<T: Scalar>(&self, s: &ProjectedMatrix, lock: usize, keep: usize) -> Restart {
        let (m, t) = (s.rows(), &self.form.t);
        let values = (0..lock).map(|k| t[(k, k)]).collect();
        if T::COMPLEX || keep == 0 {
            return Restart { q: self.form.u.columns_at(0..keep), h: t.block(0, keep), values };
        }
        // Q spans an invariant space up to rounding, unless nearly equal values stand on both sides of the cut.
        let allowed = 100.0 * m as f64 * f64::EPSILON * s.norm();
        let mut best: Option<(f64, ProjectedMatrix, ProjectedMatrix)> = None;
        let most = if lock == keep { keep + 1 } else { m };
        for keep in keep..most {
            let q = real_basis(&self.form.u, lock, keep);
            let sq = s.times(&q);
            let h = q.adjoint().times(&sq);
            let error = difference(&sq, &q.times(&h));
            if best.as_ref().is_none_or(|(least, ..)| error < *least) {
                best = Some((error, q, h));
            }
            if error <= allowed {
                break;
            }
        }
        let (_, q, h) = best.expect("at least one part is kept");
        Restart { q, h, values }
    }
}

/// The residual that an eigenvalue of this modulus may have.
type Allowed<'a> = &'a dyn Fn(f64) -> f64;

/// ‖A − B‖_F.
fn difference(a: &ProjectedMatrix, b: &ProjectedMatrix) -> f64 {
    let columns = (0..a.columns()).flat_map(|j| a.column(j).iter().zip(b.column(j)));
    columns.map(|(a, b)| (a - b).norm_sqr()).sum::<f64>().sqrt()
}

/// A real orthonormal basis of the span of the first `count` columns of U, which holds the conjugates of all its vectors; its first
/// `lock` vectors are one of the span of as many columns.
///
/// U·Uᴴ is real, so the real and imaginary parts have the singular values 1 and 0: Gram–Schmidt with the largest first finds the span.
fn real_basis(u: &ProjectedMatrix, lock: usize, count: usize) -> ProjectedMatrix {
    let m = u.rows();
    let part = |j: usize| -> [Vec<f64>; 2] {
        let column = u.column(j);
        [column.iter().map(|u| u.re).collect(), column.iter().map(|u| u.im).collect()]
    };
    let mut parts: Vec<Vec<f64>> = (0..lock).flat_map(part).collect();
    let mut q = ProjectedMatrix::zeros(m, count);
    for k in 0..count {
        if k == lock {
            parts = (lock..count).flat_map(part).collect();
            (0..k).for_each(|j| parts.iter_mut().for_each(|v| subtract_projection(v, q.column(j))));
        }
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let largest = (0..parts.len()).max_by(|i, j| square(&parts[*i]).total_cmp(&square(&parts[*j])));
        let mut next = parts.swap_remove(largest.expect("twice as many parts as vectors"));
        // Once more against those before, so that it is orthogonal at rounding.
        (0..k).for_each(|j| subtract_projection(&mut next, q.column(j)));
        let norm = square(&next).sqrt();
        next.iter_mut().for_each(|v| *v /= norm);
        q.column_mut(k).iter_mut().zip(&next).for_each(|(q, v)| *q = Complex64::from(*v));
        parts.iter_mut().for_each(|v| subtract_projection(v, q.column(k)));
    }
    q
}

/// v ← v − q·qᵀ·v, of a real q.
fn subtract_projection(v: &mut [f64], q: &[Complex64]) {
    let dot: f64 = q.iter().zip(&*v).map(|(q, v)| q.re * v).sum();
    v.iter_mut().zip(q).for_each(|(v, q)| *v -= dot * q.re);
}
