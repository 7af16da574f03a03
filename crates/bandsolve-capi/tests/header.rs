//! The headers in the repository are current: they are generated from the C functions.
//!
//! `BANDSOLVE_BLESS=1 cargo test -p bandsolve-capi header` generates them again.

use std::path::Path;
use std::process::Command;

/// Compare a file with the expected text. With `BANDSOLVE_BLESS=1`, write it.
fn check(path: &Path, made: &str) {
    if std::env::var_os("BANDSOLVE_BLESS").is_some() {
        return std::fs::write(path, made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
    let line = found.lines().zip(made.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or(found.lines().count().min(made.lines().count())) + 1;
    assert!(
        found == made,
        "{} differs from line {line} on; to refresh it: BANDSOLVE_BLESS=1 cargo test -p bandsolve-capi header",
        path.display()
    );
}

/// Generate the header from the entries.
fn check_header(header: &str, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("header/Cargo.toml"))
        .args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/header"), "--"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    check(&root.join("include").join(header), &String::from_utf8(made.stdout).unwrap());
}

#[test]
fn header() {
    check_header("bandsolve.h", &[]);
    check_header("bandsolve_gpu.h", &["gpu"]);
}
