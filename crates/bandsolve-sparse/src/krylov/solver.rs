//! The Krylov solver: tolerances, restarts and stopping.

use super::method::{KrylovMethod, PreconditionerSide, Preconditioning};
use super::monitor::{Monitor, Norms, Watch};
use super::report::{Ending, IterationProgress, IterationReport};
use super::run::{Known, KrylovRun, Start};
use super::units::Units;
use super::vectors::{FIRST, SCALED};
use super::{bicgstab, cg, gmres, idr, richardson};
use crate::scratch::{buffer, check, stack};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::zeroed;
use bandsolve::vectors::{HostVectors, Reducer, VectorId, Vectors, agree};
use bandsolve::{Alone, Communicator, Complex64, Error, LinearOperator, Result, Scalar};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::by_type;
use core::ops::ControlFlow;

/// Solve A·x = rhs by a Krylov method, with a preconditioner or without.
///
/// The solver starts from the x that you pass, and stops when ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol). If a method cannot reach this tolerance,
/// the solver returns the best x that it found, up to a factor of 2 in the residual. The report then says why the iteration ended.
///
/// The result is the same for any number of threads. An iteration allocates no memory.
///
/// # Shapes
/// `a` and the preconditioner have n rows and n columns. `rhs` and `x` have n elements. [`solve_columns`](Self::solve_columns) takes n × k elements.
///
/// # Cost
/// Per iteration, with the loads and stores of vectors in words per row:
///
/// | method | products with A, and with M⁻¹ | words per row |
/// | --- | --- | --- |
/// | GMRES | 1 and 1 | 3·j + 11 in step j after a restart |
/// | BiCGStab | 2 and 2 | 27 |
/// | CG | 1 and 1 | 17 |
/// | IDR(s) | 1 and 1 | 31 with s = 4 |
/// | Richardson | 1 and 1 | 9 |
///
/// The words include 2 for each product and each preconditioner, whose entries come in addition. [`scratch`](Self::scratch) is the memory.
///
/// # Errors
/// An iteration that does not converge is not an error: check [`IterationReport::converged`]. [`solve`](Self::solve) lists the errors.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).rtol(1e-12).solve(&a, None, &[5.0, 2.0], &mut x)?;
/// assert!(report.converged() && (x[0] - 1.0).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
///
/// # Accuracy
/// The recurrence of a method only tells when to check x. The solver then computes the residual from x. If this residual is too large, the method
/// begins again from x.
///
/// Before the report says [`Ending::Converged`], the solver computes the residual of x once more in twice the working precision
/// ([`LinearOperator::accurate_residual`]). The sum of its norm and a bound on its error is then at most the tolerance.
///
/// An operator that does not know its entries has no such residual. The solver then estimates the rounding error with one more product A·p, where
/// pⱼ = dⱼ·xⱼ and the dⱼ have random signs and moduli from 1/2 to 3/2. The sum of the computed norm and 8ε·(‖A·p‖₂ + ‖rhs‖₂) is at most the
/// tolerance. The solver never reports a tolerance below this estimate as reached. It omits the product if the tolerance is at least 10⁴ times
/// 8ε·(s·‖x‖₂ + ‖rhs‖₂). Here s is the largest ‖A·v‖₂/‖v‖₂ that it measured during the iteration.
///
/// # Scaling
/// The solver scales systems with ‖rhs‖₂ outside the range 2⁻¹²⁸ to 2¹²⁸ (in single precision 2⁻³² to 2³²). It multiplies rhs and x by a power of two
/// that brings ‖rhs‖₂ near 1. x, the report and the callback have the unscaled values.
#[derive(Clone, Copy)]
pub struct KrylovSolver<'c> {
    method: KrylovMethod,
    rtol: f64,
    atol: f64,
    max_iterations: Option<usize>,
    side: PreconditionerSide,
    pub(super) communicator: &'c dyn Communicator,
}

