//! Batches of banded systems: one system per SIMD lane, by LU with partial pivoting of scaled rows (`band_lockstep.rs` of the kernels).
//!
//! If all systems have the same matrix, it is factored once, and the lanes only substitute (`shared_band.rs` of the kernels).

use crate::contract::equations::Matrix;
use crate::contract::measure::measure;
use crate::contract::refine::good;
use crate::contract::verify::Solution;
use crate::contract::{Factor, Op};
use crate::decision::{Decision, Options};
use crate::error::{Error, Result};
use crate::matrix::{Banded, BandedBatch, Layout, RowRuns, Shape};
use crate::memory::{buffer, zeroed};
use crate::method::Method;
use crate::pivoted::band_lu::{BandLu, FactorsByRows};
use crate::plan::any::AnyFactor;
use crate::plan::batch::{BatchFactor, Reals, SystemOutcome, SystemsOnLanes, alone, measure_or_solve};
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::band_form::{BandForm, BandRun};
use bandsolve_kernel::band_lockstep::{self, BandOptions, BandSystems};
use bandsolve_kernel::lockstep::Shared;
use bandsolve_kernel::shared_band::{self, SharedBandFactors};
use bandsolve_kernel::shared_matrix::{self, SharedSystems};
use bandsolve_kernel::{Scalar, by_type};
use core::ops::Range;
use dyn_stack::PodStack;
use std::sync::Arc;

/// The matrices, the order in which the kernel reads them, and the factors if all are the same.
#[derive(Debug)]
struct BandedSystems<'m, T: Scalar> {
    a: Arc<BandedBatch<'m, T>>,
    options: Options,
    /// Whether the method is Cholesky's.
    definite: bool,
    /// The entries that the kernel reads: of definite matrices, those on the main diagonal and above.
    runs: Vec<BandRun>,
    rows: RowRuns,
    /// The factors of a shared matrix and of its transpose, computed by the first solve.
    shared: FactorsByRows<T>,
}

impl<'m, T: Scalar> BandedSystems<'m, T> {
    fn new(a: Arc<BandedBatch<'m, T>>, decision: &Decision) -> Result<Self> {
        let (options, definite) = (decision.options, decision.method == Method::Cholesky);
        if definite {
            a.check_hermitian(options.threads > 1)?;
        }
        let (runs, rows) = if definite { a.upper_runs()? } else { a.runs()? };
        Ok(Self { a, options, definite, runs, rows, shared: FactorsByRows::new() })
    }

