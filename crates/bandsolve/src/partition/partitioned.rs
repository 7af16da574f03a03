//! Large systems by partitions on SIMD lanes and threads: the common part of RPTS and the SPIKE methods, for scalars and small blocks.
//!
//! The rows are divided into partitions of m rows. A solve has three steps:
//!
//! 1. `reduce` eliminates the inside of each partition from both ends. Two equations remain between the first and last unknowns of
//!    neighbouring partitions.
//! 2. These equations are the coarse system, a tridiagonal system with 2/m as many rows. It is solved recursively. If the couplings across
//!    partitions are below rounding, it is solved as independent pairs instead.
//! 3. `substitute` repeats the elimination with known ends, substitutes back, and computes the residual of each row.
//!
//! No factors are stored between steps 1 and 3, because reading the matrix again costs less than reading factors. For matrices that stay
//! in the caches and are solved with many times, `stored.rs` stores factors.
//!
//! The methods differ by their [`Scheme`]: the elimination inside a partition in `substitute`, and the solution of the coarse system.
//! `reduce` is the same for all methods. It needs no division and no choice of pivots, because each choice gives the same equation up
//! to a factor. `blocks.rs` has the differences for blocks.
//!
//! Cost per row and right-hand side: 8 words read, 1 word written, 1 reciprocal.
//!
//! Differences from the sources: rows are scaled by powers of two when they are staged, and spikes cannot decay into subnormal numbers.
//! Small coarse systems are solved row by row, periodic ones recursively down to 2 × 2. SPIKE uses the last unknown of a partition and the
//! first of the next as interface, without computing spikes. The equations are therefore valid even if a partition is singular.

use crate::contract::Op;
use crate::contract::equations::Matrix;
use crate::contract::factors::{FactorBy, Factors, Outcome, RhsAndSolution, Solver};
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::{Facts, Report, refinement_scratch};
use crate::decision::{Decision, Options};
use crate::error::Result;
use crate::method::Method;
use crate::partition::cut::{ALIGN, columns, columns_mut};
use crate::partition::driver::{self, ByPartitions};
use crate::partition::level::{CheckResults, LevelColumns, solve_level};
use crate::partition::level_matrix::{Finer, LevelMatrix};
use crate::partition::one_pass::{self, CachedPieces};
use crate::partition::repair::{Windows, repair_partitions};
use crate::partition::settings::{LevelSize, Settings};
pub(crate) use crate::partition::settings::{Scheme, Truncation};
use bandsolve_kernel::sweep::{CheckResult, MAX_RHS};
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::{Scalar, Simd};
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// A matrix that can be divided into partitions.
pub(crate) trait Partitionable<T: Scalar>: Matrix<T> + Sized {
    /// The sequential pivoted method.
    const SEQUENTIAL: FactorBy<T, Self>;

    /// The matrix op(A) as the first level.
    fn level_matrix(&self, op: Op) -> LevelMatrix<'_, T>;

    /// The rows of op(A), for local repair in windows.
    fn windows(&self, op: Op, simd: Simd) -> impl Windows<T>;

    /// A solver that skips zeros of sparse right-hand sides, if there is one.
    fn sparse_solver<'a>(
        _factors: &'a Factors<T, Self>,
        _method: &'a Partitioned,
        _op: Op,
    ) -> Result<Option<Box<dyn SparseSolver<T> + 'a>>> {
        Ok(None)
    }
}

/// One of the methods. It stores no factors: each solve recomputes them in cache.
#[derive(Debug)]
pub(crate) struct Partitioned {
    pub(super) options: Options,
    pub(super) scheme: Scheme,
    /// The reason to report if the coarse system is truncated; `None` if the plan requires a method.
    truncated: Option<Arc<str>>,
}

