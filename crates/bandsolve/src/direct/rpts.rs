//! Recursive partitioned Schur complement: one large tridiagonal system on SIMD lanes and threads.
//!
//! The rows are cut into partitions of m rows. `reduce` eliminates the inside of each from both ends, with pivoting,
//! until two equations between first and last unknowns of neighbouring partitions are left; these are again a tridiagonal
//! system, 2/m as large, solved the same way; `substitute` repeats the elimination, now with known ends, and substitutes
//! back, forming the residual of every row on the way. Nothing of the elimination is stored between the two: reading the
//! matrix a second time costs less than reading factors would.
//!
//! Per row and right-hand side: reads 4 + 4 words, writes 1; 3 reciprocals (two of them share a division).
//!
//! Source: C. Klein, dissertation, sections 2.5 and 2.6, Algorithms 1 and 2.
//!
//! Beyond the source: scaled partial pivoting by scaling the rows with powers of two as they are staged, so that pivots
//! depend on original row sizes only and are the same in both steps, and nothing overflows; spikes cannot decay into
//! subnormal numbers; the last stage is a single partition and a pivoted 2×2 system, periodic or not.

use super::pivoted::PivotedTridiagonal;
use super::repair::Repair;
use super::verify::{self, Report, good};
use super::{Factor, Op};
use crate::error::{Error, Result, check_len};
use crate::kernel::Simd;
use crate::kernel::sweep::{Found, MAX_RHS, Pivots};
use crate::kernel::tile::{self, Ahead, Columns, Group, Scaling, Size, Window};
use crate::matrix::{Rows, Shape, Tridiagonal};
use crate::plan::{Options, Pivoting, Plan};
use crate::scalar::{RealScalar, Scalar};
use crate::tuning;
use core::ops::Range;
use dyn_stack::{PodBuffer, PodStack, StackReq};
use std::sync::OnceLock;

/// How one level is cut: `full` partitions of `m` rows, then one of `tail` rows (0: none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    m: usize,
    full: usize,
    tail: usize,
}

impl Cut {
    /// Cuts `n ≥ 2` rows. No partition has fewer than two rows: a single one that is left over joins the last.
    fn new(n: usize, m: usize) -> Self {
        match (n / m, n % m) {
            (full, 0) => Self { m, full, tail: 0 },
            (full, 1) => Self { m, full: full - 1, tail: m + 1 },
            (full, tail) => Self { m, full, tail },
        }
    }

    fn partitions(&self) -> usize {
        self.full + usize::from(self.tail > 0)
    }

    /// Rows of the coarse system.
    fn coarse(&self) -> usize {
        2 * self.partitions()
    }

    /// First row of partition `p`.
    fn start(&self, p: usize) -> usize {
        p * self.m
    }

    fn rows(&self) -> usize {
        self.full * self.m + self.tail
    }
}

/// What is fixed during a solve.
#[derive(Debug, Clone, Copy)]
struct Settings {
    pivoting: Pivoting,
    noise: f64,
    threads: usize,
    simd: Simd,
    partition_rows: Option<usize>,
}

impl Settings {
    fn new(options: &Options) -> Self {
        Self {
            pivoting: options.pivoting,
            noise: options.noise_threshold,
            threads: options.threads,
            simd: options.sweep_simd(),
            partition_rows: options.partition_rows,
        }
    }

    /// How a level of `n` rows is cut; small ones are a single partition, which ends the recursion.
    fn cut(&self, n: usize) -> Cut {
        let m = self.partition_rows.unwrap_or_else(|| tuning::partition_rows(n));
        let single = n <= tuning::LAST_LEVEL_MAX_N.max(m);
        Cut::new(n, if single { n } else { m })
    }

    fn pivots<X: RealScalar>(&self) -> Pivots<X> {
        Pivots { fixed: self.pivoting == Pivoting::None, noise: X::from_f64(self.noise) }
    }

    fn scaling(&self) -> Scaling {
        if self.pivoting == Pivoting::ScaledPartial { Scaling::Rows } else { Scaling::Partition }
    }

