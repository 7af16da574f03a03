//! Batches of tridiagonal systems along a distributed axis.

use super::{distance, ranks_agree, wave};
use bandsolve::{Complex64, Error, Factor, Layout, Method, Op, Plan, RealScalar, Scalar, Tridiagonal};
use bandsolve_mpi::cost::BatchCostModel;
use bandsolve_mpi::{DistributedBatch, RankError, RankRanges, Ranks};

const OPS: [Op; 3] = [Op::Plain, Op::Transpose, Op::ConjTranspose];

/// Systems that all ranks know, row by row.
struct Batch<T> {
    n: usize,
    count: usize,
    periodic: bool,
    arrays: [Vec<T>; 3],
}

impl<T: Scalar> Batch<T> {
    fn new((n, count): (usize, usize), strength: f64, periodic: bool) -> Self {
        let entry = |k: usize, i: usize| {
            let more = if k == 1 { strength * if i.is_multiple_of(3) { -1.0 } else { 1.0 } } else { 0.0 };
            wave::<T>(i + 7 * k, 0.37 + 0.11 * k as f64) + T::from_real(T::Real::from_f64(more))
        };
        let arrays = [0, 1, 2].map(|k| (0..n * count).map(|i| entry(k, i)).collect());
        Self { n, count, periodic, arrays }
    }

    fn distributed(
        &self,
        ranks: &Ranks,
        ranges: &RankRanges,
        layout: Layout,
    ) -> Result<DistributedBatch<T>, RankError> {
        let [sub, diag, sup] = self.arrays.each_ref().map(|array| self.part(ranks, ranges, layout, array));
        let new = if self.periodic { DistributedBatch::periodic } else { DistributedBatch::new };
        new(ranks, (self.count, layout), [&sub, &diag, &sup])
    }

    /// The rows of this rank of columns in a layout.
    fn part(&self, ranks: &Ranks, ranges: &RankRanges, layout: Layout, x: &[T]) -> Vec<T> {
        let (own, column) = (ranges.range(ranks.rank()), (self.n * self.count).max(1));
        let mut part = Vec::new();
        for x in x.chunks_exact(column) {
            match layout {
                Layout::Interleaved => part.extend_from_slice(&x[own.start * self.count..own.end * self.count]),
                Layout::Contiguous => {
                    part.extend((0..self.count).flat_map(|s| own.clone().map(move |i| x[i * self.count + s])))
                }
            }
        }
        part
    }

    fn system(&self, s: usize) -> Tridiagonal<'static, T> {
        let [sub, diag, sup] =
            self.arrays.each_ref().map(|array| (0..self.n).map(|i| array[i * self.count + s]).collect());
        Tridiagonal::from_vecs(sub, diag, sup, self.periodic).unwrap()
    }

    /// Compute x of all systems by the pivoted method.
    fn solved(&self, op: Op, rhs: &[T]) -> Vec<T> {
        let (mut x, column) = (rhs.to_vec(), (self.n * self.count).max(1));
        for x in x.chunks_exact_mut(column) {
            for s in 0..self.count {
                let a = self.system(s);
                let factors = Plan::new(a.shape()).method(Method::Pivoted).factor(&a).unwrap();
                let mut one: Vec<T> = (0..self.n).map(|i| x[i * self.count + s]).collect();
                match op {
                    Op::Plain => factors.solve_in_place(&mut one),
                    Op::Transpose => factors.solve_transpose_in_place(&mut one),
                    Op::ConjTranspose => factors.solve_conj_transpose_in_place(&mut one),
                }
                .unwrap();
                one.iter().enumerate().for_each(|(i, v)| x[i * self.count + s] = *v);
            }
        }
        x
    }

    fn rhs(&self, n_rhs: usize) -> Vec<T> {
        (0..self.n * self.count * n_rhs).map(|i| wave(i, 0.23)).collect()
    }
}