impl KrylovSolver<'static> {
    /// The default relative tolerance, which is SciPy's: 10⁻⁵.
    pub const DEFAULT_RTOL: f64 = 1e-5;

    /// A solver with this method and the default options: `rtol` 10⁻⁵, `atol` 0, preconditioner on the right.
    pub fn new(method: KrylovMethod) -> Self {
        Self {
            method,
            rtol: Self::DEFAULT_RTOL,
            atol: 0.0,
            max_iterations: None,
            side: PreconditionerSide::Right,
            communicator: &Alone,
        }
    }
}

impl<'c> KrylovSolver<'c> {
    /// Set the relative tolerance, for ‖rhs − A·x‖₂/‖rhs‖₂. Default: [`DEFAULT_RTOL`](Self::DEFAULT_RTOL).
    #[must_use]
    pub fn rtol(self, rtol: f64) -> Self {
        Self { rtol, ..self }
    }

    /// Set the absolute tolerance, for ‖rhs − A·x‖₂. Default: 0.
    ///
    /// The solver stops if ‖rhs − A·x‖₂ is at most max(rtol·‖rhs‖₂, atol).
    #[must_use]
    pub fn atol(self, atol: f64) -> Self {
        Self { atol, ..self }
    }

    /// Set the maximum number of iterations. Default: 10 times the number of rows on all processes, at most 10,000.
    #[must_use]
    pub fn max_iterations(self, iterations: usize) -> Self {
        Self { max_iterations: Some(iterations), ..self }
    }

    /// Set the side of the preconditioner. Default: right. Conjugate gradients compute the same for both sides.
    #[must_use]
    pub fn side(self, side: PreconditionerSide) -> Self {
        Self { side, ..self }
    }

