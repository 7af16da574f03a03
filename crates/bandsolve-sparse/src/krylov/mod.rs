//! Krylov methods: solve A·x = rhs by products with A.

mod bicgstab;
mod cg;
mod gmres;
mod idr;
mod inverse;
mod monitor;
mod richardson;
mod units;

use crate::instances::SolveSystem;
use crate::random::mixed;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{PIECE, Reducer, agree};
use bandsolve::{
    Alone, Communicator, Complex64, Error, LinearOperator, RealScalar, Result, Scalar, attention, interrupt,
};
use bandsolve_kernel::arithmetic::Standard;
use bandsolve_kernel::memory::zeros;
use core::fmt::{self, Display, Formatter};
use core::ops::ControlFlow;
use core::str::FromStr;
use monitor::Monitor;
use units::Units;

pub use inverse::KrylovInverse;

/// An iterative method, with its parameter.
///
/// One iteration costs one product with A and one application of the preconditioner. An iteration of BiCGStab costs two of each.
///
/// # Examples
/// A method has a name, as on the command line and in Python:
/// ```
/// use bandsolve_sparse::KrylovMethod;
/// assert_eq!("gmres:50".parse(), Ok(KrylovMethod::Gmres { restart: 50 }));
/// assert_eq!(KrylovMethod::Idr { space: 4 }.to_string(), "idr:4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum KrylovMethod {
    /// GMRES with restarts, for any matrix. It orthogonalises by classical Gram–Schmidt, twice.
    ///
    /// If the preconditioner changes from step to step, it runs as flexible GMRES (FGMRES).
    Gmres {
        /// Iterations between restarts. The method keeps `restart` + 1 vectors, FGMRES 2·`restart` + 1.
        restart: usize,
    },
    /// BiCGStab (stabilised bi-conjugate gradients), for any matrix. It keeps seven vectors.
    Bicgstab,
    /// Conjugate gradients, for a Hermitian positive definite matrix and preconditioner. It keeps four vectors.
    Cg,
    /// IDR(s) (induced dimension reduction) in its bi-orthogonal form, for any matrix. It keeps 3·s + 3 vectors.
    Idr {
        /// s: the dimension of the shadow space.
        space: usize,
    },
    /// Richardson's iteration, x ← x + ω·M⁻¹·(rhs − A·x). It converges if the spectral radius of I − ω·M⁻¹·A is below 1.
    Richardson {
        /// The damping factor ω.
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

    /// Parse `gmres:30`, `bicgstab`, `cg`, `idr:4` or `richardson:1`. Without a number, `gmres` means `gmres:30`, `idr` means `idr:4`, and `richardson`
    /// means `richardson:1`. `fgmres:30` is the same as `gmres:30`, which is flexible if the preconditioner changes.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let count = |default: usize| match number.map(str::parse) {
            None => Ok(default),
            Some(Ok(count)) if count > 0 => Ok(count),
            Some(_) => Err(format!("`{text}`: the number after the colon must be a whole number of at least 1")),
        };
        let method = match name {
            "gmres" | "fgmres" => return Ok(Self::Gmres { restart: count(30)? }),
            "idr" => return Ok(Self::Idr { space: count(4)? }),
            "richardson" => match number.map_or(Ok(1.0), str::parse) {
                Ok(damping) if f64::is_finite(damping) => return Ok(Self::Richardson { damping }),
                _ => return Err(format!("`{text}`: the damping factor after the colon must be a finite number")),
            },
            "bicgstab" => Self::Bicgstab,
            "cg" => Self::Cg,
            _ => {
                return Err(format!(
                    "no solver `{text}`. Choose one of: gmres:M (or fgmres:M), bicgstab, cg, idr:S, richardson:OMEGA"
                ));
            }
        };
        if number.is_some() { Err(format!("`{text}`: `{name}` takes no number")) } else { Ok(method) }
    }
}

/// The side of A on which the method applies the preconditioner M⁻¹.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{KrylovMethod, KrylovSolver, PreconditionerSide};
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 30 }).side(PreconditionerSide::Left);
/// assert_eq!(PreconditionerSide::default(), PreconditionerSide::Right);
/// # _ = solver;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PreconditionerSide {
    /// Solve A·M⁻¹·(M·x) = rhs. The method then minimises the residual of the system itself.
    #[default]
    Right,
    /// Solve M⁻¹·A·x = M⁻¹·rhs. The stopping rule still uses ‖rhs − A·x‖.
    Left,
}

