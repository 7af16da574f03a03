//! Tests of `--device`: solves on an emulated device, and errors without a GPU.

use crate::solve::{assert_solved, solve_json};
use crate::*;

const EPSILONS: [(&str, f64); 4] = [("f32", 1.2e-7), ("f64", 2.3e-16), ("c64", 1.2e-7), ("c128", 2.3e-16)];

#[test]
fn a_device_solves_what_the_cpu_solves() {
    let folder = Folder::new();
    let mut corners = toeplitz(300, 5.0, &[1], &[1]);
    corners.extend([(1, 300, 1.0), (300, 1, 1.0)]);
    for (kind, entries) in [
        ("tridiagonal", toeplitz(300, 4.0, &[1], &[1])),
        ("periodic tridiagonal", corners),
        ("banded", toeplitz(300, 9.0, &[1, 4], &[2])),
    ] {
        let a = folder.file("A.mtx", matrix_market(300, &entries));
        for (dtype, epsilon) in EPSILONS {
            let [x, y] = ["x.mtx", "y.mtx"].map(|name| folder.path(name));
            let json = solve_json(&[&a, "--dtype", dtype, "--device", "emulated", "--out", &x]);
            assert_solved(&json, epsilon);
            assert_eq!((&json["kind"], &json["method"]), (&kind.into(), &"rpts".into()));
            assert_eq!((&json["device"], &json["fallback"]), (&"emulated".into(), &false.into()));
            let host = solve_json(&[&a, "--dtype", dtype, "--out", &y]);
            assert_eq!(host["device"], "cpu");
            // The condition numbers are at most 3, the entries of x at most 7.
            let near = |(x, y): (f64, f64)| (x - y).abs() <= 3.0 * 7.0 * 2.0 * 8.0 * epsilon;
            let [x, y] = [x, y].map(|path| array_values(&path));
            assert!(x.len() == y.len() && x.len() >= 300 && x.into_iter().zip(y).all(near), "{kind} {dtype}");
        }
    }
    let text = bandsolve(&["solve", &folder.path("A.mtx"), "--device", "emulated"]).exits(0).stdout;
    assert!(text.contains("rpts: solved on emulated") && text.contains("copies to the device"), "{text}");
}

#[test]
fn a_device_follows_the_options() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(200, &toeplitz(200, 4.0, &[1], &[1])));
    let column = |scale: f64| (0..200).map(|i| format!("{:?}\n", scale * f64::from(i))).collect::<String>();
    let header = "%%MatrixMarket matrix array real general\n200 3\n";
    let b = folder.file("b.mtx", format!("{header}{}{}{}", column(1.0), column(-1.0), column(0.0)));
    for pivoting in ["none", "partial", "scaled-partial"] {
        let json = solve_json(&[&a, "--rhs", &b, "--device", "emulated", "--method", "rpts", "--pivoting", pivoting]);
        assert_solved(&json, f64::EPSILON);
        assert_eq!((&json["pivoting"], &json["n_rhs"]), (&pivoting.into(), &3.into()));
    }
    let singular = folder.file("S.mtx", matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)]));
    let b = folder.file("c.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    bandsolve(&["solve", &singular, "--rhs", &b, "--device", "emulated"]).fails(4, "singular");
}

#[test]
fn what_a_device_does_not_solve_is_wrong_usage() {
    let folder = Folder::new();
    let wide = folder.file("wide.mtx", matrix_market(20, &toeplitz(20, 9.0, &[1, 5], &[1])));
    bandsolve(&["solve", &wide, "--device", "emulated"]).fails(2, "more than 4 diagonals");
    bandsolve(&["solve", &wide, "--device", "emulated", "--method", "pivoted"]).fails(2, "more than 4 diagonals");
    let narrow = folder.file("narrow.mtx", matrix_market(20, &toeplitz(20, 9.0, &[1], &[1])));
    bandsolve(&["solve", &narrow, "--device", "emulated", "--method", "pivoted"]).fails(2, "pivoted");
    for method in ["spike-thomas", "spike-cr", "cf-lu", "parallel-diagonal-pivoting"] {
        let json = solve_json(&[&narrow, "--device", "emulated", "--method", method]);
        assert_solved(&json, f64::EPSILON);
        assert_eq!(json["method"], method);
    }
    bandsolve(&["solve", &wide, "--device", "abacus"]).fails(2, "cuda:1");
    bandsolve(&["solve", &wide, "--device", "cuda:first"]).fails(2, "cuda:1");
    bandsolve(&["bench", "gpu", "--device", "cpu"]).fails(2, "cuda:1");
}

#[test]
fn where_there_is_no_gpu_it_is_said() {
    // No machine has 4097 GPUs.
    let none = "cuda:4096";
    bandsolve(&["solve", "none.mtx", "--device", none]).fails(1, "no GPU: ");
    bandsolve(&["bench", "gpu", "--device", none]).fails(1, "no GPU: ");
    let found = bandsolve(&["solve", "none.mtx", "--device", "cuda"]);
    match found.stderr.contains("none.mtx") {
        true => found.fails(3, "none.mtx"),
        false => found.fails(1, "no GPU: "),
    };
}

#[test]
fn a_device_is_compared_with_the_cpu_and_measured() {
    let args = ["bench", "gpu", "--device", "emulated", "--quick", "--json", "-"];
    let run = bandsolve(&args).exits(0);
    for word in
        ["not meaningful", "of copy", "periodic tridiagonal", "interleaved batch", "times as fast per row as one"]
    {
        assert!(run.stderr.contains(word), "{word}\n{}", run.stderr);
    }
    let report = run.json();
    let accuracy = report["accuracy"].as_array().expect("lines");
    assert_eq!(accuracy.len(), 4 * (4 + 3 + 1 + 3), "number types; tridiagonal, blocks, a band, batches");
    assert!(accuracy.iter().all(|line| line["within_contract"] == true && line["backward_error_cpu"].is_f64()));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 7 * 4, "number types, systems; bandsolve, host time, unverified, copy");
    for row in rows {
        assert!(row["error"].is_null() && row["ns_per_row"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["solver"] != "bandsolve" || row["backward_error"].is_f64(), "{row}");
    }
}

#[test]
fn parts_and_sizes_of_the_measurement_can_be_chosen() {
    let run =
        |more: &[&str]| bandsolve(&[&["bench", "gpu", "--device", "emulated", "--quick"], more].concat()).exits(0);
    let accuracy = run(&["--only", "accuracy"]).stdout;
    assert!(accuracy.contains("blocks of 3") && !accuracy.contains("of copy"), "{accuracy}");
    let speed = run(&["--only", "speed", "--n", "100,300", "--dtype", "f32"]).stdout;
    assert!(speed.contains("of copy") && !speed.contains("f64") && !speed.contains("blocks of 3"), "{speed}");
    assert!(speed.lines().any(|line| line.contains("tridiagonal") && line.contains(" 300 ")), "{speed}");
}
