//! One large tridiagonal system by partitions, on SIMD lanes and threads: what RPTS and the SPIKE methods share.
//!
//! The rows are cut into partitions of m rows. `reduce` eliminates the inside of each from both ends until two equations
//! between first and last unknowns of neighbouring partitions are left; these are again a tridiagonal system, 2/m as large,
//! solved the same way (or, where partitions hardly feel each other, cut into systems of two); `substitute` repeats the
//! elimination, now with known ends, and substitutes back, forming the residual of every row on the way. Nothing of the
//! elimination is stored between the two: reading the matrix a second time costs less than reading factors would.
//!
//! The methods differ in a [`Scheme`]: what eliminates inside a partition in `substitute`, and how the coarse system is
//! solved. `reduce` is the same for all: it divides nothing and chooses no pivots, because any choice gives the same
//! equation up to a factor.
//!
//! Per row and right-hand side: reads 4 + 4 words, writes 1; 1 reciprocal.
//!
//! Beyond the sources: rows are scaled with powers of two as they are staged; spikes cannot decay into subnormal numbers;
//! small coarse systems are solved row by row, periodic ones recursively down to 2×2. SPIKE keeps the last unknown of a
//! partition and the first of the next as interface, not spikes in terms of them: equations stay valid where a partition is
//! singular, and there is nothing to normalise.

use super::pivoted::PivotedTridiagonal;
use super::repair::{LONGEST, Repair, solve_window};
use super::stored::pivoted_fallback;
use super::truncation;
use super::verify::{self, Facts, Lazy, Report, good};
use super::{Factor, Op};
use crate::error::{Result, check_len};
use crate::kernel::Simd;
use crate::kernel::run::{self, Columns, ColumnsMut, How, Span, Target, Workspace};
use crate::kernel::sweep::{Eliminator, Found, MAX_RHS, Pivots};
use crate::kernel::tile::{self, Scaling};
use crate::matrix::{Rows, Shape, Tridiagonal};
use crate::plan::{Method, Options, Plan};
use crate::scalar::{RealScalar, Scalar};
use crate::tuning;
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// How one level is cut: `full` partitions of `m` rows, then one of `tail` rows (0: none).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    m: usize,
    full: usize,
    tail: usize,
}

impl Cut {
    /// Cuts `n ≥ 2` rows. No partition has fewer than `least` rows: what is left over joins the last.
    fn new(n: usize, m: usize, least: usize) -> Self {
        match (n / m, n % m) {
            (full, 0) => Self { m, full, tail: 0 },
            (full, tail) if tail < least && full > 0 => Self { m, full: full - 1, tail: m + tail },
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

/// When couplings across partitions are left out of the coarse system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truncation {
    Never,
    /// Where that changes nothing within the precision.
    WhereSafe,
    Always,
}

/// One of the methods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// What eliminates inside a partition, once its ends are known; `None`: as the plan's pivoting says.
    pub eliminator: Option<Eliminator>,
    /// No row is exchanged.
    pub fixed: bool,
    pub truncation: Truncation,
}

/// What is fixed during a solve.
#[derive(Debug, Clone, Copy)]
struct Settings<'a> {
    options: &'a Options,
    scheme: Scheme,
    simd: Simd,
    /// Of a vector.
    lanes: usize,
}

impl<'a> Settings<'a> {
    fn new<T: Scalar>(options: &'a Options, scheme: Scheme) -> Self {
        let simd = options.sweep_simd();
        Self { options, scheme, simd, lanes: T::lanes(simd) }
    }

    /// How a level of `n` rows is cut; small ones are a single partition, which ends the recursion.
    fn cut(&self, n: usize) -> Cut {
        let m = self.options.partition_rows.unwrap_or_else(|| tuning::partition_rows(n, self.lanes));
        let single = n <= tuning::LAST_LEVEL_MAX_N.max(m);
        // In a short partition no spike decays.
        let least = if self.truncates(n) { m } else { 2 };
        Cut::new(n, if single { n } else { m }, least)
    }

    /// Whether the coarse system of `n` rows may be truncated.
    fn truncates(&self, n: usize) -> bool {
        match self.scheme.truncation {
            Truncation::Never => false,
            Truncation::WhereSafe => n >= tuning::TRUNCATION_MIN_N,
            Truncation::Always => true,
        }
    }