    /// Threads worth waking for `n` rows.
    fn threads_for(&self, n: usize) -> usize {
        self.threads.min(n / tuning::MIN_ROWS_PER_THREAD).max(1)
    }

    /// Longest partition of any level.
    fn longest(&self, n: usize) -> usize {
        let cut = self.cut(n);
        let own = cut.tail.max(if cut.full > 0 { cut.m } else { 0 });
        if cut.coarse() == 2 { own } else { own.max(self.longest(cut.coarse())) }
    }

    /// Reals of tile memory for all threads.
    fn tile_memory<T: Scalar>(&self, n: usize, n_rhs: usize) -> usize {
        let one = Size::of::<T>(self.simd, n_rhs).memory::<T>(self.longest(n), n_rhs);
        one * self.threads_for(n)
    }
}

/// One level of the recursion: a system and how it is cut.
#[derive(Clone, Copy)]
struct Level<'a, T> {
    settings: &'a Settings,
    cut: Cut,
    rows: Rows<'a, T>,
    n_rhs: usize,
    size: Size,
    /// When a solution is corrected: the old one at first and last row of every partition.
    old_ends: Option<Columns<'a, T>>,
}

impl<T: Scalar> Level<'_, T> {
    /// The group of partitions from `part` on: how many, and of how many rows.
    fn group(&self, part: usize, end: usize) -> (usize, usize) {
        if part < self.cut.full {
            ((end.min(self.cut.full) - part).min(self.size.partitions()), self.cut.m)
        } else {
            (1, self.cut.tail)
        }
    }

    /// Number of the group that begins with partition `part`: the full ones, then the one that is left over.
    fn group_index(&self, part: usize) -> usize {
        let full = self.cut.full.div_ceil(self.size.partitions());
        if part < self.cut.full { part / self.size.partitions() } else { full }
    }

    /// Rows of tile `p` of a group.
    fn window(&self, part: usize, count: usize, m: usize, p: usize) -> Window {
        let lanes = self.size.lanes;
        Window { first: self.cut.start(part + p * lanes), m, lanes: count.saturating_sub(p * lanes).min(lanes) }
    }

    /// Prefetches `rows` rows of every array from partition `part` on, spread over `steps`.
    fn ahead(&self, rhs: Option<&[T]>, part: usize, rows: usize, steps: usize) -> Ahead {
        if self.rows.n() * size_of::<T>() < tuning::PREFETCH_MIN_BYTES {
            return Ahead::nothing();
        }
        let next = self.cut.start(part);
        let at = |a: &[T]| a.as_ptr().wrapping_add(next).cast::<u8>();
        let diag = at(self.rows.diag);
        Ahead::new([at(self.rows.sub), diag, at(self.rows.sup), rhs.map_or(diag, at)], rows * size_of::<T>(), steps)
    }

    /// Entry of a coarse column before (`offset = -1`), at (0, 1) or after (2) partition `part`; 0 beyond an open end.
    #[inline]
    fn around(&self, column: &[T], part: usize, offset: isize) -> T {
        let i = (2 * part).wrapping_add_signed(offset);
        match column.get(i) {
            Some(x) => *x,
            None if self.rows.periodic => column[if offset < 0 { column.len() - 1 } else { 0 }],
            None => T::ZERO,
        }
    }

    /// Puts the unknowns of coarse column `r` around `count` partitions from `part` on into tile `p`.
    fn set_boundaries(&self, group: &mut Group<T>, p: usize, r: usize, coarse: &[T], (part, count): (usize, usize)) {
        let lanes = self.size.lanes;
        if count == lanes && part > 0 && 2 * (part + lanes) < coarse.len() {
            return group.set_boundaries(p, r, &coarse[2 * part - 1..2 * (part + lanes) + 1]);
        }
        for lane in 0..lanes {
            let at = |offset| self.around(coarse, part + if lane < count { lane } else { 0 }, offset);
            group.set_boundary(p, lane, r, [at(-1), at(0), at(1), at(2)]);
        }
    }

    /// Subtracts A·x of the old solution from the right-hand sides of a staged tile.
    fn form_residual(&self, group: &mut Group<T>, p: usize, x: Columns<T>, window: Window, part: usize) {
        if let Some(ends) = self.old_ends {
            let first = part + p * self.size.lanes;
            group.form_residual(p, x, window, |r, lane| {
                [self.around(ends[r], first + lane, -1), self.around(ends[r], first + lane, 2)]
            });
        }
    }
}

