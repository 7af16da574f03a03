//! The verification of all methods with partitions: they accept x, repair single partitions, refine x, or fall back to the sequential
//! pivoted method.

use crate::contract::equations::Matrix;
use crate::contract::factors::{Factors, Outcome, RhsAndSolution, Solver};
use crate::contract::refine::good;
use crate::contract::verify::{Report, attention, refinement_scratch};
use crate::contract::{Factor, Op};
use crate::error::Result;
use crate::memory::buffer;
use crate::tuning;
use bandsolve_kernel::sweep::{self, CheckResult, MAX_RHS};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;
use std::sync::Arc;

/// A method with partitions that measures x while it writes x.
pub(crate) trait ByPartitions<T: Scalar, A: Matrix<T>>: Solver<T, A> {
    /// Number of right-hand sides that are solved together, of `n_rhs`.
    fn group_size(&self, a: &A, n_rhs: usize) -> usize;

    /// Maximum number of entries per row.
    fn entries_in_row(&self, a: &A) -> usize;

    /// Number of partitions.
    fn partitions(&self, a: &A) -> usize;

    /// Solve for a few columns and write the measured error of each partition to `gaps`, column by column.
    ///
    /// If `gaps` is empty, nothing is measured, and the result only shows whether the matrix may be singular.
    fn solve_and_measure(
        &self,
        a: &A,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        gaps: &mut [T::Real],
        work: (&mut Report, &mut PodStack),
    ) -> [CheckResult; MAX_RHS];

    /// Accept x, or repair its bad partitions if they are few. Returns η and the number of refinement steps (1 after a repair), or `None`
    /// if the whole system must be refined.
    fn repair_rows(
        &self,
        a: &A,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        check: CheckResult,
        gaps: &[T::Real],
    ) -> Option<(f64, usize)>;
}

/// The rows of x that a repair has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Nowhere,
    /// Windows around nonzero rows.
    Windows,
    Everywhere,
}

/// Solve for all columns by a method with partitions.
pub(crate) fn solve_all<T: Scalar, A: Matrix<T>>(
    method: &impl ByPartitions<T, A>,
    factors: &Factors<T, A>,
    op: Op,
    (rhs, x): RhsAndSolution<'_, T>,
    outcome: &mut Outcome<'_>,
) -> Result<()> {
    let n = factors.shape().n();
    let partitions = if factors.facts().verify { method.partitions(factors.matrix()) } else { 0 };
    let solve = PartitionedSolve { method, factors, op };
    let mut done = 0;
    while done < rhs.len() {
        let n_rhs = method.group_size(factors.matrix(), (rhs.len() - done) / n);
        let span = done..done + n_rhs * n;
        let (rhs, x) = (&rhs[span.clone()], &mut x[span]);
        let (gaps, stack) = outcome.stack.make_raw::<T::Real>(n_rhs * partitions);
        let work = (&mut *outcome.report, &mut *stack);
        let checks = method.solve_and_measure(factors.matrix(), op, (rhs, &mut *x), gaps, work);
        if partitions == 0 {
            // A zero pivot is an error also without verification.
            if checks[0].suspect
                && let Err(error) = factors.solve_again(op, (rhs, x), outcome.report)
            {
                outcome.failures.note(done / n, error);
            }
        } else {
            let columns = rhs.chunks_exact(n).zip(x.chunks_exact_mut(n));
            for (k, ((rhs, x), gaps)) in columns.zip(gaps.chunks_exact(partitions)).enumerate() {
                let column = MeasuredColumn { rhs, offset: done + k * n, x, check: checks[k], gaps };
                match solve.verify(column, (&mut *outcome.report, &mut *stack)) {
                    Ok((eta, _)) => outcome.report.push(eta),
                    Err(error) => outcome.failures.note(done / n + k, error),
                }
            }
        }
        done += n_rhs * n;
    }
    Ok(())
}

/// A method with partitions, its factors, and the operation to solve with.
pub(crate) struct PartitionedSolve<'a, T: Scalar, A: Matrix<T>, M> {
    pub method: &'a M,
    pub factors: &'a Factors<T, A>,
    pub op: Op,
}

/// A computed column of x, and the errors that were measured with it.
pub(crate) struct MeasuredColumn<'a, T: Scalar> {
    pub rhs: &'a [T],
    /// The index in the caller's array at which the column begins.
    pub offset: usize,
    pub x: &'a mut [T],
    pub check: CheckResult,
    /// The error of each partition.
    pub gaps: &'a [T::Real],
}