    /// The form of the matrices for the kernel.
    fn form(&self) -> BandForm<'_> {
        let (a, definite) = (&self.a, self.definite);
        let (lower, upper) = if definite { a.symmetric_widths() } else { a.solved_widths() };
        // Diagonals that a Hermitian matrix has on one side only are zero.
        let gaps = a.has_gaps() || (lower, upper) != a.solved_widths();
        BandForm { n: a.n(), lower, upper, definite, runs: &self.runs, add: a.entries_meet(), gaps, rows: &self.rows }
    }

    /// The factors of a positive definite matrix, with its rows in the order that `system` returns.
    fn definite_factor(&self, a: Banded<'static, T>) -> Result<AnyFactor<'static, T>> {
        let Options { verify, simd, .. } = self.options;
        Plan::new(a.shape()).method(Method::Cholesky).threads(1).verify(verify).simd(simd).factor_owned(a)
    }

    /// Solve a system, whose rows are in the order that `system` returns.
    fn measure_or_solve_alone(
        &self,
        a: Banded<'static, T>,
        decision: &Decision,
        op: Op,
        (d, x): (&[T], &mut [T]),
    ) -> Result<SystemOutcome> {
        if !self.definite {
            return measure_or_solve(a, decision, op, (d, x));
        }
        let error = measure(&a.equations(op, self.options.simd), d, x, false);
        let factor = self.definite_factor(a)?;
        if error <= good::<T>() {
            return Ok(SystemOutcome::Measured(error));
        }
        let mut memory = buffer(factor.solve_scratch(1))?;
        factor.solve_into_with(op, d, x, PodStack::new(&mut memory)).map(SystemOutcome::Solved)
    }

    fn lanes(&self) -> usize {
        T::lanes(self.options.sweep_simd())
    }

    /// Whether the factors of one matrix may serve all systems.
    fn may_share(&self) -> bool {
        let enough = self.a.count() >= self.lanes();
        self.a.is_shared() && enough && self.options.has_usual_pivots()
    }

    /// The factors of a shared matrix. `None` if each system has its own, for options that need other pivots, and if a pivot is too small.
    fn shared(&self, op: Op) -> Result<Option<&SharedBandFactors<T>>> {
        if !self.may_share() {
            return Ok(None);
        }
        let transposed = op != Op::Plain;
        self.shared.get(transposed, || {
            let a = self.a.system(0)?;
            if self.definite {
                self.definite_factor(a.clone()).map(drop).map_err(|error| self.unfolded(error))?;
            }
            let a = if transposed { a.transposed(false)? } else { a };
            BandLu::scaled(&a, self.options.simd)?.0.by_rows(&a, None)
        })
    }

    /// An error of a system, whose rows are in the order that `system` returns, as one of the caller's rows.
    fn unfolded(&self, error: Error) -> Error {
        match self.a.order() {
            Some(order) => order.unfolded(error),
            None => error,
        }
    }

    /// The order of the rows, empty for that of memory.
    fn ring(&self) -> &[BandRun] {
        if self.a.is_periodic() { &self.rows } else { &[] }
    }
}

impl<T: Scalar> SystemsOnLanes<T> for BandedSystems<'_, T> {
    fn check_finite(&self) -> Result<()> {
        self.a.check_finite()
    }

    fn visit_row(&self, op: Op, s: usize, i: usize, visit: &mut dyn FnMut(usize, T)) {
        self.a.visit_row(op != Op::Plain, s, i, visit);
    }

    fn not_finite(&self, s: usize, _array: &'static str, _index: usize) -> Error {
        self.a.named(s)
    }

    fn system(&self, s: usize) -> Result<AnyFactor<'static, T>> {
        let factor = alone(self.a.system(s)?, &self.options)?;
        Ok(match self.a.order() {
            Some(order) => factor.in_order(order),
            None => factor,
        })
    }

    fn measure_or_solve(&self, decision: &Decision, op: Op, s: usize, d: &[T], x: &mut [T]) -> Result<SystemOutcome> {
        let a = self.a.system(s)?;
        let Some(order) = self.a.order() else { return self.measure_or_solve_alone(a, decision, op, (d, x)) };
        let (mut folded, mut solved) = (zeroed(d.len())?, zeroed(d.len())?);
        order.fold(d, &mut folded);
        order.fold(x, &mut solved);
        let outcome = self.measure_or_solve_alone(a, decision, op, (&folded, &mut solved));
        order.unfold(&solved, x);
        outcome.map_err(|error| self.unfolded(error))
    }

    /// A shared matrix needs whole groups.
    fn group(&self, op: Op) -> Result<(usize, bool)> {
        let simd = self.options.sweep_simd();
        Ok(match self.shared(op)? {
            Some(_) => (shared_matrix::group::<T>(simd, self.a.count()), true),
            None => (band_lockstep::group::<T>(simd, &self.form()), false),
        })
    }

    fn threads(&self) -> usize {
        let tiles = self.a.count().div_ceil(band_lockstep::group::<T>(self.options.sweep_simd(), &self.form()));
        let entries = self.a.lower() + self.a.upper() + 1;
        // A row of a wider band is more work. Substitution alone takes a fraction of the time.
        let of_row = if self.may_share() { 3 * tuning::FACTORED_ROWS } else { 3 };
        tuning::tasks(self.options.threads.min(tiles), self.a.count().saturating_mul(self.a.n() * entries) / of_row)
    }

    fn memory(&self) -> usize {
        let (simd, form) = (self.options.sweep_simd(), self.form());
        let of_shared = match self.may_share() {
            true => shared_band::memory::<T>(simd, (form.n, self.a.lower(), self.a.upper()), self.ring()),
            false => 0,
        };
        band_lockstep::memory::<T>(simd, &form, self.a.layout() == Layout::Interleaved).max(of_shared)
    }

    fn solve(
        &self,
        op: Op,
        rhs: &[T],
        span: Range<usize>,
        found: [Reals<T>; 2],
        (out, memory): (&Shared<'_, T>, Reals<T>),
    ) -> Result<bool> {
        let (a, options) = (&self.a, &self.options);
        let (first, system) = (a.index(span.start, 0), a.system_stride());
        let strides = a.layout().strides((a.count(), a.n()));
        // Memory for the factors may have become free since `group` was called.
        if let Some(factors) = self.shared(op)?.filter(|_| span.len() >= self.lanes()) {
            let systems = SharedSystems { rhs: &rhs[first..], n: a.n(), strides, count: span.len() };
            let matrix = (factors, T::COMPLEX && op == Op::ConjTranspose, self.ring());
            return Ok(shared_band::solve(options.sweep_simd(), matrix, systems, (out, first), (found, memory)));
        }
        let arrays = a.arrays().map(|array| array.get(span.start * system..).unwrap_or(&[]));
        let systems = BandSystems {
            form: self.form(),
            arrays: &arrays,
            system,
            rhs: &rhs[first..],
            strides,
            count: span.len(),
            transposed: op != Op::Plain && !self.definite,
            // The transpose of a Hermitian matrix is its conjugate.
            conj: op == if self.definite { Op::Transpose } else { Op::ConjTranspose },
        };
        let how = BandOptions { choice: options.block_pivots(), scaling: options.scaling(), verify: options.verify };
        Ok(band_lockstep::solve(options.sweep_simd(), &systems, how, (out, first), (found, memory)))
    }
}

