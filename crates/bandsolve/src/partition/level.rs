//! One level of the recursion that RPTS and the SPIKE methods share: how rows are cut into partitions, and the steps `reduce`,
//! `solve_coarse`, `substitute` on lanes and threads.

use crate::decision::Options;
use crate::partition::cut::{ALIGN, Cut, columns_mut, cut_out, cut_out_mut, middle, size_below, split_columns};
use crate::partition::repair::{LONGEST, solve_window};
use crate::partition::truncation;
use crate::tuning;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::run::{self, Columns, ColumnsMut, SweepOptions, Target, Workspace};
use bandsolve_kernel::sweep::{CheckResult, Eliminator, MAX_RHS, Pivots};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile::{self, Scaling};
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// When couplings across partitions are left out of the coarse system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truncation {
    Never,
    /// Where that changes nothing within the precision.
    WhereSafe,
    Always,
}

/// One of the methods.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheme {
    /// What eliminates inside a partition, once its ends are known; `None`: as the plan's pivoting says.
    pub eliminator: Option<Eliminator>,
    /// No row is exchanged.
    pub fixed: bool,
    pub truncation: Truncation,
}

/// What is fixed during a solve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    options: &'a Options,
    scheme: Scheme,
    simd: Simd,
    /// Of a vector.
    pub lanes: usize,
}

impl<'a> Settings<'a> {
    pub fn new<T: Scalar>(options: &'a Options, scheme: Scheme) -> Self {
        let simd = options.sweep_simd();
        Self { options, scheme, simd, lanes: T::lanes(simd) }
    }

    /// How a level of `n` rows is cut; small ones are a single partition, which ends the recursion.
    pub fn cut(&self, n: usize) -> Cut {
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
    pub fn threads_for(&self, n: usize) -> usize {
        tuning::tasks(self.options.threads, n)
    }

    /// Longest partition of any level.
    fn longest(&self, n: usize) -> usize {
        Cut::longest_of_all(n, |n| self.cut(n))
    }

    /// Reals of tile memory for all threads.
    pub fn tile_memory<T: Scalar>(&self, n: usize, n_rhs: usize) -> usize {
        run::memory::<T>(self.simd, self.longest(n), n_rhs, 1).saturating_mul(self.threads_for(n))
    }

    /// Right-hand sides that are swept together when there are `n_rhs`. Sweeps that know noise take one by one, as do those
    /// of complex numbers that pivot diagonally or rotate: they would take long to compile.
    pub fn together<T: Scalar>(&self, n_rhs: usize) -> usize {
        let exchange = matches!(self.scheme.eliminator, None | Some(Eliminator::Exchange));
        let compiled = self.options.noise_threshold == 0.0 && (exchange || !T::COMPLEX);
        if n_rhs >= MAX_RHS && compiled { MAX_RHS } else { 1 }
    }

    pub fn how<X: RealScalar>(&self) -> SweepOptions<X> {
        let pivots = self.options.pivots();
        match self.scheme.eliminator {
            None => SweepOptions { pivots, scaling: self.options.scaling() },
            Some(eliminator) => SweepOptions {
                pivots: Pivots { eliminator, fixed: self.scheme.fixed, ..pivots },
                scaling: Scaling::Rows,
            },
        }
    }
}

/// One level of the recursion: a system and how it is cut.
#[derive(Clone, Copy)]
pub(crate) struct Level<'a, T> {
    pub settings: &'a Settings<'a>,
    pub cut: Cut,
    pub rows: Rows<'a, T>,
    pub n_rhs: usize,
}

pub(crate) fn shared<'a, T>(columns: &'a ColumnsMut<'_, T>) -> Columns<'a, T> {
    let [a, b, c, d] = columns;
    [a, b, c, d]
}

/// One thread's share of `reduce`: the equations of partitions `parts`.
pub(crate) struct ReduceShare<'a, T: Scalar> {
    pub level: Level<'a, T>,
    pub rhs: Columns<'a, T>,
    pub parts: Range<usize>,
    pub out: CoarseRows<'a, T>,
    pub memory: &'a mut [T::Real],
}

/// Rows of the coarse system, two a partition.
pub(crate) struct CoarseRows<'a, T> {
    pub sub: &'a mut [T],
    pub diag: &'a mut [T],
    pub sup: &'a mut [T],
    pub rhs: ColumnsMut<'a, T>,
}

impl<T> CoarseRows<'_, T> {
    fn split_at(self, mid: usize) -> (Self, Self) {
        let (sub, sub2) = self.sub.split_at_mut(mid);
        let (diag, diag2) = self.diag.split_at_mut(mid);
        let (sup, sup2) = self.sup.split_at_mut(mid);
        let (rhs, rhs2) = split_columns(self.rhs, mid);
        (Self { sub, diag, sup, rhs }, Self { sub: sub2, diag: diag2, sup: sup2, rhs: rhs2 })
    }
}

