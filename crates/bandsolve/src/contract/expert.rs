//! Expert solves: componentwise backward errors, forward error bounds, condition.
//!
//! With r = rhs − A·x and the true solution xₜ, the componentwise backward error of x and the bound of its forward error are
//!
//! ```text
//! berr = maxᵢ |r|ᵢ / (|A| |x| + |rhs|)ᵢ
//! ferr = ‖ |A⁻¹| (|r| + n_z ε (|A| |x| + |rhs|)) ‖∞ / ‖x‖∞ ≥ ‖x − xₜ‖∞ / ‖x‖∞
//! ```
//!
//! where n_z is the number of entries of the row plus one. The norm in ferr is that of A⁻¹·W with a diagonal W. A few solves estimate
//! it. These solves and the refinement use the sequential pivoted method. Methods with partitions are less accurate for unknowns that
//! are small compared with the largest one. If the columns have very different sizes, their bound would be wrong.
//!
//! Source: Arioli, Demmel, Duff, SIAM J. Matrix Anal. 10 (1989) 165; LAPACK Users' Guide, section 4.4. A, b, x → A, rhs, x.

use crate::contract::component_row::ComponentRow;
use crate::contract::condition;
use crate::contract::condition::{Norm, estimate_norm_1};
use crate::contract::op::Op;
use crate::contract::probe::Probe;
use crate::contract::refine::{RefinedColumns, RefinedSystem, StoppingRule, good, refine};
use crate::contract::verify::Report;
use crate::error::{Error, Result, check_len};
use crate::memory::{allocate, buffer, collected};
use bandsolve_kernel::exact::{exponent, ldexp};
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::PodStack;
use smallvec::SmallVec;

/// Error bounds of each right-hand side, and the condition and scaling of the matrix.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[-1.0; 4], &[2.5; 5], &[-1.0; 4])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// let expert = lu.solve_expert(Op::Plain, &[1.0; 5], &mut [0.0; 5])?;
/// assert!(expert.forward_errors[0] <= 1e-13 && !expert.singular_to_working_precision);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ExpertReport {
    /// The report of the solve before the componentwise refinement.
    pub report: Report,
    /// Componentwise backward error of each right-hand side (LAPACK: `BERR`).
    ///
    /// It is the smallest relative change of the entries of A and rhs for which x is exact: maxᵢ |r|ᵢ / (|A| |x| + |rhs|)ᵢ with
    /// r = rhs − A·x. 0/0 counts as 0. In the denominator, unknowns count as the smallest normal number at least.
    pub componentwise_errors: SmallVec<[f64; 4]>,
    /// Bound of ‖x − xₜ‖∞ / ‖x‖∞ for each right-hand side (LAPACK: `FERR`), where xₜ is the true solution.
    ///
    /// The bound is infinite if the matrix is so close to a singular one that there is no bound.
    pub forward_errors: SmallVec<[f64; 4]>,
    /// Maximum number of steps of componentwise refinement over the right-hand sides.
    pub refinement_steps: usize,
    /// Estimate of the reciprocal condition of op(A) in the 1-norm.
    pub rcond: f64,
    /// Whether `rcond` is below ε. x may then have no correct digit.
    pub singular_to_working_precision: bool,
    /// Ratio of the smallest to the largest row, each measured by its largest entry (LAPACK: `ROWCND`).
    ///
    /// A small ratio means that the rows are badly scaled.
    pub row_ratio: f64,
    /// Whether the method scales rows by powers of two so that their largest entries have similar sizes (LAPACK: `EQUED = 'R'`).
    ///
    /// This equilibration has no rounding error and does not change the arrays of the caller. Columns are not scaled.
    pub rows_scaled: bool,
}

/// Solve op(A)·x = rhs and bound the errors.
pub(crate) fn solve<T: Scalar>(probe: &dyn Probe<T>, op: Op, rhs: &[T], x: &mut [T]) -> Result<ExpertReport> {
    let (n, n_rhs) = (probe.shape().rows(), probe.shape().n_rhs("rhs", rhs.len())?);
    check_len("x", rhs.len(), x.len())?;
    let report = probe.solve_into_with(op, rhs, x, PodStack::new(&mut buffer(probe.solve_scratch(n_rhs))?))?;
    let rcond = condition::rcond(probe, if op == Op::Plain { Norm::One } else { Norm::Infinity })?;
    let mut expert = ExpertReport {
        report,
        componentwise_errors: SmallVec::new(),
        forward_errors: SmallVec::new(),
        refinement_steps: 0,
        rcond,
        singular_to_working_precision: rcond < T::Real::EPSILON.to_f64(),
        row_ratio: row_ratio(probe, op),
        rows_scaled: probe.scales_rows(),
    };
    let probe = probe.sequential().transpose()?.unwrap_or(probe);
    let memory = buffer(probe.solve_in_place_scratch(1))?;
    let (residual, before) = (allocate(n, T::ZERO)?, allocate(n, T::ZERO)?);
    let mut refiner = Refiner { probe, op, memory, residual, before };
    for (rhs, x) in rhs.chunks_exact(n.max(1)).zip(x.chunks_exact_mut(n.max(1))) {
        let (error, steps) = refiner.refine_or_solve_again(rhs, x)?;
        expert.componentwise_errors.push(error);
        expert.refinement_steps = expert.refinement_steps.max(steps);
        expert.forward_errors.push(refiner.forward_error(rhs, x)?);
    }
    Ok(expert)
}

