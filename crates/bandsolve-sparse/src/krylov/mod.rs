//! Krylov methods: A·x = rhs for an A that is known by its products.

mod bicgstab;
mod cg;
mod gmres;
mod idr;
mod inverse;
mod monitor;
mod richardson;

use crate::instances::SolveSystem;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{Reducer, agree};
use bandsolve::{Alone, Communicator, Complex64, Error, LinearOperator, Result, Scalar, interrupt};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::zeros;
use core::fmt::{self, Display, Formatter};
use core::ops::ControlFlow;
use core::str::FromStr;
use monitor::Monitor;

pub use inverse::KrylovInverse;

/// An iterative method.
///
/// An iteration is one product with A and one application of the preconditioner; two of each for BiCGStab.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum KrylovMethod {
    /// Generalised minimal residuals, orthogonalised by classical Gram–Schmidt, twice, and restarted. Flexible (FGMRES) where the
    /// preconditioner changes from step to step.
    Gmres {
        /// Iterations between restarts: so many vectors are kept; of flexible ones, twice as many.
        restart: usize,
    },
    /// Stabilised bi-conjugate gradients: any matrix, seven vectors.
    Bicgstab,
    /// Conjugate gradients: Hermitian positive definite matrices and preconditioners, four vectors.
    Cg,
    /// Induced dimension reduction, in its bi-orthogonal form: any matrix, 3·s + 3 vectors.
    Idr {
        /// s: the dimension of the shadow space.
        space: usize,
    },
    /// x ← x + ω·M⁻¹·(rhs − A·x): the preconditioner alone.
    Richardson {
        /// ω.
        damping: f64,
    },
}

impl Display for KrylovMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gmres { restart } => write!(f, "gmres:{restart}"),
            Self::Bicgstab => write!(f, "bicgstab"),
            Self::Cg => write!(f, "cg"),
            Self::Idr { space } => write!(f, "idr:{space}"),
            Self::Richardson { damping: 1.0 } => write!(f, "richardson"),
            Self::Richardson { damping } => write!(f, "richardson:{damping}"),
        }
    }
}

impl FromStr for KrylovMethod {
    type Err = String;

    /// `gmres:30` (`gmres`: 30), `bicgstab`, `cg`, `idr:4` (`idr`: 4) or `richardson:1` (`richardson`: 1). `fgmres:30` is `gmres:30`, which is
    /// flexible wherever the preconditioner changes.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let count = |default: usize| match number.map(str::parse) {
            None => Ok(default),
            Some(Ok(count)) if count > 0 => Ok(count),
            Some(_) => Err(format!("`{text}`: the number behind the colon is not a whole one above 0")),
        };
        let method = match name {
            "gmres" | "fgmres" => return Ok(Self::Gmres { restart: count(30)? }),
            "idr" => return Ok(Self::Idr { space: count(4)? }),
            "richardson" => match number.map_or(Ok(1.0), str::parse) {
                Ok(damping) if f64::is_finite(damping) => return Ok(Self::Richardson { damping }),
                _ => return Err(format!("`{text}`: the damping is not a number")),
            },
            "bicgstab" => Self::Bicgstab,
            "cg" => Self::Cg,
            _ => {
                return Err(format!(
                    "no solver `{text}`; there are: gmres:M (or fgmres:M), bicgstab, cg, idr:S, richardson:OMEGA"
                ));
            }
        };
        if number.is_some() { Err(format!("`{name}` takes no number")) } else { Ok(method) }
    }
}

/// On which side of A the preconditioner M⁻¹ stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreconditionerSide {
    /// A·M⁻¹·(M·x) = rhs: the residual that is minimised is that of the system itself.
    #[default]
    Right,
    /// M⁻¹·A·x = M⁻¹·rhs. Whether it has converged is still decided by ‖rhs − A·x‖.
    Left,
}

/// Why an iteration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol), computed from x.
    Converged,
    /// As many iterations as allowed.
    IterationLimit,
    /// Restarts, or as many steps of Richardson's iteration, brought nothing: the residual does not get smaller.
    Stagnated,
    /// A division by zero, or a product that shows that the matrix is not definite, and a restart did not help.
    Breakdown,
    /// NaN or an infinity came up.
    NotFinite,
    /// The callback said so.
    Cancelled,
}

