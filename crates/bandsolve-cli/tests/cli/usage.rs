//! Tests of help texts and usage errors.

use crate::*;

#[test]
fn help_names_every_command_and_exit_code() {
    let help = bandsolve(&["--help"]).exits(0).stdout;
    for word in ["solve", "info", "spy", "generate", "stability", "bench", "tune", "Exit codes", "  4  "] {
        assert!(help.contains(word), "{word}\n{help}");
    }
    let help = bandsolve(&["solve", "--help"]).exits(0).stdout;
    for word in ["Examples:", "--rhs", "--dtype", "c128", "scaled-partial", "rpts", "Matrix Market"] {
        assert!(help.contains(word), "{word}\n{help}");
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    bandsolve(&["solve"]).fails(2, "A.mtx");
    bandsolve(&["frobnicate"]).fails(2, "frobnicate");
    bandsolve(&["solve", "A.mtx", "--method", "magic"]).fails(2, "pivoted");
    bandsolve(&["solve", "A.mtx", "--dtype", "c32"]).fails(2, "c64");
    bandsolve(&["solve", "A.mtx", "--threads", "0"]).fails(2, "threads");
    bandsolve(&["generate"]).fails(2, "FAMILY");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_is_read() {
    bandsolve(&["solve", "none.mtx", "--out", "x.txt"]).fails(2, ".mtx or .npy");
    bandsolve(&["solve", "none.mtx", "--out", "-", "--json", "-"]).fails(2, "same file");
    bandsolve(&["solve", "-", "--rhs", "-"]).fails(2, "standard input");
}

#[test]
fn options_that_do_not_fit_the_matrix_are_wrong_usage() {
    let folder = Folder::new();
    let wide = folder.file("wide.mtx", matrix_market(6, &toeplitz(6, 5.0, &[1, 2], &[1])));
    bandsolve(&["solve", &wide, "--periodic"]).fails(2, "--periodic");
    bandsolve(&["solve", &wide, "--method", "thomas"]).fails(2, "banded");
    let complex = folder.file("c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n");
    bandsolve(&["solve", &complex, "--dtype", "f64"]).fails(2, "c128");
}

#[test]
fn tuning_is_a_file_that_can_be_seen_and_deleted() {
    let folder = Folder::new();
    let path = folder.file("tuning", "");
    std::fs::remove_file(&path).unwrap();
    let tune = |arguments: &[&str]| bandsolve_under(&[("BANDSOLVE_TUNING", &path)], arguments, b"");
    assert!(tune(&["tune", "--show"]).exits(0).stdout.contains("does not exist"));
    let written = tune(&["tune"]).exits(0).stdout;
    let file = std::fs::read_to_string(&path).unwrap();
    assert!(
        written.contains(&path) && written.ends_with(&file) && file.contains("spike.inner-row-cost.16 = "),
        "{written}"
    );
    assert_eq!(tune(&["tune", "--show"]).exits(0).stdout, written);
    std::fs::write(&path, "spike.inner-row-cost.16 = fast\n").unwrap();
    tune(&["tune", "--show"]).fails(3, "line 1");
    let written = tune(&["tune", "--device", "emulated"]).exits(0).stdout;
    assert!(written.contains("gpu-tuning") && written.contains("c32 on emulated = "), "{written}");
    assert_eq!(tune(&["tune", "--device", "emulated", "--show"]).exits(0).stdout, written);
    tune(&["tune", "--device", "cuda:99"]).fails(1, "no GPU");
}

#[test]
fn inputs_are_not_overwritten_and_outputs_are_tried_first() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(20, &toeplitz(20, 4.0, &[1], &[1])));
    let around = |name: &str| folder.path(&format!("./{name}"));
    for arguments in [["solve", &a, "--out", &around("A.mtx")], ["info", &a, "--json", &around("A.mtx")]] {
        bandsolve(&arguments).fails(2, "is also an input");
    }
    bandsolve(&["solve", &a, "--out", &folder.path("x.mtx"), "--json", &around("x.mtx")]).fails(2, "same file");
    let (nowhere, here) = (folder.path("nowhere/report"), folder.path("."));
    for path in [&nowhere, &here] {
        let why = if path == &here { "directory" } else { "no such folder" };
        bandsolve(&["bench", "tridiagonal", "--n", "2^30", "--report", path]).fails(1, why);
        bandsolve(&["solve", &a, "--json", path]).fails(1, why);
        bandsolve(&["doctor", "--json", path]).fails(1, why);
    }
    bandsolve(&["generate", "random", "5", "--out", &folder.path("A.mtx.gz")]).fails(2, "plain .mtx");
    let b = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n20 1\n".to_string() + &"1\n".repeat(20));
    bandsolve(&["solve", &a, "--rhs", &b, "--out", &b]).fails(2, "is also an input");
    // File names may be as long as the system allows.
    bandsolve(&["solve", &a, "--out", &folder.path(&format!("{}.mtx", "x".repeat(250)))]).exits(0);
}

