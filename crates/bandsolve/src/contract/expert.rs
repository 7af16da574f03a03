//! Expert solves: componentwise backward errors, forward error bounds, condition.
//!
//! With r = rhs − A·x the componentwise backward error of x, and a bound of its forward error, are
//!
//! $$ \mathrm{berr} = \max_i \frac{|r|_i}{(|A||x| + |\mathrm{rhs}|)_i}, \qquad \frac{\|x - x_t\|_\infty}{\|x\|_\infty} \le \mathrm{ferr} = \frac{\bigl\| |A^{-1}| \bigl(|r| + n_z\,\varepsilon\,(|A||x| + |\mathrm{rhs}|)\bigr) \bigr\|_\infty}{\|x\|_\infty} $$
//!
//! with n_z one more than the entries of a row. The norm is that of A⁻¹·W, W diagonal, and is estimated with a few solves.
//! These, and those that refine, are of the sequential pivoted method: methods that cut a system into parts lose what is
//! small beside the largest unknown, and with it, where columns are of very different sizes, the bound.
//!
//! Source: Arioli, Demmel, Duff, SIAM J. Matrix Anal. 10 (1989) 165; LAPACK Users' Guide, section 4.4. A, b, x → A, rhs, x.

use crate::contract::condition::{Norm, estimate_norm_1};
use crate::contract::inspect::Probe;
use crate::contract::measure::ComponentRow;
use crate::contract::verify::{Report, buffer, good};
use crate::contract::{Op, condition};
use crate::error::{Error, Result, check_len};
use crate::memory::{allocate, collected};
use bandsolve_kernel::exact::{exponent, ldexp};
use bandsolve_kernel::{RealScalar, Scalar};
use dyn_stack::{PodBuffer, PodStack};
use smallvec::SmallVec;

/// What an expert solve found out, per right-hand side and about the matrix.
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
    /// Of the solve before the refinement here.
    pub report: Report,
    /// Componentwise backward errors (LAPACK: `BERR`): the smallest relative change of single entries of A and rhs that
    /// makes x exact. 0/0 counts as 0; unknowns below the smallest normal number count as that in the denominator, as no
    /// arithmetic can tell them better.
    pub componentwise_errors: SmallVec<[f64; 4]>,
    /// Bounds of ‖x − x_t‖∞ / ‖x‖∞ (LAPACK: `FERR`), x_t being the true solution; infinite if the matrix is so close to a
    /// singular one that nothing can be said.
    pub forward_errors: SmallVec<[f64; 4]>,
    /// Most steps of componentwise refinement that a right-hand side took.
    pub refinement_steps: usize,
    /// Reciprocal condition, in the 1-norm for A and the ∞-norm for Aᵀ and Aᴴ, so that it goes with op(A) in the 1-norm.
    pub rcond: f64,
    /// Whether `rcond` is below ε: x may have no correct digit.
    pub singular_to_working_precision: bool,
    /// Largest entry of the row where that is smallest, relative to the largest of all (LAPACK: `ROWCND`): how badly rows
    /// are scaled.
    pub row_ratio: f64,
    /// Whether the method multiplies rows by powers of two that bring their largest entries to one size: an equilibration
    /// without rounding, done in every solve and never seen from outside (LAPACK: `EQUED = 'R'`). Columns are not scaled.
    pub rows_scaled: bool,
}

/// Most refinement steps.
const MAX_STEPS: usize = 5;

/// Solves op(A)·x = rhs and bounds the errors.
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
    let (residual, spare) = (allocate(n, T::ZERO)?, allocate(n, T::ZERO)?);
    let mut refiner = Refiner { probe, op, memory, residual, spare };
    for (rhs, x) in rhs.chunks_exact(n.max(1)).zip(x.chunks_exact_mut(n.max(1))) {
        let (error, steps) = refiner.settle(rhs, x)?;
        expert.componentwise_errors.push(error);
        expert.refinement_steps = expert.refinement_steps.max(steps);
        expert.forward_errors.push(refiner.forward_error(rhs, x)?);
    }
    Ok(expert)
}