/// Solutions, a slice a column; only the first few are used.
type ColumnsMut<'a, T> = [&'a mut [T]; MAX_RHS];

fn columns<T>(all: &[T], n_rhs: usize) -> Columns<'_, T> {
    let n = all.len() / n_rhs;
    core::array::from_fn(|r| if r < n_rhs { &all[r * n..(r + 1) * n] } else { &[] })
}

fn columns_mut<T>(all: &mut [T], n_rhs: usize) -> ColumnsMut<'_, T> {
    let n = all.len() / n_rhs;
    let mut rest = all.chunks_exact_mut(n.max(1));
    core::array::from_fn(|_| rest.next().unwrap_or_default())
}

fn shared<'a, T>(columns: &'a ColumnsMut<'_, T>) -> Columns<'a, T> {
    let [a, b, c, d] = columns;
    [a, b, c, d]
}

fn reborrow<'a, T>(columns: &'a mut ColumnsMut<'_, T>) -> ColumnsMut<'a, T> {
    columns.each_mut().map(|c| &mut **c)
}

fn split_columns<'a, T>(columns: ColumnsMut<'a, T>, mid: usize) -> (ColumnsMut<'a, T>, ColumnsMut<'a, T>) {
    let mut tails: ColumnsMut<'a, T> = Default::default();
    let mut tail = tails.iter_mut();
    let heads = columns.map(|column| {
        let (a, b) = column.split_at_mut(mid.min(column.len()));
        *tail.next().expect("as many tails as columns") = b;
        a
    });
    (heads, tails)
}

/// The part of each column that stands in a window; `base` is the row at which the columns begin.
fn cut_out<'a, T>(columns: &Columns<'a, T>, window: Window, base: usize, n_rhs: usize) -> Columns<'a, T> {
    let span = window.span();
    let mut cut: Columns<'a, T> = [&[]; MAX_RHS];
    for r in 0..n_rhs {
        cut[r] = &columns[r][span.start - base..span.end - base];
    }
    cut
}

/// Where to cut `parts` so that each half gets whole groups and its share of threads.
fn middle(parts: &Range<usize>, group: usize, threads: usize) -> usize {
    let groups = parts.len().div_ceil(group);
    (parts.start + groups * (threads / 2) / threads * group).min(parts.end)
}

/// One thread's share of `reduce`: the equations of partitions `parts`.
struct Reduce<'a, T: Scalar> {
    level: Level<'a, T>,
    rhs: Columns<'a, T>,
    /// The old solution, when one is corrected.
    old: Columns<'a, T>,
    parts: Range<usize>,
    out: Coarse<'a, T>,
    memory: &'a mut [T::Real],
}

/// Rows of the coarse system, two a partition.
struct Coarse<'a, T> {
    sub: &'a mut [T],
    diag: &'a mut [T],
    sup: &'a mut [T],
    rhs: ColumnsMut<'a, T>,
}

impl<T> Coarse<'_, T> {
    fn split_at(self, mid: usize) -> (Self, Self) {
        let (sub, sub2) = self.sub.split_at_mut(mid);
        let (diag, diag2) = self.diag.split_at_mut(mid);
        let (sup, sup2) = self.sup.split_at_mut(mid);
        let (rhs, rhs2) = split_columns(self.rhs, mid);
        (Self { sub, diag, sup, rhs }, Self { sub: sub2, diag: diag2, sup: sup2, rhs: rhs2 })
    }
}

