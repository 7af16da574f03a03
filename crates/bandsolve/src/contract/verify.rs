//! The accuracy contract: what a solve reports, and what is done when the answer is not good enough.

use crate::contract::Op;
use crate::contract::determinant::Product;
use crate::contract::inspect::Probe;
use crate::contract::measure::{Largest, Norm, RHS_TOGETHER, ROWS_TOGETHER, measure_together, residual};
pub(crate) use crate::contract::measure::{backward_error, measure};
use crate::decision::{Decision, Pivoting};
use crate::error::{Error, Failures, Result, check_len};
use crate::matrix::{Shape, Tridiagonal};
use crate::memory::out_of_memory;
use crate::method::Method;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::{PodBuffer, PodStack, StackReq};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// What a solve did and how good its answer is.
///
/// The backward error of one right-hand side is
///
/// $$ \eta = \max_i \frac{|d_i - (Ax)_i|}{(\sum_j |a_{ij}|)\,\|x\|_\infty + |d_i|} $$
///
/// with ‖x‖∞ at least the smallest normal number, because what is smaller is not known to ε of itself. It is measured while x
/// is written, against a lower bound of ‖x‖∞ that is known by then, so that the reported number is never below η. Where it
/// would exceed 8ε it is measured exactly.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The method that produced x.
    pub method: Method,
    /// Why this method.
    pub reason: Arc<str>,
    /// Largest of [`backward_errors`](Self::backward_errors); NaN if verification was turned off.
    pub backward_error: f64,
    /// Row-wise backward error of each right-hand side; empty if verification was turned off.
    pub backward_errors: SmallVec<[f64; 4]>,
    /// Most refinement steps that a right-hand side took; 1 also where only the rows around bad ones were solved again.
    pub refinement_steps: usize,
    /// Whether a right-hand side had to be solved again by the sequential pivoted method.
    pub fallback: bool,
    /// Largest entry of the factors relative to the largest of the matrix, where the method knows it.
    pub pivot_growth: Option<f64>,
}

/// A solved system.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution<T> {
    /// x, in the layout of the right-hand side.
    pub values: Vec<T>,
    /// How it was found and how good it is.
    pub report: Report,
}

/// Accepted without further ado: 8ε.
pub(crate) const GOOD: f64 = 8.0;
/// The backward error that is accepted without further ado: 8ε of the working precision of `T`.
pub fn good<T: Scalar>() -> f64 {
    GOOD * T::Real::EPSILON.to_f64()
}

/// So much of it is accepted of a residual in plain arithmetic: what rounding may hide is far less than the other half.
pub const ACCEPTED_AT_ONCE: f64 = 0.5;
/// Accepted after refinement and fallback, and said so: 64ε.
pub(crate) const TOLERABLE: f64 = 64.0;
/// Refinement steps with the same factors.
pub const MAX_REFINEMENTS: usize = 3;

/// `Err(Scratch)` if `stack` cannot hold `needed`.
pub(crate) fn check_scratch(needed: StackReq, stack: &PodStack) -> Result<()> {
    if stack.can_hold(needed) {
        Ok(())
    } else {
        Err(Error::Scratch { expected: needed.unaligned_bytes_required(), got: stack.len_bytes() })
    }
}

/// Memory for `needed`, or `Err(OutOfMemory)`.
pub(crate) fn buffer(needed: StackReq) -> Result<PodBuffer> {
    PodBuffer::try_new(needed).map_err(|_| Error::OutOfMemory { bytes: needed.unaligned_bytes_required() })
}

impl Report {
    /// What a solver outside of this crate reports: its method, why this one, and the backward error of each right-hand side
    /// (`None`: not verified).
    pub fn external(method: Method, reason: &str, errors: Option<&[f64]>) -> Self {
        let mut report = Self {
            method,
            reason: reason.into(),
            backward_error: if errors.is_some() { 0.0 } else { f64::NAN },
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            fallback: false,
            pivot_growth: None,
        };
        errors.unwrap_or_default().iter().for_each(|error| report.push(*error));
        report
    }

