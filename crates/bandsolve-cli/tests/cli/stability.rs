//! Tests of `bandsolve stability`: every solution for every matrix of both papers meets the accuracy contract.

use crate::*;
use bandsolve_testkit::skipped;

#[test]
fn every_published_matrix_is_solved_within_the_contract() {
    let report = bandsolve(&["stability", "tridiagonal", "--n", "64", "--json", "-"]).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    let published: Vec<_> = rows.iter().filter(|r| !r["published"].as_object().unwrap().is_empty()).collect();
    assert_eq!((published.len(), rows.len() > 38), (38, true));
    for row in &published {
        assert_eq!(row["published"].as_object().unwrap().len(), row_width(row), "{row}");
    }
    for row in rows {
        let own = row["solvers"].as_array().expect("solvers");
        assert_eq!(own.len(), solvers(), "{row}");
        for solver in own {
            let verified = &solver["verified"];
            let scaled = solver["solver"] != "rpts-partial";
            // Partial pivoting without row scaling may return an error if the rows differ in size, but no inaccurate solution.
            assert!(verified["failure"].is_null() || (!scaled && row["published_condition"].is_null()), "{row}");
            if verified["failure"].is_null() {
                let eta = verified["backward_error"].as_f64().expect("a number");
                assert!(eta <= 8.0 * f64::EPSILON, "{eta:e}: {row}");
            }
        }
    }
}

fn row_width(row: &serde_json::Value) -> usize {
    if row["matrix"].as_str().unwrap().starts_with("chang") { 6 } else { 5 }
}

#[test]
fn the_table_fits_160_columns_and_a_seed_is_a_table() {
    let run = |seed: &str| bandsolve(&["stability", "tridiagonal", "--n", "33", "--seed", seed]).exits(0).stdout;
    let text = run("7");
    assert!(text.lines().all(|l| l.chars().count() <= 160), "{text}");
    assert!(
        ["chang-18", "klein-20", "g-spike", "rows-1e60", "rpts-", "<= 8 eps"].iter().all(|word| text.contains(word)),
        "{text}"
    );
    assert_eq!(text, run("7"));
    assert_ne!(text, run("8"));
}

#[test]
fn a_line_for_every_matrix_and_solver() {
    let run = bandsolve(&["stability", "tridiagonal", "--n", "33", "--csv", "-"]).exits(0);
    assert!(
        run.stderr.contains("Largest verified backward error"),
        "the CSV lines take standard output, so the table goes to standard error: {run:#?}"
    );
    let lines: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split(',').collect()).collect();
    let place = |name: &str| lines[0].iter().position(|head| *head == name).expect("a column");
    let of = |source: &str| lines[1..].iter().filter(|line| line[place("source")] == source).count();
    assert_eq!((of("chang"), of("klein")), (18 * 6, 20 * 5));
    assert_eq!(of("bandsolve"), 44 * solvers());
    for line in &lines[1..] {
        assert_eq!(line.len(), lines[0].len(), "{line:?}");
        let failed = !line[place("failure")].is_empty();
        assert!(failed || line[place("raw_error")].parse::<f64>().is_ok(), "{line:?}");
    }
}

