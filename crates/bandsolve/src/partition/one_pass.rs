//! Long tridiagonal systems in one pass over memory.
//!
//! [`solve_level`](super::level::solve_level) reads the matrix twice: to reduce it, and to substitute. If the system is larger than the caches, it
//! reads from memory both times. Here, pieces of the system are reduced and substituted while they are in the cache:
//!
//! 1. Reduce piece k, and the first partitions of piece k+1.
//! 2. Solve the coarse equations of a window: of the piece, and of a margin on each side. The unknowns beyond the window are taken as zero. Those
//!    in the margins are discarded.
//! 3. Now all unknowns around piece k−1 are known: substitute it, and measure its residuals.
//!
//! The error of step 2 is at most the unknowns beyond the window times entries of A⁻¹ a margin away from the diagonal. These decay exponentially
//! if rows are dominant, and also if the entries of A are random. For −u″, they do not decay. The decay is therefore tested at three places where
//! pieces meet. If it is too slow, the caller solves in two passes.
//!
//! The test affects only the time. Residuals are measured with the final unknowns on both sides of the ends of pieces, so an error of step 2
//! is measured and repaired like any other.
//!
//! Cost per row with one right-hand side: 4 words read, 1 word written, 1 reciprocal. Each thread has consecutive pieces. It also reduces and solves
//! the windows of the piece before its first one and of the piece after its last one. Pieces and windows are the same for any number of threads, and
//! so is x, bit for bit.

use crate::contract::refine::good;
use crate::decision::Options;
use crate::partition::confirm::{self, SmallPivotPlace};
use crate::partition::cut::{ALIGN, Cut, columns_mut, cut_out, cut_out_mut, size_below, split_columns};
use crate::partition::level::{CheckResults, LevelJob, Share, SolvedCoarse, Unknowns, merged, shared, solve_coarse};
use crate::partition::level_matrix::{Finer, Level, LevelMatrix, coarse_rows};
use crate::partition::settings::Settings;
use crate::tuning;
use bandsolve_kernel::blocks::CoarseRows;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::{self, MAX_RHS};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile_runs::{self, Columns, ColumnsMut};
use bandsolve_kernel::{Machine, RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// The pieces of a system: groups of partitions. The last one has up to twice as many as the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedPieces {
    cut: Cut,
    count: usize,
    /// Number of partitions of a piece.
    size: usize,
    /// Number of partitions of a margin.
    margin: usize,
}

impl CachedPieces {
    /// The pieces of a system with these partitions, or `None` if it is too short.
    pub fn new<T: Scalar>(settings: &Settings<'_>, cut: Cut) -> Option<Self> {
        let rows = |bytes: usize| bytes / size_of::<T>();
        let long = cut.rows() >= rows(tuning::ONE_PASS_MIN_BYTES);
        let size = rows(tuning::ONE_PASS_PIECE_BYTES);
        if long { Self::of_rows(settings, cut, size, tuning::ONE_PASS_MARGIN_ROWS) } else { None }
    }

    /// Pieces with at least `size` rows and `margin` rows in each margin. They have whole tiles. `None` if there are too few.
    fn of_rows(settings: &Settings<'_>, cut: Cut, size: usize, margin: usize) -> Option<Self> {
        let tiles = |rows: usize| rows.div_ceil(cut.m).next_multiple_of(settings.lanes);
        let (size, margin) = (tiles(size.max(margin)), tiles(margin));
        let count = cut.partitions() / size;
        (count >= tuning::ONE_PASS_MIN_PIECES).then_some(Self { cut, count, size, margin })
    }

    /// The partitions of piece `k`.
    fn parts(&self, k: usize) -> Range<usize> {
        let end = if k + 1 == self.count { self.cut.partitions() } else { (k + 1) * self.size };
        k * self.size..end
    }