    /// Nothing solved yet, by the method that `plan` chose.
    pub(crate) fn new(decision: &Decision) -> Self {
        Self::of(&Facts::new(decision))
    }

    /// Nothing solved yet.
    fn of(facts: &Facts) -> Self {
        Self {
            method: facts.method,
            reason: facts.reason.clone(),
            backward_error: if facts.verify { 0.0 } else { f64::NAN },
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            fallback: false,
            pivot_growth: facts.pivot_growth,
        }
    }

    /// The same with room for `n_rhs` right-hand sides, or `Err(OutOfMemory)`.
    pub(crate) fn with_room(mut self, n_rhs: usize) -> Result<Self> {
        self.backward_errors.try_reserve(n_rhs).map_err(|_| out_of_memory::<f64>(n_rhs))?;
        Ok(self)
    }

    /// Takes in what was found of the next right-hand sides.
    pub(crate) fn take(&mut self, next: &Report) {
        self.backward_errors.extend_from_slice(&next.backward_errors);
        self.backward_error = self.backward_error.max_nan(next.backward_error);
        self.refinement_steps = self.refinement_steps.max(next.refinement_steps);
        self.fallback |= next.fallback;
    }

    /// Takes in the backward error of the next right-hand side.
    pub(crate) fn push(&mut self, error: f64) {
        self.backward_errors.push(error);
        self.backward_error = self.backward_error.max_nan(error);
    }
}

/// The equations of one system, row by row: all that measuring an answer needs.
pub(crate) trait Equations<T: Scalar>: Sync {
    /// Calls `visit(j, a_ij)` for the entries of row `i`, each column once.
    fn visit_row(&self, i: usize, visit: impl FnMut(usize, T));
    /// About so many entries stand in a row.
    fn entries_in_row(&self) -> usize {
        3
    }

    /// Whether the precise residual is about as cheap as the plain one, and rows so long that the rounding of a good solve
    /// exceeds the half of what is accepted of the plain one: then it is not looked at.
    fn prefers_precise(&self) -> bool {
        false
    }

    /// The precise residual of the rows from `first_row` on, if there is a faster way to it than row by row; returns their
    /// largest η.
    fn precise_residual(&self, _first_row: usize, _system: (&[T], &[T]), _out: (&Norm, &mut [T])) -> Option<Largest> {
        None
    }

    /// Whether [`accumulate`](Self::accumulate) may be called: real scalars only.
    const BY_BLOCKS: bool = !T::COMPLEX;
    /// For the rows i from `first_row` on: subtracts (A·x)_i from `r`, adds Σ|a_ij| to `sums`, which is zero. What
    /// [`visit_row`](Self::visit_row) could do, but for many rows at a time.
    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]);
    /// The same for some columns of X, n numbers each, and those of R, `rows` numbers each.
    fn accumulate_columns(
        &self,
        first_row: usize,
        (x, n): (&[T], usize),
        (r, rows): (&mut [T], usize),
        sums: &mut [T],
    ) {
        let mut again = [T::ZERO; ROWS_TOGETHER];
        for (k, (x, r)) in x.chunks_exact(n).zip(r.chunks_exact_mut(rows)).enumerate() {
            self.accumulate(first_row, x, r, if k == 0 { &mut *sums } else { &mut again[..rows] });
        }
    }
}

