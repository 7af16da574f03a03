//! The limits of the accuracy contract, and the loop of iterative refinement that all solvers share.
//!
//! A solver implements [`Refinement`], or describes its arrays with [`RefinedColumns`]. [`refine`] decides which systems are corrected, which
//! corrections are undone, and when to stop.

use bandsolve_kernel::{RealScalar, Scalar};

/// Largest backward error that needs no refinement: 8ε of the working precision of `T`.
pub fn good<T: Scalar>() -> f64 {
    8.0 * T::Real::EPSILON.to_f64()
}

/// Largest backward error that is accepted from a residual in working precision: 4ε. The rounding error of such a residual is far
/// less than the difference to [`good`].
pub fn accepted_at_once<T: Scalar>() -> f64 {
    0.5 * good::<T>()
}

/// Largest backward error that is accepted after refinement and fallback: 64ε.
pub fn tolerable<T: Scalar>() -> f64 {
    64.0 * T::Real::EPSILON.to_f64()
}

/// When refinement stops.
#[derive(Debug, Clone, Copy)]
pub struct StoppingRule {
    /// A system with at most this error needs no step.
    pub goal: f64,
    /// Maximum number of steps.
    pub max_steps: usize,
    /// Refinement of a system continues while each step multiplies its error by at most this factor.
    pub reduction: f64,
}

impl StoppingRule {
    /// The rule of the accuracy contract: at most three steps, while the backward error decreases and exceeds 8ε.
    pub fn contract<T: Scalar>() -> Self {
        Self { goal: good::<T>(), max_steps: 3, reduction: 1.0 }
    }

    /// LAPACK's rule for the componentwise backward error: at most five steps, while each step halves it and it exceeds `goal`.
    pub fn componentwise(goal: f64) -> Self {
        Self { goal, max_steps: 5, reduction: 0.5 }
    }

    /// The same rule, but continue after a step that did not decrease the error, because the previous x is not stored.
    pub fn without_copy(self) -> Self {
        Self { reduction: f64::INFINITY, ..self }
    }
}

/// The state of one system during refinement.
#[derive(Debug, Clone, Copy)]
pub struct RefinedSystem {
    /// The backward error of x.
    pub error: f64,
    /// Whether the next step corrects this system. Only open systems must be measured.
    pub open: bool,
    /// Whether the last step decreased the error.
    pub improved: bool,
    /// The error before the last step.
    before: f64,
}

impl RefinedSystem {
    /// A system that [`refine`] measures, and corrects if necessary.
    pub fn open() -> Self {
        Self { error: f64::INFINITY, open: true, improved: false, before: f64::INFINITY }
    }

    /// A system that is not refined, with its error.
    pub fn closed(error: f64) -> Self {
        Self { error, open: false, improved: false, before: error }
    }

    /// Decide after a measurement whether the system needs another step. `restored`: x is the previous x unless the step improved it.
    fn advance(&mut self, rule: &StoppingRule, restored: bool) {
        if !self.open || (restored && !self.improved) {
            (self.error, self.open) = (self.before, false);
        } else {
            let inaccurate = rule.goal < self.error && self.error < f64::INFINITY;
            self.open = inaccurate && self.error <= rule.reduction * self.before;
        }
    }
}

/// Systems A·x = d that [`refine`] can correct: one right-hand side, several, or all systems of a batch.
pub trait Refinement {
    /// The error of a step that fails as a whole.
    type Error;

    /// Compute the residuals r = d − A·x, and write the backward errors of all open systems to `systems`. Other systems may get any
    /// error.
    ///
    /// # Errors
    /// Errors that end the whole solve.
    fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<(), Self::Error>;

    /// Solve A·dx = r and add dx to x, for all open systems. Other systems may change if [`restore`](Self::restore) undoes this.
    ///
    /// # Errors
    /// Errors that end the whole solve.
    fn correct(&mut self, systems: &[RefinedSystem]) -> Result<(), Self::Error>;

