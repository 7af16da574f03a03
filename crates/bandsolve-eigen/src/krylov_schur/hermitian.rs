//! Hermitian problems: thick-restart Lanczos, found vectors locked, completeness proved by counts.

use super::basis::KrylovBasis;
use super::verify::{Verified, verify};
use super::{Search, capacity, converged, kept};
use crate::problem::{EigenProblem, Which};
use crate::projected::{ProjectedMatrix, hermitian_eigen};
use crate::report::{EigenEnding, EigenReport, HermitianEigen};
use crate::solver::{EigenSolver, EigenvaluesBelow};
use bandsolve::vectors::Reducer;
use bandsolve::{Complex64, Result, Scalar};

/// The search: `locked` eigenvalues of the operator, whose vectors are the first of the basis.
struct HermitianSearch<'a, 's, T: Scalar> {
    solver: EigenSolver<'a, T>,
    problem: EigenProblem<'a, T>,
    basis: KrylovBasis<'a, 's, T>,
    locked: Vec<f64>,
    /// Rows on all processes.
    total: usize,
    capacity: usize,
    restarts: usize,
}

/// Finds eigenvalues of a Hermitian problem.
pub(super) fn find<T: Scalar>((solver, problem): Search<'_, T>) -> Result<HermitianEigen<T>> {
    let total = super::verify::check(&solver, &problem)?;
    let capacity = capacity(&solver, total);
    // As many sums as vectors there may ever be.
    let most = total.min(8 * capacity + 64) + 2;
    let mut memory = super::verify::SearchMemory::new(&solver, &problem, most)?;
    let (reducer, stack) = Reducer::new(solver.communicator, problem.a.rows(), most, memory.stack());
    let weighted = problem.b.is_some();
    let basis = KrylovBasis::new(problem, weighted, (total, capacity), solver.seed, (reducer, stack))?;
    let mut search = HermitianSearch { solver, problem, basis, locked: Vec::new(), total, capacity, restarts: 0 };
    search.basis.begin(0, solver.start)?;
    let mut all = search.run(solver.k)?;
    let mut complete = None;
    if let (Some(below), true) = (solver.count, all) {
        complete = search.complete(below, most - 2)?;
        all = search.locked.len() >= solver.k.min(total);
    }
    search.finish(all, complete)
}

impl<T: Scalar> HermitianSearch<'_, '_, T> {
    /// Lets the space grow and restarts it until `target` pairs are locked; whether they are, or there are no more.
    fn run(&mut self, target: usize) -> Result<bool> {
        let mut from = self.locked.len();
        while self.locked.len() < target {
            self.basis.expand(from, self.capacity)?;
            let (l, m) = (self.locked.len(), self.basis.filled);
            let (theta, u) = hermitian_eigen(hermitian_part(&self.basis.h.block(l, m)))?;
            let values: Vec<Complex64> = theta.iter().map(|theta| Complex64::from(*theta)).collect();
            let order = self.solver.which.order(&values, true, l);
            let active = m - l;
            let residual = |i: usize| self.basis.beta * u[(active - 1, i)].norm();
            let largest = theta.iter().chain(&self.locked).map(|theta| theta.abs()).fold(0.0, f64::max);
            let pairs = order.iter().map(|i| (theta[*i].abs(), residual(*i)));
            let found = if active > 0 { converged(&self.solver, pairs, largest) } else { 0 };
            let ended = l + found >= target || self.basis.exhausted || self.restarts >= self.solver.max_restarts;
            let keep = if ended { found } else { kept(active, found) };
            let q = u.columns_at(order[..keep].iter().copied());
            let beta = self.basis.beta;
            self.basis.compress(l, &q)?;
            self.locked.extend(order[..found].iter().map(|i| theta[*i]));
            if ended {
                break;
            }
            // OP·(V·u) = θ·V·u + β·u_last·v: coefficients of v are a row of H, those of found vectors are dropped.
            for (k, i) in order[..keep].iter().enumerate().skip(found) {
                self.basis.h[(l + k, l + k)] = values[*i];
                self.basis.h[(l + keep, l + k)] = beta * q[(active - 1, k)];
            }
            self.restarts += 1;
            from = l + keep;
        }
        Ok(self.locked.len() >= target || self.basis.exhausted)
    }

    /// Looks for what is missing until the counts agree; whether they do. `None` where counts say nothing of what is wanted.
    fn complete(&mut self, below: EigenvaluesBelow<'_>, most: usize) -> Result<Option<bool>> {
        for attempt in 0..8 {
            let Some((missing, proved)) = self.missing(below)? else { return Ok(None) };
            if proved || self.basis.exhausted {
                return Ok(Some(proved));
            }
            let target = self.locked.len() + missing.max(1);
            self.capacity = self.capacity.max((target + self.capacity / 2).min(most));
            if target + 2 > self.capacity && self.capacity < most.min(target + 2) || attempt == 7 {
                break;
            }
            let l = self.locked.len();
            self.basis.grow(self.capacity)?;
            self.basis.filled = l;
            self.basis.draw(l)?;
            self.run(target)?;
        }
        Ok(Some(false))
    }

