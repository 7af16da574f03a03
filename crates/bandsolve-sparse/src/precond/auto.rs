//! The choice of the preconditioner and the Krylov method for a matrix, with the reason.
//!
//! If the diagonal is large, the sums of the rows suffice for the choice. Otherwise, each candidate runs a few steps on a system with a random
//! right-hand side, cheap candidates first. From the result, the module predicts the memory traffic to solution, set-up included. The choice depends
//! neither on clocks nor on the number of threads.

use super::build::{Preconditioner, build};
use super::diagonal::DiagonalRule;
use super::kind::{PreconditionerKind, PreconditionerOptions};
use crate::csr::Csr;
use crate::krylov::{Ending, IterationProgress, IterationReport, KrylovMethod, KrylovSolver};
use crate::random::mixed;
use crate::scratch::{buffer, stack};
use crate::tuning::{
    GENERAL_RESTART, MIN_ITERATIONS, NO_CONVERGENCE, PREDICTED_RESIDUAL, SECOND_TRIAL_STEPS, TRIAL_RESIDUAL,
    TRIAL_STEPS,
};
use bandsolve::memory::zeroed;
use bandsolve::{Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_kernel::scalar::peak;
use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::ControlFlow;

/// The method for any matrix.
const GENERAL: KrylovMethod = KrylovMethod::Gmres { restart: GENERAL_RESTART };

/// Properties of the rows.
#[derive(Default)]
struct RowCounts {
    /// Rows with Σ|aᵢⱼ| ≤ |aᵢᵢ|/2.
    strong: usize,
    /// Rows with Σ|aᵢⱼ| ≤ 1.1·|aᵢᵢ|.
    weak: usize,
    /// Rows without a diagonal entry.
    without: usize,
    /// Rows with a positive diagonal entry.
    positive: usize,
    /// Rows whose entries add up to 0, except for rounding errors.
    balanced: usize,
    /// Σ|aᵢⱼ|/|Dᵢ| with D = diagp1(A), j ≠ i, and the part of this sum next to the diagonal.
    weights: f64,
    beside: f64,
}

impl RowCounts {
    fn of<T: Scalar>(a: &Csr<'_, T, u32>) -> Self {
        let mut counts = Self::default();
        for i in 0..a.rows() {
            let (mut d, mut sum, mut whole, mut beside) = (T::ZERO, T::ZERO, 0.0, 0.0);
            for (j, value) in a.row(i) {
                let modulus = Scalar::abs(value).to_f64();
                whole += modulus;
                sum += value;
                beside += if j.abs_diff(i) == 1 { modulus } else { 0.0 };
                if j == i {
                    d += value;
                }
            }
            counts.positive += usize::from(d.re() > T::Real::ZERO && d.im() == T::Real::ZERO);
            let d = Scalar::abs(d).to_f64();
            let others = (whole - d).max(0.0);
            counts.without += usize::from(d == 0.0);
            counts.strong += usize::from(d > 0.0 && others <= 0.5 * d);
            counts.weak += usize::from(d > 0.0 && others <= 1.1 * d);
            let rounding = 8.0 * a.range(i).len() as f64 * T::Real::EPSILON.to_f64() * whole;
            counts.balanced += usize::from(Scalar::abs(sum).to_f64() <= rounding);
            if others > 0.0 {
                counts.weights += others / d.max(others);
                counts.beside += beside / d.max(others);
            }
        }
        counts
    }
}

/// The result of a trial.
struct Trial<'a, T: Scalar> {
    preconditioner: Preconditioner<'a, T>,
    method: KrylovMethod,
    steps: usize,
    /// The relative residual after the trial.
    remaining: f64,
    /// Predicted number of iterations to [`WANTED`].
    iterations: f64,
    /// Predicted memory traffic, in numbers per row.
    traffic: f64,
}

