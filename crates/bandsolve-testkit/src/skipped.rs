//! A report of checks that a machine cannot run.

use std::io::Write;

/// The environment variable with the name of the file for skipped checks. `./test` counts the lines of this file.
const FILE: &str = "BANDSOLVE_SKIPPED";

/// Report that the calling check is skipped, with the reason.
///
/// The report goes to the file that the environment variable `BANDSOLVE_SKIPPED` names, otherwise to standard output. `cargo test` shows standard output
/// only for failed tests, or with `--nocapture`.
///
/// # Panics
/// If the file cannot be written.
pub fn skipped(reason: &str) {
    let line = format!("1 skipped: {reason}\n");
    let Some(path) = std::env::var_os(FILE).filter(|path| !path.is_empty()) else { return print!("{line}") };
    // Several processes write to the file: write one line at a time.
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