/// Why an iteration ended.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, Ending, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let solver = KrylovSolver::new(KrylovMethod::Gmres { restart: 20 }).rtol(1e-12).max_iterations(1);
/// let report = solver.solve(&a, None, &[5.0, 2.0], &mut x)?;
/// assert_eq!(report.ending, Ending::IterationLimit);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol). The solver computed this residual from x, and allowed for its rounding error.
    Converged,
    /// The solver reached the maximum number of iterations.
    IterationLimit,
    /// Restarts (for Richardson's iteration: steps) did not reduce the residual further, or the residual is below the tolerance by less than
    /// its own rounding error. Use a larger tolerance, or another preconditioner.
    Stagnated,
    /// The method would have to divide by zero, and a restart did not help. With [`KrylovMethod::Cg`]: the matrix or the preconditioner is not
    /// Hermitian positive definite. Use GMRES.
    Breakdown,
    /// The iteration produced NaN or infinity.
    NotFinite,
    /// The callback ended the iteration.
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

/// The report of an iterative solve.
///
/// All norms are 2-norms. A norm beyond the range of double precision is infinite in the report. The solver itself decides with scaled numbers,
/// which do not overflow.
///
/// # Examples
/// ```
/// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
/// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 0, 4.0), (0, 1, 1.0), (1, 1, 2.0)])?;
/// let mut x = [0.0; 2];
/// let report = KrylovSolver::new(KrylovMethod::Bicgstab).rtol(1e-10).solve(&a, None, &[5.0, 2.0], &mut x)?;
/// if !report.converged() {
///     eprintln!("{}: {:.1e} after {} iterations", report.ending, report.relative_residual(), report.iterations);
/// }
/// assert_eq!(report.history.len(), report.iterations + 1);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an iteration may end without having converged"]
#[non_exhaustive]
pub struct IterationReport {
    /// The method that solved.
    pub method: KrylovMethod,
    /// The side of the preconditioner; `None` without a preconditioner.
    pub side: Option<PreconditionerSide>,
    /// Why the iteration ended.
    pub ending: Ending,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of restarts. A restart begins again from the residual of the last x.
    pub restarts: usize,
    /// ‖rhs − A·x‖₂, computed from x.
    pub residual_norm: f64,
    /// ‖rhs‖₂.
    pub rhs_norm: f64,
    /// max(rtol·‖rhs‖₂, atol), the upper limit for `residual_norm`.
    pub tolerance: f64,
    /// The norm of the residual at the start and after each iteration, from the recurrence of the method. With a preconditioner on the left,
    /// these are norms of the preconditioned residual, scaled so that the first one is ‖rhs − A·x‖₂.
    pub history: Vec<f64>,
    /// A warning in words if x may have no correct digit: x is so large, compared with rhs, that A is singular to working precision.
    pub attention: Option<String>,
    /// The scaling of the computation, and ‖rhs − A·x‖₂ and ‖rhs‖₂ in this scaling.
    scaled: (Units, [f64; 2]),
}

impl IterationReport {
    /// Whether ‖rhs − A·x‖₂ is at most the tolerance.
    pub fn converged(&self) -> bool {
        self.ending == Ending::Converged
    }

    /// The relative residual ‖rhs − A·x‖₂ / ‖rhs‖₂. If rhs is 0, ‖A·x‖₂.
    pub fn relative_residual(&self) -> f64 {
        let (_, [residual, rhs]) = self.scaled;
        if rhs > 0.0 { residual / rhs } else { self.residual_norm }
    }

    /// Divide a norm of `history`, or `tolerance`, by ‖rhs‖₂. This works also if ‖rhs‖₂ is beyond the range. If rhs is 0, the result is `norm`.
    pub fn relative(&self, norm: f64) -> f64 {
        let (units, [_, rhs]) = self.scaled;
        if rhs > 0.0 { units.scaled(norm) / rhs } else { norm }
    }
}