by_type! {
    /// [`BandedSystems`] for each number type, so that no other place compiles them.
    struct BandedOnLanes<'p, 'm>: (Arc<BandedBatch<'m, T>>, &'p Decision) => Result<Box<dyn SystemsOnLanes<T> + 'm>> =
        |(a, decision)| Ok(Box::new(BandedSystems::new(a, decision)?));
}

/// The systems, ready to be solved on lanes.
pub(super) fn on_lanes<'m, T: Scalar>(
    a: Arc<BandedBatch<'m, T>>,
    decision: &Decision,
) -> Result<Box<dyn SystemsOnLanes<T> + 'm>> {
    T::by_type::<BandedOnLanes<'_, 'm>>((a, decision))
}

impl<'a, T: Scalar> Factorize for BandedBatch<'a, T> {
    type Scalar = T;
    type Factor<'m>
        = BatchFactor<'m, T>
    where
        Self: 'm;
    type OwningFactor = BatchFactor<'a, T>;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<BatchFactor<'m, T>> {
        BandedBatch::factor_shared_with(Arc::new(self.view()), plan)
    }

    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<BatchFactor<'a, T>> {
        plan.check_shape(a.shape())?;
        let fits = a.layout() == Layout::Contiguous && !a.is_shared();
        let one = Shape::Banded { n: a.n(), lower: a.lower(), upper: a.upper() };
        let systems = (&plan.decision, on_lanes(a.clone(), &plan.decision)?);
        match a.is_periodic() {
            true => BatchFactor::new(fits, one, systems, |s| a.periodic_system(s)),
            false => BatchFactor::new(fits, one, systems, |s| a.system(s)),
        }
    }
}

impl<T: Scalar> BandedBatch<'_, T> {
    /// Solve all systems. The right-hand sides and x have the layout of the batch.
    ///
    /// # Errors
    /// Those of [`Factor`](crate::Factor). In [`Error::Singular`](crate::Error::Singular), row i of system s is counted as s·n + i.
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::new(self.shape()).factor(self)?.solve(rhs)
    }
}
