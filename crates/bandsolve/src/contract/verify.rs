//! The accuracy contract: the limits of the backward error, and the report of a solve.

#[cfg(test)]
pub(crate) use crate::contract::measure::backward_error;
use crate::decision::{Decision, Pivoting};
use crate::error::{Error, Result};
use crate::memory::out_of_memory;
use crate::method::Method;
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// The report of a solve: the method, the backward errors, and what was needed to reach them.
///
/// `M` is the type of the method: [`Method`], or that of another crate. The `PoissonReport` of `bandsolve-poisson` contains such a report.
///
/// The backward error of one right-hand side d is
///
/// ```text
/// η = maxᵢ |dᵢ − (Ax)ᵢ| / ((Σⱼ |aᵢⱼ|) ‖x‖∞ + |dᵢ|)
/// ```
///
/// The formula uses the smallest normal number if ‖x‖∞ is less, because smaller numbers have a relative error above ε.
///
/// Methods with partitions on SIMD lanes, batches, `pivoted` for its first right-hand side, and many right-hand sides of a narrow band measure an
/// upper bound of η while they write x, from a lower bound of ‖x‖∞. If this upper bound is too large, they measure η itself. All other methods
/// measure η after the solve. The reported number is therefore never less than η, up to rounding.
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
pub struct Report<M = Method> {
    /// The method of the plan. If `Auto` chose `rpts` and it truncated the coarse system, this is
    /// [`SpikeTruncated`](Method::SpikeTruncated). If the plan has method `Auto`, many right-hand sides of a narrow band are solved by
    /// [`Pivoted`](Method::Pivoted) on SIMD lanes.
    ///
    /// `method` names this method even if [`fallback`](Self::fallback) is true. The sequential pivoted solver (`pivoted`) then computed
    /// x of at least one right-hand side.
    pub method: M,
    /// The reason for the choice of the method.
    pub reason: Arc<str>,
    /// Largest of [`backward_errors`](Self::backward_errors); NaN if verification was turned off.
    pub backward_error: f64,
    /// Row-wise backward error of each right-hand side; empty if verification was turned off.
    pub backward_errors: SmallVec<[f64; 4]>,
    /// Maximum number of refinement steps over the right-hand sides. A local repair of x counts as one step.
    pub refinement_steps: usize,
    /// Whether the sequential pivoted solver had to solve again for at least one right-hand side.
    pub fallback: bool,
    /// Numbers of the systems of a batch that the sequential pivoted solver had to solve again, for any right-hand side, in ascending order.
    /// Empty for a single system.
    pub fallback_systems: Vec<usize>,
    /// Largest entry of the factors relative to the largest entry of the matrix, if the method knows this ratio.
    pub pivot_growth: Option<f64>,
    /// A warning in words if x may have no correct digit; `None` otherwise.
    ///
    /// The warning appears if x is so large, compared with the right-hand side, that the matrix must be singular to working precision.
    /// This check costs nothing but does not find every such matrix. [`Inspect::rcond`](crate::Inspect::rcond) and the error bounds of
    /// [`ExpertReport`](crate::ExpertReport) are more reliable, at the cost of a few solves.
    ///
    /// For several right-hand sides or a batch, the warning is about the first one concerned. Without verification, batches and
    /// methods with partitions check only systems that were solved again.
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
    /// The method and the backward errors.
    pub report: Report,
}

