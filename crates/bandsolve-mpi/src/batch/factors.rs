//! Solves of a batch that meet the accuracy contract.

use super::inner::InnerFactors;
use super::interface::{InterfaceFactors, InterfaceMemory, NeighbourValues};
use super::measure::{BatchAnswer, BoundMemory, ResidualMemory, attention_of, bounds, residuals};
use super::repair::{rcond_alone, solve_alone};
use super::rows::{BatchRows, agreed_columns, by_rows, turn_into};
use crate::agreement::{RankError, agree};
use crate::condition;
use crate::factors::conjugate_for;
use crate::ranges::RankRanges;
use crate::ranks::collected;
use bandsolve::memory::{allocate, copied, reserved, zeroed};
use bandsolve::{
    Layout, Method, Op, RealScalar, RefinedSystem, Refinement, Report, Scalar, Solution, StoppingRule,
    accepted_at_once, good, refine,
};
use core::convert::Infallible;
use std::sync::{Arc, OnceLock};

/// Factors of a batch of tridiagonal systems over ranks, for any number of right-hand sides.
///
/// A column of right-hand sides has one right-hand side for each system. The backward error of a column is the largest of its
/// systems, or an upper bound that is below 4ε. All ranks get the same report, or the same error.
///
/// # Examples
/// ```
/// use bandsolve::Layout;
/// use bandsolve_mpi::{DistributedBatch, Ranks};
/// // Two systems of two rows: [2 −1; −1 2] and [4 −2; −2 4].
/// let (off, diag) = ([-1.0, -1.0, -2.0, -2.0], [2.0, 2.0, 4.0, 4.0]);
/// let a = DistributedBatch::new(&Ranks::alone(), (2, Layout::Contiguous), [&off, &diag, &off])?;
/// let x = a.factor()?.solve(&[1.0, 1.0, 2.0, 2.0])?;
/// assert!(x.values.iter().all(|v: &f64| (v - 1.0).abs() < 1e-14));
/// # Ok::<(), bandsolve_mpi::RankError>(())
/// ```
#[derive(Debug)]
pub struct DistributedBatchFactors<T: Scalar> {
    rows: Arc<BatchRows<T>>,
    layout: Layout,
    inner: InnerFactors<T>,
    interface: InterfaceFactors<T>,
    /// The estimate, after the first call.
    rcond: OnceLock<f64>,
}

/// The reason for the method in reports.
const REASON: &str = "batch over ranks: inner rows without pivoting, each interface system on one rank";

impl<T: Scalar> DistributedBatchFactors<T> {
    pub(super) fn new(rows: Arc<BatchRows<T>>, layout: Layout) -> Result<Self, RankError> {
        let inner = InnerFactors::new(&rows.arrays, rows.count);
        let interface_rows = match &inner {
            Ok(inner) => inner.interface_rows(&rows.arrays),
            Err(error) => Err(error.clone()),
        };
        let interface = InterfaceFactors::new(&rows, interface_rows)?;
        let Ok(inner) = inner else { unreachable!("agreed on") };
        Ok(Self { rows, layout, inner, interface, rcond: OnceLock::new() })
    }