/// Largest entry of the row where that is smallest, relative to the largest of all.
fn row_ratio<T: Scalar>(probe: &dyn Probe<T>, op: Op) -> f64 {
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for i in 0..probe.shape().rows() {
        let mut row: f64 = 0.0;
        probe.visit_row(op, i, &mut |_, a| row = row.max(Scalar::abs(a).to_f64()));
        (smallest, largest) = (smallest.min(row), largest.max(row));
    }
    if smallest <= largest { smallest / largest } else { 1.0 }
}

/// Componentwise refinement of one right-hand side after the other, by the method of `probe`.
struct Refiner<'a, T: Scalar> {
    probe: &'a dyn Probe<T>,
    op: Op,
    memory: PodBuffer,
    residual: Vec<T>,
    spare: Vec<T>,
}

impl<T: Scalar> Refiner<'_, T> {
    /// Improves x, or the answer of the method here where x is beyond repair; returns its berr and the steps.
    fn settle(&mut self, rhs: &[T], x: &mut [T]) -> Result<(f64, usize)> {
        let (error, steps) = self.refine(rhs, x);
        if error <= good::<T>() {
            return Ok((error, steps));
        }
        // A component may be so far off that every step takes ε off it and no more.
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

    /// Improves x while berr exceeds ε and is halved by every step; returns it and the steps.
    fn refine(&mut self, rhs: &[T], x: &mut [T]) -> (f64, usize) {
        let mut best = self.measure(rhs, x);
        let mut steps = 0;
        while best > T::Real::EPSILON.to_f64() && steps < MAX_STEPS {
            self.spare.copy_from_slice(x);
            let stack = PodStack::new(&mut self.memory);
            if self.probe.solve_roughly(self.op, &mut self.residual, stack).is_err() {
                break;
            }
            x.iter_mut().zip(&self.residual).for_each(|(x, dx)| *x += *dx);
            steps += 1;
            let error = self.measure(rhs, x);
            if !(error < best) {
                x.copy_from_slice(&self.spare);
                break;
            }
            let slow = error > 0.5 * best;
            best = error;
            if slow {
                break;
            }
        }
        (best, steps)
    }

    /// berr of x; its residual is left in `residual`.
    fn measure(&mut self, rhs: &[T], x: &[T]) -> f64 {
        let mut worst: f64 = 0.0;
        for (i, r) in self.residual.iter_mut().enumerate() {
            let row = ComponentRow::new(self.probe, (self.op, i), rhs[i], x);
            worst = worst.max_nan(row.error());
            *r = row.residual();
        }
        worst
    }

    /// ferr of x.
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
        // Down by so much that none overflows.
        let range = exponent(T::Real::MAX.to_f64()) - 16;
        let shift = weights.iter().map(|(w, e)| exponent(*w) + e - range).fold(0, i32::max);
        let scaled = weights.into_iter().map(|(w, e)| T::Real::from_f64(ldexp(w, (e - shift).max(-2000))));
        let weights = collected(scaled)?;
        let norm = match self.norm_of_inverse(&weights) {
            // The solve did without the pivot that the method behind it does not find.
            Err(Error::Singular { .. }) => return Ok(f64::INFINITY),
            found => found?,
        };
        let modulus = x
            .iter()
            .fold(0.0f64, |size, v| size.max(ldexp(v.re().to_f64(), -unit).hypot(ldexp(v.im().to_f64(), -unit))));
        Ok(if norm == 0.0 { 0.0 } else { ldexp(norm * epsilon / modulus, shift) })
    }

    /// ‖op(A)⁻¹·W‖∞ = ‖W·op(A)⁻ᴴ‖₁, W = diag(`weights`). (Moduli, and so the norm, are the same for Aᵀ and Aᴴ.)
    fn norm_of_inverse(&mut self, weights: &[T::Real]) -> Result<f64> {
        let (own, adjoint) =
            if self.op == Op::Plain { (Op::Plain, Op::ConjTranspose) } else { (Op::ConjTranspose, Op::Plain) };
        let (probe, memory) = (self.probe, &mut self.memory);
        let weigh = |x: &mut [T]| x.iter_mut().zip(weights).for_each(|(x, w)| *x = x.scale(*w));
        estimate_norm_1(weights.len(), |adjoined, x: &mut [T]| {
            if adjoined {
                weigh(x);
                return probe.solve_roughly(own, x, PodStack::new(memory));
            }
            probe.solve_roughly(adjoint, x, PodStack::new(memory))?;
            weigh(x);
            Ok(())
        })
    }
}
