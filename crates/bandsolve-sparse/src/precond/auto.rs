//! The preconditioner that suits a matrix, and why.
//!
//! What rows say is enough where the diagonal is large. All else is tried: a few steps of GMRES on systems with random numbers, of which
//! the number of steps is known beforehand. Neither times nor the number of threads play a part.

use super::diagonal::DiagonalRule;
use super::{Preconditioner, PreconditionerKind, PreconditionerOptions, make};
use crate::csr::Csr;
use crate::krylov::{KrylovMethod, KrylovSolver, buffer, stack};
use crate::random::mixed;
use bandsolve::{LinearOperator, RealScalar, Result, Scalar};

/// Unknowns from which on several levels are worth their set-up, if ILU(0) leaves smooth errors.
const LARGE: usize = 15_000;
/// Residual at which a trial is over, and the steps that it has: of a system A·x with a random x, and of a random right-hand side, whose
/// solution is smooth where A is of diffusion.
const USABLE: Goal = Goal { left: 1e-2, steps: 6 };
const SMOOTH: Goal = Goal { left: 1e-2, steps: 8 };
/// The same of those that are compared where the first is of no use.
const COMPARED: Goal = Goal { left: 1e-4, steps: 30 };

/// What is asked of each row.
#[derive(Default)]
struct RowCounts {
    /// With Σ|aᵢⱼ| at most half of |aᵢᵢ|.
    strong: usize,
    /// With Σ|aᵢⱼ| at most |aᵢᵢ|, but for a tenth.
    weak: usize,
    /// Without a diagonal entry.
    without: usize,
    /// Σ|aᵢⱼ|/|Dᵢ| with D = diagp1(A), j ≠ i, and the part of it that lies beside the diagonal.
    weights: f64,
    beside: f64,
}

impl RowCounts {
    fn of<T: Scalar>(a: &Csr<'_, T, u32>) -> Self {
        let mut counts = Self::default();
        for i in 0..a.rows() {
            let (mut d, mut whole, mut beside) = (T::ZERO, 0.0, 0.0);
            for (j, value) in a.row(i) {
                let modulus = Scalar::abs(value).to_f64();
                whole += modulus;
                beside += if j.abs_diff(i) == 1 { modulus } else { 0.0 };
                if j == i {
                    d += value;
                }
            }
            let d = Scalar::abs(d).to_f64();
            let others = (whole - d).max(0.0);
            counts.without += usize::from(d == 0.0);
            counts.strong += usize::from(d > 0.0 && others <= 0.5 * d);
            counts.weak += usize::from(d > 0.0 && others <= 1.1 * d);
            if others > 0.0 {
                counts.weights += others / d.max(others);
                counts.beside += beside / d.max(others);
            }
        }
        counts
    }
}

/// What a trial is for: the part of the residual that may be left, and the most steps.
#[derive(Clone, Copy)]
struct Goal {
    left: f64,
    steps: usize,
}

/// What a trial has shown.
struct Trial<'a, T: Scalar> {
    made: Preconditioner<'a, T>,
    steps: usize,
    /// The part of the residual that is left.
    left: f64,
}

impl<T: Scalar> Trial<'_, T> {
    fn reaches(&self, goal: Goal) -> bool {
        self.left <= goal.left
    }

    /// In words.
    fn said(&self) -> String {
        format!("{} leaves {} after {}", self.made.kind, percent(self.left), steps(self.steps))
    }
}

/// One matrix, and what was made for it.
struct Trials<'m, 'a, T: Scalar> {
    a: &'m Csr<'a, T, u32>,
    options: &'m PreconditionerOptions,
    /// A·x of random numbers.
    rhs: Vec<T>,
    random: Vec<T>,
}

impl<'m, 'a, T: Scalar> Trials<'m, 'a, T> {
    fn new(a: &'m Csr<'a, T, u32>, options: &'m PreconditionerOptions) -> Result<Self> {
        let number = |i: usize| {
            let bits = mixed(i as u64);
            let part = |shift: u32| T::Real::from_f64(f64::from((bits >> shift) as u32) / f64::from(u32::MAX) - 0.5);
            T::from_parts(part(0), part(32))
        };
        let random: Vec<T> = (0..a.rows()).map(number).collect();
        let mut rhs = vec![T::ZERO; a.rows()];
        a.apply(&random, &mut rhs, stack(&mut buffer(a.apply_scratch())?))?;
        Ok(Self { a, options, rhs, random })
    }

