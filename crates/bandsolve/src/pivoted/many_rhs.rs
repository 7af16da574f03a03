//! Many right-hand sides of one narrow band, on SIMD lanes (`shared_band.rs` of the kernels).

use crate::contract::Op;
use crate::contract::equations::Matrix;
use crate::contract::factors::{Factors, ManyRhs, Outcome, RhsAndSolution};
use crate::contract::refine::good;
use crate::decision::Decision;
use crate::error::Result;
use crate::matrix::{Banded, RingOrder, RowRuns, Shape, block_reach};
use crate::method::Method;
use crate::pivoted::band_lu::{BandLu, BandSource, FactorOptions, FactorsByRows};
use crate::tuning;
use bandsolve_kernel::lockstep::Shared;
use bandsolve_kernel::shared_band::{self, SharedBandFactors};
use bandsolve_kernel::shared_matrix::SharedSystems;
use bandsolve_kernel::spread::{group_spans, spread};
use bandsolve_kernel::sweep::{COMPLEX_SLACK, bound};
use bandsolve_kernel::tile::Strides;
use bandsolve_kernel::{RealScalar, Scalar};
use core::fmt::Debug;
use dyn_stack::StackReq;
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock};

/// A matrix that is a narrow band.
pub(crate) trait NarrowBand<T: Scalar>: Matrix<T> {
    /// Call `factor` with the matrix in band storage.
    fn as_band<R>(&self, decision: &Decision, factor: impl FnOnce(&Banded<'_, T>) -> Result<R>) -> Result<R>;
}

impl<T: Scalar> NarrowBand<T> for Banded<'_, T> {
    fn as_band<R>(&self, _decision: &Decision, factor: impl FnOnce(&Banded<'_, T>) -> Result<R>) -> Result<R> {
        factor(self)
    }
}

/// The reason in the report.
static REASON: LazyLock<Arc<str>> = LazyLock::new(|| {
    "many right-hand sides: one elimination, and substitution on SIMD lanes (docs/math/pivoted.md)".into()
});

/// The factors of a whole narrow band, computed by the first solve with many right-hand sides.
#[derive(Debug)]
pub(crate) struct BandOnLanes<T: Scalar> {
    decision: Decision,
    /// The factors of the band, if the method has them.
    lu: Option<Arc<BandLu<T>>>,
    by_rows: FactorsByRows<T>,
}

/// Number of diagonals on each side of matrices whose right-hand sides are on lanes under this plan.
fn widths(decision: &Decision) -> Option<(usize, usize)> {
    let options = &decision.options;
    let cut = options.partitions.is_some() || options.partition_rows.is_some();
    let any_method = decision.asked == Method::Auto && !decision.method.needs_definite() && !cut;
    if !(any_method || decision.method == Method::Pivoted) || !options.has_usual_pivots() {
        return None;
    }
    let (lower, upper) = match decision.method.takes_for(decision.shape) {
        Shape::Banded { lower, upper, .. } => (lower, upper),
        Shape::BlockTridiagonal { block_rows, block, periodic } if block > 0 => {
            let reach = block_reach((block_rows, block, periodic));
            (reach, reach)
        }
        _ => return None,
    };
    let most = decision.shape.n().checked_sub(1)?;
    let (lower, upper) = (lower.min(most), upper.min(most));
    // Dense kernels solve with wider bands. Aᵀ has the same diagonals in the reverse order.
    let narrow = |width: usize| tuning::band_block(width, lower.saturating_add(upper)) == 1;
    (narrow(lower) && narrow(upper)).then_some((lower, upper))
}

/// The order of the rows in memory, empty if it is their own.
fn rows(decision: &Decision) -> RowRuns {
    match decision.shape {
        Shape::BlockTridiagonal { block_rows, block, periodic: true } => {
            RingOrder::new(block_rows, block).runs(block_reach((block_rows, block, true)))
        }
        _ => RowRuns::new(),
    }
}

/// Number of threads, and the scratch of each in reals. `None` if the right-hand sides are too few.
fn tasks<T: Scalar>(decision: &Decision, n_rhs: usize) -> Option<(usize, usize)> {
    let (lower, upper) = widths(decision)?;
    let (options, n, lanes) = (&decision.options, decision.shape.n(), T::lanes(decision.options.simd));
    // The factors take at most twice as much memory as the right-hand sides and x. Other methods than `pivoted` use all threads also for few
    // right-hand sides, and only two full vectors are faster.
    let of_factors = SharedBandFactors::<T>::stride(lower, upper);
    let least = if decision.method == Method::Pivoted { lanes } else { 2 * lanes };
    if n_rhs < tuning::MANY_RHS.max(least).max(of_factors / 4) {
        return None;
    }
    let work = n_rhs.saturating_mul(n) / tuning::FACTORED_ROWS;
    let threads = tuning::tasks(options.threads.min(n_rhs / lanes), work);
    Some((threads, shared_band::memory::<T>(options.simd, (n, lower, upper), &rows(decision))))
}

/// Scratch for `n_rhs` right-hand sides on lanes, besides that of a single one. `None` if they are too few.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, n_rhs: usize) -> Option<StackReq> {
    let (threads, of_thread) = tasks::<T>(decision, n_rhs)?;
    let of_columns = StackReq::new::<T::Real>(n_rhs);
    Some(StackReq::new_aligned::<T::Real>(of_thread.saturating_mul(threads), 64).and(of_columns).and(of_columns))
}

impl<T: Scalar> BandOnLanes<T> {
    /// `None` if right-hand sides are not on lanes under this plan. `lu` are the factors of the band, if the method has them.
    pub fn new(decision: &Decision, lu: Option<&Arc<BandLu<T>>>) -> Option<Box<Self>> {
        let by_rows = FactorsByRows::new();
        widths(decision).map(|_| Box::new(Self { decision: decision.clone(), lu: lu.cloned(), by_rows }))
    }

