//! `bandsolve stability`: every matrix of both papers, every answer within the contract.

use crate::*;

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
        for solver in row["solvers"].as_array().expect("solvers") {
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
fn the_table_fits_140_columns_and_a_seed_is_a_table() {
    let run = |seed: &str| bandsolve(&["stability", "tridiagonal", "--n", "33", "--seed", seed]).exits(0).stdout;
    let text = run("7");
    assert!(text.lines().all(|l| l.chars().count() <= 140), "{text}");
    assert!(["chang-18", "klein-20", "g-spike", "rows-1e60"].iter().all(|word| text.contains(word)), "{text}");
    assert_eq!(text, run("7"));
    assert_ne!(text, run("8"));
}
