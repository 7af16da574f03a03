//! Poisson problems in slabs, compared with the solver on one machine.

use super::{distance, part, ranks_agree, wave};
use bandsolve::Error;
use bandsolve_mpi::{DistributedPoisson, RankError, RankRanges, Ranks};
use bandsolve_poisson::{Boundary, BoundaryKind, Grid, Poisson, PoissonScalar, Side};

/// Solve on ranks and on one machine, and compare.
fn compare<T: PoissonScalar>(ranks: &Ranks, problem: &Poisson, shape: &[usize], ranges: &RankRanges) {
    let n: usize = shape.iter().product();
    let plane = n / shape[0];
    let own = ranges.range(ranks.rank());
    let own = own.start * plane..own.end * plane;
    let mut f: Vec<T> = (0..2 * n).map(|i| wave(i, 0.23)).collect();
    // Accept any correction of f, so that singular problems have solutions.
    for f in f.chunks_exact_mut(n) {
        let (first, second) = f.split_at_mut(n / 2);
        first.iter_mut().zip(second).for_each(|(a, b)| *a = T::ZERO - *b);
    }
    let expected = problem.clone().removable(f64::INFINITY).plan::<T>().unwrap().solve(&f).unwrap();
    let problem = problem.clone().removable(f64::INFINITY);
    let plan = DistributedPoisson::<T>::new(ranks, &problem, ranges.range(ranks.rank()).len()).unwrap();
    let found = plan.solve(&part(&f, n, own.clone())).unwrap();
    let (what, epsilon) = (format!("{problem:?}, {ranges:?}"), bandsolve::RealScalar::to_f64(T::EPSILON));
    assert_eq!(found.report.backward_errors.len(), 2);
    assert!(found.report.backward_error <= 8.0 * epsilon, "{what}: {:?}", found.report);
    assert!(ranks_agree(ranks, found.report.backward_error), "{what}: reports differ");
    let largest = expected.report.removed.abs().max(1e-3);
    assert!((found.report.removed.abs() - expected.report.removed.abs()).abs() <= 1e3 * epsilon * largest, "{what}");
    assert_eq!(found.report.mean, expected.report.mean);
    // The condition numbers of these boxes are below 10⁴.
    let far = distance(&part(&expected.values, n, own), &found.values);
    assert!(far <= 1e4 * epsilon, "{what}: {far}");
}

pub fn slabs(ranks: &Ranks) {
    let robin = Boundary::robin(1.5, 0.8, 0.3);
    let sides = [Boundary::dirichlet(0.5), Boundary::neumann(0.25), Boundary::periodic(), robin];
    for (k, shape) in [&[9][..], &[8, 7], &[13, 6], &[1, 5], &[2, 4], &[7, 4, 6], &[16, 5, 1]].into_iter().enumerate() {
        let ranges = RankRanges::even(shape[0], ranks.size());
        for (a, b) in [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0), (3, 1), (0, 3), (2, 3), (3, 3)] {
            let grid = if (a + b + k) % 2 == 0 { Grid::Node } else { Grid::Cell };
            let mut problem = Poisson::new(shape).grid(grid).spacing(0.25).boundary(sides[b]).mean(0.75);
            problem = problem.axis_boundary(0, sides[a], sides[a]);
            compare::<f64>(ranks, &problem, shape, &ranges);
        }
        let mixed = Poisson::new(shape).axis_boundary(0, sides[0], sides[1]).shift(0.3);
        compare::<f64>(ranks, &mixed, shape, &ranges);
        compare::<f32>(ranks, &mixed, shape, &ranges);
        let other = Poisson::new(shape).axis_boundary(0, robin, sides[1]).shift(0.3);
        compare::<f64>(ranks, &other, shape, &ranges);
        compare::<f32>(ranks, &other, shape, &ranges);
    }
}

/// Variable spacings, values along sides, all distributions of planes, negative shifts.
pub fn uneven_slabs(ranks: &Ranks) {
    let counts = (0..ranks.size()).map(|rank| [0, 5, 1, 0, 3, 8, 2][(3 * rank + 1) % 7]);
    let ranges = RankRanges::of_counts(counts.chain(std::iter::once(0)).take(ranks.size()));
    let planes = ranges.rows();
    if planes == 0 {
        return;
    }
    let points = |n: usize| (0..n + 2).map(|i| i as f64 + 0.2 * (i as f64).sin()).collect::<Vec<f64>>();
    let values: Vec<f64> = (0..planes * 6).map(|i| wave(i, 0.7)).collect();
    let problem = Poisson::new(&[planes, 6, 5]);
    let problem = problem.coordinates(0, &points(planes)).coordinates(2, &points(5)).coordinates(1, &points(6));
    let problem = problem.boundary_values(2, Side::High, &values).boundary_values(0, Side::Low, &values[..30]);
    compare::<f64>(ranks, &problem, &[planes, 6, 5], &ranges);
    let problem = Poisson::new(&[planes, 9]).spacing(0.5).shift(-2.2);
    compare::<f64>(ranks, &problem, &[planes, 9], &ranges);
}