impl<T: Scalar> Equations<T> for Rows<'_, T> {
    #[inline(always)]
    fn visit_row(&self, i: usize, mut visit: impl FnMut(usize, T)) {
        let (a, b, c) = self.row(i);
        let (left, right) = self.neighbours(i);
        if left != right {
            visit(left, a);
            visit(i, b);
            visit(right, c);
        } else if left == i {
            visit(i, b + (a + c)); // n = 1; the same rounding for the transpose
        } else {
            visit(i, b); // n = 2: off-diagonal and corner share a column
            visit(left, a + c);
        }
    }

    fn accumulate(&self, first_row: usize, x: &[T], r: &mut [T], sums: &mut [T]) {
        let end_row = first_row + r.len();
        let from = first_row.max(1);
        let to = end_row.min(self.n() - 1).max(from);
        for i in (first_row..from.min(end_row)).chain(to..end_row) {
            self.visit_row(i, |j, a| {
                r[i - first_row] -= a * x[j];
                sums[i - first_row] += T::from_real(a.abs1());
            });
        }
        if from == to {
            return;
        }
        // The rows between, each with its three neighbours, in slices of one length.
        let m = to - from;
        let (r, sums) = (&mut r[from - first_row..][..m], &mut sums[from - first_row..][..m]);
        let (a, b, c) = (&self.sub[from - 1..][..m], &self.diag[from..][..m], &self.sup[from..][..m]);
        let (left, x, right) = (&x[from - 1..][..m], &x[from..][..m], &x[from + 1..][..m]);
        for k in 0..m {
            r[k] = r[k] - a[k] * left[k] - b[k] * x[k] - c[k] * right[k];
            sums[k] = T::from_real(a[k].abs1() + b[k].abs1() + c[k].abs1());
        }
    }
}

/// A matrix as the accuracy contract needs it.
pub(crate) trait Matrix<T: Scalar> {
    /// Kind and size.
    fn shape(&self) -> Shape;
    /// Rows of op(A).
    fn equations(&self, op: Op) -> impl Equations<T>;
    /// First entry of the matrix that is not finite, as an error.
    fn check_finite(&self) -> Result<()>;
}

impl<T: Scalar> Matrix<T> for Tridiagonal<'_, T> {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn equations(&self, op: Op) -> impl Equations<T> {
        op.rows(self)
    }

    fn check_finite(&self) -> Result<()> {
        self.check_finite()
    }
}

/// Says that a type is [`Factored`], for whatever number type. So the compiler knows which types are not, and these may say
/// for themselves what the others have in common.
pub(crate) trait KeepsFactors {}

/// A factorised matrix as [`solve_verified`] needs it: solve without any check, and what to ask when that went wrong.
pub(crate) trait Factored<T: Scalar>: KeepsFactors {
    /// What was factored.
    type Matrix: Matrix<T>;
    /// The matrix itself.
    fn matrix(&self) -> &Self::Matrix;
    /// What the plan said and the factorisation found.
    fn facts(&self) -> &Facts;
    /// Replaces right-hand sides (columns of length n) by solutions of op(A)·x = rhs, unchecked.
    fn solve_unchecked(&self, op: Op, x: &mut [T], stack: &mut PodStack);

    /// Whether elimination met an exactly zero pivot.
    fn is_singular(&self, _op: Op) -> bool {
        self.facts().singular.is_some()
    }

    /// The sequential pivoted method for answers that stay above 8ε, made when first asked for; `None` if this is it.
    fn fallback(&self) -> Option<Result<&dyn Probe<T>>> {
        None
    }

    /// det A, if the factors tell it as reliably as pivoted ones.
    fn product(&self) -> Option<Product> {
        None
    }
}

/// What a method knows beside its factors.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub method: Method,
    pub verify: bool,
    pub parallel: bool,
    /// Whether rows are multiplied by powers of two first.
    pub scaled: bool,
    /// Whether rows may be exchanged and are scaled, so that nothing underflows, and no pivot counts as noise: then a zero pivot
    /// proves the matrix singular.
    pub exchanges: bool,
    pub reason: Arc<str>,
    /// First row without a pivot.
    pub singular: Option<usize>,
    pub pivot_growth: Option<f64>,
}

