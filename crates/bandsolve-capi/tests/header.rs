//! What is checked in is what would be made now: the entries of three types from those of `double`, the header from all.
//!
//! `BANDSOLVE_BLESS=1 cargo test -p bandsolve-capi header` writes both anew.

use std::path::Path;
use std::process::Command;

/// Compares a file with what it should be; writes it if so asked.
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

#[test]
fn header() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entry = root.join("src/entry");
    let double = std::fs::read_to_string(entry.join("d.rs")).unwrap().replace("\r\n", "\n");
    for (letter, rust, c) in
        [('s', "f32", "float"), ('c', "Complex32", "float _Complex"), ('z', "Complex64", "double _Complex")]
    {
        let own = double.replace("bandsolveD", &format!("bandsolve{}", letter.to_ascii_uppercase()));
        let own = own.replace("f64", rust).replace("`double`", &format!("`{c}`"));
        check(&entry.join(format!("{letter}.rs")), &own);
    }
    let made = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(root.join("header/Cargo.toml"))
        .args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/header")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    check(&root.join("include/bandsolve.h"), &String::from_utf8(made.stdout).unwrap());
}