impl<T: Scalar> Reduce<'_, T> {
    fn parallel(mut self, threads: usize) {
        let group = self.level.size.partitions();
        if threads <= 1 || self.parts.len() <= group {
            return self.run();
        }
        let mid = middle(&self.parts, group, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let out = self.out.split_at(2 * (mid - self.parts.start));
        let left = Reduce { parts: self.parts.start..mid, out: out.0, memory: memory.0, ..self };
        let right = Reduce { parts: mid..self.parts.end, out: out.1, memory: memory.1, ..self };
        rayon::join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
    }

    fn run(&mut self) {
        let mut part = self.parts.start;
        while part < self.parts.end {
            let (count, m) = self.level.group(part, self.parts.end);
            self.group(part, count, m);
            part += count;
        }
    }

    /// Partitions `part .. part + count` of `m` rows.
    fn group(&mut self, part: usize, count: usize, m: usize) {
        let level = &self.level;
        let settings = level.settings;
        let mut group = Group::<T>::new(settings.simd, count, m, level.n_rhs, self.memory);
        let Size { lanes, tiles } = group.size();
        for p in 0..tiles {
            let window = level.window(part, count, m, p);
            group.stage(p, &level.rows, cut_out(&self.rhs, window, 0, level.n_rhs), window, settings.scaling());
            if level.old_ends.is_some() {
                level.form_residual(&mut group, p, cut_out(&self.old, window, 0, level.n_rhs), window, part);
            }
        }
        group.reduce(settings.pivots(), &level.ahead(Some(self.rhs[0]), part + count, count * m, m - 2));
        for p in 0..tiles {
            let first = 2 * (part + p * lanes - self.parts.start);
            let rows = first..first + 2 * level.window(part, count, m, p).lanes;
            group.write_equations(p, 0, &mut self.out.sub[rows.clone()]);
            group.write_equations(p, 1, &mut self.out.diag[rows.clone()]);
            group.write_equations(p, 2, &mut self.out.sup[rows.clone()]);
            for r in 0..level.n_rhs {
                group.write_equations(p, 3 + r, &mut self.out.rhs[r][rows.clone()]);
            }
        }
    }
}

/// What verification found of each column.
type Findings = [Found; MAX_RHS];

fn both(mut a: Findings, b: Findings) -> Findings {
    for r in 0..MAX_RHS {
        a[r] = a[r].and(b[r]);
    }
    a
}

/// One thread's share of `substitute`: the unknowns of partitions `parts`.
struct Substitute<'a, T: Scalar> {
    level: Level<'a, T>,
    /// Right-hand sides of the whole level; `None`: they stand in `x`.
    rhs: Option<Columns<'a, T>>,
    /// Solution of the coarse system, and lower bounds of ‖x‖∞.
    coarse: Columns<'a, T>,
    x_max: [T::Real; MAX_RHS],
    stream: bool,
    /// Room for the bound of every group and column of `parts`; empty: nothing is verified.
    bounds: &'a mut [f64],
    parts: Range<usize>,
    /// x at the rows of `parts`.
    x: ColumnsMut<'a, T>,
    memory: &'a mut [T::Real],
}