    /// Set the communicator of the processes that share the vectors. Default: this process alone.
    #[must_use]
    pub fn communicator<'d>(self, communicator: &'d dyn Communicator) -> KrylovSolver<'d> {
        KrylovSolver { communicator, ..self }
    }

    /// The same options with another method.
    pub(crate) fn with_method(self, method: KrylovMethod) -> Self {
        Self { method, ..self }
    }

    /// Number of rows on all processes.
    fn all_rows(&self, local_rows: usize) -> usize {
        let mut rows = [local_rows as f64];
        self.communicator.sum(&mut rows);
        rows[0] as usize
    }

    /// The scratch memory that [`solve_with`](Self::solve_with) needs.
    ///
    /// All processes of the communicator must call this function, since it adds up their rows.
    pub fn scratch<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
    ) -> StackReq {
        self.scratch_of(a, preconditioner, self.method.within(self.all_rows(a.rows())))
    }

    fn scratch_of<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        method: KrylovMethod,
    ) -> StackReq {
        let n = a.rows();
        let operators = preconditioner.map_or(StackReq::EMPTY, |m| m.apply_scratch()).or(a.apply_scratch());
        let (vectors, sums) = method.needs(preconditioner.is_some_and(|m| m.changes()));
        let (length, alignment) =
            (HostVectors::<T>::stride(n).saturating_mul(FIRST + vectors), HostVectors::<T>::ALIGNMENT);
        let long = StackReq::new_aligned::<T>(length, alignment).and(Reducer::scratch(n, sums));
        long.and(StackReq::new::<Complex64>(method.small_numbers())).and(operators)
    }

    /// Solve A·x = rhs, starting from the x that you pass. For several right-hand sides call [`solve_columns`](Self::solve_columns).
    ///
    /// An iteration that does not converge is not an error: check [`IterationReport::converged`].
    ///
    /// # Shapes
    /// `a` and `preconditioner` have n rows and n columns. `rhs` and `x` have n elements.
    ///
    /// # Errors
    /// [`Error::Shape`] if a length is wrong. [`Error::NotFinite`] if `rhs` or `x` contains NaN or infinity. [`Error::InvalidArgument`] for a
    /// preconditioner on the left that changes from step to step. [`Error::OutOfMemory`]. Errors of the operators.
    pub fn solve<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
    ) -> Result<IterationReport> {
        self.solve_watched(a, preconditioner, rhs, x, &mut |_| ControlFlow::Continue(()))
    }

    /// Solve as [`solve`](Self::solve) does, and call `watch` after every iteration. The callback can end the solve.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_watched<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
        watch: &mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    ) -> Result<IterationReport> {
        let memory = buffer(self.scratch(a, preconditioner));
        let mut memory = bandsolve::vectors::agree_on(self.communicator, memory)?;
        self.solve_with(a, preconditioner, rhs, x, watch, stack(&mut memory))
    }

    /// Solve for several right-hand sides, one after the other. Returns one report per right-hand side.
    ///
    /// # Shapes
    /// `rhs` and `x` have n × k elements: the k columns one after the other.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_columns<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
    ) -> Result<Vec<IterationReport>> {
        let n = a.rows();
        // A process without rows takes part in as many solves as the others.
        let local_count = rhs.len().checked_div(n).unwrap_or(0);
        let mut totals = [f64::from(u8::from(n > 0)), local_count as f64];
        self.communicator.sum(&mut totals);
        let count = if totals[0] > 0.0 { (totals[1] / totals[0]) as usize } else { 0 };
        let lengths = check("x", rhs.len(), x.len()).and(check("rhs", count * n, rhs.len()));
        let memory = buffer(self.scratch(a, preconditioner));
        let mut memory = bandsolve::vectors::agree_on(self.communicator, lengths.and(memory))?;
        let watch = &mut |_: IterationProgress<'_, T>| ControlFlow::Continue(());
        let of_column = |k: usize| {
            let column = k * n..(k + 1) * n;
            self.solve_with(a, preconditioner, &rhs[column.clone()], &mut x[column], watch, stack(&mut memory))
        };
        (0..count).map(of_column).collect()
    }

    /// Solve as [`solve_watched`](Self::solve_watched) does, in the caller's scratch memory. Allocates nothing during the iterations.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Scratch`] if the scratch memory is smaller than [`scratch`](Self::scratch) says.
    pub fn solve_with<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
        watch: &mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
        stack: &mut PodStack,
    ) -> Result<IterationReport> {
        T::by_type::<SolveSystem<'_>>(KrylovCall { solver: *self, a, preconditioner, rhs, x, watch, stack })
    }

    /// Return an error on all processes unless their options are the same, because they would wait for each other.
    fn agree_alike(&self, preconditioned: bool) -> Result<()> {
        let Self { method, rtol, atol, max_iterations, side, communicator } = self;
        let options = (method, rtol, atol, max_iterations, side, preconditioned);
        bandsolve::vectors::agree_alike(*communicator, bandsolve::vectors::digest(&options))
    }

    /// Run cycles of the method from the residual of x, until this residual is small enough or stops falling. Returns its norm, too.
    fn iterate(
        &self,
        run: &mut KrylovRun<'_>,
        monitor: &mut Monitor<'_>,
        mut known: Known,
        small: &mut PodStack,
    ) -> Result<(Ending, f64)> {
        // The last and the smallest norm of the residual that the method knows, in the scaling of the first cycle.
        let (mut before, mut least) = (f64::INFINITY, f64::INFINITY);
        // Number of restarts without a new minimum, and of those that came no nearer to the minimum either.
        let (mut above, mut fruitless) = (0, 0);
        let mut last = Ending::Converged;
        loop {
            // Round x as the caller will get it: claims must hold for this x.
            run.units.round(run.vectors, VectorId::Solution);
            let Start { residual, norm, proved } = run.start(known)?;
            if !residual.is_finite() || !norm.is_finite() {
                return Ok((Ending::NotFinite, residual));
            }
            monitor.restart((residual, norm), run.left_scale, run.vectors);
            if proved {
                return Ok((Ending::Converged, residual));
            }
            let size = norm / run.left_scale;
            match last {
                Ending::Converged => {}
                Ending::Breakdown if size <= 0.9 * before => {}
                ended => return Ok((ended, residual)),
            }
            // Further restarts would make no progress either. Residuals near their own rounding error go up and down without end. Larger residuals may go
            // up once, and come down again in several restarts.
            let gains = size < least * (1.0 - 1e-5);
            above = if gains { 0 } else { above + 1 };
            fruitless = if gains || size < 0.9 * before { 0 } else { fruitless + 1 };
            if fruitless > MOST_FRUITLESS || above > MOST_ABOVE {
                return Ok((Ending::Stagnated, residual));
            }
            if norm == 0.0 {
                // The residual is 0, but its rounding error is above the tolerance; or the preconditioner maps it to 0.
                return Ok((if residual == 0.0 { Ending::Stagnated } else { Ending::Breakdown }, residual));
            }
            if monitor.iterations >= monitor.limit {
                return Ok((Ending::IterationLimit, residual));
            }
            (before, least) = (size, size.min(least));
            monitor.cycles += 1;
            let method = run.method;
            last = method.cycle(run, monitor, small)?;
            if matches!(self.method, KrylovMethod::Gmres { .. }) && last != Ending::Cancelled {
                last = monitor.cycle(run.vectors).unwrap_or(last);
            }
            known = if monitor.is_small() { Known::Claimed } else { Known::Nothing };
        }
    }
}