impl Facts {
    /// Of the method that `plan` chose.
    pub fn new(decision: &Decision) -> Self {
        Self {
            method: decision.method,
            verify: decision.options.verify,
            parallel: decision.options.threads > 1,
            scaled: decision.options.pivoting == Pivoting::ScaledPartial,
            exchanges: decision.options.pivoting == Pivoting::ScaledPartial && decision.options.noise_threshold == 0.0,
            reason: decision.reason.clone(),
            singular: None,
            pivot_growth: None,
        }
    }

    /// Of the sequential pivoted method, whatever `plan` chose.
    pub fn pivoted(decision: &Decision) -> Self {
        Self { method: Method::Pivoted, ..Self::new(decision) }
    }
}

/// Factors that are made when they are first needed.
///
/// Outside of any lock: while it waits for other threads, a thread may be given another solve with the same factors, which
/// would wait for the lock for ever.
#[derive(Debug)]
pub(crate) struct Lazy<F>(OnceLock<Result<F>>);

impl<F> Lazy<F> {
    pub fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The factors, from `make` if there are none yet. What is wrong with the matrix is kept, too.
    pub fn get(&self, make: impl FnOnce() -> Result<F>) -> Result<&F> {
        if self.0.get().is_none() {
            match make() {
                // There may be memory the next time.
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                made => _ = self.0.set(made),
            }
        }
        self.0.get().expect("set").as_ref().map_err(Clone::clone)
    }
}

/// The pivoted method once more, with scaled partial pivoting, for answers that are not good with the plan's.
#[derive(Debug)]
pub(crate) struct BestPivots<F> {
    decision: Decision,
    factors: Lazy<Box<F>>,
}

impl<F> BestPivots<F> {
    /// Nothing factored yet.
    pub fn new(decision: &Decision) -> Self {
        Self { decision: decision.with_best_pivots(), factors: Lazy::new() }
    }

    /// What `plan` leaves room for: nothing if it has chosen the best pivots already.
    pub fn unless_chosen(decision: &Decision) -> Option<Self> {
        (decision.options.pivoting != Pivoting::ScaledPartial).then(|| Self::new(decision))
    }

    /// The factors, from `make` if there are none yet.
    pub fn get(&self, make: impl FnOnce(&Decision) -> Result<F>) -> Result<&F> {
        self.factors.get(|| make(&self.decision).map(Box::new)).map(|factors| &**factors)
    }
}

/// Scratch of [`solve_verified`]: a residual and a spare x for refinement, one right-hand side at a time.
pub(crate) fn verified_scratch<T: Scalar, F: Factored<T>>(factors: &F) -> StackReq {
    refinement_scratch::<T>(factors.facts().verify, factors.matrix().shape().n())
}

/// The same for `n` unknowns.
pub(crate) fn refinement_scratch<T: Scalar>(verify: bool, n: usize) -> StackReq {
    let n = if verify { n } else { 0 };
    StackReq::new::<T>(n).and(StackReq::new::<T>(n))
}

