//! Factors of one matrix under the accuracy contract: what every method promises stands here, once.
//!
//! A method says how op(A)·x = rhs is solved unchecked ([`Solver`]); here answers are measured, refined, solved again by the
//! sequential pivoted method where that is not enough, and reported.

use crate::contract::determinant::{Determinant, ScaledProduct};
use crate::contract::equations::{Equations, Matrix};
use crate::contract::inspect::{Probe, solved_roughly};
use crate::contract::measure::{RHS_TOGETHER, measure, measure_together, rcond_from_size, residual};
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::{
    ACCEPTED_AT_ONCE, Facts, Lazy, MAX_REFINEMENTS, Report, TOLERABLE, attention, buffer, check_finite, check_scratch,
    good, refinement_scratch,
};
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::{Error, Failures, Result, check_len};
use crate::matrix::Shape;
use crate::method::Method;
use bandsolve_kernel::scalar::{largest, peak};
use bandsolve_kernel::{RealScalar, Scalar};
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// A method's own factors of a matrix of type `A`: what one method implements. All else is in [`Factors`].
pub(crate) trait Solver<T: Scalar, A: Matrix<T>>: Debug + Send + Sync {
    /// Systems of fewer unknowns are solved by the sequential pivoted method.
    fn smallest(&self) -> usize {
        0
    }

    /// Makes what solves with A, or Aᵀ, need beside what was made with the factors.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn prepare(&self, _a: &A, _transposed: bool) -> Result<()> {
        Ok(())
    }

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, a: &A, n_rhs: usize) -> StackReq;

    /// Replaces right-hand sides, columns of length n, by solutions with A, or Aᵀ, unchecked.
    fn solve(&self, a: &A, transposed: bool, x: &mut [T], stack: &mut PodStack);

    /// Whether an exactly zero pivot was met: then solutions are not worth looking at. In which row, [`Facts`] may say.
    fn is_singular(&self, _transposed: bool) -> bool {
        false
    }

    /// det A, if the factors tell it as reliably as pivoted ones.
    fn product(&self, _a: &A) -> Option<ScaledProduct> {
        None
    }

    /// Other factors for solves with op(A), a transpose, where refinement and [`Fallback`] do not help: those of op(A) itself.
    fn factor_transposed(&self, _factors: &Factors<T, A>, _op: Op) -> Option<Result<Box<dyn Probe<T>>>> {
        None
    }

    /// Scratch of [`solve_all`](Self::solve_all).
    fn solve_scratch(&self, factors: &Factors<T, A>, n_rhs: usize) -> StackReq {
        let refinement = refinement_scratch::<T>(factors.facts.verify, factors.a.shape().n());
        self.scratch(&factors.a, n_rhs).or(refinement.and(self.scratch(&factors.a, 1)))
    }

    /// Solves all columns under the contract. Methods that measure while they write x have their own way.
    ///
    /// # Errors
    /// What concerns all columns; of single ones they go to [`Outcome::failures`].
    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        system: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        factors.solve_columns(op, system, outcome)
    }

    /// Whether [`solve_all`](Self::solve_all) looks for x that is so large that the matrix must be singular to working precision, as
    /// [`Factors::attention`] does.
    fn looks_at_size(&self) -> bool {
        false
    }

    /// A solver that skips zeros of sparse right-hand sides, if the method has one.
    fn sparse_solver<'a>(
        &'a self,
        _factors: &'a Factors<T, A>,
        _op: Op,
    ) -> Result<Option<Box<dyn SparseSolver<T> + 'a>>> {
        Ok(None)
    }
}

/// Right-hand sides and the place of the solutions.
pub(crate) type RhsAndSolution<'a, T> = (&'a [T], &'a mut [T]);

/// What becomes of a solve, and its memory.
pub(crate) struct Outcome<'a> {
    pub report: &'a mut Report,
    pub failures: &'a mut Failures,
    pub stack: &'a mut PodStack,
}

/// A method as a function: factors of a matrix, as decided.
pub(crate) type FactorBy<T, A> = fn(&Decision, Arc<A>) -> Result<Factors<T, A>>;

/// The sequential pivoted method for answers that stay above 8ε, factored when it is first asked.
#[derive(Debug)]
pub(crate) struct Fallback<T: Scalar, A: Matrix<T>> {
    decision: Decision,
    factor: FactorBy<T, A>,
    made: Lazy<Box<Factors<T, A>>>,
}

