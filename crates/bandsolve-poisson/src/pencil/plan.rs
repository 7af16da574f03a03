//! A problem in the general separable form: planned, solved, verified.

use super::AxisPencil;
use super::eigen::has_eigenvectors;
use super::residual::PencilResidual;
use super::solver::PencilSolver;
use crate::axis::AxisOperator;
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::order::AxisOrder;
use crate::plan::{TOLERABLE, buffer, check_lengths, check_scratch, named};
use crate::report::{PoissonReport, PoissonSolution, Solved};
use crate::scalar::PoissonScalar;
use crate::separable::{SeparableProblem, peak};
use crate::verify::Question;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{Error, MAX_REFINEMENTS, Result, Scalar, Simd, good};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::threads;
use smallvec::SmallVec;

/// A problem on a box in the general separable form, in two dimensions
///
/// $$ (A_1 \otimes M_2 + M_1 \otimes A_2 + c\,M_1 \otimes M_2)\,u = f $$
///
/// with two tridiagonal matrices for each axis, and in three dimensions the sum of three products with one A each. Finite elements on a grid
/// of boxes have this form: A is the stiffness matrix of an axis, M its mass matrix.
///
/// Along all axes but one, A must be symmetric and M symmetric and definite. The axis that is left may have any two matrices.
///
/// # Shapes
/// As of [`Poisson`](crate::Poisson): the last axis is contiguous.
///
/// # Cost
/// Planned with 6n³ flops for each axis but one. A solve takes 4n flops an unknown for each of these axes, and 12 for the systems.
///
/// # Errors
/// Setting an option never fails; [`plan`](Self::plan) says what is wrong with it.
///
/// # Source
/// R. E. Lynch, J. R. Rice, D. H. Thomas, Numer. Math. 6 (1964), 185–199; see docs/math/poisson.md.
///
/// ```
/// use bandsolve_poisson::{AxisPencil, SeparablePencils};
/// // Bilinear finite elements on the unit square, u = 0 all around.
/// let (n, h) = (31, 1.0 / 32.0);
/// let (beside, diag) = (vec![-1.0 / h; n], vec![2.0 / h; n]);
/// let (mass_beside, mass) = (vec![h / 6.0; n], vec![2.0 * h / 3.0; n]);
/// let axis = AxisPencil::new([&beside, &diag, &beside], [&mass_beside, &mass, &mass_beside]);
/// let plan = SeparablePencils::new(&[axis.clone(), axis]).plan::<f64>()?;
/// let u = plan.solve(&vec![h * h; n * n])?;
/// assert!((u.values[n * n / 2] - 0.0737).abs() < 1e-3);
/// assert!(u.report.backward_error < 2e-15);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SeparablePencils {
    pencils: Vec<AxisPencil>,
    shift: f64,
    method: PoissonMethod,
    threads: Option<usize>,
}

impl SeparablePencils {
    /// One to three axes; no shift.
    pub fn new(pencils: &[AxisPencil]) -> Self {
        Self { pencils: pencils.to_vec(), shift: 0.0, method: PoissonMethod::Auto, threads: None }
    }

    /// c, by which the product of all M is multiplied; 0 unless set.
    pub fn shift(mut self, c: f64) -> Self {
        self.shift = c;
        self
    }

    /// [`Gemm`](PoissonMethod::Gemm), which `Auto` takes, or [`Pscr`](PoissonMethod::Pscr) where all M are diagonal and positive, and the
    /// entries beside the diagonals of A are negative.
    pub fn method(mut self, method: PoissonMethod) -> Self {
        self.method = method;
        self
    }