/// The state of an iteration, which a callback receives after each iteration.
///
/// # Examples
/// Stop after three iterations:
/// ```
/// use bandsolve_sparse::{Ending, KrylovMethod, KrylovSolver, nine_point};
/// use core::ops::ControlFlow;
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (20, 20));
/// let mut x = vec![0.0; 400];
/// let report = KrylovSolver::new(KrylovMethod::Cg).solve_watched(&a, None, &vec![1.0; 400], &mut x, &mut |progress| {
///     if progress.iteration < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// })?;
/// assert_eq!((report.ending, report.iterations), (Ending::Cancelled, 3));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct IterationProgress<'x, T> {
    /// Number of iterations so far.
    pub iteration: usize,
    /// The norm of the residual, from the recurrence of the method.
    pub residual_norm: f64,
    /// With a preconditioner on the left: ‖M⁻¹·(rhs − A·x)‖₂. Otherwise the same as `residual_norm`.
    pub preconditioned_norm: f64,
    /// The upper limit for `residual_norm`.
    pub tolerance: f64,
    /// The current x. GMRES has no x before a cycle ends. It then calls the callback once more for the last iteration, with x.
    pub x: Option<&'x [T]>,
}

/// Solve A·x = rhs by a Krylov method, with a preconditioner or without.
///
/// The solver starts from the x that you pass, and stops when ‖rhs − A·x‖₂ ≤ max(rtol·‖rhs‖₂, atol). If a method cannot reach this tolerance,
/// the solver returns the best x that it found, up to a factor of 2 in the residual. The report then says why the iteration ended.
///
/// The result is the same for any number of threads. An iteration allocates no memory.
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
    communicator: &'c dyn Communicator,
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
    fn all_rows(&self, own: usize) -> usize {
        let mut rows = [own as f64];
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
        let own = StackReq::new::<T>(n.saturating_mul(vectors + 6)).and(Reducer::scratch(n, sums));
        own.and(method.small_scratch()).and(operators)
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
        let own = rhs.len().checked_div(n).unwrap_or(0);
        let mut told = [f64::from(u8::from(n > 0)), own as f64];
        self.communicator.sum(&mut told);
        let count = if told[0] > 0.0 { (told[1] / told[0]) as usize } else { 0 };
        let lengths = check("x", rhs.len(), x.len()).and(check("rhs", count * n, rhs.len()));
        let memory = buffer(self.scratch(a, preconditioner));
        let mut memory = bandsolve::vectors::agree_on(self.communicator, lengths.and(memory))?;
        let watch = &mut |_: IterationProgress<'_, T>| ControlFlow::Continue(());
        let of_column = |k: usize| {
            let own = k * n..(k + 1) * n;
            self.solve_with(a, preconditioner, &rhs[own.clone()], &mut x[own], watch, stack(&mut memory))
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
    fn iterate<T: Scalar>(
        &self,
        run: &mut KrylovRun<'_, T>,
        monitor: &mut Monitor<'_, T>,
        (x, r, spare, vectors): (&mut [T], &mut [T], &mut [T], &mut [T]),
        mut known: Known,
        stack: &mut PodStack,
    ) -> Result<(Ending, f64)> {
        // The last and the smallest norm of the residual that the method knows, in the scaling of the first cycle.
        let (mut before, mut least) = (f64::INFINITY, f64::INFINITY);
        // Number of restarts without a new minimum, and of those that came no nearer to the minimum either.
        let (mut above, mut fruitless) = (0, 0);
        let mut last = Ending::Converged;
        loop {
            // Round x as the caller will get it: claims must hold for this x.
            run.units.round(x);
            let Start { residual, norm, proved } = run.start(x, known, r, spare, stack)?;
            if !residual.is_finite() || !norm.is_finite() {
                return Ok((Ending::NotFinite, residual));
            }
            monitor.restart((residual, norm), run.left_scale, x);
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
            last = method.cycle(run, monitor, (x, r, vectors, spare), stack)?;
            if matches!(self.method, KrylovMethod::Gmres { .. }) && last != Ending::Cancelled {
                last = monitor.cycle(x).unwrap_or(last);
            }
            known = if monitor.is_small() { Known::Claimed } else { Known::Nothing };
        }
    }
}

/// Maximum numbers of restarts without progress: those that come no nearer to the smallest residual, and those that do not fall below it.
const MOST_FRUITLESS: usize = 2;
const MOST_ABOVE: usize = 12;

/// The ending of a method that cannot go on, because these numbers are not finite, or because it cannot divide by them.
fn broken(numbers: &[Complex64]) -> Ending {
    if numbers.iter().all(|number| number.is_finite()) { Ending::Breakdown } else { Ending::NotFinite }
}

/// The arguments of [`KrylovSolver::solve_with`].
pub(crate) struct KrylovCall<'a, T: Scalar> {
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
        if m.changes() && side == PreconditionerSide::Left {
            let problem = "changes from step to step, on the left side";
            return Err(Error::invalid("preconditioner", problem, "such a preconditioner on the right side"));
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
        // Conjugate gradients compute the same for both sides.
        let side = if solver.method == KrylovMethod::Cg { PreconditionerSide::Right } else { solver.side };
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
        let (mut reducer, stack) = Reducer::new(solver.communicator, n, sums, stack);
        let (r, stack) = stack.make_raw::<T>(n);
        let (best, stack) = stack.make_raw::<T>(n);
        let (spare, stack) = stack.make_raw::<T>(2 * n);
        let (vectors, stack) = stack.make_raw::<T>(n * vectors);
        // These two are written only if the system is scaled.
        let (view, stack) = stack.make_raw::<T>(n);
        let (scaled, stack) = stack.make_raw::<T>(n);
        let (mut rhs_norm, x_norm) = (reducer.norm(rhs), reducer.norm(x));
        let units = Units::of::<T>(rhs_norm, x_norm);
        let rhs = if units.is_plain() { rhs } else { units.scale_to(rhs, scaled) };
        if !units.is_plain() {
            rhs_norm = reducer.norm(rhs);
            units.scale(x);
        }
        let tolerance = (solver.rtol * rhs_norm).max(units.scaled_bound(solver.atol));
        let limit = solver.max_iterations.unwrap_or_else(|| all.saturating_mul(10).min(10_000));
        let mut monitor = Monitor::new((limit, tolerance), units, (best, view), watch);
        let communicator = solver.communicator;
        let mut run = KrylovRun {
            method,
            a,
            m: preconditioner,
            side,
            rhs,
            rhs_norm,
            tolerance,
            n,
            all,
            communicator,
            reducer,
            units,
            left_scale: 1.0,
            products: 0,
            size: 0.0,
            steps: 0,
        };
        let known = if x_norm == 0.0 { Known::Zero } else { Known::Nothing };
        let ended = solver.iterate(&mut run, &mut monitor, (x, r, spare, vectors), known, stack);
        let ended = ended.and_then(|ended| run.finish(&mut monitor, ended, (x, r, spare), stack));
        let attention = ended.as_ref().ok().and_then(|(_, residual)| run.attention(x, *residual));
        // Unscale x also if an operator has failed, since x belongs to the caller.
        units.unscale(x);
        let (ending, residual) = ended?;
        Ok(IterationReport {
            method: solver.method,
            side: preconditioner.map(|_| side),
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
            Self::Bicgstab => (7, 2),
            Self::Cg => (3, 2),
            Self::Idr { space } => (3 * space + 3, *space),
            Self::Richardson { .. } => (1, 1),
        }
    }

    /// Scratch memory for small matrices.
    fn small_scratch(&self) -> StackReq {
        match self {
            Self::Gmres { restart } => gmres::small_scratch(*restart),
            Self::Idr { space } => idr::small_scratch(*space),
            _ => StackReq::EMPTY,
        }
    }

    /// Iterate from x with the residual r, until the recurrence reaches the tolerance, or the iteration ends for another reason.
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

/// The information about an x before its residual is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// x is 0.
    Zero,
    /// No information.
    Nothing,
    /// The residual is small enough according to the method.
    Claimed,
    /// x belongs to a step after which the method goes on. No proof is needed.
    Step,
}

/// The start of a cycle.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// ‖rhs − A·x‖₂.
    residual: f64,
    /// The norm of the residual for the method. With the preconditioner on the left, the norm of M⁻¹·(rhs − A·x).
    norm: f64,
    /// Whether ‖rhs − A·x‖₂ plus a bound on its rounding error is at most the tolerance.
    proved: bool,
}

