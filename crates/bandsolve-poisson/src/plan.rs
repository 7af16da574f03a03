//! A problem with the factors of one method: solve, verification and refinement.

use crate::condition::Condition;
use crate::level::{WeightedMean, levelled};
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::operator::{MeasureResiduals, SystemCheck, SystemOperator, WriteResiduals};
use crate::order::AxisOrder;
use crate::report::{PoissonReport, PoissonSolution, Solved};
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, RightHandSide, SideTerms, strides_of};
use crate::verify::Question;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::buffer;
use bandsolve::{
    Error, RefinedColumns, RefinedSystem, Report, Result, Scalar, Simd, StoppingRule, good, refine, tolerable,
};
use bandsolve_kernel::arithmetic::Standard;
use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use smallvec::SmallVec;
use std::sync::Arc;

/// A problem with its transforms and factors, ready to solve for any number of right-hand sides.
///
/// [`Poisson::plan`](crate::Poisson::plan) and [`SeparablePencils::plan`](crate::SeparablePencils::plan) make plans.
///
/// | function | result u | scratch memory |
/// | --- | --- | --- |
/// | [`solve`](Self::solve) | a new array | allocated |
/// | [`solve_into`](Self::solve_into) | the caller's array | allocated |
/// | [`solve_into_with`](Self::solve_into_with) | the caller's array | the caller's |
/// | [`solve_in_place`](Self::solve_in_place) | overwrites f | allocated |
/// | [`solve_in_place_with`](Self::solve_in_place_with) | overwrites f | the caller's |
///
/// # Shapes
/// f and u have one number per unknown, in C order: the last axis is contiguous. Several right-hand sides follow one another.
///
/// # Cost
/// O(log n) flops per unknown and axis with constant spacing. [`Poisson`](crate::Poisson) has the cost of other axes, and
/// [`factor_bytes`](Self::factor_bytes) the memory.
///
/// # Errors
/// [`solve`](Self::solve) lists the errors of all solves.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{Boundary, Grid, Poisson};
/// // The pressure of a flow: unknowns in cells, no flow through the sides.
/// let problem = Poisson::new(&[64, 96]).grid(Grid::Cell).boundary(Boundary::neumann(0.0)).spacing(0.1);
/// let plan = problem.plan::<f64>()?;
/// let mut p: Vec<f64> = (0..64 * 96).map(|k| if k % 2 == 0 { 1.0 } else { -1.0 }).collect();
/// let report = plan.solve_in_place(&mut p)?;
/// assert!(report.removed == 0.0 && report.mean == Some(0.0) && p.iter().sum::<f64>().abs() < 1e-9);
/// # Ok::<(), bandsolve::Error>(())
/// ```
pub struct PoissonPlan<T: PoissonScalar> {
    shape: SmallVec<[usize; 3]>,
    method: PoissonMethod,
    reason: Arc<str>,
    /// `None` if there are no unknowns.
    core: Option<PlanCore<T>>,
    subproblems: usize,
    mean: f64,
    removable: f64,
}

/// The parts of a plan that has unknowns.
pub(crate) struct PlanCore<T: PoissonScalar> {
    pub order: AxisOrder,
    pub sides: SideTerms<T>,
    pub operator: SystemOperator<T>,
    /// The volumes along each axis, divided by their sum, if the problem is singular.
    pub weights: Option<[Vec<f64>; 3]>,
    pub condition: Condition,
    pub solver: Box<dyn SeparableSolver<T>>,
    pub threads: usize,
    pub simd: Simd,
}

impl<T: PoissonScalar> core::fmt::Debug for PoissonPlan<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PoissonPlan").field("shape", &self.shape).field("method", &self.method).finish_non_exhaustive()
    }
}

impl<T: PoissonScalar> PoissonPlan<T> {
    /// `core` is `None` if there are no unknowns.
    pub(crate) fn new(shape: &[usize], (method, reason): (PoissonMethod, String), core: Option<PlanCore<T>>) -> Self {
        // Counting them can allocate memory, and each report contains their number.
        let subproblems = core.as_ref().map_or(0, |core| core.solver.subproblems());
        Self { shape: shape.into(), method, reason: reason.into(), core, subproblems, mean: 0.0, removable: 0.1 }
    }

    pub(crate) fn with_mean(self, mean: f64, removable: f64) -> Self {
        Self { mean, removable, ..self }
    }

    /// The number of unknowns along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The total number of unknowns.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the box has no unknowns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The method, and why the plan uses it.
    pub fn method(&self) -> (PoissonMethod, &str) {
        (self.method, &self.reason)
    }