    /// How many threads work; all unless set. The answer does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Eigenvectors, once.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::NotFinite`] of the matrices and the shift, [`Error::Unsupported`] for what the method does not solve.
    pub fn plan<T: PoissonScalar>(&self) -> Result<PencilPlan<T>> {
        let _mode = Standard::enter();
        if !(1..=3).contains(&self.pencils.len()) {
            return Err(Error::Unsupported { method: "poisson", what: "boxes of no or of more than three dimensions" });
        }
        self.pencils.iter().try_for_each(AxisPencil::check)?;
        if !self.shift.is_finite() {
            return Err(Error::NotFinite { array: "shift", index: 0 });
        }
        let threads = self.threads.unwrap_or_else(threads::count).max(1);
        let shape: SmallVec<[usize; 3]> = self.pencils.iter().map(AxisPencil::len).collect();
        let (method, reason) = match self.method {
            PoissonMethod::Auto => (PoissonMethod::Gemm, "products by generalised eigenvectors solve every M"),
            PoissonMethod::Gemm | PoissonMethod::Pscr => (self.method, "asked for"),
            other => return Err(Error::Unsupported { method: other.name(), what: "matrices that are given by axis" }),
        };
        let core = if shape.contains(&0) { None } else { Some(self.core(method, &shape, threads)?) };
        Ok(PencilPlan { shape, method, reason, core, threads })
    }

    fn core<T: PoissonScalar>(&self, method: PoissonMethod, shape: &[usize], threads: usize) -> Result<PencilCore<T>> {
        let order = AxisOrder::new(self.order(method)?, shape);
        let pick = |axis: Option<usize>| axis.map_or_else(AxisPencil::trivial, |axis| self.pencils[axis].clone());
        let axes = order.axes.map(pick);
        if method == PoissonMethod::Pscr {
            let problem = SeparableProblem { axes: lumped(&axes)?, shift: self.shift };
            let cyclic = PencilMethod::Cyclic(T::factor(&problem, method, threads)?, masses(&axes));
            return Ok(PencilCore { order, axes, shift: self.shift, solver: cyclic, negative: false });
        }
        // A negative definite M: both matrices with the other sign, and f.
        let mut negative = false;
        let definite = axes.clone().map(|axis| {
            let turn = !has_eigenvectors(&axis) && has_eigenvectors(&axis.negated());
            negative ^= turn;
            if turn { axis.negated() } else { axis }
        });
        let solver = PencilSolver::new(&definite, self.shift, (threads, Simd::detect()))?;
        Ok(PencilCore { order, axes, shift: self.shift, solver: PencilMethod::Products(Box::new(solver)), negative })
    }

    /// First the axis without eigenvectors, or the longest.
    fn order(&self, method: PoissonMethod) -> Result<[Option<usize>; 3]> {
        let count = self.pencils.len();
        let suits = |axis: &AxisPencil| has_eigenvectors(axis) || has_eigenvectors(&axis.negated());
        let others: Vec<usize> = (0..count).filter(|k| !suits(&self.pencils[*k])).collect();
        let longest = (0..count).rev().max_by_key(|k| self.pencils[*k].len());
        let first = match others[..] {
            _ if method == PoissonMethod::Pscr => Some(0),
            [] => longest,
            [alone] => Some(alone),
            _ => {
                let what = "two axes whose A is not symmetric or whose M is not symmetric and definite";
                return Err(Error::Unsupported { method: method.name(), what });
            }
        };
        let mut rest = (0..count).filter(|k| Some(*k) != first);
        let (one, two) = (rest.next(), rest.next());
        Ok(if two.is_some() { [first, one, two] } else { [first, None, one] })
    }
}

/// M⁻¹A of axes with diagonal M, as couplings and gaps.
fn lumped(axes: &[AxisPencil; 3]) -> Result<[AxisOperator; 3]> {
    let mut made = [const { None }; 3];
    for (made, axis) in made.iter_mut().zip(axes) {
        let n = axis.len();
        let [sub, diag, sup] = &axis.a;
        let coupled = sub[1..].iter().chain(&sup[..n - 1]).all(|a| *a < 0.0);
        let positive = axis.has_diagonal_mass() && axis.m[1].iter().all(|m| *m > 0.0);
        if !coupled || !positive || !axis.is_symmetric() {
            let what = "matrices M that are not diagonal and positive, or A that are not symmetric with negative entries beside the diagonal";
            return Err(Error::Unsupported { method: "pscr", what });
        }
        let over = |of: &dyn Fn(usize) -> f64| (0..n).map(|i| of(i) / axis.m[1][i]).collect::<Vec<f64>>();
        let mut operator = AxisOperator::trivial();
        (operator.lower, operator.upper) = (over(&|i| -sub[i]), over(&|i| -sup[i]));
        operator.gap = over(&|i| sub[i] + diag[i] + sup[i]);
        (operator.volume, operator.uniform) = (axis.m[1].clone(), None);
        *made = Some(operator);
    }
    Ok(made.map(|axis| axis.expect("made above")))
}

