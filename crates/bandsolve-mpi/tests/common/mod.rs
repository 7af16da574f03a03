//! Checks for ranks that are threads or processes. All functions are collective.

mod agreements;
mod batches;
mod coarse;
mod counts;
mod radiative;
mod slabs;
mod transposes;

use bandsolve::{Banded, BlockTridiagonal, Complex64, Error, Method, Plan, RealScalar, Scalar};
use bandsolve_eigen::EigenSolver;
use bandsolve_mpi::cost::CostModel;
use bandsolve_mpi::{DistributedBanded, DistributedBlocks, RankError, RankRanges, Ranks};
use bandsolve_sparse::{Ending, KrylovMethod, KrylovSolver};
use serde_json::Value;

/// A check and its name.
type NamedCheck = (&'static str, fn(&Ranks));

/// All checks, by name.
pub const CHECKS: [NamedCheck; 40] = [
    ("every_batch", batches::every_batch),
    ("repaired_batches", batches::repaired_batches),
    ("uneven_batches", batches::uneven_batches),
    ("batch_errors", batches::batch_errors),
    ("traffic_of_batches", batches::traffic_of_batches),
    ("slabs", slabs::slabs),
    ("uneven_slabs", slabs::uneven_slabs),
    ("errors_of_slabs", slabs::errors_of_slabs),
    ("traffic_of_slabs", slabs::traffic_of_slabs),
    ("means_of_graded_slabs", slabs::means_of_graded_slabs),
    ("rounding_of_sides", slabs::rounding_of_sides),
    ("transposed_blocks", transposes::transposed_blocks),
    ("transposed_bands", transposes::transposed_bands),
    ("singular_inverses", transposes::singular_inverses),
    ("traffic_of_transposes", transposes::traffic_of_transposes),
    ("coarse_systems", coarse::coarse_systems),
    ("truncated_coarse_systems", coarse::truncated_coarse_systems),
    ("traffic_of_coarse_systems", coarse::traffic_of_coarse_systems),
    ("rows_that_do_not_dominate", coarse::rows_that_do_not_dominate),
    ("counts", counts::counts),
    ("complete_sets", counts::complete_sets),
    ("traffic_of_counts", counts::traffic_of_counts),
    ("eigenvalues", eigenvalues),
    ("radiative_transfer", radiative::radiative_transfer),
    ("traffic_is_that_of_the_model", traffic_is_that_of_the_model),
    ("bands", bands),
    ("iterations", iterations),
    ("few_rows", few_rows),
    ("golden", golden),
    ("every_number_of_rows", every_number_of_rows),
    ("rows_anywhere", rows_anywhere),
    ("singular_blocks", singular_blocks),
    ("errors_are_everyones", errors_are_everyones),
    ("products", products),
    ("different_options", agreements::different_options),
    ("other_threads", agreements::other_threads),
    ("indefinite_pencils", agreements::indefinite_pencils),
    ("conditions", agreements::conditions),
    ("conditions_of_whole_matrices", agreements::conditions_of_whole_matrices),
    ("conditions_near_the_ends_of_the_range", agreements::conditions_near_the_ends_of_the_range),
];

/// Irregular numbers, the same on all ranks.
pub fn wave<T: Scalar>(i: usize, by: f64) -> T {
    let part = |by: f64| T::Real::from_f64((((i + 1) * (i + 3)) as f64 * by).sin());
    T::from_parts(part(by), part(by + 0.31))
}

/// A block tridiagonal matrix that all ranks know. `strength` is added to its diagonal.
pub struct Blocks<T> {
    pub block: usize,
    pub arrays: [Vec<T>; 3],
    pub periodic: bool,
}

impl<T: Scalar> Blocks<T> {
    pub fn new((rows, block): (usize, usize), strength: f64, periodic: bool) -> Self {
        let square = block * block;
        let entry = |k: usize, i: usize| {
            let on_diagonal = k == 1 && (i % square).is_multiple_of(block + 1);
            let more = if on_diagonal { strength * if i.is_multiple_of(3) { -1.0 } else { 1.0 } } else { 0.0 };
            wave::<T>(i + 7 * k, 0.37 + 0.11 * k as f64) + T::from_real(T::Real::from_f64(more))
        };
        let arrays = [0, 1, 2].map(|k| (0..rows * square).map(|i| entry(k, i)).collect());
        Self { block, arrays, periodic }
    }

    pub fn rows(&self) -> usize {
        self.arrays[1].len() / self.block.pow(2)
    }

    pub fn whole(&self) -> BlockTridiagonal<'_, T> {
        let [sub, diag, sup] = &self.arrays;
        let new = if self.periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
        new(self.block, sub, diag, sup).unwrap()
    }

    pub fn distributed(&self, ranks: &Ranks, ranges: &RankRanges) -> Result<DistributedBlocks<T>, RankError> {
        let (own, square) = (ranges.range(ranks.rank()), self.block.pow(2));
        let [sub, diag, sup] = &self.arrays;
        let part = [sub, diag, sup].map(|array| &array[own.start * square..own.end * square]);
        let new = if self.periodic { DistributedBlocks::periodic } else { DistributedBlocks::new };
        new(ranks, self.block, part)
    }
}