/// One matrix factored by one method.
#[derive(Debug)]
pub(crate) struct Factors<T: Scalar, A: Matrix<T>> {
    a: Arc<A>,
    facts: Facts,
    own: Box<dyn Solver<T, A>>,
    fallback: Option<Fallback<T, A>>,
}

impl<T: Scalar, A: Matrix<T>> Factors<T, A> {
    /// Of a method that answers for itself: what is measured above 64ε is an error.
    pub fn new(a: Arc<A>, facts: Facts, own: impl Solver<T, A> + 'static) -> Self {
        Self { a, facts, own: Box::new(own), fallback: None }
    }

    /// With other factors for answers that are not good: those that `factor` makes with scaled partial pivoting.
    pub fn or_else(self, decision: &Decision, factor: FactorBy<T, A>) -> Self {
        let fallback = Fallback { decision: decision.with_best_pivots(), factor, made: Lazy::new() };
        Self { fallback: Some(fallback), ..self }
    }

    /// The matrix.
    pub fn matrix(&self) -> &A {
        &self.a
    }

    /// What the plan said and the factorisation found.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether elimination met an exactly zero pivot.
    pub fn is_singular(&self, op: Op) -> bool {
        self.facts.singular.is_some() || self.own.is_singular(op != Op::Plain)
    }

    /// The sequential pivoted method; `None` if this is it.
    pub fn fallback(&self) -> Option<Result<&Self>> {
        let fallback = self.fallback.as_ref()?;
        let make = || (fallback.factor)(&fallback.decision, self.a.clone()).map(Box::new);
        Some(fallback.made.get(make).map(|made| &**made))
    }

