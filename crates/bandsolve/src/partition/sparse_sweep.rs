//! Partitioned solves for sparse right-hand sides.
//!
//! The coarse matrices of all levels are computed once and kept. For each right-hand side, the solver works on tiles, which have one
//! partition per SIMD lane:
//!
//! 1. Reduce the tiles that contain a nonzero entry.
//! 2. Solve the coarse system, whose right-hand side is sparse, in the same way.
//! 3. Substitute in the tiles with a nonzero entry or a nonzero coarse unknown in or next to them.
//!
//! The inverse of a tridiagonal matrix is full, but it usually decays away from the diagonal. Coarse unknowns below ε²·‖x‖∞ count as zero,
//! which adds ε² to the backward error.
//!
//! Cost: a plain solve for the visited tiles. Memory: 6/m words per row for the coarse matrices, and four right-hand sides per thread.

use crate::contract::Op;
use crate::contract::factors::Factors;
use crate::contract::sparse::{Entries, SparseSolver, Worker};
use crate::contract::verify::Report;
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::memory::{allocate, buffer, push as push_to, refill, reserved, zeroed};
use crate::partition::cut::{ALIGN, Cut, columns, columns_mut, cut_out_mut, size_below};
use crate::partition::driver::{Changed, MeasuredColumn, PartitionedSolve};
use crate::partition::level;
use crate::partition::level::{CheckResults, LevelColumns, LevelJob, Share, Unknowns, merged, shared, solve_level};
use crate::partition::level_matrix::{Finer, Level, LevelMatrix, coarse_rows};
use crate::partition::partitioned::Partitioned;
use crate::partition::repair::LONGEST_WINDOW;
use crate::partition::settings::Settings;
use crate::tuning;
use bandsolve_kernel::blocks::CoarseRows;
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::MAX_RHS;
use bandsolve_kernel::{Machine, RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// Sorted ranges that do not touch.
type Runs = Vec<Range<usize>>;

/// Append a range to sorted runs. The range must not start before the last run.
fn push(runs: &mut Runs, range: Range<usize>) -> Result<()> {
    match runs.last_mut() {
        Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
        _ => push_to(runs, range)?,
    }
    Ok(())
}

/// Sort ranges and merge those that touch.
fn join(runs: &mut Runs) -> Result<()> {
    runs.sort_unstable_by_key(|range| range.start);
    let mut joined = reserved(runs.len())?;
    runs.drain(..).try_for_each(|range| push(&mut joined, range))?;
    *runs = joined;
    Ok(())
}

/// A level that is swept tile by tile, and its coarse matrix.
struct Stage<T> {
    cut: Cut,
    coarse: [Vec<T>; 3],
    /// Whether an equation has vanished, so that the matrix may be singular.
    suspect: bool,
}

/// A matrix prepared for sparse right-hand sides.
pub(crate) struct SparseSweep<'a, 'm, T: Scalar> {
    factors: &'a Factors<T, Tridiagonal<'m, T>>,
    method: &'a Partitioned,
    op: Op,
    settings: Settings<'a>,
    stages: Vec<Stage<T>>,
    /// Number of rows of x that are nonzero for one entry in the middle of the right-hand side.
    reach: usize,
}

impl<'a, 'm, T: Scalar> SparseSweep<'a, 'm, T> {
    /// Compute the coarse matrices.
    pub fn new(
        (factors, method): (&'a Factors<T, Tridiagonal<'m, T>>, &'a Partitioned),
        op: Op,
        settings: Settings<'a>,
    ) -> Result<Self> {
        let mut sweep = Self { factors, method, op, settings, stages: Vec::new(), reach: 0 };
        let n = sweep.rows(0).n();
        let mut memory = buffer(StackReq::new_aligned::<T::Real>(settings.tile_memory::<T>(n, 1), ALIGN))?;
        let (memory, _) =
            PodStack::new(&mut memory).make_aligned_raw::<T::Real>(settings.tile_memory::<T>(n, 1), ALIGN);
        let zeros = zeroed::<T>(n)?;
        while sweep.rows(sweep.stages.len()).n() > tuning::SPARSE_LAST_MAX_N {
            let stage = sweep.reduce(&zeros, memory)?;
            push_to(&mut sweep.stages, stage)?;
        }
        sweep.reach = sweep.probe()?;
        Ok(sweep)
    }

    /// Count the rows that are visited for one entry in the middle of the right-hand side.
    fn probe(&self) -> Result<usize> {
        let n = self.rows(0).n();
        let mut worker = self.new_worker()?;
        let (mut x, mut report) = (zeroed(n)?, Report::of(self.factors.facts()));
        // Later solves report all errors.
        _ = worker.solve_together((&[vec![(n / 2, T::ONE)]], 0), &mut x, &mut report);
        Ok(worker.touched[0].iter().map(Range::len).sum())
    }

    /// The matrix of level `l`.
    fn rows(&self, l: usize) -> Rows<'_, T> {
        let rows = self.op.rows(self.factors.matrix());
        match l.checked_sub(1) {
            None => rows,
            Some(above) => coarse_rows(self.stages[above].coarse.each_ref().map(|array| &array[..]), rows.periodic),
        }
    }

    /// Compute the next level.
    fn reduce(&self, zeros: &[T], memory: &mut [T::Real]) -> Result<Stage<T>> {
        let rows = self.rows(self.stages.len());
        let cut = self.settings.cut(rows.n());
        let zeros_below = || zeroed::<T>(cut.coarse());
        let mut coarse = [zeros_below()?, zeros_below()?, zeros_below()?];
        let [sub, diag, sup] = &mut coarse;
        let mut ignored = zeros_below()?;
        let out = CoarseRows { sub, diag, sup, rhs: columns_mut(&mut ignored, 1) };
        let level = Level {
            settings: &self.settings,
            cut,
            matrix: LevelMatrix::Scalars(rows),
            finer: Finer::Unknown,
            n_rhs: 1,
        };
        let rhs = Some(columns(&zeros[..rows.n()], 1));
        let reduce = Share { level, rhs, parts: 0..cut.partitions(), job: LevelJob::Reduce(out), memory };
        let [check, ..] = reduce.parallel(self.settings.threads_for(rows.n()));
        Ok(Stage { cut, coarse, suspect: check.suspect })
    }

    /// The partitions of the tile with row `i` of a level.
    fn tile(&self, cut: &Cut, i: usize) -> Range<usize> {
        let (parts, lanes) = (cut.partitions(), self.settings.lanes);
        let first = (i / cut.m).min(parts - 1) / lanes * lanes;
        first..(first + lanes).min(parts)
    }

    /// Solve the systems of level `l`.
    ///
    /// On entry, `runs` lists the partitions in which right-hand sides are nonzero. On return, it lists those in which x may be nonzero.
    fn descend(
        &self,
        l: usize,
        LevelColumns { n_rhs, rhs, mut x, mut gaps }: LevelColumns<'_, T>,
        runs: &mut Runs,
        room: Below<'_, T>,
    ) -> Result<CheckResults> {
        let Below { levels, dummy, memory, stack } = room;
        let (current, below) = levels.split_first_mut().expect("a level");
        let (Stage { cut, .. }, rows) = (&self.stages[l], self.rows(l));
        let (n, periodic) = (cut.coarse(), rows.periodic);
        let level = Level {
            settings: &self.settings,
            cut: *cut,
            matrix: LevelMatrix::Scalars(rows),
            finer: Finer::Unknown,
            n_rhs,
        };
        let mut coarse = columns_mut(&mut current.columns[..n_rhs * (n + 2)], n_rhs);

        let chunk = tuning::DUMMY_TILES * self.settings.lanes;
        for (start, end) in runs.iter().flat_map(|run| run.clone().step_by(chunk).map(|from| (from, run.end))) {
            let parts = start..end.min(start + chunk);
            let [sub, diag, sup] = dummy.each_mut().map(|array| &mut array[..2 * parts.len()]);
            let out =
                CoarseRows { sub, diag, sup, rhs: cut_out_mut(&mut coarse, 1 + 2 * parts.start..1 + 2 * parts.end) };
            let rhs = Some(rhs.unwrap_or(shared(&x)));
            Share { level, rhs, parts, job: LevelJob::Reduce(out), memory: &mut *memory }.parallel(1);
        }

        let next = self.rows(l + 1);
        let unknowns = cut_out_mut(&mut coarse, 1..n + 1);
        current.rows.clear();
        let suspect = match self.stages.get(l + 1) {
            None => {
                push(&mut current.rows, 0..n)?;
                let work = (&mut *memory, &mut *stack);
                level::solve_coarse(&level, next, unknowns, work).suspect
            }
            Some(stage) => {
                current.runs.clear();
                let mut coarse_rows = runs.iter().flat_map(|run| 2 * run.start..2 * run.end);
                coarse_rows.try_for_each(|i| push(&mut current.runs, self.tile(&stage.cut, i)))?;
                let room = Below { levels: below, dummy, memory: &mut *memory, stack };
                let columns = LevelColumns { n_rhs, rhs: None, x: unknowns, gaps: Default::default() };
                let [check, ..] = self.descend(l + 1, columns, &mut current.runs, room)?;
                refill(&mut current.rows, rows_of(&stage.cut, &current.runs))?;
                check.suspect
            }
        };

        let x_max = drop_small(&mut coarse[..n_rhs], &current.rows);
        level::wrap(&mut coarse[..n_rhs], periodic);
        // The unknowns of a partition depend on its own two coarse unknowns and on the adjacent one of each neighbour.
        let parts = cut.partitions();
        for i in current.rows.iter().flat_map(Range::clone) {
            if coarse[..n_rhs].iter().any(|x| x[i + 1] != T::ZERO) {
                let beside = if i % 2 == 0 { i / 2 + parts - 1 } else { i / 2 + 1 };
                let inside = periodic || (i > 0 && i < n - 1);
                for p in [Some(i / 2), inside.then_some(beside % parts)].into_iter().flatten() {
                    let tile = self.tile(cut, cut.start(p));
                    if !runs.last().is_some_and(|last| last.start <= tile.start && tile.end <= last.end) {
                        push_to(runs, tile)?;
                    }
                }
            }
        }
        join(runs)?;

        let mut checks = CheckResults::default();
        for parts in &*runs {
            let rows = cut.start(parts.start)..cut.end(parts.end - 1);
            let threads = self.settings.threads_for(rows.len());
            let (x, gaps) = (cut_out_mut(&mut x, rows), cut_out_mut(&mut gaps, parts.clone()));
            let (coarse, parts, memory) = (shared(&coarse), parts.clone(), &mut *memory);
            let job = LevelJob::Substitute(Unknowns { coarse, first: 0, x_max, stream: false, gaps, x });
            checks = merged(checks, Share { level, rhs, parts, job, memory }.parallel(threads));
        }
        for (check, x_max) in checks.iter_mut().zip(x_max) {
            check.x_max = check.x_max.max_nan(x_max.to_f64());
            check.suspect |= suspect | self.stages[l].suspect;
        }
        for column in &mut coarse[..n_rhs] {
            current.rows.iter().for_each(|rows| column[rows.start + 1..rows.end + 1].fill(T::ZERO));
            (column[0], column[n + 1]) = (T::ZERO, T::ZERO);
        }
        Ok(checks)
    }
}

/// The rows of partitions.
fn rows_of(cut: &Cut, runs: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    runs.iter().map(|parts| cut.start(parts.start)..cut.end(parts.end - 1))
}

/// Set coarse unknowns below ε² times the largest to zero, and return the largest of each column. The columns must be zero outside of
/// `rows`.
fn drop_small<T: Scalar>(coarse: &mut [&mut [T]], rows: &[Range<usize>]) -> [T::Real; MAX_RHS] {
    let mut x_max = [T::Real::ZERO; MAX_RHS];
    for (x_max, column) in x_max.iter_mut().zip(coarse) {
        let largest = rows.iter().map(|rows| size_below(&column[rows.start + 1..rows.end + 1]));
        *x_max = largest.fold(T::Real::ZERO, T::Real::max_nan);
        let small = *x_max * T::Real::EPSILON * T::Real::EPSILON;
        // If the largest unknown is not finite, nothing is dropped.
        if small <= *x_max && *x_max <= T::Real::SAFE {
            for i in rows.iter().flat_map(|rows| rows.start + 1..rows.end + 1) {
                // NaN stays.
                if Scalar::abs1(column[i]) <= small {
                    column[i] = T::ZERO;
                }
            }
        }
    }
    x_max
}

/// The memory of one thread for the coarse unknowns of a level. All unknowns are zero between solves.
struct LevelRoom<T> {
    /// Coarse unknowns, with an additional one at each end.
    columns: Vec<T>,
    /// Partitions of the next level in which the unknowns may be nonzero.
    runs: Runs,
    /// The rows of these partitions.
    rows: Runs,
}

/// The memory of one thread for a level and all coarser ones.
struct Below<'a, T: Scalar> {
    levels: &'a mut [LevelRoom<T>],
    /// The destination of coarse matrices that are already known.
    dummy: &'a mut [Vec<T>; 3],
    memory: &'a mut [T::Real],
    stack: &'a mut PodStack,
}

