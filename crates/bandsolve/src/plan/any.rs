//! Factors by the method that the plan chose.

use crate::contract::expert::{self, ExpertReport};
use crate::contract::inspect::Inspect;
use crate::contract::probe::Probe;
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::Report;
use crate::contract::{Factor, Op};
use crate::decision::Decision;
use crate::error::{Result, check_len};
use crate::matrix::{RingOrder, Shape};
use crate::memory::zeroed;
use crate::partition::partitioned::Partitionable;
use bandsolve_kernel::Scalar;
use bandsolve_kernel::arithmetic::Standard;
use core::fmt::{self, Debug, Formatter};
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// Factors of one matrix by the method that its [`Plan`](crate::Plan) chose.
///
/// [`Factor`](crate::Factor) has the solves, with their shapes, cost and errors. [`Inspect`](crate::Inspect) has condition, determinant and
/// error bounds.
///
/// # Examples
/// ```
/// use bandsolve::prelude::*;
/// let a = Tridiagonal::new(&[-1.0; 4], &[2.5; 5], &[-1.0; 4])?;
/// let lu: AnyFactor<'_, f64> = Plan::new(a.shape()).factor(&a)?;
/// let (rhs, mut x) = ([1.5, 0.5, 0.5, 0.5, 1.5], [0.0; 5]);
/// let report = lu.solve_into(&rhs, &mut x)?;
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
/// assert_eq!(report.method, Method::Pivoted);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[must_use]
pub struct AnyFactor<'m, T: Scalar> {
    method: Box<dyn Probe<T> + 'm>,
    decision: Decision,
    /// The order in which `method` has the rows of a periodic band.
    order: Option<RingOrder>,
}

impl<'m, T: Scalar> AnyFactor<'m, T> {
    pub(crate) fn new(decision: &Decision, method: Box<dyn Probe<T> + 'm>) -> Self {
        Self { method, decision: decision.clone(), order: None }
    }

    /// The factors of a periodic band, from those of the band that is folded in this order.
    pub(crate) fn in_order(self, order: RingOrder) -> Self {
        Self { order: Some(order), ..self }
    }

    /// A solver that skips zeros of sparse right-hand sides, if the method has one for the rows in their order.
    pub(crate) fn sparse_solver(&self, op: Op) -> Result<Option<Box<dyn SparseSolver<T> + '_>>> {
        if self.order.is_some() { Ok(None) } else { self.method.sparse_solver(op) }
    }

    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Factors by the sequential pivoted method, whichever method was decided on.
    pub(crate) fn pivoted<A: Partitionable<T> + 'm>(decision: &Decision, a: A) -> Result<Self> {
        Ok(Self::new(decision, Box::new(A::SEQUENTIAL(decision, Arc::new(a))?)))
    }
}

impl<T: Scalar> Inspect<T> for AnyFactor<'_, T> {
    fn probe(&self) -> &dyn Probe<T> {
        &*self.method
    }

    fn solve_expert(&self, op: Op, rhs: &[T], x: &mut [T]) -> Result<ExpertReport> {
        let _mode = Standard::enter();
        let Some(order) = self.order else { return expert::solve(self.probe(), op, rhs, x) };
        self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        order.around(rhs, x, &mut zeroed(rhs.len())?, |rhs, x| expert::solve(self.probe(), op, rhs, x))
    }
}

impl<T: Scalar> Debug for AnyFactor<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyFactor").field("shape", &self.shape()).finish_non_exhaustive()
    }
}

impl<T: Scalar> Factor<T> for AnyFactor<'_, T> {
    fn shape(&self) -> Shape {
        self.decision.shape
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let scratch = self.method.solve_scratch(n_rhs);
        self.order.map_or(scratch, |_| RingOrder::scratch::<T>(self.shape().rows(), n_rhs).and(scratch))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let _mode = Standard::enter();
        let Some(order) = self.order else { return self.method.solve_into_with(op, rhs, x, stack) };
        order.solve((self.solve_scratch(self.shape().n_rhs("rhs", rhs.len())?), stack), (rhs, x), |rhs, x, stack| {
            self.method.solve_into_with(op, rhs, x, stack)
        })
    }
}