    /// Threads worth waking for `n` rows.
    fn threads_for(&self, n: usize) -> usize {
        self.options.threads.min(n / tuning::MIN_ROWS_PER_THREAD).max(1)
    }

    /// Longest partition of any level.
    fn longest(&self, n: usize) -> usize {
        let cut = self.cut(n);
        let own = cut.tail.max(if cut.full > 0 { cut.m } else { 0 });
        if cut.coarse() == 2 { own } else { own.max(self.longest(cut.coarse())) }
    }

    /// Reals of tile memory for all threads.
    fn tile_memory<T: Scalar>(&self, n: usize, n_rhs: usize) -> usize {
        run::memory::<T>(self.simd, self.longest(n), n_rhs, 1) * self.threads_for(n)
    }

    /// Right-hand sides that are swept together when there are `n_rhs`. Sweeps that know noise take one by one, as do those
    /// of complex numbers that pivot diagonally or rotate: they would take long to compile.
    fn together<T: Scalar>(&self, n_rhs: usize) -> usize {
        let exchange = matches!(self.scheme.eliminator, None | Some(Eliminator::Exchange));
        let compiled = self.options.noise_threshold == 0.0 && (exchange || !T::COMPLEX);
        if n_rhs >= MAX_RHS && compiled { MAX_RHS } else { 1 }
    }

    fn how<X: RealScalar>(&self) -> How<X> {
        let pivots = self.options.pivots();
        match self.scheme.eliminator {
            None => How { pivots, scaling: self.options.scaling() },
            Some(eliminator) => {
                How { pivots: Pivots { eliminator, fixed: self.scheme.fixed, ..pivots }, scaling: Scaling::Rows }
            }
        }
    }
}

/// One level of the recursion: a system and how it is cut.
#[derive(Clone, Copy)]
struct Level<'a, T> {
    settings: &'a Settings<'a>,
    cut: Cut,
    rows: Rows<'a, T>,
    n_rhs: usize,
}

impl<T: Scalar> Level<'_, T> {
    /// The longest run of tiles from partition `part` on: full tiles, what is left of full partitions, the partition that is
    /// shorter or longer than the others.
    fn span(&self, part: usize, end: usize) -> Span {
        let full = end.min(self.cut.full).saturating_sub(part);
        let (first, m, lanes) = (self.cut.start(part), self.cut.m, self.settings.lanes);
        match full / lanes {
            _ if full == 0 => Span { first, m: self.cut.tail, lanes: 1, tiles: 1 },
            0 => Span { first, m, lanes: full, tiles: 1 },
            tiles => Span { first, m, lanes, tiles },
        }
    }
}

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

/// The part of each column that stands in `rows`.
fn cut_out<'a, T>(columns: &Columns<'a, T>, rows: Range<usize>, n_rhs: usize) -> Columns<'a, T> {
    let mut cut: Columns<'a, T> = [&[]; MAX_RHS];
    for r in 0..n_rhs {
        cut[r] = &columns[r][rows.clone()];
    }
    cut
}

/// The same, to be written. Empty columns stay empty.
fn cut_out_mut<'a, T>(columns: &'a mut ColumnsMut<'_, T>, rows: Range<usize>) -> ColumnsMut<'a, T> {
    columns.each_mut().map(|column| if column.is_empty() { &mut [][..] } else { &mut column[rows.clone()] })
}

/// Where to cut `parts` so that each half gets whole tiles and its share of threads.
fn middle(parts: &Range<usize>, lanes: usize, threads: usize) -> usize {
    let tiles = parts.len().div_ceil(lanes);
    (parts.start + tiles * (threads / 2) / threads * lanes).min(parts.end)
}