    /// Makes a preconditioner.
    fn make(&self, kind: PreconditionerKind) -> Result<Preconditioner<'a, T>> {
        make((self.a.clone(), kind, *self.options))
    }

    /// A few steps with a preconditioner; nothing is left of those for which something is not finite.
    fn of(&self, made: Preconditioner<'a, T>, rhs: &[T], goal: Goal) -> Trial<'a, T> {
        let method = KrylovMethod::Gmres { restart: goal.steps };
        let solver = KrylovSolver::new(method).rtol(goal.left).max_iterations(goal.steps);
        let (steps, left) = match solver.solve(self.a, Some(&made), rhs, &mut vec![T::ZERO; rhs.len()]) {
            Ok(report) => (report.iterations, report.relative_residual()),
            Err(_) => (0, f64::INFINITY),
        };
        Trial { made, steps, left: if left.is_nan() { f64::INFINITY } else { left } }
    }

    /// Of these kinds that with which the least work brings the residual down, or that which leaves least of it; with what all did.
    fn best(&self, kinds: &[PreconditionerKind]) -> Option<(Trial<'a, T>, String)> {
        let made = kinds.iter().filter_map(|kind| self.make(*kind).ok());
        let mut trials: Vec<_> = made.map(|made| self.of(made, &self.rhs, COMPARED)).collect();
        let said: Vec<String> = trials.iter().map(Trial::said).collect();
        let rank = |trial: &Trial<'_, T>| match trial.reaches(COMPARED) {
            true => (0, (trial.steps * work(trial.made.kind)) as f64),
            false => (1, trial.left),
        };
        // The first of equals.
        let ranks: Vec<_> = trials.iter().map(rank).collect();
        let best =
            (0..ranks.len()).min_by(|i, k| ranks[*i].0.cmp(&ranks[*k].0).then(ranks[*i].1.total_cmp(&ranks[*k].1)));
        best.map(|best| (trials.swap_remove(best), said.join(", ")))
    }
}

/// About the work of a step, in products with A.
fn work(kind: PreconditionerKind) -> usize {
    match kind {
        PreconditionerKind::AltInner(m) => 2 * m,
        PreconditionerKind::ProductDiagonal(m) => m + 1,
        PreconditionerKind::ForestBlock | PreconditionerKind::Ilu0 => 2,
        _ => 1,
    }
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

/// The preconditioner that `auto` takes for a matrix, with the reason in words.
///
/// # Errors
/// Those of what is made, if nothing can be made.
pub(super) fn choose<'a, T: Scalar>(
    a: &Csr<'a, T, u32>,
    options: &PreconditionerOptions,
) -> Result<Preconditioner<'a, T>> {
    let (n, counts) = (a.rows(), RowCounts::of(a));
    let trials = Trials::new(a, options)?;
    if counts.strong == n {
        let made = trials.make(PreconditionerKind::Diagonal(DiagonalRule::Jacobi))?;
        return Ok(
            made.because("every row's diagonal entry is twice the others together: nothing more is needed".into())
        );
    }
    let in_order = counts.beside / counts.weights;
    let (first, seen) = if in_order > 0.99 {
        (PreconditionerKind::Tridiagonal, format!("{:.1}% of the weight lies beside the diagonal; ", 100.0 * in_order))
    } else {
        (PreconditionerKind::Ilu0, String::new())
    };
    if counts.without > 0 {
        let seen = format!("{} of {n} rows have no diagonal entry", counts.without);
        return compared(&trials, DiagonalRule::P1, seen);
    }
    let mut first = match trials.make(first) {
        Ok(first) => first,
        Err(error) => return compared(&trials, DiagonalRule::Jacobi, format!("{seen}{first} cannot be made: {error}")),
    };
    if n > LARGE && counts.weak * 20 > 19 * n {
        let smooth = trials.of(first, &trials.random, SMOOTH);
        let said = format!("{seen}of a random right-hand side {}", smooth.said());
        if smooth.reaches(SMOOTH) {
            return Ok(smooth.made.because(said));
        }
        let levels = trials.make(PreconditionerKind::AmgLines(1)).ok();
        let levels = levels.map(|levels| trials.of(levels, &trials.random, SMOOTH));
        if let Some(levels) = levels.filter(|levels| levels.reaches(SMOOTH)) {
            let said = format!("{said}, {}", levels.said());
            return Ok(levels.made.because(said));
        }
        first = smooth.made;
    }
    let trial = trials.of(first, &trials.rhs, USABLE);
    let said = format!("{seen}of a random system's residual {}", trial.said());
    if trial.reaches(USABLE) {
        return Ok(trial.made.because(said));
    }
    compared(&trials, DiagonalRule::Jacobi, said)
}

/// The best of what is left: a diagonal as control, and forests.
///
/// # Errors
/// Those of the diagonal, if nothing can be made.
fn compared<'a, T: Scalar>(
    trials: &Trials<'_, 'a, T>,
    rule: DiagonalRule,
    seen: String,
) -> Result<Preconditioner<'a, T>> {
    let kinds = [
        PreconditionerKind::Diagonal(rule),
        PreconditionerKind::Ilu0,
        PreconditionerKind::ForestBlock,
        PreconditionerKind::ProductDiagonal(0),
        PreconditionerKind::AltInner(0),
    ];
    match trials.best(&kinds) {
        Some((best, said)) => Ok(best.made.because(format!("{seen}; {said}"))),
        None => Ok(trials.make(PreconditionerKind::Identity)?.because(format!("{seen}; nothing else can be made"))),
    }
}
