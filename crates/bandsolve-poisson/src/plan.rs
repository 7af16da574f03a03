//! A problem with the factors of one method: solved, measured, refined.

use crate::cyclic::{CyclicSolver, toeplitz_scale};
use crate::fft::TransformSolver;
use crate::long_line::LongLine;
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::order::AxisOrder;
use crate::report::{PoissonReport, PoissonSolution, Solved};
use crate::scalar::{PoissonScalar, real};
use crate::separable::{ResidualMeasure, ResidualOperator, RightHandSide, SeparableProblem, SideTerms};
use crate::transform::AxisSides;
use crate::verify::{Question, Verification};
use bandsolve::dyn_stack::{PodBuffer, PodStack, StackReq};
use bandsolve::{Error, MAX_REFINEMENTS, Result, Simd, good};
use bandsolve_kernel::arithmetic::Standard;
use smallvec::SmallVec;
use std::sync::Arc;

/// Accepted after refinement: 64ε.
pub(crate) const TOLERABLE: f64 = 8.0; // times 8ε

/// A planned problem: transforms, roots and factors are made, right-hand sides can be solved for, again and again.
///
/// ```
/// use bandsolve_poisson::{Boundary, Grid, Poisson};
/// // The pressure of a flow: cells, no flow through the sides.
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
    /// `None` where there are no unknowns.
    core: Option<PlanCore<T>>,
    mean: f64,
    removable: f64,
}

/// What a plan with unknowns has.
struct PlanCore<T: PoissonScalar> {
    order: AxisOrder,
    sides: SideTerms<T>,
    operator: ResidualOperator<T>,
    singular: bool,
    solver: Box<dyn SeparableSolver<T>>,
    threads: usize,
    simd: Simd,
}

impl<T: PoissonScalar> core::fmt::Debug for PoissonPlan<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PoissonPlan").field("shape", &self.shape).field("method", &self.method).finish_non_exhaustive()
    }
}

/// Unknowns along each axis from which on partial fractions may be faster than transforms.
const LONG: usize = 64;
/// Largest prime factor with which transforms are fast.
const PRIME: usize = 7;

/// The length of the transform of two dimensions and its largest prime factor, if block cyclic reduction is faster for that.
fn unfit_length(problem: &SeparableProblem) -> Option<(usize, usize)> {
    let [first, middle, last] = &problem.axes;
    let long = middle.len() == 1 && first.len().min(last.len()) >= LONG;
    if !long || problem.shift < 0.0 || last.periodic || toeplitz_scale(first).is_none() {
        return None;
    }
    let length = match last.uniform?.1 {
        AxisSides::NodeDirichlet => last.len() + 1,
        AxisSides::NodeNeumann => last.len() - 1,
        _ => last.len(),
    };
    let prime = largest_prime_factor(length);
    (prime > PRIME).then_some((length, prime))
}

fn largest_prime_factor(mut n: usize) -> usize {
    let (mut largest, mut factor) = (1, 2);
    while factor * factor <= n {
        if n.is_multiple_of(factor) {
            (n, largest) = (n / factor, factor);
        } else {
            factor += 1;
        }
    }
    largest.max(n)
}

/// Which method solves a problem, and why.
fn choose(problem: &SeparableProblem, asked: PoissonMethod) -> (PoissonMethod, String) {
    if let (PoissonMethod::Auto, Some((length, prime))) = (asked, unfit_length(problem)) {
        let reason = format!(
            "block cyclic reduction takes all lengths alike; transforms of length {length}, with the prime factor {prime}, are slower"
        );
        return (PoissonMethod::Bcr4, reason);
    }
    let varying = problem.axes.iter().filter(|axis| axis.uniform.is_none()).count();
    let reason = match (asked, varying) {
        (PoissonMethod::Auto, 0) => {
            "transforms and tridiagonal systems are the fastest where lengths have small prime factors".to_owned()
        }
        (PoissonMethod::Auto, 1) if problem.axes[0].uniform.is_none() => {
            "tridiagonal systems along the axis whose spacing varies, transforms along the others".to_owned()
        }
        (PoissonMethod::Auto, _) => "products by eigenvectors along axes whose spacing varies".to_owned(),
        _ => "asked for".to_owned(),
    };
    (if asked == PoissonMethod::Auto { PoissonMethod::Fft } else { asked }, reason)
}