/// One system, as the methods use it.
struct KrylovRun<'a, T: Scalar> {
    /// The method, with spaces that are at most as large as the system.
    method: KrylovMethod,
    a: &'a dyn LinearOperator<T>,
    m: Option<&'a dyn LinearOperator<T>>,
    side: PreconditionerSide,
    rhs: &'a [T],
    rhs_norm: f64,
    tolerance: f64,
    n: usize,
    /// Number of rows on all processes.
    all: usize,
    communicator: &'a dyn Communicator,
    reducer: Reducer<'a>,
    /// The scaling of rhs and x.
    units: Units,
    /// The power of two that multiplies a preconditioner on the left, so that the first residual is near 1.
    left_scale: f64,
    /// Number of products with A in cycles.
    products: usize,
    /// The largest ‖A·v‖₂/‖v‖₂ of products 1, 8, 64, …
    size: f64,
    /// Number of applications of the preconditioner.
    steps: usize,
}

/// The estimated rounding error of a product, in ε times the sum of moduli, for operators that do not know their entries.
const ROUNDING: f64 = 8.0;
/// The minimum ratio of the tolerance to the estimated rounding error for which no further product is spent on a better estimate.
const FAR_ABOVE: f64 = 1e4;

impl<T: Scalar> KrylovRun<'_, T> {
    /// Whether the results of the preconditioner must be kept, since it changes.
    fn is_flexible(&self) -> bool {
        self.m.is_some_and(|m| m.changes())
    }

    /// y = A·v. With the preconditioner on the left, y = M⁻¹·A·v.
    fn apply(&mut self, v: &[T], y: &mut [T], spare: &mut [T], stack: &mut PodStack) -> Result<()> {
        interrupt::check()?;
        match (self.side, self.m) {
            (PreconditionerSide::Left, Some(m)) => {
                let w = &mut spare[..self.n];
                self.a.apply(v, w, stack)?;
                self.measure(v, &spare[..self.n]);
                m.apply(&spare[..self.n], y, stack)?;
                units::multiply(y, self.left_scale);
            }
            _ => {
                self.a.apply(v, y, stack)?;
                self.measure(v, y);
            }
        }
        Ok(())
    }

    /// Measure the size of a few of the products.
    fn measure(&mut self, v: &[T], image: &[T]) {
        self.products += 1;
        if self.products.is_power_of_two() && self.products.ilog2().is_multiple_of(3) {
            self.size = (self.reducer.norm(image) / self.reducer.norm(v)).max(self.size);
        }
    }

    /// z = M⁻¹·v. Without a preconditioner, or with one on the left, z = v.
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

    /// Compute r = rhs − A·x, or M⁻¹·(rhs − A·x) with the preconditioner on the left. Returns its norms. No product if x is known to be 0.
    fn start(&mut self, x: &[T], known: Known, r: &mut [T], spare: &mut [T], stack: &mut PodStack) -> Result<Start> {
        interrupt::check()?;
        let (first, second) = spare.split_at_mut(self.n);
        let Some(m) = self.m.filter(|_| self.side == PreconditionerSide::Left) else {
            let (norm, proved) = self.residual(x, known, r, [first, second], stack)?;
            return Ok(Start { residual: norm, norm, proved });
        };
        let (residual, proved) = self.residual(x, known, first, [r, second], stack)?;
        m.apply(first, r, stack)?;
        units::multiply(r, self.left_scale);
        let mut norm = self.reducer.norm(r);
        let by = units::towards_one::<T>(norm);
        // A step of Richardson's iteration must be M⁻¹·r, without a scale.
        if by != 1.0 && !matches!(self.method, KrylovMethod::Richardson { .. }) {
            units::multiply(r, by);
            self.left_scale *= by;
            norm *= by;
        }
        Ok(Start { residual, norm, proved })
    }

    /// Compute w = rhs − A·x. Returns its norm, and whether this norm plus a bound on its rounding error is at most the tolerance. `free` are scratch
    /// vectors.
    fn residual(
        &mut self,
        x: &[T],
        known: Known,
        w: &mut [T],
        free: [&mut [T]; 2],
        stack: &mut PodStack,
    ) -> Result<(f64, bool)> {
        if known == Known::Zero {
            w.copy_from_slice(self.rhs);
            return Ok((self.rhs_norm, self.rhs_norm <= self.tolerance));
        }
        if known == Known::Claimed
            && let Some(found) = self.accurate_residual(x, w, stack)?
        {
            return Ok(found);
        }
        self.a.residual(x, self.rhs, w, stack)?;
        let norm = self.reducer.norm(w);
        if !(norm <= self.tolerance) || known == Known::Step {
            return Ok((norm, false));
        }
        if known == Known::Nothing
            && let Some(found) = self.accurate_residual(x, w, stack)?
        {
            return Ok(found);
        }
        let rounding = self.estimated_rounding(x, free, stack)?;
        Ok((norm, norm + rounding <= self.tolerance))
    }

    /// Compute the residual in twice the working precision. `None` if the operator does not know its entries.
    fn accurate_residual(&mut self, x: &[T], w: &mut [T], stack: &mut PodStack) -> Result<Option<(f64, bool)>> {
        let Some(worst) = self.a.accurate_residual(x, self.rhs, w, stack)? else { return Ok(None) };
        // The sum over processes is an upper bound of the maximum.
        let mut worst = [worst];
        self.communicator.sum(&mut worst);
        let norm = self.reducer.norm(w);
        // Bound the rounding of the elements to T, and of the sums of squares here and in the tolerance, which add up sums of eight. The result is the
        // same on all processes.
        let sums = 2.0 * (PIECE / 8 + self.all.div_ceil(PIECE) + 16) as f64 * f64::EPSILON;
        let error = worst[0] * (self.all as f64).sqrt() + (T::Real::EPSILON.to_f64() + sums) * norm;
        Ok(Some((norm, norm + error <= self.tolerance)))
    }

    /// Estimate the rounding error of rhs − A·x for an operator that does not know its entries: a multiple of ‖A·p‖₂ with pⱼ = dⱼ·xⱼ and random dⱼ, whose
    /// sums do not cancel. The dⱼ have different moduli, so that this holds also in rows of two entries.
    fn estimated_rounding(&mut self, x: &[T], [p, image]: [&mut [T]; 2], stack: &mut PodStack) -> Result<f64> {
        let unit = ROUNDING * T::Real::EPSILON.to_f64();
        let seen = unit * (self.size * self.reducer.norm(x) + self.rhs_norm);
        if self.size > 0.0 && FAR_ABOVE * seen <= self.tolerance {
            return Ok(seen);
        }
        let before = self.reducer.rows_before();
        for (i, (p, x)) in p.iter_mut().zip(x).enumerate() {
            let bits = mixed((before + i) as u64);
            let size = 0.5 + f64::from((bits >> 32) as u32) / f64::from(u32::MAX);
            *p = x.scale(T::Real::from_f64(if bits & 1 == 0 { size } else { -size }));
        }
        self.a.apply(p, image, stack)?;
        Ok(unit * (self.reducer.norm(image) + self.rhs_norm))
    }

    /// The warning if the size of x shows that A is singular to working precision. Since ‖A‖₂ ≥ `size` and ‖A⁻¹‖₂ ≥ ‖x‖₂/‖A·x‖₂, the reciprocal condition
    /// number of A is at most (‖rhs‖₂ + ‖rhs − A·x‖₂)/(`size`·‖x‖₂).
    fn attention(&mut self, x: &[T], residual: f64) -> Option<String> {
        let rcond = (self.rhs_norm + residual) / (self.size * self.reducer.norm(x));
        // For rhs = 0, the bound gives no information.
        (self.rhs_norm > 0.0).then(|| attention(T::Real::EPSILON.to_f64(), Some(rcond), f64::NAN, None))?
    }

    /// Set x to the better of x and the kept x. `norm` is the norm of the residual of x. Returns the ending and the norm for the better one: the kept x may
    /// reach the tolerance although the last x does not.
    fn finish(
        &mut self,
        monitor: &mut Monitor<'_, T>,
        (ending, norm): (Ending, f64),
        (x, r, spare): (&mut [T], &mut [T], &mut [T]),
        stack: &mut PodStack,
    ) -> Result<(Ending, f64)> {
        let Some((kept, kept_norm)) = monitor.kept() else { return Ok((ending, norm)) };
        if ending == Ending::Converged || norm <= kept_norm {
            return Ok((ending, norm));
        }
        self.units.round(kept);
        let (first, second) = spare.split_at_mut(self.n);
        let (kept_norm, proved) = self.residual(kept, Known::Claimed, r, [first, second], stack)?;
        if kept_norm < norm || norm.is_nan() {
            x.copy_from_slice(kept);
            return Ok((if proved { Ending::Converged } else { ending }, kept_norm));
        }
        Ok((ending, norm))
    }
}

pub(crate) fn check(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::Shape { what, expected, got }) }
}

/// Scratch memory on large pages. Random reads from small pages take several times as long.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn buffer(needed: StackReq) -> Result<Vec<f64>> {
    let bytes = needed.unaligned_bytes_required();
    zeros(bytes.div_ceil(size_of::<f64>())).ok_or(Error::OutOfMemory { bytes })
}

/// A stack in this memory.
pub(crate) fn stack(memory: &mut [f64]) -> &mut PodStack {
    PodStack::new(bytemuck::cast_slice_mut(memory))
}
