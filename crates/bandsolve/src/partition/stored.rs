//! RPTS with stored factors, for tridiagonal matrices that are solved with many times.
//!
//! `partitioned.rs` eliminates again in each solve, because reading the matrix costs less than reading factors. That is true of large
//! systems, which are read from memory, and of a single solve. Below [`tuning::STORED_MAX_N`] unknowns the factors stay in the caches, and
//! reading them costs less than eliminating again. The elimination, the choice of pivots and the verification are the same.
//!
//! The rows of a level are divided into tiles of W partitions, one per SIMD lane, of at most 123 rows. Fewer than W rows are left over;
//! they are rows of the coarse system without any elimination. The coarse system is solved in the same way, or row by row if it is small.
//!
//! Source: that of `rpts.rs`. Storing what is linear in the right-hand side is our own.

use crate::contract::Op;
use crate::contract::factors::{Factors, Outcome, RhsAndSolution, Solver};
use crate::contract::sparse::SparseSolver;
use crate::contract::verify::{Facts, Lazy, Report};
use crate::decision::{Decision, Options, Pivoting};
use crate::error::Result;
use crate::matrix::Tridiagonal;
use crate::memory::{allocate, array, collected, reserved};
use crate::partition::cut::{ALIGN, columns, columns_mut, cut_out, cut_out_mut, size_below, split_columns};
use crate::partition::driver::{self, ByPartitions};
use crate::partition::level::{CheckResults, merged, shared, wrap};
use crate::partition::level_matrix::coarse_rows;
use crate::partition::partitioned::{Partitionable, Partitioned};
use crate::partition::repair::repair_partitions;
use crate::partition::settings::{Scheme, Settings};
use crate::pivoted::Rule;
use crate::pivoted::tridiagonal::{self, TridiagonalLu};
use crate::tuning;
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::spread::tasks;
use bandsolve_kernel::stored_tiles::{FactorTile, MAX_ROWS, MIN_ROWS, ReduceTile, SubstituteTile, scaled, stored_len};
use bandsolve_kernel::sweep::{CheckResult, MAX_RHS, bound};
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile::STAGED_ROWS;
use bandsolve_kernel::tile_runs::{Columns, ColumnsMut};
use bandsolve_kernel::{RealScalar, Scalar, Simd};
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};
use std::sync::Arc;

/// The tiles of one level of `n` rows. All have a multiple of four rows per partition, as many as their neighbours or four more, except
/// for the last, which can have up to three more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tiles {
    n: usize,
    lanes: usize,
    count: usize,
}

impl Tiles {
    /// `None` if there are too few rows for a tile.
    fn new(n: usize, lanes: usize) -> Option<Self> {
        let per_lane = n / lanes;
        (per_lane >= MIN_ROWS).then(|| Self { n, lanes, count: per_lane.div_ceil(MAX_ROWS - 3) })
    }

    /// The first row of tile `t`, or the first of the rows that are left over.
    fn start(&self, t: usize) -> usize {
        if t == self.count {
            return self.n / self.lanes * self.lanes;
        }
        let groups = self.n / self.lanes / STAGED_ROWS;
        (t * (groups / self.count) + t.min(groups % self.count)) * STAGED_ROWS * self.lanes
    }

    /// The number of rows per partition of tile `t`.
    fn m(&self, t: usize) -> usize {
        (self.start(t + 1) - self.start(t)) / self.lanes
    }

    fn partitions(&self) -> usize {
        self.count * self.lanes
    }

    fn left_over(&self) -> Range<usize> {
        self.start(self.count)..self.n
    }

    /// Number of rows of the coarse system.
    fn coarse(&self) -> usize {
        2 * self.partitions() + self.left_over().len()
    }
}

/// Scratch of [`StoredLevel::solve`].
fn level_scratch<T: Scalar>(n: usize, lanes: usize, n_rhs: usize) -> StackReq {
    let Some(tiles) = Tiles::new(n, lanes).filter(|_| n > tuning::SEQUENTIAL_MAX_N) else { return StackReq::EMPTY };
    let column = |rows: usize| StackReq::new_aligned::<T>(rows.saturating_mul(n_rhs), ALIGN);
    let coarse = tiles.coarse();
    StackReq::all_of(&[column(coarse), column(coarse + 2), level_scratch::<T>(coarse, lanes, n_rhs)])
}