impl Display for Ending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::IterationLimit => "iteration limit",
            Self::Stagnated => "stagnated",
            Self::Breakdown => "breakdown",
            Self::NotFinite => "not finite",
            Self::Cancelled => "cancelled",
        })
    }
}

/// What an iterative solve did. Norms are 2-norms.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an iteration may end without having converged"]
#[non_exhaustive]
pub struct IterationReport {
    /// The method.
    pub method: KrylovMethod,
    /// Where the preconditioner stood; `None` without one.
    pub side: Option<PreconditionerSide>,
    /// Why it ended.
    pub ending: Ending,
    /// Iterations.
    pub iterations: usize,
    /// Times that it began again, from the residual of the x that it had.
    pub restarts: usize,
    /// ‖rhs − A·x‖₂, computed from x.
    pub residual_norm: f64,
    /// ‖rhs‖₂.
    pub rhs_norm: f64,
    /// max(rtol·‖rhs‖₂, atol): what `residual_norm` was to be below.
    pub tolerance: f64,
    /// The residual's norm at first and after each iteration, as the method itself knows it; of a left preconditioner's system, scaled
    /// so that it begins with that of A·x = rhs.
    pub history: Vec<f64>,
}

impl IterationReport {
    /// Whether ‖rhs − A·x‖₂ is within the tolerance.
    pub fn converged(&self) -> bool {
        self.ending == Ending::Converged
    }

    /// ‖rhs − A·x‖₂ / ‖rhs‖₂; of a right-hand side 0, ‖A·x‖₂.
    pub fn relative_residual(&self) -> f64 {
        if self.rhs_norm > 0.0 { self.residual_norm / self.rhs_norm } else { self.residual_norm }
    }
}

/// What the callback is told after each iteration.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct IterationProgress<'x, T> {
    /// Iterations so far.
    pub iteration: usize,
    /// The norm of the residual, as the method itself knows it.
    pub residual_norm: f64,
    /// The same of a left preconditioner's system, ‖M⁻¹·(rhs − A·x)‖₂; without one it is `residual_norm`.
    pub preconditioned_norm: f64,
    /// What `residual_norm` is to be below.
    pub tolerance: f64,
    /// x as it is by now. GMRES has none within a cycle: at the end of each it tells once more of its last iteration, with x.
    pub x: Option<&'x [T]>,
}

/// A method and when it ends.
///
/// It begins with the x that it is given, and ends when ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol). Recurrences only say when to look:
/// the residual is computed from x, and if it is not small enough the method begins again from there. If nothing helps, x is the
/// best that was seen (to a factor 2 in its residual), and the report says why it ended.
///
/// The result is the same for any number of threads. Nothing is allocated in an iteration.
///
/// # Example
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let report = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).rtol(1e-12).solve(&a, None, &[5.0, 2.0], &mut x)?;
/// assert!(report.converged() && (x[0] - 1.0).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct KrylovSolver<'c> {
    method: KrylovMethod,
    rtol: f64,
    atol: f64,
    max_iterations: Option<usize>,
    side: PreconditionerSide,
    communicator: &'c dyn Communicator,
}

impl KrylovSolver<'static> {
    /// With the defaults of the other functions.
    pub fn new(method: KrylovMethod) -> Self {
        Self {
            method,
            rtol: 1e-6,
            atol: 0.0,
            max_iterations: None,
            side: PreconditionerSide::Right,
            communicator: &Alone,
        }
    }
}

impl<'c> KrylovSolver<'c> {
    /// The part of ‖rhs‖₂ that the residual may have. Default: 10⁻⁶.
    #[must_use]
    pub fn rtol(self, rtol: f64) -> Self {
        Self { rtol, ..self }
    }

    /// A residual that is small enough whatever ‖rhs‖₂ is. Default: 0.
    #[must_use]
    pub fn atol(self, atol: f64) -> Self {
        Self { atol, ..self }
    }

    /// Most iterations. Default: 10 times the rows of all processes, at most 10,000.
    #[must_use]
    pub fn max_iterations(self, iterations: usize) -> Self {
        Self { max_iterations: Some(iterations), ..self }
    }

    /// Where the preconditioner stands. Default: on the right.
    #[must_use]
    pub fn side(self, side: PreconditionerSide) -> Self {
        Self { side, ..self }
    }

