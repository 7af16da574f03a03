//! Tridiagonal systems whose gap is negative, where elimination needs pivots: solved one by one.

use crate::axis::AxisOperator;
use crate::scalar::{PoissonScalar, real};
use bandsolve::dyn_stack::{PodStack, StackReq};
use bandsolve::{AnyFactor, Factor, Method, Op, Plan, Result, Tridiagonal};

/// The systems of some modes, with pivoted factors of each.
pub(crate) struct IndefiniteModes<T: PoissonScalar> {
    n: usize,
    modes: usize,
    folded: bool,
    systems: Vec<(usize, AnyFactor<'static, T>)>,
}

impl<T: PoissonScalar> IndefiniteModes<T> {
    /// Of all negative eigenvalues, which are replaced: what elimination in lockstep does with them is overwritten.
    pub fn new(axis: &AxisOperator, lambda: &mut [f64]) -> Result<Self> {
        let mut systems = Vec::new();
        for (mode, value) in lambda.iter_mut().enumerate().filter(|(_, value)| **value < 0.0) {
            let convert = |entry: &dyn Fn(usize) -> f64| (0..axis.len()).map(|i| real(entry(i))).collect::<Vec<T>>();
            let diag = convert(&|i| axis.lower[i] + axis.upper[i] + axis.gap[i] + *value);
            let (sub, sup) = (convert(&|i| -axis.lower[i]), convert(&|i| -axis.upper[i]));
            let a = Tridiagonal::from_vecs(sub, diag, sup, axis.periodic)?;
            systems.push((mode, Plan::new(a.shape()).method(Method::Pivoted).threads(1).factor_owned(a)?));
            *value = 1.0;
        }
        Ok(Self { n: axis.len(), modes: lambda.len(), folded: axis.periodic, systems })
    }

    /// Numbers that [`take`](Self::take) keeps.
    pub fn words(&self) -> usize {
        self.n * self.systems.len()
    }

    /// Scratch of a solve.
    pub fn scratch(&self) -> StackReq {
        self.systems.first().map_or(StackReq::EMPTY, |(_, system)| system.solve_in_place_scratch(1))
    }

    /// Solves for the coefficients of these modes in x, which become zero; `kept` has the solutions.
    pub fn take(&self, x: &mut [T], kept: &mut [T], stack: &mut PodStack) {
        for ((mode, system), column) in self.systems.iter().zip(kept.chunks_exact_mut(self.n)) {
            let entries = x[*mode..].iter_mut().step_by(self.modes);
            column.iter_mut().zip(entries).for_each(|(c, x)| *c = core::mem::replace(x, T::ZERO));
            if self.folded {
                unfold(column);
            }
            if system.solve_in_place_with(Op::Plain, column, stack).is_err() {
                // Verification sees it.
                column.fill(T::NAN);
            }
            if self.folded {
                fold(column);
            }
        }
    }

    /// Puts the solutions where they belong.
    pub fn put(&self, x: &mut [T], kept: &[T]) {
        for ((mode, _), column) in self.systems.iter().zip(kept.chunks_exact(self.n)) {
            x[*mode..].iter_mut().step_by(self.modes).zip(column).for_each(|(x, c)| *x = *c);
        }
    }
}

/// Numbers from half their sums (in row i) and differences (in row n − i).
fn unfold<T: PoissonScalar>(column: &mut [T]) {
    let n = column.len();
    for i in 1..n.div_ceil(2) {
        (column[i], column[n - i]) = (column[i] + column[n - i], column[i] - column[n - i]);
    }
}

/// The inverse of it.
fn fold<T: PoissonScalar>(column: &mut [T]) {
    let (n, half) = (column.len(), real::<T>(0.5));
    for i in 1..n.div_ceil(2) {
        (column[i], column[n - i]) = ((column[i] + column[n - i]) * half, (column[i] - column[n - i]) * half);
    }
}