impl<T: Scalar> ReduceShare<'_, T> {
    /// Returns whether nothing was left of an equation: then the matrix may be singular.
    pub fn parallel(mut self, threads: usize) -> bool {
        let lanes = self.level.settings.lanes;
        if threads <= 1 || self.parts.len() <= lanes {
            return self.run();
        }
        let mid = middle(&self.parts, lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let out = self.out.split_at(2 * (mid - self.parts.start));
        let left = ReduceShare { parts: self.parts.start..mid, out: out.0, memory: memory.0, ..self };
        let right = ReduceShare { parts: mid..self.parts.end, out: out.1, memory: memory.1, ..self };
        let (a, b) = join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        a | b
    }

    fn run(&mut self) -> bool {
        let level = self.level;
        let (n_rhs, how) = (level.n_rhs, level.settings.how());
        let (mut suspect, mut part) = (false, self.parts.start);
        while part < self.parts.end {
            let span = level.cut.span(part, self.parts.end, level.settings.lanes);
            let rows = span.first..span.first + span.rows();
            let out = 2 * (part - self.parts.start)..2 * (part - self.parts.start + span.partitions());
            let [a, b, c, d] = cut_out_mut(&mut self.out.rhs, out.clone());
            let (sub, diag, sup) =
                (&mut self.out.sub[out.clone()], &mut self.out.diag[out.clone()], &mut self.out.sup[out]);
            let rhs = cut_out(&self.rhs, rows, n_rhs);
            let mut work = Workspace::new(level.settings.simd, n_rhs, 1, self.memory);
            suspect |= work.reduce(&level.rows, rhs, span, how, [sub, diag, sup, a, b, c, d]);
            part += span.partitions();
        }
        suspect
    }
}

/// What verification found of each column.
pub(crate) type CheckResults = [CheckResult; MAX_RHS];

/// Of two parts.
pub(crate) fn both(mut a: CheckResults, b: CheckResults) -> CheckResults {
    for r in 0..MAX_RHS {
        a[r] = a[r].and(b[r]);
    }
    a
}

/// One thread's share of `substitute`: the unknowns of partitions `parts`.
pub(crate) struct SubstituteShare<'a, T: Scalar> {
    pub level: Level<'a, T>,
    /// Right-hand sides of the whole level; `None`: they stand in `x`.
    pub rhs: Option<Columns<'a, T>>,
    /// Solution of the coarse system, with one unknown more at either end, and lower bounds of ‖x‖∞.
    pub coarse: Columns<'a, T>,
    pub x_max: [T::Real; MAX_RHS],
    pub stream: bool,
    /// Room for the gap of every partition of `parts`; empty: nothing is verified.
    pub gaps: ColumnsMut<'a, T::Real>,
    pub parts: Range<usize>,
    /// x at the rows of `parts`.
    pub x: ColumnsMut<'a, T>,
    pub memory: &'a mut [T::Real],
}

