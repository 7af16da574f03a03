//! Factors of one matrix under the accuracy contract, which all methods share.
//!
//! A method solves op(A)·x = rhs unchecked ([`Solver`]). [`Factors`] measures x, refines it, falls back to the sequential pivoted method
//! if refinement does not suffice, and writes the report.

use crate::contract::Factor;
use crate::contract::determinant::{Determinant, ScaledProduct};
use crate::contract::equations::{Equations, Matrix};
use crate::contract::measure::{measure, measure_together, rcond_from_size, residual};
use crate::contract::op::Op;
use crate::contract::probe::{Probe, solved_roughly};
use crate::contract::refine::{RefinedColumns, RefinedSystem, StoppingRule, accepted_at_once, good, refine, tolerable};
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::{Facts, Lazy, Report, attention, check_finite, check_scratch, refinement_scratch};
use crate::decision::Decision;
use crate::error::{Error, Failures, Result, check_len};
use crate::matrix::Shape;
use crate::memory::buffer;
use crate::method::Method;
use crate::tuning::RHS_TOGETHER;
use bandsolve_kernel::row_errors::Peak;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::{RealScalar, Scalar};
use core::convert::Infallible;
use core::fmt::Debug;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// The factors of one method for matrices of type `A`.
pub(crate) trait Solver<T: Scalar, A: Matrix<T>>: Debug + Send + Sync {
    /// Smallest number of unknowns for this method. Smaller systems are solved by the sequential pivoted method.
    fn smallest(&self) -> usize {
        0
    }

    /// Compute what solves with A or Aᵀ need and the factorisation did not compute.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn prepare(&self, _a: &A, _transposed: bool) -> Result<()> {
        Ok(())
    }

    /// The first row without a pivot, if [`prepare`](Self::prepare) finds it. Otherwise [`Facts`] may name it.
    fn singular_row(&self) -> Option<usize> {
        None
    }

    /// Scratch of [`solve`](Self::solve).
    fn scratch(&self, a: &A, n_rhs: usize) -> StackReq;

    /// Replace right-hand sides, columns of length n, by unchecked solutions with A or Aᵀ.
    fn solve(&self, a: &A, transposed: bool, x: &mut [T], stack: &mut PodStack);

    /// Whether a pivot was exactly zero, so that solutions are useless. [`Facts`] may name the row.
    fn is_singular(&self, _transposed: bool) -> bool {
        false
    }

    /// Return det A if the factors give it as reliably as pivoted ones.
    fn product(&self, _a: &A) -> Option<ScaledProduct> {
        None
    }

    /// Factors of Aᵀ itself, or of Aᴴ if `conj`. They are used if refinement fails, or if A is singular only because its rows are uneven, and there is
    /// no [`Fallback`].
    fn factor_transposed(&self, _factors: &Factors<T, A>, _conj: bool) -> Option<Result<Box<dyn Probe<T>>>> {
        None
    }

    /// Scratch of [`solve_all`](Self::solve_all).
    fn solve_scratch(&self, factors: &Factors<T, A>, n_rhs: usize) -> StackReq {
        let refinement = refinement_scratch::<T>(factors.facts.verify, factors.a.shape().n());
        self.scratch(&factors.a, n_rhs).or(refinement.and(self.scratch(&factors.a, 1)))
    }

    /// Solve all columns under the contract. Methods that measure η while they write x override this function.
    ///
    /// # Errors
    /// Errors of the whole solve. Errors of single columns go to [`Outcome::failures`].
    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        system: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        factors.solve_columns(op, system, outcome)
    }

    /// Whether [`solve_all`](Self::solve_all) itself checks for an x so large that the matrix must be singular to working precision, like
    /// [`Factors::attention`].
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

/// The arrays of right-hand sides and solutions.
pub(crate) type RhsAndSolution<'a, T> = (&'a [T], &'a mut [T]);

/// The report and the errors that a solve writes, and its scratch memory.
pub(crate) struct Outcome<'a> {
    pub report: &'a mut Report,
    pub failures: &'a mut Failures,
    pub stack: &'a mut PodStack,
    /// An upper bound of ‖x‖∞ for all columns, infinite if none is known.
    pub at_most: f64,
}

/// A way to solve for many right-hand sides that does not depend on the method. It lies above this layer, like the methods.
pub(crate) trait ManyRhs<T: Scalar, A: Matrix<T>>: Debug + Send + Sync {
    /// Scratch besides that of a single right-hand side. `None` if so few are solved by the method.
    fn scratch(&self, n_rhs: usize) -> Option<StackReq>;

    /// Solve all columns under the contract. Returns `false`, without an effect, if the method must solve them.
    ///
    /// # Errors
    /// As for [`Solver::solve_all`].
    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        system: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<bool>;
}