/// Scratch of solves of a system of the given size.
pub(crate) fn scratch<T: Scalar>(options: &Options, scheme: Scheme, size: LevelSize, n_rhs: usize) -> StackReq {
    let (settings, rows) = (Settings::new::<T>(options, scheme, size.blocks), size.rows);
    if rows < 2 {
        return StackReq::empty();
    }
    let group_size = settings.group_size::<T>(n_rhs);
    let gaps = StackReq::new::<T::Real>(settings.cut(rows).partitions().saturating_mul(group_size));
    if size.blocks.is_none() {
        // Left-over columns are solved one by one, with tiles of another size.
        let memory = settings.tile_memory::<T>(rows, group_size).max(settings.tile_memory::<T>(rows, 1));
        let two_passes =
            StackReq::new_aligned::<T::Real>(memory, ALIGN).and(settings.level_scratch::<T>(rows, group_size));
        let pieces = CachedPieces::new::<T>(&settings, settings.cut(rows));
        let one_pass = pieces.map_or(StackReq::empty(), |pieces| pieces.scratch::<T>(&settings, group_size));
        return gaps.and(two_passes.or(one_pass));
    }
    let refinement = refinement_scratch::<T>(options.verify, size.n)
        .and(StackReq::new_aligned::<T>(size.n, ALIGN))
        .and(settings.scratch::<T>(rows, 1));
    gaps.and(settings.scratch::<T>(rows, group_size).or(refinement))
}

/// Prepare solves with `a` by a scheme. No entry of the matrix is read.
pub(crate) fn factor<T: Scalar, A: Partitionable<T>>(
    scheme: Scheme,
    decision: &Decision,
    a: Arc<A>,
) -> Result<Factors<T, A>> {
    let method = Partitioned::new(scheme, decision);
    let (settings, size) = method.settings::<T, A>(&a);
    let scaled = size.blocks.is_none() && settings.how::<T::Real>().scaling == Scaling::Rows;
    let facts = Facts { scaled, ..Facts::new(decision) };
    Ok(Factors::new(a, facts, method).or_else(decision, A::SEQUENTIAL))
}

/// Scratch of solves of a tridiagonal system, from the plan alone.
pub(crate) fn scratch_of_plan<T: Scalar>(
    scheme: Scheme,
    decision: &Decision,
    n: usize,
    n_rhs: usize,
) -> Option<StackReq> {
    Some(scratch::<T>(&decision.options, scheme, LevelSize::scalars(n), n_rhs))
}

impl Partitioned {
    pub(super) fn new(scheme: Scheme, decision: &Decision) -> Self {
        let (page, free) =
            (Method::SpikeTruncated.page(), decision.is_auto() && scheme.truncation != Truncation::Never);
        let truncated = free.then(|| format!("the couplings across partitions are below rounding ({page})").into());
        Self { options: decision.options, scheme, truncated }
    }

    /// Solve a long system in one pass over memory; `None` if it must be solved in two.
    fn in_one_pass<T: Scalar>(
        &self,
        settings: &Settings<'_>,
        matrix: LevelMatrix<'_, T>,
        (rhs, x): RhsAndSolution<'_, T>,
        gaps: &mut [T::Real],
        (n_rhs, stack): (usize, &mut PodStack),
    ) -> Option<(CheckResults, bool)> {
        let LevelMatrix::Scalars(matrix) = matrix else { return None };
        let pieces = CachedPieces::new::<T>(settings, settings.cut(matrix.n()))?;
        let (rhs, x, gaps) = (columns(rhs, n_rhs), columns_mut(x, n_rhs), columns_mut(gaps, n_rhs));
        let open = !matrix.periodic && !gaps[0].is_empty();
        open.then(|| one_pass::solve(pieces, (settings, matrix), (rhs, x, gaps), n_rhs, stack)).flatten()
    }

    fn settings<T: Scalar, A: Partitionable<T>>(&self, a: &A) -> (Settings<'_>, LevelSize) {
        let size = a.level_matrix(Op::Plain).size();
        (Settings::new::<T>(&self.options, self.scheme, size.blocks), size)
    }
}

impl<T: Scalar, A: Partitionable<T>> Solver<T, A> for Partitioned {
    fn looks_at_size(&self) -> bool {
        true
    }