/// Maximum numbers of restarts without progress: those that come no nearer to the smallest residual, and those that do not fall below it.
const MOST_FRUITLESS: usize = 2;
const MOST_ABOVE: usize = 12;

/// The arguments of [`KrylovSolver::solve_with`].
struct KrylovCall<'a, T: Scalar> {
    solver: KrylovSolver<'a>,
    a: &'a dyn LinearOperator<T>,
    preconditioner: Option<&'a dyn LinearOperator<T>>,
    rhs: &'a [T],
    x: &'a mut [T],
    watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    stack: &'a mut PodStack,
}

/// Check the lengths, and that all numbers are finite.
fn checked<T: Scalar>(
    (a, preconditioner, side): (&dyn LinearOperator<T>, Option<&dyn LinearOperator<T>>, PreconditionerSide),
    (rhs, x): (&[T], &[T]),
) -> Result<()> {
    let n = a.rows();
    check("columns of a square operator", n, a.columns())?;
    check("rhs", n, rhs.len())?;
    check("x", n, x.len())?;
    if let Some(m) = preconditioner {
        check("rows of the preconditioner", n, m.rows())?;
        check("columns of the preconditioner", n, m.columns())?;
        check_side(m.changes(), side)?;
    }
    for (array, values) in [("rhs", rhs), ("x", x)] {
        if let Some(index) = values.iter().position(|v| !Scalar::is_finite(*v)) {
            return Err(Error::NotFinite { array, index });
        }
    }
    Ok(())
}

/// Return an error for a preconditioner on the left that changes.
fn check_side(changes: bool, side: PreconditionerSide) -> Result<()> {
    let problem = "changes from step to step, on the left side";
    let wrong = || Error::invalid("preconditioner", problem, "such a preconditioner on the right side");
    if changes && side == PreconditionerSide::Left { Err(wrong()) } else { Ok(()) }
}

by_type! {
    /// [`KrylovCall::run`] for each number type, compiled once, in this crate.
    struct SolveSystem<'a>: KrylovCall<'a, T> => Result<IterationReport> = KrylovCall::run;
}