/// The factors of a system: of one level of tiles and of its coarse system, or of a small system.
#[derive(Debug)]
enum StoredLevel<T: Scalar> {
    Tiles(Box<TileLevel<T>>),
    Small(TridiagonalLu<T>),
}

#[derive(Debug)]
struct TileLevel<T: Scalar> {
    tiles: Tiles,
    simd: Simd,
    threads: usize,
    periodic: bool,
    /// The factors of all tiles, one after the other. Tiles of one length take the same memory.
    factors: Array<T::Real>,
    /// Where the factors of each tile end.
    ends: Vec<usize>,
    /// The scales and the scaled rows that are left over.
    left_over: Vec<(T::Real, [T; 3])>,
    coarse: StoredLevel<T>,
}

impl<T: Scalar> StoredLevel<T> {
    /// Factor a system. `None` if a pivot or an equation nearly vanished.
    fn new(rows: &Rows<'_, T>, options: &Options) -> Result<Option<Self>> {
        let simd = options.sweep_simd();
        let Some(tiles) = Tiles::new(rows.n(), T::lanes(simd)).filter(|_| rows.n() > tuning::SEQUENTIAL_MAX_N) else {
            let lu = TridiagonalLu::new(rows, Rule::new(options), None)?;
            return Ok(lu.singular().is_none().then_some(Self::Small(lu)));
        };
        let mut end = 0;
        let ends = collected((0..tiles.count).map(|t| {
            end += stored_len::<T>(tiles.lanes, tiles.m(t));
            end
        }))?;
        let mut factors = array(end, None)?;
        let n = tiles.coarse();
        let (mut sub, mut diag, mut sup) = (allocate(n, T::ZERO)?, allocate(n, T::ZERO)?, allocate(n, T::ZERO)?);
        let parallel = tasks(options.threads, tiles.n);
        let tile_rows = 2 * tiles.partitions();
        let job = FactorJob { rows, tiles, simd, ends: &ends };
        let coarse = [&mut sub[..tile_rows], &mut diag[..tile_rows], &mut sup[..tile_rows]];
        if job.run(0..tiles.count, (&mut factors[..], coarse), parallel) {
            return Ok(None);
        }
        let mut left_over = reserved(tiles.left_over().len())?;
        for (i, k) in tiles.left_over().zip(tile_rows..) {
            let (a, b, c) = rows.row(i);
            let (scale, row) = scaled([a, b, c]);
            left_over.push((scale, row));
            [sub[k], diag[k], sup[k]] = row;
        }
        let Some(coarse) = Self::new(&coarse_rows([&sub, &diag, &sup], rows.periodic), options)? else {
            return Ok(None);
        };
        let threads = options.threads;
        let level = TileLevel { tiles, simd, threads, periodic: rows.periodic, factors, ends, left_over, coarse };
        Ok(Some(Self::Tiles(Box::new(level))))
    }

    /// Solve for a few columns.
    fn solve(&self, columns: StoredColumns<'_, T>, stack: &mut PodStack) -> CheckResults {
        match self {
            StoredLevel::Tiles(level) => level.solve(columns, stack),
            StoredLevel::Small(lu) => {
                let StoredColumns { n_rhs, rhs, x, .. } = columns;
                for r in 0..n_rhs {
                    x[r].copy_from_slice(rhs[r]);
                    lu.solve(x[r]);
                }
                CheckResults::default()
            }
        }
    }
}

/// The columns of a solve.
struct StoredColumns<'a, T: Scalar> {
    n_rhs: usize,
    rhs: Columns<'a, T>,
    x: ColumnsMut<'a, T>,
    /// For the error of each partition, and of the rows that are left over. If empty, nothing is verified.
    gaps: ColumnsMut<'a, T::Real>,
    /// Whether to solve for conj(x) with conj(rhs).
    conj: bool,
}