#[test]
fn a_cell_for_every_matrix_and_solver() {
    let folder = Folder::new();
    let path = folder.path("map.svg");
    let text = bandsolve(&["stability", "tridiagonal", "--n", "33", "--plot", &path]).exits(0).stdout;
    assert!(text.contains("chang-18"));
    let svg = std::fs::read_to_string(&path).expect("a picture");
    check_xml(&svg);
    let lapack = text.contains("LAPACK gtsv");
    let columns = 2 * solvers() + usize::from(lapack);
    assert_eq!(svg.matches(r#"class="cell""#).count(), 44 * columns + 18 * 6 + 20 * 5);
}

#[test]
fn outputs_do_not_share_a_file() {
    bandsolve(&["stability", "tridiagonal", "--json", "-", "--csv", "-"]).fails(2, "same file");
}

/// Number of solvers of bandsolve: every method except `Auto`, and RPTS with partial pivoting.
fn solvers() -> usize {
    tridiagonal_methods().count() + 1
}

/// Every solution meets the accuracy contract. With LAPACK on the machine, the error of `rpts` is at most ten times as large as LAPACK's.
#[test]
fn bands_and_blocks_are_solved_as_well_as_by_lapack() {
    for (table, count) in [("pentadiagonal", 23), ("block", 20)] {
        let report = bandsolve(&["stability", table, "--json", "-"]).exits(0).json();
        let rows = report["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), count);
        // The published errors hold for other right-hand sides, so a comparison with them alone has no meaning.
        let without = rows.iter().all(|row| row["lapack"].is_null());
        if without {
            skipped(&format!("no LAPACK to compare the table {table} with"));
        }
        for row in rows {
            let solvers = row["solvers"].as_object().expect("solvers");
            let verified = solvers.iter().filter(|(name, _)| !name.ends_with(" raw"));
            for (name, answer) in verified {
                let eta = answer["backward_error"].as_f64().expect("a number");
                assert!(eta <= 64.0 * f64::EPSILON, "{table} {}, {name}: {eta:e}", row["matrix"]);
            }
            if without {
                continue;
            }
            let near = row["within_10x_of_lapack"].as_array().expect("names");
            assert!(near.iter().any(|name| name == "rpts"), "{table} {row}");
        }
    }
}

#[test]
fn what_a_method_or_lapack_does_not_solve_counts_neither_way() {
    let folder = Folder::new();
    let zero = folder.file("zero.mtx", matrix_market(0, &[]));
    bandsolve(&["stability", "banded", &zero]).exits(0);
    // Matrices with 5 and with 21 diagonals; `rpts` does not solve the wide one.
    let narrow = folder.file("narrow.mtx", matrix_market(60, &toeplitz(60, 9.0, &[1, 2], &[1, 2])));
    let wide = folder.file("wide.mtx", matrix_market(60, &toeplitz(60, 9.0, &[1, 10], &[1, 10])));
    for files in [[&narrow, &wide], [&wide, &narrow]] {
        let text = bandsolve(&["stability", "banded", files[0], files[1]]).exits(0).stdout;
        let rpts = text.lines().find(|line| line.starts_with("rpts raw")).expect("a line of the summary");
        assert!(!rpts.contains("of 2") && !text.contains("NaN"), "{text}");
    }
    // The matrix is singular, so LAPACK has no solution to compare with.
    let singular = folder.file("singular.mtx", matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)]));
    let text = bandsolve(&["stability", "banded", &singular]).exits(0).stdout;
    let pivoted = text.lines().find(|line| line.starts_with("pivoted  ")).expect("a line of the summary");
    assert!(pivoted.contains(" - ") && !pivoted.contains("1 of 1"), "{text}");
}

#[test]
fn published_conditions_stand_beside_matrices_of_their_size_alone() {
    let heads = |n: &str| bandsolve(&["stability", "pentadiagonal", "--n", n, "--json", "-"]).exits(0).json();
    assert!(heads("64")["rows"][0]["published_condition"].is_null());
    assert!(heads("512")["rows"][0]["published_condition"].is_number());
}

/// A tridiagonal matrix with pseudo-random entries between −1 and 1. Every tenth row is multiplied by a power of ten up to 1e±40.
fn scaled_rows(n: usize) -> Vec<(usize, usize, f64)> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let entries = toeplitz(n, 1.0, &[1], &[1]);
    let scale = |i: usize| if i.is_multiple_of(10) { 10_f64.powi((i * 37 % 81) as i32 - 40) } else { 1.0 };
    entries.into_iter().map(|(i, j, _)| (i, j, next() * scale(i))).collect()
}

