//! The accuracy contract: what a solve reports, and what is done when the answer is not good enough.

use crate::error::{Error, Result};
use crate::matrix::Rows;
use crate::plan::{Method, Plan};
use crate::scalar::{RealScalar, Scalar};
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;
use std::sync::Arc;

/// What a solve did and how good its answer is.
///
/// The backward error of one right-hand side is
///
/// $$ \eta = \max_i \frac{|d_i - (Ax)_i|}{(\sum_j |a_{ij}|)\,\|x\|_\infty + |d_i|} $$
///
/// It is measured while x is written, against a lower bound of ‖x‖∞ that is known by then, so that the reported number
/// is never below η. Where it would exceed 8ε it is measured exactly.
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
    /// Most refinement steps that a right-hand side took.
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
/// Accepted after refinement and fallback, and said so: 64ε.
pub(crate) const TOLERABLE: f64 = 64.0;
/// Refinement steps with the same factors.
pub(crate) const MAX_REFINEMENTS: usize = 3;

/// `Err(Scratch)` if `stack` cannot hold `needed`.
pub(crate) fn check_scratch(needed: StackReq, stack: &PodStack) -> Result<()> {
    if stack.can_hold(needed) {
        Ok(())
    } else {
        Err(Error::Scratch { expected: needed.unaligned_bytes_required(), got: stack.len_bytes() })
    }
}

impl Report {
    /// Nothing solved yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            method: plan.chosen_method(),
            reason: plan.shared_reason(),
            backward_error: if plan.options.verify { 0.0 } else { f64::NAN },
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            fallback: false,
            pivot_growth: None,
        }
    }

    /// Takes in the backward error of the next right-hand side.
    pub(crate) fn push(&mut self, error: f64) {
        self.backward_errors.push(error);
        self.backward_error = self.backward_error.max_nan(error);
    }
}

/// Placeholder
pub(crate) fn backward_error<T: Scalar>(rows: Rows<'_, T>, rhs: &[T], x: &[T]) -> f64 {
    let xmax = x.iter().fold(0.0, |m: f64, x| m.max_nan(Scalar::abs(*x).to_f64()));
    let mut worst: f64 = 0.0;
    for i in 0..rows.n() {
        let (a, b, c) = rows.row(i);
        let num = Scalar::abs(rhs[i] - rows.dot(i, x)).to_f64();
        let den = (Scalar::abs(a) + Scalar::abs(b) + Scalar::abs(c)).to_f64() * xmax + Scalar::abs(rhs[i]).to_f64();
        worst = worst.max_nan(if num == 0.0 { 0.0 } else { num / den });
    }
    worst
}