    /// The partitions of the window of piece `k`.
    fn window(&self, k: usize) -> Range<usize> {
        let Range { start, end } = self.parts(k);
        start.saturating_sub(self.margin)..(end + self.margin).min(self.cut.partitions())
    }

    /// The partitions around the end of piece `k`.
    fn around_end(&self, k: usize) -> Range<usize> {
        let end = self.parts(k).end;
        end - self.margin..end + self.margin
    }

    /// The places of the unknowns of piece `k` among those of its window, with one more before and after.
    fn places(&self, k: usize) -> Range<usize> {
        let (parts, window) = (self.parts(k), self.window(k));
        2 * (parts.start - window.start)..2 * (parts.end - window.start) + 2
    }

    /// The rows of a range of partitions.
    fn rows(&self, parts: &Range<usize>) -> Range<usize> {
        self.cut.start(parts.start)..self.cut.end(parts.end - 1)
    }

    /// Numbers of coarse unknowns of windows. All others are as long as one of these.
    fn window_sizes(&self) -> [usize; 4] {
        let windows = [self.window(0), self.window(1), self.window(self.count - 1), self.around_end(0)];
        windows.map(|parts| 2 * parts.len())
    }

    /// Number of coarse unknowns of the longest window.
    fn longest_window(&self) -> usize {
        self.window_sizes().into_iter().fold(0, usize::max)
    }

    /// Number of threads that pay off.
    fn threads(&self, settings: &Settings<'_>) -> usize {
        settings.threads_for(self.cut.rows()).min(self.count / tuning::ONE_PASS_MIN_PIECES).max(1)
    }

    /// Reals of tile memory of one thread.
    fn tile_memory<T: Scalar>(&self, settings: &Settings<'_>, n_rhs: usize) -> usize {
        let longest = self.window_sizes().map(|n| Cut::longest_of_all(n, |n| settings.cut(n)));
        let longest = longest.into_iter().fold(self.cut.longest(), usize::max);
        tile_runs::memory::<T>(settings.simd, longest, n_rhs, 1)
    }

    /// Scratch of one thread.
    fn scratch_of_thread<T: Scalar>(&self, settings: &Settings<'_>, n_rhs: usize) -> StackReq {
        let column = StackReq::new_aligned::<T>(self.longest_window(), ALIGN);
        let columns = |rows: usize| StackReq::new_aligned::<T>(rows * n_rhs, ALIGN);
        let (rhs, solution) = (columns(self.longest_window()), columns(self.longest_window() + 2));
        let tiles = StackReq::new_aligned::<T::Real>(self.tile_memory::<T>(settings, n_rhs), ALIGN);
        let below = StackReq::any_of(&self.window_sizes().map(|n| settings.level_scratch::<T>(n, n_rhs)));
        StackReq::all_of(&[column, column, column, rhs, solution, solution, tiles, below])
    }

    /// Scratch of [`solve`].
    pub fn scratch<T: Scalar>(&self, settings: &Settings<'_>, n_rhs: usize) -> StackReq {
        let of_thread = self.scratch_of_thread::<T>(settings, n_rhs).unaligned_bytes_required();
        StackReq::new::<u8>(of_thread.saturating_mul(self.threads(settings)))
    }
}

/// What the solves of all pieces have in common.
#[derive(Clone, Copy)]
struct OnePass<'a, T: Scalar> {
    pieces: CachedPieces,
    level: Level<'a, T>,
    rows: Rows<'a, T>,
    rhs: Columns<'a, T>,
}