/// The rows of this rank, of every column.
pub fn part<T: Copy>(x: &[T], n: usize, rows: std::ops::Range<usize>) -> Vec<T> {
    x.chunks_exact(n.max(1)).flat_map(|x| &x[rows.clone()]).copied().collect()
}

/// The unknowns of this rank.
pub fn unknowns(ranks: &Ranks, ranges: &RankRanges, block: usize) -> std::ops::Range<usize> {
    let own = ranges.range(ranks.rank());
    own.start * block..own.end * block
}

/// The largest difference of two vectors, relative to the largest entry of the first.
pub fn distance<T: Scalar>(expected: &[T], got: &[T]) -> f64 {
    let size = |x: &mut dyn Iterator<Item = T>| x.map(|x| x.abs1().to_f64()).fold(0.0, f64::max);
    let largest = size(&mut expected.iter().copied()).max(f64::MIN_POSITIVE);
    assert_eq!(expected.len(), got.len());
    size(&mut expected.iter().zip(got).map(|(a, b)| *a - *b)) / largest
}

/// Solve on ranks and on one machine, and compare. Return whether the solve needed the fallback.
fn compare<T: Scalar>(ranks: &Ranks, blocks: &Blocks<T>, ranges: &RankRanges, n_rhs: usize) -> bool {
    compare_by(ranks, blocks, ranges, (Method::BlockSpike, n_rhs));
    compare_by(ranks, blocks, ranges, (Method::Bcyclic, n_rhs))
}

fn compare_by<T: Scalar>(
    ranks: &Ranks,
    blocks: &Blocks<T>,
    ranges: &RankRanges,
    (method, n_rhs): (Method, usize),
) -> bool {
    let (n, a) = (blocks.rows() * blocks.block, blocks.distributed(ranks, ranges).unwrap());
    let own = unknowns(ranks, ranges, blocks.block);
    let rhs: Vec<T> = (0..n * n_rhs).map(|i| wave(i, 0.23)).collect();
    let factors = a.factor_by(method).unwrap();
    assert_eq!(factors.method(), method);
    let x = factors.solve(&part(&rhs, n, own.clone())).unwrap();
    let what = format!("{} rows of {}, {ranges:?}", blocks.rows(), blocks.block);
    let whole = blocks.whole();
    let expected = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap();
    let expected = bandsolve::Factor::solve(&expected, &rhs).unwrap().values;
    assert_eq!(x.report.backward_errors.len(), if n == 0 { 0 } else { n_rhs });
    let epsilon = T::Real::EPSILON.to_f64();
    assert!(x.report.backward_errors.iter().all(|eta| *eta <= 8.0 * epsilon), "{what}: {:?}", x.report);
    let far = distance(&part(&expected, n, own), &x.values);
    // The condition numbers of these matrices are below 10⁴.
    assert!(far <= 1e5 * epsilon, "{what}: {far}");
    let same = ranks_agree(ranks, x.report.backward_error);
    assert!(same, "{what}: reports differ");
    x.report.fallback
}

/// Whether a number is the same on all ranks.
pub fn ranks_agree(ranks: &Ranks, value: f64) -> bool {
    let mut ends = [value, -value];
    ranks.max(&mut ends);
    ends[0] == -ends[1]
}

