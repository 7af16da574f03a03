//! The headers and the Fortran module in the repository are current: they are generated from the C functions and from a template.
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

/// Repeat the parts of the template between `!@each` and `!@end` for all number types, and those after `!@each real` for the real ones.
fn fortran_module(template: &str) -> String {
    let types = [
        ("s", "real(c_float)", "real(c_float)"),
        ("d", "real(c_double)", "real(c_double)"),
        ("c", "complex(c_float_complex)", "real(c_float)"),
        ("z", "complex(c_double_complex)", "real(c_double)"),
    ];
    let mut text = String::new();
    let mut lines = template.lines();
    while let Some(line) = lines.next() {
        let count = match line {
            "!@each" => types.len(),
            "!@each real" => 2,
            _ => {
                text.extend([line, "\n"]);
                continue;
            }
        };
        let part: String = lines.by_ref().take_while(|line| *line != "!@end").flat_map(|line| [line, "\n"]).collect();
        for (letter, number, real) in &types[..count] {
            text += &part.replace("<t>", letter).replace("<type>", number).replace("<real>", real);
        }
    }
    text
}

#[test]
fn fortran() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let template = std::fs::read_to_string(root.join("fortran/bandsolve.f90.in")).unwrap();
    check(&root.join("include/bandsolve.f90"), &fortran_module(&template));
}