    fn smallest(&self) -> usize {
        2
    }

    fn scratch(&self, a: &A, n_rhs: usize) -> StackReq {
        let (settings, LevelSize { n, rows, blocks }) = self.settings(a);
        if blocks.is_none() {
            return settings.scratch::<T>(rows, 1);
        }
        let group_size = settings.group_size::<T>(n_rhs);
        StackReq::new_aligned::<T>(n.saturating_mul(group_size), ALIGN).and(settings.scratch::<T>(rows, group_size))
    }

    fn solve(&self, a: &A, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        let (settings, LevelSize { n, rows, blocks }) = self.settings(a);
        let matrix = (a.level_matrix(if transposed { Op::Transpose } else { Op::Plain }), Finer::Caller);
        // Tridiagonal systems are solved in place, column by column.
        let group_size = if blocks.is_some() { settings.group_size::<T>(x.len() / n) } else { 1 };
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(rows, group_size), ALIGN);
        if blocks.is_none() {
            for x in x.chunks_exact_mut(n) {
                let column = LevelColumns { n_rhs: 1, rhs: None, x: columns_mut(x, 1), gaps: Default::default() };
                solve_level(&settings, matrix, column, (&mut *memory, &mut *stack));
            }
            return;
        }
        let (rhs, stack) = stack.make_aligned_raw::<T>(group_size * n, ALIGN);
        for x in x.chunks_mut(group_size * n) {
            let n_rhs = x.len() / n;
            let rhs = &mut rhs[..x.len()];
            rhs.copy_from_slice(x);
            let (rhs, x) = (Some(columns(rhs, n_rhs)), columns_mut(x, n_rhs));
            let columns = LevelColumns { n_rhs, rhs, x, gaps: Default::default() };
            solve_level(&settings, matrix, columns, (&mut *memory, &mut *stack));
        }
    }

    fn solve_scratch(&self, factors: &Factors<T, A>, n_rhs: usize) -> StackReq {
        scratch::<T>(&self.options, self.scheme, factors.matrix().level_matrix(Op::Plain).size(), n_rhs)
    }

    fn solve_all(
        &self,
        factors: &Factors<T, A>,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        driver::solve_all(self, factors, op, columns, outcome)
    }

    fn sparse_solver<'a>(
        &'a self,
        factors: &'a Factors<T, A>,
        op: Op,
    ) -> Result<Option<Box<dyn SparseSolver<T> + 'a>>> {
        A::sparse_solver(factors, self, op)
    }
}

impl<T: Scalar, A: Partitionable<T>> ByPartitions<T, A> for Partitioned {
    fn group_size(&self, a: &A, n_rhs: usize) -> usize {
        self.settings(a).0.group_size::<T>(n_rhs)
    }

    fn entries_in_row(&self, a: &A) -> usize {
        3 * self.settings(a).1.block()
    }

    fn partitions(&self, a: &A) -> usize {
        let (settings, size) = self.settings(a);
        settings.cut(size.rows).partitions()
    }

