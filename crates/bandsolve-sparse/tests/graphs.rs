//! Random graphs, compared with a literal implementation of the algorithms.

use bandsolve_gallery::Random;
use bandsolve_sparse::{Csr, Forest, Graph, GraphFactor, GraphFactorOptions, nine_point};
use std::collections::BTreeSet;

/// A matrix with empty rows, duplicate entries, self-loops, equal weights, and weights that are 0, infinite and NaN.
fn matrix(n: usize, random: &mut Random) -> Csr<'static, f64, i32> {
    let weights = [1.0, 1.0, -1.0, 2.0, 0.5, 0.0, f64::INFINITY, f64::NAN];
    let kinds = 1 + random.below(weights.len());
    let triplets: Vec<_> = (0..random.below(4 * n + 1))
        .map(|_| {
            let weight = if random.bernoulli(0.5) { random.uniform(-1.0, 1.0) } else { weights[random.below(kinds)] };
            (random.below(n), random.below(n), weight)
        })
        .collect();
    Csr::from_triplets(n, n, &triplets).expect("indices below n")
}

/// Algorithm 8, with sets.
fn by_the_letter(graph: &Graph, options: &GraphFactorOptions) -> (Vec<BTreeSet<usize>>, usize) {
    let n = graph.vertices();
    let mut factor = vec![BTreeSet::new(); n];
    for k in 0..options.rounds {
        let charged = k % options.period != options.uncharged;
        let charge = |v: usize| {
            let z = (v as u64 + ((k as u64) << 32) + options.seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) & 1
        };
        let before = factor.clone();
        for v in 0..n {
            while factor[v].len() < options.degree {
                let open = |u: usize| before[u].len() < options.degree && !(charged && charge(u) == charge(v));
                let candidates = graph.edges(v).filter(|(u, _)| open(*u) && !factor[v].contains(u));
                let best = candidates.fold(None, |best: Option<(usize, f64)>, edge| match best {
                    Some(best) if edge.1 <= best.1 => Some(best),
                    _ => Some(edge),
                });
                let Some((u, _)) = best else { break };
                factor[v].insert(u);
            }
        }
        let size = |factor: &[BTreeSet<usize>]| factor.iter().map(BTreeSet::len).sum::<usize>();
        let nothing_new = size(&factor) == size(&before) && !charged;
        let proposed = factor.clone();
        for v in 0..n {
            factor[v].retain(|u| proposed[*u].contains(&v));
        }
        if nothing_new {
            return (factor, k + 1);
        }
    }
    (factor, options.rounds)
}

fn options(random: &mut Random) -> GraphFactorOptions {
    let mut options = GraphFactorOptions::default();
    options.degree = 1 + random.below(4);
    options.rounds = random.below(12);
    options.period = 1 + random.below(5);
    options.uncharged = random.below(options.period);
    options.seed = random.bits() >> 1;
    options
}

#[test]
fn factors_are_those_of_the_letter() {
    let mut random = Random::new(1);
    for _ in 0..2000 {
        let n = 1 + random.below(40);
        let graph = Graph::of(&matrix(n, &mut random)).unwrap();
        let options = options(&mut random);
        let factor = GraphFactor::of(&graph, &options).unwrap();
        let (expected, rounds) = by_the_letter(&graph, &options);
        assert_eq!(factor.rounds(), rounds, "{options:?}");
        for (v, expected) in expected.iter().enumerate() {
            assert_eq!(factor.partners(v).collect::<BTreeSet<_>>(), *expected, "{options:?}");
        }
    }
}

