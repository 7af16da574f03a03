//! Long tridiagonal systems in one pass over memory.
//!
//! [`solve_level`](super::level::solve_level) reads the matrix twice: to reduce it, and to substitute. If the system is larger than the caches,
//! both times from memory. Here, pieces of the system are reduced and substituted while they are in the cache:
//!
//! 1. Reduce piece k, and the first partitions of piece k+1.
//! 2. Solve the coarse equations of a window: of the piece, and of a margin on each side. The unknowns beyond the window are taken as zero. Those
//!    in the margins are discarded.
//! 3. Now all unknowns around piece k−1 are known: substitute it, and measure its residuals.
//!
//! The error of step 2 is at most the unknowns beyond the window times entries of A⁻¹ a margin away from the diagonal. These decay exponentially
//! if rows are dominant, and also if the entries of A are random, but not for −u″. The decay is therefore tested at three places where pieces
//! meet. If it is too slow, the caller solves in two passes.
//!
//! The test decides about time only. Residuals are measured with the final unknowns on both sides of the ends of pieces, so an error of step 2
//! is measured and repaired like any other.
//!
//! Cost per row with one right-hand side: 4 words read, 1 word written, 1 reciprocal. Pieces and windows do not depend on the number of threads,
//! so neither do the bits of x. Each thread also solves the windows of the two pieces beside its own.

use crate::contract::refine::good;
use crate::partition::confirm::{self, SmallPivotPlace};
use crate::partition::cut::{ALIGN, Cut, columns_mut, cut_out, cut_out_mut, size_below, split_columns};
use crate::partition::level::{CheckResults, LevelJob, Share, SolvedCoarse, Unknowns, merged, shared, solve_coarse};
use crate::partition::level_matrix::{Finer, Level, LevelMatrix, coarse_rows};
use crate::partition::settings::Settings;
use crate::tuning;
use bandsolve_kernel::blocks::CoarseRows;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::MAX_RHS;
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile::Scaling;
use bandsolve_kernel::tile_runs::{self, Columns, ColumnsMut};
use bandsolve_kernel::{RealScalar, Scalar};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// The pieces of a system: groups of partitions. The last one has up to twice as many as the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    cut: Cut,
    count: usize,
    /// Number of partitions of a piece.
    size: usize,
    /// Number of partitions of a margin.
    margin: usize,
}

impl Pieces {
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

    /// Number of coarse unknowns of the longest window.
    fn longest_window(&self) -> usize {
        2 * self.window(0).len().max(self.window(1).len()).max(self.window(self.count - 1).len())
    }

    /// Number of threads that pay off.
    fn threads(&self, settings: &Settings<'_>) -> usize {
        settings.threads_for(self.cut.rows()).min(self.count / tuning::ONE_PASS_MIN_PIECES).max(1)
    }

    /// Reals of tile memory of one thread.
    fn tile_memory<T: Scalar>(&self, settings: &Settings<'_>, n_rhs: usize) -> usize {
        let windows = [self.window(0), self.window(1), self.window(self.count - 1), self.around_end(0)];
        let longest = windows.map(|parts| Cut::longest_of_all(2 * parts.len(), |n| settings.cut(n)));
        let longest = longest.into_iter().fold(self.cut.longest(), usize::max);
        tile_runs::memory::<T>(settings.simd, longest, n_rhs, 1)
    }