    fn solve_and_measure(
        &self,
        a: &A,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        gaps: &mut [T::Real],
        (report, stack): (&mut Report, &mut PodStack),
    ) -> [CheckResult; MAX_RHS] {
        let (settings, LevelSize { n, rows, .. }) = self.settings(a);
        let n_rhs = rhs.len() / n;
        let matrix = a.level_matrix(op);
        let checked = self.in_one_pass(&settings, matrix, (rhs, &mut *x), &mut *gaps, (n_rhs, &mut *stack));
        let (checks, truncated) = checked.unwrap_or_else(|| {
            let (memory, stack) = stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(rows, n_rhs), ALIGN);
            let (rhs, x, gaps) = (Some(columns(rhs, n_rhs)), columns_mut(x, n_rhs), columns_mut(gaps, n_rhs));
            let columns = LevelColumns { n_rhs, rhs, x, gaps };
            solve_level(&settings, (matrix, Finer::Caller), columns, (memory, stack))
        });
        if let Some(reason) = self.truncated.as_ref().filter(|_| truncated) {
            report.method = Method::SpikeTruncated;
            report.reason = reason.clone();
        }
        checks
    }

    fn repair_rows(
        &self,
        a: &A,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        check: CheckResult,
        gaps: &[T::Real],
    ) -> Option<(f64, usize)> {
        let (settings, size) = self.settings(a);
        let (cut, block) = (settings.cut(size.rows), size.block());
        let rows = |p: usize| cut.start(p) * block..(cut.end(p) * block).min(size.n);
        repair_partitions(a.windows(op, self.options.simd), columns, (check, gaps), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use crate::contract::Factor;
    use crate::contract::refine::good;
    use crate::matrix::Tridiagonal;

    /// All inner blocks of odd size are singular, so that neither of two rows has the unknown to eliminate.
    #[test]
    fn decoupled_pairs_need_no_fallback() {
        let n = 2048;
        let off = |first: usize| (0..n - 1).map(|i| f64::from(u8::from(i % 2 == first))).collect::<Vec<_>>();
        for first in [0, 1] {
            let mut diag = vec![0.0; n];
            if first == 1 {
                (diag[0], diag[n - 1]) = (1.0, 1.0);
            }
            let a = Tridiagonal::from_vecs(off(first), diag, off(first), false).unwrap();
            let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts);
            let x = plan.factor(&a).unwrap().solve(&rhs).unwrap();
            assert!(!x.report.fallback && x.report.backward_error <= good::<f64>(), "{:?}", x.report);
        }
    }

    /// With spikes that never decay and zero pivots on each level, equations must not become smaller from level to level.
    #[test]
    fn four_levels_deep_in_single_precision() {
        let n = 1 << 19;
        let (mut diag, mut sub, mut sup) = (vec![0.0f32; n], vec![1.0; n], vec![1.0; n]);
        (diag[0], sup[0], diag[n - 1], sub[n - 1]) = (1.0, 0.0, 1.0, 0.0);
        let a = Tridiagonal::new(&sub, &diag, &sup).unwrap();
        let rhs: Vec<f32> = (0..n).map(|i| (i as f32).cos()).collect();
        for m in [16, 30, 32] {
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts).partition_rows(m);
            let report = plan.factor(&a).unwrap().solve(&rhs).unwrap().report;
            assert!(!report.fallback && report.refinement_steps == 0, "m = {m}: {report:?}");
        }
    }

    /// A plan with method `Auto` truncates strongly dominant systems only. A plan with method `rpts` never truncates.
    #[test]
    fn truncation_where_it_is_safe() {
        let n = 20_003;
        for (diag, periodic, expected) in [
            (4.0, false, Method::SpikeTruncated),
            (4.0, true, Method::SpikeTruncated),
            (2.05, false, Method::Rpts),
            (2.0, false, Method::Rpts),
        ] {
            let a = Tridiagonal::from_vecs(vec![-1.0; n], vec![diag; n], vec![-1.0; n], periodic).unwrap();
            let rhs: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
            for rhs in [rhs.clone(), rhs.repeat(4)] {
                let report = a.solve(&rhs).unwrap().report;
                assert!(report.method == expected && report.refinement_steps == 0 && !report.fallback, "{report:?}");
                let plan = Plan::new(a.shape()).method(Method::Rpts);
                assert_eq!(plan.factor(&a).unwrap().solve(&rhs).unwrap().report.method, Method::Rpts);
            }
        }
    }

    #[test]
    fn extra_memory_stays_below_twelve_percent() {
        for n in [1 << 18, 1_000_003] {
            let a = Tridiagonal::from_vecs(vec![0.0; n], vec![1.0; n], vec![0.0; n], false).unwrap();
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts).threads(2);
            let system = 4 * n * size_of::<f64>();
            assert!(
                factor(crate::methods::rpts::scheme(&plan.decision), &plan.decision, Arc::new(a))
                    .unwrap()
                    .solve_scratch(1)
                    .size_bytes()
                    * 100
                    < 12 * system
            );
        }
    }
}