impl<T: Scalar, A: Matrix<T>, M: ByPartitions<T, A>> PartitionedSolve<'_, T, A, M> {
    /// Accept x or repair it. Returns η and the changed rows.
    ///
    /// If x is so large that the matrix must be singular, the report gets a warning.
    pub(crate) fn verify(
        &self,
        mut column: MeasuredColumn<'_, T>,
        (report, stack): (&mut Report, &mut PodStack),
    ) -> Result<(f64, Changed)> {
        let (eta, changed) = self.repair(&mut column, (&mut *report, stack))?;
        let MeasuredColumn { rhs, x, check, .. } = column;
        let Self { method, factors, op } = *self;
        let large = check.may_be_too_large::<T::Real>(method.entries_in_row(factors.matrix()));
        if report.attention.is_none() && (large || changed == Changed::Everywhere) {
            let (known, epsilon) = (changed == Changed::Nowhere, T::Real::EPSILON.to_f64());
            report.attention = if known && factors.facts().scaled && check.rcond_at_most() < epsilon {
                attention(epsilon, Some(check.rcond_at_most()), eta, None).map(Arc::from)
            } else {
                let at_most = if known { check.x_at_most() } else { f64::INFINITY };
                factors.attention(op, (rhs, x), (eta, at_most))
            };
        }
        Ok((eta, changed))
    }

    /// Accept or repair x without a warning.
    fn repair(
        &self,
        column: &mut MeasuredColumn<'_, T>,
        (report, stack): (&mut Report, &mut PodStack),
    ) -> Result<(f64, Changed)> {
        let MeasuredColumn { rhs, offset, ref mut x, check, gaps } = *column;
        let Self { method, factors, op } = *self;
        if check.suspect || (check.looks_singular::<T::Real>() && !is_zero(rhs, x)) {
            return factors.fall_back(op, (rhs, offset), x, report).map(|eta| (eta, Changed::Everywhere));
        }
        if let Some((eta, steps)) = method.repair_rows(factors.matrix(), op, (rhs, &mut *x), check, gaps) {
            report.refinement_steps = report.refinement_steps.max(steps);
            return Ok((eta, if steps == 0 { Changed::Nowhere } else { Changed::Windows }));
        }
        let mut refined = Report::of(factors.facts());
        let needed = refinement_scratch::<T>(true, x.len()).and(method.scratch(factors.matrix(), 1));
        let eta = if stack.can_hold(needed) {
            factors.refine_or_fall_back(op, (rhs, offset), x, (&mut refined, stack))
        } else {
            // Refinement is rare, so its scratch is not part of the caller's.
            match buffer(needed) {
                Ok(mut memory) => {
                    factors.refine_or_fall_back(op, (rhs, offset), x, (&mut refined, PodStack::new(&mut memory)))
                }
                // The fallback reports it if there is no memory for it either.
                Err(_) => factors.fall_back(op, (rhs, offset), x, &mut refined),
            }
        };
        report.refinement_steps = report.refinement_steps.max(refined.refinement_steps);
        report.fallback |= refined.fallback;
        let changed = refined.fallback || refined.refinement_steps > 0;
        eta.map(|eta| (eta, if changed { Changed::Everywhere } else { Changed::Nowhere }))
    }
}

/// Whether the right-hand side and x are zero. Such an x is right even if the matrix is singular.
fn is_zero<T: Scalar>(rhs: &[T], x: &[T]) -> bool {
    rhs.iter().chain(x).all(|v| *v == T::ZERO)
}

/// Accept x, or call `repair_rows` for each bad partition if they are few. Returns η and the number of refinement steps (1 after a repair).
pub(crate) fn repair_bad<T: Scalar>(
    check: CheckResult,
    gaps: &[T::Real],
    mut repair_rows: impl FnMut(usize) -> Option<f64>,
) -> Option<(f64, usize)> {
    let goal = good::<T>();
    if check.bound <= goal {
        return Some((check.bound, 0));
    }
    let bad = gaps.iter().filter(|gap| sweep::bound::<T>(**gap) > goal).count();
    if !check.bound.is_finite() || bad > gaps.len() / tuning::REPAIR_ONE_OF + 1 {
        return None;
    }
    let mut worst: f64 = 0.0;
    for (p, gap) in gaps.iter().enumerate() {
        let eta = sweep::bound::<T>(*gap);
        worst = worst.max(if eta <= goal { eta } else { repair_rows(p)? });
    }
    Some((worst, 1))
}

/// Lower bound of ‖x‖∞ for repairs, slightly less than the measured one, because a repair may change the largest x.
pub(crate) fn known_size<R: RealScalar>(check: CheckResult) -> R {
    R::from_f64(check.x_max * 0.999)
}