    /// An estimate of the reciprocal condition number; NaN if not known. See [`PoissonReport::rcond`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_poisson::Poisson;
    /// // The smallest eigenvalue of −Δ on n × n nodes is about 2π²/(n + 1)². The sum of |a_ij| over a row is 8.
    /// let plan = Poisson::new(&[99, 99]).plan::<f64>()?;
    /// assert!((plan.rcond() - 2.48e-4).abs() < 1e-6);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn rcond(&self) -> f64 {
        self.core.as_ref().map_or(1.0, |core| core.condition.rcond)
    }

    /// The number of tridiagonal systems that a solve contains for each right-hand side.
    pub fn subproblems(&self) -> usize {
        self.subproblems
    }

    /// The size of the factors of this plan, in bytes.
    ///
    /// Factors and scratch of [`solve_into_with`](Self::solve_into_with) take at most twice the bytes of the solution. This bound holds for
    /// boxes with at least 30 unknowns per axis and 32768 in total, without matrices of eigenvectors.
    ///
    /// Matrices of eigenvectors are additional: 2·n² numbers for each axis with products by eigenvectors. These axes are:
    ///
    /// - all axes except one with method `gemm`,
    /// - all axes except one of [`SeparablePencils`](crate::SeparablePencils), with only n² numbers for the last axis,
    /// - the second and the third axis with variable spacing or Robin sides.
    ///
    /// On a rectangle with at least 64 unknowns along each axis and 32768 in total, and c ≥ 0, `auto` chooses `pscr` instead of such products.
    ///
    /// Plans with a negative shift or a negative α/β at a Robin side also store pivoted factors of some systems. This number does not
    /// include these factors.
    pub fn factor_bytes(&self) -> usize {
        self.core.as_ref().map_or(0, |core| core.solver.bytes())
    }

    /// The scratch memory that [`solve_into_with`](Self::solve_into_with) needs.
    ///
    /// A solve touches most of this memory only to refine u, or if the tridiagonal systems do not lie along the first axis.
    pub fn solve_scratch(&self) -> StackReq {
        self.core.as_ref().map_or(StackReq::EMPTY, PlanCore::scratch)
    }

    /// The scratch memory that [`solve_in_place_with`](Self::solve_in_place_with) needs: [`solve_scratch`](Self::solve_scratch) and a copy of f.
    pub fn solve_in_place_scratch(&self) -> StackReq {
        let Some(core) = &self.core else { return StackReq::EMPTY };
        StackReq::new::<T>(self.len()).and(core.scratch())
    }

    /// Solve for u, and measure the backward error of u.
    ///
    /// # Shapes
    /// `f` holds one or several right-hand sides, one after the other. Each has one number per unknown, in C order.
    ///
    /// # Errors
    /// - [`Error::Shape`] if the length of `f` is not a multiple of [`len`](Self::len).
    /// - [`Error::NotFinite`] with the first index at which `f` is NaN or infinite.
    /// - [`Error::Incompatible`] if the problem is singular, and a solution would need a larger change of f than
    ///   [`removable`](crate::Poisson::removable) allows.
    /// - [`Error::NotConverged`] if the backward error stays above 64ε after three refinement steps.
    /// - [`Error::NotConverged`] if u would have no correct digit, because [`rcond`](Self::rcond) is not larger than its own rounding error.
    ///   This error is 3ε in double and ε/2 in single precision. The case can occur with a negative shift, with a negative α/β at a Robin side,
    ///   and for [`SeparablePencils`](crate::SeparablePencils).
    /// - [`Error::OutOfMemory`].
    ///
    /// # Examples
    /// ```
    /// use bandsolve_poisson::Poisson;
    /// // −u″ = f with u = 0 at both ends, for two right-hand sides.
    /// let plan = Poisson::new(&[3]).plan::<f64>()?;
    /// let solution = plan.solve(&[1.0, 1.0, 1.0, 0.0, 2.0, 0.0])?;
    /// let exact = [1.5, 2.0, 1.5, 1.0, 2.0, 1.0];
    /// assert!(solution.values.iter().zip(exact).all(|(u, exact)| (u - exact).abs() < 1e-12));
    /// assert_eq!(solution.report.backward_errors.len(), 2);
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve(&self, f: &[T]) -> Result<PoissonSolution<T>> {
        let mut values =
            bandsolve_kernel::memory::zeros(f.len()).ok_or(Error::OutOfMemory { bytes: size_of_val(f) })?;
        let report = self.solve_into(f, &mut values)?;
        Ok(PoissonSolution { values, report })
    }

    /// Solve as [`solve`](Self::solve), and write u to the caller's array `u`, which has the length of `f`.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Shape`] if `u` does not have the length of `f`.
    pub fn solve_into(&self, f: &[T], u: &mut [T]) -> Result<PoissonReport> {
        let mut memory = buffer(self.solve_scratch())?;
        self.solve_into_with(f, u, PodStack::new(&mut memory))
    }

    /// Solve as [`solve_into`](Self::solve_into), in the caller's scratch memory.
    ///
    /// On one thread, the call allocates no memory for up to four right-hand sides. For more, it allocates the list of backward errors. On several
    /// threads, it also allocates to pass work to other threads.
    ///
    /// # Errors
    /// As [`solve_into`](Self::solve_into), and [`Error::Scratch`] if `stack` is smaller than [`solve_scratch`](Self::solve_scratch).
    ///
    /// # Examples
    /// ```
    /// use bandsolve::dyn_stack::{PodBuffer, PodStack};
    /// use bandsolve_poisson::Poisson;
    /// let plan = Poisson::new(&[31, 31]).plan::<f64>()?;
    /// let (f, mut u) = (vec![1.0; 31 * 31], vec![0.0; 31 * 31]);
    /// let mut memory = PodBuffer::new(plan.solve_scratch());
    /// for _ in 0..3 {
    ///     let report = plan.solve_into_with(&f, &mut u, PodStack::new(&mut memory))?; // allocates no memory
    ///     assert!(report.backward_error < 1e-13);
    /// }
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_into_with(&self, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<PoissonReport> {
        let _mode = Standard::enter();
        check_scratch(self.solve_scratch(), stack)?;
        check_lengths(self.len(), f.len(), u.len())?;
        let mut report = self.report();
        let Some(core) = &self.core else { return Ok(report) };
        let n = self.len();
        for (column, (f, u)) in f.chunks_exact(n).zip(u.chunks_exact_mut(n)).enumerate() {
            let solved = self.solve_one(core, f, u, stack);
            report.take(solved.map_err(|error| named(error, column * n))?);
        }
        Ok(report.finished::<T>(&core.condition))
    }

    /// Solve as [`solve`](Self::solve), and replace f in `x` by u.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<PoissonReport> {
        let mut memory = buffer(self.solve_in_place_scratch())?;
        self.solve_in_place_with(x, PodStack::new(&mut memory))
    }

    /// Solve as [`solve_in_place`](Self::solve_in_place), in the caller's scratch memory.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Scratch`] if `stack` is smaller than [`solve_in_place_scratch`](Self::solve_in_place_scratch).
    pub fn solve_in_place_with(&self, x: &mut [T], stack: &mut PodStack) -> Result<PoissonReport> {
        let _mode = Standard::enter();
        check_scratch(self.solve_in_place_scratch(), stack)?;
        check_lengths(self.len(), x.len(), x.len())?;
        let mut report = self.report();
        let Some(core) = &self.core else { return Ok(report) };
        let n = self.len();
        for (column, x) in x.chunks_exact_mut(n).enumerate() {
            let (f, stack) = stack.make_raw::<T>(n);
            f.copy_from_slice(x);
            let solved = self.solve_one(core, f, x, stack);
            report.take(solved.map_err(|error| named(error, column * n))?);
        }
        Ok(report.finished::<T>(&core.condition))
    }

    /// The report before the first right-hand side.
    fn report(&self) -> PoissonReport {
        PoissonReport {
            solve: Report::empty(self.method, self.reason.clone()),
            shape: self.shape.clone(),
            subproblems: self.subproblems(),
            removed: 0.0,
            mean: self.core.as_ref().filter(|core| core.weights.is_some()).map(|_| self.mean),
            rcond: self.rcond(),
        }
    }

    /// Solves one right-hand side. u is in the caller's order.
    fn solve_one(&self, core: &PlanCore<T>, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<Solved> {
        let solved = self.solve_scaled(core, f, u, stack).and_then(|solved| core.decided(solved));
        if !core.order.is_given() {
            let (spare, _) = stack.make_raw::<T>(u.len());
            core.order.give(u, spare, core.threads);
            u.copy_from_slice(spare);
        }
        solved
    }

    /// Solves one right-hand side. If numbers leave the range of the type, solves again with f times a power of two. u is in solving order.
    fn solve_scaled(&self, core: &PlanCore<T>, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<Solved> {
        let rhs = core.rhs(f, T::ONE);
        let solved = self.attempt(core, rhs, u, stack);
        let Some(scale) = core.rescue(&solved, rhs, stack)? else {
            let solved = core.balanced(solved?, rhs, self.removable, stack)?;
            return core.levelled(solved, rhs, (self.mean, u), stack);
        };
        // A power of two keeps all intermediate numbers in the range of the type.
        let scaled = core.rhs(f, scale);
        let mut solved = self.attempt(core, scaled, u, stack)?;
        solved = core.balanced(solved, scaled, self.removable, stack)?;
        solved = core.levelled(solved, scaled, (self.mean * scale.to_f64(), u), stack)?;
        solved.mean = solved.mean.map(|means| means.map(|mean| mean / scale.to_f64()));
        solved.removed /= scale.to_f64();
        let mut finite = true;
        for x in u {
            *x = *x / scale;
            finite &= Scalar::is_finite(*x);
        }
        let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: solved.refinement_steps };
        if finite { Ok(solved) } else { Err(failed) }
    }

    /// Solves, measures and refines. One scratch array holds f in solving order, if that order differs, and later the correction.
    fn attempt(
        &self,
        core: &PlanCore<T>,
        given: RightHandSide<'_, T>,
        u: &mut [T],
        stack: &mut PodStack,
    ) -> Result<Solved> {
        let (room, stack) = stack.make_raw::<T>(u.len());
        let rhs = core.in_order(given, room);
        let mean = self.mean * given.scale.to_f64();
        let request = SolveRequest { rhs: Some(&rhs), mean };
        let (removed, measured) = core.operator.solve_measured(&*core.solver, &request, u, stack);
        let mut first = Some(core.error((RightHandSide { removed: real(removed), ..rhs }, measured), u, stack));
        let (removed, stack) = (Cell::new(removed), RefCell::new(stack));
        let solve = |r: &mut [T]| {
            let more = core.solver.solve(&SolveRequest { rhs: None, mean: 0.0 }, r, &mut stack.borrow_mut());
            removed.set(removed.get() + more);
            Ok::<_, Infallible>(())
        };
        let measure = |u: &[T], r: &mut [T], systems: &mut [RefinedSystem]| {
            let (rhs, stack) = (RightHandSide { removed: real(removed.get()), ..given }, &mut *stack.borrow_mut());
            let error = first.take().unwrap_or_else(|| core.error((rhs, None), u, stack));
            if error > good::<T>() {
                core.residuals(rhs, u, r, stack);
            }
            systems[0].error = error;
        };
        let (mut system, rule) = ([RefinedSystem::open()], StoppingRule::contract::<T>().without_copy());
        let mut column = RefinedColumns { x: &mut *u, r: room, before: None, solve, measure };
        let Ok(refinement_steps) = refine(&rule, &mut system, &mut column);
        let (error, removed) = (system[0].error, removed.get());
        if error <= tolerable::<T>() {
            return Ok(Solved { error, removed, refinement_steps, mean: None });
        }
        Err(Error::NotConverged { backward_error: error, refinement_steps })
    }
}