/// The memory of one thread.
struct SweepWorker<'w, 'a, 'm, T: Scalar> {
    sweep: &'w SparseSweep<'a, 'm, T>,
    /// Right-hand sides; zero between solves.
    rhs: Vec<T>,
    /// The measured errors of the partitions of the first level; no error between solves.
    gaps: Vec<T::Real>,
    /// Partitions of the first level with nonzero entries or unknowns.
    runs: Runs,
    levels: Vec<LevelRoom<T>>,
    dummy: [Vec<T>; 3],
    scratch: Array<u8>,
    /// The rows of each column that may be nonzero.
    touched: [Runs; MAX_RHS],
}

impl<'a, 'm, T: Scalar> SparseSweep<'a, 'm, T> {
    /// Real numbers of tile memory.
    fn tile_memory(&self) -> usize {
        let (n, settings) = (self.rows(0).n(), &self.settings);
        settings.tile_memory::<T>(n, MAX_RHS).max(settings.tile_memory::<T>(n, 1))
    }

    fn no_gap() -> T::Real {
        T::Real::ZERO.log_gap(T::Real::ONE)
    }

    fn new_worker(&self) -> Result<SweepWorker<'_, 'a, 'm, T>> {
        let n = self.rows(0).n();
        let last = self.settings.level_scratch::<T>(n, MAX_RHS);
        let scratch = StackReq::new_aligned::<T::Real>(self.tile_memory(), ALIGN).and(last);
        let mut levels = Vec::new();
        for stage in &self.stages {
            let columns = zeroed(MAX_RHS * (stage.cut.coarse() + 2))?;
            push_to(&mut levels, LevelRoom { columns, runs: Runs::new(), rows: Runs::new() })?;
        }
        let partitions = if self.factors.facts().verify { self.settings.cut(n).partitions() } else { 0 };
        let dummy = || zeroed(2 * tuning::DUMMY_TILES * self.settings.lanes);
        Ok(SweepWorker {
            sweep: self,
            rhs: zeroed(MAX_RHS * n)?,
            gaps: allocate(MAX_RHS * partitions, Self::no_gap())?,
            runs: Runs::new(),
            levels,
            dummy: [dummy()?, dummy()?, dummy()?],
            scratch: buffer(scratch)?,
            touched: [const { Runs::new() }; MAX_RHS],
        })
    }
}