/// The factorisation of the tiles of a level.
struct FactorJob<'a, T: Scalar> {
    rows: &'a Rows<'a, T>,
    tiles: Tiles,
    simd: Simd,
    ends: &'a [usize],
}

impl<T: Scalar> FactorJob<'_, T> {
    /// Factor some tiles on some threads. Returns whether a pivot or an equation nearly vanished.
    fn run(&self, which: Range<usize>, out: (&mut [T::Real], [&mut [T]; 3]), threads: usize) -> bool {
        let (factors, coarse) = out;
        let first = if which.start == 0 { 0 } else { self.ends[which.start - 1] };
        if threads > 1 && which.len() > 1 {
            let middle = which.start + which.len() / 2;
            let factors = factors.split_at_mut(self.ends[middle - 1] - first);
            let [a, b, c] = coarse.map(|array| array.split_at_mut(2 * self.tiles.lanes * (middle - which.start)));
            let (left, right) = ((factors.0, [a.0, b.0, c.0]), (factors.1, [a.1, b.1, c.1]));
            let (left, right) = join(
                || self.run(which.start..middle, left, threads / 2),
                || self.run(middle..which.end, right, threads - threads / 2),
            );
            return left | right;
        }
        let (lanes, mut suspect) = (self.tiles.lanes, false);
        let [mut sub, mut diag, mut sup] = coarse.map(|array| array.chunks_exact_mut(2 * lanes));
        for t in which {
            let (first_row, m) = (self.tiles.start(t), self.tiles.m(t));
            let memory = &mut factors[self.ends[t] - stored_len::<T>(lanes, m) - first..self.ends[t] - first];
            let coarse = [&mut sub, &mut diag, &mut sup].map(|array| array.next().expect("coarse rows of each tile"));
            suspect |= FactorTile { m, rows: *self.rows, first: first_row, memory, coarse }.run_on(self.simd);
        }
        suspect
    }
}

/// One step of a solve, for some tiles.
enum TileStep<'a, T: Scalar> {
    /// Write the right-hand sides of the coarse rows of the tiles.
    Reduce { rhs: Columns<'a, T>, coarse: ColumnsMut<'a, T> },
    /// Write x, from the coarse unknowns around all tiles and lower bounds of ‖x‖∞.
    Substitute { coarse: Columns<'a, T>, x_max: [T::Real; MAX_RHS], gaps: ColumnsMut<'a, T::Real> },
}

impl<T: Scalar> TileLevel<T> {
    fn solve(&self, columns: StoredColumns<'_, T>, stack: &mut PodStack) -> CheckResults {
        let StoredColumns { n_rhs, rhs, mut x, mut gaps, conj } = columns;
        let (tiles, n) = (self.tiles, self.tiles.coarse());
        let (left_over, tile_rows, tile_gaps) = (tiles.left_over(), 2 * tiles.partitions(), tiles.partitions());
        let (coarse_rhs, stack) = stack.make_aligned_raw::<T>(n_rhs * n, ALIGN);
        let (coarse_x, stack) = stack.make_aligned_raw::<T>(n_rhs * (n + 2), ALIGN);
        let (mut coarse_rhs, mut coarse_x) = (columns_mut(coarse_rhs, n_rhs), columns_mut(coarse_x, n_rhs));
        let threads = tasks(self.threads, tiles.n / tuning::FACTORED_ROWS);

        let of_tiles = cut_out(&rhs, 0..left_over.start, n_rhs);
        let coarse = cut_out_mut(&mut coarse_rhs, 0..tile_rows);
        let step = TileStep::Reduce { rhs: of_tiles, coarse };
        let share = TileShare { level: self, n_rhs, conj };
        share.run(0..tiles.count, (cut_out_mut(&mut x, 0..left_over.start), step), threads);
        for r in 0..n_rhs {
            let left = self.left_over.iter().zip(&rhs[r][left_over.start..]);
            for (to, ((scale, _), d)) in coarse_rhs[r][tile_rows..].iter_mut().zip(left) {
                *to = if conj { Scalar::conj(*d) } else { *d }.scale(*scale);
            }
        }

        let unknowns = cut_out_mut(&mut coarse_x, 1..n + 1);
        let columns =
            StoredColumns { n_rhs, rhs: shared(&coarse_rhs), x: unknowns, gaps: Default::default(), conj: false };
        self.coarse.solve(columns, stack);
        wrap(&mut coarse_x[..n_rhs], self.periodic);

        let coarse = shared(&coarse_x);
        let x_max = coarse.map(size_below);
        let step = TileStep::Substitute { coarse, x_max, gaps: cut_out_mut(&mut gaps, 0..tile_gaps) };
        let x_of_tiles = cut_out_mut(&mut x, 0..left_over.start);
        let mut checks = share.run(0..tiles.count, (x_of_tiles, step), threads);
        for r in 0..n_rhs {
            for (x, of_coarse) in x[r][left_over.clone()].iter_mut().zip(&coarse[r][1 + tile_rows..]) {
                *x = if conj { Scalar::conj(*of_coarse) } else { *of_coarse };
            }
            if !left_over.is_empty() {
                let gap = self.check_left_over(&coarse_rhs[r][tile_rows..], &coarse[r][tile_rows..], &mut checks[r]);
                if let Some(place) = gaps[r].get_mut(tile_gaps) {
                    *place = gap;
                }
            }
            checks[r].x_max = checks[r].x_max.max_nan(x_max[r].to_f64());
        }
        checks
    }