/// Solve the system of a level in one pass. Returns `None`, with arbitrary x, if it must be solved in two.
pub(super) fn solve<T: Scalar>(
    pieces: CachedPieces,
    (settings, rows): (&Settings<'_>, Rows<'_, T>),
    (rhs, x, gaps): (Columns<'_, T>, ColumnsMut<'_, T>, ColumnsMut<'_, T::Real>),
    n_rhs: usize,
    stack: &mut PodStack,
) -> Option<(CheckResults, bool)> {
    let threads = pieces.threads(settings);
    // Windows are solved by the thread that reduces them, which has memory for one thread.
    let options = Options { threads: 1, ..*settings.options };
    let settings = &Settings::new::<T>(&options, settings.scheme, None);
    let level = Level { settings, cut: pieces.cut, matrix: LevelMatrix::Scalars(rows), finer: Finer::Caller, n_rhs };
    let pass = OnePass { pieces, level, rows, rhs };
    let of_thread = pieces.scratch_of_thread::<T>(settings, n_rhs).unaligned_bytes_required();
    let (scratch, _) = stack.make_raw::<u8>(of_thread * threads);

    let mut window = CoarseWindow::new(&pass, &mut *scratch);
    if ![0, pieces.count / 2 - 1, pieces.count - 2].into_iter().all(|k| window.decays(&pass, pieces.around_end(k))) {
        return None;
    }
    let share = PiecesShare { pass: &pass, of: 0..pieces.count, x, gaps, scratch };
    let PiecesChecked { mut checks, others, small, singular, truncated } = share.parallel(threads);
    // Whether the whole matrix is singular is decided in two passes.
    if singular {
        return None;
    }
    let suspect = small && confirm::may_be_singular(&level, SmallPivotPlace::Partition(threads));
    for (check, OtherPieces { bound, of_all }) in checks.iter_mut().zip(others) {
        let of_all = of_all / check.x_max;
        let bound = if of_all <= good::<T>() { of_all } else { bound };
        // As in two passes, a solution that is tiny everywhere is not trusted.
        let trusted = check.x_max > T::Real::TINY.to_f64();
        check.bound = if trusted { check.bound.max_nan(bound) } else { f64::NAN };
        check.suspect = suspect;
    }
    Some((checks, truncated))
}

/// The result of some pieces.
#[derive(Default)]
struct PiecesChecked {
    /// The checks of all pieces. The bound is that of pieces whose error is small relative to their own unknowns.
    checks: CheckResults,
    others: [OtherPieces; MAX_RHS],
    /// Whether an equation or a pivot of a partition nearly vanished.
    small: bool,
    /// Whether a coarse system may be singular.
    singular: bool,
    /// Whether all coarse systems were truncated.
    truncated: bool,
}

/// The pieces of a column whose error is large relative to their own unknowns.
///
/// It may be small relative to ‖x‖∞, which is not known before all pieces are solved: where the right-hand side is zero, the unknowns of a piece
/// can be far smaller than ‖x‖∞. Let η be the error relative to m, the largest unknown in the rows of the piece. A row with the sum s and the
/// right-hand side d has the residual |r| ≤ η(s·m + |d|), and |d| ≤ |r| + s·m.
///
/// - If η ≤ ¼, then |d| ≤ ⁵⁄₃·s·m and |r| ≤ ⁸⁄₃·η·s·m.
/// - If d = 0, then |r| ≤ s·m. Larger η than ¼ are not measured.
///
/// In both cases, |r| / (s·‖x‖∞) is at most |r| / (s·m) times m / ‖x‖∞. The factors below are larger, because the moduli of complex unknowns are up to
/// √2 times as large as they are measured here.
#[derive(Debug, Clone, Copy, Default)]
struct OtherPieces {
    /// Largest error relative to the unknowns of the piece.
    bound: f64,
    /// Upper bound of their errors relative to ‖x‖∞, times ‖x‖∞.
    of_all: f64,
}

impl PiecesChecked {
    fn and(mut self, other: Self) -> Self {
        for (pieces, other) in self.others.iter_mut().zip(other.others) {
            pieces.bound = pieces.bound.max_nan(other.bound);
            pieces.of_all = pieces.of_all.max_nan(other.of_all);
        }
        Self {
            checks: merged(self.checks, other.checks),
            others: self.others,
            small: self.small | other.small,
            singular: self.singular | other.singular,
            truncated: self.truncated & other.truncated,
        }
    }

    /// The result of one piece with these checks and errors of partitions. `x_max` are lower bounds of the largest unknowns in its rows.
    fn of_piece<T: Scalar>(
        mut checks: CheckResults,
        gaps: &Columns<'_, T::Real>,
        x_max: [T::Real; MAX_RHS],
        (rhs, x): (&Columns<'_, T>, &Columns<'_, T>),
    ) -> Self {
        let (mut others, small) = ([OtherPieces::default(); MAX_RHS], checks[0].suspect);
        for (r, check) in checks.iter_mut().enumerate() {
            let Some(gap) = gaps[r].iter().copied().reduce(T::Real::max_bits) else { continue };
            let measured = sweep::bound::<T>(gap);
            check.x_max = check.x_max.max_nan(x_max[r].to_f64());
            // The scales of such a piece contain `TINY` instead of its unknowns. If ‖x‖∞ is larger, they are too small, and the bound holds.
            if check.x_max <= T::Real::TINY.to_f64() && check.bound.is_nan() {
                check.bound = measured;
            }
            if !(check.bound <= good::<T>()) {
                let nothing = || rhs[r].iter().all(|d| *d == T::ZERO) && x[r].iter().all(|x| x.is_finite());
                let of_all = match measured {
                    _ if measured <= 0.25 => 4.0 * measured * check.x_max,
                    _ if nothing() => 2.0 * check.x_max,
                    _ => f64::INFINITY,
                };
                others[r] = OtherPieces { bound: check.bound, of_all };
                check.bound = 0.0;
            }
        }
        Self { checks, others, small, singular: false, truncated: true }
    }
}

/// The pieces that one thread works on.
struct PiecesShare<'a, T: Scalar> {
    pass: &'a OnePass<'a, T>,
    of: Range<usize>,
    /// x and the errors of the partitions, of these pieces.
    x: ColumnsMut<'a, T>,
    gaps: ColumnsMut<'a, T::Real>,
    scratch: &'a mut [u8],
}

