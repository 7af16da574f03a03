//! One level of the recursion of all methods with partitions: the steps `reduce`, `solve_coarse` and `substitute` on lanes and threads, for
//! scalars and for small blocks.

use crate::partition::confirm::{self, SmallPivotPlace};
use crate::partition::cut::{
    ALIGN, Cut, columns, columns_mut, cut_out, cut_out_mut, middle, size_below, split_columns,
};
use crate::partition::level_matrix::{Finer, Level, LevelMatrix, coarse_rows, solve_last};
use crate::partition::settings::{LevelSize, Settings, Truncation};
use crate::partition::truncation;
use crate::partition::two_blocks::solve_two_block_rows;
use crate::tuning;
use bandsolve_kernel::blocks::{BlockMatrix, BlockRun, BlockSystem, BlockTarget, CoarseRows, Task};
use bandsolve_kernel::rows::{BlockRows, Orientation, Rows};
use bandsolve_kernel::sweep::{CheckResult, MAX_RHS};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile;
use bandsolve_kernel::tile_runs::{Columns, ColumnsMut, Span, Target, Workspace};
use bandsolve_kernel::{RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::PodStack;

pub(crate) fn shared<'a, T>(columns: &'a ColumnsMut<'_, T>) -> Columns<'a, T> {
    let [a, b, c, d] = columns;
    [a, b, c, d]
}

/// The results of the verification, one per column.
pub(crate) type CheckResults = [CheckResult; MAX_RHS];

/// Merge the results of two parts.
pub(crate) fn merged(mut a: CheckResults, b: CheckResults) -> CheckResults {
    for r in 0..MAX_RHS {
        a[r] = a[r].and(b[r]);
    }
    a
}

/// The partitions of a level that one thread works on.
pub(crate) struct Share<'a, T: Scalar> {
    pub level: Level<'a, T>,
    /// Right-hand sides of the whole level; `None` if they are in the array of the solution.
    pub rhs: Option<Columns<'a, T>>,
    pub parts: Range<usize>,
    pub job: LevelJob<'a, T>,
    pub memory: &'a mut [T::Real],
}

/// The work on the partitions of a level.
pub(crate) enum LevelJob<'a, T: Scalar> {
    /// Reduce each partition to two rows of the coarse system.
    Reduce(CoarseRows<'a, T>),
    /// Solve for the unknowns of each partition.
    Substitute(Unknowns<'a, T>),
}

/// The unknowns of some partitions, and the data from which they are computed.
pub(crate) struct Unknowns<'a, T: Scalar> {
    /// Solution of the coarse system, from partition `first` on. For scalars, it has one additional unknown at each end.
    pub coarse: Columns<'a, T>,
    /// 0 for blocks.
    pub first: usize,
    /// Lower bounds of ‖x‖∞.
    pub x_max: [T::Real; MAX_RHS],
    pub stream: bool,
    /// The measured error of each partition; empty without verification.
    pub gaps: ColumnsMut<'a, T::Real>,
    /// x in the rows of the partitions.
    pub x: ColumnsMut<'a, T>,
}

impl<T: Scalar> LevelJob<'_, T> {
    /// Split the job into the first `parts` partitions of m rows each, and all others.
    fn split_at(self, parts: usize, m: usize, block: usize) -> (Self, Self) {
        match self {
            LevelJob::Reduce(CoarseRows { sub, diag, sup, rhs }) => {
                let rows = 2 * parts * block;
                let [sub, diag, sup] = [sub, diag, sup].map(|array| array.split_at_mut(rows * block));
                let rhs = split_columns(rhs, rows);
                let first = CoarseRows { sub: sub.0, diag: diag.0, sup: sup.0, rhs: rhs.0 };
                let others = CoarseRows { sub: sub.1, diag: diag.1, sup: sup.1, rhs: rhs.1 };
                (LevelJob::Reduce(first), LevelJob::Reduce(others))
            }
            LevelJob::Substitute(Unknowns { coarse, first, x_max, stream, gaps, x }) => {
                let (x, gaps) = (split_columns(x, parts * m * block), split_columns(gaps, parts));
                let front = Unknowns { coarse, first, x_max, stream, gaps: gaps.0, x: x.0 };
                let others = Unknowns { coarse, first, x_max, stream, gaps: gaps.1, x: x.1 };
                (LevelJob::Substitute(front), LevelJob::Substitute(others))
            }
        }
    }
}