    /// Add the rows that are left over to a check. `x` also has the unknown before them and the one after. Returns the largest error.
    fn check_left_over(&self, d: &[T], x: &[T], check: &mut CheckResult) -> T::Real {
        let x_max = T::Real::from_f64(check.x_max);
        let mut gap = T::Real::ZERO.log_gap(T::Real::ONE);
        for (i, ((_, [sub, diag, sup]), d)) in self.left_over.iter().zip(d).enumerate() {
            let residual = *d - (*sub * x[i] + *diag * x[i + 1] + *sup * x[i + 2]);
            let sum = Scalar::abs(*sub) + Scalar::abs(*diag) + Scalar::abs(*sup);
            let scale = sum * x_max + Scalar::abs(*d);
            check.rhs_max = check.rhs_max.max_nan(Scalar::abs(*d).to_f64());
            check.zero_row |= sum == T::Real::ZERO;
            gap = gap.max_bits(Scalar::abs(residual).log_gap(scale));
        }
        check.bound = check.bound.max_nan(bound::<T>(gap));
        gap
    }
}

/// Steps of a solve on the tiles of a level.
struct TileShare<'a, T: Scalar> {
    level: &'a TileLevel<T>,
    n_rhs: usize,
    /// [`StoredColumns::conj`].
    conj: bool,
}

