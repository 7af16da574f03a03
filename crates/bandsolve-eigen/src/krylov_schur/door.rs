//! Entry points of a search: scale problems with extreme numbers, and repeat a search whose residuals are too large.

use super::limits::Search;
use super::verify::{SearchMemory, check, probe};
use super::{general, hermitian};
use crate::problem::{EigenProblem, Inverted};
use crate::report::{EigenEnding, EigenReport, GeneralEigen, HermitianEigen};
use crate::solver::EigenSolver;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::vectors::{Reducer, narrow, widen};
use bandsolve::{Complex64, LinearOperator, Op, RealScalar, Result, Scalar};
use bandsolve_kernel::exact::{exponent, ldexp};

/// Find eigenpairs of a Hermitian problem. The search scales A and B by powers of two, so that no entry is too large or too small.
pub(super) fn hermitian<T: Scalar>((solver, problem): Search<'_, T>) -> Result<HermitianEigen<T>> {
    let (solver, scaling) = posed(solver, &problem)?;
    scaling.scaled(
        (solver, problem),
        |search| repeated(hermitian::find, search),
        |eigen: &mut HermitianEigen<T>| {
            let by = scaling.of_values();
            eigen.values.iter_mut().chain(&mut eigen.offsets).for_each(|value| *value = ldexp(*value, by));
            // Restore xᴴ·B·x = 1.
            let by = T::Real::from_f64(ldexp(1.0, scaling.b / 2));
            eigen.vectors.iter_mut().for_each(|x| *x = x.scale(by));
        },
    )
}

/// Find eigenpairs of any problem. The search scales A and B as [`hermitian`].
pub(super) fn general<T: Scalar>((solver, problem): Search<'_, T>) -> Result<GeneralEigen> {
    let (solver, scaling) = posed(solver, &problem)?;
    scaling.scaled(
        (solver, problem),
        |search| repeated(general::find, search),
        |eigen: &mut GeneralEigen| {
            let by = scaling.of_values();
            let scaled = |value: Complex64| Complex64::new(ldexp(value.re, by), ldexp(value.im, by));
            eigen.values.iter_mut().chain(&mut eigen.offsets).for_each(|value| *value = scaled(*value));
        },
    )
}

/// The result of a search.
trait SearchAnswer {
    fn report(&mut self) -> &mut EigenReport;
}

impl<T> SearchAnswer for HermitianEigen<T> {
    fn report(&mut self) -> &mut EigenReport {
        &mut self.report
    }
}

impl SearchAnswer for GeneralEigen {
    fn report(&mut self) -> &mut EigenReport {
        &mut self.report
    }
}

/// Run a search. If residuals of A·x = λ·B·x exceed the tolerance, run the search again with a smaller tolerance for the operator.
///
/// With OP = (A − σB)⁻¹·B and r = OP·x − θ·x, the residual is ‖A·x − λ·B·x‖ = ‖(A − σB)·r‖/|θ| ≤ ‖A − σB‖·tol. It can exceed the tolerance
/// because ‖A − σB‖ can be larger than the estimated norms.
fn repeated<'a, T: Scalar, F: SearchAnswer>(
    find: impl Fn(Search<'a, T>) -> Result<F>,
    (solver, problem): Search<'a, T>,
) -> Result<F> {
    let mut eigen = find((solver, problem))?;
    let first = eigen.report().clone();
    if first.ending != EigenEnding::LargeResiduals {
        return Ok(eigen);
    }
    let largest = first.residuals.iter().fold(0.0_f64, |largest, residual| largest.max(*residual));
    let inner = 0.5 * solver.tol * solver.tol / largest;
    // A smaller tolerance does not help below a few rounding errors, and a very large residual has other causes.
    if solver.tol <= 4.0 * T::Real::EPSILON.to_f64() || largest > solver.tol.sqrt() {
        return Ok(eigen);
    }
    let mut eigen = find((EigenSolver { inner: Some(inner), ..solver }, problem))?;
    let report = eigen.report();
    (report.solves, report.restarts) = (report.solves + first.solves, report.restarts + first.restarts);
    Ok(eigen)
}

/// Check the arguments, and estimate the norms with a random vector. Returns the settings with these norms, and the scaling.
fn posed<'a, T: Scalar>(
    solver: EigenSolver<'a, T>,
    problem: &EigenProblem<'_, T>,
) -> Result<(EigenSolver<'a, T>, ProblemScaling)> {
    check(&solver, problem)?;
    let mut memory = SearchMemory::new(&solver, problem, 2)?;
    let (mut reducer, stack) = Reducer::new(solver.communicator, problem.a.rows(), 2, memory.stack());
    let probed = probe(problem, (&mut reducer, stack))?;
    Ok((EigenSolver { probed: Some(probed), ..solver }, ProblemScaling::of::<T>(probed, problem)))
}

