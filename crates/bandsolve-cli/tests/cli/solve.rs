//! Tests of `bandsolve solve`.

use crate::*;
use bandsolve_testkit::skipped;
use flate2::write::GzEncoder;

/// Check that the system was solved. The accuracy contract allows a backward error of 64ε.
#[track_caller]
pub fn assert_solved(json: &serde_json::Value, epsilon: f64) {
    assert_eq!(json["status"], "solved", "{json}");
    assert!(json["backward_error"].as_f64().unwrap() <= 64.0 * epsilon, "{json}");
    assert!(json["rows_per_second"].as_f64().unwrap() > 0.0, "{json}");
}

pub fn solve_json(args: &[&str]) -> serde_json::Value {
    bandsolve(&[&["solve"], args, &["--json", "-"]].concat()).exits(0).json()
}

#[test]
fn a_known_solution_is_found_again() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(100, &toeplitz(100, 4.0, &[1], &[1])));
    let json = solve_json(&[&a]);
    assert_solved(&json, f64::EPSILON);
    // The condition number is 3, so the forward error is a few ε.
    assert!(json["forward_error"].as_f64().unwrap() < 1e-14, "{json}");
    assert_eq!(
        (&json["kind"], &json["periodic"], &json["dtype"]),
        (&"tridiagonal".into(), &false.into(), &"f64".into())
    );
    assert_eq!((&json["lower"], &json["upper"], &json["n_rhs"]), (&1.into(), &1.into(), &1.into()));
    let text = bandsolve(&["solve", &a]).exits(0).stdout;
    for word in ["tridiagonal, 100 unknowns", "pivoted", "backward error", "forward error", "rows/s"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
}

#[test]
fn every_method_can_be_asked_for() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(100, &toeplitz(100, 4.0, &[1], &[1])));
    for method in tridiagonal_methods() {
        let json = solve_json(&[&a, "--method", method.name()]);
        assert_solved(&json, f64::EPSILON);
        assert_eq!((&json["method"], &json["fallback"]), (&method.name().into(), &false.into()));
    }
}

#[test]
fn every_kind_and_number_type() {
    let folder = Folder::new();
    let mut corners = toeplitz(60, 5.0, &[1], &[1]);
    corners.extend([(1, 60, 1.0), (60, 1, 1.0)]);
    let cases = [
        ("tridiagonal", toeplitz(60, 4.0, &[1], &[1])),
        ("periodic tridiagonal", corners),
        ("banded", toeplitz(60, 9.0, &[1, 4], &[2])),
    ];
    for (kind, entries) in cases {
        let a = folder.file("A.mtx", matrix_market(60, &entries));
        for (dtype, epsilon) in [("f32", 1.2e-7), ("f64", 2.3e-16), ("c64", 1.2e-7), ("c128", 2.3e-16)] {
            let json = solve_json(&[&a, "--dtype", dtype]);
            assert_solved(&json, epsilon);
            assert_eq!((&json["kind"], &json["dtype"]), (&kind.into(), &dtype.into()));
            assert!(json["forward_error"].as_f64().unwrap() < 100.0 * epsilon, "{json}");
        }
    }
}

#[test]
fn given_right_hand_sides_are_solved_for() {
    let folder = Folder::new();
    // A = [2 1 0; 1 2 1; 0 1 2], and A · (1, 2, 3) = (4, 8, 8). The second right-hand side is twice the first.
    let entries = [(1, 1, 2.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 2.0), (2, 3, 1.0), (3, 2, 1.0), (3, 3, 2.0)];
    let a = folder.file("A.mtx", matrix_market(3, &entries));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n3 2\n4\n8\n8\n8\n16\n16\n");
    let out = folder.path("x.mtx");
    let json = solve_json(&[&a, "--rhs", &b, "--out", &out]);
    assert_eq!(json["n_rhs"], 2);
    assert!(json["forward_error"].is_null());
    let x = array_values(&out);
    let near = x.iter().zip([1.0, 2.0, 3.0, 2.0, 4.0, 6.0]).all(|(a, b)| (a - b).abs() < 1e-14);
    assert!(x.len() == 6 && near, "{x:?}");
    assert_eq!(folder.names(), ["A.mtx", "b.mtx", "x.mtx"]);
}