/// A function that factors a matrix by one method.
pub(crate) type FactorBy<T, A> = fn(&Decision, Arc<A>) -> Result<Factors<T, A>>;

/// The sequential pivoted method, for x whose backward error stays above 8ε. It factors the matrix when it is first needed.
#[derive(Debug)]
pub(crate) struct Fallback<T: Scalar, A: Matrix<T>> {
    decision: Decision,
    factor: FactorBy<T, A>,
    factors: Lazy<Box<Factors<T, A>>>,
}

/// One matrix factored by one method.
#[derive(Debug)]
pub(crate) struct Factors<T: Scalar, A: Matrix<T>> {
    a: Arc<A>,
    facts: Facts,
    solver: Box<dyn Solver<T, A>>,
    fallback: Option<Fallback<T, A>>,
    many_rhs: Option<Box<dyn ManyRhs<T, A>>>,
}

impl<T: Scalar, A: Matrix<T>> Factors<T, A> {
    /// Factors without a fallback: a backward error above 64ε is an error.
    pub fn new(a: Arc<A>, facts: Facts, solver: impl Solver<T, A> + 'static) -> Self {
        Self { a, facts, solver: Box::new(solver), fallback: None, many_rhs: None }
    }

    /// Add a fallback: the factors that `factor` computes with scaled partial pivoting.
    pub fn or_else(self, decision: &Decision, factor: FactorBy<T, A>) -> Self {
        let fallback = Fallback { decision: decision.with_best_pivots(), factor, factors: Lazy::new() };
        Self { fallback: Some(fallback), ..self }
    }

