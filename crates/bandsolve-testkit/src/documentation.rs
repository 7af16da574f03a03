//! Compile and run every Rust example in the README and in `docs/`, as a documentation test of this crate. Check the formulas of doc comments.

macro_rules! pages {
    ($($page:literal)*) => {
        /// The pages whose examples run.
        #[cfg(test)]
        const PAGES: &[&str] = &[$($page),*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../", $page))]
            const _: () = ();
        )*
    };
}

pages! {
    "README.md"
    "docs/accuracy.md"
    "docs/adding-a-preconditioner.md"
    "docs/coming-from/lapack.md"
    "docs/eigenvalues.md"
    "docs/getting-started.md"
    "docs/how-to/reuse-a-factorisation.md"
    "docs/index.md"
    "docs/poisson-problems.md"
    "docs/sparse-systems.md"
    "docs/which-method.md"
}

#[cfg(test)]
mod tests {
    use super::PAGES;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_page_with_rust_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec!["README.md".to_string()];
        let names = |folder: &str| -> Vec<String> {
            let files = std::fs::read_dir(root.join(folder)).expect("the documentation");
            files.map(|file| format!("{folder}/{}", file.unwrap().file_name().into_string().expect("UTF-8"))).collect()
        };
        let folders = names("docs").into_iter().filter(|name| root.join(name).is_dir());
        for folder in folders.chain(["docs".into()]) {
            pages.extend(names(&folder).into_iter().filter(|name| name.ends_with(".md")));
        }
        pages.retain(|page| std::fs::read_to_string(root.join(page)).expect("a page").contains("\n```rust\n"));
        pages.sort();
        assert_eq!(pages, PAGES);
    }

    /// The Rust files in a folder and below.
    fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                sources(&entry, files);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }

    /// Whether a line of a doc comment contains LaTeX, which rustdoc does not render.
    fn has_latex(line: &str) -> bool {
        let command = |rest: &str| rest.chars().take_while(char::is_ascii_alphabetic).count() > 1;
        // Inline code may name a variable of a macro or of a shell, such as `$0`.
        let text: String = line.split('`').step_by(2).collect();
        text.contains('$') || line.contains("_{") || line.contains("^{") || line.split('\\').skip(1).any(command)
    }

    /// The lines of the doc comments of a file that contain LaTeX. Code is not checked, except `text` blocks.
    fn latex_lines(source: &str) -> Vec<usize> {
        let (mut fence, mut found) = (None, vec![]);
        for (number, line) in source.lines().enumerate() {
            let line = line.trim_start();
            let Some(comment) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
                fence = None;
                continue;
            };
            match (comment.trim_start().strip_prefix("```"), fence) {
                (Some(language), None) => fence = Some(language),
                (Some(_), Some(_)) => fence = None,
                (None, None | Some("text")) if has_latex(comment) => found.push(number + 1),
                (None, _) => {}
            }
        }
        found
    }

    #[test]
    fn latex_is_found() {
        let lines = [
            "/// The error $x_i$.",
            "/// x_{i+1}, W^{1/2}",
            "/// \\frac{1}{2}",
            "/// ```text",
            "/// \\sum x",
            "/// ```",
            "/// ```",
            "/// let macros = \"$x\";",
            "/// ```",
            "/// uniform in \\[0, 1), the program `$0`, xᵢ₊₁ = W^½",
            "let price = \"$1\"; // $1",
        ];
        assert_eq!(latex_lines(&lines.join("\n")), [1, 2, 3, 5]);
    }

    #[test]
    fn doc_comments_contain_no_latex() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = vec![];
        sources(&crates, &mut files);
        assert!(files.len() > 300, "{} files", files.len());
        let mut wrong = vec![];
        for file in files.iter().filter(|file| **file != crates.join("bandsolve-testkit/src/documentation.rs")) {
            let lines = latex_lines(&std::fs::read_to_string(file).expect("UTF-8"));
            wrong.extend(lines.into_iter().map(|line| format!("{}:{line}", file.display())));
        }
        assert!(
            wrong.is_empty(),
            "Write formulas with Unicode (xᵢ₊₁, ½), in a `text` block or as inline code:\n{}",
            wrong.join("\n")
        );
    }
}