    /// Scratch of one thread.
    fn scratch_of_thread<T: Scalar>(&self, settings: &Settings<'_>, n_rhs: usize) -> StackReq {
        let column = StackReq::new_aligned::<T>(self.longest_window(), ALIGN);
        let columns = |rows: usize| StackReq::new_aligned::<T>(rows * n_rhs, ALIGN);
        let (rhs, solution) = (columns(self.longest_window()), columns(self.longest_window() + 2));
        let tiles = StackReq::new_aligned::<T::Real>(self.tile_memory::<T>(settings, n_rhs), ALIGN);
        let below = settings.level_scratch::<T>(self.longest_window(), n_rhs);
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
    pieces: Pieces,
    level: Level<'a, T>,
    rows: Rows<'a, T>,
    rhs: Columns<'a, T>,
    /// Whether x is stored past the caches.
    stream: bool,
}

/// Solve the system of a level in one pass. Returns `None`, with arbitrary x, if it must be solved in two.
pub(super) fn solve<T: Scalar>(
    pieces: Pieces,
    (settings, rows): (&Settings<'_>, Rows<'_, T>),
    (rhs, x, gaps): (Columns<'_, T>, ColumnsMut<'_, T>, ColumnsMut<'_, T::Real>),
    n_rhs: usize,
    stack: &mut PodStack,
) -> Option<(CheckResults, bool)> {
    let level = Level { settings, cut: pieces.cut, matrix: LevelMatrix::Scalars(rows), finer: Finer::Caller, n_rhs };
    let stream = 5 * size_of::<T>() * rows.n() > tuning::STREAM_MIN_BYTES;
    let pass = OnePass { pieces, level, rows, rhs, stream };
    let threads = pieces.threads(settings);
    let of_thread = pieces.scratch_of_thread::<T>(settings, n_rhs).unaligned_bytes_required();
    let (scratch, _) = stack.make_raw::<u8>(of_thread * threads);

    let mut window = Window::new(&pass, &mut *scratch);
    if ![0, pieces.count / 2 - 1, pieces.count - 2].into_iter().all(|k| window.decays(&pass, pieces.around_end(k))) {
        return None;
    }
    let share = PiecesShare { pass: &pass, of: 0..pieces.count, x, gaps, scratch };
    let PiecesChecked { mut checks, bad, small, singular, truncated } = share.parallel(threads);
    if singular {
        return None;
    }
    let suspect = small && confirm::may_be_singular(&level, SmallPivotPlace::Partition(threads));
    let scaled = settings.how::<T::Real>().scaling == Scaling::Rows;
    for (check, BadPieces { bound, residual }) in checks.iter_mut().zip(bad) {
        // The row sum of a scaled row is at least 1.
        let of_all = residual / check.x_max;
        let bound = if scaled && of_all <= good::<T>() { of_all } else { bound };
        (check.bound, check.suspect) = (check.bound.max_nan(bound), suspect);
    }
    Some((checks, truncated))
}

/// The result of some pieces.
#[derive(Default)]
struct PiecesChecked {
    /// The checks of all pieces, with the bound of good pieces.
    checks: CheckResults,
    bad: [BadPieces; MAX_RHS],
    /// Whether an equation or a pivot of a partition nearly vanished.
    small: bool,
    /// Whether a coarse system may be singular.
    singular: bool,
    /// Whether all coarse systems were truncated.
    truncated: bool,
}

/// The pieces of a column whose measured error is too large for the unknowns of the piece alone.
///
/// Where the right-hand side is zero, the unknowns of a piece can be far smaller than ‖x‖∞, which is not known yet.
#[derive(Debug, Clone, Copy, Default)]
struct BadPieces {
    /// Largest measured error.
    bound: f64,
    /// Upper bound of the residuals of the scaled rows.
    residual: f64,
}

impl PiecesChecked {
    fn and(mut self, other: Self) -> Self {
        for (bad, other) in self.bad.iter_mut().zip(other.bad) {
            bad.bound = bad.bound.max_nan(other.bound);
            bad.residual = bad.residual.max_nan(other.residual);
        }
        Self {
            checks: merged(self.checks, other.checks),
            bad: self.bad,
            small: self.small | other.small,
            singular: self.singular | other.singular,
            truncated: self.truncated & other.truncated,
        }
    }

    /// The result of one piece with these checks. `x_max` are lower bounds of its largest unknowns.
    fn of_piece<T: Scalar>(mut checks: CheckResults, x_max: [T::Real; MAX_RHS]) -> Self {
        let (mut bad, small) = ([BadPieces::default(); MAX_RHS], checks[0].suspect);
        for ((check, bad), x_max) in checks.iter_mut().zip(&mut bad).zip(x_max) {
            check.x_max = check.x_max.max_nan(x_max.to_f64());
            if !(check.bound <= good::<T>()) {
                *bad = BadPieces { bound: check.bound, residual: check.residual_at_most() };
                check.bound = 0.0;
            }
        }
        Self { checks, bad, small, singular: false, truncated: true }
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
        let mut window = Window::new(pass, scratch);
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
struct Window<'a, T: Scalar> {
    /// The coarse equations of these partitions.
    parts: Range<usize>,
    matrix: [&'a mut [T]; 3],
    rhs: ColumnsMut<'a, T>,
    /// The coarse unknowns of this window and of the one before, each with one more unknown before and after.
    unknowns: [ColumnsMut<'a, T>; 2],
    tiles: &'a mut [T::Real],
    stack: &'a mut PodStack,
}

impl<'a, T: Scalar> Window<'a, T> {
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

    /// Compute x of piece `k`, whose coarse unknowns are those of a window, and remove its places from those to fill.
    fn substitute(
        &mut self,
        pass: &OnePass<'_, T>,
        (k, window): (usize, usize),
        (x, gaps): (&mut ColumnsMut<'_, T>, &mut ColumnsMut<'_, T::Real>),
    ) -> PiecesChecked {
        let OnePass { pieces, level, rhs, stream, .. } = *pass;
        let (parts, places) = (pieces.parts(k), pieces.places(k));
        let coarse = cut_out(&shared(&self.unknowns[window]), places.clone(), level.n_rhs);
        let mut x_max = [T::Real::ZERO; MAX_RHS];
        for (x_max, column) in x_max.iter_mut().zip(coarse).take(level.n_rhs) {
            *x_max = size_below(&column[1..column.len() - 1]);
        }
        let (x, gaps) = (take_front(x, pieces.rows(&parts).len()), take_front(gaps, parts.len()));
        let job = LevelJob::Substitute(Unknowns { coarse, first: parts.start, x_max, stream, gaps, x });
        let checks = Share { level, rhs: Some(rhs), parts, job, memory: &mut *self.tiles }.parallel(1);
        PiecesChecked::of_piece::<T>(checks, x_max)
    }
}

/// Remove the first `n` values from each column.
fn take_front<'a, T>(columns: &mut ColumnsMut<'a, T>, n: usize) -> ColumnsMut<'a, T> {
    let (front, rest) = split_columns(core::mem::take(columns), n);
    *columns = rest;
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Op;
    use crate::contract::measure::backward_error;
    use crate::contract::verify::buffer;
    use crate::matrix::Tridiagonal;
    use crate::methods::rpts::scheme;
    use crate::partition::cut::columns;
    use crate::partition::partitioned::Partitionable;
    use crate::pivoted::testing::{OPS, for_all_scalars};
    use crate::{Method, Plan};
    use bandsolve_gallery::{Random, random_vec};

    const SIZE: usize = 2048;
    const MARGIN: usize = 512;

    fn number<T: Scalar>(v: f64) -> T {
        T::from_real(T::Real::from_f64(v))
    }

    /// A matrix with random entries, plus `dominance` on the diagonal. Rows in `laplace` are −1, 2, −1.
    fn matrix<T: Scalar>(n: usize, dominance: f64, laplace: Range<usize>) -> Tridiagonal<'static, T> {
        let mut random = Random::new(n as u64);
        let [mut sub, mut diag, mut sup] = [n - 1, n, n - 1].map(|len| random_vec::<T>(len, &mut random));
        diag.iter_mut().for_each(|b| *b = *b + number(dominance));
        for i in laplace {
            (sub[i - 1], diag[i], sup[i]) = (number(-1.0), number(2.0), number(-1.0));
        }
        Tridiagonal::from_vecs(sub, diag, sup, false).unwrap()
    }

    /// x in one pass, its checks, and the errors of partitions.
    type Solved<T> = Option<(Vec<T>, CheckResults, Vec<<T as Scalar>::Real>)>;

    fn in_one_pass<T: Scalar>(a: &Tridiagonal<'_, T>, op: Op, rhs: &[T], threads: usize) -> Solved<T> {
        let (plan, n) = (Plan::once(a.shape()).method(Method::Rpts).threads(threads), a.n());
        let settings = Settings::new::<T>(&plan.decision.options, scheme(&plan.decision), None);
        let LevelMatrix::Scalars(rows) = a.level_matrix(op) else { unreachable!() };
        let (cut, n_rhs) = (settings.cut(n), rhs.len() / n);
        let pieces = Pieces::of_rows(&settings, cut, SIZE, MARGIN).unwrap();
        let (mut x, mut gaps) = (vec![T::ZERO; rhs.len()], vec![T::Real::ZERO; n_rhs * cut.partitions()]);
        let mut memory = buffer(pieces.scratch::<T>(&settings, n_rhs)).unwrap();
        let arrays = (columns(rhs, n_rhs), columns_mut(&mut x, n_rhs), columns_mut(&mut gaps, n_rhs));
        let (checks, _) = solve(pieces, (&settings, rows), arrays, n_rhs, PodStack::new(&mut memory))?;
        Some((x, checks, gaps))
    }

    mod generic {
        use super::*;

        /// The error is at most the measured one, also if it is too large. x has the same bits for any number of threads, and for columns
        /// alone and together.
        pub fn errors_are_measured<T: Scalar>() {
            for n in [70_001, 65_536, 66_000, 61_441] {
                for dominance in [0.0, 1.5, 3.0] {
                    let a = matrix::<T>(n, dominance, 1..1);
                    let rhs = random_vec::<T>(4 * n, &mut Random::new(7));
                    for op in OPS {
                        let (x, checks, gaps) = in_one_pass(&a, op, &rhs, 1).expect("entries of the inverse decay");
                        for threads in [2, 3, 7] {
                            let (other, _, other_gaps) = in_one_pass(&a, op, &rhs, threads).unwrap();
                            assert!(x == other && gaps == other_gaps, "{n}, {dominance}, {op:?}, {threads} threads");
                        }
                        for ((rhs, x), check) in rhs.chunks(n).zip(x.chunks(n)).zip(checks) {
                            let eta = backward_error(op.rows(&a), (rhs, x), false);
                            let limit = check.bound + 2.0 * T::Real::EPSILON.to_f64();
                            assert!(eta <= limit, "{n}, {dominance}, {op:?}: {eta:e}, {check:?}");
                            assert!(
                                dominance < 3.0 || check.bound <= good::<T>(),
                                "{n}, {dominance}, {op:?}: {check:?}"
                            );
                            assert_eq!(in_one_pass(&a, op, rhs, 1).unwrap().0, x, "{n}, {dominance}, {op:?}");
                        }
                    }
                }
            }
        }

        /// Where the right-hand side is zero, x is far smaller than its norm, and the residuals of these pieces do not matter.
        pub fn sources_at_one_place<T: Scalar>() {
            let n = 70_001;
            let a = matrix::<T>(n, 4.0, 1..1);
            for place in [0, 33_333, 8 * SIZE - 1, 8 * SIZE, n - 1] {
                let mut rhs = vec![T::ZERO; n];
                rhs[place] = T::ONE;
                let (x, [check, ..], _) = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
                assert!(check.bound <= good::<T>(), "{place}: {check:?}");
                assert!(backward_error(Op::Plain.rows(&a), (&rhs, &x), false) <= 2.0 * good::<T>());
            }
        }
    }
    for_all_scalars!(errors_are_measured);
    for_all_scalars!(sources_at_one_place);

    /// Two passes are needed if the entries of the inverse do not decay. If the test misses this, the measured error shows it.
    #[test]
    fn inverses_that_do_not_decay() {
        let n = 70_001;
        let rhs = random_vec::<f64>(n, &mut Random::new(7));
        for laplace in [1..n - 1, n / 2 - 4 * SIZE..n / 2 + 4 * SIZE] {
            assert!(in_one_pass(&matrix(n, 0.0, laplace), Op::Plain, &rhs, 2).is_none());
        }
        let a = matrix(n, 0.0, n / 4 - 2 * SIZE..n / 4 + 2 * SIZE);
        let (x, [check, ..], gaps) = in_one_pass(&a, Op::Plain, &rhs, 2).unwrap();
        let eta = backward_error(Op::Plain.rows(&a), (&rhs, &x), false);
        assert!(eta > good::<f64>() && eta <= check.bound * (1.0 + 1e-6), "{eta:e}, {check:?}");
        let worst = gaps.iter().fold(0.0, |worst, gap| f64::max(worst, bandsolve_kernel::sweep::bound::<f64>(*gap)));
        assert_eq!(worst, check.bound);
    }

    #[test]
    fn singular_and_infinite_systems_are_noticed() {
        let n = 70_001;
        let rhs = random_vec::<f64>(n, &mut Random::new(7));
        let noticed = |a: &Tridiagonal<'_, f64>, rhs: &[f64]| {
            in_one_pass(a, Op::Plain, rhs, 2)
                .is_none_or(|(_, [check, ..], _)| check.suspect || !check.bound.is_finite())
        };
        for row in [1, 1000, 4 * SIZE - 1, 4 * SIZE, 50_000, n - 2] {
            let [mut sub, mut diag, mut sup] = [n - 1, n, n - 1].map(|len| vec![1.0; len]);
            diag.fill(4.0);
            let healthy = Tridiagonal::new(&sub, &diag, &sup).unwrap();
            assert!(!noticed(&healthy, &rhs));
            let mut wrong = rhs.clone();
            wrong[row] = f64::NAN;
            assert!(noticed(&healthy, &wrong), "{row}");
            (sup[row - 1], diag[row], sub[row]) = (0.0, 0.0, 0.0);
            assert!(noticed(&Tridiagonal::new(&sub, &diag, &sup).unwrap(), &rhs), "{row}");
        }
    }

    #[test]
    fn pieces_cover_every_partition_once() {
        let plan = Plan::once(crate::Shape::Tridiagonal { n: 1000, periodic: false }).threads(1);
        for n in (60_000..60_300).chain([1 << 20, (1 << 20) + 1]) {
            let settings = Settings::new::<f64>(&plan.decision.options, scheme(&plan.decision), None);
            let cut = settings.cut(n);
            let pieces = Pieces::of_rows(&settings, cut, SIZE, MARGIN).unwrap();
            let mut next = 0;
            for k in 0..pieces.count {
                let (parts, window) = (pieces.parts(k), pieces.window(k));
                assert!(
                    parts.start == next
                        && parts.len() < 2 * pieces.size + 1
                        && window.len() * 2 <= pieces.longest_window()
                );
                assert!(k == 0 || pieces.rows(&pieces.around_end(k - 1)).len() >= 2 * MARGIN);
                next = parts.end;
            }
            assert_eq!(next, cut.partitions());
        }
        assert!(
            Pieces::new::<f64>(
                &Settings::new::<f64>(&plan.decision.options, scheme(&plan.decision), None),
                Cut::new(1000, 32, 2)
            )
            .is_none()
        );
    }
}