    /// Processes that share the vectors. Default: this one alone.
    #[must_use]
    pub fn communicator<'d>(self, communicator: &'d dyn Communicator) -> KrylovSolver<'d> {
        KrylovSolver { communicator, ..self }
    }

    /// Rows of all processes.
    fn all_rows(&self, own: usize) -> usize {
        let mut rows = [own as f64];
        self.communicator.sum(&mut rows);
        rows[0] as usize
    }

    /// Scratch for [`solve_with`](Self::solve_with). All processes ask for it together: it adds up their rows.
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
        let own = StackReq::new::<T>(n.saturating_mul(vectors + 4)).and(Reducer::scratch(n, sums));
        own.and(method.small_scratch()).and(operators)
    }

    /// Solves A·x = rhs from the x that it is given, with M⁻¹ as preconditioner. Several right-hand sides go one after the other with
    /// [`solve_columns`](Self::solve_columns).
    ///
    /// # Errors
    /// [`Error::Shape`] if lengths do not fit, [`Error::NotFinite`] if `rhs` or x holds NaN or an infinity, those of the operators, and
    /// [`Error::Unsupported`] for a preconditioner on the left that changes. Not to converge is no error, but an [`Ending`].
    pub fn solve<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
    ) -> Result<IterationReport> {
        self.solve_watched(a, preconditioner, rhs, x, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, and tells `watch` of every iteration, which may end it.
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

    /// Several right-hand sides, column by column; a report for each.
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
        let n = a.rows().max(1);
        let memory = buffer(self.scratch(a, preconditioner));
        let lengths = check("x", rhs.len(), x.len()).and(check("rhs", rhs.len().next_multiple_of(n), rhs.len()));
        let mut memory = bandsolve::vectors::agree_on(self.communicator, lengths.and(memory))?;
        let columns = rhs.chunks(n).zip(x.chunks_mut(n));
        let watch = &mut |_: IterationProgress<'_, T>| ControlFlow::Continue(());
        columns.map(|(rhs, x)| self.solve_with(a, preconditioner, rhs, x, watch, stack(&mut memory))).collect()
    }

    /// [`solve_watched`](Self::solve_watched) in the caller's scratch memory.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and [`Error::Scratch`] if there is too little of it.
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

    /// An error on all processes unless they solve alike: they would wait for each other.
    fn agree_alike(&self, preconditioned: bool) -> Result<()> {
        let Self { method, rtol, atol, max_iterations, side, communicator } = self;
        let options = (method, rtol, atol, max_iterations, side, preconditioned);
        bandsolve::vectors::agree_alike(*communicator, bandsolve::vectors::digest(&options))
    }

    /// Cycles of the method, each from the residual of x, until that is small enough or nothing helps; with the norm of the residual.
    fn iterate<T: Scalar>(
        &self,
        run: &mut KrylovRun<'_, T>,
        monitor: &mut Monitor<'_, T>,
        (x, r, spare, vectors): (&mut [T], &mut [T], &mut [T], &mut [T]),
        stack: &mut PodStack,
    ) -> Result<(Ending, f64)> {
        let (mut before, mut fruitless) = (f64::INFINITY, 0);
        let mut last = Ending::Converged;
        let mut from_zero = run.reducer.norm(x) == 0.0;
        loop {
            let [residual, norm] = run.start(x, from_zero, r, spare, stack)?;
            from_zero = false;
            if !residual.is_finite() || !norm.is_finite() {
                return Ok((Ending::NotFinite, residual));
            }
            monitor.restart(residual, norm, x);
            if residual <= monitor.tolerance {
                return Ok((Ending::Converged, residual));
            }
            match last {
                Ending::Converged => {}
                Ending::Breakdown if norm <= 0.9 * before => {}
                ended => return Ok((ended, residual)),
            }
            // A restart that gains nothing will never gain.
            fruitless = if norm < before * (1.0 - 1e-5) { 0 } else { fruitless + 1 };
            if fruitless > 2 {
                return Ok((Ending::Stagnated, residual));
            }
            if norm == 0.0 || monitor.iterations >= monitor.limit {
                return Ok((if norm == 0.0 { Ending::Breakdown } else { Ending::IterationLimit }, residual));
            }
            before = norm;
            monitor.cycles += 1;
            let method = run.method;
            last = method.cycle(run, monitor, (x, r, vectors, spare), stack)?;
            if matches!(self.method, KrylovMethod::Gmres { .. }) && last != Ending::Cancelled {
                last = monitor.cycle(x).unwrap_or(last);
            }
        }
    }
}

