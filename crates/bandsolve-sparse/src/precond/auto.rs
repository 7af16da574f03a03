//! The preconditioner and the Krylov method that suit a matrix, and why.
//!
//! What rows say is enough where the diagonal is large. All else is tried: a few steps with each candidate, cheap ones first, on a system with random
//! numbers. From these the time to solution is predicted, set-up included, as memory traffic. Neither clocks nor the number of threads play a part.

use super::diagonal::DiagonalRule;
use super::{Preconditioner, PreconditionerKind, PreconditionerOptions, make};
use crate::csr::Csr;
use crate::krylov::{Ending, IterationProgress, IterationReport, KrylovMethod, KrylovSolver, buffer, stack};
use crate::random::mixed;
use bandsolve::memory::zeroed;
use bandsolve::{Error, LinearOperator, RealScalar, Result, Scalar};
use bandsolve_kernel::scalar::peak;
use core::cell::Cell;
use core::cmp::Ordering;
use core::ops::ControlFlow;

/// Part of the residual at which a trial is over, and the most steps that it has.
const LEFT: f64 = 1e-2;
const STEPS: usize = 12;
/// The most steps of a second trial, of the two best as far as the first has not ended: beginnings say little of iterations that take long.
const LONGER: usize = 8 * STEPS;
/// Part of the residual to which the time is predicted.
const WANTED: f64 = 1e-8;
/// Iterations of which the predicted number is not worth telling apart.
const MANY: f64 = 1e4;
/// Iterations that a candidate takes at least; so one is not tried whose set-up costs too much.
const FEW: f64 = 6.0;
/// Vectors that GMRES keeps; with more iterations than that, a method with short recurrences is chosen.
const KEPT: usize = 30;
/// The method for any matrix.
const GENERAL: KrylovMethod = KrylovMethod::Gmres { restart: KEPT };

/// What is asked of each row.
#[derive(Default)]
struct RowCounts {
    /// With Σ|aᵢⱼ| at most half of |aᵢᵢ|.
    strong: usize,
    /// With Σ|aᵢⱼ| at most |aᵢᵢ|, but for a tenth.
    weak: usize,
    /// Without a diagonal entry.
    without: usize,
    /// With a positive diagonal entry.
    positive: usize,
    /// With entries whose sum is 0, but for rounding.
    balanced: usize,
    /// Σ|aᵢⱼ|/|Dᵢ| with D = diagp1(A), j ≠ i, and the part of it that lies beside the diagonal.
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

/// What a trial has shown.
struct Trial<'a, T: Scalar> {
    made: Preconditioner<'a, T>,
    method: KrylovMethod,
    steps: usize,
    /// The part of the residual that is left.
    left: f64,
    /// Iterations to [`WANTED`], as predicted.
    iterations: f64,
    /// Numbers that are moved to and from memory for each row until then.
    traffic: f64,
}

impl<T: Scalar> Trial<'_, T> {
    /// By predicted traffic; where no end is in sight, by what is left of the residual.
    fn order(&self, other: &Self) -> Ordering {
        let rank = |trial: &Self| {
            let endless = trial.iterations >= MANY;
            (endless, if endless { trial.left } else { trial.traffic })
        };
        let (own, other) = (rank(self), rank(other));
        own.0.cmp(&other.0).then(own.1.total_cmp(&other.1))
    }

    /// Whether the residual has become small: little is left to predict.
    fn has_ended(&self) -> bool {
        self.left <= LEFT
    }

    /// In words.
    fn said(&self) -> String {
        let predicted = if self.iterations < MANY {
            let count = self.iterations.ceil();
            format!(
                "about {count} iteration{} and {:.0} words a row",
                if count == 1.0 { "" } else { "s" },
                self.traffic
            )
        } else {
            "no end in sight".into()
        };
        format!(
            "{} with {} leaves {} after {}: {predicted}",
            self.made.kind,
            self.method,
            percent(self.left),
            steps(self.steps)
        )
    }
}

