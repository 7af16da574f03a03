//! Agreement of all ranks on options, threads and definite matrices, and condition estimates.

use super::{Blocks, wave};
use bandsolve::{Error, Layout, Method, Op, RealScalar, Scalar};
use bandsolve_eigen::EigenSolver;
use bandsolve_mpi::{DistributedBanded, DistributedBatch, DistributedBlocks, DistributedPoisson};
use bandsolve_mpi::{RankCoarse, RankError, RankRanges, Ranks};
use bandsolve_poisson::Poisson;
use bandsolve_sparse::{KrylovMethod, KrylovSolver};

const ROWS: usize = 60;

fn matrix(ranks: &Ranks, block: usize) -> DistributedBlocks<f64> {
    let rows = ROWS / block;
    Blocks::new((rows, block), 9.0, false).distributed(ranks, &RankRanges::even(rows, ranks.size())).unwrap()
}

/// The part of a vector on this rank.
fn own(ranks: &Ranks, n: usize) -> Vec<f64> {
    RankRanges::even(n, ranks.size()).range(ranks.rank()).map(|i| wave(i, 0.3)).collect()
}

/// Check that all ranks report different options on the last rank.
fn differs<V>(what: &str, ranks: &Ranks, result: Result<V, RankError>) {
    let last = ranks.size() - 1;
    let error = result.err().unwrap_or_else(|| panic!("{what}: no error"));
    assert!(matches!(error.error, Error::InvalidArgument { .. }), "{what}: {error}");
    assert_eq!(error.rank, last, "{what}");
}

/// The last rank passes options that differ from those of the other ranks. (Earlier versions waited forever, or mixed messages.)
pub fn different_options(ranks: &Ranks) {
    if ranks.size() == 1 {
        return;
    }
    let last = ranks.rank() + 1 == ranks.size();
    let either = |others: Method, of_last: Method| if last { of_last } else { others };
    let (a, lines, x) = (matrix(ranks, 4), matrix(ranks, 1), own(ranks, ROWS));
    differs("methods", ranks, a.factor_by(either(Method::Bcyclic, Method::BlockSpike)));
    let coarse = if last { RankCoarse::Cyclic } else { RankCoarse::Gathered };
    differs("coarse systems", ranks, lines.factor_spike(coarse));
    let factors = lines.factor().unwrap();
    let op = if last { Op::Transpose } else { Op::Plain };
    differs("operations", ranks, factors.solve_in_place_with(op, &mut x.clone()));
    differs("shifts", ranks, lines.shifted(if last { 1.0 } else { 0.5 }, None));
    differs("pencils", ranks, lines.shifted(0.5, last.then_some(&lines)));
    differs("counts", ranks, lines.eigenvalues_below(None, if last { 1.0 } else { 0.5 }));
    let arrays = [&x[..], &x, &x];
    let new = if last { DistributedBlocks::periodic } else { DistributedBlocks::new };
    differs("periodic matrices", ranks, new(ranks, 1, arrays));
    let new = if last { DistributedBatch::periodic } else { DistributedBatch::new };
    differs("periodic batches", ranks, new(ranks, (1, Layout::Interleaved), arrays));
    let batch = DistributedBatch::new(ranks, (1, Layout::Interleaved), [&x, &vec![9.0; x.len()], &x]).unwrap();
    differs("operations of a batch", ranks, batch.factor().unwrap().solve_in_place_with(op, &mut x.clone()));
    let problem = Poisson::new(&[ROWS, 5]).shift(if last { 1.0 } else { 0.5 });
    differs("Poisson problems", ranks, DistributedPoisson::<f64>::new(ranks, &problem, x.len()));
    // Searches compare options by sums, so their errors name no rank.
    let told = |error: Error| assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    let solver = EigenSolver::new(if last { 3 } else { 2 }).communicator(ranks);
    told(solver.hermitian_nearest(&lines, None, 0.5).unwrap_err());
    let solver = EigenSolver::new(2).tol(if last { 1e-9 } else { 1e-8 }).communicator(ranks);
    told(solver.hermitian_nearest(&lines, None, 0.5).unwrap_err());
    let solver = EigenSolver::new(2).tol(if last { 2.0 } else { 1e-8 }).communicator(ranks);
    let solved = solver.hermitian_nearest(&lines, None, 0.5);
    assert!(matches!(solved, Err(Error::Unsupported { .. } | Error::InvalidArgument { .. })));
    let solver = KrylovSolver::new(KrylovMethod::Cg).rtol(if last { 1e-9 } else { 1e-8 }).communicator(ranks);
    told(solver.solve(&lines, None, &x, &mut x.clone()).unwrap_err());
    // Later calls work.
    assert!(factors.solve(&x).is_ok());
}