impl<T: Scalar> TileShare<'_, T> {
    /// Do a step for some tiles on some threads. `x` has the rows of the tiles.
    fn run(
        &self,
        which: Range<usize>,
        (mut x, step): (ColumnsMut<'_, T>, TileStep<'_, T>),
        threads: usize,
    ) -> CheckResults {
        let Self { level, n_rhs, conj } = *self;
        let (tiles, lanes) = (level.tiles, level.tiles.lanes);
        let base = tiles.start(which.start);
        if threads > 1 && which.len() > 1 {
            let middle = which.start + which.len() / 2;
            let (rows, count) = (tiles.start(middle) - base, middle - which.start);
            let x = split_columns(x, rows);
            let (left, right) = match step {
                TileStep::Reduce { rhs, coarse } => {
                    let end = rhs[0].len();
                    let parts = [cut_out(&rhs, 0..rows, n_rhs), cut_out(&rhs, rows..end, n_rhs)];
                    let coarse = split_columns(coarse, 2 * lanes * count);
                    (
                        TileStep::Reduce { rhs: parts[0], coarse: coarse.0 },
                        TileStep::Reduce { rhs: parts[1], coarse: coarse.1 },
                    )
                }
                TileStep::Substitute { coarse, x_max, gaps } => {
                    let gaps = split_columns(gaps, lanes * count);
                    (
                        TileStep::Substitute { coarse, x_max, gaps: gaps.0 },
                        TileStep::Substitute { coarse, x_max, gaps: gaps.1 },
                    )
                }
            };
            let (left, right) = join(
                || self.run(which.start..middle, (x.0, left), threads / 2),
                || self.run(middle..which.end, (x.1, right), threads - threads / 2),
            );
            return merged(left, right);
        }
        let (mut checks, mut step) = (CheckResults::default(), step);
        for t in which.clone() {
            let (k, m, rows) = (t - which.start, tiles.m(t), tiles.start(t) - base..tiles.start(t + 1) - base);
            let memory = &level.factors[level.ends[t] - stored_len::<T>(lanes, m)..level.ends[t]];
            let x = cut_out_mut(&mut x, rows.clone());
            match &mut step {
                TileStep::Reduce { rhs, coarse } => {
                    let out = cut_out_mut(coarse, 2 * lanes * k..2 * lanes * (k + 1));
                    let rhs = cut_out(rhs, rows, n_rhs);
                    ReduceTile { m, memory, n_rhs, rhs, scaled: x, out, conj }.run_on(level.simd);
                }
                TileStep::Substitute { coarse, x_max, gaps } => {
                    let coarse = cut_out(coarse, 2 * lanes * t..2 * lanes * (t + 1) + 2, n_rhs);
                    let gaps = cut_out_mut(gaps, lanes * k..lanes * (k + 1));
                    let job = SubstituteTile { m, memory, n_rhs, coarse, x, gaps, x_max: *x_max, conj };
                    checks = merged(checks, job.run_on(level.simd));
                }
            }
        }
        checks
    }
}

/// RPTS with stored factors for one tridiagonal matrix.
#[derive(Debug)]
struct StoredRpts<T: Scalar> {
    /// The method without factors, for sparse right-hand sides.
    again: Partitioned,
    options: Options,
    plain: StoredLevel<T>,
    /// The factors of Aᵀ; `None` if a pivot or an equation nearly vanished.
    transposed: Lazy<Option<StoredLevel<T>>>,
}

/// Whether factors are stored for these options and this size.
fn pays(options: &Options, n: usize) -> bool {
    let standard = options.pivoting == Pivoting::ScaledPartial && options.noise_threshold == 0.0;
    let free = options.partition_rows.is_none() && !options.once;
    standard && free && (tuning::RPTS_MIN_N..=tuning::STORED_MAX_N).contains(&n)
}

/// Number of partitions, including one for the rows that are left over.
fn partitions<T: Scalar>(options: &Options, n: usize) -> usize {
    let tiles = Tiles::new(n, T::lanes(options.sweep_simd())).expect("enough rows");
    tiles.partitions() + usize::from(!tiles.left_over().is_empty())
}

/// Scratch of solves, from the plan alone; `None` if no factors are stored.
pub(crate) fn scratch<T: Scalar>(scheme: Scheme, options: &Options, n: usize, n_rhs: usize) -> Option<StackReq> {
    let group = Settings::new::<T>(options, scheme, None).group_size::<T>(n_rhs);
    pays(options, n).then(|| {
        let gaps = StackReq::new::<T::Real>(partitions::<T>(options, n) * group);
        gaps.and(level_scratch::<T>(n, T::lanes(options.sweep_simd()), group))
    })
}

/// Factor `a`. `None` if storing factors does not pay off, or if a pivot or an equation nearly vanished.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn factor<'m, T: Scalar>(
    scheme: Scheme,
    decision: &Decision,
    a: &Arc<Tridiagonal<'m, T>>,
) -> Result<Option<Factors<T, Tridiagonal<'m, T>>>> {
    let options = decision.options;
    if !pays(&options, a.n()) {
        return Ok(None);
    }
    let Some(plain) = StoredLevel::new(&a.rows(), &options)? else { return Ok(None) };
    let facts = Facts { scaled: true, ..Facts::new(decision) };
    let stored = StoredRpts { again: Partitioned::new(scheme, decision), options, plain, transposed: Lazy::new() };
    Ok(Some(Factors::new(a.clone(), facts, stored).or_else(decision, tridiagonal::factor)))
}

