//! Graphs, their [0, n]-factors and linear forests on a device: equal to those of the CPU.

use crate::oracle::ORDERS;
use crate::test_device;
use bandsolve::{Complex32, Complex64, Error, RealScalar, Scalar};
use bandsolve_gallery::{Random, random_vec};
use bandsolve_gpu::{
    Device, DeviceCsr, DeviceForest, DeviceGraph, DeviceGraphFactor, DeviceScalar, Emulation, NO_COLUMN, Order,
};
use bandsolve_sparse::{Csr, Forest, Graph, GraphFactor, GraphFactorOptions, MODEL_PROBLEMS, nine_point};
use std::collections::BTreeMap;

fn device(order: Order) -> Device {
    test_device(Emulation { order, resident: 3, ..Emulation::default() })
}

fn options(degree: usize, rounds: usize) -> GraphFactorOptions {
    let mut options = GraphFactorOptions::default();
    (options.degree, options.rounds) = (degree, rounds);
    options
}

/// Check the factor of a graph.
fn check_factor(graph: &Graph, on_device: &DeviceGraph, options: &GraphFactorOptions) -> DeviceGraphFactor {
    let expected = GraphFactor::of(graph, options).unwrap();
    let factor = DeviceGraphFactor::of(on_device, options).unwrap();
    assert_eq!((factor.degree(), factor.vertices()), (options.degree, graph.vertices()));
    assert_eq!((factor.rounds(), factor.is_maximal()), (expected.rounds(), expected.is_maximal()), "{options:?}");
    let partners = |v| {
        let partners = expected.partners(v).map(|u| u as u32).chain([NO_COLUMN; 4]);
        partners.take(options.degree).collect::<Vec<_>>()
    };
    let expected: Vec<u32> = (0..graph.vertices()).flat_map(partners).collect();
    assert!(factor.partners().download().unwrap() == expected, "{options:?}");
    factor
}

/// Check the forest of a graph.
fn check_forest(graph: &Graph, on_device: &DeviceGraph, options: &GraphFactorOptions) -> (Forest, DeviceForest) {
    let factor = check_factor(graph, on_device, options);
    let expected = Forest::of(graph, options).unwrap();
    let forest = DeviceForest::from_factor(on_device, &factor).unwrap();
    let n = graph.vertices();
    let numbers = |of: &dyn Fn(usize) -> usize| (0..n).map(|v| of(v) as u32).collect::<Vec<_>>();
    assert_eq!((forest.vertices(), forest.cycles()), (n, expected.cycles()));
    assert!(forest.paths().download().unwrap() == numbers(&|v| expected.path(v)), "{options:?}");
    assert!(forest.places().download().unwrap() == numbers(&|v| expected.place(v)), "{options:?}");
    let order: Vec<u32> = expected.order().map(|v| v as u32).collect();
    assert!(forest.order().download().unwrap() == order, "{options:?}");
    (expected, forest)
}

/// Check graph, factor, forest and tridiagonal matrix.
fn check<T: DeviceScalar>(device: &Device, a: &Csr<'_, T, u32>, options: &GraphFactorOptions) -> Forest {
    let on_device = DeviceCsr::new(device, a).unwrap();
    let graph = DeviceGraph::of(&on_device).unwrap();
    assert_eq!(graph.vertices(), a.rows());
    let (expected, forest) = check_forest(&Graph::of(a).unwrap(), &graph, options);
    let nan = vec![T::from_real(T::Real::NAN); a.rows()];
    let mut bands = [(); 3].map(|()| device.upload(&nan).unwrap());
    let [sub, diag, sup] = &mut bands;
    forest.tridiagonal(&on_device, sub, diag, sup).unwrap();
    for (band, expected) in bands.iter().zip(expected.tridiagonal(a).unwrap().arrays()) {
        let is_nan = |a: &T| Scalar::abs(*a).to_f64().is_nan();
        let same = |a: &T, b: &T| a == b || (is_nan(a) && is_nan(b));
        assert!(band.download().unwrap().iter().zip(expected).all(|(a, b)| same(a, b)), "{options:?}");
    }
    expected
}

