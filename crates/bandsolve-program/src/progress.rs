//! Progress lines on standard error, if it is a terminal: the part that is done, the rate and the remaining time.
//!
//! Progress lines have no colours. Files and pipes receive none.

use crate::names::short_name;
use indicatif::{HumanCount, ProgressBar, ProgressFinish, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// Number of bytes below which the work is too short for a progress line.
const LONG: u64 = 32 << 20;
/// Approximate number of bytes per number in a text file.
const BYTES_OF_NUMBER: u64 = 20;

fn bar(template: &'static str, total: u64, name: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template).expect("a constant template").progress_chars("=> ");
    let style = style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{} numbers/s", HumanCount(state.per_sec() as u64));
    });
    let bar = ProgressBar::new(total).with_style(style).with_message(name.to_string());
    bar.with_finish(ProgressFinish::AndClear)
}

/// Progress of reading a file. Short files and files of unknown length show none.
pub fn reading(path: &Path, bytes: Option<u64>) -> ProgressBar {
    match bytes {
        Some(bytes) if bytes >= LONG => {
            bar("reading {msg} {bar:30} {percent}% {bytes_per_sec}, {eta} left", bytes, &short_name(path))
        }
        _ => ProgressBar::hidden(),
    }
}

/// Progress of writing numbers to a file or to standard output. If the numbers appear in the terminal, there is no progress line.
pub fn writing(path: &Path, numbers: u64) -> ProgressBar {
    let seen = path.as_os_str() == "-" && std::io::stdout().is_terminal();
    match numbers >= LONG / BYTES_OF_NUMBER && !seen {
        true => bar("writing {msg} {bar:30} {percent}% {rate}, {eta} left", numbers, &short_name(path)),
        false => ProgressBar::hidden(),
    }
}

/// Progress of a long benchmark or table with `count` parts.
pub fn parts(what: &str, count: usize) -> ProgressBar {
    bar("{msg} {bar:30} {pos} of {len}, {eta} left", count as u64, what)
}

/// Progress of work of unknown length. The message names the current step.
pub fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
    let bar = ProgressBar::new_spinner().with_style(style).with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Progress of a solve for this number of unknowns, of all right-hand sides in total.
pub fn solving(unknowns: usize) -> ProgressBar {
    if unknowns as u64 * BYTES_OF_NUMBER < LONG {
        return ProgressBar::hidden();
    }
    let bar = spinner();
    bar.set_message(format!("solving for {} unknowns", HumanCount(unknowns as u64)));
    bar
}