    /// Solve A·x = rhs for all systems and return x. Collective.
    ///
    /// # Shapes
    /// `rhs`: the rows of this rank × any number of columns, in the layout of the batch. The number of columns is the same on
    /// all ranks. x has the same shape.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>, RankError> {
        let mut values = copied(rhs);
        let given = values.as_deref_mut().map_err(|error| error.clone());
        let report = self.solve_given(Op::Plain, given)?;
        Ok(Solution { values: values.unwrap_or_default(), report })
    }

    /// Solve A·x = rhs for all systems; x replaces rhs. Collective.
    ///
    /// The solver computes the backward error of each system over all ranks. If it is above 8ε, the solver refines the system.
    /// If it is still above 8ε, one rank gathers this system and solves it with the pivoted method, and `fallback` in the
    /// report is true.
    ///
    /// # Cost
    /// Approximately 20 flops per row, system and column, and two all-to-all exchanges: of 2 numbers per system, column and
    /// rank, and of 4 numbers on the way back.
    ///
    /// # Errors
    /// `Shape`, `NotFinite`, `Singular` with row s·n + i for row i of system s, `NotConverged`, `OutOfMemory`; the same on all
    /// ranks.
    pub fn solve_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Plain, rhs)
    }

    /// Solve Aᵀ·x = rhs for all systems with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::Transpose, rhs)
    }

    /// Solve Aᴴ·x = rhs for all systems with the same factors; x replaces rhs. Collective.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_conj_transpose_in_place(&self, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_in_place_with(Op::ConjTranspose, rhs)
    }

    /// Solve op(A)·x = rhs for all systems, where op(A) is A, Aᵀ or Aᴴ; x replaces rhs. Collective.
    ///
    /// The first solve with a transpose creates the rows of Aᵀ, which the verification needs.
    ///
    /// # Errors
    /// As [`solve_in_place`](Self::solve_in_place).
    pub fn solve_in_place_with(&self, op: Op, rhs: &mut [T]) -> Result<Report, RankError> {
        self.solve_given(op, Ok(rhs))
    }

    /// Solve in place, with an error of this rank instead of the right-hand sides if their copy failed.
    fn solve_given(&self, op: Op, rhs: bandsolve::Result<&mut [T]>) -> Result<Report, RankError> {
        let (local_rows, count) = (self.rows.local_rows(), self.rows.count);
        let values = rhs.as_deref().unwrap_or_default();
        let (n_rhs, memory) = agreed_columns(&self.rows, ("rhs", values), op, |n_rhs| {
            rhs.as_ref().map_err(|error| error.clone())?;
            self.memory(values, op != Op::Plain, n_rhs)
        })?;
        let Ok(rhs) = rhs else { unreachable!("agreed on") };
        let memory = match local_rows {
            // A rank without rows gets the number of columns from the other ranks.
            0 => self.memory(rhs, op != Op::Plain, n_rhs).unwrap_or_else(|e| self.rows.ranks.abort(&e.to_string())),
            _ => memory,
        };
        let BatchSolveMemory { mut d, mut x, mut solve, beside, mut bounds } = memory;
        conjugate_for(op, &mut d);
        x.copy_from_slice(&d);
        let answer = BatchAnswer { d: &d, x: &mut x, beside };
        let solved = self.solve_rows(op != Op::Plain, answer, (&mut solve, &mut bounds), n_rhs);
        conjugate_for(op, &mut x);
        match self.layout {
            Layout::Contiguous => turn_into(&x, (local_rows, count), rhs),
            Layout::Interleaved => rhs.copy_from_slice(&x),
        }
        solved
    }

    /// Estimate the reciprocal of the largest row-wise condition number ‖A⁻¹·diag(Σⱼ|aᵢⱼ|)‖∞ of the systems. Collective.
    ///
    /// The result is 0 if a system is singular, and NaN if it is unknown. The first call computes the estimate, and later calls
    /// return the same number.
    ///
    /// # Cost
    /// At most 13 solves. If these solves are too inaccurate, each rank gathers its part of the systems and estimates with the
    /// pivoted method.
    ///
    /// # Errors
    /// `OutOfMemory`.
    ///
    /// # Source
    /// N. J. Higham, ACM Trans. Math. Softw. 14 (1988).
    pub fn rcond(&self) -> Result<f64, RankError> {
        if let Some(rcond) = self.rcond.get() {
            return Ok(*rcond);
        }
        let mut rcond = self.rcond_over_ranks()?;
        if rcond.is_nan() {
            rcond = rcond_alone(&self.rows)?;
        }
        Ok(*self.rcond.get_or_init(|| rcond))
    }

    /// Estimate with these factors. The result is NaN if they are too inaccurate. Collective.
    fn rcond_over_ranks(&self) -> Result<f64, RankError> {
        let rows = &*self.rows;
        let unknowns = RankRanges::of_counts((0..rows.ranks.size()).map(|k| rows.ranges.range(k).len() * rows.count));
        if unknowns.rows() == 0 {
            return Ok(1.0);
        }
        let first = unknowns.range(rows.ranks.rank()).start;
        let memory = || {
            let spare = zeroed(self.inner.spare(true))?;
            let sums = rows.sums()?;
            let x = sums.iter().enumerate().map(|(k, sum)| condition::sample::<T>(first + k, *sum));
            let x = collected(sums.len(), x)?;
            let solve = SolveMemory { interface: self.interface.memory(1)?, spare };
            let bound = BoundMemory::new(rows.count, 1)?;
            Ok((sums, copied(&x)?, x, solve, NeighbourValues::none(rows.count, 1)?, bound))
        };
        let (sums, d, mut x, mut memory, beside, mut bound) = agree(&rows.ranks, memory())?;
        let mut answer = BatchAnswer { d: &d, x: &mut x, beside };
        self.solve_unverified(false, (answer.x, 1), (&mut memory, &mut answer.beside));
        bounds(&rows.arrays, rows.count, &answer, &mut bound);
        let mut eta = worst_of_columns(&bound.all, 1);
        rows.ranks.max(&mut eta);
        let solve = &mut |transposed: bool, x: &mut [T]| {
            self.solve_unverified(transposed, (x, 1), (&mut memory, &mut answer.beside));
        };
        condition::rcond((&rows.ranks, &unknowns), (Ok(sums), eta[0]), solve)
    }

    /// Return a warning if x of a solve may have no correct digit in a system, however small the backward error is; otherwise
    /// `None`. Collective.
    ///
    /// # Errors
    /// As [`rcond`](Self::rcond).
    pub fn attention(&self, report: &Report) -> Result<Option<String>, RankError> {
        let rcond = self.rcond()?;
        Ok(bandsolve::attention(T::Real::EPSILON.to_f64(), Some(rcond), report.backward_error, None))
    }

    /// Allocate the memory of a solve, and copy the right-hand sides row by row.
    fn memory(&self, rhs: &[T], transposed: bool, n_rhs: usize) -> bandsolve::Result<BatchSolveMemory<T>> {
        let (local_rows, count) = (self.rows.local_rows(), self.rows.count);
        Ok(BatchSolveMemory {
            d: by_rows(rhs, local_rows, count, self.layout)?,
            x: zeroed(rhs.len())?,
            solve: SolveMemory {
                interface: self.interface.memory(n_rhs)?,
                spare: zeroed(self.inner.spare(transposed))?,
            },
            beside: NeighbourValues::none(count, n_rhs)?,
            bounds: BoundMemory::new(count, n_rhs)?,
        })
    }

    /// Solve in place for x, which contains d. Both are stored row by row.
    fn solve_rows(
        &self,
        transposed: bool,
        mut answer: BatchAnswer<'_, T>,
        (memory, bound): (&mut SolveMemory<T>, &mut BoundMemory<T>),
        n_rhs: usize,
    ) -> Result<Report, RankError> {
        let arrays = self.rows.arrays(transposed)?;
        self.solve_unverified(transposed, (answer.x, n_rhs), (memory, &mut answer.beside));
        bounds(arrays, self.rows.count, &answer, bound);
        let len = bound.all.len();
        let mut errors = worst_of_columns(&bound.all, n_rhs);
        if n_rhs > 0 {
            errors.push(f64::from(u8::from(bound.large)));
        }
        self.rows.ranks.max(&mut errors);
        let large = errors.len() > n_rhs && errors.pop() != Some(0.0);
        let rows = (&*self.rows, transposed);
        if errors.iter().all(|error| *error <= accepted_at_once::<T>()) {
            let mut report = Report::external(Method::SpikeThomas, REASON, Some(&errors));
            if large {
                report.attention = attention_of(rows, &answer, (len, report.backward_error))?.map(Arc::from);
            }
            return Ok(report);
        }
        let (mut errors, missed, steps) = self.refine(transposed, &mut answer, memory, &bound.all)?;
        if !missed.is_empty() {
            solve_alone(rows, &mut answer, (&missed, steps), &mut errors)?;
        }
        let mut report = Report::external(Method::SpikeThomas, REASON, Some(&worst_of_columns(&errors, n_rhs)));
        (report.refinement_steps, report.fallback) = (steps, !missed.is_empty());
        report.attention = attention_of(rows, &answer, (len, report.backward_error))?.map(Arc::from);
        Ok(report)
    }

    /// Replace right-hand sides by solutions, and return the unknowns of the neighbouring ranks.
    fn solve_unverified(
        &self,
        transposed: bool,
        (x, n_rhs): (&mut [T], usize),
        (memory, beside): (&mut SolveMemory<T>, &mut NeighbourValues<T>),
    ) {
        let column = (self.rows.local_rows() * self.rows.count).max(1);
        for x in x.chunks_exact_mut(column) {
            self.inner.reduce(&self.rows.arrays, transposed, x);
        }
        self.interface.solve(transposed, (x, n_rhs), (&mut memory.interface, beside));
        for x in x.chunks_exact_mut(column) {
            self.inner.substitute(&self.rows.arrays, transposed, (x, &mut memory.spare));
        }
    }

    /// Refine systems until their errors are at most 8ε, or no longer decrease; return all errors, the systems that are still above, and
    /// the number of steps.
    fn refine(
        &self,
        transposed: bool,
        answer: &mut BatchAnswer<'_, T>,
        memory: &mut SolveMemory<T>,
        bounds: &[f64],
    ) -> Result<(Vec<f64>, Vec<usize>, usize), RankError> {
        let (count, len) = (self.rows.count, bounds.len());
        let n_rhs = len.checked_div(count).unwrap_or(0);
        let spare = || {
            let values = || Ok((zeroed(answer.x.len())?, NeighbourValues::none(count, n_rhs)?));
            let of_systems = (copied(bounds)?, allocate(len, RefinedSystem::open())?, reserved(len)?);
            Ok((values()?, values()?, of_systems, ResidualMemory::new(&self.rows, len)?))
        };
        let (correction, before, (mut errors, mut systems, mut missed), mut residuals) =
            agree(&self.rows.ranks, spare())?;
        residuals.reduce.max(&self.rows.ranks, &mut errors);
        let accurate = systems.iter_mut().zip(&errors).filter(|(_, bound)| **bound <= accepted_at_once::<T>());
        accurate.for_each(|(system, bound)| *system = RefinedSystem::closed(*bound));
        let mut batch = BatchRefinement { factors: self, transposed, answer, memory, correction, before, residuals };
        let Ok(steps) = refine(&StoppingRule::contract::<T>(), &mut systems, &mut batch);
        errors.iter_mut().zip(&systems).for_each(|(error, system)| *error = system.error);
        missed.extend((0..len).filter(|at| !(errors[*at] <= good::<T>())));
        Ok((errors, missed, steps))
    }
}