impl<T: Scalar> Trial<'_, T> {
    /// Order by predicted traffic, and by the residual if no convergence is predicted.
    fn order(&self, other: &Self) -> Ordering {
        let rank = |trial: &Self| {
            let endless = trial.iterations >= NO_CONVERGENCE;
            (endless, if endless { trial.remaining } else { trial.traffic })
        };
        let (this, other) = (rank(self), rank(other));
        this.0.cmp(&other.0).then(this.1.total_cmp(&other.1))
    }

    /// Whether the trial itself has reached a small residual.
    fn has_ended(&self) -> bool {
        self.remaining <= TRIAL_RESIDUAL
    }

    /// The result in words. Readers split reasons at semicolons.
    fn description(&self) -> String {
        let predicted = if self.iterations < NO_CONVERGENCE {
            let count = self.iterations.ceil();
            format!(
                "predicted {count} iteration{} and {:.0} words per row",
                if count == 1.0 { "" } else { "s" },
                self.traffic
            )
        } else {
            "no convergence predicted".into()
        };
        format!(
            "{} with {} brings the residual to {} in {}: {predicted}",
            self.preconditioner.kind,
            self.method,
            percent(self.remaining),
            steps(self.steps)
        )
    }
}

/// One matrix, and the common data of all trials.
struct Trials<'m, 'a, T: Scalar> {
    a: &'m Csr<'a, T, u32>,
    options: &'m PreconditionerOptions,
    /// Random numbers. Their mean is subtracted if the rows add up to 0, as those of singular problems do.
    rhs: Vec<T>,
    /// Whether A is Hermitian except for rounding errors, has a positive diagonal, and no trial has shown that it is indefinite.
    definite: Cell<bool>,
    /// Whether conjugate gradients are predicted not to converge. Further trials then use only methods that reduce the residual in each step.
    endless: Cell<bool>,
    /// Memory traffic of a product with A, in numbers per row: entries with their columns, and two vectors.
    product: f64,
}

impl<'m, 'a, T: Scalar> Trials<'m, 'a, T> {
    fn new(a: &'m Csr<'a, T, u32>, counts: &RowCounts, options: &'m PreconditionerOptions) -> Result<Self> {
        let n = a.rows();
        let mut rhs = random_numbers::<T>(n, 0)?;
        if counts.balanced == n && n > 0 {
            let sum = rhs.iter().fold(T::ZERO, |sum, v| sum + *v);
            let mean = sum.scale(T::Real::from_f64(1.0 / n as f64));
            rhs.iter_mut().for_each(|v| *v -= mean);
        }
        let definite = Cell::new(counts.positive == n && is_hermitian(a, &rhs)?);
        let product = 1.5 * a.entries() as f64 / n.max(1) as f64 + 2.0;
        Ok(Self { a, options, rhs, definite, endless: Cell::new(false), product })
    }

