//! Tests of `bandsolve generate`.

use crate::*;

#[test]
fn families_are_listed() {
    assert!(bandsolve(&["generate", "--list"]).exits(0).stdout.contains("random"));
}

#[test]
fn the_same_seed_gives_the_same_matrix_in_a_file_and_on_standard_output() {
    let folder = Folder::new();
    let printed = bandsolve(&["generate", "random", "50", "--seed", "3"]).exits(0).stdout;
    bandsolve(&["generate", "random", "50", "--seed", "3", "--out", &folder.path("A.mtx")]).exits(0);
    assert_eq!(std::fs::read_to_string(folder.path("A.mtx")).unwrap(), printed);
    assert_ne!(bandsolve(&["generate", "random", "50", "--seed", "4"]).exits(0).stdout, printed);
    assert!(printed.starts_with("%%MatrixMarket matrix coordinate real general\n"), "{printed}");
    assert_eq!(folder.names(), ["A.mtx"]);
}

#[test]
fn an_unknown_family_is_wrong_usage() {
    bandsolve(&["generate", "nonsense", "5"]).fails(2, "random");
}

#[test]
fn an_output_that_cannot_be_written_is_exit_code_1() {
    bandsolve(&["generate", "random", "5", "--out", "no/such/folder/A.mtx"]).fails(1, "cannot be written");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bandsolve"))
        .args(["generate", "random", "200000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    bandsolve(&["generate", "random", "5", "--out", "/dev/null"]).exits(0);
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn radiative_transfer_has_blocks() {
    let text = bandsolve(&["generate", "radiative", "3", "2"]).exits(0).stdout;
    // A symmetric block tridiagonal matrix with three block rows of two rows: 7 blocks with 4 entries each.
    assert!(text.contains("\n6 6 28\n") && text.lines().count() == 31, "{text}");
    let entry = |place: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(place))
            .unwrap_or_else(|| panic!("{place} in {text}"))
            .to_string()
    };
    assert_eq!((entry("1 2 "), entry("1 4 ")), (entry("2 1 "), entry("4 1 ")));
    bandsolve(&["generate", "radiative", "3"]).fails(2, "rows K of a block");
    bandsolve(&["generate", "radiative", "1", "4"]).fails(2, "at least 2 blocks");
    bandsolve(&["generate", "radiative", "4000000000", "4000000000"]).fails(2, "too many");
    bandsolve(&["generate", "random", "3", "2"]).fails(2, "has no blocks");
}