    /// The factors of A or Aᵀ. `None` if a pivot is too small, or if there is no memory for them.
    fn factors<A: NarrowBand<T>>(&self, a: &A, transposed: bool) -> Result<Option<&SharedBandFactors<T>>> {
        let (pool, how) = (Some(&self.decision.pool), FactorOptions::new(&self.decision));
        let anew = |band: &Banded<'_, T>| BandLu::new(&BandSource::whole(band), how)?.0.by_rows(band, pool);
        self.by_rows.get(transposed, || {
            a.as_band(&self.decision, |band| match &self.lu {
                _ if transposed => anew(&band.transposed(false)?),
                Some(lu) => lu.by_rows(band, pool),
                None => anew(band),
            })
        })
    }
}

impl<T: Scalar, A: NarrowBand<T>> ManyRhs<T, A> for BandOnLanes<T> {
    fn scratch(&self, n_rhs: usize) -> Option<StackReq> {
        scratch::<T>(&self.decision, n_rhs)
    }

    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<bool> {
        let (n, simd) = (self.decision.shape.n(), self.decision.options.simd);
        let n_rhs = rhs.len() / n.max(1);
        let Some((threads, of_thread)) = tasks::<T>(&self.decision, n_rhs) else { return Ok(false) };
        if factors.proves_singular(op)? {
            return Ok(false);
        }
        let Some(lanes) = self.factors(factors.matrix(), op != Op::Plain)? else { return Ok(false) };
        let (memory, stack) = outcome.stack.make_aligned_raw::<T::Real>(of_thread * threads, 64);
        let (errors, stack) = stack.make_raw::<T::Real>(n_rhs);
        let (sizes, stack) = stack.make_raw::<T::Real>(n_rhs);
        let conj = T::COMPLEX && op == Op::ConjTranspose;
        let (out, rows) = (&Shared::new(x), &rows(&self.decision)[..]);
        let (mut errors_left, mut sizes_left) = (&mut *errors, &mut *sizes);
        let spans = group_spans(n_rhs, (T::lanes(simd), true), threads);
        let parts = memory.chunks_exact_mut(of_thread).zip(spans).map(|(buffer, span)| {
            let (of_errors, of_sizes);
            (of_errors, errors_left) = core::mem::take(&mut errors_left).split_at_mut(span.len());
            (of_sizes, sizes_left) = core::mem::take(&mut sizes_left).split_at_mut(span.len());
            (span, [of_errors, of_sizes], buffer)
        });
        let mut parts: SmallVec<[_; 8]> = parts.collect();
        spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
            for (span, [errors, sizes], memory) in parts {
                let first = span.start * n;
                let strides = Strides { lane: n, row: 1 };
                let systems = SharedSystems { rhs: &rhs[first..], n, strides, count: span.len() };
                shared_band::solve(simd, (lanes, conj, rows), systems, (out, first), ([errors, sizes], memory));
            }
        });
        drop(parts);
        if outcome.report.method != Method::Pivoted {
            (outcome.report.method, outcome.report.pivot_growth) = (Method::Pivoted, None);
        }
        outcome.report.reason = REASON.clone();
        outcome.at_most = sizes.iter().fold(0.0, |most: f64, size| most.max(size.to_f64())) * COMPLEX_SLACK;
        if !self.decision.options.verify {
            return Ok(true);
        }
        for (column, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
            let most = bound::<T>(errors[column]);
            let result = if most <= good::<T>() {
                Ok(most)
            } else {
                outcome.at_most = f64::INFINITY;
                factors.refine_or_fall_back(op, (rhs, column * n), x, (outcome.report, &mut *stack))
            };
            match result {
                Ok(eta) => outcome.report.push(eta),
                Err(error) => outcome.failures.note(column, error),
            }
        }
        Ok(true)
    }
}