fn golden(ranks: &Ranks) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/bcyclic_small.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        if ranks.rank() == 0 {
            bandsolve_testkit::skipped("no ../shared/golden beside the checkout: BCYCLIC over ranks");
        }
        return;
    };
    let cases: Value = serde_json::from_str(&text).expect("JSON");
    for case in cases.as_array().expect("a list") {
        let size = |key: &str| case[key].as_u64().expect("a number") as usize;
        let (rows, block) = (size("l"), size("k"));
        let entry = |key: &str, i: usize| {
            let (row, place) = (i / (block * block), i % (block * block));
            case[key][row][place % block][place / block].as_f64().unwrap_or(0.0)
        };
        let arrays = ["A", "B", "C"].map(|key| (0..rows * block * block).map(|i| entry(key, i)).collect());
        let blocks = Blocks { block, arrays, periodic: false };
        // The right-hand sides of this file start from 1.
        let mut state = 1u64;
        let rhs: Vec<f64> = std::iter::repeat_with(|| {
            state = (1_103_515_245 * state + 12_345) % (1 << 31);
            2.0 * state as f64 / f64::from(1u32 << 31) - 1.0
        })
        .take(rows * block)
        .collect();
        let expected: Vec<f64> = serde_json::from_value(case["x"].clone()).expect("x");
        let even = RankRanges::even(rows, size("p"));
        let ranges: Vec<[usize; 2]> = serde_json::from_value(case["ranges"].clone()).expect("ranges");
        for (rank, [low, high]) in ranges.iter().enumerate() {
            assert_eq!(even.range(rank), low - 1..*high);
        }
        // The distribution of the file if it has the same number of ranks, else an even distribution.
        let ranges = RankRanges::even(rows, ranks.size());
        let own = unknowns(ranks, &ranges, block);
        let solved = blocks.distributed(ranks, &ranges).unwrap().factor().unwrap().solve(&rhs[own.clone()]);
        if rows == 1 {
            // The block is singular to rounding. The stored x is of the order 10¹⁵.
            assert!(solved.is_err() || solved.unwrap().report.backward_error <= 8.0 * f64::EPSILON);
            continue;
        }
        let far = distance(&expected, &{
            let mut x = expected.clone();
            x[own].copy_from_slice(&solved.unwrap().values);
            x
        });
        assert!(far <= 1e-12, "{rows} rows of {block}: {far}");
    }
}

fn every_number_of_rows(ranks: &Ranks) {
    for rows in 0..20 {
        for (block, periodic) in [(1, false), (2, true), (3, false), (1, true)] {
            let ranges = RankRanges::even(rows, ranks.size());
            assert!(!compare(ranks, &Blocks::<f64>::new((rows, block), 4.0 * block as f64, periodic), &ranges, 2));
        }
    }
    let ranges = RankRanges::even(33, ranks.size());
    compare(ranks, &Blocks::<Complex64>::new((33, 4), 20.0, true), &ranges, 1);
    compare(ranks, &Blocks::<f32>::new((33, 4), 20.0, false), &ranges, 3);
    compare(ranks, &Blocks::<f64>::new((33, 70), 300.0, false), &ranges, 3);
}

fn rows_anywhere(ranks: &Ranks) {
    let size = ranks.size();
    for (seed, periodic) in (0..12).flat_map(|seed| [(seed, false), (seed, true)]) {
        // Some ranks own many rows, some none.
        let counts = (0..size).map(|rank| [0, 5, 1, 0, 3, 8, 2][(3 * rank + seed * (rank + 1)) % 7]);
        let ranges = RankRanges::of_counts(counts);
        let blocks = Blocks::<f64>::new((ranges.rows(), 2), 6.0, periodic);
        compare(ranks, &blocks, &ranges, 1);
    }
}

fn singular_blocks(ranks: &Ranks) {
    let ranges = RankRanges::even(9, ranks.size());
    for row in 0..9 {
        // One diagonal block is singular, but not the matrix.
        let mut blocks = Blocks::<f64>::new((9, 2), 6.0, false);
        blocks.arrays[1][4 * row..4 * row + 4].copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        if row % 2 == 1 {
            assert!(compare(ranks, &blocks, &ranges, 1), "the block of row {row} is not seen to be singular");
        } else {
            compare(ranks, &blocks, &ranges, 1);
        }
    }
    let mut blocks = Blocks::<f64>::new((9, 1), 6.0, false);
    for array in &mut blocks.arrays {
        array[4] = 0.0;
    }
    let factors = blocks.distributed(ranks, &ranges).unwrap().factor().unwrap();
    let error = factors.solve(&vec![1.0; unknowns(ranks, &ranges, 1).len()]).unwrap_err();
    assert!(matches!(error, RankError { rank: 0, error: Error::Singular { .. } }), "{error}");
}

