//! Transposed and adjoint systems and products.

use super::{Blocks, band, band_cases, distance, part, ranks_agree, unknowns, wave};
use bandsolve::dyn_stack::PodStack;
use bandsolve::{Complex64, Factor, LinearOperator, Method, Op, Plan, RealScalar, Scalar};
use bandsolve_mpi::cost::CostModel;
use bandsolve_mpi::{DistributedBanded, DistributedFactors, RankRanges, Ranks};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

/// Solve with each op on ranks and by `whole`, and compare.
fn compare<T: Scalar>(
    ranks: &Ranks,
    factors: &DistributedFactors<T>,
    (whole, rhs): (&dyn Factor<T>, &[T]),
    own: std::ops::Range<usize>,
) {
    let n = whole.shape().rows();
    for op in OPS {
        let (mut x, mut expected) = (part(rhs, n, own.clone()), rhs.to_vec());
        let report = factors.solve_in_place_with(op, &mut x).unwrap();
        match op {
            Op::Plain => whole.solve_in_place(&mut expected),
            Op::Transpose => whole.solve_transpose_in_place(&mut expected),
            Op::ConjTranspose => whole.solve_conj_transpose_in_place(&mut expected),
        }
        .unwrap();
        let epsilon = T::Real::EPSILON.to_f64();
        let what = format!("{factors:?}, {n} rows, {op:?}");
        assert!(report.backward_errors.iter().all(|eta| *eta <= 8.0 * epsilon), "{what}: {report:?}");
        assert!(ranks_agree(ranks, report.backward_error), "{what}: reports differ");
        // The condition numbers of these matrices are below 10⁴.
        let far = distance(&part(&expected, n, own.clone()), &x);
        assert!(far <= 1e5 * epsilon, "{what}: {far}");
    }
}

/// ⟨y, op(A)x⟩ = ⟨op(A)ᴴy, x⟩.
fn adjoint<T: Scalar>(ranks: &Ranks, a: &impl LinearOperator<T>) {
    let n = a.rows();
    let vector = |by: f64| (0..n).map(|i| wave::<T>(i + 3 * ranks.rank(), by)).collect::<Vec<T>>();
    let (x, y) = (vector(0.7), vector(0.3));
    let product = |op: Op, x: &[T]| {
        let mut y = vec![T::ZERO; n];
        a.apply_op(op, x, &mut y, PodStack::new(&mut [])).unwrap();
        y
    };
    let inner = |x: &[T], y: &[T]| {
        let sum = x.iter().zip(y).fold(T::ZERO, |sum, (x, y)| sum + Scalar::conj(*x) * *y);
        let mut parts = [sum.re().to_f64(), sum.im().to_f64()];
        ranks.sum(&mut parts);
        parts
    };
    let [left, right] = [inner(&y, &product(Op::Plain, &x)), inner(&product(Op::ConjTranspose, &y), &x)];
    let conjugate: Vec<T> = y.iter().map(|y| Scalar::conj(*y)).collect();
    let transposed: Vec<T> = product(Op::Transpose, &conjugate).iter().map(|v| Scalar::conj(*v)).collect();
    let again = inner(&transposed, &x);
    // The limit covers rounding errors of products with rows of at most 30 entries, and of sums.
    let size = |x: &[T]| x.iter().map(|x| x.abs1().to_f64()).sum::<f64>();
    let mut sizes = [size(&product(Op::Plain, &x)) + size(&product(Op::ConjTranspose, &y))];
    ranks.sum(&mut sizes);
    let bound = 64.0 * T::Real::EPSILON.to_f64() * (1.0 + sizes[0]);
    let near = |a: [f64; 2], b: [f64; 2]| (0..2).all(|k| (a[k] - b[k]).abs() <= bound);
    assert!(near(left, right) && near(left, again), "{left:?}, {right:?}, {again:?}");
}

fn blocks<T: Scalar>(ranks: &Ranks, blocks: &Blocks<T>, ranges: &RankRanges) {
    let (n, own) = (blocks.rows() * blocks.block, unknowns(ranks, ranges, blocks.block));
    let a = blocks.distributed(ranks, ranges).unwrap();
    let whole = blocks.whole();
    let whole = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap();
    let rhs: Vec<T> = (0..2 * n).map(|i| wave(i, 0.23)).collect();
    for method in [Method::Bcyclic, Method::BlockSpike] {
        compare(ranks, &a.factor_by(method).unwrap(), (&whole, &rhs), own.clone());
    }
    compare(ranks, &a.factor_by_inverses().unwrap(), (&whole, &rhs), own);
    adjoint(ranks, &a);
}

