//! Tridiagonal systems with a negative row sum: a negative eigenvalue λ + c, or a negative gap at a Robin side.
//!
//! Elimination of these systems needs pivoting, so they are solved one after the other.

use crate::axis::AxisOperator;
use crate::folded::{fold, unfold};
use crate::scalar::{PoissonScalar, real};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::memory::{collected, push};
use bandsolve::{AnyFactor, Factor, Method, Op, Plan, Result, Tridiagonal};

/// The systems of some modes, with pivoted factors.
pub(crate) struct IndefiniteModes<T: PoissonScalar> {
    n: usize,
    modes: usize,
    folded: bool,
    /// Each mode with its factors.
    systems: Vec<(usize, AnyFactor<'static, T>)>,
}

/// Pivoted factors of the matrix with these diagonals. `periodic`: with corners.
fn pivoted<T: PoissonScalar>([sub, diag, sup]: [Vec<T>; 3], periodic: bool) -> Result<AnyFactor<'static, T>> {
    let a = Tridiagonal::from_vecs(sub, diag, sup, periodic)?;
    Plan::new(a.shape()).method(Method::Pivoted).threads(1).factor_owned(a)
}

impl<T: PoissonScalar> IndefiniteModes<T> {
    /// Factors for all eigenvalues λ with a negative row sum gapᵢ + λ. Replaces these eigenvalues by large ones, because [`put`](Self::put)
    /// overwrites the results of elimination in lockstep.
    pub fn new(axis: &AxisOperator, lambda: &mut [f64]) -> Result<Self> {
        let entries = |of: &dyn Fn(usize) -> f64| collected((0..axis.len()).map(|i| real::<T>(of(i))));
        let (mut systems, least) = (Vec::new(), axis.least_gap());
        for (mode, value) in lambda.iter_mut().enumerate().filter(|(_, value)| **value + least < 0.0) {
            let diag = entries(&|i| axis.lower[i] + axis.upper[i] + axis.gap[i] + *value)?;
            let system = [entries(&|i| -axis.lower[i])?, diag, entries(&|i| -axis.upper[i])?];
            push(&mut systems, (mode, pivoted(system, axis.periodic)?))?;
            *value = 1.0 - least;
        }
        Ok(Self { n: axis.len(), modes: lambda.len(), folded: axis.is_folded(), systems })
    }

    /// Factors of `given` systems out of `modes` systems with n rows. Each has its mode and the diagonals sub, diag, sup.
    pub fn of_systems(
        (n, modes): (usize, usize),
        given: impl Iterator<Item = Result<(usize, [Vec<T>; 3])>>,
    ) -> Result<Self> {
        let mut systems = Vec::new();
        for system in given {
            let (mode, entries) = system?;
            push(&mut systems, (mode, pivoted(entries, false)?))?;
        }
        Ok(Self { n, modes, folded: false, systems })
    }

    /// Length of the array `solved` of [`take`](Self::take).
    pub fn words(&self) -> usize {
        self.n * self.systems.len()
    }

    /// Scratch memory of [`take`](Self::take).
    pub fn scratch(&self) -> StackReq {
        self.systems.first().map_or(StackReq::EMPTY, |(_, system)| system.solve_in_place_scratch(1))
    }

    /// Solves the systems with the coefficients in x, and writes the solutions to `solved`. Sets the coefficients to zero.
    pub fn take(&self, x: &mut [T], solved: &mut [T], stack: &mut PodStack) {
        for ((mode, system), column) in self.systems.iter().zip(solved.chunks_exact_mut(self.n)) {
            let entries = x[*mode..].iter_mut().step_by(self.modes);
            column.iter_mut().zip(entries).for_each(|(c, x)| *c = core::mem::replace(x, T::ZERO));
            if self.folded {
                unfold(column);
            }
            if system.solve_in_place_with(Op::Plain, column, stack).is_err() {
                // Verification detects the NaN.
                column.fill(T::NAN);
            }
            if self.folded {
                fold(column);
            }
        }
    }

    /// Copies the solutions to x.
    pub fn put(&self, x: &mut [T], solved: &[T]) {
        for ((mode, _), column) in self.systems.iter().zip(solved.chunks_exact(self.n)) {
            x[*mode..].iter_mut().step_by(self.modes).zip(column).for_each(|(x, c)| *x = *c);
        }
    }
}
