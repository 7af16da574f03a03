//! Coarse systems of SPIKE: gathered, by BCYCLIC, in pairs.

use super::{Blocks, band, distance, part, ranks_agree, unknowns, wave};
use bandsolve::{Complex64, Factor, Method, Op, Plan, RealScalar, Scalar};
use bandsolve_mpi::cost::CostModel;
use bandsolve_mpi::{DistributedBanded, DistributedBlocks, DistributedFactors, RankCoarse, RankRanges, Ranks};

const WAYS: [RankCoarse; 3] = [RankCoarse::Gathered, RankCoarse::Cyclic, RankCoarse::Truncated];

/// Solve with op(A), and compare with factors on one machine.
fn check<T: Scalar>(
    ranks: &Ranks,
    (factors, whole): (&DistributedFactors<T>, &dyn Factor<T>),
    rows: std::ops::Range<usize>,
    what: &str,
) {
    let (n, epsilon) = (whole.shape().n(), T::Real::EPSILON.to_f64());
    for op in [Op::Plain, Op::Transpose, Op::ConjTranspose] {
        let mut rhs: Vec<T> = (0..3 * n).map(|i| wave(i, 0.29)).collect();
        let mut own = part(&rhs, n, rows.clone());
        let report = factors.solve_in_place_with(op, &mut own).unwrap();
        assert!(report.backward_error <= 8.0 * epsilon && !report.fallback, "{what}, {op:?}: {report:?}");
        match op {
            Op::Plain => whole.solve_in_place(&mut rhs),
            Op::Transpose => whole.solve_transpose_in_place(&mut rhs),
            Op::ConjTranspose => whole.solve_conj_transpose_in_place(&mut rhs),
        }
        .unwrap();
        // The condition numbers are below 10⁵.
        let far = distance(&part(&rhs, n, rows.clone()), &own);
        assert!(far <= 1e6 * epsilon, "{what}, {op:?}: {far}");
        assert!(ranks_agree(ranks, report.backward_error));
    }
}

/// Ranks with many, few and no rows.
fn spreads(size: usize) -> [RankRanges; 3] {
    let some = |rank: usize| [40, 0, 33, 51, 0, 0, 37][(rank * 3 + size) % 7];
    let few = |rank: usize| [3, 1, 0, 2, 1, 4, 0][(rank * 2 + size) % 7];
    [
        RankRanges::even(31 * size, size),
        RankRanges::of_counts((0..size).map(some)),
        RankRanges::of_counts((0..size).map(few)),
    ]
}

fn of_blocks<T: Scalar>(ranks: &Ranks, block: usize, periodic: bool) {
    for ranges in spreads(ranks.size()) {
        let blocks = Blocks::<T>::new((ranges.rows(), block), 6.0 * block as f64, periodic);
        let (a, whole, own) =
            (blocks.distributed(ranks, &ranges).unwrap(), blocks.whole(), unknowns(ranks, &ranges, block));
        let whole = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap();
        for way in WAYS {
            let factors = a.factor_spike(way).unwrap();
            check(
                ranks,
                (&factors, &whole),
                own.clone(),
                &format!("{way:?}, blocks of {block}, {periodic}, {ranges:?}"),
            );
        }
    }
}

pub fn coarse_systems(ranks: &Ranks) {
    for periodic in [false, true] {
        of_blocks::<f64>(ranks, 1, periodic);
        of_blocks::<f64>(ranks, 3, periodic);
        of_blocks::<Complex64>(ranks, 2, periodic);
    }
    for ranges in spreads(ranks.size()) {
        for widths in [(1, 1), (0, 2), (3, 1), (0, 0), (4, 4)] {
            let (n, own, wide) = (ranges.rows(), ranges.range(ranks.rank()), widths.0 + widths.1 + 1);
            let (rows, whole) = band::<f64>(n, widths, 12.0);
            let a = DistributedBanded::new(ranks, widths, &rows[own.start * wide..own.end * wide]).unwrap();
            let whole = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap();
            for way in WAYS {
                let factors = a.factor_spike(way).unwrap();
                check(ranks, (&factors, &whole), own.clone(), &format!("{way:?}, {widths:?}, {ranges:?}"));
            }
        }
    }
}

