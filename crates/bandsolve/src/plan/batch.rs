//! Many small systems: groups of systems on SIMD lanes, and several groups on each thread.
//!
//! The kernels of each kind of matrix are in `batch_tridiagonal.rs` and `batch_banded.rs`. A system whose backward error exceeds 8ε is solved
//! again alone, by the sequential method.
//!
//! Few or large systems are solved one by one (`systems_alone.rs`).

use crate::contract::determinant::Determinant;
use crate::contract::inspect::Inspect;
use crate::contract::measure::{measure, rcond_from_size};
use crate::contract::probe::{Probe, solved_roughly};
use crate::contract::refine::good;
use crate::contract::verify::{Report, attention};
use crate::contract::{Factor, Op, verify};
use crate::decision::{Decision, Options};
use crate::error::{Error, Result, check_len};
use crate::matrix::{Layout, Shape};
use crate::memory::{buffer, collected, filled, more, places, push};
use crate::method::Method;
use crate::partition::partitioned::Partitionable;
use crate::plan::any::AnyFactor;
use crate::plan::systems_alone::SystemsAlone;
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::lockstep::Shared;
use bandsolve_kernel::scalar::peak;
use bandsolve_kernel::spread::{each_chunk, group_spans, spread};
use bandsolve_kernel::sweep::{self, COMPLEX_SLACK};
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{RealScalar, Scalar, by_type};
use core::fmt::Debug;
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use smallvec::SmallVec;
use std::sync::Arc;

/// The factors of a batch. Those of one matrix for all systems are stored. Others are not: each solve recomputes them in cache.
///
/// Contiguous systems with matrices of their own are factored and solved one by one if there are at most 4, or if a diagonal takes 64 KiB. The
/// report then names the method for one system.
///
/// With method [`Cholesky`](crate::Method::Cholesky), [`NotDefinite`](crate::Error::NotDefinite) comes from [`Plan::factor`](crate::Plan::factor) if a matrix is
/// not Hermitian, or if systems are factored one by one, and otherwise from the solves.
///
/// [`Factor`] has the solves, with their shapes, cost and errors.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// // Two systems of two unknowns: [2 1; 1 2] and [3 1; 1 3].
/// let a = TridiagonalBatch::contiguous(2, 2, &[0., 1., 0., 1.], &[2., 2., 3., 3.], &[1., 0., 1., 0.])?;
/// let lu = Plan::new(a.shape()).factor(&a)?;
/// let mut x = [3.0, 3.0, 4.0, 4.0];
/// lu.solve_in_place(&mut x)?;
/// assert!(x.iter().all(|x: &f64| (x - 1.0).abs() < 1e-15));
/// assert!((lu.system(1)?.determinant()?.value() - 8.0).abs() < 1e-14); // of the second system alone
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct BatchFactor<'m, T: Scalar> {
    systems: Box<dyn SystemsOnLanes<T> + 'm>,
    decision: Decision,
    /// The factors of each system, if systems are solved one by one.
    alone: Option<SystemsAlone<'m, T>>,
}