/// One rank calls from another thread than the one that created its ranks.
pub fn other_threads(ranks: &Ranks) {
    if mpi_of_one_thread() {
        return;
    }
    let (a, x) = (matrix(ranks, 1), own(ranks, ROWS));
    let factors = a.factor().unwrap();
    let last = ranks.size() - 1;
    let solve = || factors.solve(&x).map(|_| ());
    let solved = match ranks.rank() == last {
        true => std::thread::scope(|scope| scope.spawn(solve).join().expect("no panic")),
        false => solve(),
    };
    let error = solved.unwrap_err();
    assert_eq!(error.rank, last);
    assert!(error.to_string().contains("another thread"), "{error}");
    assert!(solve().is_ok());
}

/// Whether MPI was started for calls of one thread. A call of another thread then ends the process.
fn mpi_of_one_thread() -> bool {
    mpi::environment::is_initialized() && mpi::environment::threading_support() < mpi::Threading::Serialized
}

/// Pencils with an indefinite B, which the products of the search need not show.
pub fn indefinite_pencils(ranks: &Ranks) {
    let n = ROWS;
    let range = RankRanges::even(n, ranks.size()).range(ranks.rank());
    let off = vec![0.0; range.len()];
    let diag = |value: &dyn Fn(usize) -> f64| range.clone().map(value).collect::<Vec<f64>>();
    let matrix = |diag: &[f64]| DistributedBlocks::new(ranks, 1, [&off, diag, &off]).unwrap();
    let a = matrix(&diag(&|i| 1.0 + i as f64));
    assert_eq!(a.check_definite(), Ok(()));
    for bad in [0, 17, n - 1] {
        // The entry is so small that xᴴ·B·x is positive for random vectors.
        let b = matrix(&diag(&|i| if i == bad { -1e-9 } else { 1.0 }));
        assert_eq!(b.check_definite().unwrap_err().error, Error::NotDefinite { row: bad });
        let below = |shift: f64| a.eigenvalues_below(Some(&b), shift).map_err(|error| error.error);
        let solver = EigenSolver::new(2).communicator(ranks).count(&below);
        assert_eq!(solver.hermitian_nearest(&a, Some(&b), 0.5).err(), Some(Error::NotDefinite { row: bad }));
    }
    // A leading minor that is negative because of the couplings, in blocks.
    let (block, rows) = (4, n / 4);
    let mut blocks = Blocks::<f64>::new((rows, block), 0.0, false);
    blocks.arrays.iter_mut().for_each(|array| array.fill(0.0));
    (0..n).for_each(|i| blocks.arrays[1][i / block * block * block + i % block * (block + 1)] = 1.0);
    // Rows 9 and 10 are [1 2; 2 1].
    let place = |i: usize, j: usize| i / block * block * block + i % block + j % block * block;
    (blocks.arrays[1][place(9, 10)], blocks.arrays[1][place(10, 9)]) = (2.0, 2.0);
    let b = blocks.distributed(ranks, &RankRanges::even(rows, ranks.size())).unwrap();
    assert_eq!(b.check_definite().unwrap_err().error, Error::NotDefinite { row: 10 });
}