    /// Replaces right-hand sides by solutions of op(A)·x = rhs, unchecked.
    pub fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        around_transpose(op, x, |x| self.own.solve(&self.a, op != Op::Plain, x, stack));
    }

    /// Solves all columns together and measures them afterwards: η of each, refined while η > 8ε. What is still above is solved
    /// again by the [`fallback`](Self::fallback); if there is none, η ≤ 64ε is accepted.
    ///
    /// # Cost
    /// Beside the solve one pass over the matrix, rhs and x to measure η; a refinement step is two passes and a solve.
    fn solve_columns(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>, outcome: &mut Outcome<'_>) -> Result<()> {
        x.copy_from_slice(rhs);
        self.solve_unchecked(op, x, outcome.stack);
        if !self.facts.verify {
            return if self.is_singular(op) { self.solve_again(op, (rhs, x), outcome.report) } else { Ok(()) };
        }
        let (n, equations) = (self.a.shape().n().max(1), self.a.equations(op, self.facts.simd));
        let together = !equations.prefers_precise() && !self.is_singular(op);
        let groups = rhs.chunks(RHS_TOGETHER * n).zip(x.chunks_mut(RHS_TOGETHER * n));
        for (g, (rhs, x)) in groups.enumerate() {
            // Many columns are measured while a part of the matrix is in cache; most need nothing more.
            let several = together && x.len() > n;
            let measured = several.then(|| measure_together(&equations, n, (rhs, x), self.facts.parallel));
            for (k, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
                let accepted = measured.map(|etas| etas[k]).filter(|eta| *eta <= ACCEPTED_AT_ONCE * good::<T>());
                let column = g * RHS_TOGETHER + k;
                let settled = match accepted {
                    Some(eta) => Ok(eta),
                    None => self.settle(op, (rhs, column * n), x, (outcome.report, outcome.stack)),
                };
                outcome.take(column, settled);
            }
        }
        Ok(())
    }

    /// Solves columns again without verification, by the fallback, which says whether the matrix is singular.
    pub fn solve_again(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>, report: &mut Report) -> Result<()> {
        match (self.fallback(), self.facts.singular) {
            (Some(spare), _) => {
                report.fallback = true;
                solve_by(spare?, op, rhs, x).map(|_| ())
            }
            (None, Some(row)) => Err(Error::Singular { row }),
            (None, None) => Ok(()),
        }
    }

    /// Solves one column, which begins at `offset` of the caller's array, by the method `spare`; returns its backward error.
    fn solve_column_by(
        spare: &dyn Probe<T>,
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        report: &mut Report,
    ) -> Result<f64> {
        report.fallback = true;
        let found = solve_by(spare, op, rhs, x).map_err(|error| match error {
            Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + offset },
            other => other,
        })?;
        report.refinement_steps = report.refinement_steps.max(found.refinement_steps);
        Ok(found.backward_error)
    }

    /// Solves one column by the fallback of a method that has one.
    pub fn fall_back(&self, op: Op, rhs: (&[T], usize), x: &mut [T], report: &mut Report) -> Result<f64> {
        Self::solve_column_by(self.fallback().expect("a method beside the pivoted one")?, op, rhs, x, report)
    }

    /// Improves one column, which begins at `offset` of the caller's array, until it may be handed out; returns its η.
    pub fn settle(
        &self,
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        (report, stack): (&mut Report, &mut PodStack),
    ) -> Result<f64> {
        let singular = self.is_singular(op);
        let mut found = (f64::NAN, 0);
        if !singular || self.fallback.is_none() {
            found = self.refine(op, rhs, x, stack);
            report.refinement_steps = report.refinement_steps.max(found.1);
        }
        if !singular && found.0 <= good::<T>() {
            return Ok(found.0);
        }
        // Only now, since it may have to be made.
        if self.fallback.is_some() {
            return self.fall_back(op, (rhs, offset), x, report);
        }
        match self.diagnose(found, rhs, offset) {
            Err(error @ Error::NotConverged { .. }) => match self.own.factor_transposed(self, op) {
                Some(other) => Self::solve_column_by(&*other?, Op::Plain, (rhs, offset), x, report),
                None => Err(error),
            },
            found_out => found_out.map(|()| found.0),
        }
    }

    /// `Ok` if an answer with backward error η may be handed out, else why not.
    fn diagnose(&self, (backward_error, refinement_steps): (f64, usize), rhs: &[T], offset: usize) -> Result<()> {
        let singular = self.facts.singular;
        if singular.is_none() && backward_error <= TOLERABLE * T::Real::EPSILON.to_f64() {
            return Ok(());
        }
        self.a.check_finite()?;
        check_finite("rhs", rhs, offset)?;
        Err(singular.map_or(Error::NotConverged { backward_error, refinement_steps }, |row| Error::Singular { row }))
    }

    /// Measures x and improves it while η > 8ε; returns the final η and the number of steps.
    ///
    /// The residual is formed in twice the working precision, so that a step brings η down to a few ε whenever the
    /// factors are good to a digit or two.
    fn refine(&self, op: Op, d: &[T], x: &mut [T], stack: &mut PodStack) -> (f64, usize) {
        let (good, equations, parallel) = (good::<T>(), self.a.equations(op, self.facts.simd), self.facts.parallel);
        let precise = equations.prefers_precise();
        let mut best = if precise { f64::INFINITY } else { measure(&equations, d, x, parallel) };
        if best <= ACCEPTED_AT_ONCE * good {
            return (best, 0);
        }
        let (r, stack) = stack.make_raw::<T>(x.len());
        let (spare, stack) = stack.make_raw::<T>(x.len());
        best = residual(&equations, (d, x), r, parallel);
        let mut steps = 0;
        while best > good && steps < MAX_REFINEMENTS {
            self.solve_unchecked(op, r, stack);
            spare.copy_from_slice(x);
            x.iter_mut().zip(&*r).for_each(|(x, dx)| *x += *dx);
            steps += 1;
            let eta = residual(&equations, (d, x), r, parallel);
            if eta.is_nan() || eta >= best {
                x.copy_from_slice(spare);
                break;
            }
            best = eta;
        }
        (best, steps)
    }

    /// What is to be said of x, columns whose moduli are `at_most` (infinite: not known), where one of them is so large that the matrix
    /// must be singular to working precision ([`rcond_from_size`]).
    ///
    /// # Cost
    /// A pass over x, unless `at_most` is known; the rows up to the first that shows that x is not so large, mostly one.
    pub fn attention(&self, op: Op, (rhs, x): (&[T], &[T]), (eta, at_most): (f64, f64)) -> Option<Arc<str>> {
        let (n, equations) = (self.a.shape().n().max(1), self.a.equations(op, self.facts.simd));
        let size = |v: T| Scalar::abs(v).to_f64();
        let of_column = |(rhs, x): (&[T], &[T])| {
            let ratio = |i: usize| {
                let mut sum = 0.0;
                if rhs[i] != T::ZERO {
                    equations.visit_row(i, &mut |_, a| sum += size(a));
                }
                if rhs[i] == T::ZERO { 0.0 } else { size(rhs[i]) / sum }
            };
            rcond_from_size::<T>(n, ratio, (at_most, || largest(x, |_, x| peak(x)).to_f64()))
        };
        let rcond = rhs.chunks_exact(n).zip(x.chunks_exact(n)).find_map(of_column)?;
        attention(T::Real::EPSILON.to_f64(), Some(rcond), eta, None).map(Arc::from)
    }

    /// Solves a system that is too small for the method.
    fn solve_tiny(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>) -> Result<Report> {
        let found = solve_by(self.fallback().expect("a method beside the pivoted one")?, op, rhs, x)?;
        let fallback = found.backward_error > good::<T>();
        Ok(Report { method: self.facts.method, reason: self.facts.reason.clone(), fallback, ..found })
    }
}