impl<T: PoissonScalar> PlanCore<T> {
    /// `scale` times f in the caller's order.
    fn rhs<'a>(&'a self, f: &'a [T], scale: T) -> RightHandSide<'a, T> {
        let (strides, shape) = (self.order.strides(), self.operator.shape());
        RightHandSide { f, strides, sides: &self.sides, shape, scale, removed: T::ZERO }
    }

    /// The right-hand side in solving order, in `room` if that order differs.
    fn in_order<'a>(&'a self, given: RightHandSide<'a, T>, room: &'a mut [T]) -> RightHandSide<'a, T> {
        if self.order.is_given() {
            return given;
        }
        self.order.take(given.f, room, self.threads);
        RightHandSide { f: room, strides: strides_of(given.shape), ..given }
    }

    /// One array, and the larger of the lines of residuals and the scratch of the method.
    fn scratch(&self) -> StackReq {
        let n = self.operator.shape().iter().product();
        let lines = StackReq::new::<T>(self.operator.words());
        let level = self.weights.as_ref().map_or(StackReq::EMPTY, WeightedMean::scratch);
        StackReq::new::<T>(n).and(lines.or(self.solver.scratch())).or(level)
    }

    fn check<'a>(&'a self, rhs: RightHandSide<'a, T>, u: &'a [T]) -> SystemCheck<'a, T> {
        SystemCheck { operator: &self.operator, rhs, u, threads: self.threads, simd: self.simd }
    }

    /// Writes the residuals to `out`.
    fn residuals(&self, rhs: RightHandSide<'_, T>, u: &[T], out: &mut [T], stack: &mut PodStack) {
        let (lines, _) = stack.make_raw::<T>(self.operator.words());
        T::by_real_type::<WriteResiduals<'_>>((self.check(rhs, u), out, lines));
    }

    /// The backward error, or an upper bound of it if the bound is good enough. Uses the measure of the solver if there is one.
    fn error(
        &self,
        (rhs, measured): (RightHandSide<'_, T>, Option<ResidualMeasure>),
        u: &[T],
        stack: &mut PodStack,
    ) -> f64 {
        let (lines, _) = stack.make_raw::<T>(self.operator.words());
        let check = self.check(rhs, u);
        let mut measure = |question| T::by_real_type::<MeasureResiduals<'_>>((check, question, &mut *lines));
        let ResidualMeasure { ratio, largest } = measured.unwrap_or_else(|| measure(Question::Bound));
        if ratio.is_nan() || !largest.is_finite() {
            return f64::NAN;
        }
        let largest = largest.max(T::MIN_POSITIVE.to_f64());
        if ratio <= good::<T>() * largest {
            return ratio / largest;
        }
        measure(Question::Exact(largest)).ratio
    }

    /// The power of two for a second attempt, if numbers left the range of the type. `Err` if f is not finite.
    fn rescue(&self, solved: &Result<Solved>, rhs: RightHandSide<'_, T>, stack: &mut PodStack) -> Result<Option<T>> {
        let failed = matches!(solved, Err(Error::NotConverged { .. }));
        if !failed {
            return Ok(None);
        }
        if let Some(index) = rhs.f.iter().position(|f| !Scalar::is_finite(*f)) {
            return Err(Error::NotFinite { array: "f", index });
        }
        let (line, _) = stack.make_raw::<T>(rhs.shape[2]);
        let largest = rhs.largest(line);
        let unusual = !(largest < T::SAFE && largest > T::TINY);
        Ok((unusual && largest != T::ZERO).then(|| if largest < T::ONE { T::SAFE } else { T::TINY }))
    }

    /// `Err(Incompatible)` if the removed constant exceeds `part` times the largest entry.
    fn balanced(&self, solved: Solved, rhs: RightHandSide<'_, T>, part: f64, stack: &mut PodStack) -> Result<Solved> {
        if self.weights.is_none() || solved.removed == 0.0 {
            return Ok(solved);
        }
        let (line, _) = stack.make_raw::<T>(rhs.shape[2]);
        let allowed = part * rhs.largest(line).to_f64();
        // The rounding error of f and of the boundary terms is always allowed, even if their sum cancels.
        if solved.removed.abs() <= allowed || solved.removed.abs() <= good::<T>() * rhs.largest_term() {
            return Ok(solved);
        }
        let scale = rhs.scale.to_f64();
        Err(Error::Incompatible { removed: solved.removed / scale, allowed: allowed / scale })
    }
}