/// Factors of `problem` by a method.
pub(crate) fn factor<T: PoissonScalar>(
    problem: &SeparableProblem,
    method: PoissonMethod,
    threads: usize,
) -> Result<Box<dyn SeparableSolver<T>>> {
    match method {
        PoissonMethod::Auto | PoissonMethod::Fft | PoissonMethod::Gemm if LongLine::<T>::takes(problem) => {
            Ok(Box::new(LongLine::new(problem, threads)))
        }
        PoissonMethod::Auto | PoissonMethod::Fft => Ok(Box::new(TransformSolver::new(problem, false, threads)?)),
        PoissonMethod::Gemm => Ok(Box::new(TransformSolver::new(problem, true, threads)?)),
        PoissonMethod::Bcr2 | PoissonMethod::Bcr4 | PoissonMethod::Pscr => {
            Ok(Box::new(CyclicSolver::new(problem, method, threads)?))
        }
    }
}

impl<T: PoissonScalar> PoissonPlan<T> {
    /// Of a problem in solving order.
    pub(crate) fn new(
        problem: SeparableProblem,
        (shape, order, sides): (SmallVec<[usize; 3]>, AxisOrder, SideTerms<T>),
        asked: PoissonMethod,
        threads: usize,
    ) -> Result<Self> {
        let _mode = Standard::enter();
        let (method, reason) = choose(&problem, asked);
        let solver = T::factor(&problem, method, threads)?;
        let operator = ResidualOperator::new(&problem);
        let core = Some(PlanCore {
            order,
            sides,
            operator,
            singular: problem.is_singular(),
            solver,
            threads,
            simd: Simd::detect(),
        });
        Ok(Self { shape, method, reason: reason.into(), core, mean: 0.0, removable: 0.1 })
    }

    /// Of no unknowns.
    pub(crate) fn empty(shape: &[usize], method: PoissonMethod) -> Self {
        let method = if method == PoissonMethod::Auto { PoissonMethod::Fft } else { method };
        Self { shape: shape.into(), method, reason: "nothing to solve".into(), core: None, mean: 0.0, removable: 0.1 }
    }

    pub(crate) fn with_mean(self, mean: f64, removable: f64) -> Self {
        Self { mean, removable, ..self }
    }

    /// Unknowns along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Unknowns.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is nothing to solve.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The method, and why it was chosen.
    pub fn method(&self) -> (PoissonMethod, &str) {
        (self.method, &self.reason)
    }

    /// Tridiagonal systems that are solved for each right-hand side.
    pub fn subproblems(&self) -> usize {
        self.core.as_ref().map_or(0, |core| core.solver.subproblems())
    }

    /// Bytes of the factors that the plan keeps.
    ///
    /// They are a small part of the solution's where all axes have one spacing, and as many as the solution's where the spacing of the axis
    /// with the tridiagonal systems varies; scratch ([`solve_scratch`](Self::solve_scratch)) comes in addition. Plans of negative shifts also
    /// keep pivoted factors of some systems, which are not counted.
    pub fn factor_bytes(&self) -> usize {
        self.core.as_ref().map_or(0, |core| core.solver.bytes())
    }

    /// Scratch of [`solve_into_with`](Self::solve_into_with): most of it is touched only where an answer has to be refined.
    pub fn solve_scratch(&self) -> StackReq {
        let Some(core) = &self.core else { return StackReq::EMPTY };
        let words = if core.order.is_given() { 0 } else { self.len() };
        StackReq::new::<T>(words).and(core.scratch())
    }

    /// Scratch of [`solve_in_place_with`](Self::solve_in_place_with).
    pub fn solve_in_place_scratch(&self) -> StackReq {
        let Some(core) = &self.core else { return StackReq::EMPTY };
        StackReq::new::<T>(self.len()).and(core.scratch())
    }

