//! Tests of `bandsolve spy`: the picture shows all entries of the matrix.

use crate::*;

/// Number of steps of the colour scale that occur in a picture.
fn levels(svg: &str) -> usize {
    svg.matches(r#"class="cells crisp r"#).count()
}

#[test]
fn bands_are_found_and_bounded() {
    let folder = Folder::new();
    let mut entries = toeplitz(90, 4.0, &[1, 7], &[3]);
    entries[0].2 = 1e-6;
    let a = folder.file("A.mtx", matrix_market(90, &entries));
    let path = folder.path("A.svg");
    let facts = bandsolve(&["spy", &a, "--plot", &path]).exits(0).stdout;
    assert!(facts.contains("banded, 7 diagonals below and 3 above the main one"), "{facts}");
    let svg = std::fs::read_to_string(&path).expect("a picture");
    check_xml(&svg);
    for words in [
        "n = 90",
        &format!("{} non-zeros", entries.len()),
        ">+3<",
        ">−7<",
        ">1.0e−6<",
        ">4<",
        ">column<",
        ">diagonal<",
        "A.mtx",
    ] {
        assert!(svg.contains(words), "{words}\n{svg}");
    }
    assert_eq!(svg.matches("bound").count(), 2, "a line for each end of the band");
    // One level for the pattern, and three for the sizes 10^-6, 1 and 4.
    assert_eq!(levels(&svg), 1 + 3, "{svg}");
    assert!(!svg.contains("corner"));
}

#[test]
fn corners_of_periodic_matrices_are_marked() {
    let folder = Folder::new();
    let mut entries = toeplitz(2000, 4.0, &[1], &[1]);
    entries.extend([(1, 2000, 2.0), (2000, 1, 3.0)]);
    let a = folder.file("A.mtx", matrix_market(2000, &entries));
    let svg = bandsolve(&["spy", &a, "--plot", "-"]).exits(0).stdout;
    check_xml(&svg);
    assert!(svg.contains("periodic tridiagonal") && svg.contains("entry per cell"), "{svg}");
    assert_eq!(svg.matches("corner\"").count(), 2);
    // A corner entry without an off-diagonal on its side.
    let one = folder.file("B.mtx", matrix_market(5, &[(1, 1, 1.0), (2, 2, 1.0), (5, 5, 2.0), (5, 1, 1.0)]));
    let svg = bandsolve(&["spy", &one, "--plot", "-"]).exits(0).stdout;
    assert!(svg.contains(">+1<") && svg.matches("corner\"").count() == 1, "{svg}");
}

#[test]
fn a_terminal_shows_entries_and_diagonals() {
    let folder = Folder::new();
    let small = folder.file("A.mtx", matrix_market(5, &toeplitz(5, 4.0, &[], &[1])));
    let text = bandsolve(&["spy", &small]).exits(0).stdout;
    for words in ["│████· · · │", "│· · · · ██│", "+1 │░░░░ │", " 0 │█████│"]
    {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let large = matrix_market(3000, &toeplitz(3000, 4.0, &[1, 50], &[1]));
    let text = bandsolve_with(&["spy", "-"], large.as_bytes()).exits(0).stdout;
    assert!(text.contains("standard input") && text.contains("50 diagonals below and 1 above"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let dots = text.lines().filter(|line| line.starts_with(" │")).collect::<Vec<_>>();
    assert_eq!(dots.len(), 32);
    for (k, line) in dots.iter().enumerate() {
        let letter = line.chars().nth(2 + 2 * k).unwrap();
        assert!(letter > '\u{2800}' && letter <= '\u{28ff}', "the diagonal goes through line {k}: {text}");
    }
}

#[test]
fn any_size_can_be_drawn() {
    let folder = Folder::new();
    let path = folder.path("A.png");
    for n in [1, 2, 3] {
        let a = folder.file("A.mtx", matrix_market(n, &toeplitz(n, 4.0, &[1], &[1])));
        bandsolve(&["spy", &a, "--plot", &path]).exits(0);
        bandsolve(&["spy", &a]).exits(0);
    }
    let huge = "%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 2\n1 1 1\n4000000000 5 2\n";
    let svg = bandsolve_with(&["spy", "-", "--plot", "-"], huge.as_bytes()).exits(0).stdout;
    assert!(svg.contains("4000000000"), "{svg}");
    let full: Vec<_> = (0..200 * 200).map(|k| (k / 200 + 1, k % 200 + 1, 1.0)).collect();
    let svg = bandsolve_with(&["spy", "-", "--plot", "-"], matrix_market(200, &full).as_bytes()).exits(0).stdout;
    assert!(svg.len() < 60_000, "cells of a line are drawn together: {}", svg.len());
    bandsolve_with(&["spy", "-"], matrix_market(200, &full).as_bytes()).exits(0);
}

#[test]
fn pictures_of_what_cannot_be_read_are_not_drawn() {
    let folder = Folder::new();
    let path = folder.path("A.svg");
    bandsolve(&["spy", &folder.path("none.mtx"), "--plot", &path]).fails(3, "none.mtx");
    bandsolve(&["spy", &folder.file("A.mtx", "nonsense"), "--plot", &path]).fails(3, "A.mtx");
    assert_eq!(folder.names(), ["A.mtx"]);
    bandsolve(&["spy"]).fails(2, "A.mtx");
}

#[test]
fn diagonals_that_share_a_line_are_named_by_the_first() {
    let folder = Folder::new();
    let [below, above] = [(1..=10).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>()];
    let entries = toeplitz(90, 1000.0, &below, &above);
    let text = bandsolve(&["spy", &folder.file("A.mtx", matrix_market(90, &entries))]).exits(0).stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.ends_with('│') && line.contains(" │")).collect();
    // Only the main diagonal is large.
    let strong: Vec<_> = lines.iter().filter(|line| line.contains('█') && !line.starts_with(" │")).collect();
    assert!(strong.len() == 1 && strong[0].trim_start().starts_with("0 "), "{text}");
}

#[test]
fn positions_alone_are_enough() {
    let folder = Folder::new();
    let a =
        folder.file("P.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 5\n1 1\n2 2\n3 3\n2 1\n3 2\n");
    let text = bandsolve(&["spy", &a]).exits(0).stdout;
    assert!(text.contains("7 non-zeros") && text.contains("1 diagonal below and 1 above"), "{text}");
    bandsolve(&["solve", &a]).fails(3, "no numbers");
}