/// Some weights that occur often, and others that occur once.
fn any_weight<T: Scalar>(random: &mut Random) -> T {
    let some = [1.0, -1.0, 2.0, 0.5, 0.0, -0.0, f64::INFINITY, f64::NAN];
    if random.bernoulli(0.4) {
        return random_vec::<T>(1, random)[0];
    }
    // 3 + 4i and the others with these parts have the modulus of 5.
    let parts = [[3.0, 4.0], [-4.0, 3.0], [5.0, 0.0], [0.0, -5.0], [1.0, 1.0]];
    let [re, im] = if T::COMPLEX && random.bernoulli(0.5) {
        parts[random.below(parts.len())]
    } else {
        [some[random.below(some.len())], 0.0]
    };
    T::from_parts(T::Real::from_f64(re), T::Real::from_f64(im))
}

/// A matrix with empty rows, diagonal entries, equal weights, and weights that are 0, infinite and NaN. If it is symmetric in its pattern, each entry
/// occurs once, in order.
fn any_matrix<T: Scalar>(n: usize, symmetric: bool, random: &mut Random) -> Csr<'static, T, u32> {
    let mut entries = BTreeMap::new();
    let mut triplets = vec![];
    for _ in 0..random.below(4 * n + 1) {
        let (i, j) = (random.below(n), random.below(n));
        for (i, j) in [(i, j), (j, i)] {
            entries.insert((i, j), any_weight::<T>(random));
        }
        triplets.push((i, j, any_weight::<T>(random)));
    }
    if symmetric {
        triplets = entries.into_iter().map(|((i, j), v)| (i, j, v)).collect();
    }
    Csr::from_triplets(n, n, &triplets).unwrap()
}

fn any_options(random: &mut Random) -> GraphFactorOptions {
    let mut options = options(1 + random.below(2), random.below(12));
    options.period = 1 + random.below(5);
    options.uncharged = random.below(options.period);
    options.seed = random.bits();
    options
}

fn random_graphs<T: DeviceScalar>() {
    let mut random = Random::new(1);
    let devices = ORDERS.map(device);
    let mut cycles = 0;
    for case in 0..180 {
        let n = 1 + random.below(40);
        let a = any_matrix::<T>(n, case % 3 > 0, &mut random);
        cycles += check(&devices[case % 3], &a, &any_options(&mut random)).cycles();
    }
    // Larger than a tile of entries and of vertices.
    for symmetric in [true, false] {
        let a = any_matrix::<T>(2500, symmetric, &mut random);
        cycles += check(&devices[2], &a, &options(2, 30)).cycles();
    }
    assert!(cycles > 10, "{cycles}");
}

#[test]
fn f32_random_graphs() {
    random_graphs::<f32>();
}

#[test]
fn f64_random_graphs() {
    random_graphs::<f64>();
}

#[test]
fn c32_random_graphs() {
    random_graphs::<Complex32>();
}

#[test]
fn c64_random_graphs() {
    random_graphs::<Complex64>();
}

#[test]
fn factors_of_every_degree() {
    let mut random = Random::new(3);
    for case in 0..60 {
        let n = if case < 56 { 1 + random.below(40) } else { 1500 };
        let graph = Graph::of(&any_matrix::<f64>(n, true, &mut random)).unwrap();
        let on_device = DeviceGraph::new(&device(ORDERS[case % 3]), &graph).unwrap();
        let mut options = any_options(&mut random);
        options.degree = 1 + case % 4;
        check_factor(&graph, &on_device, &options);
    }
}

/// Graphs with an edge between each two vertices, in whose rounds with charges no vertex may find a partner.
#[test]
fn dense_graphs() {
    let mut random = Random::new(11);
    for case in 0..48 {
        let n = 34 + random.below(30);
        let equal = random.bernoulli(0.5);
        let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
        let edges: Vec<_> = pairs.map(|(i, j)| (i, j, if equal { 1.0 } else { random.unit() })).collect();
        let graph = Graph::of(&Csr::<f64, u32>::from_triplets(n, n, &edges).unwrap()).unwrap();
        let on_device = DeviceGraph::new(&device(ORDERS[case % 3]), &graph).unwrap();
        let mut options = options(1 + case % 4, 60);
        options.period = 2 + random.below(8);
        options.uncharged = random.below(options.period);
        options.seed = random.bits();
        check_factor(&graph, &on_device, &options);
    }
}