/// Solves under the accuracy contract: solve, measure η, refine while η > 8ε. What is still above is solved again by the
/// method's [`fallback`](Factored::fallback); if it has none, η ≤ 64ε is accepted.
///
/// The stack has to hold what `solve_unchecked` needs for all right-hand sides, and [`verified_scratch`] with what it
/// needs for one.
///
/// # Cost
/// Beside the solve one pass over the matrix, rhs and x to measure η; a refinement step is two passes and a solve.
///
/// # Errors
/// `Shape`, `Scratch`; `Singular` if elimination met a row without pivot (without a fallback also unverified); verified
/// only: `NotFinite` when x is not finite because an input is not, `NotConverged` when η stays above 64ε. All right-hand sides
/// are solved; `Columns` says which were not solved well.
pub(crate) fn solve_verified<T: Scalar, F: Factored<T>>(
    factors: &F,
    op: Op,
    rhs: &[T],
    x: &mut [T],
    stack: &mut PodStack,
) -> Result<Report> {
    let n_rhs = factors.matrix().shape().n_rhs("rhs", rhs.len())?;
    check_len("x", rhs.len(), x.len())?;
    check_scratch(verified_scratch(factors), stack)?;
    let (n, facts) = (factors.matrix().shape().n().max(1), factors.facts());
    let mut report = Report::of(facts).with_room(n_rhs)?;
    x.copy_from_slice(rhs);
    factors.solve_unchecked(op, x, stack);
    if !facts.verify {
        if !factors.is_singular(op) {
            return Ok(report);
        }
        return match (factors.fallback(), facts.singular) {
            (Some(spare), _) => solve_again(spare?, op, rhs, x, &mut report).map(|()| report),
            (None, Some(row)) => Err(Error::Singular { row }),
            (None, None) => Ok(report),
        };
    }
    let equations = factors.matrix().equations(op);
    let together = !equations.prefers_precise() && !factors.is_singular(op);
    let mut refiner = Refiner { factors, op, stack };
    let mut failures = Failures::default();
    let groups = rhs.chunks(RHS_TOGETHER * n).zip(x.chunks_mut(RHS_TOGETHER * n));
    for (g, (rhs, x)) in groups.enumerate() {
        // Many columns are measured while a part of the matrix is in cache; most need nothing more.
        let measured = (together && x.len() > n).then(|| measure_together(&equations, n, (rhs, x), facts.parallel));
        for (k, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
            let accepted = measured.map(|etas| etas[k]).filter(|eta| *eta <= ACCEPTED_AT_ONCE * good::<T>());
            let column = g * RHS_TOGETHER + k;
            match accepted.map_or_else(|| refiner.settle((rhs, column * n), x, &mut report), Ok) {
                Ok(eta) => report.push(eta),
                Err(error) => failures.note(column, error),
            }
        }
    }
    failures.unless(report, n_rhs)
}

/// Solves columns without verification by the method `spare`, which says whether the matrix is singular.
pub(crate) fn solve_again<T: Scalar>(
    spare: &dyn Probe<T>,
    op: Op,
    rhs: &[T],
    x: &mut [T],
    report: &mut Report,
) -> Result<()> {
    report.fallback = true;
    let mut memory = buffer(spare.solve_scratch(spare.shape().n_rhs("rhs", rhs.len())?))?;
    spare.solve_into_with(op, rhs, x, PodStack::new(&mut memory)).map(|_| ())
}

/// Solves one column, which begins at `offset` of the caller's array, by the method `spare`; returns its backward error.
pub(crate) fn fall_back<T: Scalar>(
    spare: &dyn Probe<T>,
    op: Op,
    (rhs, offset): (&[T], usize),
    x: &mut [T],
    report: &mut Report,
) -> Result<f64> {
    report.fallback = true;
    let mut memory = buffer(spare.solve_scratch(1))?;
    let result = spare.solve_into_with(op, rhs, x, PodStack::new(&mut memory));
    let found = result.map_err(|error| match error {
        Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + offset },
        other => other,
    })?;
    report.refinement_steps = report.refinement_steps.max(found.refinement_steps);
    Ok(found.backward_error)
}

/// Solves a system that is too small for the method of `facts` by the method `spare`.
pub(crate) fn solve_tiny<T: Scalar>(
    spare: &dyn Probe<T>,
    facts: &Facts,
    op: Op,
    rhs: &[T],
    x: &mut [T],
) -> Result<Report> {
    let mut memory = buffer(spare.solve_scratch(spare.shape().n_rhs("rhs", rhs.len())?))?;
    let found = spare.solve_into_with(op, rhs, x, PodStack::new(&mut memory))?;
    let fallback = found.backward_error > good::<T>();
    Ok(Report { method: facts.method, reason: facts.reason.clone(), fallback, ..found })
}

/// `Err(NotFinite)` for the first entry of `values` that is NaN or infinite; `values` stands at `offset` of `array`.
pub(crate) fn check_finite<T: Scalar>(array: &'static str, values: &[T], offset: usize) -> Result<()> {
    match values.iter().position(|v| !Scalar::is_finite(*v)) {
        Some(index) => Err(Error::NotFinite { array, index: offset + index }),
        None => Ok(()),
    }
}