impl<T: Scalar> StoredRpts<T> {
    /// The factors of A or Aᵀ, unless a pivot or an equation nearly vanished.
    fn level(&self, transposed: bool) -> Option<&StoredLevel<T>> {
        if transposed { self.transposed.computed()?.as_ref() } else { Some(&self.plain) }
    }

    fn lanes(&self) -> usize {
        T::lanes(self.options.sweep_simd())
    }
}

impl<'m, T: Scalar> Solver<T, Tridiagonal<'m, T>> for StoredRpts<T> {
    fn looks_at_size(&self) -> bool {
        true
    }

    fn prepare(&self, a: &Tridiagonal<'m, T>, transposed: bool) -> Result<()> {
        if transposed {
            self.transposed.get(|| StoredLevel::new(&Op::Transpose.rows(a), &self.options))?;
        }
        Ok(())
    }

    fn scratch(&self, a: &Tridiagonal<'m, T>, _n_rhs: usize) -> StackReq {
        StackReq::new_aligned::<T>(a.n(), ALIGN).and(level_scratch::<T>(a.n(), self.lanes(), 1))
    }

    fn solve(&self, a: &Tridiagonal<'m, T>, transposed: bool, x: &mut [T], stack: &mut PodStack) {
        let Some(level) = self.level(transposed) else { return };
        let (rhs, stack) = stack.make_aligned_raw::<T>(a.n(), ALIGN);
        for x in x.chunks_exact_mut(a.n()) {
            rhs.copy_from_slice(x);
            let (rhs, x) = (columns(rhs, 1), columns_mut(x, 1));
            let columns = StoredColumns { n_rhs: 1, rhs, x, gaps: Default::default(), conj: false };
            level.solve(columns, &mut *stack);
        }
    }

    fn is_singular(&self, transposed: bool) -> bool {
        transposed && self.transposed.computed().is_some_and(Option::is_none)
    }

    fn solve_scratch(&self, factors: &Factors<T, Tridiagonal<'m, T>>, n_rhs: usize) -> StackReq {
        scratch::<T>(self.again.scheme, &self.options, factors.matrix().n(), n_rhs).expect("factors are stored")
    }

    fn solve_all(
        &self,
        factors: &Factors<T, Tridiagonal<'m, T>>,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        outcome: &mut Outcome<'_>,
    ) -> Result<()> {
        self.prepare(factors.matrix(), op != Op::Plain)?;
        driver::solve_all(self, factors, op, columns, outcome)
    }

    fn sparse_solver<'a>(
        &'a self,
        factors: &'a Factors<T, Tridiagonal<'m, T>>,
        op: Op,
    ) -> Result<Option<Box<dyn SparseSolver<T> + 'a>>> {
        Tridiagonal::sparse_solver(factors, &self.again, op)
    }
}

impl<'m, T: Scalar> ByPartitions<T, Tridiagonal<'m, T>> for StoredRpts<T> {
    fn group_size(&self, a: &Tridiagonal<'m, T>, n_rhs: usize) -> usize {
        self.again.group_size(a, n_rhs)
    }

    fn entries_in_row(&self, a: &Tridiagonal<'m, T>) -> usize {
        self.again.entries_in_row(a)
    }

    fn partitions(&self, a: &Tridiagonal<'m, T>) -> usize {
        partitions::<T>(&self.options, a.n())
    }

    fn solve_and_measure(
        &self,
        a: &Tridiagonal<'m, T>,
        op: Op,
        (rhs, x): RhsAndSolution<'_, T>,
        gaps: &mut [T::Real],
        (_report, stack): (&mut Report, &mut PodStack),
    ) -> [CheckResult; MAX_RHS] {
        let n_rhs = rhs.len() / a.n();
        let Some(level) = self.level(op != Op::Plain) else {
            return [CheckResult { suspect: true, ..CheckResult::default() }; MAX_RHS];
        };
        let (rhs, x, gaps) = (columns(rhs, n_rhs), columns_mut(x, n_rhs), columns_mut(gaps, n_rhs));
        let conj = T::COMPLEX && op == Op::ConjTranspose;
        level.solve(StoredColumns { n_rhs, rhs, x, gaps, conj }, stack)
    }