impl<T: Scalar> SweepWorker<'_, '_, '_, T> {
    /// The tiles in which right-hand sides have entries.
    fn tiles(&self, columns: &[Entries<T>]) -> Result<Runs> {
        let cut = self.sweep.settings.cut(self.sweep.rows(0).n());
        let mut runs = reserved(columns.iter().map(Vec::len).sum())?;
        runs.extend(columns.iter().flatten().map(|(i, _)| self.sweep.tile(&cut, *i)));
        join(&mut runs)?;
        Ok(runs)
    }

    /// Solve for columns `first ..` of a group, one column or as many as are swept together. Each column must have entries, and `x` must be
    /// zero.
    fn solve_together(
        &mut self,
        (columns_of_rhs, first): (&[Entries<T>], usize),
        x: &mut [T],
        report: &mut Report,
    ) -> Result<()> {
        self.runs = self.tiles(columns_of_rhs)?;
        let Self { sweep, rhs, gaps, runs, levels, dummy, scratch, touched } = self;
        let (n, n_rhs) = (sweep.rows(0).n(), columns_of_rhs.len());
        let cut = sweep.settings.cut(n);
        let partitions = gaps.len() / MAX_RHS;
        let (rhs, gaps) = (&mut rhs[..n_rhs * n], &mut gaps[..n_rhs * partitions]);
        for (rhs, entries) in rhs.chunks_exact_mut(n).zip(columns_of_rhs) {
            entries.iter().for_each(|(i, value)| rhs[*i] += *value);
        }
        let (memory, stack) = PodStack::new(scratch).make_aligned_raw::<T::Real>(sweep.tile_memory(), ALIGN);
        let level_columns = LevelColumns {
            n_rhs,
            rhs: Some(columns(rhs, n_rhs)),
            x: columns_mut(x, n_rhs),
            gaps: columns_mut(gaps, n_rhs),
        };
        let checks = if sweep.stages.is_empty() {
            runs.clear();
            push(runs, 0..cut.partitions())?;
            let matrix = (LevelMatrix::Scalars(sweep.rows(0)), Finer::Caller);
            solve_level(&sweep.settings, matrix, level_columns, (&mut *memory, &mut *stack)).0
        } else {
            let room = Below { levels, dummy, memory: &mut *memory, stack: &mut *stack };
            sweep.descend(0, level_columns, runs, room)?
        };
        let solve = PartitionedSolve { method: sweep.method, factors: sweep.factors, op: sweep.op };
        let mut outcome = Ok(());
        for r in 0..n_rhs {
            refill(&mut touched[first + r], rows_of(&cut, runs))?;
            let (rhs, x) = (&rhs[r * n..][..n], &mut x[r * n..][..n]);
            if partitions == 0 && checks[r].suspect {
                // A zero pivot is an error also without verification.
                let again = sweep.factors.solve_again(sweep.op, (rhs, &mut *x), report);
                widen(&mut touched[first + r], Changed::Everywhere, n)?;
                outcome = outcome.and(again);
            }
            if partitions > 0 {
                let gaps = &gaps[r * partitions..][..partitions];
                let column = MeasuredColumn { rhs, offset: 0, x, check: checks[r], gaps };
                let verified = solve.verify(column, (&mut *report, &mut *stack));
                let changed = verified.as_ref().map_or(Changed::Everywhere, |(_, changed)| *changed);
                widen(&mut touched[first + r], changed, n)?;
                outcome = outcome.and(verified.map(|(eta, _)| report.push(eta)));
            }
        }
        for (rhs, entries) in rhs.chunks_exact_mut(n).zip(columns_of_rhs) {
            entries.iter().for_each(|(i, _)| rhs[*i] = T::ZERO);
        }
        for gaps in gaps.chunks_exact_mut(partitions.max(1)) {
            runs.iter().for_each(|parts| gaps[parts.clone()].fill(SparseSweep::<T>::no_gap()));
        }
        outcome
    }
}