fn errors_are_everyones(ranks: &Ranks) {
    let (ranges, last) = (RankRanges::even(14, ranks.size()), ranks.size() - 1);
    let blocks = Blocks::<f64>::new((14, 1), 6.0, false);
    let own = unknowns(ranks, &ranges, 1);
    let factors = blocks.distributed(ranks, &ranges).unwrap().factor().unwrap();
    let mut rhs = vec![1.0; own.len()];
    if ranks.rank() == last {
        rhs[0] = f64::NAN;
    }
    let expected = RankError { rank: last, error: Error::NotFinite { array: "rhs", index: 0 } };
    assert_eq!(factors.solve(&rhs), Err(expected));
    let len = if ranks.rank() == last { own.len() + 1 } else { own.len() };
    let error = factors.solve(&vec![1.0; len]).unwrap_err();
    assert!(matches!(error.error, Error::Shape { what: "rhs", .. }), "{error}");
    let [sub, diag, sup] = blocks.arrays.each_ref().map(|array| &array[own.clone()]);
    let short = if ranks.rank() == last { &sub[1..] } else { sub };
    let error = DistributedBlocks::new(ranks, 1, [short, diag, sup]).unwrap_err();
    let expected = Error::Shape { what: "sub", expected: 14 / ranks.size(), got: 14 / ranks.size() - 1 };
    assert_eq!(error, RankError { rank: last, error: expected });
}

fn products(ranks: &Ranks) {
    for (rows, periodic) in [(1, true), (2, true), (3, false), (11, true), (12, false)] {
        let (blocks, ranges) = (Blocks::<f64>::new((rows, 3), 2.0, periodic), RankRanges::even(rows, ranks.size()));
        let x: Vec<f64> = (0..6 * rows).map(|i| wave(i, 0.7)).collect();
        let (n, own) = (3 * rows, unknowns(ranks, &ranges, 3));
        let y = blocks.distributed(ranks, &ranges).unwrap().apply(&part(&x, n, own.clone())).unwrap();
        assert!(distance(&part(&blocks.whole().apply(&x).unwrap(), n, own), &y) <= 1e-14);
    }
    // Products of rows at the ends of a rank, which use the halos, have the same bits as those of other rows.
    for (rows, block) in [(12, 3), (40, 1), (50, 4)] {
        let (blocks, ranges) = (Blocks::<f64>::new((rows, block), 2.0, false), RankRanges::even(rows, ranks.size()));
        let x: Vec<f64> = (0..block * rows).map(|i| wave(i, 0.7)).collect();
        let own = unknowns(ranks, &ranges, block);
        let y = blocks.distributed(ranks, &ranges).unwrap().apply(&x[own.clone()]).unwrap();
        assert_eq!(blocks.whole().apply(&x).unwrap()[own], y, "{rows} rows of {block}");
    }
}

/// A banded matrix, stored by rows and in the storage of the library.
fn band<T: Scalar>(n: usize, (lower, upper): (usize, usize), strength: f64) -> (Vec<T>, Banded<'static, T>) {
    let wide = lower + upper + 1;
    let mut bands = vec![T::ZERO; n * wide];
    let mut rows: Vec<T> = (0..n * wide).map(|k| wave(k, 0.37)).collect();
    for i in 0..n {
        rows[i * wide + lower] += T::from_real(T::Real::from_f64(strength));
        for (j, v) in (0..n).filter(|j| *j + lower >= i && *j <= i + upper).map(|j| (j, rows[i * wide + lower + j - i]))
        {
            bands[j * wide + upper + i - j] = v;
        }
    }
    (rows, Banded::from_vec(n, lower, upper, bands).unwrap())
}

