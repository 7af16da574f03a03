//! Help and wrong usage: nothing here needs a solver.

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