/// The warning of a report if x may have no correct digit. All solvers and interfaces use this function.
///
/// - `epsilon`: ε of the number type in which the system was solved.
/// - `rcond`: an estimate of the reciprocal condition of the matrix, if there is one. The error of x, relative to its largest entry,
///   can be 2η/rcond, where η is the backward error. Estimates of the condition are often too small by a factor of 2. x may therefore
///   have no correct digit if rcond < 4η. The same holds if rcond < ε, because rounding the matrix then changes all digits of x.
/// - `forward_error`: the error of x relative to its largest entry, if the solution is known.
///
/// # Examples
/// ```
/// use bandsolve::attention;
/// assert_eq!(attention(f64::EPSILON, Some(1e-3), 1e-16, None), None);
/// assert!(attention(f64::EPSILON, Some(1e-17), 1e-16, None).unwrap().contains("no correct digit"));
/// assert!(attention(f64::EPSILON, None, 1e-16, Some(2.7)).is_some());
/// ```
pub fn attention(epsilon: f64, rcond: Option<f64>, backward_error: f64, forward_error: Option<f64>) -> Option<String> {
    // `max` ignores a backward error that was not measured (NaN).
    let limit = epsilon.max(4.0 * backward_error);
    match (rcond, forward_error) {
        (Some(rcond), _) if rcond < limit => Some(format!(
            "x may have no correct digit: the matrix is singular to working precision (reciprocal condition {rcond:.1e})"
        )),
        (_, Some(error)) if error > FEW_DIGITS => Some(format!(
            "x has fewer than two correct digits: its largest error is {error:.1e} times the largest entry"
        )),
        _ => None,
    }
}

/// The error of x, relative to its largest entry, above which [`attention`] warns.
const FEW_DIGITS: f64 = 1e-2;

/// `Err(Scratch)` if `stack` cannot hold `needed`.
pub(crate) fn check_scratch(needed: StackReq, stack: &PodStack) -> Result<()> {
    if stack.can_hold(needed) {
        Ok(())
    } else {
        Err(Error::Scratch { expected: needed.unaligned_bytes_required(), got: stack.len_bytes() })
    }
}

impl<M> Report<M> {
    /// The report of a verified solve before its first right-hand side.
    pub fn empty(method: M, reason: Arc<str>) -> Self {
        Self {
            method,
            reason,
            backward_error: 0.0,
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            fallback: false,
            fallback_systems: Vec::new(),
            pivot_growth: None,
            attention: None,
        }
    }

    /// The same report with another name for the method.
    pub fn named<N>(self, method: N) -> Report<N> {
        let Self {
            method: _,
            reason,
            backward_error,
            backward_errors,
            refinement_steps,
            fallback,
            fallback_systems,
            pivot_growth,
            attention,
        } = self;
        Report {
            method,
            reason,
            backward_error,
            backward_errors,
            refinement_steps,
            fallback,
            fallback_systems,
            pivot_growth,
            attention,
        }
    }

    /// Append the backward error of the next right-hand side.
    pub fn push(&mut self, error: f64) {
        self.backward_errors.push(error);
        self.backward_error = self.backward_error.max_nan(error);
    }
}

impl Report {
    /// The report of a solver outside of this crate, with the backward error of each right-hand side (`None`: not verified).
    pub fn external(method: Method, reason: &str, errors: Option<&[f64]>) -> Self {
        let mut report = Self::empty(method, reason.into());
        match errors {
            Some(errors) => errors.iter().for_each(|error| report.push(*error)),
            None => report.backward_error = f64::NAN,
        }
        report
    }

    /// An empty report for the method that was decided on.
    pub(crate) fn new(decision: &Decision) -> Self {
        Self::of(&Facts::new(decision))
    }

    /// An empty report.
    pub(crate) fn of(facts: &Facts) -> Self {
        let backward_error = if facts.verify { 0.0 } else { f64::NAN };
        let empty = Self::empty(facts.method, facts.reason.clone());
        Self { backward_error, pivot_growth: facts.pivot_growth, ..empty }
    }

    /// Reserve room for the backward errors of `n_rhs` right-hand sides, or return `Err(OutOfMemory)`.
    pub(crate) fn with_room(mut self, n_rhs: usize) -> Result<Self> {
        self.backward_errors.try_reserve(n_rhs).map_err(|_| out_of_memory::<f64>(n_rhs))?;
        Ok(self)
    }

    /// Append the report of the next right-hand sides. Those of a batch belong to the same systems.
    pub fn take(&mut self, next: &Report) {
        self.backward_errors.extend_from_slice(&next.backward_errors);
        self.take_repairs(next);
    }

    /// Merge the report of other systems of the batch, with the same number of right-hand sides. `other.fallback_systems` counts the systems
    /// of the whole batch.
    pub fn take_systems(&mut self, other: &Report) {
        let errors = self.backward_errors.iter_mut().zip(&other.backward_errors);
        errors.for_each(|(error, other)| *error = error.max_nan(*other));
        self.take_repairs(other);
    }