#[test]
fn forests_are_the_paths_of_their_factor() {
    let mut random = Random::new(2);
    let mut cycles = 0;
    for _ in 0..2000 {
        let n = 1 + random.below(40);
        let graph = Graph::of(&matrix(n, &mut random)).unwrap();
        let mut options = options(&mut random);
        options.degree = options.degree.min(2);
        let factor = GraphFactor::of(&graph, &options).unwrap();
        let forest = Forest::from_factor(&graph, &factor).unwrap();
        let order: Vec<usize> = forest.order().collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), n);
        assert!((0..n).all(|v| order[forest.place(v)] == v));
        // Links are edges of the factor. Each cycle has lost one edge.
        let links = order.windows(2).filter(|pair| forest.are_linked(pair[0], pair[1])).count();
        let edges = (0..n).map(|v| factor.partners(v).count()).sum::<usize>() / 2;
        assert_eq!(links + forest.cycles(), edges);
        let linked = |pair: &[usize]| forest.path(pair[0]) == forest.path(pair[1]);
        assert!(
            order.windows(2).filter(|pair| linked(pair)).all(|pair| factor.partners(pair[0]).any(|u| u == pair[1]))
        );
        // A path begins with its smaller end, which is its name. Paths are in ascending order.
        let mut first = 0;
        for length in forest.lengths() {
            let path = &order[first..first + length];
            assert!(path.iter().all(|v| forest.path(*v) == path[0]) && path[0] <= path[length - 1]);
            assert!(first == 0 || forest.path(order[first - 1]) < path[0]);
            first += length;
        }
        assert_eq!(first, n);
        cycles += forest.cycles();
    }
    assert!(cycles > 100, "{cycles}");
}

#[test]
fn the_weakest_edge_of_a_cycle_is_left_out() {
    let cycle = [(0, 1, 3.0), (1, 2, 2.0), (2, 3, 2.0), (3, 4, 5.0), (4, 0, 3.0)];
    let graph = Graph::of(&Csr::<f64>::from_triplets(5, 5, &cycle).unwrap()).unwrap();
    let mut options = GraphFactorOptions::default();
    options.rounds = 100;
    let forest = Forest::of(&graph, &options).unwrap();
    assert_eq!(forest.cycles(), 1);
    assert_eq!(forest.order().collect::<Vec<_>>(), [1, 0, 4, 3, 2]);
    assert!((forest.coverage(&graph) - 13.0 / 15.0).abs() < 1e-15);
}

/// Rings of vertices in any order, over many pieces, with equal weights.
#[test]
fn long_cycles_are_broken_once() {
    let mut random = Random::new(4);
    let (rings, length) = (3, 9_001);
    let n = rings * length;
    let mut order: Vec<usize> = (0..n).collect();
    let in_order = order.clone();
    (1..n).rev().for_each(|k| order.swap(k, random.below(k + 1)));
    let mut options = GraphFactorOptions::default();
    options.rounds = 1000;
    for order in [in_order, order] {
        let end = |k: usize| order[k / length * length + k % length];
        let next = |k: usize| order[k / length * length + (k + 1) % length];
        let edges: Vec<_> = (0..n).map(|k| (end(k), next(k), 1.0)).collect();
        let graph = Graph::of(&Csr::<f64>::from_triplets(n, n, &edges).unwrap()).unwrap();
        let factor = GraphFactor::of(&graph, &options).unwrap();
        assert!(factor.is_maximal());
        let forest = Forest::from_factor(&graph, &factor).unwrap();
        assert_eq!((forest.cycles(), forest.lengths().collect::<Vec<_>>()), (rings, vec![length; rings]));
        // The smallest vertex of each ring is an end, and the smaller one of its neighbors is the other end.
        for ring in order.chunks(length) {
            let smallest = (0..length).min_by_key(|k| ring[*k]).unwrap();
            let neighbors = [ring[(smallest + 1) % length], ring[(smallest + length - 1) % length]];
            let [first, last] = [forest.place(ring[smallest]), forest.place(neighbors[0].min(neighbors[1]))];
            assert_eq!((forest.path(ring[smallest]), last - first), (ring[smallest], length - 1));
        }
    }
}

#[test]
fn a_forest_takes_the_entries_of_its_paths_from_the_matrix() {
    let entries =
        [(0, 2, 5.0), (2, 0, 6.0), (2, 1, 7.0), (0, 0, 1.0), (1, 1, 2.0), (2, 2, 3.0), (0, 2, 0.5), (0, 1, 0.25)];
    let a = Csr::<f64>::from_triplets(3, 3, &entries).unwrap();
    let forest = Forest::of(&Graph::of(&a).unwrap(), &GraphFactorOptions::default()).unwrap();
    assert_eq!(forest.order().collect::<Vec<_>>(), [0, 2, 1]);
    let t = forest.tridiagonal(&a).unwrap();
    assert_eq!([t.row(0), t.row(1), t.row(2)], [(0.0, 1.0, 5.5), (6.0, 3.0, 7.0), (0.0, 2.0, 0.0)]);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let n = 100_000;
    let mut random = Random::new(3);
    let triplets: Vec<_> = (0..3 * n).map(|_| (random.below(n), random.below(n), random.uniform(-1.0, 1.0))).collect();
    let a = Csr::<f64>::from_triplets(n, n, &triplets).unwrap();
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let graph = Graph::of(&a).unwrap();
            let factor = GraphFactor::of(&graph, &GraphFactorOptions::default()).unwrap();
            (Forest::from_factor(&graph, &factor).unwrap(), factor)
        })
    };
    let one = of(1);
    assert!([2, 3, 7].iter().all(|threads| of(*threads) == one));
}