fn masses(axes: &[AxisPencil; 3]) -> [Vec<f64>; 3] {
    axes.each_ref().map(|axis| axis.m[1].clone())
}

/// How a problem is solved.
enum PencilMethod<T: PoissonScalar> {
    Products(Box<PencilSolver<T>>),
    /// Of M⁻¹A, and the diagonals of M.
    Cyclic(Box<dyn SeparableSolver<T>>, [Vec<f64>; 3]),
}

/// What a plan with unknowns has.
struct PencilCore<T: PoissonScalar> {
    order: AxisOrder,
    axes: [AxisPencil; 3],
    shift: f64,
    solver: PencilMethod<T>,
    /// Whether f takes the other sign.
    negative: bool,
}

/// A planned problem in the general separable form.
pub struct PencilPlan<T: PoissonScalar> {
    shape: SmallVec<[usize; 3]>,
    method: PoissonMethod,
    reason: &'static str,
    core: Option<PencilCore<T>>,
    threads: usize,
}

impl<T: PoissonScalar> core::fmt::Debug for PencilPlan<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PencilPlan").field("shape", &self.shape).field("method", &self.method).finish_non_exhaustive()
    }
}

impl<T: PoissonScalar> PencilPlan<T> {
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
        (self.method, self.reason)
    }

    /// Tridiagonal systems that are solved for each right-hand side.
    pub fn subproblems(&self) -> usize {
        self.core.as_ref().map_or(0, |core| match &core.solver {
            PencilMethod::Products(solver) => solver.subproblems(),
            PencilMethod::Cyclic(solver, _) => solver.subproblems(),
        })
    }

    /// Scratch of [`solve_into_with`](Self::solve_into_with).
    pub fn solve_scratch(&self) -> StackReq {
        let Some(core) = &self.core else { return StackReq::EMPTY };
        let words = if core.order.is_given() { 0 } else { self.len() };
        let lines = StackReq::new::<T>(PencilResidual::<T>::words(core.shape()));
        StackReq::new::<T>(words).and(lines.or(StackReq::new::<T>(self.len()).and(core.scratch().or(lines))))
    }

    /// u, and how it was found.
    ///
    /// # Shapes
    /// `f` holds one right-hand side or several, one after the other; a number for every unknown, by rows.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::NotFinite`] with the first place in `f`; [`Error::NotConverged`] where no answer reached the accuracy contract,
    /// as for a singular matrix.
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

    /// The same with scratch that is there.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Scratch`].
    pub fn solve_into_with(&self, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<PoissonReport> {
        let _mode = Standard::enter();
        check_scratch(self.solve_scratch(), stack)?;
        let n = self.len();
        check_lengths(n, f.len(), u.len())?;
        let mut report = self.report();
        let Some(core) = &self.core else { return Ok(report) };
        for (column, (f, u)) in f.chunks_exact(n).zip(u.chunks_exact_mut(n)).enumerate() {
            let solved = if core.order.is_given() {
                self.solve_one(core, f, u, stack)
            } else {
                let (own, stack) = stack.make_raw::<T>(n);
                core.order.take(f, own, self.threads);
                let solved = self.solve_one(core, own, u, stack);
                core.order.give(u, own, self.threads);
                u.copy_from_slice(own);
                solved
            };
            report.take(solved.map_err(|error| named(error, column * n))?);
        }
        Ok(report)
    }

    /// Nothing solved yet.
    fn report(&self) -> PoissonReport {
        PoissonReport {
            method: self.method,
            reason: self.reason.into(),
            shape: self.shape.clone(),
            backward_error: 0.0,
            backward_errors: SmallVec::new(),
            refinement_steps: 0,
            subproblems: self.subproblems(),
            removed: 0.0,
            mean: None,
        }
    }

    /// One right-hand side in solving order; where numbers leave the range of the type, again times a power of two.
    fn solve_one(&self, core: &PencilCore<T>, f: &[T], u: &mut [T], stack: &mut PodStack) -> Result<Solved> {
        let solved = self.attempt(core, (f, T::ONE), u, stack);
        if solved.is_ok() {
            return solved;
        }
        if let Some(entry) = f.iter().position(|f| !Scalar::is_finite(*f)) {
            return Err(Error::NotFinite { array: "f", index: core.order.place(entry) });
        }
        let largest = peak(f);
        if largest < T::SAFE && largest > T::TINY || largest == T::ZERO {
            return solved;
        }
        let scale = if largest < T::ONE { T::SAFE } else { T::TINY };
        let solved = self.attempt(core, (f, scale), u, stack)?;
        u.iter_mut().for_each(|u| *u = *u / scale);
        let failed = Error::NotConverged { backward_error: f64::NAN, refinement_steps: solved.refinement_steps };
        if u.iter().all(|u| Scalar::is_finite(*u)) { Ok(solved) } else { Err(failed) }
    }

    /// Solves, measures and refines.
    fn attempt(
        &self,
        core: &PencilCore<T>,
        (f, scale): (&[T], T),
        u: &mut [T],
        stack: &mut PodStack,
    ) -> Result<Solved> {
        let PencilCore { axes, shift, .. } = core;
        let residual = PencilResidual { axes, shift: *shift, f, scale, threads: self.threads, simd: Simd::detect() };
        let words = PencilResidual::<T>::words(core.shape());
        u.iter_mut().zip(f).for_each(|(u, f)| *u = *f * scale);
        core.solve(u, stack);
        let mut refinement_steps = 0;
        loop {
            let error = error(&residual, u, stack.make_raw::<T>(words).0);
            let accepted = if refinement_steps == MAX_REFINEMENTS { TOLERABLE } else { 1.0 } * good::<T>();
            if error <= accepted {
                return Ok(Solved { error, removed: 0.0, refinement_steps });
            }
            if refinement_steps == MAX_REFINEMENTS || !error.is_finite() {
                return Err(Error::NotConverged { backward_error: error, refinement_steps });
            }
            refinement_steps += 1;
            let (e, stack) = stack.make_raw::<T>(u.len());
            residual.residuals(u, e, stack.make_raw::<T>(words).0);
            core.solve(e, stack);
            u.iter_mut().zip(e).for_each(|(u, e)| *u += *e);
        }
    }
}

