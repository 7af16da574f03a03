//! What long work shows of itself, on standard error if that is a terminal: how far it is, its rate, the time left.
//!
//! No colours, and nothing at all in files and pipes.

use crate::io::short_name;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// Bytes below which work is over before it is worth showing.
const LONG: u64 = 32 << 20;
/// Bytes that a number takes in a file, about.
const BYTES_OF_NUMBER: u64 = 20;

fn bar(template: &'static str, total: u64, name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).expect("a constant template").progress_chars("=> ");
    let bar = ProgressBar::new(total).with_style(style).with_message(name.to_string());
    bar.with_finish(ProgressFinish::AndClear)
}

/// Bytes of a file that is read; nothing is shown of short files, and of those whose length is not known.
pub fn reading(path: &Path, bytes: Option<u64>) -> ProgressBar {
    match bytes {
        Some(bytes) if bytes >= LONG => {
            bar("reading {msg} {bar:30} {percent}% {bytes_per_sec}, {eta} left", bytes, &short_name(path))
        }
        _ => ProgressBar::hidden(),
    }
}

/// Numbers that are written to a file, or to standard output; there they may be seen themselves.
pub fn writing(path: &Path, numbers: u64) -> ProgressBar {
    let seen = path.as_os_str() == "-" && std::io::stdout().is_terminal();
    match numbers >= LONG / BYTES_OF_NUMBER && !seen {
        true => bar("writing {msg} {bar:30} {percent}% {per_sec}, {eta} left", numbers, &short_name(path)),
        false => ProgressBar::hidden(),
    }
}

/// Parts of a long measurement or table.
pub fn parts(what: &str, count: usize) -> ProgressBar {
    bar("{msg} {bar:30} {pos} of {len}, {eta} left", count as u64, what)
}

/// Work whose end cannot be foreseen; the message says what is done.
pub fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
    let bar = ProgressBar::new_spinner().with_style(style).with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A solve of so many numbers.
pub fn solving(numbers: usize) -> ProgressBar {
    if numbers as u64 * BYTES_OF_NUMBER < LONG {
        return ProgressBar::hidden();
    }
    let bar = spinner();
    bar.set_message("solving");
    bar
}
