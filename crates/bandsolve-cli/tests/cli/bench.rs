//! Tests of `bandsolve bench`: the reports are complete. No test depends on a time.

use crate::*;

#[test]
fn a_quick_measurement_has_a_valid_row_for_every_solver() {
    let report = bandsolve(&["bench", "tridiagonal", "--quick", "--n", "1024,2^11", "--json", "-"]).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    for solver in ["rpts", "rpts unverified", "pivoted"] {
        let count = rows.iter().filter(|r| r["solver"] == solver && r["threads"] == 1).count();
        assert_eq!(count, 2 * 2 * 3, "sizes, number types and kinds of data: {solver}");
    }
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(row["error"].is_null(), "{row}");
        assert!(number("ns_per_row") >= number("ns_per_row_min") && number("ns_per_row_min") > 0.0, "{row}");
        assert!(number("repetitions") >= 1.0 && number("backward_error") >= 0.0, "{row}");
        assert!([1024, 2048].contains(&row["n"].as_u64().unwrap()), "{row}");
        let epsilon = if row["dtype"] == "f32" { f64::from(f32::EPSILON) } else { f64::EPSILON };
        assert!(row["solver"] != "rpts" || number("backward_error") <= 8.0 * epsilon, "{row}");
    }
    let machine = &report["machine"];
    assert!(machine["cores"].as_u64().unwrap() >= 1 && machine["simd"].is_string() && machine["cpu"].is_string());
}

#[test]
fn a_choice_of_data_and_threads_is_kept() {
    let args = ["--n", "1000", "--dtype", "f64", "--data", "dominant", "--threads", "1,3", "--json", "-"];
    let report = bandsolve(&[&["bench", "tridiagonal", "--quick"], &args[..]].concat()).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|r| r["data"] == "dominant" && r["dtype"] == "f64" && r["n"] == 1000));
    let threads: Vec<_> = rows.iter().filter(|r| r["solver"] == "rpts").map(|r| &r["threads"]).collect();
    assert_eq!(threads, [1, 3]);
}

#[test]
fn batches_are_measured_in_both_layouts() {
    let args = ["bench", "batch", "--quick", "--count", "16", "--n", "32", "--json", "-"];
    let run = bandsolve(&args).exits(0);
    for layout in ["contiguous", "interleaved"] {
        assert!(run.stderr.contains(layout), "{run:#?}");
    }
    let report = run.json();
    let own = |row: &&serde_json::Value| row["solver"] == "bandsolve" && row["threads"] == 1;
    assert_eq!(report["rows"].as_array().unwrap().iter().filter(own).count(), 2 * 2, "number types and layouts");
}

#[test]
fn dense_blocks_are_measured_factored_and_solved() {
    let args = ["bench", "block", "--quick", "--block", "9,20", "--n", "100", "--threads", "1,2", "--json", "-"];
    let report = bandsolve(&args).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    for solver in ["bcyclic", "block-spike", "pivoted"] {
        let own: Vec<_> = rows.iter().filter(|r| r["solver"] == solver).collect();
        assert_eq!(own.len(), 2 * 2 * 2, "blocks, threads, with and without factoring: {solver}");
        assert!(own.iter().all(|r| r["backward_error"].as_f64().unwrap() <= 64.0 * f64::EPSILON), "{own:?}");
    }
}