/// Solve on ranks and by the pivoted method, and compare. Return whether a solve needed the fallback.
fn compare<T: Scalar>(ranks: &Ranks, batch: &Batch<T>, ranges: &RankRanges, layout: Layout) -> bool {
    let a = batch.distributed(ranks, ranges, layout).unwrap();
    let factors = a.factor().unwrap();
    let (rhs, epsilon) = (batch.rhs(2), T::Real::EPSILON.to_f64());
    let what = format!("{} systems of {}, {ranges:?}, {layout:?}, {}", batch.count, batch.n, batch.periodic);
    let mut helped = false;
    for op in OPS {
        let mut x = batch.part(ranks, ranges, layout, &rhs);
        let d = x.clone();
        let report = factors.solve_in_place_with(op, &mut x).unwrap();
        assert!(report.backward_errors.iter().all(|eta| *eta <= 8.0 * epsilon), "{what}, {op:?}: {report:?}");
        assert!(ranks_agree(ranks, report.backward_error), "{what}: reports differ");
        let expected = batch.part(ranks, ranges, layout, &batch.solved(op, &rhs));
        let far = distance(&expected, &x);
        // The condition numbers of these matrices are below 10³.
        assert!(far <= 1e4 * epsilon, "{what}, {op:?}: {far}");
        let far = distance(&d, &a.apply_op(op, &x).unwrap());
        assert!(far <= 1e4 * epsilon, "{what}, products, {op:?}: {far}");
        helped |= report.fallback;
    }
    helped
}

pub fn every_batch(ranks: &Ranks) {
    for n in [0, 1, 2, 3, 4, 7, 8, 15, 23] {
        let layout = if n % 2 == 0 { Layout::Interleaved } else { Layout::Contiguous };
        for (count, periodic) in [(1, false), (5, true), (9, false), (2, true)] {
            let batch = Batch::<f64>::new((n, count), 5.0, periodic);
            assert!(!compare(ranks, &batch, &RankRanges::even(n, ranks.size()), layout), "{n} rows, {count} systems");
        }
    }
    let ranges = RankRanges::even(19, ranks.size());
    for layout in [Layout::Interleaved, Layout::Contiguous] {
        compare(ranks, &Batch::<Complex64>::new((19, 11), 6.0, true), &ranges, layout);
        compare(ranks, &Batch::<f32>::new((19, 11), 5.0, false), &ranges, layout);
        compare(ranks, &Batch::<f64>::new((0, 3), 5.0, false), &RankRanges::even(0, ranks.size()), layout);
        compare(ranks, &Batch::<f64>::new((19, 0), 5.0, false), &ranges, layout);
    }
    for (seed, periodic) in (0..6).flat_map(|seed| [(seed, false), (seed, true)]) {
        let counts = (0..ranks.size()).map(|rank| [0, 5, 1, 0, 3, 8, 2][(3 * rank + seed * (rank + 1)) % 7]);
        let ranges = RankRanges::of_counts(counts);
        compare(ranks, &Batch::<f64>::new((ranges.rows(), 4), 5.0, periodic), &ranges, Layout::Interleaved);
    }
}

/// Systems that need row exchanges, together with other systems.
pub fn repaired_batches(ranks: &Ranks) {
    let (n, count) = (16, 5);
    let ranges = RankRanges::even(n, ranks.size());
    for periodic in [false, true] {
        let mut batch = Batch::<f64>::new((n, count), 5.0, periodic);
        for i in 0..n {
            // Zeros on the diagonal of a well-conditioned matrix, and a pivot that is nearly zero.
            batch.arrays[1][i * count + 2] = 0.0;
            batch.arrays[0][i * count + 2] = 1.0;
            batch.arrays[2][i * count + 2] = if i % 4 == 0 { 3.0 } else { 2.0 };
            batch.arrays[1][i * count + 4] = if i == 5 { 1e-12 } else { batch.arrays[1][i * count + 4] };
        }
        let helped = compare(ranks, &batch, &ranges, Layout::Interleaved);
        assert!(helped || ranks.size() > 4, "zeros on the diagonal are not seen");
    }
    let mut batch = Batch::<f64>::new((n, count), 5.0, false);
    for array in &mut batch.arrays {
        array[7 * count + 3] = 0.0;
    }
    let factors = batch.distributed(ranks, &ranges, Layout::Contiguous).unwrap().factor().unwrap();
    let error = factors.solve(&batch.part(ranks, &ranges, Layout::Contiguous, &batch.rhs(1))).unwrap_err();
    assert!(matches!(error.error, Error::Singular { row } if row / n == 3), "{error}");
}