/// κ = ‖A⁻¹·diag(Σⱼ|aᵢⱼ|)‖∞ for matrices with known κ. Row scaling does not change it.
pub fn conditions(ranks: &Ranks) {
    let n = ROWS;
    let range = RankRanges::even(n, ranks.size()).range(ranks.rank());
    for small in [1e-3, 1e-9, 1e-20] {
        // For blocks of two rows [1 1; 1 1 + small], κ is at least (2 + small)²/small, and less than 3 times this number.
        let scale = |i: usize| 10_f64.powi(i as i32 % 41 - 20);
        let row = |i: usize| match i % 2 {
            0 => [0.0, scale(i), scale(i)],
            _ => [scale(i), scale(i) * (1.0 + small), 0.0],
        };
        let rows: Vec<f64> = range.clone().flat_map(row).collect();
        let array = |k: usize| rows.iter().skip(k).step_by(3).copied().collect::<Vec<f64>>();
        let arrays = [0, 1, 2].map(array);
        let parts = arrays.each_ref().map(Vec::as_slice);
        let lines = DistributedBlocks::new(ranks, 1, parts).unwrap();
        let bands = DistributedBanded::new(ranks, (1, 1), &rows).unwrap();
        let batch = DistributedBatch::new(ranks, (1, Layout::Interleaved), parts).unwrap();
        let found = [
            lines.factor().unwrap().rcond().unwrap(),
            bands.factor().unwrap().rcond().unwrap(),
            batch.factor().unwrap().rcond().unwrap(),
        ];
        for rcond in found {
            // The estimate is a lower bound of κ. With small = 1e-20, the matrix is singular.
            let expected = small / 4.0;
            assert!(rcond <= 3.0 * expected.max(f64::EPSILON), "{small}: {rcond}");
            assert!(small < 1e-15 || rcond >= expected / 8.0, "{small}: {rcond}");
        }
        if small > 1e-15 {
            let factors = lines.factor().unwrap();
            let report = factors.solve(&vec![1.0; range.len()]).unwrap().report;
            assert_eq!(factors.attention(&report).unwrap(), None, "{small}");
            assert_eq!(report.attention, None, "{small}");
        }
    }
    // For rows [1 1; 1 1 + ε] and the right-hand side 1, −1, …, x is 2/ε, without a correct digit. ‖x‖∞ / maxᵢ(|dᵢ|/sᵢ) = 4/ε.
    let [sub, sup] = [1, 0].map(|odd| range.clone().map(|i| f64::from(u8::from(i % 2 == odd))).collect::<Vec<f64>>());
    let diag: Vec<f64> = range.clone().map(|i| if i % 2 == 0 { 1.0 } else { 1.0 + f64::EPSILON }).collect();
    let a = DistributedBlocks::new(ranks, 1, [&sub, &diag, &sup]).unwrap();
    let rhs: Vec<f64> = range.clone().map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    for method in [Method::Spike, Method::Bcyclic] {
        let report = a.factor_by(method).unwrap().solve(&rhs).unwrap().report;
        assert!(report.backward_error <= 8.0 * f64::EPSILON, "{report:?}");
        assert!(report.attention.is_some_and(|words| words.contains("no correct digit")), "{method:?}");
    }
    // The same matrix in the second of two systems. The first system is well-conditioned.
    let pairs = |of: &[f64], other: f64| of.iter().flat_map(|v| [other, *v]).collect::<Vec<f64>>();
    let arrays = [pairs(&sub, 0.0), pairs(&diag, 1.0), pairs(&sup, 0.0)];
    let parts = arrays.each_ref().map(Vec::as_slice);
    let factors = DistributedBatch::new(ranks, (2, Layout::Interleaved), parts).unwrap().factor().unwrap();
    for op in [Op::Plain, Op::Transpose] {
        let report = factors.solve_in_place_with(op, &mut pairs(&rhs, 1.0)).unwrap();
        assert!(report.backward_error <= 8.0 * f64::EPSILON, "{report:?}");
        assert!(report.attention.is_some_and(|words| words.contains("no correct digit")), "{op:?}");
    }
    // x = 1 for both systems, and x = 0.
    let sums: Vec<f64> = diag.iter().map(|d| d + 1.0).collect();
    for mut rhs in [pairs(&sums, 1.0), vec![0.0; 2 * range.len()]] {
        assert_eq!(factors.solve_in_place(&mut rhs).unwrap().attention, None);
    }
    let none = vec![0.0; range.len()];
    let singular = DistributedBlocks::new(ranks, 1, [&none, &none, &none]).unwrap();
    assert_eq!(singular.factor().unwrap().rcond(), Ok(0.0));
}