    /// u, and how it was found.
    ///
    /// # Shapes
    /// `f` holds one right-hand side or several, one after the other; a number for every unknown, by rows.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::NotFinite`] with the first place in `f`; [`Error::Incompatible`] where the problem is singular and too much would
    /// have to be removed from f; [`Error::NotConverged`] where no answer reached the accuracy contract.
    pub fn solve(&self, f: &[T]) -> Result<PoissonSolution<T>> {
        let mut values =
            bandsolve_kernel::memory::zeros(f.len()).ok_or(Error::OutOfMemory { bytes: size_of_val(f) })?;
        let report = self.solve_into(f, &mut values)?;
        Ok(PoissonSolution { values, report })
    }

    /// The same to an array that is there.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_into(&self, f: &[T], u: &mut [T]) -> Result<PoissonReport> {
        let mut memory = buffer(self.solve_scratch())?;
        self.solve_into_with(f, u, PodStack::new(&mut memory))
    }

    /// The same with scratch that is there: nothing is allocated, but for the errors of more than four right-hand sides.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Scratch`].
    pub fn solve_into_with(&self, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<PoissonReport> {
        let _mode = Standard::enter();
        check_scratch(self.solve_scratch(), stack)?;
        check_lengths(self.len(), f.len(), u.len())?;
        let mut report = self.report();
        let Some(core) = &self.core else { return Ok(report) };
        let n = self.len();
        for (column, (f, u)) in f.chunks_exact(n).zip(u.chunks_exact_mut(n)).enumerate() {
            let solved = if core.order.is_given() {
                self.solve_one(core, f, u, stack)
            } else {
                let (own, stack) = stack.make_raw::<T>(n);
                core.order.take(f, own, core.threads);
                let solved = self.solve_one(core, own, u, stack);
                core.give_back(u, own);
                solved
            };
            report.take(solved.map_err(|error| named(error, column * n))?);
        }
        Ok(report)
    }

    /// u in place of f.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<PoissonReport> {
        let mut memory = buffer(self.solve_in_place_scratch())?;
        self.solve_in_place_with(x, PodStack::new(&mut memory))
    }

    /// The same with scratch that is there.
    ///
    /// # Errors
    /// As [`solve_into_with`](Self::solve_into_with).
    pub fn solve_in_place_with(&self, x: &mut [T], stack: &mut PodStack) -> Result<PoissonReport> {
        let _mode = Standard::enter();
        check_scratch(self.solve_in_place_scratch(), stack)?;
        check_lengths(self.len(), x.len(), x.len())?;
        let mut report = self.report();
        let Some(core) = &self.core else { return Ok(report) };
        let n = self.len();
        for (column, x) in x.chunks_exact_mut(n).enumerate() {
            let (f, stack) = stack.make_raw::<T>(n);
            if core.order.is_given() {
                f.copy_from_slice(x);
            } else {
                core.order.take(x, f, core.threads);
            }
            let solved = self.solve_one(core, f, x, stack);
            core.give_back(x, f);
            report.take(solved.map_err(|error| named(error, column * n))?);
        }
        Ok(report)
    }

    /// Nothing solved yet.
    fn report(&self) -> PoissonReport {
        PoissonReport {
            method: self.method,
            reason: self.reason.clone(),
            shape: self.shape.clone(),
            backward_error: 0.0,
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            subproblems: self.subproblems(),
            removed: 0.0,
            mean: self.core.as_ref().filter(|core| core.singular).map(|_| self.mean),
        }
    }

    /// One right-hand side, all in solving order.
    fn solve_one(&self, core: &PlanCore<T>, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<Solved> {
        let rhs = core.rhs(f, &core.sides, T::ONE);
        let solved = self.attempt(core, rhs, u, stack);
        let Some(scale) = core.rescue(&solved, rhs, stack)? else {
            return solved.and_then(|solved| core.balanced(solved, rhs, self.removable, stack));
        };
        // All times a power of two, so that nothing leaves the range of the type on the way.
        let scaled = core.rhs(f, &core.sides, scale);
        let mut solved = self.attempt(core, scaled, u, stack)?;
        solved = core.balanced(solved, scaled, self.removable, stack)?;
        solved.removed /= scale.to_f64();
        let mut finite = true;
        for x in u {
            *x = *x / scale;
            finite &= bandsolve::Scalar::is_finite(*x);
        }
        let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: solved.refinement_steps };
        if finite { Ok(solved) } else { Err(failed) }
    }

    /// Solves, measures and refines.
    fn attempt(
        &self,
        core: &PlanCore<T>,
        rhs: RightHandSide<'_, T>,
        u: &mut [T],
        stack: &mut PodStack,
    ) -> Result<Solved> {
        let mean = self.mean * rhs.scale.to_f64();
        let request = SolveRequest { rhs: Some(&rhs), mean };
        let (mut removed, mut measured) = core.solver.solve_measured(&request, &core.operator, u, stack);
        let mut refinement_steps = 0;
        loop {
            let rhs = RightHandSide { removed: real(removed), ..rhs };
            let error = core.error((rhs, measured.take()), u, stack);
            let accepted = if refinement_steps == MAX_REFINEMENTS { TOLERABLE } else { 1.0 } * good::<T>();
            if error <= accepted {
                return Ok(Solved { error, removed, refinement_steps });
            }
            if refinement_steps == MAX_REFINEMENTS || !error.is_finite() {
                return Err(Error::NotConverged { backward_error: error, refinement_steps });
            }
            refinement_steps += 1;
            let (e, stack) = stack.make_raw::<T>(u.len());
            T::residuals(&core.verification(rhs, u), e);
            removed += core.solver.solve(&SolveRequest { rhs: None, mean: 0.0 }, e, stack);
            u.iter_mut().zip(e).for_each(|(u, e)| *u += *e);
        }
    }
}