impl<T: PoissonScalar> PlanCore<T> {
    /// `Err(NotConverged)` if the matrix is singular to working precision, however small the backward error is.
    fn decided(&self, solved: Solved) -> Result<Solved> {
        let Solved { error, refinement_steps, .. } = solved;
        let hopeless = self.condition.is_hopeless::<T>();
        if hopeless { Err(Error::NotConverged { backward_error: error, refinement_steps }) } else { Ok(solved) }
    }

    /// Measures the mean of u of a singular problem, and adds a constant to u if the mean is not the requested one.
    fn levelled(
        &self,
        mut solved: Solved,
        rhs: RightHandSide<'_, T>,
        (target, u): (f64, &mut [T]),
        stack: &mut PodStack,
    ) -> Result<Solved> {
        let Some(weights) = &self.weights else { return Ok(solved) };
        let measure = WeightedMean { weights, threads: self.threads, simd: self.simd };
        let (mean, changed) = levelled(target, |level: Option<T>| {
            if let Some(level) = level {
                u.iter_mut().for_each(|u| *u += level);
            }
            measure.of(u, stack)
        });
        if changed {
            solved.error = self.error((RightHandSide { removed: real(solved.removed), ..rhs }, None), u, stack);
        }
        solved.mean = Some([target, mean]);
        if solved.error <= tolerable::<T>() {
            return Ok(solved);
        }
        Err(Error::NotConverged { backward_error: solved.error, refinement_steps: solved.refinement_steps })
    }
}