impl<T: Scalar> Substitute<'_, T> {
    fn parallel(mut self, threads: usize) -> Findings {
        let group = self.level.size.partitions();
        if threads <= 1 || self.parts.len() <= group {
            return self.run();
        }
        let mid = middle(&self.parts, group, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let x = split_columns(self.x, (mid - self.parts.start) * self.level.cut.m);
        let groups = (mid - self.parts.start) / group * self.level.n_rhs;
        let bounds = self.bounds.split_at_mut(groups.min(self.bounds.len()));
        let left = Substitute { parts: self.parts.start..mid, x: x.0, bounds: bounds.0, memory: memory.0, ..self };
        let right = Substitute { parts: mid..self.parts.end, x: x.1, bounds: bounds.1, memory: memory.1, ..self };
        let (a, b) = rayon::join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        both(a, b)
    }

    fn run(&mut self) -> Findings {
        let mut found = Findings::default();
        let mut part = self.parts.start;
        while part < self.parts.end {
            let (count, m) = self.level.group(part, self.parts.end);
            found = both(found, self.group(part, count, m));
            part += count;
        }
        if self.stream {
            tile::fence();
        }
        found
    }

    /// Partitions `part .. part + count` of `m` rows.
    fn group(&mut self, part: usize, count: usize, m: usize) -> Findings {
        let level = &self.level;
        let settings = level.settings;
        let base = level.cut.start(self.parts.start);
        let mut group = Group::<T>::new(settings.simd, count, m, level.n_rhs, self.memory);
        let Size { lanes, tiles } = group.size();
        for p in 0..tiles {
            let window = level.window(part, count, m, p);
            let x = cut_out(&shared(&self.x), window, base, level.n_rhs);
            let rhs = self.rhs.map_or(x, |rhs| cut_out(&rhs, window, 0, level.n_rhs));
            group.stage(p, &level.rows, rhs, window, settings.scaling());
            level.form_residual(&mut group, p, x, window, part);
            for r in 0..level.n_rhs {
                level.set_boundaries(&mut group, p, r, self.coarse[r], (part + p * lanes, window.lanes));
            }
        }
        let ahead = level.ahead(self.rhs.map(|rhs| rhs[0]), part + count, count * m, m.saturating_sub(3));
        let verify = !self.bounds.is_empty();
        group.substitute(settings.pivots(), self.x_max, verify, &ahead);
        for p in 0..tiles {
            let window = level.window(part, count, m, p);
            let span = window.span();
            if level.old_ends.is_some() {
                group.add_old(p);
            }
            for r in 0..level.n_rhs {
                let out = &mut self.x[r][span.start - base..span.end - base];
                group.write_back(p, r, window, self.stream, out);
            }
        }
        let mut found = Findings::default();
        if verify {
            let index = level.group_index(part) - level.group_index(self.parts.start);
            for r in 0..level.n_rhs {
                found[r] = group.check(r);
                self.bounds[index * level.n_rhs + r] = found[r].bound;
            }
        }
        found
    }
}

/// What one level is asked to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    /// Solve.
    Solve,
    /// Solve and measure the backward error.
    Verify,
    /// Add the solution for the residual to the approximation that stands in x.
    Correct,
}

