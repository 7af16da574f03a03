//! Invalid inputs and singular matrices: exit codes 3 and 4, and no output file.

use crate::*;

/// Solve with `--out`, and check that no output file remains.
#[track_caller]
fn refused(content: impl AsRef<[u8]>, code: i32, reason: &str) {
    let folder = Folder::new();
    let a = folder.file("A.mtx", content);
    bandsolve(&["solve", &a, "--out", &folder.path("x.mtx"), "--json", &folder.path("r.json")]).fails(code, reason);
    let report: &[&str] = if code == 4 { &["A.mtx", "r.json"] } else { &["A.mtx"] };
    assert_eq!(folder.names(), report);
    if code == 4 {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.path("r.json")).unwrap()).unwrap();
        assert_eq!((&json["status"], json["error"].as_str().unwrap().contains(reason)), (&"singular".into(), true));
    }
}

#[test]
fn malformed_files_are_named_with_line_and_reason() {
    let real = "%%MatrixMarket matrix coordinate real general\n";
    refused(format!("{real}2 2 2\n1 1 1\n2 2 x\n"), 3, "A.mtx:4: `x` is not a number");
    refused(format!("{real}2 2 2\n1 1 1\n2 3 1\n"), 3, "A.mtx:4: column 3");
    refused(format!("{real}2 2 3\n1 1 1\n2 2 1\n"), 3, "A.mtx:4: the file ends");
    refused(format!("{real}1 1 1\n1 1 nan\n"), 3, "A.mtx:3: `nan`");
    refused(format!("{real}2 3 1\n1 1 1\n"), 3, "2 × 3");
    refused("%%MatrixMarket matrix array real general\n2 3\n1\n1\n1\n1\n1\n1\n", 3, "2 × 3");
    refused("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", 3, "pattern");
    refused("", 3, "is empty");
    refused("hello", 3, "no Matrix Market file");
    refused([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2], 3, "A.mtx");
    refused(*b"PK\x03\x04 but no archive", 3, "A.mtx");
    refused(b"\x93NUMPY\x01\x00\xff\xff{", 3, "too early");
}

#[test]
fn lying_headers_cost_no_memory() {
    let real = "%%MatrixMarket matrix coordinate real general\n";
    refused(format!("{real}2000000000 2000000000 2000000000\n1 1 1\n"), 3, "1 of the 2000000000 entries");
    refused("%%MatrixMarket matrix array real general\n60000 60000\n1\n", 3, "1 of the 3600000000 entries");
    // Correct as a file, but nearly all rows are empty.
    refused(format!("{real}2000000000 2000000000 1\n1 1 1\n"), 4, "row 2 of 2000000000 contains only zeros");
}

#[test]
fn a_band_beyond_memory_is_refused() {
    let n = 2_000_000;
    let mut entries = toeplitz(n, 2.0, &[], &[]);
    entries.extend([(n, 1, 1.0), (n, 2, 1.0), (1, n, 1.0)]);
    refused(matrix_market(n, &entries), 3, "too wide");
}

#[test]
fn empty_rows_and_columns_are_singular() {
    refused(matrix_market(2, &[(1, 1, 1.0), (1, 2, 1.0)]), 4, "row 2 of 2");
    refused(matrix_market(2, &[(1, 1, 1.0), (2, 1, 1.0)]), 4, "column 2 of 2");
    refused(matrix_market(2, &[(1, 1, 1.0), (2, 2, 0.0)]), 4, "row 2 of 2");
}

#[test]
fn right_hand_sides_must_fit() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(3, &toeplitz(3, 4.0, &[1], &[1])));
    let with = |content: &str| bandsolve(&["solve", &a, "--rhs", &folder.file("b.mtx", content)]);
    with("%%MatrixMarket matrix array real general\n2 1\n1\n1\n").fails(3, "has 2 rows, but the matrix has 3");
    with("%%MatrixMarket matrix array real general\n3 0\n").fails(3, "no columns");
    with("%%MatrixMarket matrix array real general\n3 1\n1\n1\ninf\n").fails(3, "b.mtx:5");
    with("%%MatrixMarket matrix coordinate real general\n3 4000000000 1\n1 1 1\n").fails(3, "4000000000 columns");
    bandsolve(&["solve", &a, "--rhs", &folder.path("none.mtx")]).fails(3, "none.mtx");
    bandsolve(&["solve", &folder.path("")]).fails(3, "directory");
}

#[test]
fn numbers_beyond_the_type_are_refused() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(1, &[(1, 1, 1e300)]));
    bandsolve(&["solve", &a, "--dtype", "f32"]).fails(3, "32-bit");
}

#[test]
fn archives_with_several_arrays_ask_which() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(1, &[(1, 1, 2.0)]));
    let file = std::fs::File::create(folder.path("b.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for name in ["b.npy", "c.npy"] {
        archive.start_file(name, stored).unwrap();
        archive.write_all(b"\x93NUMPY").unwrap();
    }
    archive.finish().unwrap();
    let b = folder.path("b.npz");
    bandsolve(&["solve", &a, "--rhs", &b]).fails(3, "file.npz:b");
    bandsolve(&["solve", &a, "--rhs", &format!("{b}:d")]).fails(3, "no array `d`");
    bandsolve(&["solve", &a, "--rhs", &format!("{b}:c")]).fails(3, "c.npy: the file ends too early");
}