pub fn errors_of_slabs(ranks: &Ranks) {
    let (last, ranges) = (ranks.size() - 1, RankRanges::even(10, ranks.size()));
    let own = ranges.range(ranks.rank()).len();
    let problem = Poisson::new(&[10, 4]);
    let error = DistributedPoisson::<f64>::new(ranks, &problem, own + 1).unwrap_err();
    let expected = Error::Shape { what: "planes", expected: 10, got: 10 + ranks.size() };
    assert_eq!(error, RankError { rank: 0, error: expected });
    let error = DistributedPoisson::<f64>::new(ranks, &Poisson::new(&[10, 4]).shift(f64::NAN), own).unwrap_err();
    assert_eq!(error.error, Error::NotFinite { array: "shift", index: 0 });
    let plan = DistributedPoisson::<f64>::new(ranks, &problem, own).unwrap();
    let mut f = vec![1.0; own * 4];
    if ranks.rank() == last {
        f[3] = f64::NAN;
    }
    assert_eq!(plan.solve(&f), Err(RankError { rank: last, error: Error::NotFinite { array: "f", index: 3 } }));
    let closed = Poisson::new(&[10, 4]).grid(Grid::Cell).boundary(Boundary::neumann(0.0));
    let plan = DistributedPoisson::<f64>::new(ranks, &closed, own).unwrap();
    let error = plan.solve(&vec![1.0; own * 4]).unwrap_err();
    assert!(matches!(error.error, Error::Incompatible { .. }), "{error}");
}

pub fn traffic_of_slabs(ranks: &Ranks) {
    for (shape, boundary) in [(&[14, 6][..], Boundary::dirichlet(0.0)), (&[9, 4, 5], Boundary::periodic())] {
        let ranges = RankRanges::even(shape[0], ranks.size());
        let own = ranges.range(ranks.rank()).len();
        let problem = Poisson::new(shape).axis_boundary(0, boundary, boundary).shift(1.0);
        let plan = DistributedPoisson::<f64>::new(ranks, &problem, own).unwrap();
        let f: Vec<f64> = (0..own * shape[1..].iter().product::<usize>()).map(|i| wave(i, 0.3)).collect();
        let before = ranks.traffic();
        let report = plan.solve(&f).unwrap().report;
        assert_eq!(report.refinement_steps, 0);
        assert_eq!(ranks.traffic() - before, plan.cost(ranks.rank()).traffic, "{shape:?}");
    }
}

/// For spacings from 1e-2 to 1e2, the mean is the requested one, and the report has the mean of u.
pub fn means_of_graded_slabs(ranks: &Ranks) {
    let shape = [60usize, 50];
    let faces = |axis: usize| {
        let mut points = vec![0.0];
        (0..shape[axis]).for_each(|k| points.push(points[k] + 10f64.powf(2.0 * wave::<f64>(k + 61 * axis, 0.41))));
        points
    };
    let points = [faces(0), faces(1)];
    let volume = |axis: usize, i: usize| points[axis][i + 1] - points[axis][i];
    let total: f64 = points.iter().map(|p| p[p.len() - 1]).product();
    let own = RankRanges::even(shape[0], ranks.size()).range(ranks.rank());
    let f: Vec<f64> = (own.start * shape[1]..own.end * shape[1]).map(|i| wave(i, 0.29)).collect();
    for kind in [BoundaryKind::Neumann, BoundaryKind::Periodic] {
        for asked in [3.0, -1e-3] {
            let problem = Poisson::new(&shape).grid(Grid::Cell).boundary(kind).mean(asked).removable(f64::INFINITY);
            let problem = problem.coordinates(0, &points[0]).coordinates(1, &points[1]);
            let u = DistributedPoisson::<f64>::new(ranks, &problem, own.len()).unwrap().solve(&f).unwrap();
            let part = |e: usize, u: f64| u * volume(0, own.start + e / shape[1]) * volume(1, e % shape[1]) / total;
            let parts = || u.values.iter().enumerate();
            let mut sums = [parts().map(|(e, u)| part(e, *u)).sum(), parts().map(|(e, u)| part(e, u.abs())).sum()];
            ranks.sum(&mut sums);
            let [mean, size]: [f64; 2] = sums;
            // The rounding error of these sums is at most ε/2 per term and per rank. The bound of the solver is 13ε.
            let terms = (shape[0] * shape[1] + ranks.size()) as f64;
            let bound = (13.0 + terms / 2.0) * f64::EPSILON * (size + asked.abs());
            let said = u.report.mean.unwrap();
            let what = format!("{kind:?}: {mean} {said}, {bound}");
            assert!((mean - said).abs() <= bound && (said - asked).abs() <= bound, "{what}");
            assert!(u.report.backward_error <= 64.0 * f64::EPSILON && ranks_agree(ranks, said), "{what}");
        }
    }
}

/// One unknown, with f and flows that balance except for rounding.
pub fn rounding_of_sides(ranks: &Ranks) {
    let own = RankRanges::even(1, ranks.size()).range(ranks.rank()).len();
    for (low, high) in [(0.1, 0.2), (1.0 / 3.0, 1e-3), (7.7, -7.0)] {
        let problem = Poisson::new(&[1]).grid(Grid::Cell).spacing(0.3).mean(2.0);
        let problem = problem.axis_boundary(0, Boundary::neumann(low), Boundary::neumann(high));
        let plan = DistributedPoisson::<f64>::new(ranks, &problem, own).unwrap();
        // f + (low + high)/h = 0, each rounded.
        for f in [-(low + high) / 0.3, -(low / 0.3 + high / 0.3), -(low + high) * (1.0 / 0.3)] {
            let u = plan.solve(&vec![f; own]).unwrap();
            assert_eq!((u.values, u.report.mean), (vec![2.0; own], Some(2.0)), "{low} {high} {f}");
        }
        let wrong = plan.solve(&vec![1.0 - (low + high) / 0.3; own]).unwrap_err();
        assert!(matches!(wrong.error, Error::Incompatible { .. }), "{wrong}");
    }
}