    /// Set up a preconditioner. The inner result is an error if the set-up fails for a reason that is a property of the matrix.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    fn make(&self, kind: PreconditionerKind) -> Result<Result<Preconditioner<'a, T>>> {
        match build(self.a.duplicated()?, kind, self.options) {
            Err(error @ (Error::OutOfMemory { .. } | Error::Interrupted)) => Err(error),
            preconditioner => Ok(preconditioner),
        }
    }

    /// The method for the trial of a preconditioner: conjugate gradients if both are Hermitian.
    fn method(&self, kind: PreconditionerKind) -> KrylovMethod {
        if self.definite.get() && kind.is_hermitian() { KrylovMethod::Cg } else { GENERAL }
    }

    /// Try a preconditioner for a few steps. If conjugate gradients break down, A or M is not positive definite, and GMRES is tried.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    fn of(&self, preconditioner: Preconditioner<'a, T>, most: usize) -> Result<Trial<'a, T>> {
        let mut method = self.method(preconditioner.kind);
        let mut tried = self.steps(method, &preconditioner, most)?;
        if method == KrylovMethod::Cg && tried.as_ref().is_some_and(|report| report.ending == Ending::Breakdown) {
            // The diagonal is positive, so that A is not positive definite.
            if matches!(preconditioner.kind, PreconditionerKind::Diagonal(_)) {
                self.definite.set(false);
            }
            method = GENERAL;
            tried = self.steps(method, &preconditioner, most)?;
        }
        let (steps, remaining, rate) = tried.map_or((0, f64::INFINITY, 1.0), |report| {
            (report.iterations, report.relative_residual(), rate(&report.history))
        });
        let remaining = if remaining.is_nan() { f64::INFINITY } else { remaining };
        let more =
            if remaining <= PREDICTED_RESIDUAL { 0.0 } else { (PREDICTED_RESIDUAL / remaining).ln() / rate.ln() };
        let iterations = if remaining.is_finite() && rate < 1.0 {
            (steps as f64 + more).min(NO_CONVERGENCE)
        } else {
            NO_CONVERGENCE
        };
        let (method, of_method) = match method {
            KrylovMethod::Gmres { .. } if iterations > GENERAL_RESTART as f64 && !self.endless.get() => {
                (KrylovMethod::Idr { space: 4 }, 30.0)
            }
            KrylovMethod::Gmres { .. } => (method, 2.0 * iterations.min(GENERAL_RESTART as f64)),
            _ => (method, 10.0),
        };
        let [setup, application] = self.costs(preconditioner.kind);
        let traffic = setup + iterations * (self.product + application + of_method);
        Ok(Trial { preconditioner, method, steps, remaining, iterations, traffic })
    }

    /// Run some steps of a method. `None` if the solve fails.
    fn steps(&self, method: KrylovMethod, m: &Preconditioner<'a, T>, most: usize) -> Result<Option<IterationReport>> {
        let mut x = zeroed(self.rhs.len())?;
        match KrylovSolver::new(method).rtol(TRIAL_RESIDUAL).max_iterations(most).solve(
            self.a,
            Some(m),
            &self.rhs,
            &mut x,
        ) {
            Err(error @ (Error::OutOfMemory { .. } | Error::Interrupted)) => Err(error),
            report => Ok(report.ok()),
        }
    }

    /// The cost of the set-up and of an application, in numbers per row. Sequential steps count as much as memory traffic that takes the same time.
    /// Measured on a grid of 200 × 200 with a five-point stencil, where a product moves 9.5 numbers per row.
    fn costs(&self, kind: PreconditionerKind) -> [f64; 2] {
        let p = self.product;
        match kind {
            PreconditionerKind::Identity => [0.0, 2.0],
            PreconditionerKind::Diagonal(_) => [p, 3.0],
            PreconditionerKind::Tridiagonal => [10.0 * p, 20.0],
            PreconditionerKind::Forest => [65.0 * p, 18.0],
            PreconditionerKind::ForestBlock => [145.0 * p, 80.0],
            PreconditionerKind::AltInner(m) => [55.0 * p * m as f64, 20.0 * m as f64 + (m as f64 - 1.0) * (p + 10.0)],
            PreconditionerKind::ProductDiagonal(m) => [55.0 * p * m as f64, 18.0 * m as f64],
            PreconditionerKind::Ilu0 => [19.0 * p, 5.5 * p],
            _ => [145.0 * p, 14.5 * p],
        }
    }
}

impl KrylovSolver<'_> {
    /// Solve as [`solve_watched`](Self::solve_watched) does. If conjugate gradients break down, continue from their x with GMRES(30).
    ///
    /// Use this function for a method that `auto` chose ([`Preconditioner::method`]). The few steps of its trials may not show that a matrix is
    /// indefinite. The report is that of the last method.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    ///
    /// # Examples
    /// ```
    /// use bandsolve_sparse::{Csr, KrylovMethod, KrylovSolver};
    /// use core::ops::ControlFlow;
    /// let a = Csr::<f64>::from_triplets(2, 2, &[(0, 1, 1.0), (1, 0, 1.0)])?;
    /// let (solver, mut x) = (KrylovSolver::new(KrylovMethod::Cg), [0.0; 2]);
    /// let report = solver.solve_chosen(&a, None, &[1.0, 0.0], &mut x, &mut |_| ControlFlow::Continue(()))?;
    /// assert!(report.converged() && report.method == KrylovMethod::Gmres { restart: 30 });
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn solve_chosen<T: Scalar>(
        &self,
        a: &dyn LinearOperator<T>,
        preconditioner: Option<&dyn LinearOperator<T>>,
        rhs: &[T],
        x: &mut [T],
        watch: &mut dyn FnMut(IterationProgress<'_, T>) -> ControlFlow<()>,
    ) -> Result<IterationReport> {
        let report = self.solve_watched(a, preconditioner, rhs, x, watch)?;
        match self.successor(&report) {
            None => Ok(report),
            Some(successor) => successor.solve_watched(a, preconditioner, rhs, x, watch),
        }
    }

    /// The solver that continues from x where conjugate gradients broke down, as in [`solve_chosen`](Self::solve_chosen). `None` if they did not.
    ///
    /// # Examples
    /// See [`solve_chosen`](Self::solve_chosen).
    pub fn successor(&self, report: &IterationReport) -> Option<Self> {
        let broke_down = report.method == KrylovMethod::Cg && report.ending == Ending::Breakdown;
        broke_down.then(|| self.with_method(GENERAL))
    }
}