    /// Add a way to solve for many right-hand sides, if the method has none of its own.
    pub fn for_many_rhs<S: ManyRhs<T, A> + 'static>(mut self, solver: impl FnOnce() -> Option<Box<S>>) -> Self {
        self.many_rhs = self.many_rhs.or_else(|| Some(solver()? as Box<dyn ManyRhs<T, A>>));
        self
    }

    /// The matrix.
    pub fn matrix(&self) -> &A {
        &self.a
    }

    /// The facts of the plan and of the factorisation.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The first row without a pivot, as far as it is known.
    fn singular_row(&self) -> Option<usize> {
        self.facts.singular.or_else(|| self.solver.singular_row())
    }

    /// Whether a pivot was exactly zero. The matrix is factored first if it has not been needed yet.
    pub fn proves_singular(&self, op: Op) -> Result<bool> {
        self.solver.prepare(&self.a, op != Op::Plain)?;
        Ok(self.is_singular(op))
    }

    /// Whether a pivot was exactly zero, as far as it is known.
    fn is_singular(&self, op: Op) -> bool {
        self.singular_row().is_some() || self.solver.is_singular(op != Op::Plain)
    }

    /// The sequential pivoted method; `None` if `self` is this method.
    pub fn fallback(&self) -> Option<Result<&Self>> {
        let fallback = self.fallback.as_ref()?;
        let factor = || (fallback.factor)(&fallback.decision, self.a.clone()).map(Box::new);
        Some(fallback.factors.get(factor).map(|factors| &**factors))
    }

    /// Replace right-hand sides by unchecked solutions of op(A)·x = rhs.
    pub fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack) {
        around_transpose(op, x, |x| self.solver.solve(&self.a, op != Op::Plain, x, stack));
    }

    /// Solve all columns together, then measure η of each column and refine while η > 8ε.
    ///
    /// Columns with a larger η are solved again by the [`fallback`](Self::fallback). If there is none, η ≤ 64ε is accepted.
    ///
    /// # Cost
    /// The solve, and one pass over the matrix, rhs and x to measure η. A refinement step costs two passes and a solve.
    pub fn solve_columns(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>, outcome: &mut Outcome<'_>) -> Result<()> {
        self.solver.prepare(&self.a, op != Op::Plain)?;
        x.copy_from_slice(rhs);
        self.solve_unchecked(op, x, outcome.stack);
        if !self.facts.verify {
            return if self.is_singular(op) { self.solve_again(op, (rhs, x), outcome.report) } else { Ok(()) };
        }
        let (n, equations) = (self.a.shape().n().max(1), self.a.equations(op, self.facts.simd));
        let measure_groups = !equations.prefers_precise() && !self.is_singular(op);
        let groups = rhs.chunks(RHS_TOGETHER * n).zip(x.chunks_mut(RHS_TOGETHER * n));
        for (g, (rhs, x)) in groups.enumerate() {
            // Several columns are measured while a part of the matrix is in cache. Most of them need no refinement.
            let several = measure_groups && x.len() > n;
            let measured = several.then(|| measure_together(&equations, n, (rhs, x), self.facts.parallel));
            for (k, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
                let accepted = measured.map(|etas| etas[k]).filter(|eta| *eta <= accepted_at_once::<T>());
                let column = g * RHS_TOGETHER + k;
                let result = match accepted {
                    Some(eta) => Ok(eta),
                    None => self.refine_or_fall_back(op, (rhs, column * n), x, (outcome.report, outcome.stack)),
                };
                outcome.record(column, result);
            }
        }
        Ok(())
    }

    /// Solve columns again by the fallback, without verification. The fallback shows whether the matrix is singular.
    pub fn solve_again(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>, report: &mut Report) -> Result<()> {
        match (self.fallback(), self.singular_row()) {
            (Some(spare), _) => {
                report.fallback = true;
                solve_by(spare?, op, rhs, x).map(|_| ())
            }
            (None, Some(row)) => Err(Error::Singular { row }),
            (None, None) => Ok(()),
        }
    }

    /// Solve one column, which begins at `offset` of the caller's array, by the method `spare`. Returns its backward error.
    fn solve_column_by(
        spare: &dyn Probe<T>,
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        report: &mut Report,
    ) -> Result<f64> {
        report.fallback = true;
        let solved = solve_by(spare, op, rhs, x).map_err(|error| match error {
            Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + offset },
            other => other,
        })?;
        report.refinement_steps = report.refinement_steps.max(solved.refinement_steps);
        Ok(solved.backward_error)
    }

    /// Solve one column by the fallback, which must exist.
    pub fn fall_back(&self, op: Op, rhs: (&[T], usize), x: &mut [T], report: &mut Report) -> Result<f64> {
        Self::solve_column_by(self.fallback().expect("a method beside the pivoted one")?, op, rhs, x, report)
    }

    /// Refine one column, which begins at `offset` of the caller's array, or solve it again, until it satisfies the contract. Returns η.
    pub fn refine_or_fall_back(
        &self,
        op: Op,
        (rhs, offset): (&[T], usize),
        x: &mut [T],
        (report, stack): (&mut Report, &mut PodStack),
    ) -> Result<f64> {
        let singular = self.is_singular(op);
        let (mut eta, mut steps) = (f64::NAN, 0);
        if !singular || self.fallback.is_none() {
            (eta, steps) = self.refine(op, rhs, x, stack);
            report.refinement_steps = report.refinement_steps.max(steps);
        }
        if !singular && eta <= good::<T>() {
            return Ok(eta);
        }
        // The fallback comes last, because it may have to factor the matrix first.
        if self.fallback.is_some() {
            return self.fall_back(op, (rhs, offset), x, report);
        }
        match self.diagnose((eta, steps), rhs, offset) {
            Err(error @ (Error::NotConverged { .. } | Error::Singular { .. })) => {
                if op == Op::Plain || singular && !self.has_uneven_row() {
                    return Err(error);
                }
                let other = self.solver.factor_transposed(self, op == Op::ConjTranspose);
                let Some(other) = other else { return Err(error) };
                let solved = Self::solve_column_by(&*other?, Op::Plain, (rhs, offset), x, report);
                solved.map_err(|second| if singular { error } else { second })
            }
            verdict => verdict.map(|()| eta),
        }
    }

    /// Whether a row has entries of so different size that elimination can lose the small ones, although they matter for Aᵀ.
    fn has_uneven_row(&self) -> bool {
        let equations = self.a.equations(Op::Plain, self.facts.simd);
        (0..self.a.shape().n()).any(|i| {
            let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
            equations.visit_row(i, &mut |_, a: T| {
                let size: f64 = peak(a).to_f64();
                if size > 0.0 {
                    (least, largest) = (least.min(size), largest.max(size));
                }
            });
            least < T::Real::EPSILON.to_f64() * largest
        })
    }

    /// `Ok` if x with this backward error satisfies the contract, otherwise the error to return.
    fn diagnose(&self, (backward_error, refinement_steps): (f64, usize), rhs: &[T], offset: usize) -> Result<()> {
        let singular = self.singular_row();
        if singular.is_none() && backward_error <= tolerable::<T>() {
            return Ok(());
        }
        self.a.check_finite()?;
        check_finite("rhs", rhs, offset)?;
        Err(singular.map_or(Error::NotConverged { backward_error, refinement_steps }, |row| Error::Singular { row }))
    }

    /// Measure x and refine it while η > 8ε. Returns the final η and the number of steps.
    ///
    /// The residual is computed in twice the working precision. A step therefore reduces η to a few ε if the factors have one or two
    /// correct digits.
    fn refine(&self, op: Op, d: &[T], x: &mut [T], stack: &mut PodStack) -> (f64, usize) {
        let (equations, parallel) = (self.a.equations(op, self.facts.simd), self.facts.parallel);
        if !equations.prefers_precise() {
            let eta = measure(&equations, d, x, parallel);
            if eta <= accepted_at_once::<T>() {
                return (eta, 0);
            }
        }
        let (r, stack) = stack.make_raw::<T>(x.len());
        let (before, stack) = stack.make_raw::<T>(x.len());
        let solve = |r: &mut [T]| {
            self.solve_unchecked(op, r, stack);
            Ok::<_, Infallible>(())
        };
        let measure = |x: &[T], r: &mut [T], systems: &mut [RefinedSystem]| {
            systems[0].error = residual(&equations, (d, x), r, parallel);
        };
        let (mut system, before) = ([RefinedSystem::open()], Some(before));
        let Ok(steps) =
            refine(&StoppingRule::contract::<T>(), &mut system, &mut RefinedColumns { x, r, before, solve, measure });
        (system[0].error, steps)
    }

    /// A warning if a column of x is so large that the matrix must be singular to working precision ([`rcond_from_size`]).
    ///
    /// `at_most` is a bound of ‖x‖∞, infinite if none is known.
    ///
    /// # Cost
    /// A pass over x unless `at_most` is known, and the rows up to the first that shows that x is not too large, mostly one row.
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
            rcond_from_size::<T>(n, ratio, (at_most, || Peak { values: x }.run_on(self.facts.simd).to_f64()))
        };
        let rcond = rhs.chunks_exact(n).zip(x.chunks_exact(n)).find_map(of_column)?;
        attention(T::Real::EPSILON.to_f64(), Some(rcond), eta, None).map(Arc::from)
    }

    /// Solve a system that is too small for the method by the fallback.
    fn solve_tiny(&self, op: Op, (rhs, x): RhsAndSolution<'_, T>) -> Result<Report> {
        let solved = solve_by(self.fallback().expect("a method beside the pivoted one")?, op, rhs, x)?;
        let fallback = solved.backward_error > good::<T>();
        Ok(Report { method: self.facts.method, reason: self.facts.reason.clone(), fallback, ..solved })
    }
}

