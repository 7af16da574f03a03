//! Sums and samples of u, compared with the reference values of poisson.json.

use bandsolve_poisson::{Poisson, PoissonMethod};
use serde_json::Value;

/// The methods that solve all problems of the file.
const METHODS: [PoissonMethod; 5] =
    [PoissonMethod::Fft, PoissonMethod::Gemm, PoissonMethod::Bcr2, PoissonMethod::Bcr4, PoissonMethod::Pscr];

/// The contents of the file. If the file does not exist, the test is skipped with a message.
fn golden() -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/poisson.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        bandsolve_testkit::skipped("no ../shared/golden beside the checkout: Poisson problems");
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn right_hand_side(n: usize) -> Vec<f64> {
    // The generator of this file starts with x = 1, and those of the other files with x = 0.
    let mut x = 1u64;
    let mut next = || {
        x = (1_103_515_245 * x + 12345) % (1 << 31);
        x as f64 / f64::from(1 << 30) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

#[test]
fn sums_and_samples_match_the_golden_values() {
    let Some(cases) = golden() else { return };
    for case in cases.as_array().expect("a list") {
        let shape: Vec<usize> = serde_json::from_value(case["shape"].clone()).expect("a shape");
        let f = right_hand_side(shape.iter().product());
        for method in METHODS {
            if method == PoissonMethod::Gemm && shape.iter().any(|n| *n > 300) {
                continue;
            }
            let solution = Poisson::new(&shape).method(method).plan::<f64>().unwrap().solve(&f).unwrap();
            let (u, report) = (&solution.values, &solution.report);
            let number = |key: &str| case[key].as_f64().expect("a number");
            let largest = u.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let bound = 1e-14 * largest;
            let what = format!("{shape:?} {}", method.name());
            assert!(report.backward_error <= 2e-15, "{what}: {:e}", report.backward_error);
            assert!((largest - number("max_u")).abs() <= bound, "{what}: max {largest} {}", number("max_u"));
            assert!((u[0] - number("u_first")).abs() <= bound, "{what}: first");
            let middle = shape.iter().fold(0, |at, n| at * n + n / 2);
            assert!((u[middle] - number("u_mid")).abs() <= bound, "{what}: middle {} {}", u[middle], number("u_mid"));
            let sum: f64 = u.iter().sum();
            let error = (sum - number("sum_u")).abs();
            assert!(error <= bound * u.len() as f64, "{what}: sum {sum} {}", number("sum_u"));
        }
    }
}
