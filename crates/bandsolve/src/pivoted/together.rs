//! Many right-hand sides of one narrow band, on SIMD lanes (`shared_band.rs` of the kernels).

use crate::contract::Op;
use crate::contract::equations::Matrix;
use crate::contract::factors::{Factors, Outcome, RhsAndSolution, Together};
use crate::contract::refine::good;
use crate::contract::verify::Lazy;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matrix::{Banded, BlockTridiagonal, Shape};
use crate::method::Method;
use crate::pivoted::band_lu::BandLu;
use crate::pivoted::block_band::with_band;
use crate::tuning;
use bandsolve_kernel::lockstep::Shared;
use bandsolve_kernel::shared_band::{self, SharedBandFactors};
use bandsolve_kernel::shared_matrix::{SharedSystems, group, least_count};
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

impl<T: Scalar> NarrowBand<T> for BlockTridiagonal<'_, T> {
    fn as_band<R>(&self, decision: &Decision, factor: impl FnOnce(&Banded<'_, T>) -> Result<R>) -> Result<R> {
        with_band(decision, self, factor)
    }
}

/// The reason in the report.
static REASON: LazyLock<Arc<str>> =
    LazyLock::new(|| "many right-hand sides: one elimination, and substitution on SIMD lanes".into());

/// The factors of the whole band and of its transpose, computed by the first solve with many right-hand sides. `None` if a pivot is too small.
#[derive(Debug)]
pub(crate) struct BandTogether<T: Scalar> {
    decision: Decision,
    factors: [Lazy<Option<SharedBandFactors<T>>>; 2],
}

/// Number of diagonals on each side of matrices whose right-hand sides are solved together under this plan.
fn widths(decision: &Decision) -> Option<(usize, usize)> {
    let any_method = decision.asked == Method::Auto && !decision.method.needs_definite();
    if !(any_method || decision.method == Method::Pivoted) || !decision.options.has_usual_pivots() {
        return None;
    }
    let (lower, upper) = match decision.method.takes_for(decision.shape) {
        Shape::Banded { lower, upper, .. } => (lower, upper),
        Shape::BlockTridiagonal { block, periodic: false, .. } => (2 * block - 1, 2 * block - 1),
        _ => return None,
    };
    let most = decision.shape.n().checked_sub(1)?;
    let (lower, upper) = (lower.min(most), upper.min(most));
    // Dense kernels solve with wider bands.
    (tuning::band_block(lower, lower + upper) == 1).then_some((lower, upper))
}

/// Number of threads, and the scratch of each in reals.
fn tasks<T: Scalar>(decision: &Decision, n_rhs: usize) -> Option<(usize, usize)> {
    let (lower, upper) = widths(decision)?;
    let (options, n) = (&decision.options, decision.shape.n());
    if n_rhs < tuning::TOGETHER_MIN_RHS.max(least_count::<T>(options.simd)) {
        return None;
    }
    let work = n_rhs.saturating_mul(n) / tuning::FACTORED_ROWS;
    let threads = tuning::tasks(options.threads.min(n_rhs / group::<T>(options.simd, n_rhs)), work);
    Some((threads, shared_band::memory::<T>(options.simd, (n, lower, upper), &[])))
}

/// Scratch for `n_rhs` right-hand sides that are solved together, besides that of a single one. `None` if they are solved one by one.
pub(crate) fn scratch<T: Scalar>(decision: &Decision, n_rhs: usize) -> Option<StackReq> {
    let (threads, of_thread) = tasks::<T>(decision, n_rhs)?;
    let of_columns = StackReq::new::<T::Real>(n_rhs);
    Some(StackReq::new_aligned::<T::Real>(of_thread.saturating_mul(threads), 64).and(of_columns).and(of_columns))
}

impl<T: Scalar> BandTogether<T> {
    /// `None` if right-hand sides are solved one by one under this plan.
    pub fn new(decision: &Decision) -> Option<Box<Self>> {
        widths(decision).map(|_| Box::new(Self { decision: decision.clone(), factors: [Lazy::new(), Lazy::new()] }))
    }

    /// The factors of A or Aᵀ. `None` if a pivot is too small, or if there is no memory for factors of the whole band.
    fn factors<A: NarrowBand<T>>(&self, a: &A, transposed: bool) -> Result<Option<&SharedBandFactors<T>>> {
        let by_rows = |band: &Banded<'_, T>| BandLu::scaled(band, self.decision.options.simd)?.0.by_rows(band);
        let factor =
            || a.as_band(&self.decision, |band| if transposed { by_rows(&band.transposed()?) } else { by_rows(band) });
        match self.factors[usize::from(transposed)].get(factor) {
            Err(Error::OutOfMemory { .. }) => Ok(None),
            factors => factors.map(Option::as_ref),
        }
    }
}

impl<T: Scalar, A: NarrowBand<T>> Together<T, A> for BandTogether<T> {
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
        let n = self.decision.shape.n();
        let Some((threads, of_thread)) = tasks::<T>(&self.decision, rhs.len() / n.max(1)) else { return Ok(false) };
        let Some(lanes) = self.factors(factors.matrix(), op != Op::Plain)? else { return Ok(false) };
        let (n_rhs, simd) = (rhs.len() / n, self.decision.options.simd);
        let (mut memory, stack) = outcome.stack.make_aligned_raw::<T::Real>(of_thread * threads, 64);
        let (errors, stack) = stack.make_raw::<T::Real>(n_rhs);
        let (sizes, stack) = stack.make_raw::<T::Real>(n_rhs);
        let conj = T::COMPLEX && op == Op::ConjTranspose;
        let out = &Shared::new(x);
        let (mut of_rest, mut size_rest) = (&mut *errors, &mut *sizes);
        let parts = group_spans(n_rhs, (group::<T>(simd, n_rhs), true), threads).map(|span| {
            let (of_span, size, buffer);
            (of_span, of_rest) = core::mem::take(&mut of_rest).split_at_mut(span.len());
            (size, size_rest) = core::mem::take(&mut size_rest).split_at_mut(span.len());
            (buffer, memory) = core::mem::take(&mut memory).split_at_mut(of_thread);
            (span, [of_span, size], buffer)
        });
        let mut parts: SmallVec<[_; 8]> = parts.collect();
        spread(parts.len(), 0..parts.len(), &mut parts[..], &|_, parts| {
            for (span, [errors, sizes], memory) in parts {
                let first = span.start * n;
                let strides = Strides { lane: n, row: 1 };
                let systems = SharedSystems { rhs: &rhs[first..], n, strides, count: span.len() };
                shared_band::solve(simd, (lanes, conj, &[]), systems, (out, first), ([errors, sizes], memory));
            }
        });
        drop(parts);
        outcome.report.method = Method::Pivoted;
        outcome.report.reason = REASON.clone();
        outcome.at_most = sizes.iter().fold(0.0, |most: f64, size| most.max(size.to_f64())) * COMPLEX_SLACK;
        if !self.decision.options.verify {
            return Ok(true);
        }
        for (column, (rhs, x)) in rhs.chunks_exact(n).zip(x.chunks_exact_mut(n)).enumerate() {
            let mut result = Ok(bound::<T>(errors[column]));
            if !result.as_ref().is_ok_and(|bound| *bound <= good::<T>()) {
                outcome.at_most = f64::INFINITY;
                result = factors.refine_or_fall_back(op, (rhs, column * n), x, (outcome.report, &mut *stack));
            }
            match result {
                Ok(eta) => outcome.report.push(eta),
                Err(error) => outcome.failures.note(column, error),
            }
        }
        Ok(true)
    }
}
