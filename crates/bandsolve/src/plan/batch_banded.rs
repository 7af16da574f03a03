//! Batches of banded systems: one system per SIMD lane, by LU with partial pivoting of scaled rows (`band_lockstep.rs` of the kernels).
//!
//! If all systems have the same matrix, it is factored once, and the lanes only substitute (`shared_band.rs` of the kernels).

use crate::contract::verify::Solution;
use crate::contract::{Factor, Op};
use crate::decision::{Decision, Options};
use crate::error::{Error, Result};
use crate::matrix::{BandedBatch, Layout, Shape};
use crate::memory::zeroed;
use crate::pivoted::band_lu::{BandLu, FactorsByRows};
use crate::plan::any::AnyFactor;
use crate::plan::batch::{BatchFactor, Reals, SystemOutcome, SystemsOnLanes, alone, measure_or_solve};
use crate::plan::systems_alone::SystemsAlone;
use crate::plan::{Factorize, Plan};
use crate::tuning;
use bandsolve_kernel::band_lockstep::{self, BandForm, BandOptions, BandRun, BandSystems};
use bandsolve_kernel::lockstep::Shared;
use bandsolve_kernel::shared_band::{self, SharedBandFactors};
use bandsolve_kernel::shared_matrix::{self, SharedSystems};
use bandsolve_kernel::{Scalar, by_type};
use core::ops::Range;
use std::sync::Arc;

/// The matrices, the order in which the kernel reads them, and the factors if all are the same.
#[derive(Debug)]
struct BandedSystems<'m, T: Scalar> {
    a: Arc<BandedBatch<'m, T>>,
    options: Options,
    runs: Vec<BandRun>,
    rows: Vec<BandRun>,
    /// The factors of a shared matrix and of its transpose, computed by the first solve.
    shared: FactorsByRows<T>,
}

impl<'m, T: Scalar> BandedSystems<'m, T> {
    fn new(a: Arc<BandedBatch<'m, T>>, options: Options) -> Result<Self> {
        let (runs, rows) = a.runs()?;
        Ok(Self { a, options, runs, rows, shared: FactorsByRows::new() })
    }

    /// The form of the matrices for the kernel.
    fn form(&self) -> BandForm<'_> {
        let (lower, upper) = self.a.solved_widths();
        let (runs, rows) = (&self.runs, &self.rows);
        BandForm { n: self.a.n(), lower, upper, runs, add: self.a.entries_meet(), gaps: self.a.has_gaps(), rows }
    }

    /// The smallest number of systems that are solved with the factors of one matrix.
    fn least_count(&self) -> usize {
        shared_matrix::least_count::<T>(self.options.sweep_simd(), self.a.layout() == Layout::Interleaved)
    }

    /// Whether the factors of one matrix may serve all systems.
    fn may_share(&self) -> bool {
        let enough = self.a.count() >= self.least_count();
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
            let a = if transposed { a.transposed()? } else { a };
            BandLu::scaled(&a, self.options.simd)?.0.by_rows(&a, None)
        })
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
        let Some(order) = self.a.order() else { return measure_or_solve(a, decision, op, (d, x)) };
        let (mut folded, mut solved) = (zeroed(d.len())?, zeroed(d.len())?);
        order.fold(d, &mut folded);
        order.fold(x, &mut solved);
        let outcome = measure_or_solve(a, decision, op, (&folded, &mut solved));
        order.unfold(&solved, x);
        outcome.map_err(|error| order.unfolded(error))
    }

    /// A shared matrix needs whole groups.
    fn group(&self, op: Op) -> Result<(usize, bool)> {
        let simd = self.options.sweep_simd();
        Ok(match self.shared(op)? {
            Some(_) => (shared_matrix::group::<T>(simd, self.a.count()), true),
            None => (T::lanes(simd), false),
        })
    }

    fn threads(&self) -> usize {
        let tiles = self.a.count().div_ceil(T::lanes(self.options.sweep_simd()));
        let entries = self.a.lower() + self.a.upper() + 1;
        // A row of a wider band is more work. Substitution alone takes a fraction of the time.
        let of_row = if self.may_share() { 3 * tuning::FACTORED_ROWS } else { 3 };
        tuning::tasks(self.options.threads.min(tiles), self.a.count().saturating_mul(self.a.n() * entries) / of_row)
    }

    fn memory(&self) -> usize {
        let (simd, form) = (self.options.sweep_simd(), self.form());
        let of_shared = match self.may_share() {
            true => shared_band::memory::<T>(simd, (form.n, form.lower, form.upper), self.ring()),
            false => 0,
        };
        band_lockstep::memory::<T>(simd, &form).max(of_shared)
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
        let (strides, conj) = (a.layout().strides((a.count(), a.n())), op == Op::ConjTranspose);
        // Memory for the factors may have become free since `group` was called.
        if let Some(factors) = self.shared(op)?.filter(|_| span.len() >= self.least_count()) {
            let systems = SharedSystems { rhs: &rhs[first..], n: a.n(), strides, count: span.len() };
            let matrix = (factors, T::COMPLEX && conj, self.ring());
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
            transposed: op != Op::Plain,
            conj,
        };
        let how = BandOptions { choice: options.block_pivots(), scaling: options.scaling(), verify: options.verify };
        Ok(band_lockstep::solve(options.sweep_simd(), &systems, how, (out, first), (found, memory)))
    }
}

by_type! {
    /// [`BandedSystems`] for each number type, so that no other place compiles them.
    struct BandedOnLanes<'m>: (Arc<BandedBatch<'m, T>>, Options) => Result<Box<dyn SystemsOnLanes<T> + 'm>> =
        |(a, options)| Ok(Box::new(BandedSystems::new(a, options)?));
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
        let alone = match a.is_periodic() {
            true => SystemsAlone::new((fits, a.count()), one, &plan.decision, |s| a.periodic_system(s))?,
            false => SystemsAlone::new((fits, a.count()), one, &plan.decision, |s| a.system(s))?,
        };
        let systems = T::by_type::<BandedOnLanes<'a>>((a, plan.decision.options))?;
        Ok(BatchFactor { systems, decision: plan.decision.clone(), alone })
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