/// How a method ends that cannot go on because of these numbers: they are not finite, or a division by them is not possible.
fn broken(numbers: &[Complex64]) -> Ending {
    if numbers.iter().all(|number| number.is_finite()) { Ending::Breakdown } else { Ending::NotFinite }
}

/// What [`KrylovSolver::solve_with`] was called with.
pub(crate) struct KrylovCall<'a, T: Scalar> {
    solver: KrylovSolver<'a>,
    a: &'a dyn LinearOperator<T>,
    preconditioner: Option<&'a dyn LinearOperator<T>>,
    rhs: &'a [T],
    x: &'a mut [T],
    watch: &'a mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    stack: &'a mut PodStack,
}

/// Whether lengths fit, and numbers are finite.
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
        if m.changes() && side == PreconditionerSide::Left {
            return Err(Error::Unsupported {
                method: "left preconditioning",
                what: "with a preconditioner that changes from step to step: put it on the right",
            });
        }
    }
    for (array, values) in [("rhs", rhs), ("x", x)] {
        if let Some(index) = values.iter().position(|v| !Scalar::is_finite(*v)) {
            return Err(Error::NotFinite { array, index });
        }
    }
    Ok(())
}

impl<T: Scalar> KrylovCall<'_, T> {
    pub(crate) fn run(self) -> Result<IterationReport> {
        let Self { solver, a, preconditioner, rhs, x, watch, stack } = self;
        let _mode = Standard::enter();
        let n = a.rows();
        let all = agree(solver.communicator, n, checked((a, preconditioner, solver.side), (rhs, x)))?;
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
        let mut run = KrylovRun { method, a, m: preconditioner, side: solver.side, rhs, n, all, reducer, steps: 0 };
        let (r, stack) = stack.make_raw::<T>(n);
        let (best, stack) = stack.make_raw::<T>(n);
        let (spare, stack) = stack.make_raw::<T>(2 * n);
        let (vectors, stack) = stack.make_raw::<T>(n * vectors);
        let rhs_norm = run.reducer.norm(rhs);
        let tolerance = (solver.rtol * rhs_norm).max(solver.atol);
        let limit = solver.max_iterations.unwrap_or_else(|| all.saturating_mul(10).min(10_000));
        let mut monitor = Monitor::new(limit, tolerance, best, watch);
        let (ending, norm) = solver.iterate(&mut run, &mut monitor, (x, r, spare, vectors), stack)?;
        let residual_norm = run.finish(&mut monitor, norm, x, r, stack)?;
        // What was kept may be within the tolerance where the last x is not.
        let ending = if residual_norm <= tolerance { Ending::Converged } else { ending };
        Ok(IterationReport {
            method: solver.method,
            side: preconditioner.map(|_| solver.side),
            ending,
            iterations: monitor.iterations,
            restarts: monitor.cycles.saturating_sub(1),
            residual_norm,
            rhs_norm,
            tolerance,
            history: monitor.history,
        })
    }
}

impl KrylovMethod {
    /// The same with no larger spaces than there are rows on all processes.
    fn within(self, rows: usize) -> Self {
        match self {
            Self::Gmres { restart } => Self::Gmres { restart: restart.min(rows.max(1)) },
            Self::Idr { space } => Self::Idr { space: space.min(rows) },
            other => other,
        }
    }

    /// Vectors, and most sums at a time.
    fn needs(&self, flexible: bool) -> (usize, usize) {
        match self {
            Self::Gmres { restart } => (restart + 1 + if flexible { *restart } else { 0 }, restart + 1),
            Self::Bicgstab => (7, 2),
            Self::Cg => (3, 2),
            Self::Idr { space } => (3 * space + 3, *space),
            Self::Richardson { .. } => (1, 1),
        }
    }

    /// Scratch for small matrices.
    fn small_scratch(&self) -> StackReq {
        match self {
            Self::Gmres { restart } => gmres::small_scratch(*restart),
            Self::Idr { space } => idr::small_scratch(*space),
            _ => StackReq::EMPTY,
        }
    }

