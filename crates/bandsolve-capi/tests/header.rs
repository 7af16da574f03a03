//! The generated files in the repository are current: the entries of three number types come from those of `double`, and the headers from all entries.
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

/// Check the entries of one folder, for four number types or only for the real ones.
fn check_entries(folder: &str) {
    let entry = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let double = std::fs::read_to_string(entry.join("d.rs")).unwrap().replace("\r\n", "\n");
    let types = [('s', "f32", "float"), ('c', "Complex32", "float _Complex"), ('z', "Complex64", "double _Complex")];
    let count = if folder == "entry/poisson" { 1 } else { types.len() };
    for (letter, rust, c) in &types[..count] {
        let own = ["bandsolve", "bandsolveGpu"].iter().fold(double.clone(), |text, name| {
            text.replace(&format!("{name}D"), &format!("{name}{}", letter.to_ascii_uppercase()))
        });
        let own = own.replace("f64", rust).replace("`double`", &format!("`{c}`"));
        check(&entry.join(format!("{letter}.rs")), &own);
    }
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
    ["entry", "entry/csr", "entry/gpu", "entry/poisson"].into_iter().for_each(check_entries);
    check_header("bandsolve.h", &[]);
    check_header("bandsolve_gpu.h", &["gpu"]);
}
