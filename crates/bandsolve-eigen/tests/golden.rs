//! Eigenvalues of the radiative transfer operator, compared with SLEPc and dense solvers.

use bandsolve::{Banded, BlockTridiagonal};
use bandsolve_eigen::{EigenSolver, eigenvalues_below};
use bandsolve_gallery::radiative::{ALBEDO, RadiativeSlab};
use serde_json::Value;

/// Read a file of reference values. If the file does not exist, print a message and return `None`.
fn golden(file: &str) -> Option<Value> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden").join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        bandsolve_testkit::skipped(
            "no ../shared/golden beside the checkout: eigenvalues of the radiative transfer operator",
        );
        return None;
    };
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|value| value.as_f64().expect("a number")).collect()
}

/// ‖A‖₂ ≤ 0.75, and A − ϖI has relative errors of ε. So a gap has an error of a few ε·‖A‖, and the reference value has an error of the
/// same size.
fn check(offsets: &[f64], gaps: &[f64], name: &str) {
    assert_eq!(offsets.len(), gaps.len(), "{name}");
    for (offset, gap) in offsets.iter().zip(gaps) {
        assert!((offset + gap).abs() <= 1e-5 * gap, "{name}: {offset} {gap}");
    }
}

#[test]
fn eigenvalues_nearest_to_the_albedo() {
    let Some(file) = golden("eigen.json") else { return };
    for (name, case) in file.as_object().expect("cases") {
        let slab = RadiativeSlab::new(case["l"].as_u64().unwrap() as usize, case["k"].as_u64().unwrap() as usize);
        for (entry, expected) in [(slab.get(0, 0), &case["a0"]), (slab.get(0, 1), &case["a1"])] {
            assert!((entry / expected.as_f64().unwrap() - 1.0).abs() < 4e-15, "{name}");
        }
        let a = slab.matrix().unwrap();
        let below = |shift: f64| eigenvalues_below(&a, None, shift);
        let eigen = EigenSolver::new(5).ncv(16).tol(1e-8).count(&below).hermitian_nearest(&a, None, ALBEDO).unwrap();
        assert_eq!((eigen.converged(), eigen.report.complete), (true, Some(true)), "{name}");
        check(&eigen.offsets, &numbers(&case["gap5"]), name);
        assert!(eigen.report.residuals.iter().all(|residual| *residual <= 1e-8), "{name}: {:?}", eigen.report);
        assert!(eigen.report.orthogonality < 1e-13, "{name}: {:?}", eigen.report);
        if slab.n() >= 512 {
            assert_eq!((eigen.report.solves, eigen.report.restarts), (16, 0), "{name}");
        } else {
            assert!(eigen.report.solves <= case["slepc"]["solves"].as_u64().unwrap() as usize + 8, "{name}");
        }
    }
}

/// The integrals ∬ E₁(|τ − τ′|) over all pairs of cells, by E₃, in column-major order. The nodes are far enough from each other that
/// cancellation is harmless.
fn cells(nodes: &[f64]) -> Vec<f64> {
    let n = nodes.len() - 1;
    // E₃ of the distances of all nodes i ≤ j.
    let mut e3 = vec![0.0; (n + 1) * (n + 1)];
    for j in 0..=n {
        (0..=j).for_each(|i| e3[i + j * (n + 1)] = exponential_integral(nodes[j] - nodes[i]));
    }
    let between = |i: usize, j: usize| e3[i.min(j) + i.max(j) * (n + 1)];
    let cell = |i: usize, j: usize| {
        if i == j {
            return 2.0 * ((nodes[i + 1] - nodes[i]) + between(i, i + 1) - 0.5);
        }
        (between(i, j + 1) + between(i + 1, j) - between(i, j) - between(i + 1, j + 1)).abs()
    };
    (0..n * n).map(|at| cell(at % n, at / n)).collect()
}