/// One matrix, and what is known of it.
struct Trials<'m, 'a, T: Scalar> {
    a: &'m Csr<'a, T, u32>,
    options: &'m PreconditionerOptions,
    /// Random numbers; without their mean where rows have the sum 0, as those of singular problems do.
    rhs: Vec<T>,
    /// Whether A is Hermitian, but for rounding, with a positive diagonal, and no trial has shown that it is indefinite.
    definite: Cell<bool>,
    /// Whether no end of conjugate gradients is in sight: then only methods that make residuals small in each step are worth a trial.
    endless: Cell<bool>,
    /// Numbers moved for each row of a product with A: entries with their columns, and two vectors.
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

    /// Makes a preconditioner; `None` of one that cannot be made.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    fn make(&self, kind: PreconditionerKind) -> Result<Result<Preconditioner<'a, T>>> {
        match make((self.a.duplicated()?, kind, *self.options)) {
            Err(error @ (Error::OutOfMemory { .. } | Error::Interrupted)) => Err(error),
            made => Ok(made),
        }
    }

    /// The method for a preconditioner that is tried: conjugate gradients where both are Hermitian.
    fn method(&self, kind: PreconditionerKind) -> KrylovMethod {
        use PreconditionerKind::*;
        let is_hermitian =
            matches!(kind, Identity | Diagonal(_) | Tridiagonal | Forest | ForestBlock | Ilu0 | AmgLines(_));
        if self.definite.get() && is_hermitian { KrylovMethod::Cg } else { GENERAL }
    }

    /// A few steps with a preconditioner, by GMRES where conjugate gradients break down: one of both matrices is not definite.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Interrupted`].
    fn of(&self, made: Preconditioner<'a, T>, most: usize) -> Result<Trial<'a, T>> {
        let mut method = self.method(made.kind);
        let mut tried = self.steps(method, &made, most)?;
        if method == KrylovMethod::Cg && tried.as_ref().is_some_and(|report| report.ending == Ending::Breakdown) {
            // The diagonal is positive: it is A that is not.
            if matches!(made.kind, PreconditionerKind::Diagonal(_)) {
                self.definite.set(false);
            }
            method = GENERAL;
            tried = self.steps(method, &made, most)?;
        }
        let (steps, left, rate) = tried.map_or((0, f64::INFINITY, 1.0), |report| {
            (report.iterations, report.relative_residual(), rate(&report.history))
        });
        let left = if left.is_nan() { f64::INFINITY } else { left };
        let more = if left <= WANTED { 0.0 } else { (WANTED / left).ln() / rate.ln() };
        let iterations = if left.is_finite() && rate < 1.0 { (steps as f64 + more).min(MANY) } else { MANY };
        let (method, of_method) = match method {
            KrylovMethod::Gmres { .. } if iterations > KEPT as f64 && !self.endless.get() => {
                (KrylovMethod::Idr { space: 4 }, 30.0)
            }
            KrylovMethod::Gmres { .. } => (method, 2.0 * iterations.min(KEPT as f64)),
            _ => (method, 10.0),
        };
        let [setup, application] = self.costs(made.kind);
        let traffic = setup + iterations * (self.product + application + of_method);
        Ok(Trial { made, method, steps, left, iterations, traffic })
    }

    /// How a method goes; `None` if it cannot be tried.
    fn steps(&self, method: KrylovMethod, m: &Preconditioner<'a, T>, most: usize) -> Result<Option<IterationReport>> {
        let mut x = zeroed(self.rhs.len())?;
        match KrylovSolver::new(method).rtol(LEFT).max_iterations(most).solve(self.a, Some(m), &self.rhs, &mut x) {
            Err(error @ (Error::OutOfMemory { .. } | Error::Interrupted)) => Err(error),
            report => Ok(report.ok()),
        }
    }

    /// Numbers moved for each row to make a preconditioner, and to apply it. What is sequential, and waits for the element before, counts as much as what takes
    /// as long: measured on a grid of 200 x 200 with five points, where a product moves 9.5.
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
    /// Solves as [`solve_watched`](Self::solve_watched) does; where conjugate gradients break down, goes on from their x by GMRES(30), which
    /// takes any matrix. It is for methods that `auto` has chosen ([`Preconditioner::method`]): a few steps did not show that the matrix is
    /// indefinite, all of them may.
    ///
    /// The report is that of the last method, which it names.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    ///
    /// # Example
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
        if report.method != KrylovMethod::Cg || report.ending != Ending::Breakdown {
            return Ok(report);
        }
        self.with_method(GENERAL).solve_watched(a, preconditioner, rhs, x, watch)
    }
}