impl<T: Scalar> KrylovCall<'_, T> {
    fn run(self) -> Result<IterationReport> {
        let Self { solver, a, preconditioner, rhs, x, watch, stack } = self;
        let n = a.rows();
        let side = solver.effective_side();
        let all = agree(solver.communicator, n, checked((a, preconditioner, side), (rhs, x)))?;
        let method = solver.method.within(all);
        let needed = solver.scratch_of(a, preconditioner, method);
        let room = match stack.can_hold(needed) {
            true => Ok(()),
            false => Err(Error::Scratch { expected: needed.size_bytes(), got: stack.len_bytes() }),
        };
        bandsolve::vectors::agree_on(solver.communicator, room)?;
        solver.agree_alike(preconditioner.is_some())?;
        let (vectors, sums) = method.needs(preconditioner.is_some_and(|m| m.changes()));
        let (reducer, stack) = Reducer::new(solver.communicator, n, sums, stack);
        let (small, stack) = stack.make_raw::<Complex64>(method.small_numbers());
        let (length, alignment) = (HostVectors::<T>::stride(n) * (FIRST + vectors), HostVectors::<T>::ALIGNMENT);
        let (work, stack) = stack.make_aligned_raw::<T>(length, alignment);
        let mut vectors = HostVectors { a, b: None, m: preconditioner, rhs, x, work, reducer, stack };
        let system = VectorSystem {
            rows: all,
            side: preconditioner.map(|_| side),
            flexible: preconditioner.is_some_and(|m| m.changes()),
        };
        let watch: &mut Watch<'_> = &mut |norms, x| {
            let Norms { iteration, residual_norm, preconditioned_norm, tolerance } = norms;
            let x = x.map(bytemuck::cast_slice);
            watch(IterationProgress { iteration, residual_norm, preconditioned_norm, tolerance, x })
        };
        solver.run(&mut vectors, system, (method, bytemuck::cast_slice_mut(small)), Some(watch))
    }
}

/// What a solver must know of a system whose vectors it does not see.
struct VectorSystem {
    /// The number of rows on all processes.
    rows: usize,
    /// The side of the preconditioner, if there is one.
    side: Option<PreconditionerSide>,
    /// Whether the preconditioner changes.
    flexible: bool,
}

impl KrylovSolver<'_> {
    /// Number of work vectors that [`solve_vectors`](Self::solve_vectors) needs for a system of n rows.
    pub fn work_vectors(&self, rows: usize, preconditioner: Option<Preconditioning>) -> usize {
        FIRST + self.method.within(rows).needs(preconditioner == Some(Preconditioning::Changing)).0
    }

    /// Solve the system of `vectors`, which can be anywhere, starting from the x that they hold.
    ///
    /// The crate `bandsolve-gpu` calls this function for vectors on a GPU.
    ///
    /// # Shapes
    /// `rows` is the number of rows on all processes. `vectors` has as many work vectors as [`work_vectors`](Self::work_vectors) says.
    ///
    /// # Errors
    /// [`Error::NotFinite`] if the right-hand side or x contains NaN or infinity. [`Error::InvalidArgument`] for a preconditioner on the left that
    /// changes from step to step. [`Error::OutOfMemory`]. Errors of the operators.
    pub fn solve_vectors(
        &self,
        vectors: &mut dyn Vectors,
        rows: usize,
        preconditioner: Option<Preconditioning>,
    ) -> Result<IterationReport> {
        let (method, flexible) = (self.method.within(rows), preconditioner == Some(Preconditioning::Changing));
        let side = self.effective_side();
        check_side(flexible, side)?;
        let mut small = zeroed::<Complex64>(method.small_numbers())?;
        let system = VectorSystem { rows, side: preconditioner.map(|_| side), flexible };
        self.run(vectors, system, (method, bytemuck::cast_slice_mut(&mut small)), None)
    }

    /// The side of the preconditioner. Conjugate gradients compute the same for both sides.
    fn effective_side(&self) -> PreconditionerSide {
        if self.method == KrylovMethod::Cg { PreconditionerSide::Right } else { self.side }
    }

    /// Solve a system whose sizes have been checked. `small` is memory for small matrices.
    fn run<'w>(
        &self,
        vectors: &mut dyn Vectors,
        VectorSystem { rows: all, side, flexible }: VectorSystem,
        (method, small): (KrylovMethod, &mut [u8]),
        watch: Option<&'w mut Watch<'w>>,
    ) -> Result<IterationReport> {
        let _mode = Standard::enter();
        let (mut rhs, mut rhs_norm) = (VectorId::Rhs, vectors.norm(VectorId::Rhs));
        let x_norm = vectors.norm(VectorId::Solution);
        for (array, norm) in [("rhs", rhs_norm), ("x", x_norm)] {
            if norm.is_nan() {
                return Err(Error::NotFinite { array, index: 0 });
            }
        }
        let units = Units::of(vectors.epsilon(), rhs_norm, x_norm);
        if !units.is_plain() {
            vectors.scale(rhs, SCALED, units.scaled(1.0));
            rhs = SCALED;
            rhs_norm = vectors.norm(rhs);
            units.scale(vectors, VectorId::Solution);
        }
        let tolerance = (self.rtol * rhs_norm).max(units.scaled_bound(self.atol));
        let limit = self.max_iterations.unwrap_or_else(|| all.saturating_mul(10).min(10_000));
        let mut monitor = Monitor::new((limit, tolerance), units, watch);
        let mut run = KrylovRun {
            vectors,
            method,
            side,
            flexible,
            rhs,
            rhs_norm,
            tolerance,
            all,
            units,
            left_scale: 1.0,
            products: 0,
            size: 0.0,
            steps: 0,
        };
        let known = if x_norm == 0.0 { Known::Zero } else { Known::Nothing };
        let ended = self.iterate(&mut run, &mut monitor, known, PodStack::new(small));
        let ended = ended.and_then(|ended| run.finish(&monitor, ended));
        let attention = ended.as_ref().ok().and_then(|(_, residual)| run.attention(*residual));
        // Unscale x also if an operator has failed, since x belongs to the caller.
        units.unscale(run.vectors, VectorId::Solution);
        let (ending, residual) = ended?;
        Ok(IterationReport {
            method: self.method,
            side: run.side,
            ending,
            iterations: monitor.iterations,
            restarts: monitor.cycles.saturating_sub(1),
            residual_norm: units.unscaled(residual),
            rhs_norm: units.unscaled(rhs_norm),
            tolerance: units.unscaled(tolerance),
            history: monitor.history,
            attention,
            scaled: (units, [residual, rhs_norm]),
        })
    }
}