/// Exponents a and b of powers of two, for the scaled problem 2^a·A·x' = λ'·2^b·B·x'. b is even.
///
/// So λ' = 2^(a−b)·λ and, in the norm of B, x = 2^(b/2)·x'. In the scaled problem, squares of A, of θ = 1/(λ − σ) and of their products
/// neither overflow nor underflow. Problems with numbers of ordinary size are not scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProblemScaling {
    a: i32,
    b: i32,
}

impl ProblemScaling {
    fn of<T: Scalar>([a, b]: [f64; 2], problem: &EigenProblem<'_, T>) -> Self {
        let sigma = problem.shift().map_or(0.0, |sigma| widen(sigma).norm());
        // Squares of numbers with exponents up to this one are in the range of the type, with a margin.
        let usual = if size_of::<T::Real>() == size_of::<f64>() { 200 } else { 40 };
        let power = |size: f64| match exponent(size) {
            exponent if size > 0.0 && size.is_finite() && exponent.abs() > usual => -exponent,
            _ => 0,
        };
        let of_b = if problem.b.is_some() { power(b) } else { 0 };
        Self { a: power(a.max(sigma * b)), b: of_b - of_b % 2 }
    }

    /// The exponent c in λ = 2^c·λ'.
    fn of_values(self) -> i32 {
        self.b - self.a
    }

    /// Run the search for the scaled problem. `back` scales the values and vectors back.
    fn scaled<T: Scalar, F: SearchAnswer>(
        self,
        (solver, problem): Search<'_, T>,
        search: impl Fn(Search<'_, T>) -> Result<F>,
        back: impl FnOnce(&mut F),
    ) -> Result<F> {
        if self == (Self { a: 0, b: 0 }) {
            return search((solver, problem));
        }
        let norms =
            |norms: [f64; 2]| [ldexp(norms[0], self.a), ldexp(norms[1], if problem.b.is_some() { self.b } else { 0 })];
        let a = PowerTimes { operator: problem.a, power: self.a };
        let b = problem.b.map(|operator| PowerTimes { operator, power: self.b });
        let sigma = |sigma: T| {
            let [re, im] = [sigma.re(), sigma.im()].map(|part| ldexp(part.to_f64(), -self.of_values()));
            narrow(Complex64::new(re, im))
        };
        let inverse = problem.inverse.map(|inverse| match inverse {
            Inverted::Shifted(_, operator) | Inverted::Cayley(_, operator) => PowerTimes { operator, power: -self.a },
            Inverted::Mass(operator) => PowerTimes { operator, power: -self.b },
        });
        let inverted = problem.inverse.zip(inverse.as_ref()).map(|(kind, inverse)| match kind {
            Inverted::Shifted(shift, _) => Inverted::Shifted(sigma(shift), inverse as &dyn LinearOperator<T>),
            Inverted::Cayley(shift, _) => Inverted::Cayley(sigma(shift), inverse),
            Inverted::Mass(_) => Inverted::Mass(inverse),
        });
        let scaled = EigenProblem { a: &a, b: b.as_ref().map(|b| b as &dyn LinearOperator<T>), inverse: inverted };
        let below = |shift: f64| match solver.count {
            Some(below) => below(ldexp(shift, self.of_values())),
            None => Ok(0),
        };
        let count: Option<crate::EigenvaluesBelow<'_>> = solver.count.map(|_| &below as _);
        let (probed, given) = (solver.probed.map(norms), solver.norms.map(norms));
        let mut eigen = search((EigenSolver { probed, norms: given, count, ..solver }, scaled))?;
        let [a, b] = &mut eigen.report().norms;
        (*a, *b) = (ldexp(*a, -self.a), ldexp(*b, if problem.b.is_some() { -self.b } else { 0 }));
        back(&mut eigen);
        Ok(eigen)
    }
}

/// The operator 2^power·A. It scales x by half of the power and y by the other half, so that A·x neither overflows nor underflows.
struct PowerTimes<'a, T: Scalar> {
    operator: &'a dyn LinearOperator<T>,
    power: i32,
}

impl<T: Scalar> LinearOperator<T> for PowerTimes<'_, T> {
    fn rows(&self) -> usize {
        self.operator.rows()
    }

    fn columns(&self) -> usize {
        self.operator.columns()
    }

    fn apply_scratch(&self) -> StackReq {
        StackReq::new::<T>(self.operator.columns()).and(self.operator.apply_scratch())
    }

    fn apply(&self, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        self.apply_op(Op::Plain, x, y, stack)
    }

    fn apply_op(&self, op: Op, x: &[T], y: &mut [T], stack: &mut PodStack) -> Result<()> {
        let half = self.power / 2;
        let [before, after] = [half, self.power - half].map(|power| T::Real::from_f64(ldexp(1.0, power)));
        let (scaled, stack) = stack.make_raw::<T>(x.len());
        scaled.iter_mut().zip(x).for_each(|(scaled, x)| *scaled = x.scale(before));
        match op {
            Op::Plain => self.operator.apply(scaled, y, stack)?,
            op => self.operator.apply_op(op, scaled, y, stack)?,
        }
        y.iter_mut().for_each(|y| *y = y.scale(after));
        Ok(())
    }
}