/// More tiles of vertices than a thread block has threads.
#[test]
fn many_paths() {
    let n = 132_500;
    let edges: Vec<_> = (0..n - 1).step_by(1001).map(|v| (v, v + 1, 1.0)).collect();
    let graph = Graph::of(&Csr::<f64, u32>::from_triplets(n, n, &edges).unwrap()).unwrap();
    let on_device = DeviceGraph::new(&device(Order::Reverse), &graph).unwrap();
    check_forest(&graph, &on_device, &options(2, 1));
}

#[test]
fn stencils() {
    for order in ORDERS {
        let device = device(order);
        for problem in MODEL_PROBLEMS {
            let a = (problem.make)(if problem.description.contains("x N x N") { 7 } else { 23 });
            for rounds in [1, 5, 20] {
                check(&device, &a, &options(2, rounds));
            }
        }
        // Paths along the rows of the grid, which can be linked at their ends.
        let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (70, 40));
        let forest = check(&device, &a, &options(2, 60));
        assert!(forest.lengths().all(|length| length % 70 == 0));
    }
}

/// Rows within a tile and over several tiles, with equal weights.
#[test]
fn long_rows_with_equal_weights() {
    for (n, hubs) in [(3000, vec![0, 1, 1500]), (1100, vec![1099, 7]), (200, (0..20).map(|k| 10 * k).collect())] {
        let mut entries = BTreeMap::new();
        for hub in hubs {
            for v in 0..n {
                entries.insert((hub, v), -1.0);
                entries.insert((v, hub), -1.0);
            }
        }
        let triplets: Vec<_> = entries.into_iter().map(|((i, j), v)| (i, j, v)).collect();
        let a = Csr::<f64, u32>::from_triplets(n, n, &triplets).unwrap();
        let graph = Graph::of(&a).unwrap();
        for order in ORDERS {
            let device = device(order);
            check(&device, &a, &options(2, 20));
            let on_device = DeviceGraph::new(&device, &graph).unwrap();
            (1..=4).for_each(|degree| {
                check_factor(&graph, &on_device, &options(degree, 20));
            });
        }
    }
}

fn shuffled(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|k| order.swap(k, random.below(k + 1)));
    order
}

/// Rings and paths of vertices in any order, with equal weights and with two sizes of weights.
#[test]
fn rings_and_paths() {
    let mut random = Random::new(4);
    let mut weights = Random::new(5);
    for (case, (rings, length)) in [(1, 3), (5, 3), (40, 4), (7, 5), (3, 801), (1, 2053)].into_iter().enumerate() {
        let n = rings * length + case;
        let names = shuffled(n, &mut random);
        for closed in [true, false] {
            let edges: Vec<_> = (0..rings * length)
                .filter(|k| closed || k % length + 1 < length)
                .map(|k| {
                    let next = k / length * length + (k + 1) % length;
                    (names[k], names[next], if case % 2 == 0 { 1.0 } else { 1.0 + weights.below(2) as f64 })
                })
                .collect();
            let triplets: Vec<_> = edges.iter().flat_map(|(i, j, v)| [(*i, *j, *v), (*j, *i, *v)]).collect();
            let a = Csr::<f64, u32>::from_triplets(n, n, &triplets).unwrap();
            let forest = check(&device(ORDERS[case % 3]), &a, &options(2, 1000));
            assert_eq!(forest.cycles(), if closed { rings } else { 0 });
            assert_eq!(forest.lengths().filter(|k| *k == length).count(), rings);
        }
    }
}

