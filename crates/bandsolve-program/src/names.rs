//! Names of files in messages.

use std::path::Path;

/// The name of an input in messages and reports.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() }
}

/// The shortened file name without its folder, for titles and progress lines.
pub fn short_name(path: &Path) -> String {
    shortened(path.file_name().map_or(path, Path::new))
}

/// A path with at most 64 characters. A longer path gets `…` in the middle. Control characters are replaced.
pub fn shortened(path: &Path) -> String {
    const MOST: usize = 64;
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let letters: Vec<char> = name(path).chars().map(shown).collect();
    if letters.len() <= MOST {
        return letters.into_iter().collect();
    }
    let (head, tail) = (&letters[..MOST / 2 - 1], &letters[letters.len() - MOST / 2..]);
    head.iter().chain(&['…']).chain(tail).collect()
}