#[test]
fn sparse_right_hand_sides_add_up() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 2.0), (2, 2, 4.0)]));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 1 2\n2 1 3\n2 1 5\n");
    let out = folder.path("x.mtx");
    bandsolve(&["solve", &a, "--rhs", &b, "--out", &out]).exits(0);
    assert_eq!(array_values(&out), [0.0, 2.0]);
}

#[test]
fn outputs_are_read_again_digit_by_digit() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(40, &toeplitz(40, 3.1, &[1], &[1])));
    let (mtx, npy) = (folder.path("x.mtx"), folder.path("x.npy"));
    bandsolve(&["solve", &a, "--out", &mtx]).exits(0);
    bandsolve(&["solve", &a, "--out", &npy]).exits(0);
    // A is the identity, so x equals b, and both files contain the same numbers.
    let one = folder.file("I.mtx", matrix_market(40, &toeplitz(40, 1.0, &[], &[])));
    let back = folder.path("back.mtx");
    bandsolve(&["solve", &one, "--rhs", &npy, "--out", &back]).exits(0);
    assert_eq!(array_values(&mtx), array_values(&back));
    assert_eq!(array_values(&mtx).len(), 40);
}

#[test]
fn complex_right_hand_sides_make_the_answer_complex() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(1, &[(1, 1, 2.0)]));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array complex general\n1 1\n2 4\n");
    let out = folder.path("x.mtx");
    assert_eq!(solve_json(&[&a, "--rhs", &b, "--out", &out])["dtype"], "c128");
    assert_eq!(array_values(&out), [1.0, 2.0]);
}

#[test]
fn gzipped_files_and_pipes_are_read() {
    let folder = Folder::new();
    let text = matrix_market(50, &toeplitz(50, 4.0, &[1], &[1]));
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let plain = folder.file("A.mtx", &text);
    let gz = folder.file("A.mtx.gz", packed.finish().unwrap());
    let errors = [&plain, &gz].map(|a| solve_json(&[a])["forward_error"].clone());
    assert!(errors[0].is_f64() && errors[0] == errors[1], "{errors:?}");
    let piped = bandsolve_with(&["solve", "-", "--json", "-"], text.as_bytes()).exits(0).json();
    assert_eq!(piped["forward_error"], errors[0]);
}

#[test]
fn corners_make_a_matrix_periodic() {
    let folder = Folder::new();
    let mut entries = toeplitz(20, 4.0, &[1], &[1]);
    let open = folder.file("open.mtx", matrix_market(20, &entries));
    entries.push((1, 20, -1.0));
    let corner = folder.file("corner.mtx", matrix_market(20, &entries));
    assert_eq!(solve_json(&[&open])["periodic"], false);
    assert_eq!(solve_json(&[&open, "--periodic"])["periodic"], true);
    assert_eq!(solve_json(&[&corner])["periodic"], true);
    assert!(bandsolve(&["solve", &corner]).exits(0).stdout.contains("because of its corner entries"));
}

#[test]
fn the_result_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new();
    let a = folder.path("A.mtx");
    bandsolve(&["generate", "random", "20000", "--out", &a]).exits(0);
    let outputs = ["1", "2", "3", "7"].map(|threads| {
        let out = folder.path(&format!("x{threads}.npy"));
        let json = solve_json(&[&a, "--threads", threads, "--out", &out]);
        assert_eq!(json["threads"].to_string(), threads);
        std::fs::read(out).unwrap()
    });
    assert!(outputs.iter().all(|o| *o == outputs[0]));
}

#[test]
fn generated_matrices_are_solved() {
    let text = bandsolve(&["generate", "random", "3000"]).exits(0).stdout;
    let json = bandsolve_with(&["solve", "-", "--json", "-"], text.as_bytes()).exits(0).json();
    assert_solved(&json, f64::EPSILON);
}