/// The backward error: a bound where that is good enough.
fn error<T: PoissonScalar>(residual: &PencilResidual<'_, T>, u: &[T], scratch: &mut [T]) -> f64 {
    let bound = residual.measure(Question::Bound, u, scratch);
    if !bound.largest.is_finite() {
        return f64::NAN;
    }
    let largest = bound.largest.max(T::MIN_POSITIVE.to_f64());
    if bound.ratio <= good::<T>() * largest {
        return bound.ratio / largest;
    }
    residual.measure(Question::Exact(largest), u, scratch).ratio
}

impl<T: PoissonScalar> PencilCore<T> {
    fn shape(&self) -> [usize; 3] {
        self.axes.each_ref().map(AxisPencil::len)
    }

    fn scratch(&self) -> StackReq {
        match &self.solver {
            PencilMethod::Products(solver) => solver.scratch(),
            PencilMethod::Cyclic(solver, _) => solver.scratch(),
        }
    }

    /// u in place of f, without looking back.
    fn solve(&self, x: &mut [T], stack: &mut PodStack) {
        match &self.solver {
            PencilMethod::Products(solver) => {
                if self.negative {
                    x.iter_mut().for_each(|x| *x = -*x);
                }
                solver.solve(x, stack);
            }
            PencilMethod::Cyclic(solver, [one, two, three]) => {
                for (line, x) in x.chunks_exact_mut(three.len()).enumerate() {
                    let mass = one[line / two.len()] * two[line % two.len()];
                    x.iter_mut().zip(three).for_each(|(x, m)| *x = *x / crate::scalar::real(mass * m));
                }
                solver.solve(&SolveRequest { rhs: None, mean: 0.0 }, x, stack);
            }
        }
    }
}
