//! Small pivots in single precision, eliminated again in double precision.
//!
//! A pivot or an equation that nearly vanishes can be a rounded zero, and then the matrix may be singular. In single precision, rounding
//! reaches 2⁻¹⁷, so long regular systems have such pivots too. A small pivot is therefore confirmed:
//!
//! 1. Find the partitions with small pivots, by the same elimination tile by tile.
//! 2. Compute the rows of these partitions in double precision. On a coarse level, reduce the partitions below, down to the caller's
//!    matrix, whose entries are exact in double precision.
//! 3. Eliminate these rows. If the pivots exceed the limit of double precision, 2⁻⁴⁴, the small pivot is no zero.
//!
//! If many partitions have small pivots, nothing is confirmed.
//!
//! Cost: an elimination of the level, and that of a few partitions. It is only paid for levels with small pivots.

#![cfg_attr(not(feature = "single"), expect(dead_code, reason = "double precision confirms only single precision"))]

use crate::memory::{buffer, reserved, zeroed};
use crate::partition::cut::{ALIGN, columns, columns_mut, middle};
use crate::partition::level_matrix::{Finer, Level, LevelMatrix, coarse_rows, solve_last};
use crate::partition::settings::Settings;
use crate::tuning;
use bandsolve_kernel::memory::Array;
use bandsolve_kernel::rows::Rows;
use bandsolve_kernel::sweep::MAX_RHS;
use bandsolve_kernel::threads::join;
use bandsolve_kernel::tile::ARRAYS;
use bandsolve_kernel::tile_runs::{Span, Target, Workspace};
use bandsolve_kernel::{ByType, RealScalar, Scalar, tile_runs};
use core::marker::PhantomData;
use core::ops::Range;
use dyn_stack::{PodStack, StackReq};

/// Where an elimination has met a small pivot.
#[derive(Clone, Copy)]
pub(crate) enum SmallPivotPlace {
    /// In a partition of the level, which this number of threads can search.
    Partition(usize),
    /// In the elimination of the level as a whole: it is the last coarse system.
    LastLevel,
}

/// Whether the matrix of a level with a small pivot may be singular: always, unless double precision shows that it is not.
pub(crate) fn may_be_singular<T: Scalar>(level: &Level<'_, T>, place: SmallPivotPlace) -> bool {
    level.is_exact() && T::by_type::<Confirmation<'_>>((level, place))
}

/// Whether small pivots of a level remain small in double precision.
struct Confirmation<'a>(PhantomData<&'a ()>);

impl<'a> ByType for Confirmation<'a> {
    type Argument<T: Scalar> = (&'a Level<'a, T>, SmallPivotPlace);
    type Output<T: Scalar> = bool;

    bandsolve_kernel::if_single! {
        fn of_f32((level, place): (&'a Level<'a, f32>, SmallPivotPlace)) -> bool {
            is_confirmed::<f32, f64>(level, place)
        }
    }
    /// There is no higher precision.
    fn of_f64(_: (&'a Level<'a, f64>, SmallPivotPlace)) -> bool {
        true
    }
    bandsolve_kernel::if_single_complex! {
        fn of_c32((level, place): (&'a Level<'a, bandsolve_kernel::Complex32>, SmallPivotPlace)) -> bool {
            is_confirmed::<bandsolve_kernel::Complex32, bandsolve_kernel::Complex64>(level, place)
        }
    }
    bandsolve_kernel::if_complex! {
        fn of_c64(_: (&'a Level<'a, bandsolve_kernel::Complex64>, SmallPivotPlace)) -> bool {
            true
        }
    }
}

/// Whether a small pivot of a level is small in the type `W` too, or there was no memory to find out.
fn is_confirmed<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>, place: SmallPivotPlace) -> bool {
    match place {
        SmallPivotPlace::Partition(threads) => {
            let SmallPivots { found, confirmed } = search::<T, W>(level, 0..level.cut.partitions(), threads);
            confirmed || found == 0 || found > most(level)
        }
        SmallPivotPlace::LastLevel => last_vanishes::<T, W>(level).unwrap_or(true),
    }
}

/// Whether a pivot of the last coarse system vanishes in the type `W`; `None` if there is no memory.
fn last_vanishes<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>) -> Option<bool> {
    let n = level.cut.rows();
    let ([sub, diag, sup], mut zeros) = (double_rows::<T, W>(level, 0..n)?, zeroed::<W>(n).ok()?);
    Some(solve_last(&coarse_rows([&sub, &diag, &sup], level.matrix.periodic()), &mut zeros))
}

/// What a search for small pivots has found.
#[derive(Debug, Clone, Copy, Default)]
struct SmallPivots {
    /// Number of partitions with a pivot that is small in the precision of the solve, or any number above [`most`].
    found: usize,
    /// A pivot is small in double precision too, or there was no memory to find out.
    confirmed: bool,
}

/// Maximum number of partitions that are eliminated in double precision.
fn most<T: Scalar>(level: &Level<'_, T>) -> usize {
    level.cut.partitions() / tuning::CONFIRM_ONE_OF + 1
}