    /// Return to the previous x of all systems that the last step did not improve, and return `true`.
    ///
    /// If the previous x is not stored, return `false`. Refinement then continues with the new x.
    ///
    /// # Errors
    /// Errors that end the whole solve.
    fn restore(&mut self, _systems: &[RefinedSystem]) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Refine all open systems with the same factors until `rule` stops it. Returns the number of steps.
///
/// Afterwards, `systems` contains the errors of x.
///
/// # Errors
/// The errors of [`Refinement`]. The errors in `systems` are then those before the step that failed.
pub fn refine<E>(
    rule: &StoppingRule,
    systems: &mut [RefinedSystem],
    by: &mut dyn Refinement<Error = E>,
) -> Result<usize, E> {
    // r ← d − A·x
    by.measure(systems)?;
    systems.iter_mut().for_each(|system| system.advance(rule, false));
    let mut steps = 0;
    while steps < rule.max_steps && systems.iter().any(|system| system.open) {
        systems.iter_mut().for_each(|system| system.before = system.error);
        // A·dx = r, x ← x + dx
        by.correct(systems)?;
        steps += 1;
        // r ← d − A·x
        by.measure(systems)?;
        // NaN is no improvement.
        systems.iter_mut().for_each(|system| system.improved = system.open && system.error < system.before);
        // x ← x − dx if the error did not decrease
        let restored = by.restore(systems)?;
        systems.iter_mut().for_each(|system| system.advance(rule, restored));
    }
    Ok(steps)
}

/// Right-hand sides whose x and residuals are consecutive in slices.
pub struct RefinedColumns<'a, T, S, M> {
    /// The solutions.
    pub x: &'a mut [T],
    /// The residuals, which `solve` replaces with the corrections.
    pub r: &'a mut [T],
    /// Memory for the previous x, if it is stored.
    pub before: Option<&'a mut [T]>,
    /// Solve A·dx = r in place.
    pub solve: S,
    /// Compute r = d − A·x, and write the backward errors.
    pub measure: M,
}

