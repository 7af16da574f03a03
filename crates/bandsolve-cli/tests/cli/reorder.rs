//! Tests of `bandsolve solve --reorder rcm` and of the ordering in `bandsolve info`.

use crate::solve::{assert_solved, solve_json};
use crate::*;

type Entries = Vec<(usize, usize, f64)>;

/// The new number of unknown i, from 1 to n. 77 and n have no common factor.
fn place(i: usize, n: usize) -> usize {
    (i - 1) * 77 % n + 1
}

fn shuffled(n: usize, entries: &[(usize, usize, f64)]) -> Entries {
    entries.iter().map(|(i, j, value)| (place(*i, n), place(*j, n), *value)).collect()
}

/// Two right-hand sides. The entry of unknown i is in row `at(i)`.
fn columns(n: usize, at: impl Fn(usize) -> usize) -> String {
    let mut numbers = vec![0.0; 2 * n];
    for i in 1..=n {
        numbers[at(i) - 1] = (i % 11) as f64 - 4.0;
        numbers[n + at(i) - 1] = (i % 5) as f64 + 1.0;
    }
    let lines: String = numbers.iter().map(|v| format!("{v:?}\n")).collect();
    format!("%%MatrixMarket matrix array real general\n{n} 2\n{lines}")
}

#[test]
fn a_shuffled_band_has_the_answer_of_the_band() {
    let (folder, n) = (Folder::new(), 200);
    // The matrix is not symmetric, so the ordering uses the graph of A + Aᵀ.
    let entries = toeplitz(n, 9.0, &[1, 3], &[2]);
    let solved = |name: &str, entries: &[_], rhs: String, options: &[&str]| {
        let [a, b] = [(name, matrix_market(n, entries)), ("b.mtx", rhs)].map(|(name, text)| folder.file(name, text));
        let out = folder.path("x.mtx");
        let json = solve_json(&[&[&*a, "--rhs", &b, "--out", &out], options].concat());
        assert_solved(&json, f64::EPSILON);
        (array_values(&out), json)
    };
    let (x, json) = solved("A.mtx", &entries, columns(n, |i| i), &[]);
    assert!(json["reordering"].is_null());
    let (moved, json) = solved("B.mtx", &shuffled(n, &entries), columns(n, |i| place(i, n)), &["--reorder", "rcm"]);
    for (i, column) in (1..=n).flat_map(|i| [(i, 0), (i, n)]) {
        let (x, moved) = (x[column + i - 1], moved[column + place(i, n) - 1]);
        assert!((x - moved).abs() < 1e-13, "{i}: {x} {moved}");
    }
    let reordering = &json["reordering"];
    assert_eq!((&reordering["name"], &reordering["narrower"]), (&"rcm".into(), &true.into()));
    assert!(reordering["given"]["upper"].as_u64().unwrap() > 100, "{json}");
    assert!(reordering["reordered"]["lower"].as_u64().unwrap() <= 8, "{json}");
    assert_eq!(
        (&json["lower"], &json["upper"]),
        (&reordering["reordered"]["lower"], &reordering["reordered"]["upper"])
    );
    let text = bandsolve(&["solve", &folder.path("B.mtx"), "--reorder", "rcm"]).exits(0).stdout;
    assert!(text.contains("reverse Cuthill-McKee; in the given order"), "{text}");
}

#[test]
fn a_known_solution_comes_back_in_the_given_order() {
    let (folder, n) = (Folder::new(), 150);
    let a = folder.file("A.mtx", matrix_market(n, &shuffled(n, &toeplitz(n, 9.0, &[1, 2], &[1, 2]))));
    let x = [&[][..], &["--reorder", "rcm"]].map(|options: &[&str]| {
        let out = folder.path("x.mtx");
        let json = solve_json(&[&[&*a, "--out", &out], options].concat());
        assert!(json["forward_error"].as_f64().unwrap() < 1e-14, "{json}");
        array_values(&out)
    });
    assert!(x[0].iter().zip(&x[1]).all(|(given, moved)| (given - moved).abs() < 1e-12));
}

#[test]
fn triangles_of_symmetric_matrices_are_reordered_too() {
    let (folder, n) = (Folder::new(), 90);
    let lower = |symmetry: &str, number: fn(f64, bool) -> String| {
        let mut lines = String::new();
        let entries = shuffled(n, &toeplitz(n, 9.0, &[2, 3], &[]));
        for (i, j, value) in &entries {
            // The file stores the lower triangle only.
            lines += &format!("{} {} {}\n", i.max(j), i.min(j), number(*value, i == j));
        }
        format!("%%MatrixMarket matrix coordinate {symmetry}\n{n} {n} {}\n{lines}", entries.len())
    };
    let real = folder.file("R.mtx", lower("real symmetric", |v, _| format!("{v:?}")));
    let complex = folder.file(
        "C.mtx",
        lower("complex hermitian", |v, diagonal| format!("{v:?} {}", if diagonal { "0" } else { "0.5" })),
    );
    for a in [real, complex] {
        let json = solve_json(&[&a, "--reorder", "rcm"]);
        assert_solved(&json, f64::EPSILON);
        assert!(json["forward_error"].as_f64().unwrap() < 1e-14, "{json}");
        assert!(json["lower"].as_u64().unwrap() < 10, "{json}");
    }
}