/// Random numbers around 0, functions of their place and a seed.
fn random_numbers<T: Scalar>(n: usize, seed: u64) -> Result<Vec<T>> {
    let mut numbers = zeroed(n)?;
    for (i, own) in numbers.iter_mut().enumerate() {
        let bits = mixed((i as u64).wrapping_add(seed << 32));
        let part = |shift: u32| T::Real::from_f64(f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5);
        *own = T::from_parts(part(0), part(32));
    }
    Ok(numbers)
}

/// Whether yᴴ·A·x is the conjugate of xᴴ·A·y for random x and y, but for rounding: if A is not Hermitian, it is not.
fn is_hermitian<T: Scalar>(a: &Csr<'_, T, u32>, x: &[T]) -> Result<bool> {
    let n = a.rows();
    let (y, mut ax, mut ay) = (random_numbers::<T>(n, 1)?, zeroed(n)?, zeroed(n)?);
    let mut memory = buffer(a.apply_scratch())?;
    a.apply(x, &mut ax, stack(&mut memory))?;
    a.apply(&y, &mut ay, stack(&mut memory))?;
    // Where no square leaves the range.
    let largest = ax.iter().chain(&ay).map(|v| peak(*v)).fold(T::Real::ZERO, |most, v| most.max_bits(v));
    let units = largest.equilibrate();
    ax.iter_mut().chain(&mut ay).for_each(|v| *v = v.scale(units));
    let dot = |u: &[T], v: &[T]| u.iter().zip(v).fold(T::ZERO, |sum, (u, v)| sum + u.conj() * *v);
    let norm = |v: &[T]| v.iter().map(|v| Scalar::abs(*v).to_f64().powi(2)).sum::<f64>().sqrt();
    let difference = Scalar::abs(dot(&y, &ax) - dot(x, &ay).conj()).to_f64();
    // Rounding of sums of n numbers, and of those of the rows.
    let rounding = 8.0 * (n as f64).sqrt().max(8.0) * T::Real::EPSILON.to_f64();
    Ok(difference <= rounding * (norm(&ax) * norm(&y) + norm(&ay) * norm(x)))
}

/// By what the residual is multiplied in a step: in all of them, or in the later half, whichever is slower.
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
        _ => "nothing".into(),
    }
}