/// `Err` unless the length of f is a multiple of n, and u has the same length.
fn check_lengths(n: usize, f: usize, u: usize) -> Result<()> {
    let fits = if n == 0 { f == 0 } else { f.is_multiple_of(n) };
    match fits {
        false => Err(Error::Shape { what: "f", expected: n, got: f }),
        _ if u != f => Err(Error::Shape { what: "u", expected: f, got: u }),
        _ => Ok(()),
    }
}

/// The error, with its index counted from the start of the first right-hand side.
fn named(error: Error, offset: usize) -> Error {
    match error {
        Error::NotFinite { array, index } => Error::NotFinite { array, index: index + offset },
        other => other,
    }
}

/// `Err(Scratch)` if `stack` cannot hold `needed`.
fn check_scratch(needed: StackReq, stack: &PodStack) -> Result<()> {
    if stack.can_hold(needed) {
        return Ok(());
    }
    Err(Error::Scratch { expected: needed.unaligned_bytes_required(), got: stack.len_bytes() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AxisPencil, Boundary, Poisson, SeparablePencils};

    /// A solver whose result has a relative error.
    struct InexactSolver {
        inner: Box<dyn SeparableSolver<f64>>,
        part: f64,
    }

    impl SeparableSolver<f64> for InexactSolver {
        fn scratch(&self) -> StackReq {
            self.inner.scratch()
        }

        fn solve(&self, request: &SolveRequest<'_, f64>, x: &mut [f64], stack: &mut PodStack) -> f64 {
            let removed = self.inner.solve(request, x, stack);
            x.iter_mut().enumerate().for_each(|(k, x)| *x *= 1.0 + self.part * ((k % 7) as f64 - 3.0));
            removed
        }

        fn bytes(&self) -> usize {
            self.inner.bytes()
        }

        fn subproblems(&self) -> usize {
            self.inner.subproblems()
        }
    }

    fn solve(mut plan: PoissonPlan<f64>, part: f64) -> Result<PoissonSolution<f64>> {
        let mut core = plan.core.take().expect("unknowns");
        core.solver = Box::new(InexactSolver { inner: core.solver, part });
        plan.core = Some(core);
        plan.solve(&(0..plan.len()).map(|k| ((k * 37) % 101) as f64 - 50.0).collect::<Vec<_>>())
    }

    /// The plans include a permuted f and two matrices per axis.
    #[test]
    fn one_refinement_step_corrects_an_inexact_solver() {
        let differences = |shape: &[usize]| Poisson::new(shape);
        let points: Vec<f64> = (0..22).map(|k| f64::from(k) + 0.01 * f64::from(k * k)).collect();
        let pencil = |n: usize| {
            let beside = vec![1.0; n];
            AxisPencil::new([&vec![-1.0; n], &vec![2.0; n], &vec![-1.0; n]], [&beside, &vec![4.0; n], &beside])
        };
        let pencils = |shape: &[usize]| {
            let axes: Vec<_> = shape.iter().map(|n| pencil(*n)).collect();
            SeparablePencils::new(&axes).plan::<f64>().unwrap()
        };
        let plans: [&dyn Fn() -> PoissonPlan<f64>; 7] = [
            &|| differences(&[40]).plan().unwrap(),
            &|| differences(&[31, 20]).plan().unwrap(),
            &|| differences(&[9, 8, 7]).plan().unwrap(),
            &|| differences(&[31, 20]).coordinates(1, &points).plan().unwrap(),
            &|| differences(&[7, 20, 5]).coordinates(1, &points).boundary(Boundary::dirichlet(3.0)).plan().unwrap(),
            &|| pencils(&[12, 17]),
            &|| pencils(&[5, 6, 7]),
        ];
        for plan in plans {
            let exact = solve(plan(), 0.0).unwrap();
            let refined = solve(plan(), 1e-10).unwrap();
            let what = format!("{:?} {:?}", plan(), refined.report);
            assert_eq!((exact.report.refinement_steps, refined.report.refinement_steps), (0, 1), "{what}");
            assert!(refined.report.backward_error <= good::<f64>(), "{what}");
            let largest = exact.values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!(exact.values.iter().zip(&refined.values).all(|(a, b)| (a - b).abs() < 1e-13 * largest), "{what}");
            assert!(matches!(solve(plan(), 0.5), Err(Error::NotConverged { refinement_steps: 3, .. })), "{what}");
        }
    }
}