/// Search partitions of a level for small pivots, and confirm them in the type `W`.
fn search<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>, parts: Range<usize>, threads: usize) -> SmallPivots {
    if threads > 1 && parts.len() > level.settings.lanes {
        let mid = middle(&parts, level.settings.lanes, threads);
        let half = |parts: Range<usize>, threads: usize| search::<T, W>(level, parts, threads);
        let (a, b) = join(|| half(parts.start..mid, threads / 2), || half(mid..parts.end, threads - threads / 2));
        return SmallPivots { found: a.found + b.found, confirmed: a.confirmed | b.confirmed };
    }
    search_tiles::<T, W>(level, parts).unwrap_or(SmallPivots { found: 0, confirmed: true })
}

/// [`search`] on one thread; `None` if there is no memory.
fn search_tiles<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>, parts: Range<usize>) -> Option<SmallPivots> {
    let (LevelMatrix::Scalars(rows), lanes) = (level.matrix, level.settings.lanes) else { return None };
    let (mut elimination, mut pivots) = (TileElimination::<T>::new(level)?, SmallPivots::default());
    let mut part = parts.start;
    while part < parts.end && pivots.found <= most(level) && !pivots.confirmed {
        let span = level.cut.span(part, parts.end.min(part + lanes), lanes);
        let of_tile = part..part + span.partitions();
        part = of_tile.end;
        if elimination.vanishes(&rows, span) {
            for p in of_tile.filter(|p| elimination.vanishes(&rows, level.cut.span(*p, p + 1, lanes))) {
                pivots.found += 1;
                pivots.confirmed |= vanishes_in_double::<T, W>(level, p).unwrap_or(true);
            }
        }
    }
    Some(pivots)
}

/// Whether a pivot or an equation of partition `p` vanishes in the type `W`; `None` if there is no memory.
fn vanishes_in_double<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>, p: usize) -> Option<bool> {
    let rows = level.cut.start(p)..level.cut.end(p);
    let span = Span { first: 0, m: rows.len(), lanes: 1, tiles: 1 };
    let [sub, diag, sup] = double_rows::<T, W>(level, rows)?;
    Some(TileElimination::<W>::new(level)?.vanishes(&coarse_rows([&sub, &diag, &sup], true), span))
}

/// The rows of a level in the type `W`: all entries left of, on and right of the diagonal. `None` if an equation of a finer level vanishes,
/// or if there is no memory.
fn double_rows<T: Scalar, W: Scalar<Real = f64>>(level: &Level<'_, T>, range: Range<usize>) -> Option<[Vec<W>; 3]> {
    let mut all = [reserved(range.len()).ok()?, reserved(range.len()).ok()?, reserved(range.len()).ok()?];
    let finer = match (level.finer, level.matrix) {
        (Finer::Level(finer), _) => finer,
        (_, LevelMatrix::Scalars(rows)) => {
            let double = |v: T| W::from_parts(v.re().to_f64(), v.im().to_f64());
            for (a, b, c) in range.map(|i| rows.row(i)) {
                all.iter_mut().zip([a, b, c]).for_each(|(column, v)| column.push(double(v)));
            }
            return Some(all);
        }
        _ => return None,
    };
    // Two rows for each partition of the finer level.
    let (mut elimination, end) = (TileElimination::<W>::new(finer)?, range.end.div_ceil(2));
    let mut part = range.start / 2;
    while part < end {
        let span = finer.cut.span(part, end.min(part + elimination.lanes), elimination.lanes);
        let [sub, diag, sup] = double_rows::<T, W>(finer, span.first..span.first + span.rows())?;
        let reduced = elimination.reduce(&coarse_rows([&sub, &diag, &sup], true), Span { first: 0, ..span })?;
        let wanted = range.start.max(2 * part) - 2 * part..range.end.min(2 * (part + span.partitions())) - 2 * part;
        all.iter_mut().zip(reduced).for_each(|(column, reduced)| column.extend_from_slice(&reduced[wanted.clone()]));
        part += span.partitions();
    }
    Some(all)
}

/// The elimination of a tile of a level without a right-hand side, and its memory.
struct TileElimination<'a, T: Scalar> {
    settings: &'a Settings<'a>,
    lanes: usize,
    memory: Array<u8>,
    /// A right-hand side, and coarse unknowns.
    zeros: Vec<T>,
    x: Vec<T>,
    /// sub, diag, sup and the right-hand side of the equations between the ends of partitions.
    equations: [Vec<T>; 4],
}

impl<'a, T: Scalar> TileElimination<'a, T> {
    /// Memory for the tiles of a level; `None` if there is none.
    fn new<U: Scalar>(level: &Level<'a, U>) -> Option<Self> {
        let (settings, longest) = (level.settings, level.cut.longest());
        let lanes = T::lanes(settings.simd);
        let (rows, column) = (longest.max(4) * lanes, || zeroed::<T>(2 * lanes).ok());
        Some(Self {
            settings,
            lanes,
            memory: buffer(StackReq::new_aligned::<T::Real>(Self::words(settings, longest), ALIGN)).ok()?,
            zeros: zeroed(rows).ok()?,
            x: zeroed(rows).ok()?,
            equations: [column()?, column()?, column()?, column()?],
        })
    }