#[test]
fn a_singular_matrix_is_exit_code_4_and_leaves_no_solution() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)]));
    let (out, json) = (folder.path("x.mtx"), folder.path("r.json"));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    bandsolve(&["solve", &a, "--rhs", &b, "--out", &out, "--json", &json]).fails(4, "singular");
    assert_eq!(folder.names(), ["A.mtx", "b.mtx", "r.json"]);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_ne!(report["status"], "solved");
}

#[test]
fn the_smallest_systems() {
    let folder = Folder::new();
    let one = folder.file("one.mtx", matrix_market(1, &[(1, 1, 4.0)]));
    assert_solved(&solve_json(&[&one]), f64::EPSILON);
    let none = folder.file("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    bandsolve(&["solve", &none]).exits(0);
}

#[test]
fn real_matrices_reach_the_contract() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    if !folder.exists() {
        return skipped("no ../shared/matrices beside the checkout: real matrices, read by the program");
    }
    for (name, n, nnz, lower, upper) in [
        ("nos2", 957, 4137, 4, 4),
        ("olm1000", 1000, 3996, 2, 3),
        ("tub1000", 1000, 3996, 2, 2),
        ("LF10000", 19998, 99982, 3, 3),
        ("mhdb416", 416, 2312, 18, 18),
        ("gr_30_30", 900, 7744, 31, 31),
    ] {
        let path = folder.join(format!("{name}.mtx"));
        let path = path.to_str().unwrap();
        let json = solve_json(&[path]);
        assert_solved(&json, f64::EPSILON);
        let found = [&json["n"], &json["lower"], &json["upper"]].map(|v| v.as_u64().unwrap());
        assert_eq!(found, [n, lower, upper], "{name}");
        let info = bandsolve(&["info", path, "--json", "-"]).exits(0).json();
        assert_eq!(info["nnz"], nnz, "{name}");
        let rcond = info["rcond"].as_f64().unwrap();
        assert!(rcond > 0.0 && rcond < 1.0, "{name}: {rcond}");
    }
}

#[test]
fn an_archive_of_one_array_needs_no_name() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 2.0), (2, 2, 4.0)]));
    // A is the identity, so x equals b. The test writes x as .npy, packs it into an archive and reads it back.
    let one = folder.file("I.mtx", matrix_market(2, &[(1, 1, 1.0), (2, 2, 1.0)]));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array integer general\n2 1\n6\n-8\n");
    bandsolve(&["solve", &one, "--rhs", &b, "--out", &folder.path("b.npy")]).exits(0);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("b.npz")).unwrap());
    archive.start_file("arr_0.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&std::fs::read(folder.path("b.npy")).unwrap()).unwrap();
    archive.finish().unwrap();
    for rhs in ["b.npz", "b.npz:arr_0"] {
        let out = folder.path("x.mtx");
        bandsolve(&["solve", &a, "--rhs", &folder.path(rhs), "--out", &out]).exits(0);
        assert_eq!(array_values(&out), [3.0, -2.0]);
    }
}

#[test]
fn matrices_that_are_singular_but_for_rounding_are_pointed_out() {
    let folder = Folder::new();
    let mut laplacian = toeplitz(1000, 2.0, &[1], &[1]);
    laplacian.iter_mut().filter(|(i, j, _)| i != j).for_each(|(_, _, v)| *v = -1.0);
    laplacian.extend([(1, 1000, -1.0), (1000, 1, -1.0)]);
    let a = folder.file("A.mtx", matrix_market(1000, &laplacian));
    let b =
        folder.file("b.mtx", "%%MatrixMarket matrix array real general\n1000 1\n".to_string() + &"1\n".repeat(1000));
    let run = bandsolve(&["solve", &a, "--rhs", &b]);
    // Rounding determines whether a pivot is zero, so both outcomes are correct.
    if run.code == Some(0) {
        assert!(run.stdout.contains("attention") && run.stdout.contains("singular to working precision"), "{run:?}");
    } else {
        run.fails(4, "singular");
    }
    let easy = folder.file("E.mtx", matrix_market(100, &toeplitz(100, 4.0, &[1], &[1])));
    assert!(solve_json(&[&easy])["attention"].is_null());
    let ill = folder.path("D.mtx");
    bandsolve(&["generate", "dorr", "1000", "--out", &ill]).exits(0);
    assert!(solve_json(&[&ill])["attention"].as_str().is_some_and(|text| text.contains("bandsolve info")));
}