/// Iterative refinement with the factors at hand.
pub(crate) struct Refiner<'a, F> {
    pub factors: &'a F,
    pub op: Op,
    pub stack: &'a mut PodStack,
}

impl<F> Refiner<'_, F> {
    /// Improves one column, which begins at `offset` of the caller's array, until it may be handed out; returns its η.
    pub fn settle<T: Scalar>(&mut self, (rhs, offset): (&[T], usize), x: &mut [T], report: &mut Report) -> Result<f64>
    where
        F: Factored<T>,
    {
        let singular = self.factors.is_singular(self.op);
        let mut found = (f64::NAN, 0);
        if !singular {
            found = self.refine(rhs, x);
            report.refinement_steps = report.refinement_steps.max(found.1);
            if found.0 <= good::<T>() {
                return Ok(found.0);
            }
        }
        // Only now, since it may have to be made.
        if let Some(fallback) = self.factors.fallback() {
            return fall_back(fallback?, self.op, (rhs, offset), x, report);
        }
        if singular {
            found = self.refine(rhs, x);
            report.refinement_steps = report.refinement_steps.max(found.1);
        }
        self.diagnose(found, rhs, offset).map(|()| found.0)
    }

    /// `Ok` if an answer with backward error η may be handed out, else why not.
    fn diagnose<T: Scalar>(
        &self,
        (backward_error, refinement_steps): (f64, usize),
        rhs: &[T],
        offset: usize,
    ) -> Result<()>
    where
        F: Factored<T>,
    {
        let singular = self.factors.facts().singular;
        if singular.is_none() && backward_error <= TOLERABLE * T::Real::EPSILON.to_f64() {
            return Ok(());
        }
        self.factors.matrix().check_finite()?;
        check_finite("rhs", rhs, offset)?;
        Err(singular.map_or(Error::NotConverged { backward_error, refinement_steps }, |row| Error::Singular { row }))
    }

    /// Measures x and improves it while η > 8ε; returns the final η and the number of steps.
    ///
    /// The residual is formed in twice the working precision, so that a step brings η down to a few ε whenever the
    /// factors are good to a digit or two.
    pub fn refine<T: Scalar>(&mut self, d: &[T], x: &mut [T]) -> (f64, usize)
    where
        F: Factored<T>,
    {
        let good = good::<T>();
        let equations = self.factors.matrix().equations(self.op);
        let parallel = self.factors.facts().parallel;
        let precise = equations.prefers_precise();
        let mut best = if precise { f64::INFINITY } else { measure(&equations, d, x, parallel) };
        if best <= ACCEPTED_AT_ONCE * good {
            return (best, 0);
        }
        let (r, stack) = self.stack.make_raw::<T>(x.len());
        let (spare, stack) = stack.make_raw::<T>(x.len());
        best = residual(&equations, (d, x), r, parallel);
        let mut steps = 0;
        while best > good && steps < MAX_REFINEMENTS {
            self.factors.solve_unchecked(self.op, r, stack);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_for_want_of_memory_is_made_again() {
        let (lazy, short) = (Lazy::new(), Error::OutOfMemory { bytes: 8 });
        assert_eq!(lazy.get(|| Err(short.clone())), Err(short));
        assert_eq!(lazy.get(|| Ok(3)), Ok(&3));
        assert_eq!(lazy.get(|| unreachable!("made already")), Ok(&3));
    }

    #[test]
    fn what_is_wrong_with_the_matrix_is_kept() {
        let (lazy, singular) = (Lazy::<i32>::new(), Error::Singular { row: 3 });
        assert_eq!(lazy.get(|| Err(singular.clone())), Err(singular.clone()));
        assert_eq!(lazy.get(|| unreachable!("asked already")), Err(singular));
    }
}