    /// Iterations from x with the residual r, until the recurrence says that it is small, or something ends them.
    fn cycle<T: Scalar>(
        &self,
        run: &mut KrylovRun<'_, T>,
        monitor: &mut Monitor<'_, T>,
        (x, r, vectors, spare): (&mut [T], &mut [T], &mut [T], &mut [T]),
        stack: &mut PodStack,
    ) -> Result<Ending> {
        match self {
            Self::Gmres { restart } => gmres::cycle(run, monitor, *restart, (x, r, vectors, spare), stack),
            Self::Bicgstab => bicgstab::cycle(run, monitor, (x, r, vectors, spare), stack),
            Self::Cg => cg::cycle(run, monitor, (x, r, vectors, spare), stack),
            Self::Idr { space } => idr::cycle(run, monitor, *space, (x, r, vectors, spare), stack),
            Self::Richardson { damping } => richardson::cycle(run, monitor, *damping, (x, r, vectors, spare), stack),
        }
    }
}

/// One system, as the methods see it.
struct KrylovRun<'a, T: Scalar> {
    /// With spaces that are no larger than the system.
    method: KrylovMethod,
    a: &'a dyn LinearOperator<T>,
    m: Option<&'a dyn LinearOperator<T>>,
    side: PreconditionerSide,
    rhs: &'a [T],
    n: usize,
    /// Rows of all processes.
    all: usize,
    reducer: Reducer<'a>,
    /// Applications of a preconditioner that changes.
    steps: usize,
}

impl<T: Scalar> KrylovRun<'_, T> {
    /// Whether applications of the preconditioner are to be kept.
    fn is_flexible(&self) -> bool {
        self.m.is_some_and(|m| m.changes())
    }

    /// y = A·v; M⁻¹·A·v with the preconditioner on the left.
    fn apply(&mut self, v: &[T], y: &mut [T], spare: &mut [T], stack: &mut PodStack) -> Result<()> {
        interrupt::check()?;
        match (self.side, self.m) {
            (PreconditionerSide::Left, Some(m)) => {
                let w = &mut spare[..self.n];
                self.a.apply(v, w, stack)?;
                m.apply(w, y, stack)
            }
            _ => self.a.apply(v, y, stack),
        }
    }

    /// z = M⁻¹·v; v itself without a preconditioner, or with one on the left.
    fn precondition(&mut self, v: &[T], z: &mut [T], stack: &mut PodStack) -> Result<()> {
        match (self.side, self.m) {
            (PreconditionerSide::Right, Some(m)) => {
                self.steps += 1;
                m.apply_step(self.steps - 1, v, z, stack)
            }
            _ => {
                z.copy_from_slice(v);
                Ok(())
            }
        }
    }

    /// r = rhs − A·x, or M⁻¹ times it with the preconditioner on the left; and the norms of both. No product where x is known as 0.
    fn start(
        &mut self,
        x: &[T],
        is_zero: bool,
        r: &mut [T],
        spare: &mut [T],
        stack: &mut PodStack,
    ) -> Result<[f64; 2]> {
        interrupt::check()?;
        let left = self.m.filter(|_| self.side == PreconditionerSide::Left);
        let w = if left.is_some() { &mut spare[..self.n] } else { &mut *r };
        if is_zero {
            w.copy_from_slice(self.rhs);
        } else {
            self.a.residual(x, self.rhs, w, stack)?;
        }
        let norm = self.reducer.norm(w);
        let Some(m) = left else { return Ok([norm; 2]) };
        m.apply(&spare[..self.n], r, stack)?;
        Ok([norm, self.reducer.norm(r)])
    }

    /// Leaves the better of x, whose residual has this norm, and what was kept in x; returns the norm of its residual.
    fn finish(
        &mut self,
        monitor: &mut Monitor<'_, T>,
        norm: f64,
        x: &mut [T],
        r: &mut [T],
        stack: &mut PodStack,
    ) -> Result<f64> {
        if norm <= monitor.tolerance || norm <= monitor.kept_norm() {
            return Ok(norm);
        }
        self.a.residual(monitor.kept(), self.rhs, r, stack)?;
        let kept = self.reducer.norm(r);
        if kept < norm || norm.is_nan() {
            x.copy_from_slice(monitor.kept());
            return Ok(kept);
        }
        Ok(norm)
    }
}

pub(crate) fn check(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// Scratch memory, on large pages: what is read at random from small ones takes several times as long.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn buffer(needed: StackReq) -> Result<Vec<f64>> {
    let bytes = needed.unaligned_bytes_required();
    zeros(bytes.div_ceil(size_of::<f64>())).ok_or(Error::OutOfMemory { bytes })
}

/// A stack in it.
pub(crate) fn stack(memory: &mut [f64]) -> &mut PodStack {
    PodStack::new(bytemuck::cast_slice_mut(memory))
}