/// Row scales that differ by many powers of ten, and solutions that decay along the ranks.
pub fn uneven_batches(ranks: &Ranks) {
    let (n, count) = (40, 6);
    let ranges = RankRanges::even(n, ranks.size());
    let mut batch = Batch::<f64>::new((n, count), 5.0, false);
    let mut rhs = batch.rhs(1);
    for (at, d) in rhs.iter_mut().enumerate() {
        let size = 10f64.powi([0, 120, -130, 7][(at / count + at % count) % 4]);
        batch.arrays.iter_mut().for_each(|array| array[at] *= size);
        *d *= if at < count { size } else { 0.0 };
    }
    let factors = batch.distributed(ranks, &ranges, Layout::Interleaved).unwrap().factor().unwrap();
    let x = factors.solve(&batch.part(ranks, &ranges, Layout::Interleaved, &rhs)).unwrap();
    assert!(x.report.backward_error <= 8.0 * f64::EPSILON && !x.report.fallback, "{:?}", x.report);
    let expected = batch.part(ranks, &ranges, Layout::Interleaved, &batch.solved(Op::Plain, &rhs));
    assert!(distance(&expected, &x.values) <= 1e-11);
}

pub fn batch_errors(ranks: &Ranks) {
    let (n, count, last) = (14, 3, ranks.size() - 1);
    let (ranges, batch) = (RankRanges::even(n, ranks.size()), Batch::<f64>::new((n, count), 5.0, false));
    let a = batch.distributed(ranks, &ranges, Layout::Interleaved).unwrap();
    let factors = a.factor().unwrap();
    let own = batch.part(ranks, &ranges, Layout::Interleaved, &batch.rhs(1));
    let mut rhs = own.clone();
    if ranks.rank() == last {
        rhs[1] = f64::NAN;
    }
    let expected = RankError { rank: last, error: Error::NotFinite { array: "rhs", index: 1 } };
    assert_eq!(factors.solve(&rhs), Err(expected));
    let twice = if ranks.rank() == last && last > 0 { own.repeat(2) } else { own.clone() };
    assert_eq!(factors.solve(&twice).is_err(), last > 0);
    let error = a.apply(&own[..own.len() - 1]).unwrap_err();
    assert!(matches!(error, RankError { rank: 0, error: Error::Shape { what: "x", .. } }), "{error}");
    let fewer = if ranks.rank() == last { 1 } else { count };
    let rows = vec![1.0; 3 * fewer];
    let made = DistributedBatch::new(ranks, (fewer, Layout::Interleaved), [&rows, &rows, &rows]);
    match made {
        Err(RankError { rank, error: Error::Shape { what: "systems", .. } }) => assert_eq!(rank, last),
        other => assert!(last == 0 && other.is_ok(), "{other:?}"),
    }
    let mut diag = own.clone();
    if ranks.rank() == last {
        diag[2] = f64::INFINITY;
    }
    let error = DistributedBatch::new(ranks, (count, Layout::Interleaved), [&own, &diag, &own]).unwrap_err();
    assert_eq!(error, RankError { rank: last, error: Error::NotFinite { array: "diag", index: 2 } });
}

pub fn traffic_of_batches(ranks: &Ranks) {
    for (n, count, periodic) in [(1, 2, false), (3, 10, true), (20, 13, false), (32, 4, true), (7, 0, false)] {
        let ranges = RankRanges::even(n, ranks.size());
        let batch = Batch::<f64>::new((n, count), 9.0, periodic);
        let a = batch.distributed(ranks, &ranges, Layout::Interleaved).unwrap();
        let (model, what) = (BatchCostModel::of(&a), format!("{count} systems of {n}, {periodic}"));
        let before = ranks.traffic();
        let factors = a.factor().unwrap();
        assert_eq!(ranks.traffic() - before, model.factor(ranks.rank()).traffic, "factors, {what}");
        let rhs = batch.part(ranks, &ranges, Layout::Interleaved, &batch.rhs(3));
        // The first solve with a transpose creates the rows of Aᵀ.
        factors.solve_transpose_in_place(&mut rhs.clone()).unwrap();
        let most = if count == 0 { 0 } else { 3 };
        for op in OPS {
            let before = ranks.traffic();
            let report = factors.solve_in_place_with(op, &mut rhs.clone()).unwrap();
            assert!(report.backward_error <= 4.0 * f64::EPSILON && report.refinement_steps == 0, "{what}");
            assert_eq!(ranks.traffic() - before, model.solve(ranks.rank(), most).traffic, "solve, {what}");
        }
    }
}