impl Outcome<'_> {
    /// Record η or the error of a column.
    pub fn record(&mut self, column: usize, result: Result<f64>) {
        match result {
            Ok(eta) => self.report.push(eta),
            Err(error) => self.failures.note(column, error),
        }
    }
}

/// Solve columns by other factors, in newly allocated scratch memory.
fn solve_by<T: Scalar>(spare: &dyn Probe<T>, op: Op, rhs: &[T], x: &mut [T]) -> Result<Report> {
    let mut memory = buffer(spare.solve_scratch(spare.shape().n_rhs("rhs", rhs.len())?))?;
    spare.solve_into_with(op, rhs, x, PodStack::new(&mut memory))
}

/// Run a solve with A or Aᵀ for `op`. For Aᴴ, solve Aᵀ·conj(x) = conj(rhs).
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
        let by_method = self.solver.solve_scratch(self, n_rhs);
        match self.many_rhs.as_ref().and_then(|solver| solver.scratch(n_rhs)) {
            Some(scratch) => by_method.or(scratch.and(self.solver.solve_scratch(self, 1))),
            None => by_method,
        }
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        check_scratch(self.solve_scratch(n_rhs), stack)?;
        if self.shape().n() < self.solver.smallest() {
            return self.solve_tiny(op, (rhs, x));
        }
        let measured = if self.facts.verify { n_rhs } else { 0 };
        let (mut report, mut failures) = (Report::of(&self.facts).with_room(measured)?, Failures::default());
        let at_most = f64::INFINITY;
        let mut outcome = Outcome { report: &mut report, failures: &mut failures, stack, at_most };
        let solved = match &self.many_rhs {
            Some(solver) => solver.solve_all(self, op, (rhs, x), &mut outcome)?,
            None => false,
        };
        if !solved {
            self.solver.solve_all(self, op, (rhs, x), &mut outcome)?;
        }
        let at_most = outcome.at_most;
        if solved || !self.solver.looks_at_size() || (report.fallback && !self.facts.verify) {
            report.attention = self.attention(op, (rhs, x), (report.backward_error, at_most));
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
        if pivoted {
            self.solver.prepare(&self.a, op != Op::Plain)?;
        }
        match self.singular_row() {
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
        // Without scaled partial pivoting, a zero pivot does not prove that A is singular.
        self.solver.prepare(&self.a, false)?;
        let singular = self.singular_row();
        let unproven = singular.filter(|_| !self.facts.exchanges);
        let known = match (singular, unproven) {
            (_, Some(_)) => None,
            (Some(_), None) if self.facts.method == Method::Pivoted => Some(ScaledProduct::ZERO),
            _ => self.solver.product(&self.a),
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
        self.solver.sparse_solver(self, op)
    }
}
