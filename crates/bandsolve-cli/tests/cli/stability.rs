//! `bandsolve stability`: every matrix of both papers, every answer within the contract.

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
            // Partial pivoting that is blind to row sizes may fail on rows of very different sizes, but says so.
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
    assert!(run.stderr.contains("Largest verified backward error"), "the table gives way: {run:#?}");
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

/// Number of our solvers: every method but `Auto`, and RPTS with another pivoting.
fn solvers() -> usize {
    tridiagonal_methods().count() + 1
}

/// Every answer of every method within the contract, and at most ten times as wrong as LAPACK's where LAPACK was found.
#[test]
fn bands_and_blocks_are_solved_as_well_as_by_lapack() {
    for (table, count) in [("pentadiagonal", 23), ("block", 20)] {
        let report = bandsolve(&["stability", table, "--json", "-"]).exits(0).json();
        let rows = report["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), count);
        // The published numbers are of other right-hand sides: what is ten times as wrong there says nothing.
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
    // Of 5 diagonals, and of 21, which `rpts` does not solve.
    let narrow = folder.file("narrow.mtx", matrix_market(60, &toeplitz(60, 9.0, &[1, 2], &[1, 2])));
    let wide = folder.file("wide.mtx", matrix_market(60, &toeplitz(60, 9.0, &[1, 10], &[1, 10])));
    for files in [[&narrow, &wide], [&wide, &narrow]] {
        let text = bandsolve(&["stability", "banded", files[0], files[1]]).exits(0).stdout;
        let rpts = text.lines().find(|line| line.starts_with("rpts raw")).expect("a line of the summary");
        assert!(!rpts.contains("of 2") && !text.contains("NaN"), "{text}");
    }
    // No row depends on others here but in the last digits: LAPACK's answer is as wrong as ours.
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