impl<T: Scalar> PiecesShare<'_, T> {
    fn parallel(self, threads: usize) -> PiecesChecked {
        if threads <= 1 {
            return self.run();
        }
        let Self { pass, of, .. } = self;
        let mid = of.start + of.len() * (threads / 2) / threads;
        let parts = pass.pieces.parts(of.start).start..pass.pieces.parts(mid).start;
        let scratch = self.scratch.split_at_mut(self.scratch.len() / threads * (threads / 2));
        let (x, gaps) = (split_columns(self.x, pass.pieces.rows(&parts).len()), split_columns(self.gaps, parts.len()));
        let left = PiecesShare { pass, of: of.start..mid, x: x.0, gaps: gaps.0, scratch: scratch.0 };
        let right = PiecesShare { pass, of: mid..of.end, x: x.1, gaps: gaps.1, scratch: scratch.1 };
        let (a, b) = join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        a.and(b)
    }

    fn run(self) -> PiecesChecked {
        let Self { pass, of, mut x, mut gaps, scratch } = self;
        let mut window = CoarseWindow::new(pass, scratch);
        let mut total = PiecesChecked { truncated: true, ..PiecesChecked::default() };
        let first = of.start.saturating_sub(1);
        // The pieces beside these have the unknowns around them.
        for k in first..(of.end + 1).min(pass.pieces.count) {
            window.solve(pass, k, &mut total);
            if k > first {
                window.meet(pass, k);
            }
            if k > of.start {
                total = total.and(window.substitute(pass, (k - 1, 1), (&mut x, &mut gaps)));
            }
        }
        if of.end == pass.pieces.count {
            total = total.and(window.substitute(pass, (of.end - 1, 0), (&mut x, &mut gaps)));
        }
        total
    }
}