impl<T: Scalar> SubstituteShare<'_, T> {
    pub fn parallel(mut self, threads: usize) -> CheckResults {
        let lanes = self.level.settings.lanes;
        if threads <= 1 || self.parts.len() <= lanes {
            return self.run();
        }
        let mid = middle(&self.parts, lanes, threads);
        let memory = self.memory.split_at_mut(self.memory.len() / threads * (threads / 2));
        let x = split_columns(self.x, (mid - self.parts.start) * self.level.cut.m);
        let gaps = split_columns(self.gaps, mid - self.parts.start);
        let left = SubstituteShare { parts: self.parts.start..mid, x: x.0, gaps: gaps.0, memory: memory.0, ..self };
        let right = SubstituteShare { parts: mid..self.parts.end, x: x.1, gaps: gaps.1, memory: memory.1, ..self };
        let (a, b) = join(|| left.parallel(threads / 2), || right.parallel(threads - threads / 2));
        both(a, b)
    }

    fn run(&mut self) -> CheckResults {
        let level = self.level;
        let (n_rhs, how) = (level.n_rhs, level.settings.how());
        let (mut found, mut part) = (CheckResults::default(), self.parts.start);
        let base = level.cut.start(part);
        while part < self.parts.end {
            let span = level.cut.span(part, self.parts.end, level.settings.lanes);
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
/// `gaps` has room for them, verifies: returns what it found, and writes the gap of every partition. Without, what it found is
/// no more than whether the matrix may be singular. Also returns whether the coarse system was truncated.
pub(crate) fn solve_level<T: Scalar>(
    settings: &Settings,
    n_rhs: usize,
    rows: Rows<'_, T>,
    rhs: Option<Columns<'_, T>>,
    x: ColumnsMut<'_, T>,
    gaps: ColumnsMut<'_, T::Real>,
    (memory, stack): (&mut [T::Real], &mut PodStack),
) -> (CheckResults, bool) {
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
    let out = CoarseRows { sub: &mut *sub, diag: &mut *diag, sup: &mut *sup, rhs: own };
    let from = rhs.unwrap_or(shared(&x));
    let nothing_left =
        ReduceShare { level, rhs: from, parts: parts.clone(), out, memory: &mut *memory }.parallel(threads);

    let coarse_rows = coarse_rows([sub, diag, sup], rows.periodic);
    let own = cut_out_mut(&mut coarse, 1..n + 1);
    let below = solve_coarse(&level, coarse_rows, own, (&mut *memory, stack));
    wrap(&mut coarse[..n_rhs], rows.periodic);

    let verify = !gaps[0].is_empty();
    let x_max = core::array::from_fn(|r| if verify { size_below(coarse[r]) } else { T::Real::ZERO });
    let stream = 5 * size_of::<T>() * rows.n() > tuning::STREAM_MIN_BYTES;
    let coarse = shared(&coarse);
    let mut found = SubstituteShare { level, rhs, coarse, x_max, stream, gaps, parts, x, memory }.parallel(threads);
    for (found, x_max) in found.iter_mut().zip(x_max) {
        found.x_max = found.x_max.max_nan(x_max.to_f64());
        found.suspect |= nothing_left | below.suspect;
    }
    (found, below.truncated)
}

/// The coarse matrix, from the arrays that `reduce` fills.
pub(crate) fn coarse_rows<T: Scalar>([sub, diag, sup]: [&[T]; 3], periodic: bool) -> Rows<'_, T> {
    let n = diag.len();
    let (first, last) = if periodic { (sub[0], sup[n - 1]) } else { (T::ZERO, T::ZERO) };
    Rows { sub: &sub[1..], diag, sup: &sup[..n - 1], first, last, periodic, conj: false }
}

/// Fills in the unknowns before the first partition and after the last.
pub(crate) fn wrap<T: Scalar>(coarse: &mut [&mut [T]], periodic: bool) {
    for column in coarse {
        let n = column.len() - 2;
        (column[0], column[n + 1]) = if periodic { (column[n], column[1]) } else { (T::ZERO, T::ZERO) };
    }
}

/// How a coarse system was solved.
pub(crate) struct Solved {
    /// Couplings across partitions were left out.
    pub truncated: bool,
    /// A pivot was next to zero.
    pub suspect: bool,
}

/// Solves the coarse system of `level`, whose right-hand sides stand in `own`.
pub(crate) fn solve_coarse<T: Scalar>(
    level: &Level<'_, T>,
    rows: Rows<'_, T>,
    mut own: ColumnsMut<'_, T>,
    work: (&mut [T::Real], &mut PodStack),
) -> Solved {
    let (settings, n, n_rhs, fine) = (level.settings, rows.n(), level.n_rhs, level.rows.n());
    let always = settings.scheme.truncation == Truncation::Always;
    let truncated = n > 2 && settings.truncates(fine) && (always || truncation::is_safe(&rows));
    let columns = own.iter_mut().take(n_rhs);
    // Pivots are those of the matrix, the same for all columns.
    let suspect = if truncated {
        let parallel = settings.threads_for(fine) > 1;
        columns.fold(false, |suspect, rhs| suspect | truncation::solve(&rows, rhs, parallel))
    } else if n <= tuning::SEQUENTIAL_MAX_N && !rows.periodic {
        columns.fold(false, |suspect, rhs| suspect | solve_window(&rows, 0..n, rhs))
    } else if n == 2 {
        columns.fold(false, |suspect, rhs| suspect | truncation::solve_two(&rows, rhs))
    } else {
        solve_level(settings, n_rhs, rows, None, own, Default::default(), work).0[0].suspect
    };
    Solved { truncated, suspect }
}

/// Scratch of [`solve_level`] for `n` rows, without tile memory.
pub(crate) fn level_scratch<T: Scalar>(settings: &Settings, n: usize, n_rhs: usize) -> StackReq {
    let coarse = settings.cut(n).coarse();
    let one = StackReq::new_aligned::<T>(coarse, ALIGN);
    let all = StackReq::new_aligned::<T>((coarse + 2).saturating_mul(n_rhs), ALIGN);
    let below = if coarse == 2 { StackReq::empty() } else { level_scratch::<T>(settings, coarse, n_rhs) };
    StackReq::all_of(&[one, one, one, all, below])
}

const _: () = assert!(tuning::SEQUENTIAL_MAX_N <= LONGEST);