#[test]
fn measurements_refuse_what_makes_no_sense() {
    let folder = Folder::new();
    bandsolve(&["bench", "sparse", "--quick", "--n-rhs", "99999999999"]).fails(2, "GiB");
    bandsolve(&["bench", "sparse", "--quick", "--entries", "99999"]).fails(2, "--entries 99999");
    let empty = folder.file("Z.mtx", matrix_market(5, &[]));
    bandsolve(&["bench", "sparse", "--quick", "--matrix", &empty]).fails(3, "no entries");
    for shift in ["nan", "inf", "1e308"] {
        bandsolve(&["bench", "block", "--quick", "--shift", shift]).fails(2, "1e6");
    }
    let head = "%%MatrixMarket matrix coordinate";
    let imaginary = folder.file("I.mtx", format!("{head} complex general\n2 2 2\n1 1 0 1\n2 2 0 1\n"));
    bandsolve(&["stability", "banded", &imaginary]).fails(3, "complex");
    bandsolve(&["bench", "sparse", "--quick", "--matrix", &imaginary]).fails(3, "complex");
    let wide = folder.file("W.mtx", format!("{head} real general\n4 2 2\n1 1 1\n4 2 1\n"));
    bandsolve(&["bench", "sparse", "--quick", "--matrix", &wide]).exits(0);
    let narrow = folder.file("N.mtx", matrix_market(6, &toeplitz(6, 4.0, &[1], &[1])));
    for method in ["bcyclic", "block-spike"] {
        bandsolve(&["solve", &narrow, "--method", method]).fails(2, "does not solve tridiagonal systems");
        bandsolve(&["bench", "methods", "--quick", "--method", method]).fails(2, "spike-qr");
    }
}

#[test]
fn wrong_names_suggest_the_nearest_one() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(2, &[(1, 1, 1.0), (2, 2, 1.0)]));
    let cases: [(&[&str], &str); 13] = [
        (&["generate", "radnom", "10"], "unknown family `radnom`. Did you mean `random`?"),
        (&["solve", &a, "--method", "rtps"], "'rpts'"),
        (&["iterate", &a, "--solver", "bicgstba"], "Did you mean `bicgstab`?"),
        (&["iterate", &a, "--solver", "gmrse:20"], "Did you mean `gmres`?"),
        (&["iterate", &a, "--solver", "refine:fgmrs"], "Did you mean `fgmres`?"),
        (&["iterate", &a, "--precond", "jacoby"], "Did you mean `jacobi`?"),
        (&["iterate", &a, "--precond", "amg-line:2"], "Did you mean `amg-lines`?"),
        (&["eig", &a, "--which", "largest-rael"], "Did you mean `largest-real`?"),
        (&["poisson", "4", "--method", "bcr3"], "'bcr"),
        (&["poisson", "4", "--boundary", "neuman"], "Did you mean `neumann`?"),
        (&["poisson", "4", "--grid", "nodes"], "Did you mean `node`?"),
        (&["poisson", "4", "--out", "u.npz"], "--out u.npz: the name must end in .npy. Did you mean .npy?"),
        (&["bench", "iterate", "--model", "anisol"], "Did you mean `aniso1`?"),
    ];
    for (arguments, words) in cases {
        bandsolve(arguments).fails(2, words);
    }
    assert!(!bandsolve(&["generate", "zzz", "10"]).exits(2).stderr.contains("Did you mean"));
}