    /// How many eigenvalues are wanted more than the last one that is, and have not been found; and whether there is none.
    fn missing(&self, below: EigenvaluesBelow<'_>) -> Result<Option<(usize, bool)>> {
        let mut missing = 0;
        // Not at the eigenvalue itself; a second place, should an eigenvalue be at the first.
        for margin in [1e-8, 1e-6] {
            let Some((there, found)) = self.counted(below, margin)? else { return Ok(None) };
            if there <= found {
                return Ok(Some((0, there == found)));
            }
            missing = there - found;
        }
        Ok(Some((missing, false)))
    }

    /// How many eigenvalues are wanted more than the last one that is, by more than a margin: there are, and were found.
    fn counted(&self, below: EigenvaluesBelow<'_>, margin: f64) -> Result<Option<(usize, usize)>> {
        let offsets = self.offsets();
        let wanted = &offsets[..offsets.len().min(self.solver.k)];
        let Some(last) = wanted.last().copied() else { return Ok(Some((0, 0))) };
        let sigma = self.problem.shift().map_or(0.0, |sigma| bandsolve::vectors::widen(sigma).re);
        let largest = offsets.iter().fold(0.0_f64, |largest, offset| largest.max(offset.abs()));
        // (Of a matrix that is zero no distance is rounding.)
        let rounding = (16.0 * f64::EPSILON * (sigma.abs() + largest)).max(f64::MIN_POSITIVE);
        let found = |inside: &dyn Fn(f64) -> bool| offsets.iter().filter(|offset| inside(**offset)).count();
        let within =
            |radius: f64| -> Result<usize> { Ok(below(sigma + radius)?.saturating_sub(below(sigma - radius)?)) };
        Ok(match (self.solver.which, self.problem.shift()) {
            (_, Some(_)) if !self.problem.is_shifted() => None,
            (Which::LargestMagnitude, Some(_)) | (Which::SmallestMagnitude, None) => {
                let radius = last.abs() - (margin * last.abs()).max(rounding);
                let there = if radius > 0.0 { within(radius)? } else { 0 };
                Some((there, found(&|offset| offset.abs() < radius)))
            }
            (Which::LargestMagnitude, None) => {
                let radius = last.abs() + (margin * largest).max(rounding);
                Some((self.total.saturating_sub(within(radius)?), found(&|value| value.abs() > radius)))
            }
            (Which::LargestReal, None) => {
                let edge = last + (margin * largest).max(rounding);
                Some((self.total.saturating_sub(below(edge)?), found(&|value| value > edge)))
            }
            (Which::SmallestReal, None) => {
                let edge = last - (margin * largest).max(rounding);
                Some((below(edge)?, found(&|value| value < edge)))
            }
            _ => None,
        })
    }

    /// λ − σ of all that is locked, those wanted most first.
    fn offsets(&self) -> Vec<f64> {
        self.order().iter().map(|k| self.problem.offset(Complex64::from(self.locked[*k])).re).collect()
    }

    fn order(&self) -> Vec<usize> {
        let values: Vec<Complex64> = self.locked.iter().map(|theta| Complex64::from(*theta)).collect();
        self.solver.which.order(&values, true, 0)
    }

    fn finish(mut self, all: bool, complete: Option<bool>) -> Result<HermitianEigen<T>> {
        let order = self.order();
        let chosen = &order[..order.len().min(self.solver.k)];
        let offsets: Vec<Complex64> =
            chosen.iter().map(|k| self.problem.offset(Complex64::from(self.locked[*k]))).collect();
        let mut vectors = Vec::with_capacity(chosen.len() * self.problem.a.rows());
        chosen.iter().for_each(|k| vectors.extend_from_slice(self.basis.vector(*k)));
        let wide: Vec<Complex64> = vectors.iter().map(|x| bandsolve::vectors::widen(*x)).collect();
        let solver = self.solver;
        let checked = verify(&solver, &self.problem, (&offsets, &wide), true, self.basis.tools())?;
        let Verified { values, residuals, norms, orthogonality, sound } = checked;
        let ending = EigenEnding::of(all, sound);
        let report = EigenReport {
            ending,
            wanted: solver.k,
            residuals,
            norms,
            orthogonality,
            restarts: self.restarts,
            solves: self.basis.solves,
            complete,
        };
        let values = values.iter().map(|value| value.re).collect();
        let offsets = offsets.iter().map(|offset| offset.re).collect();
        Ok(HermitianEigen { values, offsets, vectors, report })
    }
}

/// (H + Hᴴ)/2.
fn hermitian_part(h: &ProjectedMatrix) -> ProjectedMatrix {
    let mut part = h.clone();
    for j in 0..h.columns() {
        for i in 0..=j {
            // Rows of a restart stand below the diagonal alone until the column is formed: both halves are there.
            let mean = (h[(i, j)] + h[(j, i)].conj()) * 0.5;
            (part[(i, j)], part[(j, i)]) = (mean, mean.conj());
        }
    }
    part
}