/// The systems of a batch that are refined.
struct BatchRefinement<'a, 'b, T: Scalar> {
    factors: &'a DistributedBatchFactors<T>,
    transposed: bool,
    answer: &'a mut BatchAnswer<'b, T>,
    memory: &'a mut SolveMemory<T>,
    /// Residuals, then corrections, with those of the neighbouring ranks.
    correction: (Vec<T>, NeighbourValues<T>),
    /// x before the last step.
    before: (Vec<T>, NeighbourValues<T>),
    residuals: ResidualMemory<T>,
}

impl<T: Scalar> BatchRefinement<'_, '_, T> {
    /// x, dx and the previous x: of the rows of this rank, then of the rows before and after.
    fn arrays(&mut self) -> [(&mut [T], &mut [T], &mut [T]); 3] {
        let ((r, beside), (before, before_beside)) = (&mut self.correction, &mut self.before);
        let ([x_above, x_below], [dx_above, dx_below]) = (&mut self.answer.beside.sides, &mut beside.sides);
        let [above, below] = &mut before_beside.sides;
        [(self.answer.x, r, before), (x_above, dx_above, above), (x_below, dx_below, below)]
    }
}

impl<T: Scalar> Refinement for BatchRefinement<'_, '_, T> {
    type Error = Infallible;