#[test]
fn what_is_narrow_stays_as_it_is() {
    let folder = Folder::new();
    let mut corners = toeplitz(60, 5.0, &[1], &[1]);
    corners.extend([(1, 60, 1.0), (60, 1, 1.0)]);
    for (kind, entries) in [("periodic tridiagonal", corners), ("banded", toeplitz(60, 9.0, &[1, 2], &[1, 2]))] {
        let a = folder.file("A.mtx", matrix_market(60, &entries));
        let json = solve_json(&[&a, "--reorder", "rcm"]);
        assert_solved(&json, f64::EPSILON);
        assert_eq!((&json["kind"], &json["reordering"]["narrower"]), (&kind.into(), &false.into()), "{json}");
    }
    let text = bandsolve(&["solve", &folder.path("A.mtx"), "--reorder", "rcm"]).exits(0).stdout;
    assert!(text.contains("does not make the band narrower: 2 diagonals below and 2 above"), "{text}");
    bandsolve(&["solve", &folder.path("A.mtx"), "--reorder", "rcm", "--periodic"]).fails(2, "cannot be used with");
}

#[test]
fn the_smallest_systems_and_parts_that_are_not_connected() {
    let folder = Folder::new();
    for n in [0, 1] {
        let a = folder.file("A.mtx", matrix_market(n, &toeplitz(n, 4.0, &[], &[])));
        bandsolve(&["solve", &a, "--reorder", "rcm"]).exits(0);
    }
    // Seven chains of ten unknowns each, and ten isolated unknowns.
    let chains = toeplitz(80, 4.0, &[1], &[1]).into_iter();
    let parts: Entries = chains.filter(|(i, j, _)| i == j || (i.max(j) <= &70 && i.max(j) % 10 != 1)).collect();
    let json = solve_json(&[&folder.file("P.mtx", matrix_market(80, &shuffled(80, &parts))), "--reorder", "rcm"]);
    assert_solved(&json, f64::EPSILON);
    assert_eq!((&json["kind"], &json["lower"]), (&"tridiagonal".into(), &1.into()));
    let empty = folder.file("E.mtx", matrix_market(4, &[(1, 1, 1.0), (2, 1, 2.0), (2, 4, 3.0), (4, 4, 1.0)]));
    bandsolve(&["solve", &empty, "--reorder", "rcm"]).fails(4, "row 3 of 4 contains only zeros");
}

#[test]
fn errors_name_rows_as_they_were_given() {
    let folder = Folder::new();
    // Independent 2 × 2 systems of the unknowns i and i + 20. One of them is singular.
    let pair = |i: usize| [(i, i, 1.0), (i, i + 20, 2.0), (i + 20, i, 2.0), (i + 20, i + 20, 5.0)];
    let mut entries: Entries = (1..=20).flat_map(pair).collect();
    let a = folder.file("A.mtx", matrix_market(40, &entries));
    assert_eq!(solve_json(&[&a, "--reorder", "rcm"])["lower"], 1);
    entries[4 * 6 + 3].2 = 4.0;
    let a = folder.file("A.mtx", matrix_market(40, &entries));
    let message = bandsolve(&["solve", &a, "--reorder", "rcm"]).exits(4).stderr;
    assert!(message.contains("no pivot in row 7.") || message.contains("no pivot in row 27."), "{message}");
    entries[1].2 = 1e300;
    let a = folder.file("A.mtx", matrix_market(40, &entries));
    bandsolve(&["solve", &a, "--reorder", "rcm", "--dtype", "f32"]).fails(3, "row 1, column 21");
}

#[test]
fn a_band_that_no_order_makes_narrow_is_refused_with_advice() {
    let (folder, n) = (Folder::new(), 200_000);
    // One unknown is coupled with all others.
    let star: Entries = (1..=n).map(|i| (i, i, 9.0)).chain((2..=n).map(|i| (i, 1, 1e-6))).collect();
    let a = folder.file("A.mtx", matrix_market(n, &star));
    for options in [&[][..], &["--reorder", "rcm"]] {
        bandsolve(&[&["solve", &a], options].concat()).fails(3, "`bandsolve iterate`, which needs no band");
    }
}

#[test]
fn info_says_what_renumbering_would_gain() {
    let (folder, n) = (Folder::new(), 200);
    let info = |entries: &[_]| {
        let a = folder.file("A.mtx", matrix_market(n, entries));
        let json = bandsolve(&["info", &a, "--json", "-"]).exits(0).json();
        (json["reordering"].clone(), bandsolve(&["info", &a]).exits(0).stdout)
    };
    let band = toeplitz(n, 9.0, &[1, 2], &[1, 2]);
    let (reordering, text) = info(&shuffled(n, &band));
    assert_eq!((&reordering["narrower"], &reordering["reordered"]["lower"]), (&true.into(), &2.into()), "{reordering}");
    assert!(text.contains("with `solve --reorder rcm` 2 below and 2 above"), "{text}");
    let (reordering, text) = info(&band);
    assert_eq!(reordering["narrower"], false);
    assert!(text.contains("2 below and 2 above, which is not narrower"), "{text}");
    assert!(info(&toeplitz(n, 4.0, &[1], &[1])).0.is_null());
}