impl KrylovMethod {
    /// The same method with spaces that are at most as large as the number of rows on all processes.
    fn within(self, rows: usize) -> Self {
        match self {
            Self::Gmres { restart } => Self::Gmres { restart: restart.min(rows.max(1)) },
            Self::Idr { space } => Self::Idr { space: space.min(rows) },
            other => other,
        }
    }

    /// The number of vectors, and the maximum number of sums at a time.
    fn needs(&self, flexible: bool) -> (usize, usize) {
        match self {
            Self::Gmres { restart } => (restart + 1 + if flexible { *restart } else { 0 }, restart + 1),
            Self::Bicgstab => (6, 2),
            Self::Cg => (3, 2),
            Self::Idr { space } => (3 * space + 3, *space),
            Self::Richardson { .. } => (1, 1),
        }
    }

    /// Number of complex numbers in small matrices.
    fn small_numbers(&self) -> usize {
        match self {
            Self::Gmres { restart } => gmres::small_numbers(*restart),
            Self::Idr { space } => idr::small_numbers(*space),
            _ => 0,
        }
    }

    /// Iterate from x with the residual r, until the recurrence reaches the tolerance, or the iteration ends for another reason. `small` is memory for
    /// small matrices.
    fn cycle(&self, run: &mut KrylovRun<'_>, monitor: &mut Monitor<'_>, small: &mut PodStack) -> Result<Ending> {
        match self {
            Self::Gmres { restart } => gmres::cycle(run, monitor, *restart, small),
            Self::Bicgstab => bicgstab::cycle(run, monitor),
            Self::Cg => cg::cycle(run, monitor),
            Self::Idr { space } => idr::cycle(run, monitor, *space, small),
            Self::Richardson { damping } => richardson::cycle(run, monitor, *damping),
        }
    }
}