#[test]
fn every_method_is_measured_and_drawn() {
    let folder = Folder::new();
    let path = folder.path("methods.svg");
    let args = ["--n", "300,500", "--threads", "1", "--raw", "--json", "-", "--plot", &path];
    let report = bandsolve(&[&["bench", "methods", "--quick"], &args[..]].concat()).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    for method in tridiagonal_methods().map(Method::name) {
        for (solver, verified) in [(method.to_string(), true), (format!("{method} unverified"), false)] {
            let own: Vec<_> = rows.iter().filter(|r| r["solver"] == *solver).collect();
            assert_eq!(own.len(), 2 * 3, "sizes and kinds of data: {solver}");
            assert!(own.iter().all(|r| r["verified"] == verified && r["dtype"] == "f64"), "{own:?}");
        }
    }
    for row in rows.iter().filter(|r| r["verified"] == true) {
        assert!(row["error"].is_null() && row["backward_error"].as_f64().unwrap() <= 64.0 * f64::EPSILON, "{row}");
    }
    let svg = std::fs::read_to_string(&path).expect("a picture");
    check_xml(&svg);
    assert_eq!(svg.matches(r#"class="dot""#).count(), rows.len());
}

#[test]
fn some_methods_are_measured() {
    let args = ["--n", "300", "--data", "random", "--threads", "1,2", "--method", "thomas,rpts", "--plot", "-"];
    let run = bandsolve(&[&["bench", "methods", "--quick"], &args[..]].concat()).exits(0);
    check_xml(&run.stdout);
    assert!(run.stderr.contains("rpts") && !run.stderr.contains("diagonal-pivoting"), "{run:#?}");
    bandsolve(&["bench", "methods", "--method", "magic"]).fails(2, "thomas");
    bandsolve(&["bench", "methods", "--json", "x", "--plot", "x"]).fails(2, "same file");
}

#[test]
fn wrong_sizes_are_wrong_usage() {
    bandsolve(&["bench", "tridiagonal", "--n", "1"]).fails(2, "2^20");
    bandsolve(&["bench", "tridiagonal", "--n", "2^50"]).fails(2, "GiB");
    bandsolve(&["bench", "tridiagonal", "--dtype", "c64"]).fails(2, "f32");
    bandsolve(&["bench", "tridiagonal", "--seconds", "nan"]).fails(2, "seconds");
}

#[test]
fn banded_systems_are_measured_with_every_solver() {
    let args =
        ["bench", "banded", "--quick", "--n", "500", "--half-bandwidths", "2,45", "--n-rhs", "1,3", "--json", "-"];
    let report = bandsolve(&args).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    for solver in ["spike", "spike unverified", "spike transposed", "spike without pivoting", "pivoted", "auto"] {
        let own: Vec<_> = rows.iter().filter(|r| r["solver"] == solver && r["threads"] == 1).collect();
        assert_eq!(own.len(), 2 * 2, "widths and numbers of right-hand sides: {solver}");
        for row in own {
            assert!(row["error"].is_null() && row["ns_per_row"].as_f64().unwrap() > 0.0, "{row}");
            let eta = row["backward_error"].as_f64().unwrap();
            assert!(solver.ends_with("unverified") || eta <= 9.0 * f64::EPSILON, "{row}");
        }
    }
}

#[test]
fn sparse_right_hand_sides_are_measured() {
    let folder = Folder::new();
    let d = folder.file("D.mtx", matrix_market(40, &toeplitz(40, 1.0, &[3], &[7])));
    for columns in [&["--n-rhs", "5", "--entries", "2,3"][..], &["--matrix", &d][..]] {
        let args = ["bench", "sparse", "--quick", "--n", "700", "--threads", "1,2", "--json", "-"];
        let report = bandsolve(&[&args[..], columns].concat()).exits(0).json();
        let rows = report["rows"].as_array().expect("rows");
        for solver in ["dense", "csc2dense", "csc2csc"] {
            let own: Vec<_> = rows.iter().filter(|r| r["solver"] == solver).collect();
            assert_eq!(own.len(), if columns.len() == 4 { 2 * 2 } else { 2 }, "{solver}");
            assert!(own.iter().all(|r| r["backward_error"].as_f64().unwrap() <= 8.0 * f64::EPSILON), "{own:?}");
        }
    }
    let refused = bandsolve(&["bench", "sparse", "--quick", "--n", "30", "--matrix", &d]).exits(2);
    assert!(refused.stderr.contains("40 rows"), "{}", refused.stderr);
}

#[test]
fn nothing_is_not_measured() {
    bandsolve(&["bench", "banded", "--quick", "--n-rhs", "0"]).fails(2, "at least 1");
    bandsolve(&["bench", "sparse", "--quick", "--n-rhs", "0"]).fails(2, "at least 1");
}

#[test]
fn what_is_not_compared_with_peers_says_nothing_of_them() {
    let run = bandsolve(&["bench", "sparse", "--quick", "--n", "1000", "--n-rhs", "2", "--threads", "1"]).exits(0);
    assert!(run.stdout.contains("machine") && !run.stdout.contains("libraries"), "{}", run.stdout);
}

#[test]
fn every_preconditioner_is_measured_and_says_how_it_ended() {
    let args = ["bench", "iterate", "--quick", "--n", "20", "--solver", "gmres:20,cg", "--json", "-"];
    let run = bandsolve(&args).exits(0);
    assert!(run.stderr.contains("set-up ms") && run.stderr.contains("amg-lines:4"), "{}", run.stderr);
    let report = run.json();
    let rows = report["rows"].as_array().expect("rows");
    for (name, solver) in ["none", "jacobi", "alt-i:2", "mos-a:4:scaled", "ilu-isai:2", "adi:20x20", "amg-lines:2"]
        .iter()
        .flat_map(|name| ["gmres:20", "cg"].map(|solver| (name, solver)))
    {
        let row = rows.iter().find(|row| row["preconditioner"] == *name && row["solver"] == solver).expect(name);
        let count = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(row["error"].is_null() && count("repetitions") >= 1 && row["n"] == 400, "{row}");
        assert!(count("products") > count("iterations") && row["seconds_setup"].is_f64(), "{row}");
        assert!((count("applications") >= count("iterations")) == (*name != "none"), "{row}");
        let within = row["residual"].as_f64().unwrap() <= 1e-6;
        assert!(within == (row["ending"] == "converged") && row["converged"] == within, "{row}");
    }
}

#[test]
fn what_does_not_converge_or_cannot_be_made_is_a_row_that_says_so() {
    let folder = Folder::new();
    // A negative permutation matrix has a zero diagonal and is not definite.
    let n = 50;
    let cycle: Vec<_> = (1..=n).map(|i| (i, i % n + 1, -1.0)).collect();
    let a = folder.file("A.mtx", matrix_market(n, &cycle));
    let args = ["bench", "iterate", &a, "--quick", "--solver", "cg", "--precond", "none,jacobi", "--json", "-"];
    let run = bandsolve(&args).exits(0);
    assert!(run.stderr.contains("breakdown") && run.stderr.contains("no pivot in row 1"), "{}", run.stderr);
    let report = run.json();
    assert!(report["rows"][0]["ending"] == "breakdown" && report["rows"][0]["converged"] == false, "{report}");
    assert!(report["rows"][1]["ending"].is_null() && report["rows"][1]["error"].is_string(), "{report}");
    // A tolerance below rounding, and too few iterations.
    for (limit, ending) in [(&["--tol", "1e-18"], "stagnated"), (&["--max-iterations", "3"], "iteration limit")] {
        let args = ["bench", "iterate", "--quick", "--n", "10", "--precond", "ilu0", "--json", "-"];
        let rows = bandsolve(&[&args[..], limit].concat()).exits(0).json()["rows"].clone();
        assert!(
            rows.as_array().unwrap().iter().all(|row| row["ending"] == ending && row["converged"] == false),
            "{rows}"
        );
    }
    bandsolve(&["bench", "iterate", "--model", "nothing"]).fails(2, "unknown model problem");
    bandsolve(&["bench", "iterate", &a, "--n", "3"]).fails(2, "cannot be used with");
    bandsolve(&["bench", "iterate", &a, "--grid", "3"]).fails(2, "100x50");
}
