//! The accuracy contract: what a solve reports, and what is done when the answer is not good enough.

pub(crate) use crate::contract::measure::backward_error;
use crate::decision::{Decision, Pivoting};
use crate::error::{Error, Result};
use crate::memory::out_of_memory;
use crate::method::Method;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
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
///
/// # Examples
/// ```
/// use bandsolve::Tridiagonal;
/// let report = Tridiagonal::new(&[-1.0; 4], &[2.5; 5], &[-1.0; 4])?.solve(&[1.0; 5])?.report;
/// assert!(report.backward_error <= 8.0 * f64::EPSILON);
/// assert!(!report.fallback && report.attention.is_none());
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// Says in words where x may have no correct digit, see [`attention`].
    ///
    /// It is said if x is so large beside the right-hand side that the matrix must be singular to working precision. This costs nothing, but
    /// does not find every such matrix: [`Inspect::rcond`](crate::Inspect::rcond) and the error bounds of [`ExpertReport`](crate::ExpertReport)
    /// do, by a few solves. Of several right-hand sides, or systems of a batch, it tells of the first. Without verification, batches and
    /// methods that cut a system into partitions look only at what was solved again.
    pub attention: Option<Arc<str>>,
}

/// A solved system.
///
/// # Examples
/// ```
/// use bandsolve::{Solution, Tridiagonal};
/// let Solution { values, report } = Tridiagonal::new(&[0.0], &[2.0, 4.0], &[0.0])?.solve(&[2.0, 4.0])?;
/// assert_eq!(values, [1.0, 1.0]);
/// assert_eq!(report.backward_error, 0.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
pub const TOLERABLE: f64 = 64.0;
/// Refinement steps with the same factors.
pub const MAX_REFINEMENTS: usize = 3;

/// What a report says in words where x may have no correct digit. Every solver, and every door, takes the words and the limits from here.
///
/// - `rcond`: an estimate of the reciprocal condition of the matrix, where there is one. An error of x, relative to its largest entry,
///   can be 2η/rcond, where η is the backward error. With the factor 2 by which estimates of the condition are often too small, x may
///   have no correct digit where rcond < 4η; and where rcond < ε, because then the rounding of the matrix alone changes all digits.
/// - `forward_error`: the error of x relative to its largest entry, where the solution is known.
///
/// `epsilon` is that of the number type in which the system was solved.
///
/// ```
/// use bandsolve::attention;
/// assert_eq!(attention(f64::EPSILON, Some(1e-3), 1e-16, None), None);
/// assert!(attention(f64::EPSILON, Some(1e-17), 1e-16, None).unwrap().contains("no correct digit"));
/// assert!(attention(f64::EPSILON, None, 1e-16, Some(2.7)).is_some());
/// ```
pub fn attention(epsilon: f64, rcond: Option<f64>, backward_error: f64, forward_error: Option<f64>) -> Option<String> {
    // A backward error that was not measured (NaN) changes nothing.
    let limit = epsilon.max(4.0 * backward_error);
    match (rcond, forward_error) {
        (Some(rcond), _) if rcond < limit => Some(format!(
            "x may have no correct digit: the matrix is singular to working precision (reciprocal condition {rcond:.1e})"
        )),
        (_, Some(error)) if error > HARDLY_A_DIGIT => {
            Some(format!("x has hardly a correct digit: its error is {error:.1e} of its largest entry"))
        }
        _ => None,
    }
}

/// The error of x, relative to its largest entry, above which reports say that x has hardly a correct digit.
const HARDLY_A_DIGIT: f64 = 1e-2;

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
            attention: None,
        };
        errors.unwrap_or_default().iter().for_each(|error| report.push(*error));
        report
    }

    /// Nothing solved yet, by the method that `plan` chose.
    pub(crate) fn new(decision: &Decision) -> Self {
        Self::of(&Facts::new(decision))
    }

    /// Nothing solved yet.
    pub(crate) fn of(facts: &Facts) -> Self {
        Self {
            method: facts.method,
            reason: facts.reason.clone(),
            backward_error: if facts.verify { 0.0 } else { f64::NAN },
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            fallback: false,
            pivot_growth: facts.pivot_growth,
            attention: None,
        }
    }

    /// The same with room for `n_rhs` right-hand sides, or `Err(OutOfMemory)`.
    pub(crate) fn with_room(mut self, n_rhs: usize) -> Result<Self> {
        self.backward_errors.try_reserve(n_rhs).map_err(|_| out_of_memory::<f64>(n_rhs))?;
        Ok(self)
    }

    /// Takes in what was found of the next right-hand sides.
    pub fn take(&mut self, next: &Report) {
        self.backward_errors.extend_from_slice(&next.backward_errors);
        self.take_repairs(next);
    }

    /// Takes in what was found of other systems of a batch, with the same number of right-hand sides.
    pub fn take_systems(&mut self, other: &Report) {
        let errors = self.backward_errors.iter_mut().zip(&other.backward_errors);
        errors.for_each(|(error, other)| *error = error.max_nan(*other));
        self.take_repairs(other);
    }

    /// Takes in all but the backward error of each right-hand side.
    fn take_repairs(&mut self, other: &Report) {
        self.backward_error = self.backward_error.max_nan(other.backward_error);
        self.refinement_steps = self.refinement_steps.max(other.refinement_steps);
        self.fallback |= other.fallback;
        self.attention = self.attention.take().or_else(|| other.attention.clone());
    }

    /// Takes in the backward error of the next right-hand side.
    pub(crate) fn push(&mut self, error: f64) {
        self.backward_errors.push(error);
        self.backward_error = self.backward_error.max_nan(error);
    }
}

/// What a method knows beside its factors.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub method: Method,
    pub verify: bool,
    pub parallel: bool,
    pub simd: Simd,
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
            simd: decision.options.simd,
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

    /// The factors, if they were made.
    pub fn made(&self) -> Option<&F> {
        self.0.get()?.as_ref().ok()
    }
}

/// A residual and a spare x for refinement, one right-hand side of `n` unknowns at a time.
pub(crate) fn refinement_scratch<T: Scalar>(verify: bool, n: usize) -> StackReq {
    let n = if verify { n } else { 0 };
    StackReq::new::<T>(n).and(StackReq::new::<T>(n))
}

/// Scratch of a verified solve whose own is `words` for a number of right-hand sides.
pub(crate) fn with_refinement<T: Scalar>(
    decision: &Decision,
    n: usize,
    n_rhs: usize,
    words: impl Fn(usize) -> usize,
) -> StackReq {
    let own = |n_rhs| StackReq::new::<T>(words(n_rhs));
    own(n_rhs).or(refinement_scratch::<T>(decision.options.verify, n).and(own(1)))
}

/// `Err(NotFinite)` for the first entry of `values` that is NaN or infinite; `values` stands at `offset` of `array`.
pub(crate) fn check_finite<T: Scalar>(array: &'static str, values: &[T], offset: usize) -> Result<()> {
    match values.iter().position(|v| !Scalar::is_finite(*v)) {
        Some(index) => Err(Error::NotFinite { array, index: offset + index }),
        None => Ok(()),
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