/// Compute E₃(x) = ∫₀¹ μ·exp(−x/μ) dμ by the double exponential rule.
fn exponential_integral(x: f64) -> f64 {
    // All terms exp(−x/μ) with μ < 1 underflow.
    if x > 700.0 {
        return 0.0;
    }
    let node = |k: i32| {
        let t = f64::from(k) / 64.0;
        let s = core::f64::consts::PI * t.sinh();
        let (mu, rest) = (1.0 / (1.0 + (-s).exp()), 1.0 / (1.0 + s.exp()));
        mu * (-x / mu).exp() * core::f64::consts::PI * t.cosh() * mu * rest / 64.0
    };
    (-256..=256).map(node).sum()
}

#[test]
fn eigenvalues_on_a_grid_that_is_not_uniform() {
    let Some(file) = golden("eigen_nonuniform.json") else { return };
    for case in file.as_object().expect("cases").values() {
        let (n, tau) = (case["n"].as_u64().unwrap() as usize, case["tau"].as_f64().unwrap());
        let node = |i: usize| tau * (1.0 - (core::f64::consts::PI * i as f64 / n as f64).cos()) / 2.0;
        let nodes: Vec<f64> = (0..=n).map(node).collect();
        let width = |i: usize| nodes[i + 1] - nodes[i];
        let kernel: Vec<f64> = cells(&nodes).iter().map(|cell| ALBEDO / 2.0 * cell).collect();
        // As a non-symmetric matrix with the entries a_ij = k_ij/h_i, in one block with zero neighbours.
        let general: Vec<f64> = (0..n * n).map(|at| kernel[at] / width(at % n)).collect();
        for (key, at) in [("A00", 0), ("A10", 1), ("A01", n)] {
            // A cell is a difference of four values E₃ ≤ 1/2, each with an error of a few ε.
            let allowed = 16.0 * f64::EPSILON / (kernel[at] / (ALBEDO / 2.0));
            let error = (general[at] / case[key].as_f64().unwrap() - 1.0).abs();
            assert!(error < allowed, "{n} {key}: {error} {allowed}");
        }
        let expected = numbers(&case["lam5"]);
        let zeros = vec![0.0; n * n];
        let a = BlockTridiagonal::new(n, &zeros, &general, &zeros).unwrap();
        let eigen = EigenSolver::new(5).general_nearest(&a, None, ALBEDO).unwrap();
        assert!(eigen.converged());
        for (value, expected) in eigen.values.iter().zip(&expected) {
            assert!((value - expected).norm() < 1e-11, "{value} {expected}");
        }
        // As a symmetric pencil K·x = λ·H·x.
        let mut weights = vec![0.0; n * n];
        (0..n).for_each(|i| weights[i * (n + 1)] = width(i));
        let (k, h) = (kernel, weights);
        let k = BlockTridiagonal::new(n, &zeros, &k, &zeros).unwrap();
        let h = BlockTridiagonal::new(n, &zeros, &h, &zeros).unwrap();
        let eigen = EigenSolver::new(5).hermitian_nearest(&k, Some(&h), ALBEDO).unwrap();
        assert!(eigen.converged() && eigen.report.orthogonality < 1e-12, "{:?}", eigen.report);
        for (value, expected) in eigen.values.iter().zip(&expected) {
            assert!((value - expected).abs() < 1e-11, "{value} {expected}");
        }
    }
}

#[test]
fn a_band_has_the_same_eigenvalues() {
    let slab = RadiativeSlab::new(5, 20);
    let (n, beside) = (slab.n(), 39);
    let leading = 2 * beside + 1;
    let mut bands = vec![0.0; n * leading];
    slab.for_each(&mut |i, j, value| bands[beside + i - j + j * leading] = value);
    let band = Banded::from_vec(n, beside, beside, bands).unwrap();
    let one = EigenSolver::new(5).hermitian_nearest(&band, None, ALBEDO).unwrap();
    let other = EigenSolver::new(5).hermitian_nearest(&slab.matrix().unwrap(), None, ALBEDO).unwrap();
    for (one, other) in one.offsets.iter().zip(&other.offsets) {
        assert!((one - other).abs() <= 1e-13, "{one} {other}");
    }
}