impl<T: Scalar> Share<'_, T> {
    /// Do the work on `threads` threads. After `Reduce`, the result only shows whether the matrix may be singular, because an equation
    /// has vanished.
    pub fn parallel(mut self, threads: usize) -> CheckResults {
        let Level { settings, cut, .. } = self.level;
        if threads <= 1 || self.parts.len() <= settings.lanes {
            return self.run();
        }
        let mid = middle(&self.parts, settings.lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let job = self.job.split_at(mid - self.parts.start, cut.m, settings.block());
        let left = Share { parts: self.parts.start..mid, job: job.0, memory: memory.0, ..self };
        let right = Share { parts: mid..self.parts.end, job: job.1, memory: memory.1, ..self };
        let (a, b) = join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        merged(a, b)
    }

    fn run(&mut self) -> CheckResults {
        let Level { settings, cut, matrix, .. } = self.level;
        let (mut checks, mut part) = (CheckResults::default(), self.parts.start);
        while part < self.parts.end {
            let span = cut.span(part, self.parts.end, settings.lanes);
            let of_span = match matrix {
                LevelMatrix::Scalars(rows) => self.sweep_scalars(&rows, span, part),
                LevelMatrix::Blocks(matrix) => self.sweep_blocks(matrix, span, part),
            };
            checks = merged(checks, of_span);
            part += span.partitions();
        }
        if matches!(&self.job, LevelJob::Substitute(Unknowns { stream: true, .. })) {
            tile::fence();
        }
        checks
    }

    /// Work on the partitions of a span, the first of which is `part`.
    fn sweep_scalars(&mut self, rows: &Rows<'_, T>, span: Span, part: usize) -> CheckResults {
        let Level { settings, cut, n_rhs, .. } = self.level;
        let (local, how) = (part - self.parts.start..part - self.parts.start + span.partitions(), settings.how());
        let (places, base) = (span.first..span.first + span.rows(), cut.start(self.parts.start));
        let mut work = Workspace::new(settings.simd, n_rhs, 1, self.memory);
        match &mut self.job {
            LevelJob::Reduce(out) => {
                let CoarseRows { sub, diag, sup, rhs: [a, b, c, d] } = equations(out, local, 1);
                let rhs = cut_out(&self.rhs.expect("right-hand sides"), places, n_rhs);
                let suspect = work.reduce(rows, rhs, span, how, [sub, diag, sup, a, b, c, d]);
                [CheckResult { suspect, ..CheckResult::default() }; MAX_RHS]
            }
            LevelJob::Substitute(Unknowns { coarse, first, x_max, stream, gaps, x }) => {
                let from = part - *first;
                let coarse = cut_out(coarse, 2 * from..2 * (from + span.partitions()) + 2, n_rhs);
                let x = cut_out_mut(x, places.start - base..places.end - base);
                let target = Target { coarse, x, gaps: cut_out_mut(gaps, local), x_max: *x_max, stream: *stream };
                work.substitute(rows, self.rhs.map(|rhs| cut_out(&rhs, places, n_rhs)), span, how, target)
            }
        }
    }

    /// Work on the partitions of a span of blocks, the first of which is `part`.
    fn sweep_blocks(&mut self, matrix: BlockMatrix<'_, T>, span: Span, part: usize) -> CheckResults {
        let Level { settings, cut, n_rhs, .. } = self.level;
        let (local, block) = (part - self.parts.start..part - self.parts.start + span.partitions(), matrix.block());
        let task = match &mut self.job {
            LevelJob::Reduce(out) => Task::Reduce(equations(out, local, block)),
            LevelJob::Substitute(Unknowns { coarse, x_max, gaps, x, .. }) => {
                let first = (span.first - cut.start(self.parts.start)) * block;
                // A band may end inside its last block.
                let places = first..(first + span.rows() * block).min(x[0].len());
                let (x, gaps) = (cut_out_mut(x, places), cut_out_mut(gaps, local));
                Task::Substitute(BlockTarget { coarse: *coarse, partition: part, x, gaps, x_max: *x_max })
            }
        };
        let (scaling, choice) = (settings.how::<T::Real>().scaling, settings.options.block_pivots());
        let level = &BlockSystem { matrix, scaling, choice, n_rhs };
        let rhs = self.rhs.expect("right-hand sides");
        BlockRun { level, rhs, span, task, memory: &mut *self.memory }.run_on(settings.simd)
    }
}