/// One thread's share of `reduce`: the equations of partitions `parts`.
struct Reduce<'a, T: Scalar> {
    level: Level<'a, T>,
    rhs: Columns<'a, T>,
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
        let lanes = self.level.settings.lanes;
        if threads <= 1 || self.parts.len() <= lanes {
            return self.run();
        }
        let mid = middle(&self.parts, lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let out = self.out.split_at(2 * (mid - self.parts.start));
        let left = Reduce { parts: self.parts.start..mid, out: out.0, memory: memory.0, ..self };
        let right = Reduce { parts: mid..self.parts.end, out: out.1, memory: memory.1, ..self };
        rayon::join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
    }

    fn run(&mut self) {
        let level = self.level;
        let (n_rhs, how) = (level.n_rhs, level.settings.how());
        let mut part = self.parts.start;
        while part < self.parts.end {
            let span = level.span(part, self.parts.end);
            let rows = span.first..span.first + span.rows();
            let out = 2 * (part - self.parts.start)..2 * (part - self.parts.start + span.partitions());
            let [a, b, c, d] = cut_out_mut(&mut self.out.rhs, out.clone());
            let (sub, diag, sup) =
                (&mut self.out.sub[out.clone()], &mut self.out.diag[out.clone()], &mut self.out.sup[out]);
            let rhs = cut_out(&self.rhs, rows, n_rhs);
            let mut work = Workspace::new(level.settings.simd, n_rhs, 1, self.memory);
            work.reduce(&level.rows, rhs, span, how, [sub, diag, sup, a, b, c, d]);
            part += span.partitions();
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
    /// Solution of the coarse system, with one unknown more at either end, and lower bounds of ‖x‖∞.
    coarse: Columns<'a, T>,
    x_max: [T::Real; MAX_RHS],
    stream: bool,
    /// Room for the gap of every partition of `parts`; empty: nothing is verified.
    gaps: ColumnsMut<'a, T::Real>,
    parts: Range<usize>,
    /// x at the rows of `parts`.
    x: ColumnsMut<'a, T>,
    memory: &'a mut [T::Real],
}

impl<T: Scalar> Substitute<'_, T> {
    fn parallel(mut self, threads: usize) -> Findings {
        let lanes = self.level.settings.lanes;
        if threads <= 1 || self.parts.len() <= lanes {
            return self.run();
        }
        let mid = middle(&self.parts, lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let x = split_columns(self.x, (mid - self.parts.start) * self.level.cut.m);
        let gaps = split_columns(self.gaps, mid - self.parts.start);
        let left = Substitute { parts: self.parts.start..mid, x: x.0, gaps: gaps.0, memory: memory.0, ..self };
        let right = Substitute { parts: mid..self.parts.end, x: x.1, gaps: gaps.1, memory: memory.1, ..self };
        let (a, b) = rayon::join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        both(a, b)
    }

    fn run(&mut self) -> Findings {
        let level = self.level;
        let (n_rhs, how) = (level.n_rhs, level.settings.how());
        let (mut found, mut part) = (Findings::default(), self.parts.start);
        let base = level.cut.start(part);
        while part < self.parts.end {
            let span = level.span(part, self.parts.end);
            let (rows, parts) = (span.first..span.first + span.rows(), part..part + span.partitions());
            let coarse = cut_out(&self.coarse, 2 * parts.start..2 * parts.end + 2, n_rhs);
            let gaps = cut_out_mut(&mut self.gaps, parts.start - self.parts.start..parts.end - self.parts.start);
            let x = cut_out_mut(&mut self.x, rows.start - base..rows.end - base);
            let mut work = Workspace::new(level.settings.simd, n_rhs, 1, self.memory);
            let target = Target { coarse, x, gaps, x_max: self.x_max, stream: self.stream };
            let rhs = self.rhs.map(|rhs| cut_out(&rhs, rows, n_rhs));
            found = both(found, work.substitute(&level.rows, rhs, span, how, target));
            part = parts.end;
        }
        if self.stream {
            tile::fence();
        }
        found
    }
}

/// Solves the system of one level for `n_rhs` right-hand sides, which stand in `rhs` or, if that is `None`, in `x`. Where
/// `gaps` has room for them, verifies: returns what it found, and writes the gap of every partition. Also
/// returns whether the coarse system was truncated.
fn solve_level<T: Scalar>(
    settings: &Settings,
    n_rhs: usize,
    rows: Rows<'_, T>,
    rhs: Option<Columns<'_, T>>,
    x: ColumnsMut<'_, T>,
    gaps: ColumnsMut<'_, T::Real>,
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (Findings, bool) {
    let cut = settings.cut(rows.n());
    let n = cut.coarse();
    let threads = settings.threads_for(rows.n());
    let (sub, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (diag, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (sup, stack) = stack.make_aligned_raw::<T>(n, ALIGN);
    let (coarse, stack) = stack.make_aligned_raw::<T>(n_rhs * (n + 2), ALIGN);
    // The unknowns from the one before the first partition to the one after the last.
    let mut coarse = columns_mut(coarse, n_rhs);
    let level = Level { settings, cut, rows, n_rhs };
    let parts = 0..cut.partitions();

    let own = cut_out_mut(&mut coarse, 1..n + 1);
    let out = Coarse { sub: &mut *sub, diag: &mut *diag, sup: &mut *sup, rhs: own };
    let from = rhs.unwrap_or(shared(&x));
    Reduce { level, rhs: from, parts: parts.clone(), out, memory: &mut *memory }.parallel(threads);

    let coarse_rows = Rows {
        sub: &sub[1..],
        diag,
        sup: &sup[..n - 1],
        first: if rows.periodic { sub[0] } else { T::ZERO },
        last: if rows.periodic { sup[n - 1] } else { T::ZERO },
        periodic: rows.periodic,
        conj: false,
    };
    let mut own = cut_out_mut(&mut coarse, 1..n + 1);
    let always = settings.scheme.truncation == Truncation::Always;
    let truncated = n > 2 && settings.truncates(rows.n()) && (always || truncation::is_safe(&coarse_rows));
    if truncated {
        own.iter_mut().take(n_rhs).for_each(|rhs| truncation::solve(&coarse_rows, rhs, threads > 1));
    } else if n <= tuning::SEQUENTIAL_MAX_N && !rows.periodic {
        own.iter_mut().take(n_rhs).for_each(|rhs| solve_window(&coarse_rows, 0..n, rhs));
    } else if n == 2 {
        own.iter_mut().take(n_rhs).for_each(|rhs| truncation::solve_two(&coarse_rows, rhs));
    } else {
        solve_level(settings, n_rhs, coarse_rows, None, own, Default::default(), (&mut *memory, stack));
    }
    for column in &mut coarse[..n_rhs] {
        (column[0], column[n + 1]) = if rows.periodic { (column[n], column[1]) } else { (T::ZERO, T::ZERO) };
    }

    let verify = !gaps[0].is_empty();
    let x_max = core::array::from_fn(|r| if verify { size_below(coarse[r]) } else { T::Real::ZERO });
    let stream = 5 * size_of::<T>() * rows.n() > tuning::STREAM_MIN_BYTES;
    let coarse = shared(&coarse);
    let mut found = Substitute { level, rhs, coarse, x_max, stream, gaps, parts, x, memory }.parallel(threads);
    for (found, x_max) in found.iter_mut().zip(x_max) {
        found.x_max = found.x_max.max_nan(x_max.to_f64());
    }
    (found, truncated)
}

/// Scratch of [`solve_level`] for `n` rows, without tile memory.
fn level_scratch<T: Scalar>(settings: &Settings, n: usize, n_rhs: usize) -> StackReq {
    let coarse = settings.cut(n).coarse();
    let one = StackReq::new_aligned::<T>(coarse, ALIGN);
    let all = StackReq::new_aligned::<T>(n_rhs * (coarse + 2), ALIGN);
    let below = if coarse == 2 { StackReq::empty() } else { level_scratch::<T>(settings, coarse, n_rhs) };
    StackReq::all_of(&[one, one, one, all, below])
}

const ALIGN: usize = 64;

/// A cheap lower bound of the largest modulus.
fn size_below<T: Scalar>(x: &[T]) -> T::Real {
    let larger = |a: T::Real, b: T::Real| if b > a { b } else { a };
    x.iter().fold(T::Real::ZERO, |max, x| larger(larger(max, Scalar::abs1(x.re())), Scalar::abs1(x.im())))
}

const _: () = assert!(tuning::SEQUENTIAL_MAX_N <= LONGEST);

/// A tridiagonal matrix ready to be solved by partitions. Holds no factors: they are recomputed in cache.
#[derive(Debug)]
pub struct Partitioned<'m, T: Scalar> {
    a: Tridiagonal<'m, T>,
    plan: Plan,
    scheme: Scheme,
    /// The reason given where the coarse system was truncated.
    truncated: Arc<str>,
    fallback: Lazy<PivotedTridiagonal<'m, T>>,
}

impl<'m, T: Scalar> Partitioned<'m, T> {
    /// Takes `a`; reads no numbers.
    pub(super) fn new(plan: &Plan, scheme: Scheme, a: Tridiagonal<'m, T>) -> Self {
        let page = Method::SpikeTruncated.page();
        let truncated = format!("spikes decay below rounding inside partitions ({page})").into();
        Self { a, plan: plan.clone(), scheme, truncated, fallback: Lazy::new() }
    }

    fn fallback(&self) -> Result<&dyn Factor<T>> {
        pivoted_fallback(&self.fallback, &self.plan, &self.a)
    }

    fn settings(&self) -> Settings<'_> {
        Settings::new::<T>(&self.plan.options, self.scheme)
    }

    /// Solves for a few columns together, which begin at `offset` of the caller's array, and repairs those that are not good
    /// enough.
    fn solve_columns(
        &self,
        op: Op,
        (rhs, n_rhs, offset): (&[T], usize, usize),
        x: &mut [T],
        outcome: &mut Report,
        stack: &mut PodStack,
    ) -> Result<()> {
        let settings = self.settings();
        let (n, rows) = (self.a.n(), op.rows(&self.a));
        let (memory, stack) = stack.make_aligned_raw::<T::Real>(settings.tile_memory::<T>(n, n_rhs), ALIGN);
        let partitions = if self.plan.options.verify { settings.cut(n).partitions() } else { 0 };
        let (gaps, stack) = stack.make_raw::<T::Real>(n_rhs * partitions);
        let (rhs_columns, x_columns) = (columns(rhs, n_rhs), columns_mut(x, n_rhs));
        let work = (&mut *memory, &mut *stack);
        let own = columns_mut(gaps, n_rhs);
        // Threads are entered once, not at every step.
        let solve = || solve_level(&settings, n_rhs, rows, Some(rhs_columns), x_columns, own, work);
        let (found, truncated) = if settings.threads_for(n) > 1 { rayon::scope(|_| solve()) } else { solve() };
        if truncated && self.plan.is_auto() {
            outcome.method = Method::SpikeTruncated;
            outcome.reason = self.truncated.clone();
        }
        if partitions == 0 {
            return Ok(());
        }
        for (r, found) in found.into_iter().enumerate().take(n_rhs) {
            let column = r * n..(r + 1) * n;
            let (rhs, x) = (&rhs[column.clone()], &mut x[column]);
            let gaps = &gaps[r * partitions..(r + 1) * partitions];
            let (error, steps) = if found.looks_singular::<T::Real>() && !is_zero(rhs, x) {
                (f64::NAN, 0)
            } else {
                mend(&settings, rows, (rhs, &mut *x), found, gaps)
                    .unwrap_or_else(|| refine(&settings, rows, rhs, x, (&mut *memory, &mut *stack)))
            };
            outcome.refinement_steps = outcome.refinement_steps.max(steps);
            let error = if error <= good::<T>() {
                error
            } else {
                verify::fall_back(self.fallback()?, op, (rhs, offset + r * n), x, outcome)?
            };
            outcome.push(error);
        }
        Ok(())
    }
}

/// A zero right-hand side with the zero solution, which needs no further look (but is no proof of regularity).
fn is_zero<T: Scalar>(rhs: &[T], x: &[T]) -> bool {
    rhs.iter().chain(x).all(|v| *v == T::ZERO)
}

/// Accepts x if all is good, else mends the partitions that are not, if they are few. Returns the error and the refinement
/// steps (1 if something was mended), `None` if the whole system has to be refined.
fn mend<T: Scalar>(
    settings: &Settings,
    rows: Rows<'_, T>,
    (rhs, x): (&[T], &mut [T]),
    found: Found,
    gaps: &[T::Real],
) -> Option<(f64, usize)> {
    let goal = good::<T>();
    if found.bound <= goal {
        return Some((found.bound, 0));
    }
    let bad = gaps.iter().filter(|gap| run::bound::<T>(**gap) > goal).count();
    if !found.bound.is_finite() || bad > gaps.len() / tuning::MEND_ONE_OF + 1 {
        return None;
    }
    let cut = settings.cut(rows.n());
    // A little less, because mending may change the largest x.
    let x_max = T::Real::from_f64(found.x_max * 0.999);
    let mut repair = Repair { rows, rhs, x, x_max, goal, largest_changed: false };
    let mut worst: f64 = 0.0;
    for (p, gap) in gaps.iter().enumerate() {
        let own = run::bound::<T>(*gap);
        let end = if p < cut.full { cut.start(p + 1) } else { cut.rows() };
        worst = worst.max(if own <= goal { own } else { repair.mend(cut.start(p)..end)? });
    }
    // Errors were measured against the largest x there was. If that was among the mended, nothing is known yet.
    (!repair.largest_changed).then_some((worst, 1))
}

/// Corrects x until its backward error is good. Returns the error and the steps. The residual takes memory of its own: this
/// is rare.
fn refine<T: Scalar>(
    settings: &Settings,
    rows: Rows<'_, T>,
    rhs: &[T],
    x: &mut [T],
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (f64, usize) {
    let mut error = verify::backward_error(rows, rhs, x);
    let mut step = 0;
    while error > good::<T>() && step < verify::MAX_REFINEMENTS {
        let mut residual: Vec<T> = rhs.iter().enumerate().map(|(i, d)| *d - rows.dot(i, x)).collect();
        let work = (&mut *memory, &mut *stack);
        solve_level(settings, 1, rows, None, columns_mut(&mut residual, 1), Default::default(), work);
        x.iter_mut().zip(residual).for_each(|(x, dx)| *x += dx);
        error = verify::backward_error(rows, rhs, x);
        step += 1;
    }
    (error, step)
}

impl<T: Scalar> Factor<T> for Partitioned<'_, T> {
    fn shape(&self) -> Shape {
        self.a.shape()
    }

    fn solve_scratch(&self, n_rhs: usize) -> StackReq {
        let (settings, n) = (self.settings(), self.a.n());
        if n < 2 {
            return StackReq::empty();
        }
        let together = settings.together::<T>(n_rhs);
        // The columns that are left over are solved one by one, with tiles of another size.
        let memory = settings.tile_memory::<T>(n, together).max(settings.tile_memory::<T>(n, 1));
        StackReq::new_aligned::<T::Real>(memory, ALIGN)
            .and(StackReq::new::<T::Real>(together * settings.cut(n).partitions()))
            .and(level_scratch::<T>(&settings, n, together))
    }

    fn solve_into_with(&self, op: Op, rhs: &[T], x: &mut [T], stack: &mut PodStack) -> Result<Report> {
        let n_rhs = self.shape().n_rhs("rhs", rhs.len())?;
        check_len("x", rhs.len(), x.len())?;
        verify::check_scratch(self.solve_scratch(n_rhs), stack)?;
        let n = self.a.n();
        let mut outcome = Report::new(&self.plan);
        if n == 1 {
            return verify::solve_tiny(self.fallback()?, &Facts::new(&self.plan), op, rhs, x);
        }
        let (mut done, settings) = (0, self.settings());
        while n > 1 && done < rhs.len() {
            let n_rhs = settings.together::<T>((rhs.len() - done) / n);
            let len = n_rhs * n;
            let span = done..done + len;
            self.solve_columns(op, (&rhs[span.clone()], n_rhs, done), &mut x[span], &mut outcome, stack)?;
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
                for (least, longest) in [(2, m + 1), (m, 2 * m - 1)] {
                    let cut = Cut::new(n, m.min(n), least);
                    assert_eq!(cut.rows(), n);
                    assert!(cut.tail == 0 || (2..=longest).contains(&cut.tail));
                    assert!(cut.tail == 0 || n < m || cut.tail >= least);
                    assert_eq!(cut.coarse(), 2 * cut.partitions());
                }
            }
        }
    }

    /// Neither chain nor row holds the unknown that is to be eliminated: all inner blocks of odd size are singular.
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

    /// Spikes that never decay, zero pivots at every level: equations must not become smaller from level to level.
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

    /// A plan that is free to choose truncates strongly dominant systems, and only those; so does no plan that is not.
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
                Partitioned::new(&plan, super::super::rpts::scheme(&plan), a.view()).solve_scratch(1).size_bytes()
                    * 100
                    < 12 * system
            );
        }
    }
}