    /// Memory of a tile whose partitions have at most `m` rows.
    fn words(settings: &Settings<'_>, m: usize) -> usize {
        tile_runs::memory::<T>(settings.simd, m, 1, 1)
    }

    /// Whether a pivot or an equation vanishes in a tile of a matrix.
    fn vanishes(&mut self, rows: &Rows<'_, T>, span: Span) -> bool {
        if self.reduce(rows, span).is_none() {
            return true;
        }
        let Self { settings, memory, zeros, x, .. } = self;
        let (memory, _) = PodStack::new(memory).make_aligned_raw::<T::Real>(Self::words(settings, span.m), ALIGN);
        let target = Target {
            coarse: columns(&zeros[..2 * span.partitions() + 2], 1),
            x: columns_mut(&mut x[..span.rows()], 1),
            gaps: Default::default(),
            x_max: [T::Real::ZERO; MAX_RHS],
            stream: false,
        };
        let (rhs, how) = (columns(&zeros[..span.rows()], 1), settings.how());
        let [check, ..] = Workspace::new(settings.simd, 1, 1, memory).substitute(rows, Some(rhs), span, how, target);
        check.suspect
    }

    /// sub, diag and sup of the equations between the ends of the partitions of a tile; `None` if an equation vanishes.
    fn reduce(&mut self, rows: &Rows<'_, T>, span: Span) -> Option<[&[T]; 3]> {
        let Self { settings, memory, zeros, equations, .. } = self;
        let (memory, _) = PodStack::new(memory).make_aligned_raw::<T::Real>(Self::words(settings, span.m), ALIGN);
        let rhs = columns(&zeros[..span.rows()], 1);
        let [a, b, c, d] = equations.each_mut().map(|column| &mut column[..2 * span.partitions()]);
        let mut out: [&mut [T]; ARRAYS] = Default::default();
        [out[0], out[1], out[2], out[3]] = [a, b, c, d];
        let vanished = Workspace::new(settings.simd, 1, 1, memory).reduce(rows, rhs, span, settings.how(), out);
        let [sub, diag, sup, _] = &*equations;
        (!vanished).then_some([sub, diag, sup])
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::Factor;
    use crate::contract::refine::good;
    use crate::{Error, Method, Plan, Tridiagonal};
    use bandsolve_kernel::{Complex32, RealScalar, Scalar};

    /// A diagonal matrix, but for rows `first` and `first` + 1, which are \[\[1, 1\], \[1, 1 + `small`\]\].
    fn pair<T: Scalar>(n: usize, first: usize, small: f64) -> Tridiagonal<'static, T> {
        let number = |v: f64| T::from_real(T::Real::from_f64(v));
        let (mut off, mut diag) = (vec![T::ZERO; n - 1], vec![T::ONE; n]);
        (off[first], diag[first + 1]) = (T::ONE, number(1.0 + small));
        Tridiagonal::from_vecs(off.clone(), diag, off, false).unwrap()
    }

    /// Solve with a pair at places in all positions of a partition and between partitions of several levels.
    fn solve_pairs<T: Scalar>(small: f64) {
        let n = 4096;
        let rhs: Vec<T> = (0..n).map(|i| T::from_real(T::Real::from_f64((i as f64).cos()))).collect();
        for first in (0..n - 1).step_by(13).chain(2000..2040) {
            let (a, singular) = (pair::<T>(n, first, small), pair::<T>(n, first, 0.0));
            let plan = Plan::once(a.shape()).method(Method::Rpts).threads(1);
            let report = plan.factor(&a).unwrap().solve(&rhs).unwrap().report;
            assert!(!report.fallback && report.backward_error <= good::<T>(), "{first}: {report:?}");
            let solved = plan.factor(&singular).and_then(|factors| factors.solve(&rhs));
            assert!(matches!(solved, Err(Error::Singular { .. })), "{first}: {:?}", solved.map(|x| x.report));
        }
    }

    /// 2⁻¹⁸ is below the limit of single precision, but it is no rounding error.
    #[test]
    fn small_pivots_in_single_precision_need_no_fallback() {
        solve_pairs::<f32>(2f64.powi(-18));
        solve_pairs::<Complex32>(2f64.powi(-18));
    }

    #[test]
    fn all_numbers_of_threads_confirm_small_pivots() {
        let n = 200_000;
        let rhs: Vec<f32> = (0..n).map(|i| (i as f32).cos()).collect();
        // Inside a partition, and between two.
        for first in [100_000, 100_003, n / 2 + 31] {
            let a = pair::<f32>(n, first, 2f64.powi(-18));
            let solve = |threads| {
                let plan = Plan::once(a.shape()).method(Method::Rpts).threads(threads);
                plan.factor(&a).unwrap().solve(&rhs).unwrap()
            };
            let one = solve(1);
            for threads in [2, 3, 7] {
                let other = solve(threads);
                assert!(!other.report.fallback && other.values == one.values, "{threads} threads: {:?}", other.report);
            }
        }
    }
}