#[test]
fn a_folder_of_matrices_is_a_table() {
    let folder = Folder::new();
    let file = |name: &str, entries: &[_], n| folder.file(name, matrix_market(n, entries));
    file("good.mtx", &toeplitz(40, 4.0, &[1, 2], &[1]), 40);
    file("scaled.mtx", &scaled_rows(400), 400);
    file("periodic.mtx", &[toeplitz(30, 4.0, &[1], &[1]), vec![(1, 30, 1.0), (30, 1, 1.0)]].concat(), 30);
    file("wide.mtx", &[toeplitz(1000, 4.0, &[1], &[1]), vec![(1, 999, 1.0)]].concat(), 1000);
    file("empty-row.mtx", &[(1, 1, 1.0), (1, 2, 1.0)], 2);
    file("singular.mtx", &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)], 2);
    folder.file("broken.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n");
    folder.file("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n");
    folder.file("README.md", "no matrix");
    std::fs::create_dir(folder.path("below")).unwrap();
    let mut array = b"\x93NUMPY\x01\x00\x3b\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }".to_vec();
    array.extend([2, 1, 1, 3]);
    folder.file("below/array.npy", array);

    let arguments = ["stability", "files", &folder.path(""), "--band", "1"];
    let report = bandsolve(&[&arguments[..], &["--json", "-"]].concat()).exits(0).json();
    let rows = report["rows"].as_array().expect("rows");
    let row =
        |name: &str| rows.iter().find(|row| row["file"] == name).unwrap_or_else(|| panic!("no {name}: {report:#}"));
    assert_eq!((rows.len(), &report["matrices"], &report["above_limit"]), (9, &5.into(), &0.into()), "{report:#}");
    assert_eq!(
        (&row("good.mtx")["lower"], &row("good.mtx")["upper"], &row("good.mtx")["n"]),
        (&2.into(), &1.into(), &40.into())
    );
    assert_eq!(
        (&row("periodic.mtx")["kind"], &row("below/array.npy")["n"]),
        (&"periodic tridiagonal".into(), &2.into())
    );
    for (name, why) in [
        ("wide.mtx", "too wide for --band 1: lower bandwidth 1, upper bandwidth 998"),
        ("empty-row.mtx", "row 2 of 2"),
        ("broken.mtx", "0 of the 1 entries"),
        ("complex.mtx", "complex"),
    ] {
        assert!(row(name)["left_out"].as_str().is_some_and(|text| text.contains(why)), "{}", row(name));
    }
    for name in ["good.mtx", "scaled.mtx", "periodic.mtx", "below/array.npy"] {
        assert!(row(name)["backward_error"].as_f64().is_some_and(|eta| eta <= 8.0 * f64::EPSILON), "{}", row(name));
    }
    assert!(row("singular.mtx")["backward_error"].is_null());

    let text = bandsolve(&arguments).exits(0).stdout;
    assert!(
        text.contains("bandsolve: above 8 eps for 0 of 5 matrices") && text.contains("4 of 9 files, 1 too wide"),
        "{text}"
    );
    assert!(text.lines().any(|line| line.starts_with("singular.mtx") && line.contains("singular!")), "{text}");
    if report["lapack"].is_null() {
        println!("skipped: this machine has no LAPACK to compare with");
        assert!(text.contains("LAPACK:    not found"), "{text}");
        return;
    }
    assert_eq!(report["lapack_above_limit"], 1, "{report:#}");
    assert!(
        row("scaled.mtx")["lapack_backward_error"].as_f64().is_some_and(|eta| eta > 1e-12),
        "{}",
        row("scaled.mtx")
    );
    assert!(text.contains("LAPACK:    above 8 eps for 1 of 5 matrices"), "{text}");
}

#[test]
fn a_folder_of_matrices_is_a_picture() {
    let folder = Folder::new();
    folder.file("a.mtx", matrix_market(40, &toeplitz(40, 4.0, &[1, 2], &[1])));
    let path = folder.path("map.svg");
    let text = bandsolve(&["stability", "files", &folder.path(""), "--plot", &path]).exits(0).stdout;
    let svg = std::fs::read_to_string(&path).expect("a picture");
    check_xml(&svg);
    assert_eq!(svg.matches(r#"class="cell""#).count(), if text.contains("not found") { 1 } else { 2 });
}

#[test]
fn a_folder_without_matrices_is_an_input_that_cannot_be_read() {
    let folder = Folder::new();
    folder.file("README.md", "no matrix");
    bandsolve(&["stability", "files", &folder.path("")]).fails(3, "contains no matrix file");
    bandsolve(&["stability", "files", &folder.path("none")]).fails(3, "none");
}

#[test]
fn real_matrices_are_solved_within_the_contract() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let Some(folder) = shared.to_str().filter(|_| shared.is_dir()) else {
        return println!("skipped: the folder of real matrices does not exist");
    };
    // The limit skips wide bands, which take long.
    let report = bandsolve(&["stability", "files", folder, "--band", "2", "--json", "-"]).exits(0).json();
    assert_eq!(report["above_limit"], 0, "{report:#}");
    assert!(report["matrices"].as_u64().is_some_and(|count| count > 5), "{report:#}");
    // The backward error of LAPACK for olm1000 and other matrices is far above the limit.
    assert!(report["lapack_above_limit"].is_null() || report["lapack_above_limit"].as_u64() > Some(3), "{report:#}");
}