/// The preconditioner that `auto` takes for a matrix, with the method and the reason in words.
///
/// # Errors
/// Those of what is made, if nothing can be made.
pub(super) fn choose<'a, T: Scalar>(
    a: &Csr<'a, T, u32>,
    options: &PreconditionerOptions,
) -> Result<Preconditioner<'a, T>> {
    let (n, counts) = (a.rows(), RowCounts::of(a));
    let trials = Trials::new(a, &counts, options)?;
    if counts.strong == n {
        let made = trials.make(PreconditionerKind::Diagonal(DiagonalRule::Jacobi))??;
        let method = trials.method(made.kind);
        let said = "every row's diagonal entry is twice the others together: nothing more is needed";
        return Ok(made.because(said.into()).with_method(method));
    }
    let in_order = counts.beside / counts.weights;
    let (mut kinds, mut said) = (vec![], vec![]);
    if counts.without > 0 {
        said.push(format!("{} of {n} rows have no diagonal entry", counts.without));
        kinds.push(PreconditionerKind::Diagonal(DiagonalRule::P1));
    } else {
        kinds.push(PreconditionerKind::Diagonal(DiagonalRule::Jacobi));
    }
    if in_order > 0.99 {
        said.push(format!("{:.1}% of the weight lies beside the diagonal", 100.0 * in_order));
        kinds.push(PreconditionerKind::Tridiagonal);
    }
    kinds.push(PreconditionerKind::Ilu0);
    if counts.weak * 20 > 19 * n {
        kinds.push(PreconditionerKind::AmgLines(1));
    }
    // Products of forests are not Hermitian, and would cost the method that needs least.
    let of_definite = [PreconditionerKind::Forest, PreconditionerKind::ForestBlock];
    let of_others =
        [PreconditionerKind::ProductDiagonal(0), PreconditionerKind::AltInner(0), PreconditionerKind::ForestBlock];
    if trials.definite.get() {
        let (taken, endless) = raced(&trials, &[&kinds[..], &of_definite].concat(), said.clone())?;
        match (trials.definite.get(), endless) {
            (true, false) => return Ok(taken),
            // Far from the solution residuals of conjugate gradients may be large, where GMRES makes them small.
            (true, true) => {
                said.push("no end in sight of conjugate gradients".into());
                trials.endless.set(true);
            }
            _ => said.push("conjugate gradients break down: the matrix is not positive definite".into()),
        }
        trials.definite.set(false);
    }
    raced(&trials, &[&kinds[..], &of_others].concat(), said).map(|(taken, _)| taken)
}

/// The candidate with the least predicted traffic; of those for which no end is in sight, that which leaves least. And whether that is so.
///
/// # Errors
/// Those of the unit matrix, if nothing can be made.
fn raced<'a, T: Scalar>(
    trials: &Trials<'_, 'a, T>,
    kinds: &[PreconditionerKind],
    mut said: Vec<String>,
) -> Result<(Preconditioner<'a, T>, bool)> {
    // The best, the second, and the best of those whose trial has ended, of which the prediction is sure.
    let mut found: Vec<Trial<'a, T>> = Vec::with_capacity(4);
    for kind in kinds {
        // As many forests as are worth it: one at least.
        let least = match *kind {
            PreconditionerKind::ProductDiagonal(_) => PreconditionerKind::ProductDiagonal(1),
            PreconditionerKind::AltInner(_) => PreconditionerKind::AltInner(1),
            kind => kind,
        };
        let [setup, application] = trials.costs(least);
        if found.first().is_some_and(|best| setup + FEW * (trials.product + application) >= best.traffic) {
            continue;
        }
        let made = match trials.make(*kind)? {
            Ok(made) => made,
            Err(error) => {
                said.push(format!("{kind} cannot be made: {error}"));
                continue;
            }
        };
        let trial = trials.of(made, STEPS)?;
        said.push(trial.said());
        found.push(trial);
        found.sort_by(Trial::order);
        let ended = found.iter().position(Trial::has_ended).filter(|at| *at >= 2).map(|at| found.remove(at));
        found.truncate(2);
        found.extend(ended);
    }
    if found.len() > 1 && !found[0].has_ended() {
        for trial in core::mem::take(&mut found) {
            let ended = trial.has_ended();
            let trial = if ended { trial } else { trials.of(trial.made, LONGER)? };
            said.extend((!ended).then(|| trial.said()));
            found.push(trial);
        }
        found.sort_by(Trial::order);
    }
    let best = if found.is_empty() { None } else { Some(found.swap_remove(0)) };
    match best {
        Some(best) => Ok((best.made.because(said.join("; ")).with_method(best.method), best.iterations >= MANY)),
        None => {
            said.push("nothing else can be made".into());
            let made = trials.make(PreconditionerKind::Identity)??;
            Ok((made.because(said.join("; ")).with_method(GENERAL), false))
        }
    }
}