pub fn transposed_blocks(ranks: &Ranks) {
    let size = ranks.size();
    for rows in [0, 1, 2, 3, 4, 7, 13, 16] {
        for (block, periodic) in [(1, false), (2, true), (3, false), (1, true)] {
            let strength = 4.0 * block as f64;
            blocks(ranks, &Blocks::<f64>::new((rows, block), strength, periodic), &RankRanges::even(rows, size));
        }
    }
    blocks(ranks, &Blocks::<Complex64>::new((17, 3), 20.0, true), &RankRanges::even(17, size));
    blocks(ranks, &Blocks::<f32>::new((17, 3), 16.0, false), &RankRanges::even(17, size));
    for seed in 0..5 {
        let counts = (0..size).map(|rank| [0, 5, 1, 0, 3, 8, 2][(3 * rank + seed * (rank + 1)) % 7]);
        let ranges = RankRanges::of_counts(counts);
        blocks(ranks, &Blocks::<f64>::new((ranges.rows(), 2), 6.0, seed % 2 == 0), &ranges);
    }
}

pub fn transposed_bands(ranks: &Ranks) {
    for (widths, ranges) in band_cases(ranks.size()) {
        let (n, own, wide) = (ranges.rows(), ranges.range(ranks.rank()), widths.0 + widths.1 + 1);
        let (rows, whole) = band::<Complex64>(n, widths, 9.0);
        let a = DistributedBanded::new(ranks, widths, &rows[own.start * wide..own.end * wide]).unwrap();
        let whole = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap();
        let rhs: Vec<Complex64> = (0..2 * n).map(|i| wave(i, 0.23)).collect();
        compare(ranks, &a.factor().unwrap(), (&whole, &rhs), own);
        adjoint(ranks, &a);
    }
}

/// All ranks detect a singular diagonal block, with inverses and with LU factors.
pub fn singular_inverses(ranks: &Ranks) {
    let ranges = RankRanges::even(9, ranks.size());
    for row in [1, 3, 5, 7] {
        let mut blocks = Blocks::<f64>::new((9, 2), 6.0, false);
        blocks.arrays[1][4 * row..4 * row + 4].copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        let factors = blocks.distributed(ranks, &ranges).unwrap().factor_by_inverses().unwrap();
        let own = unknowns(ranks, &ranges, 2);
        let rhs: Vec<f64> = (0..18).map(|i| wave(i, 0.23)).collect();
        let whole = blocks.whole();
        let expected = Plan::new(whole.shape()).method(Method::Pivoted).factor(&whole).unwrap().solve(&rhs).unwrap();
        let x = factors.solve(&rhs[own.clone()]).unwrap();
        assert!(x.report.fallback && x.report.backward_error <= 8.0 * f64::EPSILON, "{:?}", x.report);
        assert!(distance(&expected.values[own], &x.values) <= 1e-11);
    }
}

pub fn traffic_of_transposes(ranks: &Ranks) {
    for (rows, block, periodic) in [(3, 1, true), (13, 2, false), (22, 2, true)] {
        let ranges = RankRanges::even(rows, ranks.size());
        let a = Blocks::<f64>::new((rows, block), 50.0, periodic).distributed(ranks, &ranges).unwrap();
        let rhs = vec![1.0; 3 * unknowns(ranks, &ranges, block).len()];
        for method in [Method::Bcyclic, Method::BlockSpike] {
            let (model, factors) = (CostModel::of(&a, method), a.factor_by(method).unwrap());
            // The first solve creates the rows of Aᵀ.
            factors.solve_transpose_in_place(&mut rhs.clone()).unwrap();
            let before = ranks.traffic();
            let report = factors.solve_transpose_in_place(&mut rhs.clone()).unwrap();
            assert!(report.backward_error <= 4.0 * f64::EPSILON && report.refinement_steps == 0);
            let counted = ranks.traffic() - before;
            assert_eq!(counted, model.solve_transposed(ranks.rank(), 3).traffic, "{rows} rows of {block}, {method:?}");
        }
        let before = ranks.traffic();
        a.factor_by_inverses().unwrap();
        assert_eq!(ranks.traffic() - before, CostModel::of(&a, Method::Bcyclic).factor(ranks.rank()).traffic);
    }
}