    fn repair_rows(
        &self,
        a: &Tridiagonal<'m, T>,
        op: Op,
        columns: RhsAndSolution<'_, T>,
        check: CheckResult,
        gaps: &[T::Real],
    ) -> Option<(f64, usize)> {
        let tiles = Tiles::new(a.n(), self.lanes()).expect("enough rows");
        let rows = |p: usize| {
            let (t, lane) = (p / tiles.lanes, p % tiles.lanes);
            if t == tiles.count {
                return tiles.left_over();
            }
            let first = tiles.start(t) + lane * tiles.m(t);
            first..first + tiles.m(t)
        };
        repair_partitions(a.windows(op, self.options.simd), columns, (check, gaps), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::measure::backward_error;
    use crate::contract::refine::good;
    use crate::pivoted::testing::{OPS, Rng};
    use crate::{Factor, Method, Plan};
    use dyn_stack::PodBuffer;

    #[test]
    fn tiles_cover_every_row_once() {
        for lanes in [2, 4, 8, 16] {
            assert_eq!(Tiles::new(lanes * MIN_ROWS - 1, lanes), None);
            for n in (lanes * MIN_ROWS..3000).chain([1 << 17, (1 << 18) - 1]) {
                let tiles = Tiles::new(n, lanes).unwrap();
                assert!(tiles.start(0) == 0 && tiles.left_over().len() < lanes && tiles.left_over().end == n);
                for t in 0..tiles.count {
                    assert!((MIN_ROWS..=MAX_ROWS).contains(&tiles.m(t)), "{tiles:?}");
                    assert_eq!(tiles.start(t) + lanes * tiles.m(t), tiles.start(t + 1));
                }
            }
        }
    }

    fn solve<T: Scalar>(factors: &impl Factor<T>, op: Op, rhs: &[T]) -> (Vec<T>, Report) {
        let (n, mut x) = (factors.shape().n(), vec![T::ZERO; rhs.len()]);
        let mut memory = PodBuffer::new(factors.solve_scratch(rhs.len() / n));
        let report = factors.solve_into_with(op, rhs, &mut x, PodStack::new(&mut memory)).unwrap();
        (x, report)
    }

    mod generic {
        use super::*;

        /// Solutions satisfy the contract without refinement or fallback, are the same for columns alone and together, on one thread or
        /// three, and need no more scratch than the plan says.
        pub fn random_systems_of_all_sizes<T: Scalar>() {
            let (mut rng, mut count) = (Rng(7), 0);
            for n in (128..260).chain([1000, 1024, 4097, 20_011]) {
                for periodic in [false, true] {
                    let a =
                        Tridiagonal::<T>::from_vecs(rng.scalars(n), rng.scalars(n), rng.scalars(n), periodic).unwrap();
                    let plan = Plan::new(a.shape()).method(Method::Rpts);
                    let [one, three] = [1, 3].map(|threads| {
                        let decision = plan.clone().threads(threads).decision;
                        factor(crate::methods::rpts::scheme(&decision), &decision, &Arc::new(a.view())).unwrap()
                    });
                    let (Some(one), Some(three)) = (one, three) else { continue };
                    let rhs = rng.scalars::<T>(5 * n);
                    for op in OPS {
                        let (together, report) = solve(&one, op, &rhs);
                        assert!(!report.fallback, "{n} {periodic} {op:?} {report:?}");
                        assert_eq!(together, solve(&three, op, &rhs).0, "{n} {op:?}");
                        for (d, x) in rhs.chunks(n).zip(together.chunks(n)) {
                            let eta = backward_error(op.rows(&a), (d, x), false);
                            assert!(eta <= 1.5 * good::<T>(), "{n} {periodic} {op:?}: {eta:e} {report:?}");
                            assert_eq!(solve(&one, op, d).0, x, "{n} {op:?}");
                        }
                    }
                    count += 1;
                }
            }
            assert!(count > 200, "{count}");
        }
    }
    crate::pivoted::testing::for_all_scalars!(random_systems_of_all_sizes);
}