/// Numbers of diagonals below and above, and of rows of the ranks: many, few and none.
fn band_cases(size: usize) -> Vec<((usize, usize), RankRanges)> {
    let mut cases = Vec::new();
    for (seed, widths) in [(1, 1), (0, 2), (3, 1), (2, 5), (0, 0), (4, 4)].into_iter().enumerate() {
        for few in [false, true] {
            let each = |rank: usize| if few { (rank + seed) % 4 } else { 3 + (rank * 7 + seed) % 20 };
            cases.push((widths, RankRanges::of_counts((0..size).map(each))));
        }
    }
    cases
}

fn bands(ranks: &Ranks) {
    for (widths, ranges) in band_cases(ranks.size()) {
        let (n, own, wide) = (ranges.rows(), ranges.range(ranks.rank()), widths.0 + widths.1 + 1);
        let (rows, whole) = band::<f64>(n, widths, 6.0);
        let a = DistributedBanded::new(ranks, widths, &rows[own.start * wide..own.end * wide]).unwrap();
        let x: Vec<f64> = (0..2 * n).map(|i| wave(i, 0.23)).collect();
        let rhs: Vec<f64> = x.chunks(n.max(1)).flat_map(|x| whole.apply(x).unwrap()).collect();
        let (x, rhs) = (part(&x, n, own.clone()), part(&rhs, n, own));
        assert!(distance(&rhs, &a.apply(&x).unwrap()) <= 1e-14);
        let solved = a.factor().unwrap().solve(&rhs).unwrap();
        assert!(solved.report.backward_error <= 8.0 * f64::EPSILON, "{widths:?}, {ranges:?}: {:?}", solved.report);
        assert!(distance(&x, &solved.values) <= 1e-12, "{widths:?}, {ranges:?}");
        assert!(ranks_agree(ranks, solved.report.backward_error));
    }
}

/// Krylov methods on distributed rows, with factors of another distributed matrix as preconditioner.
fn iterations(ranks: &Ranks) {
    let (n, side) = (150, 10);
    let ranges = RankRanges::even(n, ranks.size());
    let own = ranges.range(ranks.rank());
    // The five-point problem on a grid of 10 × 15 points as a banded matrix, with its tridiagonal part as a preconditioner.
    let entry = |i: usize, j: i64| match j {
        0 => 4.0,
        1 if !(i + 1).is_multiple_of(side) => -1.0,
        -1 if !i.is_multiple_of(side) => -1.0,
        _ if j.unsigned_abs() as usize == side => -1.0,
        _ => 0.0,
    };
    let reach = side as i64;
    let rows: Vec<f64> = own.clone().flat_map(|i| (-reach..=reach).map(move |j| entry(i, j))).collect();
    let a = DistributedBanded::new(ranks, (side, side), &rows).unwrap();
    let lines = [-1, 0, 1].map(|j| own.clone().map(|i| entry(i, j)).collect::<Vec<f64>>());
    let lines = DistributedBlocks::new(ranks, 1, lines.each_ref().map(Vec::as_slice)).unwrap().factor().unwrap();
    let rhs: Vec<f64> = own.clone().map(|i| wave(i, 0.7)).collect();
    let direct = a.factor().unwrap().solve(&rhs).unwrap().values;
    // The restart length can exceed the number of rows of a rank.
    let gmres = KrylovMethod::Gmres { restart: 60 };
    for method in [KrylovMethod::Cg, gmres, KrylovMethod::Bicgstab, KrylovMethod::Idr { space: 4 }] {
        let solver = KrylovSolver::new(method).rtol(1e-12).communicator(ranks);
        let mut x = vec![0.0; own.len()];
        let report = solver.solve(&a, Some(&lines), &rhs, &mut x).unwrap();
        assert_eq!(report.ending, Ending::Converged, "{method}");
        assert!(distance(&direct, &x) <= 1e-9, "{method}");
        // An error on one rank is an error on all ranks.
        let bad: Vec<f64> = rhs.iter().map(|v| if ranks.rank() + 1 == ranks.size() { f64::NAN } else { *v }).collect();
        let error = solver.solve(&a, Some(&lines), &bad, &mut x).unwrap_err();
        assert!(matches!(error, Error::NotFinite { index: 0, .. }), "{error}");
        assert!(ranks_agree(ranks, report.iterations as f64), "{method}");
    }
}