/// The matrices of a batch, and the kernel that solves them.
pub(super) trait SystemsOnLanes<T: Scalar>: Debug + Send + Sync {
    /// `Err(NotFinite)` for the first entry that is not finite.
    fn check_finite(&self) -> Result<()>;
    /// Call `visit` with the column and the value of each entry of row `i` of system `s` of op(A), not conjugated.
    fn visit_row(&self, op: Op, s: usize, i: usize, visit: &mut dyn FnMut(usize, T));
    /// The error for the entry that is not finite, which array `array` of system `s` alone has at `index`.
    fn not_finite(&self, s: usize, array: &'static str, index: usize) -> Error;
    /// The factors of system `s` by the sequential method.
    fn system(&self, s: usize) -> Result<AnyFactor<'static, T>>;
    /// Measure x of system `s`, and solve it by the sequential method if its error is too large.
    fn measure_or_solve(&self, decision: &Decision, op: Op, s: usize, d: &[T], x: &mut [T]) -> Result<SystemOutcome>;
    /// Number of systems that the kernel solves at the same time, and whether the rest belongs to the last of these groups.
    fn group(&self, op: Op) -> Result<(usize, bool)>;
    /// Number of threads.
    fn threads(&self) -> usize;
    /// Number of reals of memory per thread.
    fn memory(&self) -> usize;
    /// Solve the systems of `span`. `found` has one element per system: the measured error and the size of a large x. Returns whether an x is
    /// large.
    fn solve(
        &self,
        op: Op,
        rhs: &[T],
        span: Range<usize>,
        found: [Reals<T>; 2],
        to: (&Shared<'_, T>, Reals<T>),
    ) -> Result<bool>;
}

/// How a system that was looked at alone was solved.
pub(super) enum SystemOutcome {
    /// x is good, with this backward error.
    Measured(f64),
    /// x was replaced.
    Solved(Report),
}

/// Measure x of a system, and solve it by the sequential method if its error is too large or the matrix is singular.
pub(super) fn measure_or_solve<T: Scalar, A: Partitionable<T>>(
    a: A,
    decision: &Decision,
    op: Op,
    (d, x): (&[T], &mut [T]),
) -> Result<SystemOutcome> {
    let a = Arc::new(a);
    let options = &decision.options;
    let error = measure(&a.equations(op, options.simd), d, x, options.threads > 1);
    let factor = A::SEQUENTIAL(&decision.with_best_pivots(), a)?;
    if error <= good::<T>() && !factor.proves_singular(op)? {
        return Ok(SystemOutcome::Measured(error));
    }
    let mut memory = buffer(factor.solve_scratch(1))?;
    factor.solve_into_with(op, d, x, PodStack::new(&mut memory)).map(SystemOutcome::Solved)
}

/// The factors of one system by the sequential method.
pub(super) fn alone<'m, T: Scalar, A: Partitionable<T> + 'm>(a: A, wish: &Options) -> Result<AnyFactor<'m, T>> {
    let plan = Plan::new(a.shape()).method(Method::Pivoted).pivoting(wish.pivoting).verify(wish.verify).threads(1);
    AnyFactor::pivoted(&plan.noise_threshold(wish.noise_threshold).decision, a)
}

/// A mutable slice of the real type of T.
pub(super) type Reals<'a, T> = &'a mut [<T as Scalar>::Real];

/// The findings about some systems.
#[derive(Default)]
struct Findings {
    /// Systems whose backward error exceeds 8ε. Without verification, systems that may be singular.
    bad: Vec<usize>,
    /// The largest bound of the backward errors of all other systems.
    worst: f64,
    /// The first of the other systems with an x so large that the matrix must be singular, and its warning.
    too_large: Option<(usize, Arc<str>)>,
}

/// Append the report of the next right-hand side of all systems.
fn take_column(outcome: &mut Report, column: &Report) -> Result<()> {
    more(&mut outcome.fallback_systems, column.fallback_systems.len())?;
    outcome.take(column);
    Ok(())
}

impl<'m, T: Scalar> BatchFactor<'m, T> {
    /// Factors of the systems on lanes, or of each one alone if they are few or large: `system` returns one of them, of shape `one`, and the
    /// first argument is `true` if they are contiguous and have matrices of their own.
    pub(super) fn new<'s: 'm, A: Factorize<Scalar = T, OwningFactor = AnyFactor<'s, T>>>(
        fits: bool,
        one: Shape,
        (decision, systems): (&Decision, Box<dyn SystemsOnLanes<T> + 'm>),
        system: impl Fn(usize) -> Result<A>,
    ) -> Result<Self> {
        let factor = Self { systems, decision: decision.clone(), alone: None };
        let in_batch = |error, s| factor.in_batch(error, s);
        let alone = SystemsAlone::new((fits, factor.size().0), one, decision, (&system, &in_batch))?;
        Ok(Self { alone, ..factor })
    }
}

impl<T: Scalar> BatchFactor<'_, T> {
    /// Number of systems, number of unknowns of each, and their order.
    fn size(&self) -> (usize, usize, Layout) {
        match self.decision.shape {
            Shape::Batch { n, count, layout, .. } | Shape::BandedBatch { n, count, layout, .. } => (count, n, layout),
            shape => unreachable!("{shape:?} is no batch"),
        }
    }