    fn measure(&mut self, systems: &mut [RefinedSystem]) -> Result<(), Infallible> {
        let rows = (&*self.factors.rows, self.transposed);
        residuals(rows, self.answer, systems, (&mut self.correction.0, &mut self.residuals));
        systems.iter_mut().zip(&self.residuals.errors).for_each(|(system, error)| system.error = *error);
        Ok(())
    }

    fn correct(&mut self, systems: &[RefinedSystem]) -> Result<(), Infallible> {
        let n_rhs = systems.len() / self.factors.rows.count;
        let (r, beside) = &mut self.correction;
        with_systems(r, systems, n_rhs).filter(|(_, system)| !system.open).for_each(|(r, _)| *r = T::ZERO);
        self.factors.solve_unverified(self.transposed, (r, n_rhs), (self.memory, beside));
        for (x, dx, before) in self.arrays() {
            before.copy_from_slice(x);
            x.iter_mut().zip(dx).for_each(|(x, dx)| *x += *dx);
        }
        Ok(())
    }

    fn restore(&mut self, systems: &[RefinedSystem]) -> Result<bool, Infallible> {
        let n_rhs = systems.len() / self.factors.rows.count;
        for (x, _, before) in self.arrays() {
            let x = with_systems(x, systems, n_rhs).zip(before);
            x.filter(|((_, system), _)| !system.improved).for_each(|((x, _), before)| *x = *before);
        }
        Ok(true)
    }
}

/// The values of rows of a batch, each with its system.
fn with_systems<'a, T>(
    values: &'a mut [T],
    systems: &'a [RefinedSystem],
    n_rhs: usize,
) -> impl Iterator<Item = (&'a mut T, &'a RefinedSystem)> {
    let columns = values.chunks_mut((values.len() / n_rhs).max(1)).zip(systems.chunks(systems.len() / n_rhs));
    columns.flat_map(|(values, systems)| values.iter_mut().zip(systems.iter().cycle()))
}

/// The memory of a solve that grows with the rows of this rank or with the number of systems. All ranks allocate it before the solve starts.
struct BatchSolveMemory<T: Scalar> {
    d: Vec<T>,
    x: Vec<T>,
    solve: SolveMemory<T>,
    beside: NeighbourValues<T>,
    bounds: BoundMemory<T>,
}

/// The part of the memory that unverified solves use.
struct SolveMemory<T> {
    interface: InterfaceMemory<T>,
    /// Scratch for the inner rows of one column.
    spare: Vec<T>,
}

/// Get the largest error of the systems of each column.
fn worst_of_columns(errors: &[f64], n_rhs: usize) -> Vec<f64> {
    let count = errors.len().checked_div(n_rhs).unwrap_or(0);
    let worst =
        |errors: &[f64]| errors.iter().fold(0.0, |worst: f64, e| if *e > worst || e.is_nan() { *e } else { worst });
    (0..n_rhs).map(|k| worst(&errors[k * count..(k + 1) * count])).collect()
}
