//! Factors and forests, compared with results of slow reference implementations.

use bandsolve_sparse::{Csr, Forest, Graph, GraphFactor, GraphFactorOptions, greedy, nine_point};
use serde_json::Value;

/// Read a file of golden numbers. If it is missing, print a message and return `None`.
fn golden(file: &str) -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        bandsolve_testkit::skipped("no ../shared/golden beside the checkout: factors and forests of graphs");
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

const ANISO1: [[f64; 3]; 3] = [[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]];
const ANISO2: [[f64; 3]; 3] = [[-1.0, -0.2, -0.1], [-0.2, 3.0, -0.2], [-0.1, -0.2, -1.0]];
/// Mirror a stencil from left to right, as in the file of coverages.
const MIRRORED: [[f64; 3]; 3] = [[-0.1, -0.2, -1.0], [-0.2, 3.0, -0.2], [-1.0, -0.2, -0.1]];
const FIVE_POINT: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]];

fn number(case: &Value, key: &str) -> usize {
    case[key].as_u64().unwrap_or_else(|| panic!("{key} of {case}")) as usize
}

fn ascending(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// Whether two coverages agree. The golden ones are quotients of sums that add all entries one after the other: each sum has a relative error of at
/// most entries·ε/2. Those of the library add pieces, and have much smaller errors.
fn close(graph: &Graph, got: f64, expected: &Value) -> bool {
    (got - expected.as_f64().expect("a number")).abs() <= graph.matrix().entries() as f64 * f64::EPSILON
}

#[test]
fn small_factors_are_the_golden_ones() {
    let Some(cases) = golden("forest_small.json") else { return };
    let mut seen = 0;
    for case in cases.as_array().expect("a list") {
        let matrix = case["matrix"].as_str().expect("a name");
        if matrix == "edges" {
            check_list_of_edges(case);
            continue;
        }
        let entries = match matrix {
            "ANISO1" => ANISO1,
            "ANISO2" => ANISO2,
            "LAP5" => FIVE_POINT,
            other => panic!("{other}"),
        };
        let graph = Graph::of(&nine_point(entries, (number(case, "nx"), number(case, "ny")))).unwrap();
        let mut options = GraphFactorOptions::default();
        (options.degree, options.rounds) = (number(case, "n"), number(case, "M"));
        (options.period, options.uncharged) = (number(case, "m"), number(case, "km"));
        options.seed = number(case, "seed") as u64;
        let factor = GraphFactor::of(&graph, &options).unwrap();
        let partners: Vec<Vec<usize>> = (0..graph.vertices()).map(|v| ascending(factor.partners(v))).collect();
        let expected: Vec<Vec<usize>> = serde_json::from_value(case["pi"].clone()).expect("partners");
        assert_eq!(partners, expected, "{matrix} {options:?}");
        assert_eq!(factor.rounds(), number(case, "Mmax"), "{matrix} {options:?}");
        assert!(close(&graph, factor.coverage(&graph), &case["coverage"]), "{matrix} {options:?}");
        seen += 1;
    }
    assert!(seen > 30, "{seen} cases");
}

#[test]
fn coverages_are_the_golden_ones() {
    let Some(file) = golden("forest_coverage.json") else { return };
    for (name, entries) in [("ANISO1", ANISO1), ("ANISO2", MIRRORED)] {
        let expected = &file[name];
        let graph = Graph::of(&nine_point(entries, (600, 600))).unwrap();
        assert!(close(&graph, graph.coverage_in_order(), &expected["c_id"]), "{name}");
        for degree in 1..=4 {
            let mut options = GraphFactorOptions::default();
            options.degree = degree;
            let got = GraphFactor::of(&graph, &options).unwrap().coverage(&graph);
            assert!(close(&graph, got, &expected[format!("n{degree}")]["par5"]), "{name} {degree}: {got}");
            let got = greedy(&graph, degree).unwrap().coverage(&graph);
            assert!(close(&graph, got, &expected[format!("n{degree}")]["seq_stable"]), "{name} {degree}: {got}");
        }
        let forest = Forest::of(&graph, &GraphFactorOptions::default()).unwrap();
        let expected = &expected["forest"];
        assert!(close(&graph, forest.coverage(&graph), &expected["cov"]), "{name}");
        assert_eq!(forest.cycles(), number(expected, "ncyc"), "{name}");
        assert_eq!(forest.lengths().count(), number(expected, "npaths"), "{name}");
        assert_eq!(forest.lengths().max().unwrap(), number(expected, "maxlen"), "{name}");
        assert_eq!(forest.lengths().filter(|length| *length == 1).count(), number(expected, "isolated"), "{name}");
    }
}

/// A random graph with cycles in its factor: greedy factor, paths, and positions on the paths.
fn check_list_of_edges(case: &Value) {
    let edges: Vec<(usize, usize, f64)> = serde_json::from_value(case["edges"].clone()).expect("edges");
    let graph = Graph::of(&Csr::<f64>::from_triplets(number(case, "N"), number(case, "N"), &edges).unwrap()).unwrap();
    let factor = greedy(&graph, 2).unwrap();
    let list = |key: &str| serde_json::from_value::<Vec<Vec<usize>>>(case[key].clone()).expect("partners");
    for (v, expected) in list("greedy_pi").iter().enumerate() {
        assert_eq!(ascending(factor.partners(v)), *expected, "{v}");
    }
    let forest = Forest::from_factor(&graph, &factor).unwrap();
    assert_eq!(forest.cycles(), number(case, "cycles"));
    let path_of: Vec<usize> = serde_json::from_value(case["path_id"].clone()).expect("paths");
    let position: Vec<usize> = serde_json::from_value(case["position"].clone()).expect("positions");
    for (v, partners) in list("forest").iter().enumerate() {
        assert_eq!(forest.path(v), path_of[v], "{v}");
        assert_eq!(forest.place(v) - forest.place(forest.path(v)) + 1, position[v], "{v}");
        assert!(partners.iter().all(|u| forest.are_linked(v, *u)), "{v}");
    }
}