    fn index(&self, s: usize, i: usize) -> usize {
        let (count, n, layout) = self.size();
        layout.index((count, n), s, i)
    }

    /// The error of system `s` alone as an error of the batch.
    fn in_batch(&self, error: Error, s: usize) -> Error {
        match error {
            Error::NotFinite { array: array @ "rhs", index } => Error::NotFinite { array, index: self.index(s, index) },
            Error::NotFinite { array, index } => self.systems.not_finite(s, array, index),
            other => other.with_row(|row| s * self.size().1 + row),
        }
    }

    /// The systems of each thread, in groups.
    fn spans(&self, group: (usize, bool)) -> impl Iterator<Item = Range<usize>> {
        group_spans(self.size().0, group, self.systems.threads())
    }

    /// Solve the systems of `span`.
    fn solve_span(
        &self,
        op: Op,
        rhs: &[T],
        span: Range<usize>,
        [etas, sizes]: [Reals<T>; 2],
        (x, memory): (&Shared<'_, T>, Reals<T>),
    ) -> Result<Findings> {
        let large = self.systems.solve(op, rhs, span.clone(), [&mut *etas, &mut *sizes], (x, memory))?;
        let too_large = large.then(|| self.first_too_large(op, rhs, span.start, [&*etas, &*sizes], x)).flatten();
        let mut findings = Findings { too_large, ..Findings::default() };
        for (s, eta) in span.zip(etas) {
            let bound = sweep::bound::<T>(*eta);
            if bound <= good::<T>() {
                findings.worst = findings.worst.max(bound);
            } else {
                push(&mut findings.bad, s)?;
            }
        }
        Ok(findings)
    }

    /// The first of the well solved systems from `first` on with an x so large that the matrix must be singular, and its warning.
    fn first_too_large(
        &self,
        op: Op,
        rhs: &[T],
        first: usize,
        [etas, sizes]: [&[T::Real]; 2],
        x: &Shared<'_, T>,
    ) -> Option<(usize, Arc<str>)> {
        (first..).zip(etas.iter().zip(sizes)).find_map(|(s, (eta, size))| {
            let (bound, at_most) = (sweep::bound::<T>(*eta), size.to_f64() * COMPLEX_SLACK);
            let looked_at = at_most > 0.0 && bound <= good::<T>();
            let text = if looked_at { self.attention(op, rhs, s, (bound, at_most), x) } else { None };
            text.map(|text| (s, text))
        })
    }

    /// A warning if x of system `s` is so large that the matrix must be singular ([`rcond_from_size`]). `at_most` is a bound of its size.
    fn attention(
        &self,
        op: Op,
        rhs: &[T],
        s: usize,
        (eta, at_most): (f64, f64),
        x: &Shared<'_, T>,
    ) -> Option<Arc<str>> {
        let n = self.size().1;
        let size = |v: T| Scalar::abs(v).to_f64();
        let ratio = |i: usize| match rhs[self.index(s, i)] {
            d if d == T::ZERO => 0.0,
            d => {
                let mut sum = 0.0;
                self.systems.visit_row(op, s, i, &mut |_, v| sum += size(v));
                size(d) / sum
            }
        };
        let largest = || (0..n).map(|i| peak(x.get(self.index(s, i))).to_f64()).fold(0.0, f64::max_nan);
        let rcond = rcond_from_size::<T>(n, ratio, (at_most, largest))?;
        attention(T::Real::EPSILON.to_f64(), Some(rcond), eta, None).map(Arc::from)
    }

    /// [`Factor::solve_into_with`], compiled once in this crate for each number type.
    fn solve_all(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let _mode = Standard::enter();
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let decision = self.alone.as_ref().map_or(&self.decision, SystemsAlone::decision);
        let mut outcome = Report::new(decision).with_room(if decision.options.verify { n_rhs } else { 0 })?;
        if rhs.is_empty() {
            return Ok(outcome);
        }
        let (count, n, _) = self.size();
        let mut failure = None;
        let columns = rhs.chunks_exact(n * count).zip(x.chunks_exact_mut(n * count));
        if let Some(alone) = &self.alone {
            for column in columns {
                match alone.solve(op, column, stack, &|error, s| self.in_batch(error, s)) {
                    Ok(report) => take_column(&mut outcome, &report)?,
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            return failure.map_or(Ok(outcome), Err);
        }
        let (of_thread, group) = (self.systems.memory(), self.systems.group(op)?);
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(of_thread * self.systems.threads(), 64);
        let (etas, stack) = stack.make_raw::<T::Real>(count);
        let (sizes, _) = stack.make_raw::<T::Real>(count);
        for (rhs, x) in columns {
            let x = &Shared::new(x);
            let (mut etas, mut sizes) = (&mut *etas, &mut *sizes);
            let parts = memory.chunks_exact_mut(of_thread).zip(self.spans(group)).map(|(memory, span)| {
                let (eta, size);
                (eta, etas) = core::mem::take(&mut etas).split_at_mut(span.len());
                (size, sizes) = core::mem::take(&mut sizes).split_at_mut(span.len());
                (span, [eta, size], memory, Ok(Findings::default()))
            });
            let mut parts: SmallVec<[_; 8]> = parts.collect();
            spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
                for (span, [etas, sizes], memory, findings) in parts {
                    *findings = self.solve_span(op, rhs, span.clone(), [etas, sizes], (x, memory));
                }
            });
            let mut column = Report::new(&self.decision);
            let findings = parts.into_iter().map(|part| part.3).collect::<Result<_>>()?;
            match self.solve_bad(op, rhs, findings, (&mut column, x)) {
                Ok(()) => take_column(&mut outcome, &column)?,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(outcome), Err)
    }

    /// Solve bad systems again alone, and write the findings about all systems to the report of a right-hand side. Returns the first
    /// error.
    fn solve_bad(
        &self,
        op: Op,
        rhs: &[T],
        findings: SmallVec<[Findings; 8]>,
        (report, x): (&mut Report, &Shared<'_, T>),
    ) -> Result<()> {
        let mut worst = findings.iter().fold(0.0, |worst: f64, part| worst.max(part.worst));
        let mut too_large = findings.iter().find_map(|part| part.too_large.clone());
        let mut outcome = Ok(());
        for s in findings.into_iter().flat_map(|part| part.bad) {
            match self.measure_or_solve_alone(op, rhs, s, x) {
                Ok(alone) => {
                    worst = worst.max_nan(alone.backward_error);
                    report.refinement_steps = report.refinement_steps.max(alone.refinement_steps);
                    if alone.fallback {
                        report.fallback = true;
                        push(&mut report.fallback_systems, s)?;
                    }
                    let before = too_large.as_ref().is_some_and(|(first, _)| *first < s);
                    if let Some(text) = alone.attention.filter(|_| !before) {
                        too_large = Some((s, text));
                    }
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        report.attention = too_large.map(|(_, text)| text);
        if self.decision.options.verify {
            report.push(worst);
        }
        outcome
    }

    /// Measure system `s` exactly. If its backward error exceeds 8ε, solve it again alone, which the report calls a fallback.
    fn measure_or_solve_alone(&self, op: Op, rhs: &[T], s: usize, out: &Shared<'_, T>) -> Result<Report> {
        let n = self.size().1;
        let d = collected((0..n).map(|i| rhs[self.index(s, i)]))?;
        let mut x = collected((0..n).map(|i| out.get(self.index(s, i))))?;
        let alone = self.systems.measure_or_solve(&self.decision, op, s, &d, &mut x);
        match alone {
            Ok(SystemOutcome::Measured(error)) => {
                let mut report = Report::new(&self.decision);
                report.attention = self.attention(op, rhs, s, (error, f64::INFINITY), out);
                report.backward_error = error;
                Ok(report)
            }
            Ok(SystemOutcome::Solved(report)) => {
                x.iter().enumerate().for_each(|(i, x)| out.put(self.index(s, i), *x));
                Ok(Report { fallback: true, ..report })
            }
            Err(error) => {
                x.iter().enumerate().for_each(|(i, x)| out.put(self.index(s, i), *x));
                Err(self.in_batch(error, s))
            }
        }
    }
}

impl<T: Scalar> BatchFactor<'_, T> {
    /// Factor system `s` alone, by the sequential pivoted method.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    ///
    /// # Panics
    /// If `s` is not less than the number of systems.
    pub fn system(&self, s: usize) -> Result<AnyFactor<'static, T>> {
        let count = self.size().0;
        assert!(s < count, "the batch has {count} systems, but system {s} was requested");
        let _mode = Standard::enter();
        self.systems.system(s)
    }

    /// Call a function with the factors of each system and return the results in the order of the systems.
    ///
    /// The systems share all threads, unless the plan has one thread.
    ///
    /// # Cost
    /// A sequential factorisation and a call of `call` per system.
    ///
    /// # Errors
    /// The error of the first failed system, from `call` or [`system`](Self::system).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::prelude::*;
    /// // Two systems of two unknowns: [2 1; 1 2] and [3 1; 1 3].
    /// let a = TridiagonalBatch::contiguous(2, 2, &[0., 1., 0., 1.], &[2., 2., 3., 3.], &[1., 0., 1., 0.])?;
    /// let lu = Plan::new(a.shape()).factor(&a)?;
    /// let conditions: Vec<f64> = lu.of_systems(|system| system.rcond(Norm::One))?;
    /// assert!((conditions[0] - 1.0 / 3.0).abs() < 1e-15 && (conditions[1] - 0.5).abs() < 1e-15);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn of_systems<R: Send>(&self, call: impl Fn(&AnyFactor<'static, T>) -> Result<R> + Sync) -> Result<Vec<R>> {
        let mut results = places(self.size().0)?;
        let of_system =
            |s: usize, result: &mut [Option<Result<R>>]| result[0] = Some(self.system(s).and_then(|of| call(&of)));
        each_chunk((results.len(), usize::from(self.decision.options.threads > 1)), &mut results[..], &of_system);
        filled(results)
    }
}

impl<T: Scalar> Inspect<T> for BatchFactor<'_, T> {
    fn probe(&self) -> &dyn Probe<T> {
        self
    }
}

/// The batch as one matrix with the systems on its diagonal.
impl<T: Scalar> Probe<T> for BatchFactor<'_, T> {
    fn visit_row(&self, op: Op, i: usize, visit: &mut dyn FnMut(usize, T)) {
        let (count, n, layout) = self.size();
        let (s, i) = layout.place((count, n), i);
        self.systems.visit_row(op, s, i, &mut |j, v| {
            visit(self.index(s, j), if op == Op::ConjTranspose { Scalar::conj(v) } else { v });
        });
    }

    fn check_finite(&self) -> Result<()> {
        self.systems.check_finite()
    }

    fn solve_roughly(&self, op: Op, x: &mut [T], stack: &mut PodStack) -> Result<()> {
        solved_roughly(self.solve_in_place_with(op, x, stack))
    }

    fn known_determinant(&self) -> Result<Determinant<T>> {
        let all = self.of_systems(|system| system.determinant())?;
        Ok(all.iter().fold(Determinant::ONE, |product, next| product.times(next)))
    }

    fn scales_rows(&self) -> bool {
        self.decision.options.scaling() == Scaling::Rows
    }
}

by_type! {
    /// The solve for each number type, so that no other place compiles it.
    struct SolveSystems<'f, 'm: 'f>:
        (&'f BatchFactor<'m, T>, Op, &'f [T], &'f mut [T], &'f mut PodStack) => Result<Report> =
            |(factor, op, rhs, x, stack)| factor.solve_all(op, rhs, x, stack);
}

impl<T: Scalar> Factor<T> for BatchFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.decision.shape
    }

    fn solve_scratch(&self, _n_rhs: usize) -> StackReq {
        let (count, n, _) = self.size();
        if count * n == 0 {
            return StackReq::empty();
        }
        if let Some(alone) = &self.alone {
            return alone.scratch();
        }
        let of_systems = StackReq::new::<T::Real>(count);
        let of_threads = self.systems.memory() * self.systems.threads();
        StackReq::new_aligned::<T::Real>(of_threads, 64).and(of_systems).and(of_systems)
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        T::by_type::<SolveSystems>((self, op, rhs, x, stack))
    }
}