/// Solves the system of one level for `n_rhs` right-hand sides, which stand in `rhs` or, if that is `None`, in `x`.
/// Returns what verification found, and writes it for every group of partitions and column to `bounds`.
fn solve_level<T: Scalar>(
    settings: &Settings,
    (task, n_rhs): (Task, usize),
    rows: Rows<'_, T>,
    rhs: Option<Columns<'_, T>>,
    x: ColumnsMut<'_, T>,
    bounds: &mut [f64],
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> Findings {
    let cut = settings.cut(rows.n());
    let n = cut.coarse();
    let threads = settings.threads_for(rows.n());
    let correct = task == Task::Correct;
    let (sub, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (diag, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (sup, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (coarse, stack) = stack.make_aligned_raw::<T>(n_rhs * n, ALIGN);
    let (ends, stack) = stack.make_aligned_raw::<T>(if correct { n_rhs * n } else { 0 }, ALIGN);
    let mut coarse = columns_mut(coarse, n_rhs);
    let mut ends = columns_mut(ends, n_rhs);
    if correct {
        x.iter().zip(&mut ends).take(n_rhs).for_each(|(x, ends)| copy_ends(&cut, x, ends));
    }
    let size = Size::of::<T>(settings.simd, n_rhs);
    let level = Level { settings, cut, rows, n_rhs, size, old_ends: correct.then(|| shared(&ends)) };
    let parts = 0..cut.partitions();

    let out = Coarse { sub: &mut *sub, diag: &mut *diag, sup: &mut *sup, rhs: reborrow(&mut coarse) };
    let old = shared(&x);
    Reduce { level, rhs: rhs.unwrap_or(old), old, parts: parts.clone(), out, memory: &mut *memory }.parallel(threads);

    let coarse_rows = Rows {
        sub: &sub[1..],
        diag,
        sup: &sup[..n - 1],
        first: if rows.periodic { sub[0] } else { T::ZERO },
        last: if rows.periodic { sup[n - 1] } else { T::ZERO },
        periodic: rows.periodic,
        conj: false,
    };
    if n == 2 {
        coarse.iter_mut().take(n_rhs).for_each(|rhs| solve_two(&coarse_rows, rhs));
    } else {
        let x = reborrow(&mut coarse);
        solve_level(settings, (Task::Solve, n_rhs), coarse_rows, None, x, &mut [], (&mut *memory, stack));
    }

    let verify = task == Task::Verify;
    let x_max = core::array::from_fn(|r| if verify { size_below(coarse[r]) } else { T::Real::ZERO });
    let stream = 5 * size_of::<T>() * rows.n() > tuning::STREAM_MIN_BYTES;
    let mut found =
        Substitute { level, rhs, coarse: shared(&coarse), x_max, stream, bounds, parts, x, memory }.parallel(threads);
    for (found, x_max) in found.iter_mut().zip(x_max) {
        found.x_max = found.x_max.max_nan(x_max.to_f64());
    }
    found
}

/// Groups of partitions of a system of `n` rows.
fn groups(settings: &Settings, size: Size, n: usize) -> usize {
    let cut = settings.cut(n);
    cut.full.div_ceil(size.partitions()) + usize::from(cut.tail > 0)
}

/// Scratch of [`solve_level`] for `n` rows, without tile memory.
fn level_scratch<T: Scalar>(settings: &Settings, n: usize, n_rhs: usize) -> StackReq {
    let coarse = settings.cut(n).coarse();
    let (one, all) = (StackReq::new_aligned::<T>(coarse, ALIGN), StackReq::new_aligned::<T>(n_rhs * coarse, ALIGN));
    let below = if coarse == 2 { StackReq::empty() } else { level_scratch::<T>(settings, coarse, n_rhs) };
    StackReq::all_of(&[one, one, one, all, all, below])
}

const ALIGN: usize = 64;

/// First and last entry of every partition.
fn copy_ends<T: Scalar>(cut: &Cut, x: &[T], ends: &mut [T]) {
    for p in 0..cut.partitions() {
        let last = if p < cut.full { cut.start(p + 1) - 1 } else { cut.rows() - 1 };
        (ends[2 * p], ends[2 * p + 1]) = (x[cut.start(p)], x[last]);
    }
}

/// A cheap lower bound of the largest modulus.
fn size_below<T: Scalar>(x: &[T]) -> T::Real {
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    x.iter().fold(T::Real::ZERO, |max, x| larger(larger(max, Scalar::abs1(x.re())), Scalar::abs1(x.im())))
}

/// Two unknowns, by elimination with scaled pivoting. A singular system gives values that are not finite.
fn solve_two<T: Scalar>(rows: &Rows<T>, rhs: &mut [T]) {
    // A periodic system of two has its corner in the same place as the off-diagonal.
    let row = |i: usize| {
        let (left, own, right) = rows.row(i);
        let other = left + right;
        let scale = Scalar::abs1(own).max_nan(Scalar::abs1(other)).equilibrate();
        (own.scale(scale), other.scale(scale), rhs[i].scale(scale))
    };
    let ((b0, c0, d0), (b1, a1, d1)) = (row(0), row(1));
    // The first column is eliminated from the row with the larger entry there.
    let (pivot, other) =
        if Scalar::abs1(b0) >= Scalar::abs1(a1) { ((b0, c0, d0), (a1, b1, d1)) } else { ((a1, b1, d1), (b0, c0, d0)) };
    let ratio = other.0 / pivot.0;
    rhs[1] = (other.2 - ratio * pivot.2) / (other.1 - ratio * pivot.1);
    rhs[0] = (pivot.2 - pivot.1 * rhs[1]) / pivot.0;
}

/// A tridiagonal matrix ready to be solved by partitions. Holds no factors: they are recomputed in cache.
#[derive(Debug)]
pub struct Rpts<'m, T: Scalar> {
    a: Tridiagonal<'m, T>,
    plan: Plan,
    /// Factors of A, made when an answer first had to be repaired.
    fallback: OnceLock<Result<PivotedTridiagonal<'m, T>>>,
}

impl<'m, T: Scalar> Rpts<'m, T> {
    /// Takes `a`; reads no numbers.
    pub(crate) fn new(plan: &Plan, a: Tridiagonal<'m, T>) -> Self {
        Self { a, plan: plan.clone(), fallback: OnceLock::new() }
    }

    /// Solves for a few columns together and repairs those that are not good enough.
    fn solve_columns(
        &self,
        op: Op,
        (rhs, n_rhs): (&[T], usize),
        x: &mut [T],
        outcome: &mut Report,
        stack: &mut PodStack,
    ) -> Result<()> {
        let settings = Settings::new(&self.plan.options);
        let (n, rows) = (self.a.n(), op.rows(&self.a));
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(n, n_rhs), ALIGN);
        let task = if self.plan.options.verify { Task::Verify } else { Task::Solve };
        let size = Size::of::<T>(settings.simd, n_rhs);
        let groups = if task == Task::Verify { groups(&settings, size, n) } else { 0 };
        let (bounds, stack) = stack.make_raw::<f64>(groups * n_rhs);
        let (rhs_columns, x_columns) = (columns(rhs, n_rhs), columns_mut(x, n_rhs));
        let work = (&mut *memory, &mut *stack);
        let found = solve_level(&settings, (task, n_rhs), rows, Some(rhs_columns), x_columns, bounds, work);
        if task == Task::Solve {
            return Ok(());
        }
        for (r, found) in found.into_iter().enumerate().take(n_rhs) {
            let column = r * n..(r + 1) * n;
            let (rhs, x) = (&rhs[column.clone()], &mut x[column]);
            let bounds = bounds.iter().skip(r).step_by(n_rhs).copied();
            let (error, steps) = if found.looks_singular::<T::Real>() && !is_zero(rhs, x) {
                (f64::NAN, 0)
            } else {
                mend(&settings, size, rows, (rhs, &mut *x), found, bounds)
                    .unwrap_or_else(|| refine(&settings, rows, rhs, x, (&mut *memory, &mut *stack)))
            };
            outcome.refinement_steps = outcome.refinement_steps.max(steps);
            let error = if error <= good::<T>() { error } else { self.fall_back(op, (rhs, r * n), x, outcome)? };
            outcome.push(error);
        }
        Ok(())
    }

    /// Solves one column, which begins at `offset` of the caller's array, by the sequential method.
    fn fall_back(&self, op: Op, (rhs, offset): (&[T], usize), x: &mut [T], outcome: &mut Report) -> Result<f64> {
        let factor = self.fallback.get_or_init(|| {
            PivotedTridiagonal::new(&self.plan.clone().pivoting(Pivoting::ScaledPartial), self.a.clone())
        });
        let factor = factor.as_ref().map_err(Clone::clone)?;
        outcome.fallback = true;
        let scratch = factor.solve_scratch(1);
        let mut memory = PodBuffer::try_new(scratch)
            .map_err(|_| Error::OutOfMemory { bytes: scratch.unaligned_bytes_required() })?;
        let result = factor.solve_into_with(op, rhs, x, PodStack::new(&mut memory));
        let report = result.map_err(|error| match error {
            Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + offset },
            other => other,
        })?;
        outcome.refinement_steps = outcome.refinement_steps.max(report.refinement_steps);
        Ok(report.backward_error)
    }
}

/// A zero right-hand side with the zero solution, which needs no further look (but is no proof of regularity).
fn is_zero<T: Scalar>(rhs: &[T], x: &[T]) -> bool {
    rhs.iter().chain(x).all(|v| *v == T::ZERO)
}

/// Accepts x if all is good, else mends the groups of partitions that are not, if they are few. Returns the error and
/// the refinement steps (1 if something was mended), `None` if the whole system has to be refined.
fn mend<T: Scalar>(
    settings: &Settings,
    size: Size,
    rows: Rows<'_, T>,
    (rhs, x): (&[T], &mut [T]),
    found: Found,
    bounds: impl ExactSizeIterator<Item = f64> + Clone,
) -> Option<(f64, usize)> {
    let goal = good::<T>();
    if found.bound <= goal {
        return Some((found.bound, 0));
    }
    let bad = bounds.clone().filter(|bound| !(*bound <= goal)).count();
    if !found.bound.is_finite() || bad > bounds.len() / tuning::MEND_ONE_OF + 1 {
        return None;
    }
    let cut = settings.cut(rows.n());
    // A little less, because mending may change the largest x.
    let x_max = T::Real::from_f64(found.x_max * 0.999);
    let mut repair = Repair { rows, rhs, x, x_max, goal, largest_changed: false };
    let mut worst: f64 = 0.0;
    for (g, bound) in bounds.enumerate() {
        if bound <= goal {
            worst = worst.max(bound);
            continue;
        }
        let first = (g * size.partitions()).min(cut.full);
        let last = if first < cut.full { (first + size.partitions()).min(cut.full) } else { cut.partitions() };
        let end = if last > cut.full { cut.rows() } else { cut.start(last) };
        worst = worst.max(repair.mend(cut.start(first)..end)?);
    }
    // Errors were measured against the largest x there was. If that was among the mended, nothing is known yet.
    (!repair.largest_changed).then_some((worst, 1))
}

/// Corrects x until its backward error is good. Returns the error and the steps.
fn refine<T: Scalar>(
    settings: &Settings,
    rows: Rows<'_, T>,
    rhs: &[T],
    x: &mut [T],
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (f64, usize) {
    let mut error = verify::backward_error(rows, rhs, x);
    for step in 0..verify::MAX_REFINEMENTS {
        if error <= good::<T>() || !error.is_finite() {
            return (error, step);
        }
        let work = (&mut *memory, &mut *stack);
        solve_level(settings, (Task::Correct, 1), rows, Some(columns(rhs, 1)), columns_mut(x, 1), &mut [], work);
        error = verify::backward_error(rows, rhs, x);
    }
    (error, verify::MAX_REFINEMENTS)
}

impl<T: Scalar> Factor<T> for Rpts<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let (settings, n) = (Settings::new(&self.plan.options), self.a.n());
        if n < 2 {
            return StackReq::empty();
        }
        let together = if n_rhs >= MAX_RHS { MAX_RHS } else { 1 };
        // The columns that are left over are solved one by one, with tiles of another size.
        let memory = settings.tile_memory::<T>(n, together).max(settings.tile_memory::<T>(n, 1));
        let bounds = |n_rhs: usize| n_rhs * groups(&settings, Size::of::<T>(settings.simd, n_rhs), n);
        StackReq::new_aligned::<T::Real>(memory, ALIGN)
            .and(StackReq::new::<f64>(bounds(together).max(bounds(1))))
            .and(level_scratch::<T>(&settings, n, together))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let n = self.a.n();
        let mut outcome = Report::new(&self.plan);
        if n == 1 {
            for (i, (rhs, x)) in rhs.chunks_exact(1).zip(x.chunks_exact_mut(1)).enumerate() {
                let error = self.fall_back(op, (rhs, i), x, &mut outcome)?;
                if self.plan.options.verify {
                    outcome.push(error);
                }
            }
            outcome.fallback = outcome.backward_error > good::<T>();
        }
        let (mut done, together) = (0, MAX_RHS * n);
        while n > 1 && done < rhs.len() {
            let (len, n_rhs) = if rhs.len() - done >= together { (together, MAX_RHS) } else { (n, 1) };
            let span = done..done + len;
            let solved = self.solve_columns(op, (&rhs[span.clone()], n_rhs), &mut x[span], &mut outcome, stack);
            solved.map_err(|error| match error {
                Error::NotFinite { array: "rhs", index } => Error::NotFinite { array: "rhs", index: index + done },
                other => other,
            })?;
            done += len;
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_every_row_once() {
        for n in 2..200 {
            for m in 3..40 {
                let cut = Cut::new(n, m.min(n));
                assert_eq!(cut.rows(), n);
                assert!(cut.tail == 0 || (2..=m + 1).contains(&cut.tail));
                assert_eq!(cut.coarse(), 2 * cut.partitions());
            }
        }
    }

    #[test]
    fn extra_memory_stays_below_twelve_percent() {
        for n in [1 << 18, 1_000_003] {
            let a = Tridiagonal::from_vecs(vec![0.0; n], vec![1.0; n], vec![0.0; n], false).unwrap();
            let plan = Plan::new(a.shape()).method(crate::Method::Rpts).threads(2);
            let system = 4 * n * size_of::<f64>();
            assert!(Rpts::new(&plan, a.view()).solve_scratch(1).size_bytes() * 100 < 12 * system);
        }
    }
}