/// Random numbers from −1/2 to 1/2 that depend only on their place and a seed.
fn random_numbers<T: Scalar>(n: usize, seed: u64) -> Result<Vec<T>> {
    let mut numbers = zeroed(n)?;
    for (i, number) in numbers.iter_mut().enumerate() {
        let bits = mixed((i as u64).wrapping_add(seed << 32));
        let part = |shift: u32| T::Real::from_f64(f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5);
        *number = T::from_parts(part(0), part(32));
    }
    Ok(numbers)
}

/// Test whether A is Hermitian: yᴴ·A·x must be the conjugate of xᴴ·A·y for random x and y, except for rounding errors.
fn is_hermitian<T: Scalar>(a: &Csr<'_, T, u32>, x: &[T]) -> Result<bool> {
    let n = a.rows();
    let (y, mut ax, mut ay) = (random_numbers::<T>(n, 1)?, zeroed(n)?, zeroed(n)?);
    let mut memory = buffer(a.apply_scratch())?;
    a.apply(x, &mut ax, stack(&mut memory))?;
    a.apply(&y, &mut ay, stack(&mut memory))?;
    // Scale by a power of two, so that no square leaves the range.
    let largest = ax.iter().chain(&ay).map(|v| peak(*v)).fold(T::Real::ZERO, |most, v| most.max_bits(v));
    let units = largest.equilibrate();
    ax.iter_mut().chain(&mut ay).for_each(|v| *v = v.scale(units));
    let dot = |u: &[T], v: &[T]| u.iter().zip(v).fold(T::ZERO, |sum, (u, v)| sum + u.conj() * *v);
    let norm = |v: &[T]| v.iter().map(|v| Scalar::abs(*v).to_f64().powi(2)).sum::<f64>().sqrt();
    let difference = Scalar::abs(dot(&y, &ax) - dot(x, &ay).conj()).to_f64();
    // Rounding errors of sums of n numbers, and of the sums of the rows.
    let rounding = 8.0 * (n as f64).sqrt().max(8.0) * T::Real::EPSILON.to_f64();
    Ok(difference <= rounding * (norm(&ax) * norm(&y) + norm(&ay) * norm(x)))
}

/// The factor by which a step reduces the residual: the mean over all steps or over the second half, whichever is larger.
fn rate(history: &[f64]) -> f64 {
    let last = history.len().saturating_sub(1);
    let from = |first: usize| (history[last] / history[first]).powf(1.0 / (last - first) as f64);
    if last == 0 { 1.0 } else { f64::max(from(0), from(last / 2)) }
}

fn steps(count: usize) -> String {
    format!("{count} step{}", if count == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        all if all >= 10.0 => format!("{all:.0}%"),
        some if some >= 0.01 => format!("{some:.2}%"),
        _ => "below 0.01%".into(),
    }
}