impl<T: PoissonScalar> PlanCore<T> {
    fn rhs<'a>(&self, f: &'a [T], sides: &'a SideTerms<T>, scale: T) -> RightHandSide<'a, T> {
        RightHandSide { f, sides, shape: self.operator.shape, scale, removed: T::ZERO }
    }

    /// Beside what the plan itself takes: lines of residuals, then a correction and what the method needs.
    fn scratch(&self) -> StackReq {
        let n = self.operator.shape.iter().product();
        let lines = StackReq::new::<T>(Verification::<T>::words(self.operator.shape));
        lines.or(StackReq::new::<T>(n).and(self.solver.scratch()))
    }

    fn verification<'a>(&'a self, rhs: RightHandSide<'a, T>, u: &'a [T]) -> Verification<'a, T> {
        Verification { operator: &self.operator, rhs, u, threads: self.threads, simd: self.simd }
    }

    /// The backward error: a bound where that is good enough. What the solver has measured is not measured again.
    fn error(
        &self,
        (rhs, measured): (RightHandSide<'_, T>, Option<ResidualMeasure>),
        u: &[T],
        stack: &mut PodStack,
    ) -> f64 {
        let (lines, _) = stack.make_raw::<T>(Verification::<T>::words(self.operator.shape));
        let verification = self.verification(rhs, u);
        let ResidualMeasure { ratio, largest } =
            measured.unwrap_or_else(|| T::measure(&verification, Question::Bound, lines));
        if ratio.is_nan() || !largest.is_finite() {
            return f64::NAN;
        }
        let largest = largest.max(T::MIN_POSITIVE.to_f64());
        if ratio <= good::<T>() * largest {
            return ratio / largest;
        }
        T::measure(&verification, Question::Exact(largest), lines).ratio
    }

    /// A power of two to begin again with, where numbers left the range of the type; what is not finite in f.
    fn rescue(&self, solved: &Result<Solved>, rhs: RightHandSide<'_, T>, stack: &mut PodStack) -> Result<Option<T>> {
        let failed = matches!(solved, Err(Error::NotConverged { .. }));
        if !failed {
            return Ok(None);
        }
        let (lines, _) = stack.make_raw::<T>(Verification::<T>::words(self.operator.shape));
        let largest = self.verification(rhs, &[]).largest(lines);
        let entry = rhs.f.iter().position(|f| !bandsolve::Scalar::is_finite(*f));
        if let Some(entry) = entry {
            return Err(Error::NotFinite { array: "f", index: self.order.place(entry) });
        }
        let unusual = !(largest < T::SAFE && largest > T::TINY);
        Ok((unusual && largest != T::ZERO).then(|| if largest < T::ONE { T::SAFE } else { T::TINY }))
    }

    /// `Err(Incompatible)` if more was removed than this part of the largest entry.
    fn balanced(&self, solved: Solved, rhs: RightHandSide<'_, T>, part: f64, stack: &mut PodStack) -> Result<Solved> {
        if !self.singular || solved.removed == 0.0 {
            return Ok(solved);
        }
        let (lines, _) = stack.make_raw::<T>(Verification::<T>::words(self.operator.shape));
        let allowed = part * self.verification(rhs, &[]).largest(lines).to_f64();
        // What rounding leaves of a sum is never too much.
        let rounding = good::<T>() * allowed / part.max(f64::MIN_POSITIVE);
        if solved.removed.abs() <= allowed.max(rounding) {
            return Ok(solved);
        }
        let scale = rhs.scale.to_f64();
        Err(Error::Incompatible { removed: solved.removed / scale, allowed: allowed / scale })
    }

    /// x in the caller's order, if that is another.
    fn give_back(&self, x: &mut [T], spare: &mut [T]) {
        if !self.order.is_given() {
            self.order.give(x, spare, self.threads);
            x.copy_from_slice(spare);
        }
    }
}