/// The estimates of all matrix types for an open matrix of n rows; `entry`: of diagonal k in row i.
fn rconds<T: Scalar>(ranks: &Ranks, n: usize, entry: impl Fn(usize, usize) -> f64) -> [f64; 3] {
    let own = RankRanges::even(n, ranks.size()).range(ranks.rank());
    let at = |k: usize, i: usize| {
        let outside = (k == 0 && i == 0) || (k == 2 && i + 1 == n);
        T::from_real(T::Real::from_f64(if outside { 0.0 } else { entry(k, i) }))
    };
    let arrays = [0, 1, 2].map(|k| own.clone().map(|i| at(k, i)).collect::<Vec<T>>());
    let rows: Vec<T> = own.clone().flat_map(|i| [0, 1, 2].map(|k| at(k, i))).collect();
    let parts = arrays.each_ref().map(Vec::as_slice);
    [
        DistributedBlocks::new(ranks, 1, parts).unwrap().factor().unwrap().rcond().unwrap(),
        DistributedBanded::new(ranks, (1, 1), &rows).unwrap().factor().unwrap().rcond().unwrap(),
        DistributedBatch::new(ranks, (1, Layout::Interleaved), parts).unwrap().factor().unwrap().rcond().unwrap(),
    ]
}

/// The rows of a rank, inner rows and blocks can be singular or nearly singular although the matrix is not.
pub fn conditions_of_whole_matrices(ranks: &Ranks) {
    for size in [1, 3] {
        for small in [0.0, 1e-17, -1e-200] {
            // With diagonal 0, off-diagonal entries 1 and even n, A⁻¹ has at most n/2 entries ±1 per row, so κ is at most n.
            let n = 2 * size * ranks.size();
            for rcond in rconds::<f64>(ranks, n, |k, _| if k == 1 { small } else { 1.0 }) {
                assert!(rcond >= 0.5 / n as f64 && rcond <= 1.0, "{n} {small}: {rcond}");
            }
        }
        // With odd n, A is singular.
        let n = 2 * size * ranks.size() + 1;
        for rcond in rconds::<f64>(ranks, n, |k, _| if k == 1 { 0.0 } else { 1.0 }) {
            assert!(rcond <= n as f64 * f64::EPSILON, "{n}: {rcond}");
        }
    }
    // For blocks [0 1; 1 0] without couplings, κ = 1. With one row per block, the diagonal blocks of BCYCLIC are singular.
    let n = 4 * ranks.size();
    let own = RankRanges::even(n, ranks.size()).range(ranks.rank());
    let [sub, sup] = [1, 0].map(|odd| own.clone().map(|i| f64::from(u8::from(i % 2 == odd))).collect::<Vec<f64>>());
    let lines = DistributedBlocks::new(ranks, 1, [&sub, &vec![0.0; own.len()], &sup]).unwrap();
    for method in [Method::Spike, Method::Bcyclic] {
        let factors = lines.factor_by(method).unwrap();
        let rcond = factors.rcond().unwrap();
        assert!((0.5..=1.0).contains(&rcond), "{method:?}: {rcond}");
        let report = factors.solve(&vec![1.0; own.len()]).unwrap().report;
        assert_eq!(factors.attention(&report).unwrap(), None, "{method:?}");
    }
    // The rows of a block differ in size by 2⁸⁰ (blocks are column-major). κ = 1 for any row scaling.
    let (own, tall) = (RankRanges::even(2 * ranks.size(), ranks.size()).range(ranks.rank()), 2f64.powi(80));
    let diag = [0.0, tall, 1.0, 0.0].repeat(own.len());
    let none = vec![0.0; 4 * own.len()];
    let rcond = DistributedBlocks::new(ranks, 2, [&none, &diag, &none]).unwrap().factor().unwrap().rcond().unwrap();
    assert!((0.5..=1.0).contains(&rcond), "{rcond}");
}

/// Matrices near the ends of the range of their type.
pub fn conditions_near_the_ends_of_the_range(ranks: &Ranks) {
    let n = 5 * ranks.size();
    // Diagonal 1 and off-diagonal 1/4: ‖A⁻¹‖∞ ≤ 2, so κ ≤ 3.
    let dominant = |size: f64| move |k: usize, _: usize| if k == 1 { size } else { size / 4.0 };
    for size in [3e38, 1e-38] {
        for rcond in rconds::<f32>(ranks, n, dominant(size)) {
            assert!((0.15..=1.0).contains(&rcond), "{size}: {rcond}");
        }
    }
    for size in [1.5e308, 3e-308, 1e-308] {
        for rcond in rconds::<f64>(ranks, n, dominant(size)) {
            assert!((0.15..=1.0).contains(&rcond), "{size}: {rcond}");
        }
    }
    for rcond in rconds::<f64>(ranks, n, |k, _| if k == 1 { 1e-308 } else { 0.0 }) {
        assert!((0.5..=1.0).contains(&rcond), "{rcond}");
    }
}