/// Choose the preconditioner and the method for a matrix, and give the reason in words.
///
/// # Errors
/// The error of the last set-up, if no preconditioner can be set up.
pub(super) fn choose<'a, T: Scalar>(
    a: &Csr<'a, T, u32>,
    options: &PreconditionerOptions,
) -> Result<Preconditioner<'a, T>> {
    let (n, counts) = (a.rows(), RowCounts::of(a));
    let trials = Trials::new(a, &counts, options)?;
    if counts.strong == n {
        let preconditioner = trials.make(PreconditionerKind::Diagonal(DiagonalRule::Jacobi))??;
        let method = trials.method(preconditioner.kind);
        let reason = "each diagonal entry is at least twice the sum of the other moduli in its row";
        return Ok(preconditioner.because(reason.into()).with_method(method));
    }
    let in_order = counts.beside / counts.weights;
    let (mut kinds, mut reasons) = (vec![], vec![]);
    if counts.without > 0 {
        reasons.push(format!("{} of {n} rows have no diagonal entry", counts.without));
        kinds.push(PreconditionerKind::Diagonal(DiagonalRule::P1));
    } else {
        kinds.push(PreconditionerKind::Diagonal(DiagonalRule::Jacobi));
    }
    if in_order > 0.99 {
        reasons.push(format!("{:.1}% of the off-diagonal weight is next to the diagonal", 100.0 * in_order));
        kinds.push(PreconditionerKind::Tridiagonal);
    }
    kinds.push(PreconditionerKind::Ilu0);
    if counts.weak * 20 > 19 * n {
        kinds.push(PreconditionerKind::AmgLines(1));
    }
    // Products of forests are not Hermitian, so that conjugate gradients, the cheapest method, could not use them.
    let of_definite = [PreconditionerKind::Forest, PreconditionerKind::ForestBlock];
    let of_others =
        [PreconditionerKind::ProductDiagonal(0), PreconditionerKind::AltInner(0), PreconditionerKind::ForestBlock];
    if trials.definite.get() {
        let (best, endless) = raced(&trials, &[&kinds[..], &of_definite].concat(), reasons.clone())?;
        match (trials.definite.get(), endless) {
            (true, false) => return Ok(best),
            // Before they converge, conjugate gradients can have large residuals. GMRES minimises the residual.
            (true, true) => {
                reasons.push("conjugate gradients are predicted not to converge".into());
                trials.endless.set(true);
            }
            _ => reasons.push("conjugate gradients break down: the matrix is not positive definite".into()),
        }
        trials.definite.set(false);
    }
    raced(&trials, &[&kinds[..], &of_others].concat(), reasons).map(|(best, _)| best)
}

/// The candidate with the least predicted traffic. If no candidate is predicted to converge, the one with the smallest residual, and `true`.
///
/// # Errors
/// Those of the unit matrix, if no candidate can be set up.
fn raced<'a, T: Scalar>(
    trials: &Trials<'_, 'a, T>,
    kinds: &[PreconditionerKind],
    mut reasons: Vec<String>,
) -> Result<(Preconditioner<'a, T>, bool)> {
    // The best, the second, and the best of those whose trial reached a small residual, so that the prediction is reliable.
    let mut trials_done: Vec<Trial<'a, T>> = Vec::with_capacity(4);
    for kind in kinds {
        // The number of forests is not yet known, but it is at least one.
        let least = match *kind {
            PreconditionerKind::ProductDiagonal(_) => PreconditionerKind::ProductDiagonal(1),
            PreconditionerKind::AltInner(_) => PreconditionerKind::AltInner(1),
            kind => kind,
        };
        let [setup, application] = trials.costs(least);
        if trials_done
            .first()
            .is_some_and(|best| setup + MIN_ITERATIONS * (trials.product + application) >= best.traffic)
        {
            continue;
        }
        let preconditioner = match trials.make(*kind)? {
            Ok(preconditioner) => preconditioner,
            Err(error) => {
                reasons.push(format!("{kind} cannot be set up: {error}"));
                continue;
            }
        };
        let trial = trials.of(preconditioner, TRIAL_STEPS)?;
        reasons.push(trial.description());
        trials_done.push(trial);
        trials_done.sort_by(Trial::order);
        let ended =
            trials_done.iter().position(Trial::has_ended).filter(|at| *at >= 2).map(|at| trials_done.remove(at));
        trials_done.truncate(2);
        trials_done.extend(ended);
    }
    if trials_done.len() > 1 && !trials_done[0].has_ended() {
        for trial in core::mem::take(&mut trials_done) {
            let ended = trial.has_ended();
            let trial = if ended { trial } else { trials.of(trial.preconditioner, SECOND_TRIAL_STEPS)? };
            reasons.extend((!ended).then(|| trial.description()));
            trials_done.push(trial);
        }
        trials_done.sort_by(Trial::order);
    }
    let best = if trials_done.is_empty() { None } else { Some(trials_done.swap_remove(0)) };
    match best {
        Some(best) => Ok((
            best.preconditioner.because(reasons.join("; ")).with_method(best.method),
            best.iterations >= NO_CONVERGENCE,
        )),
        None => {
            reasons.push("no candidate can be set up, so none is used".into());
            let preconditioner = trials.make(PreconditionerKind::Identity)??;
            Ok((preconditioner.because(reasons.join("; ")).with_method(GENERAL), false))
        }
    }
}