/// One path of all vertices, in order and in another one.
#[test]
fn one_path_of_all_vertices() {
    let n = 4100;
    for (order, names) in ORDERS.into_iter().zip([(0..n).collect(), shuffled(n, &mut Random::new(6)), vec![]]) {
        let triplets: Vec<_> = names.windows(2).flat_map(|v| [(v[0], v[1], 1.0), (v[1], v[0], 1.0)]).collect();
        let a = Csr::<f32, u32>::from_triplets(n, n, &triplets).unwrap();
        let forest = check(&device(order), &a, &options(2, 1000));
        let expected = if names.is_empty() { vec![1; n] } else { vec![n] };
        assert_eq!(forest.lengths().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn smallest_graphs() {
    let device = device(Order::Reverse);
    for n in 0..3 {
        let alone = Csr::<f64, u32>::from_triplets(n, n, &[]).unwrap();
        let pair = [(0, 0, 4.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 4.0)];
        let with_entries = Csr::<f64, u32>::from_triplets(n, n, if n == 2 { &pair } else { &pair[..n] }).unwrap();
        for rounds in [0, 1, 5] {
            for degree in 1..=2 {
                let mut options = options(degree, rounds);
                check(&device, &alone, &options);
                check(&device, &with_entries, &options);
                (options.period, options.uncharged) = (3, 2);
                check(&device, &with_entries, &options);
            }
        }
    }
}

/// As on the CPU, NaN is no edge.
#[test]
fn nan_is_no_edge() {
    let nan = f64::NAN;
    for (symmetric, entry) in [(true, [(1, 0, nan)]), (false, [(3, 0, nan)])] {
        let triplets = [(0, 1, 1.0), (1, 2, 2.0), (2, 1, nan), (2, 3, 1.0), (3, 2, 1.0)];
        let all: Vec<_> = triplets.into_iter().chain(entry).collect();
        let a = Csr::<f64, u32>::from_triplets(4, 4, &all).unwrap();
        let forest = check(&device(Order::Forward), &a, &options(2, 5));
        assert!(!forest.are_linked(1, 2) && forest.are_linked(2, 3));
        assert_eq!(forest.are_linked(0, 1), !symmetric);
    }
}

/// Weights that do not depend on the scaling of the rows, with factors on another stream.
#[test]
fn weighted_graphs() {
    for (order, symmetric) in ORDERS.into_iter().zip([true, false, true]) {
        let device = device(order);
        let mut random = Random::new(9);
        let grid = nine_point([[0.0, -1.0, 0.0], [-0.5, 4.0, -0.5], [0.0, -1.0, 0.0]], (30, 20));
        let mut entries = vec![];
        for i in 0..600 {
            let scale = f64::from(1 << (i % 7));
            entries.extend(grid.row(i).map(|(j, v)| (i, j, scale * v * random.uniform(0.9, 1.1))));
        }
        if !symmetric {
            entries.push((0, 599, 3.0));
        }
        let a = Csr::<f64, u32>::from_triplets(600, 600, &entries).unwrap();
        let moduli: Vec<f64> = (0..600).map(|i| 1.0 / a.row(i).find(|(j, _)| *j == i).unwrap().1.abs()).collect();
        let expected = Graph::weighted(&a, &moduli).unwrap();
        let other = device.stream().unwrap();
        let mut factors = other.zeros::<f64>(600).unwrap();
        let given = other.upload(&moduli).unwrap();
        factors.slice_mut(..).copy_from(given.slice(..)).unwrap();
        let on_device = DeviceCsr::new(&device.stream().unwrap(), &a).unwrap();
        let graph = DeviceGraph::weighted(&on_device, &factors).unwrap();
        check_forest(&expected, &graph, &options(2, 5));
    }
}

/// The matrix, the forest and the bands may be on streams of their own.
#[test]
fn arrays_on_other_streams() {
    for order in ORDERS {
        let device = device(order);
        let a = nine_point([[0.0, -0.1, 0.0], [-1.0, 2.2, -1.0], [0.0, -0.1, 0.0]], (50, 60));
        let graph = Graph::of(&a).unwrap();
        let expected = Forest::of(&graph, &options(2, 5)).unwrap();
        let streams = [(); 5].map(|()| device.stream().unwrap());
        let [one, other] = [&streams[0], &streams[1]].map(|stream| DeviceGraph::new(stream, &graph).unwrap());
        let factor = DeviceGraphFactor::of(&one, &options(2, 5)).unwrap();
        let forest = DeviceForest::from_factor(&other, &factor).unwrap();
        let on_device = DeviceCsr::new(&device, &a).unwrap();
        let mut bands: [_; 3] = core::array::from_fn(|k| streams[2 + k].zeros::<f64>(a.rows()).unwrap());
        let [sub, diag, sup] = &mut bands;
        forest.tridiagonal(&on_device, sub, diag, sup).unwrap();
        let got = bands.each_ref().map(|band| band.download().unwrap());
        assert!(got.each_ref().map(|band| &band[..]) == expected.tridiagonal(&a).unwrap().arrays());
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let [one, other] = [(); 2].map(|()| Device::emulated(Emulation::default()));
    let csr = Csr::<f64, u32>::from_triplets(2, 2, &[(0, 1, 1.0), (1, 0, 2.0)]).unwrap();
    let a = DeviceCsr::new(&one, &csr).unwrap();
    let shape = |what, expected, got| Error::Shape { what, expected, got };
    let wide = Csr::<f64, u32>::from_triplets(2, 3, &[(0, 2, 1.0)]).unwrap();
    let error = DeviceGraph::of(&DeviceCsr::new(&one, &wide).unwrap()).unwrap_err();
    assert_eq!(error, shape("columns of a square matrix", 2, 3));
    let error = DeviceGraph::weighted(&a, &one.zeros(3).unwrap()).unwrap_err();
    assert_eq!(error, shape("moduli of rows", 2, 3));
    let error = DeviceGraph::weighted(&a, &other.zeros(2).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "moduli is on another device, emulated, expected this device, emulated");

    let graph = DeviceGraph::of(&a).unwrap();
    let host = Graph::of(&csr).unwrap();
    for (degree, period) in [(0, 5), (5, 5), (2, 0)] {
        let mut options = options(degree, 5);
        options.period = period;
        let expected = GraphFactor::of(&host, &options).unwrap_err();
        assert_eq!(DeviceGraphFactor::of(&graph, &options).unwrap_err(), expected);
        assert_eq!(DeviceForest::of(&graph, &options).unwrap_err(), expected);
    }
    let three = DeviceGraphFactor::of(&graph, &options(3, 5)).unwrap();
    let expected = Forest::of(&host, &options(3, 5)).unwrap_err();
    assert_eq!(DeviceForest::of(&graph, &options(3, 5)).unwrap_err(), expected);
    assert_eq!(DeviceForest::from_factor(&graph, &three).unwrap_err(), expected);
    let factor = DeviceGraphFactor::of(&graph, &options(2, 5)).unwrap();
    let larger = DeviceGraph::new(&one, &Graph::of(&Csr::<f64, u32>::from_triplets(3, 3, &[]).unwrap()).unwrap());
    let error = DeviceForest::from_factor(&larger.unwrap(), &factor).unwrap_err();
    assert_eq!(error, shape("vertices of the factor", 3, 2));
    let elsewhere = DeviceGraph::new(&other, &host).unwrap();
    assert!(matches!(DeviceForest::from_factor(&elsewhere, &factor), Err(Error::InvalidArgument { .. })));

    let forest = DeviceForest::from_factor(&graph, &factor).unwrap();
    let zeros = |device: &Device, n| device.zeros::<f64>(n).unwrap();
    let error = |devices: [&Device; 3], [sub, diag, sup]: [usize; 3]| {
        let bands = [zeros(devices[0], sub), zeros(devices[1], diag), zeros(devices[2], sup)];
        let [mut sub, mut diag, mut sup] = bands;
        forest.tridiagonal(&a, &mut sub, &mut diag, &mut sup).unwrap_err()
    };
    assert_eq!(error([&one; 3], [3, 2, 2]), shape("sub", 2, 3));
    assert_eq!(error([&one; 3], [2, 1, 2]), shape("diag", 2, 1));
    assert_eq!(error([&one; 3], [2, 2, 0]), shape("sup", 2, 0));
    for (k, name) in ["sub", "diag", "sup"].into_iter().enumerate() {
        let mut devices = [&one; 3];
        devices[k] = &other;
        let said = error(devices, [2, 2, 2]).to_string();
        assert_eq!(said, format!("{name} is on another device, emulated, expected this device, emulated"));
    }
    let [mut sub, mut diag, mut sup] = [(); 3].map(|()| zeros(&other, 2));
    let on_other = DeviceCsr::new(&other, &csr).unwrap();
    let error = forest.tridiagonal(&on_other, &mut sub, &mut diag, &mut sup).unwrap_err().to_string();
    assert_eq!(error, "forest is on another device, emulated, expected this device, emulated");
    let not_square = DeviceCsr::new(&one, &wide).unwrap();
    let error = forest.tridiagonal(&not_square, &mut sub, &mut diag, &mut sup).unwrap_err();
    assert_eq!(error, shape("rows and columns of the matrix", 2, 3));
}