#[test]
fn graphs_without_vertices_and_wrong_sizes() {
    let none = Csr::<f64>::from_triplets(0, 0, &[]).unwrap();
    let graph = Graph::of(&none).unwrap();
    let forest = Forest::of(&graph, &GraphFactorOptions::default()).unwrap();
    assert_eq!((forest.vertices(), forest.lengths().count(), forest.coverage(&graph)), (0, 0, 0.0));
    assert!(Graph::of(&Csr::<f64>::from_triplets(2, 3, &[]).unwrap()).is_err());
    assert!(Csr::<f64>::from_triplets(2, 2, &[(0, 2, 1.0)]).is_err());
    assert!(forest.tridiagonal(&Csr::<f64>::from_triplets(1, 1, &[]).unwrap()).is_err());
    let mut options = GraphFactorOptions::default();
    options.degree = 5;
    assert!(GraphFactor::of(&graph, &options).is_err());
    (options.degree, options.uncharged) = (3, 5);
    assert!(GraphFactor::of(&graph, &options).is_err());
    options.uncharged = 0;
    assert!(Forest::of(&graph, &options).is_err());
}

/// Rounds that cannot change the factor are counted, but not run. Otherwise this test would not end.
#[test]
fn any_number_of_rounds_may_be_asked_for() {
    let random = &mut Random::new(41);
    for (period, uncharged) in [(5, 0), (1, 0), (usize::MAX, 1), (usize::MAX, usize::MAX - 1), (2, 1)] {
        let a = matrix(60, random);
        let graph = Graph::of(&a).unwrap();
        for degree in 1..=4 {
            let mut options = GraphFactorOptions::default();
            (options.degree, options.period, options.uncharged) = (degree, period, uncharged);
            options.rounds = 1000;
            // The probability that an edge remains after this number of rounds is at most 60·2⁻¹⁰⁰⁰.
            let some = GraphFactor::of(&graph, &options).unwrap();
            options.rounds = usize::MAX;
            let all = GraphFactor::of(&graph, &options).unwrap();
            let partners =
                |factor: &GraphFactor| (0..60).map(|v| factor.partners(v).collect()).collect::<Vec<Vec<_>>>();
            assert_eq!(partners(&some), partners(&all), "{degree} {period}");
            assert!(period == usize::MAX || all.is_maximal(), "{degree} {period}");
        }
    }
}

/// A nine-point stencil on a grid that is numbered row by row. The path in the given order has more weight than the paths that the search finds
/// among equal weights.
#[test]
fn the_given_order_is_kept_where_it_has_more_weight() {
    let a = nine_point([[-1.0; 3], [-1.0, 8.0, -1.0], [-1.0; 3]], (30, 30));
    let graph = Graph::of(&a).unwrap();
    let factor = GraphFactor::of(&graph, &GraphFactorOptions::default()).unwrap();
    assert!(Forest::from_factor(&graph, &factor).unwrap().coverage(&graph) < graph.coverage_in_order());
    let forest = Forest::heaviest(&graph, &factor).unwrap();
    assert_eq!(forest.coverage(&graph), graph.coverage_in_order());
    // The paths are the rows of the grid, because the ends of rows are not coupled.
    assert_eq!(forest.lengths().collect::<Vec<_>>(), [30; 30]);
    assert!(forest.order().eq(0..900) && !forest.is_of(&factor));
    // If the strong couplings are across the given order, the search finds better paths.
    let a = nine_point([[0.0, -4.0, 0.0], [-1.0, 10.0, -1.0], [0.0, -4.0, 0.0]], (30, 30));
    let graph = Graph::of(&a).unwrap();
    let factor = GraphFactor::of(&graph, &GraphFactorOptions::default()).unwrap();
    let found = Forest::from_factor(&graph, &factor).unwrap();
    assert_eq!(Forest::heaviest(&graph, &factor).unwrap(), found);
    assert!(found.is_of(&factor));
}