#[test]
fn numbers_that_would_become_zero_are_refused() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 1e-60), (2, 2, 1.0)]));
    bandsolve(&["solve", &a]).exits(0);
    bandsolve(&["solve", &a, "--dtype", "f32"]).fails(3, "beyond the range of 32-bit numbers");
    let huge = folder.file("H.mtx", matrix_market(1, &[(1, 1, 1.7e308)]));
    bandsolve(&["solve", &huge]).fails(3, "--rhs");
}

#[test]
fn rows_count_from_1_everywhere() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 1.0), (1, 2, 2.0), (2, 1, 2.0), (2, 2, 4.0)]));
    let (b, json) =
        (folder.file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n"), folder.path("s.json"));
    bandsolve(&["solve", &a, "--rhs", &b, "--json", &json]).fails(4, "in row 2");
    assert!(std::fs::read_to_string(&json).unwrap().contains("in row 2"));
}

#[test]
fn columns_without_entries_are_zero() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(5, &toeplitz(5, 4.0, &[1], &[1])));
    let b = folder.file("b.mtx", "%%MatrixMarket matrix coordinate real general\n5 2 1\n3 1 1\n");
    let out = folder.path("x.mtx");
    assert_eq!(solve_json(&[&a, "--rhs", &b, "--out", &out])["n_rhs"], 2);
    let x = array_values(&out);
    assert!(x.len() == 10 && x[..5].iter().all(|v| *v > 0.0) && x[5..].iter().all(|v| *v == 0.0), "{x:?}");
}

/// The entries (row, column, value) of a matrix with full blocks of 2 rows on three block diagonals, diagonally dominant.
fn blocks(rows: usize, periodic: bool) -> Vec<(usize, usize, f64)> {
    let n = 2 * rows;
    let near = |i: usize, j: usize| (i / 2).abs_diff(j / 2) <= 1 || periodic && (i / 2).abs_diff(j / 2) + 1 == rows;
    let all = (0..n * n).map(|at| (at / n, at % n)).filter(|(i, j)| near(*i, *j));
    all.map(|(i, j)| (i + 1, j + 1, if i == j { 12.0 } else { 1.0 + (i as f64 - 2.0 * j as f64) / n as f64 })).collect()
}

#[test]
fn block_tridiagonal_matrices_are_solved_by_blocks() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(20, &blocks(10, false)));
    let ring = folder.file("R.mtx", matrix_market(20, &blocks(10, true)));
    for method in ["auto", "pivoted", "bcyclic", "block-spike"] {
        for dtype in ["f32", "f64", "c64", "c128"] {
            let json = solve_json(&[&a, "--block", "2", "--method", method, "--dtype", dtype]);
            assert_solved(&json, if ["f32", "c64"].contains(&dtype) { f64::from(f32::EPSILON) } else { f64::EPSILON });
            assert_eq!((&json["kind"], &json["block"]), (&"block tridiagonal".into(), &2.into()));
        }
    }
    let json = solve_json(&[&ring, "--block", "2", "--periodic"]);
    assert_solved(&json, f64::EPSILON);
    assert_eq!(json["kind"], "periodic block tridiagonal");
    let text = bandsolve(&["solve", &a, "--block", "2"]).exits(0).stdout;
    assert!(text.contains("block tridiagonal, 20 unknowns, f64, blocks of 2 rows"), "{text}");
    bandsolve(&["solve", &ring, "--block", "2"]).fails(2, "row 1, column 19 is in none of the three block diagonals");
    bandsolve(&["solve", &a, "--block", "3"]).fails(2, "Pass a divisor of 20");
    bandsolve(&["solve", &a, "--block", "0"]).fails(2, "Pass a divisor of 20");
    bandsolve(&["solve", &a, "--block", "2", "--reorder", "rcm"]).fails(2, "--reorder");
    bandsolve(&["solve", &a, "--block", "2", "--method", "thomas"])
        .fails(2, "does not solve block tridiagonal systems");
}