    /// Merge everything except the backward error of each right-hand side.
    fn take_repairs(&mut self, other: &Report) {
        self.backward_error = self.backward_error.max_nan(other.backward_error);
        self.refinement_steps = self.refinement_steps.max(other.refinement_steps);
        self.fallback |= other.fallback;
        if !other.fallback_systems.is_empty() {
            self.fallback_systems.extend_from_slice(&other.fallback_systems);
            self.fallback_systems.sort_unstable();
            self.fallback_systems.dedup();
        }
        self.attention = self.attention.take().or_else(|| other.attention.clone());
    }
}

/// Everything that a report and the contract need to know about a factorisation.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub method: Method,
    pub verify: bool,
    pub parallel: bool,
    pub simd: Simd,
    /// Whether elimination first multiplies the rows by powers of two.
    pub scaled: bool,
    /// Whether a zero pivot proves the matrix singular: rows are scaled and exchanged, so that nothing underflows, and no pivot
    /// counts as noise.
    pub exchanges: bool,
    pub reason: Arc<str>,
    /// The first row without a pivot.
    pub singular: Option<usize>,
    pub pivot_growth: Option<f64>,
}

impl Facts {
    /// The facts before the factorisation.
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

    /// The facts of the sequential pivoted method, whichever method was decided on.
    pub fn pivoted(decision: &Decision) -> Self {
        Self { method: Method::Pivoted, ..Self::new(decision) }
    }
}

/// Factors that are computed when they are first needed.
///
/// They are computed without a lock. A thread that waits for other threads may start another solve with the same factors, which
/// would wait for the lock forever.
#[derive(Debug)]
pub(crate) struct Lazy<F>(OnceLock<Result<F>>);

impl<F> Lazy<F> {
    pub fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The factors, computed by `make` if there are none yet. An error of the matrix is kept, too.
    pub fn get(&self, make: impl FnOnce() -> Result<F>) -> Result<&F> {
        if self.0.get().is_none() {
            match make() {
                // A later call may find enough memory.
                Err(error @ Error::OutOfMemory { .. }) => return Err(error),
                computed => _ = self.0.set(computed),
            }
        }
        self.0.get().expect("set").as_ref().map_err(Clone::clone)
    }

    /// The factors, if they have been computed.
    pub fn computed(&self) -> Option<&F> {
        self.0.get()?.as_ref().ok()
    }
}

/// Scratch for refinement: a residual and a copy of x, for one right-hand side of `n` unknowns at a time.
pub(crate) fn refinement_scratch<T: Scalar>(verify: bool, n: usize) -> StackReq {
    let n = if verify { n } else { 0 };
    StackReq::new::<T>(n).and(StackReq::new::<T>(n))
}

/// Scratch of a verified solve. The method itself needs `words(n_rhs)` numbers.
pub(crate) fn with_refinement<T: Scalar>(
    decision: &Decision,
    n: usize,
    n_rhs: usize,
    words: impl Fn(usize) -> usize,
) -> StackReq {
    let columns = |n_rhs| StackReq::new::<T>(words(n_rhs));
    columns(n_rhs).or(refinement_scratch::<T>(decision.options.verify, n).and(columns(1)))
}

/// `Err(NotFinite)` for the first NaN or infinity in `values`, which begins at index `offset` of `array`.
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
    fn factors_are_computed_again_after_a_lack_of_memory() {
        let (lazy, short) = (Lazy::new(), Error::OutOfMemory { bytes: 8 });
        assert_eq!(lazy.get(|| Err(short.clone())), Err(short));
        assert_eq!(lazy.get(|| Ok(3)), Ok(&3));
        assert_eq!(lazy.get(|| unreachable!("made already")), Ok(&3));
    }

    #[test]
    fn errors_of_the_matrix_are_kept() {
        let (lazy, singular) = (Lazy::<i32>::new(), Error::Singular { row: 3 });
        assert_eq!(lazy.get(|| Err(singular.clone())), Err(singular.clone()));
        assert_eq!(lazy.get(|| unreachable!("asked already")), Err(singular));
    }
}