/// `Err` unless f holds right-hand sides of n numbers, and u as many.
pub(crate) fn check_lengths(n: usize, f: usize, u: usize) -> Result<()> {
    let fits = if n == 0 { f == 0 } else { f.is_multiple_of(n) };
    match fits {
        false => Err(Error::Shape { what: "f", expected: n, got: f }),
        _ if u != f => Err(Error::Shape { what: "u", expected: f, got: u }),
        _ => Ok(()),
    }
}

/// The same error with places counted from the first right-hand side.
pub(crate) fn named(error: Error, offset: usize) -> Error {
    match error {
        Error::NotFinite { array, index } => Error::NotFinite { array, index: index + offset },
        other => other,
    }
}

pub(crate) fn check_scratch(needed: StackReq, stack: &PodStack) -> Result<()> {
    if stack.can_hold(needed) {
        return Ok(());
    }
    Err(Error::Scratch { expected: needed.unaligned_bytes_required(), got: stack.len_bytes() })
}

pub(crate) fn buffer(needed: StackReq) -> Result<PodBuffer> {
    PodBuffer::try_new(needed).map_err(|_| Error::OutOfMemory { bytes: needed.unaligned_bytes_required() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Poisson;

    /// A solver that is wrong by a part of u.
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

    fn solve(shape: &[usize], part: f64) -> Result<PoissonSolution<f64>> {
        let mut plan = Poisson::new(shape).plan::<f64>()?;
        let mut core = plan.core.take().expect("unknowns");
        core.solver = Box::new(InexactSolver { inner: core.solver, part });
        plan.core = Some(core);
        let n: usize = shape.iter().product();
        plan.solve(&(0..n).map(|k| ((k * 37) % 101) as f64 - 50.0).collect::<Vec<_>>())
    }

    #[test]
    fn one_refinement_step_mends_an_inexact_solver() {
        for shape in [&[40][..], &[31, 20], &[9, 8, 7]] {
            let exact = solve(shape, 0.0).unwrap();
            let mended = solve(shape, 1e-10).unwrap();
            assert_eq!((exact.report.refinement_steps, mended.report.refinement_steps), (0, 1), "{shape:?}");
            assert!(mended.report.backward_error <= good::<f64>());
            let largest = exact.values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!(exact.values.iter().zip(&mended.values).all(|(a, b)| (a - b).abs() < 1e-13 * largest));
            assert!(matches!(solve(shape, 0.5), Err(Error::NotConverged { refinement_steps: 3, .. })));
        }
    }
}
