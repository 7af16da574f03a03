//! The program accepts every command line of the documentation and of its own help.

use super::bandsolve;
use std::path::{Path, PathBuf};

/// The Markdown files of the root folder, and all pages of `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let inside = |folder: &Path| std::fs::read_dir(folder).expect("a folder").map(|file| file.unwrap().path());
    let folders = inside(&root.join("docs")).filter(|path| path.is_dir());
    let all = folders.chain([root.clone(), root.join("docs")]).flat_map(|folder| inside(&folder).collect::<Vec<_>>());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The words after `bandsolve` in shell blocks and in inline code. Commands with a placeholder (`…`) are skipped.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut block = None;
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            block = if block.is_none() { Some(language) } else { None };
        } else if let Some(language) = block {
            found.extend(["console", "sh"].contains(&language).then(|| line.trim()));
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let words = |command: &str| {
        let rest = ["bandsolve ", "cargo run --release -p bandsolve-cli -- "]
            .iter()
            .find_map(|start| command.strip_prefix(start))?;
        // Cut off remarks and redirections.
        let rest = [" #", " >", " |"].iter().fold(rest, |rest, end| rest.split(end).next().unwrap_or(rest));
        (!rest.contains('…')).then(|| rest.split_whitespace().map(str::to_string).collect())
    };
    found.into_iter().filter_map(words).collect()
}

/// The names of all commands from the help of the program and of its commands.
fn all_commands() -> Vec<Vec<String>> {
    let below = |words: &[String]| -> Vec<Vec<String>> {
        let help: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let text = bandsolve(&help).exits(0).stdout;
        let listed = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // Command names are indented by two spaces, their descriptions by more.
        let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        let names = names.map(str::to_string);
        names.map(|name| words.iter().cloned().chain([name]).collect()).collect()
    };
    let first = below(&[]);
    let second: Vec<_> = first.iter().flat_map(|words| below(words)).collect();
    [vec![vec![]], first, second].concat()
}

#[test]
fn every_help_has_examples_that_are_understood() {
    let commands = all_commands();
    assert!(commands.len() > 20, "{commands:?}");
    for words in commands {
        let help: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let text = bandsolve(&help).exits(0).stdout;
        let shown = text.lines().skip_while(|line| !line.starts_with("Example")).skip(1);
        let examples: Vec<&str> = shown.map(str::trim).take_while(|line| !line.is_empty()).collect();
        assert!(!examples.is_empty(), "{words:?}: no examples\n{text}");
        for example in examples {
            // Cut off redirections and the remark after three spaces.
            let line = example.split(['|', '>']).next().unwrap_or(example);
            let line = line.split("   ").next().unwrap_or(line);
            let given: Vec<&str> = line.split_whitespace().skip(1).chain(["--help"]).collect();
            assert!(line.starts_with("bandsolve"), "{words:?}: {example}");
            bandsolve(&given).exits(0);
        }
    }
}

#[test]
fn commands_of_pages_are_understood() {
    let mut count = 0;
    for page in pages() {
        for command in commands(&std::fs::read_to_string(&page).expect("a page")) {
            // The parser reads the words before `--help` first, so an unknown option is an error.
            let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
            let run = bandsolve(&words);
            assert_eq!(run.code, Some(0), "{}: {words:?}: {}", page.display(), run.stderr);
            count += 1;
        }
    }
    assert!(count > 20, "{count} commands found");
    // Check that this method detects unknown options and commands.
    bandsolve(&["bench", "tridiagonal", "--quicker", "--help"]).fails(2, "--quicker");
    bandsolve(&["bench", "cubic", "--help"]).fails(2, "cubic");
}