/// Ratio of the smallest to the largest row, each measured by its largest entry.
fn row_ratio<T: Scalar>(probe: &dyn Probe<T>, op: Op) -> f64 {
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for i in 0..probe.shape().rows() {
        let mut row: f64 = 0.0;
        probe.visit_row(op, i, &mut |_, a| row = row.max(Scalar::abs(a).to_f64()));
        (smallest, largest) = (smallest.min(row), largest.max(row));
    }
    if smallest <= largest { smallest / largest } else { 1.0 }
}

/// Componentwise refinement, one right-hand side at a time, by the method of `probe`.
struct Refiner<'a, T: Scalar> {
    probe: &'a dyn Probe<T>,
    op: Op,
    memory: Array<u8>,
    residual: Vec<T>,
    before: Vec<T>,
}

impl<T: Scalar> Refiner<'_, T> {
    /// Refine x. If refinement does not suffice, solve again and refine this x. Returns berr of the better x, and the number of steps.
    fn refine_or_solve_again(&mut self, rhs: &[T], x: &mut [T]) -> Result<(f64, usize)> {
        let (error, steps) = self.refine(rhs, x);
        if error <= good::<T>() {
            return Ok((error, steps));
        }
        // If an unknown is far too large, each step only reduces its error to about ε times its size.
        let mut anew = allocate(x.len(), T::ZERO)?;
        anew.copy_from_slice(rhs);
        if self.probe.solve_roughly(self.op, &mut anew, PodStack::new(&mut self.memory)).is_err() {
            return Ok((error, steps));
        }
        let (other, more) = self.refine(rhs, &mut anew);
        if !(other < error) && !error.is_nan() {
            return Ok((error, steps));
        }
        x.copy_from_slice(&anew);
        Ok((other, steps + more))
    }

    /// Refine x while berr exceeds ε and each step halves it. Returns berr and the number of steps.
    fn refine(&mut self, rhs: &[T], x: &mut [T]) -> (f64, usize) {
        let Self { probe, op, memory, residual: r, before } = self;
        let solve = |r: &mut [T]| probe.solve_roughly(*op, r, PodStack::new(memory));
        let measure = |x: &[T], r: &mut [T], systems: &mut [RefinedSystem]| {
            let mut worst: f64 = 0.0;
            for (i, r) in r.iter_mut().enumerate() {
                let row = ComponentRow::new(*probe, (*op, i), rhs[i], x);
                worst = worst.max_nan(row.error());
                *r = row.residual();
            }
            systems[0].error = worst;
        };
        let (mut system, rule) = ([RefinedSystem::open()], StoppingRule::componentwise(T::Real::EPSILON.to_f64()));
        let mut column = RefinedColumns { x, r, before: Some(before), solve, measure };
        // A solve that fails does so in the first step, and does not change x.
        let steps = refine(&rule, &mut system, &mut column).unwrap_or(0);
        (system[0].error, steps)
    }

    /// Return ferr of x.
    fn forward_error(&mut self, rhs: &[T], x: &[T]) -> Result<f64> {
        let epsilon = T::Real::EPSILON.to_f64();
        let size = x.iter().fold(0.0f64, |size, v| size.max(v.re().to_f64().abs()).max(v.im().to_f64().abs()));
        let unit = exponent(size);
        // (|r| + n_z ε s)/ε, in units of x.
        let weight = |i: usize| {
            let row = ComponentRow::new(self.probe, (self.op, i), rhs[i], x);
            (row.residual_modulus() / epsilon + row.terms as f64 * row.size, row.exponent - unit)
        };
        let weights = collected((0..x.len()).map(weight))?;
        // The shift by which no weight overflows.
        let range = exponent(T::Real::MAX.to_f64()) - 16;
        let shift = weights.iter().map(|(w, e)| exponent(*w) + e - range).fold(0, i32::max);
        let scaled = weights.into_iter().map(|(w, e)| T::Real::from_f64(ldexp(w, (e - shift).max(-2000))));
        let weights = collected(scaled)?;
        let norm = match self.norm_of_inverse(&weights) {
            // The chosen method solved although the pivoted method finds no pivot.
            Err(Error::Singular { .. }) => return Ok(f64::INFINITY),
            result => result?,
        };
        let modulus = x
            .iter()
            .fold(0.0f64, |size, v| size.max(ldexp(v.re().to_f64(), -unit).hypot(ldexp(v.im().to_f64(), -unit))));
        Ok(if norm == 0.0 { 0.0 } else { ldexp(norm * epsilon / modulus, shift) })
    }

    /// Estimate ‖op(A)⁻¹·W‖∞ = ‖W·op(A)⁻ᴴ‖₁ with W = diag(`weights`). Aᵀ and Aᴴ have the same norm.
    fn norm_of_inverse(&mut self, weights: &[T::Real]) -> Result<f64> {
        let (direct, adjoint) =
            if self.op == Op::Plain { (Op::Plain, Op::ConjTranspose) } else { (Op::ConjTranspose, Op::Plain) };
        let (probe, memory) = (self.probe, &mut self.memory);
        let weigh = |x: &mut [T]| x.iter_mut().zip(weights).for_each(|(x, w)| *x = x.scale(*w));
        estimate_norm_1(weights.len(), |adjoined, x: &mut [T]| {
            if adjoined {
                weigh(x);
                return probe.solve_roughly(direct, x, PodStack::new(memory));
            }
            probe.solve_roughly(adjoint, x, PodStack::new(memory))?;
            weigh(x);
            Ok(())
        })
    }
}
