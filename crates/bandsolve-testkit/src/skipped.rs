//! Checks that cannot be made on a machine say so, and are counted.

use std::io::Write;

/// The variable that names a file of what was skipped; `./test` counts its lines.
const FILE: &str = "BANDSOLVE_SKIPPED";

/// Says that the check that calls it is not made, and why: in the file that `BANDSOLVE_SKIPPED` names, or else on standard
/// output, which `cargo test` shows of tests that fail, or with `--nocapture`.
///
/// # Panics
/// If there is no writing to that file.
pub fn skipped(reason: &str) {
    let line = format!("1 skipped: {reason}\n");
    let Some(path) = std::env::var_os(FILE).filter(|path| !path.is_empty()) else { return print!("{line}") };
    // Tests of several processes write: a line at a time.
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