/// Fewer rows than the restart length, and ranks with one row or none. diag(1, 2, …) needs as many iterations as it has rows.
fn few_rows(ranks: &Ranks) {
    let n = 5;
    let own = RankRanges::even(n, ranks.size()).range(ranks.rank());
    let diag: Vec<f64> = own.clone().map(|i| 1.0 + i as f64).collect();
    let beside = vec![0.0; own.len()];
    let a = DistributedBlocks::new(ranks, 1, [&beside, &diag, &beside]).unwrap();
    for method in [KrylovMethod::Gmres { restart: 30 }, KrylovMethod::Cg] {
        let mut x = vec![0.0; own.len()];
        let solver = KrylovSolver::new(method).rtol(1e-10).communicator(ranks);
        let report = solver.solve(&a, None, &vec![1.0; own.len()], &mut x).unwrap();
        assert_eq!(report.ending, Ending::Converged, "{method}");
        assert!(ranks_agree(ranks, report.iterations as f64), "{method}");
        assert!(x.iter().zip(&diag).all(|(x, d)| (x * d - 1.0).abs() <= 1e-8), "{method}: {x:?}");
    }
}

fn traffic_is_that_of_the_model(ranks: &Ranks) {
    for (rows, block, periodic) in
        [(1, 2, false), (3, 1, true), (8, 3, true), (13, 2, false), (22, 2, true), (64, 1, false)]
    {
        let ranges = RankRanges::even(rows, ranks.size());
        let a = Blocks::<f64>::new((rows, block), 50.0, periodic).distributed(ranks, &ranges).unwrap();
        let rhs = vec![1.0; 3 * unknowns(ranks, &ranges, block).len()];
        for method in [Method::Bcyclic, Method::BlockSpike] {
            let (model, what) = (CostModel::of(&a, method), format!("{rows} rows of {block}, {periodic}, {method:?}"));
            let before = ranks.traffic();
            let factors = a.factor_by(method).unwrap();
            let between = ranks.traffic();
            assert_eq!(between - before, model.factor(ranks.rank()).traffic, "factors, {what}");
            let report = factors.solve(&rhs).unwrap().report;
            // One check of the residual is sufficient, because the matrix is strongly diagonally dominant.
            assert!(report.backward_error <= 4.0 * f64::EPSILON && report.refinement_steps == 0);
            assert_eq!(ranks.traffic() - between, model.solve(ranks.rank(), 3).traffic, "solve, {what}");
        }
    }
}

/// The five eigenvalues 2 − 2·cos(π·k/(n + 1)) nearest to 1, also with ranks without rows.
fn eigenvalues(ranks: &Ranks) {
    let (n, size) = (600, ranks.size());
    let few = |empty: usize| {
        RankRanges::of_counts((0..size).map(|rank| if rank == empty && size > 1 { 0 } else { n / size }))
    };
    for ranges in [RankRanges::even(n, size), few(0), few(size - 1)] {
        let (rows, n) = (ranges.range(ranks.rank()).len(), ranges.rows());
        let (beside, diag) = (vec![-1.0; rows], vec![2.0; rows]);
        let a = DistributedBlocks::new(ranks, 1, [&beside, &diag, &beside]).unwrap();
        let solver = EigenSolver::new(5).seed(ranks.rank() as u64).communicator(ranks);
        let found = solver.hermitian_nearest(&a, None, 1.0).unwrap();
        assert!(found.converged(), "{:?}", found.report);
        let exact = |k: usize| 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / (n + 1) as f64).cos();
        let mut nearest: Vec<f64> = (1..=n).map(exact).collect();
        nearest.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
        assert!(
            found.values.iter().zip(&nearest).all(|(got, exact)| (got - exact).abs() < 1e-11),
            "{:?}",
            found.values
        );
        assert!(found.values.iter().all(|value| ranks_agree(ranks, *value)));
        let found = solver.general_nearest(&a, None, 1.0).unwrap();
        assert!(found.converged(), "{:?}", found.report);
        let far = |got: &Complex64, exact: &f64| (got - exact).norm();
        assert!(found.values.iter().zip(&nearest).all(|(got, exact)| far(got, exact) < 1e-9), "{:?}", found.values);
        // An invalid start vector on one rank is an error on all ranks.
        let start = vec![if ranks.rank() + 1 == size { f64::NAN } else { 1.0 }; rows];
        if !ranges.range(size - 1).is_empty() {
            assert!(solver.start(&start).hermitian_nearest(&a, None, 1.0).is_err());
        }
    }
}