/// An .npy file with little-endian numbers.
fn npy(descr: &str, shape: &str, numbers: &[[u8; 8]]) -> Vec<u8> {
    let head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(head.len() as u16).to_le_bytes(), head.as_bytes(), numbers.as_flattened()].concat()
}

#[test]
fn sparse_archives_of_scipy_are_solved_by_blocks() {
    // 4 on the diagonal and 1 elsewhere in the diagonal blocks, and 1 in the upper right blocks.
    let folder = Folder::new();
    let integers = |values: &[i64]| values.iter().map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let ones = |diagonal: f64| [diagonal, 1.0, 1.0, diagonal].map(f64::to_le_bytes);
    let data = [ones(4.0), ones(1.0), ones(4.0)].concat();
    let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("A.npz")).unwrap());
    let members = [
        ("format", [npy("|S3", "()", &[]), b"bsr".to_vec()].concat()),
        ("shape", npy("<i8", "(2,)", &integers(&[4, 4]))),
        ("indptr", npy("<i8", "(3,)", &integers(&[0, 2, 3]))),
        ("indices", npy("<i8", "(3,)", &integers(&[0, 1, 1]))),
        ("data", npy("<f8", "(3, 2, 2)", &data)),
    ];
    for (name, content) in members {
        archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(&content).unwrap();
    }
    archive.finish().unwrap();
    // x = 1.
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n4 1\n7\n7\n5\n5\n");
    let x = folder.path("x.mtx");
    let json = solve_json(&[&folder.path("A.npz"), "--block", "2", "--rhs", &b, "--out", &x]);
    assert_solved(&json, f64::EPSILON);
    assert!(array_values(&x).iter().all(|x| (x - 1.0).abs() < 1e-14), "{:?}", array_values(&x));
}

#[test]
fn transposes_are_solved() {
    let folder = Folder::new();
    // A = [2 i; 0 1], Aᵀ = [2 0; i 1], Aᴴ = [2 0; -i 1].
    let a = "%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 2 0\n1 2 0 1\n2 2 1 0\n";
    let a = folder.file("A.mtx", a);
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n2\n1\n");
    let x = folder.path("x.mtx");
    let cases: [(&[&str], [f64; 4]); 4] = [
        (&[], [1.0, -0.5, 1.0, 0.0]),
        (&["--transpose"], [1.0, 0.0, 1.0, -1.0]),
        (&["--transpose", "plain"], [1.0, 0.0, 1.0, -1.0]),
        (&["--transpose", "conj"], [1.0, 0.0, 1.0, 1.0]),
    ];
    for (options, expected) in cases {
        let json = solve_json(&[&[&a, "--rhs", &b, "--out", &x][..], options].concat());
        assert_eq!(array_values(&x), expected, "{json}");
        let kind = options.get(1).or(options.first().and(Some(&"plain")));
        assert_eq!(json["transpose"].as_str(), kind.copied(), "{json}");
        let iterate = ["iterate", &a, "--rhs", &b, "--out", &x, "--precond", "none", "--rtol", "1e-12", "--json"];
        let iterate = bandsolve(&[&iterate[..], options].concat()).exits(0).json();
        let errors = array_values(&x).into_iter().zip(expected).map(|(x, e)| (x - e).abs());
        assert!(errors.fold(0.0, f64::max) < 1e-10, "{iterate}");
        assert_eq!(iterate["transpose"].as_str(), kind.copied(), "{iterate}");
    }
    let upper = folder.file("U.mtx", matrix_market(20, &blocks(10, false)));
    for options in
        [&["--transpose"][..], &["--transpose", "--block", "2"], &["--transpose", "conj", "--reorder", "rcm"]]
    {
        assert_solved(&solve_json(&[&[&*upper][..], options].concat()), f64::EPSILON);
    }
    let text = bandsolve(&["solve", &a, "--transpose", "conj"]).exits(0).stdout;
    assert!(text.contains("A.mtx, conjugate transposed"), "{text}");
    bandsolve(&["solve", "--transpose", &a]).fails(2, "invalid value");
}
