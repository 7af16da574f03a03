//! Names in messages: files, and the name that the user meant.

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

/// The most similar of several names, if one is similar. Colons and letter case do not count.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.split(':').next().unwrap_or(name).to_lowercase();
    let likeness = |known: &str| strsim::jaro(&name, known);
    // The limit of clap's own suggestions.
    let similar = names.into_iter().filter(|known| likeness(known) > 0.7);
    similar.reduce(|best, known| if likeness(known) > likeness(best) { known } else { best })
}

/// Add the name that the user may have meant to a message that ends with the valid names after "Choose one of: ".
pub fn suggesting(name: &str, message: String) -> String {
    let Some((problem, names)) = message.split_once(". Choose one of: ") else { return message };
    // A list contains remarks in parentheses, and parameters after colons.
    let words = names.split([',', ' ', '(', ')']).map(|word| word.split(':').next().unwrap_or(word));
    match nearest(name, words.filter(|word| !["", "or", "and"].contains(word))) {
        Some(meant) => format!("{problem}. Did you mean `{meant}`? Choose one of: {names}"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_suggest_the_name_that_was_meant() {
        let message = |name: &str| {
            suggesting(name, format!("no solver `{name}`. Choose one of: gmres:M (or fgmres:M), bicgstab, cg"))
        };
        assert_eq!(
            message("gmrs:20"),
            "no solver `gmrs:20`. Did you mean `gmres`? Choose one of: gmres:M (or fgmres:M), bicgstab, cg"
        );
        assert!(message("BICGSTB").contains("Did you mean `bicgstab`?"));
        assert_eq!(message("xyz"), "no solver `xyz`. Choose one of: gmres:M (or fgmres:M), bicgstab, cg");
        assert_eq!(suggesting("a", "no list".into()), "no list");
    }
}