/// The window of a piece, in the memory of a thread.
struct CoarseWindow<'a, T: Scalar> {
    /// The coarse equations of these partitions.
    parts: Range<usize>,
    matrix: [&'a mut [T]; 3],
    rhs: ColumnsMut<'a, T>,
    /// The coarse unknowns of this window and of the one before, each with one more unknown before and after.
    unknowns: [ColumnsMut<'a, T>; 2],
    tiles: &'a mut [T::Real],
    stack: &'a mut PodStack,
}

impl<'a, T: Scalar> CoarseWindow<'a, T> {
    fn new(pass: &OnePass<'_, T>, scratch: &'a mut [u8]) -> Self {
        let OnePass { pieces, level: Level { settings, n_rhs, .. }, .. } = *pass;
        let (n, stack) = (pieces.longest_window(), PodStack::new(scratch));
        let (sub, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
        let (diag, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
        let (sup, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
        let (rhs, stack) = stack.make_aligned_raw::<T>(n * n_rhs, ALIGN);
        let (here, stack) = stack.make_aligned_raw::<T>((n + 2) * n_rhs, ALIGN);
        let (before, stack) = stack.make_aligned_raw::<T>((n + 2) * n_rhs, ALIGN);
        let (tiles, stack) = stack.make_aligned_raw::<T::Real>(pieces.tile_memory::<T>(settings, n_rhs), ALIGN);
        let unknowns = [columns_mut(here, n_rhs), columns_mut(before, n_rhs)];
        Self { parts: 0..0, matrix: [sub, diag, sup], rhs: columns_mut(rhs, n_rhs), unknowns, tiles, stack }
    }

    /// Move the window to these partitions: reduce those that were not in it before. Returns whether an equation nearly vanished.
    fn move_to(&mut self, pass: &OnePass<'_, T>, parts: Range<usize>) -> bool {
        let kept = parts.start.clamp(self.parts.start, self.parts.end)..self.parts.end;
        let from = 2 * (kept.start - self.parts.start)..2 * (kept.end - self.parts.start);
        let OnePass { level, rhs, .. } = *pass;
        for array in self.matrix.iter_mut().chain(self.rhs.iter_mut().take(level.n_rhs)) {
            array.copy_within(from.clone(), 0);
        }
        let places = from.len()..2 * parts.len();
        let [sub, diag, sup] = self.matrix.each_mut().map(|array| &mut array[places.clone()]);
        let job = LevelJob::Reduce(CoarseRows { sub, diag, sup, rhs: cut_out_mut(&mut self.rhs, places) });
        let added = parts.end - (parts.len() - kept.len())..parts.end;
        self.parts = parts;
        let share = Share { level, rhs: Some(rhs), parts: added, job, memory: &mut *self.tiles };
        share.parallel(1)[0].suspect
    }

    /// Solve the coarse system of the window, whose right-hand sides are in `unknowns`.
    fn solve_coarse(&mut self, pass: &OnePass<'_, T>) -> SolvedCoarse {
        let OnePass { pieces, level, rows, .. } = *pass;
        let (n, cut) = (2 * self.parts.len(), pieces.cut.section(&self.parts));
        let matrix = LevelMatrix::Scalars(rows.section(pieces.rows(&self.parts)));
        let section = Level { cut, matrix, ..level };
        let [sub, diag, sup] = self.matrix.each_ref().map(|array| &array[..n]);
        let [here, _] = &mut self.unknowns;
        for column in here.iter_mut().take(level.n_rhs) {
            (column[0], column[n + 1]) = (T::ZERO, T::ZERO);
        }
        let rhs = cut_out_mut(here, 1..n + 1);
        solve_coarse(&section, coarse_rows([sub, diag, sup], false), rhs, (&mut *self.tiles, &mut *self.stack))
    }

    /// Whether unknowns beyond a window of these partitions change those in its middle by less than rounding errors.
    fn decays(&mut self, pass: &OnePass<'_, T>, parts: Range<usize>) -> bool {
        let (n, n_rhs) = (2 * parts.len(), pass.level.n_rhs);
        self.move_to(pass, parts);
        for column in self.unknowns[0].iter_mut().take(n_rhs) {
            column[1..n + 1].fill(T::ZERO);
            (column[1], column[n]) = (T::ONE, T::ONE);
        }
        let SolvedCoarse { suspect, .. } = self.solve_coarse(pass);
        !suspect && size_below(&self.unknowns[0][0][n / 2..n / 2 + 2]) <= T::Real::EPSILON
    }

    /// Solve for the unknowns at the ends of the partitions of piece `k`.
    fn solve(&mut self, pass: &OnePass<'_, T>, k: usize, total: &mut PiecesChecked) {
        total.small |= self.move_to(pass, pass.pieces.window(k));
        self.unknowns.swap(0, 1);
        let n = 2 * self.parts.len();
        for (x, rhs) in self.unknowns[0].iter_mut().zip(&self.rhs).take(pass.level.n_rhs) {
            x[1..n + 1].copy_from_slice(&rhs[..n]);
        }
        let SolvedCoarse { suspect, truncated } = self.solve_coarse(pass);
        total.singular |= suspect;
        total.truncated &= truncated;
    }

    /// Exchange the unknowns at the common end of piece `k` and the piece before.
    fn meet(&mut self, pass: &OnePass<'_, T>, k: usize) {
        let (before, here) = (pass.pieces.places(k - 1), pass.pieces.places(k));
        let [of_piece, of_last] = &mut self.unknowns;
        for (x, y) in of_piece.iter_mut().zip(of_last).take(pass.level.n_rhs) {
            x[here.start] = y[before.end - 2];
            y[before.end - 1] = x[here.start + 1];
        }
    }

    /// Compute x of piece `k` from the coarse unknowns of this window (0) or of the one before (1). `x` and `gaps` begin with the piece, and then
    /// with the next one.
    fn substitute(
        &mut self,
        pass: &OnePass<'_, T>,
        (k, of_window): (usize, usize),
        (x, gaps): (&mut ColumnsMut<'_, T>, &mut ColumnsMut<'_, T::Real>),
    ) -> PiecesChecked {
        let OnePass { pieces, level, rhs, .. } = *pass;
        let (parts, places) = (pieces.parts(k), pieces.places(k));
        let coarse = cut_out(&shared(&self.unknowns[of_window]), places.clone(), level.n_rhs);
        let mut x_max = [T::Real::ZERO; MAX_RHS];
        for (x_max, column) in x_max.iter_mut().zip(coarse).take(level.n_rhs) {
            *x_max = size_below(column);
        }
        let rows = pieces.rows(&parts);
        let (mut x, mut gaps) = (take_front(x, rows.len()), take_front(gaps, parts.len()));
        let targets = (cut_out_mut(&mut x, 0..rows.len()), cut_out_mut(&mut gaps, 0..parts.len()));
        // Stores bypass the caches, which such a long x does not fit into.
        let unknowns = Unknowns { coarse, first: parts.start, x_max, stream: true, gaps: targets.1, x: targets.0 };
        let job = LevelJob::Substitute(unknowns);
        let checks = Share { level, rhs: Some(rhs), parts, job, memory: &mut *self.tiles }.parallel(1);
        let rhs = cut_out(&rhs, rows, level.n_rhs);
        PiecesChecked::of_piece::<T>(checks, &shared(&gaps), x_max, (&rhs, &shared(&x)))
    }
}

/// Remove the first `n` values from each column.
fn take_front<'a, T>(columns: &mut ColumnsMut<'a, T>, n: usize) -> ColumnsMut<'a, T> {
    let (front, rest) = split_columns(core::mem::take(columns), n);
    *columns = rest;
    front
}

#[cfg(test)]
mod tests;