/// Add the rows that a repair may have changed.
fn widen(rows: &mut Runs, changed: Changed, n: usize) -> Result<()> {
    match changed {
        Changed::Nowhere => Ok(()),
        Changed::Windows => {
            rows.iter_mut()
                .for_each(|rows| *rows = rows.start.saturating_sub(LONGEST_WINDOW)..(rows.end + LONGEST_WINDOW).min(n));
            join(rows)
        }
        Changed::Everywhere => {
            rows.clear();
            push(rows, 0..n)
        }
    }
}

impl<T: Scalar> Worker<T> for SweepWorker<'_, '_, '_, T> {
    fn solve(&mut self, group: &[Entries<T>], x: &mut [T], report: &mut Report) -> Result<()> {
        let n = self.sweep.rows(0).n();
        // Four columns together take about as long as two single ones.
        let reach = |runs: &Runs| {
            let tiles: usize = runs.iter().map(Range::len).sum::<usize>() / self.sweep.settings.lanes + 1;
            n.min(tiles * self.sweep.reach)
        };
        let mut alone = 0;
        for column in group {
            alone += reach(&self.tiles(core::slice::from_ref(column))?);
        }
        let group_size = self.sweep.settings.group_size::<T>(group.len());
        let as_group = group.len() == group_size
            && group.iter().all(|column| !column.is_empty())
            && 2 * reach(&self.tiles(group)?) <= alone;
        let step = if as_group { group_size } else { 1 };
        let mut outcome = Ok(());
        for (k, columns) in group.chunks(step).enumerate() {
            self.touched[k * step].clear();
            if columns[0].is_empty() {
                // x = 0 without a solve. Without verification, the report has no backward errors.
                if !self.gaps.is_empty() {
                    report.push(0.0);
                }
                continue;
            }
            let x = &mut x[k * step * n..][..columns.len() * n];
            outcome = outcome.and(self.solve_together((columns, k * step), x, report));
        }
        outcome
    }

    fn touched(&self, column: usize) -> &[Range<usize>] {
        &self.touched[column]
    }
}

impl<T: Scalar> SparseSolver<T> for SparseSweep<'_, '_, T> {
    fn group_size(&self) -> usize {
        MAX_RHS
    }

    fn worker(&self) -> Result<Box<dyn Worker<T> + '_>> {
        Ok(Box::new(self.new_worker()?))
    }
}
