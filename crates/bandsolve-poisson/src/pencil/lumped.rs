//! `pscr` for axes with a diagonal M: partial solutions with M⁻¹A.

use super::axis::AxisPencil;
use super::condition::{Stability, rcond, size};
use crate::axis::AxisOperator;
use crate::condition::Condition;
use crate::factor::FactorProblem;
use crate::method::{PoissonMethod, SeparableSolver, SolveRequest};
use crate::methods::spectrum::{PartialSpectrum, PencilRows};
use crate::scalar::{PoissonScalar, real};
use crate::separable::SeparableProblem;
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{collected, copied, reserved};
use bandsolve::{Error, Result};

/// The solver for M⁻¹A of each axis, and the diagonals of M.
pub(crate) struct LumpedSolver<T: PoissonScalar> {
    inner: Box<dyn SeparableSolver<T>>,
    masses: [Vec<f64>; 3],
    condition: Condition,
    threads: usize,
}

impl<T: PoissonScalar> LumpedSolver<T> {
    /// Set up the solver, or return `Unsupported` if an axis does not satisfy the conditions of `pscr`.
    pub fn boxed(axes: &[AxisPencil; 3], shift: f64, threads: usize) -> Result<Box<dyn SeparableSolver<T>>> {
        let problem = SeparableProblem { axes: lumped(axes)?, shift };
        let inner = T::by_real_type::<FactorProblem<'_>>((&problem, PoissonMethod::Pscr, threads))?;
        let masses = [copied(&axes[0].m[1])?, copied(&axes[1].m[1])?, copied(&axes[2].m[1])?];
        let condition = Condition { rcond: condition(axes, &problem)?, cancelling: true };
        Ok(Box::new(Self { inner, masses, condition, threads }))
    }
}

impl<T: PoissonScalar> SeparableSolver<T> for LumpedSolver<T> {
    fn scratch(&self) -> StackReq {
        self.inner.scratch()
    }

    fn solve(&self, request: &SolveRequest<'_, T>, x: &mut [T], stack: &mut PodStack) -> f64 {
        if let Some(rhs) = request.rhs {
            rhs.copy_to(x, self.threads);
        }
        // x = (M₁ ⊗ M₂ ⊗ M₃)⁻¹ f
        let [one, two, three] = &self.masses;
        for (line, x) in x.chunks_exact_mut(three.len()).enumerate() {
            let mass = one[line / two.len()] * two[line % two.len()];
            x.iter_mut().zip(three).for_each(|(x, m)| *x = *x / real(mass * m));
        }
        self.inner.solve(&SolveRequest { rhs: None, mean: 0.0 }, x, stack)
    }

    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn subproblems(&self) -> usize {
        self.inner.subproblems()
    }

    fn condition(&self) -> Option<Condition> {
        Some(self.condition)
    }
}

/// `rcond` from the systems along the first axis.
fn condition(axes: &[AxisPencil; 3], problem: &SeparableProblem) -> Result<f64> {
    let values = |k: usize| {
        let axis = &problem.axes[k];
        let rows = PencilRows { sub: &axis.lower, sup: &axis.upper, gap: &axis.gap };
        Ok(PartialSpectrum::of(rows, &[])?.map(|spectrum| spectrum.eigenvalues))
    };
    let (Some(a), Some(b)) = (values(1)?, values(2)?) else { return Ok(f64::NAN) };
    let mut mu = reserved(a.len().saturating_mul(b.len()))?;
    a.iter().for_each(|a| mu.extend(b.iter().map(|b| (a + b) + problem.shift)));
    let stabilities = collected(mu.iter().map(|mu| Stability::of(&axes[0], *mu)))?;
    rcond(&axes[0], (&mu, &stabilities), size(&axes[1]) + size(&axes[2]) + problem.shift.abs())
}

/// M⁻¹A of each axis as couplings (the negated off-diagonal entries) and gaps (the row sums).
fn lumped(axes: &[AxisPencil; 3]) -> Result<[AxisOperator; 3]> {
    let mut operators = [const { None }; 3];
    for (place, axis) in operators.iter_mut().zip(axes) {
        let n = axis.len();
        let [sub, diag, sup] = &axis.a;
        let coupled = sub[1..].iter().chain(&sup[..n - 1]).all(|a| *a < 0.0);
        let positive = axis.has_diagonal_mass() && axis.m[1].iter().all(|m| *m > 0.0);
        if !coupled || !positive || !axis.is_symmetric() {
            let what = "problems with an M that is not diagonal and positive, or an A that is not symmetric with negative off-diagonal entries: use gemm";
            return Err(Error::Unsupported { method: "pscr", what });
        }
        let over = |of: &dyn Fn(usize) -> f64| collected((0..n).map(|i| of(i) / axis.m[1][i]));
        let mut operator = AxisOperator::trivial();
        (operator.lower, operator.upper) = (over(&|i| -sub[i])?, over(&|i| -sup[i])?);
        operator.gap = over(&|i| sub[i] + diag[i] + sup[i])?;
        (operator.volume, operator.uniform) = (copied(&axis.m[1])?, None);
        *place = Some(operator);
    }
    Ok(operators.map(|axis| axis.expect("an operator of each axis")))
}