impl Outcome<'_> {
    /// Notes η of a column, or why it was not solved.
    pub fn take(&mut self, column: usize, settled: Result<f64>) {
        match settled {
            Ok(eta) => self.report.push(eta),
            Err(error) => self.failures.note(column, error),
        }
    }
}

/// Solves columns by other factors, in memory of its own.
fn solve_by<T: Scalar>(spare: &dyn Probe<T>, op: Op, rhs: &[T], x: &mut [T]) -> Result<Report> {
    let mut memory = buffer(spare.solve_scratch(spare.shape().n_rhs("rhs", rhs.len())?))?;
    spare.solve_into_with(op, rhs, x, PodStack::new(&mut memory))
}

/// Runs a solve with A or Aᵀ for `op`: Aᴴ·x = rhs is Aᵀ·conj(x) = conj(rhs).
fn around_transpose<T: Scalar>(op: Op, x: &mut [T], solve: impl FnOnce(&mut [T])) {
    let conj = T::COMPLEX && op == Op::ConjTranspose;
    if conj {
        x.iter_mut().for_each(|v| *v = Scalar::conj(*v));
    }
    solve(x);
    if conj {
        x.iter_mut().for_each(|v| *v = Scalar::conj(*v));
    }
}

impl<T: Scalar, A: Matrix<T>> Factor<T> for Factors<T, A> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        self.own.solve_scratch(self, n_rhs)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        check_scratch(self.solve_scratch(n_rhs), stack)?;
        if self.shape().n() < self.own.smallest() {
            return self.solve_tiny(op, (rhs, x));
        }
        self.own.prepare(&self.a, op != Op::Plain)?;
        let (mut report, mut failures) = (Report::of(&self.facts).with_room(n_rhs)?, Failures::default());
        let mut outcome = Outcome { report: &mut report, failures: &mut failures, stack };
        self.own.solve_all(self, op, (rhs, x), &mut outcome)?;
        if !self.own.looks_at_size() || (report.fallback && !self.facts.verify) {
            report.attention = self.attention(op, (rhs, x), (report.backward_error, f64::INFINITY));
        }
        failures.unless(report, n_rhs)
    }
}

impl<T: Scalar, A: Matrix<T>> Probe<T> for Factors<T, A> {
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T)) {
        self.a.equations(op, self.facts.simd).visit_row(i, visit);
    }

    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }

    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()> {
        let pivoted = self.facts.method == Method::Pivoted;
        match self.facts.singular {
            Some(row) if pivoted && self.fallback.is_none() => Err(Error::Singular { row }),
            None if pivoted => {
                self.solve_unchecked(op, x, stack);
                Ok(())
            }
            _ => solved_roughly(self.solve_in_place_with(op, x, stack)),
        }
    }

    fn known_determinant(&self) -> Result<Determinant<T>> {
        self.a.check_finite()?;
        // Without the best pivots a zero proves nothing.
        let unproven = self.facts.singular.filter(|_| !self.facts.exchanges);
        let known = match (self.facts.singular, unproven) {
            (_, Some(_)) => None,
            (Some(_), None) if self.facts.method == Method::Pivoted => Some(ScaledProduct::ZERO),
            _ => self.own.product(&self.a),
        };
        if let Some(product) = known.filter(|product| product.is_finite()) {
            return Ok(product.determinant());
        }
        match (self.fallback(), unproven) {
            (Some(spare), _) => spare?.known_determinant(),
            (None, Some(row)) => Err(Error::Singular { row }),
            (None, None) => Err(Error::NotConverged { backward_error: f64::NAN, refinement_steps: 0 }),
        }
    }

    fn scales_rows(&self) -> bool {
        self.facts.scaled
    }

    fn sequential(&self) -> Option<Result<&dyn Probe<T>>> {
        Some(self.fallback()?.map(|spare| spare as &dyn Probe<T>))
    }

    fn sparse_solver(&self, op: Op) -> Result<Option<Box<dyn SparseSolver<T> + '_>>> {
        self.own.sparse_solver(self, op)
    }
}