/// The rows of the coarse system that belong to `parts`.
fn equations<'a, T>(all: &'a mut CoarseRows<'_, T>, parts: Range<usize>, block: usize) -> CoarseRows<'a, T> {
    let rows = 2 * parts.start * block..2 * parts.end * block;
    let entries = rows.start * block..rows.end * block;
    CoarseRows {
        sub: &mut all.sub[entries.clone()],
        diag: &mut all.diag[entries.clone()],
        sup: &mut all.sup[entries],
        rhs: cut_out_mut(&mut all.rhs, rows),
    }
}

/// The columns of a solve.
pub(crate) struct LevelColumns<'a, T: Scalar> {
    pub n_rhs: usize,
    /// The right-hand sides. For scalars, `None` if they are in `x`.
    pub rhs: Option<Columns<'a, T>>,
    pub x: ColumnsMut<'a, T>,
    /// For the error of each partition. If empty, nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
}

/// Solve the system of one level.
///
/// Without verification, the results only show whether the matrix may be singular. Also returns whether the coarse system was truncated.
pub(crate) fn solve_level<T: Scalar>(
    settings: &Settings,
    (matrix, finer): (LevelMatrix<'_, T>, Finer<'_, T>),
    LevelColumns { n_rhs, rhs, x, gaps }: LevelColumns<'_, T>,
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (CheckResults, bool) {
    let LevelSize { rows, blocks, .. } = matrix.size();
    let (cut, b, threads) = (settings.cut(rows), settings.block(), settings.threads_for(rows));
    let n = cut.coarse();
    let (sub, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let (diag, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let (sup, stack) = stack.make_aligned_raw::<T>(n * b * b, ALIGN);
    let [in_place, separate] = settings.coarse_columns(n);
    let beyond = (in_place - n) / 2;
    let (coarse, stack) = stack.make_aligned_raw::<T>(n_rhs * in_place * b, ALIGN);
    let (solution, stack) = stack.make_aligned_raw::<T>(n_rhs * separate * b, ALIGN);
    let mut coarse = columns_mut(coarse, n_rhs);
    let level = Level { settings, cut, matrix, finer, n_rhs };
    let parts = 0..cut.partitions();

    let coarse_rhs = cut_out_mut(&mut coarse, beyond..beyond + n * b);
    let job = LevelJob::Reduce(CoarseRows { sub: &mut *sub, diag: &mut *diag, sup: &mut *sup, rhs: coarse_rhs });
    let from = Some(rhs.unwrap_or(shared(&x)));
    let [reduced, ..] = Share { level, rhs: from, parts: parts.clone(), job, memory: &mut *memory }.parallel(threads);

    let (arrays, periodic) = ([&*sub, &*diag, &*sup], matrix.periodic());
    let (below, coarse) = if blocks.is_some() {
        let work = (&mut *memory, stack);
        let suspect = solve_coarse_blocks(&level, block_rows(arrays, periodic, b), shared(&coarse), solution, work);
        (SolvedCoarse { truncated: false, suspect }, columns(solution, n_rhs))
    } else {
        let coarse_rhs = cut_out_mut(&mut coarse, 1..n + 1);
        let below = solve_coarse(&level, coarse_rows(arrays, periodic), coarse_rhs, (&mut *memory, stack));
        wrap(&mut coarse[..n_rhs], periodic);
        (below, shared(&coarse))
    };

    let verify = !gaps[0].is_empty();
    let x_max = coarse.map(|column| if verify { size_below(column) } else { T::Real::ZERO });
    // The kernels of blocks have no stores that bypass the caches.
    let stream = blocks.is_none() && 5 * size_of::<T>() * rows > tuning::STREAM_MIN_BYTES;
    let job = LevelJob::Substitute(Unknowns { coarse, first: 0, x_max, stream, gaps, x });
    let mut checks = Share { level, rhs, parts, job, memory }.parallel(threads);
    // Pivots depend on the matrix alone, so `suspect` is the same for all columns.
    let small = checks[0].suspect | reduced.suspect;
    let suspect = below.suspect || (small && confirm::may_be_singular(&level, SmallPivotPlace::Partition(threads)));
    for (check, x_max) in checks.iter_mut().zip(x_max) {
        check.x_max = check.x_max.max_nan(x_max.to_f64());
        check.suspect = suspect;
    }
    (checks, below.truncated)
}

/// The coarse matrix of blocks, from the arrays that `reduce` fills.
fn block_rows<T: Scalar>([sub, diag, sup]: [&[T]; 3], periodic: bool, block: usize) -> BlockRows<'_, T> {
    let (square, last) = (block * block, sup.len() - block * block);
    let corners = if periodic { (&sub[..square], &sup[last..]) } else { (&[][..], &[][..]) };
    let (sub, sup) = (&sub[square..], &sup[..last]);
    BlockRows { block, sub, diag, sup, first: corners.0, last: corners.1, orientation: Orientation::Plain }
}

/// Set the unknowns before the first partition and after the last.
pub(crate) fn wrap<T: Scalar>(coarse: &mut [&mut [T]], periodic: bool) {
    for column in coarse {
        let n = column.len() - 2;
        (column[0], column[n + 1]) = if periodic { (column[n], column[1]) } else { (T::ZERO, T::ZERO) };
    }
}

/// The result of solving a coarse system.
pub(crate) struct SolvedCoarse {
    /// Whether couplings across partitions were dropped.
    pub truncated: bool,
    /// Whether a pivot was close to zero.
    pub suspect: bool,
}

/// Solve the coarse system of `level` for scalars. The right-hand sides are in `coarse`.
pub(crate) fn solve_coarse<T: Scalar>(
    level: &Level<'_, T>,
    rows: Rows<'_, T>,
    mut coarse: ColumnsMut<'_, T>,
    work: (&mut [T::Real], &mut PodStack),
) -> SolvedCoarse {
    let (settings, n, n_rhs, fine) = (level.settings, rows.n(), level.n_rhs, level.cut.rows());
    let always = settings.scheme.truncation == Truncation::Always;
    let truncated = n > 2 && settings.truncates(fine) && (always || truncation::is_safe(&rows));
    let columns = coarse.iter_mut().take(n_rhs);
    let suspect = if truncated {
        let parallel = settings.threads_for(fine) > 1;
        columns.fold(false, |suspect, rhs| suspect | truncation::solve(&rows, rhs, parallel))
    } else if n == 2 || (n <= tuning::SEQUENTIAL_MAX_N && !rows.periodic) {
        let (matrix, finer) = (LevelMatrix::Scalars(rows), Finer::Level(level));
        let last = Level { settings, cut: Cut::new(n, n, 2), matrix, finer, n_rhs };
        columns.fold(false, |suspect, rhs| suspect | solve_last(&rows, rhs))
            && confirm::may_be_singular(&last, SmallPivotPlace::LastLevel)
    } else {
        let columns = LevelColumns { n_rhs, rhs: None, x: coarse, gaps: Default::default() };
        solve_level(settings, (LevelMatrix::Scalars(rows), Finer::Level(level)), columns, work).0[0].suspect
    };
    SolvedCoarse { truncated, suspect }
}

/// Solve the coarse system of `level` for blocks. Returns whether a pivot was close to zero.
fn solve_coarse_blocks<T: Scalar>(
    level: &Level<'_, T>,
    rows: BlockRows<'_, T>,
    rhs: Columns<'_, T>,
    solution: &mut [T],
    work: (&mut [T::Real], &mut PodStack),
) -> bool {
    let (n_rhs, x) = (level.n_rhs, columns_mut(solution, level.n_rhs));
    if level.cut.coarse() == 2 {
        return solve_two_block_rows(&rows, rhs, x, n_rhs);
    }
    let matrix = LevelMatrix::Blocks(BlockMatrix::Blocks(rows));
    let columns = LevelColumns { n_rhs, rhs: Some(rhs), x, gaps: Default::default() };
    solve_level(level.settings, (matrix, Finer::Level(level)), columns, work).0[0].suspect
}