impl<T, E, S, M> Refinement for RefinedColumns<'_, T, S, M>
where
    T: Scalar,
    S: FnMut(&mut [T]) -> Result<(), E>,
    M: FnMut(&[T], &mut [T], &mut [RefinedSystem]),
{
    type Error = E;

    fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<(), E> {
        (self.measure)(self.x, self.r, systems);
        Ok(())
    }

    fn correct(&mut self, systems: &[RefinedSystem]) -> Result<(), E> {
        let n = (self.x.len() / systems.len()).max(1);
        let closed = self.r.chunks_exact_mut(n).zip(systems).filter(|(_, system)| !system.open);
        closed.for_each(|(r, _)| r.fill(T::ZERO));
        (self.solve)(self.r)?;
        if let Some(before) = &mut self.before {
            before.copy_from_slice(self.x);
        }
        self.x.iter_mut().zip(&*self.r).for_each(|(x, dx)| *x += *dx);
        Ok(())
    }

    fn restore(&mut self, systems: &[RefinedSystem]) -> Result<bool, E> {
        let Some(before) = &self.before else { return Ok(false) };
        let n = (self.x.len() / systems.len()).max(1);
        let columns = self.x.chunks_exact_mut(n).zip(before.chunks_exact(n)).zip(systems);
        columns.filter(|(_, system)| !system.improved).for_each(|((x, before), _)| x.copy_from_slice(before));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Systems whose errors before and after each step are known.
    struct Scripted {
        errors: Vec<Vec<f64>>,
        measured: usize,
        restores: bool,
        restored: Vec<usize>,
    }

    impl Refinement for Scripted {
        type Error = &'static str;

        fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<(), Self::Error> {
            let errors = self.errors.get(self.measured).ok_or("no more steps")?;
            self.measured += 1;
            systems.iter_mut().zip(errors).for_each(|(system, error)| system.error = *error);
            Ok(())
        }

        fn correct(&mut self, _systems: &[RefinedSystem]) -> Result<(), Self::Error> {
            Ok(())
        }

        fn restore(&mut self, systems: &[RefinedSystem]) -> Result<bool, Self::Error> {
            self.restored.extend((0..systems.len()).filter(|k| systems[*k].open && !systems[*k].improved));
            Ok(self.restores)
        }
    }

    const RULE: StoppingRule = StoppingRule { goal: 1.0, max_steps: 3, reduction: 1.0 };

    /// Returns the last errors, the number of steps, and the systems whose last x was not kept, with the errors as measured.
    fn run(rule: StoppingRule, errors: &[&[f64]], restores: bool) -> (Vec<f64>, usize, Vec<usize>) {
        let mut systems = vec![RefinedSystem::open(); errors[0].len()];
        let errors = errors.iter().map(|errors| errors.to_vec()).collect();
        let mut by = Scripted { errors, measured: 0, restores, restored: Vec::new() };
        let steps = refine(&rule, &mut systems, &mut by).unwrap();
        (systems.iter().map(|system| system.error).collect(), steps, by.restored)
    }

    #[test]
    fn each_system_ends_by_itself() {
        let errors: [&[f64]; 4] =
            [&[1.0, 5.0, 7.0, 2.0], &[9.0, 4.0, 6.0, 0.0], &[9.0, 3.0, 8.0, 0.0], &[9.0, 2.0, 0.0, 0.0]];
        // System 0 is good, 1 needs all steps, 2 gets worse in the second step, 3 is good after the first.
        assert_eq!(run(RULE, &errors, true), (vec![1.0, 2.0, 6.0, 0.0], 3, vec![2]));
    }

    #[test]
    fn nan_is_no_improvement_and_needs_no_step() {
        assert_eq!(run(RULE, &[&[5.0], &[f64::NAN]], true), (vec![5.0], 1, vec![0]));
        let (errors, steps, _) = run(RULE, &[&[f64::NAN, f64::INFINITY]], true);
        assert!(errors[0].is_nan() && steps == 0);
    }

    #[test]
    fn slow_refinement_ends_with_the_better_solution() {
        let errors: [&[f64]; 4] = [&[8.0], &[4.0], &[3.0], &[0.0]];
        assert_eq!(run(StoppingRule::componentwise(1.0), &errors, true), (vec![3.0], 2, vec![]));
    }

    #[test]
    fn without_a_copy_refinement_goes_on() {
        let errors: [&[f64]; 3] = [&[5.0], &[6.0], &[0.5]];
        assert_eq!(run(RULE.without_copy(), &errors, false), (vec![0.5], 2, vec![0]));
        let (error, steps, _) = run(RULE.without_copy(), &[&[5.0], &[f64::INFINITY]], false);
        assert_eq!((error[0], steps), (f64::INFINITY, 1));
    }

    #[test]
    fn the_error_of_a_step_ends_refinement() {
        let mut by = Scripted { errors: vec![vec![2.0]], measured: 0, restores: true, restored: Vec::new() };
        let mut systems = [RefinedSystem::open()];
        assert_eq!(refine(&RULE, &mut systems, &mut by), Err("no more steps"));
        assert_eq!(systems[0].error, 2.0);
    }

    #[test]
    fn closed_systems_keep_their_solution() {
        // A = 2 with factors of 2.5: each step leaves a fifth of the error. The second system is not refined.
        let (d, mut x, mut r, mut before) = ([2.0, 2.0], [0.8, 0.8], [0.0; 2], [0.0; 2]);
        let mut systems = [RefinedSystem::open(), RefinedSystem::closed(0.5)];
        let measure = |x: &[f64], r: &mut [f64], systems: &mut [RefinedSystem]| {
            for (k, system) in systems.iter_mut().enumerate() {
                r[k] = d[k] - 2.0 * x[k];
                system.error = r[k].abs();
            }
        };
        let solve = |r: &mut [f64]| {
            r.iter_mut().for_each(|r| *r /= 2.5);
            Ok::<_, core::convert::Infallible>(())
        };
        let mut columns = RefinedColumns { x: &mut x, r: &mut r, before: Some(&mut before), solve, measure };
        let Ok(steps) = refine(&StoppingRule { goal: 0.02, ..RULE }, &mut systems, &mut columns);
        assert!(steps == 2 && (x[0] - 0.992).abs() < 1e-15 && x[1] == 0.8, "{steps} {x:?}");
        assert!((systems[0].error - 0.016).abs() < 1e-15 && systems[1].error == 0.5, "{systems:?}");
    }
}