/// If spikes decay, SPIKE uses pairs. If spikes do not decay, as for a shifted operator, it does not, and x is as accurate.
pub fn truncated_coarse_systems(ranks: &Ranks) {
    let (size, n) = (ranks.size(), 60 * ranks.size());
    let ranges = RankRanges::even(n, size);
    let own = ranges.range(ranks.rank());
    for (diag, decays) in [(4.0, true), (1.3, size < 3)] {
        let rows: Vec<f64> = own.clone().flat_map(|_| [-1.0, diag, -1.0]).collect();
        let a = DistributedBanded::new(ranks, (1, 1), &rows).unwrap();
        let factors = a.factor_spike(RankCoarse::Truncated).unwrap();
        let expected = if decays { Method::SpikeTruncated } else { Method::Spike };
        assert_eq!(factors.method(), expected, "{diag} on the diagonal");
        let whole = bandsolve::Tridiagonal::from_vecs(vec![-1.0; n], vec![diag; n], vec![-1.0; n], false).unwrap();
        let whole = Plan::new(whole.shape()).method(Method::Pivoted).factor_owned(whole).unwrap();
        check(ranks, (&factors, &whole), own.clone(), &format!("{diag} on the diagonal"));
    }
}

pub fn traffic_of_coarse_systems(ranks: &Ranks) {
    for (block, periodic) in [(1, false), (2, true), (3, false)] {
        for ranges in spreads(ranks.size()).into_iter().take(2) {
            let rows = ranges.rows();
            if rows == 0 {
                continue;
            }
            let a = Blocks::<f64>::new((rows, block), 50.0, periodic).distributed(ranks, &ranges).unwrap();
            let rhs = vec![1.0; 3 * unknowns(ranks, &ranges, block).len()];
            for coarse in WAYS {
                let model = CostModel { coarse, ..CostModel::of(&a, Method::BlockSpike) };
                let (before, what) = (ranks.traffic(), format!("{rows} rows of {block}, {periodic}, {coarse:?}"));
                let factors = a.factor_spike(coarse).unwrap();
                let between = ranks.traffic();
                assert_eq!(between - before, model.factor(ranks.rank()).traffic, "factors, {what}");
                factors.solve(&rhs).unwrap();
                let after = ranks.traffic();
                assert_eq!(after - between, model.solve(ranks.rank(), 3).traffic, "solve, {what}");
                factors.solve_transpose_in_place(&mut rhs.clone()).unwrap();
                let before = ranks.traffic();
                factors.solve_transpose_in_place(&mut rhs.clone()).unwrap();
                let counted = ranks.traffic() - before;
                assert_eq!(counted, model.solve_transposed(ranks.rank(), 3).traffic, "transpose, {what}");
            }
        }
    }
}

/// Rows that are not diagonally dominant. Unverified solves of single ranks are not accurate enough, so the first solve computes slower factors.
pub fn rows_that_do_not_dominate(ranks: &Ranks) {
    let n = 3000 * ranks.size();
    let own = RankRanges::even(n, ranks.size()).range(ranks.rank());
    let number = |i: usize| ((i % 9973 * 7 + 3) as f64 * 0.37).sin();
    let arrays = [0, 1, 2]
        .map(|k| own.clone().map(|i| number(3 * i + k) + if k == 1 { 0.8 } else { 0.0 }).collect::<Vec<f64>>());
    let a = DistributedBlocks::new(ranks, 1, arrays.each_ref().map(Vec::as_slice)).unwrap();
    let factors = a.factor().unwrap();
    for by in [0.7, 0.9] {
        let rhs: Vec<f64> = own.clone().map(|i| wave(i, by)).collect();
        let mut x = rhs.clone();
        let report = factors.solve_in_place(&mut x).unwrap();
        assert!(report.backward_error <= 8.0 * f64::EPSILON && !report.fallback, "{report:?}");
        assert_eq!(factors.backward_errors(&rhs, &x).unwrap().len(), 1);
        factors.solve_transpose_in_place(&mut x).unwrap();
    }
    let error = factors.backward_errors(&vec![1.0; own.len()], &vec![1.0; own.len() + 1]).unwrap_err();
    assert!(matches!(error.error, bandsolve::Error::Shape { what: "x", .. }), "{error}");
}
