//! Counts of eigenvalues over ranks, compared with those on one machine.

use super::{Blocks, ranks_agree, wave};
use bandsolve::{Complex64, Error, Method, Scalar};
use bandsolve_eigen::{EigenSolver, eigenvalues_below};
use bandsolve_mpi::cost::CostModel;
use bandsolve_mpi::{DistributedBlocks, RankRanges, Ranks};

/// A Hermitian matrix: `sup` is the adjoint of `sub`, and diagonal blocks are Hermitian. `weight` multiplies the diagonal blocks.
fn hermitian<T: Scalar>((rows, block): (usize, usize), weight: f64) -> Blocks<T> {
    let square = block * block;
    let mut blocks = Blocks::<T>::new((rows, block), 0.0, false);
    let weight = T::from_real(bandsolve::RealScalar::from_f64(weight));
    for row in 0..rows {
        for k in 0..square {
            let turned = k % block * block + k / block;
            let own = wave::<T>(row * square + k, 0.41) + wave::<T>(row * square + turned, 0.41).conj();
            blocks.arrays[1][row * square + k] = weight * own;
            if row + 1 < rows {
                blocks.arrays[2][row * square + k] = blocks.arrays[0][(row + 1) * square + turned].conj();
            }
        }
    }
    blocks
}

fn check<T: Scalar>(ranks: &Ranks, blocks: &Blocks<T>, ranges: &RankRanges, mass: Option<&Blocks<T>>) {
    let a = blocks.distributed(ranks, ranges).unwrap();
    let b = mass.map(|mass| mass.distributed(ranks, ranges).unwrap());
    let (whole, whole_b) = (blocks.whole(), mass.map(Blocks::whole));
    for shift in [-7.0, -1.3, -0.21, 1e-3, 0.17, 0.9, 2.3, 11.0] {
        let counted = a.eigenvalues_below(b.as_ref(), shift).unwrap();
        let expected = eigenvalues_below(&whole, whole_b.as_ref(), shift).unwrap();
        assert_eq!(counted, expected, "{} rows of {}, {ranges:?}, at {shift}", blocks.rows(), blocks.block);
        assert!(ranks_agree(ranks, counted as f64));
    }
}

/// All sizes and distributions of rows, diagonal blocks that are zero or nearly zero, so that columns have no pivot, and pencils.
pub fn counts(ranks: &Ranks) {
    for (seed, (rows, block)) in
        [(0, 2), (1, 3), (2, 1), (9, 1), (40, 1), (7, 2), (12, 5), (9, 17), (21, 3)].into_iter().enumerate()
    {
        let each = |rank: usize| [0, 3, 1, 0, 2, 5, 1][(rank * (seed + 2) + seed) % 7];
        for ranges in [RankRanges::even(rows, ranks.size()), RankRanges::of_counts((0..ranks.size()).map(each))] {
            let rows = ranges.rows();
            for weight in [1.0, 0.0, 1e-13] {
                check(ranks, &hermitian::<f64>((rows, block), weight), &ranges, None);
                check(ranks, &hermitian::<Complex64>((rows, block), weight), &ranges, None);
            }
            let mut mass = hermitian::<f64>((rows, block), 0.1);
            for k in (0..rows).flat_map(|row| (0..block).map(move |i| row * block * block + i * (block + 1))) {
                mass.arrays[1][k] += 4.0 * block as f64;
            }
            check(ranks, &hermitian((rows, block), 1.0), &ranges, Some(&mass));
            // Entries near the ends of the range of the type.
            for size in [1e-290, 1e300] {
                let mut blocks = hermitian::<f64>((rows, block), 1.0);
                blocks.arrays.iter_mut().flatten().for_each(|v| *v *= size);
                let counted = blocks.distributed(ranks, &ranges).unwrap().eigenvalues_below(None, 0.2 * size).unwrap();
                let expected = eigenvalues_below(&hermitian::<f64>((rows, block), 1.0).whole(), None, 0.2).unwrap();
                assert_eq!(counted, expected, "{rows} rows of {block}, {ranges:?}, times {size}");
            }
        }
    }
    let ring = DistributedBlocks::periodic(ranks, 1, [&[1.0], &[3.0], &[1.0]]).unwrap();
    let error = ring.eigenvalues_below(None, 0.0).unwrap_err();
    assert!(matches!(error.error, Error::Unsupported { .. }), "{error}");
    let open = DistributedBlocks::new(ranks, 1, [&[1.0], &[3.0], &[1.0]]).unwrap();
    let error = open.eigenvalues_below(None, f64::NAN).unwrap_err();
    assert!(matches!(error.error, Error::NotFinite { array: "shift", .. }), "{error}");
}

/// A matrix with triple eigenvalues. The search misses none, and proves it.
pub fn complete_sets(ranks: &Ranks) {
    let (rows, block) = (40, 3);
    let ranges = RankRanges::even(rows, ranks.size());
    let count = ranges.range(ranks.rank()).len();
    let unit = |v: f64| -> Vec<f64> { (0..9 * count).map(|k| if k % 9 % 4 == 0 { v } else { 0.0 }).collect() };
    let a = DistributedBlocks::new(ranks, block, [&unit(-1.0), &unit(2.0), &unit(-1.0)]).unwrap();
    let below = |shift: f64| a.eigenvalues_below(None, shift).map_err(|error| error.error);
    let solver = EigenSolver::new(7).seed(ranks.rank() as u64).communicator(ranks).count(&below);
    let found = solver.hermitian_nearest(&a, None, 1.0).unwrap();
    assert!(found.converged() && found.report.complete == Some(true), "{:?}", found.report);
    let exact = |k: usize| 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / (rows + 1) as f64).cos();
    let mut nearest: Vec<f64> = (0..3 * rows).map(|k| exact(k / 3 + 1)).collect();
    nearest.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    assert!(found.values.iter().zip(&nearest).all(|(got, exact)| (got - exact).abs() < 1e-11), "{:?}", found.values);
}

/// Messages and bytes of a count equal those of the model. Rank 0 gets at most as many parts as the tree has levels.
pub fn traffic_of_counts(ranks: &Ranks) {
    for (rows, block) in [(0, 2), (1, 3), (2, 1), (5, 4), (23, 3)] {
        let each = |rank: usize| [0, 3, 1, 0, 2, 5, 1][(rank * 3 + block) % 7];
        for ranges in [RankRanges::even(rows, ranks.size()), RankRanges::of_counts((0..ranks.size()).map(each))] {
            let a = hermitian::<f64>((ranges.rows(), block), 1.0).distributed(ranks, &ranges).unwrap();
            let before = ranks.traffic();
            // Far below all eigenvalues, every column has a pivot.
            _ = a.shifted(-100.0, None).unwrap();
            let shifted = ranks.traffic();
            assert_eq!(a.eigenvalues_below(None, -100.0).unwrap(), 0);
            let counted = ranks.traffic() - shifted;
            let model = CostModel::of(&a, Method::Bcyclic).count(ranks.rank());
            assert_eq!(counted - (shifted - before), model.traffic, "{ranges:?}, rank {}", ranks.rank());
        }
    }
    // With 1000 ranks, the work of rank 0 grows with the logarithm of the number of ranks.
    let model = |ranks: usize| CostModel {
        ranges: RankRanges::even(8 * ranks, ranks),
        block: 16,
        scalar: 8,
        periodic: false,
        method: Method::Bcyclic,
        coarse: bandsolve_mpi::RankCoarse::Auto,
    };
    let [few, many] = [8, 1024].map(|ranks| model(ranks).count(0).flops);
    assert!(many < 2.0 * few, "{few} {many}");
}
